# SPDX-License-Identifier: BSD-3-Clause
"""libvalet.so, its structs and its errors, as C has them (valet.h)."""

from __future__ import annotations

import ctypes
import ctypes.util
import json
import os
from ctypes import POINTER, Structure, c_char, c_char_p, c_double, c_int, c_int64, c_size_t, c_ssize_t, c_uint64, c_void_p
from typing import Optional

from mpi4py import MPI

#: A communicator as C passes it: a pointer or an int.
Handle = c_void_p if MPI._sizeof(MPI.Comm) == ctypes.sizeof(c_void_p) else c_int

Progress_fn = ctypes.CFUNCTYPE(None, c_void_p, c_void_p)
Storage_for_fn = ctypes.CFUNCTYPE(c_void_p, c_void_p, c_uint64)


class StreamOptions(Structure):
    _fields_ = [("window", c_int)]


class PhasedOptions(Structure):
    _fields_ = [("heuristic", c_int), ("scheduler", c_int), ("parking", c_int), ("seed", c_uint64),
                ("available_bytes", c_void_p), ("available_bytes_data", c_void_p)]


class CyclicOptions(Structure):
    _fields_ = [("edge_order", c_int)]


class Options(Structure):
    _fields_ = [("struct_size", c_size_t), ("budget_bytes", c_size_t), ("method", c_int), ("order", c_int),
                ("verify", c_int), ("share_memory", c_int), ("keep_memory", c_int), ("message_bytes", c_size_t),
                ("alltoall_method", c_int), ("progress_bar", c_int), ("stream", StreamOptions),
                ("phased", PhasedOptions), ("cyclic", CyclicOptions), ("trace", c_char_p), ("progress", Progress_fn),
                ("progress_data", c_void_p), ("negative_rank", c_int), ("transfers", c_char_p)]


class JunctionOptions(Structure):
    _fields_ = [("struct_size", c_size_t), ("folder", c_char_p), ("timeout_seconds", c_double),
                ("budget_bytes", c_size_t), ("verify", c_int), ("share_memory", c_int), ("keep_memory", c_int),
                ("progress_bar", c_int), ("progress", c_void_p), ("progress_data", c_void_p)]


_counts = ("block_bytes blocks_before blocks_after blocks_sent blocks_received blocks_pulled blocks_dropped bytes_sent "
           "messages credits local_copies misplaced swaps phases detours steps neighbours budget_bytes "
           "peak_extra_bytes extra_bytes_bound shared_bytes segments periods").split()
_seconds = "plan exchange local verify waiting gather solve scatter".split()


class Report(Structure):
    _fields_ = [("struct_size", c_size_t), ("ranks", c_int), ("verified", c_int), ("plan_from_layout", c_int),
                *((name, c_uint64) for name in _counts), *((f"{name}_seconds", c_double) for name in _seconds),
                ("seconds", c_double), ("method", c_char * 16), ("reason", c_char * 256)]


class Layout(Structure):
    _fields_ = [("dimensions", c_int), ("extents", POINTER(c_int64)), ("block_sizes", POINTER(c_int64)),
                ("grid", POINTER(c_int)), ("rank_order", c_int), ("first_ranks", POINTER(c_int)),
                ("ranks", POINTER(c_int))]


class Array(Structure):
    _fields_ = [("data", c_void_p), ("bytes", c_size_t), ("order", c_int), ("strides", POINTER(c_int64))]


class ObjectLayout(Structure):
    _fields_ = [("block_size", c_uint64), ("ranks", c_int), ("tiling", POINTER(Layout)), ("numbering", c_int)]


class BlockRange(Structure):
    _fields_ = [("first", c_uint64), ("count", c_uint64)]


class Address(Structure):
    _fields_ = [("rank", c_int), ("slot", c_uint64)]


def _load() -> ctypes.CDLL:
    named = os.environ.get("VALET_LIBRARY")
    for name in [named] if named else ["libvalet.so", ctypes.util.find_library("valet")]:
        try:
            if name:
                return ctypes.CDLL(name)
        except OSError as error:
            if named:
                raise ImportError(f"VALET_LIBRARY names no library: {error}") from None
    raise ImportError("libvalet.so is not found: set VALET_LIBRARY to its path, which is <prefix>/lib/libvalet.so, or "
                      "LD_LIBRARY_PATH to its folder")


