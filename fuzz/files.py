# SPDX-License-Identifier: Apache-2.0
"""Files made by chance, read by this package and by another reader; every difference that is not in a list is printed.

The other reader is safetensors' own for .safetensors files (`pip install safetensors`) and NumPy for .npy files. Files
are made from sound ones by changes of their header's text, of numbers in it, and of single bytes. Where both accept a
file, names, types, shapes and elements must be equal. Every file is read by its path, mapped and not, and as bytes, a
file object and an open file, which must agree.

Quantised checkpoints, sound and hostile, are converted by `dltensor convert` and by NumPy: checkpoints.py. Memory of
large conversions is measured.

Then threads read from open files while another one closes them and opens others: a read gives the elements of its own
file, or says that the file is closed.

Run: python fuzz/files.py [--cases 20000] [--seed 1] [--seconds 3600] [--checkpoints 800] [--megabytes 48]
                          [--closes 300]
"""

import argparse
import io
import json
import os
import random
import re
import sys
import tempfile
import threading
import time
import warnings

import checkpoints
import ml_dtypes
import numpy as np

import dltensor as dl
from dltensor.io._safetensors_header import DTYPES as SAFETENSORS

assert ml_dtypes  # np.load knows the names of its types once it is imported
BITS = {code: dl.DTYPES[name].bits for code, name in SAFETENSORS.items()}
# What this package refuses and safetensors accepts, by our message, with the reason.
STRICTER = {
    r"has a field .*; expected dtype": "a field that the format does not have may mean anything",
    r"more than 64 dimensions": "no tensor has more",
    r"larger than 2\^63 - 1|more than 2\^63 - 1": "sizes are signed here",
    r"__metadata__ must hold strings|expected '\{', got 'null": "null as metadata",
}
# What NumPy accepts and this package refuses.
NPY_STRICTER = {
    r"have no counterpart in DLPack": "types that no tensor has",
    r"have lost their type": "raw elements, which NumPy gives as void",
    r"must be a tuple of sizes|must be True or False|must be a type|is not a dict of": "other spellings of a literal",
    r"which .npy files do not have|is cut off": "headers that NumPy corrects as of Python 2",
    r"the field .* twice": "a dict literal takes the last one",
}
# What NumPy refuses and this package reads: limits of its own, and types that its dtypes lack.
NPY_WIDER = (r"Header info length|array is too big|maximum supported dimension|cannot reshape|"
             r"data type .* not understood|"
             r"descr is not a valid dtype|Cannot parse header|not correct|tokeniz|EOF in multi")  # fmt: skip
NUMBERS = [0, 1, 2, 3, 4, 7, 8, 16, 63, 64, 255, 2**31, 2**32, 2**53, 2**62, 2**63 - 1, 2**63, 2**64 - 1, 2**64, -1]
TEXTS = [
    "null",
    "true",
    "[]",
    "{}",
    '""',
    "1.0",
    "1e2",
    "NaN",
    "-0",
    "00",
    '"a"',
    "[[]]",
    '"\\ud800"',
    "\t",
    "\x00",
    "é",
]


def sound_safetensors(rng):
    """The header of a sound file as a dictionary, and its data."""
    header, at = {}, 0
    if rng.random() < 0.3:
        header["__metadata__"] = {f"k{n}": "v" * n for n in range(rng.randrange(3))}
    for n in range(rng.randrange(5)):
        code = rng.choice(list(SAFETENSORS))
        shape = [rng.choice([0, 1, 2, 3, 8]) for _ in range(rng.randrange(4))]
        if np.prod(shape, dtype=int) * BITS[code] % 8:
            shape.append(8)
        nbytes = int(np.prod(shape, dtype=int)) * BITS[code] // 8
        name = rng.choice(["w", "layer.0.weight", "ü", "", 'a"b', "x" * 300]) + str(n)
        header[name] = {"dtype": code, "shape": shape, "data_offsets": [at, at + nbytes]}
        at += nbytes
    items = list(header.items())
    if rng.random() < 0.3:
        rng.shuffle(items)
    return dict(items), bytes(rng.randrange(256) for _ in range(at))


