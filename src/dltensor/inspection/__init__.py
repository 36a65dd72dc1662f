# SPDX-License-Identifier: Apache-2.0
"""Inspect an object, a type, a capsule or a file: every field, explained, and how known consumers handle it.

EXPR is 'module:expression', as in dltensor inspect 'numpy:arange(4)[::-1]'. FILE is a .npy file, which is mapped
read-only, or an .npz or .safetensors file, whose headers are listed.

Exit status: 0 usable, 1 a rule is broken or there is no tensor, 2 EXPR or FILE cannot be read, or OUT not written.
"""

from __future__ import annotations

from .._core.introspect import Finding, Rule, rules

TYPE_CHECKING = False  # type checkers read the annotation; the module typing would cost a third of the import
if TYPE_CHECKING:
    from .report import Report

__all__ = ["Finding", "Rule", "inspect", "rules", "validate"]


def inspect(obj: object, /) -> Report:
    """Report everything about an object that supports DLPack, or about a type or a capsule, without consuming it.

    Parameters
    ----------
    obj : object, type or capsule
        Of any framework. Objects with a buffer or an array interface are read too. A capsule can still be consumed.

    Returns
    -------
    Report
        It prints as text and shows as HTML in a notebook; see also `to_json` and `to_html`.

    Notes
    -----
    Exceptions that the object raises are part of the report.

    Elements are never read. Every signature of ``__dlpack__`` is called once and released; with ``copy=True``
    only up to 1 MiB, and on other devices than the host nothing is copied or synchronized.

    Examples
    --------
    >>> report = dl.inspect(dl.arange(4)[::-1])
    >>> [finding.rule for finding in report.findings if "strides" in finding.rule]
    ['strides.negative']
    >>> [row.outcome for row in report.consequences if row.quirk == "paddle.negative_strides"]
    ['wrong']
    """
    from . import reading

    if isinstance(obj, type):
        return reading.of_type(obj)
    if reading.is_capsule(obj):
        return reading.of_capsule(obj)
    return reading.of_object(obj)


def validate(obj: object, /) -> list[Finding]:
    """Return every validation finding about an object or a capsule, errors first.

    Parameters
    ----------
    obj : object or capsule
        With DLPack, an exchange table, a buffer or an array interface. A capsule can still be consumed.

    Returns
    -------
    list of Finding
        Errors mean that no consumer should use the tensor; an empty list means that there are no findings.

    Raises
    ------
    TypeError
        `obj` offers no tensor at all; the message names the protocols that were tried.

    Examples
    --------
    >>> [(finding.rule, finding.axis) for finding in dl.validate(dl.arange(6)[::-2]) if finding.severity == "note"
    ...  and finding.field == "strides"]
    [('strides.negative', 0)]
    """
    from . import reading
    from .describe import findings_of

    if isinstance(obj, type):
        raise TypeError(
            f"validate: expected an object or a capsule, got the type {obj.__qualname__}; pass one of its objects"
        )
    if reading.is_capsule(obj):
        report = reading.of_capsule(obj)
        if report.struct is None and not report.findings:
            raise TypeError(f"validate: expected a tensor's capsule, got a {report.type_name}")
        return report.findings
    found, reason = reading.export_of(obj)
    if found is None:
        raise TypeError(
            f"validate: {type(obj).__qualname__} exports no tensor{reason}; expected DLPack, a buffer or an "
            f"array interface"
        )
    return findings_of(found)


def arguments(parser):
    """Declare the options of the command."""
    from .command import arguments

    arguments(parser)


def run(options):
    """Inspect what the options name, print it, and return the exit status."""
    from .command import run

    return run(options)
