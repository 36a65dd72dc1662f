# SPDX-License-Identifier: Apache-2.0
"""The result of a check, and how it is written: text, JSON, JUnit, a badge. Runs nothing."""

import json
import platform
from dataclasses import dataclass, field
from importlib.metadata import version
from xml.etree import ElementTree

from .._core.foreign_text import first_line
from .._tools.output import write_file
from .._tools.terminal import fill
from .rules import RULES

_BAD = ("broken", "crashed", "hung")
_ORDER = {"MUST": 0, "SHOULD": 1, "MAY": 2}
_STYLES = {"MUST": "bad", "SHOULD": "warn", "MAY": "note", "ours": "warn"}
_WORDS = 1000
"""The maximum length of a check's message, which may contain values and messages of the target."""


def environment():
    """Return the versions and the platform of this process."""
    return {
        "dltensor": version("dltensor"),
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
    }


@dataclass(frozen=True)
class Finding:
    """The result of one check of one rule."""

    check: str
    rule: str
    severity: str
    side: str
    status: str
    words: str
    seconds: float

    @property
    def is_bad(self):
        """True if the rule is broken, be it by a crash."""
        return self.status in _BAD


@dataclass
class Result:
    """All findings about one target. ``conformant`` says whether every MUST that was checked is kept."""

    target: str
    version: str
    sides: tuple
    findings: list
    complete: bool = True
    environment: dict = field(default_factory=dict)

    @classmethod
    def of(cls, target, facts, pairs, *, complete):
        """Build the result of a run from pairs of a check and its outcome."""
        findings = [
            Finding(
                check.name,
                check.rule,
                RULES[check.rule].severity,
                check.side,
                outcome.status,
                first_line(" ".join(outcome.words.split()), _WORDS),
                round(outcome.seconds, 4),
            )
            for check, outcome in pairs
        ]
        sides = tuple(
            side for side, there in (("producer", facts.get("produces")), ("consumer", facts.get("consumes"))) if there
        )
        return cls(target, facts.get("version", "?"), sides, findings, complete, environment())

    def broken(self, *severities):
        """Return the findings that break a rule, of these severities or all, gravest first."""
        bad = [one for one in self.findings if one.is_bad and (not severities or one.severity in severities)]
        return sorted(bad, key=lambda one: (_ORDER[one.severity], _number(one.rule)))

    @property
    def conformant(self):
        """True if no MUST is broken."""
        return not self.broken("MUST")

    @property
    def status(self):
        """The exit status: 0 conformant, 1 a MUST is broken."""
        return 0 if self.conformant else 1

    def rules(self):
        """Return each rule that was checked: kept, broken or skipped, by id."""
        found = {}
        for one in self.findings:
            before = found.get(one.rule, "skipped")
            now = "broken" if one.is_bad else one.status
            found[one.rule] = next(status for status in ("broken", "kept", "skipped") if status in (before, now))
        return found

    def counts(self):
        """Count the rules that were kept, broken and skipped, by severity; "ours" for the rules of no standard."""
        found = {}
        for rule, status in self.rules().items():
            kind = "ours" if RULES[rule].source == "ours" else RULES[rule].severity
            found.setdefault(kind, {"kept": 0, "broken": 0, "skipped": 0})[status] += 1
        return found

    def as_dict(self):
        """Return everything, ready for JSON."""
        findings = [
            {**vars(one), "text": RULES[one.rule].text, "source": RULES[one.rule].source} for one in self.findings
        ]
        return {
            "target": self.target,
            "version": self.version,
            "sides": list(self.sides),
            "conformant": self.conformant,
            "complete": self.complete,
            "environment": self.environment,
            "counts": self.counts(),
            "findings": findings,
        }


def _number(rule):
    return (rule[0] == "H", int(rule[1:]))


def titled(name, number):
    """Return a name with its version, where that is known."""
    return name if number in ("", "?") else f"{name} {number}"


