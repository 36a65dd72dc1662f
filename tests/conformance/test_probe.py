# SPDX-License-Identifier: Apache-2.0
"""What the checks look with, `conformance._probe`: no object of it without a struct, whatever way it is made."""

import copy
import pickle
import subprocess
import sys

import pytest

from dltensor.conformance import _probe

CLASSES = ("ImportedTensor", "Watch", "Probe", "Table")


@pytest.mark.parametrize("name", CLASSES)
def test_an_object_made_by_new_alone_raises_or_is_whole(name):
    # In a child: what is tried has ended the process.
    code = (
        "from dltensor.conformance import _probe\n"
        f"kind = _probe.{name}\n"
        "try:\n"
        "    made = kind.__new__(kind)\n"
        "except TypeError as error:\n"
        "    print('refused:', error)\n"
        "else:\n"
        "    for name in dir(made):\n"
        "        if not name.startswith('__') and name not in ('delete_after_exit', 'of'):\n"
        "            value = getattr(made, name)\n"
        "    print('whole:', made.struct.shape, made.capsule() is not None)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("whole: (2, 3) True" if name == "Probe" else "refused: ")


@pytest.mark.parametrize(("name", "maker"), [("ImportedTensor", "take"), ("Watch", "watc")])
def test_a_class_that_holds_a_foreign_address_says_who_makes_its_objects(name, maker):
    with pytest.raises(TypeError, match=f"{name}: objects of this class are made by {maker}"):
        getattr(_probe, name)()
    with pytest.raises(TypeError, match="are made by"):
        getattr(_probe, name)(object())


def test_a_table_needs_an_address():
    with pytest.raises(ValueError, match="expected the address of an exchange table, got 0"):
        _probe.Table(0)


def test_a_probe_cannot_be_begun_anew_copied_or_pickled():
    probe = _probe.Probe(shape=(4,))
    before = probe.struct
    probe.__init__()
    assert probe.struct == before
    for attempt in (copy.copy, pickle.dumps):
        with pytest.raises(TypeError):
            attempt(probe)


def test_a_probe_refuses_memory_that_is_no_bytes():
    with pytest.raises(TypeError, match="owned must be bytes"):
        _probe.Probe(owned="text")
