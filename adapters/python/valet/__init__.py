# SPDX-License-Identifier: BSD-3-Clause
"""Moves the rows of numpy arrays between MPI ranks inside the memory that they already have.

Every function but a plan's numbers is collective over the communicator, one of mpi4py. Arrays are a
list, or named by a dict; each has a row for each block, of any dtype of fixed size, in any strides,
which move without a copy. They are writeable and have as many rows as a rank may hold, `count` of
which are in use. `Arrays` grow. Options are named as in valet.h: ``budget_bytes``, ``method``
("automatic", "stream", "direct", "phased", "cyclic"), ``order`` ("any", "fill", "stable"),
``negative_rank`` ("refuse", "drop"), ``verify``, ``message_bytes``, ``share_memory``,
``keep_memory``, ``trace``, ``transfers``, ``progress``, ``progress_bar``, ``window``, ``heuristic``,
``scheduler``, ``parking``, ``seed``, ``edge_order``. What is wrong on any rank is `Error` on all,
and nothing has moved. What ``progress`` raises is raised by the call, on other ranks `Error`, when
all has moved.
"""

from __future__ import annotations

from ctypes import byref, c_uint64, c_void_p
from typing import Any, Optional

import numpy as np
from mpi4py import MPI

from ._junction import Junction
from ._layouts import Layout, redistribute, redistribute_in_place
from ._library import Address, Error, ObjectLayout, check, handle_of, library, new_report, options_of, report_as_dict
from ._storage import ArrayLike, Arrays, Storage, address_of, checked_map, count_of, map_of, named_arrays

__all__ = ["Arrays", "Error", "Junction", "Layout", "Lists", "Plan", "migrate", "migrate_lists", "plan_to_layout",
           "plan_to_ranks", "plan_to_slots", "redistribute", "redistribute_in_place", "version"]


def version() -> str:
    """That of the library."""
    return library.Valet_Version().decode()


class Plan:
    """A validated map: who sends how much to whom. It can be executed many times, and refers to no array."""

    def __init__(self, handle: c_void_p, options):
        self._handle, self._options = handle, options

    def __del__(self):
        library.Valet_Plan_free(self._handle)

    @property
    def blocks_after(self) -> int:
        """Blocks on this rank afterwards."""
        return library.Valet_Plan_blocks_after(self._handle)

    @property
    def required_slots(self) -> int:
        """Rows that the arrays of this rank must have."""
        return library.Valet_Plan_required_slots(self._handle)

    def execute(self, arrays: ArrayLike) -> dict:
        """Moves the rows. Collective. Returns the report of this rank."""
        report, storage = new_report(), Storage(arrays)
        check(library.Valet_Execute(self._handle, storage.handle, byref(report)), options=self._options)
        return report_as_dict(report)


def _plan(function, communicator: MPI.Comm, storage: Storage, count: int, arguments: tuple, options: dict) -> Plan:
    chosen = _options_or_refused(options, storage.refuse)
    plan = c_void_p()
    check(function(handle_of(communicator), storage.handle, count, *arguments, byref(chosen), byref(plan)))
    return Plan(plan, chosen)


def _options_or_refused(options: dict, refuse):
    """A value that is none, perhaps on this rank alone, is an error of all."""
    try:
        return options_of(options)
    except ValueError as error:
        refuse(str(error))
        return options_of({})


def plan_to_ranks(communicator: MPI.Comm, arrays: ArrayLike, count: Optional[int], ranks, **options: Any) -> Plan:
    """Plans a map: row k goes to ``ranks[k]``, into a slot that Valet chooses. ``count`` None: all rows."""
    storage = Storage(arrays)
    count = count_of(storage, arrays, count)
    to = map_of(storage, ranks, count)
    return _plan(library.Valet_Plan_to_ranks, communicator, storage, count, (None, address_of(to)), options)


def plan_to_slots(communicator: MPI.Comm, arrays: ArrayLike, count: Optional[int], ranks, slots,
                  **options: Any) -> Plan:
    """Plans a map: row k goes to row ``slots[k]`` of ``ranks[k]``."""
    storage = Storage(arrays)
    count = count_of(storage, arrays, count)
    to = map_of(storage, ranks, count)
    rows = map_of(storage, slots, count, "slots")
    addresses = (Address * max(1, count))()
    for address, rank, slot in zip(addresses, to, rows):
        address.rank, address.slot = int(rank), int(slot) % 2**64  # a negative one is out of range
    return _plan(library.Valet_Plan_to_slots, communicator, storage, count, (None, addresses), options)


