# SPDX-License-Identifier: Apache-2.0
"""einops.array_api over tensors: NumPy's values, and a tensor."""

import numpy as np
import pytest

import dltensor as dl

pytestmark = pytest.mark.peers
pytest.importorskip("einops", minversion="0.7")

from einops import array_api, rearrange, reduce, repeat  # noqa: E402

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
