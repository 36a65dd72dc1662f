# SPDX-License-Identifier: Apache-2.0
"""Options of the test run. No fixtures that only one file uses."""

import contextlib
import os


def pytest_addoption(parser):
    parser.addoption(
        "--device",
        default="cpu",
        help="where tests that say so compute: cpu, or cuda on the host driver (with DLTENSOR_TEST_GPU=1 on a card)",
    )


def pytest_configure(config):
    with contextlib.suppress(ImportError):
        from hypothesis import settings

        # No test is about time: on a busy machine any example may take long.
        settings.register_profile("untimed", deadline=None)
        settings.load_profile("untimed")
    if config.getoption("--device").startswith("cuda") and not os.environ.get("DLTENSOR_TEST_GPU"):
        from dltensor.testing import hostcuda

        os.environ.setdefault("DLTENSOR_CUDA_NVRTC", "off")
        hostcuda.load()  # HOSTCUDA_ORDER=lazy, random:1 and so on say in which order its streams run
