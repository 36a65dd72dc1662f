# SPDX-License-Identifier: Apache-2.0
"""Casts between float8 and other dtypes on CUDA devices: the bits of the CPU, for every pattern.

DLTENSOR_TEST_GPU=1 runs them on a card."""

import numpy as np
import pytest

dl = pytest.importorskip("dltensor", reason="the package is not installed")
cuda = pytest.importorskip("dltensor.cuda", reason="the package is not installed")

import conftest as setup  # noqa: E402  beside this file: whether a card or the host driver runs
from test_tensor_cuda import machine_order, same  # noqa: E402, F401  the fixture is used by name

pytestmark = [pytest.mark.gpu] if setup.ON_CARD else []

FLOAT8 = ("float8_e4m3fn", "float8_e5m2")
WIDE = ("float16", "bfloat16", "float32", "uint8")
TILE = 4096  # elements: at least what 32 threads take at once, of every pair


def patterns(dtype):
    """Every element of the dtype; of float32 each one that is a half, its neighbours, and others."""
    if dtype == "float32":
        near = np.concatenate([wide.astype("float32").numpy() for wide in (patterns("float16"), patterns("bfloat16"))])
        bits = near.view("u4")
        rest = np.random.default_rng(5).integers(0, 2**32, 1 << 14, dtype="u4")
        return dl.asarray(np.concatenate([bits, bits + np.uint32(1), bits - np.uint32(1), rest]).view("f4"))
    if dtype in ("float16", "bfloat16"):
        return dl.arange(1 << 16, dtype="uint16").view(dtype)
    return dl.concat([dl.arange(256, dtype="uint8")] * 48).view(dtype)


def check(host, dtype, **options):
    same(dl.cast(host.to("cuda"), dtype, **options), dl.cast(host, dtype, **options))


@pytest.mark.parametrize("saturate", [False, True])
@pytest.mark.parametrize("narrow", FLOAT8)
@pytest.mark.parametrize("wide", WIDE)
def test_every_pattern_has_the_cpus_bits(eager_machine, wide, narrow, saturate):
    check(patterns(wide), narrow, saturate=saturate)
    check(patterns(narrow), wide, saturate=saturate)


@pytest.mark.parametrize("narrow", FLOAT8)
@pytest.mark.parametrize("wide", WIDE)
def test_numbers_alone_have_the_cpus_bits(eager_machine, wide, narrow):
    """No NaN and nothing too large: nothing is put right afterwards."""
    x = dl.asarray(np.random.default_rng(6).uniform(0, 250, 3 * TILE).astype("f4")).astype(wide)
    check(x, narrow)
    check(x.astype(narrow), wide)


@pytest.mark.parametrize("place", [0, 31, 1000, TILE - 1, TILE, 2 * TILE + 77])
def test_one_special_number_among_others(eager_machine, place):
    for special in (float("nan"), float("-inf"), -470.0, 448.0, 464.0, 1e5):
        for wide in WIDE[:3]:
            x = dl.full(2 * TILE + 100, 2.5, dtype=wide)
            x[place] = special
            for narrow in FLOAT8:
                check(x, narrow)
                check(x, narrow, saturate=True)
                check(x.astype(narrow), wide)


@pytest.mark.usefixtures("machine_order")
@pytest.mark.parametrize("size", [0, 1, 15, 16, 1023, 1024, 1025, 2048, TILE + 7, 3 * TILE])
def test_sizes_and_places_in_memory(size):
    a = patterns("float16")[100 : 100 + size + 9]
    for first in (0, 1, 4, 8):
        for narrow in FLOAT8:
            part = a[first : first + size]
            on_cuda = a.to("cuda")[first : first + size].astype(narrow)
            same(on_cuda, part.astype(narrow))
            out = dl.zeros(size + 9, dtype=narrow, device="cuda")
            dl.cast(a.to("cuda")[:size], out[first : first + size])
            same(out[first : first + size], a[:size].astype(narrow))
            assert out[:first].view("uint8").tolist() == [0] * first
            assert not out[first + size :].view("uint8").to("cpu").any()


@pytest.mark.parametrize(("threads", "blocks"), [(1, 1), (7, 3), (32, 1), (40, 3), (100, 2), (1024, 1)])
def test_any_launch(eager_machine, threads, blocks):
    a = patterns("bfloat16")
    with cuda.launch(blocks, threads, 5):
        for narrow in FLOAT8:
            check(a[: 3 * TILE + 5], narrow)
            check(a[: 3 * TILE + 5].astype(narrow), "uint8")


@pytest.mark.skipif(setup.ON_CARD or setup.SANITIZE, reason="asks the host driver what its own instrumentation counted")
@pytest.mark.parametrize(("source", "target"), [("float16", "float8_e4m3fn"), ("float8_e5m2", "bfloat16")])
def test_a_cast_is_one_launch_that_reads_and_writes_once(eager_machine, source, target):
    x = dl.ones(1 << 14, dtype="float16", device="cuda").astype(source)
    before = eager_machine.statistics()
    eager_machine.configure(threads="random:1")
    result = x.astype(target)
    eager_machine.configure(threads="whole")
    after = eager_machine.statistics()
    assert after.launches - before.launches == 1
    assert after.bytes_read - before.bytes_read == x.nbytes
    assert after.bytes_written - before.bytes_written == result.nbytes


def test_casts_that_round_to_integers_and_views_take_other_kernels(eager_machine):
    for narrow in FLOAT8:
        x = patterns(narrow)
        check(x, "uint8", rounding="nearest")
        check(x, "int8")
        check(x, "float64")
        check(x[::3], "float16")
        check(x.reshape(64, -1).mT, "bfloat16")