def hostile_safetensors(rng):
    """A file that is sound, or nearly so."""
    header, data = sound_safetensors(rng)
    text = json.dumps(header, ensure_ascii=rng.random() < 0.5, separators=rng.choice([(",", ":"), (", ", ": ")]))
    for _ in range(rng.choice([0, 0, 1, 1, 1, 2, 3])):
        text = changed(rng, text)
    raw = text.encode("utf-8", "surrogatepass")
    if rng.random() < 0.1 and raw:
        at = rng.randrange(len(raw))
        raw = raw[:at] + bytes([rng.randrange(256)]) + raw[at + 1 :]
    if rng.random() < 0.3:
        raw = rng.choice([b"", b" ", b"\n"]) + raw + rng.choice([b" ", b"\n  ", b"\0", b"x"])
    if rng.random() < 0.1:
        data = rng.choice([data[:-1], data + b"\0", data * 2, b""])
    length = (
        len(raw) if rng.random() < 0.95 else rng.choice([0, 1, len(raw) - 1, len(raw) + 1, 10**8, 10**8 + 1, 2**63])
    )
    return max(length, 0).to_bytes(8, "little") + raw + data


def changed(rng, text):
    """A text with one part of it replaced, repeated or removed."""
    numbers = [match.span() for match in re.finditer(r"-?\d+", text)]
    kind = rng.randrange(6)
    if kind <= 1 and numbers:
        begin, end = rng.choice(numbers)
        return text[:begin] + str(rng.choice([*NUMBERS, int(text[begin:end]) + rng.choice([-1, 1])])) + text[end:]
    values = [match.span() for match in re.finditer(r'"[^"]*"|\[[^\[\]]*\]|\{[^{}]*\}|True|False', text)]
    if not values:
        return text + rng.choice(TEXTS)
    begin, end = rng.choice(values)
    if kind == 2:
        return text[:begin] + rng.choice(TEXTS) + text[end:]
    if kind == 3:
        other = rng.choice(values)
        return text[:begin] + text[other[0] : other[1]] + text[end:]
    if kind == 4:
        return text[:end] + "," + text[begin:end] + text[end:]
    at = rng.randrange(len(text))
    return text[:at] + rng.choice(['"', ",", ":", "{", "}", "[", "]", "\\", " ", "", "'", "("]) + text[at + 1 :]


