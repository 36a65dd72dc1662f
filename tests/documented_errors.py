# SPDX-License-Identifier: Apache-2.0
"""One call for each error that a docstring documents: exception, call, and the functions that it is made with."""

import asyncio
import atexit
import builtins
import contextlib
import ctypes
import io
import itertools
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import arrow_structs
import numpy as np

import dltensor as dl
from dltensor._ops.reduce import REDUCTIONS

HUGE = 2**58
X = dl.asarray([[1.0, 2.0], [3.0, 4.0]])
VECTOR = dl.asarray([1.0, 2.0, 3.0])
INTEGERS = dl.asarray([[1, 2], [3, 4]])
BYTES = dl.asarray([1, 2], dtype="uint8")
OPAQUE = dl.zeros((2, 2), dtype="int4")
OPAQUE_INTEGER = dl.DType(dl.DataTypeCode(3), 64)
RAW = dl.zeros(2, dtype=OPAQUE_INTEGER)
COMPLEX = dl.zeros((2, 2), dtype="complex64")
# A device on which nothing here computes.
FORTY = dl.eye(40)
FAR = dl.wrap(4096, (2, 2), "float32", device="rocm")
FAR_VECTOR = dl.wrap(4096, (3,), "float32", device="rocm")
FAR_BOOLS = dl.wrap(4096, (2, 2), "bool", device="rocm")
WIDE = dl.broadcast_to(dl.zeros(1), (HUGE,))  # more elements than memory
READ_ONLY = dl.broadcast_to(dl.zeros((1, 2)), (2, 2))
NANS = dl.full((9, 9), float("nan"))
SINGULAR = dl.zeros((2, 2))
RNG = dl.random.Generator(1)
OF_KIND = {"bool": "bool", "integers": "int32", "floats": "float32", "complex": "complex64"}


def operands(f, **keywords):
    """A call of an element-wise function with tensors of a dtype that it takes."""
    row = dl.OPS[f.__name__]
    dtype = OF_KIND[row["kinds"][0 if row["kinds"][0] != "bool" or len(row["kinds"]) == 1 else 1]]
    return f(*[dl.ones(2, dtype=dtype)] * row["operands"], **keywords)


CALLS = itertools.count()


def changing(x):
    """Compute something else in each call."""
    return x + float(next(CALLS))


@contextlib.contextmanager
def missing(*modules, renew=None):
    """Hide installed packages, and let `renew`, which has chosen one of them, choose again."""
    saved = {name: sys.modules.get(name, ...) for name in modules}
    state = None if renew is None else (renew.is_done, renew.result)
    sys.modules.update(dict.fromkeys(modules))
    if renew is not None:
        renew.is_done, renew.result = False, None
    try:
        yield
    finally:
        for name, module in saved.items():
            if module is ...:
                del sys.modules[name]
            else:
                sys.modules[name] = module
        if renew is not None:
            renew.is_done, renew.result = state


def without_fft(f, *arguments):
    from dltensor.fft._backends import find

    with missing("ducc0", "scipy", "scipy.fft", "numpy", "numpy.fft", renew=find):
        return f(*arguments)


def without_lapack(f, *arguments):
    from dltensor.linalg._backends import find

    with missing("scipy_openblas32", "numpy", "numpy.linalg", renew=find):
        return f(*arguments)


def without_blas(f, *arguments):
    with missing("scipy_openblas32"):
        return f(*arguments)


def blas_of_the_environment(f, name):
    from dltensor._ops.matmul import _find_blas

    state = _find_blas.is_done
    os.environ["DLTENSOR_BLAS"] = name
    _find_blas.is_done = False
    try:
        return f()
    finally:
        del os.environ["DLTENSOR_BLAS"]
        _find_blas.is_done = state


FOLDER = Path(tempfile.mkdtemp(prefix="dltensor-documented-errors-"))
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)


def at_path(name, content=b""):
    """The path of a file in the folder, with the content."""
    path = FOLDER / name
    path.write_bytes(content)
    return path


def npy(array):
    file = io.BytesIO()
    np.save(file, array, allow_pickle=True)
    return file.getvalue()


OBJECTS = npy(np.array([None, 1], dtype=object))


def saved():
    dl.save(FOLDER / "saved.npz", {"a": X})
    return FOLDER / "saved.npz"


def member(content):
    with zipfile.ZipFile(FOLDER / "member.npz", "w") as archive:
        archive.writestr("a.npy", content)
    return FOLDER / "member.npz"


def too_large():
    """A sparse file of more elements than memory."""
    header = npy(np.zeros(0, np.uint8)).replace(b"(0,), ", b"(%d,), " % 2**42)
    path = at_path("large.npy", header[:128])
    os.truncate(path, 128 + 2**42)
    return path


def closed_in_use(f):
    file = dl.open_file(saved())
    tensor = file["a"]
    f(file)
    return tensor


def released(f):
    array = dl.opaque.OpaqueArray(X)
    target = (ctypes.c_char * 104)()
    array.release(ctypes.addressof(target))
    try:
        f(array)
    finally:
        dl.opaque.from_pointer(ctypes.addressof(target), take=True)


def entered_twice(trace):
    with trace:
        trace.__enter__()


@contextlib.contextmanager
def environment(name, value):
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        del os.environ[name]
        if before is not None:
            os.environ[name] = before


def selected(variable, without, f):
    with environment(variable, "another"):
        without(f)


def without_metatensor(f, *arguments):
    with missing("metatensor"):
        f(*arguments)


def without_descriptors(f, argument):
    """A call in a process that has as many files open as it may have."""
    dl.empty_cache()  # or memory of the cache would do
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, hard))
    try:
        f(argument)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


class BadCapsule:
    def __dlpack_device__(self):
        return 1, 0

    def __dlpack__(self, **kwargs):
        return 3


class Consumed(BadCapsule):
    """Its capsule has been used before."""

    def __dlpack__(self, **kwargs):
        capsule = X.__dlpack__(max_version=(1, 3))
        dl.from_dlpack(capsule)
        return capsule


class Broken:
    """Its strides are no multiple of the size of an element."""

    def __init__(self):
        self.__array_interface__ = dict(
            shape=(2,), typestr="<f4", data=(X.data_ptr, False), strides=(3,), version=3
        )  # fmt: skip


def arrow(**fields):
    """A producer of Arrow whose array has these fields."""
    producer = arrow_structs.Producer()
    for name, value in fields.items():
        setattr(producer.array, name, value)
    return producer


SLOTS = ("ptr", "destroy", "origin", "device", "dtype", "as_dlpack", "from_dlpack", "shape")
KEPT = []  # callbacks and arrays, which structs point to


def failing(slot, function=lambda *arguments: 255):
    """The address of a struct of another library, one function of which fails."""
    array = dl.opaque.OpaqueArray(X)
    struct = (ctypes.c_void_p * 13).from_buffer_copy(ctypes.string_at(array.pointer, 104))
    callback = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)(function)
    struct[SLOTS.index(slot)] = ctypes.cast(callback, ctypes.c_void_p).value
    KEPT.append((array, struct, callback))
    return ctypes.addressof(struct)


def release_inside(f):
    """Release an array of another library while one of its functions runs."""
    errors = []

    def function(_):
        try:
            f(array)
        except BufferError as error:
            errors.append(error)
        return 255

    array = dl.opaque.hold(failing("device", function), take=True)
    with contextlib.suppress(BufferError):
        _ = array.device
    raise errors[0]


