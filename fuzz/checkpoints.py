# SPDX-License-Identifier: Apache-2.0
"""Quantised checkpoints made by chance, sound and hostile, and what NumPy with ml_dtypes makes of them, for files.py.

A sound file has one or two weights of a layout; `dltensor convert --dtype float32` must give the bits of the reference.
A hostile one has a defect that is known: it must be refused, and the message must name the tensor and the value. Others
are changed in any way: they are converted or refused, nothing else, and a file that is refused leaves nothing behind.
"""

import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile
from typing import NamedTuple

import ml_dtypes
import numpy as np

import dltensor as dl
from dltensor._cli.main import main as command

E4, E2, E8 = ml_dtypes.float8_e4m3fn, ml_dtypes.float4_e2m1fn, ml_dtypes.float8_e8m0fnu


class Weight(NamedTuple):
    """Tensors of a weight by name, the role of each, the name and the numbers that it stands for."""

    layout: str
    named: dict
    roles: dict
    name: str
    numbers: np.ndarray


# -- sound weights ----------------------------------------------------------------------------------------------------


def codes(rng, *shape):
    return rng.integers(0, 256, shape, dtype=np.uint8)


def words(rng, *shape):
    return rng.integers(-(2**31), 2**31, shape, dtype=np.int64).astype(np.int32)


def factors(rng, *shape, dtype=np.float32):
    return (rng.random(shape, dtype=np.float32) + 0.5).astype(dtype)


def fp8(rng, *shape):
    found = codes(rng, *shape)
    found[(found & 127) == 127] = 0x80
    return found.view(E4)


def wide(x):
    return x.astype(np.float32)


def halves(b):
    """Codes of 4 bits, the low half of a byte first."""
    return np.stack([b & 15, b >> 4], -1).reshape(*b.shape[:-1], -1)


def eighths(w):
    """Codes of 4 bits of words, the lowest first."""
    return ((w[..., None].view(np.uint32) >> (4 * np.arange(8, dtype=np.uint32))) & 15).astype(np.int32)


