# SPDX-License-Identifier: Apache-2.0
"""The host driver's threads: preempted at any access, in warps whose masks are checked, with their sectors counted."""

import ctypes
import os
import subprocess
import sys
import textwrap

import conftest as setup  # beside this file: whether a card or the host driver runs
import numpy as np
import pytest

dl = pytest.importorskip("dltensor", reason="the package is not installed")
cuda = pytest.importorskip("dltensor.cuda", reason="the package is not installed")

pytestmark = [
    pytest.mark.skipif(setup.ON_CARD, reason="tests the host driver, this run uses a card"),
    pytest.mark.skipif(setup.SANITIZE, reason="two instrumentations of one kernel exclude each other"),
]

REVERSE = """
__global__ void reverse(int* out, const int* x) {
  __shared__ int part[64];
  part[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = part[63 - threadIdx.x];
}
"""
# The second barrier keeps a slow thread's value from being overwritten by a fast one.
ROTATE = """
__global__ void rotate(int* out, const int* x) {
  __shared__ int part[64];
  int value = x[threadIdx.x];
  for (int i = 0; i < 3; ++i) {
    part[threadIdx.x] = value;
    __syncthreads();
    value = part[(threadIdx.x + 1) % 64];
    __syncthreads();
  }
  out[threadIdx.x] = value;
}
"""
SWAP = """
__global__ void swap(int* out, const int* x) {
  __shared__ int part[64];
  part[threadIdx.x] = x[threadIdx.x];
  __syncwarp();
  out[threadIdx.x] = part[threadIdx.x ^ 31];
}
"""
COUNT = """
__global__ void count(int* out, const int* x) {
  if (threadIdx.x == 0) out[1] = 0;
  atomicAdd(out, x[threadIdx.x]);
}
"""


@pytest.fixture
def machine_watching(eager_machine):
    yield eager_machine
    eager_machine.configure(threads="whole")


def wrong(machine, source, name, expected, seeds=range(4)):
    """In how many orders of threads the kernel's 64 results are not the expected ones."""
    kernel, found = cuda.RawKernel(source, name), 0
    for seed in seeds:
        x = np.arange(64, dtype="int32") * 3 + 1000 * seed + 7  # what shared memory held before is wrong
        out = dl.zeros((64,), dtype="int32", device="cuda")
        machine.configure(threads=f"random:{seed}")
        kernel(1, 64, (out, dl.asarray(x).to("cuda")))
        machine.configure(threads="whole")
        found += out.numpy().tolist() != expected(x).tolist()
    return found


def planted(name, source, expected):
    """A kernel and its copies, each without one barrier."""
    places = [i for i in range(len(source)) if source.startswith(("__sync", "atomicAdd"), i)]
    for place in places:
        end = source.index(";", place)
        without = "*out += x[threadIdx.x]" if source.startswith("atomicAdd", place) else ""
        yield pytest.param(source, source[:place] + without + source[end:], name, expected, id=f"{name}-{place}")


def total(x):
    return np.concatenate([[x.sum()], np.zeros(63, "int32")]).astype("int32")


@pytest.mark.parametrize(
    ("whole", "broken", "name", "expected"),
    [
        *planted("reverse", REVERSE, lambda x: x[::-1]),
        *planted("rotate", ROTATE, lambda x: np.roll(x, -3)),
        *planted("swap", SWAP, lambda x: x.reshape(2, 32)[:, ::-1].ravel()),
        *planted("count", COUNT, total),
    ],
)
def test_a_missing_barrier_or_atomic_gives_wrong_data(machine_watching, whole, broken, name, expected):
    assert whole != broken
    assert wrong(machine_watching, whole, name, expected) == 0
    # Not in every order: which addresses threads share decides how often one is preempted.
    assert wrong(machine_watching, broken, name, expected, seeds=range(12)) > 0


@pytest.mark.parametrize(
    "call", [dl.sum, dl.argmax, lambda x: dl.max(x, axis=0), lambda x: x @ x.mT, lambda x: dl.copy(x.mT)]
)
@pytest.mark.parametrize("seed", [1, 2])
def test_kernels_of_the_package_with_barriers(machine_watching, call, seed):
    x = dl.asarray((np.arange(70 * 40) * 37 % 101).reshape(70, 40).astype("int32"))
    there = x.to("cuda")
    machine_watching.configure(threads=f"random:{seed}")
    found = call(there)
    machine_watching.configure(threads="whole")
    np.testing.assert_array_equal(found.numpy(), call(x).numpy())


