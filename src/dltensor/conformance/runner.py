# SPDX-License-Identifier: Apache-2.0
"""Runs checks in child processes with a time limit, so that a crash or a hang is a result. Independent of DLPack."""

import json
import os
import selectors
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field

from .._core.foreign_text import first_line

CHECK_LIMIT = 15.0
IMPORT_LIMIT = 120.0


@dataclass(frozen=True)
class Outcome:
    """The outcome of one check: kept, broken, skipped, crashed, hung or its own word; the reason; further data."""

    check: str
    status: str
    words: str
    seconds: float
    seen: dict = field(default_factory=dict)


class Lost(Exception):
    """The child could not be used at all; the message has the reason."""


def cores():
    """Return how many processors this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on this system
        return os.cpu_count() or 1


def parallel(func, jobs, work):
    """Return how many children run at a time: as requested, but no more than there is work or cores.

    `func` is the function that was called, for the message of ValueError.

    >>> parallel("check", 10_000_000, 1)
    1
    """
    if type(jobs) is not int or jobs < 1:
        raise ValueError(f"{func}: jobs must be a whole number from 1 on, got {first_line(repr(jobs), 80)}")
    return max(1, min(jobs, work, cores()))


def died(code):
    """Return an exit code as text."""
    if code >= 0:
        return f"the process exited with {code}"
    try:
        return f"the process died by {signal.Signals(-code).name}"
    except ValueError:
        return f"the process died by signal {-code}"


class Child:
    """One child process and the lines of JSON that it writes."""

    def __init__(self, module, order):
        environment = {**os.environ, "PYTHONUNBUFFERED": "1", "PYTHONWARNINGS": "ignore"}
        self.process = subprocess.Popen(
            [sys.executable, "-m", module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
        )
        self._rest = b""
        self.limit = IMPORT_LIMIT
        try:
            self.process.stdin.write((json.dumps({**order, "path": sys.path}) + "\n").encode())
            self.process.stdin.close()
        except BrokenPipeError:
            pass  # it is gone already, which events() says
        self._selector = selectors.DefaultSelector()
        self._selector.register(self.process.stdout, selectors.EVENT_READ)

    def events(self):
        """Yield events; raises TimeoutError when none comes for `limit` seconds, ends when the child does."""
        while True:
            line, newline, rest = self._rest.partition(b"\n")
            if newline:
                self._rest = rest
                yield json.loads(line)
                continue
            if not self._selector.select(self.limit):
                raise TimeoutError
            data = os.read(self.process.stdout.fileno(), 65536)
            if not data:
                return
            self._rest += data

    def end(self, limit=10.0):
        """Wait, kill if need be, and return the exit code."""
        try:
            return self.process.wait(limit)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()
        finally:
            self._selector.close()
            self.process.stdout.close()

    def kill(self):
        """End it now."""
        self.process.kill()
        self.end()


def _run_batch(module, target, batch, progress, facts):
    """Return the outcomes of a batch up to a crash, and that of the check that crashed (None when all went through)."""
    child = Child(module, {"target": target, "checks": batch})
    now, last, trying, started, outcomes, crashed = None, None, "", time.perf_counter(), {}, None
    try:
        for event in child.events():
            if "missing" in event:
                raise Lost(event["missing"])
            if "version" in event:
                facts.update(event)
                child.limit = CHECK_LIMIT
            elif "begin" in event:
                now, trying, started = event["begin"], "", time.perf_counter()
            elif "trying" in event:
                trying = event["trying"]
            elif "end" in event:
                outcomes[now] = Outcome(now, event["outcome"], event["words"], event["seconds"], event["seen"])
                progress(now)
                last, now = now, None
    except TimeoutError:
        child.kill()
        if now is None and outcomes:
            return outcomes, Outcome(
                last, "hung", f"at the end: the process does not exit in {CHECK_LIMIT:.0f} s", CHECK_LIMIT
            )
        if now is None:
            raise Lost(f"check: {target}: {trying or 'its import'} did not end in {IMPORT_LIMIT:.0f} s") from None
        words = f"{trying + ': ' if trying else ''}no answer for {CHECK_LIMIT:.0f} s"
        return outcomes, Outcome(now, "hung", words, CHECK_LIMIT)
    except BaseException:
        child.kill()
        raise
    code = child.end()
    took = time.perf_counter() - started
    if now is not None:
        crashed = Outcome(now, "crashed", f"{trying + ': ' if trying else ''}{died(code)}", took)
    elif code != 0 and outcomes:
        crashed = Outcome(last, "crashed", f"at the end: {died(code)}", took)
    elif not outcomes and batch:
        raise Lost(f"check: {target}: {trying or 'its import'} ended the child: {died(code)}")
    return outcomes, crashed


def run(target, batches, jobs=2, progress=lambda name: None, module="dltensor.conformance.child"):
    """Run batches of checks and return the outcome of each by name, and the facts about the target.

    A check that kills its child after another one in it found something broken is tried again first in a new child, so
    that memory corrupted by the other check is not attributed to it. The checks of one batch share a child as long as
    it lives. `progress` is called with the name of each check that is done, `module` is what the children run, with
    `child.serve`. Raises `Lost` if the target cannot be imported.
    """
    waiting, results, facts, lock, lost = [batch for batch in batches if batch], {}, {}, threading.Lock(), []

    def work():
        while True:
            with lock:
                if not waiting or lost:
                    return
                batch = waiting.pop(0)
            try:
                outcomes, crashed = _run_batch(module, target, batch, progress, facts)
            except Lost as error:
                lost.append(error)
                return
            except BaseException as error:
                lost.append(error)
                raise
            with lock:
                results.update(outcomes)
                if crashed is not None and crashed.check in outcomes:
                    results[crashed.check] = crashed  # it passed, but the process did not exit normally
                    continue
                if crashed is None:
                    continue
                rest = [name for name in batch if name not in outcomes and name != crashed.check]
                clean = not any(one.status == "broken" for one in outcomes.values())
                if clean or crashed.status == "hung":
                    results[crashed.check] = crashed
                    progress(crashed.check)
                    if rest:
                        waiting.insert(0, rest)
                else:
                    waiting.insert(0, [crashed.check, *rest])

    threads = [threading.Thread(target=work, daemon=True) for _ in range(parallel("check", jobs, len(waiting)))]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        for thread in threads:
            thread.join(0.1)
        with lock:
            busy = bool(waiting) and not lost
        if busy:
            for index, thread in enumerate(threads):
                if not thread.is_alive():
                    threads[index] = threading.Thread(target=work, daemon=True)
                    threads[index].start()
    if lost:
        raise lost[0]
    return results, facts
