# SPDX-License-Identifier: Apache-2.0
"""Common calls at common shapes, made from tables: every family of functions x dtypes x shapes, beside NumPy and torch.

Run: python benchmarks/bench_wide.py [part of a row's name ...] [--threads 2] [--quick 200] [--check] [--json FILE]

The rows of the other benchmarks were chosen; this one multiplies, so that shapes that were not thought of are
measured too. It prints each row that takes longer than 1/0.8 of a peer's time, and a summary of each family. `--check`
compares the values of each row with NumPy's or torch's, and times nothing; `--quick N` takes N rows by chance.
"""

import argparse
import itertools
import json
import math
import os
import random
import re
import sys
import time
import warnings

THREADS = sys.argv[sys.argv.index("--threads") + 1] if "--threads" in sys.argv else "1"
os.environ |= {"OPENBLAS_NUM_THREADS": THREADS, "OMP_NUM_THREADS": THREADS, "MKL_NUM_THREADS": THREADS}

import compare  # noqa: E402
import ml_dtypes  # noqa: E402
import numpy as np  # noqa: E402

import dltensor as dl  # noqa: E402

torch = compare.torch
compare.LONGEST_TURN = 0.02
BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
WIDTHS = (2, 3, 4, 8, 16, 32, 64, 128, 256, 1000, 4096)
SIZES = (1, 100, 10_000, 1_000_000)
WORK = 1 << 18  # elements of an operand whose shape varies
TABLES = ((1000, 12), (20_000, 5), (20_000, 10), (20_000, 50), (2000, 100))  # samples and features, of both signs

# Statements are of ``X``: dltensor, numpy or torch. Operands: x, y arrays of the shape; p positive ones; r a row, c a
# column; k positions along the first axis; q, u booleans; w a well-conditioned matrix. A row is one text, or a tuple
# (ours, NumPy's, torch's) where they differ; None: the peer has no such function.
DOES_NOT = None
BINARY = ["X.add(x, y)", "X.subtract(x, y)", "X.multiply(x, y)", "x / y", "x // y", "x % y", "X.maximum(x, y)", "x == y",
          "x < y"]  # fmt: skip
NUMBERS = ["x + 1", "x * 3", "x / 3", "x // 3", "x % 3", "x < 2", "x == 2", "x ** 2", "X.where(x > 2, x, y)",
           "X.clip(x, 1, 3)"]  # fmt: skip
BITS = ["x & y", "x | y", "x ^ y", "~x"]
UNARY = ["X.abs(x)", "X.negative(x)", "X.sign(x)", "X.square(x)", "X.sqrt(p)", "X.exp(x)", "X.expm1(x)", "X.log(p)",
         "X.log1p(p)", "X.log2(p)", "X.log10(p)", "X.sin(x)", "X.cos(x)", "X.tan(x)", "X.tanh(x)", "X.sinh(x)",
         "X.floor(x)", "X.round(x)", "X.trunc(x)", "X.isnan(x)", "X.isfinite(x)", "X.signbit(x)", "X.reciprocal(p)",
         ("X.atan(x)", "X.arctan(x)", ""), ("X.asinh(x)", "X.arcsinh(x)", ""), "x ** 0.5", ("X.pow(p, y)", "X.power(p, y)", "")]  # fmt: skip
SPECIAL = ["X.exp(z)", "X.log(z)", "X.log1p(z)", "X.sqrt(z)", "X.sin(z)", "X.cos(z)", "X.tan(z)", "X.tanh(z)", "X.expm1(z)",
           ("X.atan(z)", "X.arctan(z)", ""), ("X.asin(z)", "X.arcsin(z)", ""), ("X.acosh(z)", "X.arccosh(z)", ""),
           "z ** 2.5", "z + z", "z * z", "X.maximum(z, x)", "X.isnan(z)", "X.floor(z)", "z // 3"]  # fmt: skip
