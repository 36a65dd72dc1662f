# SPDX-License-Identifier: Apache-2.0
"""Work whose cost is in the strides: steps, broadcasting, transposes, and images from one order to another.

Run: python benchmarks/bench_layout.py [part of a row's name ...] [--json FILE] [--plot FILE]
"""

import numpy as np
from compare import Row, main, torch

import dltensor as dl


def _both(**arrays):
    """Each array under its name for NumPy (n), for us, and for torch (t_)."""
    names = {"np": np, "dl": dl, "torch": torch}
    for name, array in arrays.items():
        names |= {
            f"n{name}": array,
            name: dl.asarray(array),
            f"t_{name}": torch.from_numpy(array) if torch is not None else None,
        }
    return names


def _copy(group, what, gate, goal, to, source):
    names = _both(to=to, source=source)
    return Row(
        group,
        what,
        gate,
        goal,
        "dl.copy(source, to)",
        {"numpy": "np.copyto(nto, nsource)", "torch": "t_to.copy_(t_source)"},
        names,
    )


def steps():
    for n, gate, goal in ((100_000, 1.5, 2.2), (10_000_000, 1.0, 1.2)):
        a, o = np.ones(2 * n, np.float32), np.empty(n, np.float32)
        yield _copy("every second", f"copy f32 {n}", gate, goal, o, a[::2])
        yield Row(
            "every second",
            f"add f32 {n}",
            gate,
            goal,
            "dl.add(a, b, out=o)",
            {"numpy": "np.add(na, nb, out=no)", "torch": "torch.add(t_a, t_b, out=t_o)"},
            _both(a=a[::2], b=a[1::2], o=o),
        )


def broadcasts():
    for n, gate, goal in ((64, 1.5, 3), (1000, 0.95, 1.0), (4096, 1.1, 1.3)):
        a, o = np.ones((n, n), np.float32), np.empty((n, n), np.float32)
        for what, x, y in (("row", a, a[0]), ("column", a, a[:, :1]), ("outer", a[:, :1], a[0])):
            yield Row(
                "broadcast",
                f"{what} f32 {n}",
                gate,
                goal,
                "dl.add(x, y, out=o)",
                {"numpy": "np.add(nx, ny, out=no)", "torch": "torch.add(t_x, t_y, out=t_o)"},
                _both(x=x, y=y, o=o),
            )


def transposes():
    for kind, gate, goal in (("f4", 3, 6), ("f8", 2, 4), ("u1", 4, 8)):
        for n, ratio, stretch in ((64, 1.3, 2), (1000, 1.5, 3), (4096, gate, goal)):
            yield _copy(
                "transposed copy", f"{kind} {n}", ratio, stretch, np.empty((n, n), kind), np.ones((n, n), kind).T
            )
    for n in (64, 1000, 4096):
        a = np.ones((n, n), np.float32)
        yield Row(
            "a + b.T",
            f"f32 {n}",
            4,
            8,
            "dl.add(a, b, out=o)",
            {"numpy": "np.add(na, nb, out=no)", "torch": "torch.add(t_a, t_b, out=t_o)"},
            _both(a=a, b=a.copy().T, o=np.empty_like(a)),
        )


def images():
    for kind in ("u1", "f4"):
        hwc, chw = np.ones((8, 512, 512, 3), kind), np.ones((8, 3, 512, 512), kind)
        yield _copy("images", f"NHWC to NCHW {kind}", 1.4, 2, chw, hwc.transpose(0, 3, 1, 2))
        yield _copy("images", f"NCHW to NHWC {kind}", 1.4, 2, hwc, chw.transpose(0, 2, 3, 1))
    names = _both(
        image=np.ones((8, 512, 512, 3), np.uint8).transpose(0, 3, 1, 2), out=np.empty((8, 3, 512, 512), np.float32)
    )
    yield Row(
        "images",
        "u8 HWC to f32 CHW, scaled",
        2,
        3,
        "dl.cast(image, out, scale=1 / 127.5, offset=-1.0)",
        {
            "numpy": "np.subtract(np.multiply(nimage, np.float32(1 / 127.5), out=nout), 1, out=nout)",
            "torch": "t_out.copy_(t_image).mul_(1 / 127.5).sub_(1)",
        },
        names,
    )


def rows():
    yield from steps()
    yield from broadcasts()
    yield from transposes()
    yield from images()


if __name__ == "__main__":
    main(rows, __doc__.splitlines()[0])
