# SPDX-License-Identifier: Apache-2.0
"""Text for the fields of a tensor struct: strides, alignment, element types, flags. Reads no memory."""

from .. import DataTypeCode, Device, Flags
from .._core.introspect import Finding
from .._core.layout import is_contiguous
from .._core.types import dtype_text
from .._core.views import shares_elements

_ORDINALS = {2: "second", 3: "third", 4: "fourth", 5: "fifth"}


# Text for an axis whose stride is smaller than the extent of the axes inside it, by whether elements overlap.
_CROSSING = {
    True: ("overlap", "overlapping"),
    False: ("interleave with", "interleaved"),
    None: ("may overlap", "perhaps overlapping"),
}


def _crossing(shape, strides):
    # Strides of 0 have their own text.
    kept = [(size, step) for size, step in zip(shape, strides, strict=True) if step != 0]
    return shares_elements([size for size, _ in kept], [step for _, step in kept])


def _apart(order, shape, strides):
    """For axes in the order of their strides: the extent of the axes inside each."""
    inner = 1
    for axis in order:
        yield axis, inner
        inner = abs(strides[axis]) * shape[axis]


def axis_words(shape, strides):
    """Describe the stride of each axis.

    >>> axis_words((4,), (-2,)), axis_words((3, 4), (0, 1))
    (['every second element, backwards'], ['broadcast: the same elements 3 times', 'contiguous'])
    """
    words = [""] * len(shape)
    moving = [axis for axis in range(len(shape)) if shape[axis] > 1 and strides[axis] != 0]
    for axis, size in enumerate(shape):
        if size == 0:
            words[axis] = "empty"
        elif size == 1:
            words[axis] = "one element, the stride is not used"
        elif strides[axis] == 0:
            words[axis] = f"broadcast: the same element{'s' if moving else ''} {size} times"
    for axis, inner in _apart(sorted(moving, key=lambda k: abs(strides[k])), shape, strides):
        step = abs(strides[axis])
        if shape[axis] < 2:
            continue
        if step < inner:
            text = f"steps of {step} {_CROSSING[_crossing(shape, strides)][0]} the inner extent of {inner}"
        elif step == inner:
            text = "contiguous" if inner == 1 else f"steps of {step}, without gaps"
        elif inner == 1:
            text = f"every {_ORDINALS.get(step, f'{step}th')} element"
        else:
            text = f"steps of {step}, of which {step - inner} are skipped"
        words[axis] = text + (", backwards" if strides[axis] < 0 else "")
    return words


def is_compact(shape, strides):
    """Test whether elements fill their memory without gaps or repeats, in whatever order of axes."""
    expected = 1
    for axis in sorted((k for k in range(len(shape)) if shape[k] != 1), key=lambda k: strides[k]):
        if strides[axis] != expected and 0 not in shape:
            return False
        expected *= shape[axis]
    return True


