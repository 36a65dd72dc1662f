#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Warn of words that the documents and sources avoid, for a reviewer to look at.

Metaphors and literal translations are printed with file and line; short names without a subject are counted. Words
need judgement, so that the exit status is 0, but for a run that examined nothing.
"""

import re
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WORDS = (
    "doors?", "judge[sd]?", "judging", "judgment", "loans?", "lends?", "lent", "lending", "journeys?", "hops?",
    "nobody", "whoever", "house", "walks?", "without a word", "can be had", "cannot be had", "lie side by side",
    "lets? go of", "whatever was there", "what names one", "short way", "careful way",
    "side by side", "to be had", "let go", "letting go", "strangers?", "anybody", "somebody", "everybody", "spoilt",
    "in name only", "forbids? it", "carried, not computed on", "as it lies", "as they lie", "for good", "by turns",
    "no allegiance", "business", "ear of the engine", "its kin", "their kin", "put down to",
)  # fmt: skip
# Names that say nothing about their value: `result`, `argument`, `local`, `owned`, `reported` with a subject do.
NAMES = ("made", "given", "mine", "held", "told", "said")
FOUND = re.compile(rf"\b({'|'.join(WORDS)})\b", re.I)
NAMED = re.compile(rf"(?<![\w.\"'])({'|'.join(NAMES)})(?=\s*[=,)\[]|\.\w|->)")

C_LIKE = {".h", ".hpp", ".c", ".cc", ".cpp", ".cuh"}
SUFFIXES = C_LIKE | {".py", ".pyx", ".pxd", ".pxi", ".pyi", ".f90", ".toml", ".sh", ".md"}
FOLDERS = ("src/dltensor", "tests", "fuzz", "tools", "examples", "benchmarks", "docs")
# Files that list or record such words, and words that stay: the name of a trace event of `dltensor.debug`.
LEFT_OUT = {"tools/words.py", "tests/test_words.py", "CHANGELOG.md"}
EXCEPTED = {f"src/dltensor/native/memory/{name}": {"lent"} for name in ("arrow.cc", "managed.cc", "trace.h")}

STRING = r'"(?:\\.|[^"\\\n])*"'
PROSE = {
    "c": re.compile(rf"//[^\n]*|/\*.*?\*/|{STRING}", re.S),
    "python": re.compile(rf"#[^\n]*|\"\"\".*?\"\"\"|'''.*?'''|{STRING}|'(?:\\.|[^'\\\n])*'", re.S),
    "fortran": re.compile(rf"![^\n]*|{STRING}|'[^'\n]*'"),
}


def prose(text, suffix):
    """Yield (offset, text) of the prose of a file: comments, docstrings and strings, or a page outside of code."""
    if suffix == ".md":
        yield 0, re.sub(r"```.*?```|`[^`\n]*`|\]\([^)]*\)", lambda code: re.sub(r"\S", " ", code[0]), text, flags=re.S)
        return
    language = "c" if suffix in C_LIKE else "fortran" if suffix == ".f90" else "python"
    begin, end, parts = 0, 0, []
    for match in PROSE[language].finditer(text):
        # Comments on consecutive lines are one text: a phrase may run over the end of a line.
        if parts and text[end : match.start()].strip():
            yield begin, " ".join(parts)
            parts = []
        begin, end = (begin if parts else match.start()), match.end()
        parts.append(match[0])
    if parts:
        yield begin, " ".join(parts)


def words_in(text, suffix):
    """Return (line, word) of each word to avoid."""
    found = []
    for begin, part in prose(text, suffix):
        folded = re.sub(r"\s+(//|#|!|\*)?\s*", " ", part) if suffix != ".md" else part
        at = begin
        for match in FOUND.finditer(folded):
            at = match.start() if suffix == ".md" else text.lower().find(match[0].split()[0].lower(), at)
            found.append((text.count("\n", 0, at) + 1, match[0].lower()))
            at += 1
    return found


def main(root=ROOT):
    files = [*root.glob("*.md"), *(path for name in FOLDERS for path in sorted((root / name).rglob("*")))]
    files = [path for path in files if path.suffix in SUFFIXES and path.relative_to(root).as_posix() not in LEFT_OUT]
    if not files:
        sys.exit("words: no file was examined")
    warnings, names = 0, Counter()
    for path in files:
        name, text = path.relative_to(root).as_posix(), path.read_text()
        if name.startswith("src/"):
            names.update(match[1] for match in NAMED.finditer(text))
        for line, word in words_in(text, path.suffix):
            if word not in EXCEPTED.get(name, ()):
                print(f"{name}:{line}: warning: {word!r}; write what happens, with the field's word")
                warnings += 1
    counts = ", ".join(f"{word} {count}" for word, count in names.most_common())
    print(f"words: {warnings} warnings in {len(files)} files; names without a subject in src: {counts or 'none'}")


if __name__ == "__main__":
    main()
