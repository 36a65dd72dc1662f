# SPDX-License-Identifier: Apache-2.0
"""Tensors beside arrays of NumPy in Ray's store, in messages of MPI, and as chunks of Dask over two workers.

``bench_distributed.py [--json FILE] [--only ray mpi dask]``. Every row is the ratio of the times of tensors and arrays,
taken alternately, of the medians of some rounds: above 1 tensors are faster. What is not installed is left out by name.
"""

import argparse
import itertools
import json
import os
import shutil
import statistics
import subprocess
import sys
import time

import numpy as np

import dltensor as dl

os.environ.setdefault("OMPI_ALLOW_RUN_AS_ROOT", "1")
os.environ.setdefault("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
os.environ.setdefault("OMPI_MCA_rmaps_base_oversubscribe", "1")


def medians(calls, rounds):
    """The median time of each of several calls, which alternate, in an order that alternates too."""
    times = [[] for _ in calls]
    order = list(range(len(calls)))
    for call in calls:
        call()
    for _ in range(rounds):
        for i in order:
            start = time.perf_counter()
            calls[i]()
            times[i].append(time.perf_counter() - start)
        order.reverse()
    return [statistics.median(taken) for taken in times]


def over_ray(rows, rounds):
    import ray

    ray.init(
        num_cpus=2, object_store_memory=1 << 30, include_dashboard=False, log_to_driver=False, logging_level="error"
    )
    for size in (1 << 20, 64 << 20):
        t = dl.ones(size // 4)
        n = np.ones(size // 4, np.float32)
        rows[f"ray put, {size >> 20} MiB"] = medians([lambda: ray.put(t), lambda: ray.put(n)], rounds)
        a, b = ray.put(t), ray.put(n)
        rows[f"ray get, {size >> 20} MiB"] = medians([lambda: ray.get(a), lambda: ray.get(b)], rounds * 5)
    ray.shutdown()


def over_mpi(rows, rounds):
    ended = subprocess.run(
        ["mpirun", "-n", "2", sys.executable, __file__, "--rank", str(rounds)], capture_output=True, text=True
    )
    if ended.returncode:
        sys.exit(ended.stderr[-2000:])
    rows.update(json.loads(ended.stdout))


def rank(rounds):
    """What each of two ranks does; the first prints."""
    from mpi4py import MPI

    comm, rows = MPI.COMM_WORLD, {}
    other = comm.rank ^ 1

    def repeated(call, count):
        def calls():
            comm.Barrier()
            for _ in range(count):
                call()

        return calls

    for size in (4, 1 << 16, 64 << 20):
        count = 2000 if size == 4 else 200 if size == 1 << 16 else 1
        # Written to: pages that never were are one page of zeros, which is read from the cache.
        pairs = [(make(size // 4), make(size // 4)) for make in (dl.ones, lambda n: np.ones(n, np.float32))]
        reductions = [repeated(lambda x=x, y=y: comm.Allreduce(x, y), count) for x, y in pairs]
        messages = [
            repeated(lambda x=x, y=y: comm.Sendrecv(x, other, recvbuf=y, source=other), count) for x, y in pairs
        ]
        name = f"{size} B" if size < 1024 else f"{size >> 10} KiB" if size < 1 << 20 else f"{size >> 20} MiB"
        rows[f"mpi Allreduce, {name}"] = [t / count for t in medians(reductions, rounds)]
        rows[f"mpi Sendrecv, {name}"] = [t / count for t in medians(messages, rounds)]
    if comm.rank == 0:
        print(json.dumps(rows))


def over_dask(rows, rounds):
    import dask.array as da
    import distributed

    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        distributed.Client(cluster) as client,
    ):
        n = np.arange(16 << 20, dtype=np.float32).reshape(4096, 4096)
        arrays = []
        for data in (dl.asarray(n), n):
            x = da.from_array(data, chunks=1024).persist()
            distributed.wait(x)
            arrays.append(x)

        numbers = itertools.count()

        def total(x):
            # Another number each time: Dask may still hold a result of the same name.
            return lambda: client.compute(x.map_blocks(doubled, next(numbers), dtype=x.dtype).sum()).result()

        rows["dask map_blocks and sum, 64 MiB"] = medians([total(x) for x in arrays], rounds)
        futures = [client.scatter(data, hash=False) for data in (dl.asarray(n), n)]
        for name, direct in (("by the scheduler", False), ("from the worker", True)):
            calls = [lambda one=one, direct=direct: client.gather(one, direct=direct) for one in futures]
            rows[f"dask gather {name}, 64 MiB"] = medians(calls, rounds)


def doubled(block, number):
    return block * 2 + number


PARTS = {"ray": ("ray", over_ray), "mpi": ("mpi4py", over_mpi), "dask": ("distributed", over_dask)}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--rank", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.rank:
        return rank(given.rank)
    rows = {}
    for part in given.only:
        package, run = PARTS[part]
        try:
            __import__(package)
        except ImportError:
            print(f"{part}: {package} is not installed")
            continue
        if part == "mpi" and shutil.which("mpirun") is None:
            print("mpi: mpirun is not installed")
            continue
        run(rows, given.rounds)
    for name, (ours, theirs) in rows.items():
        print(f"{name:42} tensors {ours * 1e6:11.2f} us   arrays {theirs * 1e6:11.2f} us   {theirs / ours:5.2f} x")
    if given.json:
        with open(given.json, "w") as file:
            json.dump({name: {"dltensor": ours, "numpy": theirs} for name, (ours, theirs) in rows.items()}, file)


if __name__ == "__main__":
    main()
