# SPDX-License-Identifier: Apache-2.0
"""The documents use the field's words: none of those that were retired. Names of files and code are left out."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), ROOT / "benchmarks" / "README.md"]
PAGES = [page for page in PAGES if page.name != "CHANGELOG.md"]  # which tells what was, under the names of then
WORDS = (
    "doors?", "judge[sd]?", "judging", "judgment", "loans?", "lends?", "lent", "lending", "journeys?", "hops?",
    "nobody", "whoever", "house", "walks?", "without a word", "can be had", "cannot be had", "lie side by side",
    "lets? go of", "whatever was there", "what names one", "short way", "careful way",
)  # fmt: skip
RETIRED = re.compile(rf"\b({'|'.join(WORDS)})\b", re.I)


def retired(text):
    """Retired words of a page, outside of code."""
    prose = re.sub(r"```.*?```|`[^`\n]*`|\]\([^)]*\)", " ", text, flags=re.S)
    return sorted({match[0].lower() for match in RETIRED.finditer(prose)})


@pytest.mark.parametrize("page", PAGES, ids=[page.name for page in PAGES])
def test_a_page_has_no_retired_words(page):
    assert retired(page.read_text()) == []


def test_there_are_pages_and_retired_words_are_found():
    assert len(PAGES) > 12
    assert retired("The judge knows every door.\n`lend` is code, [a page](journey.md) too.\nNobody walks.") == [
        "door", "judge", "nobody", "walks",
    ]  # fmt: skip
