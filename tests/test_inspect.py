# SPDX-License-Identifier: Apache-2.0
"""Inspecting: every field is reported, nothing is consumed, kept, read or imported. Quirks are in test_quirks.py."""

import ctypes
import gc
import io
import json
import pickle
import re
import subprocess
import sys

import numpy as np
import pytest
from faults.producer import Kit

import dltensor as dl
from dltensor._core import introspect as _report
from dltensor.inspection import reading, rules
from dltensor.inspection.describe import axis_words, is_compact, layout_words
from dltensor.inspection.quirks import FACTS
from dltensor.inspection.reading import NEUTRAL
from dltensor.inspection.sections import headline, sections
from dltensor.inspection.text import plain, show


@pytest.fixture(scope="module")
def kit():
    return Kit()


def rows_of(report, title):
    return {label: text for name, rows in sections(report) if name.startswith(title) for label, text, _ in rows}


def run(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "dltensor", "inspect", *arguments], capture_output=True, text=True, timeout=120
    )


# -- reading ----------------------------------------------------------------------------------------------------------


def test_every_field_of_a_versioned_struct_is_read():
    array = np.arange(24, dtype=np.float32).reshape(4, 6)[::-1, ::2]
    struct = dl.inspect(array).struct
    assert struct["shape"] == (4, 3)
    assert struct["strides"] == (-6, 2)
    assert struct["dtype"] == (2, 32, 1)
    assert struct["device"] == (1, 0)
    assert struct["data"] == array.ctypes.data
    assert struct["byte_offset"] == 0
    assert struct["version"][0] == 1
    assert struct["flags"] == 0
    assert struct["deleter"]
    assert struct["extent"] == {"size": 12, "nbytes": 48, "low": -72, "high": 20}


def test_a_legacy_capsule_is_read_and_can_still_be_consumed():
    array = np.arange(6.0)
    capsule = array.__dlpack__()
    report = dl.inspect(capsule)
    assert report.struct["layout"] == "DLManagedTensor"
    assert report.struct["version"] is None
    assert report.facts["offers_legacy"]
    assert not report.facts["offers_versioned"]
    assert dl.from_dlpack(capsule).tolist() == array.tolist()


def test_a_consumed_capsule_is_shown_and_nothing_is_concluded():
    capsule = np.arange(6.0).__dlpack__(max_version=(1, 3))
    kept = dl.from_dlpack(capsule)
    report = dl.inspect(capsule)
    assert report.struct["name"] == "used_dltensor_versioned"
    assert report.struct["shape"] == kept.shape
    assert report.findings == []
    assert report.consequences == []
    assert "consumed" in report.remarks[0]


def test_a_capsule_of_another_kind_is_no_tensor():
    import datetime

    report = dl.inspect(datetime.datetime_CAPI)
    assert report.struct is None
    assert "not one of the standard's" in report.remarks[0]
    with pytest.raises(TypeError, match="datetime_CAPI"):
        dl.validate(datetime.datetime_CAPI)


def test_wild_pointers_are_findings_and_no_crash(kit):
    made = kit.make()
    made.tensor.shape = 1 << 40
    found = dl.validate(made.capsule())
    assert [finding.rule for finding in found] == ["shape.pointer"]
    assert "where there is none" in found[0].text
    made = kit.make()
    made.tensor.strides = 1 << 40
    assert [finding.rule for finding in dl.validate(made.capsule())] == ["strides.pointer"]


def test_a_capsule_that_leads_nowhere_is_a_finding():
    new = ctypes.PyDLL(None).PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    for address in (16, 1 << 40):
        report = dl.inspect(new(address, b"dltensor_versioned", None))
        assert [finding.rule for finding in report.findings] == ["tensor.pointer"]
        assert not report.usable
        assert "NOT USABLE" in plain(report)


def test_another_major_version_is_not_read(kit):
    made = kit.make()
    made.struct.major = 2
    report = dl.inspect(made.capsule())
    assert [finding.rule for finding in report.findings] == ["version.major"]
    assert "shape" not in report.struct
    assert report.facts["version_major"] == 2


