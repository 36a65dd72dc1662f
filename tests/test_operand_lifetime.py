# SPDX-License-Identifier: Apache-2.0
"""Operands while others are read: no pointer into a foreign object is used after other Python code has run."""

import gc
import os
import random
import sys
import sysconfig
import threading
import weakref

import numpy as np
import pytest
from children import run_python

import dltensor as dl

# NumPy 2.5 and newer warn of what is tried here.
pytestmark = pytest.mark.filterwarnings("ignore:Setting the:DeprecationWarning")

borrows = pytest.mark.skipif(
    os.environ.get("DLTENSOR_NUMPY") == "public", reason="without NumPy's fields operands are imported, not borrowed"
)
SIZE = 200_000  # bytes that the C library gives back to the system, so that reading freed memory ends the process


class Hook:
    """A one-element tensor whose conversion runs some code first."""

    def __init__(self, action, name="__dlpack__"):
        self.action, self.name, self.array = action, name, np.ones(1, np.float32)

    def __dlpack_device__(self):
        if self.name == "__dlpack_device__":
            self.action()
        return (1, 0)

    def __dlpack__(self, **keywords):
        if self.name == "__dlpack__":
            self.action()
        return self.array.__dlpack__(**keywords)


class Number:
    """An object that is a number by one method, which runs some code first."""

    def __init__(self, action):
        self.action = action

    def __index__(self):
        self.action()
        return 1


class Array:
    def __init__(self, action):
        self.action = action

    def __array__(self, dtype=None, copy=None):
        self.action()
        return np.ones(1, np.float32)


class Interface:
    def __init__(self, action):
        self.action, self.array = action, np.ones(1, np.float32)

    @property
    def __array_interface__(self):
        self.action()
        return self.array.__array_interface__


def victim():
    return np.full(SIZE, 2.0, np.float32)


HOOKS = [
    Hook,
    lambda action: Hook(action, "__dlpack_device__"),
    Number,
    Array,
    Interface,
]
CALLS = {
    "add": lambda a, b: dl.add(a, b),
    "where": lambda a, b: dl.where(dl.asarray(True), a, b),
    "fma": lambda a, b: dl.fma(a, a, b),
    "clip": lambda a, b: dl.clip(a, b, 5),
    "less": lambda a, b: dl.less(a, b),
}


