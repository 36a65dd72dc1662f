# SPDX-License-Identifier: Apache-2.0
"""Operations of dask.array, each a function of a matrix of floats, one of integers, and a row of floats."""

import dask.array as da
import numpy as np


def _set_items(x, i, row):
    changed = x.copy()
    changed[1:5, ::2] = 9.0
    changed[7] = row[: x.shape[1]]
    changed[changed > 4] = 0.0
    return changed


def _stored(x, i, row):
    target = np.zeros(x.shape)
    da.store(x + 1, target, lock=False)
    return target


def _matmul_of_stacks(x, i, row):
    stack = da.stack([x, x + 1])
    return da.matmul(stack, stack.transpose(0, 2, 1))


# Name -> operation. A name that ends in "()" gives an array of no dimensions.
OPERATIONS = {
    "add": lambda x, i, row: x + i * 2 - row,
    "divide and power": lambda x, i, row: (x / (i + 1)) ** 2,
    "comparisons": lambda x, i, row: (x > 0.5) & (i != 3),
    "floor_divide and remainder": lambda x, i, row: (i // 3) * 10 + i % 3,
    "ufuncs": lambda x, i, row: np.exp(x) + np.sin(x) * da.hypot(x, row),
    "sum()": lambda x, i, row: x.sum(),
    "sum of an axis": lambda x, i, row: i.sum(axis=0),
    "sum with keepdims": lambda x, i, row: x.sum(axis=1, keepdims=True),
    "prod": lambda x, i, row: (x / 8 + 0.5).prod(axis=1),
    "mean": lambda x, i, row: x.mean(axis=0),
    "mean()": lambda x, i, row: i.mean(),
    "std": lambda x, i, row: x.std(axis=1),
    "var": lambda x, i, row: x.var(axis=0, ddof=1),
    "moment": lambda x, i, row: da.moment(x, 3, axis=0),
    "max": lambda x, i, row: x.max(axis=0),
    "min()": lambda x, i, row: x.min(),
    "any": lambda x, i, row: (x > 7).any(axis=0),
    "all()": lambda x, i, row: (x > -1).all(),
    "argmax": lambda x, i, row: x.argmax(axis=1),
    "argmin()": lambda x, i, row: x.argmin(),
    "nansum": lambda x, i, row: da.nansum(da.where(x > 3, np.nan, x), axis=0),
    "nanmean": lambda x, i, row: da.nanmean(da.where(x > 3, np.nan, x), axis=1),
    "nanmax": lambda x, i, row: da.nanmax(da.where(x > 6, np.nan, x), axis=0),
    "nanstd": lambda x, i, row: da.nanstd(da.where(x > 3, np.nan, x), axis=0),
    "ptp": lambda x, i, row: da.ptp(x, axis=0),
    "median": lambda x, i, row: da.median(x.rechunk((12, 4)), axis=0),
    "percentile": lambda x, i, row: da.percentile(row, [10, 50, 99], internal_method="dask"),
    "quantile": lambda x, i, row: da.quantile(x.rechunk((12, -1)), 0.25, axis=0),
    "cumsum": lambda x, i, row: x.cumsum(axis=0),
    "cumprod": lambda x, i, row: da.cumprod(x / 8 + 0.5, axis=1),
    "cumsum by blelloch": lambda x, i, row: da.cumsum(x, axis=0, method="blelloch"),
    "slicing": lambda x, i, row: x[2:9:3, ::-1],
    "integer indexing": lambda x, i, row: x[:, [3, 0, 5, 5]],
    "indexing by a mask": lambda x, i, row: x[x > 3],
    "indexing by a dask array": lambda x, i, row: row[(row * 0).astype("int64")[:3] + 2],
    "vindex": lambda x, i, row: x.vindex[[0, 5, 11], [1, 2, 3]],
    "take": lambda x, i, row: da.take(x, [4, 1, 1], axis=1),
    "None and Ellipsis": lambda x, i, row: x[..., None, 2:4],
    "setitem": _set_items,
    "rechunk": lambda x, i, row: x.rechunk((5, 7)),
    "reshape": lambda x, i, row: x.reshape(4, 3, -1),
    "ravel": lambda x, i, row: da.ravel(x),
    "transpose": lambda x, i, row: x.T,
    "moveaxis": lambda x, i, row: da.moveaxis(x[None], 0, -1),
    "swapaxes": lambda x, i, row: da.swapaxes(x, 0, 1),
    "squeeze": lambda x, i, row: da.squeeze(x[None, :, :1]),
    "expand_dims": lambda x, i, row: da.expand_dims(x, 1),
    "broadcast_to": lambda x, i, row: da.broadcast_to(row[: x.shape[1]], x.shape) + 0,
    "concatenate": lambda x, i, row: da.concatenate([x, x[:3]], axis=0),
    "concatenate of two types": lambda x, i, row: da.concatenate([x, i], axis=1),
    "stack": lambda x, i, row: da.stack([x, x + 1], axis=1),
    "block": lambda x, i, row: da.block([[x, x], [x, x]]),
    "where": lambda x, i, row: da.where(i % 2 == 0, x, -1.0),
    "choose": lambda x, i, row: da.choose(i % 2, [x, x * 10]),
    "select": lambda x, i, row: da.select([x < 2, x < 4], [x, x * 2], 7.0),
    "flip": lambda x, i, row: da.flip(x, 0),
    "roll": lambda x, i, row: da.roll(x, 5, axis=0),
    "rot90": lambda x, i, row: da.rot90(x),
    "repeat": lambda x, i, row: da.repeat(x, 2, axis=0),
    "tile": lambda x, i, row: da.tile(row, 2),
    "pad": lambda x, i, row: da.pad(x, 2, mode="constant", constant_values=3.0),
    "pad by reflection": lambda x, i, row: da.pad(x, 1, mode="reflect"),
    "diff": lambda x, i, row: da.diff(x, axis=0),
    "tril": lambda x, i, row: da.tril(x),
    "diagonal": lambda x, i, row: da.diagonal(x),
    "diag": lambda x, i, row: da.diag(row[:6]),
    "digitize": lambda x, i, row: da.digitize(x, np.array([1.0, 3.0, 5.0])),
    "isin": lambda x, i, row: da.isin(i, [1, 2, 3]),
    "isclose": lambda x, i, row: da.isclose(x, x + 1e-12),
    "isnan": lambda x, i, row: da.isnan(x),
    "clip": lambda x, i, row: da.clip(x, 1.0, 3.0),
    "round": lambda x, i, row: da.round(x * 1.3),
    "astype": lambda x, i, row: x.astype("int32"),
    "ones_like": lambda x, i, row: da.ones_like(x) + x,
    "full_like": lambda x, i, row: da.full_like(x, 5.0),
    "topk": lambda x, i, row: da.topk(x, 3, axis=1),
    "argtopk": lambda x, i, row: da.argtopk(x, 2, axis=0),
    "unique": lambda x, i, row: da.unique(i % 5),
    "bincount": lambda x, i, row: da.bincount((row * 0).astype("int64") + 2, minlength=4),
    "histogram": lambda x, i, row: da.histogram(x, bins=6, range=(0, 6))[0],
    "searchsorted": lambda x, i, row: da.searchsorted(da.arange(9, chunks=9), x),
    "flatnonzero": lambda x, i, row: da.flatnonzero(i % 3),
    "count_nonzero": lambda x, i, row: da.count_nonzero(i % 3, axis=0),
    "tensordot": lambda x, i, row: da.tensordot(x, x, axes=((0,), (0,))),
    "dot": lambda x, i, row: x.T.dot(x),
    "matmul": lambda x, i, row: x @ x.T,
    "matmul of stacks": _matmul_of_stacks,
    "vdot()": lambda x, i, row: da.vdot(row, row),
    "outer": lambda x, i, row: da.outer(row, row[:3]),
    "einsum": lambda x, i, row: da.einsum("ij,kj->ik", x, x),
    "norm()": lambda x, i, row: da.linalg.norm(x),
    "norm of rows": lambda x, i, row: da.linalg.norm(x, axis=1),
    "average": lambda x, i, row: da.average(x, axis=0, weights=da.ones_like(x[:, 0])),
    "map_blocks": lambda x, i, row: x.map_blocks(lambda block: block * 2 + 1),
    "map_overlap": lambda x, i, row: x.map_overlap(lambda block: block * 2, depth=1, boundary="reflect"),
    "apply_gufunc": lambda x, i, row: da.apply_gufunc(lambda b: b.mean(axis=-1), "(k)->()", x.rechunk((4, -1))),
    "apply_along_axis": lambda x, i, row: da.apply_along_axis(lambda line: line.sum(), 0, x, dtype="f8", shape=()),
    "reduction": lambda x, i, row: da.reduction(x, np.sum, np.sum, axis=0, dtype="f8"),
    "svd": lambda x, i, row: da.linalg.svd(x.rechunk((6, -1)))[1],
    "qr": lambda x, i, row: abs(da.linalg.qr(x.rechunk((8, -1)))[1]),
    "cov": lambda x, i, row: da.cov(x.T),
    "real": lambda x, i, row: da.real(x) + da.imag(x),
    "delete": lambda x, i, row: da.delete(x, [1, 3], axis=0),
    "insert": lambda x, i, row: da.insert(x, [1], 7.0, axis=0),
    "store": _stored,
}
