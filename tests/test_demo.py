# SPDX-License-Identifier: Apache-2.0
"""The demo: its results are measured, missing packages are named, and its pages need no network."""

import re
import subprocess
import sys
from types import SimpleNamespace

import pytest

import dltensor as dl

np = pytest.importorskip("numpy")

from dltensor._cli.demo import exchange, peers, photo, report  # noqa: E402 (they need NumPy)
from dltensor._tools import timing  # noqa: E402

HEAVY = ("torch", "tvm_ffi", "pyarrow", "jax")


def picture():
    """A writable tensor of the photograph's kind."""
    return dl.from_dlpack(np.arange(40 * 30 * 3, dtype="uint8").reshape(40, 30, 3)).copy()


def light():
    """The peers that every installation with NumPy has."""
    return [peer for peer in peers.find(lambda text: None)[0] if peer.name in ("numpy", "memoryview")]


def misbehaving(give="photo.numpy()", take="dl.from_dlpack(x)", own_take="np.from_dlpack(x)"):
    return peers.Peer("liar", "1", give, take, "np.from_dlpack(array)", own_take, modules={})


def demo(folder, hidden=()):
    """Run the demo in a process of its own that cannot import `hidden`."""
    code = (
        f"import sys\nfor name in {tuple(hidden)!r}: sys.modules[name] = None\n"
        f"from dltensor._cli.main import main\nsys.exit(main(['demo', '--output', {str(folder)!r}]))"
    )
    return subprocess.run([sys.executable, "-W", "default", "-c", code], capture_output=True, text=True, timeout=300)


def test_the_last_export_has_the_address_of_the_photograph():
    start = picture()
    home, steps = exchange.pass_around(start, light())
    assert [step.name for step in steps] == ["numpy", "memoryview"]
    assert {step.address for step in steps} == {start.data_ptr} == {home.data_ptr}
    assert not any(step.moved or step.refused or step.readonly for step in steps)


def test_a_copy_on_the_way_is_noticed():
    home, steps = exchange.pass_around(start := picture(), [misbehaving(give="photo.numpy().copy()")])
    assert steps[0].moved
    assert home.data_ptr != start.data_ptr


def test_a_station_that_refuses_is_passed_by():
    home, steps = exchange.pass_around(start := picture(), [misbehaving(give="1 / 0"), *light()])
    assert steps[0].refused
    assert "division by zero" in steps[0].remark
    assert home.data_ptr == start.data_ptr


def test_paint_shows_through_every_framework():
    assert exchange.paint(t := picture(), light()) == {"numpy": True, "memoryview": True}
    assert t[0, 0].tolist() == list(exchange.ORANGE)
    assert t[20, 15].tolist() != list(exchange.ORANGE)


def test_paint_that_does_not_show_is_said():
    assert exchange.paint(picture(), [misbehaving(own_take="np.zeros((2, 2, 3), 'uint8')")]) == {"liar": False}


def test_holdings_tell_views_copies_and_refusals_apart():
    t = picture()
    liars = [misbehaving(), misbehaving(give="photo.numpy().copy()"), misbehaving(give="[][0]")]
    for liar, name in zip(liars, ("honest", "copier", "refuser"), strict=True):
        liar.name = name
    found = exchange.holdings({"flipped": t[::-1]}, liars)
    assert [found["flipped", name].verdict for name in ("honest", "copier", "refuser")] == [
        "same memory",
        "copied",
        "refused",
    ]
    assert found["flipped", "refuser"].reason == "IndexError: list index out of range"


def test_a_read_only_photograph_stays_read_only():
    array = np.zeros((4, 4, 3), "uint8")
    array.flags.writeable = False
    found = exchange.holdings({"read-only": dl.from_dlpack(array)}, light())
    assert all(holding.verdict == "same memory" and holding.readonly for holding in found.values())


