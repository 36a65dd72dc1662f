# SPDX-License-Identifier: Apache-2.0
"""Entry point of ``python -m dltensor``."""

import sys

from ._cli.main import main

if __name__ == "__main__":
    sys.exit(main())
