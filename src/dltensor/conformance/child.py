# SPDX-License-Identifier: Apache-2.0
"""A child process that tries checks one after another; a crash is attributed to the check that was running.

It reads one line of JSON from standard input and writes one per event to a pipe that the target cannot write to.
"""

import json
import os
import sys
import time
import warnings


def _talker():
    """Return a function that writes an event; from here on the target's own output is discarded."""
    pipe = os.fdopen(os.dup(1), "w", buffering=1)
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    sys.stdout = os.fdopen(null, "w")

    def tell(**event):
        pipe.write(json.dumps(event) + "\n")
        pipe.flush()

    return tell


def run_one(check, target):
    """Return the outcome of one check in this process, kept, broken or skipped, and its message."""
    from .checks import Broken, NotApplicable, say

    side = target.produces if check.side == "producer" else target.consumes
    if not side:
        return "skipped", f"{target.name} is not a {check.side}"
    try:
        check.function(target)
    except Broken as error:
        return "broken", str(error)
    except NotApplicable as error:
        return "skipped", str(error)
    except KeyboardInterrupt:
        return "broken", "KeyboardInterrupt came out of the target"
    except Exception as error:
        # A precondition failed, which another check covers.
        return "skipped", f"could not be decided: {say(error)}"
    return "kept", ""


def serve(prepare):
    """Serve one order: ``{"target": ..., "path": [...], "checks": [...]}``.

    `prepare` is called with the target and the checks. It returns the facts about the target, a dict with ``version``;
    a function of a check's name that returns the outcome, its words and further data, a dict; and whether the process
    has to end as the target ends it.
    """
    tell = _talker()
    order = json.loads(sys.stdin.readline())
    sys.path.extend(path for path in order["path"] if path not in sys.path)
    warnings.simplefilter("ignore")

    from .._core.foreign_text import describe_error
    from . import _probe
    from .targets import Missing, place_of

    _probe.on_trying(lambda what: tell(trying=what))
    try:
        facts, attempt, natural_end = prepare(order["target"], order["checks"])
    except Missing as error:
        tell(missing=str(error))
        return
    except BaseException as error:
        tell(missing=f"check: {order['target']} fails to import: {describe_error(error)}{place_of(error)}")
        return
    tell(**facts)
    for name in order["checks"]:
        tell(begin=name)
        started = time.perf_counter()
        outcome, words, seen = attempt(name)
        tell(end=name, outcome=outcome, words=words, seen=seen, seconds=time.perf_counter() - started)
    if not natural_end:
        os._exit(0)  # other checks cover how a framework shuts down


def prepare(name, names):
    """Return a target and a function that tries one of its checks."""
    from .checks import all_checks
    from .targets import find

    target, checks = find(name), all_checks()
    facts = {"version": target.version, "produces": target.produces, "consumes": target.consumes}
    return facts, lambda check: (*run_one(checks[check], target), {}), any(checks[one].alone for one in names)


if __name__ == "__main__":
    serve(prepare)
