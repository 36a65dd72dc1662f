# SPDX-License-Identifier: Apache-2.0
"""Terminal output of the tools: colour, width, encoding and progress; unwritable files are refused before work."""

import io
import os
import re
import subprocess
import sys

import pytest

from dltensor._cli.main import COMMANDS, main
from dltensor._core.foreign_text import describe_error, escape_controls, first_line
from dltensor._tools import terminal as _terminal
from dltensor._tools.output import OutputError, check_writable, write_file

full = pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no /dev/full")


class Terminal(io.StringIO):
    def isatty(self):
        return True


def run(*arguments, environment=None, shell=""):
    command = [sys.executable, "-m", "dltensor", *arguments]
    if shell:
        command = ["sh", "-c", f'"$@" {shell}', "sh", *command]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=120, env={**os.environ, **(environment or {})}
    )


@pytest.fixture
def colourful(monkeypatch):
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)


# -- one rule ---------------------------------------------------------------------------------------------------------


def test_colours_and_bars_need_a_terminal_that_does_not_refuse_them(monkeypatch, colourful):
    assert not _terminal.is_plain(Terminal())
    assert _terminal.is_plain(io.StringIO())
    assert _terminal.is_plain(None)
    closed = io.StringIO()
    closed.close()
    assert _terminal.is_plain(closed)
    monkeypatch.setenv("NO_COLOR", "1")
    assert _terminal.is_plain(Terminal())
    monkeypatch.setenv("NO_COLOR", "")
    assert not _terminal.is_plain(Terminal())
    monkeypatch.setenv("TERM", "dumb")
    assert _terminal.is_plain(Terminal())


@pytest.mark.parametrize(("name", "value"), [("TERM", "dumb"), ("NO_COLOR", "1")])
def test_where_colours_are_refused_no_bar_is_drawn(monkeypatch, colourful, name, value):
    monkeypatch.setattr(sys, "stderr", Terminal())
    with _terminal.Bar("work") as bar:
        bar(1, 2)
    assert "\r" in sys.stderr.getvalue()
    monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "stderr", Terminal())
    with _terminal.Bar("work") as bar:
        bar(1, 2)
        bar.say("more")
    assert sys.stderr.getvalue() == ""


def test_a_bar_keeps_to_one_line_of_any_terminal(monkeypatch, colourful):
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setattr(sys, "stderr", Terminal())
    with _terminal.Bar("a name\x1b[31m\nof two lines " * 9) as bar:
        bar(3, 3)
    drawn = sys.stderr.getvalue().split("\r\033[K")
    assert max(map(len, drawn)) < 40
    assert "\n" not in sys.stderr.getvalue()
    assert not any("\x1b" in one for one in drawn)


def test_without_standard_error_nothing_is_drawn(monkeypatch):
    monkeypatch.setattr(sys, "stderr", None)
    with _terminal.Bar("work") as bar:
        bar(1, 2)
    _terminal.complain("not printed")


@pytest.mark.parametrize("style", sorted(_terminal.STYLES))
def test_styles_change_no_letter(colourful, style):
    stream = Terminal()
    _terminal.say_lines([[("a ", style), ("b", "")]], stream)
    assert re.sub(r"\x1b\[[0-9;]*m", "", stream.getvalue()) == "a b\n"
    plain = io.StringIO()
    _terminal.say_lines([[("a ", style), ("b", "")]], plain)
    assert plain.getvalue() == "a b\n"


@pytest.mark.parametrize(
    "arguments",
    [["info"], ["bench", "x[1:]", "--rounds", "1"], ["inspect", "dltensor:arange(4)"], ["check"], ["--help"]],
)
@pytest.mark.parametrize("columns", [60, 80])
def test_every_command_folds_its_text_to_the_terminal(arguments, columns):
    pytest.importorskip("numpy")
    done = run(*arguments, environment={"COLUMNS": str(columns)})
    too_long = [line for line in done.stdout.splitlines() if len(line) > columns]
    # One word, such as a path, is not folded, with the label before it. The figures of a benchmark need 70 columns.
    too_long = [line for line in too_long if len(re.split(r"\s\s+", line.strip())[-1].split()) > 1]
    assert too_long == [] or (arguments[0] == "bench" and columns < 80 and len(max(too_long, key=len)) < 80)
    assert done.stdout


@pytest.mark.parametrize("name", COMMANDS)
def test_help_is_folded_to_the_terminal(name, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "70")
    with pytest.raises(SystemExit):
        main([name, "--help"])
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 70


def test_columns_are_folded_and_lose_no_word():
    rows = [["name", "what it is said to be, in many words that need width", "12"], ["b", "short", "3"]]
    lines = _terminal.columns_of(rows, 40, right=[2], indent=2)
    assert max(map(len, lines)) <= 40
    assert sorted(" ".join(lines).split()) == sorted(" ".join(cell for row in rows for cell in row).split())
    assert _terminal.columns_of([["a", "b"]], 40) == ["a  b"]


# -- foreign text -----------------------------------------------------------------------------------------------------


def test_control_characters_are_escaped_and_others_kept():
    assert escape_controls("a\x1b]8;;x\x07\x9b\u202e\n\udc80é×") == r"a\x1b]8;;x\x07\x9b\u202e\n\udc80é×"


