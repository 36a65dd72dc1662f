# SPDX-License-Identifier: Apache-2.0
"""The report: everything the demo found as one HTML file that needs no network. Finds out nothing itself."""

import base64
import platform
import re
from html import escape

from .sheet import encode, layout

_STYLE = """
:root { color-scheme: light dark; --paper: #faf9f6; --card: #fff; --ink: #1d2330; --quiet: #5b6475; --line: #e3e1da;
  --good: #0b6e4f; --good-soft: #e2f3ec; --warn: #8a5300; --warn-soft: #fdf0d8; --bad: #a3262a; --bad-soft: #fbe6e6;
  --ours: #2f6fdb; --own: #b9bfca; }
@media (prefers-color-scheme: dark) { :root { --paper: #14171d; --card: #1c2129; --ink: #e8eaee; --quiet: #a0a8b6;
  --line: #313845; --good: #6fd6b0; --good-soft: #14352b; --warn: #f0bf6b; --warn-soft: #3a2c12; --bad: #f29a9c;
  --bad-soft: #3e1f21; --ours: #6d9df0; --own: #566073; } }
* { box-sizing: border-box }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 16px/1.55 system-ui, "Segoe UI", "DejaVu Sans", sans-serif }
main { max-width: 72rem; margin: 0 auto; padding: 3rem 1.5rem 4rem }
h1 { font-size: 2.1rem; line-height: 1.2; margin: 0 0 .6rem; letter-spacing: -.01em }
h2 { font-size: 1.3rem; margin: 3rem 0 .4rem }
p { margin: .4rem 0 1rem; max-width: 46rem }
.lead { font-size: 1.12rem }
.quiet, small { color: var(--quiet) }
code, .num { font-family: ui-monospace, "DejaVu Sans Mono", monospace; font-size: .88em }
.facts { display: grid; grid-template-columns: repeat(auto-fit, minmax(11rem, 1fr)); gap: 1rem; margin: 1.6rem 0 }
.fact { background: var(--card); border: 1px solid var(--line); border-radius: .6rem; padding: .9rem 1.1rem }
.fact b { display: block; font-size: 1.65rem; line-height: 1.2; font-variant-numeric: tabular-nums }
.fact span { color: var(--quiet); font-size: .9rem }
.views { display: grid; grid-template-columns: repeat(auto-fill, minmax(17rem, 1fr)); gap: 1.2rem; margin-top: 1.2rem }
figure { margin: 0; background: var(--card); border: 1px solid var(--line); border-radius: .6rem; overflow: hidden }
figure .pic { height: 17rem; padding: .9rem .9rem 0 }
figure img { width: 100%; height: 100%; object-fit: contain; object-position: left; display: block }
figcaption { padding: .8rem 1.1rem 1rem; font-size: .9rem; line-height: 1.5 }
figcaption code { display: block; font-size: .92rem; margin-bottom: .2rem }
.scroll { overflow-x: auto }
table { border-collapse: collapse; width: 100%; font-size: .92rem; margin-top: .6rem }
th { text-align: left; font-weight: 600; color: var(--quiet); border-bottom: 2px solid var(--line) }
th, td { padding: .42rem .9rem .42rem 0; vertical-align: baseline }
td { border-bottom: 1px solid var(--line) }
.r { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap }
.tag { display: inline-block; padding: .05rem .5rem; border-radius: 1rem; font-size: .85rem; white-space: nowrap }
.good { color: var(--good); background: var(--good-soft) } .warn { color: var(--warn); background: var(--warn-soft) }
.bad { color: var(--bad); background: var(--bad-soft) }
.bars { width: 9rem }
td:first-child, td code { white-space: nowrap }
.bar { height: .42rem; border-radius: .2rem; margin: .16rem 0; min-width: 2px }
.ours { background: var(--ours) } .own { background: var(--own) }
.key { display: inline-block; width: .8rem; height: .5rem; border-radius: .15rem; margin: 0 .35rem 0 0 }
ol.notes { padding-left: 1.3rem; font-size: .9rem; color: var(--quiet) } ol.notes li { margin: .25rem 0 }
footer { margin-top: 3.5rem; padding-top: 1rem; border-top: 1px solid var(--line); color: var(--quiet);
  font-size: .88rem }
"""


