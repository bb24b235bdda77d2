# SPDX-License-Identifier: BSD-3-Clause
"""Rows of numpy arrays of all kinds under random maps, arrays that grow, lists, layouts, files; and what users
do wrong, which is the same error on all ranks. Exits with 0 if all of it is right.

Usage: mpirun -n 3 python3 arrays_test.py"""

import os
import random
import sys
import tempfile
import unittest

if {"-h", "--help"} & set(sys.argv[1:]):
    print(__doc__)
    sys.exit(0)

import numpy as np
from mpi4py import MPI

import valet

comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size
seed = int(os.environ.get("VALET_TEST_SEED", "20260101"))


def same_error(test, call, code, *words):
    """What all ranks must be told."""
    text = ""
    try:
        call()
    except valet.Error as error:
        text = f"{error.code}: {error}"
    test.assertEqual(comm.allgather(text), [text] * size)
    for word in (code, *words):
        test.assertIn(word, text)


def from_here(slots, count):
    """Where a row began, in each entry: contiguous, of several dimensions in both orders, strided, structured."""
    origin = 1000 * rank + np.arange(slots)
    arrays = {
        "id": origin.astype(np.int64),
        "position": np.zeros((slots, 3)) + origin[:, None],
        "tensor": np.asfortranarray(np.zeros((slots, 2, 3), np.float32) + origin[:, None, None]),
        "pair": np.zeros(slots, [("a", "i4"), ("b", "f8")]),
    }
    arrays["every_other"] = np.zeros((2 * slots, 4), np.int32)[::2, ::3]
    arrays["every_other"][:] = origin[:, None]
    arrays["pair"]["a"] = arrays["pair"]["b"] = origin
    return arrays


def rows_agree(arrays, count):
    """Whether all arrays say that a row began where its id says."""
    ids = arrays["id"][:count]
    return all((
        (arrays["position"][:count] == ids[:, None]).all(), (arrays["tensor"][:count] == ids[:, None, None]).all(),
        (arrays["every_other"][:count] == ids[:, None]).all(), (arrays["pair"]["a"][:count] == ids).all(),
        (arrays["pair"]["b"][:count] == ids).all()))


