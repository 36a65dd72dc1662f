# SPDX-License-Identifier: Apache-2.0
"""The matrix of all pairs of frameworks: how it is measured, stored and compared."""

from __future__ import annotations

import json
import platform
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from importlib.metadata import version

from ..._core.foreign_text import describe_error
from ..._tools.output import write_file
from .. import Missing
from ..pair import BETWEEN, cases
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
# The verdict on a pair: the first that holds.
GRADES = {
    "alone": "cannot be in one process",
    "none": "nothing passes",
    "crashes": "something ends the process",
    "wrong": "something arrives with wrong values",
    "changes": "an element type changes on the way",
    "loses": "read-only memory becomes writable",
    "partly": "layouts that the producer has are refused",
    "copies": "everything passes, by copies",
    "shares": "everything passes, in the same memory",
}


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

    Attributes
    ----------
    frameworks : dict of str to str
        Version by name, in the order of rows and columns.
    missing : dict of str to str
        Why a requested framework is missing.
    pairs : dict of (producer, consumer) to Exchange
    producers, consumers : list of str
        Those that export, and those that import.
    environment : dict of str to str
    """

    frameworks: dict
    missing: dict
    pairs: dict
    producers: list
    consumers: list
    environment: dict

    def as_dict(self):
        """Everything, ready for JSON."""
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
        """The opposite of `as_dict`.

        Raises
        ------
        ValueError
            The content is not a matrix, or one of another format.
        """
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
        """Write it as JSON.

        Raises
        ------
        OutputError
            The file cannot be written.
        """
        write_file(path, json.dumps(self.as_dict(), indent=1) + "\n")

    @classmethod
    def read(cls, path):
        """Read what `write` wrote.

        Raises
        ------
        OSError
            The file cannot be read.
        ValueError
            It is not a matrix.
        """
        with open(path, encoding="utf-8") as file:
            return cls.from_dict(json.load(file))

    def rows(self):
        """Row by row: each producer, and its exchanges with all consumers in their order."""
        for producer in self.producers:
            yield producer, [self.pairs[producer, consumer] for consumer in self.consumers]

    def remarks(self):
        """The serious findings, each once: (outcome, case, producers, consumers, words), crashes first.

        Returns
        -------
        list of tuple; `consumers` is empty where what is wrong is the export itself
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
    """Exchange between every pair of frameworks, each in a child process: a crash is a result.

    Parameters
    ----------
    frameworks : list of str, optional
        Names of installed frameworks (`dltensor.conformance.installed`) or ``module:name`` as `check` reads it; without
        it, all that are installed.
    jobs : int
        How many child processes at a time, at most; never more than there are cores.
    progress : callable of (done, total, exchange), optional
        Called after each pair, with its `Exchange`.

    Returns
    -------
    Matrix

    Raises
    ------
    Missing
        None of the frameworks can be imported.
    ValueError
        `jobs` is not an integer of at least 1.

    Examples
    --------
    >>> from dltensor.conformance.matrix.measure import measure
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
        {
            "dltensor": version("dltensor"),
            "python": platform.python_version(),
            "platform": f"{platform.system()} {platform.machine()}",
        },
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
    """Return what differs between `old` and `new`: versions, pairs and cases. Times are not compared.

    Parameters
    ----------
    old, new : Matrix

    Returns
    -------
    list of Change; `kind` is ``version``, ``new``, ``lost`` or ``changed``

    Examples
    --------
    >>> from dltensor.conformance.matrix.measure import compare, measure
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