@borrows
@pytest.mark.parametrize("hook", HOOKS, ids=["dlpack", "dlpack_device", "index", "array", "array_interface"])
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize("act", ["resize", "shape", "dtype"])
def test_an_operand_that_is_changed_while_another_is_read_is_read_after_that(call, hook, act):
    a = victim()

    def action():
        if act == "resize":
            a.resize(4, refcheck=False)
        elif act == "shape":
            a.shape = (SIZE // 4, 4)
        else:
            a.dtype = np.int32

    result = call(a, hook(action))
    expected = {"resize": (4,), "shape": (SIZE // 4, 4), "dtype": (SIZE,)}[act]
    assert result.shape == expected
    if act != "dtype":
        expected_value = call(np.full(1, 2.0, np.float32), np.ones(1, np.float32)).tolist()[0]
        assert np.all(result.numpy() == expected_value)


@borrows
@pytest.mark.parametrize("hook", HOOKS[:2], ids=["dlpack", "dlpack_device"])
def test_an_operand_that_out_frees_is_read_after_that(hook):
    a = victim()
    out = hook(lambda: a.resize(1, refcheck=False))
    assert dl.add(a, 1, out) is out
    assert out.array.tolist() == [3.0]


@borrows
def test_an_operand_that_the_target_of_a_cast_frees_is_read_after_that():
    a = victim()
    out = Hook(lambda: a.resize(1, refcheck=False))
    dl.cast(a, out)
    assert out.array.tolist() == [2.0]


@borrows
def test_a_factor_that_the_other_one_frees_is_read_after_that():
    a = victim()
    assert dl.matmul(a, Hook(lambda: a.resize(1, refcheck=False))).item() == 2.0


@pytest.mark.parametrize("name", ["alpha", "beta"])
def test_factors_of_gemm_are_read_before_its_matrices(name):
    a = np.full((256, 256), 2.0, np.float32)

    class Factor:
        def __float__(self):
            a.resize((1, 1), refcheck=False)
            return 0.0

    c = np.zeros((1, 1), np.float32)
    dl.gemm(a, a, c, **{name: Factor()})
    assert c.tolist() == [[0.0 if name == "alpha" else 4.0]]


def test_an_operand_whose_other_reference_goes_while_others_are_read_is_still_held():
    holder = [victim()]
    result = dl.add(holder[0], Hook(holder.clear))
    assert np.all(result.numpy() == 3.0)


def test_a_view_keeps_numpy_from_resizing_its_array():
    a = np.arange(SIZE, dtype=np.float32)
    views = [dl.from_dlpack(a), dl.from_dlpack(a[10:]), dl.asarray(a)]
    with pytest.raises(ValueError, match="cannot resize"):
        a.resize(3, refcheck=False)
    del views[1:]
    with pytest.raises(ValueError, match="cannot resize"):
        a.resize(3, refcheck=False)
    assert views[0].shape == (SIZE,)
    del views
    a.resize(3, refcheck=False)
    assert a.tolist() == [0, 1, 2]


def test_a_view_of_a_view_keeps_numpy_from_resizing_the_owner():
    a = np.arange(SIZE, dtype=np.float32)
    view = dl.from_dlpack(a[5:][5:])
    with pytest.raises(ValueError, match="cannot resize"):
        a.resize(3, refcheck=False)
    assert view.item(0) == 10.0


def refuses_to_resize(array):
    try:
        array.resize(array.size + 1, refcheck=False)
    except ValueError:
        return True
    return False


def test_weak_references_that_are_used_again_are_those_of_their_array():
    arrays = [np.arange(4.0) for _ in range(300)]  # more than are kept for reuse
    for _ in range(3):
        views = [dl.from_dlpack(a) for a in arrays]
        assert [weakref.getweakrefcount(a) for a in arrays] == [1] * len(arrays)
        assert all(weakref.getweakrefs(a)[0]() is a for a in arrays)
        del views[::2]
        assert [weakref.getweakrefcount(a) for a in arrays] == [0, 1] * (len(arrays) // 2)
        assert [refuses_to_resize(a) for a in arrays] == [False, True] * (len(arrays) // 2)
        del views
        assert not any(weakref.getweakrefcount(a) for a in arrays)


class Hashable(np.ndarray):
    def __hash__(self):
        return 1000 + self.size


def test_the_hash_of_a_weak_reference_is_that_of_its_own_array():
    for size in (3, 4, 5):
        a = np.zeros(size).view(Hashable).copy()
        view = dl.from_dlpack(a)
        assert hash(weakref.ref(a)) == 1000 + size  # remembered by the reference that the view holds
        del view


def test_a_weak_reference_of_the_user_is_shared_and_outlives_the_view():
    a, b = np.arange(4.0).view(Hashable), np.arange(5.0)
    a = a.copy()  # owns its memory
    view = dl.from_dlpack(a)
    plain, called = weakref.ref(a), []
    notified = weakref.ref(a, called.append)
    assert hash(plain) == 1004  # remembered by the reference
    del view
    assert plain() is a
    assert notified() is a
    view = dl.from_dlpack(b)
    assert plain() is a
    assert weakref.ref(b)() is b
    assert weakref.ref(b) is not plain
    assert weakref.getweakrefcount(a) == 2
    del a
    assert plain() is None
    assert called == [notified]
    assert refuses_to_resize(b)
    del view
    assert weakref.getweakrefcount(b) == 0
    assert not refuses_to_resize(b)


def test_the_order_in_which_weak_references_are_made_and_deleted_does_not_matter():
    draw = random.Random(5)
    a = np.arange(4.0)
    held = []
    for _ in range(5000):
        kind = draw.randrange(5)
        if kind == 0 and held:
            held.pop(draw.randrange(len(held)))
        elif kind == 1:
            held.append(dl.from_dlpack(a))
        elif kind == 2:
            held.append(weakref.ref(a))
        elif kind == 3:
            held.append(weakref.ref(a, lambda reference: None))
        else:
            held.append(weakref.proxy(a))
        if len(held) > 20:
            del held[::2]
        references = [x for x in held if isinstance(x, weakref.ref)]
        assert all(x() is a for x in references)
        plain = any(x.__callback__ is None for x in references) or any(type(x) is dl.Tensor for x in held)
        proxy = any(type(x) is weakref.ProxyType for x in held)
        with_callback = sum(x.__callback__ is not None for x in references)
        assert weakref.getweakrefcount(a) == plain + proxy + with_callback
    held.clear()
    references.clear()
    assert weakref.getweakrefcount(a) == 0


def test_a_dead_weak_reference_that_somebody_holds_is_not_used_again():
    a, b = np.arange(4.0), np.arange(5.0)
    view = dl.from_dlpack(a)
    before = weakref.getweakrefs(a)[0]
    identity = id(before)
    del before, view
    found = [x for x in gc.get_objects() if type(x) is weakref.ref and id(x) == identity]
    views = [dl.from_dlpack(b), dl.from_dlpack(a)]
    assert all(x() is None for x in found)
    assert weakref.getweakrefs(a)[0]() is a
    assert weakref.getweakrefs(b)[0]() is b
    del views


def test_an_owner_that_dies_before_the_view_takes_its_weak_reference_with_it():
    owner = np.arange(SIZE, dtype=np.float32)
    array = owner[10:]
    view = dl.from_dlpack(array)
    reference = weakref.getweakrefs(owner)[0]
    state = np.arange(3.0).__reduce__()[2]
    del owner
    array.__setstate__(state)  # releases the memory and the base of the array
    assert reference() is None
    del reference, view
    others = [np.arange(4.0), np.arange(5.0)]
    views = [dl.from_dlpack(a) for a in others]
    assert all(weakref.getweakrefs(a)[0]() is a for a in others)
    del views


def test_weak_references_of_arrays_in_a_cycle_are_cleared_by_the_collector():
    class Node(np.ndarray):
        pass

    for _ in range(100):
        node = np.zeros(4).view(Node)
        node.self, node.tensor = node, dl.from_dlpack(node)
        del node
    gc.collect()
    a = np.arange(4.0)
    view = dl.from_dlpack(a)
    assert weakref.getweakrefs(a)[0]() is a
    del view


def test_a_view_keeps_its_shape_when_the_array_gets_another():
    a = np.arange(6.0)
    view = dl.from_dlpack(a)
    a.shape = (2, 3)
    assert view.shape == (6,)
    assert view.tolist() == [0, 1, 2, 3, 4, 5]


def test_an_array_that_borrows_from_a_bytearray_keeps_it_from_being_resized():
    memory = bytearray(8)
    view = dl.asarray(np.frombuffer(memory, np.uint8))
    with pytest.raises(BufferError):
        memory.extend(b"1")
    assert view.shape == (8,)


RACE = """
import sys, threading
import numpy as np
import dltensor as dl
sys.setswitchinterval(1e-6)
c = np.ones((64, 4096), np.float32)
shapes = [(64, 4096), (4096, 64), (262144,), (8, 8, 4096), (1, 262144)]
stop = False
def change():
    i = 0
    while not stop:
        c.shape = shapes[i % len(shapes)]
        i += 1
        try:
            c.resize(c.shape, refcheck=False)
        except ValueError:
            pass
thread = threading.Thread(target=change)
thread.start()
done = 0
try:
    for i in range(400):
        try:
            made = dl.fma(c, c, c)
            assert made.size == 262144, made.shape
            assert made.item(*[0] * made.ndim) == 2.0
            dl.fma(c, c, c, out=c)
            c.fill(1)
            done += 1
        except ValueError as error:
            assert "shape" in str(error), error
finally:
    stop = True
    thread.join()
assert done > 0
"""


@pytest.mark.skipif(
    bool(sysconfig.get_config_var("Py_GIL_DISABLED")),
    reason="NumPy does not protect the shape of an array from a thread that reads it without a GIL (SECURITY.md)",
)
def test_a_thread_that_changes_shapes_while_calls_run_leaves_each_call_one_shape():
    run_python(RACE)


class Growing:
    """A shape whose length changes between two questions."""

    def __init__(self, lengths, item=1):
        self.lengths, self.item = list(lengths), item

    def __len__(self):
        return self.lengths.pop(0) if len(self.lengths) > 1 else self.lengths[0]

    def __getitem__(self, index):
        if index >= self.lengths[-1]:
            raise IndexError
        return self.item


def interface(**fields):
    made = np.zeros(4, np.float32)

    class Owner:
        keep = made
        __array_interface__ = made.__array_interface__ | fields

    return Owner()


@pytest.mark.parametrize("field", ["shape", "strides"])
def test_a_shape_of_an_array_interface_is_read_once(field):
    with pytest.raises(ValueError, match="asarray: at most 64 dimensions"):
        dl.asarray(interface(**{field: Growing([1, 1500])}))


def test_a_shape_of_a_cuda_array_interface_is_read_once():
    class Owner:
        def __init__(self):
            shape = Growing([1, 1500])
            self.__cuda_array_interface__ = {"shape": shape, "typestr": "<f4", "data": (4096, False), "version": 3}

    with pytest.raises(ValueError, match="at most 64 dimensions"):
        dl.asarray(Owner())


@pytest.mark.parametrize("shape", [None, 3, ("a",), (1.5,), (2**70,)])
def test_a_shape_of_an_array_interface_that_is_no_shape_is_refused(shape):
    with pytest.raises(BufferError, match="__array_interface__"):
        dl.asarray(interface(shape=shape))


def test_a_sequence_that_numbers_change_while_it_is_read_keeps_its_items():
    values = [0, 1, 2]

    class Clearing:
        def __float__(self):
            values.clear()
            return 5.0

    values[0] = Clearing()
    assert dl.asarray(values).tolist() == [5.0, 1.0, 2.0]
    assert values == []


STOLEN = [
    ("numpy", "ndarray"),
    ("numpy", "generic"),
    ("numpy.ma", "ndarray"),
    ("torch", "Tensor"),
    ("jaxlib", "ArrayImpl"),
]


@pytest.mark.parametrize(("module", "name"), STOLEN)
@pytest.mark.parametrize("slots", [(), ("a", "b", "c")])
def test_a_class_with_the_name_of_another_is_known_by_what_it_is(module, name, slots):
    fake = type(name, (), {"__module__": module, "__slots__": slots})
    for call in (dl.from_dlpack, dl.asarray, lambda x: dl.add(x, 1), lambda x: dl.add(dl.zeros(1), 1, out=x)):
        with pytest.raises((TypeError, AttributeError)):
            call(fake())
    speaking = type(name, (Hook,), {"__module__": module})
    assert dl.from_dlpack(speaking(lambda: None)).tolist() == [1.0]
    assert dl.add(speaking(lambda: None), 1).tolist() == [2.0]


def test_a_class_named_as_numpys_is_no_array_where_numpy_is_not_loaded():
    run_python("""
import sys
import dltensor as dl
assert "numpy" not in sys.modules
fake = type("ndarray", (), {"__module__": "numpy"})
try:
    dl.asarray(fake())
except TypeError as error:
    assert "ndarray" in str(error)
else:
    raise AssertionError("taken")
assert "numpy" not in sys.modules
""")


def test_a_subclass_of_ndarray_is_read_as_one():
    matrix = np.arange(6.0).reshape(2, 3).view(np.matrix) if hasattr(np, "matrix") else None
    view = dl.from_dlpack(matrix)
    matrix[0, 0] = 9
    assert view.tolist() == [[9, 1, 2], [3, 4, 5]]


def test_a_subclass_of_ndarray_with_its_own_export_is_asked():
    class Refusing(np.ndarray):
        def __dlpack__(self, **keywords):
            raise BufferError("not today")

    with pytest.raises(BufferError, match="not today"):
        dl.from_dlpack(np.zeros(2).view(Refusing))


def test_an_array_method_that_returns_its_own_object_is_refused():
    class Itself:
        def __array__(self, dtype=None, copy=None):
            return self

    class Another:
        def __array__(self, dtype=None, copy=None):
            return Another()

    for x in (Itself(), Another()):
        for call in (dl.asarray, lambda x: dl.add(x, 1), lambda x: dl.zeros(2).__setitem__(0, x)):
            with pytest.raises(ValueError, match=r"__array__ must return a NumPy array, got .*(Itself|Another)"):
                call(x)


class Buffered:
    """An array interface that gives its memory as a buffer, as Pillow's images do."""

    def __init__(self, data, **fields):
        self.__array_interface__ = {"shape": (2, 3), "typestr": "|u1", "version": 3, "data": data} | fields


def test_an_array_interface_whose_data_is_a_buffer_shares_it():
    memory = bytearray(range(6))
    view = dl.asarray(Buffered(memory))
    memory[0] = 9
    assert view.tolist() == [[9, 1, 2], [3, 4, 5]]
    assert not view.readonly
    with pytest.raises(BufferError):
        memory.extend(b"x")


def test_an_array_interface_whose_data_is_bytes_is_read_only_and_may_have_an_offset():
    view = dl.asarray(Buffered(bytes(range(8)), offset=2))
    assert view.readonly
    assert view.tolist() == [[2, 3, 4], [5, 6, 7]]


def test_an_array_interface_without_data_is_over_its_own_buffer():
    class Own(bytearray):
        pass

    own = Own(range(6))
    own.__array_interface__ = {"shape": (6,), "typestr": "|u1", "version": 3}
    assert dl.asarray(own).tolist() == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    "fields",
    [
        {"offset": 1},
        {"offset": 7},
        {"offset": -1},
        {"offset": "a"},
        {"shape": (2, 4)},
        {"strides": (-3, 1)},
        {"strides": (4, 1)},
        {"typestr": "<u2"},
    ],
)
def test_an_array_interface_that_leaves_its_buffer_is_refused(fields):
    with pytest.raises(BufferError, match="__array_interface__"):
        dl.asarray(Buffered(bytes(6), **fields))


def test_what_an_error_quotes_of_a_foreign_object_is_short():
    for data in ("x" * 10**6, ["y"] * 10**5, 5):
        with pytest.raises(BufferError) as caught:
            dl.asarray(Buffered(data))
        assert len(str(caught.value)) < 400
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "value", [np.float64(2.5), np.complex128(1 + 2j), np.float32(2.5), np.int64(3), np.bool_(True)]
)
def test_numpy_scalars_are_copied(value):
    with pytest.raises(ValueError, match="returns a copy, but copy=False"):
        dl.asarray(value, copy=False)
    view = dl.asarray(value)
    assert view.item() == value
    assert view.dtype.name == {"bool_": "bool"}.get(type(value).__name__, type(value).__name__)


def test_a_buffer_without_a_shape_has_one_dimension():
    import hashlib

    t = dl.asarray([[1, 2], [3, 4]], dtype="uint8")
    assert hashlib.sha256(t).hexdigest() == hashlib.sha256(bytes([1, 2, 3, 4])).hexdigest()
    with pytest.raises(BufferError):
        hashlib.sha256(t.T)


def test_a_vector_product_is_written_to_out_as_it_lies():
    out = np.zeros((2, 6), np.float32)[:, ::2]
    a = np.arange(8, dtype=np.float32).reshape(2, 4)
    b = np.arange(12, dtype=np.float32).reshape(4, 3)
    vector = np.arange(4, dtype=np.float32)
    dl.matmul(vector, b, out=out[1])
    assert out[1].tolist() == (vector @ b).tolist()
    column = np.zeros(4, np.float32)[::2]
    dl.matmul(a, vector, out=column)
    assert column.tolist() == (a @ vector).tolist()
    single = np.zeros((), np.float32)
    dl.matmul(vector, vector, out=single)
    assert single == vector @ vector
    stack = np.zeros((2, 3), np.float32)
    dl.matmul(vector, np.stack([b, 2 * b]), out=stack)
    assert stack.tolist() == (vector @ np.stack([b, 2 * b])).tolist()


def test_imports_in_threads_keep_each_array_in_place():
    arrays = [np.full(1000, i, np.float32) for i in range(8)]
    failures = []

    def work(seed):
        for i in range(300):
            a = arrays[(i + seed) % 8]
            view = dl.from_dlpack(a)
            try:
                a.resize(10, refcheck=False)
                failures.append("resized under a view")
            except ValueError:
                pass
            if view.item(5) != (i + seed) % 8:
                failures.append(i)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert all(sys.getrefcount(a) < 6 for a in arrays)
