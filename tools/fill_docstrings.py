#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write Python and Cython files with complete docstrings: parts of others are copied to where a docstring names them.

A line of a docstring that is a reference in braces stands for text of another docstring of the package:

``{take.take}``
    the whole docstring of the function `take` of take.pyx, from its summary to its example
``{fft: Parameters, Raises}``
    these sections of `fft`, with their titles, in their places; of the parameters those that the function has.
    Parameters and exceptions that the docstring documents itself take the place of copied ones
``{fft: n, axis, ValueError}``
    the entries of these parameters and exceptions, without a title
``{TensorFile: 3 lines of Examples}``
    the first lines of a section, without its title
``{Notes: DLPack 1.3: ``DLDevice``.}``
    a section "Notes" of this line
``{See Also: sort, convert.empty}``
    a section "See Also" of these functions with their summaries: members of the same class, functions of the same
    file, rows of the tables of the engine, or functions of any other file

The name is that of a function or a class, or ``Class.method``, of the same file; that of another file comes after the
name of the file: ``{sort.sort}``. Where a method copies from a function, the first parameter is left out and becomes
"the tensor"; other parameters that the method lacks are left out, with the sentences that name them; and in examples
``dl.take(x, 0)`` becomes ``x.take(0)``.

A function of counterparts.toml, which other libraries have under the same name, has a section "Notes" that names them,
unless its docstring has one.

The build runs this program. Lines of a Cython file keep their numbers, which tracebacks show beside the source.
"""

import argparse
import ast
import re
import sys
import textwrap
import tomllib
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent / "src" / "dltensor"
WIDTH = 112  # of text in the docstring of a method
DEFINITION = re.compile(r"^( *)def (\w+)(?=\()|^(?:cdef )?class (\w+)(?=.*:$)", re.M)
REFERENCE = re.compile(r"^\{(See Also|[\w.]+)(?:: ([^{}]+))?\}$")
LINES = re.compile(r"^(\d+) lines of (\w+)$")
RULE = re.compile(r"^-+$")
CIMPORT = re.compile(r"^from (\.+)([\w.]*) cimport \(?([^)\n]*(?:\n +[^)\n]*)*)", re.M)
INCLUDE = re.compile(r'^include "([^"]+)"', re.M)
ORDER = ("", "Parameters", "Attributes", "Returns", "Yields", "Raises", "See Also", "Notes", "Examples")
COUNTERPARTS = "counterparts.toml"
ROWS = ("native/ops/elementwise/ops.h", "native/ops/reduce/rows.h")  # a row ends with the summary of its function
SIGNATURE_END = r"\n--\n\n"  # of a class, in the source of its docstring


class Docstring:
    """A docstring of a source: where its lines are, without their indentation, and the parameters of its function."""

    def __init__(self, name, parameters, start, lines):
        self.name, self.parameters, self.start, self.lines = name, parameters, start, lines
        self.indent = len(lines[-1]) - len(lines[-1].lstrip())

    @property
    def is_method(self):
        return self.parameters[:1] == ["self"]

    def text(self):
        """The lines between the quotation marks."""
        first = self.lines[0].strip().removeprefix('"""')
        rest = [line[self.indent :] if line.strip() else "" for line in self.lines[1:]]
        last = rest.pop() if rest else ""
        return [first.removesuffix('"""'), *rest] if last.strip() in ("", '"""') else [first, *rest, last[:-3]]


def _signature(text, start):
    """The end of a signature from `start` on, behind its colon, and the names of its parameters."""
    depth, end = 0, start
    while depth or text[end] != ":":
        depth += (text[end] in "([{") - (text[end] in ")]}")
        end += 1
    return end + 1, re.findall(r"[(,]\s*(?:\w+ )?\*{0,2}(\w+)\s*(?=[:=,)])", text[start:end])


def docstrings(text):
    """Yield each docstring of a function, a class or a method of a source."""
    owner = ""
    for match in DEFINITION.finditer(text):
        end, parameters = _signature(text, match.end())
        owner = owner if match[1] else f"{match[3]}." if match[3] else ""
        opening = re.match(r'\n *"""', text[end:])
        if opening:
            stop = text.index('"""', end + len(opening[0]))
            lines = text[end + 1 : stop + 3].split("\n")
            yield Docstring(match[3] or owner + match[2], parameters, text.count("\n", 0, end + 1), lines)


