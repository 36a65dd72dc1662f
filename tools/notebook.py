# SPDX-License-Identifier: Apache-2.0
"""Write the notebook examples/first_steps.ipynb from the page docs/first-steps.md: text, code, and what it prints.

Run: python -m tools notebook [--check]. Nothing is executed: the outputs are those of the page, which
tests/test_docs.py compares.
"""

import argparse
import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "first-steps.md"
NOTEBOOK = ROOT / "examples" / "first_steps.ipynb"
BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:```text\n(.*?)^```\n)?", re.M | re.S)
LINK = re.compile(r"\]\((?!https?:|#)([^)]+)\)")


def _cell(kind, number, text, **fields):
    source = text.splitlines(keepends=True)
    return {"cell_type": kind, "id": f"cell-{number}", "metadata": {}, "source": source, **fields}


def notebook(page):
    """Return the notebook of a page as JSON."""
    cells, at = [], 0
    for block in [*BLOCK.finditer(page), None]:
        text = page[at : block.start() if block else len(page)].strip()
        if text:
            text = LINK.sub(r"](../docs/\1)", text).replace("../docs/../", "../")
            cells.append(_cell("markdown", len(cells), text))
        if block:
            printed = (block[2] or "").splitlines(keepends=True)
            outputs = [{"name": "stdout", "output_type": "stream", "text": printed}] if printed else []
            cells.append(_cell("code", len(cells), block[1].rstrip(), execution_count=None, outputs=outputs))
            at = block.end()
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    return json.dumps({"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}, indent=1) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing; fail where the notebook is not the page's")
    options = parser.parse_args()
    text = notebook(PAGE.read_text())
    if not options.check:
        NOTEBOOK.write_text(text)
    elif NOTEBOOK.read_text() != text:
        print(f"notebook: {NOTEBOOK.name} is not what {PAGE.name} says; run python -m tools notebook")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
