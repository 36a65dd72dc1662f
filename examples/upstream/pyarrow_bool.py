# SPDX-License-Identifier: Apache-2.0
"""pyarrow.Tensor exports bool as uint8; DLPack has had a code for bool since 0.8, and numpy uses it."""

import numpy as np
import pyarrow as pa
from by_hand import report

got = np.from_dlpack(pa.Tensor.from_numpy(np.array([True, False]))).dtype
report("pyarrow", "bool", got, got.name != "bool")
