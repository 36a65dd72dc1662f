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
    """Compute the absolute value; that of the lowest integer is that integer."""
@overload
def abs(a: Operand, /, out: _Out, *, saturate: bool = False, launch: Launch | None = None) -> _Out:
    """Compute the absolute value; that of the lowest integer is that integer."""
@overload
def acos(a: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """Compute the inverse cosine, in radians."""
@overload
def acos(a: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """Compute the inverse cosine, in radians."""
@overload
def acosh(a: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """Compute the inverse hyperbolic cosine."""
@overload
def acosh(a: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """Compute the inverse hyperbolic cosine."""
@overload
def asin(a: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """Compute the inverse sine, in radians."""
@overload
def asin(a: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """Compute the inverse sine, in radians."""
@overload
def asinh(a: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """Compute the inverse hyperbolic sine."""
@overload
def asinh(a: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """Compute the inverse hyperbolic sine."""
@overload
def atan(a: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """Compute the inverse tangent, in radians."""
@overload
def atan(a: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """Compute the inverse tangent, in radians."""
@overload
def atanh(a: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """Compute the inverse hyperbolic tangent."""
@overload
def atanh(a: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """Compute the inverse hyperbolic tangent."""
@overload
def bitwise_invert(a: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """Invert every bit; for bools, compute the logical not."""
@overload
def bitwise_invert(a: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """Invert every bit; for bools, compute the logical not."""
@overload
def ceil(a: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """Round up to an integer."""
@overload
def ceil(a: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """Round up to an integer."""
@overload
def conj(a: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """Compute the complex conjugate."""
@overload
def conj(a: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """Compute the complex conjugate."""
@overload
def cos(a: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """Compute the cosine of an angle in radians."""
@overload
def cos(a: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """Compute the cosine of an angle in radians."""
@overload
def cosh(a: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """Compute the hyperbolic cosine."""
@overload
def cosh(a: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """Compute the hyperbolic cosine."""
@overload
def exp(a: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """Compute the exponential function."""
@overload
def exp(a: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """Compute the exponential function."""
@overload
def expm1(a: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """Compute exp(a) - 1, accurate near 0."""
@overload
def expm1(a: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """Compute exp(a) - 1, accurate near 0."""
@overload
def floor(a: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """Round down to an integer."""
@overload
def floor(a: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """Round down to an integer."""
@overload
def imag(a: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """Return the imaginary part."""
@overload
def imag(a: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """Return the imaginary part."""
@overload
def isfinite(a: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """Test whether each element is neither infinite nor NaN."""
@overload
def isfinite(a: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """Test whether each element is neither infinite nor NaN."""
@overload
def isinf(a: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """Test whether each element is infinite."""
@overload
def isinf(a: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """Test whether each element is infinite."""
@overload
def isnan(a: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """Test whether each element is NaN."""
@overload
def isnan(a: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """Test whether each element is NaN."""
@overload
def log(a: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """Compute the natural logarithm."""
@overload
def log(a: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """Compute the natural logarithm."""
@overload
def log1p(a: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """Compute log(1 + a), accurate near 0."""
@overload
def log1p(a: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """Compute log(1 + a), accurate near 0."""
@overload
def log2(a: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """Compute the logarithm to base 2."""
@overload
def log2(a: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """Compute the logarithm to base 2."""
@overload
def log10(a: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """Compute the logarithm to base 10."""
@overload
def log10(a: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """Compute the logarithm to base 10."""
@overload
def logical_not(a: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """Test whether each element is 0."""
@overload
def logical_not(a: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """Test whether each element is 0."""
@overload
def negative(a: Operand, /, out: None = None, *, saturate: bool = False, launch: Launch | None = None) -> Tensor:
    """Negate each element; integers wrap."""
@overload
def negative(a: Operand, /, out: _Out, *, saturate: bool = False, launch: Launch | None = None) -> _Out:
    """Negate each element; integers wrap."""
@overload
def positive(a: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """Return each element unchanged."""
@overload
def positive(a: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """Return each element unchanged."""
@overload
def real(a: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """Return the real part."""
@overload
def real(a: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """Return the real part."""
@overload
def reciprocal(a: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """Compute 1 / a."""
@overload
def reciprocal(a: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """Compute 1 / a."""
@overload
def round(a: Operand, /, out: int | None = None, *, decimals: int = 0, launch: Launch | None = None) -> Tensor:
    """Round to the nearest integer, half to even."""
@overload
def round(a: Operand, /, out: _Out, *, decimals: int = 0, launch: Launch | None = None) -> _Out:
    """Round to the nearest integer, half to even."""
@overload
def sign(a: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """Return the sign: -1, 0 or 1; NaN for NaN; a / abs(a) for complex elements."""
@overload
def sign(a: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """Return the sign: -1, 0 or 1; NaN for NaN; a / abs(a) for complex elements."""
@overload
def signbit(a: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """Test whether the sign bit is set, as it is for -0.0."""
@overload
def signbit(a: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """Test whether the sign bit is set, as it is for -0.0."""
@overload
def sin(a: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """Compute the sine of an angle in radians."""
@overload
def sin(a: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """Compute the sine of an angle in radians."""
@overload
def sinh(a: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """Compute the hyperbolic sine."""
@overload
def sinh(a: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """Compute the hyperbolic sine."""
@overload
def sqrt(a: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """Compute the square root."""
@overload
def sqrt(a: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """Compute the square root."""
@overload
def square(a: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """Compute the square."""
@overload
def square(a: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """Compute the square."""
@overload
def tan(a: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """Compute the tangent of an angle in radians."""
@overload
def tan(a: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """Compute the tangent of an angle in radians."""
@overload
def tanh(a: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """Compute the hyperbolic tangent."""
@overload
def tanh(a: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """Compute the hyperbolic tangent."""
@overload
def trunc(a: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """Round toward 0 to an integer."""
@overload
def trunc(a: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """Round toward 0 to an integer."""
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
    """Add; integers wrap, and the sum of two bools is their logical or."""
@overload
def add(a: Operand, b: Operand, /, out: _Out, *, saturate: bool = False, launch: Launch | None = None) -> _Out:
    """Add; integers wrap, and the sum of two bools is their logical or."""
@overload
def atan2(a: Operand, b: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """Compute the angle of the point (b, a), in radians."""
@overload
def atan2(a: Operand, b: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """Compute the angle of the point (b, a), in radians."""
@overload
def bitwise_and(a: Operand, b: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """Compute the bitwise and."""
@overload
def bitwise_and(a: Operand, b: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """Compute the bitwise and."""
@overload
def bitwise_left_shift(a: Operand, b: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """Shift bits left; a shift by the width or more, or by less than 0, gives 0."""
@overload
def bitwise_left_shift(a: Operand, b: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """Shift bits left; a shift by the width or more, or by less than 0, gives 0."""
@overload
def bitwise_or(a: Operand, b: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """Compute the bitwise or."""
@overload
def bitwise_or(a: Operand, b: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """Compute the bitwise or."""
@overload
def bitwise_right_shift(a: Operand, b: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """Shift bits right, keeping the sign; a shift by the width or more leaves only the sign."""
@overload
def bitwise_right_shift(a: Operand, b: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """Shift bits right, keeping the sign; a shift by the width or more leaves only the sign."""
@overload
def bitwise_xor(a: Operand, b: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """Compute the bitwise exclusive or."""
@overload
def bitwise_xor(a: Operand, b: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """Compute the bitwise exclusive or."""
@overload
def copysign(a: Operand, b: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """Return the first value with the sign of the second."""
@overload
def copysign(a: Operand, b: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """Return the first value with the sign of the second."""
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
    """Test for equality; NaN equals nothing."""
@overload
def equal(a: Operand, b: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """Test for equality; NaN equals nothing."""
@overload
def floor_divide(a: Operand, b: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """Divide and round down; an integer divided by 0 gives 0."""
@overload
def floor_divide(a: Operand, b: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """Divide and round down; an integer divided by 0 gives 0."""
@overload
def greater(a: Operand, b: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """Test whether a is greater than b."""
@overload
def greater(a: Operand, b: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """Test whether a is greater than b."""
@overload
def greater_equal(a: Operand, b: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """Test whether a is greater than or equal to b."""
@overload
def greater_equal(a: Operand, b: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """Test whether a is greater than or equal to b."""
@overload
def hypot(a: Operand, b: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """Compute the length of the vector (a, b)."""
@overload
def hypot(a: Operand, b: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """Compute the length of the vector (a, b)."""
@overload
def less(a: Operand, b: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """Test whether a is less than b."""
@overload
def less(a: Operand, b: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """Test whether a is less than b."""
@overload
def less_equal(a: Operand, b: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """Test whether a is less than or equal to b."""
@overload
def less_equal(a: Operand, b: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """Test whether a is less than or equal to b."""
@overload
def logaddexp(a: Operand, b: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """Compute log(exp(a) + exp(b)) without overflow."""
@overload
def logaddexp(a: Operand, b: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """Compute log(exp(a) + exp(b)) without overflow."""
@overload
def logical_and(a: Operand, b: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """Test whether both elements are nonzero."""
@overload
def logical_and(a: Operand, b: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """Test whether both elements are nonzero."""
@overload
def logical_or(a: Operand, b: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """Test whether at least one element is nonzero."""
@overload
def logical_or(a: Operand, b: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """Test whether at least one element is nonzero."""
@overload
def logical_xor(a: Operand, b: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """Test whether exactly one element is nonzero."""
@overload
def logical_xor(a: Operand, b: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """Test whether exactly one element is nonzero."""
@overload
def maximum(a: Operand, b: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """Return the greater element; NaN where either is NaN."""
@overload
def maximum(a: Operand, b: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """Return the greater element; NaN where either is NaN."""
@overload
def minimum(a: Operand, b: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """Return the lesser element; NaN where either is NaN."""
@overload
def minimum(a: Operand, b: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """Return the lesser element; NaN where either is NaN."""
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
    """Multiply; integers wrap, and the product of two bools is their logical and."""
@overload
def multiply(a: Operand, b: Operand, /, out: _Out, *, saturate: bool = False, launch: Launch | None = None) -> _Out:
    """Multiply; integers wrap, and the product of two bools is their logical and."""
@overload
def nextafter(a: Operand, b: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """Return the next representable value after a in the direction of b."""
@overload
def nextafter(a: Operand, b: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """Return the next representable value after a in the direction of b."""
@overload
def not_equal(a: Operand, b: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """Test for inequality; NaN is unequal to everything."""
@overload
def not_equal(a: Operand, b: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """Test for inequality; NaN is unequal to everything."""
@overload
def pow(a: Operand, b: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """Raise to a power; integers raised to negative elements of b give 0, 1 or -1."""
@overload
def pow(a: Operand, b: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """Raise to a power; integers raised to negative elements of b give 0, 1 or -1."""
@overload
def remainder(a: Operand, b: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """Compute the remainder of floor_divide, with the sign of b; an integer by 0 gives 0."""
@overload
def remainder(a: Operand, b: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """Compute the remainder of floor_divide, with the sign of b; an integer by 0 gives 0."""
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
    """Limit each element to the range from b to c; NaN stays NaN."""
@overload
def clip(a: Operand, b: Operand, c: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """Limit each element to the range from b to c; NaN stays NaN."""
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
    """Multiply and add; floats are rounded once, integers wrap."""
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
    """Multiply and add; floats are rounded once, integers wrap."""
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
    """Multiply; integers wrap, and the product of two bools is their logical and."""
@overload
def mul(a: Operand, b: Operand, /, out: _Out, *, saturate: bool = False, launch: Launch | None = None) -> _Out:
    """Multiply; integers wrap, and the product of two bools is their logical and."""
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
    """Test whether a is less than b."""
@overload
def lt(a: Operand, b: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """Test whether a is less than b."""
@overload
def le(a: Operand, b: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """Test whether a is less than or equal to b."""
@overload
def le(a: Operand, b: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """Test whether a is less than or equal to b."""
@overload
def gt(a: Operand, b: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """Test whether a is greater than b."""
@overload
def gt(a: Operand, b: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """Test whether a is greater than b."""
@overload
def ge(a: Operand, b: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """Test whether a is greater than or equal to b."""
@overload
def ge(a: Operand, b: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """Test whether a is greater than or equal to b."""
@overload
def eq(a: Operand, b: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """Test for equality; NaN equals nothing."""
@overload
def eq(a: Operand, b: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """Test for equality; NaN equals nothing."""
@overload
def ne(a: Operand, b: Operand, /, out: None = None, *, launch: Launch | None = None) -> Tensor:
    """Test for inequality; NaN is unequal to everything."""
@overload
def ne(a: Operand, b: Operand, /, out: _Out, *, launch: Launch | None = None) -> _Out:
    """Test for inequality; NaN is unequal to everything."""
# end
