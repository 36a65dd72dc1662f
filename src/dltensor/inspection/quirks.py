# SPDX-License-Identifier: Apache-2.0
"""The behaviour of known frameworks: rows of quirks.toml, their versions, and the small language of conditions.

A condition is a Python expression of names, numbers, strings, lists, ``and or not``, comparisons and ``in``. Names are
those of `FACTS`; nothing else is allowed and nothing is called.
"""

import ast
import operator
import re
import tomllib
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

# Each fact with its value for a tensor that every consumer accepts.
FACTS = {
    "producer": ("", "the framework that the object comes from, '' when unknown"),
    "readonly": (False, "READ_ONLY is set, or the producer's arrays never change"),
    "copied": (False, "IS_COPIED is set"),
    "padded": (False, "IS_SUBBYTE_TYPE_PADDED is set"),
    "contiguous": (True, "C order"),
    "compact": (True, "no gaps and no repeats, whatever the order of axes"),
    "negative_strides": (False, "an axis of two or more elements runs backwards"),
    "zero_strides": (False, "an axis of two or more elements repeats the same memory"),
    "overlapping": (False, "elements may share memory without a zero stride"),
    "odd_single_strides": (False, "an axis of one element has another stride than C order"),
    "strides_null": (False, "strides are NULL although there are axes"),
    "byte_offset": (0, "the field, in bytes"),
    "offset_remainder": (0, "byte_offset modulo the item size"),
    "alignment": (4096, "the largest power of two, up to 4096, that divides the address of the first element"),
    "misaligned": (False, "the first element is not at a multiple of its own size"),
    "data_null": (False, "data is NULL"),
    "size": (6, "number of elements"),
    "ndim": (2, "number of axes"),
    "dtype": ("float32", "name of the element type, lanes left out"),
    "code": (2, "DLDataTypeCode"),
    "bits": (32, "width of a lane"),
    "lanes": (1, "number of lanes"),
    "device": ("cpu", "name of the device without its number"),
    "device_id": (0, "its number"),
    "host": (True, "the host can read the memory"),
    "offers_versioned": (True, "some call of __dlpack__ gives a versioned capsule"),
    "offers_legacy": (True, "__dlpack__() gives a legacy capsule"),
    "has_table": (True, "the type publishes a usable exchange table"),
    "has_device_method": (True, "__dlpack_device__ is there and answers"),
    "version_major": (1, "of the versioned struct, 0 without one"),
    "version_minor": (3, "of the versioned struct, 0 without one"),
    "deleter_null": (False, "the struct has no deleter"),
    "context_null": (False, "the struct has no manager_ctx"),
    "conjugated": (False, "the lazy conjugate bit is set"),
    "negated": (False, "the lazy negative bit is set"),
}
NEUTRAL = {name: value for name, (value, _) in FACTS.items()}

OUTCOMES = {
    "refused": "raises",
    "aborts": "ends the process",
    "wrong": "gives wrong values",
    "ignored": "ignores it",
    "copied": "copies",
    "readonly": "gives a read-only array",
    "changed": "changes the element type",
    "leaks": "leaks memory",
    "accepted": "accepts what it should refuse",
    "unmarked": "exports without the flag",
    "shares": "shares where a copy was asked for",
}

_COMPARISONS = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b,
}


class Condition:
    """A condition of quirks.toml, parsed and checked: ValueError names a part that the language does not have.

    >>> Condition("readonly and bits in [8, 16]")({"readonly": True, "bits": 16})
    True
    """

    def __init__(self, text):
        self.text = text
        try:
            self._tree = ast.parse(f"({text})", mode="eval").body  # may go over lines
        except SyntaxError as error:
            raise ValueError(f"condition {text!r}: {error.msg}") from None
        self.names = set()
        self._check(self._tree)

    def _check(self, node):
        match node:
            case ast.Name(id=name):
                if name not in FACTS:
                    raise ValueError(
                        f"condition {self.text!r}: no fact is named {name!r}; known are {', '.join(FACTS)}"
                    )
                self.names.add(name)
            case ast.Constant(value=int() | str()):
                pass
            case ast.List(elts=parts) | ast.BoolOp(values=parts):
                for part in parts:
                    self._check(part)
            case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=part):
                self._check(part)
            case ast.Compare(left=left, comparators=others):
                for part in (left, *others):
                    self._check(part)
                if any(type(op) not in _COMPARISONS for op in node.ops):
                    raise ValueError(f"condition {self.text!r}: 'is' is not part of the language")
            case _:
                raise ValueError(
                    f"condition {self.text!r}: {ast.unparse(node)!r} is not part of the language: use "
                    f"facts, numbers, strings, lists, and, or, not, comparisons and in"
                )

    def __call__(self, facts):
        return bool(self._value(self._tree, facts))

    def _value(self, node, facts):
        match node:
            case ast.Name(id=name):
                return facts[name]
            case ast.Constant(value=value):
                return value
            case ast.List(elts=parts):
                return [self._value(part, facts) for part in parts]
            case ast.UnaryOp(op=ast.Not(), operand=part):
                return not self._value(part, facts)
            case ast.UnaryOp(operand=part):
                return -self._value(part, facts)
            case ast.BoolOp(op=ast.And(), values=parts):
                return all(self._value(part, facts) for part in parts)
            case ast.BoolOp(values=parts):
                return any(self._value(part, facts) for part in parts)
        left = self._value(node.left, facts)
        for op, other in zip(node.ops, node.comparators, strict=True):
            right = self._value(other, facts)
            if not _COMPARISONS[type(op)](left, right):
                return False
            left = right
        return True


