# SPDX-License-Identifier: Apache-2.0
"""What has been tried: a log in JSON, to which runs in parts add, and the list of mutants that change nothing."""

import json
import os
import tomllib
from pathlib import Path

EQUIVALENT = Path(__file__).with_name("equivalent.toml")
STATES = ("killed", "survived", "equivalent", "not compiled")


def key(row):
    """By what a mutant is known when lines have moved: its file and the line before and after."""
    return row["file"], row["before"], row["after"]


def equivalents(path=EQUIVALENT):
    """The mutants that no test can find, with the reason for each."""
    rows = tomllib.loads(Path(path).read_text()).get("mutant", [])
    for row in rows:
        if not row.get("reason", "").strip() or row["before"] == row["after"]:
            raise ValueError(f"{path}: {row['file']}: {row['before']!r}: wants a change and a reason")
    return {key(row): row["reason"] for row in rows}


class Log:
    """The newest result of each mutant; written at once, so that a run that is stopped loses nothing."""

    def __init__(self, path):
        self.path = Path(path)
        rows = json.loads(self.path.read_text()) if self.path.is_file() else []
        self.rows = {key(row): row for row in rows}

    def add(self, row):
        self.rows.pop(key(row), None)
        self.rows[key(row)] = row
        beside = self.path.with_suffix(".new")
        beside.write_text(json.dumps(list(self.rows.values()), indent=1) + "\n")
        os.replace(beside, self.path)

    def having(self, state):
        return [row for row in self.rows.values() if row["state"] == state]

    def summary(self):
        """Lines for a reader: how many of which state, and each survivor."""
        counts = {state: len(self.having(state)) for state in STATES}
        tried = counts["killed"] + counts["survived"]
        lines = [f"{show(row)}\n  survived" for row in self.having("survived")]
        share = f", {100 * counts['killed'] / tried:.0f}%" if tried else ""
        lines.append(f"{counts['killed']} of {tried} mutants killed{share}; {counts['equivalent']} are equivalent, "
                     f"{counts['not compiled']} did not compile")  # fmt: skip
        return "\n".join(lines)


def show(row):
    return f"{row['file']}:{row['line']}: {row['kind']}\n  - {row['before']}\n  + {row['after']}"
