# SPDX-License-Identifier: Apache-2.0
"""A matrix as one HTML page with filters: the data as JSON inside matrix.html, which draws it. No network."""

import json
from html import escape
from pathlib import Path

from .drawing import COLOURS
from .measure import ARRIVES, GRADES, OUTCOMES
from .text import MARKS, READONLY, VIEWS, plain, remark_words


def page(matrix):
    """Return a matrix as one whole HTML page. What the filters are set to stands in the address, behind the ``#``.

    Parameters
    ----------
    matrix : Matrix

    Returns
    -------
    str

    Raises
    ------
    OSError
        The package's template cannot be read.

    Examples
    --------
    >>> from dltensor.conformance.matrix.measure import measure
    >>> from dltensor.conformance.matrix.page import page
    >>> page(measure(["dltensor"])).startswith("<!DOCTYPE html>")
    True
    """
    content = matrix.as_dict()
    content["words"] = {
        "grades": GRADES,
        "marks": MARKS,
        "outcomes": OUTCOMES,
        "views": VIEWS,
        "readonly": READONLY,
        "arrives": ARRIVES,
        "colours": COLOURS,
    }
    content["remarks"] = [
        {"outcome": row[0], "names": [*row[2], *row[3]], "text": remark_words(row)} for row in matrix.remarks()
    ]
    # `</script>` in the data would end the element that holds it.
    data = json.dumps(content, separators=(",", ":")).replace("<", "\\u003c")
    template = Path(__file__).with_name("matrix.html").read_text("utf-8")
    return template.replace("$PLAIN", escape(plain(matrix))).replace("$DATA", data)
