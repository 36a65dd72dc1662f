# SPDX-License-Identifier: Apache-2.0
"""Tensors as text: the values in NumPy's layout, without NumPy, and what describes them. No HTML here."""

from math import copysign, inf, isfinite, isinf, isnan
from struct import Struct

from .convert import empty
from .print_options import current
from .types import DTYPES, DataTypeCode, DeviceError, DType
from .views import as_strided, element_bytes, on_host

MOST = 10_000  # values beyond this are left out: summarised dimensions of few elements multiply
MOST_DIMS = 64  # dimensions of a tensor


# -- what is shown ----------------------------------------------------------------------------------------------------


def _shown(shape, edge):
    """Indices along each dimension that are printed; None stands for omitted ones; `edge` None omits none."""
    edges = [edge] * (len(shape) - 1) + [edge if edge is None else current()["edgeitems"]]
    return [
        list(range(size)) if edge is None or size <= 2 * edge else [*range(edge), None, *range(size - edge, size)]
        for size, edge in zip(shape, edges, strict=False)
    ]


def gather(t, edge=None):
    """Collect the values that are shown: nested lists, None for what is left out, None alone when too many.

    Of more elements than the option `threshold`, `edgeitems` at each end of dimensions are shown; where `edge` is an
    integer, that many of all dimensions but the last.
    """
    options = current()
    summarised = t.size > options["threshold"]
    edge = options["edgeitems"] if edge is None else edge
    positions = _shown(t.shape, edge if summarised else None)
    count = 1
    for kept in positions:
        count *= len(kept)
    if count > max(MOST, options["threshold"]):
        return None
    known = _is_known(t.dtype)
    if known and not summarised:
        return t.tolist()
    if not on_host(t):
        t, positions = _on_host(t, positions)
    return _collect(t, positions, (), known)


