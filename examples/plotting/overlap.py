# SPDX-License-Identifier: BSD-3-Clause
"""The trace of a step in which blocks travel while particles are pushed."""

from .trace_timeline import draw

__all__ = ["draw"]
