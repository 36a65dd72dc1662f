# SPDX-License-Identifier: Apache-2.0
"""Write docs/operations.md, the table of all operations, from the installed package. --check only compares.

Run: python tools/operations.py [--check]
"""

import inspect
import re
import sys
from pathlib import Path

import dltensor as dl
from dltensor._core.types import COMPUTED, DTYPES
from dltensor._ops import closeness, contractions, nan_reductions, scan, statistics
from dltensor._ops.reduce import REDUCTIONS

PAGE = Path(__file__).resolve().parent.parent / "docs" / "operations.md"
RESULTS = {"same": "its dtype", "mask": "bool", "part": "its dtype, real for complex"}
HEAD = """# Operations
All element-wise operations, and the type promotion rules. `.venv/bin/python tools/operations.py` generates this page
from the rows of [`ops.h`](../src/dltensor/native/ops/elementwise/ops.h); do not edit it.

Every function takes any DLPack object or a Python number for each operand. It broadcasts and promotes the operands and
accepts `out=`. Functions marked *saturating* also accept `saturate=True`: the operands have one dtype, and the exact
result is rounded half to even and clamped to the range of that dtype. Functions that take only floats convert integers
and bools to the default dtype, which is float32 unless `set_default_dtype` chose float64.

## Type promotion
- Operands of one kind (bool, integer, float, complex) are promoted as in the array API: int8 with uint8 gives int16,
  float16 with bfloat16 gives float32. int64 with uint64 raises TypeError, because no dtype holds both.
- Of two kinds, the dtype of the higher kind is kept, whatever its width. A complex dtype becomes complex128 with
  float64.
- A Python number counts by its kind only. If no tensor has that kind or a higher one, the result has the default dtype
  of the kind: float32 or complex64, unless `set_default_dtype` chose float64. A number outside an integer dtype raises
  OverflowError; a float beyond the range of a float dtype is infinity, as in NumPy. Comparisons and the bounds of
  `clip` use its exact value.
- Comparisons, `isin`, `searchsorted` and `array_equal` compare tensors of different dtypes by exact value: int64 with
  uint64, and 2^53 + 1 with the float64 2^53.
- `out=` may have the dtype of the result, or a dtype of the same or a higher kind, to which the result is converted.

```python
import dltensor as dl

small, half = dl.asarray([100], dtype="int8"), dl.asarray([2.0], dtype="float16")
print((small + 1).dtype, (small + 0.5).dtype, (small + half).dtype, (half + 0.5).dtype)
print((small + small).tolist(), dl.add(small, small, saturate=True).tolist(), (small < 1000).tolist())
```
```text
int8 float32 float16 float16
[-56] [127] [True]
```

## Special values
These are the same on every device. Elements are not tested, since that would have to wait for a GPU.

- Integers wrap. `x // 0` and `x % 0` are 0. An integer to the power of a negative element is a fraction, which is
  truncated: 0, or 1 and -1 for the bases 1 and -1, as in PyTorch; NumPy raises. With a float as the base or the
  exponent the result is the fraction. A negative Python integer as the exponent raises ValueError.
- Functions of floats have the special cases of the array API, those of complex numbers the ones of C99's Annex G.
- Products and quotients of complex numbers are the textbook formula and Smith's method, as in NumPy: the parts are
  computed as real numbers, so that an infinite number may give NaN in one part or both. Annex G, which would give
  infinity there, is not applied. `square(z)` is `z * z`, and `reciprocal(z)` is `1 / z`.
- `sort`, `argsort` and `top_k` place NaN last, also for `descending=True` and for the largest: `top_k` selects NaN only
  where there are fewer than k numbers. PyTorch takes NaN as the greatest.

```python
n, z = dl.arange(-2, 2), dl.asarray([complex(dl.inf, 0)])
print((10**n).tolist(), (2.0**n).tolist())
print((z * (1 + 1j)).tolist(), (z * z).tolist(), (1 / z).tolist(), dl.reciprocal(z - z).tolist())
print(dl.top_k(dl.asarray([2.0, dl.nan, 3.0]), 2)[0].tolist())
```
```text
[0, 0, 1, 10] [0.25, 0.5, 1.0, 2.0]
[(inf+infj)] [(inf+nanj)] [0j] [(nan+nanj)]
[3.0, 2.0]
```

## NumPy functions with tensors
- A NumPy ufunc that exists in dltensor is computed by dltensor with the rules above, `out=` included, and returns a
  Tensor. The same holds for operators between an array and a tensor, and for NumPy functions that exist in dltensor
  under their own name or the name of the array API: `concatenate`, `stack`, `where`, `reshape`, `clip`, `full_like` and
  similar functions.
- Everything else is left to NumPy, which computes on the same memory: functions that dltensor does not have
  (`numpy.cbrt`, `numpy.pad`, `numpy.linalg.lstsq`, ufuncs of other packages), parameters that it does not have
  (`where=`, `order=`), and dtypes that it refuses. Results of ufuncs, and of the functions in `_ops/numpy_results.py`,
  are tensors then too; of others arrays and scalars. An `out` that is a tensor is written and returned.
- Methods of ufuncs, such as `numpy.add.reduce`, raise TypeError; pass `t.numpy()`.
- Array types of other libraries that implement `__array_ufunc__` or `__array_function__` are asked. Masked arrays and
  other subclasses of ndarray keep their behaviour. Tensors that the host cannot read raise DeviceError.

```python
import numpy as np

t = dl.asarray([1.0, 8.0])
for made in (np.sqrt(t), np.float64(2) * t, np.stack([t, t]), np.sum(t), np.cbrt(t)):
    print(type(made).__name__, made.dtype, made.tolist())
```
```text
Tensor float32 [1.0, 2.8284270763397217]
Tensor float32 [2.0, 16.0]
Tensor float32 [[1.0, 8.0], [1.0, 8.0]]
Tensor float32 9.0
Tensor float32 [1.0, 2.0]
```
"""

