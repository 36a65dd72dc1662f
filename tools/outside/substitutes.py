# SPDX-License-Identifier: Apache-2.0
"""What a test of another project gets in place of its own modules, so that tensors of dltensor take part in it.

There are two roles. As *producer*, the arrays and tensors that the test makes are ours, and its own consumers take
them. As *consumer*, the test makes its own arrays and ``dltensor.from_dlpack`` takes them.
"""

import os
import types

import uses

import dltensor as dl

role = os.environ.get("OUTSIDE_ROLE", "none")


def count_use(tensor):
    uses.add()
    return tensor


class Substitute(types.ModuleType):
    """A module with some names replaced; all others are those of the original."""

    def __init__(self, original, **replaced):
        super().__init__(original.__name__)
        self.__dict__.update(replaced)
        self.original = original

    def __getattr__(self, name):
        return getattr(self.original, name)


def ours(made):
    """A tensor of ours with the elements and layout of ``made``, or ``made`` itself if DLPack cannot describe it."""
    try:
        tensor = dl.from_dlpack(made)
    except (BufferError, TypeError):
        return made
    return count_use(tensor.copy() if tensor.is_contiguous else tensor)


def making(original, *names):
    """The functions of a module that make arrays, now of ours."""

    def make(function):
        return lambda *args, **kwargs: ours(function(*args, **kwargs))

    return {name: make(getattr(original, name)) for name in names}


def take(producer, **kwargs):
    return count_use(dl.from_dlpack(producer, **kwargs))


class Subclassable:
    """In place of ``numpy.ndarray`` as a base class, since Tensor has no subclasses: its protocol methods."""

    def __new__(cls, *args, **kwargs):
        import numpy as np

        return ours(np.ndarray(*args, **kwargs))

    @classmethod
    def of(cls, tensor):
        self = object.__new__(cls)
        self.tensor = tensor
        return count_use(self)

    def __dlpack__(self, **kwargs):
        return self.tensor.__dlpack__(**kwargs)

    def __dlpack_device__(self):
        return self.tensor.__dlpack_device__()

    def __array__(self, dtype=None, copy=None):
        return self.tensor.__array__(dtype, copy=copy)

    def copy(self):
        return self.of(self.tensor.copy())

    def astype(self, dtype):
        return self.of(Spelling(self.tensor).astype(dtype))

    @property
    def dtype(self):
        return self.tensor.dtype


class ArrayFlags:
    """``ndarray.flags`` of a tensor. None can be set: rewriting.py rewrites that to ``read_only``."""

    def __init__(self, tensor):
        self._tensor = tensor

    @property
    def writeable(self):
        return not self._tensor.readonly

    def __getitem__(self, name):
        order = name[: -len("_CONTIGUOUS")]
        return dl.layout.is_contiguous(self._tensor.shape, self._tensor.strides, order=order)


class Spelling:
    """The spellings of NumPy, torch and tvm-ffi for what a tensor of ours has under another name."""

    def __init__(self, tensor):
        self._tensor = tensor

    def __getattr__(self, name):
        return getattr(self._tensor, name)

    @property
    def flags(self):
        return ArrayFlags(self._tensor)

    @property
    def ctypes(self):
        return types.SimpleNamespace(data=self._tensor.data_ptr)

    @property
    def real(self):
        return dl.real(self._tensor)

    @property
    def imag(self):
        return dl.imag(self._tensor)

    def view(self, kind):
        return kind.of(self._tensor) if issubclass(kind, Subclassable) else self._tensor.view(kind)

    def astype(self, dtype):
        return self._tensor.astype("bool" if dtype is bool else dtype)

    def reshape(self, *shape):
        return self._tensor.reshape(shape[0] if isinstance(shape[0], tuple) else shape)

    def contiguous(self):
        return self._tensor if self._tensor.is_contiguous else self._tensor.copy()

    def t(self):
        return self._tensor.T

    def data_ptr(self):
        return self._tensor.data_ptr

    def stride(self):
        return self._tensor.strides

    def is_contiguous(self):
        return self._tensor.is_contiguous

    def numel(self):
        return self._tensor.size

    def size(self, axis):
        return self._tensor.shape[axis]


