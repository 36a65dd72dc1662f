# SPDX-License-Identifier: Apache-2.0
"""Files made by chance, read by this package and by another reader; every difference that is not in a list is printed.

The other reader is safetensors' own for .safetensors files (`pip install safetensors`) and NumPy for .npy files. Files
are made from sound ones by changes of their header's text, of numbers in it, and of single bytes. Where both accept a
file, names, types, shapes and elements must be equal.

Run: python fuzz/files.py [--cases 20000] [--seed 1] [--seconds 3600]
"""

import argparse
import io
import json
import os
import random
import re
import sys
import tempfile
import time
import warnings

import ml_dtypes
import numpy as np
from dltensor.io._safetensors_header import DTYPES as SAFETENSORS

import dltensor as dl

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


def read_ours(data, path):
    """What this package makes of a file: {name: (dtype, shape, bytes)}, or the text of its error."""
    with open(path, "wb") as file:
        file.write(data)
    try:
        loaded = dl.load(path, mmap=False)
        mapped = dl.load(path, mmap=True)
    except (ValueError, TypeError) as error:
        return str(error)
    if isinstance(loaded, dl.Tensor):
        loaded, mapped = {"": loaded}, {"": mapped}
    made = {name: (str(t.dtype), t.shape, t.tobytes()) for name, t in loaded.items()}
    again = {name: (str(t.dtype), t.shape, t.tobytes()) for name, t in mapped.items()}
    assert made == again, "mapped and read differ"
    return made


def has_key_twice(data):
    """Whether an object of the header of a sound .safetensors file has a key twice: a tensor, a field or metadata."""
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
    return status


if __name__ == "__main__":
    sys.exit(main())
