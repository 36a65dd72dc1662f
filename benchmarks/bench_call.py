# SPDX-License-Identifier: Apache-2.0
"""What a call costs: small tensors, where the work is nothing and the way there is all.

Run: python benchmarks/bench_call.py [part of a row's name ...] [--json FILE] [--plot FILE]
"""

from compare import Row, main, torch

from dltensor._cli.bench import calls


def rows():
    return (Row(*row) for row in calls.rows(torch))


if __name__ == "__main__":
    main(rows, __doc__.splitlines()[0])
