# SPDX-License-Identifier: BSD-3-Clause
"""Data between two jobs, or a job and the file that another number of ranks reads."""

from __future__ import annotations

import ctypes
import os
from ctypes import byref, c_void_p
from typing import Any, Optional

import numpy as np
from mpi4py import MPI

from . import _library as c
from ._layouts import Layout, array_in_c, item_bytes
from ._storage import ArrayLike, Storage, count_of, map_of


class Junction:
    """A connection over which each side puts and gets arrays and blocks in layouts of its own, or a file. Used with
    ``with``, or closed by `close()`. Everything is collective; a call waits for its data."""

    def __init__(self, way: str, communicator: MPI.Comm, name: str, options: dict):
        chosen = c.JunctionOptions()
        c.library.Valet_Junction_options_init(byref(chosen), ctypes.sizeof(chosen))
        wrong, self._handle = None, c_void_p()
        for option, value in options.items():
            if option not in ("folder", "timeout_seconds", "budget_bytes", "verify", "share_memory", "keep_memory",
                              "progress_bar"):
                raise TypeError(f"a junction has no option {option!r}")
            try:
                setattr(chosen, option, os.fsencode(value) if option == "folder" else value)
            except TypeError:  # perhaps on this rank alone: it has no name then, which all ranks refuse
                wrong = ValueError(f"{option} is {value!r}; give a {'path' if option == 'folder' else 'number'}")
        if not isinstance(name, (str, bytes, os.PathLike)):
            wrong = ValueError(f"the name is {name!r}; give a text")
        c.check(getattr(c.library, f"Valet_Junction_{way}")(
            c.handle_of(communicator), None if wrong else os.fsencode(name), byref(chosen), byref(self._handle)), wrong)

    @classmethod
    def accept(cls, communicator: MPI.Comm, name: str, **options: Any) -> "Junction":
        """Waits for another job that connects by this name."""
        return cls("accept", communicator, name, options)

    @classmethod
    def connect(cls, communicator: MPI.Comm, name: str, **options: Any) -> "Junction":
        """Connects to a job that accepts, or the two groups of an intercommunicator."""
        return cls("connect", communicator, name, options)

    @classmethod
    def create(cls, communicator: MPI.Comm, path: str, **options: Any) -> "Junction":
        """Creates a file to put into. It gets its name when it is closed."""
        return cls("create", communicator, path, options)

    @classmethod
    def open(cls, communicator: MPI.Comm, path: str, **options: Any) -> "Junction":
        """Opens a file to get what was put, on any number of ranks."""
        return cls("open", communicator, path, options)

    def put_array(self, label: str, array: Optional[np.ndarray], layout: Layout) -> None:
        """Puts this rank's part of a distributed array."""
        self._move_array("put", label, array, layout)

    def get_array(self, label: str, array: Optional[np.ndarray], layout: Layout) -> None:
        """Gets this rank's part of it, by the layout of this side."""
        self._move_array("get", label, array, layout)

    def put_blocks(self, label: str, arrays: ArrayLike, count: Optional[int] = None, ranks=None) -> None:
        """Puts rows: into a file, or each to a rank of the other side."""
        storage = Storage(arrays)
        count = count_of(storage, arrays, count)
        to = None if ranks is None else map_of(storage, ranks, count)
        c.check(c.library.Valet_Junction_put_blocks(self._opened(), storage.handle, count,
                                                    None if to is None else to.ctypes.data,
                                                    label.encode(), None))

    def get_blocks(self, label: str, arrays: ArrayLike, first: Optional[int] = None,
                   count: Optional[int] = None) -> int:
        """Gets rows that are put to this rank; from a file an equal share, or ``count`` from ``first`` on. Returns
        their number."""
        storage, report, transfer = Storage(arrays), c.new_report(), c_void_p()
        wanted = c.BlockRange(0, 0)
        for name, value in () if first is None and count is None else (("first", first), ("count", count)):
            if isinstance(value, (int, np.integer)) and 0 <= value < 2**63:
                setattr(wanted, name, int(value))
            else:
                storage.refuse(f"{name} is {value!r}; give both first and count, integers of 0 or more, or neither")
        c.check(c.library.Valet_Junction_get_blocks(self._opened(), storage.handle, label.encode(),
                                                    None if first is None else byref(wanted), byref(transfer)))
        c.check(c.library.Valet_Junction_wait(transfer, byref(report)))
        return report.blocks_after

    def _opened(self) -> c_void_p:
        if self._handle:
            return self._handle
        raise c.Error("invalid_argument", "valet: this junction is closed; make another one [invalid_argument]")

    def close(self) -> None:
        """Ends the connection, or gives a file that was written its name."""
        handle, self._handle = self._handle, c_void_p()
        if handle:
            c.check(c.library.Valet_Junction_close(handle))

    def __enter__(self) -> "Junction":
        return self

    def __exit__(self, error, *_more) -> None:
        if error is None:  # else other ranks may be elsewhere, and a file is not whole
            self.close()

    def _move_array(self, way: str, label: str, array: Optional[np.ndarray], layout: Layout) -> None:
        part, _kept = array_in_c(array, len(layout.grid))
        c.check(getattr(c.library, f"Valet_Junction_{way}_array")(
            self._opened(), byref(part), byref(layout.in_c), item_bytes(array), label.encode(), None))
