# SPDX-License-Identifier: Apache-2.0
"""The cost of a call: rows of small tensors, where call overhead dominates. Nothing is timed here."""

import dltensor as dl


def _names(n, torch):
    import numpy as np

    a = np.random.default_rng(0).random(n, dtype=np.float32) + 1
    b = a[::-1].copy()
    u = (a * 60).astype(np.uint8)
    names = {
        "np": np,
        "dl": dl,
        "na": a,
        "nb": b,
        "no": np.empty_like(a),
        "nu": u,
        "nm": np.empty(n, bool),
        "nf": (a * 90),
        "n8": np.empty(n, np.uint8),
        "f32": np.float32,
    }
    names |= {
        "a": dl.asarray(a.copy()),
        "b": dl.asarray(b.copy()),
        "o": dl.empty(n),
        "m": dl.empty(n, dtype="bool"),
        "u": dl.asarray(u.copy()),
        "f": dl.asarray(a * 90),
    }
    if torch is not None:
        names |= {
            "torch": torch,
            "t_a": torch.from_numpy(a.copy()),
            "t_b": torch.from_numpy(b.copy()),
            "t_o": torch.empty(n),
            "t_m": torch.empty(n, dtype=torch.bool),
            "t_u": torch.from_numpy(u.copy()),
            "t_f": torch.from_numpy(a * 90),
        }
    return names


# Row: what is called, our statement, NumPy's and torch's.
_CALLS = (
    ("a + b", "a + b", "na + nb", "t_a + t_b"),
    ("add(out=)", "dl.add(a, b, out=o)", "np.add(na, nb, out=no)", "torch.add(t_a, t_b, out=t_o)"),
    ("a < b", "a < b", "na < nb", "t_a < t_b"),
)
_SMALL_CALLS = (
    ("a + 1.5", "a + 1.5", "na + 1.5", "t_a + 1.5"),
    ("u8 < 100", "u < 100", "nu < 100", "t_u < 100"),
    ("fma", "dl.fma(2.0, a, b)", "f32(2.0) * na + nb", "torch.add(t_b, t_a, alpha=2.0)"),
    (
        "saturating cast",
        "dl.cast(f, 'uint8', rounding='nearest')",
        "np.clip(nf, 0, 255).astype('u1')",
        "t_f.clamp(0, 255).to(torch.uint8)",
    ),
)


def rows(torch=None):
    """Yield every row: group, name, gate, goal, our statement, the peers', and the variables of the statements."""
    for n, gate, goal in ((1, 5, 8), (10, 5, 8), (100, 5, 8), (1000, 2.5, 4), (10_000, 0.95, 1.1)):
        names = _names(n, torch)
        small = [(*call, 5, 10) if n <= 100 else (*call, 2.5, 4) for call in _SMALL_CALLS if n <= 1000]
        for what, ours, numpy, theirs, least, wanted in [*((*call, gate, goal) for call in _CALLS), *small]:
            yield ("call", f"{what}, {n}", least, wanted, ours, {"numpy": numpy, "torch": theirs}, names)
    names = _names(100, torch)
    yield ("foreign", "add(torch, torch), 100", 3, 6, "dl.add(t_a, t_b)", {"torch": "torch.add(t_a, t_b)"}, names)
    yield ("foreign", "add(numpy, numpy), 100", 1, 2, "dl.add(na, nb)", {"numpy": "np.add(na, nb)"}, names)
