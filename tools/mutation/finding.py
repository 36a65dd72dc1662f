# SPDX-License-Identifier: Apache-2.0
"""Where a file can be changed by one small fault, in C++, Cython and Python, and in which order faults are tried."""

import ast
import bisect
import random
import re
from collections import defaultdict
from dataclasses import dataclass

from .lexing import CLOSE, CPP, OPEN, PYTHON, logical_lines, matching, tokens

KINDS = ("comparison", "constant", "arithmetic", "condition", "dropped statement")
COMPARISONS = {"==": "!=", "!=": "==", "<": "<=", "<=": "<", ">": ">=", ">=": ">"}
ARITHMETIC = {
    "+": "-", "-": "+", "*": "+", "/": "*", "//": "*", "%": "+", "<<": ">>", ">>": "<<", "&": "|", "|": "&",
    "+=": "-=", "-=": "+=", "*=": "+=", "/=": "*=", "%=": "+=", "|=": "&=", "&=": "|=", "<<=": ">>=", ">>=": "<<=",
}  # fmt: skip
BOOLEANS = {"&&": "||", "||": "&&", "and": "or", "or": "and"}
ASSIGNMENTS = {"=", "++", "--", "**=", "//=", "^=", "@=", *(op for op in ARITHMETIC if op.endswith("="))}
INTEGER = re.compile(r"(0[xX][\da-fA-F]+|\d+)([uUlLzZ]*)")

# The brackets after these hold no behaviour, or are checked by the compiler.
CPP_QUIET = {
    "static_assert", "assert", "alignas", "noexcept", "decltype", "reserve", "__attribute__", "__builtin_prefetch",
    "_mm_prefetch",
}  # fmt: skip
CPP_WORDS = {
    "const", "return", "case", "else", "typename", "class", "struct", "operator", "auto", "void", "bool", "char", "int",
    "unsigned", "float", "double", "new", "delete", "throw", "using", "sizeof", "if", "for", "while", "do", "switch",
    "try", "catch", "goto",
}  # fmt: skip
PYTHON_WORDS = {
    "return", "yield", "raise", "lambda", "print", "if", "else", "elif", "and", "or", "not", "in", "is", "for", "while",
    "import", "from", "del", "assert", "with", "await", "cdef", "cpdef", "pass",
}  # fmt: skip
# Lines that declare, name or report.
PYTHON_QUIET = {
    "import",
    "cimport",
    "from",
    "include",
    "@",
    "ctypedef",
    "class",
    "global",
    "nonlocal",
    "raise",
    "DEF",
    "assert",
}
HEADERS = {"if", "elif", "else", "while", "for", "with", "try", "except", "finally"}


@dataclass(frozen=True)
class Mutant:
    """One fault: `text[start:end]` of `file` becomes `after`."""

    file: str
    kind: str
    start: int
    end: int
    after: str

    def apply(self, text):
        return text[: self.start] + self.after + text[self.end :]

    def describe(self, text):
        """What a log says, and by which a mutant is known when lines have moved: its lines before and after."""
        first = text.rfind("\n", 0, self.start) + 1
        last = text.find("\n", self.end)
        last = len(text) if last < 0 else last
        changed = text[first : self.start] + self.after + text[self.end : last]
        return {
            "file": self.file,
            "line": text.count("\n", 0, self.start) + 1,
            "kind": self.kind,
            "before": " ".join(text[first:last].split()),
            "after": " ".join(changed.split()),
        }


class Finder:
    """Collects the mutants of one file."""

    def __init__(self, file, text):
        self.file, self.text, self.found = file, text, []

    def add(self, kind, start, end, after):
        self.found.append(Mutant(self.file, kind, start, end, after))

    def spaced(self, token):
        return self.text[token.start - 1 : token.start].isspace() and self.text[token.end : token.end + 1].isspace()

    def operators(self, line, words):
        """Binary operators and integers among these tokens. Spaces distinguish operators from `<T>`, `*p`, `&x`."""
        for before, token, after in _with_neighbours(line):
            if token.kind == "number":
                self.constant(token)
            if token.text in BOOLEANS and self.spaced(token):
                self.add("condition", token.start, token.end, BOOLEANS[token.text])
            if token.kind != "op" or not self.spaced(token) or before is None or after is None:
                continue
            operand = before.kind in ("name", "number") and before.text not in words
            if not (operand or before.text in ")]}") or after.kind == "string":
                continue
            for kind, table in (("comparison", COMPARISONS), ("arithmetic", ARITHMETIC)):
                if token.text in table:
                    self.add(kind, token.start, token.end, table[token.text])

    def constant(self, token):
        """An integer, one up or one down: down where the position is odd and the number is not zero."""
        found = INTEGER.fullmatch(token.text)
        if not found:
            return
        value = int(found[1], 0 if found[1][:2] in ("0x", "0X") else 10)
        value += -1 if value and token.start % 2 else 1
        self.add("constant", token.start, token.end, (hex(value) if "x" in token.text else str(value)) + found[2])


