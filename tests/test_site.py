# SPDX-License-Identifier: Apache-2.0
"""The tools of the site: links are rewritten and checked, names have pages, fallen benchmark rows are named."""

import importlib.util
import json
import math
import subprocess
import sys
import types
from fractions import Fraction
from pathlib import Path

import pytest

import dltensor as dl

ROOT = Path(__file__).parent.parent


@pytest.fixture(autouse=True)
def tools_on_the_path(monkeypatch):
    """The tools are scripts that import their neighbours."""
    for folder in ("tools/website", "benchmarks"):
        monkeypatch.syspath_prepend(str(ROOT / folder))


def tool(name):
    return importlib.import_module(name)


def test_links_of_pages_lead_to_pages_and_files_of_the_site():
    stage, files = tool("stage"), set()
    names = stage.pages()
    text = "[a](../README.md#install) [`b`](../src/dltensor/native/ops/elementwise/ops.h) "
    text += "![c](conformance.svg) `[d](x.md)` [e](https://e)"
    made = stage.rewritten(text, "docs/why.md", names, files)
    assert made == (
        '[a](readme.md#install) <a href="repository/src/dltensor/native/ops/elementwise/ops.h.txt"><code>b</code></a> '
        "![c](conformance.svg) `[d](x.md)` [e](https://e)"
    )
    assert files == {"src/dltensor/native/ops/elementwise/ops.h", "docs/conformance.svg"}
    decision = {**names, "docs/decisions/0001-x.md": "decisions/0001-x.md"}
    assert stage.rewritten("[a](../why.md)", "docs/decisions/0001-x.md", decision,
                           files) == "[a](../why.md)"  # fmt: skip
    assert stage.rewritten("```\n[a](../README.md)\n```", "docs/why.md", names, files) == "```\n[a](../README.md)\n```"


def test_every_page_is_in_the_navigation_and_a_new_page_is_a_guide():
    stage = tool("stage")
    names = set(stage.pages().values()) | {"new.md"}
    text = stage.rewritten((ROOT / "docs" / "index.md").read_text(), "docs/index.md", stage.pages(), set())
    made, top = stage.sections(text, names)
    assert {"guides-by-task", "reference/index", "gallery/index", "project"} <= set(top.split())
    assert "\nnew\n" in made["guides-by-task.md"]
    listed = set(" ".join(made.values()).split()) | {"index"}
    assert [name for name in names if "/" not in name and name.removesuffix(".md") not in listed | {"readme"}] == []
    assert "README <readme>" in made["start.md"]


def test_words_that_people_search_for_are_index_entries_of_their_page():
    stage, first = tool("stage"), tool("browse").FIRST
    entries = {}
    for path in (ROOT / "docs").glob("*.md"):
        for words in stage.INDEX.findall(path.read_text()):
            entries |= dict.fromkeys(words.split(", "), path.stem)
    assert first.items() <= entries.items()


def test_a_comment_of_search_words_becomes_a_directive():
    stage = tool("stage")
    text = "# Masks\n<!-- index: boolean mask, nan -->\nText.\n"
    staged = stage.rewritten(text, "docs/indexing.md", stage.pages(), set())
    assert staged == "# Masks\n```{index} boolean mask, nan\n```\nText.\n"


def test_the_search_index_of_a_site_has_the_words_of_the_pages(tmp_path):
    pytest.importorskip("myst_parser", reason="myst_parser is not installed")
    pytest.importorskip("sphinx", reason="sphinx is not installed")
    stage, first = tool("stage"), tool("browse").FIRST
    (tmp_path / "conf.py").write_text('extensions = ["myst_parser"]\nroot_doc = "first-steps"\n')
    for name in set(first.values()):
        source = f"docs/{name}.md"
        (tmp_path / f"{name}.md").write_text(stage.rewritten((ROOT / source).read_text(), source, stage.pages(), set()))
    subprocess.run([sys.executable, "-m", "sphinx", "-Q", "-b", "html", tmp_path, tmp_path / "html"], check=True)
    script = (tmp_path / "html" / "searchindex.js").read_text()
    index = json.loads(script[script.index("{") : script.rindex("}") + 1])
    for word, name in first.items():
        assert [index["docnames"][place[0]] for place in index["indexentries"][word]] == [name]


