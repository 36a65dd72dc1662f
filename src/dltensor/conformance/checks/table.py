# SPDX-License-Identifier: Apache-2.0
"""Checks of the exchange table of an array type, called as C calls it. Consumers of tables are elsewhere."""

from .. import _probe
from ..observed import TABLE_ATTRIBUTES, newest_export, seen
from . import Broken, NotApplicable, check, expect, expect_values

_MAY_BE_NULL = "dltensor_from_py_object_no_sync"


def _offered(target):
    """The table's capsule as the type offers it, under the standard's name."""
    kind = type(target.make())
    offer = getattr(kind, TABLE_ATTRIBUTES[0], None)
    if offer is None:
        raise NotApplicable(f"{kind.__name__} offers no exchange table")
    return offer


def _table(target, *needed):
    try:
        table = _probe.Table.of(_offered(target))
    except ValueError as error:
        raise NotApplicable(f"the table cannot be read: {error}") from error
    for name in needed:
        if not table.functions[name]:
            raise NotApplicable(f"{name} is NULL")
    return table


@check(63, "producer")
def table_is_offered(target):
    """Look at the type: `__dlpack_c_exchange_api__` is there."""
    kind = type(target.make())
    old = "; the name of 1.2 is there" if hasattr(kind, TABLE_ATTRIBUTES[1]) else ""
    expect(hasattr(kind, TABLE_ATTRIBUTES[0]), f"{kind.__name__} has no {TABLE_ATTRIBUTES[0]}{old}")


@check(64, "producer")
def table_is_a_capsule(target):
    """Look at the attribute: a PyCapsule named dlpack_exchange_api."""
    offer = _offered(target)
    expect(_probe.is_capsule(offer), f"{TABLE_ATTRIBUTES[0]} is {type(offer).__name__}, expected a PyCapsule")
    expect(
        _probe.name_of(offer) == "dlpack_exchange_api",
        f"the capsule is named {_probe.name_of(offer)!r}, expected 'dlpack_exchange_api'",
    )


@check(65, "producer")
def table_belongs_to_the_type(target):
    """Look twice, at the type and at an object: one table."""
    thing = target.make()
    if not hasattr(thing, TABLE_ATTRIBUTES[0]) and not hasattr(type(thing), TABLE_ATTRIBUTES[0]):
        raise NotApplicable("no exchange table is offered")
    expect(
        hasattr(type(thing), TABLE_ATTRIBUTES[0]),
        f"{TABLE_ATTRIBUTES[0]} is found on the object only, expected on its type",
    )
    one, two = (_probe.Table.of(getattr(type(thing), TABLE_ATTRIBUTES[0])).address for _ in range(2))
    expect(one == two, f"the table lies at {one:#x} and then at {two:#x}, expected one that may be remembered")


@check(68, "producer")
def older_tables_are_older(target):
    """Follow prev_api: it ends, and versions only fall."""
    table, seen_addresses = _table(target), set()
    while table.previous:
        seen_addresses.add(table.address)
        expect(table.previous not in seen_addresses, "prev_api leads in a circle")
        older = _probe.Table(table.previous)
        expect(
            older.version < table.version,
            f"prev_api of {table.version} leads to {older.version}, expected an older one",
        )
        table = older


@check(69, "producer")
def functions_are_there(target):
    """Look at the functions: none is NULL but the one that may be."""
    missing = [name for name, address in _table(target).functions.items() if not address and name != _MAY_BE_NULL]
    expect(not missing, f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'} NULL")


@check(71, "producer")
def errors_come_back(target):
    """Call the functions with an object of another type: -1 with an error set, and the process lives."""
    table = _table(target, "managed_tensor_from_py_object_no_sync")
    result, taken, error = table.export(object())
    expect(result == -1, f"from_py_object of an object() returns {result}, expected -1")
    expect(error, "from_py_object of an object() returns -1 without an error set")
    expect(taken is None or not taken.struct.address, "from_py_object fails and gives a tensor all the same")


@check(72, "producer")
def allocator_says_why(target):
    """Allocate what is possible and what is not: SetError exactly when it fails, no Python error."""
    table = _table(target, "managed_tensor_allocator")
    for label, dtype in (("float32", (2, 32, 1)), ("an element type of code 200", (200, 32, 1))):
        result, taken, calls, words, pending = table.allocate((2, 3), dtype)
        expect(pending is None, f"allocating {label} leaves the Python error {pending}; expected SetError only")
        if result == 0:
            expect(calls == 0, f"allocating {label} succeeds, and SetError was called with {words}")
            expect(taken is not None, f"allocating {label} returns 0 without a tensor")
            taken.delete_holding_the_gil()
        else:
            expect(calls >= 1, f"allocating {label} returns {result} without calling SetError")


@check(74, "producer")
def table_raises_buffer_error(target):
    """Export through the table what cannot be described: BufferError."""
    table = _table(target, "managed_tensor_from_py_object_no_sync")
    kind = type(target.make())
    things = {label: thing for label, thing in target.unexportable().items() if type(thing) is kind}
    if not things:
        raise NotApplicable("what cannot be exported is of another type")
    for label, thing in things.items():
        result, taken, error = table.export(thing)
        if taken is not None:
            taken.delete_holding_the_gil()
        expect(result == -1, f"{label}: exported through the table; expected BufferError")
        expect((error or "").startswith("BufferError"), f"{label}: {error}; expected BufferError")


@check(76, "producer")
def table_takes_over(target):
    """Export a tensor through the table, and release the result: its deleter ran once."""
    table = _table(target, "managed_tensor_to_py_object_no_sync")
    probe = _probe.Probe(owned=bytes(24))
    result, thing, error = table.hand_over(probe)
    if result != 0:
        raise NotApplicable(f"refuses a float32 tensor: {error}")
    expect(thing is not None, "to_py_object returns 0 without an object")
    expect(probe.deleted == 0, "the deleter ran while the object lives")
    del thing
    expect(probe.deleted == 1, f"the object went, and the deleter ran {probe.deleted} times, expected once")


@check(77, "producer")
def borrowed_view_is_the_export(target):
    """Borrow through the table: address, shape and values of the export."""
    table = _table(target, _MAY_BE_NULL)
    for layout in ("c", "sliced", "transposed"):
        try:
            thing = target.make(layout)
        except NotApplicable:
            continue
        result, view, error = table.view(thing)
        if result != 0:
            raise Broken(f"{layout}: borrowing fails with {error}, exporting works")
        exported = _probe.look(newest_export(thing))
        one, two = (s.data + s.byte_offset for s in (view, exported))
        expect(one == two, f"{layout}: the borrowed view lies at {one:#x}, the export at {two:#x}")
        right = seen(exported, "export").values
        expect_values(right, seen(view, "view").values, f"{layout}: the borrowed view says other values")


@check(78, "producer")
def cpu_stream_is_written(target):
    """Ask for the stream of the CPU: success, and the place for it is written."""
    result, value, error = _table(target, "current_work_stream").stream(1, 0, 0xDEAD)
    expect(result == 0, f"current_work_stream of the CPU fails: {error}")
    expect(value != 0xDEAD, "current_work_stream of the CPU returns 0 and writes nothing: the caller reads garbage")
