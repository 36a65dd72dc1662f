# SPDX-License-Identifier: Apache-2.0
"""What tests of distributed computations share: a cluster of two processes, and programs under mpirun."""

import os
import subprocess
import sys

import pytest
from native_tools import require

# Workers of Ray and ranks of MPI find the package where the tests do, and MPI runs as any user.
os.environ.setdefault("OMPI_ALLOW_RUN_AS_ROOT", "1")
os.environ.setdefault("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
os.environ.setdefault("OMPI_MCA_rmaps_base_oversubscribe", "1")


@pytest.fixture(scope="session")
def cluster():
    """A client of two worker processes, with a nanny each, so that a worker that dies is replaced."""
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as made,
        distributed.Client(made) as client,
    ):
        yield client


@pytest.fixture
def ranks(tmp_path):
    """A function that runs a program under MPI with a number of ranks, and returns what it printed."""
    pytest.importorskip("mpi4py")
    require("mpirun")  # Debian: openmpi-bin

    def run(code, count):
        program = tmp_path / "program.py"
        program.write_text(code)
        command = ["mpirun", "-n", str(count), sys.executable, str(program)]
        # os.environ lacks what MPI, once imported in this process, has set for its children.
        ended = subprocess.run(command, capture_output=True, text=True, timeout=120, env=dict(os.environ))
        assert ended.returncode == 0, ended.stdout + ended.stderr
        return ended.stdout

    return run