def plan_to_layout(communicator: MPI.Comm, arrays: ArrayLike, count: Optional[int], block_size: int = 0,
                   ranks: int = 0, **options: Any) -> Plan:
    """Plans to deal all rows, numbered by rank and row, in blocks of ``block_size`` to the first ``ranks`` ranks in
    turn. 0: one block for each rank, and all ranks."""
    storage = Storage(arrays)
    count, to = count_of(storage, arrays, count), ObjectLayout()
    for name, value, bits in ("block_size", block_size, 63), ("ranks", ranks, 31):
        if isinstance(value, (int, np.integer)) and 0 <= value < 2**bits:
            setattr(to, name, int(value))
        else:
            storage.refuse(f"{name} is {value!r}; give an integer of 0 or more")
    return _plan(library.Valet_Plan_to_layout, communicator, storage, count, (None, byref(to)), options)


def migrate(communicator: MPI.Comm, arrays: ArrayLike, count: Optional[int], ranks,
            **options: Any) -> tuple[int, dict]:
    """Moves row k to ``ranks[k]``. Returns the new number of rows in use, the first ones, and the report. The next call
    takes this number: rows behind it, such as those that were dropped, are none, but would be moved again."""
    report = plan_to_ranks(communicator, arrays, count, ranks, **options).execute(arrays)
    return report["blocks_after"], report


class Lists:
    """Blocks of different lengths, packed from the front of an array of one dimension: block k has ``lengths[k]``
    values, an array of numpy.uint64 with an entry for each block that fits."""

    def __init__(self, values: np.ndarray, lengths: np.ndarray):
        self.values, self.lengths = values, lengths

    def check(self) -> None:
        for what, array in (("values", self.values), ("lengths", self.lengths)):
            if not isinstance(array, np.ndarray) or array.ndim != 1 or not array.flags.c_contiguous:
                raise ValueError(f"the {what} of lists are a contiguous array of one dimension")
            if not array.flags.writeable:
                raise ValueError(f"the {what} of lists are read-only, and blocks are moved into them")
        if self.lengths.dtype != np.uint64:
            raise ValueError(f"the lengths of lists have dtype {self.lengths.dtype}; give uint64")
        if self.values.dtype.hasobject:
            raise ValueError(f"the values of lists have dtype {self.values.dtype}; give numbers")


def migrate_lists(communicator: MPI.Comm, lists, columns: ArrayLike, count: int, ranks,
                  **options: Any) -> tuple[int, dict]:
    """Moves blocks of different lengths, and their rows of ``columns``. ``lists`` are one `Lists` or several."""
    handle = library.Valet_Ragged_storage_create()
    counted: list[Lists] = []

    def refuse(why: str) -> None:
        check(library.Valet_Ragged_storage_refuse(handle, why.encode()))

    try:
        own, report = handle_of(communicator), new_report()
        chosen = _options_or_refused(options, refuse)
        to, after = np.zeros(0, np.int32), c_uint64(0)
        try:
            fields = [lists] if isinstance(lists, Lists) else list(lists)
            to = _lists_storage(handle, fields, columns, count, ranks)
            counted, after = fields, c_uint64(count)
        except (ValueError, TypeError, AttributeError, OverflowError) as error:
            refuse(str(error))
        try:
            for field in counted:
                field.lengths[:count] *= np.uint64(field.values.itemsize)  # bytes, in place
            check(library.Valet_Ragged_migrate(own, handle, byref(after), address_of(to), byref(chosen),
                                               byref(report)), options=chosen)
        finally:
            for field in counted:
                field.lengths[:after.value] //= np.uint64(field.values.itemsize)
        return after.value, report_as_dict(report)
    finally:
        library.Valet_Ragged_storage_free(handle)


def _lists_storage(handle, fields, columns, count: int, ranks) -> np.ndarray:
    numbers = checked_map(ranks, count)
    for field in fields:
        field.check()
        values, lengths = field.values, field.lengths
        if count > len(lengths):
            raise ValueError(f"there are lengths of {len(lengths)} blocks, and {count} blocks")
        check(library.Valet_Ragged_storage_add_field(
            handle, values.ctypes.data, values.nbytes, lengths.ctypes.data, len(lengths),
            min(64, values.dtype.alignment), None))
    for name, array in named_arrays(columns):
        if not array.flags.c_contiguous:
            raise ValueError(f"column {name!r} is not contiguous; give a copy")
        check(library.Valet_Ragged_storage_add_column(handle, array.ctypes.data, len(array),
                                                      array.itemsize * int(np.prod(array.shape[1:])),
                                                      name.encode() if name else None))
    return numbers
