# SPDX-License-Identifier: Apache-2.0
"""HTML for every report: escaping, elements, tables, pages, and the one style sheet in light and dark. No content."""

from html import escape

# Variables of the style sheet. tests/test_pages.py computes the contrast of every pair of text and background.
_LIGHT = (
    "color-scheme:light;--paper:#faf9f6;--card:#fff;--ink:#1d2330;--quiet:#4c5566;--line:#d5d2c8;--shade:#dcd9d0;"
    "--good:#0b5f44;--good-soft:#e2f3ec;--warn:#744500;--warn-soft:#fdf0d8;--bad:#a3262a;--bad-soft:#fbe6e6;"
    "--ours:#2f6fdb;--own:#9aa2b1"
)
_DARK = (
    "color-scheme:dark;--paper:#14171d;--card:#1c2129;--ink:#e8eaee;--quiet:#adb5c2;--line:#3a424f;--shade:#343c49;"
    "--good:#6fd6b0;--good-soft:#14352b;--warn:#f0bf6b;--warn-soft:#3a2c12;--bad:#f5a9ab;--bad-soft:#3e1f21;"
    "--ours:#6d9df0;--own:#7a8494"
)

# Style that a notebook's output and a page share. Jupyter and VS Code state their theme on `body`; everywhere else the
# browser's preference counts. `.dlt.dlt` outranks the rules that Jupyter has for tables.
FRAGMENT_STYLE = f"""
.dlt{{{_LIGHT}}}
@media (prefers-color-scheme:dark){{.dlt{{{_DARK}}}}}
body[data-jp-theme-light=true] .dlt,body.vscode-light .dlt{{{_LIGHT}}}
body[data-jp-theme-light=false] .dlt,body.vscode-dark .dlt{{{_DARK}}}
.dlt{{background:var(--paper);color:var(--ink);font:13px/1.5 system-ui,"Segoe UI","DejaVu Sans",sans-serif;
text-align:left;padding:.5em .8em}}
.dlt *{{box-sizing:border-box}}
.dlt code,.dlt pre,.dlt svg{{font-family:ui-monospace,Menlo,Consolas,"DejaVu Sans Mono",monospace}}
.dlt code{{font-size:.9em;overflow-wrap:anywhere}}
.dlt pre{{margin:.4em 0;font-size:.95em;line-height:1.4;text-align:left;color:inherit;background:none}}
.dlt .head{{overflow-wrap:anywhere}}
.dlt .scroll{{overflow-x:auto;background:linear-gradient(to right,var(--paper) 40%,transparent) left/2.4em 100%,
linear-gradient(to left,var(--paper) 40%,transparent) right/2.4em 100%,
linear-gradient(to right,transparent 2px,var(--shade) 2px,transparent) left/1.2em 100%,
linear-gradient(to left,transparent 2px,var(--shade) 2px,transparent) right/1.2em 100%;
background-repeat:no-repeat;background-attachment:local,local,scroll,scroll}}
.dlt.dlt table{{border-collapse:collapse;border:0;margin:0;font-size:inherit;color:inherit}}
.dlt.dlt tbody tr{{background:none}}
.dlt.dlt th,.dlt.dlt td{{text-align:left;vertical-align:baseline;padding:.12em 1em .12em 0;overflow-wrap:anywhere;
white-space:normal;max-width:none}}
.dlt.dlt th{{font-weight:600;overflow-wrap:normal}}
.dlt.dlt .r{{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}}
.dlt details{{margin:.3em 0}}
.dlt summary{{cursor:pointer;font-weight:600}}
.dlt .quiet{{color:var(--quiet)}}
.dlt .good{{color:var(--good)}}
.dlt .warn{{color:var(--warn)}}
.dlt .bad{{color:var(--bad)}}
.dlt svg{{display:block;margin:.3em 0}}
.dlt svg text.at{{fill:var(--quiet)}}
.dlt svg rect.skipped{{stroke:var(--quiet)}}
"""

