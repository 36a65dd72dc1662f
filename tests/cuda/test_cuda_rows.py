# SPDX-License-Identifier: Apache-2.0
"""Rows of any length, pitch and alignment on CUDA, and four bytes in a word, against the CPU.

Outputs are parts of larger tensors: what lies around them must stay as it was. DLTENSOR_TEST_GPU=1 runs the tests on a
card.
"""

import itertools

import numpy as np
import pytest

dl = pytest.importorskip("dltensor", reason="the package is not installed")
cuda = pytest.importorskip("dltensor.cuda", reason="the package is not installed")

import conftest as setup  # noqa: E402  beside this file: whether a card or the host driver runs
from test_tensor_cuda import machine_order, numbers, same  # noqa: E402, F401  the fixture is used by name

pytestmark = [pytest.mark.gpu] if setup.ON_CARD else []

LENGTHS = [*range(1, 18), 31, 130, 517]
OFFSETS = [(0, 0, 0), (1, 0, 0), (0, 1, 2), (3, 3, 3), (2, 1, 3), (1, 4, 0)]


def on_both(statement, *tensors):
    """The statement's last operand, which it writes, on both devices."""
    here, there = [t.copy() for t in tensors], [t.to("cuda").copy() for t in tensors]
    statement(*here)
    statement(*there)
    same(there[-1], here[-1])


def parts(offsets, length):
    return [slice(offset, offset + length) for offset in offsets]


@pytest.mark.usefixtures("machine_order")
@pytest.mark.parametrize("dtype", ["uint8", "int16", "float16", "float32", "float64", "complex128"])
def test_rows_of_any_alignment_and_length(dtype):
    for offsets, length in itertools.product(OFFSETS, LENGTHS):
        a, b, c = parts(offsets, length)
        x, y, out = (numbers((3, length + 4 + k), dtype) for k in range(3))
        on_both(lambda x, y, out, a=a, b=b, c=c: dl.add(x[:, a], y[:, b], out[:, c]), x, y, out)


@pytest.mark.usefixtures("machine_order")
@pytest.mark.parametrize("dtype", ["uint8", "float16", "float32", "float64"])
@pytest.mark.parametrize("length", [63, 64, 65, 66, 67, 1000, 70_001])
def test_runs_of_any_alignment(dtype, length):
    x, y, out = (numbers((length + 4,), dtype) for _ in range(3))
    for offsets in OFFSETS:
        a, b, c = parts(offsets, length)
        on_both(lambda x, y, out, a=a, b=b, c=c: dl.subtract(x[a], y[b], out[c]), x, y, out)


@pytest.mark.usefixtures("machine_order")
@pytest.mark.parametrize("dtype", ["uint8", "int16", "float32"])
def test_rows_beside_other_operands(dtype):
    x, y, out = (numbers((4, 3, 45), dtype) for _ in range(3))
    for statement in (
        lambda x, y, out: dl.add(x[:, :, 1:], 3, out[:, :, 1:]),
        lambda x, y, out: dl.add(x[:, :, 1:], y[:, :, :1], out[:, :, :-1]),
        lambda x, y, out: dl.add(x[:, :, 1:], y[:1, :, :-1], out[:, :, :-1]),
        lambda x, y, out: dl.add(x[:, :, 1:23], y[:, :, ::2][:, :, :22], out[:, :, 2:24]),
        lambda x, y, out: dl.add(x[:, ::2, ::2], y[:, ::2, ::2], out[:, ::2, ::2]),
        lambda x, y, out: dl.add(x[:, ::-1, :44], y[:, :, 43::-1], out[:, :, 1:]),
        lambda x, y, out: dl.fma(x[:, :, 3:], y[:, :, :-3], y[:, :, 2:-1], out[:, :, 1:-2]),
        lambda x, y, out: dl.add(out[:, :, 1:], y[:, :, 1:], out[:, :, 1:]),
        lambda x, y, out: dl.add(out[:, :, 1:22], y[:, :, 1:22], out[:, :, 23:44]),
    ):
        on_both(statement, x, y, out)


