# SPDX-License-Identifier: Apache-2.0
"""Every row of ops.h on every pattern of 16 bits: a CUDA device gives the bits of the CPU."""

import numpy as np
import pytest

dl = pytest.importorskip("dltensor", reason="the package is not installed")
pytest.importorskip("dltensor.cuda", reason="the package is not installed")

import conftest as setup  # noqa: E402  beside this file: whether a card or the host driver runs

pytestmark = [pytest.mark.gpu] if setup.ON_CARD else []

ROWS = {name: row for name, row in dl.OPS.items() if name == row["row"]}
HALVES = ["float16", "bfloat16"]
CASES = [(name, dtype) for name, row in ROWS.items() for dtype in HALVES if "floats" in row["kinds"]]
CASES += [
    (name, dtype)
    for name, row in ROWS.items()
    for dtype in ("int16", "uint16")
    if row["operands"] == 1 and "integers" in row["kinds"]
]


# Row: what it does with the bits of its operands, a mask of the sign given. NaNs are not told from numbers.
SIGNS = {
    "abs": lambda sign, a: a & ~sign,
    "conj": lambda sign, a: a,
    "copysign": lambda sign, a, b: a & ~sign | b & sign,
    "negative": lambda sign, a: a ^ sign,
    "positive": lambda sign, a: a,
    "real": lambda sign, a: a,
    "signbit": lambda sign, a: (a & sign) != 0,
}


def patterns(dtype):
    return dl.arange(1 << 16, dtype="uint16").view(dtype)


def partners(dtype):
    """Zeros, the ends of the range, infinities, NaNs and common numbers, of both signs."""
    if dtype not in HALVES:
        return dl.asarray([0, 1, 2, 3, 255], dtype=dtype)
    others = np.array([1, 0x8001, 0xFFC5, 0x7F81], "u2")  # subnormals and NaNs, of bfloat16 a signaling one
    info = dl.finfo(dtype)
    numbers = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 100.0, info.max, info.smallest_normal, float("inf")]
    numbers += [-x for x in numbers] + [float("nan")]
    return dl.concat([dl.asarray(numbers, dtype=dtype), dl.asarray(others).view(dtype)])


def comparable(result):
    """Results as integers in the order of the values, all NaNs alike."""
    if result.dtype.name not in HALVES:
        return result.numpy()
    bits = result.view("int16").numpy().astype(np.int32)
    ordered = np.where(bits < 0, -(bits & 0x7FFF), bits)
    zero = np.where((bits & 0x7FFF) == 0, bits & 0x8000, 0)  # keeps the sign of a zero
    return np.where(dl.isnan(result).numpy(), 1 << 20, ordered), zero


@pytest.mark.parametrize(("name", "dtype"), CASES)
def test_every_pattern_gives_the_bits_of_the_cpu(eager_machine, name, dtype):
    function, operands = getattr(dl, name), ROWS[name]["operands"]
    every = patterns(dtype)
    arguments = [every]
    if operands > 1:
        arguments.append(partners(dtype).reshape((-1, 1)))
    if operands > 2:
        arguments.append(dl.asarray([0.7, 1e-3, -3.0], dtype=dtype).reshape((-1, 1, 1)))
    want = function(*arguments)
    got = function(*[x.to("cuda") for x in arguments]).to("cpu")
    if want.dtype.name in HALVES:
        (want, signs), (got, others) = comparable(want), comparable(got)
        apart = (want != got) | (signs != others)
        assert not apart.any(), f"first at {np.argwhere(apart)[:1].tolist()}"
    else:
        np.testing.assert_array_equal(comparable(got), comparable(want))


@pytest.mark.parametrize("device", ["cpu", "cuda"])
@pytest.mark.parametrize("dtype", [*HALVES, "float32", "float64"])
@pytest.mark.parametrize("name", SIGNS)
def test_changes_of_signs_keep_all_other_bits(eager_machine, name, dtype, device):
    """As IEEE 754 has it, 5.5.1: of quiet and signaling NaNs too, with one element and with many."""
    width = dl.as_dtype(dtype).bits
    sixteen = np.arange(1 << 16, dtype=f"u{width // 8}")
    bits = sixteen << width - 16 | sixteen & (0 if width == 16 else 5)
    operands = [bits, bits[::-1].copy()][: ROWS[name]["operands"]]
    want = SIGNS[name](bits.dtype.type(1 << width - 1), *operands)
    for part in (slice(None), slice(-3, -2)):
        tensors = [dl.asarray(a[part]).view(dtype).to(device) for a in operands]
        got = getattr(dl, name)(*tensors).to("cpu")
        got = got if got.dtype == dl.bool else got.view(f"uint{width}")
        np.testing.assert_array_equal(got.numpy(), want[part])


@pytest.mark.parametrize("device", ["cpu", "cuda"])
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_changes_of_signs_of_complex_numbers_keep_all_other_bits(eager_machine, dtype, device):
    width = dl.as_dtype(dtype).bits // 2
    parts = np.array([(0x7FC5 << width - 16) + 3, (0xFFC7 << width - 16) + 1] * 20, f"u{width // 8}")
    sign = parts.dtype.type(1 << width - 1)
    x = dl.asarray(parts.view(dtype)).to(device)
    for function, changed in ((dl.negative, [sign, sign]), (dl.conj, [0, sign]), (dl.positive, [0, 0])):
        got = function(x).to("cpu").numpy().view(parts.dtype)
        np.testing.assert_array_equal(got, parts ^ np.array(changed * 20, parts.dtype))
