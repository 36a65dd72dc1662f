# SPDX-License-Identifier: Apache-2.0
"""Layer normalisation of activations in bfloat16: reductions and steps run on rows that stay in the cache."""

from timing import milliseconds

import dltensor as dl


def layer_norm(x, weight, bias, eps):
    """Return rows of mean 0 and variance 1, scaled and shifted. Means are exact and rounded once."""
    centred = x - dl.mean(x, axis=-1, keepdims=True)
    variance = dl.mean(centred * centred, axis=-1, keepdims=True)
    return centred / dl.sqrt(variance + eps) * weight + bias


def main():
    fused = dl.fuse(layer_norm)
    generator = dl.random.Generator(0)
    x = generator.normal(shape=(2048, 768)).astype("bfloat16")
    weight, bias = (generator.normal(shape=768).astype("bfloat16") for _ in range(2))
    operands = x, weight, bias, 1e-5
    assert fused(*operands).tobytes() == layer_norm(*operands).tobytes()
    return {
        "fused": milliseconds(lambda: fused(*operands)),
        "step by step": milliseconds(lambda: layer_norm(*operands)),
    }


if __name__ == "__main__":
    for name, time in main().items():
        print(f"{name}: {time:.1f} ms")