def blocks_of_128(rng, p, n, k):
    v, s = fp8(rng, n, k), factors(rng, -(-n // 128), -(-k // 128))
    exact = wide(v) * np.repeat(np.repeat(s, 128, 0)[:n], 128, 1)[:, :k]
    return "fp8 128 x 128", {f"{p}.weight": (v, "values"), f"{p}.weight_scale_inv": (s, "scale")}, exact


def scale_weight(rng, p, n, k):
    v, s = fp8(rng, n, k), factors(rng, *[(), (1,)][rng.integers(2)])
    return "fp8 scale_weight", {f"{p}.weight": (v, "values"), f"{p}.scale_weight": (s, "scale")}, wide(v) * s


def scaled(rng, p, n, k):
    shape = [(), (n, 1), (1, k // 32), (n, k // 32)][rng.integers(4)]
    v = fp8(rng, n, k) if rng.integers(2) else codes(rng, n, k).view(np.int8)
    s = factors(rng, *shape, dtype=[np.float32, np.float16, ml_dtypes.bfloat16][rng.integers(3)])
    blocks = np.broadcast_to(wide(s), (1,) * (2 - s.ndim) + s.shape)
    exact = wide(v) * np.repeat(np.repeat(blocks, n // blocks.shape[0], 0), k // blocks.shape[1], 1)
    return "scaled", {f"{p}.weight": (v, "values"), f"{p}.weight_scale": (s, "scale")}, exact


def nvfp4(rng, p, n, k, is_divisor):
    v, s = codes(rng, n, k // 2), (codes(rng, n, k // 16) & 0x77).view(E4)
    second = np.float32(rng.uniform(2, 900) if is_divisor else rng.uniform(1e-4, 0.9))
    exact = wide(halves(v).view(E2)) * np.repeat(wide(s), 16, 1)
    if not is_divisor:
        named = {f"{p}.weight": (v, "values"), f"{p}.weight_scale": (s, "scale")}
        return "nvfp4 factor", {**named, f"{p}.weight_scale_2": (np.array(second), "second")}, exact * second
    named = {f"{p}.weight_packed": (v, "values"), f"{p}.weight_scale": (s, "scale")}
    named[f"{p}.weight_global_scale"] = (np.array([second]), "second")
    return "nvfp4 divisor", named, exact * (np.float32(1) / second)


def nvfp4_factor(rng, p, n, k):
    return nvfp4(rng, p, n, k, False)


def nvfp4_divisor(rng, p, n, k):
    return nvfp4(rng, p, n, k, True)


def mx_blocks(rng, p, n, k):
    v, s = codes(rng, n, k // 32, 16), (codes(rng, n, k // 32) & 15) + np.uint8(120)
    exact = (wide(halves(v).view(E2)) * wide(s.view(E8))[..., None]).reshape(n, k)
    return "mxfp4 blocks", {f"{p}_blocks": (v, "values"), f"{p}_scales": (s, "scale")}, exact


def int4(rng, p, n, k):
    v, s = words(rng, n, k // 8), factors(rng, n, k // 64, dtype=ml_dtypes.bfloat16)
    exact = wide(eighths(v).reshape(n, k) - 8) * np.repeat(wide(s), 64, 1)
    named = {f"{p}.weight_packed": (v, "values"), f"{p}.weight_scale": (s, "scale")}
    return "int4 in int32", {**named, f"{p}.weight_shape": (np.array([n, k]), "extents")}, exact


def gptq(rng, p, n, k):
    v, z, s = words(rng, k // 8, n), words(rng, k // 64, n // 8), factors(rng, k // 64, n, dtype=np.float16)
    found = eighths(v).transpose(0, 2, 1).reshape(k, n)
    points = np.repeat(eighths(z).reshape(k // 64, n) + 1, 64, 0)
    named = {f"{p}.qweight": (v, "values"), f"{p}.qzeros": (z, "zeros"), f"{p}.scales": (s, "scale")}
    if rng.integers(2):
        named[f"{p}.g_idx"] = ((np.arange(k) // 64).astype(np.int32), "order")
    return "GPTQ", named, (wide(found - points) * np.repeat(wide(s), 64, 0)).T


def awq(rng, p, n, k):
    order = [0, 4, 1, 5, 2, 6, 3, 7]
    v, z, s = words(rng, k, n // 8), words(rng, k // 64, n // 8), factors(rng, k // 64, n, dtype=np.float16)
    found, points = eighths(v)[..., order].reshape(k, n), eighths(z)[..., order].reshape(k // 64, n)
    named = {f"{p}.qweight": (v, "values"), f"{p}.qzeros": (z, "zeros"), f"{p}.scales": (s, "scale")}
    return "AWQ", named, (wide(found - np.repeat(points, 64, 0)) * np.repeat(wide(s), 64, 0)).T


def nf4(rng, p, n, k):
    v, s = codes(rng, n * k // 2, 1), factors(rng, n * k // 64)
    table = np.sort(rng.uniform(-1, 1, 16)).astype(np.float32)
    state = np.frombuffer(json.dumps({"shape": [n, k], "blocksize": 64}).encode(), np.uint8)
    b = v.ravel()
    exact = (table[np.stack([b >> 4, b & 15], -1).reshape(-1, 64)] * s[:, None]).reshape(n, k)
    named = {
        f"{p}.weight": (v, "values"),
        f"{p}.weight.absmax": (s, "scale"),
        f"{p}.weight.quant_map": (table, "table"),
    }
    return "nf4", {**named, f"{p}.weight.quant_state.bitsandbytes__nf4": (state, "state")}, exact


MAKERS = (blocks_of_128, scale_weight, scaled, nvfp4_factor, nvfp4_divisor, mx_blocks, int4, gptq, awq, nf4)


def weight(rng, maker=None, prefix="m", n=None, k=None):
    """A sound weight of a layout."""
    maker = MAKERS[rng.integers(len(MAKERS))] if maker is None else maker
    n, k = n or int(rng.choice([8, 16, 40, 200])), k or int(rng.choice([64, 128, 320, 384]))
    layout, parts, numbers = maker(rng, prefix, n, k)
    name = prefix if layout == "mxfp4 blocks" else f"{prefix}.weight"
    named = {key: np.ascontiguousarray(x) for key, (x, _) in parts.items()}
    return Weight(layout, named, {role: key for key, (_, role) in parts.items()}, name, np.ascontiguousarray(numbers))


# -- known defects ----------------------------------------------------------------------------------------------------
# Each takes a weight, whose tensors it changes, and returns the name and the value that the message must have; None
# where it does not apply.


def without_scale(rng, w):
    """The scale is missing; floats of 8 bits say so by their dtype, other codes are plain integers without it."""
    if w.named[w.roles["values"]].dtype != E4:
        return None
    del w.named[w.roles["scale"]]
    return w.roles["values"], "no scale"


def scale_of_another_shape(rng, w):
    key = w.roles["scale"]
    s = w.named[key]
    if s.size < 2 and w.layout != "nf4":
        return None
    if w.layout == "nf4":
        w.named[key] = np.concatenate([s, s[:1]])
    else:  # more rows than the values have
        w.named[key] = np.resize(s.reshape(-1), (w.named[w.roles["values"]].shape[0] + 1, 1))
    shape = w.named[key].shape
    return w.roles["values"], str(int(shape[0])) if w.layout == "nf4" else str(shape[0])


def nan_in_scale(rng, w):
    key = w.roles["scale"]
    s = w.named[key].copy()
    at = int(rng.integers(s.size))
    if s.dtype == np.uint8:
        s.reshape(-1)[at] = 255
    else:
        s.reshape(-1)[at] = np.nan
    w.named[key] = s
    return key, f"element {at} is nan"


def negative_scale(rng, w):
    key = w.roles["scale"]
    s = w.named[key].copy()
    if s.dtype == np.uint8:
        return None
    at = int(rng.integers(s.size))
    s.reshape(-1)[at] = -2
    w.named[key] = s
    return key, f"element {at} is -2.0"


def divisor_for_factor(rng, w):
    if "second" not in w.roles:
        return None
    key = w.roles["second"]
    w.named[key] = (np.float32(1) / w.named[key]).astype(np.float32)
    return key, f"{float(w.named[key].reshape(-1)[0]):g}"


def second_of_another_shape(rng, w):
    if "second" not in w.roles:
        return None
    key = w.roles["second"]
    w.named[key] = np.repeat(w.named[key].reshape(1), 3)
    return w.roles["values"], "(3,)"


def nan_second(rng, w):
    if "second" not in w.roles:
        return None
    key = w.roles["second"]
    w.named[key] = np.full_like(w.named[key], [np.nan, np.inf, 0, -1][rng.integers(4)])
    return key, f"{float(w.named[key].reshape(-1)[0]):g}"


def zeros_of_another_shape(rng, w):
    if "zeros" not in w.roles:
        return None
    key = w.roles["zeros"]
    w.named[key] = np.concatenate([w.named[key]] * 2)
    return w.roles["values"], str(w.named[key].shape)


def permuted_groups(rng, w):
    if "order" not in w.roles:
        return None
    key = w.roles["order"]
    if len(set(w.named[key].tolist())) < 2:
        return None
    w.named[key] = w.named[key][::-1].copy()
    return w.name, "g_idx permutes"


def short_table(rng, w):
    if "table" not in w.roles:
        return None
    w.named[w.roles["table"]] = w.named[w.roles["table"]][:9]
    return w.roles["values"], "(9,)"


def state_of_another_shape(rng, w):
    if "state" not in w.roles:
        return None
    wrong = [{"shape": [3, 5]}, {"shape": [-1, 2]}, {"shape": "8"}, {"shape": [True]}, [1], {}][rng.integers(6)]
    w.named[w.roles["state"]] = np.frombuffer(json.dumps(wrong).encode(), np.uint8)
    return w.name, "quant_state"


DEFECTS = (without_scale, scale_of_another_shape, nan_in_scale, negative_scale, divisor_for_factor,
           second_of_another_shape, nan_second, zeros_of_another_shape, permuted_groups, short_table,
           state_of_another_shape)  # fmt: skip


def change_anything(rng, w):
    """Change a tensor of a weight in any way: dtype, shape, elements, name."""
    key = list(w.named)[rng.integers(len(w.named))]
    x = np.atleast_1d(w.named[key])
    kind = rng.integers(6 if x.size else 4)
    if kind == 0:
        w.named[key] = x.view(np.uint8)
    elif kind == 1:
        w.named[key] = x.reshape(-1)[: rng.integers(x.size + 1)]
    elif kind == 2:
        w.named[key] = x[None]
    elif kind == 3:
        w.named[key] = np.ascontiguousarray(x.T)
    elif kind == 4:
        w.named[f"{key}{['', '_scale', '_scale_2', '_blocks', '.absmax'][rng.integers(5)]}x"[: rng.integers(1, 40)]] = x
    else:
        x = x.copy()
        x.reshape(-1).view(np.uint8)[rng.integers(x.nbytes)] ^= np.uint8(1 << rng.integers(8))
        w.named[key] = x


# -- conversions ------------------------------------------------------------------------------------------------------


def converted(path, target, *options):
    """Run the command in this process; returns the exit status and what it printed to stderr, in one line."""
    errors = io.StringIO()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(errors):
        status = command(["convert", str(path), str(target), *options])
    return status, " ".join(errors.getvalue().split())


def save(path, named):
    dl.save(path, named, format="safetensors")


def overlapped(path):
    """Make the tensors of a file overlap; returns the name that the message must have, None where there are too few."""
    with open(path, "rb") as file:
        data = file.read()
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    entries = sorted((one["data_offsets"][0], name) for name, one in header.items() if one["data_offsets"][1])
    if len(entries) < 2:
        return None
    begin, name = entries[-1]
    header[name]["data_offsets"] = [begin - 1, header[name]["data_offsets"][1] - 1]
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text + data[8 + length : -1])
    return name


def problem_of_sound(folder, weights, convert=converted):
    """What is wrong with the conversion of a sound file, as text; None: nothing."""
    path, target = os.path.join(folder, "in.safetensors"), os.path.join(folder, "out.safetensors")
    other = np.arange(6, dtype=np.float32)
    save(path, {"norm": other, **{key: x for w in weights for key, x in w.named.items()}})
    status, errors = convert(path, target, "--dtype", "float32")
    if status != 0:
        return f"{[w.layout for w in weights]} is refused: {errors}"
    found = dl.load(target, mmap=False)
    if set(found) != {"norm", *(w.name for w in weights)}:
        return f"{[w.layout for w in weights]} has the tensors {sorted(found)}"
    for w in weights:
        got = found[w.name].numpy()
        if got.shape != w.numbers.shape or not np.array_equal(got.view(np.uint32), w.numbers.view(np.uint32)):
            return f"{w.layout} of shape {w.numbers.shape} gives other numbers, of shape {got.shape}"
    os.unlink(target)
    return None


def problem_of_hostile(folder, w, wanted, convert=converted):
    """What is wrong with the refusal of a file, as text; `wanted`: name and value, None: it may be converted."""
    path, target = os.path.join(folder, "in.safetensors"), os.path.join(folder, "out.safetensors")
    if w is not None:
        save(path, w.named)
    status, errors = convert(path, target, "--dtype", "float32")
    left = sorted(os.listdir(folder))
    if status == 0 and wanted is None:
        os.unlink(target)
        return None
    if status != 2:
        return f"status {status}, expected a refusal that names {wanted}"
    if left != ["in.safetensors"]:
        return f"a refused file leaves {left}"
    lacking = [text for text in wanted or () if text not in errors]
    return f"the message does not have {lacking}: {errors}" if lacking else None


def run(cases, seed, convert=converted):
    """Convert files made by chance; returns what was found, and how many of each kind there were."""
    found, counts = [], {}
    with tempfile.TemporaryDirectory() as folder:
        for number in range(cases):
            rng = np.random.default_rng([seed, number])
            kind = number % 4
            if kind == 0:
                weights = [weight(rng, prefix=p) for p in ("model.a", "model.b")[: rng.integers(1, 3)]]
                what, text = "sound", problem_of_sound(folder, weights, convert)
            elif kind == 1 and number % 16 == 1:
                save(os.path.join(folder, "in.safetensors"), weight(rng).named)
                name = overlapped(os.path.join(folder, "in.safetensors"))
                what, text = "overlapping", problem_of_hostile(folder, None, (name, "overlaps"), convert)
            elif kind in (1, 2):
                defect = DEFECTS[number // 4 % len(DEFECTS)]
                wanted = None
                while wanted is None:
                    w = weight(rng)
                    wanted = defect(rng, w)
                what = defect.__name__
                text = problem_of_hostile(folder, w, wanted, convert)
            else:
                w = weight(rng)
                for _ in range(rng.integers(1, 4)):
                    change_anything(rng, w)
                what, text = "changed", problem_of_hostile(folder, w, None, convert)
            counts[what] = counts.get(what, 0) + 1
            if text is not None:
                found.append(f"checkpoint {number} of seed {seed}, {what}: {text}")
                for name in os.listdir(folder):
                    os.unlink(os.path.join(folder, name))
    return found, counts


# -- memory -----------------------------------------------------------------------------------------------------------
MEASURED = """
import sys
from dltensor._cli.main import main
import dltensor._cli.convert, dltensor._ops.quantization

def most():  # ru_maxrss would have that of the parent, from before exec
    return int(open("/proc/self/status").read().partition("VmHWM:")[2].split()[0])

before = most()
status = main(["convert", *sys.argv[1:]])
print(status, most() - before)
"""


def measured(*arguments):
    """The exit status of a conversion in a process of its own, and by how many bytes its memory grew."""
    command = [sys.executable, "-c", MEASURED, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    status, kilobytes = done.stdout.split()[-2:]
    return int(status), int(kilobytes) * 1024


def run_memory(megabytes, count, seed, allowance=64 << 20):
    """Convert files of several large weights of each layout, and one of 100,000 tensors; returns what was found."""
    found, rng = [], np.random.default_rng(seed)
    with tempfile.TemporaryDirectory() as folder:
        path, target = os.path.join(folder, "in.safetensors"), os.path.join(folder, "out.safetensors")
        for maker in MAKERS:
            n, k = 1024, megabytes * 256
            one = weight(rng, maker, "m", n, k)
            save(path, {f"{number}{key}": x for number in range(count) for key, x in one.named.items()})
            status, grown = measured(path, target, "--dtype", "float32")
            if status != 0 or grown > one.numbers.nbytes + allowance:
                found.append(f"{one.layout}: status {status}, {grown >> 20} MB for weights of {megabytes} MB")
        x = rng.standard_normal((1024, megabytes * 256)).astype(np.float32)
        save(path, {f"l{number}.weight": x for number in range(count)})
        for options in (["mxfp4"], ["nvfp4"], ["int8"], ["mxfp8", "--errors"]):
            status, grown = measured(path, target, "--format", *options)
            if status != 0 or grown > x.nbytes + allowance:
                found.append(f"{options}: status {status}, {grown >> 20} MB for weights of {megabytes} MB")
        header = {f"l{i}.weight": {"dtype": "U8", "shape": [1], "data_offsets": [i, i + 1]} for i in range(100_000)}
        text = json.dumps(header).encode()
        with open(path, "wb") as file:
            file.write(len(text).to_bytes(8, "little") + text + bytes(100_000))
        status, grown = measured(path, target, "--dtype", "float32")
        if status != 0 or grown > len(text) + allowance:
            found.append(f"100,000 tensors: status {status}, {grown >> 20} MB for a header of {len(text) >> 20} MB")
    return found