@pytest.mark.usefixtures("machine_order")
def test_rows_of_several_types():
    narrow, wide, flags = numbers((3, 45), "uint8"), numbers((3, 45), "float32"), numbers((3, 45), "bool")
    halves = numbers((3, 45), "float16")
    on_both(lambda x, y, out: dl.less(x[:, 1:], y[:, :-1], out[:, 1:]), narrow, narrow, flags)
    on_both(lambda x, out: dl.less(x[:, 1:], 0, out[:, 1:]), halves, flags)
    on_both(lambda x, out: dl.less(x[:, 1:], 0, out[:, 1:]), wide, flags)
    for x in (narrow, wide, flags, halves):
        for dtype in ("uint8", "float16", "float32", "bool", "float64"):
            same(dl.cast(x.to("cuda")[:, 1:], dtype, saturate=True), dl.cast(x[:, 1:], dtype, saturate=True))
    chosen = dl.where(flags.to("cuda")[:, 1:], narrow.to("cuda")[:, :-1], narrow.to("cuda")[:, 1:])
    same(chosen, dl.where(flags[:, 1:], narrow[:, :-1], narrow[:, 1:]))


@pytest.mark.usefixtures("machine_order")
@pytest.mark.parametrize(("blocks", "threads"), [(1, 1), (1, 3), (2, 33), (1, 100), (4, 1000), (8, 256)])
def test_a_launch_of_threads_that_make_no_whole_groups(blocks, threads):
    x, out = numbers((5, 517), "uint8"), numbers((5, 517), "uint8")
    for values in (0, 1, 7):
        with cuda.launch(blocks, threads, values):
            on_both(lambda x, out: dl.add(x[:, 1:], 1, out[:, :-1]), x, out)


def test_long_rows_are_cut_into_parts_of_several_steps(eager_machine):
    """Rows so long that threads take more than one step of a part each, and their last part is short."""
    x = dl.asarray((np.arange(3 * 4_000_003, dtype="uint32") * 2654435761 >> 24).astype("uint8").reshape(3, 4_000_003))
    out = dl.zeros_like(x)
    on_both(lambda x, out: dl.add(x[:, 1:], 1, out[:, :-1]), x, out)


# -- four bytes in a word

PAIRS = [t.ravel() for t in np.meshgrid(np.arange(256, dtype="uint8"), np.arange(256, dtype="uint8"))]
ELSEWHERE = {"pow", "floor_divide", "remainder"}
OF_BYTES = sorted({row["row"] for row in dl.OPS.values() if "integers" in row["kinds"]} - ELSEWHERE)


@pytest.mark.parametrize("dtype", ["uint8", "int8", "bool"])
@pytest.mark.parametrize("name", OF_BYTES)
def test_every_pair_of_bytes_gives_what_the_cpu_gives(eager_machine, name, dtype):
    row = dl.OPS[name]
    if dtype == "bool" and "bool" not in row["kinds"]:
        with pytest.raises(TypeError):
            getattr(dl, name)(*[numbers((8,), "bool")] * row["operands"], numbers((8,), "bool"))
        return
    # Every pair beside every other: a carry or a borrow out of one byte would change the next. A bool may be any byte.
    order = np.random.default_rng(7).permutation(65536)
    given = [dl.asarray(part[order]).view(dtype) for part in PAIRS]
    given.append(dl.asarray(PAIRS[0][order[::-1]]).view(dtype))
    given = given[: row["operands"]]
    want = getattr(dl, name)(*given)
    there = [t.to("cuda") for t in given]
    same(getattr(dl, name)(*there), want)
    # Rows and numbers take the same words: one dtype each for an operation, as each has a kernel to be compiled.
    if dtype == ("uint8", "int8")[OF_BYTES.index(name) % 2]:
        same(getattr(dl, name)(*[t[1:60000] for t in there]), want[1:60000])
    elif row["operands"] == 2:
        for number in (False, True) if dtype == "bool" else (0, 5, 100):
            same(getattr(dl, name)(there[0], number), getattr(dl, name)(given[0], number))


def test_casts_and_choices_of_bytes(eager_machine):
    a, b = (dl.asarray(part) for part in PAIRS)
    bytes_ = ("uint8", "int8", "bool")
    for source, target, saturate in itertools.product(bytes_, bytes_, (False, True)):
        x = a.view(source)
        same(dl.cast(x.to("cuda"), target, saturate=saturate), dl.cast(x, target, saturate=saturate))
    flags = b.view("bool")
    same(dl.where(flags.to("cuda"), a.to("cuda"), b.to("cuda")), dl.where(flags, a, b))
