# SPDX-License-Identifier: Apache-2.0
"""Write docs/operations.md, the table of all operations, from the installed package. --check only compares.

Run: python tools/operations.py [--check]
"""

import sys
from pathlib import Path

import dltensor as dl
from dltensor._core.types import COMPUTED, DTYPES

PAGE = Path(__file__).resolve().parent.parent / "docs" / "operations.md"
RESULTS = {"same": "its dtype", "mask": "bool", "part": "its dtype, real for complex"}
HEAD = """# Operations
All element-wise operations, and the type promotion rules. `python tools/operations.py` generates this page from the
rows of [`ops.h`](../src/dltensor/native/ops/ops.h); do not edit it.

Every function takes any DLPack object or a Python number for each operand. It broadcasts and promotes the operands and
accepts `out=`. Functions marked *saturating* also accept `saturate=True`: the operands have one dtype, and the exact
result is rounded half to even and clamped to the range of that dtype. Functions that take only floats convert integers
and bools to float32.

## Type promotion
- Operands of one kind (bool, integer, float, complex) are promoted as in the array API: int8 with uint8 gives int16,
  float16 with bfloat16 gives float32. int64 with uint64 raises TypeError, because no dtype holds both.
- Of two kinds, the dtype of the higher kind is kept, whatever its width. A complex dtype becomes complex128 beside
  float64.
- A Python number counts by its kind only. If no tensor has that kind or a higher one, the result has the default dtype
  of the kind: float32 or complex64. A number outside the dtype raises OverflowError. Comparisons use its exact value.
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

## NumPy functions with tensors
- A NumPy ufunc that exists in dltensor is computed by dltensor with the rules above, `out=` included, and returns a
  Tensor. The same holds for operators between an array and a tensor, and for NumPy functions that exist in dltensor
  under their own name or the name of the array API: `concatenate`, `stack`, `where`, `reshape`, `clip`, `full_like` and
  similar functions.
- Everything else is left to NumPy, which computes on the same memory and returns arrays and scalars: functions that
  dltensor does not have (`numpy.mean`, `numpy.cbrt`, ufuncs of other packages), parameters that it does not have
  (`dtype=`, `where=`, `order=`), and dtypes that it refuses. An `out` that is a tensor is written and returned.
- Methods of ufuncs, such as `numpy.add.reduce`, raise TypeError; pass `t.numpy()`.
- Array types of other libraries that implement `__array_ufunc__` or `__array_function__` are asked. Masked arrays and
  other subclasses of ndarray keep their behaviour. Tensors that the host cannot read raise DeviceError.

```python
import numpy as np

t = dl.asarray([1.0, 8.0])
for made in (np.sqrt(t), np.float64(2) * t, np.stack([t, t]), np.cbrt(t), np.mean(t)):
    print(type(made).__name__, made.dtype, made.tolist())
```
```text
Tensor float32 [1.0, 2.8284270763397217]
Tensor float32 [2.0, 16.0]
Tensor float32 [[1.0, 8.0], [1.0, 8.0]]
ndarray float32 [1.0, 2.0]
float32 float32 4.5
```
"""


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