def test_each_hostile_field_is_found_by_its_rule(kit):
    for field, value, rule in (
        ("ndim", -1, "ndim.range"),
        ("ndim", 65, "ndim.range"),
        ("bits", 0, "dtype.bits"),
        ("lanes", 0, "dtype.lanes"),
        ("device_type", 0, "device.type"),
        ("device_id", -1, "device.id"),
        ("shape", 0, "shape.null"),
        ("data", 0, "data.null"),
    ):
        made = kit.make()
        setattr(made.tensor, field, value)
        found = dl.validate(made.capsule())
        assert found[0].rule == rule, field
        assert found[0].severity == "error"
        assert found[0].remedy in found[0].text


def test_findings_have_every_field_of_the_validation():
    finding = next(f for f in dl.validate(np.arange(4)[::-1]) if f.rule == "strides.negative")
    assert (finding.severity, finding.field, finding.axis, finding.value) == ("note", "strides", 0, -1)
    assert str(finding) == finding.text
    row = next(rule for rule in rules() if rule.id == "strides.negative")
    assert row.remedy == finding.remedy
    assert pickle.loads(pickle.dumps(rules())) == rules()
    assert len(rules()) == len({rule.id for rule in rules()}) > 20
    assert {rule.severity for rule in rules()} == {"error", "warning", "note"}


def test_validate_refuses_what_has_no_tensor():
    with pytest.raises(TypeError, match="int exports no tensor"):
        dl.validate(3)
    with pytest.raises(TypeError, match="the type ndarray"):
        dl.validate(np.ndarray)
    with pytest.raises(TypeError, match="BufferError"):
        dl.validate(np.array(["text"]))


def test_buffers_are_read_as_we_would_export_them():
    report = dl.inspect(b"abc")
    assert report.struct["shape"] == (3,)
    assert report.facts["readonly"]
    assert "asarray" in report.via
    assert {finding.severity for finding in dl.validate(bytearray(256))} <= {"note"}


@pytest.mark.parametrize("x", [3, 2.5, "text", [1, 2], None, object(), {}, lambda: 0])
def test_anything_at_all_can_be_asked(x):
    report = dl.inspect(x)
    assert report.struct is None
    assert not report.usable
    assert "offers no memory" in plain(report)


def test_a_type_is_inspected_without_an_object():
    report = dl.inspect(dl.Tensor)
    assert report.subject == "type"
    assert report.tables[0].attribute == "__dlpack_c_exchange_api__"
    assert report.tables[0].chain[0]["version"] == dl.DLPACK_VERSION
    assert all(report.tables[0].chain[0]["functions"].values())
    assert report.tables[0].problem is None
    assert "do not support DLPack" in plain(dl.inspect(int))


# -- exchange tables --------------------------------------------------------------------------------------------------


def table_type(kit, **changes):
    from faults.producer import Table

    value = _report.read_table(dl.Tensor.__dlpack_c_exchange_api__)
    table = Table.from_buffer_copy(ctypes.string_at(value["chain"][0]["address"], ctypes.sizeof(Table)))
    for name, change in changes.items():
        setattr(table, name, change)
    return table


def test_a_table_with_holes_is_described_and_not_called(kit):
    table = table_type(kit, from_object=0)
    holed = type("Holed", (), {"__dlpack_c_exchange_api__": ctypes.addressof(table)})
    report = dl.inspect(holed())
    assert report.tables[0].kind == "int"
    assert "managed_tensor_from_py_object_no_sync" in report.tables[0].problem
    assert not any("no_sync" in call.call for call in report.calls)
    assert "cannot be used" in plain(report)


def test_the_chain_of_older_tables_is_followed_and_a_circle_ends(kit):
    old = table_type(kit)
    new = table_type(kit, major=2, previous=ctypes.addressof(old))
    found = _report.read_table(ctypes.addressof(new))
    assert [link["version"][0] for link in found["chain"]] == [2, 1]
    assert found["problem"] is None
    assert _report.read_borrowed(dl.arange(3), ctypes.addressof(new))["shape"] == (3,)
    new.previous = ctypes.addressof(new)
    assert "circle" in _report.read_table(ctypes.addressof(new))["problem"]


