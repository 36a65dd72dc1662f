# SPDX-License-Identifier: Apache-2.0
"""jax answers max_version=(1, 3) with a legacy capsule, which cannot say READ_ONLY: others write to immutable arrays.

The array API recommends the newest version that both know; the flag exists since DLPack 1.0.
"""

import os

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax.numpy as jnp
from by_hand import Legacy, report, struct_of

capsule = jnp.arange(3.0).__dlpack__(max_version=(1, 3))
legacy = isinstance(struct_of(capsule), Legacy)
report(
    "jax", "a dltensor_versioned capsule with READ_ONLY", "a legacy capsule" if legacy else "a versioned one", legacy
)
