# SPDX-License-Identifier: Apache-2.0
"""Section B of the fault catalogue: capsules, ``__dlpack__`` and exchange tables as a consumer meets them.

One function per behaviour; each gets the kit and the package, and says by `assert` what must hold.
"""

import ctypes
import gc
import itertools
import sys
import threading
import warnings

from .producer import SIGNATURES, capsule, name_of, producer_type, table_type
from .register import case, collect_garbage, raises
from .structure import SIX, SIX_VALUES

# -- B: capsules ------------------------------------------------------------------------------------------------------


@case(51, "wrong capsule name, versioned", legacy=False)
@case(51, "wrong capsule name, legacy", legacy=True)
def wrong_name(kit, dl, legacy):
    made = kit.make(legacy=legacy)
    wrong = made.capsule("xdltensor")
    with raises(BufferError, "from_dlpack", "xdltensor"):
        dl.from_dlpack(wrong)
    assert name_of(wrong) == "xdltensor"
    assert made.deleted == 0


@case(51, "capsule without a name")
def no_name(kit, dl):
    made = kit.make()
    with raises(BufferError, "from_dlpack", "no name"):
        dl.from_dlpack(capsule(made.address, None))
    assert made.deleted == 0


@case(52, "a used capsule, versioned", legacy=False)
@case(52, "a used capsule, legacy", legacy=True)
def used_name(kit, dl, legacy):
    made = kit.make(legacy=legacy)
    used = made.capsule("used_dltensor" if legacy else "used_dltensor_versioned")
    with raises(BufferError, "from_dlpack", "already consumed"):
        dl.from_dlpack(used)
    assert made.deleted == 0


@case(53, "legacy name over a versioned struct", legacy=False, name="dltensor")
@case(53, "versioned name over a legacy struct", legacy=True, name="dltensor_versioned")
def confused_layout(kit, dl, legacy, name):
    made = kit.make(legacy=legacy)
    confused = made.capsule(name, destructor=None)
    with raises(BufferError, "from_dlpack", "tensor.layout"):
        dl.from_dlpack(confused)
    assert made.deleted == 0  # its deleter lies elsewhere: whatever would be called instead is not a deleter


@case(54, "capsule of address 16, versioned", address=16, name="dltensor_versioned")
@case(54, "capsule of address 16, legacy", address=16, name="dltensor")
@case(54, "capsule of a misaligned address", address=0x10000001, name="dltensor_versioned")
def bad_pointer(kit, dl, address, name):
    with raises(BufferError, "from_dlpack", hex(address), "tensor.pointer"):
        dl.from_dlpack(capsule(address, name))


@case(55, "same capsule twice, versioned", legacy=False)
@case(55, "same capsule twice, legacy", legacy=True)
def same_capsule_twice(kit, dl, legacy):
    made = kit.make(legacy=legacy, data=SIX)
    once = made.capsule()
    first = dl.from_dlpack(once)
    assert name_of(once) == ("used_dltensor" if legacy else "used_dltensor_versioned")
    with raises(BufferError, "already consumed"):
        dl.from_dlpack(once)
    assert made.deleted == 0
    assert first.tolist() == SIX_VALUES
    del once
    collect_garbage()
    assert made.deleted == 0
    del first
    collect_garbage()
    assert made.deleted == 1


@case(55, "a producer that caches its capsule")
def cached_capsule(kit, dl):
    made = kit.make(data=SIX)
    cached = made.capsule()
    source = producer_type("2023", hand_out=lambda self, **_: cached)(made)
    first = dl.from_dlpack(source)
    with raises(BufferError, "already consumed"):
        dl.from_dlpack(source)
    assert first.tolist() == SIX_VALUES
    del first
    collect_garbage()
    assert made.deleted == 1


