# SPDX-License-Identifier: BSD-3-Clause
"""Block-cyclic layouts of arrays over the ranks."""

from __future__ import annotations

import math
from ctypes import byref, c_int, c_int64
from collections.abc import Sequence
from typing import Any, Optional

import numpy as np
from mpi4py import MPI

from . import _library as c


class Layout:
    """A block-cyclic layout of an array, the same on all ranks: ``extents`` of all of it, ``blocks`` dealt in turn
    over a ``grid`` of ranks. ``order`` "C" numbers the ranks of the grid row by row, "F" column by column."""

    def __init__(self, extents: Sequence[int], blocks: Sequence[int], grid: Sequence[int], order: str = "C",
                 first_ranks: Optional[Sequence[int]] = None, ranks: Optional[Sequence[int]] = None):
        lengths = {len(extents), len(blocks), len(grid)}
        if len(lengths) != 1 or order not in ("C", "F") or len(first_ranks or grid) != len(grid):
            raise ValueError("extents, blocks, grid and first_ranks have one number for each dimension, and the order "
                             "is 'C' or 'F'")
        if ranks is not None and len(ranks) != math.prod(grid):
            raise ValueError(f"{len(ranks)} ranks for a grid of {math.prod(grid)}; give one for each")
        self.extents, self.blocks, self.grid = tuple(extents), tuple(blocks), tuple(grid)
        self._lists = [_numbers(c_int64, extents), _numbers(c_int64, blocks), _numbers(c_int, grid),
                       _numbers(c_int, first_ranks), _numbers(c_int, ranks)]
        self.in_c = c.Layout(len(extents), self._lists[0], self._lists[1], self._lists[2], 0 if order == "C" else 1,
                             self._lists[3], self._lists[4])


def _numbers(kind, values):
    return None if values is None else (kind * len(values))(*values)


def array_in_c(array: Optional[np.ndarray], dimensions: int, is_written: bool = True):
    """This rank's part, and what must live as long. None, or what is no array that can be moved, is a part without
    memory, which all ranks refuse where it must have elements."""
    if not isinstance(array, np.ndarray) or array.dtype.hasobject or not array.size or \
            (is_written and not array.flags.writeable) or array.ndim != dimensions or \
            any(stride % array.itemsize for stride in array.strides):
        return c.Array(None, 0, 0, None), None
    strides = _numbers(c_int64, [stride // array.itemsize for stride in array.strides])
    last = sum((extent - 1) * stride for extent, stride in zip(array.shape, array.strides))
    order = 1 if array.flags.f_contiguous and not array.flags.c_contiguous else 0
    return c.Array(array.ctypes.data, last + array.itemsize, order, strides), (array, strides)


def item_bytes(array: Optional[np.ndarray]) -> int:
    return array.itemsize if isinstance(array, np.ndarray) else 0


def _options_or_none(given: dict):
    """Options, and what is wrong with them, perhaps on this rank alone: they name no method then, which all ranks
    refuse."""
    try:
        return c.options_of(given), None
    except ValueError as error:
        options = c.options_of({})
        options.method = -1
        return options, error


def redistribute(communicator: MPI.Comm, source: Layout, target: Layout, array: Optional[np.ndarray],
                 into: Optional[np.ndarray], **options: Any) -> dict:
    """Copies a distributed array into one of another layout. Ranks outside of a layout give None. Returns the
    report."""
    chosen, wrong = _options_or_none(options)
    report = c.new_report()
    from_c, _kept = array_in_c(array, len(source.grid), is_written=False)
    to_c, _kept_too = array_in_c(into, len(target.grid))
    c.check(c.library.Valet_Redistribute(c.handle_of(communicator), byref(source.in_c), byref(target.in_c),
                                         item_bytes(array) or item_bytes(into), byref(from_c), byref(to_c),
                                         byref(chosen), byref(report)), wrong, chosen)
    return c.report_as_dict(report)


def redistribute_in_place(communicator: MPI.Comm, source: Layout, target: Layout, memory: np.ndarray,
                          order: str = "C", **options: Any) -> dict:
    """The same inside one array of one dimension, which has room for this rank's part of both layouts, packed from
    its front in ``order`` "C" or "F". Returns the report."""
    chosen, wrong = _options_or_none(options)
    report = c.new_report()
    is_packed = isinstance(memory, np.ndarray) and memory.flags.c_contiguous
    part, _kept = array_in_c(memory if is_packed else None, 1)
    part.strides, part.order = None, 0 if order == "C" else 1
    c.check(c.library.Valet_Redistribute_in_place(c.handle_of(communicator), byref(source.in_c), byref(target.in_c),
                                                  item_bytes(memory), byref(part), byref(chosen), byref(report)),
            wrong, chosen)
    return c.report_as_dict(report)