library = _load()


def _declare(name: str, result, *arguments) -> None:
    function = getattr(library, name)
    function.restype, function.argtypes = result, arguments


_reported = (POINTER(Options), POINTER(Report))
_started = (POINTER(c_void_p),)
for _name, _result, *_arguments in (
        ("Error_message", c_char_p), ("Version", c_char_p), ("Options_init", None, POINTER(Options), c_size_t),
        ("Report_init", None, POINTER(Report), c_size_t),
        ("Report_to_json", c_size_t, POINTER(Report), c_char_p, c_size_t),
        ("Callback_failed", None, c_char_p), ("Junction_options_init", None, POINTER(JunctionOptions), c_size_t),
        ("Storage_create", c_void_p), ("Storage_free", None, c_void_p),
        ("Storage_add_array", c_int, c_void_p, c_void_p, c_uint64, c_ssize_t, c_size_t, c_int, POINTER(c_size_t),
         POINTER(c_ssize_t), c_char_p),
        ("Storage_refuse", c_int, c_void_p, c_char_p),
        ("Storage_grow_by", c_int, c_void_p, Storage_for_fn, c_void_p),
        ("Plan_to_ranks", c_int, Handle, c_void_p, c_uint64, c_void_p, c_void_p, POINTER(Options), *_started),
        ("Plan_to_slots", c_int, Handle, c_void_p, c_uint64, c_void_p, c_void_p, POINTER(Options), *_started),
        ("Plan_to_layout", c_int, Handle, c_void_p, c_uint64, POINTER(ObjectLayout), POINTER(ObjectLayout),
         POINTER(Options), *_started),
        ("Plan_free", None, c_void_p), ("Plan_blocks_after", c_uint64, c_void_p),
        ("Plan_required_slots", c_uint64, c_void_p), ("Execute", c_int, c_void_p, c_void_p, POINTER(Report)),
        ("Ragged_storage_create", c_void_p), ("Ragged_storage_free", None, c_void_p),
        ("Ragged_storage_add_field", c_int, c_void_p, c_void_p, c_uint64, c_void_p, c_uint64, c_size_t, c_char_p),
        ("Ragged_storage_add_column", c_int, c_void_p, c_void_p, c_uint64, c_size_t, c_char_p),
        ("Ragged_storage_refuse", c_int, c_void_p, c_char_p),
        ("Ragged_migrate", c_int, Handle, c_void_p, POINTER(c_uint64), c_void_p, *_reported),
        ("Redistribute", c_int, Handle, POINTER(Layout), POINTER(Layout), c_size_t, POINTER(Array), POINTER(Array),
         *_reported),
        ("Redistribute_in_place", c_int, Handle, POINTER(Layout), POINTER(Layout), c_size_t, POINTER(Array),
         *_reported),
        *((f"Junction_{way}", c_int, Handle, c_char_p, POINTER(JunctionOptions), *_started)
          for way in ("accept", "connect", "create", "open")),
        *((f"Junction_{way}_array", c_int, c_void_p, POINTER(Array), POINTER(Layout), c_size_t, c_char_p, *_started)
          for way in ("put", "get")),
        ("Junction_put_blocks", c_int, c_void_p, c_void_p, c_uint64, c_void_p, c_char_p, *_started),
        ("Junction_get_blocks", c_int, c_void_p, c_void_p, c_char_p, POINTER(BlockRange), *_started),
        ("Junction_wait", c_int, c_void_p, POINTER(Report)), ("Junction_close", c_int, c_void_p)):
    _declare(f"Valet_{_name}", _result, *_arguments)

error_names = ("success invalid_argument rank_out_of_range slot_out_of_range slot_taken_twice infeasible "
               "field_mismatch block_size_mismatch budget_too_small inaccessible_memory not_initialized "
               "invalid_communicator out_of_memory corrupted mpi_failure internal callback_failed "
               "file_failure").split()


