# SPDX-License-Identifier: Apache-2.0
"""A tensor as a notebook shows it: what describes it, its values, and a drawing of its memory. No other output."""

from html import escape

from .format import values_text
from .layout import contiguous_strides, extent, is_contiguous, numel
from .views import on_host, shares_elements

CELLS = 96  # elements of memory that are drawn
STEPS = 50_000  # places that are looked at to find the elements in them; a layout that needs more is not drawn
ROW = 32  # cells in a row at most
SIDE = 26  # pixels of a cell

# Light grey shows in light and dark notebooks alike; cells carry their own ground, so their text is always dark.
_STYLE = (
    "font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;font-size:12px;line-height:1.5;text-align:left"
)


def contiguity(shape, strides):
    """Say in words how elements lie in memory.

    Raises
    ------
    ValueError
        `shape` and `strides` differ in length.

    Examples
    --------
    >>> contiguity((2, 3), (3, 1)), contiguity((2, 3), (0, 1))
    ('contiguous, C order', 'repeated along dimension 0 (stride 0)')
    """
    c, f = is_contiguous(shape, strides), is_contiguous(shape, strides, order="F")
    if c:
        return "contiguous, C and Fortran order" if f and sum(size > 1 for size in shape) > 1 else "contiguous, C order"
    if f:
        return "contiguous, Fortran order (the first index moves fastest)"
    moving = [(axis, step) for axis, (size, step) in enumerate(zip(shape, strides, strict=True)) if size > 1]
    words = []
    for what, dims in (
        ("repeated", [(axis, step) for axis, step in moving if step == 0]),
        ("backwards", [(axis, step) for axis, step in moving if step < 0]),
    ):
        for axis, step in dims:
            words.append(f"{what} along dimension {axis} (stride {step})")
    kept = [(size, step) for size, step in zip(shape, strides, strict=True) if size > 1 and step != 0]
    # The dimensions without those of stride 0, whose repeats are said already.
    shares = shares_elements([size for size, _ in kept], [step for _, step in kept])
    if shares is not False:
        words.append("overlapping: several indices reach the same elements" if shares else "perhaps overlapping")
    if not words:
        low, high = extent(shape, strides)
        words.append("with gaps" if high - low > numel(shape) else "side by side in another order of dimensions")
    return "; ".join(words)