# The order of pre-releases, releases and post-releases, by the suffix of the number.
_STAGES = {"dev": -4, "a": -3, "alpha": -3, "b": -2, "beta": -2, "c": -1, "rc": -1, "pre": -1, "": 0, "post": 1}


def version_key(text):
    """Return a version in comparable form without its local part (``+cpu``), or None when the text is not a version.

    >>> version_key("2.13.0+cpu") == version_key("2.13") < version_key("2.14.0rc1") < version_key("2.14.0")
    True
    """
    found = re.match(r"v?(\d{1,9}(?:\.\d{1,9})*)[-_.]?(alpha|a|beta|b|c|rc|pre|dev|post)?(\d{0,9})", str(text))
    if found is None:
        return None
    release = [int(part) for part in found[1].split(".")]
    while release and release[-1] == 0:
        release.pop()
    return tuple(release), _STAGES[found[2] or ""], int(found[3] or 0)


@dataclass(frozen=True)
class Framework:
    """A framework that was measured: its name for pip and for Python, and the measured versions, oldest first.

    `take` is the expression that imports ``x``, None where only the producer was measured; `once` marks a framework
    whose objects can be exported a single time only.
    """

    name: str
    distribution: str
    module: str
    measured: tuple
    take: str | None = None
    once: bool = False

    @property
    def installed(self):
        """The installed version, or None; found without importing."""
        try:
            return version(self.distribution)
        except PackageNotFoundError:
            return None


@dataclass(frozen=True)
class Quirk:
    """One behaviour of some versions of one framework with some tensors.

    `first` and `last` are the oldest and the newest measured version with it, `outcome` is a key of `OUTCOMES`, and
    `adapt` holds the arguments of `dltensor.adapt` that make the tensor readable.
    """

    id: str
    framework: Framework
    role: str
    when: Condition
    outcome: str
    effect: str
    remedy: str
    source: str
    first: str
    last: str
    adapt: dict = field(default_factory=dict)

    @property
    def fixed(self):
        """The oldest measured version after `last`, which no longer does it; None when the newest one does."""
        later = self.framework.measured[self.framework.measured.index(self.last) + 1 :]
        return later[0] if later else None

    def concerns(self, number):
        """Test whether a version of the framework has the quirk: True from `first` to `last`.

        None, unknown, outside of that when the version was not measured and a neighbouring measured one has it.

        >>> row, = [row for row in load().rows if row.id == "torch.negative_strides"]
        >>> [row.concerns(number) for number in ("2.13.0+cpu", "2.14.0", "2.14.1", "2.20")]
        [True, None, False, False]
        """
        key = None if number is None else version_key(number)
        if key is None:
            return None
        first, last = version_key(self.first), version_key(self.last)
        if first <= key <= last:
            return True
        measured = [version_key(one) for one in self.framework.measured]
        neighbours = [one for one in measured if one <= key][-1:] + [one for one in measured if one >= key][:1]
        return None if any(first <= one <= last for one in neighbours) else False

    def applies(self, facts):
        """Test whether the quirk is about a tensor with these facts, whatever is installed."""
        return (self.role == "consumer" or facts["producer"] == self.framework.name) and self.when(facts)


@dataclass(frozen=True)
class Quirks:
    """The content of quirks.toml: frameworks by name, all quirks, and a common dtype for each rarely supported one."""

    frameworks: dict
    rows: tuple
    widen: dict

    def about(self, facts, framework=None):
        """Return the quirks that concern a tensor, of one framework or of all, without those that the installed version
        does not have."""
        rows = [row for row in self.rows if framework in (None, row.framework.name) and row.applies(facts)]
        return [row for row in rows if row.concerns(row.framework.installed) is not False]


@cache
def load(path=None):
    """Read the data file of the package, or another one. ValueError names the row that is wrong.

    >>> load().frameworks["tvm_ffi"].distribution
    'apache-tvm-ffi'
    """
    path = Path(path or Path(__file__).with_name("quirks.toml"))
    data = tomllib.loads(path.read_text("utf-8"))
    frameworks = {
        name: Framework(name, **{"distribution": name, "module": name} | row | {"measured": tuple(row["measured"])})
        for name, row in data["framework"].items()
    }
    rows = []
    for row in data["quirk"]:
        where, framework = f"{path.name}, quirk {row.get('id')!r}", str(row.get("id")).partition(".")[0]
        row = {"role": "consumer", "source": "measured"} | row | {"framework": framework}
        for key, known in (("framework", frameworks), ("role", ("consumer", "producer")), ("outcome", OUTCOMES)):
            if row.get(key) not in known:
                raise ValueError(f"{where}: {key} must be one of {', '.join(known)}, got {row.get(key)!r}")
        measured = frameworks[framework].measured
        row = {"first": measured[0], "last": measured[-1]} | row
        if not {row["first"], row["last"]} <= set(measured) or list(measured) != sorted(measured, key=version_key):
            raise ValueError(
                f"{where}: first and last must be among the measured versions, oldest first: {', '.join(measured)}; "
                f"got {row['first']!r} and {row['last']!r}"
            )
        rows.append(Quirk(**row | {"framework": frameworks[framework], "when": Condition(row["when"])}))
    names = [row.id for row in rows]
    if twice := {name for name in names if names.count(name) > 1}:
        raise ValueError(f"{path.name}: several quirks are named {', '.join(sorted(twice))}")
    return Quirks(frameworks, tuple(rows), data["widen"])
