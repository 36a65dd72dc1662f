# SPDX-License-Identifier: Apache-2.0
"""Every function that NumPy has by the same name, of ten elements and of 2**20: a call may cost no more than NumPy's.

Run: python benchmarks/bench_functions.py [part of a row's name ...] [--json FILE] [--plot FILE]
"""

import os
import re
import tempfile

import numpy as np
from compare import Row, main

import dltensor as dl

# Statements of ``X``, which is dltensor or numpy: f, g float32; d float64; c complex64; i, j, k int64, of which k are positions;
# u uint8; b, e bool; s sorted float32; m, w matrices, w well conditioned. One line may show several forms of one function.
STATEMENTS = """
X.add(f, g); f + g; f + 1.0; X.add(m, m[0]); X.add(u, u)
X.subtract(f, g); X.multiply(f, g); X.multiply(c, c); X.divide(f, g)
X.pow(f, g); f**2; f**0.5; i**2; c**2
X.floor_divide(f, g); X.remainder(i, j); f // 2
X.abs(f); X.abs(c); X.negative(f); X.positive(f); X.sign(f); X.signbit(f); X.square(f); X.reciprocal(f); X.sqrt(f)
X.exp(f); X.exp(d); X.expm1(f); X.log(f); X.log1p(f); X.log2(f); X.log10(f); X.logaddexp(f, g)
X.sin(f); X.cos(f); X.tan(f); X.sinh(f); X.cosh(f); X.tanh(f); X.asin(f); X.acos(f); X.atan(f); X.atan2(f, g)
X.asinh(f); X.acosh(f + 1); X.atanh(f / 2); X.hypot(f, g); X.copysign(f, g); X.nextafter(f, g)
X.ceil(f); X.floor(f); X.trunc(f); X.round(f); X.isfinite(f); X.isinf(f); X.isnan(f)
X.conj(c); X.real(c); X.imag(c)
X.equal(f, g); X.not_equal(f, g); X.less(f, g); X.less_equal(f, g); X.greater(f, g); X.greater_equal(f, g)
X.maximum(f, g); X.minimum(f, g); X.clip(f, 0.2, 0.8); X.clip(i, 2, 800)
X.logical_and(b, e); X.logical_or(b, e); X.logical_xor(b, e); X.logical_not(b)
X.bitwise_and(i, j); X.bitwise_or(i, j); X.bitwise_xor(i, j); X.bitwise_invert(i)
X.bitwise_left_shift(i, j % 8); X.bitwise_right_shift(i, j % 8)
X.where(b, f, g); X.where(b, f, 0.0)
X.arange(size); X.arange(0.0, size); X.linspace(0, 1, size); X.zeros(size); X.ones(size); X.full(size, 2.5); X.empty(size); X.eye(side)
X.zeros_like(f); X.ones_like(f); X.full_like(f, 2.0); X.empty_like(f); X.tril(m); X.triu(m); X.meshgrid(r, r)
X.asarray(f); X.asarray([1.0, 2.0, 3.0]); X.asarray([[1, 2], [3, 4]]); X.asarray(f, copy=True); X.copy(f); X.from_dlpack(f)
X.astype(f, X.float64); X.astype(d, X.float32); X.astype(f, X.uint8)
X.isdtype(X.float32, 'real floating'); X.can_cast(X.int32, X.float64); X.result_type(f, i); X.finfo(X.float32); X.iinfo(X.int32)
X.broadcast_to(r, (3, side)); X.broadcast_arrays(r, m); X.broadcast_shapes((3, 1), (4,))
X.concat([f, g]); X.stack([f, g]); X.stack([f, g], axis=-1); X.unstack(m); X.expand_dims(f, axis=0); X.squeeze(m[:1], axis=0)
X.flip(f); X.roll(f, 3); X.roll(m, 3, axis=1); X.repeat(f, 2); X.tile(f, (2,)); X.reshape(f, (2, size // 2))
X.permute_dims(m, (1, 0)); X.moveaxis(m, 0, 1); X.matrix_transpose(m)
X.take(f, k, axis=0); X.take_along_axis(f, k, axis=0); X.nonzero(b); X.searchsorted(s, g)
X.sum(f); X.sum(d); X.sum(m, axis=0); X.sum(m, axis=1); X.mean(f); X.var(f); X.std(f); X.prod(f); X.max(f); X.min(i); X.ptp(f)
X.all(b); X.any(e); X.count_nonzero(b); X.argmax(f); X.argmin(m, axis=1)
X.nansum(f); X.nanmean(f); X.nanmax(f); X.nanmin(f); X.nanstd(f); X.nanvar(f); X.average(f, weights=g); X.median(f); X.quantile(f, 0.3)
X.cumulative_sum(f); X.cumulative_sum(i); X.cumulative_prod(f); X.diff(f)
X.sort(f); X.sort(m, axis=1); X.argsort(f); X.unique_values(i); X.unique_counts(i); X.unique_inverse(i); X.unique_all(i)
X.isin(i, j[:5]); X.bincount(i); X.histogram(f, 10)
X.allclose(f, f); X.isclose(f, g); X.array_equal(f, f)
X.matmul(w, w); f @ g; m @ r; r @ m; X.vecdot(f, g); X.vecdot(m, m); X.tensordot(w, w, axes=1); X.outer(r, r); X.kron(w[:4, :4], w[:4, :4])
X.cross(m[:, :3], m[:, :3]); X.einsum('ij,ij->i', m, m)
X.append(f, g); X.argwhere(b); X.array_split(f, 3); X.atleast_1d(f); X.atleast_2d(f); X.atleast_3d(f); X.block([[m, m], [m, m]])
X.column_stack((f, g)); X.delete(f, 3); X.diag(r); X.diagflat(r); X.diagonal(m); X.dsplit(X.reshape(f, (1, 1, size)), 2)
X.dstack((m, m)); X.flatnonzero(b); X.frombuffer(b'01234567'); X.hsplit(f, 2); X.hstack((f, g)); X.insert(f, 3, 1.0); X.ix_(k, k)
X.pad(f, 2); X.ravel_multi_index((k % 2, k % 3), (2, 3)); X.rot90(m); X.split(f, 2); X.swapaxes(m, 0, 1); X.tri(side)
X.tril_indices(side); X.triu_indices(side); X.trim_zeros(f); X.unravel_index(k, (2, size // 2)); X.vsplit(m, 2); X.vstack((f, g))
X.convolve(f, g[:5]); X.correlate(f, g[:5]); X.gradient(f); X.interp(f, s, g); X.trapezoid(f)
X.polyval(g[:5], f); X.vander(f, 4)
X.angle(c); X.cbrt(f); X.exp2(f); X.fmax(f, g); X.fmin(f, g); X.fmod(f, g); X.heaviside(f, g); X.modf(f); X.nan_to_num(f); X.sinc(f)
X.gcd(i, j); X.lcm(i % 1000, j % 1000); X.bitwise_count(i); X.packbits(b); X.unpackbits(u); X.divmod(f, g); X.frexp(f)
X.ldexp(f, i % 8); X.logaddexp2(f, g); X.real_if_close(c); X.unwrap(f); X.ediff1d(f); X.compress(b, f); X.extract(b, f)
X.place(f, b, g); X.putmask(f, b, g); X.choose(i % 2, (f, g)); X.piecewise(f, [b], [1.0]); X.indices((3, side)); X.fill_diagonal(m, 1.0)
X.apply_along_axis(X.sum, 0, w[:4, :4]); X.fromfunction(X.add, (3, side)); X.fromiter([1.0, 2.0], X.float32)
X.histogram_bin_edges(f); X.histogram2d(f, g); X.histogramdd((f, g)); X.get_printoptions(); X.set_printoptions(); X.printoptions(); X.may_share_memory(f, g)
X.common_type(f, d); X.min_scalar_type(7)
X.argpartition(f, 3); X.partition(f, 3); X.lexsort((f, g)); X.digitize(f, s[:5]); X.select([b, e], [f, g]); X.put_along_axis(f, k, g, 0)
X.unique(i); X.union1d(i, j); X.intersect1d(i, j); X.setdiff1d(i, j); X.setxor1d(i, j)
X.cov(m); X.corrcoef(m); X.percentile(f, 30); X.nanpercentile(f, 30); X.nanquantile(f, 0.3); X.nanmedian(f); X.nanprod(f)
X.nancumsum(f); X.nanargmax(f); X.nanargmin(f); X.trace(m); X.cumsum(f); X.cumprod(f); X.dot(r, r)
X.bartlett(size); X.blackman(size); X.hamming(size); X.hanning(size); X.geomspace(1, 9, size); X.logspace(0, 1, size)
X.linalg.inv(w); X.linalg.det(w); X.linalg.solve(w, w); X.linalg.qr(w); X.linalg.svd(w); X.linalg.eigh(w); X.linalg.cholesky(w @ w.T)
X.linalg.vector_norm(f); X.linalg.matrix_norm(m); X.linalg.trace(m); X.linalg.diagonal(m)
X.fft.fft(c); X.fft.rfft(f); X.fft.fftfreq(size); X.fft.fftshift(f)
X.save(path, f); X.load(path)
f[3]; f[2:5]; f[k]; f[b]; m[1, 2]; m[:, 1]; m.T; f.shape; f.dtype; len(f); float(f[3]); f.tolist(); f.copy(); -f; f == g
"""
# What computes with every element of a large product of matrices is bench_gemm's and bench_linalg's.
SMALL_ONLY = re.compile(r"linalg\.(inv|det|solve|qr|svd|eigh|cholesky)|matmul|tensordot|kron|save|load")
# How exact sums of products of float32 are, and that of their norms, no other library's are.
EXACT = re.compile(r"vecdot|_norm|average")


