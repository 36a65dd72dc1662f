# SPDX-License-Identifier: Apache-2.0
"""Pass one photograph through every framework installed here, show that nothing was copied, and write a contact sheet
(PNG) and a report (HTML)."""

import time
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from ..._tools.output import OutputError, check_writable, reason_of
from ..._tools.terminal import Bar, columns_of, complain, fill, say, width

_FILES = ("contact-sheet.png", "work.png", "report.html")


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
        """The frameworks that exported the memory that they imported."""
        return [stop for stop in self.stops if not stop.moved and not stop.passed_by]

    @property
    def title(self):
        """What happened, in one line."""
        copiers = [stop.name for stop in self.stops if stop.moved]
        return (
            "One photograph in every framework, without a copy"
            if not copiers
            else f"One photograph in every framework; copied by {', '.join(copiers)}"
        )

    @property
    def route(self):
        """The frameworks in order, and the address."""
        names = " → ".join(stop.name for stop in self.stops if not stop.passed_by)
        if self.home.data_ptr == self.start.data_ptr:
            return f"{names}: the same address, {self.home.data_ptr:#x}"
        return f"{names}: address {self.start.data_ptr:#x} before, {self.home.data_ptr:#x} after"


def _say(*paragraphs):
    """Print paragraphs folded to the terminal, and an empty line after them."""
    for paragraph in paragraphs:
        say("\n".join(fill(paragraph, width(), indent=3)))
    say()


def _table(rows, right=(), spare=None):
    """Print rows in columns; where they are wider than the terminal, without the column `spare`, and then folded."""
    if spare is not None and sum(max(map(len, column)) + 2 for column in zip(*rows, strict=True)) + 1 > width():
        rows = [row[:spare] + row[spare + 1 :] for row in rows]
        right = [column - (column > spare) for column in right]
    say("\n".join(columns_of(rows, width(), right, indent=3)) + "\n")


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
    OutputError
        What it found cannot be written.
    """
    from . import photo

    try:
        pixels = photo.read()
    except photo.Missing as error:
        complain(str(error))
        return 2
    try:
        options.output.mkdir(parents=True, exist_ok=True)
        for name in _FILES:
            check_writable(options.output / name)
    except OSError as error:
        complain(f"demo: cannot write to {options.output}: {reason_of(error)}; choose another place with --output DIR")
        return 2
    started = time.perf_counter()
    found = _tell(pixels)
    try:
        written = _write(found, options.output)
    except OSError as error:
        raise OutputError(f"cannot write to {options.output}: {reason_of(error)}") from None
    say(f"Written in {time.perf_counter() - started:.1f} s:")
    for path in written:
        say(f"   {path.resolve()}")
    return 0


def _write(found, output):
    """Draw the pictures and write the report: the paths of what was written."""
    from . import report, sheet

    picture, labour, page = (output / name for name in _FILES)
    with Bar() as bar:
        bar.say("drawing ...")
        sheet.draw(found.scenes, found.title, found.route, picture)
        sheet.draw_work(found.works, "Arithmetic on bytes, beside NumPy and torch", labour)
        report.write(found, page)
    return picture, labour, page


def _tell(pixels):
    """Do all that the demo shows, print it, and return it."""
    from . import peers, photo

    say("One photograph in every framework\n", "bold")
    shared, own = _tell_start(pixels)
    with Bar() as bar:
        met, missing = peers.find(lambda what: bar.say(f"{what} ..."))
    painted, home, stops = _tell_journey(own, met)
    scenes, trial, holdings = _tell_views(shared, own, home, met)
    hops, copying = _tell_price(own, met)
    works = _tell_work(own)
    if missing:
        say("Not installed here", "bold")
        _table([[name, reason] for name, reason in missing.items()])
    return Findings(
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


def _tell_start(pixels):
    import dltensor as dl

    from . import journey, photo, report

    say("1  The photograph", "bold")
    shared = dl.from_dlpack(pixels)
    own, took = journey.copy_timed(shared)
    height, columns, channels = shared.shape
    _say(
        f"{photo.FILE}, from matplotlib's sample data: {height} rows of {columns} pixels of {channels} bytes. "
        f"Decoded by Pillow, held by NumPy at {pixels.ctypes.data:#x}.",
        f"dl.from_dlpack(pixels) shows the same memory, {shared.data_ptr:#x}, and keeps NumPy's flag: "
        f"{'read-only' if shared.readonly else 'writable'}.",
        f"To be written to, the photograph is copied once: {shared.nbytes:,} bytes in "
        f"{report.seconds(took)}. From here on nothing is copied.",
    )
    return shared, own


def _tell_journey(own, met):
    from . import journey

    with Bar() as bar:
        bar.say("exchanging ...")
        painted = journey.paint(own, met)
        home, stops = journey.travel(own, met)
    say("2  Addresses", "bold")
    _say("Each framework imports what the one before it exported. The address of the first pixel in its export:")
    _table(
        [["start", hex(own.data_ptr), "", "writable", ""]]
        + [
            [
                stop.name,
                hex(stop.address),
                "refused" if stop.passed_by else "copied" if stop.moved else "same",
                "read-only" if stop.readonly else "writable",
                stop.said,
            ]
            for stop in stops
        ]
    )
    seen = [name for name, shows in painted.items() if shows]
    unseen = [name for name, shows in painted.items() if not shows]
    _say(
        "An orange frame, written through dltensor while the frameworks held the photograph, is seen by "
        f"{', '.join(seen) or 'no other framework'}{f', and not by {chr(44).join(unseen)}' if unseen else ''}."
    )
    return painted, home, stops


def _tell_views(shared, own, home, met):
    from . import journey, photo

    with Bar() as bar:
        bar.say("making views ...")
        scenes = photo.scenes(home)
        writable = {scene.name: scene.tensor for scene in photo.scenes(own)}
        trial = {**writable, "read-only": shared}
        holdings = journey.holdings(trial, met)
    say("3  Views", "bold")
    _say("Another shape, other strides (in elements), another start, over the same memory:")
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
    _say("Who can hold them without a copy:")
    _table(
        [["", *(peer.name for peer in met)]]
        + [[label, *(_word(tensor, holdings[label, peer.name]) for peer in met)] for label, tensor in trial.items()]
    )
    _say(
        "writable! = would let you write to memory that its owner declared immutable.",
        "The reasons of refusals are in the report.",
    )
    return scenes, trial, holdings


def _tell_price(own, met):
    from . import journey, report

    with Bar() as bar:
        hops, copying = journey.price(own, met, lambda what: bar.say(f"{what} ..."))
    say("4  Time of an import and an export", "bold")
    _say("Medians of statements timed by turns, beside the framework's own way:")
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
    _say(f"Copying the photograph once takes {report.seconds(copying)}; an exchange passes only its description.")
    return hops, copying


def _tell_work(own):
    from . import report, work

    with Bar() as bar:
        bar.say("working on the pixels ...")
        works = work.work(own)
    say("5  Operations on the pixels", "bold")
    _say("Timed by turns with the peers; the results are compared with theirs:")
    others = [name for name in works[0].times if name != "dltensor"]
    _table(
        [["", "through dltensor", "ours", *others, "speed-up", "difference"]]
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
    return works


def _word(tensor, holding):
    """What the table says about one holding."""
    if holding.verdict != "same memory":
        return holding.verdict
    if tensor.readonly and not holding.readonly:
        return "writable!"
    return "read-only" if holding.readonly else "held"