def seconds(value):
    """A time in a unit that suits it.

    Raises
    ------
    TypeError
        `value` is no number.

    Examples
    --------
    >>> from dltensor._cli.demo.report import seconds
    >>> seconds(3.2e-8), seconds(1.234e-5), seconds(0.25)
    ('32 ns', '12.3 µs', '250 ms')
    """
    for unit, scale in (("ns", 1e-9), ("µs", 1e-6), ("ms", 1e-3)):
        if value < 999.5 * scale:
            number = value / scale
            return f"{number:.0f} {unit}" if unit == "ns" or number >= 100 else f"{number:.3g} {unit}"
    return f"{value:.3g} s"


def _table(heads, rows, right=()):
    """A table; cells are HTML already. `right` numbers the columns whose figures are flush right."""

    def cells(kind, row):
        return "".join(f"<{kind}{' class=r' if i in right else ''}>{cell}</{kind}>" for i, cell in enumerate(row))

    body = "".join(f"<tr>{cells('td', row)}</tr>" for row in rows)
    return f"<div class=scroll><table><thead><tr>{cells('th', heads)}</tr></thead><tbody>{body}</tbody></table></div>"


def _code(text):
    return f"<code>{escape(text)}</code>"


def _tag(kind, text):
    return f"<span class='tag {kind}'>{escape(text)}</span>"


def _views(scenes):
    cards = []
    for scene in scenes:
        source = "data:image/png;base64," + base64.b64encode(encode(scene.tensor)).decode()
        shape, strides = layout(scene.tensor)
        cards.append(
            f"<figure><div class=pic><img alt='{escape(scene.name)}' src='{source}'></div><figcaption>"
            f"{_code(scene.expression)}{shape}<br>{strides}<br>"
            f"<span class=quiet>{escape(scene.remark)}</span></figcaption></figure>"
        )
    return f"<div class=views>{''.join(cards)}</div>"


def _stops(found):
    rows = []
    for number, stop in enumerate(found.stops, 1):
        tag = (
            _tag("bad", "passed by")
            if stop.passed_by
            else _tag("warn", "copied")
            if stop.moved
            else _tag("good", "same memory")
        )
        rows.append(
            [
                str(number),
                escape(stop.name),
                _code(hex(stop.address)),
                tag,
                "no" if stop.readonly else "yes",
                f"<span class=quiet>{escape(stop.said)}</span>",
            ]
        )
    return _table(("", "station", "address of the first pixel", "", "writable", ""), rows)


def _holdings(found):
    peers = [peer.name for peer in found.peers]
    notes, rows = {}, []
    for label, source in found.trial.items():
        row = [escape(label)]
        for name in peers:
            holding = found.holdings[label, name]
            if holding.verdict == "refused":
                # The same words about other shapes are the same reason.
                said = re.sub(r"[-\d,\[\]() ]+", " ", holding.reason)
                number, _ = notes.setdefault(said, (len(notes) + 1, holding.reason))
                row.append(f"{_tag('bad', 'refused')}<sup> {number}</sup>")
            elif holding.verdict == "copied":
                row.append(_tag("warn", "copied"))
            elif source.readonly and not holding.readonly:
                row.append(_tag("warn", "writable!"))
            else:
                row.append(_tag("good", "read-only" if holding.readonly else "held"))
        rows.append(row)
    listed = "".join(f"<li>{escape(note)}</li>" for _, note in notes.values())
    return _table(("", *map(escape, peers)), rows) + (f"<ol class=notes>{listed}</ol>" if notes else "")


def _hops(found):
    rows = []
    for hop in found.hops:
        longest = max(hop.our_time, hop.own_time) or 1.0
        bars = "".join(
            f"<div class='bar {kind}' style='width:{100 * (value / longest):.1f}%'></div>"
            for kind, value in (("ours", hop.our_time), ("own", hop.own_time))
        )
        ratio = hop.own_time / hop.our_time if hop.our_time else float("inf")
        rows.append(
            [
                escape(hop.name),
                _code(hop.ours),
                seconds(hop.our_time),
                _code(hop.own),
                seconds(hop.own_time),
                f"{ratio:.1f} ×",
                f"<div class=bars>{bars}</div>",
            ]
        )
    return _table(("", "through dltensor", "", "the framework's own way", "", "speed-up", ""), rows, right=(2, 4, 5))


