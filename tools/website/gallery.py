# SPDX-License-Identifier: Apache-2.0
"""Run the programs of examples/gallery and write a page for each: text, picture, code and what it printed."""

import ast
import concurrent.futures
import html
import os
import subprocess
import sys

import stage

FOLDER = stage.ROOT / "examples" / "gallery"


def programs():
    """Return the programs in the order of the gallery."""
    return sorted(FOLDER.glob("*.py"))


def _name(path):
    return path.stem.partition("_")[2].replace("_", "-")


def run(path, picture):
    """Run one program, which writes its picture, and return what it printed."""
    environment = {**os.environ, "MPLBACKEND": "Agg"}
    done = subprocess.run([sys.executable, path, picture], capture_output=True, text=True, env=environment, timeout=120)
    if done.returncode:
        raise SystemExit(f"website: {path.name} failed\n{done.stderr}")
    return done.stdout


def write(target):
    """Write the pages below `target`; return how many pictures there are."""
    target.mkdir(parents=True)
    cards, names = "", []
    pictures = {path: target / f"{_name(path)}.png" for path in programs()}
    with concurrent.futures.ThreadPoolExecutor(2) as two:
        texts = dict(zip(pictures, two.map(run, pictures, pictures.values()), strict=True))
    for path, printed in texts.items():
        name = _name(path)
        source = path.read_text()
        title, _, about = ast.get_docstring(ast.parse(source)).partition("\n")
        code = source[source.index('"""\n', source.index('"""') + 3) + 4 :].strip()
        page = f"# {title.rstrip('.')}\n{about.strip()}\n\n```{{image}} {name}.png\n:alt: {title}\n```\n\n"
        page += f"```python\n{code}\n```\n" + (f"```text\n{printed}```\n" if printed else "")
        (target / f"{name}.md").write_text(page)
        names.append(name)
        shown = html.escape(title.rstrip("."))
        cards += (
            f'<li><a href="{name}.html"><img src="../_images/{name}.png" alt="" loading="lazy"><br>{shown}</a></li>\n'
        )
    text = "# Gallery\nEach picture is the output of the program on its page, run when this site was built.\n\n"
    text += f'<ul class="gallery">\n{cards}</ul>\n\n'
    text += "```{toctree}\n:hidden:\n\n" + "".join(f"{name}\n" for name in names) + "```\n"
    (target / "index.md").write_text(text)
    return len(names)