def test_a_foreign_text_is_cut_to_its_first_line():
    assert first_line("\n\n  one   two\nthree") == "one two"
    assert first_line("") == ""
    assert len(first_line("x" * 12_000_076)) == 300
    assert first_line("x" * 301).endswith("...")
    assert len(first_line("\x1b" * 1000)) == 300


def test_an_exception_whose_text_raises_is_named():
    class Odd(Exception):
        def __str__(self):
            raise RuntimeError("no")

    assert describe_error(Odd()) == "Odd: (its text cannot be read: RuntimeError)"
    assert describe_error(type("E\x1b[0m", (Exception,), {})("\x1b[31mred\x1b[0m")) == r"E\x1b[0m: red"


def test_what_is_printed_cannot_command_the_terminal(colourful):
    stream = Terminal()
    _terminal.say("a\x1b[2J\rb", "bad", stream)
    assert stream.getvalue() == "\x1b[31ma\\x1b[2J\\rb\x1b[0m\n"


# -- encodings --------------------------------------------------------------------------------------------------------


def test_what_an_encoding_lacks_is_spelled_out():
    for encoding in ("ascii", "latin-1", "utf-8", "cp437"):
        stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
        _terminal.say("2 × 3 → µ ✓ \udcff", stream=stream)
        stream.flush()
        said = stream.buffer.getvalue().decode(encoding)
        assert re.fullmatch(r"2 (×|x) 3 (→|->) (µ|u) (✓|\\u2713) \\udcff\n", said), encoding


@pytest.mark.parametrize("arguments", [["inspect", "dltensor:zeros((2, 3))"], ["info"], ["matrix", "--help"]])
def test_an_ascii_terminal_is_no_fault(arguments):
    done = run(*arguments, environment={"PYTHONIOENCODING": "ascii"})
    assert done.returncode == 0, done.stderr
    assert done.stdout.isascii()
    assert done.stderr == ""


# -- outputs that cannot be written -----------------------------------------------------------------------------------


@full
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize(
    "arguments", [["inspect", "dltensor:arange(3)"], ["info"], ["info", "--json"], ["--help"], ["--version"], ["check"]]
)
def test_a_full_device_is_status_two_and_one_line(arguments, unbuffered):
    done = run(*arguments, shell="> /dev/full", environment={"PYTHONUNBUFFERED": unbuffered})
    assert done.returncode == 2
    assert re.fullmatch(r"dltensor( \w+)?: cannot write to standard output: No space left on device\n", done.stderr)


def test_a_closed_output_is_status_two_and_one_line():
    done = run("inspect", "dltensor:arange(3)", shell=">&-")
    assert done.returncode == 2
    assert done.stderr == "dltensor: standard output is closed; redirect it to /dev/null to discard it\n"
    assert run("info", shell=">&- 2>&-").returncode == 2
    assert run("inspect", "nowhere:x", shell="2>&-").returncode == 2


def unwritable(tmp_path):
    yield tmp_path / "no folder" / "x"
    yield tmp_path
    if os.path.exists("/dev/full"):
        yield "/dev/full"


@pytest.mark.parametrize(
    "arguments",
    [
        ["matrix", "--html"],
        ["matrix", "--svg"],
        ["matrix", "--json"],
        ["check", "dltensor", "--json"],
        ["check", "dltensor", "--junit"],
        ["check", "dltensor", "--badge"],
        ["bench", "--json"],
        ["bench", "--svg"],
        ["inspect", "dltensor:arange(3)", "--html"],
    ],
)
def test_a_file_that_cannot_be_written_is_refused_before_the_work(arguments, tmp_path, capsys, monkeypatch):
    # Any work would raise.
    for module, name in (
        ("conformance.matrix.measure", "measure"),
        ("conformance.command", "check"),
        ("_cli.bench", "measure"),
        ("inspection.command", "find"),
    ):
        __import__(f"dltensor.{module}")
        monkeypatch.setattr(f"dltensor.{module}.{name}", None)
    for path in unwritable(tmp_path):
        with pytest.raises(SystemExit) as stopped:
            main([*arguments, str(path)])
        assert stopped.value.code == 2
        assert f"cannot write {path}" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_asking_whether_a_file_can_be_written_changes_nothing(tmp_path):
    check_writable(tmp_path / "new")
    assert list(tmp_path.iterdir()) == []
    kept = tmp_path / "kept"
    kept.write_text("old")
    check_writable(kept)
    assert kept.read_text() == "old"
    os.mkfifo(tmp_path / "pipe")
    check_writable(tmp_path / "pipe")
    with pytest.raises(OutputError, match=r"cannot write .*: Is a directory"):
        write_file(tmp_path, "text")


@pytest.mark.parametrize("given", ["0", "-1", "1.5", "many", "", "9" * 5000, "\x1b[2J"])
@pytest.mark.parametrize("arguments", [["check", "dltensor", "--jobs"], ["matrix", "--jobs"], ["bench", "--rounds"]])
def test_a_count_that_is_none_is_refused(arguments, given, capsys):
    with pytest.raises(SystemExit) as stopped:
        main([*arguments[:-1], f"{arguments[-1]}={given}"])
    assert stopped.value.code == 2
    said = capsys.readouterr().err
    assert "expected a whole number from 1 on" in said
    assert len(said) < 600
    assert "\x1b" not in said
