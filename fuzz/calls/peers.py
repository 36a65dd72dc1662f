# SPDX-License-Identifier: Apache-2.0
"""Tensors of PyTorch: what may be done to them while they are read, and those that it refuses to export.

PyTorch is used only when the fuzzer is asked for it, since importing it takes longer than a short run.
"""

import numpy as np

torch = None  # the module, once load() found it


def load():
    """Import PyTorch and say whether that succeeded."""
    global torch
    try:
        import torch as module
    except ImportError:
        return False
    torch = module
    module.set_num_threads(1)
    return True


def from_numpy(plain):
    """A tensor with storage of its own, or None when PyTorch has no such dtype."""
    try:
        return torch.from_numpy(np.array(plain, order="C"))
    except TypeError:
        return None


def describe(t):
    """A tensor for messages; those of some layouts have no shape."""
    try:
        return f"<torch {t.dtype}{list(t.shape)}>"
    except RuntimeError:
        return f"<torch {t.dtype}>"


def larger(t):
    return torch.ones((t.numel() * 16 + 16,), dtype=t.dtype)


def convert(t):
    """Convert the module that a parameter belongs to."""
    module = torch.nn.Module()
    module.weight = t if isinstance(t, torch.nn.Parameter) else torch.nn.Parameter(t, requires_grad=False)
    module.weight.data = t.data
    getattr(module, "float" if t.dtype == torch.float64 else "double")()
    t.data = module.weight.data


CHANGES = {
    "data =": lambda t: setattr(t, "data", larger(t)),
    "set_ to nothing": lambda t: t.set_(),
    "set_ to another": lambda t: t.set_(larger(t)),
    "resize_ to more": lambda t: t.resize_(t.numel() * 16 + 16),
    "resize_ to less": lambda t: t.resize_(1),
    "resize_ to other dimensions": lambda t: t.resize_(1, t.numel(), 1),
    "storage to nothing": lambda t: t.untyped_storage().resize_(0),
    "storage to more": lambda t: t.untyped_storage().resize_(t.untyped_storage().nbytes() * 16 + 64),
    "swap_tensors": lambda t: torch.utils.swap_tensors(t, larger(t)),
    "out= of more elements": lambda t: torch.add(larger(t), 1, out=t),
    "module conversion": convert,
    "unsqueeze_": lambda t: t.unsqueeze_(0),
    "squeeze_": lambda t: t.squeeze_(),
    "t_": lambda t: t.t_(),
    "as_strided_": lambda t: t.as_strided_((1,), (1,)),
}


def refusing_subclass(t, name):
    """A tensor of a subclass that refuses one way of exporting it."""

    def refuse(self, *arguments, **keywords):
        raise BufferError("this tensor is not exported")

    def refuse_function(cls, function, types, arguments=(), keywords=None):
        raise BufferError("this tensor is not exported")

    method = classmethod(refuse_function) if name == "__torch_function__" else refuse
    return t.as_subclass(type("Refusing", (torch.Tensor,), {name: method, "said": f"torch.Tensor with {name}"}))


# Tensors that `Tensor.__dlpack__` refuses, or whose class refuses in its place.
REFUSED = {
    "requires grad": lambda t: t.double().requires_grad_(),
    "parameter": lambda t: torch.nn.Parameter(t.double()),
    "result with a gradient": lambda t: t.double().requires_grad_() * 2,
    "view of a parameter": lambda t: torch.nn.Parameter(t.double()).reshape(-1),
    "sparse": lambda t: t.to_sparse(),
    "meta": lambda t: t.to("meta"),
    "quantised": lambda t: torch.quantize_per_tensor(t.float(), 0.1, 0, torch.qint8),
    "nested": lambda t: torch.nested.nested_tensor([t.ravel(), t.ravel()[:1]]),
    "functorch": lambda t: torch._C._functorch._add_batch_dim(t.reshape(1, *t.shape), 0, 1),
    "refuses __dlpack__": lambda t: refusing_subclass(t, "__dlpack__"),
    "refuses functions": lambda t: refusing_subclass(t, "__torch_function__"),
}


def refused(context, plain):
    """A tensor that may not be taken, and what it is; None when PyTorch has no such tensor."""
    words = context.random.choice(sorted(REFUSED))
    t = from_numpy(plain)
    try:
        return None if t is None else (REFUSED[words](t), words)
    except (RuntimeError, TypeError, ValueError):
        return None
