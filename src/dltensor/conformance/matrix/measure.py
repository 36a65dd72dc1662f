# SPDX-License-Identifier: Apache-2.0
"""The matrix of all pairs of frameworks: how it is measured, stored and compared."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field

from ..._core.foreign_text import describe_error
from ..._tools.output import write_file
from .. import Missing
from ..pair import BETWEEN, cases
from ..report import environment
from ..runner import Lost, parallel, run
from ..targets import installed

FORMAT = 1
PAIR = "dltensor.conformance.pair"
# The outcomes of an exchange. `absent` and `unexported` do not depend on the consumer.
OUTCOMES = {
    "shares": "arrives in the same memory",
    "copies": "arrives as a copy",
    "passes": "arrives; whether it is a copy cannot be seen",
    "kept": "stays read-only",
    "copied": "becomes a copy that may be written",
    "lost": "becomes writable silently",
    "unknown": "arrives; whether it may be written cannot be seen",
    "timed": "was timed",
    "changed": "has another element type",
    "wrong": "has wrong values",
    "crashed": "ends the process",
    "hung": "does not come back",
    "refused": "is refused by an exception",
    "unexported": "is not exported by its producer",
    "absent": "is not supported by its producer",
}
ARRIVES = ("shares", "copies", "passes")
FATAL = ("crashed", "hung")
GRAVE = (*FATAL, "wrong", "changed", "lost")
# The verdict on a pair, the first that holds: mark, style, colour and words.
_VERDICTS = {
    "alone": ("#", "dim", "#616161", "cannot be in one process"),
    "none": (".", "dim", "#9e9e9e", "nothing passes"),
    "crashes": ("!", "worst", "#6a1b9a", "something ends the process"),
    "wrong": ("x", "worst", "#b71c1c", "something arrives with wrong values"),
    "changes": ("~", "warn", "#e07b00", "an element type changes on the way"),
    "loses": ("w", "warn", "#d9a400", "read-only memory becomes writable"),
    "partly": ("/", "good", "#7cb342", "layouts that the producer has are refused"),
    "copies": ("+", "note", "#1976a2", "everything passes, by copies"),
    "shares": ("=", "good", "#2e7d32", "everything passes, in the same memory"),
}
MARKS, STYLES, COLOURS, GRADES = (
    dict(zip(_VERDICTS, column, strict=True)) for column in zip(*_VERDICTS.values(), strict=True)
)


@dataclass
class Exchange:
    """The outcome of each case for one producer and one consumer: ``{case: (outcome, words)}``."""

    producer: str
    consumer: str
    cases: dict = field(default_factory=dict)
    nanoseconds: float | None = None
    trouble: str = ""

    def outcomes(self, kind):
        """Outcome by name of the cases of one kind, ``layout`` or ``dtype``."""
        return {name.partition(":")[2]: one[0] for name, one in self.cases.items() if name.startswith(f"{kind}:")}

    def passing(self, kind):
        """Names of the layouts or dtypes that arrive unchanged."""
        return [name for name, outcome in self.outcomes(kind).items() if outcome in ARRIVES]

    def offered(self, kind):
        """Names of the layouts or dtypes that the producer makes and exports."""
        return [name for name, outcome in self.outcomes(kind).items() if outcome not in ("absent", "unexported")]

    @property
    def readonly(self):
        """The outcome for read-only memory, a key of `OUTCOMES`."""
        return self.cases.get("readonly", ("absent", ""))[0]

    @property
    def grade(self):
        """The verdict, a key of `GRADES`."""
        found = {outcome for name, (outcome, _) in self.cases.items() if name != "time"}
        layouts = self.outcomes("layout").values()
        if self.trouble:
            return "alone"
        for grade, holds in (
            ("crashes", found & set(FATAL)),
            ("none", not self.passing("dtype")),
            ("wrong", "wrong" in found),
            ("changes", "changed" in found),
            ("loses", self.readonly == "lost"),
            ("partly", "refused" in layouts),
            ("copies", "copies" in layouts),
        ):
            if holds:
                return grade
        return "shares"


@dataclass
class Matrix:
    """All pairs of the frameworks of one run.

    `frameworks` has the version by name in the order of rows and columns, `missing` the reason why a requested one is
    missing, `pairs` an `Exchange` by (producer, consumer).
    """

    frameworks: dict
    missing: dict
    pairs: dict
    producers: list
    consumers: list
    environment: dict

    def as_dict(self):
        """Return everything, ready for JSON."""
        return {
            "format": FORMAT,
            "environment": self.environment,
            "frameworks": self.frameworks,
            "missing": self.missing,
            "producers": self.producers,
            "consumers": self.consumers,
            "pairs": [{**vars(one), "grade": one.grade} for one in self.pairs.values()],
        }

    @classmethod
    def from_dict(cls, content):
        """Build a matrix from the result of `as_dict`; ValueError if it is not one, or of another format."""
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            found = content.get("format") if isinstance(content, dict) else type(content).__name__
            raise ValueError(f"matrix: expected the JSON of a matrix, format {FORMAT}, got {found}")
        pairs = {}
        try:
            for one in content["pairs"]:
                kept = {name: tuple(outcome) for name, outcome in one["cases"].items()}
                pairs[one["producer"], one["consumer"]] = Exchange(
                    one["producer"], one["consumer"], kept, one["nanoseconds"], one["trouble"]
                )
            names = ("frameworks", "missing", "producers", "consumers", "environment")
            return cls(pairs=pairs, **{name: content[name] for name in names})
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(
                f"matrix: the JSON says format {FORMAT}, but is not whole: {describe_error(error)}"
            ) from None

    def write(self, path):
        """Write it as JSON."""
        write_file(path, json.dumps(self.as_dict(), indent=1) + "\n")

    @classmethod
    def read(cls, path):
        """Read a file that `write` wrote."""
        with open(path, encoding="utf-8") as file:
            return cls.from_dict(json.load(file))

    def rows(self):
        """Row by row: each producer, and its exchanges with all consumers in their order."""
        for producer in self.producers:
            yield producer, [self.pairs[producer, consumer] for consumer in self.consumers]

    def remarks(self):
        """Return the serious findings, each once: (outcome, case, producers, consumers, words), crashes first.

        `consumers` is empty where the export itself is wrong.
        """
        found = {}
        for (producer, consumer), one in self.pairs.items():
            for case, (outcome, words) in one.cases.items():
                if outcome in GRAVE and case != "time":
                    exported = words.startswith("exported")
                    # Wrong values differ from pair to pair; the first ones stand for all.
                    cause = words if exported or outcome in (*FATAL, "lost") else ""
                    key = (outcome, case, "" if exported else consumer, cause)
                    found.setdefault(key, {}).setdefault(producer, words)
        merged = {}
        for (outcome, case, consumer, cause), producers in found.items():
            row = merged.setdefault((outcome, case, tuple(producers), cause), ([], next(iter(producers.values()))))
            row[0].extend([consumer] if consumer else [])
        rows = [(*key[:2], list(key[2]), consumers, words) for key, (consumers, words) in merged.items()]
        return sorted(rows, key=lambda row: (GRAVE.index(row[0]), row[1]))


def measure(frameworks=None, *, jobs=2, progress=None):
    """Exchange between every pair of frameworks, each in a child process, and return a `Matrix`: a crash is a result.

    `frameworks` are names of installed ones (`dltensor.conformance.installed`) or ``module:name`` as `check` reads it,
    by default all that are installed. `jobs` limits the child processes at a time, as for `check`. `progress` is called
    with (done, total, exchange) after each pair. Raises `Missing` if no framework can be imported.

    >>> matrix = measure(["dltensor"])
    >>> matrix.pairs["dltensor", "dltensor"].outcomes("layout")["transposed"]
    'shares'
    """
    names = list(dict.fromkeys(installed() if frameworks is None else frameworks))
    done, total = [], len(names) ** 2

    def each(pairs):
        with ThreadPoolExecutor(parallel("matrix", jobs, len(pairs))) as pool:
            futures = {pool.submit(_measure_pair, *pair): pair for pair in pairs}
            try:
                for future in as_completed(futures):
                    done.append(futures[future])
                    exchange, facts = future.result()
                    if progress:
                        progress(len(done), total, exchange)
                    yield *futures[future], exchange, facts
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise

    # Each framework with itself first: one that cannot be imported is left out of the other pairs.
    pairs, versions, missing, sides = {}, {}, {}, {}
    for name, _, exchange, facts in each([(name, name) for name in names]):
        if exchange.trouble:
            missing[name] = exchange.trouble
            continue
        versions[name], sides[name] = facts["version"], (facts["produces"], facts["consumes"])
        pairs[name, name] = exchange
    there = [name for name in names if name in versions]
    if not there:
        raise Missing(f"matrix: expected frameworks that are installed; {'; '.join(missing.values()) or 'none is'}")
    producers = [name for name in there if sides[name][0]]
    consumers = [name for name in there if sides[name][1]]
    total = len(names) + len([1 for a in producers for b in consumers if a != b])
    for producer, consumer, exchange, _ in each([(a, b) for a in producers for b in consumers if a != b]):
        pairs[producer, consumer] = exchange
    return Matrix(
        {name: versions[name] for name in there},
        missing,
        {(a, b): pairs[a, b] for a in producers for b in consumers},
        producers,
        consumers,
        environment(),
    )


def _measure_pair(producer, consumer):
    exchange = Exchange(producer, consumer)
    try:
        outcomes, facts = run(f"{producer}{BETWEEN}{consumer}", [cases()], 1, module=PAIR)
    except Lost as error:
        exchange.trouble = str(error).removeprefix("check: ")
        return exchange, {}
    for name in cases():
        if name in outcomes:
            exchange.cases[name] = (outcomes[name].status, outcomes[name].words)
            exchange.nanoseconds = outcomes[name].seen.get("nanoseconds", exchange.nanoseconds)
    return exchange, facts


@dataclass(frozen=True)
class Change:
    """One difference: where, what, before and now."""

    kind: str
    producer: str
    consumer: str
    case: str
    before: str
    now: str

    @property
    def is_worse(self):
        """True if what arrived, or stayed read-only, no longer does."""
        good = (*ARRIVES, "kept", "copied")
        return self.kind == "lost" or (self.before in good and self.now not in good)


def compare(old, new):
    """Return the `Change` list from one matrix to another: versions, pairs and cases. Times are not compared.

    >>> matrix = measure(["dltensor"])
    >>> compare(matrix, matrix)
    []
    """
    changes = [
        Change("version", name, "", "", old.frameworks[name], number)
        for name, number in new.frameworks.items()
        if name in old.frameworks and old.frameworks[name] != number
    ]
    for pair in sorted(set(old.pairs) | set(new.pairs)):
        before, now = old.pairs.get(pair), new.pairs.get(pair)
        if before is None or now is None:
            kind = "new" if before is None else "lost"
            changes.append(Change(kind, *pair, "", before.grade if before else "", now.grade if now else ""))
            continue
        for case in [name for name in {**before.cases, **now.cases} if name != "time"]:
            was, is_now = (one.cases.get(case, ("not tried", ""))[0] for one in (before, now))
            if was != is_now:
                changes.append(Change("changed", *pair, case, was, is_now))
        if bool(before.trouble) != bool(now.trouble):
            changes.append(Change("changed", *pair, "import", before.trouble or "works", now.trouble or "works"))
    return changes
