# SPDX-License-Identifier: Apache-2.0
"""The headers of a file of tensors, as lines of text or as JSON. Reads no elements."""

import json
import os

from .._core.foreign_text import first_line
from .._tools.checkpoints import LayoutError, find_groups
from .._tools.terminal import columns_of, fill, labelled, width

_TITLES = ["name", "dtype", "shape", "bytes", "at byte"]


def _rows(file):
    """(name, TensorInfo or None, what is wrong with it) of each tensor."""
    for name in file.names:
        try:
            yield name, file.info(name), ""
        except (ValueError, TypeError, OSError) as error:
            yield name, None, first_line(str(error))


def _layouts(file):
    """(layout, count of weights, note) of quantised weights, and what is wrong with them."""
    if file.format != "safetensors":
        return [], ""
    try:
        groups = find_groups(file)
    except LayoutError as error:
        return [], first_line(str(error))
    found = {}
    for group in groups:
        found.setdefault((group.layout, group.note), []).append(group)
    return [(layout, len(weights), note) for (layout, note), weights in found.items()], ""


def lines_of(file):
    """Return the content of a file as lines of (text, style), and whether all of it can be read.

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "a.safetensors"); dl.save(path, {"w": dl.zeros(2)})
    >>> with dl.open_file(path) as f:
    ...     print(lines_of(f)[0][-1][0][0])
    w     float32  (2,)       8      256
    """
    rows = list(_rows(file))
    total = sum(info.nbytes for _, info, _ in rows if info)
    size, count = os.stat(file.path).st_size, len(rows)
    lines = [[(line, "bold")] for line in fill(
        f"{os.fsdecode(file.path)}: {file.format}, {count} tensor{'' if count == 1 else 's'}, {total:,} bytes of "
        f"elements in {size:,}", width())]  # fmt: skip
    for key, value in file.metadata.items():
        lines += [[(line, "")] for line in labelled(f"  {first_line(key, 40)}", first_line(value), 14, width())]
    layouts, unclear = _layouts(file)
    for layout, weights, note in layouts:
        text = f"{layout}, {weights} weight{'' if weights == 1 else 's'}; {note}"
        lines += [[(line, "")] for line in labelled("  layout", text, 14, width())]
    if unclear:
        lines += [[(line, "")] for line in labelled("  layout", f"unclear: {unclear}", 14, width())]
    table = [_TITLES]
    for name, info, problem in rows:
        if info is None:
            table.append([first_line(name, 80) or "''", problem, "", "", ""])
            continue
        place = "compressed" if info.offset is None else str(info.offset)
        dtype = "raw" if info.dtype is None else str(info.dtype)
        table.append([first_line(name, 80) or "''", dtype, str(info.shape), f"{info.nbytes:,}", place])
    if rows:
        title, *body = columns_of(table, width(), right=(3, 4))
        lines += [[], [(title, "title")], *([(line, "")] for line in body)]
    return lines, not any(problem for _, _, problem in rows)


def json_of(file):
    """Return the content of a file as JSON.

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "a.safetensors"); dl.save(path, {"w": dl.zeros(2)})
    >>> with dl.open_file(path) as f:
    ...     json.loads(json_of(f))["tensors"]["w"]["shape"]
    [2]
    """
    tensors = {}
    for name, info, problem in _rows(file):
        if info is None:
            tensors[name] = {"problem": problem}
        else:
            dtype = None if info.dtype is None else str(info.dtype)
            tensors[name] = {"dtype": dtype, "shape": info.shape, "nbytes": info.nbytes, "offset": info.offset}
    layouts, unclear = _layouts(file)
    content = {"subject": "file", "format": file.format, "metadata": file.metadata, "tensors": tensors}
    content["layouts"] = [dict(zip(("layout", "weights", "note"), row, strict=True)) for row in layouts]
    if unclear:
        content["layouts_problem"] = unclear
    return json.dumps(content, indent=1)
