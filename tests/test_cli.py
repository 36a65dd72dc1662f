# SPDX-License-Identifier: Apache-2.0
"""The command line: short help, exit statuses, and no unneeded import."""

import importlib
import json
import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
from native_tools import has_own_files

import dltensor as dl
from dltensor._cli.main import COMMANDS, main


def run(*arguments):
    return subprocess.run([sys.executable, "-m", "dltensor", *arguments], capture_output=True, text=True, timeout=120)


def test_no_command_shows_help_that_fits_a_screen(capsys):
    assert main([]) == 2
    text = capsys.readouterr().out
    assert all(name in text for name in COMMANDS)
    assert len(text.splitlines()) <= 24
    assert max(map(len, text.splitlines())) <= 110


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_what_a_command_needs(name, capsys):
    module = importlib.import_module(COMMANDS[name][0])
    assert callable(module.run)
    with pytest.raises(SystemExit) as stopped:
        main([name, "--help"])
    assert stopped.value.code == 0
    text = capsys.readouterr().out
    assert len(text.splitlines()) <= 24
    assert " ".join(module.__doc__.split())[:60] in " ".join(text.split())


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (["chek"], "did you mean 'check'?"),
        (["matrix", "--view", "verdct"], "did you mean 'verdict'?"),
        (["check", "nump"], "did you mean 'numpy'?"),
        (["matrix", "--only", "dltensr"], "did you mean 'dltensor'?"),
    ],
)
def test_a_word_that_is_almost_known_is_asked_about(arguments, meant):
    done = run(*arguments)
    assert done.returncode == 2
    assert meant in done.stderr


@pytest.mark.parametrize("columns", [40, 80, 100])
def test_info_is_no_wider_than_the_terminal(columns, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(columns))
    done = run("info")
    assert max(map(len, done.stdout.splitlines())) <= columns


def test_the_help_says_how_to_get_more(capsys):
    main([])
    assert "'dltensor COMMAND --help' shows the help of a command." in capsys.readouterr().out


def test_an_unknown_command_is_refused_with_the_list(capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["fly"])
    assert stopped.value.code == 2
    text = capsys.readouterr().err
    assert all(name in text for name in COMMANDS)


def test_version_is_that_of_the_package():
    assert run("--version").stdout.strip() == f"dltensor {version('dltensor')}"


def test_the_console_script_is_the_module(capsys):
    from importlib.metadata import entry_points

    scripts = [script for script in entry_points(group="console_scripts") if script.name == "dltensor"]
    assert scripts
    assert scripts[0].load() is main


def test_info_is_the_same_in_words_and_in_json():
    facts = json.loads(run("info", "--json").stdout)
    words = "".join(run("info").stdout.split())
    for name in ("dltensor", "dlpack", "include", "library"):
        assert "".join(facts[name].split()) in words
    assert "float4_e2m1fn" in facts["dtypes"]


@has_own_files
def test_the_flags_point_at_files_that_are_there():
    include, folder = (text[2:] for text in run("info", "--cflags", "--libs").stdout.split()[:2])
    assert (Path(include) / "dltensor" / "dlpack.h").is_file()
    script = (Path(folder) / "libdltensor.so").read_text()
    assert f"INPUT({dl.opaque.library_path().rpartition('/')[2]})" in script
    assert Path(run("info", "--examples").stdout.strip(), "hold.c").is_file()


@has_own_files
def test_the_run_path_can_be_chosen_and_is_relative_in_the_build_of_a_wheel(monkeypatch, capsys):
    folder = os.path.dirname(dl.opaque.library_path())
    assert f"-Wl,-rpath,{folder} " in run("info", "--libs").stdout
    assert "-Wl,-rpath,$ORIGIN/../../dltensor " in run("info", "--libs", "--rpath", "$ORIGIN/../../dltensor").stdout
    for variable in ("_PYPROJECT_HOOKS_BUILD_BACKEND", "PEP517_BUILD_BACKEND"):
        with monkeypatch.context() as patch:
            patch.setenv(variable, "setuptools.build_meta")
            assert main(["info", "--libs"]) == 0
        assert capsys.readouterr().out == f"-L{folder} -Wl,-rpath,$ORIGIN/../dltensor -ldltensor\n"


def test_info_imports_no_framework():
    code = (
        "import sys; from dltensor._cli.main import main; main(['info']); "
        "print(sorted({'numpy', 'torch', 'jax', 'matplotlib', 'dltensor._cli.demo'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.stdout.splitlines()[-1] == "[]", done.stderr


def test_an_interrupt_ends_the_command_without_a_traceback(monkeypatch, capsys):
    def interrupted(options):
        raise KeyboardInterrupt

    monkeypatch.setattr(importlib.import_module("dltensor._cli.info"), "run", interrupted)
    assert main(["info"]) == 130
    assert capsys.readouterr().err == "interrupted\n"


def test_a_reader_that_stops_early_is_no_fault():
    done = subprocess.run(
        f"{sys.executable} -m dltensor info --json | head -c 1", shell=True, capture_output=True, text=True, timeout=120
    )
    assert done.stdout == "{"
    assert done.stderr == ""
