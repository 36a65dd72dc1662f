# SPDX-License-Identifier: Apache-2.0
"""einops and einops.array_api over tensors: NumPy's values, and a tensor."""

import numpy as np
import pytest

import dltensor as dl

pytestmark = pytest.mark.peers
pytest.importorskip("einops", minversion="0.7")

from einops import array_api, einsum, pack, rearrange, reduce, repeat, unpack  # noqa: E402

import dltensor.einops  # noqa: E402

IMAGES = np.random.default_rng(0).standard_normal((6, 4, 8, 3))
REARRANGED = [
    ("b h w c -> b c h w", {}),
    ("b h w c -> (b h) w c", {}),
    ("b h w c -> b (c h w)", {}),
    ("(b1 b2) h w c -> (b1 h) (b2 w) c", {"b1": 2}),
    ("b (h h2) (w w2) c -> b h w (c h2 w2)", {"h2": 2, "w2": 2}),
    ("b h w c -> b h w c 1", {}),
]
REDUCED = [
    ("b c (h h2) (w w2) -> b c h w", {"h2": 4, "w2": 3}),
    ("b h w c -> b c", {}),
    ("b h w c -> ", {}),
    ("b h w c -> b 1 1 c", {}),
]
REPEATED = [("h w -> h w c", {"c": 3}), ("h w -> (h h2) (w w2)", {"h2": 2, "w2": 3}), ("h w -> (2 h) w", {})]


def same(made, wanted):
    assert type(made) is dl.Tensor
    assert (made.shape, made.dtype) == (wanted.shape, wanted.dtype)
    np.testing.assert_allclose(made.numpy(), wanted, rtol=1e-12)


@pytest.mark.parametrize(("pattern", "sizes"), REARRANGED)
def test_rearrange(pattern, sizes):
    same(array_api.rearrange(dl.asarray(IMAGES), pattern, **sizes), rearrange(IMAGES, pattern, **sizes))


@pytest.mark.parametrize("how", ["sum", "mean", "max", "min", "prod"])
@pytest.mark.parametrize(("pattern", "sizes"), REDUCED)
def test_reduce(pattern, sizes, how):
    same(array_api.reduce(dl.asarray(IMAGES), pattern, how, **sizes), np.asarray(reduce(IMAGES, pattern, how, **sizes)))


@pytest.mark.parametrize(("pattern", "sizes"), REPEATED)
def test_repeat(pattern, sizes):
    same(
        array_api.repeat(dl.asarray(IMAGES[0, :, :, 0]), pattern, **sizes), repeat(IMAGES[0, :, :, 0], pattern, **sizes)
    )


def test_pack_and_unpack():
    parts = [IMAGES[0], IMAGES[1, :, 0]]
    packed, shapes = array_api.pack([dl.asarray(part) for part in parts], "h * c")
    same(packed, np.concatenate([parts[0], parts[1][:, None]], 1))
    for made, part in zip(array_api.unpack(packed, shapes, "h * c"), parts, strict=True):
        same(made, part)


# -- the functions of einops itself -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("pattern", "sizes"), REARRANGED)
def test_einops_rearranges_tensors(pattern, sizes):
    same(rearrange(dl.asarray(IMAGES), pattern, **sizes), rearrange(IMAGES, pattern, **sizes))


@pytest.mark.parametrize("how", ["sum", "mean", "max", "min", "prod"])
@pytest.mark.parametrize(("pattern", "sizes"), REDUCED)
def test_einops_reduces_tensors(pattern, sizes, how):
    same(reduce(dl.asarray(IMAGES), pattern, how, **sizes), np.asarray(reduce(IMAGES, pattern, how, **sizes)))


@pytest.mark.parametrize(("pattern", "sizes"), REPEATED)
def test_einops_repeats_tensors(pattern, sizes):
    image = IMAGES[0, :, :, 0]
    same(repeat(dl.asarray(image), pattern, **sizes), repeat(image, pattern, **sizes))


def test_einops_multiplies_stacks_and_packs_tensors():
    tensors = list(dl.asarray(IMAGES))
    same(einsum(tensors[0], tensors[1], "h w c, h w d -> c d"), einsum(*IMAGES[:2], "h w c, h w d -> c d"))
    same(rearrange(tensors, "b h w c -> h w (b c)"), rearrange(list(IMAGES), "b h w c -> h w (b c)"))
    packed, shapes = pack(tensors[:2], "* w c")
    same(packed, pack(list(IMAGES[:2]), "* w c")[0])
    same(unpack(packed, shapes, "* w c")[1], IMAGES[1])


def test_einops_refuses_means_of_integers_as_it_does_for_other_tensors():
    with pytest.raises(NotImplementedError, match="reduce_mean is not available"):
        reduce(dl.arange(6).reshape((2, 3)), "a b -> a", "mean")
