# SPDX-License-Identifier: Apache-2.0
"""Mutation testing: `finding` faults, `building` a copy that has one, `testing` it, `records` of results."""
