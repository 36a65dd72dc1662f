# SPDX-License-Identifier: Apache-2.0
"""Options of the test run. No fixtures that only one file uses."""


def pytest_addoption(parser):
    parser.addoption(
        "--device", default="cpu", help="where the acceptance cases compute: cpu, or cuda with a GPU at hand"
    )
