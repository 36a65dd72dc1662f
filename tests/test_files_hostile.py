# SPDX-License-Identifier: Apache-2.0
"""Hostile files and folders: each is refused with field and value, or listed as accepted; old files stay."""

import ctypes
import json
import os
import resource
import struct
import subprocess
import sys
import zipfile
from contextlib import contextmanager

import numpy as np
import pytest
from children import BUS_ERROR

import dltensor as dl


def entry(begin=0, end=4, dtype="F32", shape="[1]", more=""):
    return f'{{"dtype":"{dtype}","shape":{shape},"data_offsets":[{begin},{end}]{more}}}'


def file_of(header, data=b"\0" * 4, length=None):
    """A safetensors file of a header as text or bytes."""
    header = header.encode() if isinstance(header, str) else header
    return struct.pack("<Q", len(header) if length is None else length) + header + data


E = entry()  # one float
# What is wrong, the file, and what the message says.
SAFETENSORS = {
    "empty file": (b"", "not a .npy, .npz or .safetensors file: it has 0 bytes"),
    "seven bytes": (b"\x02\0\0\0\0\0\0", "it has 7 bytes"),
    "length only": (struct.pack("<Q", 2), "it has 8 bytes"),
    "length of nothing": (file_of(""), "expected '{', got ''"),
    "length beyond the file": (file_of('{"a":' + E + "}", length=1000), "its header has 1000 bytes, the file"),
    "length above the limit": (file_of("{}", length=100_000_001), "length is 100000001 bytes; at most 100000000"),
    "length of 2^64 - 1": (file_of("{}", length=2**64 - 1), "18446744073709551615"),
    "not JSON": (file_of("abcdefgh"), "expected '{', got 'abcdefgh'"),
    "a list": (file_of("[]"), "expected '{'"),
    "a number": (file_of("1234"), "expected '{'"),
    "no end of the object": (file_of('{"a":' + E), "expected '}', got ''"),
    "text behind the object": (file_of('{"a":' + E + "}x"), "expected the end of the header"),
    "two objects": (file_of('{"a":' + E + "}{}"), "expected the end of the header"),
    "NUL behind the object": (file_of('{"a":' + E + "}\0"), "expected the end of the header"),
    "comma at the end": (file_of('{"a":' + E + ",}"), "expected '\"', got '}'"),
    "bad UTF-8 in a name": (file_of(b'{"\xff\xfe":' + E.encode() + b"}"), "not Unicode in UTF-8"),
    "surrogate in UTF-8": (file_of(b'{"\xed\xa0\x80":' + E.encode() + b"}"), "not Unicode in UTF-8"),
    "half of a surrogate pair": (file_of('{"\\ud800":' + E + "}"), "not Unicode in UTF-8"),
    "control character in a name": (file_of('{"a\nb":' + E + "}"), "a string holds a control character"),
    "unknown escape": (file_of('{"\\x41":' + E + "}"), "not Unicode in UTF-8"),
    "name without an end": (file_of('{"abc'), "a string does not end"),
    "name ends in an escape": (file_of('{"abc\\'), "a string does not end"),
    "the same name twice": (file_of(f'{{"a":{E},"a":{E}}}'), "the name 'a' is there twice"),
    "the same name, another type": (file_of(f'{{"a":{E},"a":{entry(dtype="I32")}}}'), "'a' is there twice"),
    "the same name with an escape": (file_of(f'{{"a":{E},"\\u0061":{E}}}'), "'a' is there twice"),
    "metadata twice": (file_of('{"__metadata__":{},"__metadata__":{}}', b""), "__metadata__ is there twice"),
    "a key of metadata twice": (file_of('{"__metadata__":{"k":"1","k":"2"}}', b""), "__metadata__ has 'k' twice"),
    "metadata of a number": (file_of('{"__metadata__":{"k":1}}', b""), "must hold strings, but 'k' is none"),
    "metadata that is no object": (file_of('{"__metadata__":"x"}', b""), "expected '{'"),
    "a tensor named __metadata__": (file_of(f'{{"__metadata__":{E}}}'), "must hold strings, but 'shape' is none"),
    "an entry that is no object": (file_of('{"a":[]}', b""), "expected '{'"),
    "no dtype": (file_of('{"a":{"shape":[1],"data_offsets":[0,4]}}'), "'a' lacks dtype"),
    "no shape": (file_of('{"a":{"dtype":"F32","data_offsets":[0,4]}}'), "'a' lacks shape"),
    "no offsets": (file_of('{"a":{"dtype":"F32","shape":[1]}}'), "'a' lacks data_offsets"),
    "an empty entry": (file_of('{"a":{}}'), "expected '\"', got '}}'"),
    "a field twice": (file_of('{"a":' + entry(more=',"dtype":"I32"') + "}"), "'a' has a field twice"),
    "an unknown field": (file_of('{"a":' + entry(more=',"extra":1') + "}"), "'a' has a field 'extra'"),
    "an unknown type": (file_of('{"a":' + entry(dtype="F99") + "}"), "dtype of 'a' must be one of F32, .*, got 'F99'"),
    "a type in lower case": (file_of('{"a":' + entry(dtype="f32") + "}"), "got 'f32'"),
    "a negative size": (file_of('{"a":' + entry(shape="[-1]") + "}"), "an integer of at least 0, got '-1"),
    "a size that is no integer": (file_of('{"a":' + entry(shape="[1.0]") + "}"), "got '1.0"),
    "a size with an exponent": (file_of('{"a":' + entry(shape="[1e0]") + "}"), "got '1e0"),
    "a size with a zero in front": (file_of('{"a":' + entry(shape="[01]") + "}"), "got '01"),
    "NaN as a size": (file_of('{"a":' + entry(shape="[NaN]") + "}"), "got 'NaN"),
    "true as a size": (file_of('{"a":' + entry(shape="[true]") + "}"), "got 'true"),
    "a size as text": (file_of('{"a":' + entry(shape='["1"]') + "}"), "got '\"1\""),
    "null as a shape": (file_of('{"a":' + entry(shape="null") + "}"), r"expected '\[', got 'null"),
    "a nested shape": (file_of('{"a":' + entry(shape="[" * 1000 + "]" * 1000) + "}"), "an integer of at least 0"),
    "nested objects": (file_of('{"a":' * 100_000), "has a field 'a'; expected dtype"),
    "a size of 2^63": (file_of('{"a":' + entry(shape=f"[{2**63}]") + "}"), "larger than 2.63 - 1"),
    "a size of 400 digits": (file_of('{"a":' + entry(shape=f"[{'9' * 400}]") + "}"), "larger than 2.63 - 1"),
    "a shape that overflows": (file_of('{"a":' + entry(shape=f"[{2**62},{2**62}]") + "}"), "more than 2.63 - 1 bits"),
    "bytes that overflow": (file_of('{"a":' + entry(shape=f"[{2**61}]") + "}"), "more than 2.63 - 1 bits"),
    "a product that wraps to 1": (
        file_of('{"a":' + entry(shape=f"[{2**32},{2**32},1]") + "}"), "more than 2.63 - 1 bits"),
    "65 dimensions": (file_of('{"a":' + entry(shape="[" + "1," * 64 + "1]") + "}"), "more than 64 dimensions"),
    "elements inside a byte": (file_of('{"a":' + entry(0, 1, "F4", "[1]") + "}", b"\0"), "1 elements of 4 bits"),
    "fewer bytes than the shape": (file_of('{"a":' + entry(shape="[2]") + "}"), "must span 8 bytes.*got .0, 4."),
    "more bytes than the shape": (file_of('{"a":' + entry(0, 8) + "}", bytes(8)), "must span 4 bytes.*got .0, 8."),
    "reversed offsets": (file_of('{"a":' + entry(4, 0) + "}"), "got .4, 0."),
    "negative offsets": (file_of('{"a":' + entry(-4, 0) + "}"), "an integer of at least 0, got '-4"),
    "three offsets": (file_of('{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4,8]}}'), r"expected '\]'"),
    "one offset": (file_of('{"a":{"dtype":"F32","shape":[1],"data_offsets":[0]}}'), "expected ','"),
    "offsets beyond the file": (file_of('{"a":' + E + "}", b"\0\0"), "its tensors take 4 bytes of data, it has 2"),
    "offsets of 2^63 - 1": (
        file_of('{"a":' + entry(2**63 - 5, 2**63 - 1) + "}"), f"begin at {2**63 - 5}: the tensor leaves a hole"),
    "an overlap": (
        file_of('{"a":' + entry(0, 8, shape="[2]") + ',"b":' + entry(4, 8) + "}", bytes(8)), "begin at 4.*overlaps"),
    "two tensors in one place": (file_of(f'{{"a":{E},"b":{E}}}'), "'b' begin at 0: the tensor overlaps"),
    "a hole": (file_of('{"a":' + E + ',"b":' + entry(8, 12) + "}", bytes(12)), "'b' begin at 8.*leaves a hole.*at 4"),
    "a hole in front": (file_of('{"a":' + entry(4, 8) + "}", bytes(8)), "'a' begin at 4: the tensor leaves a hole"),
    "bytes behind the last tensor": (file_of('{"a":' + E + "}", bytes(5)), "1 bytes behind its last tensor"),
    "bytes and no tensor": (file_of("{}", b"x"), "1 bytes behind its last tensor, which ends at 0"),
    "a byte order mark": (file_of(b"\xef\xbb\xbf{}", b""), "expected '{'"),
    "a comment": (file_of('{/**/"a":' + E + "}"), "expected '\"', got '/"),
    "single quotes": (file_of("{'a':" + E + "}"), "expected '\"', got '"),
    "no colon": (file_of('{"a"' + E + "}"), "expected ':'"),
}  # fmt: skip
# What the specification allows, or files in use have.
ACCEPTED = {
    "white space in front": file_of(' \n\t{"a":' + E + "}"),
    "white space behind": file_of('{"a":' + E + "} \r\n"),
    "white space inside": file_of('{ "a" : { "dtype" : "F32" , "shape" : [ 1 ] , "data_offsets" : [ 0 , 4 ] } }'),
    "an escape in a name": file_of('{"\\u0061\\ud83d\\ude00":' + E + "}"),
    "an empty name": file_of('{"":' + E + "}"),
    "fields in another order": file_of('{"a":{"data_offsets":[0,4],"shape":[1],"dtype":"F32"}}'),
    "tensors in another order": file_of('{"b":' + entry(4, 8) + ',"a":' + E + "}", bytes(8)),
    "no tensors": file_of("{}", b""),
    "metadata only": file_of('{"__metadata__":{"a":"b"}}', b""),
    "a scalar": file_of('{"a":' + entry(shape="[]") + "}"),
    "no elements": file_of('{"a":' + entry(0, 0, shape="[0,5]") + "}", b""),
    "no elements between others": file_of(f'{{"a":{E},"n":{entry(4, 4, shape="[0]")},"b":{entry(4, 8)}}}', bytes(8)),
    "64 dimensions": file_of('{"a":' + entry(shape="[" + "1," * 63 + "1]") + "}"),
}


