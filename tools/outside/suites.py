# SPDX-License-Identifier: Apache-2.0
"""The suites of ``tools/outside.py``: how their files are read, found, copied and changed.

A suite is a TOML file with these keys; all but `tests` may be left out.

    package      the installed package that has the tests
    folders      folders and files that are copied, from the root of a checkout or from beside the package; otherwise
                 the folder of the package
    path         folder below the root from which the package is imported
    url          where a checkout comes from, if the installed package has no tests
    versions     distributions whose versions are recorded
    patches      diffs of examples/upstream
    libraries    folders of the checkout from which extensions of the tests are imported
    own          test files of this folder, in place of files of the project
    arguments    options of pytest
    tests, short, environment, plugins
                 of every run, or of one in [runs.NAME]; so are the next four
    replace      pairs of a regular expression and its replacement, for all Python files of the copy
    replace_in   the folder whose files these are alone
    rewrite      the test files are rewritten by rewriting.py; "imports": only the modules that they import
    tensors_only a test counts only if a tensor takes part in it, as uses.py counts; so with `rewrite`
    calls        the number of calls with tensors is reported
    control      what is different in the run without tensors, if there is one: only tests that pass there count
    failures     tables with a class of CLASSES, a reason, and patterns of names of tests, where "*" stands for any
                 characters and "?" for one; patterns of the error and the run, if not every one is meant

Files of a copy that a run does not change are hard links: no other program may change them in place.
"""

import fnmatch
import functools
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
UPSTREAM = HERE.parent.parent / "examples" / "upstream"
CLASSES = {
    "ours": "a fault of dltensor that is to be mended",
    "default dtype": "the test expects float64 of what is float32 by default",
    "documented": "a documented difference of dltensor",
    "client": "an assumption of the project or of its test: a list of known libraries, a text, a tolerance",
    "missing": "the test needs a function or a kind of element that dltensor does not have",
}


class Failures:
    """An entry of the list of expected failures."""

    def __init__(self, name, table):
        unknown = set(table) - {"class", "reason", "tests", "errors", "run"}
        self.kind, self.reason, self.patterns = table.get("class"), table.get("reason", ""), table.get("tests", [])
        self.run, self.errors = table.get("run"), table.get("errors", ["*"])
        if unknown or self.kind not in CLASSES or not self.reason or not self.patterns:
            sys.exit(
                f"outside: {name}.toml: an entry of failures needs a class of {', '.join(CLASSES)}, a reason and "
                f"tests, got {table}"
            )

    def matches(self, name, error):
        return any(matches(pattern, name) for pattern in self.patterns) and any(
            matches(pattern, error) for pattern in self.errors
        )


@functools.cache
def compiled(pattern):
    return re.compile(fnmatch.translate(pattern.replace("[", "[[]")), re.S)


def matches(pattern, name):
    """Return whether a pattern of "*" and "?" stands for the name of a test."""
    return compiled(pattern).match(name) is not None


class Run:
    """One run of the tests of a suite, with settings of its own."""

    def __init__(self, name, table, base):
        table = base | table | {"environment": base.get("environment", {}) | table.get("environment", {})}
        self.name = name
        self.tests, self.short = table["tests"], table.get("short", [])
        self.environment, self.plugins = table["environment"], table.get("plugins", [])
        self.replace = table.get("replace", [])
        self.replace_in = table.get("replace_in", "")
        self.rewrite = table.get("rewrite", "")
        self.tensors_only = table.get("tensors_only", bool(self.rewrite))
        self.calls = table.get("calls", False)
        self.control = table.get("control")
        self.table = table


class Suite:
    """A suite as its file describes it."""

    def __init__(self, name, table):
        self.name = name
        self.package, self.url = table.get("package", ""), table.get("url", "")
        self.own = table.get("own", [])
        self.folders = table.get("folders") or ([] if self.own else [self.package])
        self.path = table.get("path", "")
        self.versions, self.patches = table.get("versions", []), table.get("patches", [])
        self.libraries, self.arguments = table.get("libraries", []), table.get("arguments", [])
        self.runs = [Run(run, changed, table) for run, changed in table.get("runs", {"": {}}).items()]
        self.failures = [Failures(name, entry) for entry in table.get("failures", [])]


