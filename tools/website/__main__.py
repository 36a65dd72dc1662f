# SPDX-License-Identifier: Apache-2.0
"""Build the documentation site from the installed package, offline, with every warning an error.

Run: python tools/website [OUTPUT], by default build/site; the pages are in OUTPUT/html.
"""

import shutil
import sys
import time
from pathlib import Path

import gallery
import history
import links
import reference
import stage


def main():
    from sphinx.cmd.build import build_main

    output = Path(sys.argv[1] if len(sys.argv) > 1 else stage.ROOT / "build" / "site").resolve()
    source, html = output / "source", output / "html"
    start = time.monotonic()
    shutil.rmtree(output, ignore_errors=True)
    source.mkdir(parents=True)
    stage.stage(source)
    names = reference.write(source / "reference")
    pictures = gallery.write(source / "gallery")
    runs = history.write(source)
    status = build_main(["-W", "--keep-going", "-q", "-j", "auto", "-b", "html", str(source), str(html)])
    if status:
        return status
    found, broken = links.check_site(html)
    for line in broken:
        print(line)
    seconds = time.monotonic() - start
    print(f"website: {len(names)} public names, {pictures} pictures, {runs} benchmark runs")
    print(f"website: {found} links, {len(broken)} broken; {seconds:.0f} s; {html / 'index.html'}")
    return 1 if broken or not names or not found else 0


if __name__ == "__main__":
    sys.exit(main())
