# SPDX-License-Identifier: Apache-2.0
"""A child process in which one framework exports its arrays to another. Each case is one exchange, or its time.

The exports of both sides are compared: bit patterns, element type, shape, address.
"""

import dltensor as dl

from .checks import NotApplicable, say
from .child import serve
from .observed import difference, observe

MATRIX_LAYOUTS = ("c", "row", "sliced", "stepped", "transposed", "reversed", "broadcast", "scalar", "empty")
BETWEEN = ">"
"""The separator of producer and consumer in the name of a pair."""


def cases():
    """Return the names of all cases of a pair, in the order in which they are tried.

    >>> cases()[0], cases()[-1]
    ('layout:c', 'time')
    """
    names = [f"layout:{name}" for name in MATRIX_LAYOUTS] + [f"dtype:{name}" for name in dl.DTYPES]
    return [*names, "readonly", "time"]


class Pair:
    """A producer and a consumer, both `Target`, and the cases between them."""

    def __init__(self, producer, consumer):
        self.producer, self.consumer = producer, consumer
        # A framework with one-dimensional arrays only gets them in all cases that are not about axes.
        self.plain = "row" if consumer.row is not None and consumer.row.flat else "c"

    def attempt(self, name):
        """Try a case and return its outcome, words, and further data."""
        kind, _, which = name.partition(":")
        act = {
            "layout": lambda: self.exchange(which, "float32"),
            "dtype": lambda: self.exchange(self.plain, which),
            "readonly": self.readonly,
            "time": self.time,
        }[kind]
        try:
            outcome, words, *seen = act()
        except NotApplicable as absent:
            return "absent", str(absent), {}
        return outcome, words, seen[0] if seen else {}

    def _make(self, layout, dtype):
        """Create an array and observe its own export; an array that exports once only is created twice."""
        thing = self.producer.make(layout, dtype)
        try:
            before = observe(thing)
        except Exception as error:
            return None, say(error)
        if self.once(thing):
            # The second array has another address: sharing cannot be observed.
            return self.producer.make(layout, dtype), (before, False)
        return thing, (before, True)

    def once(self, thing):
        """Test whether an array that was exported cannot be exported again."""
        try:
            observe(thing)
        except Exception:
            return True
        return False

    def exchange(self, layout, dtype):
        """Exchange one array and compare."""
        thing, seen = self._make(layout, dtype)
        if thing is None:
            return "unexported", seen
        before, same = seen
        right = dl.DTYPES[dtype]
        if before.struct.dtype[:2] != (right.code, right.bits):
            return "changed", f"exported as {_type_words(before.struct.dtype)}"
        try:
            result = self.consumer.take(thing)
        except Exception as error:
            return "refused", say(error)
        try:
            after = observe(result)
        except Exception as error:
            return "passes", f"arrives, but the result cannot be read back: {say(error)}"
        return self._verdict(before, after, same, layout, dtype)

    def _verdict(self, before, after, same, layout, dtype):
        if after.struct.dtype[:2] != before.struct.dtype[:2]:
            return "changed", f"arrives as {_type_words(after.struct.dtype)}"
        # Lanes are the last axis to some and a part of the element to others.
        shapes = [
            (one.struct.shape or ()) + ((one.struct.dtype[2],) if one.struct.dtype[2] > 1 else ())
            for one in (before, after)
        ]
        if shapes[0] != shapes[1] and 1 == before.struct.dtype[2] == after.struct.dtype[2]:
            return "wrong", f"shape {shapes[0]} arrives as {shapes[1]}"
        expected = self.producer.expected(layout) if dtype == "float32" else None
        right = before.values if expected is None else expected
        if differs := difference(right, after.values):
            return "wrong", f"arrives with other values: {differs}"
        if not same:
            return "passes", "the array exports once only, so its address is not known"
        if before.address == after.address or not after.values:
            return "shares", ""
        return "copies", ""

    def readonly(self):
        """Exchange a read-only array and test whether it is still read-only."""
        thing, seen = self._make("readonly", "float32")
        if thing is None:
            return "unexported", seen
        before, same = seen
        marked, row = before.is_marked_read_only, self.producer.row
        if marked is False or (marked is None and row is not None and row.wraps):
            # A framework that wraps foreign memory and drops the flag has no read-only array.
            return "absent", f"{self.producer.name} does not mark it read-only"
        try:
            result = self.consumer.take(thing)
        except Exception as error:
            return "refused", say(error)
        try:
            after = observe(result)
        except Exception:
            after = None
        if same and after is not None and after.address != before.address:
            return "copied", "a copy, which may be written"
        try:
            writable = bool(self.consumer.evaluate(self.consumer.row.writable if self.consumer.row else "", y=result))
        except NotApplicable:
            if after is None or after.is_marked_read_only is None:
                return "unknown", "the result does not say whether it may be written"
            writable = not after.is_marked_read_only
        if not writable:
            return "kept", ""
        return "lost", "the flag is ignored" if marked else "a legacy struct has no flag to say so"

    def time(self):
        """The median time of one import, in nanoseconds."""
        from .._tools.timing import by_turns

        thing = self.producer.make(self.plain, "float32")
        try:
            self.consumer.take(thing)
            self.consumer.take(thing)
        except Exception as error:
            return "refused", say(error)
        took = by_turns(["take(x)"], {"take": self.consumer.take, "x": thing}, rounds=15)
        return "timed", "", {"nanoseconds": round(took["take(x)"] * 1e9, 1)}


def _type_words(dtype):
    code, bits, lanes = dtype
    for name, known in dl.DTYPES.items():
        if (known.code, known.bits) == (code, bits):
            return name + (f" x {lanes}" if lanes > 1 else "")
    return f"code {code}, {bits} bits, {lanes} lanes"


def prepare(name, names):
    """Return the facts of both targets of a pair and a function that tries one of its cases."""
    from .targets import find

    first, second = name.split(BETWEEN)
    # Like `import producer, consumer`; a framework in both roles is one target.
    producer = find(first)
    consumer = producer if second == first else find(second)
    facts = {
        "version": producer.version,
        "versions": {first: producer.version, second: consumer.version},
        "produces": producer.produces,
        "consumes": consumer.consumes,
    }
    return facts, Pair(producer, consumer).attempt, False


if __name__ == "__main__":
    serve(prepare)