def test_views_share_the_memory_of_the_photograph():
    scenes = photo.scenes(t := dl.from_dlpack(np.zeros((600, 512, 3), "uint8")))
    assert len(scenes) == len(photo.VIEWS)
    assert all(scene.tensor.same_memory(t) for scene in scenes)


def test_statements_are_timed_as_they_are():
    took = timing.by_turns(["work(2000)", "work(20)"], {"work": lambda n: sum(range(n))}, rounds=5)
    assert took["work(2000)"] > 5 * took["work(20)"] > 0


@pytest.mark.parametrize(
    ("value", "text"), [(0, "0 ns"), (9.996e-7, "1 µs"), (1.5e-4, "150 µs"), (0.0025, "2.5 ms"), (12, "12 s")]
)
def test_times_are_written_in_a_unit_that_suits(value, text):
    assert report.seconds(value) == text


def test_names_from_outside_cannot_break_the_page():
    step = exchange.Step("<script>", 16, False, False, "a & b")
    page = report._steps(SimpleNamespace(steps=[step]))
    assert "&lt;script&gt;" in page
    assert "a &amp; b" in page


def test_the_demo_writes_what_it_promises(tmp_path):
    pytest.importorskip("matplotlib")
    done = demo(tmp_path, hidden=HEAVY)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    picture_file, page = tmp_path / "contact-sheet.png", (tmp_path / "report.html").read_text()
    from PIL import Image

    with Image.open(picture_file) as image:
        assert image.width > 1000
        assert len(image.convert("RGB").getcolors(1 << 20)) > 100  # a photograph, not a blank sheet
    assert str(picture_file) in done.stdout
    assert not re.findall(r'https?://|src="(?!data:)|<link|<script', page)
    assert page.count("data:image/png;base64,") == len(photo.VIEWS)
    for name in HEAVY:
        assert name in done.stdout, f"{name} is missing and the demo does not say so"


@pytest.mark.peers
def test_no_framework_copies_the_photograph(tmp_path):
    pytest.importorskip("matplotlib")
    done = demo(tmp_path)
    assert done.returncode == 0, done.stderr
    stations = re.findall(r"^   (\w+) +(0x\w+) +(same|copied|refused)", done.stdout, re.M)
    assert [name for name, _, _ in stations] == ["numpy", "memoryview", *HEAVY]
    assert {what for _, _, what in stations} == {"same"}
    assert len({address for _, address, _ in stations}) == 1


def test_without_matplotlib_the_demo_says_how_to_get_it(tmp_path):
    done = demo(tmp_path, hidden=["matplotlib"])
    assert done.returncode == 2
    assert "pip install" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_place_that_cannot_be_written_is_refused_in_words(tmp_path):
    pytest.importorskip("matplotlib")
    (tmp_path / "file").write_text("in the way")
    done = demo(tmp_path / "file" / "folder", hidden=HEAVY)
    assert done.returncode == 2
    assert "--output" in done.stderr
    assert "Traceback" not in done.stderr


def test_work_on_the_pixels_is_what_numpy_makes_of_them():
    from dltensor._cli.demo import work

    done = work.work(picture(), peers=("numpy",), rounds=3)
    assert [one.name for one in done] == [row[0] for row in work.WORKS]
    assert all(set(one.times) == {"dltensor", "numpy"} and min(one.times.values()) >= 0 for one in done)
    assert all(one.tensor.dtype == dl.uint8 for one in done)
    by_name = {one.name: one for one in done}
    for name in ("brighter", "mask"):
        assert by_name[name].differs["numpy"] == 0
    # Products of floats and a fused scale round elsewhere than two roundings do: half a grey level may become one.
    assert all(one.differs["numpy"] <= 1 for one in done)


def test_the_pictures_of_work_are_drawn(tmp_path):
    pytest.importorskip("matplotlib")
    from dltensor._cli.demo import sheet, work

    sheet.draw_work(work.work(picture(), peers=("numpy",), rounds=2), "title", tmp_path / "work.png")
    assert (tmp_path / "work.png").read_bytes().startswith(b"\x89PNG")
