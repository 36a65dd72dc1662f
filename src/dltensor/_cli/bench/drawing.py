# SPDX-License-Identifier: Apache-2.0
"""The figures of a benchmark as text with bars, and as SVG. Measures nothing."""

import math
from html import escape

from ..._tools.terminal import fill

_BAR = 16
_SPAN = 32.0
"""The ratio at which a bar is full, either way; bars are logarithmic."""
_POWERS = (-5, -3, 0, 3, 5)
"""Ticks, as powers of two."""


def _length(ratio, full):
    return full * min(abs(math.log(ratio)), math.log(_SPAN)) / math.log(_SPAN)


def _tick(power):
    """A power of two as a ratio, exactly: 1/8 x, 8 x."""
    return f"{2**power} x" if power >= 0 else f"1/{2**-power} x"


def text(rows, missing, columns=100):
    """Return a table with a bar per row: to the right of the line dltensor is faster.

    The bars are left out where `columns` leaves no space for the peers' statements.
    """
    from . import BIAS

    half = _BAR // 2
    names = [f"{row.group}: {row.what}" for row in rows]
    left = max([len(name) for name in names] + [8])
    figures = left + 9 + 9 + 8 + 2
    with_bars = figures + _BAR + 3 + 20 <= columns
    heads = f"{'':{left}}{'ns':>9}{'peer ns':>9}{'ratio':>8}  "
    if with_bars:
        heads += f"{'slower':<{half}}|{'faster':<{half}}  "
    lines = [heads + "fastest peer"]
    for name, row in zip(names, rows, strict=True):
        filled = "#" * round(_length(row.ratio, half))
        bar = f"{'':{half}}|{filled:<{half}}" if row.ratio >= 1 else f"{filled:>{half}}|{'':{half}}"
        line = f"{name:{left}}{row.ns:9.0f}{row.peer_ns:9.0f}{row.ratio:7.2f}x  {bar + '  ' if with_bars else ''}"
        width = max(columns - len(line), 8)
        lines.append((line + (row.peer if len(row.peer) <= width else row.peer[: width - 3] + "...")).rstrip())
    for name, what in missing.items():
        lines += fill(f"{name}: not measured: needs {what}", columns)
    return "\n".join([*lines, "", *fill(BIAS, columns)])


def svg(rows):
    """Return the ratios as bars: to the right of the line dltensor is faster.

    >>> from dltensor._cli.bench import Measured
    >>> svg([Measured("call", "a + b", "a + b", "na + nb", 20.0, 100.0, 5.0)]).startswith("<svg")
    True
    """
    left, half, height = 290, 200, 20 * len(rows) + 70
    middle, width = left + half, left + 2 * half + 90
    parts = []
    for power in _POWERS:
        x = middle + half * power / 5
        parts.append(
            f'<line x1="{x:.0f}" x2="{x:.0f}" y1="34" y2="{height - 24}" stroke="#888" stroke-opacity=".5"/>'
            f'<text x="{x:.0f}" y="28" text-anchor="middle">{_tick(power)}</text>'
        )
    for place, row in enumerate(rows):
        y, length = 40 + 20 * place, _length(row.ratio, half)
        start = middle if row.ratio >= 1 else middle - length
        colour = "#2a7f62" if row.ratio >= 1 else "#c0392b"
        parts.append(
            f"<g><title>{escape(f'{row.ours}: {row.ns:.0f} ns; {row.peer}: {row.peer_ns:.0f} ns')}</title>"
            f'<text x="{left - 8}" y="{y + 12}" text-anchor="end">{escape(f"{row.group}: {row.what}")}</text>'
            f'<rect x="{start:.1f}" y="{y}" width="{max(length, 1):.1f}" height="15" fill="{colour}"/>'
            f'<text x="{width - 8}" y="{y + 12}" text-anchor="end">{row.ratio:.2f} x</text></g>'
        )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'role="img" aria-label="dltensor bench"><title>the fastest peer&#39;s time over that of dltensor</title>'
        f"<style>text{{font:12px Verdana,DejaVu Sans,sans-serif;fill:#222}}"
        f"@media(prefers-color-scheme:dark){{text{{fill:#ddd}}}}</style>{''.join(parts)}"
        f'<text x="8" y="{height - 8}">The fastest peer&#39;s time over ours, one thread, warm caches; rows chosen by '
        f"the authors.</text></svg>\n"
    )
