# SPDX-License-Identifier: Apache-2.0
"""Check messages of commits against CONTRIBUTING.md: commit_message.py FILE (git's commit-msg hook), or REVISION ...

A subject is `Verb ...` or `area: verb ...`, has at most 72 characters and one idea. A commit that changes src/ has a
body.
"""

import re
import subprocess
import sys
from pathlib import Path

LONGEST = 72
# First words that are no imperative, endings of others, and imperatives that have these endings.
OTHERS = (
    "a all an any by each every for from in more no of on some that the these this those what when where which with"
)
ENDINGS = re.compile(r".+(?:ed|ing|ion|ness|[^s]s)", re.I)
IMPERATIVES = "alias bias bring embed exceed feed focus mention need ping position proceed seed shed speed"
TRAILER = re.compile(r"[A-Z][a-z]+(?:-[a-z]+)+: ")


def is_imperative(word):
    """Return False for a word that cannot be an imperative; nouns that look like one are left to a reviewer."""
    if word.lower() in IMPERATIVES.split():
        return True
    plain = re.fullmatch("[A-Za-z][a-z-]*", word) is not None
    return plain and word.lower() not in OTHERS.split() and not ENDINGS.fullmatch(word)


def faults(message, changes_source):
    """Yield what is wrong with a message, a sentence each."""
    lines = [
        line for line in message.split("# ------------------------ >8")[0].splitlines() if not line.startswith("#")
    ]
    subject = lines[0] if lines else ""
    if subject.startswith(("Merge ", "Revert ", "fixup! ", "squash! ", "amend! ")):
        return
    if not 0 < len(subject) <= LONGEST:
        yield f"expected a subject of 1 to {LONGEST} characters, got {len(subject)}"
    words = re.sub(r"^[\w./ -]+: ", "", subject).split()
    first = words[0] if words else ""
    if not is_imperative(first):
        yield f"expected an imperative, as in 'Fix ...' or 'docs: describe ...', got {first!r}"
    if ";" in subject:
        yield "expected one idea, got several, joined by ';'; make a commit of each"
    if len(lines) > 1 and lines[1].strip():
        yield f"expected an empty line after the subject, got {lines[1]!r}"
    if changes_source and not any(line.strip() and not TRAILER.match(line) for line in lines[1:]):
        yield "expected a body, as src/ changes: situation, fault, fix, not covered"


def git(*arguments):
    return subprocess.run(["git", *arguments], capture_output=True, text=True, check=True).stdout


def messages(arguments):
    """Yield a name, a message and the changed files for each commit."""
    if Path(arguments[0]).is_file():
        yield "commit message", Path(arguments[0]).read_text(), git("diff", "--cached", "--name-only")
        return
    ranges = [["rev-list", argument] if ".." in argument else ["rev-parse", argument] for argument in arguments]
    for revision in "".join(git(*command) for command in ranges).split():
        files = git("show", "--format=", "--name-only", revision)
        yield revision[:9], git("log", "-1", "--format=%B", revision), files


def main():
    wrong = 0
    for name, message, files in messages(sys.argv[1:] or ["HEAD"]):
        for fault in faults(message, any(file.startswith("src/") for file in files.splitlines())):
            print(f"{name}: {fault}", file=sys.stderr)
            wrong += 1
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
