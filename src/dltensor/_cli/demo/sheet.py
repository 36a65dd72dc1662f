# SPDX-License-Identifier: Apache-2.0
"""The pictures: a contact sheet of the views, and the results of the operations with their times."""

import io
import textwrap

PAPER, INK, QUIET = "#faf9f6", "#1d2330", "#667085"
COLUMNS = 3
CAPTION = 44  # characters in a line of a caption, which fit the width of a picture
HEIGHT = 400  # rows of a picture in the report at most, which shows them in fewer


def pixels(tensor):
    """Return a view of the photograph as an array that can be drawn: grey when it has two dimensions."""
    return tensor.numpy()


def encode(tensor):
    """Return a view of the photograph as a PNG file's bytes: at most `HEIGHT` rows, and a palette of 256 colours."""
    from PIL import Image

    picture = Image.fromarray(pixels(tensor))
    if picture.height > HEIGHT:
        width = max(1, round(picture.width * HEIGHT / picture.height))
        picture = picture.resize((width, HEIGHT), Image.Resampling.LANCZOS)
    stream = io.BytesIO()
    picture.quantize(256).save(stream, "png", optimize=True)
    return stream.getvalue()


def _save(figure, path):
    """Write a figure as a PNG file with a palette of 128 colours, which makes it a quarter of the size."""
    from PIL import Image

    stream = io.BytesIO()
    figure.savefig(stream, facecolor=PAPER, format="png")
    with Image.open(stream) as picture:
        picture.convert("RGB").quantize(128).save(path, "png", optimize=True)


def layout(tensor):
    """Return shape and strides of a tensor as two short texts.

    >>> layout(dl.empty((2, 3))[:, ::-1])
    ('shape 2 × 3', 'strides 3, −1')
    """
    strides = ", ".join(str(number) for number in tensor.strides).replace("-", "\N{MINUS SIGN}")
    return f"shape {' × '.join(map(str, tensor.shape))}", f"strides {strides}"


def draw(scenes, title, subtitle, path):
    """Draw the contact sheet and write it as a PNG file."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    rows = -(-len(scenes) // COLUMNS)
    width, cell, head = 11.0, 4.2, 1.25
    figure = Figure(figsize=(width, head + rows * cell), facecolor=PAPER, dpi=95)
    FigureCanvasAgg(figure)
    total = head + rows * cell
    figure.text(0.04, 1 - 0.48 / total, title, fontsize=21, weight="bold", color=INK, va="center")
    figure.text(0.04, 1 - 0.88 / total, subtitle, fontsize=11, color=QUIET, va="center")
    span, gap, tall = 0.285, 0.0325, 3.05 / total
    for index, scene in enumerate(scenes):
        row, column = divmod(index, COLUMNS)
        left, top = 0.04 + column * (span + gap), 1 - (head + row * cell) / total
        axes = figure.add_axes((left, top - tall, span, tall))
        axes.imshow(pixels(scene.tensor), cmap="gray", vmin=0, vmax=255, interpolation="nearest", aspect="equal")
        axes.set_anchor("SW")
        axes.set_axis_off()
        lines = (
            (scene.expression, 10.5, INK, "monospace"),
            ("     ".join(layout(scene.tensor)), 9.5, INK, None),
            (scene.remark, 9.5, QUIET, None),
        )
        for line, (text, size, colour, family) in enumerate(lines):
            figure.text(
                left,
                top - tall - (0.2 + 0.235 * line) / total,
                text,
                fontsize=size,
                color=colour,
                va="center",
                family=family,
            )
    _save(figure, path)


def draw_work(works, title, path):
    """Draw the results of the operations, and under each the times of all libraries, and write it as a PNG file."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    column = 3.1  # inches
    width, height = column * len(works), 6.4
    figure = Figure(figsize=(width, height), facecolor=PAPER, dpi=100)
    FigureCanvasAgg(figure)
    left = 0.15 / width
    figure.text(left, 1 - 0.35 / height, title, fontsize=17, weight="bold", color=INK, va="center")
    colours = {"dltensor": "#2f6fdb", "numpy": "#b9bfca", "torch": "#8b94a5"}
    for place, one in enumerate(works):
        start = left + place / len(works)
        # Captions begin at the left of their picture and are folded to its width, so that they cannot overlap.
        caption = "\n".join([one.name, *textwrap.wrap(one.remark, CAPTION)])
        figure.text(start, 1 - 0.7 / height, caption, fontsize=8.5, color=INK, va="top", linespacing=1.35)
        picture = figure.add_axes((start, 1.75 / height, 2.8 / width, 3.3 / height))
        picture.imshow(pixels(one.tensor), cmap="gray", vmin=0, vmax=255, aspect="equal")
        picture.set_anchor("NW")
        picture.set_axis_off()
        names, times = list(one.times), [1e6 * value for value in one.times.values()]
        bars = figure.add_axes((start + 0.62 / width, 0.2 / height, 2.18 / width, 1.3 / height))
        drawn = bars.barh(names, times, color=[colours[name] for name in names])
        bars.bar_label(drawn, [f"{value:,.0f} µs" for value in times], padding=3, fontsize=8, color=INK)
        bars.set(xlim=(0, max(times) * 1.45), xticks=[], facecolor=PAPER)
        bars.invert_yaxis()
        bars.tick_params(length=0, labelsize=8, colors=INK)
        bars.spines[:].set_visible(False)
    _save(figure, path)
