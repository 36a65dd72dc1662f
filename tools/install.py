# SPDX-License-Identifier: Apache-2.0
"""Build the package and install it into the running environment, with the progress of the build, which pip hides.

    python -m tools install [--editable] [FOLDER]     build in FOLDER, build/release by default

Only what has changed is compiled.
"""

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

# As "[3/316] Compiling C++ object ..."; the files of a wheel are listed as "[3/277] dltensor/__init__.py".
STEP = re.compile(r"\[(\d+)/(\d+)\] \S+ \S.*")


def show(step, shown):
    """Print a step of the build: on a terminal in place of the step before it, elsewhere one in ten."""
    tenth = 10 * int(step[1]) // int(step[2])
    if sys.stdout.isatty():
        print(f"\r\033[K{step[0][: shutil.get_terminal_size().columns - 1]}", end="", flush=True)
    elif tenth != shown:
        print(step[0], flush=True)
    return tenth


def build(folder, wheels, hook):
    """Build a wheel into a folder and return its path."""
    program = f"import mesonpy; mesonpy.{hook}({str(wheels)!r}, {{'build-dir': {folder!r}}})"
    lines, shown = [], None
    command = [sys.executable, "-c", program]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    ) as process:
        for line in process.stdout:
            lines.append(line)
            if step := STEP.match(line):
                shown = show(step, shown)
    if sys.stdout.isatty() and shown is not None:
        print()
    if process.returncode:
        sys.exit("".join(lines[-200:]) + "install: the build failed; its last lines are above")
    (wheel,) = wheels.glob("*.whl")
    return wheel


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", nargs="?", default="build/release")
    parser.add_argument(
        "--editable", action="store_true", help="use the files of the tree; an import compiles what has changed"
    )
    options = parser.parse_args()
    print(f"install: building in {options.folder}", flush=True)
    with tempfile.TemporaryDirectory() as wheels:
        wheel = build(options.folder, Path(wheels), "build_editable" if options.editable else "build_wheel")
        # Tests of the engine load it; no wheel has it.
        ninja = Path(sys.executable).with_name("ninja")
        subprocess.run([ninja, "--quiet", "-C", options.folder, "tests/engine/engine_binding.so"], check=True)
        pip = [sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-deps"]
        sys.exit(subprocess.run([*pip, "--force-reinstall", wheel]).returncode)


if __name__ == "__main__":
    main()