def test_a_table_that_leads_nowhere_is_described():
    for value in (1 << 40, 16):
        assert _report.read_table(value)["problem"] == "the address leads to no readable memory"
    assert "expected a capsule or an address" in _report.read_table("text")["problem"]
    with pytest.raises(BufferError, match="cannot be used"):
        _report.read_exported(dl.arange(3), 1 << 40)


def test_a_table_on_the_instance_is_reported_as_such():
    class Wrong:
        pass

    wrong = Wrong()
    wrong.__dlpack_c_exchange_api__ = dl.Tensor.__dlpack_c_exchange_api__
    (table,) = dl.inspect(wrong).tables
    assert table.place == "instance"


# -- calls ------------------------------------------------------------------------------------------------------------


def test_every_signature_is_asked_and_errors_are_shown():
    array = np.arange(6.0)
    array.flags.writeable = False
    calls = {call.call: call for call in dl.inspect(array).calls}
    assert calls["__dlpack__()"].error.startswith("BufferError")
    assert calls["__dlpack__(max_version=(1, 3))"].struct["flags"] & 1
    assert "other memory" in calls["__dlpack__(max_version=(1, 3), copy=True)"].answer


def test_a_large_copy_is_not_asked_for():
    called = []

    class Watched:
        t = dl.empty((2**20,), dtype="uint16")

        def __dlpack_device__(self):
            return self.t.__dlpack_device__()

        def __dlpack__(self, **arguments):
            called.append(arguments)
            return self.t.__dlpack__(**arguments)

    skipped = [call for call in dl.inspect(Watched()).calls if call.skipped]
    assert [call.skipped for call in skipped] == ["it would copy 2.0 MiB"]
    assert called
    assert not any(arguments.get("copy") for arguments in called)


def test_a_copy_of_unknown_size_is_not_asked_for():
    class Silent:
        def __dlpack_device__(self):
            return (1, 0)

        def __dlpack__(self, **arguments):
            raise BufferError("no")

    skipped = [call.skipped for call in dl.inspect(Silent()).calls if call.skipped]
    assert skipped == ["it would copy an unknown number of bytes"]


def _in_bytes(shape, dtype="float32"):
    """A tensor whose producer wrote strides in bytes."""
    base = dl.zeros(4096, dtype=dtype)
    strides = [stride * base.itemsize for stride in dl.layout.contiguous_strides(shape)]
    return dl.wrap(base.data_ptr, shape, dtype, strides=strides, owner=base)


@pytest.mark.parametrize("shape", [(3, 4), (2, 3, 4), (1, 3, 4)])
@pytest.mark.parametrize("dtype", ["float32", "int16", "complex128"])
def test_strides_in_bytes_are_a_warning(shape, dtype):
    report = dl.inspect(_in_bytes(shape, dtype))
    (finding,) = [finding for finding in report.findings if finding.rule == "strides.bytes"]
    assert (finding.severity, finding.standard) == ("warning", 14)
    assert "usable, but its strides look like bytes" in repr(report)
    assert finding in dl.validate(_in_bytes(shape, dtype)) or finding.severity == "warning"


def test_a_column_of_a_table_is_not_a_warning():
    column = dl.zeros((6, 4), dtype="float32")[:, 0]
    assert [f.severity for f in dl.inspect(column).findings if f.rule == "strides.bytes"] == ["note"]
    assert "sound" in repr(dl.inspect(column)).splitlines()[0]