# Each block leaves a number; the one that comes last adds them up.
LAST = """
__global__ void last(int* out, const int* x) {
  int* left = out + 2;
  if (threadIdx.x == 5) left[blockIdx.x] = x[blockIdx.x];
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    if (atomicAdd(out, 1) == gridDim.x - 1) {
      int sum = 0;
      for (int b = 0; b < gridDim.x; ++b) sum += left[b];
      out[1] = sum;
    }
  }
}
"""


def sum_of_the_last(machine, source, seed):
    x = np.arange(8, dtype="int32") * 3 + 7
    out = dl.zeros((10,), dtype="int32", device="cuda")
    machine.configure(threads=f"random:{seed}")
    cuda.RawKernel(source, "last")(8, 32, (out, dl.asarray(x).to("cuda")))
    machine.configure(threads="whole")
    assert out[2:].tolist() == x.tolist(), "all stores are there when the kernel has ended"
    return out[1].item() == x.sum()


def test_a_missing_fence_gives_wrong_data(machine_watching):
    """Stores of a block are seen by others after a fence of the thread, or of one that met it at a barrier."""
    seeds = range(6)
    assert all(sum_of_the_last(machine_watching, LAST, seed) for seed in seeds)
    without = LAST.replace("__threadfence();", "")
    assert without != LAST
    assert not all(sum_of_the_last(machine_watching, without, seed) for seed in seeds)
    elsewhere = LAST.replace("__threadfence();", "").replace(
        "  __syncthreads();", "  if (threadIdx.x == 5) __threadfence();\n  __syncthreads();"
    )
    assert all(sum_of_the_last(machine_watching, elsewhere, seed) for seed in seeds)
    before = LAST.replace("__threadfence();", "").replace(
        "  __syncthreads();", "  if (threadIdx.x == 0) __threadfence();\n  __syncthreads();"
    )
    assert not all(sum_of_the_last(machine_watching, before, seed) for seed in seeds)


# Blocks take numbers, and each adds its elements to what the block before it has left. TELL and WAIT stand for that.
CHAIN = """
__global__ void chain(int* out, const int* x) {
  __shared__ int part[32], number;
  if (threadIdx.x == 0) number = atomicAdd(out + 32, 1);
  __syncthreads();
  int* const sums = out;
  volatile int* const flags = out + 16;
  part[threadIdx.x] = x[number * 32 + threadIdx.x];
  __syncthreads();
  if (threadIdx.x != 0) return;
  int sum = 0;
  for (int k = 0; k < 32; ++k) sum += part[k];
  if (number WAITS) {
    while (flags[number PLACE] == 0) {}
    __threadfence();
    sum += ((volatile int*)sums)[number PLACE];
  }
  sums[number] = sum;
  FENCE
  flags[number] = 1;
}
"""


def chain_of(waits="> 0", place="- 1", fence="__threadfence();"):
    return CHAIN.replace("WAITS", waits).replace("PLACE", place).replace("FENCE", fence)


def chained(machine, source, seed, blocks=9):
    x = np.arange(blocks * 32, dtype="int32") * 7 + 1
    out = dl.zeros((33,), dtype="int32", device="cuda")
    machine.configure(threads=f"random:{seed}")
    try:
        cuda.RawKernel(source, "chain")(blocks, 32, (out, dl.asarray(x).to("cuda")))
    finally:
        machine.configure(threads="whole")
    return out[:blocks].tolist() == x.reshape(blocks, 32).sum(1).cumsum().tolist()


def test_blocks_wait_for_one_another(machine_watching):
    """Several are resident, each with its shared memory; a store that no fence follows may come after a later one."""
    assert all(chained(machine_watching, chain_of(), seed) for seed in range(8))
    assert not all(chained(machine_watching, chain_of(fence=""), seed) for seed in range(8))
    assert not all(chained(machine_watching, chain_of(waits="< 0"), seed) for seed in range(8))


def test_blocks_are_preempted(machine_watching):
    """An addition without an atomic operation loses what another block adds meanwhile."""
    source = "__global__ void f(int* out) { volatile int* at = out; *at = *at + 1; }"
    found = set()
    for seed in range(8):
        out = dl.zeros((1,), dtype="int32", device="cuda")
        machine_watching.configure(threads=f"random:{seed}")
        cuda.RawKernel(source, "f")(64, 1, (out,))
        machine_watching.configure(threads="whole")
        found.add(out.item())
    assert found != {64}


