# SPDX-License-Identifier: Apache-2.0
"""Shared memory: sent as a descriptor, seen by all, reused when no process holds it, gone with the last process."""

import gc
import multiprocessing
import multiprocessing.reduction
import os
import pickle
import resource
import signal
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import dltensor as dl
from dltensor.shared import _blocks, _sending

METHODS = ("fork", "spawn", "forkserver")


def serve(connection):
    """A process that fills what it receives, and answers."""
    while (t := connection.recv()) is not None:
        for one in t.values() if isinstance(t, dict) else [t]:
            one.fill(5)
        connection.send((os.getpid(), len(os.listdir("/proc/self/fd"))))
        del t, one


def fill_argument(t):
    t.fill(9)


def forward(source, target):
    target.send(source.recv())
    source.send("done")
    source.recv()


def send_and_wait(connection, name):
    t = dl.shared.empty(4, "int64")
    t[...] = dl.arange(4)
    connection.send(t[::-1])
    connection.recv()


class Server:
    """A running `serve`, for a with statement."""

    def __init__(self, method="fork"):
        context = multiprocessing.get_context(method)
        self.here, there = context.Pipe()
        self.process = context.Process(target=serve, args=(there,), daemon=True)
        self.process.start()

    def __enter__(self):
        return self

    def send(self, t):
        self.here.send(t)
        assert self.here.poll(60)
        return self.here.recv()

    def __exit__(self, *error):
        self.here.send(None)
        self.process.join(60)
        assert self.process.exitcode == 0


def pickle_of(t):
    """A message to a running process, as queues and pipes make it."""
    return bytes(multiprocessing.reduction.ForkingPickler.dumps(t))


def open_files():
    return len(os.listdir("/proc/self/fd"))


def mapped_blocks():
    with open("/proc/self/maps") as file:
        return sum("memfd:dltensor" in line for line in file)


# -- tensors ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", dl.DTYPES)
def test_every_type_is_shared(name):
    from test_files import same, sample

    t = sample(name)
    shared = t.share()
    assert same(shared, t)
    assert (shared.is_shared, t.is_shared, shared.share() is shared) == (True, False, True)
    packed = dl.shared.pack({"a": t, "b": t.T})
    assert same(packed["a"], t)
    assert same(packed["b"], t.T.copy())