@pytest.mark.parametrize("what", SAFETENSORS)
def test_a_hostile_safetensors_file_is_refused_with_field_and_value(tmp_path, what):
    data, words = SAFETENSORS[what]
    path = tmp_path / "hostile.safetensors"
    path.write_bytes(data)
    for function in (dl.load, dl.open_file):
        with pytest.raises(ValueError, match=words) as caught:
            function(path)
        text = str(caught.value)
        assert text.startswith(f"{function.__name__}: '")
        assert "hostile.safetensors" in text
        assert len(text) < 700
        assert text.isprintable()
    assert len(SAFETENSORS) >= 44


@pytest.mark.parametrize("what", ACCEPTED)
def test_what_the_format_allows_is_accepted(tmp_path, what):
    path = tmp_path / "a.safetensors"
    path.write_bytes(ACCEPTED[what])
    for mmap in (True, False):
        loaded = dl.load(path, mmap=mmap)
        assert all(t.dtype == dl.float32 for t in loaded.values())


def test_every_shortened_and_every_changed_byte_is_refused_or_read(tmp_path):
    """No cut and no bit of a sound file makes anything but a ValueError, or tensors within the file."""
    path = tmp_path / "a.safetensors"
    dl.save(path, {"a": dl.arange(4), "b": dl.ones((2, 3), dtype="bfloat16")}, metadata={"k": "v"})
    sound = path.read_bytes()
    refused = 0
    cases = [sound[:size] for size in range(0, len(sound), 3)]
    cases += [sound[:at] + bytes([sound[at] ^ bit]) + sound[at + 1 :] for at in range(180) for bit in (1, 32, 128)]
    for data in cases:
        path.write_bytes(data)
        try:
            for t in dl.load(path).values():
                t.tobytes()
        except (ValueError, TypeError):
            refused += 1
    assert refused > 500