REDUCTIONS = [
    "X.sum(x, axis=A)", "X.mean(x, axis=A)", ("X.std(x, axis=A)", "", "X.std(x, A, correction=0)"),
    ("X.var(x, axis=A)", "", "X.var(x, A, correction=0)"), ("X.max(x, axis=A)", "", "X.amax(x, A)"),
    ("X.min(x, axis=A)", "", "X.amin(x, A)"), "X.argmax(x, axis=A)", ("X.prod(x, axis=A)", "", "X.prod(x, A)"),
    ("X.any(x > 2, axis=A)", "", ""), ("X.count_nonzero(x, axis=A)", "", ""),
    ("X.softmax(x, axis=A)", None, "X.softmax(x, A)"), ("X.logsumexp(x, axis=A)", None, "X.logsumexp(x, A)"),
    ("X.cumulative_sum(x, axis=A)", "X.cumsum(x, axis=A)", "X.cumsum(x, A)"),
    ("X.sort(x, axis=A)", "", "X.sort(x, A)"), ("X.argsort(x, axis=A)", "X.argsort(x, axis=A, kind='stable')", "X.argsort(x, A, stable=True)"),
    ("X.linalg.vector_norm(x, axis=A)", "X.linalg.norm(x, axis=A)", "X.linalg.vector_norm(x, dim=A)"),
    ("X.vecdot(x, y, axis=A)", "X.sum(x * y, axis=A)", "X.linalg.vecdot(x, y, dim=A)"),
    ("x - X.mean(x, axis=A, keepdims=True)", "", ""), ("X.diff(x, axis=A)", "", "X.diff(x, dim=A)"),
]  # fmt: skip
FOUR = [
    "x + y", "x * 2", "x + r", "x * c", "X.sum(x, axis=(0, 3))", "X.sum(x, axis=(1, 3))", "X.mean(x, axis=(2, 3))",
    "X.mean(x, axis=(0, 2, 3))", ("X.std(x, axis=(0, 2))", "", "X.std(x, (0, 2), correction=0)"),
    ("X.max(x, axis=(1, 2))", "", "X.amax(x, (1, 2))"), "X.exp(x)",
    ("X.permute_dims(x, (0, 3, 1, 2)) + 1", "X.transpose(x, (0, 3, 1, 2)) + 1", "X.permute(x, (0, 3, 1, 2)) + 1"),
    ("X.flip(x, axis=2)", "X.flip(x, 2) + 0", "X.flip(x, (2,))"), "x[:, 1:-1, 1:-1] + x[:, :-2, 2:]", "x.sum()",
    ("X.astype(x, X.float64)", "x.astype(X.float64)", "x.to(X.float64)"),
]  # fmt: skip
LAYOUTS = {
    "transposed": lambda a: a.T,
    "every second": lambda a: a[:, ::2],
    "rows of a wider": lambda a: a[:, :-3],
    "reversed": lambda a: a[::-1],
    "broadcast row": lambda a: np.broadcast_to(a[0], a.shape),
    "broadcast column": lambda a: np.broadcast_to(a[:, :1], a.shape),
}
ON_LAYOUTS = ["x + x", "x * 2", "x + y", "x < y", "X.exp(x)", "X.sum(x)", "X.sum(x, axis=0)", "X.sum(x, axis=1)",
              ("X.max(x, axis=1)", "", "X.amax(x, 1)"), ("X.copy(x)", "X.copy(x, order='C')", "x.contiguous().clone()"),
              ("X.cumulative_sum(x, axis=1)", "X.cumsum(x, axis=1)", "X.cumsum(x, 1)"), "X.where(x > 2, x, y)"]  # fmt: skip
