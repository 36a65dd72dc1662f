# SPDX-License-Identifier: Apache-2.0
"""Distributions composed of uniform, normal and exponential draws, in float64 and with the same bits everywhere.

Functions of the C library differ between processors, so exp and log are computed here by additions, multiplications and
divisions. A value takes four words of the sequence; attempts after a rejection read words at the same place of other
sequences. So value i depends on the seed and on i alone, and calls may be divided anywhere.
"""

from math import inf, pi, prod, sqrt

from .._core.convert import asarray, empty
from .._core.default_dtype import default_dtype
from .._core.foreign_text import quoted
from .._core.indexing import axis_of, integer_of, sequence_of
from .._ops import elementwise as ops
from .._ops.arguments import written
from .._ops.casting import where
from .._ops.dtypes import isdtype
from .._ops.manipulation import broadcast_shapes, broadcast_to, reshape, stack
from .._ops.reduce import all as all_of
from .._ops.reduce import max, sum
from .._ops.search import searchsorted
from .._ops.sort import argsort
from .._ops.take import nonzero, take, take_along_axis

_LN2 = 6.93147180369123816490e-01, 1.90821492927058770002e-10  # the high part ends with zeros: products are exact
_TINY = 2.0**-1022
_ATTEMPTS = 64  # of a value; one is rejected with a probability of at most 0.35
# Errors of Stirling's formula for the logarithms of 0! to 15! (Loader, 2000).
_FACTORIAL_ERRORS = (
    0.0, 0.0810614667953272582, 0.0413406959554092941, 0.0276779256849983391, 0.0207906721037650931,
    0.0166446911898211922, 0.0138761288230707480, 0.0118967099458917701, 0.0104112652619720965, 0.00925546218271273292,
    0.00833056343336287126, 0.00757367548795184079, 0.00694284010720952987, 0.00640899418800420707,
    0.00595137011275884774, 0.00555473355196280137,
)  # fmt: skip


# -- functions with the same bits on every processor


def _log(x):
    """The natural logarithm of positive numbers; those that are not normal count as the least normal one."""
    bits = ops.maximum(x, _TINY).view("int64")
    exponent = (bits - 0x3FE6A09E667F3BCD) >> 52
    part = (bits - (exponent << 52)).view("float64")  # from sqrt(1/2) to sqrt(2)
    s = (part - 1.0) / (part + 1.0)
    z = s * s
    series = z * (1 / 23) + 1 / 21
    for odd in range(19, 0, -2):
        series = series * z + 1 / odd
    exponent = exponent.astype("float64")
    result = exponent * _LN2[0] + (s * series * 2.0 + exponent * _LN2[1])
    return where(ops.equal(x, inf), inf, result)


def _power_of_two(exponent):
    return ((exponent + 1023) << 52).view("float64")


def _exp(x):
    x = ops.clip(x, -746.0, 710.0)
    k = ops.round(x * (1 / 0.6931471805599453))
    rest = (x - k * _LN2[0]) - k * _LN2[1]
    series = rest * (1 / 14) + 1.0
    for divisor in range(13, 0, -1):
        series = series * rest * (1 / divisor) + 1.0
    k = k.astype("int64")
    half = k >> 1
    return series * _power_of_two(half) * _power_of_two(k - half)


def _expm1(x):
    """exp(x) - 1, without cancellation near 0 (Kahan)."""
    u = _exp(x)
    near = (u - 1.0) * x / where(ops.equal(u, 1.0), 1.0, _log(u))
    return where(ops.equal(u, 1.0), x, where(ops.abs(x) < 1.0, near, u - 1.0))


def _log1p(x):
    """log(1 + x), without cancellation near 0 (Kahan)."""
    u = x + 1.0
    return where(ops.equal(u, 1.0), x, _log(u) * x / where(ops.equal(u, 1.0), 1.0, u - 1.0))


# -- arguments


def _tensor(value, name, func, expected, kinds):
    try:
        with default_dtype("float64"):  # Python floats are what they are
            x = asarray(value)
    except TypeError:
        x = None
    if x is None or not isdtype(x.dtype, kinds):
        raise TypeError(f"{func}: {name} must be {expected}, got {quoted(value)}")
    return x


def _parameter(value, name, func, expected, test):
    """A parameter as float64, where all elements pass the test."""
    x = _tensor(value, name, func, "real numbers", ("bool", "integral", "real floating")).astype("float64")
    if not all_of(test(x)).item():
        raise ValueError(f"{func}: {name} must be {expected}, got {quoted(value)}")
    return x