def _with_neighbours(line):
    """Each token between the one before and the one after; None at the ends."""
    return [
        (line[i - 1] if i else None, token, line[i + 1] if i + 1 < len(line) else None) for i, token in enumerate(line)
    ]


def find_cpp(file, text):
    """The mutants of a C++ file."""
    finder, line = Finder(file, text), []
    sequence = tokens(text, CPP)
    i = 0
    while i < len(sequence):
        token = sequence[i]
        following = sequence[i + 1].text if i + 1 < len(sequence) else ""
        if token.text in CPP_QUIET and following == "(":
            i = matching(sequence, i + 1) + 1
        elif token.text == "template" and following == "<":
            i = _template_end(sequence, i + 1) + 1
        elif token.text == "[" and following == "[":
            i = matching(sequence, i) + 1
        else:
            if token.text in ("if", "while") and following == "(" and sequence[i - 1].text != "#":
                last = matching(sequence, i + 1)
                finder.add("condition", sequence[i + 1].end, sequence[last].start,
                           f"!({text[sequence[i + 1].end : sequence[last].start]})")  # fmt: skip
            if i and (sequence[i - 1].text in (";", "{", "}", "else") or _after_condition(sequence, i)):
                _drop_cpp(finder, sequence, i)
            line.append(token)
            i += 1
    finder.operators(line, CPP_WORDS)
    return finder.found


def _template_end(sequence, i):
    depth = 0
    for k in range(i, len(sequence)):
        depth += {"<": 1, ">": -1, ">>": -2}.get(sequence[k].text, 0)
        if depth <= 0:
            return k
    return i


def _after_condition(sequence, i):
    """Test whether the token at `i` is the first after `if (...)`, `for (...)` or `while (...)`."""
    if sequence[i - 1].text != ")":
        return False
    depth = 0
    for k in range(i - 1, -1, -1):
        depth += (sequence[k].text in CLOSE) - (sequence[k].text in OPEN)
        if depth == 0:
            return k > 0 and sequence[k - 1].text in ("if", "for", "while", "constexpr")
    return False


def _statement_end(sequence, i):
    """The index of the `;` that ends the statement that starts at `i`; None if a block ends before."""
    depth = 0
    for k in range(i, len(sequence)):
        depth += (sequence[k].text in OPEN) - (sequence[k].text in CLOSE)
        if depth < 0:
            return None
        if depth == 0 and sequence[k].text == ";":
            return k
    return None


def _drop_cpp(finder, sequence, i):
    first = sequence[i].text
    if first in CPP_WORDS and first not in ("return", "delete"):
        return
    if first == "return":
        plain = _after_condition(sequence, i)  # others end a function that must return
    elif first in ("continue", "break"):
        plain = True
    else:
        plain = _is_plain_statement(sequence, i)
    last = _statement_end(sequence, i) if plain else None
    if (
        last is None
        or sequence[last - 1].text in ("default", "delete")
        or any(t.text in CPP_QUIET for t in sequence[i:last])
    ):
        return
    finder.add("dropped statement", sequence[i].start, sequence[last].end, ";")


def _is_plain_statement(sequence, i):
    """Test whether a call, an assignment or a step starts here: names, members, indexes, then `=` or `(`."""
    if sequence[i].text in ("++", "--"):
        return True
    if sequence[i].text == "*":
        i += 1
    while i + 1 < len(sequence) and sequence[i].kind == "name":
        i += 1
        while sequence[i].text == "[":
            i = matching(sequence, i) + 1
        if sequence[i].text in ("(", *ASSIGNMENTS):
            return True
        if sequence[i].text not in (".", "->", "::"):
            return False
        i += 1
    return False


def find_python(file, text):
    """The mutants of a Python or Cython file."""
    finder = Finder(file, text)
    quiet = _quiet_spans(text) if file.endswith(".py") else []
    lines = list(logical_lines(tokens(text, PYTHON)))
    skipped = None  # a block of declarations: until a line is indented like its first
    for number, line in enumerate(lines):
        indent = _indent(text, line)
        if skipped is not None and indent > skipped:
            continue
        skipped = None
        words = [token.text for token in line]
        if words[0] in ("cdef", "cpdef", "ctypedef") and words[-1] == ":":
            if "(" not in words:
                # Also `cdef class`, whose methods follow, and a function that takes no bracket does not exist.
                skipped = None if "class" in words else indent
            continue
        if words[0] in PYTHON_QUIET or line[0].kind == "string" or words[0] == "__all__":
            if words[0] == "raise" and len(words) > 1:
                finder.add("dropped statement", line[0].start, line[-1].end, "pass")
            continue
        body = _split_header(finder, line, words)
        _drop_python(finder, body, indent, lines[number + 1] if number + 1 < len(lines) else None)
        if words[0] == "def":
            for token in line:
                if token.kind == "number":
                    finder.constant(token)
            continue
        visible = line if not body or body[0].text != "raise" else line[: len(line) - len(body)]
        finder.operators(visible, PYTHON_WORDS)
        _membership(finder, visible)
    starts = [start for start, _ in quiet]
    return [mutant for mutant in finder.found if not _covered(quiet, starts, mutant.start)]