# Shapes of the left and right operand, and how the right one is laid out.
PRODUCTS = [
    ((n, n), (n, n)) for n in (2, 4, 8, 16, 32, 64, 128, 256, 512)
] + [
    ((1, 64), (64, 64)), ((8, 512), (512, 512)), ((512, 8), (8, 512)), ((20_000, 50), (50,)), ((50,), (50, 20_000)),
    ((1000, 1000), (1000,)), ((1000,), (1000, 1000)), ((100_000, 3), (3, 3)), ((3, 100_000), (100_000, 3)),
    ((2000, 2, 2), (2000, 2, 2)), ((2000, 4, 4), (2000, 4, 4)), ((2000, 4, 4), (4, 4)), ((10_000, 1, 3), (10_000, 3, 3)),
    ((500, 16, 16), (500, 16, 16)), ((64, 32, 64), (64, 64, 32)), ((1000, 4, 4), (1000, 4, 1)), ((8, 12, 64, 32), (8, 12, 32, 64)),
]  # fmt: skip
INDEXING = [
    "x[k]", "x[q]", "x[m]", "x[3]", "x[2:5]", "x[:, 1]", "x[:, ::2] + 0", ("X.take(x, k, axis=0)", "", "X.index_select(x, 0, k)"),
    ("X.nonzero(q)", "", "X.nonzero(q, as_tuple=True)"), "x[m] = 0", "x[k] = 1", "x[:, 0] = 2", "X.where(m, x, 0)",
    ("X.concat([x, y])", "X.concatenate([x, y])", "X.cat([x, y])"), "X.stack([x, y])",
    ("X.stack([x, y], axis=-1)", "", "X.stack([x, y], -1)"), ("X.flip(x, axis=0)", "X.flip(x, 0) + 0", "X.flip(x, (0,))"),
    ("X.roll(x, 3, axis=0)", "", "X.roll(x, 3, 0)"), ("X.repeat(x, 2, axis=0)", "", "X.repeat_interleave(x, 2, 0)"),
    ("X.tile(x, (2, 2))", "", ""), ("X.reshape(x.T, (-1,))", "", ""), ("X.tril(x)", "", ""), ("x.T + 0", "", ""),
]  # fmt: skip
SEARCHES = [
    ("X.sort(x)", "", ""), ("X.argsort(x)", "X.argsort(x, kind='stable')", "X.argsort(x, stable=True)"), ("X.unique_values(x)", "X.unique(x)", "X.unique(x)"),
    ("X.unique_counts(x)", "X.unique(x, return_counts=True)", "X.unique(x, return_counts=True)"),
    ("X.searchsorted(s, x)", "", ""), ("X.isin(x, s[:8])", "", "X.isin(x, s[:8])"), ("X.median(x)", "", None),
    ("X.quantile(x, 0.9)", "", None), ("X.top_k(x, 10)", "X.partition(x, len(x) - 10)[-10:]", "X.topk(x, 10)"), ("X.cumulative_sum(x)", "X.cumsum(x)", "X.cumsum(x, 0)"),
    "X.argmax(x)", ("X.histogram(x, 20)", "", None), ("X.diff(x)", "", ""),
]  # fmt: skip
CREATION = [
    "X.zeros(N)", "X.ones(N)", ("X.full(N, 2.5)", "", "X.full((N,), 2.5)"), "X.arange(N)", "X.arange(0.0, N)", "X.linspace(0, 1, N)", "X.empty(N)",
    "X.zeros_like(x)", "X.ones_like(x)", ("X.copy(x)", "", "X.clone(x)"), ("X.eye(S)", "", ""), ("X.asarray(x)", "", ""),
]  # fmt: skip
LINALG = ["X.linalg.inv(w)", "X.linalg.det(w)", "X.linalg.solve(w, x)", "X.linalg.qr(w)", "X.linalg.svd(w)",
          "X.linalg.eigh(h)", "X.linalg.cholesky(h)", ("X.linalg.svdvals(w)", "X.linalg.svd(w, compute_uv=False)", ""),
          "X.linalg.eig(w)", ("X.linalg.trace(w)", "X.trace(w, axis1=-2, axis2=-1)", "X.diagonal(w, 0, -2, -1).sum(-1)"),
          ("X.linalg.vector_norm(w)", "X.linalg.norm(X.ravel(w))", "X.linalg.vector_norm(w)"), "X.linalg.pinv(w)",
          ("X.linalg.matrix_norm(w)", "X.linalg.norm(w, axis=(-2, -1))", "X.linalg.matrix_norm(w)")]  # fmt: skip
