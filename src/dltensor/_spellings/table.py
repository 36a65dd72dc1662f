# SPDX-License-Identifier: Apache-2.0
"""Names of NumPy and PyTorch for functions that have another one here, a row each, of which the build makes them."""

from typing import NamedTuple

# name | parameters -> result | call | where it is from | arguments of an example
# Without parameters a name is another one of the same function.
# The steps of a call that begins with @ run together where there are many elements (`fuse`).
# `n` and `t` are functions of NumPy and PyTorch, `N` and `T` their methods, which become methods of Tensor; `f` are
# functions of torch.nn.functional. A name that begins with a point is a method only; names without a call are functions
# here that become methods.
# `r` says that numbers are random, others than those of the origin, and `o` that only the form is the same.
# tests/test_spelling_rows.py compares each with its origin.
_ROWS = """
absolute     |                           | abs            | ntT  | x
arccos       |                           | acos           | ntT  | small
arccosh      |                           | acosh          | ntT  | large
arcsin       |                           | asin           | ntT  | small
arcsinh      |                           | asinh          | ntT  | x
arctan       |                           | atan           | ntT  | x
arctan2      |                           | atan2          | ntT  | x, y
arctanh      |                           | atanh          | ntT  | small
invert       |                           | bitwise_invert | n    | i
bitwise_not  |                           | bitwise_invert | ntT  | i
left_shift   |                           | bitwise_left_shift  | n | i, 2
right_shift  |                           | bitwise_right_shift | n | i, 2
conjugate    |                           | conj           | nN   | z
power        |                           | pow            | n    | positive, y
float_power  | x1, x2, /                 | pow(in_double(x1), x2) | ntT | positive, y
true_divide  |                           | divide         | ntT  | x, y
mod          |                           | remainder      | n    | x, y
neg          |                           | negative       | tT   | x
fix          |                           | trunc          | nt   | x
rint         | x, /, out=None            | round(x, out=out) | n | x
around       |                           | round          | n    | x
clamp        |                           | clip           | tT   | x, -1, 1
clamp_min    | x, /, min                 | clip(x, min)   | tT   | x, 0.5
clamp_max    | x, /, max                 | clip(x, None, max) | tT | x, 0.5
rsqrt        | x, /, out=None            | reciprocal(sqrt(x), out=out) | tT | positive
degrees      | x, /, out=None            | multiply(x, 57.29577951308232, out=out) | n | x
rad2deg      | x, /, out=None            | multiply(x, 57.29577951308232, out=out) | ntT | x
radians      | x, /, out=None            | multiply(x, 0.017453292519943295, out=out) | n | x
deg2rad      | x, /, out=None            | multiply(x, 0.017453292519943295, out=out) | ntT | x
isposinf     | x, /, out=None            | equal(x, inf, out=out) | ntT | special
isneginf     | x, /, out=None            | equal(x, -inf, out=out) | ntT | special
iscomplex    | x, /                      | not_equal(imag(x), 0) | n | z
isreal       | x, /                      | equal(imag(x), 0) | ntT | z
divmod       | x1, x2, / -> tuple of Tensor | (floor_divide(x1, x2), remainder(x1, x2)) | n | i2, 2
addcmul|x, /, tensor1, tensor2, *, value=1|@add(x, multiply(multiply(tensor1, tensor2), value))|tT|x, y, y, value=0.5
addcdiv|x, /, tensor1, tensor2, *, value=1|@add(x, multiply(divide(tensor1, tensor2), value))|tT|x, y, positive, value=2
addmm|x, /, mat1, mat2, *, beta=1, alpha=1|plus_product(x, mat1, mat2, beta, alpha)|tT|four, x, square, alpha=2
addmv|x, /, mat, vec, *, beta=1, alpha=1|plus_product(x, mat, vec, beta, alpha)|tT|four, square, four, beta=2
baddbmm|x, /, batch1, batch2, *, beta=1, alpha=1|plus_product(x, batch1, batch2, beta, alpha)|tT|cube, cube, cube
leaky_relu   | x, /, negative_slope=0.01 | @where(greater(x, 0), x, multiply(x, negative_slope)) | f | x, 0.1
elu          | x, /, alpha=1.0           | @where(greater(x, 0), x, multiply(expm1(x), alpha)) | f | x, 0.5
silu         | x, /                      | @multiply(x, sigmoid(x)) | f | x
gelu         | x, /                      | @multiply(multiply(x, 0.5), add(erf(multiply(x, 0.5**0.5)), 1)) | f | x
logsigmoid   | x, /                      | @negative(softplus(negative(x))) | f | x
lerp         | x, /, end, weight         | @add(x, multiply(subtract(end, x), weight)) | tT | x, y, 0.25
amax         |                           | max            | n    | x, 1
amin         |                           | min            | n    | x, 1
aminmax      | x, /, *, dim=None, keepdim=False -> tuple of Tensor | extremes(x, dim, keepdim) | tT | x, dim=1
std_mean|x, dim=None, *, correction=1, keepdim=False -> tuple of Tensor|deviation(x, dim, correction, keepdim)|t|x, 1
var_mean|x, dim=None, *, correction=1, keepdim=False -> tuple of Tensor|variance(x, dim, correction, keepdim)|t|x, 1
.amax        | x, dim=None, keepdim=False | max(x, axis=dim, keepdims=keepdim) | T | x, 1
.amin        | x, dim=None, keepdim=False | min(x, axis=dim, keepdims=keepdim) | T | x, 1
concatenate  |                           | concat         | nt   | (x, y), 1
cat          |                           | concat         | t    | (x, y), 1
unsqueeze    |                           | expand_dims    | tT   | x, 1
permute      |                           | permute_dims   | t    | x, (1, 0)
movedim      |                           | moveaxis       | tT   | x, 0, 1
.moveaxis    | x, source, destination, / | moveaxis(x, source, destination) | T | x, 0, 1
transpose    | x, /, axes=None, dim1=None | transposed(x, axes, dim1) | n | x
t            | x, /                      | flat_or_transposed(x) | tT | x
clone        | x, /                      | copy(x)        | t    | x
swapdims     |                           | swapaxes       | tT   | x, 0, 1
.swapaxes    | x, axis1, axis2, /        | swapaxes(x, axis1, axis2) | NT | x, 0, 1
ravel        | x, /, order="C"           | asarray(x).ravel(order) | nt | x
broadcast_tensors |                      | broadcast_arrays | t  | x, four
repeat_interleave | x, /, repeats, dim=None | repeat(x, repeats, dim) | tT | x, 2, 1
index_select | x, /, dim, index, *, out=None | take(x, index, axis=dim, out=out) | tT | x, 1, index
masked_select | x, /, mask               | selected(x, mask) | tT | x, mask
extract      | condition, x, /           | take(ravel(x), flatnonzero(condition)) | n | mask, x
compress     | condition, x, /, axis=None, out=None | compressed(condition, x, axis, out) | n | [0, 1, 1], x, 0
ediff1d      | x, /, to_end=None, to_begin=None | concat(around_differences(x, to_end, to_begin)) | n | x, [7.0], 9.0
scatter      | x, /, dim, index, src     | scattered(x, dim, index, src, False) | tT | x, 1, index3, y
scatter_add  | x, /, dim, index, src     | scattered(x, dim, index, src, True) | tT | x, 1, index2, y
index_add    | x, /, dim, index, source, *, alpha=1 | added_at(x, dim, index, source, alpha) | tT | x, 1, index, two
masked_fill  | x, /, mask, value         | where(mask, value, x) | tT | x, mask, 2.0
inner        | x1, x2, /                 | tensordot(x1, x2, axes=((-1,), (-1,))) | ntT | x, y
vdot         | x1, x2, /                 | vecdot(asarray(x1).ravel(), asarray(x2).ravel()) | ntT | zv, zv
mm           | x1, x2, /, *, out=None    | matmul(x1, x2, out=out) | tT | square, square
bmm          | x1, x2, /, *, out=None    | matmul(x1, x2, out=out) | tT | cube, cube
mv           | x1, x2, /, *, out=None    | matmul(x1, x2, out=out) | tT | x, four
cartesian_prod | *tensors               | combinations_of(tensors) | t | v, four
fromfunction|function, shape, /, *, dtype=None, **kwargs -> Any|on_indices(function, shape, dtype, kwargs)|n|pow, (3, 4)
fromiter | iterable, /, dtype, count=-1 | asarray(first_items(iterable, count), dtype=dtype) | n | iter([1, 2]), float64
msort        | x, /                      | sort(x, axis=0) | tT | x
trapz        |                           | trapezoid      | t    | x
flatten      | x, /, start_dim=0, end_dim=-1 | joined(x, start_dim, end_dim) | t | cube, 1
unflatten    | x, /, dim, sizes          | reshape(x, parted_shape(x, dim, sizes)) | tT | x, 1, (2, -1)
may_share_memory | x1, x2, / -> bool     | ranges_meet(x1, x2) | n | x, x
common_type  | *arrays -> DType          | dtype_of_all(arrays) | n | i, x
FloatTensor  | *data                     | of_type(data, "float32") | t | [1, 2]
DoubleTensor | *data                     | of_type(data, "float64") | t | [1, 2]
LongTensor   | *data                     | of_type(data, "int64") | t | [1, 2]
IntTensor    | *data                     | of_type(data, "int32") | t | [1, 2]
ByteTensor   | *data                     | of_type(data, "uint8") | t | [1, 2]
BoolTensor   | *data                     | of_type(data, "bool") | t | [True, False]
diag_indices | n, /, ndim=2 -> tuple of Tensor | (arange(n),) * ndim | n | 3
tril_indices_from | x, /, k=0 -> tuple of Tensor | triangle_of(x, k, "tril_indices") | n | square, 1
triu_indices_from | x, /, k=0 -> tuple of Tensor | triangle_of(x, k, "triu_indices") | n | square
min_scalar_type | x, / -> DType          | least_dtype(x) | n | 300
identity     | n, /, dtype=None          | eye(n, dtype=dtype) | n | 3
promote_types |                          | result_type    | nt   | float32, float64
array_equiv  | x1, x2, /  -> bool        | are_equal(x1, x2) | n | x, x
shape        | x, / -> tuple of ints     | asarray(x).shape | n   | x
ndim         | x, / -> int               | asarray(x).ndim | n    | x
numel        | x, / -> int               | +asarray(x).size | t   | x
size         | x, /, axis=None -> int    | +asarray(x).size if axis is None else asarray(x).shape[axis] | n | x, 1
array | obj, /, dtype=None, *, copy=True, device=None | asarray(obj, dtype, copy=copy, device=device) | n | [1, 2]
tensor       | obj, /, *, dtype=None, device=None | asarray(obj, dtype=dtype, copy=True, device=device) | t | [1, 2]
as_tensor    | obj, /, dtype=None, device=None | asarray(obj, dtype=dtype, device=device) | t | [1, 2]
asanyarray   |                           | asarray        | n    | [1, 2]
from_numpy   | x, /                      | asarray(x, copy=False) | t | array
ascontiguousarray | x, /, dtype=None     | atleast_1d(asarray(x, dtype=dtype)).contiguous() | n | x
is_floating_point | x, / -> bool         | isdtype(asarray(x).dtype, "real floating") | tT | x
is_complex   | x, / -> bool              | isdtype(asarray(x).dtype, "complex floating") | tT | x
iscomplexobj | x, / -> bool              | isdtype(asarray(x).dtype, "complex floating") | n | z
isrealobj    | x, / -> bool              | not isdtype(asarray(x).dtype, "complex floating") | n | z
isscalar     | x, / -> bool              | is_scalar(x)   | n    | 3.0
fabs         | x, /, out=None            | copysign(x, 1.0, out=out) | n | x
rollaxis     | x, axis, /, start=0       | rolled(x, axis, start) | n | cube, 2
resize       | x, new_shape, /           | repeated_to(x, new_shape) | n | v, (2, 4)
range | first, last, /, step=1, *, dtype=None, device=None | range_to(first, last, step, dtype, device) | t | 0.5, 4
fromfile|file, /, dtype="float64", count=-1, sep="", offset=0|read_raw(file, dtype, count, sep, offset)|n|"/dev/null"
savez_compressed | file, *tensors, **named -> None | save_compressed(file, tensors, named) | n | BytesIO(), x=x
hann_window|window_length, periodic=True, *, dtype=None, device=None|\
    window_of(hanning, window_length, periodic, dtype, device) | t | 8
hamming_window|window_length, periodic=True, *, dtype=None, device=None|\
    window_of(hamming, window_length, periodic, dtype, device) | t | 8
pinverse     | x, /, rcond=1e-15         | linalg.pinv(x, rtol=rcond) | tT | x
svd          | x, /, some=True -> tuple of Tensor | decomposed(x, some) | to | two
manual_seed  | seed, / -> Any            | seeded(seed)   | tr   | 7
rand | *sizes, size=None, dtype=None, device=None, generator=None, out=None | \
    drawn("random", sizes, size, dtype, device, generator, out) | tr | 2, 3
randn | *sizes, size=None, dtype=None, device=None, generator=None, out=None | \
    drawn("normal", sizes, size, dtype, device, generator, out) | tr | 2, 3
rand_like | x, /, dtype=None, device=None | drawn_like("random", x, dtype, device) | tr | x
randn_like | x, /, dtype=None, device=None | drawn_like("normal", x, dtype, device) | tr | x
randint | low=0, high=None, size=None, *, dtype=None, device=None, generator=None | \
    integers(low, high, size, dtype, device, generator) | tr | 9, (2, 3)
randperm     | n, /, *, generator=None, device=None | source(generator).permutation(n, device=device) | tr | 5
normal | mean=0.0, std=1.0, size=None, *, dtype=None, device=None, generator=None, out=None | \
    normal_of(mean, std, size, dtype, device, generator, out) | tr | x, 2.0
bernoulli    | p, /, *, generator=None   | events(p, generator) | tTr | small * small
multinomial|x, /, num_samples, replacement=False, *, generator=None| \
    outcomes(x, num_samples, replacement, generator) | tTr | positive, 2
dropout      | x, /, p=0.5, training=True | dropped(x, p, training) | f | x, 0.5, False
no_grad      | function=None, / -> Any   | without_gradients(function) | to |
inference_mode | enabled=True, / -> Any  | without_gradients(enabled) | to |
set_grad_enabled | enabled, / -> Any     | without_gradients(None, enabled) | to | False
is_grad_enabled | () -> bool             | False          | to   |
max_pool2d   | x, /, kernel_size, stride=None, padding=0 | pooled(max, x, kernel_size, stride, padding) | f | cube, 2
avg_pool2d|x, /, kernel_size, stride=None, padding=0|pooled(mean, x, kernel_size, stride, padding)|f|cube, 3, 1, 1
l1_loss      | x, /, target, *, reduction="mean" | reduced(abs(subtract(x, target)), reduction) | f | x, y
smooth_l1_loss | x, /, target, *, reduction="mean", beta=1.0 | reduced(smooth(x, target, beta), reduction) | f | x, y
kl_div | x, /, target, *, reduction="mean", log_target=False | \
    divergence(x, target, reduction, log_target) | f | x, positive, reduction="batchmean"
nll_loss     | x, /, target, *, ignore_index=-100, reduction="mean" | \
    at_classes(x, target, ignore_index, reduction) | f | x, index3[0]
binary_cross_entropy | x, /, target, *, reduction="mean" | \
    reduced(binary(x, target), reduction) | f | small * small, small * small
binary_cross_entropy_with_logits|x, /, target, *, reduction="mean"| \
    reduced(add(subtract(relu(x), multiply(x, target)), softplus(negative(abs(x)))), reduction)|f|x, small * small
linear       |                           |                | f    | x, five4, five
layer_norm   |                           |                | f    | x, (4,), four, four
normalize    |                           |                | f    | x
embedding    |                           |                | f    | index, x
cosine_similarity |                      |                | tf   | x, y
mse_loss     |                           |                | f    | x, y
cross_entropy |                          |                | f    | x, index3[0]
scaled_dot_product_attention |           |                | f    | cube, cube, cube
dist         | x, /, other, p=2          | norm_of(subtract(x, other), p, None, False) | tT | x, y, 3
bucketize|x, /, boundaries, *, right=False|searchsorted(boundaries, x, side="right" if right else "left")|t|x, ascending
narrow       | x, /, dim, start, length  | part_of(x, dim, start, length) | tT | x, 1, 1, 2
complex      | real, imag                | of_parts(real, imag) | t | x, y
polar        | abs, angle, /             | of_parts(multiply(cos(angle), abs), multiply(sin(angle), abs))|t|positive, y
view_as_real | x, /                      | parts_of(x)    | t    | z
view_as_complex | x, /                   | number_of(x)   | t    | two
histc        | x, /, bins=100, min=0, max=0 | counted(x, bins, min, max) | tT | x, 5
det          | x, /                      | determinant(x) | tT   | square
inverse      | x, /                      | inverse_of(x)  | tT   | square
masked_scatter | x, /, mask, source      | filled(x, mask, source) | tT | x, mask, y
is_tensor    | x, /  -> bool             | isinstance(x, Tensor) | t | x
issubdtype   | dtype, kind, / -> bool    | is_kind(dtype, kind) | n | float32, float64
copyto       | x, src, /, *, where=True -> None | copied(x, src, where) | n | copy(x), 2.0
put|x, indices, values, /, mode="raise" -> None|put_at(x, indices, values, mode)|n|copy(x), [0, -1], [1.0, 2.0]
ndenumerate  | x, / -> Iterator[Any]     | items_of(x)    | n    | x
ndindex      | *shape -> Iterator[Any]   | positions_of(shape) | n | 2, 3
loadtxt      | file, /, **kwargs         | asarray(of_numpy("loadtxt")(file, **kwargs)) | n | ["1 2", "3 4"]
genfromtxt   | file, /, **kwargs         | asarray(of_numpy("genfromtxt")(file, **kwargs)) | n | ["1 2", "3 x"]
savetxt|file, x, /, fmt="%.18e", **kwargs -> None|of_numpy("savetxt")(file, on_host(x), fmt, **kwargs)|n|"/dev/null", x
.unfold      | x, dim, size, step, /     | windows_of(x, dim, size, step) | T | x, 1, 2, 2
.type        | x, dtype, /               | astype(x, dtype) | T  | x, float32
.stride      | x, dim=None, / -> Any     | x.strides if dim is None else x.strides[dim] | T | x, 1
exp log log2 log10 log1p sqrt reciprocal |   |                | T    | positive
sin cos tan sinh cosh tanh asinh atan expm1 square floor ceil trunc sign abs | | | T | x
asin acos atanh |                        |                | T    | small
acosh        |                           |                | T    | large
isnan isinf isfinite signbit |           |                | T    | special
logical_not  |                           |                | T    | i
add sub subtract mul multiply div divide atan2 hypot maximum minimum eq ne lt le gt ge copysign | | | T | x, y
pow          |                           |                | T    | positive, y
remainder    |                           |                | T    | x, y
floor_divide |                           |                | T    | x, y
bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift | | | T | i, i2
logical_and logical_or logical_xor |     |                | T    | i, i2
matmul       |                           |                | T    | square, square
clip         |                           |                | NT   | x, -1, 1
isclose allclose |                       |                | T    | x, x
outer        |                           |                | T    | v, v
kron         |                           |                | T    | x, square
cumsum cumprod |                         |                | NT   | x, 1
dot          |                           |                | NT   | v, v
softmax log_softmax logsumexp |          |                | T    | x, 1
nansum nanmean |                         |                | T    | special
count_nonzero |                          |                | T    | i
quantile     |                           |                | T    | x, 0.25
diff         |                           |                | T    | x
flip         |                           |                | T    | x, 1
roll         |                           |                | T    | x, 1, 1
tile         |                           |                | T    | x, (2, 1)
.repeat      | x, repeats, /, axis=None  | repeated(x, repeats, axis) | N | x, 2, 1
diag         |                           |                | T    | square
diagonal     |                           |                | NT   | square
tril triu    |                           |                | T    | square
unbind       | x, /, dim=0 -> tuple of Tensor | unstack(x, dim) | tT | x, 1
chunk        |                           |                | T    | x, 2, 1
tensor_split |                           | array_split    | tT   | x, 3, 1
.split       | x, /, split_size, dim=0 -> list of Tensor | pieces(x, split_size, dim) | T | x, 2, 1
argwhere     |                           |                | T    | i
broadcast_to |                           |                | T    | v, (3, 5)
take_along_dim | x, /, indices, dim=None | take_along_axis(x, indices, axis=dim) | tT | x, index2, 1
searchsorted |                           |                | N    | ascending, x
topk | x, /, k, dim=-1, largest=True, sorted=True -> tuple of Tensor | first_of(x, k, dim, largest) | tT | x, 2, 1
gather       | x, /, dim, index | take_along_axis(beside(x, dim, index), index, axis=dim) | tT | x, 1, index2
norm         | x, /, p=2, dim=None, keepdim=False | norm_of(x, p, dim, keepdim) | tT | x, 1, 0
logdet       | x, /                      | logdet_of(x)   | tT   | square
polyfit      | x, y, /, deg, rcond=None, full=False, w=None | fitted(x, y, deg, rcond, full, w) | n | v, v, 1
roots        | p, /                      | roots_of(p)    | n    | [1.0, -3.0, 2.0]
trace        |                           |                | NT   | square
argsort      |                           |                | NT   | x, 1
exp2 sinc angle relu sigmoid erf erfc |  |                | T    | x
lgamma       |                           | gammaln        | tT   | positive
nan_to_num   |                           |                | T    | special
frexp        |                           |                | T    | special
ldexp gcd lcm |                          |                | T    | i, i2
diag_embed   |                           |                | T    | x
fmod fmax fmin heaviside logaddexp2 |               |                | T    | x, y
nanquantile  |                           |                | T    | x, 0.5
cov corrcoef |                           |                | T    | x
row_stack    |                           | vstack         | t    | (x, y)
fliplr       | x, /                      | flip(x, axis=1) | ntT | x
flipud       | x, /                      | flip(x, axis=0) | ntT | x
rot90        |                           |                | T    | x
.float       | x, /                      | astype(x, "float32", copy=False) | T | x
.double      | x, /                      | astype(x, "float64", copy=False) | T | x
.half        | x, /                      | astype(x, "float16", copy=False) | T | x
.bfloat16    | x, /                      | astype(x, "bfloat16", copy=False) | T | i
.long        | x, /                      | astype(x, "int64", copy=False) | T | x
.int         | x, /                      | astype(x, "int32", copy=False) | T | x
.short       | x, /                      | astype(x, "int16", copy=False) | T | x
.bool        | x, /                      | astype(x, "bool", copy=False) | T | x
.type_as     | x, /, other               | astype(x, asarray(other).dtype, copy=False) | T | x, i
.detach      | x, /                      | x              | T    | x
.storage_offset | x, / -> int           | x.byte_offset // x.itemsize | T | x[1:]
.contiguous  | x, /                      | x if x.is_contiguous else x.copy() | T | x
.dim         | x, / -> int               | x.ndim         | T    | x
.element_size | x, / -> int              | x.itemsize     | T    | x
.nelement    | x, / -> int               | +x.size        | T    | x
.expand      | x, *sizes                 | expanded(x, sizes) | T | v, 3, 5
.expand_as   | x, /, other               | broadcast_to(x, asarray(other).shape) | T | v, five
.reshape_as  | x, other, /               | x.reshape(asarray(other).shape) | T | x, y
.view_as     | x, other, /               | x.reshape(asarray(other).shape, copy=False) | T | x, y
.new_zeros|x, *shape, dtype=None, device=None|zeros(one_shape(shape), **like(x, dtype, device))|T|x, 2, dtype=float32
.new_ones|x, *shape, dtype=None, device=None|ones(one_shape(shape), **like(x, dtype, device)) | T | x, 2, 3
.new_empty|x, *shape, dtype=None, device=None|empty(one_shape(shape), **like(x, dtype, device)) | T | x, 0, 3
.new_full|x, shape, fill_value, dtype=None, device=None|full(shape, fill_value, **like(x, dtype, device))|T|x, (3,), 4.0
.new_tensor|x, data, *, dtype=None, device=None|asarray(data, copy=True, **like(x, dtype, device)) | T | x, [1, 2]
"""


class Spelling(NamedTuple):
    """A row of the table: `parameters` and `result` are as in a stub, `call` is an expression."""

    name: str
    parameters: str
    result: str
    call: str
    origins: str
    example: str
    is_fused: bool

    @property
    def signature(self):
        """Parameters as they are written: ``()`` is of a function without any."""
        return self.parameters.removeprefix("()")

    @property
    def is_function(self):
        """True if the package gets a function of that name."""
        return not self.name.startswith(".") and self.name != self.call

    @property
    def method(self):
        """Name of the method of Tensor that the row makes; None without one."""
        return self.name.lstrip(".") if set("NT") & set(self.origins) else None


def rows():
    """Yield the rows of the table."""
    for line in filter(None, _ROWS.splitlines()):
        name, signature, call, origins, example = map(str.strip, line.split("|"))
        parameters, _, result = signature.partition(" -> ")
        for one in name.split():
            steps = call.removeprefix("@")
            yield Spelling(one, parameters.strip(), result or "Tensor", steps or one, origins, example, steps != call)
