# SPDX-License-Identifier: Apache-2.0
"""Runs cases in child processes and says what became of each; a child that dies costs only the case it was in."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent


def environment(cache, **more):
    """What a child needs: this folder on its path, a place for the compiled producer, and words when it dies."""
    path = os.pathsep.join(filter(None, [str(TESTS), os.environ.get("PYTHONPATH")]))
    return {**os.environ, "PYTHONPATH": path, "DLTENSOR_FAULTS_CACHE": str(cache), **more}


def died(code):
    """An exit code in words."""
    return f"died by {signal.Signals(-code).name}" if code < 0 else f"exited with {code}"


def run_cases(identities, cache, consumer="dltensor", batch=60, timeout=60):
    """Every case's (outcome, words): passed, failed, skipped, crashed or hung."""
    waiting, results = list(identities), {}
    while waiting:
        now, waiting = waiting[:batch], waiting[batch:]
        child = subprocess.Popen(
            [sys.executable, "-X", "faulthandler", "-m", "faults.child", consumer],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment(cache),
        )
        try:
            out, err = child.communicate("\n".join(now) + "\n", timeout=timeout)
            ending = died(child.returncode)
        except subprocess.TimeoutExpired:
            child.kill()
            out, err = child.communicate()
            ending = f"hung for {timeout} s"
        begun = None
        for line in out.splitlines():
            if line.startswith("BEGIN "):
                begun = line[6:]
            elif line.startswith("END ") and begun is not None:
                results[begun] = tuple(json.loads(line[4:]))
                begun = None
        if begun is not None:
            results[begun] = ("hung" if "hung" in ending else "crashed", f"{ending}\n{err[-3000:]}")
        elif child.returncode != 0 and any(identity in results for identity in now):
            # It got through its cases and died afterwards: the last one is the suspect.
            last = [identity for identity in now if identity in results][-1]
            results[last] = ("crashed", f"{ending} after its last case\n{err[-3000:]}")
        elif not any(identity in results for identity in now):
            raise RuntimeError(f"the child did nothing, it {ending}\n{err[-3000:]}")
        waiting = [identity for identity in now if identity not in results] + waiting
    return results
