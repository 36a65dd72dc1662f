# SPDX-License-Identifier: Apache-2.0
"""Check links without the network: those of the Markdown pages, and those of the built site.

Run: python tools/website/links.py [FOLDER]; without a folder, the Markdown pages of the repository.
"""

import html.parser
import os
import re
import sys
from pathlib import Path
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).resolve().parents[2]
LINK = re.compile(r"\]\(([^)\s]+)\)")


def slug(heading):
    """Return the anchor that GitHub and MyST make of a heading."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").strip().lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


def anchors(text):
    """Return the anchors of the headings of a Markdown page."""
    found, seen = set(), {}
    for heading in re.findall(r"^#{1,6} +(.*)$", re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S), re.M):
        name = slug(heading)
        count = seen[name] = seen.get(name, -1) + 1
        found.add(f"{name}-{count}" if count else name)
    return found


def check_markdown(pages, root=ROOT):
    """Return the number of internal links of Markdown pages, and one line for each that leads nowhere."""
    found, broken = 0, []
    for page in pages:
        text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.M | re.S)
        for target in LINK.findall(text):
            if re.match(r"[a-z]+:", target):
                continue
            found += 1
            path, _, anchor = target.partition("#")
            place = (page.parent / path).resolve() if path else page
            where = f"{page.relative_to(root)}: {target}"
            if not place.exists():
                broken.append(f"{where}: no such file")
            elif anchor and place.suffix == ".md" and anchor not in anchors(place.read_text()):
                broken.append(f"{where}: no such heading")
    return found, broken


class _Page(html.parser.HTMLParser):
    """The anchors and links of one page; a link that the browser would load from another host is in `loaded`."""

    def __init__(self):
        super().__init__()
        self.ids, self.links, self.loaded = set(), [], []

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name in ("id", "name") and value:
                self.ids.add(value)
            elif name in ("href", "src", "data-src") and value:
                self.links.append(value)
                if tag != "a":
                    self.loaded.append(value)


def check_site(folder):
    """Return the number of internal links of the built pages, and one line for each that leads nowhere or elsewhere.

    A style sheet, script, font or picture of another host counts as broken: the site must work without a network.
    """
    pages = {}
    for path in sorted(folder.rglob("*.html")):
        if path.name == "webpack-macros.html":  # a template of the theme, which it installs among its styles
            continue
        pages[path] = _Page()
        pages[path].feed(path.read_text(errors="replace"))
    found, broken = 0, []
    files = {str(path) for path in folder.rglob("*") if path.is_file()}
    anchors_of = {str(path): page.ids for path, page in pages.items()}
    for path, page in pages.items():
        home = str(path.parent)
        where = path.relative_to(folder)
        for target in page.loaded:
            if urlsplit(target).scheme in ("http", "https") or target.startswith("//"):
                broken.append(f"{where}: loads {target}")
        for target in page.links:
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                continue
            found += 1
            place = os.path.normpath(os.path.join(home, unquote(parts.path))) if parts.path else str(path)
            anchor = unquote(parts.fragment)
            if place not in files:
                broken.append(f"{where}: {target}: no such file")
            elif anchor and place in anchors_of and anchor not in anchors_of[place]:
                broken.append(f"{where}: {target}: no such anchor")
    for sheet in folder.rglob("*.css"):
        for target in re.findall(r"url\(\s*['\"]?(https?://[^)'\"]*|//[^)'\"]*)", sheet.read_text(errors="replace")):
            broken.append(f"{sheet.relative_to(folder)}: loads {target}")
    return found, broken


def markdown_pages():
    """Return the Markdown pages of the repository."""
    return sorted(
        [
            *ROOT.glob("*.md"),
            *(ROOT / "docs").rglob("*.md"),
            *(ROOT / "examples").rglob("*.md"),
            ROOT / "benchmarks/README.md",
        ]
    )


def main():
    if len(sys.argv) > 1:
        found, broken = check_site(Path(sys.argv[1]).resolve())
    else:
        found, broken = check_markdown(markdown_pages())
    print("\n".join([*broken, f"links: {found} internal links, {len(broken)} broken"]))
    return 1 if broken or found < 20 else 0


if __name__ == "__main__":
    sys.exit(main())