def test_shared_tensors_are_like_others():
    t = dl.shared.empty((3, 4), "int32")
    t[...] = dl.arange(12).reshape(3, 4)
    assert (t + 1).is_shared is False
    assert t[1:, ::2].is_shared
    assert t.numpy().base is not None
    assert t.sum().item() == 66
    assert t.data_ptr % 256 == 0
    assert dl.shared.empty(()).shape == ()
    assert dl.shared.empty((0, 3)).is_shared
    assert dl.asarray([1, 0], dtype="bool").share().tolist() == [True, False]
    padded = dl.asarray([1, 2, 3], dtype="int8").astype("int4", padded=True)
    assert padded.share().tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: dl.shared.empty(-1), ValueError, r"shared.empty: shape\[0\] must be at least 0, got -1"),
        (lambda: dl.shared.empty((2**62, 2**62)), ValueError, "2\\^63"),
        (lambda: dl.shared.empty(2**50), MemoryError, "cannot allocate 4503599627370496 bytes of shared memory"),
        (lambda: dl.shared.empty("ab"), TypeError, "shape must be"),
        (lambda: dl.shared.empty(2, "nosuch"), (TypeError, ValueError), "nosuch"),
        (lambda: dl.shared.pack([dl.zeros(2)]), TypeError, "expected a dictionary of tensors, got list"),
    ],
)
def test_wrong_arguments_are_refused(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_many_tensors_are_packed_into_one_block():
    before = open_files()
    packed = dl.shared.pack({str(i): dl.full(10, i) for i in range(10_000)} | {"none": dl.zeros(0)})
    assert open_files() == before + 1
    assert all(packed[str(i)].data_ptr % 256 == 0 for i in range(100))
    assert packed["9999"].tolist() == [9999] * 10
    assert packed["0"].same_memory(packed["9999"])
    with Server() as server:
        server.send(packed)
    assert packed["9999"].tolist() == packed["0"].tolist() == [5] * 10
    assert dl.shared.pack({}) == {}


# -- other processes --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_a_running_process_receives_views_of_the_same_memory(method):
    t = dl.shared.empty((4, 6), "int16")
    t.fill(1)
    with Server(method) as server:
        server.send(t[1:3, ::-2])
        assert t.tolist() == [[1] * 6, [1, 5] * 3, [1, 5] * 3, [1] * 6]
        server.send({"a": t[0], "b": t[3]})
        assert t.tolist() == [[5] * 6, [1, 5] * 3, [1, 5] * 3, [5] * 6]
        readonly = dl.broadcast_to(t[0], (2, 6))
        server.here.send(dl.arange(3))  # not shared: a copy
        server.here.recv()
        assert readonly.shape == (2, 6)


@pytest.mark.parametrize("method", METHODS)
def test_a_new_process_receives_its_arguments(method):
    t = dl.zeros(4).share()
    process = multiprocessing.get_context(method).Process(target=fill_argument, args=(t[1:3],))
    process.start()
    process.join(60)
    assert process.exitcode == 0
    assert t.tolist() == [0, 9, 9, 0]


@pytest.mark.parametrize("method", METHODS)
def test_pools_and_executors_receive_tensors(method):
    context = multiprocessing.get_context(method)
    t = dl.zeros(100).share()
    with context.Pool(2) as pool:
        pool.map(fill_argument, [t[i : i + 10] for i in range(0, 50, 10)])
    with ProcessPoolExecutor(2, mp_context=context) as executor:
        list(executor.map(fill_argument, [t[i : i + 10] for i in range(50, 100, 10)]))
    assert t.sum().item() == 900


def test_read_only_and_strides_arrive():
    for t in (dl.arange(12).share().reshape(3, 4).T, dl.arange(4).share()[::-1], dl.zeros((2, 0)).share()):
        function, arguments = _sending.reduce_tensor(t)
        made = function(*arguments)
        assert (made.shape, made.strides, made.tolist(), made.data_ptr) == (t.shape, t.strides, t.tolist(), t.data_ptr)
    spread = dl.broadcast_to(dl.arange(3).share(), (4, 3))
    function, arguments = _sending.reduce_tensor(spread)
    assert function(*arguments).tolist() == spread.tolist()
    assert function(*arguments).readonly == spread.readonly


@pytest.mark.parametrize("visible", [True, False])
def test_a_tensor_is_passed_on_after_its_maker_has_ended(visible, monkeypatch):
    """By the path of the descriptor, and by the server of multiprocessing where /proc is closed."""
    monkeypatch.setattr(_sending, "_is_visible", lambda: visible)
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe()
    maker = context.Process(target=send_and_wait, args=(there, "x"))
    maker.start()
    t = here.recv()
    here.send("end")
    maker.join(60)
    assert t.tolist() == [3, 2, 1, 0]
    with Server() as server:
        server.send(t)
    assert t.tolist() == [5] * 4


def test_a_message_whose_sender_has_ended_is_a_clear_error():
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe()
    code = dl.zeros(3).share()
    data = bytes(multiprocessing.reduction.ForkingPickler.dumps(code))
    assert pickle.loads(data).tolist() == [0, 0, 0]
    del code
    _sending._release_received()
    dl.empty_cache()
    with pytest.raises(ValueError, match="does not exist any more"):
        pickle.loads(data)
    there.close()
    here.close()


def test_memory_that_was_sent_stays_until_it_is_received():
    t = dl.asarray([1, 2, 3]).share()
    data = bytes(multiprocessing.reduction.ForkingPickler.dumps(t))
    del t
    dl.empty_cache()
    assert pickle.loads(data).tolist() == [1, 2, 3]


def test_sending_looks_at_few_of_the_messages_that_wait(monkeypatch):
    looked_at, is_received = [], _sending.is_received
    monkeypatch.setattr(_sending, "is_received", lambda data: looked_at.append(1) or is_received(data))
    waiting = [pickle_of(dl.shared.empty(4)) for _ in range(200)]
    looked_at.clear()
    t = dl.shared.empty(4)
    for _ in range(20):
        pickle_of(t)
    assert len(looked_at) <= 20 * 3
    assert dl.shared.release_unreceived() >= len(waiting)


def test_memory_that_was_received_is_released_among_messages_that_are_lost():
    dl.shared.release_unreceived()
    lost = [pickle_of(dl.shared.empty(4)) for _ in range(10)]
    block = _blocks.block_id(t := dl.shared.empty(4))
    received = pickle.loads(pickle_of(t))
    for _ in range(20):
        pickle_of(dl.shared.empty(4))
    assert block not in _sending._in_transit
    assert received.is_shared
    assert dl.shared.release_unreceived() == len(lost) + 20


def test_memory_of_lost_messages_can_be_released():
    dl.shared.release_unreceived()
    dl.empty_cache()
    before = open_files()
    messages = [pickle_of(dl.shared.empty(4)) for _ in range(50)]
    assert open_files() == before + 50
    assert dl.shared.release_unreceived() == 50
    dl.empty_cache()
    assert open_files() == before
    with pytest.raises(ValueError, match="does not exist any more"):
        pickle.loads(messages[0])
    assert dl.shared.release_unreceived() == 0


def test_released_memory_is_used_again_under_a_new_key():
    dl.shared.release_unreceived()
    dl.empty_cache()
    message = pickle_of(dl.shared.empty(4))
    dl.shared.release_unreceived()
    t = dl.shared.empty(4)  # the block that was released
    t.fill(7)
    with pytest.raises(ValueError, match="does not exist any more"):
        pickle.loads(message)
    assert t.tolist() == [7, 7, 7, 7]


def test_other_pickles_hold_a_copy():
    t = dl.arange(3).share()
    made = pickle.loads(pickle.dumps(t))
    assert (made.tolist(), made.is_shared) == ([0, 1, 2], False)


# -- nothing is left behind -------------------------------------------------------------------------------------------


def test_ten_thousand_shares_leave_no_descriptor_and_no_memory():
    def resident():
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * 4096

    with Server() as server:
        counts = []
        for turn in range(10_000):
            t = dl.shared.empty(1000)
            _, there = server.send(t)
            if turn in (100, 9_999):
                counts.append((open_files(), there, resident(), mapped_blocks()))
            del t
    (files, there, memory, blocks), (files_after, there_after, memory_after, blocks_after) = counts
    assert abs(files_after - files) <= 2
    assert abs(there_after - there) <= 2
    if "DLTENSOR_SANITIZED" not in os.environ:  # a sanitizer keeps freed memory for a while
        assert memory_after - memory < 4 << 20
    assert blocks_after <= blocks + 2
    dl.empty_cache()


def inode(t):
    """What tells one memory from another one that is mapped at the same address later."""
    return os.fstat(_blocks.handle_of(t)[0]).st_ino


def test_memory_is_reused_only_when_no_process_holds_it():
    dl.empty_cache()
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe()
    process = context.Process(target=hold, args=(there,))
    process.start()
    there.close()
    t = dl.shared.empty(100_000)
    memory, key = inode(t), _blocks.handle_of(t)[1]
    del t
    t = dl.shared.empty(100_000)
    assert (inode(t), _blocks.handle_of(t)[1]) == (memory, key)
    here.send(t)
    assert here.recv() == "received"
    t.fill(3)
    del t
    _sending._release_received()
    other = dl.shared.empty(100_000)
    assert inode(other) != memory
    other.fill(1)
    here.send("compare")
    assert here.recv() == 3.0
    here.send("release")
    process.join(60)
    again = dl.shared.empty(100_000)
    assert inode(again) == memory
    assert _blocks.handle_of(again)[1] != key
    del again, other
    dl.empty_cache()
    assert dl.debug.cached_bytes() == 0


def hold(connection):
    t = connection.recv()
    connection.send("received")
    connection.recv()
    connection.send(t[0].item())
    connection.recv()


def test_memory_that_a_forked_process_inherited_is_not_reused():
    dl.empty_cache()
    t = dl.zeros(10_000).share()
    memory = inode(t)
    kept = dl.shared.empty(20_000)
    del kept  # in the cache of both processes after the fork, but for the child giving it up
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            mine = dl.shared.empty(20_000)
            mine.fill(7)
            os.read(read, 1)
            os._exit(0 if t[0].item() == 0 and mine[0].item() == 7 else 1)
        finally:
            os._exit(2)
    del t
    other = dl.shared.empty(10_000)
    other.fill(4)
    mine = dl.shared.empty(20_000)
    mine.fill(8)
    os.write(write, b"x")
    assert os.waitpid(child, 0)[1] == 0
    assert inode(other) != memory
    assert mine[0].item() == 8
    os.close(read)
    os.close(write)


def holders_of(number):
    """The processes that have the memory file with this inode number open or mapped."""
    found = set()
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if any(f" {number} /memfd:" in line for line in (process / "maps").read_text().splitlines()):
                found.add(int(process.name))
            for file in (process / "fd").iterdir():
                if str(file.readlink()).startswith("/memfd:") and file.stat().st_ino == number:
                    found.add(int(process.name))
        except OSError:
            continue  # it has ended, or is not ours
    return found


def test_a_killed_process_leaves_nothing():
    code = """
import os, signal, dltensor as dl
from dltensor.shared import _blocks
t = dl.shared.empty(64 << 18); t.fill(1)
print(os.fstat(_blocks.handle_of(t)[0]).st_ino, flush=True)
signal.pause()
"""
    names = set(os.listdir("/dev/shm"))
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as process:
        number = int(process.stdout.readline())
        assert holders_of(number) == {process.pid}
        assert set(os.listdir("/dev/shm")) <= names
        process.send_signal(signal.SIGKILL)
        process.wait(60)
        assert holders_of(number) == set()
    assert set(os.listdir("/dev/shm")) <= names


def test_no_process_can_cut_the_memory_off():
    t = dl.shared.empty(1000)
    file, _ = _blocks.handle_of(t)
    for size in (0, 10**6):
        with pytest.raises(PermissionError):
            os.ftruncate(file, size)


def test_too_many_open_files_is_an_error_that_names_the_remedy():
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    dl.empty_cache()
    kept = []
    resource.setrlimit(resource.RLIMIT_NOFILE, (open_files() + 10, before[1]))
    try:
        with pytest.raises(OSError, match=r"Too many open files; put many tensors into one block with dl.shared.pack"):
            kept.extend(dl.shared.empty(3) for _ in range(100))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    assert 5 <= len(kept) < 100


def test_foreign_memory_is_not_taken_for_ours():
    size = 3 * 4096
    cases = {"no seals": [], "no header": [8 | 4 | 2]}  # F_SEAL_WRITE is not among them
    import fcntl

    for seals in cases.values():
        file = os.memfd_create("other", os.MFD_ALLOW_SEALING)
        os.ftruncate(file, size)
        for one in seals:
            fcntl.fcntl(file, fcntl.F_ADD_SEALS, one)
        with pytest.raises(ValueError, match="does not exist any more"):
            _blocks.receive(file, bytes(16), 10)
        with pytest.raises(OSError, match="Bad file"):
            os.fstat(file)
    t = dl.zeros(4).share()
    file, key = _blocks.handle_of(t)
    for wrong in (bytes(16), b"", key + b"x"):
        with pytest.raises(ValueError, match="does not exist any more"):
            _blocks.receive(os.dup(file), wrong, 10)
    with pytest.raises(ValueError, match="bytes were sent, the memory has"):
        _blocks.receive(os.dup(file), key, 10**6)
    with pytest.raises(ValueError, match="outside of the memory"):
        _sending.rebuild_tensor(_sending.Handle(_blocks.whole_block(t)), 0, 10**6, (10**6,), (1, 8, 1), False, False)


def test_threads_share_at_once():
    import threading

    errors = []

    def work(number):
        try:
            for _ in range(200):
                t = dl.shared.empty(500, "int64")
                t.fill(number)
                assert t.sum().item() == 500 * number
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    gc.collect()
    dl.empty_cache()


def test_sums_over_shared_memory_are_the_same():
    array = np.random.default_rng(1).normal(size=(100, 100)).astype("f4")
    assert dl.asarray(array).share().sum().item() == dl.asarray(array).sum().item()