def test_a_markdown_link_to_nowhere_is_found(tmp_path):
    links = tool("links")
    page = tmp_path / "a.md"
    page.write_text(
        "# A heading, of `code`\n[x](#a-heading-of-code) [y](b.md) [z](#nothing) [w](a.md#a-heading-of-code)\n"
    )
    found, broken = links.check_markdown([page], tmp_path)
    assert found == 4
    assert broken == ["a.md: b.md: no such file", "a.md: #nothing: no such heading"]
    found, broken = links.check_markdown(links.markdown_pages())
    assert found > 100
    assert broken == []


def test_a_link_of_the_built_site_to_nowhere_or_to_another_host_is_found(tmp_path):
    links = tool("links")
    (tmp_path / "a.html").write_text(
        '<link href="https://cdn.example/x.css"><p id="b"><a href="#b">1</a><a href="#c">2</a><a href="d.html">3</a>'
        '<a href="a.html?x#b">4</a><a href="https://example.org">5</a><img src="//cdn.example/p.png"></p>'
    )
    (tmp_path / "s.css").write_text("@font-face { src: url('https://fonts.example/f.woff2'), url(f.woff2) }")
    found, broken = links.check_site(tmp_path)
    assert found == 4
    assert broken == [
        "a.html: loads https://cdn.example/x.css",
        "a.html: loads //cdn.example/p.png",
        "a.html: #c: no such anchor",
        "a.html: d.html: no such file",
        "s.css: loads https://fonts.example/f.woff2",
    ]


def test_every_public_name_has_a_page(tmp_path):
    if importlib.util.find_spec("dask") is None or importlib.util.find_spec("mpi4py") is None:
        pytest.importorskip("sphinx", reason="sphinx, which stands in for dask and mpi4py, is not installed")
    reference = tool("reference")
    names = set(reference.write(tmp_path / "reference"))
    expected = {f"dltensor.{name}" for name in dl.__all__ if not isinstance(getattr(dl, name), types.ModuleType)}
    for name in dl.__all__:
        module = getattr(dl, name)
        if isinstance(module, types.ModuleType):
            expected |= {f"dltensor.{name}.{one}" for one in module.__all__}
    expected -= {f"dltensor.distributed.{one}" for one in dl.distributed.__all__}  # modules of their own
    assert len(expected) > 300
    assert expected - names == set()
    assert all((tmp_path / "reference" / f"{name}.rst").is_file() for name in names)
    groups = reference.groups()
    assert sum(map(len, groups.values())) == len([name for name in names if name.count(".") == 1])
    assert set(groups["element types"]) == set(dl.DTYPES)
    assert "Tensor([1, 0]" in (tmp_path / "reference" / "dltensor.int8.rst").read_text()
    commands = (tmp_path / "reference" / "commands.rst").read_text()
    assert "--rpath PATH" in commands


def run_of(commit, **rows):
    return {"commit": commit, "limits": {"threads": 2, "level": "v4"}, "rows": rows}


def test_a_benchmark_row_that_fell_by_more_than_a_tenth_is_named():
    record = tool("record")
    before = [run_of("a", add=2.0, sub=1.0, old=5.0), run_of("b", add=3.0, sub=1.0)]
    other = {**run_of("c", add=99.0), "limits": {"threads": 1, "level": "v4"}}
    now = run_of("d", add=2.6, sub=0.91, old=1.0, new=0.1)
    assert record.fallen(now, [*before, other]) == [("add", 3.0, "b", 2.6), ("old", 5.0, "a", 1.0)]
    assert record.fallen(now, [run_of("d", add=100.0)]) == []  # the same commit: noise
    assert record.fallen(now, []) == []