class Package:
    """The docstrings of all files of a package. A file is read when one of its names is asked for."""

    def __init__(self, folder):
        files = [path for kind in ("*.py", "*.pyx") for path in folder.rglob(kind)]
        self.texts = {path.resolve(): path.read_text() for path in sorted(files)}
        self.read = {}
        tables = [folder / name for name in (COUNTERPARTS, *ROWS)]
        self.tables = [path for path in tables if path.exists()]  # what docstrings depend on beside one another
        self.counterparts = counterparts(tomllib.loads(tables[0].read_text())) if tables[0] in self.tables else {}

    def names(self, path):
        """Return the docstrings of a file by name."""
        if path not in self.read:
            self.read[path] = {one.name: one for one in docstrings(self.texts[path])}
        return self.read[path]

    def find(self, name, path):
        """Return the docstring of a name and its file."""
        if name in self.names(path):
            return self.names(path)[name], path
        stem, _, rest = name.partition(".")
        found = [file for file in self.texts if file.stem == stem and rest in self.names(file)]
        if len(found) != 1:
            raise ValueError(f"{path.name}: expected one docstring {name}, found {len(found)}")
        return self.names(found[0])[rest], found[0]

    def related(self, name, docstring, path):
        """Return the entry of a function in the section "See Also" of another docstring: name and summary."""
        member = f"{docstring.name.rpartition('.')[0]}.{name}"
        found = next((self.names(path)[one] for one in (member, name) if one in self.names(path)), None)
        if found is None:
            row = re.compile(rf'X\({name},(?:[^"]|"[^"]*")*?"([^"]*)"\)')
            rows = filter(None, (row.search(table.read_text()) for table in self.tables if table.suffix == ".h"))
            if summary := next(rows, None):
                return f"{name} : {summary[1]}"
            definition = re.compile(rf"^(?:def|(?:cdef )?class) {name}\b", re.M)
            files = [file for file, text in self.texts.items() if definition.search(text)]
            found, _ = self.find(f"{files[0].stem}.{name}" if len(files) == 1 else name, path)
        return f"{found.name.rpartition('.')[2]} : {found.text()[0].split(SIGNATURE_END)[-1]}"

    def filled(self, docstring, path, within=()):
        """Return the lines of a docstring with all references replaced."""
        if docstring.name in within:
            raise ValueError(f"{path.name}: the docstring of {docstring.name} refers to itself")
        lines, copied_sections, where = [], {}, f"{path.name}: {docstring.name}"
        for line in docstring.text():
            reference = REFERENCE.match(line)
            if not reference:
                lines.append(line)
                continue
            if reference[1] == "Notes":
                lines += ["Notes", "-----", reference[2]]
                continue
            if reference[1] == "See Also":
                copied_sections["See Also"] = [self.related(name, docstring, path) for name in reference[2].split(", ")]
                continue
            source, file = self.find(reference[1], path)
            copied = self.filled(source, file, (*within, docstring.name))
            if docstring.is_method and not source.is_method:
                copied = for_method(copied, source, docstring)
            titles, found = (reference[2] or "").split(", "), sections(copied)
            if set(titles) <= set(found) - {""}:
                copied_sections |= {title: found[title] for title in titles}
            else:
                lines += parts(copied, reference[2], f"{where}: {line}") if reference[2] else copied
        place, _, name = docstring.name.rpartition(".")
        note = self.counterparts.get((place or path.parent.name, name))
        if note and "Notes" not in lines and "Notes" not in copied_sections:
            copied_sections["Notes"] = [note]
        return with_sections(lines, copied_sections, docstring.parameters, where) if copied_sections else lines


def counterparts(table):
    """Return the notes by the folder or the class and the name of a function, from its names by library."""
    found = {}
    for library, rows in table.items():
        for place, (prefix, names) in rows.items():
            for name in names.split():
                found.setdefault((place, name), []).append(f"{library}: ``{prefix}{name}``.")
    return {key: " ".join(notes) for key, notes in found.items()}


