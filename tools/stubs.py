#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write the type stubs of the package from its sources: signatures, docstrings, the tables of the engine.

    python tools/stubs.py OUTPUT            into the files OUTPUT/MODULE.pyi, by the last part of each module's name
    python tools/stubs.py --tree OUTPUT     into a folder as the package has it
    python tools/stubs.py --check           write nothing

The modules are listed in src/dltensor/meson.build. A type that neither signature nor docstring says becomes Any, with a
warning; with --check it is an error. Nothing of the package is imported, so that the build can run it.
"""

import argparse
import re
import sys
from pathlib import Path

import spellings
from typestubs import module, package

SOURCES = Path(__file__).resolve().parent.parent / "src" / "dltensor"


def modules():
    """Return the files with stubs, relative to the package."""
    listed = re.search(r"stub_sources = \[(.*?)\]", (SOURCES / "meson.build").read_text(), re.S)[1]
    return re.findall(r"'([^']+)'", listed)


def unused_parts():
    """Return the modules in by_hand.pyi that have no stub."""
    return sorted(set(module.by_hand()) - {name.rpartition(".")[0] for name in modules()})


def stubs():
    """Return the text of each stub by its path in the package, and what no source says."""
    texts = {"_spellings/functions.pyi": spellings.stub()}
    failures = [f"by_hand.pyi: {name} is no module with a stub" for name in unused_parts()]
    for name in modules():
        if name == "__init__.py":
            texts["__init__.pyi"] = package.stub(SOURCES)
            continue
        stub = module.Stub(SOURCES, name)
        texts[f"{name.rpartition('.')[0]}.pyi"] = stub.text()
        failures += [f"{name}: {failure}" for failure in stub.failures]
    return texts, failures


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("output", nargs="?", type=Path)
    parser.add_argument("--tree", action="store_true", help="write the files in folders, as in the package")
    parser.add_argument("--check", action="store_true", help="write nothing; fail where no source says a type")
    options = parser.parse_args()
    if bool(options.output) == options.check:
        parser.error("expected a folder to write to, or --check")
    texts, failures = stubs()
    for failure in failures:
        print(f"stubs: {failure}", file=sys.stderr)
    if options.check:
        if failures:
            sys.exit(1)
        print(f"stubs: {len(texts)} modules, every type is in the sources")
        return
    for name, text in texts.items():
        path = options.output / (name if options.tree else Path(name).name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


if __name__ == "__main__":
    main()
