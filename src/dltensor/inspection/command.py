# SPDX-License-Identifier: Apache-2.0
"""`dltensor inspect`: its options, and what it prints. Inspects nothing itself."""

import sys

from .._tools.arguments import output_file
from .._tools.output import write_file
from .._tools.terminal import complain, say, say_lines
from ..io import TensorFile
from . import inspect
from .files import json_of, lines_of
from .sources import SourceError, find
from .text import show


def arguments(parser):
    """Declare the options of the command."""
    parser.usage = "dltensor inspect [--json] [--html FILE] EXPR|FILE"
    parser.add_argument("what", metavar="EXPR|FILE", help="'module:expression', or a .npy, .npz or .safetensors file")
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")
    parser.add_argument("--html", metavar="OUT", type=output_file, help="write a page to OUT and print only its name")


def run(options):
    """Inspect what the options name, print it, and return the exit status: 0 usable, 1 not usable, 2 not readable."""
    # Find modules of the working directory, like `python -c`.
    if "" not in sys.path:
        sys.path.insert(0, "")
    try:
        x, is_file = find(options.what)
    except SourceError as error:
        complain(f"dltensor inspect: {error}")
        return 2
    if is_file and isinstance(x, TensorFile):
        return _list(x, options)
    report = inspect(x)
    if is_file:
        report.subject, report.type_name = "file", options.what
        report.framework = report.version = ""
    if options.html:
        write_file(options.html, report.to_html())
        say(str(options.html))
    if options.json:
        say(report.to_json())
    elif not options.html:
        show(report)
    return 0 if report.usable or report.subject == "type" else 1


def _list(file, options):
    """Print what the headers of a file say."""
    with file:
        if options.html:
            complain("dltensor inspect: --html is for tensors; a file of many is listed as text or JSON")
            return 2
        lines, is_sound = lines_of(file)
        if options.json:
            say(json_of(file))
        else:
            say_lines(lines)
    return 0 if is_sound else 1
