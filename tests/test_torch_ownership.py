# SPDX-License-Identifier: Apache-2.0
"""torch tensors whose memory is freed or resized while a view lives, and those that torch itself does not export."""

import contextlib
import gc
import itertools
import os
import sys
import threading

import pytest

import dltensor as dl

pytestmark = pytest.mark.peers
torch = pytest.importorskip("torch", reason="torch is not installed")
COUNT = 50_000
is_public = os.environ.get("DLTENSOR_TORCH") == "public"
borrows = pytest.mark.skipif(is_public, reason="without torch's fields operands are imported, not borrowed")


def churn():
    """Overwrite memory that was freed just now."""
    gc.collect()
    return [torch.full((COUNT,), -7.0) for _ in range(8)]


def refused_or_done(action, tensor):
    with contextlib.suppress(RuntimeError):
        action(tensor)


CHANGES = {
    ".data=": lambda x: setattr(x, "data", torch.zeros(5)),
    "set_": lambda x: x.set_(torch.zeros(5)),
    "resize_": lambda x: x.resize_(10 * COUNT),
    "resize_ to less": lambda x: x.resize_(3),
    "storage resize": lambda x: x.untyped_storage().resize_(0),
    "storage growth": lambda x: x.untyped_storage().resize_(40 * COUNT),
    "swap_tensors": lambda x: torch.utils.swap_tensors(x, torch.zeros(5)),
    "add(out=) of another size": lambda x: torch.add(torch.zeros(10 * COUNT), 1, out=x),
}


@pytest.mark.filterwarnings("ignore:An output with one or more elements was resized")
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize(
    "take", [dl.from_dlpack, dl.asarray, lambda x: dl.from_dlpack(x[:])], ids=["from_dlpack", "asarray", "a view"]
)
@pytest.mark.parametrize("kind", [torch.Tensor, type("Sub", (torch.Tensor,), {})], ids=["Tensor", "subclass"])
def test_a_view_keeps_the_memory_that_the_tensor_had(change, take, kind):
    if kind is not torch.Tensor and change is CHANGES["swap_tensors"]:
        pytest.skip("torch swaps tensors of one class only")
    x = torch.arange(float(COUNT)).as_subclass(kind)
    expected = x.tolist()
    view = take(x)
    refused_or_done(change, x)
    kept = churn()
    assert view.tolist() == expected
    del kept