@contextlib.contextmanager
def moved_away(module, **names):
    """A module whose attributes lead to nothing."""
    before = {name: getattr(module, name) for name in names}
    for name, value in names.items():
        setattr(module, name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(module, name, value)


def not_installed(f):
    with moved_away(dl.opaque, _ROOT=FOLDER / "absent", _engine_path=lambda: FOLDER / "absent.so"):
        f()


def in_new_process(code):
    """Raise the error with which Python code fails in a process without NumPy."""
    text = f"""
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name == "numpy":
            raise ImportError(name)

sys.meta_path.insert(0, Absent())
import dltensor as dl
{code}"""
    run = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False)
    kind, _, message = run.stderr.strip().splitlines()[-1].partition(": ")
    raise getattr(builtins, kind)(message)


class Refusing:
    """A type of a framework that represents nothing."""


def from_dlpack(x):
    raise BufferError("into: no")


ELEMENTWISE = " ".join(name for name in dl.OPS if name != "clip")
NUMBERED = " ".join(name for name in ELEMENTWISE.split() if "OverflowError" in getattr(dl, name).__doc__)
REDUCED = " ".join(REDUCTIONS)
WITH_METHOD = "Tensor.(" + " ".join(name for name in REDUCTIONS if name != "count_nonzero") + ")"
NAN = "nanmax nanmean nanmin nanstd nansum nanvar"
SCANS = "cumulative_max cumulative_min cumulative_prod cumulative_sum"
UNIQUE = "unique_all unique_counts unique_inverse unique_values"
AT = "add_at maximum_at minimum_at"
FFT = "fft.(fft hfft ifft ihfft irfft rfft)"
FFTN = "fft.(fftn ifftn irfftn rfftn fft2 ifft2 irfft2 rfft2)"
SQUARE = "linalg.(cholesky det eig eigh eigvals eigvalsh inv matrix_power slogdet)"
MATRIX = "linalg.(matrix_norm matrix_rank pinv qr svd svdvals)"
EIGEN = "linalg.(eigh eigvalsh matrix_rank pinv svd svdvals)"
SHIFTED = "lognormal laplace gumbel logistic"
OF_ONE = "rayleigh weibull pareto gamma chisquare poisson geometric"
DRAWS = "random.Generator.(exponential integers normal random uniform)"

