#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write signatures and docstrings of the functions of tables, which the build compiles (the build runs it).

    python tools/builtin_texts.py operations|reductions FILE

The header FILE has a text for each row of ops.h or of rows.h, in the order of the rows: for functions, and for methods
of Tensor, too, where these are reductions. Nothing of the package is imported.
"""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from typestubs.operation_docs import described
from typestubs.reduction_docs import described_reduction
from typestubs.tables import Tables

PACKAGE = Path(__file__).resolve().parent.parent / "src" / "dltensor"


def literal(text):
    r"""Return a text as lines of a string literal of C++.

    Examples
    --------
    >>> print(literal('abs(x)\n"|x|"'))
        "abs(x)\n"
        "\"|x|\""
    """
    lines = text.replace("\\", "\\\\").replace('"', '\\"').split("\n")
    return "\n".join(f'    "{line}{end}"' for line, end in zip(lines, ["\\n"] * (len(lines) - 1) + [""], strict=True))


def operations(tables):
    """Return the texts of the operations by the name of the list."""
    return {"operation_texts": [described(row) for row in tables.operations.values()]}


def reductions(tables):
    """Return the texts of the reductions by the names of the lists."""
    rows = tables.reductions.values()
    return {
        "reduction_texts": [described_reduction(row) for row in rows],
        "reduction_method_texts": [described_reduction(row, method=True) for row in rows],
    }


def header(lists):
    """Return the text of the header."""
    lines = [
        "// SPDX-License-Identifier: Apache-2.0",
        "// Signatures and docstrings of functions by row, written by tools/builtin_texts.py.",
        "#pragma once",
        "namespace dlt {",
    ]
    for name, texts in lists.items():
        lines += [f"inline constexpr const char* {name}[] = {{", ",\n".join(map(literal, texts)), "};"]
    return "\n".join([*lines, "}  // namespace dlt", ""])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("table", choices=("operations", "reductions"))
    parser.add_argument("output", type=Path)
    options = parser.parse_args()
    lists = {"operations": operations, "reductions": reductions}[options.table](Tables(PACKAGE))
    options.output.write_text(header(lists))


if __name__ == "__main__":
    main()