def _finite(value, name, func):
    return _parameter(value, name, func, "finite", ops.isfinite)


def _at_least_0(value, name, func):
    return _parameter(value, name, func, "finite and at least 0", lambda x: (x >= 0) & ops.isfinite(x))


def _positive(value, name, func):
    return _parameter(value, name, func, "finite and above 0", lambda x: (x > 0) & ops.isfinite(x))


def _probability(value, name, func):
    return _parameter(value, name, func, "between 0 and 1", lambda x: (x >= 0) & (x <= 1))


def _whole(value, name, func):
    return _at_least_0(_tensor(value, name, func, "integers", "integral"), name, func)


def _shape_of(size, func):
    items = sequence_of(size, "shape", func)
    shape = tuple(integer_of(item, "shape", func) for item in ((size,) if items is None else items))
    if min(shape, default=0) < 0:
        raise ValueError(f"{func}: extents must be at least 0, got shape {shape}")
    return shape


class _Words:
    """The words of all values of a call: four for each, and as many of other sequences for each further attempt."""

    def __init__(self, func, rng, size, device, parameters, more=()):
        """`more` is the shape of one value."""
        if device is None:  # that of parameters on a device, whose type has a higher number than the host's
            device = sorted([x.device for x in parameters], key=lambda one: one.type)[-1]
        shapes = [x.shape for x in parameters]
        self.shape = None if size is None else _shape_of(size, func)
        try:
            common = broadcast_shapes(*shapes)
            fits = self.shape is None or broadcast_shapes(self.shape, common) == self.shape
        except ValueError:
            fits = False
        if not fits:
            raise ValueError(
                f"{func}: parameters of shapes {', '.join(map(str, shapes))} do not broadcast"
                f"{'' if size is None else f' to {self.shape}'}"
            )
        self.shape = common if self.shape is None else self.shape
        self.count = prod((*self.shape, *more))
        empty((*self.shape, *more, 2), dtype="float64", device=device)  # errors before words are taken
        self.parameters = [
            (x if device is None else x.to(device)) if x.ndim == 0 else self._flat(x, device) for x in parameters
        ]
        self.device = device
        self.first = rng._part(self.count, func)

    def _flat(self, x, device):
        x = reshape(broadcast_to(x, self.shape), (-1,))
        return x if device is None else x.to(device)

    def draw(self, kind, number):
        """Two columns of float64 values, from the sequence of a number."""
        drawn = getattr(self.first._attempt(number), kind)(shape=(self.count, 2), dtype="float64", device=self.device)
        return drawn[:, 0].copy(), drawn[:, 1].copy()

    def result(self, values, dtype):
        return reshape(broadcast_to(values, (self.count,)), self.shape).astype(dtype)


def _part_of(x, at):
    return x if x.ndim == 0 else take(x, at, axis=0)


def _accepted(draws, attempt, parameters):
    """Values of the first attempt that is accepted; of the last one where none is."""
    result = at = rejected = None
    for number in range(_ATTEMPTS):
        columns = draws(number)
        if at is not None:
            columns = [take(column, at, axis=0) for column in columns]
            parameters = [_part_of(x, rejected) for x in parameters]
        values, accepted = attempt(*columns, *parameters)
        (rejected,) = nonzero(ops.logical_not(accepted))
        if at is None:
            result, at = values, rejected
        else:
            result[at] = values
            at = take(at, rejected, axis=0)
        if at.size == 0:
            break
    return result


def _by_size(draws, small, parameters, inverted, rejected):
    """Values by inversion where `small` is set, else by rejection."""
    if small.ndim == 0:
        return (inverted if small.item() else rejected)(draws, *parameters)
    result = small.astype("float64")
    for chosen, compute in ((small, inverted), (ops.logical_not(small), rejected)):
        (at,) = nonzero(chosen)
        if at.size:
            of_part = [_part_of(x, at) for x in parameters]
            result[at] = compute(lambda number, at=at: [take(x, at, axis=0) for x in draws(number)], *of_part)
    return result


