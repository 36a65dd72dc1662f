# SPDX-License-Identifier: Apache-2.0
"""Print the table of native/ops/elementary/gamma_zeros.h, computed by mpmath (group `accuracy`).

Between two of its poles the logarithm of the gamma function crosses 0 twice. About each zero z it is
`value + slope d + c2 d^2 + ...` of the distance d = x - z; the polynomial is fitted at Chebyshev's points of the range
in which the function is below 0.127, for a relative error of at most 2^-59. From -2.69 to -2.54, where the function
stays between -0.12 and -0.05, the middle of the range stands for a zero.
"""

import mpmath

TERMS, LARGEST, ERROR = 18, mpmath.mpf("0.127"), mpmath.mpf(2) ** -59
# The ranges of three rows that would overlap.
RANGES = {(2, -1): ("-2.54", "-2.385"), (2, 1): ("-2.69", "-2.54"), (3, 1): ("-2.80", "-2.69")}
MIDDLE = "-2.615"


def function(x):
    return mpmath.log(abs(mpmath.gamma(x)))


def bisect(is_before, low, high):
    for _ in range(400):
        middle = (low + high) / 2
        low, high = (middle, high) if is_before(middle) else (low, middle)
    return low


def zero(n, side):
    """The zero next to -n, on the side of the sign: there the function falls from the pole."""
    return side * bisect(lambda d: function(-n + side * d) > 0, mpmath.mpf(10) ** -30, mpmath.mpf("0.4583")) - n


def range_of(n, side, z):
    if (n, side) in RANGES:
        return [mpmath.mpf(end) - z for end in RANGES[n, side]]
    far = abs(z + n) * mpmath.mpf("0.5")
    return [sign * bisect(lambda d, s=sign: abs(function(z + s * d)) < LARGEST, mpmath.mpf(0), far) for sign in (-1, 1)]


def fitted(z, value, low, high, terms):
    """Coefficients of (function - value) / d, and the largest relative error found."""
    scale = max(-low, high)
    points = [
        (low + high) / 2 + (high - low) / 2 * mpmath.cos(mpmath.pi * (2 * i + 1) / (2 * terms)) for i in range(terms)
    ]
    powers = mpmath.matrix([[(d / scale) ** k for k in range(terms)] for d in points])
    wanted = mpmath.matrix([(function(z + d) - value) / d for d in points])
    c = [c / scale**k for k, c in enumerate(mpmath.lu_solve(powers, wanted))]
    tried = [low + (high - low) * (i + mpmath.mpf("0.3")) / 200 for i in range(200)]
    errors = [abs((value + d * mpmath.polyval(c[::-1], d)) / function(z + d) - 1) for d in tried]
    return c, max(errors)


def row(n, side):
    is_middle = (n, side) == (2, 1)
    z = mpmath.mpf(float(MIDDLE)) if is_middle else zero(n, side)
    value = function(z) if is_middle else mpmath.mpf(0)
    low, high = range_of(n, side, z)
    for terms in range(10, TERMS + 1):
        c, error = fitted(z, value, low, high, terms)
        if error < ERROR:
            break
    assert error < ERROR, (n, side, mpmath.log(error, 2))
    pairs = [part for v in (z, value, c[0]) for part in (float(v), float(v - float(v)))]
    return [*pairs, *map(float, c[1:]), *[0.0] * (TERMS - terms)]


def written(number):
    if number == 0:
        return "0"
    mantissa, _, exponent = number.hex().partition("p")
    return f"{mantissa.rstrip('0').rstrip('.')}p{int(exponent)}"


if __name__ == "__main__":
    mpmath.mp.dps = 120
    for n in range(2, 17):
        for side in (-1, 1):
            line = "  {"
            for number in [written(v) for v in row(n, side)]:
                if len(line) + len(number) > 124:
                    print(line)
                    line = "    "
                line += f" {number},"
            print(line.rstrip(",") + "},")