def statements():
    """Every statement of the table."""
    return [one.strip() for one in re.split(r"[;\n]", STATEMENTS) if one.strip()]


def operands(n, side):
    """Arrays by name, of n elements and of side x side."""
    random = np.random.default_rng(0)
    f = (random.random(n) * 0.8 + 0.1).astype(np.float32)
    i = random.integers(1, 1000, n)
    square = random.random((side, side)).astype(np.float32)
    made = {"f": f, "g": f[::-1].copy(), "d": f.astype(np.float64), "c": f + 1j * f[::-1], "i": i, "j": i[::-1].copy()}
    made |= {"k": random.integers(0, n, n), "u": i.astype(np.uint8), "b": i % 2 == 0, "e": i % 2 == 1, "s": np.sort(f)}
    return made | {"m": square, "r": square[0].copy(), "w": square + side * np.eye(side, dtype=np.float32)}


def rows():
    """Every statement on small operands, then on large ones."""
    with tempfile.TemporaryDirectory() as folder:
        for n, side in ((10, 4), (1 << 20, 1 << 10)):
            arrays = operands(n, side)
            names = {"dl": dl, "np": np, "size": n, "side": side, "path": os.path.join(folder, "one.npy")}
            names |= {"n" + name: array for name, array in arrays.items()}
            names |= {name: dl.asarray(array) for name, array in arrays.items()}
            np.save(names["path"], arrays["f"])
            for statement in statements():
                if n > 10 and SMALL_ONLY.search(statement):
                    continue
                gate = 0.1 if EXACT.search(statement) and n > 10 else 0.7
                ours = statement.replace("X.", "dl.")
                # Names of one letter that stand alone are the operands.
                theirs = re.sub(r"(?<![\w.'])([a-z])(?![\w'])(?!=)", r"n\1", statement)
                yield Row(
                    "function",
                    f"{statement}, {n}",
                    gate,
                    1.0,
                    ours,
                    {"numpy": theirs.replace("X.", "np.")},
                    names,
                    rest=0.12,
                )


if __name__ == "__main__":
    main(rows, __doc__.splitlines()[0])
