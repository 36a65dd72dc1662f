# SPDX-License-Identifier: Apache-2.0
"""Common properties of all HTML output: readable colours in light and dark, and pages that fit a narrow window."""

import base64
import re
from functools import cache
from html.parser import HTMLParser
from itertools import pairwise, product
from types import SimpleNamespace

import pytest

import dltensor as dl
from dltensor._core import markup
from dltensor._core.html import drawing
from dltensor._core.markup import FRAGMENT_STYLE, PAGE_STYLE, Markup, contrast, element, folded, table, text_colour

STYLE = FRAGMENT_STYLE + PAGE_STYLE
LEAST = 4.5  # WCAG 2, level AA
NARROW = 390  # pixels of a narrow window
BACKGROUNDS = ("var(--paper)", "var(--card)", "var(--shade)")  # behind text that has no background of its own


# -- contrast ---------------------------------------------------------------------------------------------------------


def rules(style):
    """(selector, {property: value}) of each rule, those inside of @media too."""
    flat = re.sub(r"@media[^{]*\{((?:[^{}]*\{[^{}]*\})*)\}", r"\1", style)
    for selector, body in re.findall(r"([^{}]+)\{([^{}]*)\}", flat):
        lines = [line.partition(":") for line in body.replace("\n", " ").split(";") if ":" in line]
        yield selector.strip(), {name.strip(): value.strip() for name, _, value in lines}


def schemes(style):
    """Variables of each colour scheme, by its name; each must be the same wherever it is declared."""
    found = {}
    for _, declared in rules(style):
        if "color-scheme" in declared:
            values = {name: value for name, value in declared.items() if name.startswith("--")}
            assert found.setdefault(declared["color-scheme"], values) == values
    assert set(found) == {"light", "dark"}
    assert found["light"].keys() == found["dark"].keys()
    return found


def pairs(style):
    """(selector, text colour, background) of everything that can show text, as it is written."""
    for selector, declared in rules(style):
        background = declared.get("background", declared.get("background-color"))
        if background is not None and not re.fullmatch(r"var\(--[\w-]+\)|#\w+", background):
            background = None  # "none", and the shades of boxes that scroll, which are in BACKGROUNDS
        text = declared.get("color") or (declared.get("fill") if "text" in selector else None)
        if text == "inherit":
            text = None
        if text == "transparent" or (text is None and background is None):
            continue
        for behind in [background] if background else BACKGROUNDS:
            yield selector, text or "var(--ink)", behind


def measured(style):
    """(contrast, scheme, selector, text, background) of each pair, worst first."""
    found = []
    for scheme, values in schemes(style).items():
        for selector, *colours in pairs(style):
            text, background = (values.get(colour[4:-1], colour) for colour in colours)
            found.append((contrast(text, background), scheme, selector, *colours))
    return sorted(found)


def test_every_text_of_the_style_sheet_can_be_read():
    found = measured(STYLE)
    assert len(found) > 60
    assert [one for one in found if one[0] < LEAST] == []
    assert "opacity:." not in STYLE.replace("opacity:0.", "opacity:.")


@pytest.mark.parametrize(
    ("bad", "scheme"),
    [
        (".x{color:#fff;background:#d9a400}", "light"),
        (".x{color:var(--line)}", "light"),
        (".x{background:var(--ours)}", "light"),
        (".x{color:#777}", "dark"),
        ("@media print{.x{color:#777}}", "dark"),
    ],
)
def test_a_planted_pair_that_cannot_be_read_is_caught(bad, scheme):
    found = [one for one in measured(STYLE + bad) if one[0] < LEAST]
    assert {one[2] for one in found} == {".x"}
    assert scheme in {one[1] for one in found}


@pytest.mark.parametrize(
    ("a", "b", "ratio"), [("#000", "#fff", 21), ("#fff", "#d9a400", 2.27), ("#767676", "#fff", 4.54)]
)
def test_contrast_is_that_of_wcag(a, b, ratio):
    assert contrast(a, b) == contrast(b, a) == pytest.approx(ratio, abs=0.01)


def test_a_text_colour_is_found_for_every_background():
    steps = range(0, 256, 17)
    assert (
        min(contrast(text_colour(c), c) for c in (f"#{r:02x}{g:02x}{b:02x}" for r, g, b in product(steps, repeat=3)))
        >= LEAST
    )


def test_every_colour_of_the_matrix_has_a_readable_text():
    from dltensor.conformance.matrix.drawing import COLOURS

    assert len(COLOURS) > 5
    assert all(contrast(text_colour(colour), colour) >= LEAST for colour in COLOURS.values())
    assert text_colour("#d9a400") == "#000"