@pytest.mark.parametrize(
    "make",
    [
        lambda: dl.zeros((3, 4)),
        lambda: dl.zeros((3, 4)).T,
        lambda: dl.zeros((3, 4), dtype="uint8")[:, ::2],
        lambda: dl.zeros((6, 8))[:, ::2],
        lambda: dl.zeros((0, 4)),
        lambda: dl.zeros(()),
        lambda: dl.broadcast_to(dl.zeros(4), (4, 4)),
        lambda: dl.zeros((1, 1)),
    ],
)
def test_strides_in_elements_do_not_look_like_bytes(make):
    assert [f for f in dl.inspect(make()).findings if f.rule == "strides.bytes"] == []


def test_an_object_with_array_only_is_read_without_a_copy():
    array = np.arange(6.0).reshape(2, 3)

    class OnlyArray:
        def __array__(self, dtype=None, copy=None):
            return array

    report = dl.inspect(OnlyArray())
    assert report.struct["data"] == array.ctypes.data
    assert report.via == "dl.asarray(x, copy=False), as it has no DLPack of its own"
    assert "__array__" in report.protocols


def test_an_arrow_array_is_read_by_its_own_protocol():
    t = dl.arange(6)

    class OnlyArrow:
        def __arrow_c_array__(self, requested_schema=None):
            return t.__arrow_c_array__(requested_schema)

    report = dl.inspect(OnlyArrow())
    assert report.struct["data"] == t.data_ptr
    assert report.via == "dl.from_arrow(x, copy=False), as it has no DLPack of its own"
    assert "__arrow_c_array__" in report.protocols


def test_an_arrow_stream_is_not_used_up():
    called = []

    class Stream:
        def __arrow_c_stream__(self, requested_schema=None):
            called.append(1)

    report = dl.inspect(Stream())
    assert called == []
    assert [call.skipped for call in report.calls] == ["a stream may be used up by reading it"]


def test_other_devices_are_neither_copied_nor_synchronized():
    called = []

    class Far:
        t = dl.wrap(1 << 30, (4,), "float32", device="cuda:0")

        def __dlpack_device__(self):
            return (2, 0)

        def __dlpack__(self, **arguments):
            called.append(arguments)
            return self.t.__dlpack__(**arguments)

    report = dl.inspect(Far())
    assert report.facts["device"] == "cuda"
    assert not report.facts["host"]
    assert called
    assert all(
        arguments["stream"] in (-1, None) and "dl_device" not in arguments and not arguments.get("copy")
        for arguments in called
    )
    called.clear()
    dl.validate(Far())
    assert called[0]["stream"] == -1


def test_what_a_bad_producer_returns_is_told():
    class Liar:
        def __dlpack_device__(self):
            return (1, None)

        def __dlpack__(self):
            return 3

    report = dl.inspect(Liar())
    calls = {call.call: call.error for call in report.calls}
    assert calls["__dlpack__()"] == "TypeError: returned int instead of a capsule"
    assert calls["__dlpack__(stream=None)"].startswith("TypeError")
    assert "two integers" in report.device_answer
    text, mark = headline(report)
    assert text.endswith(": no tensor")
    assert mark == "warn"


# -- nothing is left behind -------------------------------------------------------------------------------------------


def test_inspecting_keeps_nothing():
    array, t, capsule = np.arange(6.0), dl.arange(6), np.arange(6.0).__dlpack__(max_version=(1, 3))

    def look():
        for x in (array, array[::-1], t, t[::2], capsule, b"abc", dl.Tensor):
            plain(dl.inspect(x)), dl.inspect(x).to_json(), dl.inspect(x)._repr_html_()
        for x in (array, t, capsule, b"abc"):
            dl.validate(x)

    look()
    gc.collect()
    references, blocks = sys.getrefcount(array), dl.debug.live_blocks()
    for _ in range(20):
        look()
    gc.collect()
    assert sys.getrefcount(array) == references
    assert dl.debug.live_blocks() == blocks


def test_the_deleter_of_an_unconsumed_export_runs_once(kit):
    made = kit.make()
    capsule = made.capsule()
    dl.inspect(capsule)
    dl.validate(capsule)
    assert made.deleted == 0
    del capsule
    assert made.deleted == 1


