# SPDX-License-Identifier: Apache-2.0
"""Layouts of quantised checkpoints, each against NumPy and ml_dtypes; `dltensor convert`, and files that it refuses."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import dltensor as dl
from dltensor._cli.main import main
from dltensor._tools.checkpoints import LAYOUTS, LayoutError, find_groups

sys.path.insert(0, str(Path(__file__).parent.parent / "fuzz"))
import checkpoints

N, K = 256, 384
E4, E2, E8 = ml_dtypes.float8_e4m3fn, ml_dtypes.float4_e2m1fn, ml_dtypes.float8_e8m0fnu
rng = np.random.default_rng(7)


def integers(*shape, dtype=np.uint8):
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    return rng.integers(low, high, shape, dtype=dtype, endpoint=True)


def scales(*shape, dtype=np.float32):
    return (rng.random(shape, dtype=np.float32) + 0.5).astype(dtype)


def fp8(*shape):
    codes = integers(*shape)
    codes[(codes & 127) == 127] = 1
    return codes.view(E4)


def halves(b):
    return np.stack([b & 15, b >> 4], -1).reshape(*b.shape[:-1], -1)


def eighths(w):
    return ((w[..., None].view(np.uint32) >> (4 * np.arange(8, dtype=np.uint32))) & 15).astype(np.int32)


def spread(s, rows, columns):
    return np.repeat(np.repeat(s, rows, 0), columns, 1)


def f32(x):
    return x.astype(np.float32)


def blocks_of_128(rows):
    v, s = fp8(rows, K), scales(-(-rows // 128), K // 128)
    return {"m.weight": v, "m.weight_scale_inv": s}, f32(v) * spread(s, 128, 128)[:rows], "fp8 128 x 128"


def per_tensor():
    v, s = fp8(N, K), scales(1)
    return {"m.weight": v, "m.scale_weight": s}, f32(v) * s, "fp8 scale_weight"


def per_channel(v):
    s = scales(N, 1)
    return {"m.weight": v, "m.weight_scale": s}, f32(v) * s, "scaled"


def nvfp4(is_divisor):
    codes, s, second = (
        integers(N, K // 2),
        (integers(N, K // 16) & 0x77).view(E4),
        np.float32(37.5 if is_divisor else 0.013),
    )
    exact = f32(halves(codes).view(E2)) * np.repeat(f32(s), 16, 1)
    if is_divisor:
        named = {"m.weight_packed": codes, "m.weight_scale": s, "m.weight_global_scale": np.array([second])}
        return named, exact * (np.float32(1) / second), "nvfp4 divisor"
    return (
        {"m.weight": codes, "m.weight_scale": s, "m.weight_scale_2": np.array(second)},
        exact * second,
        "nvfp4 factor",
    )


def mxfp4():
    codes, s = integers(4, K // 32, 16), (integers(4, K // 32) & 15) + np.uint8(120)
    exact = f32(halves(codes).view(E2)) * f32(s.view(E8))[..., None]
    return {"m_blocks": codes, "m_scales": s}, exact.reshape(4, K), "mxfp4 blocks"


def int4():
    words, s = integers(N, K // 8, dtype=np.int32), scales(N, K // 128, dtype=ml_dtypes.bfloat16)
    exact = f32(eighths(words).reshape(N, K) - 8) * np.repeat(f32(s), 128, 1)
    return {"m.weight_packed": words, "m.weight_scale": s, "m.weight_shape": np.array([N, K])}, exact, "int4 in int32"


def gptq():
    words, zeros, s = (
        integers(K // 8, N, dtype=np.int32),
        integers(K // 128, N // 8, dtype=np.int32),
        scales(K // 128, N, dtype=np.float16),
    )
    codes = eighths(words).transpose(0, 2, 1).reshape(K, N)
    exact = f32(codes - np.repeat(eighths(zeros).reshape(K // 128, N) + 1, 128, 0)) * np.repeat(f32(s), 128, 0)
    order = (np.arange(K) // 128).astype(np.int32)
    return {"m.qweight": words, "m.qzeros": zeros, "m.scales": s, "m.g_idx": order}, exact.T, "GPTQ"


def awq():
    words, zeros, s = (
        integers(K, N // 8, dtype=np.int32),
        integers(K // 128, N // 8, dtype=np.int32),
        scales(K // 128, N, dtype=np.float16),
    )
    order = [0, 4, 1, 5, 2, 6, 3, 7]
    codes, points = eighths(words)[..., order].reshape(K, N), eighths(zeros)[..., order].reshape(K // 128, N)
    exact = f32(codes - np.repeat(points, 128, 0)) * np.repeat(f32(s), 128, 0)
    return {"m.qweight": words, "m.qzeros": zeros, "m.scales": s}, exact.T, "AWQ"


def nf4():
    codes, absmax, table = integers(N * K // 2, 1), scales(N * K // 64), np.linspace(-1, 1, 16).astype(np.float32)
    state = np.frombuffer(json.dumps({"shape": [N, K], "blocksize": 64}).encode(), np.uint8)
    b = codes.ravel()
    exact = table[np.stack([b >> 4, b & 15], -1).reshape(-1, 64)] * absmax[:, None]
    named = {
        "m.weight": codes,
        "m.weight.absmax": absmax,
        "m.weight.quant_map": table,
        "m.weight.quant_state.bitsandbytes__nf4": state,
    }
    return named, exact.reshape(N, K), "nf4"


FILES = {
    "fp8 in blocks": lambda: blocks_of_128(N),
    "fp8 in cut blocks": lambda: blocks_of_128(200),
    "fp8 per tensor": per_tensor,
    "fp8 per channel": lambda: per_channel(fp8(N, K)),
    "int8 per channel": lambda: per_channel(integers(N, K, dtype=np.int8)),
    "nvfp4 with a factor": lambda: nvfp4(False),
    "nvfp4 with a divisor": lambda: nvfp4(True),
    "mxfp4": mxfp4,
    "int4 in int32": int4,
    "GPTQ": gptq,
    "AWQ": awq,
    "nf4": nf4,
}


def saved(tmp_path, named, name="in.safetensors"):
    path = tmp_path / name
    dl.save(path, {k: np.ascontiguousarray(v) for k, v in named.items()})
    return path


def same_bits(t, want):
    got = t.numpy()
    return got.shape == want.shape and np.array_equal(got.view(np.uint32), np.ascontiguousarray(want).view(np.uint32))


@pytest.mark.parametrize("name", FILES)
def test_layouts(name, tmp_path, capsys):
    named, want, layout = FILES[name]()
    path = saved(tmp_path, {"norm": np.ones(4, np.float32), **named})
    with dl.open_file(path) as f:
        (group,) = find_groups(f)
        assert group.layout == layout
        assert group.shape == want.shape
        assert same_bits(group.dequantize(f.read, "float32"), want)
    out = tmp_path / "out.safetensors"
    assert main(["convert", str(path), str(out), "--dtype", "float32"]) == 0
    assert layout in capsys.readouterr().out
    found = dl.load(out)
    assert set(found) == {"norm", group.name}
    assert same_bits(found[group.name], want)
    assert main(["convert", str(path), str(out), "--dtype", "bfloat16"]) == 0
    wide = dl.asarray(np.ascontiguousarray(want))
    assert dl.load(out)[group.name].tobytes() == dl.astype(wide, "bfloat16").tobytes()
    capsys.readouterr()
    assert main(["inspect", str(path)]) == 0
    assert f"{layout}, 1 weight;" in capsys.readouterr().out


def test_every_layout_has_a_file():
    assert {FILES[name]()[2] for name in FILES} == {layout.name for layout in LAYOUTS}


def test_blocks_of_gguf():
    raw = integers(64, 34)
    raw[:, :2] = np.full((64, 1), 1.25, np.float16).view(np.uint8)
    t = dl.asarray(raw)
    got = dl.dequantize(dl.copy(t[:, 2:]).view("int8"), dl.copy(t[:, :2]).view("float16"))
    assert same_bits(got, f32(raw[:, 2:].view(np.int8)) * f32(raw[:, :2].copy().view(np.float16)))


@pytest.mark.parametrize("form", ["mxfp4", "mxfp8", "mxfp8_e5m2", "mxfp6_e2m3", "nvfp4", "int8", "float8_e4m3fn"])
def test_weights_are_quantised_and_come_back(form, tmp_path, capsys):
    x = rng.standard_normal((N, K)).astype(np.float32)
    embed = rng.standard_normal((8, 32)).astype(ml_dtypes.bfloat16)
    path = saved(
        tmp_path, {"a.weight": x, "norm": np.ones(32, np.float32), "odd": np.ones((2, 7), np.float32), "embed": embed}
    )
    out, back = tmp_path / "out.safetensors", tmp_path / "back.safetensors"
    assert main(["convert", str(path), str(out), "--format", form, "--keep", "emb*", "--errors"]) == 0
    assert "decibels" in capsys.readouterr().out
    found = dl.load(out)
    q = dl.quantize(x, form, block=(1, -1) if form in ("int8", "float8_e4m3fn") else None)
    assert found["a.weight"].tobytes() == q.values.tobytes()
    assert found["a.weight_scale"].tobytes() == q.scale.tobytes()
    assert found["embed"].tobytes() == embed.tobytes()
    if form not in ("int8", "float8_e4m3fn"):
        assert found["odd"].tolist() == [[1.0] * 7] * 2
    assert main(["convert", str(out), str(back), "--dtype", "float32"]) == 0
    assert same_bits(dl.load(back)["a.weight"], dl.dequantize(*q).numpy())
    assert dl.load(back)["norm"].tolist() == [1.0] * 32


def test_commands_of_the_page_in_an_empty_folder(tmp_path):
    page = (Path(__file__).parent.parent / "docs" / "quantised-files.md").read_text()
    commands, printed = re.search(r"```sh\n(.*?)```\n```text\n(.*?)```", page, re.S).groups()
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(["sh", "-e", "-c", commands], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == printed


def refused(tmp_path, named, capsys):
    path, out = saved(tmp_path, named), tmp_path / "out.safetensors"
    assert main(["convert", str(path), str(out), "--dtype", "float32"]) == 2
    assert not out.exists()
    assert os.listdir(tmp_path) == ["in.safetensors"]
    return " ".join(capsys.readouterr().err.split())


def changed(name, **changes):
    named = FILES[name]()[0]
    for key, value in changes.items():
        full = next(k for k in named if k.endswith(key))
        if value is None:
            del named[full]
        else:
            named[full] = value(named[full])
    return named


def with_nan(s):
    s = s.copy()
    s.reshape(-1)[5] = np.nan
    return s


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (
            lambda: changed("fp8 in blocks", weight_scale_inv=None),
            "'m.weight': elements are float8_e4m3fn, and no scale",
        ),
        (
            lambda: changed("fp8 in blocks", weight_scale_inv=lambda s: s[:1]),
            "the scale has shape (1, 3), blocks of 128",
        ),
        (lambda: changed("fp8 in blocks", weight_scale_inv=with_nan), "'m.weight_scale_inv': element 5 is nan"),
        (lambda: changed("int8 per channel", weight_scale=lambda s: s[:7]), "shape (7, 1), which does not divide"),
        (
            lambda: changed("nvfp4 with a factor", weight_scale_2=lambda s: 1 / s),
            "the value 76.9231 looks like a divisor",
        ),
        (
            lambda: changed("nvfp4 with a divisor", global_scale=lambda s: 1 / s),
            "the value 0.0266667 looks like a factor",
        ),
        (lambda: changed("mxfp4", m_scales=lambda s: s[:, :3]), "blocks have shape (4, 12, 16), scales (4, 3)"),
        (lambda: changed("GPTQ", g_idx=lambda g: g[::-1]), "g_idx permutes the groups"),
        (lambda: changed("GPTQ", qzeros=lambda z: z[:1]), "qzeros has shape (1, 32), expected (3, 32)"),
        (lambda: changed("GPTQ", scales=lambda s: s[:, :24]), "neither GPTQ nor AWQ"),
        (
            lambda: changed("nf4", absmax=lambda s: (s * 100).astype(np.uint8)),
            "nested quantization of scales is not read",
        ),
        (lambda: changed("nf4", quant_map=lambda t: t[:8]), "quant_map has shape (8,), expected (16,)"),
        (lambda: changed("nf4", nf4=lambda s: s[:4]), "quant_state is no JSON object with a shape"),
        (
            lambda: {"m.weight": FILES["GPTQ"]()[0]["m.qweight"], **FILES["GPTQ"]()[0]},
            "two tensors would have the name",
        ),
    ],
)
def test_files_that_do_not_fit_are_refused(make, text, tmp_path, capsys):
    assert text in refused(tmp_path, make(), capsys)


def test_inspect_says_that_a_layout_is_unclear(tmp_path, capsys):
    path = saved(tmp_path, changed("fp8 in blocks", weight_scale_inv=None))
    assert main(["inspect", str(path)]) == 0
    assert "unclear: 'm.weight': elements are float8_e4m3fn" in " ".join(capsys.readouterr().out.split())
    assert main(["inspect", "--json", str(path)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["layouts"] == []
    assert "no scale is there" in found["layouts_problem"]


def test_other_files_are_refused(tmp_path, capsys):
    dl.save(tmp_path / "a.npy", dl.ones(2))
    assert main(["convert", str(tmp_path / "a.npy"), str(tmp_path / "b"), "--dtype", "float32"]) == 2
    assert "is a .npy file, expected .safetensors" in capsys.readouterr().err
    assert main(["convert", str(tmp_path / "no"), str(tmp_path / "b"), "--dtype", "float32"]) == 2
    assert capsys.readouterr().err == f"dltensor convert: {tmp_path / 'no'}: No such file or directory\n"
    header = (
        b'{"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"v":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}}'
    )
    (tmp_path / "o.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + bytes(12))
    assert main(["convert", str(tmp_path / "o.safetensors"), str(tmp_path / "b"), "--dtype", "float32"]) == 2
    assert "convert" in capsys.readouterr().err
    assert not (tmp_path / "b").exists()


def test_a_file_may_replace_itself(tmp_path):
    named, want, _ = mxfp4()
    path = saved(tmp_path, named)
    assert main(["convert", str(path), str(path), "--dtype", "float32"]) == 0
    assert same_bits(dl.load(path)["m"], want)


def test_a_hundred_thousand_tensors(tmp_path):
    header = {f"l{i}.weight": {"dtype": "U8", "shape": [1], "data_offsets": [i, i + 1]} for i in range(100_000)}
    text = json.dumps(header).encode()
    path = tmp_path / "many.safetensors"
    path.write_bytes(len(text).to_bytes(8, "little") + text + bytes(100_000))
    with dl.open_file(path) as f:
        assert find_groups(f) == []


MEASURES_MEMORY = pytest.mark.skipif(
    sys.platform != "linux" or "DLTENSOR_SANITIZED" in os.environ,
    reason="the most memory of a process is read from /proc, and a sanitizer keeps freed memory for a while",
)


@MEASURES_MEMORY
def test_memory_is_bounded_by_the_largest_tensor(tmp_path):
    each = 24 << 20
    x = rng.standard_normal((1024, each // 4096)).astype(np.float32)
    path, q = saved(tmp_path, {f"l{i}.weight": x for i in range(12)}), tmp_path / "q.safetensors"
    for source, target, *how in [
        (path, q, "--format", "mxfp4", "--errors"),
        (q, tmp_path / "b.safetensors", "--dtype", "float32"),
    ]:
        status, grown = checkpoints.measured(source, target, *how)
        assert status == 0
        assert each // 4 < grown < each + (64 << 20)  # the file has 288 MB


@MEASURES_MEMORY
def test_weights_of_16_bits_are_not_converted_as_a_whole(tmp_path):
    x = dl.ones((1024, 24 << 10), dtype="bfloat16")
    path = tmp_path / "in.safetensors"
    dl.save(path, {f"l{i}.weight": x for i in range(3)})
    for form in ("mxfp8", "int8"):
        status, grown = checkpoints.measured(path, tmp_path / "out.safetensors", "--format", form)
        assert status == 0
        assert x.nbytes < grown < x.nbytes + (64 << 20)
    status, grown = checkpoints.measured(path, tmp_path / "out.safetensors", "--format", "nvfp4")
    assert status == 0
    assert grown < 2 * x.nbytes + (64 << 20)  # as float32


def test_layout_errors_are_value_errors():
    assert issubclass(LayoutError, ValueError)
