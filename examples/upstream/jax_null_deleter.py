# SPDX-License-Identifier: Apache-2.0
"""jax.dlpack.from_dlpack of a struct whose deleter is NULL ends the process; dlpack.h allows NULL.

"The deleter can be NULL if there is no way for the caller to provide a reasonable destructor."
"""

import os

from by_hand import in_child, report

os.environ.setdefault("JAX_PLATFORMS", "cpu")
CODE = """
import jax
from by_hand import Source
x = Source(legacy=True, deleter=False)
y = jax.dlpack.from_dlpack(x)
print(y.tolist(), flush=True)
del y
print("alive", flush=True)
"""
said, status = in_child(CODE)
report("jax", "the array comes and goes", f"{said or 'nothing printed'}, exit status {status}", status < 0)
