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
    remark: str
    refused: bool = False


@dataclass(frozen=True)
class Holding:
    """The import of one view by one framework: ``same memory``, ``copied`` or ``refused``, and the reason."""

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

    Returns the last export, and a step for each framework; exceptions of a framework are recorded in its step.
    """
    steps = []
    for peer in peers:
        try:
            back = peer.send(peer.receive(photo))
        except Exception as error:  # frameworks raise any exception; the exchange continues without them
            steps.append(Step(peer.name, photo.data_ptr, False, photo.readonly, describe_error(error), True))
            continue
        moved = back.data_ptr != photo.data_ptr
        remark = (
            "it copied the array"
            if moved
            else "its arrays never change: read-only from here on"
            if back.readonly and not photo.readonly
            else ""
        )
        photo = back
        steps.append(Step(peer.name, photo.data_ptr, moved, photo.readonly, remark))
    return photo, steps


def paint(photo, peers):
    """Paint a frame through our tensor and return for each framework with mutable arrays whether it shows it."""
    shared = []
    for peer in peers:
        try:
            x = peer.receive(photo)
            back = peer.send(x)
        except Exception:  # recorded already, in its step
            continue
        # Immutable arrays must not be modified, and a copy does not change.
        if not back.readonly and back.data_ptr == photo.data_ptr:
            shared.append((peer, x))
    colour = dl.asarray(list(ORANGE), dtype="uint8")
    for edge in (photo[:FRAME], photo[-FRAME:], photo[:, :FRAME], photo[:, -FRAME:]):
        edge[...] = colour
    seen = {}
    for peer, x in shared:
        shown = eval(peer.own_take, peer.space(x=x))
        seen[peer.name] = tuple(int(number) for number in shown[0, 0]) == ORANGE
    return seen


def holdings(tensors, peers):
    """Import each tensor into each framework and return a `Holding` by (label, name of the framework)."""
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
    """Time each exchange alternately with the framework's own way, and one copy of the photograph, in seconds.

    A framework that cannot exchange has no row.
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
