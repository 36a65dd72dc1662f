# SPDX-License-Identifier: Apache-2.0
"""Call everything public with valid and hostile arguments, and see that nothing crashes, hangs, lies or leaks.

    python fuzz/calls_fuzzer.py                        # a minute and a half, seed 0
    python fuzz/calls_fuzzer.py --seconds 3600 --seed 7
    python fuzz/calls_fuzzer.py --seed 7 --round 123   # one round again, every call shown
    python fuzz/calls_fuzzer.py --threads 4            # the calls of a round from four threads on shared tensors
    python fuzz/calls_fuzzer.py --device cuda          # with CUDA on the host driver
    python fuzz/calls_fuzzer.py --torch                # with tensors of PyTorch too
    python fuzz/calls_fuzzer.py --trick "change operand"    # only calls of one trick (calls/tricks.py)
    python fuzz/calls_fuzzer.py --python build/old/bin/python   # the package that another interpreter has

The calls are made in child processes. One that dies or hangs costs its round, which is then cut down to the calls that
it takes. Exit status: 0 nothing found, 1 something was, 2 nothing could be tried.
"""

import argparse
import json
import mmap
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from calls.progress import CALLS, PROGRESS, TRICKS

HERE = Path(__file__).resolve().parent
ROUNDS = 200  # of one child
STARTING = 600  # seconds that imports may take before the first call; those of frameworks are slow the first time
# Large blocks leave the process when they are freed and small ones are overwritten, so that reading them shows.
FREED = {"MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_PERTURB_": "90"}