# -- .npy -------------------------------------------------------------------------------------------------------------


def npy_of(header, data=bytes(48), version=1, length=None):
    header = header.encode("latin1") if isinstance(header, str) else header
    width = "<H" if version == 1 else "<I"
    return (
        b"\x93NUMPY"
        + bytes([version, 0])
        + struct.pack(width, len(header) if length is None else length)
        + header
        + data
    )


def literal(descr="'<f8'", order="False", shape="(6,)", more=""):
    return f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}{more}}}\n"


NPY = {
    "magic only": (b"\x93NUMPY", ValueError, "not a .npy file"),
    "no header": (b"\x93NUMPY\x01\x00\x76\x00", ValueError, "not a .npy"),
    "version 9": (npy_of(literal(), version=9), ValueError, "version 9.0 is not known"),
    "version 0": (npy_of(literal(), version=0), ValueError, "version 0.0 is not known"),
    "a header beyond the file": (npy_of(literal(), b"", length=1000), ValueError, "its header has 1010 bytes"),
    "a header of 4 GB": (npy_of(literal(), version=2, length=2**32 - 1), ValueError, "header length is 4294967295"),
    "a header of 70,000 characters": (npy_of(literal() + " " * 70_000, version=2), ValueError, "at most 65536"),
    "bad UTF-8": (npy_of(b"{'descr': '\xff'}", version=3), ValueError, "not UTF-8"),
    "not a dict": (npy_of("[1, 2, 3]"), ValueError, "the header is not a dict"),
    "code": (npy_of("__import__('os').system('touch hacked')"), ValueError, "the header is not a dict"),
    "code inside": (npy_of(literal(shape="(exit(),)")), ValueError, r"shape must be a tuple of sizes, got '\(exit"),
    "deep nesting": (npy_of("{" + "(" * 20_000), ValueError, "the header is not a dict"),
    "deep nesting in the shape": (npy_of(literal(shape="(" * 5_000)), ValueError, "shape must be a tuple of sizes"),
    "a field more": (npy_of(literal(more=", 'more': 1")), ValueError, "the field 'more' which"),
    "a field twice": (npy_of(literal(more=", 'shape': (6,)")), ValueError, "the field 'shape' twice"),
    "a field missing": (npy_of("{'descr': '<f8', 'shape': (6,)}"), ValueError, "the header is not a dict of"),
    "negative size": (npy_of(literal(shape="(-4,)")), ValueError, r"shape must be a tuple of sizes, got '\(-4"),
    "a size that is no integer": (npy_of(literal(shape="(6.0,)")), ValueError, "shape must be a tuple"),
    "an integer as shape": (npy_of(literal(shape="6")), ValueError, "shape must be a tuple"),
    "parentheses only": (npy_of(literal(shape="(6)")), ValueError, "shape must be a tuple"),
    "a list as shape": (npy_of(literal(shape="[6]")), ValueError, "shape must be a tuple"),
    "an order that is no bool": (npy_of(literal(order="1")), ValueError, "fortran_order must be True or False, got .1"),
    "65 dimensions": (npy_of(literal(shape="(" + "1, " * 65 + ")")), ValueError, "at most 64 sizes"),
    "a size of 2^63": (npy_of(literal(shape=f"({2**63},)")), ValueError, "below 2.63"),
    "a size of 5,000 digits": (npy_of(literal(shape=f"({'9' * 5000},)")), ValueError, "below 2.63"),
    "a shape that overflows": (npy_of(literal(shape=f"({2**40}, {2**40})")), ValueError, "more than 2.63 - 1 bytes"),
    "8 TiB": (npy_of(literal(shape=f"({2**40},)")), ValueError, f"takes {2**43} bytes behind the header, the file"),
    "one element too many": (npy_of(literal(shape="(7,)")), ValueError, "takes 56 bytes behind the header"),
    "objects": (npy_of(literal("'|O'")), TypeError, "Python objects"),
    "structured": (npy_of(literal("[('a', '<f8')]")), TypeError, "structured elements"),
    "an unknown type": (npy_of(literal("'<q8'")), TypeError, "type '<q8' have no counterpart"),
    "a subarray": (npy_of(literal("'(2,)<f4'")), TypeError, "have no counterpart"),
    "a type of 10^9 bytes": (npy_of(literal("'<f1000000000'")), TypeError, "have no counterpart"),
    "no text as type": (npy_of(literal("None")), ValueError, "descr must be a type, got .None"),
    "text behind the dict": (npy_of(literal() + "x"), ValueError, "the header is not a dict"),
}  # fmt: skip


