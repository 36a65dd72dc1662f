# SPDX-License-Identifier: Apache-2.0
"""torch.Tensor.__dlpack__(copy=True) copies and does not set IS_COPIED, as the array API demands."""

import torch
from by_hand import address, report, struct_of

x = torch.arange(4.0)
capsule = x.__dlpack__(copy=True, max_version=(1, 0))
flags, copied = struct_of(capsule).flags, address(capsule) != x.data_ptr()
report("torch", "a copy with flags 0x2", f"{'a copy' if copied else 'no copy'} with flags {flags:#x}", not flags & 2)
