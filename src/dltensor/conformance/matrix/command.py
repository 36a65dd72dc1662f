# SPDX-License-Identifier: Apache-2.0
"""Exchange tensors between all installed frameworks: types, layouts, read-only, sharing, time.

Each pair runs in a child process.

Exit status: 0, 1 when --diff finds an exchange that differs, 2 when an argument is wrong or a file cannot be written.
"""

import os
import sys
import textwrap
from pathlib import Path

from ..._core.foreign_text import first_line, suggestion
from ..._tools.arguments import count, output_file
from ..._tools.output import write_file
from ..._tools.terminal import Bar, complain, is_plain, say, width
from ..runner import cores
from .text import VIEWS


def arguments(parser):
    """Declare the options of the command."""
    parser.usage = "dltensor matrix [OPTIONS]"
    parser.add_argument("--only", metavar="NAMES", default="", help="these frameworks, by comma; module:name is yours")
    parser.add_argument("--view", choices=VIEWS, default="verdict", help="the content of the table's cells")
    parser.add_argument("--jobs", metavar="N", type=count, default=cores(), help="child processes at a time")
    parser.add_argument("--html", metavar="FILE", type=output_file, help="write one page with filters, without network")
    parser.add_argument("--svg", metavar="FILE", type=output_file, help="write a drawing")
    parser.add_argument("--json", metavar="FILE", type=output_file, help="write everything")
    parser.add_argument("--from", metavar="FILE", type=Path, dest="kept", help="show this JSON instead of measuring")
    parser.add_argument(
        "--diff",
        metavar="JSON",
        nargs="+",
        type=Path,
        help="what differs from an older run: now, or in a second file; times are not compared",
    )


def _measured(options):
    from .. import installed
    from .measure import GRADES, measure

    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())  # module:name finds the user's module from the console script too
    only = [word for word in options.only.split(",") if word]
    known = installed()
    if wrong := [word for word in only if ":" not in word and word not in known]:
        got = first_line(", ".join(wrong))
        raise ValueError(f"matrix: {suggestion(wrong[0], known)}expected {', '.join(known)} or module:name, got {got}")
    with Bar("matrix") as bar:

        def show(done, total, exchange):
            if is_plain(sys.stderr):
                verdict = GRADES[exchange.grade]
                complain(f"matrix: {done}/{total} {exchange.producer} -> {exchange.consumer}: {verdict}")
            else:
                bar(done, total)

        return measure(only or None, jobs=options.jobs, progress=show)


def run(options):
    """Measure or read, print and write, compare if requested, and return the exit status."""
    from .. import Missing
    from .drawing import svg
    from .measure import Matrix, compare
    from .page import page
    from .text import changes_text, show

    try:
        if options.diff and len(options.diff) > 2:
            raise ValueError(f"matrix: --diff takes one or two files, got {len(options.diff)}")
        old = Matrix.read(options.diff[0]) if options.diff else None
        kept = options.diff[1] if options.diff and len(options.diff) == 2 else options.kept
        matrix = Matrix.read(kept) if kept else _measured(options)
    except (Missing, ValueError, OSError) as error:
        complain(str(error))
        return 2
    if old is None:
        show(matrix, options.view, width=width())
    if options.json:
        matrix.write(options.json)
    if options.html:
        write_file(options.html, page(matrix))
    if options.svg:
        write_file(options.svg, svg(matrix))
    if old is None:
        return 0
    changes = compare(old, matrix)
    for line in changes_text(changes).splitlines():
        say("\n".join(textwrap.wrap(line, width(), subsequent_indent="    ", break_long_words=False)))
    return 1 if any(one.kind != "version" for one in changes) else 0
