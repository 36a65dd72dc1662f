# SPDX-License-Identifier: Apache-2.0
"""A tensor as a notebook shows it: one line, its values, its attributes and its memory. No other output."""

import re
from math import prod

from .format import values_text
from .layout import contiguous_strides, extent, is_contiguous, numel
from .markup import Markup, element, folded, fragment, join, scrolling, table
from .views import on_host, shares_elements

CELLS = 96  # the most elements of memory that are drawn; a tensor that spans more has a row for each dimension instead
LINES = 12  # lines of values at most
ROW = 32  # cells in a row at most
SIDE = 26  # pixels of a cell


def contiguity(shape, strides):
    """Describe how the elements are laid out in memory.

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
    # The dimensions without those of stride 0, which are described already.
    shares = shares_elements([size for size, _ in kept], [step for _, step in kept])
    if shares is not False:
        words.append("overlapping: several indices reach the same elements" if shares else "perhaps overlapping")
    if not words:
        low, high = extent(shape, strides)
        words.append(
            "with gaps" if high - low > numel(shape) else "permuted: contiguous in another order of dimensions"
        )
    return "; ".join(words)


def layout_word(shape, strides):
    """Name a layout in a word or two.

    >>> layout_word((2, 3), (3, 1)), layout_word((2, 3), (0, -1))
    ('C order', 'repeated, backwards')
    """
    if is_contiguous(shape, strides):
        return "C order"
    if is_contiguous(shape, strides, order="F"):
        return "Fortran order"
    words = [re.split(" along|:", part)[0] for part in contiguity(shape, strides).split("; ")]
    return ", ".join(dict.fromkeys(words))


def size_words(nbytes):
    """Write a number of bytes with three digits and a decimal unit.

    >>> size_words(96), size_words(602112), size_words(999_999)
    ('96 bytes', '602 KB', '1 MB')
    """
    if nbytes < 1000:
        return f"{nbytes} byte{'s' * (nbytes != 1)}"
    for unit, scale in (("KB", 1e3), ("MB", 1e6), ("GB", 1e9), ("TB", 1e12), ("PB", 1e15)):
        if nbytes < 999.5 * scale or unit == "PB":
            break
    value = nbytes / scale
    return f"{value:.0f} {unit}" if value >= 99.95 else f"{value:.3g} {unit}"


class Memory:
    """The elements of memory that a tensor spans: which of them it contains, and as which of its elements.

    Attributes
    ----------
    first, span : int
        The lowest element, counted from the tensor's own first one, and how many there are.
    contains : dict or None
        From a cell, counted from `first`, to the number, in C order, of the first element that lies there, and whether
        several indices reach it. None where `span` is more than `CELLS`.
    """

    def __init__(self, shape, strides):
        low, high = extent(shape, strides)
        self.first, self.span = low, high - low
        self.contains = self._find(shape, strides) if self.span <= CELLS else None

    def _find(self, shape, strides):
        """Return what `contains` holds.

        Dimension by dimension, with the indices that reach the same place taken together: at most `span` places, so
        that the work does not grow with the number of indices.
        """
        if self.span == 0:
            return {}
        dims = [dim for dim in zip(strides, shape, contiguous_strides(shape), strict=True) if dim[1] > 1]
        repeated = any(step == 0 for step, _, _ in dims)
        places = {-self.first: (0, repeated)}
        for step, size, weight in dims:
            if step == 0:
                continue
            following = {}
            for at, (number, more) in places.items():
                for i in range(size):
                    place, index = at + i * step, number + i * weight
                    known = following.get(place)
                    following[place] = (index, more) if known is None else (min(known[0], index), True)
            places = following
        return places


def _row_length(shape, strides, cells):
    """Cells in a row: the largest stride that fits, so that a dimension of the tensor is a column."""
    fitting = [abs(step) for size, step in zip(shape, strides, strict=True) if size > 1 and 1 < abs(step) <= ROW]
    return min(cells, max(fitting, default=16))


def drawing(shape, strides):
    """Draw the elements of memory that a layout spans: which it contains, and as which element, counted in C order.

    Without elements it is empty; for more than `CELLS` it is a table of dimensions.

    >>> "<svg" in drawing((3,), (1,)), "<svg" in drawing((600, 512), (1, 600))
    (True, False)
    """
    memory = Memory(shape, strides)
    if memory.span == 0:
        return Markup("")
    if memory.contains is None:
        return _dimensions(shape, strides, memory.span)
    first, cells = memory.first, memory.span
    row = _row_length(shape, strides, cells)
    texts = {cell: f"{number}{'+' if several else ''}" for cell, (number, several) in memory.contains.items()}
    order = {cell: place for place, cell in enumerate(sorted(memory.contains, key=memory.contains.get))}
    side = max(SIDE, 8 + 6 * max(map(len, texts.values())))
    margin = 8 + 7 * max(len(str(first)), len(str(first + cells)))
    parts = [element("title", f"Elements {first} to {first + cells - 1} of memory")]
    for cell in range(cells):
        x, y = margin + cell % row * side, 1 + cell // row * SIDE
        if cell % row == 0:
            parts.append(element("text", first + cell, class_="at", x=margin - 5, y=y + 17, text_anchor="end"))
        box = {"x": x + 0.5, "y": y + 0.5, "width": side - 2, "height": SIDE - 2, "rx": 3}
        if cell not in texts:
            parts.append(element("rect", class_="skipped", fill="none", stroke="#777", stroke_dasharray="2 2", **box))
            continue
        # From light to strong in C order, so that the direction can be seen without reading numbers.
        shade = 88 - 38 * order[cell] / max(len(order) - 1, 1)
        line = {"stroke": "#c40", "stroke_width": 2} if cell == -first else {"stroke": "#357"}
        parts.append(element("rect", fill=f"hsl(205,75%,{shade:.0f}%)", **line, **box))
        parts.append(element("text", texts[cell], x=x + side / 2 - 0.5, y=y + 17, text_anchor="middle", fill="#000"))
    width, height = margin + row * side + 2, -(-cells // row) * SIDE + 2
    sheet = element(
        "svg",
        *parts,
        width=width,
        height=height,
        viewBox=f"0 0 {width} {height}",
        font_size=10,
        role="img",
    )
    words = ["A cell is one element of memory; its number is the index of the element in the tensor, in C order."]
    if len(texts) < cells:
        words.append("Dashed cells are skipped.")
    if any(several for _, several in memory.contains.values()):
        words.append("A plus marks cells that several indices reach; the number is the first.")
    return join([scrolling(sheet, "memory"), element("div", " ".join(words), class_="quiet")])


def _dimensions(shape, strides, span):
    """A row for each dimension, for layouts that span too many elements to draw them."""
    rows = [(axis, f"{size:,}", f"{step:,}") for axis, (size, step) in enumerate(zip(shape, strides, strict=True))]
    return join(
        [
            table(rows, "dimensions", ("dimension", "size", "stride in elements"), right=(0, 1, 2)),
            element("div", f"{numel(shape):,} elements span {span:,} elements of memory.", class_="quiet"),
        ]
    )


def memory_section(shape, strides):
    """Return the drawing of a layout under a title that is open only where the layout is not C order."""
    drawn = drawing(shape, strides)
    return folded("Elements in memory", drawn, is_open=not is_contiguous(shape, strides)) if drawn else Markup("")


def _values(t):
    """The values in at most `LINES` lines, or why there are none."""
    # The largest edge with which every row of a summarised tensor has a line, else the smallest.
    for edge in (3, 2, 1):
        if prod(min(size, 2 * edge + 1) for size in t.shape[:-1]) <= LINES:
            break
    text = values_text(t, 0, edge)
    if text is None:
        return f"on {t.device}, not read" if not on_host(t) else "too many to show"
    lines = text.split("\n")
    if len(lines) <= LINES:
        return text
    last = LINES // 3
    return "\n".join(["\n".join(lines[: LINES - last - 1]).rstrip(), "...", "\n".join(lines[-last:]).lstrip("\n")])


def html_tensor(t):
    """Answer ``_repr_html_``.

    >>> "<svg" in html_tensor(dl.arange(6).reshape((2, 3)).T)
    True
    """
    words = [f" {t.shape} {t.dtype}", str(t.device), layout_word(t.shape, t.strides), size_words(t.nbytes)]
    attributes = [
        ("shape", t.shape),
        ("strides", f"{t.strides} elements"),
        ("dtype", f"{t.dtype} ({t.dtype.bits * t.dtype.lanes} bits)"),
        ("device", t.device),
        ("size", f"{t.size:,} elements, {t.nbytes:,} bytes"),
        ("layout", contiguity(t.shape, t.strides)),
        ("flags", ", ".join(flag.name for flag in t.flags) or "none"),
    ]
    return fragment(
        element("div", element("b", "Tensor"), " · ".join(words), class_="head"),
        scrolling(element("pre", _values(t)), "values"),
        folded("Attributes", table(attributes, "attributes")),
        memory_section(t.shape, t.strides),
    )