@pytest.mark.parametrize("what", NPY)
def test_a_hostile_npy_file_is_refused_with_field_and_value(tmp_path, what, monkeypatch):
    data, error, words = NPY[what]
    path = tmp_path / "hostile.npy"
    path.write_bytes(data)
    monkeypatch.chdir(tmp_path)
    for mmap in (True, False):
        with pytest.raises(error, match=words) as caught:
            dl.load(path, mmap=mmap)
        assert "hostile.npy" in str(caught.value)
        assert len(str(caught.value)) < 500
        assert str(caught.value).isprintable()
    assert os.listdir(tmp_path) == ["hostile.npy"]
    assert len(NPY) >= 14


# -- .npz -------------------------------------------------------------------------------------------------------------


def archive_of(path, members, compression=zipfile.ZIP_DEFLATED):
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, data in members:
            archive.writestr(name, data)


def test_a_member_that_is_longer_than_its_header_says_is_refused(tmp_path):
    path = tmp_path / "a.npz"
    for compression in (zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED):
        archive_of(path, [("a.npy", npy_of(literal(), bytes(200_000_000 if compression else 1000)))], compression)
        for mmap in (True, False):
            with pytest.raises(ValueError, match=r"'a': the member has \d+ bytes, its header and elements take"):
                dl.load(path, mmap=mmap)


