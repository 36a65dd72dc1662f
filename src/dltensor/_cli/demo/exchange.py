# SPDX-License-Identifier: Apache-2.0
"""The exchanges: the photograph is passed from framework to framework, and each result is recorded.

Every finding is an observation of this run on this machine. Nothing is printed or drawn here.
"""

import warnings
from dataclasses import dataclass

import dltensor as dl

from ..._core.foreign_text import describe_error
from ..._tools.timing import by_turns

FRAME = 6
ORANGE = (255, 140, 0)


@dataclass(frozen=True)
class Step:
    """One exchange: the framework, the address, and the properties of its export."""

    name: str
    address: int
    moved: bool
    readonly: bool
    said: str
    refused: bool = False


@dataclass(frozen=True)
class Holding:
    """Test whether one framework could hold one view: ``same memory``, ``copied`` or ``refused``, and why."""

    verdict: str
    readonly: bool
    reason: str


@dataclass(frozen=True)
class Timing:
    """The cost of one exchange: our statement and the framework's own, in seconds."""

    name: str
    ours: str
    own: str
    our_time: float
    own_time: float


def pass_around(photo, peers):
    """Pass `photo` through each framework in turn; each imports the export of the one before.

    Parameters
    ----------
    photo : Tensor
    peers : list of Peer

    Returns
    -------
    (Tensor, list of Step)
        The last export, and the steps.

    Raises
    ------
    MemoryError
        No memory is left. Other exceptions of a framework are recorded in its step.
    """
    steps = []
    for peer in peers:
        try:
            back = peer.send(peer.receive(photo))
        except Exception as error:  # frameworks raise any exception; the exchange continues without them
            steps.append(Step(peer.name, photo.data_ptr, False, photo.readonly, describe_error(error), True))
            continue
        moved = back.data_ptr != photo.data_ptr
        said = (
            "it made a copy"
            if moved
            else "its arrays never change: read-only from here on"
            if back.readonly and not photo.readonly
            else ""
        )
        photo = back
        steps.append(Step(peer.name, photo.data_ptr, moved, photo.readonly, said))
    return photo, steps


def paint(photo, peers):
    """Paint a frame through our tensor and look for it in every framework with mutable arrays.

    Parameters
    ----------
    photo : Tensor, shape (height, width, 3), uint8, writable
    peers : list of Peer

    Returns
    -------
    dict of name to bool
        Whether that framework, read by its own functions, shows the paint.

    Raises
    ------
    ValueError
        `photo` is read-only.
    """
    held = []
    for peer in peers:
        try:
            x = peer.receive(photo)
            back = peer.send(x)
        except Exception:  # recorded already, in its step
            continue
        # Immutable arrays must not be modified, and a copy does not change.
        if not back.readonly and back.data_ptr == photo.data_ptr:
            held.append((peer, x))
    colour = dl.asarray(list(ORANGE), dtype="uint8")
    for edge in (photo[:FRAME], photo[-FRAME:], photo[:, :FRAME], photo[:, -FRAME:]):
        edge[...] = colour
    seen = {}
    for peer, x in held:
        shown = eval(peer.own_take, peer.space(x=x))
        seen[peer.name] = tuple(int(number) for number in shown[0, 0]) == ORANGE
    return seen


def holdings(tensors, peers):
    """Find out which framework can hold which tensor without a copy.

    Parameters
    ----------
    tensors : dict of label to Tensor
    peers : list of Peer

    Returns
    -------
    dict of (label, peer name) to Holding

    Raises
    ------
    MemoryError
        No memory is left. Refusals are findings, not errors.
    """
    found = {}
    for label, tensor in tensors.items():
        for peer in peers:
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # the table shows what the warnings are about
                    back = peer.send(peer.receive(tensor))
            except Exception as error:  # frameworks raise different exceptions for a refusal
                found[label, peer.name] = Holding("refused", tensor.readonly, describe_error(error))
                continue
            same = back.data_ptr == tensor.data_ptr and back.strides == tensor.strides
            found[label, peer.name] = Holding("same memory" if same else "copied", back.readonly, "")
    return found


def time_exchanges(photo, peers, progress):
    """Time each exchange alternately with the framework's own way.

    Parameters
    ----------
    photo : Tensor, writable
    peers : list of Peer
    progress : callable taking a str

    Returns
    -------
    (list of Timing, float)
        The timings, and the seconds that one copy of the photograph takes.

    Raises
    ------
    MemoryError
        No memory is left. A framework that cannot exchange has no row.
    """
    array = photo.numpy()
    timings = []
    for peer in peers:
        progress(f"timing {peer.name}")
        try:
            x = peer.receive(photo)
            space = peer.space(photo=photo, array=array, x=x)
            took = by_turns([peer.give, peer.own_give, peer.take, peer.own_take], space)
        except Exception:  # recorded already, in its step
            continue
        timings.append(Timing(f"to {peer.name}", peer.give, peer.own_give, took[peer.give], took[peer.own_give]))
        timings.append(Timing(f"from {peer.name}", peer.take, peer.own_take, took[peer.take], took[peer.own_take]))
    copying = by_turns(["array.copy()"], {"array": array})["array.copy()"]
    return timings, copying