class DeviceSpelling:
    """The spellings of tvm-ffi for a device."""

    def __init__(self, device):
        self._device = device

    def dlpack_device_type(self):
        return self._device.type

    @property
    def index(self):
        return self._device.id


SPELLINGS = {dl.Tensor: Spelling, dl.Device: DeviceSpelling}
SPELLED = frozenset(name for spelling in SPELLINGS.values() for name in vars(spelling) if not name.startswith("_"))


def spelled(value):
    """Before ``.name`` of a name in SPELLED."""
    spelling = SPELLINGS.get(type(value))
    return spelling(count_use(value)) if spelling else value


def read_only(array):
    """The result of ``array.setflags(write=False)``: for a tensor of ours another one over the same memory."""
    if isinstance(array, dl.Tensor):
        return dl.wrap(array.data_ptr, array.shape, array.dtype, strides=array.strides, owner=array, readonly=True)
    array.setflags(write=False)
    return array


def equal(left, right):
    """``left == right``, where a tensor may stand beside a nested list."""
    if isinstance(left, dl.Tensor) and isinstance(right, list):
        return left == dl.asarray(right, dtype=left.dtype)
    return left == right


def as_torch(value):
    import torch

    return torch.from_dlpack(value) if isinstance(value, dl.Tensor) else value


def as_array(value):
    return value.numpy() if isinstance(value, dl.Tensor) else value


def concluding(original, convert, *names):
    """The functions with which a test compares elements: they get tensors of ours as their own."""

    def make(function):
        return lambda *args, **kwargs: function(*map(convert, args), **kwargs)

    return {name: make(getattr(original, name)) for name in names}


def comparing(case):
    """torch's TestCase, to compare tensors of ours by their elements as it does its own."""

    class Comparing(case):
        def assertEqual(self, x, y, *args, **kwargs):
            return super().assertEqual(as_torch(x), as_torch(y), *args, **kwargs)  # noqa: PT009

    return Comparing


def export_capsule(tensor):
    return tensor.__dlpack__()


def take_after(function):
    """What tvm-ffi has taken, taken from it by us."""
    return lambda x: take(function(x))


def take_results(extension):
    """The arrays that nanobind's functions return (named ``ret_...``), taken by us."""
    import numpy as np

    def make(function):
        def call(*args):
            result = function(*args)
            return take(result) if isinstance(result, np.ndarray) else result

        call.__doc__ = function.__doc__
        return call

    return {name: make(getattr(extension, name)) for name in dir(extension) if name.startswith("ret_")}


def numpy_with(replaced):
    return lambda m: Substitute(m, **concluding(m, as_array, "all", "allclose"), **replaced(m))


def torch_with(replaced):
    return lambda m: Substitute(m, **concluding(m, as_torch, "all"), **replaced(m))


MAKES_ARRAYS = ("arange", "array", "asarray", "empty", "ones", "zeros")
MAKES_TENSORS = ("arange", "ones", "rand", "tensor", "zeros")
SUBSTITUTES = {
    "producer": {
        "numpy": numpy_with(lambda m: {"ndarray": Subclassable, **making(m, *MAKES_ARRAYS)}),
        "torch": torch_with(lambda m: {"Tensor": dl.Tensor, **making(m, *MAKES_TENSORS)}),
        "torch.testing.make_tensor": lambda function: lambda *args, **kwargs: ours(function(*args, **kwargs)),
        "torch.testing._internal.common_utils.TestCase": comparing,
        "torch.utils.dlpack.to_dlpack": lambda function: export_capsule,
    },
    "consumer": {
        "numpy": numpy_with(lambda m: {"from_dlpack": take}),
        "torch": torch_with(lambda m: {"from_dlpack": take}),
        "torch.testing._internal.common_utils.TestCase": comparing,
        "torch.utils.dlpack.from_dlpack": lambda function: take,
        "tvm_ffi": lambda m: Substitute(m, Tensor=dl.Tensor, from_dlpack=take_after(m.from_dlpack)),
        "test_ndarray_ext": lambda m: Substitute(m, **take_results(m)),
    },
}


def substitute(name, original):
    """Substitute for an imported module or name in this role."""
    if role not in SUBSTITUTES:
        import namespaces

        return namespaces.substitute(role, name, original)
    change = SUBSTITUTES[role].get(name)
    return change(original) if change else original