REDUCTION_RESULTS = {
    "wide": "its dtype; int64 or uint64 for bool and integers",
    "same": "its dtype",
    "real": "its dtype; float64 for integers of 32 and 64 bits, the default dtype for narrower ones and bool",
    "part": "its dtype; real for complex, float64 for integers of 32 and 64 bits, the default dtype for narrower ones "
    "and bool",
    "mask": "bool",
    "index": "int64",
}
REDUCTIONS_HEAD = """## Reductions
The rows of [`rows.h`](../src/dltensor/native/ops/reduce/rows.h). Every reduction takes any DLPack object,
`axis` (an integer, a sequence of integers, or None for all; `argmax` and `argmin` take one), `keepdims` and `out`.

- **Sums and means of floats are exact and rounded once**, those of float16, bfloat16 and complex dtypes too: no
  intermediate result overflows or is rounded. `var` and `std` of integers and of floats of 16 and 32 bits are correctly
  rounded; of float64 they are within one unit in the last place. The divisor of `var` is the float64 nearest to the
  number of elements less `correction`.
- `dtype` is what the exact result is rounded to, once: `dl.sum(x, dtype="float32")` of float64 loses nothing before. To
  an integer dtype or bool the elements are converted first, as in NumPy and PyTorch, and integers become float64 for
  the sum in a float dtype. The divided statistics take float dtypes alone.
- `initial` is one more element: of float sums and products a float64, whatever the dtype of the elements, of integer
  ones an integer in the range of the result.
- **The bits never depend on the layout, the order of the axes, threads or the processor.** Products of floats multiply
  in one fixed order; float32 and narrower are multiplied in float64 and rounded once.
- Integers are summed in 64 bits, which wrap; `saturate=True` keeps the dtype and gives the exact value, clamped.
- A `sum` or `mean` that is 0 is 0.0, also of negative zeros, as in NumPy and PyTorch. `max` and `min` give NaN where
  there is one, and 0.0 is above -0.0. `argmax` and `argmin` take -0.0 and 0.0 as equal. `var` is NaN when nothing is
  left of the divisor.

```python
t = dl.asarray([1e30, 1.0, -1e30])
print(dl.sum(t).item(), dl.mean(dl.asarray([1, 2, 6])).item())
small = dl.asarray([250, 251], dtype="uint8")
print(dl.sum(small).item(), dl.sum(small, saturate=True).item())
print(dl.max(dl.asarray([[3, 9], [8, 1]]), axis=1).tolist(), dl.sum(t, where=t == 1).item())
```
```text
1.0 3.0
501 255
[9, 8] 1.0
```
"""


