# SPDX-License-Identifier: Apache-2.0
"""Open the built site in headless Chromium: search, width at 390 pixels, contrast of text, pictures of pages.

Run: python tools/website/browse.py SITE PICTURES. Pages are served on the loopback interface, and the browser can reach
no other host. Fails when the search finds nothing, a page is wider than the screen, text lacks contrast (WCAG AA,
4.5:1), or a page asks for another host.
"""

import contextlib
import functools
import http.server
import json
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

PAGES = (
    "index.html",
    "exchange-torch.html",
    "reference/dltensor.html",
    "reference/dltensor.add.html",
    "reference/dltensor.Tensor.html",
    "reference/dltensor.testing.hostcuda.Statistics.html",
    "accuracy.html",
    "benchmark-history.html",
    "gallery/index.html",
    "conformance.html",
)
QUERIES = {
    "saturate": "dltensor.add",
    "negative stride": "",
    "READ_ONLY": "",
    "libdltensor": "extension",
    "install": "readme",
    "convert torch tensor to numpy": "exchange-torch",
}
# Words of the task and the page that must be the first result: index entries of the pages.
FIRST = {
    "boolean mask": "indexing",
    "mask an array": "indexing",
    "broadcasting": "indexing",
    "standardise columns": "indexing",
    "moving average": "indexing",
    "safetensors": "saving-and-loading",
    "float8": "saving-and-loading",
    "zero-copy": "exchange-numpy",
    "print precision": "first-steps",
}
WIDTHS = (390, 1280)
MODES = ("light", "dark")

# Runs in the page: what is wider than the screen, and text whose contrast is too low. The result becomes the title.
PROBE = """
<script>window.addEventListener("load", () => setTimeout(() => {
  const article = document.querySelector(".bd-article-container") || document.documentElement;
  const root = document.documentElement;
  const wide = Math.max(root.scrollWidth - window.innerWidth, article.scrollWidth - article.clientWidth);
  const parse = s => { const v = s.match(/[\\d.]+/g).map(Number); return v.length < 4 ? [...v, 1] : v; };
  const linear = v => { v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; };
  const light = c => { const [r, g, b] = c.map(linear);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const behind = e => {
    for (; e; e = e.parentElement) {
      const c = parse(getComputedStyle(e).backgroundColor);
      if (c[3] > 0.99) return c;
    }
    return [255, 255, 255, 1];
  };
  const low = new Set();
  const walker = document.createTreeWalker(document.querySelector("main") || document.body, NodeFilter.SHOW_TEXT);
  let seen = 0;
  while (walker.nextNode()) {
    const e = walker.currentNode.parentElement, text = walker.currentNode.textContent.trim();
    if (!text || !e.getClientRects().length || getComputedStyle(e).visibility !== "visible") continue;
    if (e.closest("script,style,.headerlink")) continue;
    seen++;
    const fore = parse(getComputedStyle(e).color), back = behind(e);
    const mixed = fore.slice(0, 3).map((v, i) => v * fore[3] + back[i] * (1 - fore[3]));
    const [a, b] = [light(mixed), light(back.slice(0, 3))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.45) low.add(ratio.toFixed(1) + ":1 " + text.slice(0, 30));
  }
  const asked = performance.getEntriesByType("resource").map(r => new URL(r.name).host);
  const hosts = asked.filter(h => h !== location.host);
  document.title = JSON.stringify({wide, seen, low: [...low].slice(0, 6), hosts});
}, 300));</script>
"""


class _Server(http.server.SimpleHTTPRequestHandler):
    """Serves the site; ?probe=MODE adds the script that measures, in a colour mode."""

    def log_message(self, *_):
        pass

    def do_GET(self):
        path, _, query = self.path.partition("?")
        if "probe=" not in query:
            return super().do_GET()
        mode = re.search(r"probe=(\w+)", query)[1]
        text = (Path(self.directory) / path.lstrip("/")).read_text()
        text = text.replace(
            "<head>",
            f'<head><script>localStorage.setItem("mode", "{mode}");localStorage.setItem("theme", "{mode}");</script>',
            1,
        )
        if "picture" not in query:
            text = text.replace("</head>", PROBE + "</head>", 1)
        data = text.encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
        return None