# Style of pages alone.
PAGE_STYLE = """
body.dlt{margin:0;padding:0;font-size:16px;line-height:1.55}
main{max-width:72rem;margin:0 auto;padding:2.5rem 1.5rem 4rem;overflow-wrap:break-word}
h1{font-size:2rem;line-height:1.2;margin:0 0 .6rem;letter-spacing:-.01em;overflow-wrap:anywhere}
h2{font-size:1.3rem;margin:2.6rem 0 .4rem}
p{margin:.4rem 0 1rem;max-width:46rem}
.lead{font-size:1.12rem}
main summary{font-size:1.1rem;margin:1.4rem 0 .3rem}
main details .scroll{font-size:.92rem}
.facts{display:grid;grid-template-columns:repeat(auto-fit,minmax(11rem,1fr));gap:1rem;margin:1.6rem 0}
.fact,figure,.card{background:var(--card);color:var(--ink);border:1px solid var(--line);border-radius:.6rem}
.fact{padding:.9rem 1.1rem}
.fact b{display:block;font-size:1.5rem;line-height:1.2;font-variant-numeric:tabular-nums}
.fact span{color:var(--quiet);font-size:.9rem}
.card{margin:1rem 0;padding:.8rem 1rem}
.dlt .card .scroll{--paper:var(--card)}
.views{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(17rem,100%),1fr));gap:1.2rem;margin-top:1.2rem}
figure{margin:0;overflow:hidden}
figure .pic{height:17rem;padding:.9rem .9rem 0}
figure img{width:100%;height:100%;object-fit:contain;object-position:left;display:block}
figcaption{padding:.8rem 1.1rem 1rem;font-size:.9rem;line-height:1.5}
figcaption code{display:block;font-size:.92rem;margin-bottom:.2rem}
.dlt.dlt .lined{width:100%;font-size:.92rem;margin-top:.4rem}
.dlt.dlt .lined thead th{color:var(--quiet);border-bottom:2px solid var(--line)}
.dlt.dlt .lined th,.dlt.dlt .lined td{padding:.42rem .9rem .42rem 0;overflow-wrap:break-word}
.dlt.dlt .lined td{border-bottom:1px solid var(--line)}
.dlt.dlt .lined td:first-child{white-space:nowrap}
.lined td code{white-space:nowrap}
.lined td code.long{display:block;white-space:normal;min-width:15rem}
.lined td .quiet{display:block;min-width:9rem}
.tag{display:inline-block;padding:.05rem .5rem;border-radius:1rem;font-size:.85rem;white-space:nowrap}
.dlt .tag.good{color:var(--good);background:var(--good-soft)}
.dlt .tag.warn{color:var(--warn);background:var(--warn-soft)}
.dlt .tag.bad{color:var(--bad);background:var(--bad-soft)}
.bars{width:8rem}
.bar{height:.42rem;border-radius:.2rem;margin:.16rem 0;min-width:2px}
.key{display:inline-block;width:.8rem;height:.8rem;border-radius:.15rem;margin-right:.35rem;vertical-align:-.08em}
.ours{color:transparent;background:var(--ours)}
.own{color:transparent;background:var(--own)}
ol.notes{padding-left:1.3rem;font-size:.9rem;color:var(--quiet)}
li{margin:.25rem 0;overflow-wrap:anywhere}
footer{margin-top:3.5rem;padding-top:1rem;border-top:1px solid var(--line);color:var(--quiet);font-size:.88rem}
form{display:flex;flex-wrap:wrap;gap:.6rem 1.2rem;margin:1rem 0;align-items:end}
label{font-size:.88rem;display:flex;flex-direction:column;gap:.15rem;max-width:100%}
label.line{flex-direction:row;align-items:center}
select,input,button{font:inherit;max-width:100%}
select,input.text,button.plain{color:var(--ink);background:var(--card);border:1px solid var(--quiet);
border-radius:.3rem;padding:.3rem .5rem;height:2.2rem}
::placeholder{color:var(--quiet);opacity:1}
.dlt.dlt .grid{border-collapse:separate;border-spacing:2px;font-size:.9rem}
.dlt.dlt .grid th{white-space:nowrap;padding:2px 6px;vertical-align:middle}
.dlt.dlt .grid thead th{writing-mode:vertical-rl;transform:rotate(180deg);padding:6px 2px}
.dlt.dlt .grid thead th:first-child{writing-mode:horizontal-tb;transform:none;vertical-align:bottom;font-weight:400;
color:var(--quiet)}
.dlt.dlt .grid td{padding:0;white-space:nowrap}
.grid .version{font-weight:400;color:var(--quiet)}
.grid button{width:100%;min-width:3.2rem;padding:5px 4px;border:2px solid transparent;border-radius:4px;cursor:pointer}
.grid button[aria-pressed=true]{border-color:var(--ink);outline:2px solid var(--paper)}
.grid button.faded{color:var(--quiet);background:var(--card);border-color:var(--line)}
.legend>span{display:inline-block;margin-right:1.2rem;padding-left:1.3rem;text-indent:-1.3rem}
.card td+td{min-width:12rem}
.dlt.dlt .card td:first-child{white-space:nowrap}
:focus-visible{outline:3px solid var(--ours);outline-offset:2px}
@media (max-width:40rem){main{padding:1.2rem .9rem 3rem}h1{font-size:1.6rem}figure .pic{height:14rem}
.dlt.dlt .pairs th,.dlt.dlt .pairs td{display:block}
.dlt.dlt .pairs th{padding-bottom:0}
.dlt.dlt .pairs td{padding:0 0 .6em}}
"""

