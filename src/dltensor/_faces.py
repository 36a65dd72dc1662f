# SPDX-License-Identifier: Apache-2.0
"""Which face answers which question of the Tensor class, loaded when it is first asked. No answers in here."""

from importlib import import_module

from ._tensor import set_hook

FACES = {
    "adopt": ("_cuda_exchange", "adopt"),
    "array": ("_protocols", "to_numpy"),
    "array_interface": ("_protocols", "array_interface"),
    "contains": ("_protocols", "contains"),
    "copy": ("_cuda_tensor", "copy"),
    "cuda_array_interface": ("_protocols", "cuda_array_interface"),
    "cuda_start": ("_cuda_device", "start"),
    "engine": ("_cuda_tensor", "engine"),
    "export": ("_cuda_exchange", "export"),
    "fill": ("_cuda_tensor", "fill"),
    "format": ("_format", "format_tensor"),
    "html": ("_html", "html_tensor"),
    "launch": ("_cuda_launch", "settings_of"),
    "move": ("_cuda_tensor", "move"),
    "namespace": ("_protocols", "namespace"),
    "reduce": ("_pickle", "reduce_tensor"),
    "repr": ("_format", "repr_tensor"),
    "stream_for_readers": ("_cuda_exchange", "stream_for_readers"),
    "to": ("_cuda_tensor", "to"),
    "transfer": ("_cuda_tensor", "transfer"),
}


def _loading(hook, module, name):
    def ask(*arguments):
        function = getattr(import_module(f"{__package__}.{module}"), name)
        set_hook(hook, function)
        return function(*arguments)

    return ask


for _hook, (_module, _name) in FACES.items():
    set_hook(_hook, _loading(_hook, _module, _name))
