# SPDX-License-Identifier: Apache-2.0
"""What ``python -m dltensor`` runs. Nothing else."""

import sys

from ._cli.main import main

if __name__ == "__main__":
    sys.exit(main())