def findings_of(struct):
    """Return the validation findings about a struct, and one about strides that look like bytes.

    Elements of several bytes whose strides are all multiples of that width, and compact in units of it, are probably
    described in bytes. Along one axis they may as well be a column of a table: a note.
    """
    found = list(struct["findings"])
    shape, strides = struct.get("shape"), struct.get("strides")
    if shape is None or strides is None or any(finding.severity == "error" for finding in found):
        return found
    width = struct["dtype"][1] * struct["dtype"][2] // 8
    moving = [axis for axis, size in enumerate(shape) if size > 1]
    if width < 2 or 0 in shape or not moving or any(strides[axis] % width for axis in moving):
        return found
    counted = [strides[axis] // width for axis in moving]
    if is_compact([shape[axis] for axis in moving], counted):
        remedy = "the producer must divide them by the width of an element"
        text = (
            f"strides: expected a number of elements, got {strides}, which looks like bytes: divided by the {width} "
            f"bytes of an element the strides have no gaps (rule strides.bytes); {remedy}"
        )
        severity = "warning" if len(moving) > 1 else "note"
        found.append(Finding("strides.bytes", severity, "strides", moving[-1], strides[moving[-1]], text, remedy, 14))
    return found


def layout_words(shape, strides):
    """Describe the memory layout of a tensor in a few words.

    >>> layout_words((2, 3), (3, 1)), layout_words((3, 2), (1, 3)), layout_words((4,), (-1,))
    ('C order', 'Fortran order, as after a transpose', 'axis 0 backwards')
    """
    if not shape:
        return "one element, no axes"
    if 0 in shape:
        return "no elements"
    if is_contiguous(shape, strides):
        return "C order"
    if is_contiguous(shape, strides, order="F"):
        return "Fortran order, as after a transpose"
    moving = [k for k in range(len(shape)) if shape[k] > 1]
    if is_compact(shape, strides):
        order = sorted(moving, key=lambda k: -strides[k])
        return f"transposed: in memory the axes follow as {', '.join(map(str, order))}, without gaps"
    parts = [f"axis {k} broadcast" for k in moving if strides[k] == 0]
    parts += [f"axis {k} backwards" for k in moving if strides[k] < 0]
    walked = [k for k in moving if strides[k] != 0]
    order = sorted(walked, key=lambda k: -abs(strides[k]))
    if order != walked:
        parts.append(f"transposed: in memory the axes follow as {', '.join(map(str, order))}")
    inner = dict(_apart(order[::-1], shape, strides))
    parts += [f"axis {k} with gaps" for k in walked if abs(strides[k]) > inner[k]]
    parts += [f"axis {k} {_CROSSING[_crossing(shape, strides)][1]}" for k in walked if abs(strides[k]) < inner[k]]
    return "; ".join(parts) or "strided"


def alignment(address):
    """Return the largest power of two, up to 4096, that divides an address; 4096 for 0.

    >>> alignment(0x1040), alignment(0x1003)
    (64, 1)
    """
    return min(address & -address, 4096) if address else 4096


def dtype_words(dtype):
    """Name an element type and its three numbers.

    >>> dtype_words((2, 32, 1))
    'float32 (kDLFloat = 2, 32 bits, 1 lane)'
    """
    code, bits, lanes = dtype
    try:
        kind = DataTypeCode(code).name
    except ValueError:
        kind = "an unknown code"
    name = dtype_text(code, bits, lanes) if bits and lanes else "no type"
    return f"{name} ({kind} = {code}, {bits} bit{'s' * (bits != 1)}, {lanes} lane{'s' * (lanes != 1)})"


def device_words(device):
    """Name a device and its two numbers.

    >>> device_words((1, 0))
    'cpu (device_type 1, device_id 0)'
    """
    try:
        name = str(Device(*device))
    except (ValueError, TypeError):
        name = "unknown device"
    return f"{name} (device_type {device[0]}, device_id {device[1]})"


def flag_words(flags):
    """Name the bits of a flags field, unknown ones included.

    >>> flag_words(0), flag_words(9)
    ('none (0)', 'READ_ONLY, unknown bit 3 (0x9)')
    """
    known = {int(flag): flag.name for flag in Flags}
    names = [known.get(1 << k, f"unknown bit {k}") for k in range(flags.bit_length()) if flags >> k & 1]
    return f"{', '.join(names)} ({flags:#x})" if names else "none (0)"


def bytes_words(count):
    """Format a number of bytes in a suitable unit.

    >>> bytes_words(96), bytes_words(3 * 2**20)
    ('96 bytes', '3.0 MiB')
    """
    for unit, size in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count} byte{'s' * (count != 1)}"


def versions_words(row):
    """Describe the versions on which a consequence was seen, and whether the installed one is among them."""
    text = f"seen with {row.framework} {row.first}" + (f" to {row.last}" if row.last != row.first else "")
    if row.fixed:
        text += f", no longer with {row.fixed}"
    if row.installed is None:
        return f"{text}; not installed here"
    return f"{text}; {row.installed} is installed" + ("" if row.certain else ", which was not measured")
