# SPDX-License-Identifier: Apache-2.0
"""The page of the matrix: it holds the data, asks for nothing from outside, and its filters work in a real browser."""

import json
import re
import subprocess
from functools import cache
from html import unescape
from pathlib import Path

import pytest
from native_tools import runnable

from dltensor.conformance.matrix.measure import Exchange, Matrix
from dltensor.conformance.matrix.page import page

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
BROWSER = next(filter(None, map(runnable, BROWSERS)), None)
in_a_browser = pytest.mark.skipif(BROWSER is None, reason=f"no browser runs: none of {', '.join(BROWSERS)}")
NAMES = ["alpha", "beta", "</script>"]


@cache
def made():
    """Nine pairs, made up so that each filter has something to find."""
    cases = {
        "layout:c": ("shares", ""),
        "dtype:int8": ("shares", ""),
        "dtype:bfloat16": ("refused", "no"),
        "readonly": ("kept", ""),
    }
    pairs = {(a, b): Exchange(a, b, dict(cases), 1500.0) for a in NAMES for b in NAMES}
    pairs["alpha", "beta"].cases["layout:reversed"] = ("crashed", "died by SIGABRT")
    pairs["beta", "alpha"].cases["dtype:bfloat16"] = ("wrong", "[1] arrives as [2]")
    pairs["beta", "beta"].cases["readonly"] = ("lost", "the flag is ignored")
    environment = {"dltensor": "1", "python": "3", "platform": "here"}
    return Matrix({name: "1.0" for name in NAMES}, {"gamma": "not installed"}, pairs, NAMES, NAMES, environment)


def test_the_page_holds_the_data():
    text = page(made())
    data = re.search(r'<script id="data" type="application/json">(.*?)</script>', text, re.S).group(1)
    content = json.loads(data)
    assert content.pop("words")["grades"]
    assert content.pop("remarks")
    assert Matrix.from_dict(content) == made()


def test_the_page_asks_for_nothing_from_outside():
    text = page(made())
    assert not re.search(r"https?://|@import|<link|<img|\bsrc=|fetch\(|XMLHttpRequest|import\(", text)
    assert "default-src 'none'" in unescape(text)


def test_the_page_can_be_read_without_scripts():
    text = page(made())
    assert "alpha" in re.search(r"<noscript>.*?<pre>(.*?)</pre>.*?</noscript>", text, re.S).group(1)


def looked_at(folder, fragment):
    """The page as a browser has it after its scripts ran."""
    path = Path(folder) / "matrix.html"
    path.write_text(page(made()), encoding="utf-8")
    done = subprocess.run(
        [
            BROWSER,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--virtual-time-budget=2000",
            f"--user-data-dir={folder}/profile",
            "--dump-dom",
            f"{path.as_uri()}#{fragment}",
        ],
        capture_output=True,
        text=True,
        timeout=120,
    )
    body = done.stdout.partition('<script id="data"')[0]
    assert body, done.stderr[-2000:]
    return body


def cells(body):
    """(pair, text, whether it is faded) of every cell."""
    found = re.findall(r"<td>(<button[^>]*>)([^<]*)</button>", body)
    assert found
    return {
        re.search('data-pair="([^"]*)"', start).group(1).replace("&gt;", ">").replace("&lt;", "<"): (
            text.replace("&nbsp;", " ").strip(),
            "faded" in start,
        )
        for start, text in found
    }


@in_a_browser
def test_without_a_filter_all_pairs_are_there(tmp_path):
    body = looked_at(tmp_path, "")
    found = cells(body)
    assert len(found) == 9
    assert found["alpha>beta"] == ("!1", False)
    assert found["beta>alpha"] == ("x1", False)
    assert found["beta>beta"] == ("w1", False)
    assert found["alpha>alpha"] == ("=1", False)
    assert "9 of 9 pairs shown" in body
    assert "Not measured: gamma (not installed)" in body
    assert "reversed from alpha to beta ends the process" in body
    assert re.search(r'<section [^>]*id="detail" hidden', body)


@in_a_browser
@pytest.mark.parametrize(
    ("fragment", "pair", "text", "shown"),
    [
        ("dtype=bfloat16", "beta>alpha", "x", 9),
        ("dtype=bfloat16", "alpha>alpha", ".", 9),
        ("layout=reversed&trouble=1", "alpha>beta", "!", 1),
        ("view=time", "alpha>beta", "1.50 µs", 9),
        ("view=readonly&trouble=1", "beta>beta", "LOST", 1),
        ("grade=wrong", "beta>alpha", "x1", 1),
        ("framework=alpha", "alpha>beta", "!1", 5),
        ("trouble=1", "beta>beta", "w1", 3),
    ],
)
def test_a_filter_in_the_address_is_applied(tmp_path, fragment, pair, text, shown):
    body = looked_at(tmp_path, fragment)
    found = cells(body)
    assert found[pair] == (text, False)
    assert len([1 for _, faded in found.values() if not faded]) == shown
    assert f"{shown} of 9 pairs shown" in body


@in_a_browser
def test_two_names_leave_their_rows_and_columns(tmp_path):
    assert set(cells(looked_at(tmp_path, "framework=alpha,beta"))) == {
        "alpha>alpha",
        "alpha>beta",
        "beta>alpha",
        "beta>beta",
    }


@in_a_browser
def test_a_chosen_cell_says_all_of_its_cases(tmp_path):
    body = looked_at(tmp_path, "pair=alpha%3Ebeta")
    detail = re.search(r'<section [^>]*id="detail">(.*?)</section>', body, re.S).group(1)
    assert "layout:reversed" in detail
    assert "died by SIGABRT" in detail
    assert "one import: 1.50 µs" in detail