ROWS = [
    # element-wise functions
    ("TypeError", lambda f: f(*[object()] * dl.OPS[f.__name__]["operands"]), ELEMENTWISE),
    ("ValueError", lambda f: operands(f, out=dl.zeros(3, dtype="complex64")), ELEMENTWISE),
    (
        "OverflowError",
        lambda f: f(*[dl.ones(2, dtype="int32")] * (dl.OPS[f.__name__]["operands"] - 1), 10**400),
        NUMBERED,
    ),
    ("TypeError", lambda f: f(COMPLEX, 0, 1), "clip"),
    ("ValueError", lambda f: f(X, 0, 1, out=VECTOR), "clip"),
    ("OverflowError", lambda f: f(2**70, INTEGERS, INTEGERS), "clip"),
    # reductions
    ("TypeError", lambda f: f(OPAQUE), f"{REDUCED} {WITH_METHOD} {NAN} {UNIQUE} average nonzero Tensor.nonzero ptp"),
    ("TypeError", lambda f: f(OPAQUE, axis=0), SCANS),
    ("TypeError", lambda f: f("a"), "softmax log_softmax logsumexp"),
    ("IndexError", lambda f: f(X, axis=9), f"{REDUCED} {WITH_METHOD} {NAN} {SCANS}"),
    ("OverflowError", lambda f: f(INTEGERS, initial=10**30), "sum prod min max Tensor.(sum prod min max)"),
    ("IndexError", lambda f: f(X, axis=9), "average logsumexp softmax log_softmax median ptp sort argsort diff flip"),
    ("IndexError", lambda f: f(X, axis=9), "expand_dims squeeze unstack linalg.(norm vector_norm) " + FFT),
    ("IndexError", lambda f: f(X, axis=9), "cumsum cumprod Tensor.(squeeze sort)"),
    ("ValueError", lambda f: f(X, axis=0, out=dl.zeros(7)), f"{REDUCED} {WITH_METHOD} {NAN} {SCANS}"),
    ("ValueError", lambda f: f(X, axis=0, out=dl.zeros(7)), "softmax log_softmax logsumexp ptp average"),
    ("ValueError", lambda f: f(X, axis=0, out=dl.zeros(7)), "cumsum cumprod"),
    ("ZeroDivisionError", lambda f: f(VECTOR, weights=dl.zeros(3)), "average"),
    ("TypeError", lambda f: f(3), "fuse"),
    ("RuntimeError", lambda f: f(changing, check=True)(VECTOR), "fuse"),
    ("TypeError", lambda f: f(OPAQUE), "cumsum cumprod Tensor.(sort conj)"),
    ("TypeError", lambda f: f(X, "a"), "Tensor.round"),
    ("TypeError", lambda f: f(COMPLEX), "median sort argsort"),
    ("TypeError", lambda f: f(COMPLEX, 0.5), "quantile"),
    ("TypeError", lambda f: f(COMPLEX, "int8"), "quantize"),
    ("TypeError", lambda f: f(COMPLEX, X), "dequantize"),
    ("TypeError", lambda f: f(COMPLEX, [X, X]), "quantization_error"),
    ("TypeError", lambda f: f(1.0, X, 1.0), "quantized_matmul"),
    ("ValueError", lambda f: f(X, "int9"), "quantize"),
    ("ValueError", lambda f: f(X, VECTOR), "dequantize"),
    ("ValueError", lambda f: f(X, VECTOR, 1.0), "quantized_matmul"),
    ("ValueError", lambda f: f(VECTOR, [X, X]), "quantization_error"),
    ("IndexError", lambda f: f(X, 0.5, axis=9), "quantile"),
    ("ValueError", lambda f: f(X, 2.0), "quantile"),
    # tensors on a device where nothing here computes
    ("DeviceError", lambda f: f(FAR), f"{REDUCED} {WITH_METHOD} {NAN} {UNIQUE} linalg.(cholesky det eig eigh)"),
    ("DeviceError", lambda f: f(FAR), "nonzero Tensor.nonzero"),
    ("DeviceError", lambda f: f(FAR), "average log_softmax logsumexp median ptp softmax sort argsort"),
    (
        "DeviceError",
        lambda f: f(FAR),
        f"linalg.(eigvals eigvalsh inv norm slogdet trace vector_norm) {MATRIX} {FFT} {FFTN}",
    ),
    ("DeviceError", lambda f: f(FAR, axis=0), f"{SCANS} cumsum cumprod"),
    (
        "DeviceError",
        lambda f: f(FAR),
        "Tensor.(cpu numpy sort tolist __arrow_c_array__ __arrow_c_device_array__)",
    ),
    ("DeviceError", lambda f: f(FAR, 0.5), "quantile"),
    ("DeviceError", lambda f: f(FAR, 2), "top_k linalg.matrix_power"),
    ("DeviceError", lambda f: f(FAR, FAR), "linalg.solve allclose array_equal isin dot tensordot vecdot"),
    ("DeviceError", lambda f: f(FAR_VECTOR, FAR_VECTOR), "searchsorted"),
    ("DeviceError", lambda f: f(FAR_VECTOR), "histogram"),
    ("DeviceError", lambda f: f(dl.wrap(4096, (3,), "int64", device="rocm")), "bincount"),
    ("DeviceError", lambda f: f("ij->", FAR), "einsum"),
    ("DeviceError", lambda f: f(FAR_VECTOR, [0], [1.0]), AT),
    ("DeviceError", lambda f: f(FAR, dl.asarray([0]), axis=0), "take Tensor.take"),
    ("DeviceError", lambda f: f(FAR, dl.asarray([[0]]), axis=0), "take_along_axis"),
    ("DeviceError", lambda f: f(FAR, 0, 0), "Tensor.item"),
    ("DeviceError", lambda f: f(RNG, FAR), "random.Generator.shuffle"),
    ("DeviceError", lambda f: f(RNG, 3, device="metal"), "random.Generator.permutation"),
    ("DeviceError", lambda f: f(RNG, VECTOR, p=FAR_VECTOR), "random.Generator.choice"),
    ("DeviceError", lambda f: f(X, "rocm"), "Tensor.(to to_device)"),
    ("DeviceError", lambda f: f(X, 1000), "Tensor.cuda"),
    ("DeviceError", lambda f: f(2, device="rocm"), "arange eye ones zeros fft.(fftfreq rfftfreq)"),
    ("DeviceError", lambda f: f(2, 1, device="rocm"), "full linspace"),
    ("DeviceError", lambda f: f(2, device="rocm"), "shared.empty"),
    ("DeviceError", lambda f: f({"a": FAR}), "shared.pack"),
    ("DeviceError", lambda f: f(FAR), "Tensor.share"),
    ("DeviceError", lambda f: f(X, device="rocm"), "empty_like ones_like zeros_like from_dlpack"),
    ("DeviceError", lambda f: f(X, 1, device="rocm"), "full_like"),
    # memory
    ("MemoryError", lambda f: f(HUGE), "empty ones zeros"),
    ("MemoryError", lambda f: f(HUGE, 1), "full"),
    ("MemoryError", lambda f: f(WIDE), "empty_like ones_like zeros_like Tensor.(clone copy flatten share tobytes)"),
    ("MemoryError", lambda f: f(dl.broadcast_to(dl.zeros((2, 1)), (2, HUGE))), "Tensor.ravel"),
    ("MemoryError", lambda f: f(WIDE, 1), "full_like"),
    ("MemoryError", lambda f: f(WIDE, "float64"), "astype Tensor.astype"),
    ("MemoryError", lambda f: f([WIDE]), "layout.create_output_tensor"),
    ("MemoryError", lambda f: f(HUGE), "shared.empty"),
    ("MemoryError", lambda f: f({"a": WIDE}), "shared.pack"),
    # creation
    ("ValueError", lambda f: f(-1), "empty ones zeros eye shared.empty"),
    ("ValueError", lambda f: f((-1,)), "layout.numel"),
    ("ValueError", lambda f: f(-1, 1), "full"),
    ("ValueError", lambda f: f((-1,), "int8"), "layout.nbytes"),
    ("ValueError", lambda f: f((-1,)), "layout.contiguous_strides"),
    ("ValueError", lambda f: f(0, 1, 0), "arange"),
    ("ValueError", lambda f: f(0, 1, num=-1), "linspace"),
    ("ValueError", lambda f: f([[1], [2, 3]]), "asarray"),
    ("TypeError", lambda f: f("a"), "arange asarray"),
    ("TypeError", lambda f: f(2, dtype=OPAQUE_INTEGER), "eye ones"),
    ("TypeError", lambda f: f(X, dtype=OPAQUE_INTEGER), "ones_like"),
    ("TypeError", lambda f: f(X, dtype="floot"), "empty_like zeros_like"),
    ("TypeError", lambda f: f(2, "a"), "full"),
    ("TypeError", lambda f: f(X, "a"), "full_like"),
    ("TypeError", lambda f: f("a", 1), "linspace"),
    ("OverflowError", lambda f: f(300, 301, dtype="int8"), "arange linspace"),
    ("OverflowError", lambda f: f([300], dtype="int8"), "asarray"),
    ("OverflowError", lambda f: f(2, 300, dtype="int8"), "full"),
    ("OverflowError", lambda f: f(X, 300, dtype="int8"), "full_like"),
    ("OverflowError", lambda f: f(300, dl.zeros(2, dtype="int8")), "fill"),
    ("OverflowError", lambda f: f(dl.zeros(2, dtype="int8"), 300), "Tensor.fill"),
    ("OverflowError", lambda f: f(dl.zeros(2, dtype="int8"), [0], 300), AT),
    ("TypeError", lambda f: f(X, k=0.5), "tril triu"),
    ("ValueError", lambda f: f(VECTOR), "tril triu matrix_transpose"),
    ("ValueError", lambda f: f(X), "meshgrid"),
    # shapes
    ("ValueError", lambda f: f(X, (3,)), "reshape Tensor.reshape broadcast_to"),
    ("TypeError", lambda f: f(X, ("a",)), "Tensor.reshape broadcast_to tile"),
    ("TypeError", lambda f: f(X, "a"), "roll"),
    ("TypeError", lambda f: f(X, 0.5), "repeat"),
    ("ValueError", lambda f: f(X, axis=0), "squeeze Tensor.squeeze"),
    ("ValueError", lambda f: f(X, order="x"), "Tensor.(flatten ravel tobytes)"),
    ("IndexError", lambda f: f(X, 9), "Tensor.flatten"),
    ("TypeError", lambda f: f(X, axis="a"), "unstack squeeze Tensor.squeeze"),
    ("ValueError", lambda f: f(X, (0, 0)), "flip expand_dims permute_dims Tensor.(transpose permute)"),
    ("IndexError", lambda f: f(X, (0, 9)), "permute_dims Tensor.(transpose permute)"),
    ("TypeError", lambda f: f(X, (0, "a")), "Tensor.(transpose permute)"),
    ("IndexError", lambda f: f(X, 9, 0), "moveaxis"),
    ("ValueError", lambda f: f(X, (0, 0), (0, 1)), "moveaxis"),
    ("IndexError", lambda f: f(X, 1, 9), "roll repeat"),
    ("ValueError", lambda f: f(X, (1, 2), (0,)), "roll"),
    ("ValueError", lambda f: f(X, -1), "repeat tile"),
    ("ValueError", lambda f: f([X, dl.zeros((3, 5))]), "concat stack"),
    ("TypeError", lambda f: f([dl.zeros(1, dtype="int64"), dl.zeros(1, dtype="uint64")]), "concat stack"),
    ("IndexError", lambda f: f([X, X], axis=9), "concat stack"),
    ("ValueError", lambda f: f(X, VECTOR), "broadcast_arrays allclose"),
    ("ValueError", lambda f: f((2,), (3,)), "broadcast_shapes layout.broadcast_shapes"),
    ("TypeError", lambda f: f("a"), "broadcast_shapes layout.(broadcast_shapes contiguous_strides numel)"),
    ("ValueError", lambda f: f.__get__(VECTOR), "Tensor.(T mT)"),
    ("ValueError", lambda f: f(dl.zeros((2, 3), dtype="int8"), "int16"), "Tensor.view"),
    ("TypeError", lambda f: f(X, object()), "Tensor.view"),
    # dtypes
    ("TypeError", lambda f: f(OPAQUE_INTEGER), "iinfo finfo"),
    ("TypeError", lambda f: f(object(), "int8"), "can_cast isdtype"),
    ("ValueError", lambda f: f("int8", "a"), "isdtype"),
    ("ValueError", lambda f: f(), "result_type"),
    ("TypeError", lambda f: f(dl.int64, dl.uint64), "result_type"),
    ("TypeError", lambda f: f(COMPLEX, "float32"), "astype Tensor.astype"),
    ("TypeError", lambda f: f(X, OPAQUE_INTEGER), "cast"),
    ("ValueError", lambda f: f(X, dl.zeros(3)), "cast"),
    ("TypeError", lambda f: f(X, INTEGERS), "copy"),
    ("ValueError", lambda f: f(X, VECTOR), "copy"),
    ("TypeError", lambda f: f(1, 2), "fill"),
    ("ValueError", lambda f: f(1, READ_ONLY), "fill"),
    ("ValueError", lambda f: f(READ_ONLY, 1), "Tensor.fill"),
    ("TypeError", lambda f: f("a"), "as_dtype DType"),
    ("TypeError", lambda f: f("a"), "set_default_dtype default_dtype"),
    ("ValueError", lambda f: f("int8"), "set_default_dtype default_dtype"),
    ("TypeError", lambda f: f(1.5), "Device as_device"),
    ("ValueError", lambda f: f(np.dtype(">f4")), "as_dtype"),
    ("ValueError", lambda f: f("gpu"), "as_device Device"),
    ("ValueError", lambda f: f(2, 3), "DType"),
    ("TypeError", lambda f: f.__get__(dl.as_dtype("float32x4")), "DType.(dtype type str char)"),
    # products and libraries
    ("ValueError", lambda f: f("mkl"), "set_blas"),
    ("ImportError", lambda f: without_blas(f, "openblas"), "set_blas"),
    ("ValueError", lambda f: blas_of_the_environment(f, "mkl"), "get_blas"),
    ("ImportError", lambda f: without_blas(blas_of_the_environment, f, "openblas"), "get_blas"),
    ("TypeError", lambda f: f()(asyncio.sleep), "reproducible"),
    # elements
    ("IndexError", lambda f: f(X, 9, 9), "Tensor.item"),
    ("ValueError", lambda f: f(X), "Tensor.item"),
    ("ValueError", lambda f: f(RAW), "Tensor.tolist"),
    ("TypeError", lambda f: f(X, X.numpy()), "Tensor.same_memory"),
    ("IndexError", lambda f: f(VECTOR, [9]), "Tensor.take take"),
    ("IndexError", lambda f: f(VECTOR, dl.asarray([9])), "take_along_axis"),
    ("IndexError", lambda f: f(dl.zeros(2), [9], 1.0), AT),
    ("ValueError", lambda f: f(X, [0], mode="x"), "Tensor.take take"),
    ("ValueError", lambda f: f(X, dl.asarray([0])), "take_along_axis"),
    ("ValueError", lambda f: f(dl.zeros(2), [0], VECTOR), AT),
    ("TypeError", lambda f: f(object(), [0]), "take take_along_axis"),
    ("TypeError", lambda f: f(X), "Tensor.to"),
    ("TypeError", lambda f: f(VECTOR, [0], axis="a"), "Tensor.take"),
    ("TypeError", lambda f: f(OPAQUE[0], [0], 1), "add_at"),
    ("TypeError", lambda f: f(dl.zeros(2, dtype="complex64"), [0], 1), "maximum_at minimum_at"),
    ("ValueError", lambda f: f(dl.asarray(1)), "nonzero Tensor.nonzero"),
    ("TypeError", lambda f: f(VECTOR, VECTOR, VECTOR), "where"),
    ("ValueError", lambda f: f(dl.asarray([True, False]), VECTOR, 1.0), "where"),
    # order
    ("TypeError", lambda f: f(COMPLEX, 1), "top_k"),
    ("IndexError", lambda f: f(X, 1, axis=9), "top_k"),
    ("ValueError", lambda f: f(X, 9), "top_k"),
    ("ValueError", lambda f: f(X, out=dl.zeros(7, dtype="int64")), "sort argsort"),
    ("TypeError", lambda f: f(COMPLEX[0], COMPLEX[0]), "searchsorted histogram"),
    ("ValueError", lambda f: f(X, X), "searchsorted histogram"),
    ("TypeError", lambda f: f(VECTOR), "bincount"),
    ("ValueError", lambda f: f(INTEGERS), "bincount"),
    ("TypeError", lambda f: f(1, 2), "isin"),
    ("ValueError", lambda f: f(X, X, out=dl.zeros(7, dtype="bool")), "isin isclose"),
    ("TypeError", lambda f: f("a", 1), "allclose array_equal isclose diff"),
    ("ValueError", lambda f: f(divide="raise"), "errstate seterr"),
    ("TypeError", lambda f: f("a", X), "cdist"),
    ("ValueError", lambda f: f(X, VECTOR), "cdist"),
    # layers and losses
    ("TypeError", lambda f: f("a", X), "linear embedding"),
    ("TypeError", lambda f: f(INTEGERS, 2), "layer_norm"),
    ("TypeError", lambda f: f(INTEGERS, INTEGERS), "cosine_similarity mse_loss cross_entropy"),
    ("TypeError", lambda f: f(INTEGERS, INTEGERS, INTEGERS), "scaled_dot_product_attention"),
    ("TypeError", lambda f: f(INTEGERS), "normalize"),
    ("ValueError", lambda f: f(X, VECTOR), "linear"),
    ("ValueError", lambda f: f(X, 9), "layer_norm"),
    ("ValueError", lambda f: f(X, X, X, X, is_causal=True), "scaled_dot_product_attention"),
    ("ValueError", lambda f: f(X, X, reduction="all"), "mse_loss cross_entropy"),
    ("ValueError", lambda f: f(X, dl.zeros((3, 5))), "cosine_similarity"),
    ("IndexError", lambda f: f(X, axis=5), "normalize"),
    ("IndexError", lambda f: f(X, X, axis=5), "cosine_similarity"),
    ("IndexError", lambda f: f([9], X), "embedding"),
    ("IndexError", lambda f: f(dl.zeros((1, 3)), [9]), "cross_entropy"),
    ("TypeError", lambda f: f(dl.int8, "a"), "DType.__call__"),
    ("OverflowError", lambda f: f(dl.int8, 300), "DType.__call__"),
    ("ValueError", lambda f: f(dl.int8, dl.nan), "DType.__call__"),
    ("ValueError", lambda f: f(X, -1), "diff"),
    # products
    ("TypeError", lambda f: f(X, 2), "matmul"),
    ("ValueError", lambda f: f(X, VECTOR), "matmul gemm vecdot linalg.solve dot"),
    ("ValueError", lambda f: f(X, VECTOR, axes=1), "tensordot"),
    ("TypeError", lambda f: f(dl.zeros(3, dtype="bool"), dl.zeros(3, dtype="bool")), "vecdot cross dot"),
    ("TypeError", lambda f: f(X > 0, X > 0), "gemm tensordot"),
    ("TypeError", lambda f: f(dl.zeros(3, dtype="int64"), dl.zeros(3, dtype="uint64")), "kron outer"),
    ("ValueError", lambda f: f(X, X), "outer cross"),
    ("ValueError", lambda f: f(X, X, out=VECTOR), "kron"),
    ("IndexError", lambda f: f(X, X, axis=9), "vecdot cross"),
    ("IndexError", lambda f: f(X, X, axes=((9,), (0,))), "tensordot"),
    ("TypeError", lambda f: f(X, X), "einsum"),
    ("ValueError", lambda f: f("ij,ij", X), "einsum"),
    # linalg
    (
        "TypeError",
        lambda f: f(OPAQUE),
        f"linalg.(norm vector_norm) {MATRIX} linalg.(cholesky det eig eigh eigvals eigvalsh inv slogdet)",
    ),
    ("TypeError", lambda f: f(OPAQUE, 2), "linalg.matrix_power"),
    ("TypeError", lambda f: f(OPAQUE, OPAQUE), "linalg.solve"),
    ("TypeError", lambda f: f(X, offset=0.5), "linalg.(diagonal trace)"),
    ("ValueError", lambda f: f(dl.zeros((2, 3))), "linalg.(cholesky det eig eigh eigvals eigvalsh inv slogdet)"),
    ("ValueError", lambda f: f(dl.zeros((2, 3)), 2), "linalg.matrix_power"),
    ("ValueError", lambda f: f(VECTOR), f"{MATRIX} linalg.(diagonal trace)"),
    ("ValueError", lambda f: f(X, out=dl.zeros(7)), "linalg.(norm vector_norm)"),
    ("LinAlgError", lambda f: f(NANS), f"{EIGEN} linalg.(eig eigvals)"),
    ("LinAlgError", lambda f: f(SINGULAR), "linalg.(cholesky inv)"),
    ("LinAlgError", lambda f: f(SINGULAR, -1), "linalg.matrix_power"),
    ("LinAlgError", lambda f: f(SINGULAR, X), "linalg.solve"),
    ("ImportError", lambda f: without_lapack(f, dl.eye(9)), f"{EIGEN} linalg.(eig eigvals)"),
    ("ImportError", lambda f: without_lapack(lambda x: f(x, ord=2), dl.eye(9)), "linalg.matrix_norm"),
    ("ImportError", without_lapack, "linalg.backend"),
    ("ValueError", lambda f: selected("DLTENSOR_LAPACK", without_lapack, f), "linalg.backend"),
    ("TypeError", lambda f: f(OPAQUE), "linalg.cond"),
    ("TypeError", lambda f: f(OPAQUE, X), "linalg.lstsq"),
    (
        "TypeError",
        lambda f: f([dl.asarray([[1]], dtype="int64"), dl.asarray([[1]], dtype="uint64")]),
        "linalg.multi_dot",
    ),
    ("ValueError", lambda f: f(VECTOR), "linalg.cond"),
    ("ValueError", lambda f: f(X, VECTOR), "linalg.lstsq"),
    ("ValueError", lambda f: f([X]), "linalg.multi_dot"),
    ("LinAlgError", lambda f: f(dl.zeros((0, 0))), "linalg.cond"),
    ("LinAlgError", lambda f: f(NANS, NANS), "linalg.lstsq"),
    ("DeviceError", lambda f: f(FAR), "linalg.cond"),
    ("DeviceError", lambda f: f(FAR, FAR), "linalg.lstsq"),
    ("ImportError", lambda f: without_lapack(f, dl.eye(9)), "linalg.cond"),
    ("ImportError", lambda f: without_lapack(f, dl.eye(9), dl.eye(9)), "linalg.lstsq"),
    # fft
    ("TypeError", lambda f: f(dl.zeros((2, 2), dtype="float8_e5m2")), f"{FFT} {FFTN}"),
    ("ValueError", lambda f: f(X, norm="a"), f"{FFT} {FFTN}"),
    ("IndexError", lambda f: f(X, axes=(9,)), f"{FFTN} fft.(fftshift ifftshift)"),
    ("TypeError", lambda f: f(X, axes=("a",)), "fft.(fftshift ifftshift)"),
    ("ValueError", lambda f: f(X, axes=(0, 0)), "fft.(fftshift ifftshift)"),
    ("TypeError", lambda f: f("a"), "fft.(fftfreq rfftfreq)"),
    ("ValueError", lambda f: f(0), "fft.(fftfreq rfftfreq)"),
    ("ImportError", lambda f: without_fft(f, X), f"{FFT} {FFTN}"),
    ("ImportError", without_fft, "fft.backend"),
    ("ValueError", lambda f: selected("DLTENSOR_FFT", without_fft, f), "fft.backend"),
    # random
    ("TypeError", lambda f: f(object()), "random.Generator random.seed"),
    ("ValueError", lambda f: f(1, stream=-1), "random.Generator"),
    ("TypeError", lambda f: f(RNG, 1.5, dtype="complex64"), "random.Generator.(exponential normal uniform)"),
    ("TypeError", lambda f: f(RNG, dtype="complex64"), "random.Generator.random"),
    ("TypeError", lambda f: f(RNG, 1.5), "random.Generator.integers"),
    ("ValueError", lambda f: f(RNG, -1), "random.Generator.(exponential integers permutation spawn choice)"),
    ("ValueError", lambda f: f(RNG, 0, -1), "random.Generator.normal"),
    ("ValueError", lambda f: f(RNG, 1, 0), "random.Generator.uniform"),
    ("ValueError", lambda f: f(RNG, 4, out=VECTOR), "random.Generator.random"),
    ("OverflowError", lambda f: f(RNG, 300, dtype="int8"), "random.Generator.integers"),
    ("TypeError", lambda f: f(RNG, dtype="int8"), f"random.Generator.(standard_normal standard_exponential {SHIFTED})"),
    ("ValueError", lambda f: f(RNG, 4, out=VECTOR), "random.Generator.(standard_normal standard_exponential)"),
    ("TypeError", lambda f: f(RNG, "a"), f"random.Generator.({OF_ONE})"),
    ("ValueError", lambda f: f(RNG, -1), f"random.Generator.({OF_ONE})"),
    ("ValueError", lambda f: f(RNG, 1, -1), f"random.Generator.({SHIFTED} beta)"),
    ("TypeError", lambda f: f(RNG, 1, "a"), "random.Generator.(beta binomial multinomial multivariate_normal)"),
    ("ValueError", lambda f: f(RNG, 1, 2), "random.Generator.(binomial multinomial multivariate_normal)"),
    ("IndexError", lambda f: f(RNG, X, 9), "random.Generator.permuted"),
    ("ValueError", lambda f: f(RNG, X, out=VECTOR), "random.Generator.permuted"),
    ("TypeError", lambda f: f(object()), "random.default_rng"),
    ("TypeError", lambda f: f(RNG, 5), "random.Generator.shuffle"),
    ("ValueError", lambda f: f(RNG, READ_ONLY), "random.Generator.shuffle"),
    ("ValueError", lambda f: f(RNG, 2**80), "random.Generator.jump"),
    ("TypeError", lambda f: f("abcd", (1, 2)), "random.philox"),
    ("ValueError", lambda f: f((1,), (1, 2)), "random.philox"),
    # exchange
    ("AttributeError", lambda f: f(object()), "from_dlpack"),
    ("AttributeError", lambda f: f(object(), np.ndarray), "into"),
    ("TypeError", lambda f: f(X, 3), "into"),
    ("BufferError", lambda f: f(X, Refusing), "into"),
    ("TypeError", lambda f: f(BadCapsule()), "from_dlpack"),
    ("BufferError", lambda f: f(Broken()), "asarray data_ptr opaque.OpaqueArray"),
    ("BufferError", lambda f: f(Consumed()), "from_dlpack"),
    ("TypeError", lambda f: f(object()), "data_ptr validate adapt from_arrow opaque.OpaqueArray"),
    ("BufferError", lambda f: f(X.T, copy=False, contiguous=True), "adapt"),
    ("ValueError", lambda f: f(X, to="a"), "adapt"),
    ("BufferError", lambda f: f(0, (2,), "float32"), "wrap"),
    ("TypeError", lambda f: f("a", (2,), "float32"), "wrap"),
    ("ValueError", lambda f: f(-8, (2,), "float32"), "wrap"),
    ("BufferError", lambda f: f(arrow(length=-1)), "from_arrow"),
    ("ValueError", lambda f: f(arrow_structs.Producer(b"b", of=ctypes.c_uint8), copy=False), "from_arrow"),
    ("DeviceError", lambda f: f(FAR), "from_arrow"),
    ("OSError", lambda f: f(arrow_structs.StreamProducer([arrow()], codes=[5])), "from_arrow"),
    ("BufferError", lambda f: f(READ_ONLY), "Tensor.__dlpack__"),
    ("TypeError", lambda f: f(X, copy=3), "Tensor.(__dlpack__ numpy)"),
    ("ValueError", lambda f: f(X, stream=5), "Tensor.__dlpack__"),
    ("ValueError", lambda f: f(X, "cpu", stream=5), "Tensor.to_device"),
    ("ValueError", lambda f: f(X.astype("int4"), copy=False), "Tensor.numpy"),
    ("ImportError", lambda f: in_new_process("dl.zeros(2).numpy()"), "Tensor.numpy"),
    ("ValueError", lambda f: f(X, "cpu"), "Tensor.cuda"),
    ("TypeError", lambda f: f(COMPLEX), "Tensor.(__arrow_c_array__ __arrow_c_device_array__)"),
    ("ValueError", lambda f: f(dl.asarray(1)), "Tensor.(__arrow_c_array__ __arrow_c_device_array__)"),
    ("NotImplementedError", lambda f: f(X, later=1), "Tensor.__arrow_c_device_array__"),
    ("TypeError", lambda f: f(), "io.TensorInfo"),
    ("TypeError", lambda f: f("a"), "Tensor"),
    ("OSError", lambda f: without_descriptors(f, X), "Tensor.share"),
    ("OSError", lambda f: without_descriptors(f, 3), "shared.empty"),
    ("OSError", lambda f: without_descriptors(f, {"a": X}), "shared.pack"),
    ("TypeError", lambda f: f(3), "shared.pack"),
    ("ValueError", lambda f: f({"a": X, "b": FAR}), "shared.pack"),
    # settings
    ("TypeError", lambda f: f("a"), "set_cache_limit set_num_threads"),
    ("ValueError", lambda f: f(-1), "set_cache_limit set_num_threads"),
    ("OverflowError", lambda f: f(2**80), "set_cache_limit"),
    ("OverflowError", lambda f: f(2**80).__enter__(), "debug.trace"),
    ("ValueError", lambda f: f(0), "debug.trace"),
    ("MemoryError", lambda f: f(2**60).__enter__(), "debug.trace"),  # beyond a vector: sanitizers end a failing `new`
    ("RuntimeError", lambda f: entered_twice(f(8)), "debug.(trace Trace)"),
    ("RuntimeError", lambda f: reproducibly(f, FORTY), "fft.(fft ifft fftn ifftn rfft irfft rfftn irfftn hfft ihfft)"),
    ("RuntimeError", lambda f: reproducibly(f, FORTY), "fft.(fft2 ifft2 rfft2 irfft2)"),
    (
        "RuntimeError",
        lambda f: reproducibly(f, FORTY),
        "linalg.(eig eigvals eigh eigvalsh svd svdvals matrix_rank pinv cond)",
    ),
    ("RuntimeError", lambda f: reproducibly(f, FORTY, FORTY), "linalg.lstsq"),
    ("RuntimeError", lambda f: reproducibly(f, FORTY, ord=2), "linalg.(norm matrix_norm)"),
    # checks and layout
    ("TypeError", lambda f: f(object()), "checks.check_tensor"),
    ("ValueError", lambda f: f(None), "checks.check_tensor"),
    (
        "TypeError",
        lambda f: f(object(), X),
        "checks.(check_same_device check_same_dtype_device check_same_dtype_device_shape)",
    ),
    (
        "ValueError",
        lambda f: f(INTEGERS, FAR),
        "checks.(check_same_device check_same_dtype_device check_same_dtype_device_shape)",
    ),
    ("TypeError", lambda f: f("a", "a", (2,)), "layout.broadcast_strides"),
    ("ValueError", lambda f: f((2,), (1,), (3,)), "layout.broadcast_strides"),
    ("TypeError", lambda f: f("a", [(1,)]), "layout.(coalesce extent is_contiguous nbytes)"),
    ("ValueError", lambda f: f((2,), [(1, 1)]), "layout.coalesce"),
    ("ValueError", lambda f: f((2,), (1, 1)), "layout.(extent is_contiguous)"),
    ("TypeError", lambda f: f("a", (1,)), "layout.array_equals"),
    ("ValueError", lambda f: f((1,), (1,), 0, 9), "layout.array_equals"),
    ("ValueError", lambda f: f([X, VECTOR]), "layout.create_output_tensor"),
    # files
    ("OSError", lambda f: f(FOLDER / "absent" / "a.npy"), "load open_file io.TensorFile"),
    ("OSError", lambda f: f(FOLDER / "absent" / "a.npz", X), "savez"),
    ("ValueError", lambda f: f(FOLDER / "a.npz", X, arr_0=X), "savez"),
    ("TypeError", lambda f: f(5, X), "savez"),
    ("OSError", lambda f: f(FOLDER / "absent" / "a.npy", X), "save"),
    ("OSError", lambda f: f(FOLDER / "absent", (2,), "int8"), "memmap"),
    ("ValueError", lambda f: f(at_path(".npy", b"nonsense")), "load open_file io.TensorFile"),
    ("ValueError", lambda f: f(FOLDER / "a.what", X), "save"),
    ("ValueError", lambda f: f(at_path(".raw", b"ab"), (9,), "int8"), "memmap"),
    ("TypeError", lambda f: f(at_path(".npy", OBJECTS)), "load open_file io.TensorFile"),
    ("TypeError", lambda f: f(FOLDER / "a.npy", object()), "save"),
    ("KeyError", lambda f: f(saved(), names=["b"]), "load"),
    ("KeyError", lambda f: f(dl.open_file(saved()), "b"), "io.TensorFile.(info read)"),
    ("MemoryError", lambda f: f(too_large(), mmap=False), "load"),
    ("ValueError", lambda f: f(dl.open_file(saved()), "a", out=dl.zeros(7)), "io.TensorFile.read"),
    ("ValueError", lambda f: f(dl.open_file(member(b"nonsense")), "a"), "io.TensorFile.info"),
    ("TypeError", lambda f: f(dl.open_file(member(OBJECTS)), "a"), "io.TensorFile.info"),
    ("BufferError", lambda f: closed_in_use(f), "io.TensorFile.close"),
    # tools
    ("Missing", lambda f: f("no_such_module:make"), "conformance.check"),
    ("ValueError", lambda f: f("dltensor", only=["nonsense"]), "conformance.check"),
    ("TypeError", lambda f: f("object"), "inspect.Report"),
    ("TypeError", lambda f: f(dl.inspect(X), "a"), "inspect.Report.to_json"),
    # opaque arrays
    ("ValueError", lambda f: f(X, origin="a\0"), "opaque.OpaqueArray"),
    ("TypeError", lambda f: f("a"), "opaque.(from_pointer hold unwrap callback)"),
    ("ValueError", lambda f: f(-1), "opaque.(from_pointer hold unwrap)"),
    ("TypeError", lambda f: f(3), "opaque.(register_origin register_metatensor)"),
    ("ValueError", lambda f: f("a\0"), "opaque.register_origin"),
    ("OverflowError", lambda f: f(-1), "opaque.origin_name"),
    ("ValueError", lambda f: released(f), "opaque.OpaqueArray.release"),
    ("BufferError", lambda f: f(dl.opaque.OpaqueArray(X), stream=7), "opaque.OpaqueArray.as_dlpack"),
    ("TypeError", lambda f: f(dl.opaque.OpaqueArray(X), max_version="a"), "opaque.OpaqueArray.as_dlpack"),
    ("TypeError", lambda f: f(dl.opaque.OpaqueArray(X), object()), "opaque.OpaqueArray.from_dlpack"),
    ("ValueError", lambda f: f(dl.opaque.OpaqueArray(X), (3,)), "opaque.OpaqueArray.reshape"),
    ("IndexError", lambda f: f(dl.opaque.OpaqueArray(X), 0, 9), "opaque.OpaqueArray.swap_axes"),
    ("DeviceError", lambda f: f(dl.opaque.OpaqueArray(X), "rocm"), "opaque.OpaqueArray.copy"),
    (
        "OverflowError",
        lambda f: f(dl.opaque.OpaqueArray(dl.zeros(1, dtype="int8")), (2,), 300),
        "opaque.OpaqueArray.create",
    ),
    ("ValueError", lambda f: f(dl.opaque.OpaqueArray(X), (-2,), 0), "opaque.OpaqueArray.create"),
    ("TypeError", lambda f: f(dl.opaque.OpaqueArray(X), X, []), "opaque.OpaqueArray.move_data"),
    (
        "ValueError",
        lambda f: f(dl.opaque.OpaqueArray(X), dl.opaque.OpaqueArray(INTEGERS), [(0, 0, 1)]),
        "opaque.OpaqueArray.move_data",
    ),
    ("BufferError", lambda f: f(failing("as_dlpack")), "opaque.(from_pointer unwrap)"),
    ("BufferError", lambda f: f(dl.opaque.hold(failing("as_dlpack"))), "opaque.OpaqueArray.(tensor unwrap)"),
    ("BufferError", lambda f: f(dl.opaque.hold(failing("from_dlpack")), X), "opaque.OpaqueArray.from_dlpack"),
    ("BufferError", release_inside, "opaque.OpaqueArray.release"),
    ("FileNotFoundError", not_installed, "opaque.(include_dir library_path)"),
    ("ImportError", lambda f: without_metatensor(f, "a"), "opaque.metatensor_load"),
    ("ImportError", without_metatensor, "opaque.register_metatensor"),
    ("ImportError", lambda f: without_metatensor(f, ["a"], INTEGERS), "opaque.metatensor_labels"),
    ("ImportError", lambda f: without_metatensor(f, X, 1, 2, 3), "opaque.metatensor_block"),
    # arrays
    ("TypeError", lambda f: f("a"), "atleast_1d atleast_2d atleast_3d argwhere flatnonzero ix_ diagonal diag diagflat"),
    ("TypeError", lambda f: f("a"), "rot90 block trim_zeros frombuffer as_strided"),
    ("TypeError", lambda f: f(["a"]), "vstack hstack dstack column_stack"),
    ("TypeError", lambda f: f("a", 1), "pad sliding_window_view delete append"),
    ("TypeError", lambda f: f("a", 1, 1), "insert"),
    ("TypeError", lambda f: f(VECTOR, "a"), "split array_split vsplit hsplit chunk"),
    ("TypeError", lambda f: f(dl.zeros((2, 2, 2)), "a"), "dsplit"),
    ("TypeError", lambda f: f(X, 0, "a"), "swapaxes"),
    ("TypeError", lambda f: f(1.5), "tri tril_indices triu_indices"),
    ("TypeError", lambda f: f(1.5, (2, 3)), "unravel_index"),
    ("TypeError", lambda f: f([1.5, 1.5], (2, 3)), "ravel_multi_index"),
    ("ValueError", lambda f: f([]), "vstack hstack dstack column_stack block"),
    ("ValueError", lambda f: f(X, axes=(0, 0)), "rot90"),
    ("ValueError", lambda f: f(X, VECTOR, axis=0), "append"),
    ("ValueError", lambda f: f(VECTOR, 0, INTEGERS), "insert"),
    ("ValueError", lambda f: f(VECTOR, 2), "split vsplit hsplit"),
    ("ValueError", lambda f: f(dl.zeros((2, 2, 3)), 2), "dsplit"),
    ("ValueError", lambda f: f(VECTOR, 0), "array_split chunk"),
    ("ValueError", lambda f: f(X, 0, 1, 1), "diagonal"),
    ("ValueError", lambda f: f(dl.zeros((1, 1, 1))), "diag"),
    ("ValueError", lambda f: f(X, "x"), "trim_zeros"),
    ("ValueError", lambda f: f("int8", "int8", "any"), "can_cast"),
    ("IndexError", lambda f: f(X, axis=9), "trim_zeros"),
    ("IndexError", lambda f: f(X, {9: 1}), "pad"),
    ("ValueError", lambda f: f(-1), "tri"),
    ("ValueError", lambda f: f(VECTOR, 1, "outward"), "pad"),
    ("ValueError", lambda f: f(VECTOR, (9,), (1,)), "as_strided"),
    ("ValueError", lambda f: f(VECTOR, 9), "sliding_window_view"),
    ("ValueError", lambda f: f(X), "ix_"),
    ("ValueError", lambda f: f(9, (2, 3)), "unravel_index"),
    ("ValueError", lambda f: f((1, 9), (2, 3)), "ravel_multi_index"),
    ("ValueError", lambda f: f(b"abc", "int16"), "frombuffer"),
    ("IndexError", lambda f: f(X, 0, 9), "swapaxes"),
    ("IndexError", lambda f: f(X, axes=(0, 9)), "rot90"),
    ("IndexError", lambda f: f(X, 1, axis=9), "delete split array_split chunk sliding_window_view"),
    ("IndexError", lambda f: f(X, VECTOR, axis=9), "append"),
    ("IndexError", lambda f: f(X, 1, 1, axis=9), "insert"),
    ("IndexError", lambda f: f(VECTOR, 1), "dsplit"),
    ("IndexError", lambda f: f(dl.asarray(1), 1), "vsplit hsplit"),
    ("IndexError", lambda f: f(X, 0, 9), "diagonal"),
    ("DeviceError", lambda f: f(FAR), "argwhere flatnonzero"),
    ("ValueError", lambda f: f.__get__(VECTOR), "Tensor.(H mH)"),
    # values
    ("TypeError", lambda f: f("a"), "angle modf nan_to_num relu softplus cov corrcoef trace"),
    ("TypeError", lambda f: f(dl.asarray([1], dtype="uint64"), VECTOR.astype("int64")), "polyval"),
    ("TypeError", lambda f: f(VECTOR, 1.5), "vander"),
    ("ValueError", lambda f: f(X, 1), "polyval vander"),
    ("TypeError", lambda f: f("a", 1), "heaviside fmax fmin fmod percentile nanquantile nanpercentile partition"),
    ("TypeError", lambda f: f("a", 1), "argpartition intersect1d union1d setdiff1d setxor1d convolve correlate"),
    ("TypeError", lambda f: f("a"), "nanmedian nanargmax nanargmin nanprod nancumsum unique one_hot"),
    ("TypeError", lambda f: f("a"), "trapezoid gradient"),
    ("TypeError", lambda f: f([]), "lexsort"),
    ("TypeError", lambda f: f("a", [1]), "digitize"),
    ("TypeError", lambda f: f("a", [1], [1]), "interp"),
    ("TypeError", lambda f: f([1, 2], [0], 1.0), "put_along_axis"),
    ("TypeError", lambda f: f([VECTOR], [VECTOR]), "select"),
    ("TypeError", lambda f: f("a", "b"), "logspace"),
    ("TypeError", lambda f: f([], []), "geomspace"),
    ("TypeError", lambda f: f(1.5), "hanning hamming blackman bartlett"),
    ("ValueError", lambda f: f(X, out=dl.zeros(7)), "relu softplus nanprod nancumsum"),
    ("ValueError", lambda f: f(X, VECTOR), "heaviside fmax fmin fmod"),
    ("ValueError", lambda f: f(X, 101), "percentile nanpercentile"),
    ("ValueError", lambda f: f(X, 2), "nanquantile"),
    ("ValueError", lambda f: f(NANS), "nanargmax nanargmin"),
    ("ValueError", lambda f: f(dl.zeros((2, 2, 2))), "cov corrcoef"),
    ("ZeroDivisionError", lambda f: f([1.0, 2.0], fweights=[0, 0]), "cov"),
    ("ValueError", lambda f: f(X, 0, 1, 1), "trace"),
    ("ValueError", lambda f: f(VECTOR, 3), "partition argpartition"),
    ("ValueError", lambda f: f(VECTOR, X), "digitize"),
    ("ValueError", lambda f: f(dl.zeros((2, 2)), [0], 1.0, 1), "put_along_axis"),
    ("ValueError", lambda f: f([], []), "select"),
    ("ValueError", lambda f: f([-1]), "one_hot"),
    ("ValueError", lambda f: f(VECTOR, VECTOR, X), "interp"),
    ("ValueError", lambda f: f(X, [1.0]), "gradient"),
    ("ValueError", lambda f: f(X, [1.0, 2.0, 3.0, 4.0]), "trapezoid"),
    ("ValueError", lambda f: f(X, VECTOR), "convolve correlate"),
    ("ValueError", lambda f: f(0, 1, -1), "logspace"),
    ("ValueError", lambda f: f(0, 1), "geomspace"),
    ("IndexError", lambda f: f(X, 1, axis=9), "percentile nanquantile nanpercentile partition argpartition"),
    ("IndexError", lambda f: f(X, axis=9), "nanmedian nanargmax nanargmin nanprod nancumsum unique trapezoid gradient"),
    ("IndexError", lambda f: f([VECTOR], axis=9), "lexsort"),
    ("IndexError", lambda f: f(X, 0, 9), "trace"),
    ("IndexError", lambda f: f(dl.zeros((2, 2)), [[9], [0]], 1.0, 1), "put_along_axis"),
    ("DeviceError", lambda f: f(FAR, 1), "percentile nanquantile nanpercentile"),
    (
        "TypeError",
        lambda f: f("a"),
        "bitwise_count packbits unpackbits frexp real_if_close unwrap diag_embed block_diag",
    ),
    ("TypeError", lambda f: f("a", 1), "gcd lcm ldexp logaddexp2"),
    ("TypeError", lambda f: f("a"), "histogram_bin_edges histogramdd"),
    ("TypeError", lambda f: f("a", "a"), "histogram2d"),
    ("TypeError", lambda f: f([1, 2], [0], 1), "place putmask"),
    ("TypeError", lambda f: f([1, 2], 1), "fill_diagonal"),
    ("TypeError", lambda f: f([0.5], [1]), "choose"),
    ("TypeError", lambda f: f("a", [True], [1]), "piecewise"),
    ("TypeError", lambda f: f(len, 0, "a"), "apply_along_axis"),
    ("TypeError", lambda f: f(1.5), "indices"),
    ("TypeError", lambda f: f(precision=1.5), "set_printoptions printoptions"),
    ("ValueError", lambda f: f(precision=-1), "set_printoptions printoptions"),
    ("ValueError", lambda f: f(INTEGERS, [1, 2, 3]), "gcd lcm ldexp logaddexp2"),
    ("ValueError", lambda f: f(INTEGERS, out=dl.zeros(7, dtype="int64")), "bitwise_count"),
    ("ValueError", lambda f: f(INTEGERS, bitorder="middle"), "packbits"),
    ("ValueError", lambda f: f(BYTES, bitorder="middle"), "unpackbits"),
    ("ValueError", lambda f: f(1), "diag_embed"),
    ("ValueError", lambda f: f(), "block_diag"),
    ("ValueError", lambda f: f(VECTOR, 1), "fill_diagonal"),
    ("ValueError", lambda f: f(VECTOR, 0), "histogram_bin_edges histogramdd"),
    ("ValueError", lambda f: f(VECTOR, X), "histogram2d"),
    ("ValueError", lambda f: f(VECTOR, [1], 1), "place putmask"),
    ("ValueError", lambda f: f([2], [1, 2]), "choose"),
    ("ValueError", lambda f: f(VECTOR, [VECTOR > 1], []), "piecewise"),
    ("ValueError", lambda f: f(len, 0, dl.zeros((2, 0))), "apply_along_axis"),
    ("ValueError", lambda f: f(-1), "indices"),
    ("IndexError", lambda f: f(INTEGERS, 9), "packbits"),
    ("IndexError", lambda f: f(BYTES, 9), "unpackbits"),
    ("IndexError", lambda f: f(X, axis=9), "unwrap"),
    ("IndexError", lambda f: f(X, 0, 9), "diag_embed"),
    ("IndexError", lambda f: f(len, 9, X), "apply_along_axis"),
    ("TypeError", lambda f: f(1), "help"),
    ("DeviceError", lambda f: f(FAR), "nanmedian nanprod nancumsum"),
]