def names(folder=HERE):
    """Return the names of the suites."""
    return sorted(path.stem for path in folder.glob("*.toml"))


def load(name, folder=HERE):
    """Return a suite."""
    path = folder / f"{name}.toml"
    if not path.exists():
        sys.exit(f"outside: expected the name of a suite, got {name!r}; these exist: {', '.join(names(folder))}")
    return Suite(name, tomllib.loads(path.read_text()))


def control_of(run):
    """Return the run without tensors."""
    return Run(run.name, run.control | {"tests": run.tests}, run.table)


def find_source(suite, checkout):
    """Return the folder that has the files of a suite: a checkout, one below it, or that of the installed package."""
    if checkout is not None:
        below = sorted(path for path in checkout.iterdir() if path.is_dir()) if checkout.is_dir() else []
        for folder in (checkout, *below):
            if all((folder / part).exists() for part in suite.folders):
                return folder.resolve()
        sys.exit(f"outside: {suite.name}: expected {', '.join(suite.folders)} in {checkout} or in a folder below it")
    if suite.url:
        sys.exit(
            f"outside: {suite.name}: no installed package has these tests; give --checkout DIR, a copy of {suite.url}"
        )
    found = importlib.util.find_spec(suite.package)
    if found is None:
        sys.exit(f"outside: {suite.name}: {suite.package} is not installed; install it, or give --checkout DIR")
    source = Path(found.submodule_search_locations[0]).parent
    missing = [part for part in suite.folders if not (source / part).exists()]
    if missing:
        sys.exit(f"outside: {suite.name}: the installed package has no {', '.join(missing)}; give --checkout DIR")
    return source


def link(source, to):
    """Make a hard link, or a copy where the file system has none."""
    try:
        os.link(source, to)
    except OSError:
        shutil.copy2(source, to)


def copy_files(suite, run, source, copy):
    """Copy the files of a suite and change them for a run."""
    copy.mkdir(parents=True)
    for part in suite.folders:
        (copy / part).parent.mkdir(parents=True, exist_ok=True)
        if (source / part).is_dir():
            shutil.copytree(source / part, copy / part, copy_function=link)
        else:
            shutil.copy2(source / part, copy / part)
    for name in suite.own:
        shutil.copy2(HERE / name, copy / name)
    for libraries in source.glob("*.libs"):  # extensions of a wheel look for their libraries beside the package
        (copy / libraries.name).symlink_to(libraries)
    (copy / "pytest.ini").write_text("[pytest]\n")
    for patch in suite.patches:
        apply_patch(suite, UPSTREAM / patch, copy)
    if not run.replace and not run.rewrite:
        return
    for file in copy.rglob("*.py"):
        path = file.relative_to(copy).as_posix()
        text = file.read_text()
        changed = text
        for pattern, replacement in run.replace if path.startswith(run.replace_in) else ():
            changed = re.sub(pattern, replacement, changed)
        if run.rewrite and is_test_of(run, path):
            import rewriting

            changed = rewriting.rewritten(changed, run.rewrite)
        if changed != text:
            file.unlink()  # the other name of a hard link keeps the text
            file.write_text(changed)


def is_test_of(run, path):
    """Test whether a file is one of those that a run names, or a test in one of its folders."""
    in_folder = any(path.startswith(f"{folder}/") for folder in run.tests)
    return path in run.tests or (in_folder and path.rpartition("/")[2].startswith("test_"))


def apply_patch(suite, patch, folder):
    """Apply a diff; hard links to the original files are replaced and not written to."""
    command = ["git", "apply", "--unsafe-paths", str(patch)]
    environment = {**os.environ, "GIT_CEILING_DIRECTORIES": str(folder.parent)}
    ended = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    if ended.returncode:
        about = suite.package or suite.url
        sys.exit(f"outside: {patch.name} does not apply to {about}; write it anew for this version:\n{ended.stderr}")


def revision_of(folder):
    """Return the commit of a checkout."""
    ended = subprocess.run(["git", "describe", "--tags", "--always"], cwd=folder, capture_output=True, text=True)
    return ended.stdout.strip() or "no repository"
