# SPDX-License-Identifier: Apache-2.0
"""The photograph, and the views of it that the demo shows. No frameworks here."""

from dataclasses import dataclass

from ..._core.foreign_text import describe_error

FILE = "grace_hopper.jpg"
CREDIT = "Rear Admiral Grace Hopper, photographed by James S. Davis, US Navy; sample data of matplotlib"

# Name, the expression of the view (shown and run), and a remark.
VIEWS = (
    ("whole", "photo", "as the last framework exported it"),
    ("crop", "photo[40:300, 140:370]", "a start, an extent: the strides stay"),
    ("mirrored", "photo[:, ::-1]", "one stride negative"),
    ("upside down", "dl.flip(photo, axis=0)", "another stride negative"),
    ("thinned", "photo[::6, ::6]", "every sixth pixel: larger strides"),
    ("transposed", "dl.permute_dims(photo, (1, 0, 2))", "two strides exchanged"),
)


class Missing(Exception):
    """Something that the demo needs is not installed; the text says what, and how to get it."""


@dataclass(frozen=True)
class Scene:
    """One view of the photograph: its name, its expression, a remark, and the tensor."""

    name: str
    expression: str
    remark: str
    tensor: object


def read():
    """Return the photograph as matplotlib decodes it: a NumPy array of height x width x 3 bytes.

    >>> read().shape
    (600, 512, 3)
    """
    try:
        from matplotlib import cbook, image
    except ImportError as error:
        raise Missing(
            f"demo: expected matplotlib, which brings the photograph and draws the pictures, got "
            f"{describe_error(error)}; pip install matplotlib, which brings NumPy and Pillow too"
        ) from None
    try:
        with cbook.get_sample_data(FILE) as file:
            return image.imread(file, format="jpg")
    except FileNotFoundError as error:
        raise Missing(
            f"demo: expected matplotlib's sample photograph {error.filename}, which is not there; some "
            f"distributions leave it out, pip install --force-reinstall matplotlib brings it"
        ) from None


def scenes(photo, table=VIEWS):
    """Return the views of the photograph that the expressions of a table give."""
    import dltensor as dl

    return [
        Scene(name, expression, remark, eval(expression, {"dl": dl, "photo": photo}))
        for name, expression, remark in table
    ]