CONTRACTIONS = [
    ("ij,ij->i", (4096, 64), (4096, 64)), ("ij,jk->ik", (64, 64), (64, 64)), ("bij,bkj->bik", (500, 8, 8), (500, 8, 8)),
    ("bij,bjk->bik", (500, 8, 8), (500, 8, 8)), ("ij,j->i", (1000, 64), (64,)), ("i,j->ij", (1000,), (1000,)),
    ("ijk,ijk->k", (64, 64, 64), (64, 64, 64)), ("bhqd,bhkd->bhqk", (4, 8, 64, 32), (4, 8, 64, 32)),
]  # fmt: skip
DTYPES = {name: np.dtype(name) for name in ("float32", "float64", "int64", "int32", "int16", "uint8", "bool")} | {
    "bfloat16": BFLOAT16
}


def values(shape, dtype, seed=0):
    """Return an array of small values that every function of the tables takes."""
    chance = np.random.default_rng(seed)
    if dtype.kind in "iub":
        return chance.integers(1, 2 if dtype.kind == "b" else 9, shape).astype(dtype)
    return (chance.random(shape) * 4 - 0.8).astype(dtype)


def operands(shape, dtype, layout=lambda a: a):
    """Return the operands of the tables for a shape, as NumPy arrays."""
    x, y = layout(values(shape, dtype)), layout(values(shape, dtype, 1))
    length = x.shape[0] if x.ndim else 1
    chance = np.random.default_rng(2)
    found = {"x": x, "y": y, "p": abs(x) if dtype.kind not in "ub" else x}
    if x.ndim:
        found |= {"r": values(x.shape[-1:], dtype, 3), "c": values((*x.shape[:-1], 1), dtype, 4)}
        found |= {"k": chance.integers(0, max(1, length), length), "q": chance.random(length) < 0.5}
        found |= {"m": chance.random(x.shape) < 0.3, "s": np.sort(values(64, dtype, 5))}
    return found


def matrices(shape, dtype):
    """Return operands of linear algebra: w well conditioned, h symmetric and positive definite, x a right side."""
    w = values(shape, dtype) + shape[-1] * np.eye(shape[-1], dtype=dtype)
    return {"w": w, "h": w @ np.swapaxes(w, -1, -2), "x": values(shape, dtype, 1)}


def special(n, dtype):
    """Return operands of which every second one is invalid, infinite, tiny or large."""
    z = values(n, dtype)
    kinds = np.array([np.nan, np.inf, -np.inf, -1e30, 1e30, 1e-40, 700.0, -5.0], dtype)
    z[::2] = kinds[np.arange(len(z[::2])) % len(kinds)]
    return {"z": z, "x": values(n, dtype, 1)}


def shown(shape):
    """Return a shape as the name of a row has it."""
    return "x".join(map(str, shape)) or "scalar"