def test_a_member_that_says_more_than_it_can_hold_is_refused(tmp_path):
    path = tmp_path / "a.npz"
    size = 10**9
    archive_of(path, [("a.npy", npy_of(literal(), bytes(100)))])
    raw = path.read_bytes()
    declared = len(npy_of(literal(), bytes(100)))
    assert raw.count(struct.pack("<I", declared)) == 2
    path.write_bytes(raw.replace(struct.pack("<I", declared), struct.pack("<I", size)))
    with pytest.raises(ValueError, match=f"compressed bytes cannot become {size}"):
        dl.load(path)


def test_a_member_that_inflates_to_less_is_refused(tmp_path):
    path = tmp_path / "a.npz"
    short, full = npy_of(literal(shape="(600,)"), bytes(4000)), npy_of(literal(shape="(600,)"), bytes(4800))
    archive_of(path, [("a.npy", short)])
    path.write_bytes(path.read_bytes().replace(struct.pack("<I", len(short)), struct.pack("<I", len(full))))
    with pytest.raises(ValueError, match=r"a\.npz"):
        dl.load(path)


def test_members_that_overlap_are_refused(tmp_path):
    """As in archives that unfold one member's bytes under many names."""
    path = tmp_path / "a.npz"
    archive_of(path, [("a.npy", npy_of(literal())), ("b.npy", npy_of(literal()))])
    raw = bytearray(path.read_bytes())
    second = raw.rindex(b"PK\x01\x02")
    first = raw.index(b"PK\x01\x02")
    raw[second + 42 : second + 46] = raw[first + 42 : first + 46]  # both directory entries name one place
    path.write_bytes(raw)
    with pytest.raises(ValueError, match="overlap"):
        dl.load(path)


def test_broken_archives_are_value_errors(tmp_path):
    path = tmp_path / "a.npz"
    archive_of(path, [("a.npy", npy_of(literal())), ("note.txt", b"hello")])
    sound = path.read_bytes()
    assert list(dl.load(path)) == ["a"]
    refused = 0
    cases = [sound[:size] for size in range(4, len(sound), 7)]
    cases += [
        sound[:at] + bytes([sound[at] ^ bit]) + sound[at + 1 :] for at in range(len(sound)) for bit in (1, 16, 128)
    ]
    for data in cases:
        path.write_bytes(data)
        try:
            dl.load(path)
        except (ValueError, TypeError, KeyError):
            refused += 1
    assert refused > 300
    with pytest.warns(UserWarning, match="Duplicate"):
        archive_of(path, [("a.npy", npy_of(literal())), ("a.npy", npy_of(literal()))])
    with pytest.raises(ValueError, match="the name 'a' is there twice"):
        dl.load(path)


