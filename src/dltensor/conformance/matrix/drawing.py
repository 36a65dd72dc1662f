# SPDX-License-Identifier: Apache-2.0
"""A matrix as a drawing: SVG without scripts or fonts of its own, readable in light and dark. Decides nothing."""

from html import escape

from ..._core.markup import text_colour
from .measure import COLOURS, GRADES, MARKS
from .text import cell

_CELL, _FONT = 44, "Verdana,DejaVu Sans,sans-serif"


def svg(matrix):
    """Return a matrix as SVG: a square per pair, coloured by its result, and the count of element types that arrive."""
    names = {name: f"{name} {number.partition('+')[0]}" for name, number in matrix.frameworks.items()}
    left = max([len(names[name]) for name in matrix.producers] + [4]) * 7 + 16
    top = max([len(names[name]) for name in matrix.consumers] + [4]) * 5 + 40
    width = max(left + _CELL * len(matrix.consumers) + 90, 560)
    body = top + _CELL * len(matrix.producers)
    parts = []
    for place, name in enumerate(matrix.consumers):
        x = left + _CELL * place + _CELL // 2
        parts.append(f'<text x="{x}" y="{top - 8}" transform="rotate(-45 {x} {top - 8})">{escape(names[name])}</text>')
    for row, (producer, exchanges) in enumerate(matrix.rows()):
        y = top + _CELL * row
        parts.append(f'<text x="{left - 8}" y="{y + 27}" text-anchor="end">{escape(names[producer])}</text>')
        for place, one in enumerate(exchanges):
            x = left + _CELL * place
            title = f"{producer} to {one.consumer}: {GRADES[one.grade]}"
            parts.append(
                f'<g><title>{escape(title)}</title><rect x="{x + 1}" y="{y + 1}" width="{_CELL - 2}" '
                f'height="{_CELL - 2}" rx="4" fill="{COLOURS[one.grade]}"/><text x="{x + _CELL // 2}" y="{y + 27}" '
                f'text-anchor="middle" style="fill:{text_colour(COLOURS[one.grade])}">{escape(cell(one))}</text></g>'
            )
    for place, (grade, words) in enumerate(GRADES.items()):
        y = body + 24 + 20 * place
        parts.append(
            f'<rect x="16" y="{y - 12}" width="14" height="14" rx="3" fill="{COLOURS[grade]}"/>'
            f'<text x="38" y="{y}">{escape(MARKS[grade])}  {escape(words)}</text>'
        )
    height = body + 20 * len(GRADES) + 50
    note = "Rows are producers, columns consumers; the number counts element types that arrive unchanged."
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'role="img" aria-label="DLPack exchange matrix"><title>DLPack exchange matrix</title>'
        f"<style>text{{font:12px {_FONT};fill:#222}}"
        f"@media(prefers-color-scheme:dark){{text{{fill:#ddd}}}}</style>"
        f'{"".join(parts)}<text x="16" y="{height - 12}">{note}</text></svg>\n'
    )
