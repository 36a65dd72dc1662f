# SPDX-License-Identifier: Apache-2.0
"""The result of an inspection as plain data. Text and HTML are in their own modules."""

import json
from dataclasses import dataclass, field

from .._core.indexing import integer_of


@dataclass(frozen=True)
class Call:
    """One call of the inspected object, and its result.

    Attributes
    ----------
    call : str
        As it would be typed.
    answer : str
        A description of what it returned, or "" when it was not called or raised.
    error : str
        The exception's type and text, "" without one.
    skipped : str
        Why it was not called, "" when it was.
    struct : dict or None
        Every field of the exported struct.
    references : int or None
        How many references to the object the export holds.
    """

    call: str
    answer: str = ""
    error: str = ""
    skipped: str = ""
    struct: dict | None = None
    references: int | None = None


@dataclass(frozen=True)
class Table:
    """One spelling of the exchange table's attribute.

    Attributes
    ----------
    attribute : str
    place : str
        Where it was found: "type", or "instance", which the standard forbids.
    kind : str
        "capsule", "int", or the type of the value found instead.
    chain : list of dict
        The tables, newest first: address, version, functions, problem.
    problem : str or None
        Why no table of the chain can be used.
    """

    attribute: str
    place: str
    kind: str
    chain: list
    problem: str | None


@dataclass(frozen=True)
class Consequence:
    """A known behaviour of one consumer with the tensor, or of its producer.

    Attributes
    ----------
    framework, quirk, role, outcome, effect, remedy, source : str
        As in the data file of quirks.
    first, last : str
        The oldest and the newest version that it was seen on.
    fixed : str or None
        The next version that was measured, which no longer does it.
    installed : str or None
        The version that is installed here.
    certain : bool
        Whether the installed version is among those from `first` to `last`. Versions that are known not to do it have
        no row.
    """

    framework: str
    quirk: str
    role: str
    outcome: str
    effect: str
    remedy: str
    source: str
    first: str
    last: str
    fixed: str | None
    installed: str | None
    certain: bool


@dataclass
class Report:
    """The result of `dltensor.inspect` for an object, a type, a capsule or a file.

    Printed it is text; a notebook shows it as HTML; `to_dict` and `to_json` give plain data.

    Attributes
    ----------
    subject : "object", "type", "capsule" or "file"
    type_name : str
    framework, version : str
        Where the type comes from, "" when that is unknown.
    protocols : list of str
        The protocols of the object, DLPack and older.
    struct : dict or None
        The fields of the struct.
    via : str
        How the struct was obtained.
    device_answer : str
        The result of ``__dlpack_device__``.
    calls : list of Call
    tables : list of Table
    ownership : list of (str, str)
    findings : list of Finding
    consequences : list of Consequence
    facts : dict
        What the conditions of quirks are evaluated on; empty without a struct.
    remarks : list of str
        Further remarks.

    Raises
    ------
    TypeError
        A field is missing.

    Examples
    --------
    >>> report = dl.inspect(dl.arange(4)[::-1])
    >>> report.facts["negative_strides"], report.struct["strides"]
    (True, (-1,))
    """

    subject: str
    type_name: str
    framework: str = ""
    version: str = ""
    protocols: list = field(default_factory=list)
    struct: dict | None = None
    via: str = ""
    device_answer: str = ""
    calls: list = field(default_factory=list)
    tables: list = field(default_factory=list)
    ownership: list = field(default_factory=list)
    findings: list = field(default_factory=list)
    consequences: list = field(default_factory=list)
    facts: dict = field(default_factory=dict)
    remarks: list = field(default_factory=list)

    @property
    def usable(self):
        """True if validation found no error; False also when there is no tensor."""
        return self.struct is not None and all(finding.severity != "error" for finding in self.findings)

    def to_dict(self):
        """Return everything as dicts, lists, strings, numbers and None. Addresses are numbers."""
        plain = {name: getattr(self, name) for name in self.__dataclass_fields__}
        plain["usable"] = self.usable
        plain["struct"] = _plain_struct(self.struct)
        plain["findings"] = [finding._asdict() for finding in self.findings]
        plain["calls"] = [vars(call) | {"struct": _plain_struct(call.struct)} for call in self.calls]
        plain["tables"] = [vars(table) for table in self.tables]
        plain["consequences"] = [vars(row) for row in self.consequences]
        return plain

    def to_json(self, indent=2):
        """Return `to_dict` as JSON.

        Parameters
        ----------
        indent : int, optional
            Spaces of each level; None puts all on one line.

        Raises
        ------
        TypeError
            `indent` is not an integer.

        Examples
        --------
        >>> import json
        >>> json.loads(dl.inspect(dl.zeros((2, 3))).to_json())["struct"]["shape"]
        [2, 3]
        """
        return json.dumps(self.to_dict(), indent=None if indent is None else integer_of(indent, "indent", "to_json"))

    def to_html(self):
        """Return one whole HTML page that needs no network."""
        from .html import page

        return page(self)

    def __repr__(self):
        from .text import plain

        return plain(self)

    def _repr_html_(self):
        from .html import fragment

        return fragment(self)


def _plain_struct(struct):
    if struct is None:
        return None
    return struct | {"findings": [finding._asdict() for finding in struct["findings"]]}