def _indent(text, line):
    return line[0].start - (text.rfind("\n", 0, line[0].start) + 1)


def _split_header(finder, line, words):
    """Adds the negation of a condition; returns what follows the colon of `if x: y`, or a line without a header."""
    if words[0] not in HEADERS:
        return [] if words[0] == "def" else line
    depth = 0
    for i, token in enumerate(line):
        depth += (token.text in OPEN) - (token.text in CLOSE)
        if depth == 0 and token.text == ":":
            if words[0] in ("if", "elif", "while") and i > 1:
                start, end = line[1].start, line[i - 1].end
                finder.add("condition", start, end, f"not ({finder.text[start:end]})")
            return line[i + 1 :]
    return []


def _drop_python(finder, body, indent, following):
    if not body or not indent:
        return  # without a module's own names nothing would run
    first = body[0].text
    text = finder.text[body[0].start : body[-1].end]
    last_of_function = following is None or (
        _indent(finder.text, following) < indent and following[0].text in ("def", "cdef", "cpdef", "class", "@")
    )
    if first == "return":
        # At the end of a function these say what happens without them.
        droppable = not (last_of_function and text in ("return", "return 0", "return None"))
    else:
        droppable = first in ("continue", "break", "del") or (
            first not in PYTHON_WORDS and _is_plain_statement([*body, body[-1]], 0)
        )
    if droppable:
        finder.add("dropped statement", body[0].start, body[-1].end, "pass")


def _membership(finder, line):
    """`is` and `in` and their opposites; the `in` of a loop or comprehension is none of them."""
    loops = 0
    for before, token, after in _with_neighbours(line):
        if token.text == "for":
            loops += 1
        elif token.text == "in" and loops:
            loops -= 1
        elif token.text == "is":
            whole = after is not None and after.text == "not"
            finder.add("comparison", token.start, after.end if whole else token.end, "is" if whole else "is not")
        elif token.text == "in" and before is not None:
            whole = before.text == "not"
            finder.add("comparison", before.start if whole else token.start, token.end, "in" if whole else "not in")


def _quiet_spans(text):
    """Where Python's own parser sees annotations, decorators, and messages of exceptions."""
    starts = [0, *(found.end() for found in re.finditer("\n", text))]
    lines = text.split("\n")

    def offset(line, column):
        return starts[line - 1] + len(lines[line - 1].encode()[:column].decode())

    spans = []
    for node in ast.walk(ast.parse(text)):
        quiet = [
            getattr(node, "annotation", None),
            getattr(node, "returns", None),
            *getattr(node, "decorator_list", []),
        ]
        quiet += [node.exc] if isinstance(node, ast.Raise) else []
        spans += [
            (offset(part.lineno, part.col_offset), offset(part.end_lineno, part.end_col_offset))
            for part in quiet
            if isinstance(part, ast.expr)
        ]
    return sorted(spans)


def _covered(spans, starts, place):
    return any(
        end > place
        for _, end in spans[max(0, bisect.bisect_right(starts, place) - 8) : bisect.bisect_right(starts, place)]
    )


def find(file, text):
    """All mutants of a file, in the order of the text."""
    grammar = find_python if file.endswith((".py", ".pyx", ".pxi")) else find_cpp
    return sorted(grammar(file, text), key=lambda mutant: (mutant.start, mutant.end))


def in_order(mutants, seed):
    """The order in which mutants are tried: kinds alternate in each file, and any beginning is spread over the files.

    A file with four times as many mutants comes twice as often. Which of a file's come first does not depend on others.
    """
    files = defaultdict(lambda: defaultdict(list))
    for mutant in mutants:
        files[mutant.file][mutant.kind].append(mutant)
    keyed = []
    for file, kinds in files.items():
        chance = random.Random(f"{seed}:{file}")
        queue = [
            (turn, chance.random(), mutant)
            for kind in KINDS
            for turn, mutant in enumerate(chance.sample(kinds[kind], len(kinds[kind])))
        ]
        queue.sort(key=lambda item: item[:2])
        offset = chance.random()
        keyed += [((rank + offset) / len(queue) ** 0.5, file, mutant) for rank, (_, _, mutant) in enumerate(queue)]
    return [mutant for _, _, mutant in sorted(keyed, key=lambda item: item[:2])]
