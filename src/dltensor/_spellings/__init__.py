# SPDX-License-Identifier: Apache-2.0
"""Names of NumPy and PyTorch: functions and methods with another name here, and answers for those not taken."""