def _inverted(u, first, ratio, parameters):
    """The least k for which the sum of probabilities 0 to k is above u; `ratio` is that of k to the one before."""
    if first.ndim == 0 and all(x.ndim == 0 for x in parameters):
        term, sums, k = first.item(), [], 0
        total, numbers = term, [x.item() for x in parameters]
        while k < 11 or term >= 2.0**-60:
            sums.append(total)
            k += 1
            term = term * ratio(k, *numbers)
            total += term
        return searchsorted(asarray(sums, dtype="float64").to(u.device), u, side="right").astype("float64")
    result = ops.multiply(u, 0.0)
    at, k, term = None, 0, first * (result + 1.0)
    total = term
    while True:
        goes_on = u >= total
        (left,) = nonzero(goes_on if k < 11 else goes_on & (term >= 2.0**-60))
        done = where(goes_on, 0.0, 0.0) + float(k)
        if at is None:
            result, at = done, left
        else:
            result[at] = done
            at = take(at, left, axis=0)
        if left.size == 0:
            return result
        k += 1
        u, term, total = (take(x, left, axis=0) for x in (u, term, total))
        parameters = [_part_of(x, left) for x in parameters]
        term = term * ratio(k, *parameters)
        total = total + term


# -- real values


def lognormal(rng, mean, sigma, size, dtype, device):
    mean, sigma = _finite(mean, "mean", "lognormal"), _at_least_0(sigma, "sigma", "lognormal")
    words = _Words("lognormal", rng, size, device, (mean, sigma))
    mean, sigma = words.parameters
    return words.result(_exp(words.draw("normal", 0)[0] * sigma + mean), dtype)


def _shifted(func, value):
    """A function that draws values with a location and a scale, of two exponential ones."""

    def draw(rng, loc, scale, size, dtype, device):
        words = _Words(func, rng, size, device, (_finite(loc, "loc", func), _at_least_0(scale, "scale", func)))
        loc, scale = words.parameters
        return words.result(
            value(*(ops.maximum(x, 2.0**-60) for x in words.draw("exponential", 0))) * scale + loc, dtype
        )

    return draw


laplace = _shifted("laplace", lambda first, second: first - second)
logistic = _shifted("logistic", lambda first, second: _log(first / second))
gumbel = _shifted("gumbel", lambda first, _: ops.negative(_log(first)))


def _of_exponential(func, name, read, value):
    """A function that draws values with one parameter, of an exponential one."""

    def draw(rng, parameter, size, dtype, device):
        words = _Words(func, rng, size, device, (read(parameter, name, func),))
        drawn = ops.maximum(words.draw("exponential", 0)[0], 2.0**-60)
        return words.result(value(drawn, *words.parameters), dtype)

    return draw


rayleigh = _of_exponential("rayleigh", "scale", _at_least_0, lambda e, scale: ops.sqrt(e * 2.0) * scale)
weibull = _of_exponential("weibull", "a", _positive, lambda e, a: _exp(_log(e) / a))
pareto = _of_exponential("pareto", "a", _positive, lambda e, a: _expm1(e / a))


def _gammas(words, first, alpha):
    """Gamma values of the parameter, or of the parameter + 1 if it is below 1, and exponents to lower them by.

    Marsaglia and Tsang, *A simple method for generating gamma variables*, 2000. `first` numbers sequences.
    """
    low = alpha < 1.0
    d = where(low, alpha + 1.0, alpha) - 1 / 3
    c = 1.0 / ops.sqrt(d * 9.0)
    kept = {}

    def draws(number):
        turn, column = divmod(number, 2)
        if turn not in kept:
            kept.clear()
            kept[turn] = words.draw("normal", first + 2 * turn + 1), words.draw("exponential", first + 2 * turn + 2)
        return [columns[column] for columns in kept[turn]]

    def attempt(x, e, d, c):
        root = x * c + 1.0
        v = ops.maximum(root, _TINY)
        v = v * v * v
        return d * v, (root > 0) & (ops.negative(e) < x * x * 0.5 + d - d * v + d * _log(v))

    result = _accepted(draws, attempt, [d, c])
    power = words.draw("exponential", first)[0] / where(low, ops.maximum(alpha, _TINY), 1.0)
    return result, where(low, power, 0.0)


def gamma(rng, shape, scale, size, dtype, device, func="gamma", name="shape"):
    words = _Words(func, rng, size, device, (_at_least_0(shape, name, func), _at_least_0(scale, "scale", func)))
    shape, scale = words.parameters
    values, power = _gammas(words, 0, shape)
    return words.result(values * _exp(ops.negative(power)) * scale, dtype)