class Memory:
    """The elements of memory that are drawn for a tensor: which of them it touches, and as which of its elements.

    Attributes
    ----------
    first, cells : int
        The first drawn element, counted from the tensor's own first one, and how many there are.
    span : int
        How many there would be if all were drawn.
    visits : dict or None
        From a cell to the number, in C order, of the first element that lies there, and whether several indices reach
        it. None when finding out would take too long, as it may for layouts that overlap in many dimensions.
    """

    def __init__(self, shape, strides):
        low, high = extent(shape, strides)
        self.span = high - low
        self.cells = min(self.span, CELLS)
        # The tensor's own first element is always in the picture.
        self.first = low if self.span <= CELLS else min(max(low, -(CELLS // 2)), high - CELLS)
        numbers = contiguous_strides(shape)
        dims = [dim for dim in zip(strides, shape, numbers, strict=True) if dim[1] > 1 and dim[0] != 0]
        repeated = any(step == 0 and size > 1 for step, size in zip(strides, shape, strict=True))
        self.visits = self._find(sorted(dims, key=lambda dim: -abs(dim[0])), repeated) if self.cells else {}

    def _find(self, dims, repeated):
        """What `visits` holds; `repeated` says whether dimensions of stride 0, which are not in `dims`, repeat all.

        Dimension by dimension, with what leads to the same place taken together, so that the work grows with the
        places and not with the elements. Only places are kept from which the rest can lead to a drawn cell.
        """
        left, places = STEPS, {-self.first: (0, repeated)}
        for done, (step, size, weight) in enumerate(dims, 1):
            rest = dims[done:]
            low, high = extent([size for _, size, _ in rest], [step for step, _, _ in rest])
            following = {}
            for at, (number, more) in places.items():
                # at + i * step + (low to high - 1) must meet 0 to cells - 1.
                least, most = -at - (high - 1), self.cells - 1 - at - low
                if step < 0:
                    least, most = most, least
                for i in range(max(0, -(-least // step)), min(size - 1, most // step) + 1):
                    left -= 1
                    if left < 0:
                        return None
                    place, mine = at + i * step, number + i * weight
                    known = following.get(place)
                    following[place] = (mine, more) if known is None else (min(known[0], mine), True)
            places = following
        return places


def _row_length(shape, strides, cells):
    """Cells in a row: the largest stride that fits, so that a dimension of the tensor stands upright."""
    fitting = [abs(step) for size, step in zip(shape, strides, strict=True) if size > 1 and 1 < abs(step) <= ROW]
    return min(cells, max(fitting, default=16))


def drawing(t):
    """Draw the elements of memory that a tensor spans: which it touches, and as which element, counted in C order.

    Returns
    -------
    str
        SVG and what explains it, or no text at all when there is no element.

    Raises
    ------
    MemoryError
        The text cannot be had.

    Examples
    --------
    >>> drawing(dl.arange(3)).startswith("<svg")
    True
    """
    if t.size == 0:
        return ""
    memory = Memory(t.shape, t.strides)
    if memory.visits is None:
        return '<div style="color:#888">Not drawn: too many indices reach the same elements.</div>'
    first, cells = memory.first, memory.cells
    row = _row_length(t.shape, t.strides, cells)
    texts = {cell: f"{number}{'+' if several else ''}" for cell, (number, several) in memory.visits.items()}
    order = {cell: place for place, cell in enumerate(sorted(memory.visits, key=memory.visits.get))}
    side = max(SIDE, 8 + 6 * max(map(len, texts.values())))
    margin = 8 + 7 * max(len(str(first)), len(str(first + cells)))
    width, height = margin + row * side + 2, -(-cells // row) * SIDE + 2
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'font-family="ui-monospace,Menlo,Consolas,monospace" font-size="10" role="img">'
        f"<title>Elements {first} to {first + cells - 1} of memory</title>"
    ]
    for cell in range(cells):
        x, y = margin + cell % row * side, 1 + cell // row * SIDE
        if cell % row == 0:
            parts.append(f'<text x="{margin - 5}" y="{y + 17}" text-anchor="end" fill="#888">{first + cell}</text>')
        box = f'<rect x="{x + 0.5}" y="{y + 0.5}" width="{side - 2}" height="{SIDE - 2}" rx="3"'
        if cell not in texts:
            parts.append(f'{box} fill="none" stroke="#bbb" stroke-dasharray="2 2"/>')
            continue
        # From light to strong in the order of the walk, so that the direction can be seen without reading numbers.
        shade = 88 - 38 * order[cell] / max(len(order) - 1, 1)
        line = 'stroke="#c40" stroke-width="2"' if cell == -first else 'stroke="#357"'
        parts.append(
            f'{box} fill="hsl(205,75%,{shade:.0f}%)" {line}/>'
            f'<text x="{x + side / 2 - 0.5}" y="{y + 17}" text-anchor="middle" fill="#000">{texts[cell]}</text>'
        )
    words = ["A cell is one element of memory; its number says which element of the tensor it is, in C order."]
    if len(texts) < cells:
        words.append("Dashed cells are skipped.")
    if any(several for _, several in memory.visits.values()):
        words.append("A plus marks cells that several indices reach; the number is the first.")
    if memory.span > cells:
        words.append(f"{cells} of {memory.span:,} cells are drawn.")
    return f'{"".join(parts)}</svg><div style="color:#888;max-width:60em">{" ".join(words)}</div>'


def html_tensor(t):
    """Answer ``_repr_html_``.

    Raises
    ------
    MemoryError
        The text cannot be had.

    Examples
    --------
    >>> "<svg" in html_tensor(dl.arange(6).reshape((2, 3)).T)
    True
    """
    rows = [
        ("shape", t.shape),
        ("strides", f"{t.strides} elements"),
        ("dtype", f"{t.dtype} ({t.dtype.bits * t.dtype.lanes} bits)"),
        ("device", t.device),
        ("size", f"{t.size:,} elements, {t.nbytes:,} bytes"),
        ("layout", contiguity(t.shape, t.strides)),
        ("flags", ", ".join(flag.name for flag in t.flags) or "none"),
    ]
    table = "".join(
        f'<tr><th style="text-align:left;padding:1px 12px 1px 0;font-weight:600">{name}</th>'
        f'<td style="text-align:left;padding:1px 0">{escape(str(value))}</td></tr>'
        for name, value in rows
    )
    text = values_text(t, 0)
    if text is None:
        text = f"on {t.device}, not read" if not on_host(t) else "too many to show"
    parts = [
        f'<div style="{_STYLE}"><div><b>dltensor.Tensor</b></div>'
        f'<table style="border-collapse:collapse;font-size:inherit">{table}</table>'
        f'<pre style="margin:6px 0;text-align:left">{escape(text)}</pre>'
    ]
    if t.size:
        parts.append(f'<details open=""><summary>memory</summary>{drawing(t)}</details>')
    return "".join([*parts, "</div>"])