@case(56, "two threads race for one capsule, 3000 rounds")
def race_for_a_capsule(kit, dl):
    rounds, won, lost, wrong = 3000, [], [], []
    made = [kit.make(legacy=i % 2 == 1, data=SIX) for i in range(rounds)]
    capsules = [m.capsule() for m in made]
    barrier = threading.Barrier(2)

    def take():
        for i in range(rounds):
            if i % 100 == 0:
                barrier.wait()
            try:
                won.append((i, dl.from_dlpack(capsules[i])))
            except BufferError:
                lost.append(i)
            except BaseException as error:
                wrong.append(repr(error))

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    threads = [threading.Thread(target=take) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    sys.setswitchinterval(interval)
    assert not wrong, wrong[:3]
    assert sorted(i for i, _ in won) == list(range(rounds))
    assert sorted(lost) == list(range(rounds))
    assert not any(m.deleted for m in made)
    won.clear()
    capsules.clear()
    collect_garbage()
    assert all(m.deleted == 1 for m in made)


@case(57, "our capsule, never consumed, versioned", version=(1, 3))
@case(57, "our capsule, never consumed, legacy", version=None)
def unconsumed(kit, dl, version):
    made = kit.make(data=SIX)
    tensor = dl.from_dlpack(made.capsule())
    capsules = [tensor.__dlpack__(max_version=version) for _ in range(10)]
    del tensor
    collect_garbage()
    assert made.deleted == 0
    capsules.clear()
    collect_garbage()
    assert made.deleted == 1


@case(58, "capsule without a destructor", legacy=False)
@case(58, "capsule without a destructor, legacy", legacy=True)
def no_destructor(kit, dl, legacy):
    made = kit.make(legacy=legacy, data=SIX)
    tensor = dl.from_dlpack(made.capsule(destructor=None))
    assert tensor.tolist() == SIX_VALUES
    del tensor
    collect_garbage()
    assert made.deleted == 1


@case(59, "deleter NULL on the error path", legacy=False)
@case(59, "deleter NULL on the error path, legacy", legacy=True)
def null_deleter_and_error(kit, dl, legacy):
    made = kit.make(legacy=legacy, ndim=-1, deleter=None)
    with raises(BufferError, "ndim.range"):
        dl.from_dlpack(made.capsule())


# -- B: `__dlpack__` --------------------------------------------------------------------------------------------------


def _signature(kit, dl, age, legacy):
    made = kit.make(legacy=legacy, data=SIX)
    source = made.object(age)
    for _ in range(2):  # what is remembered about the type must work as well as what was found out
        tensor = dl.from_dlpack(source)
        assert tensor.tolist() == SIX_VALUES
        del tensor
        collect_garbage()
        assert made.deleted == 1
        made = source.made = kit.make(legacy=legacy, data=SIX)
    asked = [call for call in source.calls if "max_version" in call]
    assert len(source.calls) == 2
    if age in ("2023", "keywords", "version only"):
        assert [call["max_version"][0] >= 1 for call in asked] == [True, True]


for _age in SIGNATURES:
    for _legacy in (False, True):
        case(
            64 if _legacy else 60,
            f"signature {_age!r}, {'legacy' if _legacy else 'versioned'}",
            age=_age,
            legacy=_legacy,
        )(_signature)


@case(61, "returns None", value=None, kind=TypeError)
@case(61, "returns an int", value=7, kind=TypeError)
@case(61, "returns a tuple", value=(), kind=TypeError)
def returns_nonsense(kit, dl, value, kind):
    source = producer_type("2023", hand_out=lambda self, **_: value)(kit.make())
    with raises(kind, "from_dlpack", "Producer", type(value).__name__):
        dl.from_dlpack(source)


@case(61, "returns another producer's capsule")
def returns_foreign_capsule(kit, dl):
    made = kit.make()
    source = producer_type("2023", hand_out=lambda self, **_: capsule(made.address, "another_api"))(made)
    with raises(BufferError, "from_dlpack", "another_api"):
        dl.from_dlpack(source)
    assert made.deleted == 0


for _kind in (ValueError, BufferError, MemoryError, KeyboardInterrupt, SystemExit, RuntimeError, GeneratorExit):

    @case(62, f"raises {_kind.__name__}", kind=_kind)
    def raises_its_own(kit, dl, kind):
        own = kind("from inside")

        def fail(self, **_):
            raise own

        made = kit.make()
        with raises(kind, same=own):
            dl.from_dlpack(producer_type("2023", hand_out=fail)(made))
        assert made.deleted == 0


@case(63, "TypeError from inside", age="2023")
@case(63, "TypeError from inside, keywords", age="keywords")
def type_error_inside(kit, dl, age):
    calls = []

    def fail(self, **keywords):
        calls.append(keywords)
        raise TypeError("from inside")

    with raises(TypeError, "from inside"):
        dl.from_dlpack(producer_type(age, hand_out=fail)(kit.make()))
    assert len(calls) == 2, "a TypeError may come from an older signature that is forwarded to"


@case(63, "TypeError from inside an old signature")
def type_error_inside_old(kit, dl):
    def fail(self, **keywords):
        raise TypeError("from inside")

    with raises(TypeError, "from inside"):
        dl.from_dlpack(producer_type("bare", hand_out=fail)(kit.make()))


@case(43, "says CPU, tensor is CUDA", said=(1, 0), device=(2, 0))
@case(44, "says CUDA, tensor is CPU", said=(2, 0), device=(1, 0))
def device_mismatch(kit, dl, said, device):
    made = kit.make(device=device)
    with raises(BufferError, "from_dlpack", "__dlpack_device__"):
        dl.from_dlpack(made.object(device=said))
    collect_garbage()
    assert made.deleted <= 1  # the struct need not have been asked for


@case(65, "no __dlpack_device__")
def no_device_method(kit, dl):
    made = kit.make(data=SIX)
    source = type("Old", (), {"__dlpack__": lambda self, **_: made.capsule()})()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tensor = dl.from_dlpack(source)
    assert tensor.tolist() == SIX_VALUES
    del tensor
    collect_garbage()
    assert made.deleted == 1


@case(66, "device None", said=None)
@case(66, "device of three", said=(1, 0, 0))
@case(66, "device of strings", said=("cpu", "0"))
@case(66, "device 2^70", said=(2**70, 0))
def bad_device(kit, dl, said):
    made = kit.make()
    source = producer_type("2023", __dlpack_device__=lambda self: said)(made)
    with raises((TypeError, OverflowError, BufferError), "__dlpack_device__"):
        dl.from_dlpack(source)


@case(66, "device raises")
def device_raises(kit, dl):
    own = KeyError("no device")

    def fail(self):
        raise own

    with raises(KeyError, same=own):
        dl.from_dlpack(producer_type("2023", __dlpack_device__=fail)(kit.make()))


@case(67, "re-entrant __dlpack__")
def reentrant(kit, dl):
    source = producer_type("2023", hand_out=lambda self, **_: dl.from_dlpack(self).__dlpack__())(kit.make())
    with raises(RecursionError):
        dl.from_dlpack(source)


@case(68, "producer frees itself and runs gc")
def frees_itself(kit, dl):
    made = kit.make(data=SIX)
    holder = []

    def vanish(self, **_):
        holder.clear()
        gc.collect()
        return made.capsule()

    holder.append(producer_type("2023", hand_out=vanish)(made))
    tensor = dl.from_dlpack(holder[0])
    assert tensor.tolist() == SIX_VALUES
    del tensor
    collect_garbage()
    assert made.deleted == 1


@case(69, "deleter with an exception pending", deleter="count")
@case(69, "deleter that runs Python with an exception pending", deleter="delete_running_python")
@case(69, "deleter that raises with an exception pending", deleter="delete_raising")
def pending_exception(kit, dl, deleter):
    unraisable = []
    hook, sys.unraisablehook = sys.unraisablehook, unraisable.append
    try:
        for source in ("object", "capsule", "through_table"):
            made = kit.make(data=SIX, deleter=deleter)
            x = getattr(made, source)()
            with raises(ZeroDivisionError):
                # The tensor lies on the interpreter's stack while the exception unwinds it.
                [dl.from_dlpack(x), 1 // 0]
            del x
            collect_garbage()
            assert made.deleted == 1, source
            assert made.deleted_with_error == 0, source
    finally:
        sys.unraisablehook = hook
    assert len(unraisable) == (3 if deleter == "delete_raising" else 0)


@case(69, "deleter that raises when nothing else does")
def deleter_raises(kit, dl):
    unraisable = []
    hook, sys.unraisablehook = sys.unraisablehook, unraisable.append
    try:
        made = kit.make(data=SIX, deleter="delete_raising")
        dl.from_dlpack(made.capsule())
        bad = kit.make(ndim=-1, deleter="delete_raising")
        with raises(BufferError, "ndim.range"):
            dl.from_dlpack(bad.capsule())
    finally:
        sys.unraisablehook = hook
    assert made.deleted == 1
    assert bad.deleted == 1
    assert len(unraisable) == 2


# -- B: exchange tables -----------------------------------------------------------------------------------------------

NEW, OLD = "__dlpack_c_exchange_api__", "__c_dlpack_exchange_api__"


@case(70, "1.3 name, capsule", names=(NEW,), as_int=False)
@case(70, "1.2 name, capsule", names=(OLD,), as_int=False)
@case(70, "1.2 name, address", names=(OLD,), as_int=True)
@case(70, "both names", names=(NEW, OLD), as_int=False)
@case(70, "without the optional borrowing function", names=(NEW,), as_int=False, view_object=None)
def table_spellings(kit, dl, **how):
    for _ in range(2):
        made = kit.make(data=SIX)
        before = kit.lib.fault_table_calls()
        tensor = dl.from_dlpack(made.through_table(**how))
        assert kit.lib.fault_table_calls() == before + 1
        assert tensor.tolist() == SIX_VALUES
        del tensor
        collect_garbage()
        assert made.deleted == 1


@case(71, "major 2 and no older table", links=0)
@case(71, "major 2, then major 1", links=1)
@case(71, "major 1 after seven", links=7)
@case(71, "major 1 after twenty", links=20)
@case(71, "a chain in a circle", links=-1)
def table_chain(kit, dl, links):
    made = kit.make(data=SIX)
    kit.lib.fault_table_will(made.address, 0)
    chain = [kit.table(major=2) for _ in range(max(links, 1))]
    for newer, older in itertools.pairwise(chain):
        newer.previous = ctypes.addressof(older)
    if links > 0:
        chain[-1].previous = ctypes.addressof(kit.table())
    if links < 0:
        chain[-1].previous = ctypes.addressof(chain[0])
    calls = kit.lib.fault_table_calls()
    fallback = {"__dlpack__": lambda self, **_: made.capsule(), "__dlpack_device__": lambda self: (1, 0)}
    tensor = dl.from_dlpack(table_type(chain[0], **fallback)())
    # Where no usable table is within eight links, `__dlpack__` serves.
    assert kit.lib.fault_table_calls() - calls == (1 if links in (1, 7) else 0)
    assert tensor.tolist() == SIX_VALUES
    del tensor
    collect_garbage()
    assert made.deleted == 1


@case(71, "major 2 and nothing else")
def table_too_new(kit, dl):
    made = kit.make()
    with raises((TypeError, BufferError, AttributeError), "from_dlpack"):
        dl.from_dlpack(made.through_table(major=2))
    assert made.deleted == 0


for _entry in ("allocate", "from_object", "to_object", "stream"):

    @case(72, f"{_entry} is NULL", entry=_entry)
    def null_entry(kit, dl, entry):
        made = kit.make(data=SIX)
        kit.lib.fault_table_will(made.address, 0)
        members = {"__dlpack__": lambda self, **_: made.capsule(), "__dlpack_device__": lambda self: (1, 0)}
        source = table_type(kit.table(**{entry: None}), **members)()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            tensor = dl.from_dlpack(source)
        assert any("NULL" in str(w.message) for w in caught), [str(w.message) for w in caught]
        assert tensor.tolist() == SIX_VALUES
        del tensor
        collect_garbage()
        assert made.deleted == 1


@case(72, "all NULL and no __dlpack__")
def all_null(kit, dl):
    made = kit.make()
    entries = dict.fromkeys(("allocate", "from_object", "to_object", "view_object", "stream"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with raises((TypeError, BufferError, AttributeError), "from_dlpack"):
            dl.from_dlpack(made.through_table(**entries))
    assert made.deleted == 0


@case(72, "table at address 16", value=16)
@case(72, "table at an odd address", value=0x10000001)
def table_pointer(kit, dl, value):
    made = kit.make(data=SIX)
    members = {"__dlpack__": lambda self, **_: made.capsule(), "__dlpack_device__": lambda self: (1, 0)}
    tensor = dl.from_dlpack(table_type(value, **members)())
    assert tensor.tolist() == SIX_VALUES
    del tensor
    collect_garbage()
    assert made.deleted == 1


@case(73, "-1 without an exception", manner=1, words="")
@case(74, "0 with NULL", manner=2, words="")
@case(73, "-1 with an exception", manner=3, words="the producer says why")
def table_fails(kit, dl, manner, words):
    made = kit.make()
    with raises(BufferError, words):
        dl.from_dlpack(made.through_table(manner))
    assert made.deleted == 0


@case(75, "table on the instance only")
def table_on_instance(kit, dl):
    made = kit.make(data=SIX)
    source = made.object()
    kit.lib.fault_table_will(made.address, 1)
    table = kit.table()
    setattr(source, NEW, capsule(ctypes.addressof(table), "dlpack_exchange_api"))
    calls = kit.lib.fault_table_calls()
    tensor = dl.from_dlpack(source)
    assert kit.lib.fault_table_calls() == calls
    assert tensor.tolist() == SIX_VALUES


@case(75, "capsule of another name in the table's place")
def table_of_another_name(kit, dl):
    made = kit.make(data=SIX)
    members = {
        NEW: capsule(ctypes.addressof(kit.table()), "another_api"),
        "__dlpack__": lambda self, **_: made.capsule(),
        "__dlpack_device__": lambda self: (1, 0),
    }
    assert dl.from_dlpack(type("Other", (), members)()).tolist() == SIX_VALUES