def registered(x):
    dl.opaque.register_metatensor()
    return x


def reproducibly(function, *arguments, **keywords):
    """Call a function inside a block that demands the same bits everywhere."""
    with dl.reproducible():
        return function(*arguments, **keywords)


def labels(name):
    """Three labels, where a block of two rows and columns has two."""
    return dl.opaque.metatensor_labels([name], [[0], [1], [2]])


# Errors of calls that need metatensor-core.
WITH_METATENSOR = [
    ("TypeError", lambda f: f(registered(X), 1, [], 3), "opaque.metatensor_block"),
    ("metatensor.MetatensorError", lambda f: f(registered(X), labels("a"), [], labels("b")), "opaque.metatensor_block"),
    ("TypeError", lambda f: f(["a", "b"], X), "opaque.metatensor_labels"),
    ("ValueError", lambda f: f(["a"], INTEGERS), "opaque.metatensor_labels"),
    ("metatensor.MetatensorError", lambda f: f(["a"], dl.asarray([[1], [1]])), "opaque.metatensor_labels"),
    ("ValueError", lambda f: f("a\0"), "opaque.metatensor_load"),
    ("metatensor.MetatensorError", lambda f: f(FOLDER / "absent"), "opaque.metatensor_load"),
]

# Names, and how messages begin that do not begin with the name of the function.
BEGINNINGS = [
    ("fft.(fft2 ifft2 irfft2 rfft2)", "fft"),  # where no library is installed
    ("DType.(char dtype str type)", "numpy.dtype"),
    ("Tensor.cuda", "the CUDA driver"),  # and why it does not start
    ("DType.__call__", "int8"),
    ("debug.Trace", "trace"),
    ("from_arrow", "__arrow_c_array__"),  # of our own tensor, the object given
    ("io.(TensorFile TensorFile.close TensorFile.info TensorFile.read)", "open_file"),
]
