# SPDX-License-Identifier: Apache-2.0
"""Send one photograph through every framework installed here and back, show that nothing was copied, and write a
contact sheet (PNG) and a report (HTML) where you can see them."""

import shutil
import sys
import time
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path


@dataclass
class Findings:
    """All that the demo found out: what the report shows."""

    version: str
    credit: str
    start: object
    home: object
    peers: list
    missing: dict
    stops: list
    painted: dict
    scenes: list
    trial: dict
    holdings: dict
    hops: list
    copying: float
    works: list

    @property
    def kept(self):
        """The stations that handed on the very memory they got."""
        return [stop for stop in self.stops if not stop.moved and not stop.passed_by]

    @property
    def title(self):
        """What happened, in one line."""
        copiers = [stop.name for stop in self.stops if stop.moved]
        return (
            "A photograph travels, and nobody copies it"
            if not copiers
            else f"A photograph travels; copied by {', '.join(copiers)}"
        )

    @property
    def route(self):
        """The stations in order, and the address."""
        names = " → ".join(stop.name for stop in self.stops if not stop.passed_by)
        if self.home.data_ptr == self.start.data_ptr:
            return f"{names} → home, at {self.home.data_ptr:#x} all the way"
        return f"{names} → home, from {self.start.data_ptr:#x} to {self.home.data_ptr:#x}"


class _Progress:
    """One line on a terminal that says what is going on, and goes away; nothing when nobody watches."""

    def __init__(self, stream):
        self.stream, self.shown = stream, stream.isatty()

    def __call__(self, text=""):
        if self.shown:
            self.stream.write(f"\r\033[K{text + ' ...' if text else ''}")
            self.stream.flush()


def _columns():
    return shutil.get_terminal_size((110, 24)).columns


def _say(text="", indent=3):
    for line in text.splitlines() or [""]:
        print(" " * indent + line if line else "")


