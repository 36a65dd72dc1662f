# SPDX-License-Identifier: Apache-2.0
"""Call everything from several threads on shared arrays, while another thread changes the arrays' shapes.

    python fuzz/stress.py                    # 4 threads for a minute
    python fuzz/stress.py --rounds 40        # so many rounds, however long they take: the same on every machine
    python fuzz/stress.py --torch            # with tensors of PyTorch too
    python fuzz/stress.py --python build/old/bin/python     # the package that another interpreter has

The calls are made in child processes of a few rounds each. Exit status: 0 when every child came to its end and every
call gave one of the results that it may give, 1 when not, 2 when no call was made.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROUNDS = 20  # of one child
PATIENCE = 300  # seconds that a child may take longer than it was given


def options_of(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--rounds", type=int, help="how many rounds, however long they take")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--begin", type=int, default=0, help="the first round")
    parser.add_argument("--threads", type=int, default=4)
    parser.add_argument("--torch", action="store_true", help="tensors of PyTorch are operands too")
    parser.add_argument("--python", default=sys.executable, help="the interpreter whose package is called")
    parser.add_argument("--before", help="Python code that the child runs first: it may plant a defect")
    return parser.parse_args(arguments)


def run(options, begin, rounds, until):
    """Let one child play rounds. Returns its counts, and what is wrong with it or ""."""
    code = f"import sys; {options.before or 'pass'}\nfrom calls.stress import main; main(sys.argv[1:])"
    arguments = ["--seed", options.seed, "--begin", begin, "--rounds", rounds, "--threads", options.threads]
    arguments += ["--until", until] + ["--torch"] * options.torch
    path = os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")])
    try:
        done = subprocess.run(
            [options.python, "-c", code, *map(str, arguments)],
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONPATH": path},
            timeout=PATIENCE + (options.seconds if options.rounds is None else 60 * rounds),
        )
    except subprocess.TimeoutExpired:
        return {}, "hung"
    told = next((json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")), None)
    if done.returncode or told is None:
        how = (
            f"died by {signal.Signals(-done.returncode).name}"
            if done.returncode < 0
            else f"exited with {done.returncode}"
        )
        return {}, how + "\n  " + "\n  ".join(done.stderr.splitlines()[:40])
    return told, "\n  ".join(told.pop("wrong"))


def main(arguments=None):
    options = options_of(arguments)
    totals, found, begin = Counter(), 0, options.begin
    start = time.time()
    until = start + options.seconds if options.rounds is None else 1e12
    last = options.begin + options.rounds if options.rounds is not None else sys.maxsize
    while begin < last and time.time() < until and found < 5:
        rounds = min(ROUNDS, last - begin)
        counts, wrong = run(options, begin, rounds, until)
        totals.update(counts)
        if wrong:
            found += 1
            print(f"\nFOUND stress: {wrong}", flush=True)
            print(
                f"  python fuzz/stress.py --seed {options.seed} --begin {begin} --rounds {rounds}"
                + " --torch" * options.torch
            )
        begin += rounds
    calls = totals["right"] + totals["refused"]
    print(
        f"stress: {calls} calls by {options.threads} threads in {time.time() - start:.0f} s, {totals['right']} right, "
        f"{totals['refused']} of shapes that do not fit, {totals['changes']} changes, {found} findings"
    )
    return 1 if found else 0 if calls else 2


if __name__ == "__main__":
    sys.exit(main())
