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
    """The results of the demo, as shown in the report."""

    version: str
    credit: str
    start: object
    home: object
    peers: list
    missing: dict
    steps: list
    painted: dict
    scenes: list
    trial: dict
    holdings: dict
    timings: list
    copying: float
    works: list

    @property
    def kept(self):
        """The frameworks that exported the memory that they imported."""
        return [step for step in self.steps if not step.moved and not step.refused]

    @property
    def title(self):
        """The result in one line."""
        copiers = [step.name for step in self.steps if step.moved]
        return (
            "One photograph in every framework, without a copy"
            if not copiers
            else f"One photograph in every framework; copied by {', '.join(copiers)}"
        )

    @property
    def route(self):
        """The frameworks in order, and the address."""
        names = " → ".join(step.name for step in self.steps if not step.refused)
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
    """Declare the options of the command."""
    parser.add_argument(
        "--output",
        metavar="DIR",
        type=Path,
        default=Path("demo-output"),
        help="where the pictures and the report go (default: ./demo-output)",
    )


def run(options):
    """Run the demo and return its exit status: 0, or 2 when a requirement is missing."""
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
    found = _run_all(pixels)
    try:
        written = _write(found, options.output)
    except OSError as error:
        raise OutputError(f"cannot write to {options.output}: {reason_of(error)}") from None
    say(f"Written in {time.perf_counter() - started:.1f} s:")
    for path in written:
        say(f"   {path.resolve()}")
    return 0


def _write(found, output):
    """Draw the pictures, write the report, and return the paths of the files."""
    from . import report, sheet

    picture, works, page = (output / name for name in _FILES)
    with Bar() as bar:
        bar.say("drawing ...")
        sheet.draw(found.scenes, found.title, found.route, picture)
        sheet.draw_work(found.works, "Arithmetic on bytes, next to NumPy and torch", works)
        report.write(found, page)
    return picture, works, page


def _run_all(pixels):
    """Run all parts of the demo, print the results, and return them."""
    from . import peers, photo

    say("One photograph in every framework\n", "bold")
    shared, own = _show_start(pixels)
    with Bar() as bar:
        usable, missing = peers.find(lambda what: bar.say(f"{what} ..."))
    painted, home, steps = _show_exchange(own, usable)
    scenes, trial, holdings = _show_views(shared, own, home, usable)
    timings, copying = _show_timing(own, usable)
    works = _show_work(own)
    if missing:
        say("Not installed here", "bold")
        _table([[name, reason] for name, reason in missing.items()])
    return Findings(
        version("dltensor"),
        photo.CREDIT,
        own,
        home,
        usable,
        missing,
        steps,
        painted,
        scenes,
        trial,
        holdings,
        timings,
        copying,
        works,
    )


def _show_start(pixels):
    import dltensor as dl

    from . import photo

    say("1  The photograph", "bold")
    shared = dl.from_dlpack(pixels)
    own = shared.copy()
    height, columns, channels = shared.shape
    _say(
        f"{photo.FILE}, from matplotlib's sample data: {height} rows of {columns} pixels of {channels} bytes. "
        f"Decoded by Pillow, held by NumPy at {pixels.ctypes.data:#x}.",
        f"dl.from_dlpack(pixels) shows the same memory, {shared.data_ptr:#x}, and keeps NumPy's flag: "
        f"{'read-only' if shared.readonly else 'writable'}.",
        f"To be written to, the photograph is copied once: {shared.nbytes:,} bytes. From here on nothing is copied.",
    )
    return shared, own


def _show_exchange(own, usable):
    from . import exchange

    with Bar() as bar:
        bar.say("exchanging ...")
        painted = exchange.paint(own, usable)
        home, steps = exchange.pass_around(own, usable)
    say("2  Addresses", "bold")
    _say("Each framework imports what the one before it exported. The address of the first pixel in its export:")
    _table(
        [["start", hex(own.data_ptr), "", "writable", ""]]
        + [
            [
                step.name,
                hex(step.address),
                "refused" if step.refused else "copied" if step.moved else "same",
                "read-only" if step.readonly else "writable",
                step.remark,
            ]
            for step in steps
        ]
    )
    seen = [name for name, shows in painted.items() if shows]
    unseen = [name for name, shows in painted.items() if not shows]
    _say(
        "An orange frame, written through dltensor while the frameworks held the photograph, is seen by "
        f"{', '.join(seen) or 'no other framework'}{f', and not by {chr(44).join(unseen)}' if unseen else ''}."
    )
    return painted, home, steps


def _show_views(shared, own, home, usable):
    from . import exchange, photo

    with Bar() as bar:
        bar.say("making views ...")
        scenes = photo.scenes(home)
        writable = {scene.name: scene.tensor for scene in photo.scenes(own)}
        trial = {**writable, "read-only": shared}
        holdings = exchange.holdings(trial, usable)
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
    _say("Frameworks that can hold them without a copy:")
    _table(
        [["", *(peer.name for peer in usable)]]
        + [[label, *(_word(tensor, holdings[label, peer.name]) for peer in usable)] for label, tensor in trial.items()]
    )
    _say(
        "writable! = would let you write to memory that its owner declared immutable.",
        "The reasons of refusals are in the report.",
    )
    return scenes, trial, holdings


def _show_timing(own, usable):
    from . import exchange, report

    with Bar() as bar:
        timings, copying = exchange.time_exchanges(own, usable, lambda what: bar.say(f"{what} ..."))
    say("4  Time of an import and an export", "bold")
    _say("Medians of statements timed alternately with the framework's own way:")
    _table(
        [["", "through dltensor", "ours", "its own way", "its", "speed-up"]]
        + [
            [
                timing.name,
                timing.ours,
                report.seconds(timing.our_time),
                timing.own,
                report.seconds(timing.own_time),
                f"{timing.own_time / timing.our_time:.1f} x" if timing.our_time else "-",
            ]
            for timing in timings
        ],
        right=(2, 4, 5),
        spare=3,
    )
    _say(f"Copying the photograph once takes {report.seconds(copying)}; an exchange passes only its description.")
    return timings, copying


def _show_work(own):
    from . import report, work

    with Bar() as bar:
        bar.say("working on the pixels ...")
        works = work.work(own)
    say("5  Operations on the pixels", "bold")
    _say("Timed alternately with the peers; the results are compared with theirs:")
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
    """Return the table's text for one import."""
    if holding.verdict != "same memory":
        return holding.verdict
    if tensor.readonly and not holding.readonly:
        return "writable!"
    return "read-only" if holding.readonly else "held"