def test_a_wrong_checksum_of_a_compressed_member_is_found(tmp_path):
    path = tmp_path / "a.npz"
    np.savez_compressed(path, a=np.arange(100))
    raw = path.read_bytes()
    with zipfile.ZipFile(path) as archive:
        checksum = struct.pack("<I", archive.infolist()[0].CRC)
    path.write_bytes(raw.replace(checksum, b"\1\2\3\4"))
    with pytest.raises(ValueError, match="CRC"):
        dl.load(path)


# -- paths and folders ------------------------------------------------------------------------------------------------

CALLS = {"load": lambda path: dl.load(path), "open_file": lambda path: dl.open_file(path),
         "memmap": lambda path: dl.memmap(path, 1, "uint8"),
         "memmap r+": lambda path: dl.memmap(path, 1, "uint8", mode="r+"),
         "memmap w+": lambda path: dl.memmap(path, 1, "uint8", mode="w+"),
         "save": lambda path: dl.save(path, dl.zeros(1), format="npy")}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_what_is_no_regular_file_is_refused_at_once_and_left_alone(tmp_path, name):
    fifo, folder, loop = tmp_path / "fifo", tmp_path / "folder", tmp_path / "loop"
    os.mkfifo(fifo)
    folder.mkdir()
    os.symlink("loop", loop)
    for path, error, words in (
        (fifo, OSError, "expected a regular file, it is a FIFO"),
        (folder, IsADirectoryError, "directory"),
        (loop, OSError, "symbolic links"),
        ("/dev/zero", OSError, "expected a regular file, it is a device"),
        (tmp_path / "missing" / "a", FileNotFoundError, "missing"),
        (tmp_path / "nul\0", ValueError, "null"),
        ("", FileNotFoundError, "No such file"),
        (str(folder) + "/", IsADirectoryError, "directory"),
        (3, TypeError, "(path|file) must be a .*, got int"),
        (None, TypeError, "NoneType"),
    ):
        with pytest.raises(error, match=words):
            CALLS[name](path)
    assert sorted(os.listdir(tmp_path)) == ["fifo", "folder", "loop"]


