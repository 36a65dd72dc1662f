# SPDX-License-Identifier: Apache-2.0
"""Time exchange and calls on this machine: each statement against the fastest installed peer, measured alternately.

More than 1 x: dltensor is faster. Rows whose peer is missing are named.

Exit status: 0, 2 when no row fits or a file cannot be written.
"""

import json
import platform
import sys
from dataclasses import asdict, dataclass
from importlib.metadata import version

from ..._tools.arguments import count, output_file
from ..._tools.output import write_file
from ..._tools.terminal import Bar, complain, say, width

BIAS = (
    "Bias: written by the authors of dltensor, who chose the rows. Small tensors, warm caches, one thread, garbage "
    "collection off: cold calls are slower. Peers do more in some calls (torch checks gradients) and less "
    "in others (most do not validate). On a shared machine a difference below ten per cent is noise."
)


@dataclass(frozen=True)
class Measured:
    """One row: what was measured, our statement and the fastest peer's, nanoseconds; `ratio`: theirs over ours."""

    group: str
    what: str
    ours: str
    peer: str
    ns: float
    peer_ns: float
    ratio: float


def arguments(parser):
    """Declare the options of the command."""
    parser.add_argument("part", metavar="PART", nargs="*", help="parts of names of rows; without one, all rows")
    parser.add_argument("--rounds", metavar="N", type=count, default=21, help="how often each statement is sampled")
    parser.add_argument("--svg", metavar="FILE", type=output_file, help="write a drawing of the ratios")
    parser.add_argument("--json", metavar="FILE", type=output_file, help="write all figures")


def measure(parts=(), rounds=21, progress=None):
    """Time the rows alternately with their peers, and return them with the rows that were left out and what these need.

    `parts` are parts of names, such as ``"exchange"`` or ``"a + b"``; without one, all rows are timed. `progress` is
    called with (done, total).

    >>> rows, missing = measure(["x[1:]"], rounds=3)
    >>> all(row.ns > 0 for row in rows)
    True
    """
    from ..._tools.timing import by_turns
    from . import calls, exchange

    def wanted(group, what):
        return not parts or any(part in f"{group}: {what}" for part in parts)

    names, absent = exchange.names()
    work, missing = [], {}
    for what, ours, _, _, peer, needed in exchange.ROWS:
        if not wanted("exchange", what):
            continue
        if lacking := absent & set(needed.split()):
            missing[f"exchange: {what}"] = " and ".join(sorted(lacking))
        else:
            work.append(("exchange", what, ours, {"the peer": peer}, names))
    if "numpy" in absent:
        missing["call"] = "numpy"
    else:
        torch = None if "torch" in absent else sys.modules["torch"]
        for group, what, _, _, ours, peers, variables in calls.rows(torch):
            present = {name: statement for name, statement in peers.items() if name != "torch" or torch is not None}
            if not wanted(group, what):
                continue
            if present and (torch is not None or "t_" not in ours):
                work.append((group, what, ours, present, variables))
            else:
                missing[f"{group}: {what}"] = "torch"
    rows = []
    for place, (group, what, ours, peers, variables) in enumerate(work, 1):
        took = by_turns([ours, *peers.values()], variables, rounds)
        best = min(peers.values(), key=took.get)
        ns, peer_ns = (max(took[statement] * 1e9, 0.1) for statement in (ours, best))
        rows.append(Measured(group, what, ours, best, round(ns, 1), round(peer_ns, 1), round(peer_ns / ns, 2)))
        if progress:
            progress(place, len(work))
    return rows, missing


def run(options):
    """Measure, print and write, and return the exit status."""
    import dltensor as dl

    from .drawing import svg, text

    before = dl.num_threads()
    dl.set_num_threads(1)
    try:
        with Bar("bench") as bar:
            rows, missing = measure(options.part, options.rounds, bar)
    finally:
        dl.set_num_threads(before)
    if not rows and not missing:
        complain(f"bench: no row has {' or '.join(map(repr, options.part))} in its name")
        return 2
    say(text(rows, missing, width()))
    if options.json:
        found = {
            "dltensor": version("dltensor"),
            "python": platform.python_version(),
            "platform": f"{platform.system()} {platform.machine()}",
            "rows": [asdict(row) for row in rows],
            "missing": missing,
            "bias": BIAS,
        }
        write_file(options.json, json.dumps(found, indent=1) + "\n")
    if options.svg:
        write_file(options.svg, svg(rows))
    return 0
