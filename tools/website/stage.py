# SPDX-License-Identifier: Apache-2.0
"""Copy the Markdown pages of the repository into the source folder of the site, with links that work there."""

import posixpath
import re
import shutil
from pathlib import Path

from links import slug

ROOT = Path(__file__).resolve().parents[2]
# Pages outside docs/, and their names on the site.
OUTSIDE = {
    "README.md": "readme.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "CODE_OF_CONDUCT.md": "code-of-conduct.md",
    "CHANGELOG.md": "changelog.md",
    "benchmarks/README.md": "benchmarks.md",
    "docs/decisions/README.md": "decisions/index.md",
}
# A fenced block, a link, or a code span: what comes first is matched, so a link in code is none.
PIECE = re.compile(r"^```.*?^```$|(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)|`[^`\n]+`", re.M | re.S)
# Words that the search of the site finds first, in a comment below the heading of what they are about.
INDEX = re.compile(r"^<!-- index: (.*) -->$", re.M)
# The section that takes pages which no section of docs/index.md names; pages that are written for the site, by section;
# those that the header of the site shows after a section; and titles in the navigation.
GUIDES = "Guides by task"
GENERATED = {
    "Explanation and facts": {
        "benchmark-history": "[Benchmark history](benchmark-history.md): the ratios of recorded runs, drawn.",
        "benchmarks": "[Benchmarks](benchmarks.md): the programs, what their columns mean, and their bias.",
    }
}
AFTER = {"Guides by task": ("reference/index", "gallery/index")}
TITLES = {"readme": "README <readme>"}
# A file of the repository is shown by the browser as text.
SHOWN = ".txt"


def pages():
    """Return the pages of the site: repository path to path on the site."""
    found = {f"docs/{path.relative_to(ROOT / 'docs').as_posix()}" for path in (ROOT / "docs").rglob("*.md")}
    return {name: OUTSIDE.get(name) or name.removeprefix("docs/") for name in sorted(found | set(OUTSIDE))}


def _html(text, href):
    text = re.sub(r"`([^`]+)`", r"<code>\1</code>", text.replace("&", "&amp;").replace("<", "&lt;"))
    return f'<a href="{href}">{text}</a>'


def rewritten(text, source, names, files):
    """Return a page with its links as they must be on the site; files of the repository it links to go to `files`.

    `source` is the path of the page in the repository, `names` maps pages to their place on the site.
    """
    home, folder = posixpath.dirname(source), posixpath.dirname(names[source])

    def one(match):
        image, label, target = match.groups()
        if target is None or re.match(r"[a-z]+:|#", target):
            return match[0]
        path, _, anchor = target.partition("#")
        place = posixpath.normpath(posixpath.join(home, path))
        anchor = anchor and f"#{anchor}"
        if (ROOT / place).is_dir() and f"{place}/README.md" in names:
            place = f"{place}/README.md"
        if place in names:
            return f"{image}[{label}]({posixpath.relpath(names[place], folder or '.')}{anchor})"
        if image or place.startswith("docs/"):
            files.add(place)
            return f"{image}[{label}]({posixpath.relpath(place.removeprefix('docs/'), folder or '.')}{anchor})"
        if (ROOT / place).is_dir():
            return label
        files.add(place)
        return _html(label, posixpath.relpath(f"repository/{place}{SHOWN}", folder or "."))

    return INDEX.sub(r"```{index} \1\n```", PIECE.sub(one, text))


def sections(text, names):
    """Return the section pages of the site, path to text, and the toctree of the index page.

    `text` is the index page with the links of the site. Each of its sections becomes a page that the header shows, with
    the links of the section as its pages, in order. A page that no section names is a guide.
    """
    bodies, groups, seen = {}, {}, {"index"}
    for part in re.split(r"^## ", text, flags=re.M)[1:]:
        title, _, body = part.partition("\n")
        linked = [match[3].partition("#")[0].removesuffix(".md") for match in PIECE.finditer(body) if match[3]]
        groups[title] = [name for name in dict.fromkeys(linked) if f"{name}.md" in names and name not in seen]
        bodies[title] = body
        seen |= {*groups[title], *GENERATED.get(title, ())}
    rest = [name.removesuffix(".md") for name in names if name.removesuffix(".md") not in seen]
    groups[GUIDES] += sorted(name for name in rest if "/" not in name)
    made, top = {}, []
    for title, found in groups.items():
        place = slug(title)
        listed = [TITLES.get(name, name) for name in [*found, *GENERATED.get(title, ())]]
        lines = "".join(f"- {line}\n" for line in GENERATED.get(title, {}).values())
        made[f"{place}.md"] = f"# {title}\n{bodies[title].rstrip()}\n{lines}" + toctree(listed)
        top += [place, *AFTER.get(title, ())]
    return made, toctree(top)


def toctree(names):
    """Return a toctree that is not shown where it stands."""
    return "\n```{toctree}\n:hidden:\n\n" + "".join(f"{name}\n" for name in names) + "```\n"


def stage(target):
    """Write all pages, their pictures and the files that they link to below `target`."""
    names, files = pages(), set()
    for source, place in names.items():
        made = target / place
        made.parent.mkdir(parents=True, exist_ok=True)
        text = rewritten((ROOT / source).read_text(), source, names, files)
        if place == "index.md":
            made_of, top = sections(text, set(names.values()))
            for name, page in made_of.items():
                (target / name).write_text(page)
            text += top
        if place == "decisions/index.md":
            text += toctree(
                name.removesuffix(".md").removeprefix("decisions/") for name in names.values() if "/0" in name
            )
        made.write_text(text)
    for name in sorted(files):
        if not (ROOT / name).is_file():
            raise SystemExit(f"website: a page links to {name}, which does not exist")
        place = name.removeprefix("docs/") if name.startswith("docs/") else f"extra/repository/{name}{SHOWN}"
        made = target / place
        made.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, made)
    shutil.copyfile(ROOT / "docs" / "conf.py", target / "conf.py")
    for folder in ("_static", "_templates"):
        shutil.copytree(ROOT / "docs" / folder, target / folder, dirs_exist_ok=True)
    (target / "extra").mkdir(exist_ok=True)
    return names