def chisquare(rng, df, size, dtype, device):
    return gamma(rng, _positive(df, "df", "chisquare") * 0.5, 2.0, size, dtype, device, "chisquare", "df")


def beta(rng, a, b, size, dtype, device):
    words = _Words("beta", rng, size, device, (_positive(a, "a", "beta"), _positive(b, "b", "beta")))
    (first, power), (second, other) = (_gammas(words, 1000 * k, x) for k, x in enumerate(words.parameters))
    return words.result(1.0 / (_exp(_log(second) - _log(first) + (power - other)) + 1.0), dtype)


def multivariate_normal(rng, mean, cov, size, dtype, device):
    func = "multivariate_normal"
    mean, cov = _finite(mean, "mean", func), _finite(cov, "cov", func)
    if mean.ndim != 1 or cov.shape != mean.shape * 2:
        raise ValueError(f"{func}: expected a mean (n,) and a cov (n, n), got shapes {mean.shape} and {cov.shape}")
    n = mean.size
    lower, rest = cov * 0.0, cov.copy()
    largest = max(ops.abs(cov)).item() if n else 0.0
    if max(ops.abs(cov - cov.T), initial=0.0).item() > 1e-8 * largest:
        raise ValueError(f"{func}: cov must be symmetric")
    for k in range(n):  # Cholesky; a column without variance stays 0
        pivot = rest[k, k].item()
        column = rest[k:, k] / sqrt(pivot) if pivot > 1e-12 * largest else rest[k:, k] * 0.0
        rest[k:, k:] -= column[:, None] * column
        lower[k:, k] = column
    if max(ops.abs(rest), initial=0.0).item() > 1e-8 * largest:
        raise ValueError(f"{func}: cov must be positive semi-definite")
    shape = () if size is None else _shape_of(size, func)
    drawn = rng.normal(shape=(*shape, n), dtype="float64", device=mean.device if device is None else device)
    mean, lower = mean.to(drawn.device), lower.to(drawn.device)
    # The sum is exact and rounded once, unlike that of a product of matrices.
    return (sum(drawn[..., None, :] * lower, axis=-1) + mean).astype(dtype)


# -- whole numbers


def geometric(rng, p, size, device):
    p = _parameter(p, "p", "geometric", "above 0 and at most 1", lambda x: (x > 0) & (x <= 1))
    words = _Words("geometric", rng, size, device, (p,))
    rate = ops.negative(_log1p(ops.negative(words.parameters[0])))
    drawn = words.draw("exponential", 0)[0]
    return words.result(ops.maximum(ops.ceil(drawn / rate), 1.0), "int64")


def _factorial_error(k):
    table = asarray(_FACTORIAL_ERRORS, dtype="float64").to(k.device)
    big = ops.maximum(k, 16.0)
    square = big * big
    series = (1 / 12 - (1 / 360 - (1 / 1260 - (1 / 1680 - 1 / 1188 / square) / square) / square) / square) / big
    return where(k < 16.0, take(table, ops.minimum(k, 15.0).astype("int64"), axis=0), series)


def _deviance(x, mean):
    """x log(x / mean) + mean - x, without cancellation (Loader, *Fast and accurate computation of binomials*, 2000)."""
    v = (x - mean) / (x + mean)
    z = v * v
    series = z * 0.0
    for odd in range(19, 1, -2):
        series = (series + 1 / odd) * z
    near = (x - mean) * v + x * 2.0 * v * series
    return where(ops.abs(v) < 0.1, near, x * _log(x / mean) + mean - x)


def _rejected_poisson(draws, mean):
    """Hormann, *The transformed rejection method for generating Poisson random variables*, 1993: PTRS."""

    def attempt(u, v, mean, b):
        u = u - 0.5
        a = b * 0.02483 - 0.059
        near = 0.5 - ops.abs(u)
        k = ops.floor((a * 2.0 / near + b) * u + mean + 0.43)
        at = ops.maximum(k, 1.0)
        log_probability = ops.negative(_factorial_error(at) + _deviance(at, mean)) - _log(at * (2 * pi)) * 0.5
        log_probability = where(ops.equal(k, 0.0), ops.negative(mean), log_probability)
        below = v * (1.1328 / (b - 3.4) + 1.1239) / (a / (near * near) + b)
        return k, (k >= 0) & (_log(below) <= log_probability)

    return _accepted(draws, attempt, [mean, ops.sqrt(mean) * 2.53 + 0.931])


