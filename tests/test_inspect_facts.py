# SPDX-License-Identifier: Apache-2.0
"""What dl.inspect concludes from a struct, row by row: the facts that change when one field does, and no other."""

import pytest

import dltensor as dl
from dltensor.conformance import _probe
from dltensor.inspection.sections import sections

# Fields of a struct of six float32 of shape (2, 3), and the facts that differ from those of the plain one.
ROWS = [
    ({}, {}),
    ({"dtype": (2, 32, 1), "byte_offset": 6},
     {"byte_offset": 6, "offset_remainder": 2, "alignment": 2, "misaligned": True}),
    ({"byte_offset": 4}, {"byte_offset": 4, "alignment": 4}),
    ({"dtype": (2, 64, 1), "byte_offset": 12},
     {"byte_offset": 12, "offset_remainder": 4, "alignment": 4, "misaligned": True}),
    ({"dtype": (2, 32, 4), "byte_offset": 24}, {"byte_offset": 24, "offset_remainder": 8, "alignment": 8}),
    ({"dtype": (0, 4, 1), "byte_offset": 3}, {"byte_offset": 3, "alignment": 1}),
    ({"dtype": (0, 4, 3), "byte_offset": 3}, {"byte_offset": 3, "offset_remainder": 1, "alignment": 1}),
    ({"dtype": (6, 8, 1), "byte_offset": 5}, {"byte_offset": 5, "alignment": 1}),
    ({"shape": (0, 3), "byte_offset": 4}, {"size": 0, "byte_offset": 4}),
    ({"shape": (), "strides": ()}, {"size": 1, "ndim": 0}),
    ({"shape": (2, 3, 4)}, {"size": 24, "ndim": 3}),
    ({"legacy": True}, {"offers_legacy": True, "offers_versioned": False, "version_major": 0, "version_minor": 0}),
    ({"version": (1, 1)}, {"version_minor": 1}),
    ({"flags": 1}, {"readonly": True}),
    ({"flags": 2}, {"copied": True}),
    ({"flags": 4, "dtype": (0, 4, 1)}, {"padded": True}),
    ({"strides": None}, {"strides_null": True}),
    ({"strides": (1, 2)}, {"contiguous": False}),
    ({"strides": (6, 2)}, {"contiguous": False, "compact": False}),
    ({"strides": (-3, 1), "byte_offset": 12},
     {"contiguous": False, "compact": False, "negative_strides": True, "byte_offset": 12, "alignment": 4}),
    ({"strides": (0, 1)}, {"contiguous": False, "compact": False, "zero_strides": True}),
    ({"strides": (1, 1)}, {"contiguous": False, "compact": False, "overlapping": True}),
    ({"shape": (1, 6), "strides": (-9, 1)}, {"odd_single_strides": True}),
    ({"shape": (1, 6), "strides": (0, 1)}, {"odd_single_strides": True}),
    ({"shape": (1, 6), "strides": (6, 1)}, {}),
    ({"deleter": None}, {"deleter_null": True}),
    ({"context": 0}, {"context_null": True}),
]  # fmt: skip
# They repeat fields, which test_inspect.py compares.
FIELDS = {"code", "bits", "lanes", "dtype", "device", "device_id"}


PAGE = -(-_probe.memory(8192) // 4096) * 4096


def facts(**fields):
    probe = _probe.Probe(data=PAGE, **fields)
    report = dl.inspect(probe.capsule())
    return {name: value for name, value in report.facts.items() if name not in FIELDS}


@pytest.mark.parametrize(("fields", "changed"), ROWS, ids=[repr(fields) for fields, _ in ROWS])
def test_a_field_changes_the_facts_that_follow_from_it(fields, changed):
    plain = facts()
    assert (plain["size"], plain["ndim"], plain["contiguous"], plain["alignment"]) == (6, 2, True, 4096)
    assert facts(**fields) == plain | changed


@pytest.mark.parametrize(
    ("fields", "shown"),
    [
        ({}, {"version": "1.3", "flags": "none (0)"}),
        ({"version": (1, 1), "flags": 1}, {"version": "1.1", "flags": "READ_ONLY (0x1)"}),
        ({"legacy": True}, {}),
    ],
)
def test_a_managed_struct_is_shown_with_its_layout_and_a_versioned_one_with_version_and_flags(fields, shown):
    probe = _probe.Probe(data=PAGE, **fields)
    title, rows = sections(dl.inspect(probe.capsule()))[0]
    texts = {label: text for label, text, _ in rows}
    assert title.startswith("fields")
    assert texts["layout"].startswith(f"DLManagedTensor{'' if fields.get('legacy') else 'Versioned'} at 0x")
    assert {label: text for label, text in texts.items() if label in ("version", "flags")} == shown
