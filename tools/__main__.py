# SPDX-License-Identifier: Apache-2.0
"""Run a program of this folder: python -m tools NAME [arguments]. Without a name, print the list of README.md."""

import os
import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent


def programs():
    """Return the paths of programs by their names."""
    files = [*HERE.glob("*.py"), *HERE.glob("*.sh")]
    folders = {path.parent.name: path.parent for path in HERE.glob("*/__main__.py")}
    return {path.stem: path for path in files if path != Path(__file__).resolve()} | folders


def purposes():
    """Return what README.md says of each program."""
    return dict(re.findall(r"^\| `(\w+)` \| (.*) \|$", (HERE / "README.md").read_text(), re.M))


def main():
    if not sys.argv[1:]:
        print("\n".join(f"{name:21} {purpose}" for name, purpose in purposes().items()))
        return
    name, *arguments = sys.argv[1:]
    path = programs().get(name.replace("-", "_"))
    if path is None:
        sys.exit(f"tools: expected the name of a program, got {name!r}; `python -m tools` lists them")
    # A build finds its compilers and tools next to the running Python.
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    command = [str(path), *arguments] if path.suffix == ".sh" else [sys.executable, str(path), *arguments]
    os.execv(command[0], command)


if __name__ == "__main__":
    main()