def test_a_view_of_a_weight_keeps_its_memory_when_the_module_is_converted():
    module = torch.nn.Linear(COUNT // 10, 10).requires_grad_(False)
    view = dl.from_dlpack(module.weight)
    expected = view.tolist()
    module.double()
    kept = churn()
    assert view.tolist() == expected
    del kept, module


@borrows
@pytest.mark.parametrize("change", ["resize_", "set_", ".data=", "storage resize"])
def test_an_operand_that_another_one_changes_is_read_after_that(change):
    x = torch.full((COUNT,), 2.0)

    class Hook:
        array = torch.ones(1)

        def __dlpack_device__(self):
            return (1, 0)

        def __dlpack__(self, **keywords):
            CHANGES[change](x)
            self.kept = churn()
            return self.array.__dlpack__(**keywords)

    if change == "storage resize":
        with pytest.raises(BufferError):  # NULL data of a tensor that still has elements
            dl.add(x, Hook())
    else:
        assert dl.add(x, Hook()).size == x.numel()


def test_a_large_operand_keeps_its_memory_while_the_gil_is_released():
    x = torch.zeros(COUNT * 4)
    dl.add(x, 1)
    with pytest.raises(RuntimeError, match="not resizable"):
        x.resize_(40 * COUNT)


@borrows
def test_a_small_operand_may_be_resized_afterwards():
    x = torch.zeros(10)
    dl.add(x, 1)
    x.resize_(100)


UNFIT = {
    "requires grad": (lambda: torch.zeros(3, requires_grad=True), "requires grad.*use tensor.detach()"),
    "result of a gradient": (lambda: torch.zeros(3, requires_grad=True) * 2, "requires grad"),
    "view of a leaf": (lambda: torch.zeros(3, requires_grad=True)[1:], "requires grad"),
    "parameter": (lambda: torch.nn.Parameter(torch.zeros(3)), "requires grad"),
    "sparse": (lambda: torch.zeros(3).to_sparse(), "layout torch.sparse_coo.*to_dense"),
    "compressed rows": (lambda: torch.eye(3).to_sparse_csr(), "layout torch.sparse_csr.*to_dense"),
    "meta": (lambda: torch.zeros(3, device="meta"), "meta.*no memory"),
    "quantized": (lambda: torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.qint8), "quantized.*int_repr"),
    "nested": (lambda: torch.nested.nested_tensor([torch.zeros(2), torch.zeros(3)]), "nested.*unbind"),
    "jagged": (
        lambda: torch.nested.nested_tensor([torch.zeros(2), torch.zeros(3)], layout=torch.jagged),
        "layout",
    ),
}
CALLS = {
    "from_dlpack": dl.from_dlpack,
    "asarray": dl.asarray,
    "operand": lambda x: dl.add(x, 1),
    "out": lambda x: dl.add(dl.zeros(3), 1, out=x),
    "cast": lambda x: dl.cast(x, "float64"),
    "cast to": lambda x: dl.cast(dl.zeros(3), x),
    "where": lambda x: dl.where(dl.asarray(True), x, 1),
    "assignment": lambda x: dl.zeros(3).__setitem__(slice(None), x),
    "copy": lambda x: dl.copy(dl.zeros(3), x),
    "into": lambda x: dl.into(x, torch.Tensor),
    "opaque": lambda x: dl.opaque.OpaqueArray(x),
    "inspected pointer": dl.data_ptr,
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize(("make", "message"), UNFIT.values(), ids=UNFIT)
def test_what_torch_would_not_export_is_refused(make, message, call):
    x = make()
    if call is CALLS["opaque"] and x.requires_grad:
        assert call(x).shape == tuple(x.shape)  # held as it is, and read detached
        return
    with pytest.raises(BufferError, match=message) as caught:
        call(x)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300


def test_a_tensor_inside_a_transform_is_refused():
    def function(x):
        with pytest.raises(BufferError, match=r"torch\.func"):
            dl.from_dlpack(x)
        return x

    torch.func.vmap(function)(torch.zeros(3, 2))
    torch.func.grad(lambda x: function(x).sum())(torch.zeros(3))


def test_a_gradient_is_not_changed_through_a_view():
    z = torch.full((2,), 2.0, requires_grad=True)
    y = z * 2
    with pytest.raises(BufferError, match="requires grad"):
        dl.from_dlpack(y).fill(100)
    (y * y).sum().backward()
    assert z.grad.tolist() == [16.0, 16.0]


def test_a_view_whose_base_came_to_require_grad_is_refused():
    base = torch.zeros(4)
    view = base[1:]
    assert dl.from_dlpack(view).tolist() == [0, 0, 0]
    base.mul_(torch.ones((), requires_grad=True))
    assert view.requires_grad
    with pytest.raises(BufferError, match="requires grad"):
        dl.from_dlpack(view)
    with pytest.raises(BufferError, match="requires grad"):
        dl.add(view, 1)


@pytest.mark.parametrize("make", [torch.zeros, torch.ones], ids=["zeros", "ones"])
def test_plain_tensors_and_their_views_are_taken_whatever_happened_to_gradients_before(make):
    x = make(4)
    for fit in (x, x[1:], x.detach(), x[::2], x.data, x.requires_grad_(True).detach(), x.requires_grad_(False)):
        assert dl.from_dlpack(fit).tolist() == fit.tolist()
        assert dl.add(fit, 1).tolist() == (fit + 1).tolist()
    with torch.inference_mode():
        assert dl.add(make(2), 1).tolist() == (make(2) + 1).tolist()


def test_a_subclass_that_overrides_its_export_is_asked():
    class Refusing(torch.Tensor):
        def __dlpack__(self, **keywords):
            raise BufferError("ask me nicely")

    class Other(torch.Tensor):
        def __dlpack__(self, **keywords):
            return torch.full((2,), 5.0).__dlpack__(**keywords)

    for call in (dl.from_dlpack, lambda x: dl.add(x, 1)):
        with pytest.raises(BufferError, match="ask me nicely"):
            call(torch.zeros(2).as_subclass(Refusing))
    assert dl.from_dlpack(torch.zeros(2).as_subclass(Other)).tolist() == [5.0, 5.0]
    assert dl.add(torch.zeros(2).as_subclass(Other), 1).tolist() == [6.0, 6.0]


def test_a_subclass_with_a_torch_function_sees_its_export():
    seen = []

    class Seeing(torch.Tensor):
        @classmethod
        def __torch_function__(cls, function, types, arguments=(), keywords=None):
            seen.append(getattr(function, "__name__", ""))
            return super().__torch_function__(function, types, arguments, keywords or {})

    view = dl.from_dlpack(torch.arange(3.0).as_subclass(Seeing))
    assert view.tolist() == [0.0, 1.0, 2.0]
    assert "__dlpack__" in seen


def test_a_subclass_whose_torch_function_refuses_is_obeyed():
    class Refusing(torch.Tensor):
        @classmethod
        def __torch_function__(cls, function, types, arguments=(), keywords=None):
            raise RuntimeError("no function\nframe 1\nframe 2")

    with pytest.raises(BufferError, match="no function") as caught:
        dl.from_dlpack(torch.zeros(2).as_subclass(Refusing))
    assert "frame" not in str(caught.value)


def test_a_dtype_that_dlpack_has_not_is_refused_with_the_reason_of_torch():
    x = torch.zeros(4, dtype=torch.uint8).view(torch.bits8)
    with pytest.raises(BufferError, match="Bit types are not supported"):
        dl.from_dlpack(x)


def test_a_conjugate_is_resolved_and_refused_as_out():
    x = torch.tensor([1 + 2j]).conj()
    assert dl.add(x, 0).tolist() == [1 - 2j]
    with pytest.raises(ValueError, match="lazy conjugate"):
        dl.add(dl.zeros(1, dtype="complex64"), 0, out=x)


def over(memory):
    """A torch tensor over a bytearray, which torch references until it frees the storage."""
    return torch.frombuffer(memory, dtype=torch.uint8)


# What happens to a tensor, the Python object of its storage and our view, in every order: who lets go last.
ORDERS = list(itertools.permutations(["tensor", "object", "view"]))


@pytest.mark.parametrize("order", ORDERS, ids="-".join)
@pytest.mark.parametrize("when", ["object before view", "object after view", "object dropped and made again"])
def test_a_storage_is_freed_with_its_last_owner(order, when):
    memory = bytearray(100)
    unused = sys.getrefcount(memory)
    owners = {"tensor": over(memory)}
    if when != "object after view":
        owners["object"] = owners["tensor"].untyped_storage()
    if when == "object dropped and made again":
        del owners["object"]
        owners["object"] = owners["tensor"].untyped_storage()
    owners["view"] = dl.from_dlpack(owners["tensor"])
    if when == "object after view":
        owners["object"] = owners["tensor"].untyped_storage()
    for name in order:
        assert sys.getrefcount(memory) == unused + 1, f"freed before {name} went"
        del owners[name]
        gc.collect()
    assert sys.getrefcount(memory) == unused


@pytest.mark.parametrize("views", [1, 2, 5])
def test_views_that_outlive_a_tensor_free_its_storage(views):
    memory = bytearray(100)
    unused = sys.getrefcount(memory)
    tensor = over(memory)
    kept = [dl.from_dlpack(tensor) for _ in range(views)]
    del tensor
    kept = kept[-1][1:]
    assert sys.getrefcount(memory) == unused + 1
    del kept
    assert sys.getrefcount(memory) == unused


def test_a_storage_object_that_was_kept_by_a_view_is_the_same_afterwards():
    tensor = torch.zeros(4)
    first = tensor.untyped_storage()
    first.mark = "kept"
    view = dl.from_dlpack(tensor)
    del first
    assert tensor.untyped_storage().mark == "kept"
    del view
    assert tensor.untyped_storage().mark == "kept"


def test_threads_that_drop_views_leave_no_storage_behind():
    memory = bytearray(100)
    unused = sys.getrefcount(memory)
    tensor = over(memory)

    def work(tensor):
        for _ in range(3000):
            view = dl.from_dlpack(tensor)
            storage = tensor.untyped_storage()
            assert torch.from_dlpack(view).data_ptr() == storage.data_ptr()
            del view, storage

    threads = [threading.Thread(target=work, args=[tensor]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    del threads, thread
    assert sys.getrefcount(memory) == unused + 1
    del tensor
    assert sys.getrefcount(memory) == unused


def test_a_view_may_be_dropped_at_the_end_of_the_process():
    from children import run_python

    run_python("""
import torch, dltensor as dl
x = torch.arange(10.0)
kept = dl.from_dlpack(x)
late = dl.from_dlpack(torch.arange(5.0))
torch.kept = kept  # dropped while modules are cleared
del x
""")


def test_the_fields_of_torch_are_found():
    """Where one is not, every import costs a microsecond more."""
    from dltensor._core.interop.torch_fields import find_fields

    assert all(find_fields()), "impl, keys, storage, resizable, storage_object, requires_grad, describe"


chooses_the_way = pytest.mark.skipif(is_public, reason="the children of this test choose the way themselves")
SETTINGS = {
    "inference mode": "torch.inference_mode()",
    "device meta": "torch.device('meta')",
    "fake tensors": "torch._subclasses.FakeTensorMode()",
}


@chooses_the_way
@pytest.mark.parametrize("setting", SETTINGS.values(), ids=SETTINGS)
def test_the_first_tensor_is_taken_whatever_torch_is_set_to(setting):
    from children import run_python

    run_python(f"""
import torch, dltensor as dl
x = torch.arange(3.0)
with {setting}:
    assert dl.from_dlpack(x).tolist() == [0, 1, 2]
""")


UNKNOWN = {
    "public": "import os; os.environ['DLTENSOR_TORCH'] = 'public'",
    "the proof fails": "from dltensor._core.interop import torch_fields; torch_fields._find_keys = None",
}


@chooses_the_way
@pytest.mark.parametrize("unknown", UNKNOWN.values(), ids=UNKNOWN)
def test_without_known_fields_the_same_is_refused_and_kept(unknown):
    from children import run_python

    run_python(
        f"""
import torch
{unknown}
import dltensor as dl
"""
        """
for dtype in (torch.float32, torch.bfloat16):
    x = torch.arange(100, dtype=dtype)
    view = dl.from_dlpack(x)
    try:
        x.resize_(100000)
    except RuntimeError as error:
        assert "not resizable" in str(error)
    else:
        raise AssertionError("resized")
    x.data = torch.zeros(2, dtype=dtype)
    assert view.tolist() == list(range(100))
assert dl.add(torch.ones(3), 1).tolist() == [2, 2, 2]
for unfit in (torch.zeros(2, requires_grad=True), torch.eye(2).to_sparse()):
    try:
        dl.add(unfit, 1)
    except BufferError:
        pass
    else:
        raise AssertionError("taken")
assert dl.from_dlpack(torch.tensor([1j]).conj()).tolist() == [-1j]
"""
    )


@chooses_the_way
def test_the_public_way_leaves_what_torch_counts_alone():
    from children import run_python

    run_python("""
import ctypes, os
os.environ["DLTENSOR_TORCH"] = "public"
import torch, dltensor as dl
x = torch.arange(100.0)
storage = x.untyped_storage()
owners = ctypes.c_uint64.from_address(storage._cdata + 8)
before = owners.value
view = dl.from_dlpack(x)
del view
assert owners.value == before
view = dl.from_dlpack(x)
assert owners.value == before  # the object of the storage is held, which torch counts once
""")
