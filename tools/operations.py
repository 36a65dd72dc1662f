# SPDX-License-Identifier: Apache-2.0
"""Write docs/operations.md, the table of everything we compute, from the installed package. --check only compares.

Run: python tools/operations.py [--check]
"""

import sys
from pathlib import Path

import dltensor as dl
from dltensor._core.types import COMPUTED, DTYPES

PAGE = Path(__file__).resolve().parent.parent / "docs" / "operations.md"
RESULTS = {"same": "its dtype", "mask": "bool", "part": "its dtype, real for complex"}
HEAD = """# Operations
Everything that is computed element by element. This page is made from the rows of
[`ops.h`](../src/dltensor/native/ops/ops.h) by `python tools/operations.py`; do not edit it.

Every function takes any DLPack object or a Python number for each operand, broadcasts and promotes, and takes `out=`.
Those marked *saturating* also take `saturate=True`: one dtype, the exact result rounded half to even and clamped to its
range.
Functions of floats take integers and bools as float32.

## Which dtype comes out
- Operands of one kind (bool, integers, floats, complex) meet where the array API says: int8 with uint8 in int16,
  float16 with bfloat16 in float32. int64 with uint64 raises TypeError, as no dtype holds both.
- Of two kinds the higher one's dtype is kept, whatever its width; a complex one becomes complex128 beside float64.
- A Python number counts with its kind alone. Where no tensor is of that kind or a higher one, it brings the kind's
  default: float32 or complex64. Outside the dtype it raises OverflowError; comparisons go by its exact value.
- `out=` may have the result's dtype, or one of the same or a higher kind, to which the result is converted.

```python
small, half = dl.asarray([100], dtype="int8"), dl.asarray([2.0], dtype="float16")
print((small + 1).dtype, (small + 0.5).dtype, (small + half).dtype, (half + 0.5).dtype)
print((small + small).tolist(), dl.add(small, small, saturate=True).tolist(), (small < 1000).tolist())
```
```text
int8 float32 float16 float16
[-56] [127] [True]
```

## NumPy's functions with tensors
- A ufunc of NumPy that is an operation here is computed here, `out=` included, by the rules above; the result is a
  Tensor. So are operators between an array and a tensor, and functions of NumPy that exist here under their own or the
  array API's name: `concatenate`, `stack`, `where`, `reshape`, `clip`, `full_like` and their relatives.
- What does not exist here (`numpy.mean`, `numpy.cbrt`, ufuncs of other packages), arguments that ours do not have
  (`dtype=`, `where=`, `order=`), and dtypes that ours refuse are left to NumPy, which works on the same memory and
  returns its own arrays and scalars. An `out` that is a tensor is written and returned.
- Methods of ufuncs, such as `numpy.add.reduce`, raise TypeError; give them `t.numpy()`.
- Arrays of other libraries that answer NumPy themselves are asked, masked arrays and other subclasses of ndarray keep
  their meaning, and tensors that the host cannot read raise DeviceError where NumPy would compute.

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
    for operands, title in ((1, "Of one operand"), (2, "Of two"), (3, "Of three")):
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
            "computed" if name in COMPUTED else "carried and converted",
        )
        for name, dtype in DTYPES.items()
    ]
    lines += ["## Element types", "", *table(("name", "bits", "DLPack code", "what can be done"), types)]
    return "\n".join(lines).rstrip() + "\n"


def main(arguments):
    if arguments == ["--check"]:
        if PAGE.read_text() != page():
            sys.exit(f"{PAGE.name} is not what the rows say: run python tools/operations.py")
        return
    PAGE.write_text(page())


if __name__ == "__main__":
    main(sys.argv[1:])
