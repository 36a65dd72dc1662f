# SPDX-License-Identifier: Apache-2.0
"""mlx.core.array turns float64 of other frameworks into float32: digits are lost silently."""

import mlx.core as mx
import numpy as np
from by_hand import report

got = str(mx.from_dlpack(np.array([0.1])).dtype) if hasattr(mx, "from_dlpack") else str(mx.array(np.array([0.1])).dtype)
report("mlx", "mlx.core.float64 or an exception", got, "float32" in got)