def test_the_cells_of_a_drawing_can_be_read():
    import colorsys

    seen = 0
    for hue, saturation, light in re.findall(r"hsl\((\d+),(\d+)%,(\d+)%\)", drawing((4, 6), (1, 4))):
        parts = colorsys.hls_to_rgb(int(hue) / 360, int(light) / 100, int(saturation) / 100)
        assert contrast("#000", "#" + "".join(f"{round(255 * part):02x}" for part in parts)) >= LEAST
        seen += 1
    assert seen == 24


# -- pages ------------------------------------------------------------------------------------------------------------


class Reader(HTMLParser):
    """The elements of a page in order, each as (tag, attributes, whether it is in a box that scrolls)."""

    VOID = ("br", "img", "input", "meta", "link")

    def __init__(self, text):
        super().__init__()
        self.elements, self.open, self.texts = [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        scrolls = any(done.get("class") == "scroll" for _, done in self.open)
        self.elements.append((tag, attributes, scrolls))
        if tag not in self.VOID:
            self.open.append((tag, attributes))

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in self.VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        while self.open.pop()[0] not in (tag, "option"):
            pass

    def all(self, tag):
        return [attributes for name, attributes, _ in self.elements if name == tag]


@cache
def demo_page(folder):
    """The report of a demo with one framework, made of a small picture."""
    np = pytest.importorskip("numpy")
    pytest.importorskip("PIL")
    from dltensor._cli import demo
    from dltensor._cli.demo import exchange, peers, photo, report, work

    rng = np.random.default_rng(0)
    # Noise is what PNG compresses least; a photograph is a quarter of that.
    own = dl.from_dlpack(rng.integers(0, 256, (600, 512, 3), dtype="uint8")).copy()
    met = [peer for peer in peers.find(lambda text: None)[0] if peer.name == "numpy"]
    home, steps = exchange.pass_around(own, met)
    scenes = photo.scenes(home)
    trial = {scene.name: scene.tensor for scene in scenes}
    works = work.work(own[:8, :8].copy(), peers=("numpy",), rounds=2)
    timings = [exchange.Timing("to numpy", "photo.numpy()", "np.from_dlpack(array)", 1e-7, 2e-7)]
    found = demo.Findings(
        "1", "credit", own, home, met, {"jax": "not installed"}, steps, {"numpy": True}, scenes, trial,
        exchange.holdings(trial, met), timings, 1e-4, works,
    )  # fmt: skip
    report.write(found, folder / "report.html")
    return (folder / "report.html").read_text(encoding="utf-8")


def matrix_page(folder):
    from dltensor.conformance.matrix.measure import Exchange, Matrix
    from dltensor.conformance.matrix.page import page

    names = ["alpha", "beta", "a_name_that_is_as_long_as_none"]
    pairs = {(a, b): Exchange(a, b, {"layout:c": ("shares", "")}, 1500.0) for a in names for b in names}
    environment = {"dltensor": "1", "python": "3", "platform": "here"}
    return page(Matrix({name: "1.0" for name in names}, {}, pairs, names, names, environment))


def inspect_page(folder):
    return dl.inspect(dl.arange(96).reshape((3, 32)).T).to_html()


def notebook_page(folder):
    """The notebook view inside a page, as it has none of its own."""
    view = Markup(dl.arange(96).reshape((3, 32)).T._repr_html_())
    return markup.page("notebook", element("h1", "notebook"), view)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("pages")


EVERY = pytest.mark.parametrize("make", [demo_page, matrix_page, inspect_page, notebook_page])


@EVERY
def test_every_page_has_its_landmarks(make, folder):
    text = make(folder)
    assert text.startswith("<!DOCTYPE html>")
    page = Reader(text)
    assert [attributes.get("lang") for attributes in page.all("html")] == ["en"]
    assert len(page.all("main")) == len(page.all("h1")) == 1
    assert text.partition("</head>")[0].count("<title>") == 1
    viewport = [attributes["content"] for attributes in page.all("meta") if attributes.get("name") == "viewport"]
    assert viewport == ["width=device-width, initial-scale=1"]
    headings = [int(tag[1]) for tag, _, _ in page.elements if re.fullmatch("h[1-6]", tag)]
    assert headings[0] == 1
    assert all(later - earlier <= 1 for earlier, later in pairwise(headings))


def too_wide(text):
    """What is wider than a narrow window and cannot be scrolled in its own box."""
    found = re.findall(r"(?<![-\w])(?:min-)?width:(\d+)(px|rem|em)", text)
    found = [f"{number}{unit}" for number, unit in found if float(number) * {"px": 1}.get(unit, 16) > NARROW]
    for tag, attributes, scrolls in Reader(text).elements:
        width = re.fullmatch(r"(\d+)(px)?", attributes.get("width", "0"))
        if tag in ("table", "svg", "pre") and not scrolls:
            found.append(tag)
        elif not scrolls and (width is None or int(width[1]) > NARROW):
            found.append(f"{tag} of width {attributes['width']}")
    return found


@EVERY
def test_every_page_fits_a_narrow_window(make, folder):
    assert too_wide(make(folder)) == []


@pytest.mark.parametrize(
    ("planted", "words"),
    [
        ("<p style='width:700px'>", ["700px"]),
        ("<p style='min-width:30rem'>", ["30rem"]),
        ("<table>", ["table"]),
        ("<img width='800'/>", ["img of width 800"]),
        ("<div class='scroll'><svg width='800'></svg></div>", []),
        ("<p style='max-width:700px'>", []),
    ],
)
def test_planted_widths_are_caught(planted, words):
    assert too_wide(planted) == words


@EVERY
def test_boxes_that_scroll_can_be_reached_and_have_a_name(make, folder):
    boxes = [attributes for attributes in Reader(make(folder)).all("div") if attributes.get("class") == "scroll"]
    assert boxes
    assert all((box.get("tabindex"), box.get("role")) == ("0", "region") and box["aria-label"] for box in boxes)


def test_headings_are_smaller_the_deeper_they_are():
    sizes = {match[1]: float(match[2]) for match in re.finditer(r"^(h[12])\{font-size:([\d.]+)rem", PAGE_STYLE, re.M)}
    assert sizes["h1"] > sizes["h2"] > 1
    narrow = re.search(r"max-width:40rem.*?h1\{font-size:([\d.]+)rem", PAGE_STYLE)
    assert float(narrow[1]) > sizes["h2"]


def test_pictures_of_a_report_are_small(folder):
    pictures = re.findall(r'src="data:image/png;base64,([^"]*)"', demo_page(folder))
    sizes = [len(base64.b64decode(picture)) for picture in pictures]
    assert len(sizes) == 6
    assert max(sizes) < 300_000


def test_the_files_of_pictures_are_small(tmp_path):
    pytest.importorskip("matplotlib")
    from PIL import Image

    from dltensor._cli.demo import photo, sheet

    pixels = dl.from_dlpack(photo.read())
    sheet.draw(photo.scenes(pixels), "title", "subtitle", tmp_path / "sheet.png")
    names = ("brighter", "contrast", "HWC to CHW", "sepia", "mask")
    works = [
        SimpleNamespace(
            name=name, remark="scaled, shifted, rounded and clamped", tensor=pixels, times={"dltensor": 1e-3}
        )
        for name in names
    ]
    sheet.draw_work(works, "title", tmp_path / "work.png")
    for name in ("sheet.png", "work.png"):
        assert (tmp_path / name).stat().st_size < 300_000
        with Image.open(tmp_path / name) as image:
            assert image.width > 1000


def test_captions_fit_the_width_of_their_pictures():
    import textwrap

    pytest.importorskip("matplotlib")
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import TextPath

    from dltensor._cli.demo import sheet, work

    lines = [line for row in work.WORKS for line in textwrap.wrap(row[-1], sheet.CAPTION)]
    assert len(lines) >= len(work.WORKS)
    for line in lines:
        inches = TextPath((0, 0), line, size=8.5, prop=FontProperties()).get_extents().width / 72
        assert inches < 2.95, line


# -- elements ---------------------------------------------------------------------------------------------------------


def test_content_is_escaped_once():
    assert element("p", "<b>", element("i", "&")) == "<p>&lt;b&gt;<i>&amp;</i></p>"
    assert element("a", title='"x" & y') == '<a title="&quot;x&quot; &amp; y"></a>'


def test_attributes_are_written_as_html_has_them():
    assert (
        element("p", class_="a", aria_label="b", open=True, hidden=False, id=None)
        == '<p class="a" aria-label="b" open=""></p>'
    )
    assert element("br") == "<br/>"


def test_a_table_names_its_rows_or_its_columns():
    rows = Reader(table([("a", 1)], "label"))
    assert rows.all("th") == [{"scope": "row"}]
    columns = Reader(table([("a", 1)], "label", ("x", "y"), right=(1,)))
    assert columns.all("th") == [{"scope": "col"}, {"class": "r", "scope": "col"}]
    assert columns.all("td") == [{}, {"class": "r"}]


def test_a_fold_is_closed_unless_it_is_said():
    assert "open" not in folded("title", "text")
    assert folded("title", "text", is_open=True).startswith('<details open="">')


def test_the_inspect_page_draws_memory_on_the_host_only():
    assert "<svg" in inspect_page(None)
    assert "<svg" not in dl.inspect(dl.wrap(4096, (3,), "int8", device="cuda", owner=object())).to_html()
