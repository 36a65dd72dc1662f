# SPDX-License-Identifier: Apache-2.0
"""Check which rules of DLPack a framework, or your own type, follows. Each check runs in a child process.

TARGET is the name of an installed framework, or module:name of a function that returns an array, of a function that
takes one, or of an object with `make` and `from_dlpack`.

Exit status: 0 no MUST is broken, 1 one is, 2 TARGET cannot be checked: it is not installed, or your function raises.
"""

import os
import sys

from .._tools.arguments import count, output_file
from .._tools.output import write_file
from .._tools.terminal import Bar, complain, fill, say, say_lines, width
from . import Missing, check, installed, report
from .rules import RULES, find
from .runner import cores


def arguments(parser):
    """Declare the options of the command."""
    parser.usage = "dltensor check [OPTIONS] [TARGET ...]"
    parser.add_argument(
        "target", metavar="TARGET", nargs="*", help="numpy, torch, mypkg:make ...; default: all installed"
    )
    parser.add_argument("--only", metavar="WHAT", default="", help="rules, checks or sides, by comma: R20,44,hostile")
    parser.add_argument("--jobs", metavar="N", type=count, default=cores(), help="child processes at a time")
    parser.add_argument("--explain", metavar="RULE", help="show what a rule requires, its source and how it is checked")
    parser.add_argument("--verbose", action="store_true", help="also show what did not apply, and why")
    parser.add_argument("--json", metavar="FILE", type=output_file, help="write all findings")
    parser.add_argument("--junit", metavar="FILE", type=output_file, help="write them for CI")
    parser.add_argument("--badge", metavar="FILE", type=output_file, help="write an SVG badge")


def _explain(name):
    from .checks import all_checks

    try:
        rule = find(name)
    except KeyError as error:
        complain(f"check: {error.args[0]}")
        return 2
    sources = {
        "H": "dlpack.h 1.3",
        "P": "the Python specification of DLPack 1.3",
        "A": "the array API standard 2025.12",
        "ours": "robustness, not part of a standard",
    }
    lines = [
        f"{rule.id}  {rule.severity}  ({'; '.join(sources[part] for part in rule.source.split(', '))})",
        "",
        rule.text,
        "",
    ]
    if not rule.decidable:
        lines.append(f"Cannot be decided here: {rule.undecidable}.")
    lines += [f"{one.name} ({one.side}): {one.text}" for one in all_checks().values() if one.rule == rule.id]
    for line in lines:
        say("\n".join(fill(line, width())))
    return 0


def run(options):
    """Check the targets, print and write the reports, and return the exit status."""
    if options.explain:
        return _explain(options.explain)
    if not options.target:
        say("\n".join(fill(f"Installed here: {', '.join(installed())}", width())))
        say(f"Your own: module:name.  {len(RULES)} rules; --explain RULE says more.")
        return 0
    only = [word for word in options.only.split(",") if word]
    results, missing = [], 0
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())  # module:name finds the user's module from the console script too
    for target in options.target:
        try:
            with Bar(target) as bar:
                results.append(check(target, only=only, jobs=options.jobs, progress=bar))
        except (Missing, ValueError) as error:
            complain(str(error))
            missing += 1
            continue
        say_lines([*report.lines(results[-1], width(), verbose=options.verbose), []])
    if results:
        if options.json:
            report.write_json(results, options.json)
        if options.junit:
            report.write_junit(results, options.junit)
        if options.badge:
            write_file(options.badge, report.badge(results[0]))
    return 2 if missing else max((result.status for result in results), default=0)