def _works(found):
    names = list(found.works[0].times)
    rows = [
        [
            escape(one.name),
            _code(one.expression),
            *[seconds(one.times[name]) for name in names],
            f"{one.speed_up:.1f} ×",
            f"{max(one.differs.values()):.2g}",
        ]
        for one in found.works
    ]
    return _table(
        ("", "through dltensor", *names, "speed-up", "differs by"), rows, right=tuple(range(2, 4 + len(names)))
    )


def write(found, path):
    """Write the report.

    Parameters
    ----------
    found : Findings
    path : pathlib.Path

    Raises
    ------
    OSError
        The file cannot be written.
    """
    photo, hops = found.home, found.hops
    came = (
        "came home at the address where it started"
        if photo.data_ptr == found.start.data_ptr
        else "came home at another address than it started from"
    )
    faster = sum(hop.our_time < hop.own_time for hop in hops)
    facts = "".join(
        f"<div class=fact><b>{value}</b><span>{label}</span></div>"
        for value, label in (
            (f"{len(found.kept)} of {len(found.stops)}", "stations held the same memory"),
            (f"{photo.nbytes:,}", "bytes in the photograph"),
            (seconds(min((hop.our_time for hop in hops), default=0)), "fastest hop"),
            (seconds(found.copying), "one real copy, for comparison"),
        )
    )
    painted = ", ".join(escape(name) for name, seen in found.painted.items() if seen)
    absent = "".join(f"<li>{escape(name)}: {_code(reason)}</li>" for name, reason in found.missing.items())
    versions = ", ".join(f"{escape(peer.name)} {escape(peer.version)}" for peer in found.peers)
    path.write_text(
        f"""<!doctype html>
<html lang=en><head><meta charset=utf-8><meta name=viewport content="width=device-width, initial-scale=1">
<title>dltensor: a photograph travels</title><style>{_STYLE}</style></head><body><main>
<h1>{escape(found.title)}</h1>
<p class=lead>One photograph was handed from framework to framework and {came}. Every figure
below was observed in this run, on this machine.</p>
<div class=facts>{facts}</div>

<h2>What came home, and views of it</h2>
<p>A view is another shape, other strides and another start over the same memory. Each picture below was made by the
expression under it; none of them copied a byte. Strides count elements, a negative one walks backwards. The orange
frame was painted once, through dltensor, while others held the photograph: it showed in
{painted or "no other framework"}.</p>
{_views(found.scenes)}

<h2>The journey</h2>
<p>Each station got what came back from the one before. The address is that of the first pixel as dltensor sees it on
the way back.</p>
{_stops(found)}

<h2>Who can hold what</h2>
<p>Frameworks differ in the strides they can hold, and in what they make of memory that must not be written to. dltensor
hands over what the standard allows, keeps the read-only mark and passes refusals on with the reason. <em>Writable!</em>
means that the framework would let you write to memory that its owner declared immutable.</p>
{_holdings(found)}

<h2>What a hop costs</h2>
<p>Medians, both statements timed by turns in this process. <span class="key ours"></span>dltensor
<span class="key own" style="margin-left:.8rem"></span>the framework's own way, each pair to its own scale. No hop
depends on the size of the photograph: only its description travels.</p>
{_hops(found)}
<p class=quiet>{faster} of {len(hops)} hops are faster through dltensor here. The two sides do not promise the same:
dltensor judges every tensor it takes; NumPy, for one, does not.</p>

<h2>Work on the pixels</h2>
<p>Brightness, contrast, conversion, a colour matrix and a mask, timed by turns with the peers; the last column is by
how much results differ at most, in units of the result.</p>
{_works(found)}
{f"<h2>Not met today</h2><ul>{absent}</ul>" if absent else ""}
<footer>dltensor {escape(found.version)}, Python {platform.python_version()}, {platform.system()} {platform.machine()}.
Met: {versions}.<br>{escape(found.credit)}.</footer>
</main></body></html>
""",
        encoding="utf-8",
    )