@contextmanager
def file_size_limit(nbytes):
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (nbytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("form", ["npy", "npz", "safetensors"])
@pytest.mark.parametrize("reserves", [True, False])
def test_a_full_disk_leaves_the_old_file_and_nothing_else(tmp_path, form, reserves, monkeypatch):
    """As a limit of the size of files has it: when room is reserved, and in the middle of writing."""
    path = tmp_path / f"a.{form}"
    old = dl.ones(3) if form == "npy" else {"a": dl.ones(3)}
    new = dl.zeros(100_000) if form == "npy" else {"a": dl.zeros(100_000)}
    dl.save(path, old)
    if not reserves:
        monkeypatch.setattr(os, "posix_fallocate", lambda *given: None)
    before = len(os.listdir("/proc/self/fd"))
    with file_size_limit(65536), pytest.raises(OSError, match=r"large|room"):
        dl.save(path, new)
    assert len(os.listdir("/proc/self/fd")) == before
    loaded = dl.load(path)
    assert (loaded if form == "npy" else loaded["a"]).tolist() == [1, 1, 1]
    assert os.listdir(tmp_path) == [f"a.{form}"]


def test_a_full_tmpfs_leaves_the_old_file(tmp_path):
    if os.geteuid() != 0:
        pytest.skip("mounting a tmpfs needs root")
    libc = ctypes.CDLL(None, use_errno=True)
    folder = tmp_path / "small"
    folder.mkdir()
    if libc.mount(b"tmpfs", os.fsencode(folder), b"tmpfs", 0, b"size=256k") != 0:
        pytest.skip(f"no tmpfs can be mounted here: {os.strerror(ctypes.get_errno())}")
    try:
        dl.save(folder / "a.npy", dl.ones(3))
        with pytest.raises(OSError, match="no room for 4000256 bytes: No space left"):
            dl.save(folder / "a.npy", dl.zeros(1_000_000))
        assert dl.load(folder / "a.npy", mmap=False).tolist() == [1, 1, 1]
        assert os.listdir(folder) == ["a.npy"]
    finally:
        libc.umount(os.fsencode(folder))


def test_a_folder_that_cannot_be_written_is_an_error(tmp_path):
    folder = tmp_path / "a"
    folder.mkdir()
    dl.save(folder / "a.npy", dl.ones(3))
    code = f"""
import os, dltensor as dl
if os.geteuid() == 0:
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
for path, what in (({str(folder)!r} + "/a.npy", dl.zeros(1)), ({str(folder)!r} + "/new.npy", dl.zeros(1))):
    try:
        dl.save(path, what)
    except PermissionError as error:
        print("refused", error)
"""
    os.chmod(folder / "a.npy", 0o444)
    os.chmod(folder, 0o555)
    try:
        for parent in (folder.parent, *folder.parent.parents):
            if not os.stat(parent).st_mode & 0o001 and os.geteuid() == 0:
                pytest.skip(f"{parent} is closed to other users")
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    finally:
        os.chmod(folder, 0o755)
    if "Permission denied" in done.stderr and "import" in done.stderr:
        pytest.skip("the package is in a folder that is closed to other users")
    assert done.stdout.count("refused") == 2, done.stderr
    assert dl.load(folder / "a.npy").tolist() == [1, 1, 1]
    assert os.listdir(folder) == ["a.npy"]


def test_a_process_that_is_killed_while_it_saves_leaves_the_old_file(tmp_path):
    path = tmp_path / "a.safetensors"
    dl.save(path, {"a": dl.ones(3)})
    code = f"""
import os, signal, dltensor as dl
write, count = os.write, 0
def kill(file, data):
    global count
    count += 1
    if count == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return write(file, data)
os.write = kill
dl.save({str(path)!r}, {{"a": dl.zeros(2**20)}})
"""
    assert subprocess.run([sys.executable, "-c", code], timeout=60).returncode == -9
    assert dl.load(path)["a"].tolist() == [1, 1, 1]
    assert [name for name in os.listdir(tmp_path) if not name.endswith(".tmp")] == ["a.safetensors"]


def test_a_file_that_is_cut_off_while_it_is_open_is_an_error(tmp_path):
    for name in ("a.npy", "a.safetensors"):
        path = tmp_path / name
        dl.save(path, dl.zeros(10_000) if name == "a.npy" else {"a": dl.zeros(10_000)})
        f = dl.open_file(path)
        os.truncate(path, 1000)
        with pytest.raises(ValueError, match="the file was cut off since it was opened"):
            f[f.names[0]]
        with pytest.raises(ValueError, match="the file is cut off: expected 40000 bytes"):
            f.read()
        f.close()


def test_a_page_that_is_gone_ends_the_process_and_reading_does_not(tmp_path):
    """Documented: the file of a map must not be made shorter. What is read with mmap=False has memory of its own."""
    path = tmp_path / "a.npy"
    code = f"""
import os, sys, dltensor as dl
dl.save({str(path)!r}, dl.zeros(10000))
t = dl.load({str(path)!r}, mmap=sys.argv[1] == "True")
os.truncate({str(path)!r}, 0)
t.tolist()
"""
    codes = [subprocess.run([sys.executable, "-c", code, mode], timeout=60).returncode for mode in ("True", "False")]
    assert codes == [BUS_ERROR, 0]


def test_memory_that_is_not_there_is_a_memory_error(tmp_path):
    path = tmp_path / "a.npy"
    shape = (2**42,)
    header = npy_of(literal("'|u1'", shape=f"({shape[0]},)"), b"")
    path.write_bytes(header)
    os.truncate(path, len(header) + shape[0])  # a hole
    try:
        with pytest.raises(MemoryError, match="cannot allocate"):
            dl.load(path, mmap=False)
        assert dl.load(path).shape == shape
    finally:
        path.unlink()


def test_headers_of_a_hundred_thousand_tensors_are_read(tmp_path):
    count = 100_000
    header = {str(i): {"dtype": "U8", "shape": [1], "data_offsets": [i, i + 1]} for i in reversed(range(count))}
    path = tmp_path / "a.safetensors"
    path.write_bytes(file_of(json.dumps(header), bytes(range(250)) * (count // 250)))
    loaded = dl.load(path)
    assert len(loaded) == count
    assert loaded["99999"].item() == 249