@contextlib.contextmanager
def served(folder):
    """Serve a folder on the loopback interface; the value is its address."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Server, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()


def chromium():
    """Return the browser, or exit: nothing was looked at."""
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    return found or sys.exit("browse: chromium is not installed")


def browse(address, *options, width=1280, height=900, wait=6000):
    """Open a page in a browser without a profile, and return its document."""
    with tempfile.TemporaryDirectory() as profile:
        command = [
            chromium(),
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
            f"--user-data-dir={profile}",
        ]
        command += ["--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", f"--window-size={width},{height}"]
        command += ["--disable-background-networking", f"--virtual-time-budget={wait}", *options, address]
        return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout


def measure(base, site, page, mode, width):
    """Return what the probe found on a page at a width, in a colour mode.

    Chromium's windows are not narrower than 500 pixels, so a page is opened in a frame of its width.
    """
    name = f"frame-{width}-{mode}.html"
    frame = f"""<iframe id=f width={width} height=800 style="border:0" src="{base}/{page}?probe={mode}"></iframe>
<script>setInterval(() => {{ document.title = document.getElementById("f").contentDocument.title; }}, 100)</script>"""
    (site / name).write_text(f"<!doctype html><title>-</title><body style='margin:0'>{frame}")
    try:
        found = re.search(
            r"<title>(\{.*?\})</title>", browse(f"{base}/{name}", "--dump-dom", width=max(width, 500)), re.S
        )
    finally:
        (site / name).unlink()
    return json.loads(found[1].replace("&amp;", "&").replace("&lt;", "<").replace("&gt;", ">")) if found else None


def picture(base, site, page, mode, width, path):
    """Write a picture of a page, narrow ones through a frame."""
    name = f"picture-{width}-{mode}.html"
    target = f"{base}/{page}?probe={mode}&picture"
    frame = f"<iframe width={width} height=2000 style='border:0' src='{target}'></iframe>"
    (site / name).write_text(f"<!doctype html><body style='margin:0'>{frame}")
    try:
        browse(f"{base}/{name}", f"--screenshot={path}", width=max(width, 500), height=2000)
    finally:
        (site / name).unlink()


def search(base, query):
    """Return the addresses that the search page lists for a query."""
    document = browse(f"{base}/search.html?q={query.replace(' ', '+')}", "--dump-dom", wait=10000)
    part = document[document.find('id="search-results"') :]
    return re.findall(r'<a href="([^"]+)"', part[: part.find("</main>")])


def main():
    site, pictures = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    pictures.mkdir(parents=True, exist_ok=True)
    faults = []
    with served(site) as base:
        for query, wanted in (QUERIES | FIRST).items():
            found = search(base, query)
            print(f"search {query!r}: {len(found)} results, first {found[:2]}")
            if not found or not any(wanted in address for address in found):
                faults.append(f"search {query!r} did not find {wanted or 'anything'}")
            elif query in FIRST and wanted not in found[0]:
                faults.append(f"search {query!r} has {found[0]} before {wanted}")
            elif found[0].startswith("decisions/"):
                faults.append(f"search {query!r} has {found[0]} before pages for users")
        for page in PAGES:
            for mode in MODES:
                for width in WIDTHS:
                    found = measure(base, site, page, mode, width)
                    if not found or not found["seen"]:
                        faults.append(f"{page}: nothing was measured at {width} pixels, {mode}")
                        continue
                    if found["wide"] > 0:
                        faults.append(f"{page}: {found['wide']} pixels wider than {width}, {mode}")
                    if found["hosts"]:
                        faults.append(f"{page}: asks {found['hosts']}")
                    if width == max(WIDTHS) and found["low"]:
                        faults.append(f"{page}, {mode}: low contrast: {found['low']}")
                    name = page.replace("/", "-").removesuffix(".html")
                    picture(base, site, page, mode, width, pictures / f"{name}-{width}-{mode}.png")
    print(
        "\n".join([*faults, f"browse: {len(PAGES) * len(MODES) * len(WIDTHS)} views, {len(faults)} faults; {pictures}"])
    )
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
