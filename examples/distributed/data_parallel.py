# SPDX-License-Identifier: Apache-2.0
"""Data-parallel linear regression: a process for each GPU, each with its own rows, whose gradients NCCL adds.

It needs ``pip install 'dltensor[cuda]' 'nccl4py[cu13]'``. The argument is the number of GPUs, of which all are taken
unless it is passed.
"""

import sys
from multiprocessing import get_context

import nccl.core as nccl
from cuda.core import Device

import dltensor as dl

WEIGHTS = [2.0, -3.0, 0.5]
STEPS, RATE, ROWS = 100, 0.2, 4096


def train(rank, size, identifier):
    """Fit the rows of one process; the weights are the same in all of them after each step."""
    Device(rank).set_current()  # NCCL takes the thread's current device
    communicator = nccl.Communicator.init(nranks=size, rank=rank, unique_id=identifier)
    x = dl.random.default_rng(rank).normal(size=(ROWS, len(WEIGHTS)), dtype="float32")
    y = x @ dl.asarray(WEIGHTS, dtype="float32")
    # One stream for the tensors and for NCCL: it orders all of their work.
    with dl.cuda.Stream(device=rank) as stream:
        x, y = x.to(f"cuda:{rank}"), y.to(f"cuda:{rank}")
        weights = dl.zeros(len(WEIGHTS), dtype="float32", device=f"cuda:{rank}")
        for _ in range(STEPS):
            gradient = x.T @ (x @ weights - y) / ROWS
            communicator.allreduce(gradient, gradient, nccl.AVG, stream=stream)
            weights -= RATE * gradient
        print(f"rank {rank}: {[round(w, 3) for w in weights.tolist()]}")
    communicator.destroy()


def main():
    size = int(sys.argv[1]) if len(sys.argv) > 1 else dl.cuda.device_count()
    identifier = nccl.get_unique_id()
    context = get_context("spawn")  # CUDA does not survive a fork
    processes = [context.Process(target=train, args=(rank, size, identifier)) for rank in range(size)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    sys.exit(any(process.exitcode for process in processes))


if __name__ == "__main__":
    main()
