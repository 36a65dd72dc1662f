# SPDX-License-Identifier: Apache-2.0
"""Run test files of another project in one role, and write a line of JSON before and after each test.

Run by ``tools/outside_tests.py``: ``child.py ROLE FOLDER OUTPUT FILE... --skip NAME...``. The files are rewritten into
FOLDER and run there, away from the configuration of the project that they come from.
"""

import ast
import json
import sys
from pathlib import Path

import pytest
import substitutes


class Rewriting(ast.NodeTransformer):
    """Imported names become substitutes; attributes and comparisons go through substitutes.py."""

    def _substituted(self, node, names):
        yield node
        for path, bound in names:
            yield ast.parse(f"{bound} = _outside.substitute({path!r}, {bound})").body[0]

    def visit_Import(self, node):
        roots = {(alias.name if alias.asname else alias.name.split(".")[0]): alias for alias in node.names}
        names = [(path, alias.asname or path) for path, alias in roots.items()]
        return list(self._substituted(node, names))

    def visit_ImportFrom(self, node):
        if node.module == "__future__":
            return node
        names = [(f"{node.module}.{alias.name}", alias.asname or alias.name) for alias in node.names]
        return list(self._substituted(node, [(path, bound) for path, bound in names if bound != "*"]))

    def visit_Attribute(self, node):
        self.generic_visit(node)
        if isinstance(node.ctx, ast.Load) and node.attr in substitutes.SPELLED:
            node.value = call("spelled", node.value)
        return node

    def visit_Assign(self, node):
        """``x.flags.writeable = False``"""
        target = node.targets[0]
        if ast.unparse(target).endswith(".flags.writeable") and ast.unparse(node.value) == "False":
            return ast.Assign([stored(target.value.value)], call("read_only", target.value.value), lineno=node.lineno)
        return self.generic_visit(node)

    def visit_Expr(self, node):
        """``x.setflags(write=False)``"""
        if ast.unparse(node).endswith(".setflags(write=False)"):
            return ast.Assign(
                [stored(node.value.func.value)], call("read_only", node.value.func.value), lineno=node.lineno
            )
        return self.generic_visit(node)

    def visit_Compare(self, node):
        self.generic_visit(node)
        if len(node.ops) == 1 and isinstance(node.ops[0], ast.Eq):
            return call("equal", node.left, node.comparators[0])
        return node


def stored(name):
    return ast.Name(name.id, ast.Store())


def call(name, *args):
    return ast.Call(ast.Attribute(ast.Name("_outside", ast.Load()), name, ast.Load()), list(args), [])


def rewritten(text):
    tree = Rewriting().visit(ast.parse(text))
    opening = 0  # the docstring and `from __future__` come first in a file
    while isinstance(tree.body[opening], ast.Expr) or getattr(tree.body[opening], "module", "") == "__future__":
        opening += 1
    tree.body[opening:opening] = ast.parse("import substitutes as _outside").body
    return ast.unparse(ast.fix_missing_locations(tree))


class Recorder:
    """A pytest plugin: what became of each test, and whether a tensor of ours took part."""

    def __init__(self, output, skipped):
        self.output, self.skipped = output, skipped

    def pytest_collection_modifyitems(self, items):
        items[:] = [item for item in items if self.name(item.nodeid) not in self.skipped]

    def write(self, **line):
        print(json.dumps(line), file=self.output, flush=True)

    @staticmethod
    def name(nodeid):
        return nodeid.split("::", 1)[-1]

    def pytest_runtest_logstart(self, nodeid, location):
        self.outcome, self.why, self.uses = "passed", "", substitutes.uses
        self.write(test=self.name(nodeid), started=True)

    def pytest_runtest_logreport(self, report):
        if report.outcome == "passed" or self.outcome == "failed":
            return
        self.outcome = report.outcome
        if report.skipped:
            self.why = report.longrepr[-1] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        else:
            self.why = getattr(report.longrepr, "reprcrash", report.longrepr)
            self.why = getattr(self.why, "message", str(self.why))

    def pytest_runtest_logfinish(self, nodeid, location):
        why = " ".join(self.why.split())[:200]
        self.write(test=self.name(nodeid), outcome=self.outcome, why=why, used=substitutes.uses - self.uses)

    def pytest_collectreport(self, report):
        if report.failed:
            self.write(
                test=f"{Path(report.nodeid).name} (collecting)",
                outcome="failed",
                used=0,
                why=" ".join(str(report.longrepr).split())[-200:],
            )


def main(role, folder, output, *files):
    cut = files.index("--skip")
    files, skipped = files[:cut], files[cut + 1 :]
    substitutes.role = role
    for file in map(Path, files):
        text = file.read_text()
        (Path(folder) / file.name).write_text(text if role == "none" else rewritten(text))
        sys.path.append(str(file.parent))
    with open(output, "a") as lines:
        arguments = ["-p", "no:cacheprovider", "-c", "/dev/null", "--rootdir", folder, folder]
        pytest.main(arguments, plugins=[Recorder(lines, skipped)])


if __name__ == "__main__":
    main(*sys.argv[1:])
