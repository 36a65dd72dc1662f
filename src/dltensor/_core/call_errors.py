# SPDX-License-Identifier: Apache-2.0
"""Messages of failed calls of public functions: arguments that the function does not take, and the name in front."""

import sys

from .naming import text_signature

# Parameters of NumPy and PyTorch that functions lack, and what to write in place of them; some of one function alone.
_REMEDIES = {
    "order": "; results are in C order, t.T.contiguous().T is in Fortran order",
    "casting": "; types are promoted as in the array API, astype() converts to others",
    "generator": "; write dl.random.Generator(seed)",
    "memory_format": "; leave it out",
    "pin_memory": "; write device='cuda_host'",
    "requires_grad": "; tensors have no gradients, leave it out",
    "subok": "; leave it out",
    "linspace.retstep": "; write (stop - start) / (num - 1) for the step",
    "median.dim": "; PyTorch's median is quantile(x, 0.5, axis=axis, method='lower')",
    "pad.value": "; write constant_values=",
    "sort.dim": "; PyTorch's sort returns indices too, call sort(x, axis=axis) and argsort(x, axis=axis)",
}
# Names beside public ones that messages of inner functions begin with: namespaces, classes and methods.
_NAMESPACES = ("Generator", "choice", "fft", "integers", "linalg", "open_file", "permutation", "to", "__setitem__")


def explain(file, error):
    """Return the message of a call that a compiled function refused, with the signature of the function.

    >>> explain("dltensor/_ops/creation.so.p/creation.pyx.c", "zeros() takes at most 2 positional arguments (3 given)")
    'zeros: takes at most 2 positional arguments (3 given); call it as zeros(shape, dtype=None, *, device=None)'
    """
    name, _, fault = str(error).partition("() ")
    *folders, last = file.replace("\\", "/").rpartition("dltensor/")[2].split("/")
    path = ["dltensor", *(folder for folder in folders if "." not in folder), last.partition(".")[0]]
    module = vars(sys.modules[".".join(path)])
    classes = [
        thing for thing in module.values() if isinstance(thing, type) and thing.__module__.startswith("dltensor")
    ]
    if name in ("__init__", "__cinit__"):
        return " or ".join(
            _refused(kind.__name__, fault, kind.__text_signature__) for kind in _made(module, classes, fault)
        )
    owners = [module, *map(vars, classes)]
    signature = next(filter(None, (getattr(owner.get(name), "__text_signature__", None) for owner in owners)), None)
    if signature is None:
        raise LookupError(name)
    return _refused(name, fault, signature)


def _made(module, classes, fault):
    """Return the classes of which one refused its arguments: those of the module itself, by the number it takes.

    Cython's message names neither. A public class has the name of a package above the module that defines it.
    """
    signed = [kind for kind in classes if kind.__text_signature__ and module["__name__"].startswith(kind.__module__)]
    nearest = max(len(kind.__module__) for kind in signed)
    own = [kind for kind in signed if len(kind.__module__) == nearest]
    return [kind for kind in own if f" {_positional(kind)} positional" in fault] or own


def _positional(kind):
    parameters = kind.__text_signature__.strip("()").partition("*")[0].replace("/", "").split(",")
    return sum(1 for parameter in parameters if parameter.strip())


def _refused(name, fault, signature):
    for receiver in ("$self, /, ", "$self, /", "$self, ", "$self"):
        signature = signature.replace(receiver, "")
    parameter = fault.rpartition("argument '")[2].rstrip("'")
    remedy = _REMEDIES.get(f"{name}.{parameter}") or _REMEDIES.get(parameter, "")
    return f"{name}: {fault}; call it as {name}{signature}{remedy}"


def answer(function, error):
    """Change the message of an exception that left a public function written in Python.

    Arguments that the function does not take are answered with its signature. The name of an inner function at the
    beginning of a message becomes the name of the function that was called.

    >>> def double(x, /):
    ...     return 2 * x
    >>> error = TypeError("double() got an unexpected keyword argument 'y'")
    >>> answer(double, error)
    >>> print(error)
    double: got an unexpected keyword argument 'y'; call it as double(x, /)
    """
    text = error.args[0] if error.args else None
    if type(text) is not str:
        return
    name, trace = function.__name__, error.__traceback__
    if trace is None:
        called, found, fault = text.partition("() ")
        if found and called == name and type(error) is TypeError:
            error.args = (_refused(name, fault, text_signature(function)),)
        return
    while trace.tb_next is not None:
        trace = trace.tb_next
    if str(trace.tb_frame.f_globals.get("__name__")).startswith("dltensor."):  # else the message is another's
        rename(error, name)


def rename(error, name):
    """Let the message of an exception of this package begin with the name of the function that was called.

    >>> error = TypeError("matmul: not defined for bool")
    >>> rename(error, "einsum")
    >>> print(error)
    einsum: not defined for bool
    """
    inner, found, rest = error.args[0].partition(": ") if error.args and type(error.args[0]) is str else ("", "", "")
    package = sys.modules["dltensor"]
    if found and inner != name and (inner in package._SHOWN or inner in _NAMESPACES or inner in package.linalg.__all__):
        error.args = (f"{name}: {rest}", *error.args[1:])
        if isinstance(error, ImportError):
            error.msg = error.args[0]
