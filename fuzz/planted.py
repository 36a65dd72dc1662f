# SPDX-License-Identifier: Apache-2.0
"""See that the fuzzer of calls and the stress test find the defects of an older package.

    python -m tools planted                               # builds the commit that has them all, and looks for each
    python fuzz/planted.py --python build/old/bin/python  # the package that another interpreter has
    python fuzz/planted.py --only M3 --seed 5

Exit status: 0 when every defect was found, 1 when one was not, 2 when nothing could be looked for.
"""

import argparse
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
DIED = r"died by SIG(SEGV|BUS|ABRT)"


class Defect(NamedTuple):
    """One defect: what it is, which program looks for it, and what that prints when it is found."""

    name: str
    what: str
    program: list
    found: str
    torch: bool = False


CALLS = ["calls_fuzzer.py", "--rounds", "400", "--trick"]
DEFECTS = [
    Defect("M1", "a view of NumPy's memory is read after it was freed", [*CALLS, "change storage"], DIED),
    Defect("M1", "a view's values change when NumPy frees the memory", [*CALLS, "change storage"], "a view changed"),
    Defect("M1", "a view of PyTorch's storage is read after it was freed", [*CALLS, "change storage"],
           rf"{DIED}[^\0]*<torch", True),
    Defect("M1", "a view of a module's parameter changes with its conversion", [*CALLS, "change storage"],
           "(a view changed|SIGSEGV)[^\0]*module conversion", True),
    Defect("M2", "shapes of operands are read again while another thread changes them",
           ["stress.py", "--rounds", "400"], "died by|not defined for|cannot be converted|no memory left"),
    Defect("M3", "an operand is read after another one freed it", [*CALLS, "change operand"], DIED),
    Defect("M4", "the length of a shape is asked twice", [*CALLS, "two answers"], DIED),
    Defect("M5", "types are known by their names", [*CALLS, "stolen name"], rf"{DIED}|KeyError"),
    Defect("M6", "__array__ that gives the object itself", [*CALLS, "itself"], rf"{DIED}[^\0]*__array__"),
    Defect("M7", "more memory than the machine has is granted", [*CALLS, "too large"], "more than the machine has"),
    Defect("M8", "tensors that require grad are taken", [*CALLS, "refused tensor"],
           "took a tensor[^\0]*(requires grad|parameter)", True),
    Defect("M8", "subclasses that refuse __dlpack__ are taken", [*CALLS, "refused tensor"],
           "took a tensor[^\0]*refuses __dlpack__", True),
    Defect("M9", "more elements than can be counted", [*CALLS, "too large"],
           "broadcast_to: (size|nbytes) is not what the shape says"),
    Defect("M10", "old signatures behind a forwarder are refused", [*CALLS, "old signature"],
           "refused a producer of an old signature[^\0]*behind a forwarder"),
]  # fmt: skip


def look_for(defect, options):
    """Run a program until it prints the defect. Returns the finding, or None."""
    command = [sys.executable, str(HERE / defect.program[0]), *defect.program[1:], "--python", options.python]
    command += ["--seed", str(options.seed), *["--torch"] * defect.torch]
    wanted, block = re.compile(defect.found), []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            # A finding is some lines; the next one, or the summary, begins another.
            block = [line] if line.startswith("FOUND ") else [*block, line]
            if block[0].startswith("FOUND ") and wanted.search("".join(block)):
                process.terminate()
                return block[0].strip()
    return None


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", default=sys.executable, help="the interpreter whose package has the defects")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", help="the name of one defect, such as M3")
    options = parser.parse_args(arguments)
    torch = not subprocess.run([options.python, "-c", "import torch"], capture_output=True).returncode
    missing = tried = 0
    for defect in DEFECTS:
        if options.only not in (None, defect.name):
            continue
        if defect.torch and not torch:
            print(f"{defect.name}  skipped, PyTorch is not installed: {defect.what}", flush=True)
            continue
        start = time.monotonic()
        found = look_for(defect, options)
        tried += 1
        missing += found is None
        words = f"found after {time.monotonic() - start:.0f} s" if found else "NOT FOUND"
        print(f"{defect.name}  {words}: {defect.what}" + f"\n    {found}" * bool(found), flush=True)
    print(f"planted: {tried - missing} of {tried} found")
    return 1 if missing else 0 if tried else 2


if __name__ == "__main__":
    sys.exit(main())
