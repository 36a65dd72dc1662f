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
    "convert": ("dltensor._cli.convert", "quantise a .safetensors file, or dequantise it, tensor by tensor"),
    "bench": ("dltensor._cli.bench", "time exchange and calls on this machine against the installed peers"),
    "info": ("dltensor._cli.info", "show versions, devices, packages, and the flags to build against this package"),
}

_INTRO = "DLPack-native tensors: exchange, compute on and hold arrays of any framework."


def _top(commands):
    """Return the parser of the command without a subcommand."""
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


def _run(arguments):
    """Run the command that the arguments name and return its exit status."""
    if not arguments:
        _top(COMMANDS).print_help()
        return 2
    name = _top(COMMANDS).parse_args(arguments[:1]).command
    module = importlib.import_module(COMMANDS[name][0])
    parser = Parser(prog=f"dltensor {name}", description=module.__doc__)
    module.arguments(parser)
    return module.run(parser.parse_args(arguments[1:]))


def _drop_output():
    """Discard what is buffered for standard output: Python would report the error again when it flushes at exit."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stdout.fileno())
        os.close(null)


def main(arguments=None):
    """Run the command line, by default with the arguments of the process, and return its exit status.

    That is the status of the command, 2 when its output cannot be written, 130 after an interrupt. SystemExit is
    raised for help and the version (status 0), and for invalid arguments (status 2).

    >>> main(["info", "--cflags"])  # doctest: +ELLIPSIS
    -I...dltensor/include
    0
    """
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    if sys.stdout is None:
        complain("dltensor: standard output is closed; redirect it to /dev/null to discard it")
        return 2
    try:
        try:
            return _run(arguments)
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
        complain(f"{' '.join(['dltensor', *(name for name in arguments[:1] if name in COMMANDS)])}: {error}")
        _drop_output()
        return 2
