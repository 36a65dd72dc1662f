# SPDX-License-Identifier: Apache-2.0
"""The errors that docstrings document, against those that calls raise. The calls are in the modules of the tests."""

import inspect
import re


def documented(text):
    """The exceptions in the section "Raises" of a docstring."""
    section = re.search(r"^Raises\n-+\n(.*?)(?=^\S[^\n]*\n-+$|\Z)", inspect.cleandoc(text or ""), re.M | re.S)
    found = re.findall(r"^(\w[\w., ]*)$", section[1], re.M) if section else []
    return [name for line in found for name in line.split(", ")]


def description(text, error):
    """Return the text of a docstring about an exception, in one line."""
    entry = re.search(rf"^{error}\n((?:[ ]+.*\n?)+)", inspect.cleandoc(text or ""), re.M)
    return " ".join(entry[1].split()) if entry else ""


def names(text):
    """The names of a row: "a b linalg.(c d)" stands for a, b, linalg.c and linalg.d."""
    found, prefix = [], ""
    for word in text.replace("(", "( ").replace(")", " )").split():
        if word.endswith("("):
            prefix = word[:-1]
        elif word == ")":
            prefix = ""
        else:
            found.append(prefix + word)
    return found


def calls(rows):
    return [(name, error, call) for error, call, text in rows for name in names(text)]


def unmatched(things, rows):
    """List errors documented and never called, called and not documented, and called twice, sorted."""
    documents = {(name, error) for name, thing in things.items() for error in documented(thing.__doc__)}
    called = [(name, error) for name, error, _ in calls(rows)]
    twice = {pair for pair in called if called.count(pair) > 1}
    return sorted(documents.symmetric_difference(called) | twice)


def fault(function, name, error, call, beginnings=()):
    """Describe the fault of an error that a call should raise; None if there is none.

    A message begins with the name of the function, or with one of `beginnings`: pairs of names and of an expression.
    """
    last = name.rpartition(".")[2]
    others = [begin for text, begin in beginnings if name in names(text)]
    try:
        result = call(function)
    except Exception as raised:
        if error.rpartition(".")[2] not in [kind.__name__ for kind in type(raised).__mro__]:
            return f"{type(raised).__name__} instead of {error}: {raised}"
        # The system's errors begin with their number, those of mappings with the key; metatensor has its own.
        if getattr(raised, "errno", None) or isinstance(raised, KeyError) or "metatensor" in name:
            return None
        allowed = "|".join([re.escape(last), *others])
        if re.match(rf"(Generator: |\w+\.)*({allowed})\b", str(raised)):
            return None
        return f"the message does not begin with {' or '.join([last, *others])}: {raised}"
    return f"no {error}: {result!r:.80}"


def faults(things, error, call, text, beginnings=()):
    """The functions of a row that do not raise its error, and why."""
    found = {name: fault(things[name], name, error, call, beginnings) for name in names(text)}
    return {name: why for name, why in found.items() if why}
