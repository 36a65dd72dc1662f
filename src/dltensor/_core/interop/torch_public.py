# SPDX-License-Identifier: Apache-2.0
"""Tensors of torch by its public functions: what may be exported, and what keeps the memory of a tensor."""

import contextlib
import sys


def overrides_export(kind):
    """Test whether a class of torch tensors overrides its export: then its ``__dlpack__`` is called.

    >>> overrides_export(torch.nn.Parameter)                      # doctest: +SKIP
    False
    """
    torch = sys.modules["torch"]
    for name in ("__dlpack__", "__dlpack_device__", "__torch_dispatch__"):
        if getattr(kind, name, None) is not getattr(torch.Tensor, name, None):
            return True
    function = getattr(kind, "__torch_function__", None)
    # Parameter and its like switch the function off, which is a builtin then.
    return (
        getattr(function, "__func__", function) is not getattr(torch.Tensor.__torch_function__, "__func__", None)
        and function is not torch._C._disabled_torch_function_impl
    )


def hold_storage(tensor):
    """Return the storage of a tensor, which is not resizable any more where the host has the memory.

    >>> hold_storage(torch.zeros(3)).resizable()                  # doctest: +SKIP
    False
    """
    torch = sys.modules["torch"]
    storage = torch.Tensor.untyped_storage(tensor)
    if storage.resizable():
        # The one public way to prevent it is an ndarray over the memory. Without NumPy there is none: see SECURITY.md.
        with contextlib.suppress(RuntimeError):
            torch.empty(0, dtype=torch.uint8, device="cpu").set_(storage).numpy()
    return storage


def examine(tensor, func):
    """Test whether a torch tensor has the lazy conj or neg bit set."""
    torch = sys.modules["torch"]

    def refuse(what, remedy):
        raise BufferError(f"{func}: the torch tensor {what}, which DLPack cannot express; {remedy}")

    if torch._C._functorch.is_functorch_wrapped_tensor(tensor):
        refuse("is inside a transform of torch.func such as vmap or grad", "export it outside of the transform")
    if tensor.requires_grad:
        refuse("requires grad", "use tensor.detach()")
    if tensor.is_nested:
        refuse("is nested", "use tensor.unbind(), or torch.nested.to_padded_tensor()")
    if tensor.layout != torch.strided:
        refuse(f"has the layout {tensor.layout}", "use tensor.to_dense()")
    if tensor.is_quantized:
        refuse(f"is quantized ({tensor.dtype})", "use tensor.int_repr(), or tensor.dequantize()")
    if tensor.device.type == "meta":
        refuse("is on the device meta, so it has no memory", "make it on a real device")
    return tensor.is_neg() or tensor.is_conj()
