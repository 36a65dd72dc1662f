# SPDX-License-Identifier: Apache-2.0
"""pyarrow.FixedShapeTensorArray does not give back arrays whose dimensions are permuted in a cycle: wrong shape."""

import numpy as np
import pyarrow as pa
from by_hand import report

images = np.arange(2 * 3 * 4 * 5).reshape(2, 3, 4, 5).transpose(0, 3, 1, 2)  # channels last in memory
got = pa.FixedShapeTensorArray.from_numpy_ndarray(images).to_numpy_ndarray()
wrong = got.shape != images.shape or not np.array_equal(got, images)
report("pyarrow", f"the array of shape {images.shape}", f"an array of shape {got.shape}", wrong)
