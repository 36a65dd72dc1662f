# SPDX-License-Identifier: Apache-2.0
"""No 32-bit loop counter is compared with a 64-bit extent in the Cython sources, except in loops over dimensions."""

import re
from pathlib import Path
from textwrap import dedent

import pytest

PACKAGE = Path(__file__).parent.parent / "src" / "dltensor"
NARROW = r"unsigned int|signed int|unsigned|short|int|u?int(?:8|16|32)_t|DL\w+Type"
WIDE = r"u?int64_t|Py_ssize_t|ssize_t|size_t|u?intptr_t|long long|long"
# What gives a number of 64 bits wherever it stands: elements of shapes and strides, sizes, lengths.
WIDE_TEXT = (
    r"\b(?:shape|strides|extents)\s*\[|\.(?:size|nbytes)\b|\b(?:len|numel|_size|_bytes|item_bytes|\w+_GET_SIZE)\s*\("
)
DECLARED = re.compile(rf"\b({NARROW}|{WIDE})\b\s*(?!\s*\()(\**)\s*(\w+)\s*(\[)?")
BEGIN = re.compile(r"^(\s*)(?:cpdef|cdef|def|async def)\b[^=\n]*\(")
RETURNS_WIDE = re.compile(rf"^\s*(?:c|cp)def\s+(?:inline\s+)?(?:{WIDE})\s+(\w+)\s*\(", re.M)


def without_text(source):
    """Cython code with comments and strings blanked, lines kept."""
    blank = lambda found: re.sub(r"[^\n]", " ", found[0])  # noqa: E731
    return re.sub(r'"""(?:.|\n)*?"""|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|#[^\n]*', blank, source)


def functions_of(code):
    """Each function as its first line's number and its text; nested and module code is a function, too."""
    lines = code.split("\n")
    scopes, inside = [], []
    for number, line in enumerate(lines, 1):
        depth = len(line) - len(line.lstrip())
        while inside and line.strip() and depth <= inside[-1][0] and not line.lstrip().startswith(")"):
            scopes.append(inside.pop()[1:])
        if BEGIN.match(line):
            inside.append((depth, number, []))
        for _, _, text in inside[-1:]:
            text.append((number, line))
    return scopes + [scope[1:] for scope in inside]


def declared(code):
    """Names of a function by width, and the wide arrays among them."""
    narrow, wide, arrays = set(), set(), set()
    statements = [line for line in code.split("\n") if re.match(r"\s*cdef\s", line) and not BEGIN.match(line)]
    for statement in statements + re.findall(r"\([^)]*\)", code):
        for kind, stars, name, bracket in DECLARED.findall(statement):
            names = [(name, bracket)]
            if statement.lstrip().startswith("cdef"):
                names = re.findall(r"(?:^|,)\s*\**(\w+)\s*(\[)?", statement[statement.index(kind) + len(kind) :])
            for each, array in names:
                if re.fullmatch(WIDE, kind):
                    (arrays if stars or array else wide).add(each)
                elif not stars and not array:
                    narrow.add(each)
    return narrow - wide, wide, arrays


def is_wide(expression, wide, arrays, calls):
    if re.search(r"\bmin\s*\([^()]*(?:\([^()]*\)[^()]*)*,\s*\d+\)", expression):
        return False  # bounded by a number that stands there
    expression = re.sub(r"<int>[\w.]+(?:\((?:[^()]|\([^()]*\))*\)|\[[^]]*\])?", "", expression)  # a cast is a decision
    # What a call is given says nothing of what it returns, unless it only chooses or counts.
    given = r"\b(?!(?:range|reversed|enumerate|max|min|abs)\b)([\w.]+)\s*\((?:[^()]|\([^()]*\))*\)"
    if not re.search(WIDE_TEXT, expression):
        expression = re.sub(given, r"\1()", expression)
    names = set(re.findall(r"(?<![.\w])\w+\b(?!\s*[\[(])", expression))
    indexed = set(re.findall(r"(?<![.\w])(\w+)\s*\[", expression))
    called = set(re.findall(r"\b(\w+)\s*\(", expression))
    return bool(names & wide or indexed & arrays or called & calls or re.search(WIDE_TEXT, expression))


