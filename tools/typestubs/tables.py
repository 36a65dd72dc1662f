# SPDX-License-Identifier: Apache-2.0
"""Rows of the tables of the engine, read from its headers: operations, reductions, dtypes, devices, flags."""

import ast
import re
from functools import cached_property

from . import sources

KINDS = {"BOOLEANS": "bool", "INTEGERS": "integers", "FLOATS": "floats", "COMPLEXES": "complex"}
# Operators of rows with one operand, and with two.
UNARY = {"abs": "abs", "~": "invert", "-": "neg", "+": "pos"}
BINARY = {
    "+": "add", "-": "sub", "*": "mul", "/": "truediv", "//": "floordiv", "%": "mod", "**": "pow", "&": "and",
    "|": "or", "^": "xor", "<<": "lshift", ">>": "rshift",
}  # fmt: skip
COMPARISONS = {"<": "lt", "<=": "le", ">": "gt", ">=": "ge", "==": "eq", "!=": "ne"}


class Tables:
    """The tables of the sources in a folder."""

    def __init__(self, package):
        self.package = package

    def rows(self, header, name):
        """Return the columns of an X-macro as lists of text; literals of strings are joined."""
        text = (self.package / header).read_text()
        body = re.search(rf"#define {name}\(X\)((?:[^\n]*\\\n)*[^\n]*)", text)[1].replace("\\\n", "\n")
        found = []
        for match in re.finditer(r"X\(", body):
            columns = sources.split(body[match.end() : sources.closing(body, match.end())])
            found.append([column.strip() for column in columns])
        return found

    def kinds(self, word):
        """Return the names of the kinds that a word of the tables stands for, as ``DLT_NUMBERS``."""
        name = word.removeprefix("DLT_")
        if name in KINDS:
            return [KINDS[name]]
        text = (self.package / "native/ops/kinds.h").read_text()
        parts = re.search(rf"#define {word} \((.*)\)", text)[1].split(" | ")
        return [KINDS[part.removeprefix("DLT_")] for part in parts]

    @staticmethod
    def function(text):
        """Return the function of a text that `described` or `described_reduction` made from a row."""
        signature, _, doc = text.partition("\n--\n")
        name, _, inside = signature.partition("(")
        inside = inside.removesuffix(")").replace("$self, /", "self")
        return sources.Function(name, sources.parameters(inside), None, doc)

    @cached_property
    def operations(self):
        """The rows of ops.h by name, those of short names included, with the columns of ``dltensor.OPS``."""
        header, rows = "native/ops/elementwise/ops.h", {}
        saturating = {name for name, _ in self.rows(header, "DLT_SATURATING_OPS")}
        for table in ("UNARY", "BINARY", "TERNARY"):
            for name, operands, kinds, result, symbol, text, doc in self.rows(header, f"DLT_{table}_OPS"):
                rows[name] = {
                    "name": name, "row": name, "operands": int(operands), "kinds": self.kinds(kinds), "result": result,
                    "symbol": ast.literal_eval(symbol), "text": ast.literal_eval(text), "doc": ast.literal_eval(doc),
                    "saturating": name in saturating, "swapped": False,
                }  # fmt: skip
        for name, row, swapped in self.rows(header, "DLT_ALIASES"):
            rows[name] = rows[row] | {"name": name, "swapped": swapped == "1"}
        return rows

    @cached_property
    def reductions(self):
        """The rows of reductions.h by name, with the columns of ``REDUCTIONS``."""
        rows = {}
        for name, _, kinds, result, empty, takes, text, doc in self.rows("native/ops/reduce/rows.h", "DLT_REDUCTIONS"):
            words = [word.removeprefix("DLT_TAKES_").lower() for word in takes.split(" | ")]
            order = ("dtype", "correction", "where", "initial", "saturate")
            rows[name] = {
                "name": name, "kinds": self.kinds(kinds), "result": result, "empty": ast.literal_eval(empty),
                "text": ast.literal_eval(text), "doc": ast.literal_eval(doc), "one_axis": "one_axis" in words,
                "takes": [word for word in order if word in words],
            }  # fmt: skip
        return rows

    @cached_property
    def dtypes(self):
        """The names of element types."""
        tables = ("DLT_COMPUTED_DTYPES", "DLT_STORAGE_DTYPES")
        return [row[0] for table in tables for row in self.rows("native/ops/dtypes.h", table)]

    def dtype_names(self):
        """Return the names that ``as_dtype`` takes, without byte orders and vector types."""
        text = (self.package / "_core/types.pyx").read_text()
        spellings = ast.literal_eval(re.search(r"_SPELLINGS = {.*? in (\(.*?\n\)) for", text, re.S)[1])
        letters = ast.literal_eval(re.search(r"_LETTERS = ({.*?})", text)[1])
        sized = [
            f"{letter}{size}" for letter, kind in letters.items() for size in (1, 2, 4, 8, 16)
            if f"{kind}{8 * size}" in self.dtypes
        ]  # fmt: skip
        return [*self.dtypes, *(word for _, words in spellings for word in words.split()), "b1", *sized]

    def device_names(self):
        """Return the names that ``as_device`` takes, with the numbers of the first eight CUDA devices."""
        kinds = [ast.literal_eval(row[2]) for row in self.rows("include/dltensor/dlpack.h", "DLT_DEVICE_TYPES")]
        return [*kinds, *(f"cuda:{number}" for number in range(8))]

    def enumerations(self):
        """Return the enumerations of the standard: name -> members and their values."""
        header = "include/dltensor/dlpack.h"
        tables = {"DeviceType": "DLT_DEVICE_TYPES", "DataTypeCode": "DLT_DATA_TYPE_CODES", "Flags": "DLT_FLAGS"}
        text = (self.package / header).read_text()
        flags = dict(re.findall(r"#define (\w+) \(1UL << (\d)UL\)", text))

        def value(word):
            return str(1 << int(flags[word])) if word in flags else word

        return {name: [(row[0], value(row[1])) for row in self.rows(header, table)] for name, table in tables.items()}

    def operators(self):
        """Return the methods behind the symbols of the rows: name -> number of operands."""
        found = {}
        for row in self.operations.values():
            symbol = row["symbol"]
            if not symbol or row["name"] != row["row"]:
                continue
            if row["operands"] == 1:
                found[f"__{UNARY[symbol]}__"] = 1
            elif row["result"] == "mask":
                found[f"__{COMPARISONS[symbol]}__"] = 2
            else:
                found |= {f"__{before}{BINARY[symbol]}__": 2 for before in ("", "r", "i")}
        return found
