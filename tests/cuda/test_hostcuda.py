# SPDX-License-Identifier: Apache-2.0
"""The host driver itself, where the process may have few addresses: less memory or an error, never a crash."""

import os
import subprocess
import sys
import textwrap

import pytest

pytestmark = pytest.mark.skipif(
    bool(os.environ.get("DLTENSOR_TEST_ASAN")), reason="AddressSanitizer maps terabytes itself"
)


def run(script):
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, timeout=300, check=False
    )


@pytest.mark.parametrize("devices", [1, 2])
def test_a_limit_on_addresses_makes_devices_smaller(devices, machine):
    done = run(f"""
    import resource
    resource.setrlimit(resource.RLIMIT_AS, (12_000_000_000, 12_000_000_000))
    from dltensor.testing import hostcuda
    hostcuda.load(devices={devices})
    import dltensor as dl
    t = dl.ones((2, 3)).to("cuda")
    assert (t + t).to("cpu").tolist() == [[2.0] * 3] * 2
    total = dl.cuda.mem_info().total
    assert 1 << 28 <= total < 12_000_000_000, total
    try:
        dl.empty((13 << 30,), dtype="uint8", device="cuda")
    except MemoryError as error:
        print("refused" if "expected 13958643712 bytes on cuda:0" in str(error) else error)
    """)
    assert (done.returncode, done.stdout) == (0, "refused\n"), done.stdout + done.stderr


def test_the_first_build_of_the_driver_says_so(tmp_path):
    compiler = tmp_path / "compiler"
    compiler.write_text('#!/bin/sh\nwhile [ "$1" != -o ]; do shift; done\ntouch "$2"\n')
    compiler.chmod(0o755)
    script = f"from dltensor.testing import hostcuda; hostcuda.build(compiler={str(compiler)!r})"
    environment = os.environ | {"DLTENSOR_CACHE_DIR": str(tmp_path / "cache")}
    command = [sys.executable, "-c", script]
    first, second = (subprocess.run(command, env=environment, capture_output=True, text=True) for _ in range(2))
    assert first.stderr.startswith(f"hostcuda: compiling its driver with {compiler}, once; it is kept in {tmp_path}")
    assert (first.returncode, second.returncode, second.stderr) == (0, 0, "")


def test_no_addresses_at_all_is_an_error_with_its_remedy(machine):
    done = run("""
    import resource
    from dltensor.testing import hostcuda
    hostcuda.load()
    import dltensor as dl
    t = dl.ones((2, 3))
    import dltensor.cuda
    with open("/proc/self/statm") as file:
        pages = int(file.read().split()[0])
    limit = pages * resource.getpagesize() + (32 << 20)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    try:
        t.to("cuda")
    except dl.DeviceError as error:
        print(error)
    """)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "CUDA_ERROR_OUT_OF_MEMORY" in done.stdout, done.stdout
    assert "ulimit -v" in done.stdout, done.stdout