def faults(source, calls=frozenset()):
    """Lines on which a narrow counter meets a wide number, and how many loops and assignments were looked at."""
    found, seen = [], 0
    code = without_text(source)
    calls = calls | set(RETURNS_WIDE.findall(code))
    for _, lines in functions_of(code):
        narrow, wide, arrays = declared("\n".join(line for _, line in lines))
        for number, line in lines:
            met = []
            if re.match(rf"\s*cdef\s+(?:{NARROW})\s", line) and not BEGIN.match(line):
                met = re.findall(r"(?<=[\s,])(\w+)\s*=\s*((?:[^,()]|\((?:[^()]|\([^()]*\))*\))+)", line)
            met += [(names, run) for names, run in re.findall(r"\bfor\s+([\w, ]+?)\s+in\s+(.+?)(?::\s*$|$)", line)]
            met += re.findall(r"^\s*(\w+)\s*(?:[-+*]|//)?=(?!=)\s*(.+)$", line)
            met += re.findall(r"\bwhile\s+(\w+)\s*(?:<|<=|>|>=|!=)\s*(.+?)(?:\band\b.*|\bor\b.*)?:\s*$", line)
            for names, run in met:
                seen += 1
                for name in re.findall(r"\w+", names):
                    if name in narrow and is_wide(run.split(" if ")[0] if "for" in line else run, wide, arrays, calls):
                        found.append((number, line.strip()))
    return found, seen


def sources():
    found = sorted([*PACKAGE.rglob("*.pyx"), *PACKAGE.rglob("*.pxi")])
    assert len(found) > 20
    return found


def test_counters_of_extents_have_64_bits():
    calls = {name for path in [*sources(), *PACKAGE.rglob("*.pxd")] for name in RETURNS_WIDE.findall(path.read_text())}
    wrong, seen = [], 0
    for path in sources():
        found, looked = faults(path.read_text(), frozenset(calls))
        seen += looked
        wrong += [f"{path.name}:{number}: {line}" for number, line in found]
    assert wrong == []
    assert seen > 500


def snippets(text):
    """Pieces of Cython by their names."""
    pieces = [piece.partition("\n") for piece in dedent(text).split("---- ")[1:]]
    return {name: code for name, _, code in pieces}


PLANTED = snippets(
    """
    ---- a loop over an extent
    def _iterate(Tensor self):
        cdef int i
        for i in range(self.its.dl.shape[0]):
            yield self[i]
    ---- a loop over a size
    cdef int f(Tensor t) except -1:
        cdef int i, j = 0
        for j in range(t.size):
            pass
    ---- a loop over an argument
    cdef void f(int64_t count) noexcept:
        cdef unsigned i
        for i in range(count):
            pass
    ---- a loop over elements of an array
    cdef void f(const int64_t* extents_of, int d):
        cdef int32_t i
        for i in range(extents_of[d]):
            pass
    ---- a loop over a length
    def f(list values):
        cdef int i
        for i in range(len(values)):
            pass
    ---- a loop with a start
    def f(int64_t n):
        cdef int i
        for i in range(1, n, 2):
            pass
    ---- a counter of a while
    def f(int64_t n):
        cdef int i = 0
        while i < n:
            i += 1
    ---- an extent that is kept
    def f(Tensor t):
        cdef int rows = t.its.dl.shape[0]
        return rows
    ---- a product that is kept
    def f(Tensor t):
        cdef int64_t a = 1
        cdef int total
        total = a * 2
    ---- a call that is kept
    cdef int64_t many(Tensor t):
        return 1

    cdef f(Tensor t):
        cdef int total = many(t)
    ---- an argument that counts
    cdef f(int i, int64_t n):
        for i in range(n):
            pass
    ---- a length among others
    def f(shape):
        cdef int i, n = len(shape), k = 0
        return n
    ---- a method
    cdef class A:
        def f(self):
            cdef int i
            for i in range(self.its.dl.shape[0]):
                pass
    """
)


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_counter_is_found(name):
    assert len(faults(PLANTED[name])[0]) == 1


HARMLESS = snippets(
    '''
    ---- a loop over dimensions
    def f(Tensor t):
        cdef int i
        for i in range(t.its.dl.ndim):
            pass
    ---- a wide counter
    def f(Tensor t):
        cdef int64_t i
        for i in range(t.its.dl.shape[0]):
            pass
    ---- a counter of its own function
    def f(int n):
        cdef int i
        for i in range(n):
            pass

    def g(int64_t n):
        for i in range(n):
            pass
    ---- a cast that says it was checked
    def f(tuple t):
        cdef int i
        for i in range(<int>PyTuple_GET_SIZE(t)):
            pass
    ---- what a call is given
    def f(int64_t n):
        cdef int32_t code = ask(n, 3)
        return code
    ---- words in a docstring
    def f(int64_t n):
        """cdef int i
        for i in range(n):
        """
        cdef int i
    '''
)


@pytest.mark.parametrize("name", HARMLESS)
def test_harmless_counters_are_left_alone(name):
    assert faults(HARMLESS[name])[0] == []
