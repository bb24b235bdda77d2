# SPDX-License-Identifier: BSD-3-Clause
"""Arrays of numpy as storage of blocks: a block is a row of each array.

What is wrong with the arguments of one rank must be an error of all, or they would wait for it. So
it becomes a storage that the call refuses (Valet_Storage_refuse)."""

from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence
from ctypes import c_size_t, c_ssize_t, c_void_p
from typing import Optional, Union

import numpy as np

from ._library import Storage_for_fn, check, library

ArrayLike = Union[Mapping, Sequence, np.ndarray]


class Arrays(dict):
    """Arrays of one length by their names, which a call replaces by longer copies where a rank gets more rows than
    they have, one array at a time; where there is no memory for one, all have the rows that they had::

        particles = valet.Arrays(x=x, id=id)
        count, report = valet.migrate(comm, particles, count, ranks)
        x = particles["x"]
    """

    def grown(self, rows: int) -> None:
        had = {}
        try:
            for name, array in list(self.items()):
                order = "F" if array.flags.f_contiguous and array.ndim > 1 else "C"
                longer = np.empty((rows, *array.shape[1:]), array.dtype, order)
                longer[:len(array)] = array
                had[name] = len(array)
                self[name] = longer
        except BaseException:
            for name, length in had.items():
                self[name] = self[name][:length]
            raise


def named_arrays(arrays: ArrayLike) -> list[tuple[str, np.ndarray]]:
    """Pairs of names and arrays. Raises ValueError for what Valet cannot move."""
    if isinstance(arrays, np.ndarray):
        arrays = [arrays]
    if not isinstance(arrays, (Mapping, Sequence)) or isinstance(arrays, str):
        raise ValueError(f"the arrays are a {type(arrays).__name__}; give one of numpy, or a list or dict of them")
    pairs = list(arrays.items()) if isinstance(arrays, Mapping) else [("", array) for array in arrays]
    for index, (name, array) in enumerate(pairs):
        what = f"array {name!r}" if name else f"array {index}"
        if not isinstance(array, np.ndarray):
            raise ValueError(f"{what} is a {type(array).__name__}; give an array of numpy")
        if array.ndim == 0:
            raise ValueError(f"{what} has no dimension; its first one counts the blocks")
        if array.dtype.hasobject:
            raise ValueError(f"{what} has dtype {array.dtype}: Valet moves bytes, and objects of Python are elsewhere; "
                             "give numbers, or a structured dtype of numbers")
        if not array.flags.writeable:
            raise ValueError(f"{what} is read-only, and blocks are moved into it; give a copy, or set "
                             "array.flags.writeable")
        if array.ndim > 8:
            raise ValueError(f"{what} has {array.ndim} dimensions; at most 8")
        if 0 in array.shape[1:] or array.dtype.itemsize == 0:
            raise ValueError(f"{what} has rows of no bytes: shape {array.shape}, dtype {array.dtype}")
    return pairs


class Storage:
    """A storage of C, and the arrays that it is made of. Errors in them are those of the call that uses it."""

    def __init__(self, arrays: ArrayLike):
        self._arrays = arrays
        self._handles: list[int] = []
        self._kept: list = []
        self._grow, self._is_refused = None, False
        if isinstance(arrays, Arrays):
            this = weakref.ref(self)  # or both would wait for the collector of cycles
            self._grow = Storage_for_fn(lambda _data, rows: this()._enlarge(rows))
        self.handle = self._make()

    def __del__(self):
        for handle in self._handles:
            library.Valet_Storage_free(handle)

    def refuse(self, why: str) -> None:
        """The first reason is the one that is told."""
        if not self._is_refused:
            check(library.Valet_Storage_refuse(self.handle, why.encode()))
        self._is_refused = True

    def _make(self) -> int:
        handle = library.Valet_Storage_create()
        if not handle:
            raise MemoryError("no memory for a storage")
        self._handles.append(handle)
        try:
            for name, array in named_arrays(self._arrays):
                self._kept.append(array)  # as long as C has its address
                self._add(handle, name, array)
        except (ValueError, AttributeError, TypeError) as error:
            check(library.Valet_Storage_refuse(handle, str(error).encode()))
            self._is_refused = True
        if self._grow:
            check(library.Valet_Storage_grow_by(handle, self._grow, None))
        return handle

    @staticmethod
    def _add(handle: int, name: str, array: np.ndarray) -> None:
        inner = array.ndim - 1
        check(library.Valet_Storage_add_array(
            handle, array.ctypes.data if len(array) else None, len(array), array.strides[0], array.itemsize, inner,
            (c_size_t * inner)(*array.shape[1:]), (c_ssize_t * inner)(*array.strides[1:]),
            name.encode() if name else None))

    def _enlarge(self, rows: int) -> int:
        try:
            self._kept.clear()  # what is replaced is freed
            self._arrays.grown(rows)
            self.handle = self._make()
        except Exception as error:  # of any kind: it is told to all ranks
            self.refuse(f"arrays cannot grow to {rows} rows: {error or type(error).__name__}; nothing has moved")
        return self.handle


def row_count(arrays: ArrayLike) -> int:
    """Rows of the first array; 0 where that cannot be known, which the call says."""
    try:
        return len(named_arrays(arrays)[0][1])
    except (ValueError, AttributeError, TypeError, IndexError):
        return 0


def checked_count(count) -> int:
    """Raises ValueError where it is none."""
    if not isinstance(count, (int, np.integer)) or count < 0:
        raise ValueError(f"the count is {count!r}; give the number of rows in use, an integer of 0 or more")
    return int(count)


def count_of(storage: Storage, arrays: ArrayLike, count: Optional[int]) -> int:
    """The same, None being all rows; where it is none, the storage is refused with the reason."""
    rows = row_count(arrays)
    try:
        if count is None or checked_count(count) <= rows:
            return rows if count is None else int(count)
        raise ValueError(f"the count is {count}, but the arrays have {rows} rows; give the number of rows in use")
    except ValueError as error:
        storage.refuse(str(error))
        return 0


def checked_map(ranks, count: int, what: str = "ranks") -> np.ndarray:
    """A map as C takes it. Raises ValueError where it is none."""
    checked_count(count)
    numbers = np.asarray(ranks)
    if numbers.dtype.kind not in "iu" and numbers.size:
        raise ValueError(f"{what} have dtype {numbers.dtype}; give integers")
    if numbers.shape != (count,):
        raise ValueError(f"{what} have shape {numbers.shape} for {count} blocks; give one for each")
    if count and (int(numbers.min()) < -2**31 or int(numbers.max()) >= 2**31):
        raise ValueError(f"{what} go from {numbers.min()} to {numbers.max()}, which are none; {what} count from 0")
    return np.ascontiguousarray(numbers, np.int32)


def map_of(storage: Storage, ranks, count: int, what: str = "ranks") -> np.ndarray:
    """The same; where it is none, the storage is refused with the reason."""
    try:
        return checked_map(ranks, count, what)
    except (ValueError, TypeError, OverflowError) as error:
        storage.refuse(str(error))
        return np.zeros(count, np.int32)


def address_of(array: Optional[np.ndarray]):
    return None if array is None or not len(array) else c_void_p(array.ctypes.data)