def lines(result, columns=100, *, verbose=False):
    """Return the result line by line, each a list of (text, style): broken rules first, then the counts.

    `verbose` also lists what was skipped, and why.
    """
    where = f"Python {result.environment.get('python', '?')}, {result.environment.get('platform', '?')}"
    about = f"{titled('', result.version)} ({' and '.join(result.sides)}; {where})"
    text_lines = [[(result.target, "bold"), (about, "")], []]
    for one in result.broken():
        text_lines += _paragraph(one, columns)
    if result.broken():
        text_lines.append([])
    if verbose:
        text_lines.append([("not applicable", "")])
        for one in result.findings:
            if one.status == "skipped":
                text_lines += _paragraph(one, columns)
        text_lines.append([])
    for kind, style in _STYLES.items():
        if counts := result.counts().get(kind):
            broken = (f"{counts['broken']} broken", style if counts["broken"] else "")
            kept, skipped = f"{kind:<7}{counts['kept']:>3} kept  ", f"  {counts['skipped']} not applicable"
            text_lines.append([(kept, ""), broken, (skipped, "")])
    text_lines.append([])
    musts = result.broken("MUST")
    if not musts:
        text_lines.append([(f"{result.target} breaks no MUST.", "good")])
    else:
        rules, checks = len({one.rule for one in musts}), len(musts)
        text = f"{result.target} breaks {rules} MUST rule{'s' * (rules != 1)} ({checks} check{'s' * (checks != 1)})."
        text_lines.append([(text, "bad"), ("  --explain RULE explains one.", "")])
    return text_lines


def _paragraph(one, columns):
    """Yield the lines of one check: one that names the rule, and the message."""
    kind = "ours" if RULES[one.rule].source == "ours" else one.severity
    status = "" if one.status in ("broken", "skipped") else f"  [{one.status}]"
    yield [(f"{one.rule:<4}{kind:<7}", _STYLES[one.severity]), (f"{one.check}{status}", "")]
    for line in fill(one.words, columns, indent=4):
        yield [(line, "")]


def as_text(result, *, width=100, verbose=False):
    """Return the result as plain text: broken rules first, then the counts."""
    return "\n".join("".join(text for text, _ in line) for line in lines(result, width, verbose=verbose))


def write_json(results, path):
    """Write results as JSON; one as an object, several as a list."""
    content = [result.as_dict() for result in results]
    write_file(path, json.dumps(content[0] if len(content) == 1 else content, indent=1) + "\n")


def write_junit(results, path):
    """Write results as JUnit XML: a MUST that is broken is a failure, other rules are listed in `system-out`."""
    top = ElementTree.Element("testsuites", name="DLPack conformance")
    for result in results:
        failures = result.broken("MUST")
        suite = ElementTree.SubElement(
            top,
            "testsuite",
            name=titled(result.target, result.version),
            errors="0",
            tests=str(len(result.findings)),
            failures=str(len(failures)),
            skipped=str(sum(one.status == "skipped" for one in result.findings)),
            time=f"{sum(one.seconds for one in result.findings):.3f}",
        )
        for one in result.findings:
            case = ElementTree.SubElement(
                suite,
                "testcase",
                classname=f"dlpack.{result.target}.{one.rule}",
                name=one.check,
                time=f"{one.seconds:.4f}",
            )
            if one.is_bad and one.severity == "MUST":
                ElementTree.SubElement(case, "failure", type=one.status, message=one.words).text = RULES[one.rule].text
            elif one.is_bad:
                ElementTree.SubElement(case, "system-out").text = f"{one.severity} {one.status}: {one.words}"
            elif one.status == "skipped":
                ElementTree.SubElement(case, "skipped", message=one.words)
    tree = ElementTree.ElementTree(top)
    ElementTree.indent(tree)
    text = ElementTree.tostring(top, encoding="unicode")
    write_file(path, f"<?xml version='1.0' encoding='utf-8'?>\n{text}")


def badge(result):
    """Return an SVG badge: how many of the MUST rules that apply are kept."""
    counts = result.counts().get("MUST", {"kept": 0, "broken": 0})
    total = counts["kept"] + counts["broken"]
    label, value = (
        "DLPack 1.3",
        f"{counts['kept']} of {total} MUST" if counts["broken"] else f"conformant, {total} rules",
    )
    colour = "#2e7d32" if result.conformant else "#b26a00" if counts["broken"] <= 3 else "#b71c1c"
    left, right = 7 * len(label) + 12, 7 * len(value) + 12
    text = ""
    for x, words in ((left / 2, label), (left + right / 2, value)):
        text += f'<text x="{x:.0f}" y="14" text-anchor="middle">{words}</text>'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="20" role="img" '
        f'aria-label="{label}: {value}"><title>{label}: {value}</title>'
        f'<clipPath id="r"><rect width="{left + right}" height="20" rx="3"/></clipPath><g clip-path="url(#r)">'
        f'<rect width="{left}" height="20" fill="#444"/>'
        f'<rect x="{left}" width="{right}" height="20" fill="{colour}"/></g>'
        f'<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">{text}</g></svg>\n'
    )
