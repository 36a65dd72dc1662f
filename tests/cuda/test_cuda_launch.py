# SPDX-License-Identifier: Apache-2.0
"""The launch formulas of the tensor page, to the letter. No device is needed."""

import ctypes

import pytest


def blocks_1d(loaded, numel, sms, threads, blocks_per_sm=8, values=0):
    from cuda_engine_under_test import Launch

    out = (ctypes.c_int64 * 3)()
    loaded.c.shim_blocks_1d(ctypes.c_int64(numel), sms, ctypes.byref(Launch(blocks_per_sm, threads, values)), out)
    return tuple(out)


def blocks_nd(loaded, shape, sms, threads, values=0):
    from cuda_engine_under_test import Launch

    out = (ctypes.c_int64 * 5)()
    loaded.c.shim_blocks_nd(
        len(shape), (ctypes.c_int64 * len(shape))(*shape), sms, ctypes.byref(Launch(8, threads, values)), out
    )
    return tuple(out[:3]), out[3], out[4]


@pytest.mark.parametrize(
    ("numel", "sms", "threads", "blocks_per_sm", "preset", "values", "blocks"),
    [
        (10**6, 80, 512, 8, 0, 4, 489),
        (10**6, 132, 512, 8, 0, 2, 977),
        (10**6, 80, 512, 8, 8, 8, 245),
        (10**6, 80, 512, 8, 1, 1, 1954),
        (10**6, 80, 512, 0, 0, 25, 79),
        (10**6, 80, 64, 8, 0, 25, 625),
        (1, 80, 512, 8, 0, 1, 1),
        (100, 80, 512, 8, 0, 1, 1),
        (2**33, 132, 512, 8, 0, 15888, 1056),
    ],
)
def test_one_dimension(loaded, numel, sms, threads, blocks_per_sm, preset, values, blocks):
    assert blocks_1d(loaded, numel, sms, threads, blocks_per_sm, preset) == (blocks, values, numel)


def test_nothing_needs_no_blocks(loaded):
    assert blocks_1d(loaded, 0, 80, 512) == (0, 1, 0)
    assert blocks_nd(loaded, (0, 5), 80, 512)[0] == (0, 0, 1)


@pytest.mark.parametrize(
    ("shape", "preset", "grid", "values", "count"),
    [
        ((3, 224, 224), 0, (3, 98, 1), 1, 50176),
        ((256, 1000, 1000), 0, (1, 1954, 1), 256, 10**6),
        ((64, 3, 224, 224), 0, (3, 294, 1), 30, 150528),
        ((1000, 700), 3, (334, 2, 1), 3, 700),
        ((2, 40_000_000), 0, (1, 78125, 1), 2, 40_000_000),
    ],
)
def test_several_dimensions(loaded, shape, preset, grid, values, count):
    assert blocks_nd(loaded, shape, 80, 512, preset) == (grid, values, count)


@pytest.mark.parametrize(
    ("capability", "cores"), [((7, 5), 64), ((6, 1), 128), ((9, 0), 128), ((8, 0), 64), ((99, 0), 128), ((12, 0), 128)]
)
def test_threads_default_to_the_cores_of_a_multiprocessor(loaded, capability, cores):
    assert loaded.c.shim_calc_threads(0, *capability) == cores
    assert loaded.c.shim_calc_threads(96, *capability) == 96