class Arrays(unittest.TestCase):
    def test_random_maps_of_all_kinds_of_arrays(self):
        draw = random.Random(seed)
        for case in range(20):
            counts = [draw.randint(0, 40) for _ in range(size)]
            maps = [[draw.randrange(size) for _ in range(count)] for count in counts]
            after = [sum(row.count(r) for row in maps) for r in range(size)]
            order = draw.choice(["any", "fill", "stable"])
            with self.subTest(seed=seed, case=case, order=order):
                slots = max(counts[rank], after[rank])
                arrays = from_here(slots, counts[rank])
                count, report = valet.migrate(comm, arrays, counts[rank], maps[rank], order=order, verify=True,
                                              budget_bytes=draw.choice([1000, 1 << 20]))
                self.assertEqual(count, after[rank])
                self.assertTrue(report["verified"])
                self.assertTrue(rows_agree(arrays, count))
                wanted = sorted(1000 * r + k for r, row in enumerate(maps) for k, to in enumerate(row) if to == rank)
                self.assertEqual(sorted(arrays["id"][:count]), wanted)

    def test_a_plan_is_executed_again(self):
        x = np.arange(10.0) + 100 * rank
        plan = valet.plan_to_ranks(comm, [x], None, np.full(10, (rank + 1) % size))
        self.assertEqual((plan.blocks_after, plan.required_slots), (10, 10))
        for step in range(1, 4):
            plan.execute([x])
            self.assertEqual(set(x // 100), {(rank - step) % size})

    def test_rows_to_slots_and_layouts(self):
        x = np.arange(6) + 6 * rank
        valet.plan_to_slots(comm, x, 6, np.full(6, (rank + 1) % size), np.arange(6)[::-1]).execute(x)
        self.assertEqual(list(x), list(6 * ((rank - 1) % size) + np.arange(6)[::-1]))
        x = np.arange(6) + 6 * rank
        valet.plan_to_layout(comm, x, 6, block_size=1).execute(x)
        self.assertEqual(list(x), list(np.arange(6) * size + rank))

    def test_arrays_grow_where_they_must(self):
        particles = valet.Arrays(from_here(5, 5))
        count, _report = valet.migrate(comm, particles, 5, [size - 1] * 5)
        self.assertEqual(count, 5 * size if rank == size - 1 else 0)
        self.assertEqual(len(particles["position"]), max(5, count))
        self.assertTrue(rows_agree(particles, count))
        self.assertTrue(particles["tensor"].flags.f_contiguous)

    def test_rows_of_rank_minus_1_are_dropped(self):
        x = np.arange(6) + 10 * rank
        count, report = valet.migrate(comm, x, 6, [rank, -1] * 3, negative_rank="drop", order="stable")
        self.assertEqual((count, report["blocks_dropped"]), (3, 3))
        self.assertEqual(list(x[:3]), [10 * rank, 10 * rank + 2, 10 * rank + 4])

    def test_no_rows(self):
        count, _report = valet.migrate(comm, {"x": np.zeros((0, 3))}, 0, [])
        self.assertEqual(count, 0)

    def test_structs_are_those_of_c(self):
        from valet import _library as c
        options = c.options_of({})
        self.assertEqual((options.budget_bytes, options.method, options.keep_memory, options.progress_bar,
                          options.stream.window, options.phased.heuristic, options.phased.seed,
                          options.cyclic.edge_order, options.trace, options.negative_rank,
                          options.transfers),
                         (4 << 20, 4, 1, 1, 32, 3, 1, 0, None, 0, None))
        report, storage, plan = c.new_report(), valet._storage.Storage([np.zeros(3)]), c.c_void_p()
        own = np.full(3, rank, np.int32)
        c.check(c.library.Valet_Plan_to_ranks(c.handle_of(comm), storage.handle, 3, None, own.ctypes.data,
                                              options, plan))
        c.check(c.library.Valet_Execute(plan, storage.handle, report))
        c.library.Valet_Plan_free(plan)
        numbers = c.report_as_dict(report)
        for name, _kind in c.Report._fields_[1:-2]:
            self.assertEqual(getattr(report, name), numbers[name], name)

    def test_progress_and_names_of_options(self):
        seen = []
        x = np.zeros(1000)
        valet.migrate(comm, x, 1000, np.full(1000, (rank + 1) % size), progress=seen.append, method="stream")
        self.assertTrue(size == 1 or seen[-1]["blocks_done"] == seen[-1]["blocks_total"])
        with self.assertRaisesRegex(TypeError, "no option 'budget'"):
            valet.migrate(comm, x, 1000, np.zeros(1000, int), budget=3)
        with self.assertRaisesRegex(TypeError, "communicator is a int"):
            valet.migrate(3, x, 1000, np.zeros(1000, int))


class Mistakes(unittest.TestCase):
    """Of the last rank alone."""

    def refused(self, arrays, ranks, count=4, *words, code="invalid_argument", **options):
        is_odd = rank == size - 1
        good = np.zeros(4)
        same_error(self, lambda: valet.migrate(comm, arrays if is_odd else [good], count if is_odd else 4,
                                               ranks if is_odd else [rank] * 4, **options),
                   code, f"rank {size - 1}:", *words)

    def test_arrays_that_cannot_be_moved(self):
        here = [rank] * 4
        self.refused([np.array([object()] * 4)], here, 4, "dtype object", "structured dtype")
        frozen = np.zeros(4)
        frozen.flags.writeable = False
        self.refused([frozen], here, 4, "read-only", "give a copy")
        self.refused([[0.0] * 4], here, 4, "is a list", "array of numpy")
        self.refused([np.zeros(())], here, 4, "no dimension")
        self.refused({"x": np.zeros((4, 0))}, here, 4, "array 'x' has rows of no bytes")
        self.refused(7, here, 4, "the arrays are a int; give one of numpy")
        self.refused([np.zeros((4, 1, 1, 1, 1, 1, 1, 1, 1))], here, 4, "9 dimensions")

    def test_maps_that_are_none(self):
        x = np.zeros(4)
        self.refused([x], [rank] * 3, 4, "ranks have shape (3,) for 4 blocks")
        self.refused([x], [0.5] * 4, 4, "dtype float64; give integers")
        self.refused([x], [rank, rank, rank, 2**40], 4, "which are none")
        self.refused([x], [[rank] * 2] * 2, 4, "shape (2, 2)")
        self.refused([x], [rank, rank, rank, size], 4, f"is sent to rank {size}", code="rank_out_of_range")
        self.refused([x], [rank] * 5, 5, "the count is 5, but the arrays have 4 rows")
        self.refused([x], [rank] * 4, 2**70, f"the count is {2**70}, but the arrays have 4 rows")
        same_error(self, lambda: valet.plan_to_slots(comm, x, 4, [rank] * 4, [0, 1, 2, -7 if rank == size - 1 else 3]),
                   "invalid_argument", f"rank {size - 1}: the slot that the block in slot 3 goes to is -7;")

    def test_numbers_and_options_that_are_none(self):
        x = np.zeros(4)
        self.refused([x], [], -1, "the count is -1")
        self.refused([x], np.full(4, 2**64 - 1, np.uint64), 4, "which are none")
        is_odd = rank == size - 1
        same_error(self, lambda: valet.migrate(comm, x, 4, [rank] * 4, order="best" if is_odd else "any"),
                   "invalid_argument", f"rank {size - 1}:", "order is 'best'; it is one of any, fill, stable")
        for wrong, text in (({"budget_bytes": 1e6}, "budget_bytes is 1000000.0; give an integer"),
                            ({"budget_bytes": -1}, "budget_bytes is -1, which is out of range"),
                            ({"method": ["stream"]}, "method is ['stream']; it is one of"),
                            ({"trace": True}, "trace is True; give the path of a file"),
                            ({"progress": 3}, "progress is 3; give a function")):
            same_error(self, lambda: valet.migrate(comm, x, 4, [rank] * 4, **(wrong if is_odd else {})),
                       "invalid_argument", f"rank {size - 1}:", text)
        for count in (4.0, "4", [4]):
            same_error(self, lambda: valet.migrate(comm, x, count if is_odd else 4, [rank] * 4), "invalid_argument",
                       f"rank {size - 1}:", f"the count is {count!r}; give the number of rows in use")
        for wrong, text in (({"block_size": -1}, "block_size is -1;"), ({"ranks": 2.0}, "ranks is 2.0;")):
            same_error(self, lambda: valet.plan_to_layout(comm, x, 4, **(wrong if is_odd else {})),
                       "invalid_argument", f"rank {size - 1}:", text)
        layout = valet.Layout([4 * size], [4], [size])
        same_error(self, lambda: valet.redistribute(comm, layout, layout, x, x.copy(),
                                                    method="best" if is_odd else "stream"),
                   "invalid_argument", f"rank {size - 1}:", "unknown method")
        lengths = np.ones(4, np.uint64)
        lists = valet.Lists(np.zeros(4), lengths)
        for ranks in ([2**40] * 4, [0.5] * 4):
            same_error(self, lambda: valet.migrate_lists(comm, lists, {}, 4, ranks if is_odd else [rank] * 4),
                       "invalid_argument", f"rank {size - 1}:")
        with self.assertRaisesRegex(TypeError, "no option 'budget'"):
            valet.migrate_lists(comm, lists, {}, 4, [rank] * 4, budget=3)
        self.assertEqual(list(lengths), [1] * 4)

    def test_layouts_and_parts_that_do_not_fit(self):
        with self.assertRaisesRegex(ValueError, "2 ranks for a grid of 4"):
            valet.Layout([8], [2], [4], ranks=[0, 1])
        layout = valet.Layout([8 * size], [8], [size])
        for part in (np.zeros((8, 1)), None):
            same_error(self, lambda: valet.redistribute(comm, layout, layout, part, np.zeros(8)), "rank")
        strided = np.arange(16.0)
        same_error(self, lambda: valet.redistribute_in_place(comm, layout, layout, strided[::2]), "rank")
        self.assertEqual(list(strided), list(range(16)))

    def test_arrays_that_do_not_belong_together(self):
        if size > 1:
            self.refused([np.zeros(4, np.float32)], [rank] * 4, 4, code="block_size_mismatch")
        self.refused([np.zeros(4), np.zeros(5)], [rank] * 4, 4, code="field_mismatch")
        x = np.zeros(4)
        self.refused([x[:2], x[1:3]], [rank] * 2, 2, code="invalid_argument")

    def test_progress_that_raises(self):
        if size == 1:
            return
        is_odd = rank == size - 1

        def fails(_now):
            raise KeyError("no terminal")

        def raised(call):
            """Its own exception where it was raised, which is the cause; the error of the call on other ranks."""
            try:
                call()
                text = ""
            except KeyError as error:
                self.assertTrue(is_odd)
                text = str(error.__cause__)
            except valet.Error as error:
                self.assertFalse(is_odd)
                text = str(error)
            self.assertEqual(comm.allgather(text), [text] * size)
            self.assertIn(f"rank {size - 1}: callback progress failed: KeyError: 'no terminal'; the call went on", text)

        options = {"progress": fails if is_odd else lambda _now: None}
        x = np.full(4, rank)
        plan = valet.plan_to_ranks(comm, x, 4, [(rank + 1) % size] * 4, **options)
        for step in 1, 2:
            raised(lambda: plan.execute(x))
            self.assertEqual(list(x), [(rank - step) % size] * 4)
        values, lengths = np.full(4, rank), np.ones(4, np.uint64)
        lists = valet.Lists(values, lengths)
        raised(lambda: valet.migrate_lists(comm, lists, {}, 4, [(rank + 1) % size] * 4, **options))
        self.assertEqual(list(values), [(rank - 1) % size] * 4)
        blocks, turns = valet.Layout([4 * size], [4], [size]), valet.Layout([4 * size], [1], [size])
        there = np.zeros(4, int)
        raised(lambda: valet.redistribute(comm, blocks, turns, np.arange(4) + 4 * rank, there, **options))
        self.assertEqual(list(there), list(range(rank, 4 * size, size)))

    def test_arrays_that_cannot_grow(self):
        if size == 1:
            return

        class Refuses(valet.Arrays):
            def grown(self, rows):
                raise MemoryError(f"no {rows} rows")

        x = np.full(4, rank)
        arrays = Refuses(x=x) if rank == size - 1 else {"x": x}
        same_error(self, lambda: valet.migrate(comm, arrays, 4, [size - 1] * 4), "invalid_argument",
                   f"rank {size - 1}:", f"arrays cannot grow to {4 * size} rows: no {4 * size} rows",
                   "nothing has moved")
        self.assertEqual(list(x), [rank] * 4)
        same_error(self, lambda: valet.migrate(comm, {"x": x}, 4, [size - 1] * 4), "infeasible", f"{4 * size}")

    def test_lists(self):
        if rank == size - 1:
            lists = valet.Lists(np.zeros(4), np.ones(4, np.int32))
        else:
            lists = valet.Lists(np.zeros(4), np.ones(4, np.uint64))
        same_error(self, lambda: valet.migrate_lists(comm, lists, {}, 4, [rank] * 4), "invalid_argument",
                   f"rank {size - 1}:", "dtype int32; give uint64")
        if rank != size - 1:
            self.assertEqual(list(lists.lengths), [1] * 4)


class ListsLayoutsAndFiles(unittest.TestCase):
    def test_lists(self):
        lengths = np.zeros(4 * size, np.uint64)
        lengths[:4] = range(4)
        values = np.zeros(6 * size)
        values[:6] = rank
        number = np.zeros((4 * size, 2), np.int32)
        number[:4] = rank
        count, report = valet.migrate_lists(comm, valet.Lists(values, lengths), {"number": number}, 4, [0] * 4)
        self.assertEqual(count, 4 * size if rank == 0 else 0)
        if rank == 0:
            self.assertEqual(list(lengths), list(range(4)) * size)
            self.assertEqual(list(values), [r for r in range(size) for _ in range(6)])
            self.assertEqual(list(number[:, 1]), [r for r in range(size) for _ in range(4)])

    def test_layouts(self):
        rows = valet.Layout([8, 6], [1, 6], [size, 1])
        columns = valet.Layout([8, 6], [8, 1], [1, size])
        whole = np.arange(48.0).reshape(8, 6)
        mine, there = whole[rank::size].copy(), np.zeros((8, len(range(rank, 6, size))))
        mine.flags.writeable = False  # it is read
        valet.redistribute(comm, rows, columns, mine, there)
        self.assertTrue((there == whole[:, rank::size]).all())
        room = np.zeros(max(mine.size, there.size))
        room[:mine.size] = mine.ravel()
        valet.redistribute_in_place(comm, rows, columns, room)
        self.assertTrue((room[:there.size] == there.ravel()).all())

    def test_files(self):
        folder = comm.bcast(tempfile.mkdtemp() if rank == 0 else None)
        path = os.path.join(folder, "state.valet")
        arrays = from_here(3, 3)
        layout = valet.Layout([2 * size], [2], [size])
        with valet.Junction.create(comm, path) as file:
            file.put_blocks("particles", arrays)
            file.put_array("field", np.arange(2.0) + 2 * rank, layout)
        with valet.Junction.open(comm, path) as file:
            some, part = np.zeros(3, np.int64), np.zeros(len(range(rank, 2 * size, size)))
            file.get_array("field", part, valet.Layout([2 * size], [1], [size]))
            self.assertEqual(list(part), list(range(rank, 2 * size, size)))
            with self.assertRaisesRegex(valet.Error, "open to get from it"):
                file.put_blocks("particles", arrays)
            is_odd = rank == size - 1
            for wanted, text in (((-1, 2), "first is -1;"), ((0, 2.5), "count is 2.5;"), ((None, 2), "first is None;")):
                same_error(self, lambda: file.get_blocks("particles", {"id": some}, *(wanted if is_odd else (0, 2))),
                           "invalid_argument", f"rank {size - 1}: {text} give both first and count")
            self.assertEqual(file.get_blocks("particles", {"id": some}), 3)
            self.assertEqual(list(some), [1000 * rank + k for k in range(3)])
        with self.assertRaisesRegex(valet.Error, "this junction is closed"):
            file.get_blocks("particles", {"id": some})
        for name, options in (None, {}), (path, {"budget_bytes": "4M"}):
            same_error(self, lambda: valet.Junction.open(comm, *((name,) if is_odd else (path,)),
                                                         **(options if is_odd else {})),
                       "invalid_argument", f"rank {size - 1}: the name is a null pointer")
        same_error(self, lambda: valet.Junction.open(comm, path, budget_bytes=-5), "the budget (budget_bytes) is -5;")
        with self.assertRaisesRegex(valet.Error, "gone.valet"):
            valet.Junction.open(comm, os.path.join(folder, "gone.valet"))
        comm.Barrier()
        if rank == 0:
            os.remove(path)
            os.rmdir(folder)


if __name__ == "__main__":
    program = unittest.main(exit=False, verbosity=0)
    sys.exit(comm.allreduce(0 if program.result.wasSuccessful() else 1, MPI.MAX))
