# SPDX-License-Identifier: Apache-2.0
"""Rewrite a test file of another project, so that tensors of dltensor take part in it as ``substitutes.py`` says."""

import ast

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


class Importing(Rewriting):
    """Only imported names become substitutes."""

    visit_Attribute = visit_Assign = visit_Expr = visit_Compare = ast.NodeTransformer.generic_visit


def stored(name):
    return ast.Name(name.id, ast.Store())


def call(name, *args):
    return ast.Call(ast.Attribute(ast.Name("_outside", ast.Load()), name, ast.Load()), list(args), [])


def rewritten(text, kind="all"):
    """Return the text of a file whose imports, or all of whose names, go through substitutes.py."""
    tree = (Importing if kind == "imports" else Rewriting)().visit(ast.parse(text))
    opening = 0  # the docstring and `from __future__` come first in a file
    while isinstance(tree.body[opening], ast.Expr) or getattr(tree.body[opening], "module", "") == "__future__":
        opening += 1
    tree.body[opening:opening] = ast.parse("import substitutes as _outside").body
    return ast.unparse(ast.fix_missing_locations(tree))
