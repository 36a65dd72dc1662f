# SPDX-License-Identifier: Apache-2.0
"""Arithmetic on the photograph, compared with NumPy and torch, all on one thread. Draws nothing."""

from dataclasses import dataclass

from ..._tools.timing import by_turns

# The sepia matrix: rows are input channels, columns output channels.
SEPIA = ((0.393, 0.349, 0.272), (0.769, 0.686, 0.534), (0.189, 0.168, 0.131))

# Name, our expression, NumPy's, torch's, the picture of `result`, a remark. All are shown and evaluated unchanged.
WORKS = (
    (
        "brighter",
        "dl.add(photo, 60, saturate=True)",
        "np.clip(array.astype(np.int16) + 60, 0, 255).astype(np.uint8)",
        "torch.clamp(tensor.short() + 60, 0, 255).to(torch.uint8)",
        "result",
        "saturates instead of wrapping, in one pass over bytes",
    ),
    (
        "contrast",
        "dl.cast(photo, 'uint8', scale=1.6, offset=-72.0, rounding='nearest')",
        "np.clip(np.rint(array * np.float32(1.6) - np.float32(72)), 0, 255).astype(np.uint8)",
        "torch.clamp(torch.round(tensor * 1.6 - 72), 0, 255).to(torch.uint8)",
        "result",
        "scaled, shifted, rounded and clamped in one pass",
    ),
    (
        "HWC to CHW",
        "dl.cast(dl.permute_dims(photo, (2, 0, 1)), 'float32', scale=1 / 255)",
        "np.ascontiguousarray(array.transpose(2, 0, 1)) * np.float32(1 / 255)",
        "tensor.permute(2, 0, 1).contiguous().to(torch.float32) * (1 / 255)",
        "dl.cast(dl.permute_dims(result, (1, 0, 2)).reshape((result.shape[1], -1)), 'uint8', scale=255,"
        " rounding='nearest')",
        "pixels of bytes to planes of floats, in one cast",
    ),
    (
        "sepia",
        "dl.cast(dl.gemm(dl.cast(photo.reshape((-1, 3)), 'float32'), dl.asarray(SEPIA, dtype='float32')), 'uint8',"
        " rounding='nearest')",
        "np.clip(np.rint(array.reshape(-1, 3).astype(np.float32) @ np.array(SEPIA, np.float32)), 0, 255)"
        ".astype(np.uint8)",
        "torch.clamp(torch.round(tensor.reshape(-1, 3).float() @ torch.tensor(SEPIA)), 0, 255).to(torch.uint8)",
        "result.reshape(photo.shape)",
        "a colour matrix: one matrix product",
    ),
    (
        "mask",
        "dl.where(dl.greater(photo, 128), photo, 0)",
        "np.where(array > 128, array, np.uint8(0))",
        "torch.where(tensor > 128, tensor, 0)",
        "result",
        "elements selected by a comparison",
    ),
)


@dataclass(frozen=True)
class Worked:
    """One operation: its name, expression, times, and the largest difference between results."""

    name: str
    expression: str
    remark: str
    tensor: object
    times: dict
    differs: dict

    @property
    def speed_up(self):
        """The fastest peer's time over ours."""
        return min(time for name, time in self.times.items() if name != "dltensor") / (self.times["dltensor"] or 1e-9)


def work(photo, peers=("numpy", "torch"), table=WORKS, rounds=21):
    """Do each piece of work on a photograph, alternately with every installed peer, and return a `Worked` for each."""
    import dltensor as dl

    names = {"dl": dl, "photo": photo, "SEPIA": SEPIA}
    if "numpy" in peers:
        import numpy as np

        names |= {"np": np, "array": photo.numpy().copy()}
    if "torch" in peers:
        try:
            import torch
        except ImportError:
            peers = [peer for peer in peers if peer != "torch"]
        else:
            names |= {"torch": torch, "tensor": dl.into(photo.copy(), torch.Tensor)}
    # On one thread each: a photograph is small, and the cost of threads depends on the load of the machine.
    threads = dl.num_threads()
    torch_threads = names["torch"].get_num_threads() if "torch" in names else 0
    dl.set_num_threads(1)
    if torch_threads:
        names["torch"].set_num_threads(1)
    try:
        return [_worked(row, names, peers, rounds) for row in table]
    finally:
        dl.set_num_threads(threads)
        if torch_threads:
            names["torch"].set_num_threads(torch_threads)


def _worked(row, names, peers, rounds):
    name, ours, numpy, torchs, look, remark = row
    statements = {"dltensor": ours} | {peer: {"numpy": numpy, "torch": torchs}[peer] for peer in peers}
    result = eval(ours, names)
    took = by_turns(statements.values(), names, rounds)
    differs = {peer: _distance(result, eval(statements[peer], names)) for peer in peers}
    shown = eval(look, names | {"result": result})
    return Worked(name, ours, remark, shown, {who: took[text] for who, text in statements.items()}, differs)


def _distance(ours, theirs):
    """Return the largest difference between elements of two results."""
    import dltensor as dl

    wide = [dl.astype(dl.asarray(x), "float64") for x in (ours, theirs)]
    return max(dl.abs(dl.subtract(*wide)).reshape((-1,)).tolist())
