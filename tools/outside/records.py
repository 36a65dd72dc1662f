# SPDX-License-Identifier: Apache-2.0
"""The recorded counts of ``tools/outside.py`` and the table of docs/clients.md that they are written to."""

import json
import sys
from pathlib import Path

import suites

ROOT = Path(__file__).resolve().parent.parent.parent
RESULTS = ROOT / "tools" / "outside" / "results.json"
PAGE = ROOT / "docs" / "clients.md"
BEGIN, END = "<!-- written by `python -m tools outside --page` -->\n", "<!-- end -->\n"


def load():
    """Return the records: suite, run, and what was counted."""
    return json.loads(RESULTS.read_text()) if RESULTS.exists() else {}


def keep(suite, run, report, measured):
    """Keep the counts of a complete run in place of those of the last one."""
    kept = load()
    kept.setdefault(suite, {})[run] = {
        **report.counts,
        **({"calls": report.uses} if report.uses else {}),
        "classes": report.classes() | ({"not listed": len(report.unlisted)} if report.unlisted else {}),
        **{key: measured[key] for key in ("versions", "commit", "date", "seconds")},
    }
    RESULTS.write_text(json.dumps({name: dict(sorted(kept[name].items())) for name in sorted(kept)}, indent=1) + "\n")


def table(kept):
    """Return the lines of the table."""
    lines = [
        "| suite | versions | passed | failed | skipped | failures by class | measured |",
        "| --- | --- | ---: | ---: | ---: | --- | --- |",
    ]
    for suite, runs in kept.items():
        for run, counts in runs.items():
            versions = ", ".join(f"{name} {number}" for name, number in counts["versions"].items())
            classes = ", ".join(f"{number} {kind}" for kind, number in counts["classes"].items()) or "none"
            calls = f", {counts['calls']:,} calls" if "calls" in counts else ""
            title = f"`{suite}`{f', {run}' if run else ''}{calls}"
            skipped = counts["skipped"] + counts["xfailed"]
            lines.append(
                f"| {title} | {versions} | {counts['passed']} | {counts['failed']} | {skipped} | {classes} | "
                f"{counts['date']}, `{counts['commit']}` |"
            )
    return "".join(f"{line}\n" for line in lines)


def page(text, kept):
    """Return the text of the page with the table of the records, and the meaning of the classes."""
    before, _, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not end:
        sys.exit(f"outside: expected the lines {BEGIN!r} and {END!r} in {PAGE}")
    classes = "".join(f"- **{kind}**: {meaning}.\n" for kind, meaning in suites.CLASSES.items())
    return f"{before}{BEGIN}{table(kept)}\n{classes}{END}{after}"


def write_page():
    """Write the table into the page."""
    PAGE.write_text(page(PAGE.read_text(), load()))
