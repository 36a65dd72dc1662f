# SPDX-License-Identifier: Apache-2.0
"""The pictures: the views side by side, and the work with the times it took. What is shown is decided elsewhere."""

import io

PAPER, INK, QUIET = "#faf9f6", "#1d2330", "#667085"
COLUMNS = 3


def pixels(tensor):
    """Return a view of the photograph as an array that can be drawn: grey when it has two dimensions.

    Raises
    ------
    DeviceError
        The tensor is not in host memory.
    """
    return tensor.numpy()


def encode(tensor, height=None):
    """Return a view of the photograph as a PNG file's bytes, at its own resolution.

    Parameters
    ----------
    tensor : Tensor, shape (h, w, 3) or (h, w), uint8
    height : int, optional
        Scale it to so many rows; None leaves it as it is.

    Raises
    ------
    DeviceError
        The tensor is not in host memory.
    """
    from PIL import Image

    picture = Image.fromarray(pixels(tensor))
    if height is not None:
        picture = picture.resize(
            (max(1, round(picture.width * height / picture.height)), height),
            Image.Resampling.LANCZOS if height < picture.height else Image.Resampling.NEAREST,
        )
    stream = io.BytesIO()
    picture.save(stream, "png", optimize=True)
    return stream.getvalue()


def layout(tensor):
    """Shape and strides of a tensor as two short texts.

    Raises
    ------
    AttributeError
        `tensor` has neither.

    Examples
    --------
    >>> from dltensor._cli.demo.sheet import layout
    >>> layout(dl.empty((2, 3))[:, ::-1])
    ('shape 2 × 3', 'strides 3, −1')
    """
    strides = ", ".join(str(number) for number in tensor.strides).replace("-", "\N{MINUS SIGN}")
    return f"shape {' × '.join(map(str, tensor.shape))}", f"strides {strides}"


def draw(scenes, title, subtitle, path):
    """Draw the contact sheet and write it as a PNG file.

    Parameters
    ----------
    scenes : list of Scene
    title, subtitle : str
    path : pathlib.Path

    Raises
    ------
    OSError
        The file cannot be written.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    rows = -(-len(scenes) // COLUMNS)
    width, cell, head = 11.0, 4.2, 1.25
    figure = Figure(figsize=(width, head + rows * cell), facecolor=PAPER, dpi=120)
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
    figure.savefig(path, facecolor=PAPER)


def draw_work(works, title, path):
    """Draw what became of the photograph, and under it the time that everybody took, and write it as a PNG file.

    Parameters
    ----------
    works : list of Worked
    title : str
    path : pathlib.Path

    Raises
    ------
    OSError
        The file cannot be written.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(3.1 * len(works), 6.4), facecolor=PAPER, dpi=110, layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle(title, fontsize=17, weight="bold", color=INK, x=0.01, ha="left")
    axes = figure.subplots(2, len(works), height_ratios=(3, 1.1), squeeze=False)
    colours = {"dltensor": "#2f6fdb", "numpy": "#b9bfca", "torch": "#8b94a5"}
    for column, one in enumerate(works):
        picture, bars = axes[0][column], axes[1][column]
        picture.imshow(pixels(one.tensor), cmap="gray", vmin=0, vmax=255, aspect="equal")
        picture.set_axis_off()
        picture.set_title(f"{one.name}\n{one.remark}", fontsize=8.5, color=INK)
        names, times = list(one.times), [1e6 * value for value in one.times.values()]
        drawn = bars.barh(names, times, color=[colours[name] for name in names])
        bars.bar_label(drawn, [f"{value:,.0f} µs" for value in times], padding=3, fontsize=8, color=INK)
        bars.set(xlim=(0, max(times) * 1.35), xticks=[], facecolor=PAPER)
        bars.invert_yaxis()
        bars.tick_params(length=0, labelsize=8, colors=INK)
        bars.spines[:].set_visible(False)
    figure.savefig(path, facecolor=PAPER)