def widths(width):
    """Return the shape of an operand with rows of that width, and of one with columns of that height."""
    return {-1: (WORK // width, width), 0: (width, WORK // width)}


def reductions(name, axis):
    """Return the statements of reductions along an axis that a dtype takes."""
    statements = [fill(one, "A", str(axis)) for one in REDUCTIONS]
    if name == "int64":
        statements = [one for one in statements if re.search(r"sum\(x|max|min|any|count|sort|prod", one[0])]
    if name == "bfloat16":
        statements = [one for one in statements if re.search(r"sum\(x, ax|mean\(|std|max", one[0])]
    return [one for one in statements if axis == -1 or "vecdot" not in one[0]]


def table():
    """Yield a family, the end of a name, statements and operands, for each place in the tables."""
    for name in ("float32", "float64", "int64", "int32", "uint8", "bfloat16"):
        for n in SIZES:
            yield "two operands", f"{name} {n}", BINARY, lambda n=n, name=name: operands((n,), DTYPES[name])
            yield "a number", f"{name} {n}", NUMBERS, lambda n=n, name=name: operands((n,), DTYPES[name])
    for name, n in itertools.product(("int64", "uint8", "bool"), SIZES):
        yield "bits", f"{name} {n}", BITS, lambda n=n, name=name: operands((n,), DTYPES[name])
    yield from (
        ("a number", f"int16 {n}", ["x // 3", "x % 3", "x + 1"], lambda n=n: operands((n,), DTYPES["int16"]))
        for n in SIZES
    )
    for name, n in itertools.product(("float32", "float64", "bfloat16"), SIZES[1:]):
        yield "one operand", f"{name} {n}", UNARY, lambda n=n, name=name: operands((n,), DTYPES[name])
    for name in ("float32", "float64"):
        yield "special values", f"{name} 100000", SPECIAL, lambda name=name: special(100_000, DTYPES[name])
    for name, width in itertools.product(("float32", "float64", "bfloat16", "int64"), WIDTHS):
        for axis, shape in widths(width).items():
            of = "rows" if axis else "columns"
            make = lambda s=shape, name=name: operands(s, DTYPES[name])  # noqa: E731
            yield f"{of}", f"{name} {shown(shape)}", reductions(name, axis), make
    for name, shape, axis in itertools.product(("float32", "float64", "bfloat16", "int64"), TABLES, (0, -1)):
        statements = [one for one in reductions(name, axis) if not re.search(r"sort|prod|min|var|count|diff", one[0])]
        make = lambda s=shape, name=name: operands(s, DTYPES[name], lambda a: a - a.dtype.type(1))  # noqa: E731
        yield "tables", f"{name} {shown(shape)}", statements, make
    for name, (what, order) in itertools.product(("float32", "uint8"), {"NCHW": None, "NHWC": (0, 2, 3, 1)}.items()):
        shape = (8, 16, 64, 64)
        layout = (lambda a: a) if order is None else (lambda a, order=order: np.transpose(a, order))
        yield "four axes", f"{name} {what}", FOUR, lambda s=shape, name=name, t=layout: operands(s, DTYPES[name], t)
    for name, side, (what, layout) in itertools.product(("float32", "float64", "uint8"), (30, 700), LAYOUTS.items()):
        yield (
            "layouts", f"{name} {side}x{side} {what}", ON_LAYOUTS,
            lambda s=(side, side), name=name, t=layout: operands(s, DTYPES[name], t),
        )  # fmt: skip
    for name, to, n in itertools.product(("float32", "float64", "int32", "int64", "uint8", "bool", "bfloat16"),
                                         ("float32", "float64", "int32", "uint8", "bfloat16"), SIZES[1:]):  # fmt: skip
        if name != to:
            cast = (
                f"X.astype(x, X.{to})",
                f"x.astype({'bfloat16' if to == 'bfloat16' else 'X.' + to})",
                f"x.to(X.{to})",
            )
            yield "casts", f"{name} {n}", [cast], lambda n=n, name=name: operands((n,), DTYPES[name])
    for name, (a, b) in itertools.product(("float32", "float64", "bfloat16"), PRODUCTS):
        make = lambda a=a, b=b, name=name: {"x": values(a, DTYPES[name]), "y": values(b, DTYPES[name], 1)}  # noqa: E731
        yield "products", f"{name} {shown(a)} @ {shown(b)}", ["x @ y"], make
        if len(b) > 1:
            turned = lambda a=a, b=b, name=name: {  # noqa: E731
                "x": values(a, DTYPES[name]), "y": np.swapaxes(values((*b[:-2], b[-1], b[-2]), DTYPES[name], 1), -1, -2)
            }  # fmt: skip
            yield "products", f"{name} {shown(a)} @ {shown(b)} transposed", ["x @ y"], turned
    for name, (text, a, b) in itertools.product(("float32", "float64"), CONTRACTIONS):
        make = lambda a=a, b=b, name=name: {"x": values(a, DTYPES[name]), "y": values(b, DTYPES[name], 1)}  # noqa: E731
        yield "contractions", f"{name} {shown(a)} {shown(b)}", [f"X.einsum('{text}', x, y)"], make
    for name, shape in itertools.product(("float32", "int64", "uint8"), ((100, 4), (10_000, 4), (1000, 1000))):
        yield "indexing", f"{name} {shown(shape)}", INDEXING, lambda s=shape, name=name: operands(s, DTYPES[name])
    for name, n in itertools.product(("float32", "float64", "int32", "int64", "uint8"), SIZES[1:]):
        yield "searches", f"{name} {n}", SEARCHES, lambda n=n, name=name: operands((n,), DTYPES[name])
    for n in SIZES:
        statements = [fill(fill(one, "N", str(n)), "S", str(math.isqrt(n))) for one in CREATION]
        yield "creation", f"{n}", statements, lambda n=n: operands((n,), DTYPES["float32"])
    for name, shape in itertools.product(
        ("float32", "float64"), ((2, 2), (4, 4), (16, 16), (100, 100), (1000, 3, 3), (100, 8, 8))
    ):
        yield "linalg", f"{name} {shown(shape)}", LINALG, lambda s=shape, name=name: matrices(s, DTYPES[name])


def fill(statement, word, text):
    """Return a statement, or a tuple of them, with a capital letter of the table replaced."""
    one = statement if isinstance(statement, tuple) else (statement, "", "")
    return tuple(part and re.sub(rf"\b{word}\b", text, part) for part in one)


def of_torch(array):
    """Return a NumPy array as a torch tensor that shares its memory, or None if its strides are negative."""
    if any(step < 0 for step in array.strides):
        return None
    if array.dtype == BFLOAT16:
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # arrays of `broadcast_to` are read-only, and nothing writes them
        return torch.from_numpy(array)


def rows(wanted=lambda name: True):
    """Yield the rows of the tables whose names are wanted."""
    for family, what, statements, make in table():
        names = None
        for statement in statements:
            ours, in_numpy, in_torch = fill(statement, "_", "_")
            name = f"{family}: {ours}, {what}"
            if not wanted(name):
                continue
            if names is None:
                arrays = make()
                names = {"dl": dl, "np": np, "torch": torch, "bfloat16": BFLOAT16}
                names |= {"n_" + key: array for key, array in arrays.items()}
                names |= {key: dl.asarray(array, copy=False) for key, array in arrays.items()}
                if torch is not None:
                    names |= {"t_" + key: of_torch(array) for key, array in arrays.items()}
            peers = {}
            if in_numpy is not None and "bfloat16" not in what:
                peers["numpy"] = spelled(ours if in_numpy == "" else in_numpy, "np", "n_", arrays)
            if in_torch is not None and torch is not None:
                text = spelled(ours if in_torch == "" else in_torch, "torch", "t_", arrays)
                if runs(text, names):
                    peers["torch"] = text
            yield family, compare.Row(family, f"{ours}, {what}", 0.8, 1.0, ours.replace("X.", "dl."), peers, names)


def spelled(statement, module, prefix, arrays):
    """Return a statement with the module and the operands of a peer."""
    text = statement.replace("X.", f"{module}.")
    return re.sub(rf"(?<![\w.'])({'|'.join(arrays)})(?![\w'])(?!=)", rf"{prefix}\1", text)


def runs(statement, names):
    """Return whether a peer can run a statement at all."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(statement, dict(names))
    except Exception:  # it has no such function, or not for this dtype
        return False
    return True


# Values that are not defined, not unique or several arrays; infinity // 3 is infinite in the array API, NaN in NumPy.
NOT_COMPARED = re.compile(r"empty|linalg\.(qr|svd\(|eig)|top_k|nonzero|histogram|counts|argsort|z // 3")


def check(row):
    """Return why a row's values differ from those of its peers, or None."""
    if "=" in re.sub(r"[=<>!]=|\([^()]*\)", "", row.ours) or NOT_COMPARED.search(row.ours):
        return None  # an assignment has no value
    for statement in row.peers.values():
        try:
            ours, theirs = (eval(text, dict(row.names)) for text in (row.ours, statement))
        except Exception as error:
            return f"{row.group}: {row.what}: {type(error).__name__}: {error}"
        theirs = theirs[0] if isinstance(theirs, tuple) else theirs
        if torch is not None and isinstance(theirs, torch.Tensor):
            theirs = theirs.float().numpy() if theirs.dtype == torch.bfloat16 else theirs.numpy()
        ours = np.asarray(dl.astype(dl.asarray(ours), dl.float64) if "bfloat16" in row.what else dl.asarray(ours))
        slack = 0.05 if "bfloat16" in row.what else 2e-3
        if ours.shape != theirs.shape or not np.allclose(
            ours.astype(complex), theirs.astype(complex), slack, slack, equal_nan=True
        ):
            return f"{row.group}: {row.what}: {ours.ravel()[:4]} {ours.shape}, {statement} gives {theirs.ravel()[:4]} {theirs.shape}"
    return None


def summary(found):
    """Print the rows behind a peer, and a line for each family; return the lines as a dictionary."""
    for peer in ("numpy", "torch"):
        behind = sorted((row[peer], name) for name, row in found.items() if row.get(peer, 1) < 0.8)
        print(f"\n{len(behind)} rows below 0.8 of {peer}")
        for ratio, name in behind:
            print(f"  {ratio:5.2f}  {name}  ({found[name]['us']:.3g} us)")
    families = {}
    print(f"\n{'family':18}{'rows':>6}{'numpy':>8}{'torch':>8}{'<0.8 np':>9}{'<0.8 t':>8}{'<0.5':>6}")
    for family in [*dict.fromkeys(row["family"] for row in found.values()), "all"]:
        mine = [row for row in found.values() if family in (row["family"], "all")]
        line = {
            "rows": len(mine),
            "below 0.5": sum(min(row.get("numpy", 9), row.get("torch", 9)) < 0.5 for row in mine),
        }
        for peer in ("numpy", "torch"):
            ratios = [row[peer] for row in mine if peer in row]
            line[peer] = math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else math.nan
            line[f"below 0.8 of {peer}"] = sum(ratio < 0.8 for ratio in ratios)
        families[family] = line
        print(
            f"{family:18}{line['rows']:6}{line['numpy']:8.2f}{line['torch']:8.2f}{line['below 0.8 of numpy']:9}"
            f"{line['below 0.8 of torch']:8}{line['below 0.5']:6}"
        )
    return families


def main():
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", nargs="*", help="parts of names of rows; without one, all rows")
    parser.add_argument("--threads", type=int, default=1, help="threads of every library (two for --threads 2)")
    parser.add_argument("--quick", type=int, metavar="N", help="N rows by chance")
    parser.add_argument("--check", action="store_true", help="compare values, time nothing")
    parser.add_argument("--seconds", type=float, default=0.05, help="how long each row is sampled")
    parser.add_argument("--json", metavar="FILE")
    options = parser.parse_args()
    np.seterr(all="ignore")
    warnings.simplefilter("ignore", RuntimeWarning)
    names = [
        f"{family}: {fill(one, '_', '_')[0]}, {what}" for family, what, statements, _ in table() for one in statements
    ]
    if options.part:
        names = [name for name in names if any(part in name for part in options.part)]
    if options.quick:
        names = random.Random(time.time_ns()).sample(names, min(options.quick, len(names)))
    wanted = set(names)
    print(f"processor: {compare.processor()}; {options.threads} threads; {len(wanted)} rows")
    found, wrong = {}, []
    for family, row in rows(wanted.__contains__):
        name = f"{family}: {row.what}"
        if options.check:
            wrong += filter(None, [check(row)])
            continue
        least = compare.run(row, options.seconds, options.threads)[1]
        ours = least[f"ours {options.threads}"]
        found[name] = {"family": family, "us": ours / 1000} | {
            peer: ns / ours
            for peer in ("numpy", "torch")
            if (ns := least.get(peer if peer == "numpy" else f"torch {options.threads}")) is not None
        }
    if options.check:
        print(*wrong, sep="\n")
        sys.exit(f"{len(wrong)} rows differ from their peers" if wrong else 0)
    families = summary(found)
    if options.json:
        with open(options.json, "w") as file:
            json.dump(
                {"processor": compare.processor(), "threads": options.threads, "families": families, "all": found},
                file,
                indent=1,
            )


if __name__ == "__main__":
    main()
