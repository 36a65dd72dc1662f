# SPDX-License-Identifier: Apache-2.0
"""Tokens of C++, Cython and Python, fine enough to tell code from comments and strings."""

import re
from dataclasses import dataclass

CPP = re.compile(
    r"""(?P<comment>//[^\n]*|/\*.*?\*/)
      | (?P<preprocessor>^[ \t]*\#(?:\\\n|[^\n])*)
      | (?P<string>(?:u8|[uUL])?R"(?P<mark>[^(\s]*)\(.*?\)(?P=mark)"
                  |(?:u8|[uUL])?"(?:\\.|[^"\\\n])*"|[uUL]?'(?:\\.|[^'\\\n])+')
      | (?P<number>\.?\d(?:[eEpP][+-]|'(?=\w)|[\w.])*)
      | (?P<name>[^\W\d]\w*)
      | (?P<space>(?:\s|\\\n)+)
      | (?P<op><=>|<<=|>>=|->\*|\.\.\.|::|->|<<|>>|<=|>=|==|!=|&&|\|\||\+\+|--|[-+*/%&|^]=|.)""",
    re.X | re.S | re.M,
)
PYTHON = re.compile(
    r"""(?P<comment>\#[^\n]*)
      | (?P<string>(?i:[rbuf]*)(?:\"\"\"(?:\\.|.)*?\"\"\"|'''(?:\\.|.)*?'''|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'))
      | (?P<number>\.?\d(?:[eE][+-]|[\w.])*)
      | (?P<name>[^\W\d]\w*)
      | (?P<newline>\n)
      | (?P<space>(?:[^\S\n]|\\\n)+)
      | (?P<op>\*\*=|//=|<<=|>>=|\.\.\.|->|:=|\*\*|//|<<|>>|<=|>=|==|!=|[-+*/%&|^@]=|.)""",
    re.X | re.S,
)
OPEN, CLOSE = "([{", ")]}"


@dataclass(frozen=True)
class Token:
    kind: str
    text: str
    start: int
    end: int


def tokens(text, grammar):
    """All tokens of code, in order: without comments, white space and preprocessor lines; with newlines for Python."""
    return [
        Token(found.lastgroup if found.lastgroup != "mark" else "string", found[0], found.start(), found.end())
        for found in grammar.finditer(text)
        if found.lastgroup not in ("comment", "space", "preprocessor")
    ]


def matching(sequence, start):
    """The index of the bracket that closes the one at `start`, or of the last token."""
    depth = 0
    for i in range(start, len(sequence)):
        depth += (sequence[i].text in OPEN) - (sequence[i].text in CLOSE)
        if depth == 0:
            return i
    return len(sequence) - 1


def logical_lines(sequence):
    """Python's and Cython's statements as lists of tokens: one a line, brackets keep lines together."""
    depth, line = 0, []
    for token in sequence:
        if token.kind == "newline":
            if depth == 0 and line:
                yield line
                line = []
            continue
        if token.kind == "op":
            depth += (token.text in OPEN) - (token.text in CLOSE)
        line.append(token)
    if line:
        yield line