WARP = """
__global__ void warp(int* out, const int* x) {
  int value = x[threadIdx.x], lane = threadIdx.x % 32, sum = value;
  for (int by = 16; by; by /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, by);
  int scan = value;
  for (int by = 1; by < 32; by *= 2) {
    int before = __shfl_up_sync(0xffffffffu, scan, by);
    if (lane >= by) scan += before;
  }
  unsigned odd = __ballot_sync(0xffffffffu, value & 1);
  int pair = 0;
  if (lane < 8) pair = __shfl_down_sync(0xffu, value, 1, 4);
  int any = __any_sync(0xffffffffu, value == 40), all = __all_sync(0xffffffffu, value >= 0);
  int* at = out + threadIdx.x * 7;
  at[0] = sum, at[1] = scan, at[2] = odd, at[3] = pair, at[4] = any, at[5] = all;
  at[6] = __shfl_sync(0xffffffffu, value, 5, 16);
}
"""


@pytest.mark.parametrize("threads", ["whole", "random:1", "random:2"])
def test_warp_intrinsics(machine_watching, threads):
    x = np.arange(64, dtype="int32") ** 2 % 41
    out = dl.zeros((64, 7), dtype="int32", device="cuda")
    machine_watching.configure(threads=threads)
    cuda.RawKernel(WARP, "warp")(1, 64, (out, dl.asarray(x).to("cuda")))
    machine_watching.configure(threads="whole")
    warps, lanes = x.reshape(2, 32), np.arange(32)
    expected = np.zeros((2, 32, 7), "int32")
    expected[..., 0] = warps.sum(1, keepdims=True)
    expected[..., 1] = warps.cumsum(1)
    bits = (warps & 1).astype("uint32") << lanes.astype("uint32")
    expected[..., 2] = bits.sum(1, dtype="uint32").view("int32")[:, None]
    expected[:, :8, 3] = warps[:, [1, 2, 3, 3, 5, 6, 7, 7]]
    expected[..., 4] = (warps == 40).any(1, keepdims=True)
    expected[..., 5] = 1
    expected[..., 6] = warps[:, np.where(lanes < 16, 5, 21)]
    np.testing.assert_array_equal(out.numpy(), expected.reshape(64, 7))


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("if (threadIdx.x < 16) __syncwarp();", "waits for lanes of its mask that have ended"),
        ("if (threadIdx.x < 16) __syncwarp(); else __syncthreads();", "or are at __syncthreads"),
        ("__syncwarp(0xffffu);", "leaves out the lane that calls it"),
        ("*x = __shfl_sync(threadIdx.x < 16 ? 0xffffu : 0xffff0000u, 1, 3);", "reads a lane that its mask leaves out"),
        ("threadIdx.x < 16 ? __syncwarp() : (void)__any_sync(~0u, 1);", "at different warp intrinsics"),
        ("threadIdx.x ? __syncwarp() : __syncwarp(3);", "with different masks"),
    ],
)
@pytest.mark.parametrize("threads", ["whole", "random:1"])
def test_a_wrong_mask_ends_the_process_with_its_reason(machine, body, words, threads):
    ends_with(words, body, 1, threads)


@pytest.mark.parametrize(
    "body",
    [
        "volatile int* at = x; if (blockIdx.x == 1) while (*at == 0) {}",
        "volatile int* at = x; atomicAdd(x + 1, 1); while (at[1] < 8 * 32) {}",  # all would have to be resident
    ],
)
def test_blocks_that_wait_for_ever_end_the_process(machine, body):
    ends_with("blocks wait, and none of them goes on", body, 8, "random:1")


def ends_with(words, body, blocks, threads):
    """Checks that a kernel of that body ends a process, which says so."""
    script = f"""
    import sys
    sys.path.insert(0, {str(setup.SOURCE / "testing")!r})
    import hostcuda
    hostcuda.load()
    import dltensor as dl
    from dltensor import cuda
    kernel = cuda.RawKernel("__global__ void f(int* x) {{ {body} }}", "f")
    kernel({blocks}, 32, (dl.zeros((2,), dtype="int32", device="cuda"),))
    """
    environment = {**os.environ, "HOSTCUDA_THREADS": threads, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env=environment,
    )
    assert done.returncode == -6, done.stdout + done.stderr
    assert words in done.stderr


def traffic(machine, call):
    """(bytes that kernels read and wrote, bytes of the sectors that their warps touched)."""
    before = machine.statistics()
    machine.configure(threads="random:1")
    out = call()
    machine.configure(threads="whole")
    after = machine.statistics()
    names = ("bytes_read", "bytes_written", "sectors_read", "sectors_written")
    read, written, sectors_read, sectors_written = (getattr(after, name) - getattr(before, name) for name in names)
    del out
    return read, written, 32 * sectors_read, 32 * sectors_written