class Error(Exception):
    """What Valet refuses, with its text: the same on all ranks, and nothing has moved unless it says so.

    ``code`` is the name of the error, such as "infeasible"."""

    def __init__(self, code: str, text: str):
        super().__init__(text)
        self.code = code


def check(code: int, cause: Optional[Exception] = None, options: Optional[Options] = None) -> None:
    """Raises the error of a call, with what this rank knows of its cause; or what its callback has raised."""
    if code != 0:
        error = Error(error_names[code], library.Valet_Error_message().decode())
        raised = getattr(options, "raised", None)
        if raised and error.code == "callback_failed":
            raise raised.pop() from error
        raise error from cause


def handle_of(communicator: MPI.Comm):
    """A communicator of mpi4py, for C."""
    if not isinstance(communicator, MPI.Comm):
        raise TypeError(f"the communicator is a {type(communicator).__name__}; give one of mpi4py, such as "
                        "MPI.COMM_WORLD")
    return Handle.from_address(MPI._addressof(communicator))


def new_report() -> Report:
    report = Report()
    library.Valet_Report_init(ctypes.byref(report), ctypes.sizeof(report))
    return report


def report_as_dict(report: Report) -> dict:
    """The numbers of a report, by their names in C."""
    length = library.Valet_Report_to_json(ctypes.byref(report), None, 0)
    text = ctypes.create_string_buffer(length + 1)
    library.Valet_Report_to_json(ctypes.byref(report), text, length + 1)
    return json.loads(text.value)


_choices = {
    "method": {"stream": 0, "direct": 1, "phased": 2, "cyclic": 3, "automatic": 4, "auto": 4},
    "order": {"any": 0, "fill": 1, "stable": 2},
    "negative_rank": {"refuse": 0, "drop": 1},
    "heuristic": dict(zip("first_fit max_first random fortune_wheel min_max continuous".split(), range(6))),
    "scheduler": {"distributed": 0, "centralized": 1},
    "edge_order": {"ascending": 0, "rotated": 1},
}
_parts = {"window": "stream", "heuristic": "phased", "scheduler": "phased", "parking": "phased", "seed": "phased",
          "edge_order": "cyclic"}


def options_of(given: dict) -> Options:
    """Options by their names in C; those of a method by theirs alone."""
    options = Options()
    options.raised = []  # by callbacks
    library.Valet_Options_init(ctypes.byref(options), ctypes.sizeof(options))
    for name, value in given.items():
        target = getattr(options, _parts[name]) if name in _parts else options
        if name in ("struct_size", "stream", "phased", "cyclic", "progress_data", "alltoall_method") or \
                not hasattr(target, name):
            raise TypeError(f"Valet has no option {name!r}")
        if name in _choices:
            if not isinstance(value, str) or value not in _choices[name]:
                raise ValueError(f"{name} is {value!r}; it is one of {', '.join(_choices[name])}")
            value = _choices[name][value]
        elif name in ("trace", "transfers"):
            if not isinstance(value, (str, bytes, os.PathLike)):
                raise ValueError(f"{name} is {value!r}; give the path of a file")
            value = os.fsencode(value)
        elif name == "progress":
            value = _progress_of(value, options.raised)
        try:
            setattr(target, name, value)
        except TypeError:
            raise ValueError(f"{name} is {value!r}; give an integer") from None
        if hasattr(value, "__index__") and getattr(target, name) != value:
            raise ValueError(f"{name} is {value}, which is out of range")
    return options


def _progress_of(function, raised: list) -> Progress_fn:
    if not callable(function):
        raise ValueError(f"progress is {function!r}; give a function")

    class Numbers(Structure):
        _fields_ = [("blocks_done", c_uint64), ("blocks_total", c_uint64), ("bytes_done", c_uint64),
                    ("bytes_total", c_uint64), ("elapsed_seconds", c_double)]

    def call(numbers, _):
        now = Numbers.from_address(numbers)
        try:
            function({name: getattr(now, name) for name, _type in Numbers._fields_})
        except BaseException as error:  # is not called again; the call ends with it on this rank
            raised[:] = [error]
            library.Valet_Callback_failed(f"{type(error).__name__}: {error}".encode(errors="replace"))

    return Progress_fn(call)