def _on_host(t, positions):
    """Copy what is shown to the host, at once: `t` and `positions` of the copy.

    The two ends of a dimension are two rows of a view, which has one dimension more for each that is summarised.
    """
    ends = [None in here for here in positions]
    if not any(ends) or t.ndim + sum(ends) > MOST_DIMS or t.dtype.bits * t.dtype.lanes % 8:
        return t.to("cpu"), positions
    shape, strides = [], []
    for cut, here, size, step in zip(ends, positions, t.shape, t.strides, strict=True):
        edge = len(here) // 2
        shape += [2, edge] if cut else [size]
        strides += [(size - edge) * step, step] if cut else [step]
    copied = as_strided(t, shape, strides, func="repr").to("cpu")
    shown = [len(here) - cut for cut, here in zip(ends, positions, strict=True)]
    here = [_shown((size,), None)[0] for size in shown]
    for cut, row in zip(ends, here, strict=True):
        if cut:
            row.insert(len(row) // 2, None)
    return copied.reshape(tuple(shown)), here


# A function of its own, not one inside gather(): that would keep the tensor in a cycle until the collector runs.
def _collect(t, positions, index, known):
    if len(index) < t.ndim:
        here = positions[len(index)]
        return [None if at is None else _collect(t, positions, (*index, at), known) for at in here]
    return t.item(*index) if known else element_bytes(t, *index) or b""


def _is_known(dtype):
    return DType(dtype.code, dtype.bits).name in DTYPES


def _leaves(values, depth):
    if depth == 0:
        return [values]
    return [leaf for value in values if value is not None for leaf in _leaves(value, depth - 1)]


# -- numbers ----------------------------------------------------------------------------------------------------------


# By dtype: how struct spells it, how many decimal digits any number of it keeps, and its smallest normal number.
_PACKED = {"float32": ("f", 6, 2.0**-126), "float16": ("e", 3, 2.0**-14)}


class _Rounding:
    """Rounds to an element type, to find the shortest digits that name a number of that type."""

    def __init__(self, dtype):
        self.digits = current()["precision"]
        self.exact = dtype == DTYPES["float64"]
        spelling, self.kept, self.normal = _PACKED.get(dtype.name, (None, 1, inf))
        self.packed = spelling and Struct(spelling)
        self.element = None if self.exact or spelling else empty((), dtype=dtype)
        self.found = {}

    def __call__(self, number):
        if self.exact:
            return number
        if self.packed:
            try:
                return self.packed.unpack(self.packed.pack(number))[0]
            except OverflowError:
                return copysign(inf, number)
        self.element.fill(number)
        return self.element.item()

    def shortest(self, number):
        """The fewest decimal digits that round to `number`, as (digits, exponent of the first)."""
        size = abs(number)
        if size not in self.found:
            self.found[size] = _split_shortest(repr(size)) if self.exact else self._search(size)
        return self.found[size]

    def _search(self, size):
        # No two decimal numbers of up to `kept` digits round to one normal number: one that rounds to `size` is equal
        # to any shorter one that does.
        for more in range(self.kept - 1 if size >= self.normal else 0, 17):
            text = f"{size:.{more}e}"
            if self(float(text)) == size:
                break
        return _split_shortest(text)


def _split_shortest(text):
    """Digits and the exponent of the first of them, from a positive number as Python writes it."""
    mantissa, _, exponent = text.partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    first = int(exponent or 0) + len(whole) - 1 - (len(whole) + len(fraction) - len(digits))
    return digits.rstrip("0") or "0", first if digits else 0


def _sign(number, plus):
    return "-" if str(number)[0] == "-" else plus


def _split_positional(number, rounding, plus):
    """Digits before and after the point, as few as identify the number, at most the precision after it."""
    digits, exponent = rounding.shortest(number)
    if len(digits) - 1 - exponent > rounding.digits:
        whole, _, fraction = f"{abs(number):.{rounding.digits}f}".partition(".")
        return _sign(number, plus) + whole, fraction.rstrip("0")
    digits = "0" * -exponent + digits if exponent < 0 else digits.ljust(exponent + 1, "0")
    point = max(exponent, 0) + 1
    return _sign(number, plus) + digits[:point], digits[point:].rstrip("0")


def _split_scientific(number, rounding, plus):
    """Digits before and after the point and those of the exponent with its sign."""
    digits, exponent = rounding.shortest(number)
    if len(digits) - 1 > rounding.digits:
        mantissa, _, text = f"{abs(number):.{rounding.digits}e}".partition("e")
        digits, exponent = mantissa.replace(".", "").rstrip("0"), int(text)
    return _sign(number, plus) + digits[0], digits[1:], f"{exponent:+03d}"


def _float_writer(numbers, dtype, plus=""):
    """A function that writes floats so that all of `numbers` have their points in one column."""
    rounding = _Rounding(dtype)
    finite = [number for number in numbers if isfinite(number)]
    sizes = [abs(number) for number in finite if number != 0]
    options = current()
    scientific = options["sci_mode"]
    if scientific is None:
        # NumPy's choice: by the largest, the smallest and their ratio, in the numbers of the type itself.
        scientific = bool(sizes) and (
            max(sizes) >= 10.0 ** _precision(dtype)
            or (
                not options["suppress"]
                and (min(sizes) < rounding(0.0001) or rounding(min(max(sizes) / min(sizes), 1e300)) > 1000)
            )
        )
    scientific = scientific and bool(finite)
    if scientific:
        split = [_split_scientific(number, rounding, plus) for number in finite]
        right = max(len(fraction) for _, fraction, _ in split)
        power = max(len(exponent) for _, _, exponent in split)
        tail = right + power + 1
    else:
        split = [_split_positional(number, rounding, plus) for number in finite]
        right = tail = max((len(fraction) for _, fraction in split), default=0)
    left = max((len(parts[0]) for parts in split), default=0)
    if len(finite) != len(numbers):
        left = max(left, (4 if plus or -inf in numbers else 3) - tail - 1)

    def write(number):
        if isnan(number):
            return f"{plus}nan".rjust(left + 1 + tail)
        if isinf(number):
            return f"{_sign(number, plus)}inf".rjust(left + 1 + tail)
        if scientific:
            # Digits beyond the shortest are those of the exact value, as NumPy has it, not zeros.
            mantissa, _, exponent = f"{abs(number):.{right}e}".partition("e")
            mantissa = mantissa if right else mantissa + "."
            mantissa = (_sign(number, plus) + mantissa).rjust(left + 1 + right)
            return f"{mantissa}e{exponent[0]}{exponent[1:].rjust(power - 1, '0')}"
        whole, fraction = _split_positional(number, rounding, plus)
        return f"{whole.rjust(left)}.{fraction.ljust(right)}"

    return write


def _precision(dtype):
    """Decimal digits before NumPy turns to exponents: what the type resolves, at least 3, at most 8."""
    return {64: 8, 32: 6}.get(dtype.bits, 3)


def _complex_writer(numbers, dtype):
    part = DTYPES[f"float{dtype.bits // 2}"]
    real = _float_writer([number.real for number in numbers], part)
    imaginary = _float_writer([number.imag for number in numbers], part, "+")

    def write(number):
        text = imaginary(number.imag)
        return real(number.real) + text.rstrip() + "j" + " " * (len(text) - len(text.rstrip()))

    return write


def _aligned_writer(values, text):
    width = max((len(text(value)) for value in values), default=0)
    return lambda value: text(value).rjust(width)


def writer(values, dtype, ndim):
    """Return the function that writes values of a type, so that all of `values` are equally wide."""
    if not _is_known(dtype):
        # Without a numeric value: the bytes in memory are printed, except for elements that share a byte.
        return lambda value: "<...>" if not value else f"<{value.hex(' ')}>"
    if dtype.lanes > 1:
        lane = DType(dtype.code, dtype.bits)
        write = writer([number for value in values for number in value], lane, 1)
        return lambda value: f"({', '.join(map(write, value))})"
    if dtype.code == DataTypeCode.kDLBool:
        return lambda value: str(value).rjust(5 if ndim else 0)
    if dtype.code == DataTypeCode.kDLComplex:
        return _complex_writer(values, dtype)
    if all(type(value) is int for value in values):
        return _aligned_writer(values, str)
    return _float_writer(values, dtype)


# -- layout -----------------------------------------------------------------------------------------------------------


def lay_out(values, depth, write, indent):
    """Write nested lists in brackets: rows under each other, broken at `linewidth`, `indent` columns from the left."""
    # One column for what follows the last bracket, one for the bracket itself.
    return _bracketed(values, depth, write, indent + 1, current()["linewidth"] - 2)


def _bracketed(values, depth, write, indent, width):
    if depth == 0:
        return write(values)
    left = " " * indent
    if depth > 1:
        # No comprehension: where memory runs out as a variable becomes a cell, CPython 3.11 loses the arguments.
        rows = []
        for value in values:
            rows.append("..." if value is None else _bracketed(value, depth - 1, write, indent + 1, width - 1))
        return "[" + ("," + "\n" * (depth - 1) + left).join(rows) + "]"
    text, line = "", left
    for position, value in enumerate(values):
        word = "..." if value is None else write(value)
        if len(line) + len(word) > width and len(line) > len(left):
            text += line.rstrip() + "\n"
            line = left
        line += word + (", " if position < len(values) - 1 else "")
    return "[" + (text + line)[indent:] + "]"


# -- public functions -------------------------------------------------------------------------------------------------


def values_text(t, indent, edge=None):
    """The values of a tensor as text, or None when they cannot be shown: on another device, or far too many."""
    if t.size == 0:
        return "[]"
    try:
        values = gather(t, edge)
    except (DeviceError, BufferError):
        if on_host(t):
            raise
        return None
    return (
        None
        if values is None and t.ndim
        else lay_out(values, t.ndim, writer(_leaves(values, t.ndim), t.dtype, t.ndim), indent)
    )


def repr_tensor(t):
    """Answer ``repr``: values in NumPy's layout, then shape, device and dtype, and ``readonly=True`` when so.

    >>> dl.asarray([[0, 1], [2, 3]])
    Tensor([[0, 1],
            [2, 3]], shape=(2, 2), device=cpu, dtype=int64)
    """
    words = f"shape={t.shape}, device={t.device}, dtype={t.dtype}" + (", readonly=True" if t.readonly else "")
    text = values_text(t, len("Tensor("))
    if text is None:
        return f"Tensor({words})"
    last = len(text) - text.rfind("\n") - 1 + (0 if "\n" in text else len("Tensor("))
    gap = "\n" + " " * len("Tensor(") if last + len(words) + 3 > current()["linewidth"] else " "
    return f"Tensor({text},{gap}{words})"


def _as_double(number, rounding):
    """The float64 that Python writes with the fewest digits that identify a number of a narrower type."""
    if not isfinite(number) or number == 0:
        return number
    digits, exponent = rounding.shortest(number)
    return copysign(float(f"{digits[0]}.{digits[1:] or 0}e{exponent}"), number)


def _number(t):
    """The one element of a tensor, as Python writes a number; the whole ``str`` where the host cannot read it."""
    try:
        value = t.item()
    except DeviceError:
        return str(t)
    if isinstance(value, complex):
        rounding = _Rounding(DTYPES[f"float{t.dtype.bits // 2}"])
        value = complex(_as_double(value.real, rounding), _as_double(value.imag, rounding))
    return str(_as_double(value, _Rounding(t.dtype)) if isinstance(value, float) else value)


def format_tensor(t, spec):
    """Answer ``format``: every element written with `spec`, nested and summarised like ``repr``, nothing else.

    Without `spec`, a tensor of no dimensions is its number, and others are as ``str`` shows them.

    >>> f"{dl.asarray([[1.0, 2.5], [10.0, -3.0]]):.1f}"
    '[[ 1.0,  2.5],\\n [10.0, -3.0]]'
    >>> f"{dl.asarray(0.1)}"
    '0.1'
    """
    if not spec:
        return _number(t) if t.ndim == 0 and _is_known(t.dtype) and t.dtype.lanes == 1 else str(t)
    if t.size == 0:
        return "[]"
    if not _is_known(t.dtype) or t.dtype.lanes != 1:
        raise ValueError(f"format: elements of {t.dtype} take no format; view() a named dtype")
    values = gather(t)
    if values is None:
        raise ValueError(f"format: shape {t.shape} has too many elements to show; format a part of it")
    leaves = _leaves(values, t.ndim)
    try:
        write = _aligned_writer(leaves, lambda value: format(value, spec))
    except ValueError as error:
        raise ValueError(f"format: {spec!r} does not fit elements of {t.dtype}: {error}") from None
    return lay_out(values, t.ndim, write, 0)