def _table(rows, right=(), spare=None):
    """Print rows in columns; where they are wider than the terminal, without the column `spare`."""
    if spare is not None and sum(max(map(len, column)) + 2 for column in zip(*rows, strict=True)) + 1 > _columns():
        rows = [row[:spare] + row[spare + 1 :] for row in rows]
        right = [column - (column > spare) for column in right]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        cells = [
            cell.rjust(width) if column in right else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        _say("  ".join(cells).rstrip())
    print()


def arguments(parser):
    """Declare the options of the command.

    Raises
    ------
    argparse.ArgumentError
        An option is declared twice, which only a change of this function can cause.
    """
    parser.add_argument(
        "--output",
        metavar="DIR",
        type=Path,
        default=Path("demo-output"),
        help="where the pictures and the report go (default: ./demo-output)",
    )


def run(options):
    """Run the demo and return its exit status: 0, or 2 when something that it needs is not there.

    Raises
    ------
    MemoryError
        No memory is left.
    """
    from . import photo

    try:
        pixels = photo.read()
        options.output.mkdir(parents=True, exist_ok=True)
    except (photo.Missing, OSError) as error:
        print(
            error
            if isinstance(error, photo.Missing)
            else f"demo: cannot write to {options.output}: {error}; choose another place with --output DIR",
            file=sys.stderr,
        )
        return 2
    _run(pixels, options.output)
    return 0


def _run(pixels, output):
    import dltensor as dl

    from . import journey, peers, photo, report, sheet, work

    progress = _Progress(sys.stderr)
    started = time.perf_counter()
    print("A photograph travels\n")

    print("1  The photograph")
    shared = dl.from_dlpack(pixels)
    own, took = journey.copy_timed(shared)
    height, width, channels = shared.shape
    _say(
        f"{photo.FILE}, from matplotlib's sample data: {height} rows of {width} pixels of {channels} bytes.\n"
        f"Decoded by Pillow, held by NumPy at {pixels.ctypes.data:#x}.\n"
        f"dl.from_dlpack(pixels) shows the same memory, {shared.data_ptr:#x}, and keeps\n"
        f"NumPy's word on it: {'read-only' if shared.readonly else 'writable'}.\n"
        f"To be painted on, the photograph moves once into memory of its own: one copy of\n"
        f"{shared.nbytes:,} bytes in {report.seconds(took)}. From here on nothing is copied.\n"
    )
    print()

    met, missing = peers.find(progress)
    progress("travelling")
    painted = journey.paint(own, met)
    home, stops = journey.travel(own, met)
    progress()
    print("2  The journey")
    _say("Each station gets what came back from the one before. Its address, seen on the way back:\n\n")
    _table(
        [["start", hex(own.data_ptr), "", "writable", ""]]
        + [
            [
                stop.name,
                hex(stop.address),
                "passed by" if stop.passed_by else "copied" if stop.moved else "same",
                "read-only" if stop.readonly else "writable",
                stop.said,
            ]
            for stop in stops
        ]
    )
    seen = [name for name, shows in painted.items() if shows]
    unseen = [name for name, shows in painted.items() if not shows]
    _say(
        "An orange frame, painted through dltensor while others held the photograph, shows in\n"
        f"{', '.join(seen) or 'no other framework'}{f', and not in {chr(44).join(unseen)}' if unseen else ''}.\n"
    )
    print()

    progress("looking from all sides")
    scenes = photo.scenes(home)
    writable = {scene.name: scene.tensor for scene in photo.scenes(own)}
    trial = {**writable, "read-only": shared}
    holdings = journey.holdings(trial, met)
    progress()
    print("3  Views")
    _say("Another shape, other strides (in elements), another start, over the same memory:\n\n")
    _table(
        [["", "expression", "shape", "strides", "bytes copied"]]
        + [
            [
                scene.name,
                scene.expression,
                str(scene.tensor.shape),
                str(scene.tensor.strides),
                "0" if scene.tensor.same_memory(home) else str(scene.tensor.nbytes),
            ]
            for scene in scenes
        ],
        right=(4,),
    )
    _say("Who can hold them without a copy:\n\n")
    _table(
        [["", *(peer.name for peer in met)]]
        + [[label, *(_word(tensor, holdings[label, peer.name]) for peer in met)] for label, tensor in trial.items()]
    )
    _say(
        "writable! = would let you write to memory that its owner declared immutable.\n"
        "Why somebody refused stands in the report.\n"
    )
    print()

    hops, copying = journey.price(own, met, progress)
    progress()
    print("4  What a hop costs")
    _say("Medians of statements timed by turns, beside the framework's own way:\n\n")
    _table(
        [["", "through dltensor", "ours", "its own way", "its", "speed-up"]]
        + [
            [
                hop.name,
                hop.ours,
                report.seconds(hop.our_time),
                hop.own,
                report.seconds(hop.own_time),
                f"{hop.own_time / hop.our_time:.1f} x" if hop.our_time else "-",
            ]
            for hop in hops
        ],
        right=(2, 4, 5),
        spare=3,
    )
    _say(f"Copying the photograph once takes {report.seconds(copying)}; a hop moves only its description.\n")
    print()

    progress("working on the pixels")
    works = work.work(own)
    progress()
    print("5  Work on the pixels")
    _say("Element by element, beside the peers by turns; what came out is compared with theirs:\n\n")
    others = [name for name in works[0].times if name != "dltensor"]
    _table(
        [["", "through dltensor", "ours", *others, "speed-up", "differs by"]]
        + [
            [
                one.name,
                one.expression,
                report.seconds(one.times["dltensor"]),
                *[report.seconds(one.times[name]) for name in others],
                f"{one.speed_up:.1f} x",
                f"{max(one.differs.values()):.2g}",
            ]
            for one in works
        ],
        right=tuple(range(2, 5 + len(others))),
        spare=1,
    )
    print()
    if missing:
        print("Not met, because not installed here")
        _table([[name, reason] for name, reason in missing.items()])

    progress("drawing")
    found = Findings(
        version("dltensor"),
        photo.CREDIT,
        own,
        home,
        met,
        missing,
        stops,
        painted,
        scenes,
        trial,
        holdings,
        hops,
        copying,
        works,
    )
    picture, page = output / "contact-sheet.png", output / "report.html"
    sheet.draw(scenes, found.title, found.route, picture)
    labour = output / "work.png"
    sheet.draw_work(works, "Arithmetic on bytes, beside NumPy and torch", labour)
    report.write(found, page)
    progress()
    print(f"Written in {time.perf_counter() - started:.1f} s, to be looked at:")
    for path in (picture, labour, page):
        _say(str(path.resolve()))


def _word(tensor, holding):
    """What the table says about one holding."""
    if holding.verdict != "same memory":
        return holding.verdict
    if tensor.readonly and not holding.readonly:
        return "writable!"
    return "read-only" if holding.readonly else "held"
