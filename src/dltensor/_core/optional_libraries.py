# SPDX-License-Identifier: Apache-2.0
"""Libraries that need not be installed: which of several is taken, and the error where there is none."""

import os


def choose_library(libraries, load, *, variable, func, absent, extra, brings):
    """Load the first library that is installed, or the one that an environment variable selects.

    Parameters
    ----------
    libraries : sequence of str
        Names, the preferred one first.
    load : callable
        Called with a name; what it returns is the result. None or an ImportError where the library is not installed.
    variable : str
        Name of the environment variable.
    func : str
        Function named in errors.
    absent : str
        How the error says that there is none of them, as "neither a nor b is".
    extra, brings : str
        The extra of this package that installs a library, and which one.

    Examples
    --------
    >>> choose_library(("left", "right"), str.upper, variable="UNSET", func="f", absent="no", extra="x", brings="y")
    'LEFT'
    """
    selected = os.environ.get(variable, "")
    if selected and selected not in libraries:
        raise ValueError(f"{func}: {variable} must be one of {', '.join(libraries)}, got {selected[:40]!r}")
    cause = None
    for name in (selected,) if selected else libraries:
        try:
            loaded = load(name)
        except ImportError as error:
            cause = cause or error
        else:
            if loaded is not None:
                return loaded
    what = f"{variable} selects {selected}, which is not" if selected else absent
    raise ImportError(
        f"{func}: {what} installed; install the extra: pip install 'dltensor[{extra}]' brings {brings}",
        name=selected or None,
    ) from cause


def load_openblas(load):
    """Call `load` with the path of each file of scipy-openblas32, if that is installed, until it returns true.

    >>> load_openblas(lambda path: False)
    False
    """
    from importlib.util import find_spec

    if find_spec("scipy_openblas32") is None:
        return False
    from pathlib import Path

    import scipy_openblas32

    folder = Path(scipy_openblas32.get_lib_dir())
    return any(load(str(path)) for path in sorted(folder.glob("libscipy_openblas*.so*")))