_VOID = {"br", "img", "meta"}


class Markup(str):
    """Text that is HTML already: it is not escaped again."""

    __slots__ = ()


def escaped(content):
    """Return content as HTML: `Markup` as it is, anything else as escaped text.

    >>> escaped("a < b"), escaped(Markup("<br/>"))
    ('a &lt; b', '<br/>')
    """
    return content if isinstance(content, Markup) else Markup(escape(str(content)))


def element(tag, *content, **attributes):
    """Return one element.

    Parameters
    ----------
    tag : str
    *content : Markup or any object
        Anything but `Markup` is written as escaped text.
    **attributes
        A trailing underscore is left out of the name, and others become hyphens. True writes an empty value; None
        and False leave the attribute out.

    Examples
    --------
    >>> element("details", element("summary", "a & b"), open=True, class_="quiet")
    '<details open="" class="quiet"><summary>a &amp; b</summary></details>'
    """
    start = tag
    for name, value in attributes.items():
        if value is not None and value is not False:
            text = "" if value is True else escape(str(value))
            start += f' {name.rstrip("_").replace("_", "-")}="{text}"'
    if tag in _VOID:
        return Markup(f"<{start}/>")
    return Markup(f"<{start}>{join(content)}</{tag}>")


def join(parts):
    """Return the parts one after another as `Markup`; those that are not `Markup` are escaped."""
    return Markup("".join(map(escaped, parts)))


def scrolling(content, label):
    """Return content in a box that scrolls sideways where it is too wide, and shades the side that has more."""
    # A box that scrolls must be reachable by the keyboard, and then it needs a name.
    return element("div", content, class_="scroll", tabindex="0", role="region", aria_label=label)


def table(rows, label, heads=(), *, right=(), lined=False):
    """Return a table that scrolls sideways where it is too wide.

    Parameters
    ----------
    rows : iterable of sequences
        Cells, as content of `element`. Without `heads` the first cell of a row is its heading.
    label : str
        What the table shows, for screen readers.
    heads : sequence, optional
        Headings of the columns.
    right : collection of int, optional
        Columns of figures, which are flush right.
    lined : bool, default False
        Draw lines between rows and use the full width.

    Examples
    --------
    >>> "<th>size</th><td>3</td>" in table([("size", 3)], "facts").replace(' scope="row"', "")
    True
    """
    lines = []
    for row in rows:
        cells = []
        for column, cell in enumerate(row):
            flush = "r" if column in right else None
            is_head = column == 0 and not heads
            cells.append(
                element("th", cell, class_=flush, scope="row") if is_head else element("td", cell, class_=flush)
            )
        lines.append(element("tr", *cells))
    top = [element("th", head, class_="r" if i in right else None, scope="col") for i, head in enumerate(heads)]
    parts = [element("thead", element("tr", *top))] if heads else []
    looks = "lined" if lined else None if heads else "pairs"
    return scrolling(element("table", *parts, element("tbody", *lines), class_=looks), label)


def folded(title, *content, is_open=False):
    """Return content under a title that folds."""
    return element("details", element("summary", title), *content, open=is_open)


def fragment(*content):
    """Return content for a notebook, with what it needs of the style sheet."""
    return element("div", element("style", Markup(FRAGMENT_STYLE)), *content, class_="dlt")


def page(title, *content, head=None):
    """Return a whole page: the content in ``<main>``, its ``<h1>`` included, and `head` in ``<head>``."""
    known = join(
        [
            element("meta", charset="utf-8"),
            element("meta", name="viewport", content="width=device-width, initial-scale=1"),
            "" if head is None else head,
            element("title", title),
            element("style", Markup(FRAGMENT_STYLE + PAGE_STYLE)),
        ]
    )
    main = element("body", element("main", *content), class_="dlt")
    return f'<!DOCTYPE html>\n<html lang="en"><head>{known}</head>{main}</html>\n'


def _luminance(colour):
    digits = colour[1:] if len(colour) == 7 else "".join(2 * digit for digit in colour[1:])
    parts = [int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(text, background):
    """Return the contrast ratio of two colours as WCAG 2 defines it, from 1 to 21.

    Parameters
    ----------
    text, background : str
        ``#rgb`` or ``#rrggbb``.

    Examples
    --------
    >>> contrast("#000", "#ffffff")
    21.0
    """
    low, high = sorted((_luminance(text), _luminance(background)))
    return round((high + 0.05) / (low + 0.05), 2)


def text_colour(background):
    """Return black or white, whichever is easier to read on a colour; the contrast is at least 4.5.

    >>> text_colour("#d9a400"), text_colour("#1976a2")
    ('#000', '#fff')
    """
    return max(("#fff", "#000"), key=lambda text: contrast(text, background))