def test_a_capsule_without_destructor_is_given_back_and_told(kit):
    made = []

    class Leaky:
        def __dlpack__(self, max_version=None):
            made.append(kit.make())
            return made[-1].capsule(destructor=None)

        def __dlpack_device__(self):
            return (1, 0)

    report = dl.inspect(Leaky())
    assert any("no destructor" in call.answer for call in report.calls)
    assert len(made) >= 3
    assert [m.deleted for m in made] == [1] * len(made)


def test_inspecting_imports_no_framework():
    code = (
        "import sys, dltensor as dl\n"
        "str(dl.inspect(dl.arange(4)[::-1])); dl.inspect(b'abc').to_json()\n"
        "dl.inspect(dl.arange(3))._repr_html_()\n"
        "print(sorted({'numpy', 'torch', 'jax', 'tvm_ffi', 'pyarrow', 'rich'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == "[]", done.stderr


def test_the_facts_are_those_of_the_list():
    assert set(dl.inspect(dl.arange(3)).facts) == set(FACTS) == set(NEUTRAL)


# -- words ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "words"),
    [
        (np.s_[:], "C order"),
        (np.s_[::-1], "axis 0 backwards"),
        (np.s_[:, ::2], "axis 1 with gaps"),
        (np.s_[0:0], "no elements"),
        (np.s_[0, 0], "one element, no axes"),
        (np.s_[:, :3], "axis 0 with gaps"),
        (np.s_[None], "C order"),
    ],
)
def test_layouts_have_words(key, words):
    array = np.arange(24)[:24].reshape(4, 6)[key]
    strides = [step // 8 for step in array.strides]
    assert layout_words(array.shape, strides) == words


def test_transposed_and_broadcast_have_words():
    assert layout_words((6, 4), (1, 6)) == "Fortran order, as after a transpose"
    assert layout_words((3, 2, 4), (4, 12, 1)).startswith("transposed: in memory the axes follow as 1, 0, 2")
    assert layout_words((3, 4), (0, 1)) == "axis 0 broadcast"
    assert "overlapping" in layout_words((3, 3), (1, 1))
    assert layout_words((3, 2), (2, 3)).endswith("axis 0 with gaps; axis 1 interleaved")
    assert axis_words((3, 2), (2, 3))[1] == "steps of 3 interleave with the inner extent of 6"
    assert axis_words((5,), (-2,)) == ["every second element, backwards"]
    assert axis_words((2, 1, 3), (4, 9, 1)) == [
        "steps of 4, of which 1 are skipped",
        "one element, the stride is not used",
        "contiguous",
    ]
    assert axis_words((3, 3), (1, 1))[1] == "steps of 1 overlap the inner extent of 3"
    assert axis_words((0,), (1,)) == ["empty"]
    assert is_compact((3, 2, 4), (4, 12, 1))
    assert not is_compact((3,), (2,))
    assert is_compact((1, 3), (99, 1))


# -- outputs ----------------------------------------------------------------------------------------------------------


def test_json_is_plain_and_complete():
    report = dl.inspect(np.arange(4)[::-1])
    back = json.loads(report.to_json())
    assert back["struct"]["strides"] == [-1]
    assert set(back) == {*report.__dataclass_fields__, "usable"}
    assert back["findings"][0]["rule"]


def test_html_says_what_the_text_says_and_escapes():
    class Sneaky:
        def __dlpack__(self):
            raise BufferError("<script>alert(1)</script>")

    text = dl.inspect(Sneaky())._repr_html_()
    assert "<script>" not in text
    assert "&lt;script&gt;" in text
    page = dl.inspect(np.arange(3)).to_html()
    assert page.startswith("<!DOCTYPE html>")
    assert "http" not in page.replace("http-equiv", "")


def test_text_keeps_to_its_width():
    for line in plain(dl.inspect(np.arange(24).reshape(4, 6)[::-1, ::2]), 80).splitlines():
        assert len(line) <= 80 or " " not in line.strip()


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_colours_are_for_terminals_and_change_no_letter(monkeypatch):
    report = dl.inspect(dl.arange(3))
    stream = io.StringIO()
    show(report, stream)
    assert "\x1b" not in stream.getvalue()
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    coloured = Terminal()
    show(report, coloured)
    assert "\x1b[" in coloured.getvalue()
    assert [line.rstrip() for line in re.sub(r"\x1b\[[0-9;]*m", "", coloured.getvalue()).splitlines()] == (
        stream.getvalue().splitlines()
    )


def test_the_width_is_that_of_the_terminal(monkeypatch):
    report = dl.inspect(np.arange(24).reshape(4, 6)[::-1, ::2])
    for columns in (60, 80, 110):
        monkeypatch.setenv("COLUMNS", str(columns))
        assert max(len(line) for line in plain(report).splitlines() if " " in line.strip()) <= columns


def test_foreign_text_is_escaped_and_cut_in_every_output():
    class Sneaky:
        def __dlpack_device__(self):
            return (type("K", (int,), {"__repr__": lambda self: "\x1b]0;title\x07" + "x" * 5000})(1), 0)

        def __dlpack__(self, **arguments):
            raise BufferError("first\x1b[2J\nframe #0" + "y" * 5000)

    Sneaky.__qualname__ = "Red\x1b[31m\nnext" + "z" * 5000
    report = dl.inspect(Sneaky())
    for text in (plain(report), report.to_json(), report._repr_html_(), str(report)):
        assert "\x1b" not in text
        assert "\x07" not in text
        assert "frame #0" not in text
        assert max(map(text.count, ("x" * 400, "y" * 400, "z" * 400))) == 0
    assert "Red\\x1b[31m" in plain(report)
    assert report.calls[0].error == "BufferError: first\\x1b[2J"


def test_an_object_whose_attributes_raise_is_described():
    class Broken:
        @property
        def __dlpack__(self):
            raise OSError("no device")

        @property
        def __dlpack_device__(self):
            raise OSError("no device")

    report = dl.inspect(Broken())
    assert report.device_answer == "OSError: no device"
    assert {call.error for call in report.calls if not call.skipped} == {"OSError: no device"}


def test_the_references_of_an_immortal_object_are_no_number(monkeypatch):
    monkeypatch.setattr(reading.sys, "getrefcount", lambda x: 1_000_000_931)
    assert rows_of(dl.inspect(b"a"), "ownership")["references now"].startswith("not counted: the object is immortal")
    monkeypatch.undo()
    assert rows_of(dl.inspect(bytearray(3)), "ownership")["references now"][0].isdigit()


def test_the_headline_and_every_row_are_printed_in_their_order(monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    report = dl.inspect(np.arange(3))
    stream = io.StringIO()
    show(report, stream)
    printed = " ".join(stream.getvalue().split())
    parts = [headline(report)[0]]
    for title, rows in sections(report):
        parts += [title, *(part for label, body, _ in rows for part in (label, body))]
    at = 0
    for part in parts:
        at = printed.index(" ".join(part.split()), at)


# -- command line -----------------------------------------------------------------------------------------------------


def test_an_expression_is_evaluated_in_its_module():
    done = run("numpy:arange(4)[::-1]", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["struct"]["strides"] == [-1]
    assert "axis 0 backwards" in run("numpy:arange(4)[::-1]").stdout


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("nowhere:x", "no module named 'nowhere'"),
        ("numpy:arange(", "is not a Python expression"),
        ("numpy:1/0", "ZeroDivisionError"),
        ("numpy", "neither a file nor"),
        ("numpy:", "module:expression"),
        ("missing.npy", "No such file"),
        (__file__, "not a .npy, .npz or .safetensors file"),
        ("numpy:" + "undefined_name + " * 300 + "1", "NameError"),
        ("numpy:" + "(" * 300, "is not a Python expression"),
        ("math:" + "-" * 100_000 + "1", "raised"),
        ("sys:exit(0)", "SystemExit"),
        ("x" * 300, "neither a file nor"),
        ("x" * 300 + ".npy", "File name too long"),
    ],
)
def test_what_cannot_be_had_is_said_without_a_traceback(what, words):
    done = run(what)
    assert done.returncode == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    assert len(done.stderr) < 1000


def test_a_long_expression_is_no_name_of_a_file():
    done = run("numpy:zeros(3)" + " + 1" * 100)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("numpy.ndarray")


def test_no_tensor_is_status_one():
    assert run("math:pi").returncode == 1
    assert run("numpy:ndarray").returncode == 0


def test_a_page_is_written(tmp_path):
    out = tmp_path / "report.html"
    done = run("dltensor:arange(3)", "--html", str(out))
    assert done.stdout.strip() == str(out)
    assert "<table" in out.read_text()
    assert run("dltensor:arange(3)", "--html", str(tmp_path / "no" / "x.html")).returncode == 2


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6.0),
        np.asfortranarray(np.arange(6).reshape(2, 3)),
        np.array(True),
        np.zeros((0, 3), "f2"),
        np.ones(3, "c16"),
    ],
)
def test_a_npy_file_is_mapped(tmp_path, array):
    from dltensor.inspection.sources import open_npy

    path = tmp_path / "a.npy"
    np.save(path, array)
    t = open_npy(path)
    assert t.tolist() == array.tolist()
    assert t.readonly
    assert str(t.dtype) == str(array.dtype)
    assert json.loads(run(str(path), "--json").stdout)["subject"] == "file"


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (b"\x93NUMPY", b"PX", "not a .npy, .npz or"),
        (b"NUMPY\x01", b"NUMPY\x09", "version 9.0"),
        (b"v\x00{", b"\xff\xff{", "its header has 65545 bytes"),
        (b"'shape'", b"'shade'", "the field 'shade'"),
        (b"{'de", b"[(((", "not a dict"),
        (b"(6,)", b"(7,)", "takes 56 bytes"),
        (b"(6,)", b"(-6)", "tuple of sizes"),
        (b"<f8", b"<M8", "dates .* have no counterpart"),
        (b"<f8", b"|V2", "have lost their type"),
        (b"False", b"    7", "fortran_order"),
    ],
)
def test_a_broken_npy_file_is_refused(tmp_path, old, new, words):
    from dltensor.inspection.sources import SourceError, open_npy

    path = tmp_path / "a.npy"
    np.save(path, np.arange(6.0))
    raw = path.read_bytes()
    assert old in raw
    path.write_bytes(raw.replace(old, new))
    with pytest.raises(SourceError, match=words):
        open_npy(path)
    path.write_bytes(b"")
    with pytest.raises(SourceError, match="has 0 bytes"):
        open_npy(path)


