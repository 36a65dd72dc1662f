# SPDX-License-Identifier: Apache-2.0
# Types of elementwise.pyx: element-wise functions. What stands between "rows" and "end" is written by tools/stubs.py.
from typing import Final, TypedDict, TypeVar, overload

from .._core.tensor import Tensor
from ..cuda._launch import Launch
from ..typing import Operand, TensorLike

_Out = TypeVar("_Out", bound=TensorLike)

class _Row(TypedDict):
    name: str
    row: str
    operands: int
    kinds: list[str]
    result: str
    symbol: str
    text: str
    doc: str
    saturating: bool
    swapped: bool

OPS: Final[dict[str, _Row]]

# rows: functions
@overload
def abs(a: Operand, /, out: None = None, *, saturate: bool = False, launch: Launch | None = None) -> Tensor:
    """Take the absolute value; of the lowest integer it is itself."""
@overload
def abs(a: Operand, /, out: _Out, *, saturate: bool = False, launch: Launch | None = None) -> _Out:
    """Take the absolute value; of the lowest integer it is itself."""
@overload
def acos(a: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """Take the inverse cosine."""
@overload
def acos(a: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """Take the inverse cosine."""
@overload
def acosh(a: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """Take the inverse hyperbolic cosine."""
@overload
def acosh(a: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """Take the inverse hyperbolic cosine."""
@overload
def asin(a: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """Take the inverse sine."""
@overload
def asin(a: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """Take the inverse sine."""
@overload
def asinh(a: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """Take the inverse hyperbolic sine."""
@overload
def asinh(a: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """Take the inverse hyperbolic sine."""
@overload
def atan(a: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """Take the inverse tangent."""
@overload
def atan(a: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """Take the inverse tangent."""
@overload
def atanh(a: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """Take the inverse hyperbolic tangent."""
@overload
def atanh(a: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """Take the inverse hyperbolic tangent."""
@overload
def bitwise_invert(a: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """Flip every bit; of a bool, the truth."""
@overload
def bitwise_invert(a: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """Flip every bit; of a bool, the truth."""
@overload
def ceil(a: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """Round to an integer, upward."""
@overload
def ceil(a: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """Round to an integer, upward."""
@overload
def conj(a: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """Flip the sign of the imaginary part."""
@overload
def conj(a: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """Flip the sign of the imaginary part."""
@overload
def cos(a: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """Take the cosine of an angle in radians."""
@overload
def cos(a: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """Take the cosine of an angle in radians."""
@overload
def cosh(a: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """Take the hyperbolic cosine."""
@overload
def cosh(a: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """Take the hyperbolic cosine."""
@overload
def exp(a: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """Take the exponential."""
@overload
def exp(a: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """Take the exponential."""
@overload
def expm1(a: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """Take the exponential less 1, accurate near 0."""
@overload
def expm1(a: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """Take the exponential less 1, accurate near 0."""
@overload
def floor(a: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """Round to an integer, downward."""
@overload
def floor(a: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """Round to an integer, downward."""
@overload
def imag(a: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """Take the imaginary part."""
@overload
def imag(a: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """Take the imaginary part."""
@overload
def isfinite(a: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """True where the value is neither infinite nor NaN."""
@overload
def isfinite(a: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """True where the value is neither infinite nor NaN."""
@overload
def isinf(a: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """True where the value is infinite."""
@overload
def isinf(a: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """True where the value is infinite."""
@overload
def isnan(a: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """True where the value is NaN."""
@overload
def isnan(a: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """True where the value is NaN."""
@overload
def log(a: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """Take the natural logarithm."""
@overload
def log(a: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """Take the natural logarithm."""
@overload
def log1p(a: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """Take the logarithm of 1 + a, accurate near 0."""
@overload
def log1p(a: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """Take the logarithm of 1 + a, accurate near 0."""
@overload
def log2(a: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """Take the logarithm to base 2."""
@overload
def log2(a: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """Take the logarithm to base 2."""
@overload
def log10(a: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """Take the logarithm to base 10."""
@overload
def log10(a: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """Take the logarithm to base 10."""
@overload
def logical_not(a: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """True where the value is 0."""
@overload
def logical_not(a: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """True where the value is 0."""
@overload
def negative(a: Operand, /, out: None = None, *, saturate: bool = False, launch: Launch | None = None) -> Tensor:
    """Flip the sign; integers wrap."""
@overload
def negative(a: Operand, /, out: _Out, *, saturate: bool = False, launch: Launch | None = None) -> _Out:
    """Flip the sign; integers wrap."""
@overload
def positive(a: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """Keep the value."""
@overload
def positive(a: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """Keep the value."""
@overload
def real(a: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """Take the real part."""
@overload
def real(a: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """Take the real part."""
@overload
def reciprocal(a: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """Divide 1 by the value."""
@overload
def reciprocal(a: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """Divide 1 by the value."""
@overload
def round(a: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """Round to the nearest integer, half to even."""
@overload
def round(a: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """Round to the nearest integer, half to even."""
@overload
def sign(a: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """-1, 0 or 1 by the sign; NaN stays; of a complex value a / abs(a)."""
@overload
def sign(a: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """-1, 0 or 1 by the sign; NaN stays; of a complex value a / abs(a)."""
@overload
def signbit(a: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """True where the sign bit is set, also of -0.0."""
@overload
def signbit(a: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """True where the sign bit is set, also of -0.0."""
@overload
def sin(a: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """Take the sine of an angle in radians."""
@overload
def sin(a: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """Take the sine of an angle in radians."""
@overload
def sinh(a: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """Take the hyperbolic sine."""
@overload
def sinh(a: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """Take the hyperbolic sine."""
@overload
def sqrt(a: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """Take the square root."""
@overload
def sqrt(a: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """Take the square root."""
@overload
def square(a: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """Multiply the value by itself."""
@overload
def square(a: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """Multiply the value by itself."""
@overload
def tan(a: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """Take the tangent of an angle in radians."""
@overload
def tan(a: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """Take the tangent of an angle in radians."""
@overload
def tanh(a: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """Take the hyperbolic tangent."""
@overload
def tanh(a: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """Take the hyperbolic tangent."""
@overload
def trunc(a: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """Round to an integer, toward 0."""
@overload
def trunc(a: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """Round to an integer, toward 0."""
@overload
def add(
    a: Operand,
    b: Operand,
    /,
    out: None = None,
    *,
    saturate: bool = False,
    launch: Launch | None = None,
) -> Tensor:
    """Add; integers wrap, of two bools it is their or."""
@overload
def add(a: Operand, b: Operand, /, out: _Out, *, saturate: bool = False, launch: Launch | None = None) -> _Out:
    """Add; integers wrap, of two bools it is their or."""
@overload
def atan2(a: Operand, b: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """Take the angle of the point (b, a) in radians."""
@overload
def atan2(a: Operand, b: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """Take the angle of the point (b, a) in radians."""
@overload
def bitwise_and(a: Operand, b: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """Keep the bits that both have."""
@overload
def bitwise_and(a: Operand, b: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """Keep the bits that both have."""
@overload
def bitwise_left_shift(a: Operand, b: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """Shift left; by the width or more, or by less than 0, gives 0."""
@overload
def bitwise_left_shift(a: Operand, b: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """Shift left; by the width or more, or by less than 0, gives 0."""
@overload
def bitwise_or(a: Operand, b: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """Keep the bits that either has."""
@overload
def bitwise_or(a: Operand, b: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """Keep the bits that either has."""
@overload
def bitwise_right_shift(a: Operand, b: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """Shift right, keeping the sign; by the width or more leaves only that."""
@overload
def bitwise_right_shift(a: Operand, b: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """Shift right, keeping the sign; by the width or more leaves only that."""
@overload
def bitwise_xor(a: Operand, b: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """Keep the bits that one of the two has."""
@overload
def bitwise_xor(a: Operand, b: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """Keep the bits that one of the two has."""
@overload
def copysign(a: Operand, b: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """Give the first value the sign of the second."""
@overload
def copysign(a: Operand, b: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """Give the first value the sign of the second."""
@overload
def divide(
    a: Operand,
    b: Operand,
    /,
    out: None = None,
    *,
    saturate: bool = False,
    launch: Launch | None = None,
) -> Tensor:
    """Divide."""
@overload
def divide(a: Operand, b: Operand, /, out: _Out, *, saturate: bool = False, launch: Launch | None = None) -> _Out:
    """Divide."""
@overload
def equal(a: Operand, b: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """True where both are equal; NaN equals nothing."""
@overload
def equal(a: Operand, b: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """True where both are equal; NaN equals nothing."""
@overload
def floor_divide(a: Operand, b: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """Divide and round downward; an integer divided by 0 is 0."""
@overload
def floor_divide(a: Operand, b: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """Divide and round downward; an integer divided by 0 is 0."""
@overload
def greater(a: Operand, b: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """True where the first is greater."""
@overload
def greater(a: Operand, b: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """True where the first is greater."""
@overload
def greater_equal(a: Operand, b: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """True where the first is greater or equal."""
@overload
def greater_equal(a: Operand, b: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """True where the first is greater or equal."""
@overload
def hypot(a: Operand, b: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """Take the length of the vector (a, b)."""
@overload
def hypot(a: Operand, b: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """Take the length of the vector (a, b)."""
@overload
def less(a: Operand, b: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """True where the first is less."""
@overload
def less(a: Operand, b: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """True where the first is less."""
@overload
def less_equal(a: Operand, b: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """True where the first is less or equal."""
@overload
def less_equal(a: Operand, b: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """True where the first is less or equal."""
@overload
def logaddexp(a: Operand, b: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """Add in the exponents without overflow."""
@overload
def logaddexp(a: Operand, b: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """Add in the exponents without overflow."""
@overload
def logical_and(a: Operand, b: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """True where both are not 0."""
@overload
def logical_and(a: Operand, b: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """True where both are not 0."""
@overload
def logical_or(a: Operand, b: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """True where either is not 0."""
@overload
def logical_or(a: Operand, b: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """True where either is not 0."""
@overload
def logical_xor(a: Operand, b: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """True where one of the two is not 0."""
@overload
def logical_xor(a: Operand, b: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """True where one of the two is not 0."""
@overload
def maximum(a: Operand, b: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """Take the greater; NaN where either is NaN."""
@overload
def maximum(a: Operand, b: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """Take the greater; NaN where either is NaN."""
@overload
def minimum(a: Operand, b: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """Take the lesser; NaN where either is NaN."""
@overload
def minimum(a: Operand, b: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """Take the lesser; NaN where either is NaN."""
@overload
def multiply(
    a: Operand,
    b: Operand,
    /,
    out: None = None,
    *,
    saturate: bool = False,
    launch: Launch | None = None,
) -> Tensor:
    """Multiply; integers wrap, of two bools it is their and."""
@overload
def multiply(a: Operand, b: Operand, /, out: _Out, *, saturate: bool = False, launch: Launch | None = None) -> _Out:
    """Multiply; integers wrap, of two bools it is their and."""
@overload
def nextafter(a: Operand, b: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """Take the next value toward the second."""
@overload
def nextafter(a: Operand, b: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """Take the next value toward the second."""
@overload
def not_equal(a: Operand, b: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """True where the two differ; NaN differs from everything."""
@overload
def not_equal(a: Operand, b: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """True where the two differ; NaN differs from everything."""
@overload
def pow(a: Operand, b: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """Raise to a power; integers to negative elements of b are 0, 1 or -1."""
@overload
def pow(a: Operand, b: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """Raise to a power; integers to negative elements of b are 0, 1 or -1."""
@overload
def remainder(a: Operand, b: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """What floor_divide leaves, with the sign of b; an integer by 0 is 0."""
@overload
def remainder(a: Operand, b: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """What floor_divide leaves, with the sign of b; an integer by 0 is 0."""
@overload
def subtract(
    a: Operand,
    b: Operand,
    /,
    out: None = None,
    *,
    saturate: bool = False,
    launch: Launch | None = None,
) -> Tensor:
    """Subtract; integers wrap."""
@overload
def subtract(a: Operand, b: Operand, /, out: _Out, *, saturate: bool = False, launch: Launch | None = None) -> _Out:
    """Subtract; integers wrap."""
@overload
def clip(a: Operand, b: Operand, c: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """Keep the value between a lowest and a highest; NaN stays."""
@overload
def clip(a: Operand, b: Operand, c: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """Keep the value between a lowest and a highest; NaN stays."""
@overload
def fma(
    a: Operand,
    b: Operand,
    c: Operand,
    /,
    out: None = None,
    *,
    saturate: bool = False,
    launch: Launch | None = None,
) -> Tensor:
    """Multiply and add; one rounding for floats, integers wrap."""
@overload
def fma(
    a: Operand,
    b: Operand,
    c: Operand,
    /,
    out: _Out,
    *,
    saturate: bool = False,
    launch: Launch | None = None,
) -> _Out:
    """Multiply and add; one rounding for floats, integers wrap."""
@overload
def sub(
    a: Operand,
    b: Operand,
    /,
    out: None = None,
    *,
    saturate: bool = False,
    launch: Launch | None = None,
) -> Tensor:
    """Subtract; integers wrap."""
@overload
def sub(a: Operand, b: Operand, /, out: _Out, *, saturate: bool = False, launch: Launch | None = None) -> _Out:
    """Subtract; integers wrap."""
@overload
def rsub(
    a: Operand,
    b: Operand,
    /,
    out: None = None,
    *,
    saturate: bool = False,
    launch: Launch | None = None,
) -> Tensor:
    """Subtract; integers wrap."""
@overload
def rsub(a: Operand, b: Operand, /, out: _Out, *, saturate: bool = False, launch: Launch | None = None) -> _Out:
    """Subtract; integers wrap."""
@overload
def mul(
    a: Operand,
    b: Operand,
    /,
    out: None = None,
    *,
    saturate: bool = False,
    launch: Launch | None = None,
) -> Tensor:
    """Multiply; integers wrap, of two bools it is their and."""
@overload
def mul(a: Operand, b: Operand, /, out: _Out, *, saturate: bool = False, launch: Launch | None = None) -> _Out:
    """Multiply; integers wrap, of two bools it is their and."""
@overload
def div(
    a: Operand,
    b: Operand,
    /,
    out: None = None,
    *,
    saturate: bool = False,
    launch: Launch | None = None,
) -> Tensor:
    """Divide."""
@overload
def div(a: Operand, b: Operand, /, out: _Out, *, saturate: bool = False, launch: Launch | None = None) -> _Out:
    """Divide."""
@overload
def rdiv(
    a: Operand,
    b: Operand,
    /,
    out: None = None,
    *,
    saturate: bool = False,
    launch: Launch | None = None,
) -> Tensor:
    """Divide."""
@overload
def rdiv(a: Operand, b: Operand, /, out: _Out, *, saturate: bool = False, launch: Launch | None = None) -> _Out:
    """Divide."""
@overload
def lt(a: Operand, b: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """True where the first is less."""
@overload
def lt(a: Operand, b: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """True where the first is less."""
@overload
def le(a: Operand, b: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """True where the first is less or equal."""
@overload
def le(a: Operand, b: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """True where the first is less or equal."""
@overload
def gt(a: Operand, b: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """True where the first is greater."""
@overload
def gt(a: Operand, b: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """True where the first is greater."""
@overload
def ge(a: Operand, b: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """True where the first is greater or equal."""
@overload
def ge(a: Operand, b: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """True where the first is greater or equal."""
@overload
def eq(a: Operand, b: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """True where both are equal; NaN equals nothing."""
@overload
def eq(a: Operand, b: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """True where both are equal; NaN equals nothing."""
@overload
def ne(a: Operand, b: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """True where the two differ; NaN differs from everything."""
@overload
def ne(a: Operand, b: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """True where the two differ; NaN differs from everything."""
# end
