# SPDX-License-Identifier: Apache-2.0
"""The CUDA engine where the host runs out of memory: an error at every allocation, and never the end of the process."""

import os
import subprocess

import pytest

LINK = ["-Wl,--wrap=malloc,--wrap=posix_memalign", "-static-libstdc++", "-static-libgcc"]


@pytest.fixture(scope="session")
def program(machine, tmp_path_factory):
    from conftest import load_engine

    engine = load_engine()
    folder = engine.scratch() / "engine"
    return engine.linked(folder, "no_memory-{}", engine.compiled(folder, "no_memory.cc"), LINK)


# One runs all, the others what differs there: order of streams, where kernels come from, and some of the rest.
@pytest.mark.parametrize(
    ("order", "nvrtc", "arguments", "least"),
    [("lazy", True, ["1"], 120), ("eager", False, ["17"], 80), ("random:1", False, ["3", "blas"], 30)],
    ids=["nvrtc", "source", "blas"],
)
def test_an_allocation_that_fails_is_a_memory_error_and_all_works_afterwards(
    order, nvrtc, arguments, least, program, fake_nvrtc, machine, tmp_path
):
    from conftest import SOURCE

    environment = {
        **os.environ,
        "DLTENSOR_CUDA_DRIVER": str(machine.build.driver),
        "DLTENSOR_CUDA_CUBLAS": str(machine.build.cublas),
        "DLTENSOR_CUDA_NVRTC": str(fake_nvrtc) if nvrtc else "off",
        "HOSTCUDA_CACHE": str(machine.build.cache),
        "HOSTCUDA_INCLUDE": ":".join(
            str(folder) for folder in (SOURCE / "testing" / "hostcuda", SOURCE, SOURCE / "include")
        ),
        "HOSTCUDA_ORDER": order,
    }
    command = [program, SOURCE, tmp_path, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=900)
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    assert done.stdout.startswith("ok "), done.stdout
    assert int(done.stdout.split()[1]) > least, f"{done.stdout}: fewer allocations than there must be"
