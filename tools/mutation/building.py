# SPDX-License-Identifier: Apache-2.0
"""A copy of the project that is built with one fault at a time and put back as it was. The project is only read."""

import fnmatch
import os
import shutil
import subprocess
import sysconfig
from pathlib import Path

from fill_docstrings import Package, complete

# Options that differ in the copy: code is compiled more often than it is run, and a warning is not a test's finding.
CHANGED = (
    ("src/dltensor/native/meson.build", b"'-O3'", b"'-O1'"),
    ("tests/engine/building.py", b'"-O3"', b'"-O1"'),
    ("tests/engine/building.py", b'"-O2"', b'"-O1"'),
    ("tests/*.py", b'"-Werror"', b'"-Wno-error"'),
)


class BuildFailed(Exception):
    """The compiler refuses the fault, so that no test has to find it."""


def _stamps(folder):
    """Each file below a folder with what tells whether it has been written."""
    found = {}
    for at, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(at, name)
            status = os.lstat(path)
            found[os.path.relpath(path, folder)] = (status.st_mtime_ns, status.st_size)
    return found


def mirror(source, target):
    """Make `target` what `source` is. Files with the same time and size are taken to be the same; times are kept."""
    wanted, present = _stamps(source), _stamps(target)
    for name in present.keys() - wanted.keys():
        os.unlink(os.path.join(target, name))
    for name, stamp in wanted.items():
        if present.get(name) != stamp:
            path = os.path.join(target, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            shutil.copy2(os.path.join(source, name), path, follow_symlinks=False)


class Copy:
    """The project below `folder`: its build and what it installs in `work`, and in `kept` all of it without a fault.

    Putting `kept` back restores sources, objects and their times, so that nothing is compiled twice for one fault.
    """

    folders = ("work", "kept")

    def __init__(self, root, folder, python):
        self.root, self.folder, self.python = Path(root), Path(folder), Path(python)
        self.work, self.kept = (self.folder / name for name in self.folders)
        self.tree, self.build, self.site = self.work / "tree", self.work / "build", self.work / "site"
        self.compiled = self.folder / "compiled"  # what tests compile

    def prepare(self):
        """Bring the copy up to date with the project, fault-free, and build it."""
        if self.kept.is_dir():
            mirror(self.kept, self.work)
        self._copy_sources()
        self._set_up()
        self.rebuild()
        self.kept.mkdir(parents=True, exist_ok=True)
        mirror(self.work, self.kept)

    def _copy_sources(self):
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=self.root, check=True, capture_output=True, text=True,
        ).stdout  # fmt: skip
        names = {name for name in listed.split("\0") if name and (self.root / name).is_file()}
        for name in names:
            source, target = self.root / name, self.tree / name
            content = source.read_bytes()
            for pattern, before, after in CHANGED:
                content = content.replace(before, after) if fnmatch.fnmatch(name, pattern) else content
            if not target.is_file() or target.read_bytes() != content:
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content)
                shutil.copymode(source, target)
        for name in set(_stamps(self.tree)) - names:
            (self.tree / name).unlink()

    def _set_up(self):
        if not (self.build / "build.ninja").is_file():
            self._run("meson", "setup", self.build, self.tree, "--prefix=/usr", "-Dbuildtype=plain", "-Doptimization=1",
                      "-Db_ndebug=true", "-Dpython.purelibdir=/site", "-Dpython.platlibdir=/site")  # fmt: skip

    def _run(self, *arguments):
        command = [str(argument) for argument in arguments]
        environment = {**os.environ, "PATH": f"{self.python.parent}:{os.environ['PATH']}", "DESTDIR": str(self.work)}
        done = subprocess.run(
            command, env=environment, check=False, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        if done.returncode != 0:
            raise BuildFailed(f"{' '.join(command)}\n{done.stdout[-3000:]}")

    def rebuild(self):
        """Compile and install what has changed. BuildFailed with the compiler's last lines."""
        self._run("ninja", "-C", self.build)
        self._run("meson", "install", "-C", self.build, "--no-rebuild", "--only-changed", "--quiet")

    def plant(self, mutant):
        """Write one fault into the copy and build it."""
        path = self.tree / mutant.file
        changed = mutant.apply(path.read_text())
        if mutant.file.endswith(".py"):
            try:
                compile(changed, mutant.file, "exec")
            except SyntaxError as error:
                raise BuildFailed(str(error)) from error
        path.write_text(changed)
        self.rebuild()

    def restore(self):
        """Put everything back as it was without a fault."""
        mirror(self.kept, self.work)
        for library in self.compiled.glob("*.so"):
            library.unlink()  # of tests/engine, whose objects are kept


class PythonCopy(Copy):
    """The copy for faults in Python files: what is compiled is that of the installed package, and stays."""

    folders = ("python-work", "python-kept")

    def _set_up(self):
        installed = Path(sysconfig.get_path("platlib")) / "dltensor"
        mirror(installed, self.site / "dltensor")

    def rebuild(self):
        package = Package(self.tree / "src" / "dltensor")
        for name in _stamps(self.site / "dltensor"):
            source = self.tree / "src" / "dltensor" / name
            if name.endswith(".py") and source.is_file():
                target, text = self.site / "dltensor" / name, complete(source.resolve(), package)
                if target.read_text() != text:
                    target.write_text(text)
