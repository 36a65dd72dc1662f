# SPDX-License-Identifier: Apache-2.0
"""Rules and findings of validation: their classes. Finds nothing itself."""

from collections import namedtuple

Rule = namedtuple("Rule", "id severity expected remedy standard", module=__name__)
Rule.__doc__ = """A validation rule: its id, what breaking it means, what it expects ("" where that depends on the
tensor), what to do, and the number of the standard's rule in this project's list, None where the standard is silent."""


class Finding(namedtuple("Finding", "rule severity field axis value text remedy standard")):
    """One finding of the validation of a tensor.

    Attributes
    ----------
    rule : str
        Short and stable: ``"shape.negative"``.
    severity : "error", "warning" or "note"
        Cannot be used; can, although the standard says otherwise; legal, and may surprise another consumer.
    field : str, axis : int or None
        Where in the struct; the axis where the field is an array.
    value : int
        What is there. Addresses and unsigned fields as they are.
    text : str
        The whole sentence: field, what was expected, what is there, rule and remedy.
    remedy : str
    standard : int or None
        The number of the standard's rule, None where it is silent.
    """

    __slots__ = ()

    def __str__(self):
        return self.text