def device(shape, dtype):
    return dl.asarray((np.arange(np.prod(shape)) % 100).reshape(shape).astype(dtype)).to("cuda")


@pytest.mark.parametrize(
    ("name", "make", "call", "read", "written", "most"),
    [
        ("add float32", lambda: device((4096,), "float32"), lambda x: x + x, 2 * 4 * 4096, 4 * 4096, 1.0),
        ("add uint8", lambda: device((8192,), "uint8"), lambda x: x + x, 2 * 8192, 8192, 1.0),
        ("cast", lambda: device((4096,), "uint8"), lambda x: x.astype("float64"), 4096, 8 * 4096, 1.0),
        ("row", lambda: device((32, 128), "float32"), lambda x: x + x[0], 2 * 4 * 4096, 4 * 4096, 1.0),
        ("odd rows", lambda: device((4, 2051), "uint8"), lambda x: dl.copy(x[:, 1:]), 4 * 2050, 4 * 2050, 1.1),
        ("short odd rows", lambda: device((32, 131), "uint8"), lambda x: dl.copy(x[:, 1:]), 32 * 130, 32 * 130, 1.1),
        ("odd rows of 2 bytes", lambda: device((4, 2051), "int16"), lambda x: x[:, 1:] + x[:, :-1], 32800, 16400, 1.1),
        ("odd rows of 4 bytes", lambda: device((4, 2051), "float32"), lambda x: x[:, 1:] + 1, 4 * 8200, 4 * 8200, 1.1),
        ("odd rows of 8 bytes", lambda: device((4, 1027), "float64"), lambda x: x[:, 1:] + 1, 4 * 8208, 4 * 8208, 1.1),
        ("a run at an odd address", lambda: device((8193,), "uint8"), lambda x: x[1:] + x[1:], 2 * 8192, 8192, 1.1),
        ("transpose of 4 bytes", lambda: device((128, 128), "float32"), lambda x: dl.copy(x.mT), 65536, 65536, 1.0),
        ("transpose of 1 byte", lambda: device((128, 128), "uint8"), lambda x: dl.copy(x.mT), 16384, 16384, 1.0),
        ("3 channels first", lambda: device((2048, 3), "uint8"), lambda x: dl.copy(x.mT), 6144, 6144, 1.0),
        ("3 channels last", lambda: device((3, 2048), "uint8"), lambda x: dl.copy(x.mT), 6144, 6144, 1.0),
        ("3 channels of 4", lambda: device((1024, 4), "float32"), lambda x: dl.copy(x[:, :3].mT), 16384, 12288, 1.01),
        ("8 channels first", lambda: device((1024, 8), "float16"), lambda x: dl.copy(x.mT), 16384, 16384, 1.0),
        ("8 channels last", lambda: device((8, 1024), "float32"), lambda x: dl.copy(x.mT), 32768, 32768, 1.0),
        ("16 channels first", lambda: device((1024, 16), "float64"), lambda x: dl.copy(x.mT), 131072, 131072, 1.0),
        ("16 channels last", lambda: device((16, 640), "uint8"), lambda x: dl.copy(x.mT), 10240, 10240, 1.0),
        # Elements one by one: warps of 32 bytes that begin inside of a sector touch two.
        ("odd channels", lambda: device((3001, 3), "uint8"), lambda x: dl.copy(x[1:].mT), 9000, 9000, 2.1),
    ],
)  # fmt: skip
def test_a_kernel_touches_what_it_needs(machine_watching, name, make, call, read, written, most):
    x = make()
    found = traffic(machine_watching, lambda: call(x))
    print(f"{name}: {found}")
    assert found[1] == written
    assert found[3] <= most * written
    assert 0 < found[2] <= most * read


def test_a_kernel_of_scattered_accesses_is_seen(machine_watching):
    source = "__global__ void f(float* out, const float* x) { out[threadIdx.x] = x[threadIdx.x * 8]; }"
    x, out = device((256,), "float32"), dl.zeros((32,), device="cuda")
    found = traffic(machine_watching, lambda: cuda.RawKernel(source, "f")(1, 32, (out, x)))
    assert found == (128, 128, 1024, 128)


def test_settings_of_threads(machine):
    for bad in ("", "backwards"):
        with pytest.raises(ValueError, match="threads="):
            machine.configure(threads=bad)
    assert ctypes.c_int(machine.library.hostcuda_configure(b"threads", b"whole")).value == 0