class Child:
    """A process that plays rounds; watched, and ended when one call takes too long."""

    def __init__(self, options, begin, rounds, folder, *more):
        self.folder = Path(tempfile.mkdtemp(dir=folder))  # where a call that writes a file leaves it
        self.progress = Path(folder, "progress")
        self.progress.write_bytes(PROGRESS.pack(-1, 0, 0, 0, 0, 0))  # no round has begun
        with open(self.progress, "r+b") as file:
            self.shared = mmap.mmap(file.fileno(), PROGRESS.size)
        arguments = ["--progress", str(self.progress), "--seed", str(options.seed), "--begin", str(begin)]
        arguments += ["--rounds", str(rounds), "--threads", str(options.threads), "--device", options.device]
        arguments += ["--before", os.path.abspath(options.before)] if options.before else []
        arguments += ["--trick", options.trick] if options.trick else []
        arguments += ["--torch"] if options.torch else []
        # A driver that the parent has set up, as tests do, compiles where the process runs unless the child does so.
        on_card = options.device == "cuda"
        inherited = {k: v for k, v in os.environ.items() if on_card or not k.startswith("DLTENSOR_CUDA_")}
        self.out, self.err = [tempfile.TemporaryFile("w+", dir=folder) for _ in range(2)]  # noqa: SIM115
        self.process = subprocess.Popen(
            [options.python, "-c", "import sys; from calls.child import main; main(sys.argv[1:])", *arguments, *more],
            stdout=self.out,
            stderr=self.err,
            cwd=self.folder,
            env={**inherited, "PYTHONPATH": os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")])}
            | {"PYTHONHASHSEED": "0", **FREED},
        )

    def state(self):
        """Round, call, calls made, succeeded, compared, done."""
        return PROGRESS.unpack_from(self.shared)

    def wait(self, patience, until=float("inf")):
        """Wait for the end; return how it came: "", "crashed ...", "hung" or "stopped" when the time is over."""
        last, since, aborted = None, time.monotonic(), ""
        while self.process.poll() is None:
            time.sleep(0.05)
            now = time.monotonic()
            if self.state() != last:
                last, since = self.state(), now
            if now > until and not aborted:
                self.process.terminate()
                aborted = "stopped"
            elif now - since > (patience if last[0] >= 0 else STARTING) and not aborted:
                self.process.send_signal(signal.SIGABRT)  # has faulthandler say where it is
                aborted, since = f"hung for {patience} s", now
            elif aborted and now - since > patience + 5:
                self.process.kill()
        code = self.process.returncode
        if aborted:
            return aborted
        if code < 0:
            return f"died by {signal.Signals(-code).name}"
        return "" if code == 0 and self.state()[-1] else f"exited with {code}"

    def lines(self):
        self.out.seek(0)
        return [json.loads(line) for line in self.out if line.startswith("{")]

    def files(self):
        """Names of files that calls have written; the image of a process that died is none of them."""
        return sorted(path.name for path in self.folder.iterdir() if not path.name.startswith("core"))

    def words(self):
        self.err.seek(0)
        return self.err.read()

    def close(self):
        self.shared.close()
        self.out.close()
        self.err.close()


def dies(options, number, first, last, folder):
    """Test whether these calls of a round end the process again, and its words."""
    child = Child(options, number, 1, folder, "--first", str(first), "--last", str(last), "--show")
    how, words = child.wait(options.patience), child.words()
    child.close()
    return how, words


def cut_down(options, number, last, folder):
    """The shortest run of calls up to the last one that still ends the process."""
    for length in (1, 2, 4, 8, 16, last + 1):
        first = max(last + 1 - length, 0)
        how, words = dies(options, number, first, last, folder)
        if how and how != "stopped":
            return first, words
    return None, ""


def options_of(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=90)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--begin", type=int, default=0, help="the first round")
    parser.add_argument("--rounds", type=int, help="how many rounds, however long they take")
    parser.add_argument("--round", type=int, help="play one round again and show its calls")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--patience", type=float, default=30, help="seconds that one call may take")
    parser.add_argument("--never", action="store_true", help="name the callables that never succeeded")
    parser.add_argument("--trick", choices=TRICKS, help="only calls of this kind")
    parser.add_argument("--torch", action="store_true", help="tensors of PyTorch are operands too")
    parser.add_argument("--enough", type=int, default=sys.maxsize, help="stop when so many findings are shown")
    parser.add_argument("--python", default=sys.executable, help="the interpreter whose package is called")
    parser.add_argument("--before", help="a Python file that the child runs first: it may plant a defect")
    return parser.parse_args(arguments)


def command_of(options, number, first, last):
    """What to type to see a finding again."""
    more = f" --threads {options.threads}" * (options.threads > 1) + f" --device {options.device}" * (
        options.device != "cpu"
    )
    more += f' --trick "{options.trick}"' * bool(options.trick) + " --torch" * options.torch
    calls = f"  (calls {first} to {last})" if first is not None and first != last else ""
    return f"python fuzz/calls_fuzzer.py --seed {options.seed} --round {number}{more}{calls}"


class Findings:
    """What was found, each kind once."""

    def __init__(self, options):
        self.options, self.seen = options, set()

    def add(self, row, first=None):
        trick = re.search(r"\[([^\[\]]+)\]$", row["said"].partition("\n")[0])
        key = trick[1] if trick else row["name"], re.sub(r"\(.*?\)|-?\d+", "9", row["fault"])[:60]
        if key in self.seen:
            return
        self.seen.add(key)
        print(f"\nFOUND {row['name']}: {row['fault']}\n  {row['said']}", flush=True)
        print("  " + command_of(self.options, row["round"], first, row["call"]), flush=True)


def fuzz(options, folder):
    findings, totals, never = Findings(options), [0, 0, 0], None
    start, begin = time.monotonic(), options.begin
    end = float("inf") if options.rounds else start + options.seconds
    last_round = options.begin + options.rounds if options.rounds else None
    while time.monotonic() < end and begin != last_round and len(findings.seen) < options.enough:
        rounds = min(ROUNDS, last_round - begin) if last_round else ROUNDS
        child = Child(options, begin, rounds, folder)
        how = child.wait(options.patience, end)
        number, call, *counts, _done = child.state()
        number = max(number, begin)  # it may have ended before the first
        totals = [a + b for a, b in zip(totals, counts, strict=True)]
        for row in child.lines():
            if "fault" in row:
                findings.add(row)
            else:
                never = set(row["never"]) if never is None else never & set(row["never"])
        if child.files():
            row = {"name": "process", "fault": "wrote files", "round": begin, "call": 0}
            findings.add(row | {"said": ", ".join(child.files())})
        words = child.words()
        child.close()
        begin = begin + rounds if not how else number + 1
        if how and how != "stopped":
            first, again = cut_down(options, number, call, folder)
            shown = [line.strip() for line in again.splitlines() if line.startswith("  call ")]
            fault = how if first is not None else f"{how}, only after the rounds before"
            where = [line.strip() for line in (again or words).splitlines() if not line.startswith("  call ")]
            shown.reverse()  # the call that ended the process first
            said = "\n  ".join(shown[:8] + where[:40])
            name = shown[0].partition(": ")[2].partition("(")[0] if shown else "process"
            name = "threads" if options.threads > 1 else name  # the call cannot be attributed to a thread
            findings.add({"name": name, "fault": fault, "round": number, "call": call, "said": said}, first)
    calls, fine, compared = totals
    seconds = time.monotonic() - start
    share = f"{fine * 100 // max(calls, 1)} % succeeded, {compared} compared with NumPy"
    print(f"calls: {calls} made in {seconds:.0f} s, {share}, {len(findings.seen)} findings")
    if never:
        print(f"calls: {len(never)} of the callables never succeeded; --never names them")
        if options.never:
            print("\n".join(sorted(never)))
    return 1 if findings.seen else 0 if calls else 2


def play(options, folder):
    """One round again, shown call by call."""
    child = Child(options, options.round, 1, folder, "--show")
    how = child.wait(options.patience)
    print(child.words())
    found = [row for row in child.lines() if "fault" in row]
    for row in found:
        print(f"FOUND {row['name']}: {row['fault']}\n  call {row['call']}: {row['said']}")
    print(how or f"{CALLS} calls drawn, {len(found)} findings")
    child.close()
    return 1 if how or found else 0


def main(arguments=None):
    options = options_of(arguments)
    with tempfile.TemporaryDirectory() as folder:
        return play(options, folder) if options.round is not None else fuzz(options, folder)


if __name__ == "__main__":
    sys.exit(main())