DERIVED_HEAD = """## Scans, products and statistics
Further functions that reduce, compare or accumulate along dimensions. Except those of `tensordot`, which
multiplies matrices as `matmul` does, results depend neither on the layout nor on threads. Weighted averages are
computed in float64, with exact sums, and rounded to the dtype. `softmax`, `log_softmax` and `logsumexp` are fused
functions, in float32 for floats of up to 32 bits, else in float64, with exact sums. `cumulative_sum` and
`cumulative_prod` of floats run in float64, in one fixed order; with `saturate=True` they keep the dtype of integers and
clamp each exact result.

```python
x = dl.asarray([[1.0, 2.0, 4.0], [1000.0, 1000.0, -dl.inf]])
print(dl.logsumexp(x, axis=1).tolist(), dl.softmax(x, axis=1)[1].tolist())
print(dl.cumulative_max(dl.asarray([2, 5, 1])).tolist(), dl.allclose(x, x + 1e-7), dl.nanmean(x[0]).item())
```
```text
[4.169846057891846, 1000.6931762695312] [0.5, 0.5, 0.0]
[2, 5, 5] True 2.3333332538604736
```
"""
DERIVED = (scan, nan_reductions, contractions, statistics, closeness)


def derived():
    """Yield name, source and summary of each function that is no row, from its docstring."""
    for name in sorted(name for module in DERIVED for name in module.__all__):
        text = inspect.getdoc(getattr(dl, name))
        source = re.search(r"^(Array API 2025.12|NumPy|SciPy): ``([\w.]+)``", text, re.M)
        yield f"`{name}`", f"{source[1]}: `{source[2]}`", text.splitlines()[0].replace("|", "\\|")


def table(header, rows):
    """Lines of a Markdown table."""
    return [
        f"| {' | '.join(header)} |",
        f"| {' | '.join('---' for _ in header)} |",
        *[f"| {' | '.join(row)} |" for row in rows],
        "",
    ]


def page():
    """Return the text of the page."""
    lines = [HEAD]
    for operands, title in ((1, "One operand"), (2, "Two operands"), (3, "Three operands")):
        rows = []
        for name, row in dl.OPS.items():
            if row["operands"] == operands and name == row["row"]:
                # A bar would end the cell.
                text, symbol = (row[key].replace("|", "\\|") for key in ("text", "symbol"))
                rows.append(
                    (
                        f"`{name}`",
                        f"`{symbol}`" if symbol else "",
                        f"`{text}`",
                        ", ".join(row["kinds"]),
                        RESULTS[row["result"]],
                        "yes" if row["saturating"] else "",
                        row["doc"],
                    )
                )
        lines += [
            f"## {title}",
            "",
            *table(("name", "operator", "value", "takes", "gives", "saturating", "what it does"), rows),
        ]
    lines += [REDUCTIONS_HEAD]
    rows = [
        (
            f"`{name}`",
            f"`{row['text']}`",
            ", ".join(row["kinds"]),
            REDUCTION_RESULTS[row["result"]],
            ", ".join(f"`{one}`" for one in row["takes"]),
            row["empty"] or "ValueError",
            row["doc"],
        )
        for name, row in REDUCTIONS.items()
    ]
    lines += table(("name", "value", "takes", "gives", "parameters", "of no element", "what it does"), rows)
    lines += [DERIVED_HEAD, *table(("name", "from", "what it does"), derived())]
    aliases = [
        (f"`{name}`", f"`{row['row']}`", "yes" if row["swapped"] else "")
        for name, row in dl.OPS.items()
        if name != row["row"]
    ]
    lines += ["## Short names", "", *table(("name", "stands for", "operands swapped"), aliases)]
    types = [
        (
            f"`{name}`",
            str(dtype.bits),
            str(int(dtype.code)),
            "arithmetic" if name in COMPUTED else "storage only; convert with astype()",
        )
        for name, dtype in DTYPES.items()
    ]
    lines += ["## Element types", "", *table(("name", "bits", "DLPack code", "support"), types)]
    return "\n".join(lines).rstrip() + "\n"


def main(arguments):
    if arguments == ["--check"]:
        if PAGE.read_text() != page():
            sys.exit(f"{PAGE.name} is not what the rows say: run python tools/operations.py")
        return
    PAGE.write_text(page())


if __name__ == "__main__":
    main(sys.argv[1:])
