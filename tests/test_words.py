# SPDX-License-Identifier: Apache-2.0
"""The check of words finds each of its words in every language, and only in prose."""

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TOOL = Path(__file__).parent.parent / "tools" / "words.py"
spec = importlib.util.spec_from_file_location("words_tool", TOOL)
tool = importlib.util.module_from_spec(spec)
spec.loader.exec_module(tool)


def found(text, suffix):
    return [word for _, word in tool.words_in(text, suffix)]


@pytest.mark.parametrize("word", tool.WORDS)
def test_a_word_is_found_in_every_language(word):
    sample = word.replace("[sd]?", "s").replace("?", "")
    first, _, rest = sample.partition(" ")
    for suffix, text in (
        (".cc", f"int a;  // where {sample} is\n"),
        (".h", f"/* Where\n * {first}{' ' * bool(rest)}\n * {rest} */\n"),
        (".cc", f"// Where {first}\n// {rest} is.\nint a;\n"),
        (".cc", f'fail("{sample}");\n'),
        (".pyx", f"x = 1  # {sample}\n"),
        (".py", f'"""A\n    {sample}."""\n'),
        (".py", f"raise ValueError(f'{sample}: {{x}}')\n"),
        (".f90", f"integer :: i  ! {sample}\n"),
        (".toml", f'effect = "{sample}"\n'),
        (".md", f"A page with {sample} in it.\n"),
    ):
        assert sample in found(text, suffix), text


def test_code_of_a_page_and_parts_of_words_are_not_found():
    assert found("`lend` is code, [a page](journey.md) too.\n```\nhouse\n```\n", ".md") == []
    assert found("# silent, talents, equivalent, calendar, indoors\nhouse(1)\n", ".py") == []


def test_a_warning_has_its_line_and_does_not_fail(tmp_path):
    (tmp_path / "tools").mkdir()
    shutil.copy(TOOL, tmp_path / "tools")
    (tmp_path / "README.md").write_text("A page.\nNobody walks.\n")
    done = subprocess.run([sys.executable, tmp_path / "tools" / "words.py"], capture_output=True, text=True)
    assert done.returncode == 0
    assert "README.md:2: warning: 'nobody'" in done.stdout
    assert "words: 2 warnings in 1 files" in done.stdout


def test_a_run_that_examined_nothing_fails(tmp_path):
    (tmp_path / "tools").mkdir()
    shutil.copy(TOOL, tmp_path / "tools")
    done = subprocess.run([sys.executable, tmp_path / "tools" / "words.py"], capture_output=True, text=True)
    assert done.returncode == 1
    assert "no file was examined" in done.stderr


def test_names_without_a_subject_are_counted():
    names = [match[1] for match in tool.NAMED.finditer("made = 1\nreturn f(given, self.mine)\n# he said so\n")]
    assert names == ["made", "given"]