def test_a_run_of_benchmarks_is_appended_and_compared(tmp_path):
    rows = {"rows": [{"name": "call: a + b", "ratio": 4.0}], "features": {}}
    from dltensor._cli.bench import exchange

    what = exchange.ROWS[0][0]
    (tmp_path / "call.json").write_text(json.dumps(rows))
    (tmp_path / "exchange.json").write_text(
        json.dumps({"ns": {what: 50.0, f"peer of {what}": 100.0}, "import_ms": 1.0})
    )
    command = [sys.executable, str(ROOT / "benchmarks" / "record.py"), str(tmp_path / "call.json")]
    command += [str(tmp_path / "exchange.json"), "--results", str(tmp_path / "results")]
    assert "2 rows" in subprocess.run(command, check=True, capture_output=True, text=True).stdout
    (path,) = (tmp_path / "results").glob("*.jsonl")
    line = json.loads(path.read_text())
    assert line["rows"] == {"call: a + b": 4.0, f"exchange: {what}": 2.0}
    assert line["limits"]["threads"] >= 1
    assert line["limits"]["GB/s"]["copy of 128 MiB"] > 0
    path.write_text(json.dumps({**line, "commit": "earlier"}) + "\n")
    rows["rows"][0]["ratio"] = 3.0
    (tmp_path / "call.json").write_text(json.dumps(rows))
    done = subprocess.run([*command, "--strict"], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "slower by 25%: call: a + b: 4.00 at earlier, now 3.00" in done.stdout
    assert len(path.read_text().splitlines()) == 2


def test_a_file_that_is_no_benchmark_is_refused():
    with pytest.raises(ValueError, match="expected the JSON of a benchmark"):
        tool("record").ratios_of("x.json", {"a": 1})


def test_the_history_page_shows_the_recorded_runs(tmp_path):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    history = tool("history")
    results = tmp_path / "results"
    results.mkdir()
    runs = [run_of("aaa", **{"call: x": 2.0, "layout: y": 1.0}), run_of("bbb", **{"call: x": 1.0, "layout: y": 1.2})]
    for run in runs:
        run |= {"date": "2026-11-23T00:00Z", "version": "0.1.0", "processor": "P"}
        run["limits"]["GB/s"] = {"copy of 128 MiB": 10.0}
    (results / "p.jsonl").write_text("".join(json.dumps(run) + "\n" for run in runs))
    (tmp_path / "performance.md").write_text("# Performance\n")
    assert history.write(tmp_path, results) == 2
    assert "(_static/p-last.svg)" in (tmp_path / "performance.md").read_text()
    page = (tmp_path / history.PAGE).read_text()
    assert "| `bbb` | 0.1.0 | 2 | 2 | call: x 2.00 to 1.00 |" in page
    assert "copy of 128 MiB 10.0 GB/s" in page
    assert {path.name for path in (tmp_path / "_static").iterdir()} == {"p-last.svg", "p-course.svg"}


@pytest.mark.parametrize("name", [path.name for path in sorted((ROOT / "examples" / "gallery").glob("*.py"))])
def test_a_program_of_the_gallery_writes_its_picture(name, tmp_path):
    for package in ("numpy", "matplotlib"):
        pytest.importorskip(package, reason=f"{package} is not installed")
    gallery = tool("gallery")
    printed = gallery.run(gallery.FOLDER / name, tmp_path / "p.png")
    assert printed
    assert (tmp_path / "p.png").read_bytes()[:4] == b"\x89PNG"


def test_the_accuracy_page_has_every_function(monkeypatch):
    pytest.importorskip("numpy", reason="numpy is not installed")
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    accuracy = tool("accuracy")
    assert len(accuracy.functions()) >= 29
    page = accuracy.PAGE.read_text()
    accuracy.check(page)
    with pytest.raises(SystemExit, match="no row for exp of float64"):
        accuracy.check(page.replace("| `exp` |", "| `other` |"))


def test_errors_in_ulp_are_those_of_exact_arithmetic(monkeypatch):
    np = pytest.importorskip("numpy", reason="numpy is not installed")
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    accuracy = tool("accuracy")
    try:
        high, low = accuracy.references("exp", [np.array([1.0, 2.0, 0.5, -720.0])])
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("g++ with libquadmath is not installed")
    exact = accuracy.errors(high, high, low, "float64")
    assert (exact <= 0.5).all()
    e = sum(Fraction(1, math.factorial(k)) for k in range(40))
    assert exact[0] == pytest.approx(float(abs(Fraction(float(high[0])) - e) * 2**51))
    off = accuracy.errors(np.nextafter(high, 100), high, low, "float64")
    assert ((off >= 0.5) & (off <= 1.5)).all()
    single = accuracy.errors(np.float32(high).astype(float), high, low, "float32")
    assert (single <= 0.5).all()
    assert np.isnan(accuracy.errors(np.array([np.inf]), np.array([1e39]), np.zeros(1), "float32")).all()
    assert accuracy.errors(np.array([0.0]), np.array([5e-324]), np.zeros(1), "float64") == 1.0