def hostile_npy(rng):
    """A .npy file that is sound, or nearly so."""
    kind = rng.choice(["<f4", ">f4", "|u1", "<i8", ">i2", "<c8", "|b1", "<f2", "<f8", ">c16", "bfloat16",
                       "float8_e4m3fn",
                       "int4", "<V2", "|S3", "<U2", "|O", "<M8[s]", "<f16"])  # fmt: skip
    shape = tuple(rng.choice([0, 1, 2, 3, 5]) for _ in range(rng.randrange(4)))
    text = repr({"descr": kind, "fortran_order": rng.random() < 0.4, "shape": shape})
    for _ in range(rng.choice([0, 0, 1, 1, 2])):
        text = changed(rng, text)
    raw = text.encode("utf-8", "replace")
    raw += b" " * rng.choice([0, 7, 64]) + rng.choice([b"\n", b"", b"\n\n"])
    version = rng.choice([1, 1, 1, 2, 3, 0, 4])
    width = 2 if version == 1 else 4
    length = len(raw) + rng.choice([0] * 9 + [-1, 1, 1000])
    count = int(np.prod(shape, dtype=int)) * 16
    data = bytes(rng.randrange(2) for _ in range(rng.choice([count, count, count // 2, 0])))
    return b"\x93NUMPY" + bytes([version, 0]) + max(0, length).to_bytes(width, "little") + raw + data


def loaded_from(source, mmap):
    """Load a source: {name: (dtype, shape, bytes)}, or the error."""
    try:
        loaded = dl.load(source, mmap=mmap)
    except (ValueError, TypeError) as error:
        return error
    loaded = {"": loaded} if isinstance(loaded, dl.Tensor) else loaded
    return {name: (str(t.dtype), t.shape, t.tobytes()) for name, t in loaded.items()}


class Seeks(io.BytesIO):
    """A file object that gives little at a time and tells nothing of itself."""

    def readinto(self, buffer):
        return super().readinto(memoryview(buffer)[:1000])


def read_ours(data, path):
    """What this package makes of a file: {name: (dtype, shape, bytes)}, or the text of its error."""
    with open(path, "wb") as file:
        file.write(data)
    made = loaded_from(path, False)
    with open(path, "rb") as file:
        others = [loaded_from(path, True), loaded_from(data, "auto"), loaded_from(bytearray(data), False),
                  loaded_from(Seeks(data), "auto"), loaded_from(file, "auto")]  # fmt: skip
    for other in others:
        if "takes more than 2^63 - 1 bytes" in f"{made} {other}":
            continue  # a shape with a 0 whose other sizes multiply to more: a view can have it, new memory cannot
        same = type(made) is type(other) if isinstance(made, Exception) else made == other
        assert same, f"sources differ: {made} and {other}"
    return str(made) if isinstance(made, Exception) else made


# -- closes beside reads ----------------------------------------------------------------------------------------------


class Numbered:
    """Files whose elements are all the number of the file, in every format."""

    FORMATS = ("npy", "npz", "safetensors", "compressed npz")
    SIZE = 50_000

    def __init__(self, folder):
        self.paths = []
        for number in range(12):
            form, x = self.FORMATS[number % 4], np.full(self.SIZE, number, "i4")
            path = os.path.join(folder, f"{number}")
            if form == "compressed npz":
                with open(path, "wb") as file:
                    np.savez_compressed(file, x=x)
            else:
                dl.save(path, x if form == "npy" else {"x": x}, format=form)
            self.paths.append(path)


def read_until_closed(f, number, call, found):
    """Read from an open file until it is closed; append what is wrong."""
    name = f.names[0]
    while True:
        try:
            t = (
                f.read(name)
                if call == 0
                else f[name]
                if call == 1
                else f.read(name, out=dl.empty(Numbered.SIZE, dtype="int32"))
            )
            if t.tobytes() != np.full(Numbered.SIZE, number, "i4").tobytes():
                found.append(f"file {number} gave elements of others: {np.unique(np.asarray(t))[:4].tolist()}")
                return
        except ValueError as error:
            if "the file is closed" not in str(error):
                found.append(f"file {number}: {error}")
            return
        except Exception as error:
            found.append(f"file {number}: {type(error).__name__}: {error}")
            return


def run_closes(rounds, seed):
    """Close files beside reads of other threads; returns what was found, and how many files were closed."""
    found, interval = [], sys.getswitchinterval()
    with tempfile.TemporaryDirectory() as folder:
        files, rng = Numbered(folder), random.Random(seed)
        sys.setswitchinterval(1e-6)
        try:
            for _ in range(rounds):
                number = rng.randrange(len(files.paths))
                f = dl.open_file(files.paths[number], mmap=rng.choice([False, False, False, "auto"]))
                threads = [
                    threading.Thread(target=read_until_closed, args=(f, number, rng.randrange(3), found))
                    for _ in range(3)
                ]
                for thread in threads:
                    thread.start()
                time.sleep(rng.random() * 2e-3)
                try:
                    f.close()
                except BufferError:  # a thread has a view now
                    f.__exit__(None, None, None)
                others = [
                    os.open(path, os.O_RDONLY) for path in files.paths
                ]  # which take the descriptor, if it is free
                for thread in threads:
                    thread.join()
                for file in others:
                    os.close(file)
        finally:
            sys.setswitchinterval(interval)
    return found, rounds


def has_key_twice(data):
    """Test whether an object in the header of a .safetensors file has a key twice: a tensor, a field or metadata."""
    twice = []

    def pairs(items):
        twice.append(len(dict(items)) < len(items))
        return dict(items)

    json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")], object_pairs_hook=pairs)
    return any(twice)


def read_safetensors(data, path):
    """What safetensors' own reader makes of it."""
    import safetensors

    try:
        found = safetensors.deserialize(data)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    if has_key_twice(data):
        return "a key is there twice, which the format forbids and their reader does not check: it takes the last one"
    return {name: (SAFETENSORS[one["dtype"]], tuple(one["shape"]), bytes(one["data"])) for name, one in found}


def read_numpy(data, path):
    """What NumPy makes of it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            array = np.load(io.BytesIO(data), allow_pickle=False)
        if not isinstance(array, np.ndarray):
            return "no array"
        native = array.astype(array.dtype.newbyteorder("="))  # of text without letters, one letter each
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return {"": (str(native.dtype), array.shape, native.tobytes())}


def difference(ours, theirs, stricter, wider=None):
    """What differs between two readings, as text; None where they agree, or the difference is in a list."""
    if isinstance(ours, str) and isinstance(theirs, str):
        return None
    if isinstance(ours, str):
        return None if any(re.search(pattern, ours) for pattern in stricter) else f"only we refuse: {ours}"
    if isinstance(theirs, str):
        return None if wider and re.search(wider, theirs, re.S) else f"only they refuse: {theirs[:300]}"
    return None if ours == theirs else f"different tensors: {str(ours)[:300]} and {str(theirs)[:300]}"


def run(cases, seed, make, ours, theirs, stricter, wider=None, seconds=None):
    """Compare two readers on files made by chance; returns what was found, and how many files both accepted."""
    found, accepted, end = [], 0, None if seconds is None else time.monotonic() + seconds
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "a")
        number = 0
        while number < cases if end is None else time.monotonic() < end:
            data = make(random.Random(f"{seed} {number}"))
            here, there = ours(data, path), theirs(data, path)
            accepted += not isinstance(here, str) and not isinstance(there, str)
            text = difference(here, there, stricter, wider)
            if text is not None:
                found.append(f"case {number} of seed {seed}: {text}\n  {data[:400]!r}")
            number += 1
    return found, accepted, number


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=20_000, help="files of each format")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, help="how long for each format, instead of a number of files")
    parser.add_argument("--checkpoints", type=int, default=800, help="quantised checkpoints that are converted")
    parser.add_argument("--megabytes", type=int, default=48, help="of weights whose conversion is measured; 0: none")
    parser.add_argument("--closes", type=int, default=300, help="files that are closed beside reads")
    options = parser.parse_args()
    status = 0
    for title, make, theirs, stricter, wider in (
        (".safetensors", hostile_safetensors, read_safetensors, STRICTER, None),
        (".npy", hostile_npy, read_numpy, NPY_STRICTER, NPY_WIDER),
    ):
        found, accepted, number = run(
            options.cases, options.seed, make, read_ours, theirs, stricter, wider, options.seconds
        )
        print(f"{title}: {number} files, {accepted} accepted by both, {len(found)} differences that are in no list")
        for text in found[:20]:
            print(text)
        status |= bool(found) or accepted < number // 20
    found, counts = checkpoints.run(options.checkpoints, options.seed)
    number = sum(counts.values())
    if options.megabytes:
        found += checkpoints.run_memory(options.megabytes, 4, options.seed)
    words = ", ".join(f"{count} {what}" for what, count in sorted(counts.items()))
    print(f"checkpoints: {number} files ({words}), {len(found)} findings")
    for text in found[:20]:
        print(text)
    status |= bool(found) or len(counts) < len(checkpoints.DEFECTS)
    found, number = run_closes(options.closes, options.seed)
    print(f"closes: {number} files closed beside reads, {len(found)} findings")
    for text in found[:20]:
        print(text)
    return status | bool(found)


if __name__ == "__main__":
    sys.exit(main())
