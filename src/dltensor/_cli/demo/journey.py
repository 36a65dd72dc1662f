# SPDX-License-Identifier: Apache-2.0
"""The journey: the photograph goes from framework to framework, and what is seen on the way is written down.

Every finding is an observation of this run on this machine. Nothing is printed or drawn here.
"""

import time
import warnings
from dataclasses import dataclass

import dltensor as dl

from ..._core.foreign_text import describe_error
from ..._tools.timing import by_turns

FRAME = 6
ORANGE = (255, 140, 0)


@dataclass(frozen=True)
class Stop:
    """One station: who held the photograph, at which address, and what came back from it."""

    name: str
    address: int
    moved: bool
    readonly: bool
    said: str
    passed_by: bool = False


@dataclass(frozen=True)
class Holding:
    """Whether one framework could hold one view: ``same memory``, ``copied`` or ``refused``, and why."""

    verdict: str
    readonly: bool
    reason: str


@dataclass(frozen=True)
class Hop:
    """What it costs to hand the photograph over: our statement and the framework's own, in seconds."""

    name: str
    ours: str
    own: str
    our_time: float
    own_time: float


def travel(photo, peers):
    """Hand `photo` to each framework in turn; each gets what came back from the one before.

    Parameters
    ----------
    photo : Tensor
    peers : list of Peer

    Returns
    -------
    (Tensor, list of Stop)
        What came home, and the stations.

    Raises
    ------
    MemoryError
        No memory is left. Whatever a framework raises is written down as its station instead.
    """
    stops = []
    for peer in peers:
        try:
            back = peer.send(peer.receive(photo))
        except Exception as error:  # the frameworks raise whatever they like; the traveller goes on without them
            stops.append(Stop(peer.name, photo.data_ptr, False, photo.readonly, describe_error(error), True))
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
        stops.append(Stop(peer.name, photo.data_ptr, moved, photo.readonly, said))
    return photo, stops


def paint(photo, peers):
    """Paint a frame through our tensor and look for it through every framework that lets its memory change.

    Parameters
    ----------
    photo : Tensor, shape (height, width, 3), uint8, writable
    peers : list of Peer

    Returns
    -------
    dict of name to bool
        Whether that framework, asked in its own way, shows the paint.

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
        except Exception:  # said already, at its station
            continue
        # Nobody may write behind the back of arrays that never change, nor expect a copy to follow.
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
                    warnings.simplefilter("ignore")  # what they warn of is what the table shows
                    back = peer.send(peer.receive(tensor))
            except Exception as error:  # every framework has its own way to say no
                found[label, peer.name] = Holding("refused", tensor.readonly, describe_error(error))
                continue
            same = back.data_ptr == tensor.data_ptr and back.strides == tensor.strides
            found[label, peer.name] = Holding("same memory" if same else "copied", back.readonly, "")
    return found


def price(photo, peers, progress):
    """Time each hop beside the framework's own way, by turns.

    Parameters
    ----------
    photo : Tensor, writable
    peers : list of Peer
    progress : callable taking a str

    Returns
    -------
    (list of Hop, float)
        The hops, and the seconds that one real copy of the photograph takes.

    Raises
    ------
    MemoryError
        No memory is left. A framework that cannot do a hop has no row.
    """
    array = photo.numpy()
    hops = []
    for peer in peers:
        progress(f"timing {peer.name}")
        try:
            x = peer.receive(photo)
            space = peer.space(photo=photo, array=array, x=x)
            took = by_turns([peer.give, peer.own_give, peer.take, peer.own_take], space)
        except Exception:  # said already, at its station
            continue
        hops.append(Hop(f"to {peer.name}", peer.give, peer.own_give, took[peer.give], took[peer.own_give]))
        hops.append(Hop(f"from {peer.name}", peer.take, peer.own_take, took[peer.take], took[peer.own_take]))
    copying = by_turns(["array.copy()"], {"array": array})["array.copy()"]
    return hops, copying


def copy_timed(shared):
    """Copy a tensor into memory of its own; return it and the seconds that took.

    Raises
    ------
    MemoryError
        The memory cannot be had.
    """
    start = time.perf_counter()
    made = shared.copy()
    return made, time.perf_counter() - start
