# SPDX-License-Identifier: Apache-2.0
"""The frameworks of the demo: one row each, with our statements and its own. Nothing is timed here."""

import importlib
import os
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version

from ..._core.foreign_text import describe_error, first_line

# Row: name, what pip calls it, modules the statements need by the name they have there; then four statements.
# give: photo (ours) as its object; take: its object x as ours; own_give, own_take: the same between NumPy's array and x
# as in its manual. Results about a framework are measured at run time, not written here.
ROWS = (
    (
        "numpy",
        "numpy",
        {"np": "numpy"},
        "photo.numpy()",
        "dl.from_dlpack(x)",
        "np.from_dlpack(array)",
        "np.from_dlpack(x)",
    ),
    ("memoryview", None, {"np": "numpy"}, "memoryview(photo)", "dl.asarray(x)", "memoryview(array)", "np.asarray(x)"),
    (
        "torch",
        "torch",
        {"torch": "torch"},
        "dl.into(photo, torch.Tensor)",
        "dl.from_dlpack(x)",
        "torch.from_numpy(array)",
        "x.numpy()",
    ),
    (
        "tvm_ffi",
        "apache-tvm-ffi",
        {"tvm_ffi": "tvm_ffi"},
        "dl.into(photo, tvm_ffi.Tensor)",
        "dl.from_dlpack(x)",
        "tvm_ffi.from_dlpack(array)",
        "np.from_dlpack(x)",
    ),
    (
        "pyarrow",
        "pyarrow",
        {"pa": "pyarrow"},
        "dl.into(photo, pa.Tensor)",
        "dl.from_dlpack(x)",
        "pa.Tensor.from_numpy(array)",
        "x.to_numpy()",
    ),
    # Last: its arrays never change, so what comes back from it is read-only.
    (
        "jax",
        "jax",
        {"jax": "jax"},
        "dl.into(photo, jax.Array)",
        "dl.from_dlpack(x)",
        "jax.numpy.from_dlpack(array)",
        "np.from_dlpack(x)",
    ),
)


@dataclass
class Peer:
    """A framework that is installed here: its statements, and the modules they name."""

    name: str
    version: str
    give: str
    take: str
    own_give: str
    own_take: str
    modules: dict = field(repr=False)

    def space(self, **names):
        """Return the variables of the statements."""
        import numpy as np

        import dltensor as dl

        return {"dl": dl, "np": np, **self.modules, **names}

    def receive(self, photo):
        """Return our tensor as an object of this framework."""
        return eval(self.give, self.space(photo=photo))

    def send(self, x):
        """Return an object of this framework as our tensor."""
        return eval(self.take, self.space(x=x))


def _load(row):
    name, distribution, modules, *statements = row
    loaded = {short: importlib.import_module(module) for short, module in modules.items()}
    if name == "jax":
        importlib.import_module("jax.numpy")
    if name == "pyarrow" and not hasattr(loaded["pa"].Tensor, "from_dlpack"):
        # Older releases have no DLPack on their tensors, but NumPy's way and the buffer protocol share memory too.
        statements[0], statements[1] = "pa.Tensor.from_numpy(photo.numpy())", "dl.asarray(x)"
    try:
        number = version(distribution) if distribution else "Python's own"
    except PackageNotFoundError:
        number = first_line(str(getattr(next(iter(loaded.values())), "__version__", "?")), 80)
    return Peer(name, number, *statements, modules=loaded)


def find(progress):
    """Return the frameworks that can be imported, and the reason why each other one is missing, by name."""
    # Without this jax looks for accelerators, which takes seconds and prints warnings.
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    found, missing = [], {}
    for row in ROWS:
        progress(f"importing {row[0]}")
        try:
            found.append(_load(row))
        except ModuleNotFoundError:
            missing[row[0]] = f"pip install {row[1]}"
        except (ImportError, OSError, AttributeError, RuntimeError) as error:
            missing[row[0]] = f"installed, but failed to import: {describe_error(error)}"
    return found, missing
