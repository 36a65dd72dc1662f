# SPDX-License-Identifier: Apache-2.0
"""A matrix as one HTML page with filters: the data as JSON inside matrix.html, which shows it. No network."""

import json
from html import escape
from pathlib import Path

from ..._core.markup import Markup, element, text_colour
from ..._core.markup import page as whole_page
from .measure import ARRIVES, COLOURS, GRADES, MARKS, OUTCOMES
from .text import READONLY, VIEWS, plain, remark_words

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"


def page(matrix):
    """Return a matrix as one whole HTML page. The state of the filters is in the address, behind the ``#``."""
    content = matrix.as_dict()
    content["words"] = {
        "grades": GRADES,
        "marks": MARKS,
        "outcomes": OUTCOMES,
        "views": VIEWS,
        "readonly": READONLY,
        "arrives": ARRIVES,
        "colours": COLOURS,
        "inks": {colour: text_colour(colour) for colour in COLOURS.values()},
    }
    content["remarks"] = [
        {"outcome": row[0], "names": [*row[2], *row[3]], "text": remark_words(row)} for row in matrix.remarks()
    ]
    # `</script>` in the data would end the element that holds it.
    data = json.dumps(content, separators=(",", ":")).replace("<", "\\u003c")
    template = Path(__file__).with_name("matrix.html").read_text("utf-8")
    content = Markup(template.replace("$PLAIN", escape(plain(matrix))).replace("$DATA", data))
    policy = element("meta", http_equiv="Content-Security-Policy", content=_POLICY)
    return whole_page("DLPack exchange matrix", content, head=policy)
