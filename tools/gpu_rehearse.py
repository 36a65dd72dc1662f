# SPDX-License-Identifier: Apache-2.0
"""Print the environment in which tools/gpu_check.sh takes the host driver for a card: a rehearsal without one."""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src" / "dltensor" / "testing"))
import hostcuda  # the file alone: the package is not needed to build a driver

os.environ["DLTENSOR_CACHE_DIR"] = os.environ["DLTENSOR_TEST_CACHE"]
built = hostcuda.build()
settings = {
    "LD_LIBRARY_PATH": built.driver.parent,
    "DLTENSOR_CUDA_NVRTC": "off",
    # By their paths: those of an environment with NVIDIA's own packages would be found first.
    "DLTENSOR_CUDA_CUBLAS": built.cublas,
    "DLTENSOR_CUDA_CUFFT": built.cufft,
    "DLTENSOR_CUDA_CUSOLVER": built.cusolver,
    "HOSTCUDA_CACHE": os.environ.get("HOSTCUDA_CACHE") or built.cache,
    "HOSTCUDA_INCLUDE": ":".join(map(str, hostcuda._include_folders())),
}
for name, value in settings.items():
    print(f"export {name}='{value}'")
