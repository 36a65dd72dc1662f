# SPDX-License-Identifier: Apache-2.0
"""Copies, casts, fills and matrix products of the CUDA engine on the host driver, against NumPy and ml_dtypes."""

import itertools

import ml_dtypes
import numpy as np
import pytest

RNG = np.random.default_rng(11)


@pytest.mark.parametrize("itemsize", [1, 2, 4, 8, 16])
@pytest.mark.parametrize("shape", [(65, 33), (8, 8), (3, 130, 70), (4, 5, 66, 34)])
def test_permuted_copies(cuda, shape, itemsize):
    dtype = {1: "u1", 2: "i2", 4: "i4", 8: "i8", 16: "c16"}[itemsize]
    a = RNG.integers(0, 200, shape).astype(dtype)
    x = cuda.upload(a)
    for order in itertools.islice(itertools.permutations(range(len(shape))), 1, 7):
        view = a.transpose(order)
        y = x.view(view.shape, [s // a.itemsize for s in view.strides])
        np.testing.assert_array_equal(cuda.copy(y, cuda.empty(view.shape, dtype)).get(), view)


# Multiples of 16 bytes on both sides, whole tiles and parts of tiles, batches, and rows longer than their data.
@pytest.mark.parametrize(
    "shape", [(64, 64), (128, 128), (16, 16), (144, 80), (3, 32, 272), (208, 3, 64), (2, 2, 48, 16)]
)
@pytest.mark.parametrize("itemsize", [1, 2, 4])
def test_transposed_copies_of_whole_words(cuda, shape, itemsize):
    dtype = {1: "u1", 2: "u2", 4: "u4"}[itemsize]
    a = RNG.integers(0, 1 << (8 * itemsize), shape, dtype="u8").astype(dtype)
    for whole in (a, np.concatenate([a, a], axis=-1)):
        x = cuda.upload(whole)
        part = whole[..., : shape[-1]]
        for order in ([*range(len(shape) - 2), len(shape) - 1, len(shape) - 2], list(reversed(range(len(shape))))):
            view = part.transpose(order)
            y = x.view(view.shape, [s // itemsize for s in view.strides])
            np.testing.assert_array_equal(cuda.copy(y, cuda.empty(view.shape, dtype)).get(), view)
        del x, y


# Channels last to channels first and back: (pixels, channels), the pitch of a pixel, elements ahead of the first, and
# how often the plane is there. Whole strips, parts of strips, and planes of less than one.
PLANES = [((2048, 3), 3, 0, 2), ((1000, 3), 3, 1, 3), ((300, 3), 4, 0, 2), ((77, 8), 8, 0, 3), ((640, 16), 16, 2, 1)]


@pytest.mark.parametrize("plane", PLANES, ids=str)
@pytest.mark.parametrize("itemsize", [1, 2, 4, 8, 16])
def test_planes_with_a_short_side(cuda, machine, plane, itemsize):
    (pixels, channels), pitch, ahead, planes = plane
    dtype = {1: "u1", 2: "u2", 4: "u4", 8: "u8", 16: "c16"}[itemsize]
    numbers = np.arange(2 * ahead + planes * pixels * pitch + 5)
    last = ((numbers * 2654435761 >> 7) % 251).astype(dtype)  # channels last
    shape, strides = (planes, channels, pixels), (pixels * pitch, 1, pitch)
    for offset in {ahead, 2 * ahead}:
        view = np.lib.stride_tricks.as_strided(last[offset:], shape, [s * itemsize for s in strides])
        out = cuda.fill(7, cuda.empty((planes * channels * pixels + 9,), dtype))
        first = out.view(shape, (channels * pixels, pixels, 1), (offset + 1) * itemsize)
        cuda.copy(cuda.upload(last).view(shape, strides, offset * itemsize), first)
        assert "tile::strip" in machine.last_kernel() or machine.pending()
        want = np.full(out.shape, 7, dtype)
        want[offset + 1 : offset + 1 + view.size] = view.ravel()
        np.testing.assert_array_equal(out.get(), want)
        if pitch != channels:
            continue
        back = cuda.fill(9, cuda.empty(last.shape, dtype))
        cuda.copy(first, back.view(shape, strides, offset * itemsize))
        assert "tile::strip" in machine.last_kernel() or machine.pending()
        want = np.full(last.shape, 9, dtype)
        want[offset : offset + view.size] = last[offset : offset + view.size]
        np.testing.assert_array_equal(back.get(), want)


def test_lines_at_any_distance_become_pixels(cuda):
    for step in (-130, 131, 300):
        a = RNG.integers(0, 255, 1000, dtype="u1")
        start = 500 if step < 0 else 7
        view = np.lib.stride_tricks.as_strided(a[start:], (100, 3), (1, step))
        got = cuda.copy(cuda.upload(a).view((100, 3), (1, step), start), cuda.empty((100, 3), "u1"))
        np.testing.assert_array_equal(got.get(), view)


def test_pixels_of_bytes_become_planes_of_floats(cuda, machine):
    a = RNG.integers(0, 255, (2, 61, 47, 3), dtype="u1")
    x = cuda.upload(a)
    view = a.transpose(0, 3, 1, 2)
    y = cuda.cast(x.view(view.shape, view.strides), cuda.empty(view.shape, "float32"), scaled=(0.25, -0.5))
    np.testing.assert_array_equal(y.get(), view * np.float32(0.25) - np.float32(0.5))
    back = cuda.cast(
        y.view((2, 61, 47, 3), [s // 4 for s in y.get().transpose(0, 2, 3, 1).strides]), cuda.empty(a.shape, "float16")
    )
    np.testing.assert_array_equal(back.get(), y.get().transpose(0, 2, 3, 1).astype("f2"))


def test_a_transposed_copy_goes_through_tiles(eager, machine):
    x = eager.upload(np.ones((64, 48), "f4"))
    eager.copy(x.view((48, 64), (1, 48)), eager.empty((48, 64), "float32"))
    assert "tile::words<4" in machine.last_kernel()
    eager.copy(x.view((47, 64), (1, 48)), eager.empty((47, 64), "float32"))
    assert "tile::permute" in machine.last_kernel()
    eager.copy(x.view((48, 64), (1, 48)), eager.empty((48 * 64 + 1,), "float32").view((48, 64), (64, 1), 4))
    assert "tile::permute" in machine.last_kernel(), "an address that is not a multiple of 16"


REALS = ["bool", "int8", "uint16", "int32", "uint64", "int64", "float16", "bfloat16", "float32", "float64"]
EDGES = np.array(
    [
        0,
        -0.0,
        0.5,
        1.5,
        2.5,
        -0.5,
        -1.5,
        127.5,
        255.5,
        256,
        65504,
        65520,
        1e9,
        -1e9,
        2**31,
        2.0**63,
        1e300,
        np.inf,
        -np.inf,
        np.nan,
    ]
)


@pytest.mark.parametrize("target", ["int8", "uint8", "int32", "int64", "float16", "bfloat16", "float32", "bool"])
def test_casts_from_float64_truncate_clamp_and_round_once(cuda, target):
    with np.errstate(all="ignore"):
        if target == "bool":
            want = EDGES != 0
        elif np.dtype(target).kind in "iu":
            info = np.iinfo(target)
            whole = [0 if np.isnan(v) else int(np.clip(v, -1e30, 1e30)) for v in EDGES]
            want = np.array([min(max(v, info.min), info.max) for v in whole], target)
        else:
            want = EDGES.astype(target)
    got = cuda.cast(cuda.upload(EDGES), cuda.empty(EDGES.shape, target)).get()
    # bfloat16's NaN is equal to itself only as another float.
    exact = np.float64 if target == "bfloat16" else got.dtype
    np.testing.assert_array_equal(got.astype(exact), want.astype(exact))


def test_nearest_is_half_to_even(cuda):
    a = np.array([-1, 0.5, 1.5, 2.5, 254.5, 255.4, 255.5, 256, 1e9, np.inf, -np.inf], "f4")
    got = cuda.cast(cuda.upload(a), cuda.empty(a.shape, "uint8"), nearest=True, saturate=True).get()
    assert got.tolist() == [0, 0, 2, 2, 254, 255, 255, 255, 255, 255, 0]


def test_saturating_casts_between_integers(cuda):
    a = np.array([-5, 0, 255, 256, 32767], "i2")
    assert cuda.cast(cuda.upload(a), cuda.empty(a.shape, "uint8"), saturate=True).get().tolist() == [
        0,
        0,
        255,
        255,
        255,
    ]
    np.testing.assert_array_equal(cuda.cast(cuda.upload(a), cuda.empty(a.shape, "uint8")).get(), a.astype("u1"))


@pytest.mark.parametrize("target", ["float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz"])
def test_small_floats_equal_ml_dtypes(cuda, target):
    a = np.concatenate([RNG.standard_normal(500) * s for s in (1e-3, 1, 100, 1e5)]).astype("f4")
    dtype = getattr(ml_dtypes, target)
    got = cuda.cast(cuda.upload(a), cuda.empty(a.shape, dtype)).get()
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(got.view("u1"), a.astype(dtype).view("u1"))
    back = cuda.cast(cuda.upload(got), cuda.empty(a.shape, "float32")).get()
    np.testing.assert_array_equal(back, got.astype("f4"))


def test_a_cast_is_fused_with_a_permutation(cuda, machine):
    a = RNG.integers(0, 255, (70, 45), dtype="u1")
    x = cuda.upload(a)
    before = machine.statistics().launches
    y = cuda.cast(x.view((45, 70), (1, 45)), cuda.empty((45, 70), "float32"))
    assert machine.statistics().launches == before + 1
    np.testing.assert_array_equal(y.get(), a.T.astype("f4"))


def test_scale_and_offset_are_fused_too(cuda, machine):
    a = RNG.integers(0, 255, (32, 48, 3), dtype="u1")
    x = cuda.upload(a)
    before = machine.statistics().launches
    view = a.transpose(2, 0, 1)
    y = cuda.run("fma", [x.view(view.shape, view.strides), 0.5, -1.0], "float32", out_dtype="float16")
    assert machine.statistics().launches == before + 1
    np.testing.assert_array_equal(y.get(), (view.astype("f4") * 0.5 - 1).astype("f2"))


def test_a_cast_scales_permutes_and_rounds_in_one_pass(cuda, machine):
    a = RNG.integers(0, 255, (40, 30, 3), dtype="u1")
    x = cuda.upload(a)
    view = a.transpose(2, 0, 1)
    before = machine.statistics().launches
    y = cuda.cast(x.view(view.shape, view.strides), cuda.empty(view.shape, "int8"), nearest=True, scaled=(1.5, -100))
    assert machine.statistics().launches == before + 1
    want = np.clip(np.rint(view * np.float32(1.5) - np.float32(100)), -128, 127).astype("i1")
    np.testing.assert_array_equal(y.get(), want)


@pytest.mark.parametrize("dtype", ["uint8", "float32", "complex128"])
def test_where_chooses_and_broadcasts(cuda, dtype):
    condition, a = RNG.integers(0, 2, (6, 1)).astype(bool), RNG.integers(0, 99, (6, 7)).astype(dtype)
    got = cuda.choose(cuda.upload(condition), cuda.upload(a), 5, cuda.empty((6, 7), dtype)).get()
    np.testing.assert_array_equal(got, np.where(condition, a, np.array(5, dtype)))


@pytest.mark.parametrize("dtype", ["uint8", "int16", "float32", "float64", "complex128"])
def test_fills_whole_and_strided(cuda, dtype):
    x = cuda.fill(7, cuda.empty((6, 10), dtype))
    cuda.fill(3, x.view((3, 4), (20, 2), np.dtype(dtype).itemsize))
    want = np.full((6, 10), 7, dtype)
    want[::2, 1:9:2] = 3
    np.testing.assert_array_equal(x.get(), want)


def test_copying_another_dtype_is_refused(eager):
    from cuda_engine_under_test import Fault

    with pytest.raises(Fault, match="type: copy: expected one dtype"):
        eager.copy(eager.upload(np.ones(3, "u1")), eager.empty((3,), "uint16"))


# ---- matrix products


@pytest.fixture(params=["cublas", "tiles"])
def product(request, cuda):
    """Both ways of multiplying."""
    cuda.c.shim_without_cublas(request.param == "tiles")
    yield cuda
    cuda.c.shim_without_cublas(0)


def layouts(shape, dtype):
    rows, columns = shape
    yield "plain", RNG.standard_normal(shape).astype(dtype)
    yield "transposed", RNG.standard_normal((columns, rows)).astype(dtype).T
    yield "padded", RNG.standard_normal((rows, columns + 5)).astype(dtype)[:, 2 : 2 + columns]
    yield "strided", RNG.standard_normal((rows, 2 * columns)).astype(dtype)[:, ::2]


@pytest.mark.parametrize(
    ("dtype", "tolerance"), [("float32", 1e-5), ("float64", 1e-12), ("float16", 2e-2), ("bfloat16", 1e-1)]
)
def test_products_of_every_layout(product, dtype, tolerance):
    for (_, a), (_, b) in itertools.product(layouts((7, 5), dtype), layouts((5, 9), dtype)):
        c = RNG.standard_normal((7, 9)).astype(dtype)
        got = product.gemm(product.upload(a), product.upload(b), product.upload(c), 1.5, 0.5).get()
        want = 1.5 * (a.astype("f8") @ b.astype("f8")) + 0.5 * c.astype("f8")
        np.testing.assert_allclose(got.astype("f8"), want, rtol=tolerance, atol=10 * tolerance)


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int64"])
def test_products_of_integers_wrap_as_numpys(cuda, dtype):
    info = np.iinfo(dtype)
    a, b, c = (
        RNG.integers(info.min, info.max, shape, dtype=dtype, endpoint=True) for shape in ((7, 70), (70, 9), (7, 9))
    )
    with np.errstate(over="ignore"):
        want = np.array(3, dtype) * (a @ b) + np.array(5, dtype) * c
    got = cuda.gemm(cuda.upload(a), cuda.upload(b), cuda.upload(c), 3.0, 5.0).get()
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize(("dtype", "tolerance"), [("complex64", 1e-5), ("complex128", 1e-12)])
def test_products_of_complex_numbers(product, dtype, tolerance):
    def numbers(*shape):
        return (RNG.standard_normal(shape) + 1j * RNG.standard_normal(shape)).astype(dtype)

    for a, b in ((numbers(7, 5), numbers(5, 9)), (numbers(5, 7).T, numbers(5, 18)[:, ::2])):
        c = numbers(7, 9)
        got = product.gemm(product.upload(a), product.upload(b), product.upload(c), 1.5, -0.5).get()
        np.testing.assert_allclose(got, 1.5 * (a @ b) - 0.5 * c, rtol=tolerance, atol=10 * tolerance)


def test_tf32_is_what_one_asks_for(eager):
    a = eager.upload(np.full((4, 4), 1 + 2**-12, "f4"))
    assert eager.gemm(a, a, eager.empty((4, 4), "float32")).get()[0, 0] == np.float32(4 * (1 + 2**-12) ** 2)
    assert eager.gemm(a, a, eager.empty((4, 4), "float32"), tf32=True).get()[0, 0] == 4
    wide = eager.upload(np.full((4, 4), 1 + 2**-12))
    assert eager.gemm(wide, wide, eager.empty((4, 4), "float64"), tf32=True).get()[0, 0] == 4 * (1 + 2**-12) ** 2


def test_transposed_and_padded_operands_are_not_copied(eager, machine):
    a = eager.upload(RNG.standard_normal((5, 7)).astype("f4").T)
    b = eager.upload(RNG.standard_normal((5, 12)).astype("f4")[:, 2:11])
    c = eager.empty((7, 9), "float32")
    eager.gemm(a, b, c)
    before = machine.statistics()
    eager.gemm(a, b, c)
    after = machine.statistics()
    assert (after.launches, after.copies) == (before.launches, before.copies)


def test_beta_zero_does_not_read_the_result(product):
    a, b = np.ones((3, 4), "f4"), np.ones((4, 2), "f4")
    c = product.upload(np.full((3, 2), np.nan, "f4"))
    np.testing.assert_array_equal(product.gemm(product.upload(a), product.upload(b), c).get(), np.full((3, 2), 4, "f4"))


def test_no_depth_gives_zeros(product):
    c = product.upload(np.full((2, 3), 9, "f4"))
    product.gemm(product.empty((2, 0), "float32"), product.empty((0, 3), "float32"), c)
    assert not c.get().any()


def test_batches_broadcast(product):
    a, b = RNG.standard_normal((4, 1, 6, 5)), RNG.standard_normal((3, 5, 2))
    got = product.gemm(product.upload(a), product.upload(b), product.empty((4, 3, 6, 2), "float64")).get()
    np.testing.assert_allclose(got, a @ b, rtol=1e-12)


def test_a_result_that_lies_column_by_column(product):
    a, b = RNG.standard_normal((6, 5)).astype("f4"), RNG.standard_normal((5, 4)).astype("f4")
    c = product.empty((4, 6), "float32")
    product.gemm(product.upload(a), product.upload(b), c.view((6, 4), (1, 6)))
    np.testing.assert_allclose(c.get().T, a @ b, rtol=1e-5)


def test_larger_than_a_tile(product):
    a, b = RNG.standard_normal((130, 70)).astype("f4"), RNG.standard_normal((70, 66)).astype("f4")
    got = product.gemm(product.upload(a), product.upload(b), product.empty((130, 66), "float32")).get()
    np.testing.assert_allclose(got, a @ b, rtol=1e-4, atol=1e-4)


def test_products_that_do_not_chain_are_refused(eager):
    from cuda_engine_under_test import Fault

    a, b = eager.empty((3, 4), "float32"), eager.empty((5, 2), "float32")
    with pytest.raises(Fault, match=r"value: gemm: inner dimensions differ: \(3, 4\) @ \(5, 2\)"):
        eager.gemm(a, b, eager.empty((3, 2), "float32"))
    with pytest.raises(Fault, match="type: gemm: expected integers, floats or complex numbers, got bool"):
        eager.gemm(*(eager.empty((2, 2), "bool") for _ in range(3)))