def test_the_headers_of_files_of_many_tensors_are_listed(tmp_path):
    tensors = {"w": dl.zeros((2, 3), dtype="bfloat16"), "\x1b[31m": dl.arange(4)}
    dl.save(tmp_path / "a.safetensors", tensors, metadata={"made by": "me"})
    done = run(str(tmp_path / "a.safetensors"))
    assert done.returncode == 0
    assert re.search(r"safetensors, 2 tensors, 44 bytes of elements in \d+", " ".join(done.stdout.split()))
    assert re.search(r"^w +bfloat16 +\(2, 3\) +12 +\d+$", done.stdout, re.M)
    assert "made by" in done.stdout
    assert "\x1b[31m" not in done.stdout
    told = json.loads(run(str(tmp_path / "a.safetensors"), "--json").stdout)
    assert told["tensors"]["w"] == {"dtype": "bfloat16", "shape": [2, 3], "nbytes": 12, "offset": 288}
    np.savez_compressed(tmp_path / "a.npz", good=np.zeros(3), bad=np.array(["text"]))
    done = run(str(tmp_path / "a.npz"))
    assert done.returncode == 1
    assert re.search(r"^good +float64 +\(3,\) +24 +compressed$", done.stdout, re.M)
    assert "have no counterpart" in " ".join(done.stdout.split())
    assert run(str(tmp_path / "a.npz"), "--html", str(tmp_path / "x.html")).returncode == 2