def poisson(rng, lam, size, device):
    words = _Words("poisson", rng, size, device, (_at_least_0(lam, "lam", "poisson"),))
    (lam,) = words.parameters

    def inverted(draws, lam):
        return _inverted(draws(0)[0], _exp(ops.negative(lam)), lambda k, lam: lam / k, [lam])

    values = _by_size(lambda number: words.draw("random", number), lam < 10.0, [lam], inverted, _rejected_poisson)
    return words.result(values, "int64")


def _rejected_binomial(draws, n, p):
    """Hormann, *The generation of binomial random variates*, 1993: BTRS."""

    def log_probability(k, n, p):
        inside = ops.clip(k, 1.0, n - 1.0)
        others = n - inside
        errors = _factorial_error(n) - _factorial_error(inside) - _factorial_error(others)
        away = _deviance(inside, n * p) + _deviance(others, n * (1.0 - p))
        result = errors - away + _log(n / (inside * others * (2 * pi))) * 0.5
        return where(ops.equal(k, 0.0), n * _log1p(ops.negative(p)), where(ops.equal(k, n), n * _log(p), result))

    def attempt(u, v, n, p, spread, top):
        u = u - 0.5
        b = spread * 2.53 + 1.15
        a = b * 0.0248 + p * 0.01 - 0.0873
        near = 0.5 - ops.abs(u)
        k = ops.floor((a * 2.0 / near + b) * u + n * p + 0.5)
        below = v * (5.1 / b + 2.83) * spread / (a / (near * near) + b)
        return k, (k >= 0) & (k <= n) & (_log(below) <= log_probability(ops.clip(k, 0.0, n), n, p) - top)

    top = log_probability(ops.floor((n + 1.0) * p), n, p)
    return _accepted(draws, attempt, [n, p, ops.sqrt(n * p * (1.0 - p)), top])


def _binomials(draws, n, p):
    """Binomial values of float64, by the less likely outcome."""
    turned = p > 0.5
    part = where(turned, 1.0 - p, p)

    def inverted(draws, n, p):
        first = _exp(n * _log1p(ops.negative(p)))
        found = _inverted(draws(0)[0], first, lambda k, n, odds: (n - k + 1) / k * odds, [n, p / (1.0 - p)])
        return ops.minimum(found, n)

    found = _by_size(draws, n * part < 10.0, [n, part], inverted, _rejected_binomial)
    return where(turned, n - found, found)


def binomial(rng, n, p, size, device):
    words = _Words("binomial", rng, size, device, (_whole(n, "n", "binomial"), _probability(p, "p", "binomial")))
    return words.result(_binomials(lambda number: words.draw("random", number), *words.parameters), "int64")


def multinomial(rng, n, pvals, size, device):
    func = "multinomial"
    n, pvals = _whole(n, "n", func), _probability(pvals, "pvals", func)
    if pvals.ndim != 1 or pvals.size == 0 or sum(pvals[:-1]).item() > 1 + 1e-12:
        raise ValueError(f"{func}: pvals must be a vector of probabilities whose sum is at most 1, got {quoted(pvals)}")
    kinds = pvals.size
    words = _Words(func, rng, size, device, (n,), (kinds - 1,))
    left = broadcast_to(words.parameters[0], (prod(words.shape),))
    rest, counts, kept = 1.0, [], {}
    for kind, p in enumerate(pvals[:-1].tolist()):

        def draws(number, kind=kind):
            if number not in kept:
                kept[number] = [reshape(x, (-1, kinds - 1)) for x in words.draw("random", number)]
            return [x[:, kind].copy() for x in kept[number]]

        share = 1.0 if p >= rest else p / rest
        counts.append(_binomials(draws, left, asarray(share, dtype="float64").to(left.device)))
        left, rest = left - counts[-1], rest - p
    return reshape(stack([*counts, left], axis=-1), (*words.shape, kinds)).astype("int64")


def permuted(rng, x, axis, out):
    x = asarray(x)
    axis = None if axis is None else axis_of(axis, x.ndim, "permuted")
    flat = reshape(x, (-1,)) if axis is None else x
    keys = rng.random(flat.shape, dtype="float64", device=x.device)
    along = 0 if axis is None else axis
    return written(reshape(take_along_axis(flat, argsort(keys, axis=along), axis=along), x.shape), out, "permuted")