def with_sections(lines, copied, parameters, where):
    """Put copied sections between those of a docstring, in the order of numpydoc."""
    found = sections(lines)
    for title, body in copied.items():
        own = entries(found.get(title, []))
        if title == "Parameters":
            documented = {name for entry in own for name in names_of(entry)}
            lacking = set(parameters) - documented
            own += [entry for entry in entries(body) if lacking.intersection(names_of(entry))]
            own.sort(key=lambda entry: min(parameters.index(name) for name in names_of(entry) if name in parameters))
        elif title == "Raises":
            replaced = {entry[0]: entry for entry in own}
            own = [replaced.pop(entry[0], entry) for entry in entries(body)] + list(replaced.values())
        elif own:
            raise ValueError(f"{where}: the section {title} is there and copied too")
        found[title] = [line for entry in own for line in entry] if own else body
    return joined({title: found[title] for title in ORDER if title in found})


def sections(lines):
    """Split a docstring in its sections: their titles and their lines. What comes first has the title ''."""
    found, title = {"": []}, ""
    for number, line in enumerate(lines):
        if number + 1 < len(lines) and RULE.match(lines[number + 1]) and line and not line.startswith(" "):
            title = line
            found[title] = []
        elif not (RULE.match(line) and number and lines[number - 1] == title):
            found[title].append(line)
    for body in found.values():
        while body and not body[-1]:
            body.pop()
    return found


def joined(found):
    """Join sections to the lines of a docstring. Empty ones are left out."""
    lines = list(found[""])
    for title, body in found.items():
        if title and body:
            lines += ["", title, "-" * len(title), *body]
    return lines


def entries(body):
    """Split the lines of a section in entries: a line that is not indented, and those below it."""
    found = []
    for line in body:
        if line.startswith(" ") or not line:
            found[-1].append(line)
        else:
            found.append([line])
    return found


def names_of(entry):
    """The names that an entry documents: one or more parameters or exceptions."""
    return [name.strip(" *") for name in entry[0].partition(" : ")[0].split(",")]


def parts(lines, wanted, where):
    """Return entries of a docstring by their names, or the first lines of a section."""
    found, items = sections(lines), wanted.split(", ")
    first = LINES.match(wanted)
    if first:
        return found[first[2]][: int(first[1])]
    documented = [entry for title in ("Parameters", "Raises") for entry in entries(found.get(title, []))]
    copied = []
    for item in items:
        matching = [entry for entry in documented if item in names_of(entry)]
        if len(matching) != 1:
            raise ValueError(f"{where}: expected one section or entry {item}, found {len(matching)}")
        copied += matching[0]
    return copied


def _kept_sentences(lines, gone):
    """Leave out the sentences of a paragraph that name a parameter of `gone`; the paragraph is filled again."""
    if not any(f"`{name}`" in line for name in gone for line in lines):
        return lines
    indent = lines[0][: len(lines[0]) - len(lines[0].lstrip())]
    kept = [
        sentence
        for sentence in re.split(r"(?<=\.) (?=[A-Z`-])", " ".join(line.strip() for line in lines))
        if not any(f"`{name}`" in sentence for name in gone)
    ]
    return textwrap.wrap(" ".join(kept), WIDTH, initial_indent=indent, subsequent_indent=indent) if kept else []


def _about_the_tensor(line, function):
    """Replace the name of the first parameter, which is the tensor of the method: `x` in a text, ``x[0]`` in code."""
    first, name = function.parameters[0], function.name
    line = re.sub(rf"`{first}` is (?:not a|no) tensor,(?: or)? its", "The", line)
    line = re.sub(rf"(^\s*|(?<=\. ))`{first}`(?!`)", r"\1The tensor", line)
    line = re.sub(rf"(?<!`)`{first}`(?!`)", "the tensor", line)
    code = re.compile(r"``.*?``")
    line = code.sub(lambda found: re.sub(rf"\b{name}\({first}(?:, )?", f"t.{name}(", found[0]), line)
    return code.sub(lambda found: re.sub(rf"\b{first}\b", "t", found[0]), line)


