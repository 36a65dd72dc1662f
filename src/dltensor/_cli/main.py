# SPDX-License-Identifier: Apache-2.0
"""The command line: finds the subcommand and calls its module.

A subcommand is one row of `COMMANDS` and one module with ``arguments(parser)`` and ``run(options)``, which returns the
exit status. Its docstring is its help. The module is imported only when its command is run. Printing is in
`_tools.terminal`.
"""

import argparse
import contextlib
import importlib
import os
import sys
from importlib.metadata import version

from .._tools.arguments import Parser
from .._tools.output import OutputError
from .._tools.terminal import complain, flush

COMMANDS = {
    "demo": ("dltensor._cli.demo", "pass one photograph through every framework without a copy; write a report"),
    "inspect": ("dltensor.inspection", "show every field of a tensor, and how known consumers handle it"),
    "check": ("dltensor.conformance.command", "check which rules of DLPack a framework, or your own type, follows"),
    "matrix": ("dltensor.conformance.matrix.command", "exchange tensors between all installed frameworks"),
    "bench": ("dltensor._cli.bench", "time exchange and calls on this machine against the installed peers"),
    "info": ("dltensor._cli.info", "show versions, devices, packages, and the flags to build against this package"),
}

_INTRO = "DLPack-native tensors: exchange, compute on and hold arrays of any framework."


def _top(commands):
    """The help of the command without a subcommand."""
    rows = "\n".join(f"  {name:<10}{summary}" for name, (_, summary) in commands.items())
    parser = Parser(
        prog="dltensor",
        description=_INTRO,
        usage="dltensor [--version] COMMAND ...",
        epilog=f"commands:\n{rows}\n\n'dltensor COMMAND --help' shows the help of a command.",
    )
    parser.add_argument("--version", action="version", version=f"dltensor {version('dltensor')}")
    parser.add_argument("command", metavar="COMMAND", choices=list(commands), help=argparse.SUPPRESS)
    return parser


def _run(given):
    """Run the command that the arguments name: its exit status."""
    if not given:
        _top(COMMANDS).print_help()
        return 2
    name = _top(COMMANDS).parse_args(given[:1]).command
    module = importlib.import_module(COMMANDS[name][0])
    parser = Parser(prog=f"dltensor {name}", description=module.__doc__)
    module.arguments(parser)
    return module.run(parser.parse_args(given[1:]))


def _drop_output():
    """Discard what is buffered for standard output: Python would report the error again when it flushes at exit."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stdout.fileno())
        os.close(null)


def main(arguments=None):
    """Run the command line and return its exit status.

    Parameters
    ----------
    arguments : list of str, optional
        What follows the program's name; None takes it from ``sys.argv``.

    Returns
    -------
    int
        That of the command; 2 when what it printed cannot be written, 130 after an interrupt.

    Raises
    ------
    SystemExit
        Help or the version was asked for (status 0), or the arguments are invalid (status 2).

    Examples
    --------
    >>> from dltensor._cli.main import main
    >>> main(["info", "--cflags"])  # doctest: +ELLIPSIS
    -I...dltensor/include
    0
    """
    given = sys.argv[1:] if arguments is None else list(arguments)
    if sys.stdout is None:
        complain("dltensor: standard output is closed; redirect it to /dev/null to discard it")
        return 2
    try:
        try:
            return _run(given)
        finally:
            flush()
    except KeyboardInterrupt:
        complain("interrupted")
        return 130
    except BrokenPipeError:
        # The reader, such as head, has closed the pipe.
        _drop_output()
        return 0
    except OutputError as error:
        complain(f"{' '.join(['dltensor', *(name for name in given[:1] if name in COMMANDS)])}: {error}")
        _drop_output()
        return 2