def _method_call(line, function):
    """Write the calls of a function in an example as those of a method: ``dl.take(x, 0)`` as ``x.take(0)``."""
    prompt, code = line[:4], line[4:]
    start = code.find(f"dl.{function}(")
    if start < 0:
        return line
    call = next(
        node
        for node in ast.walk(ast.parse(code.strip()))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == f"dl.{function}"
    )
    tensor = ast.get_source_segment(code, call.args[0])
    others = [ast.get_source_segment(code, one) for one in call.args[1:]]
    others += [f"{one.arg}={ast.get_source_segment(code, one.value)}" for one in call.keywords]
    new = f"{tensor}.{function}({', '.join(others)})"
    return prompt + code[: call.col_offset] + new + code[call.end_col_offset :]


def for_method(lines, function, method):
    """Return the docstring of a function as that of a method of its first parameter."""
    name, gone = function.name, [one for one in function.parameters[1:] if one not in method.parameters]
    found = {title: body for title, body in sections(lines).items() if title != "See Also" or body}
    for title in {"Parameters", "Returns", "Raises"} & set(found):
        kept = [[header, *_kept_sentences(text, gone)] for header, *text in entries(found[title])]
        left_out = {function.parameters[0], *gone} if title == "Parameters" else set()
        found[title] = [
            line for entry in kept if entry[1:] and not left_out.issuperset(names_of(entry)) for line in entry
        ]
    for title, body in found.items():
        if title != "Examples":
            found[title] = [_about_the_tensor(line, function) for line in body]
    found["Examples"] = [
        _method_call(line, name) if line.startswith((">>> ", "... ")) else line for line in found["Examples"]
    ]
    see = [f"dltensor.{name} : The same as a function, of any object.", *found.pop("See Also", [])]
    titles = [title for title in found if title not in ("Notes", "Examples")]
    found = {
        **{title: found[title] for title in titles},
        "See Also": see,
        **{title: body for title, body in found.items() if title not in titles},
    }
    return joined(found)


def complete(path, package, keep_lines=False):
    """Return the text of a file with complete docstrings; `keep_lines` writes each in one line, and empty ones."""
    lines = package.texts[path].split("\n")
    for one in reversed(package.names(path).values()):  # from the end, so that line numbers stay
        filled = package.filled(one, path)
        if filled == one.text():
            continue
        margin = " " * one.indent
        new = [margin + '"""' + filled[0], *(margin + line if line else "" for line in filled[1:])]
        new = [*new, margin + '"""'] if len(new) > 1 else [new[0] + '"""']
        if keep_lines:
            new = ["\\n".join(new), *[""] * (len(one.lines) - 1)]
        lines[one.start : one.start + len(one.lines)] = new
    return "\n".join(lines)


def declarations(source):
    """Return the .pxd and .pxi files that a Cython file reads; Cython finds none of them from a copy elsewhere."""
    found, waiting = set(), [source]
    while waiting:
        path = waiting.pop()
        text = path.read_text()
        near = [path.with_suffix(".pxd"), *(path.parent / name for name in INCLUDE.findall(text))]
        for dots, module, names in CIMPORT.findall(text):
            folder = path.parents[len(dots) - 1].joinpath(*module.split("."))
            near += [folder.with_suffix(".pxd"), *(folder / f"{name}.pxd" for name in re.findall(r"\w+", names))]
        new = {file for file in near if file.is_file()} - found - {path}
        found |= new
        waiting += new
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--depfile", type=Path, help="file to write for ninja: the sources that the output depends on")
    parser.add_argument("output", type=Path, help="folder of the files that are written")
    parser.add_argument("sources", nargs="+", type=Path, help="files of the package")
    options = parser.parse_args()
    package, declared = Package(PACKAGE), set()
    for source in options.sources:
        target = options.output / source.name
        new = complete(source.resolve(), package, keep_lines=source.suffix == ".pyx")
        read = declarations(source.resolve()) if source.suffix == ".pyx" else set()
        declared |= read
        changed = max((file.stat().st_mtime_ns for file in read), default=0)
        # An unchanged file is not compiled again.
        if not target.exists() or target.read_text() != new or target.stat().st_mtime_ns < changed:
            target.write_text(new)
    if options.depfile:
        sources = [str(path).replace(" ", "\\ ") for path in (*package.tables, *package.read, *sorted(declared))]
        options.depfile.write_text(f"{options.output / options.sources[0].name}: {' '.join(sources)}\n")


if __name__ == "__main__":
    try:
        main()
    except ValueError as error:
        sys.exit(f"fill_docstrings: {error}")
