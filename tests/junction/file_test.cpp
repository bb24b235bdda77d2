// SPDX-License-Identifier: BSD-3-Clause

// The promise of a file: what M ranks put, N ranks get in any other layout, within the memory that
// is promised. The value of a block is its number.

#include "file_cases.hpp"
#include "numbered_cases.hpp"
#include <valet/junction.hpp>

#include <memory>
#include <numeric>
#include <utility>

namespace valet::test {
namespace {

/// One file: who writes, who reads, and with which budgets.
struct FileCase {
  explicit FileCase(std::mt19937_64& random)
      : writers(static_cast<int>(pick(random, 0, 5)) % size(), ranks_of(random)),
        readers(static_cast<int>(pick(random, 0, 5)) % size(), ranks_of(random)) {
    for (JunctionOptions* options : {&writing, &reading}) {
      options->budget_bytes = std::array<std::size_t, 3>{64, 500, 4U << 20}[pick(random, 0, 2)];
      options->progress = [progress = progress](const Progress& now) { *progress = now; };
    }
  }

  /// Puts with put(junction, rank, ranks) and gets alike; returns what get() returns, 0 on ranks
  /// that do not read.
  template <class Put, class Get>
  void pass(Put&& put, Get&& get) const {
    if (writers.are_here()) {
      Junction file = Junction::create(writers.comm(), where.path(), writing);
      check(put(file), writing, writers.ranks + writers.ranks);
      file.close();
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (readers.are_here()) {
      Junction file = Junction::open(readers.comm(), where.path(), reading);
      check(get(file), reading, readers.ranks + file.other_ranks());
    }
  }

  SharedPath where;
  SomeRanks writers, readers;
  JunctionOptions writing, reading;
  std::shared_ptr<Progress> progress = std::make_shared<Progress>();  ///< the last one

 private:
  static int ranks_of(std::mt19937_64& random) {
    return 1 + static_cast<int>(pick(random, 0, 5)) % size();
  }
  void check(const Report& report, const JunctionOptions& options, int /*ranks*/) const {
    EXPECT_EQ(progress->bytes_done, progress->bytes_total);
    EXPECT_EQ(progress->blocks_done, progress->blocks_total);
    EXPECT_LE(report.peak_extra_bytes, report.extra_bytes_bound);
    EXPECT_GE(report.extra_bytes_bound, options.budget_bytes);
  }
};

template <class Test>
void for_random_files(std::uint64_t count, Test&& test) {
  for (std::uint64_t k = 0; k < cases_wanted(count); ++k) {
    SCOPED_TRACE(seed_note(seed() + k));
    std::mt19937_64 random(seed() + k);
    const FileCase files(random);
    test(random, files);
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(File, BringsArraysFromAnyLayoutToAnyOther) {
  for_random_files(20, [](std::mt19937_64& random, const FileCase& files) {
    const BlockCyclic::Extents extents = some_extents(random);
    std::array<int, 2> ranks{files.writers.ranks, files.readers.ranks};
    MPI_Allreduce(MPI_IN_PLACE, ranks.data(), 2, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    const GridLayout put = some_layout(random, extents, ranks[0]);
    const bool is_same = ranks[0] == ranks[1] && pick(random, 0, 2) == 0;
    const GridLayout got = is_same ? put : some_layout(random, extents, ranks[1]);
    std::vector<Element> values(elements_of(put, files.writers.own_rank)),
        room(elements_of(got, files.readers.own_rank), untouched);
    for_every_local(put, files.writers.own_rank,
                    [&](std::size_t k, Element number) { values[k] = number; });
    files.pass(
        [&](Junction& file) {
          return file.put(std::span<const Element>(values), put, "array").wait();
        },
        [&](Junction& file) { return file.get(std::span(room), got, "array").wait(); });
    long long wrong = 0;
    if (files.readers.are_here())
      for_every_local(got, files.readers.own_rank,
                      [&](std::size_t k, Element number) { wrong += room[k] == number ? 0 : 1; });
    EXPECT_EQ(sum_over_ranks(wrong), 0);
  });
}

/// Columns and rows the other way round in memory, with gaps.
TEST(File, BringsArraysInOtherOrdersAndWithStrides) {
  const SharedPath where;
  const BlockCyclic::Extents extents{6, 10};
  const BlockCyclic layout = BlockCyclic::block(extents, {1, size()});
  const BlockCyclic::Extents own = layout.local_extents(rank());
  const BlockCyclic other = BlockCyclic::cyclic(extents, {size(), 1});
  const BlockCyclic::Extents turned = other.local_extents(rank());
  std::vector<int> values(static_cast<std::size_t>(8 * own[1]), -1),
      room(static_cast<std::size_t>(turned[0] * turned[1]), -1), same(values.size(), -1);
  const auto number = [&](const BlockCyclic& grid, std::int64_t i, std::int64_t j) {
    const BlockCyclic::Extents at = grid.global_indices(rank(), {i, j});
    return static_cast<int>(at[0] * 100 + at[1]);
  };
  for (std::int64_t j = 0; j < own[1]; ++j)
    for (std::int64_t i = 0; i < own[0]; ++i)
      values[static_cast<std::size_t>(i + 8 * j)] = number(layout, i, j);
  Junction file = Junction::create(MPI_COMM_WORLD, where.path());
  file.put(
          SourceArray{values.data(), values.size() * sizeof(int), IndexOrder::column_major, {1, 8}},
          {layout}, sizeof(int), "a")
      .wait();
  file.close();
  Junction read = Junction::open(MPI_COMM_WORLD, where.path());
  read.get(std::span(room), {other}, "a").wait();
  read = Junction::open(MPI_COMM_WORLD, where.path());
  read.get(TargetArray{same.data(), same.size() * sizeof(int), IndexOrder::column_major, {1, 8}},
           {layout}, sizeof(int), "a")
      .wait();
  long long wrong = 0;
  for (std::int64_t i = 0; i < turned[0]; ++i)
    for (std::int64_t j = 0; j < turned[1]; ++j)
      wrong += room[static_cast<std::size_t>(i * turned[1] + j)] == number(other, i, j) ? 0 : 1;
  EXPECT_EQ(sum_over_ranks(wrong), 0);
  EXPECT_TRUE(all_ranks(same == values)) << "with its gaps";
}

/// A number of blocks that depends on the rank: none on some.
std::size_t some_count(std::mt19937_64& random, int rank) {
  std::mt19937_64 own(random() + static_cast<std::uint64_t>(rank));
  return pick(own, 0, 3) == 0 ? 0 : pick(own, 0, 300);
}

/// The numbers of the blocks in front, and of all.
std::array<std::size_t, 2> numbers_of(const SomeRanks& ranks, std::size_t count) {
  std::array<std::size_t, 2> numbers{};
  if (!ranks.are_here()) return numbers;
  MPI_Exscan(&count, numbers.data(), 1, MPI_UINT64_T, MPI_SUM, ranks.comm());
  if (ranks.own_rank == 0) numbers[0] = 0;
  MPI_Allreduce(&count, &numbers[1], 1, MPI_UINT64_T, MPI_SUM, ranks.comm());
  return numbers;
}

TEST(File, BringsBlocksInTheirOrderAndSomeOfTheirFields) {
  for_random_files(20, [](std::mt19937_64& random, const FileCase& files) {
    const std::size_t count = some_count(random, files.writers.own_rank);
    const std::size_t first = numbers_of(files.writers, count)[0];
    std::vector<Element> ids(count);
    std::vector<std::array<float, 3>> places(count);
    std::iota(ids.begin(), ids.end(), first);
    for (std::size_t b = 0; b < count; ++b)
      places[b] = {static_cast<float>(ids[b]), 1, static_cast<float>(ids[b]) + 2};
    const std::size_t which = pick(random, 0, 2);
    std::vector<Element> got;
    std::vector<std::array<float, 3>> got_places;
    std::size_t read = 0;
    files.pass(
        [&](Junction& file) {
          return file.put({field(ids, 1, "id"), field(places, 1, "place")}, count, "particles")
              .wait();
        },
        [&](Junction& file) {
          const auto grow = [&](std::uint64_t blocks) {
            read = blocks;
            got.resize(blocks + 3);
            got_places.resize(blocks + 3);
            if (which == 0) return BlockStorage{field(got, 1, "id"), field(got_places, 1, "place")};
            if (which == 1) return BlockStorage{field(got_places, 1, "place")};
            return BlockStorage{field(got_places, 1, "place"), field(got, 1, "id")};
          };
          const Report report = file.get(grow, "particles").wait();
          EXPECT_EQ(report.blocks_after, read);
          EXPECT_EQ(file.records().at(0).count, numbers_of(files.readers, read)[1]);
          return report;
        });
    long long wrong = 0;
    const std::size_t begin = numbers_of(files.readers, read)[0];
    for (std::size_t b = 0; b < read; ++b) {
      wrong += which == 1 || got[b] == begin + b ? 0 : 1;
      wrong += got_places[b][2] == static_cast<float>(begin + b) + 2 ? 0 : 1;
    }
    EXPECT_EQ(sum_over_ranks(wrong), 0);
    EXPECT_EQ(sum_over_ranks(static_cast<long long>(files.writers.are_here() ? count : 0)),
              sum_over_ranks(static_cast<long long>(read)));
  });
}

/// Objects that both sides of a file have by numbers, or only who reads.
struct Numbering {
  Numbering(std::mt19937_64& random, std::size_t count, const FileCase& files)
      : objects(count), ranks{files.writers.ranks, files.readers.ranks} {
    MPI_Allreduce(MPI_IN_PLACE, ranks.data(), 2, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    put = some_numbering(random, objects, ranks[0]);
    got = some_numbering(random, objects, ranks[1]);
    numbered = pick(random, 0, 2) > 0;
  }
  /// Those of this rank.
  [[nodiscard]] std::vector<Element> numbers_put(const FileCase& files) const {
    if (!files.writers.are_here()) return {};
    return numbers_in(numbered ? put : ObjectLayout::balanced(), objects, files.writers.own_rank,
                      ranks[0]);
  }
  [[nodiscard]] std::vector<Element> numbers_got(const FileCase& files) const {
    if (!files.readers.are_here()) return {};
    return numbers_in(got, objects, files.readers.own_rank, ranks[1]);
  }

  std::size_t objects;
  std::array<int, 2> ranks;
  ObjectLayout put, got;
  bool numbered = false;  ///< by whoever writes
};

TEST(File, BringsNumberedBlocksIntoAnyOtherLayout) {
  for_random_files(20, [](std::mt19937_64& random, const FileCase& files) {
    const std::size_t objects = pick(random, 1, 500);
    const Numbering is(random, objects, files);
    std::vector<Element> ids = is.numbers_put(files), room;
    const std::vector<Element> due = is.numbers_got(files);
    files.pass(
        [&](Junction& file) {
          const BlockStorage storage{field(ids)};
          return is.numbered ? file.put(storage, ids.size(), is.put, "cells").wait()
                             : file.put(storage, ids.size(), "cells").wait();
        },
        [&](Junction& file) {
          room.assign(due.size(), untouched);
          return file.get({field(room)}, is.got, "cells").wait();
        });
    EXPECT_TRUE(all_ranks(!files.readers.are_here() || room == due));
  });
}

TEST(File, BringsNumberedBlocksOfDifferentSizesIntoAnyOtherLayout) {
  for_random_files(20, [](std::mt19937_64& random, const FileCase& files) {
    const std::size_t objects = pick(random, 1, 300);
    const Numbering is(random, objects, files);
    const bool by_offsets = pick(random, 0, 1) == 0, by_offsets_here = pick(random, 0, 1) == 0;
    const std::vector<Element> numbers = is.numbers_put(files), due = is.numbers_got(files);
    NumberedLists lists(numbers), room(due, pick(random, 0, 1));
    lists.fill(numbers, by_offsets);
    files.pass(
        [&](Junction& file) {
          const RaggedStorage storage = lists.storage(by_offsets);
          return is.numbered ? file.put(storage, numbers.size(), is.put, "lists").wait()
                             : file.put(storage, numbers.size(), "lists").wait();
        },
        [&](Junction& file) {
          const Report report = file.get(room.storage(by_offsets_here), is.got, "lists").wait();
          EXPECT_EQ(report.blocks_after, due.size());
          return report;
        });
    EXPECT_TRUE(lists.has(numbers, by_offsets)) << "what was put has changed";
    EXPECT_TRUE(all_ranks(room.has(due, by_offsets_here)));
  });
}

TEST(File, BringsBlocksOfDifferentSizes) {
  for_random_files(20, [](std::mt19937_64& random, const FileCase& files) {
    const std::size_t count = some_count(random, files.writers.own_rank);
    const std::size_t first = numbers_of(files.writers, count)[0];
    const auto length_of = [](Element id) { return id * 7 % 11 == 0 ? 0 : id * 5 % 9; };
    std::vector<std::uint32_t> values;
    std::vector<std::uint64_t> lengths(count);
    std::vector<Element> ids(count);
    for (std::size_t b = 0; b < count; ++b) {
      ids[b] = first + b;
      lengths[b] = 4 * length_of(ids[b]);
      values.insert(values.end(), length_of(ids[b]), static_cast<std::uint32_t>(ids[b]));
    }
    const bool with_offsets = pick(random, 0, 1) == 0;
    std::vector<std::uint32_t> got_values(20'000);
    std::vector<std::uint64_t> got_lengths(2'001);
    std::vector<Element> got_ids(2'000, untouched);
    std::uint64_t read = 0;
    files.pass(
        [&](Junction& file) {
          return file
              .put(RaggedStorage({ragged_field(std::span(values), std::span(lengths))},
                                 {field(ids)}),
                   count, "cells")
              .wait();
        },
        [&](Junction& file) {
          const auto lengths_or_offsets = std::span(got_lengths);
          const RaggedField arena =
              with_offsets ? ragged_field_by_offsets(std::span(got_values), lengths_or_offsets)
                           : ragged_field(std::span(got_values), lengths_or_offsets);
          const Report report = file.get(RaggedStorage({arena}, {field(got_ids)}), "cells").wait();
          read = report.blocks_after;
          return report;
        });
    long long wrong = 0;
    std::size_t at = 0;
    const std::size_t begin = numbers_of(files.readers, read)[0];
    for (std::size_t b = 0; b < read; ++b) {
      const Element id = begin + b;
      const std::uint64_t bytes =
          with_offsets ? got_lengths[b + 1] - got_lengths[b] : got_lengths[b];
      wrong += got_ids[b] == id && bytes == 4 * length_of(id) ? 0 : 1;
      for (std::size_t v = 0; v < length_of(id); ++v)
        wrong += got_values[at++] == static_cast<std::uint32_t>(id) ? 0 : 1;
    }
    EXPECT_EQ(sum_over_ranks(wrong), 0);
    EXPECT_EQ(sum_over_ranks(static_cast<long long>(files.writers.are_here() ? count : 0)),
              sum_over_ranks(static_cast<long long>(read)));
  });
}

TEST(File, TellsWhatIsWrittenAndRead) {
  const SharedPath where;
  Progress last;
  int told = 0;
  const JunctionOptions options{.progress = [&](const Progress& now) {
    last = now;
    ++told;
  }};
  const auto expect_told = [&](std::uint64_t blocks, std::uint64_t bytes) {
    EXPECT_GT(std::exchange(told, 0), 0);
    EXPECT_EQ(std::pair(last.blocks_done, last.blocks_total), std::pair(blocks, blocks));
    EXPECT_EQ(std::pair(last.bytes_done, last.bytes_total), std::pair(bytes, bytes));
  };
  std::vector<std::array<float, 3>> places(100);
  std::vector<double> values(6);
  std::vector<std::uint64_t> lengths{16, 0, 32};
  const BlockCyclic layout = BlockCyclic::block({6 * size()}, {size()});
  const auto arena = [&] {
    return RaggedStorage({ragged_field(std::span(values), std::span(lengths))},
                         {field(places.data(), 3)});
  };
  Junction file = Junction::create(MPI_COMM_WORLD, where.path(), options);
  file.put({field(places)}, 100, "places").wait();
  expect_told(100, 1200);
  file.put(std::span<const double>(values), {layout}, "values").wait();
  expect_told(6, 48);
  file.put(arena(), 3, "lists").wait();
  expect_told(3 * 8 + 48 + 36, 3 * 8 + 48 + 36);  // with the lengths
  file.close();
  file = Junction::open(MPI_COMM_WORLD, where.path(), options);
  file.get({field(places)}, "places").wait();
  expect_told(100, 1200);
  file.get(std::span(values), {layout}, "values").wait();
  expect_told(6, 48);
  file.get(arena(), "lists").wait();
  expect_told(48 + 36, 48 + 36);
  file = Junction::open(MPI_COMM_WORLD, where.path(), options);
  file.get(std::span(values), {BlockCyclic::cyclic({6 * size()}, {size()})}, "values").wait();
  expect_told(6, 48);
}

TEST(File, GivesRangesAndRecordsInAnyOrder) {
  const SharedPath where;
  std::vector<int> one(100), two(100), room(100, -1);
  std::iota(one.begin(), one.end(), 100 * rank());
  std::fill(two.begin(), two.end(), 7);
  Junction file = Junction::create(MPI_COMM_WORLD, where.path());
  JunctionTransfer first = file.put({field(one)}, 100, "one");
  JunctionTransfer second = file.put({field(two)}, 100, "two");
  EXPECT_FALSE(std::filesystem::exists(where.path())) << "it is not whole";
  second.wait();
  first.wait();
  file.close();
  EXPECT_TRUE(std::filesystem::exists(where.path()));
  Junction read = Junction::open(MPI_COMM_WORLD, where.path());
  EXPECT_EQ(read.other_ranks(), size());
  ASSERT_EQ(read.records().size(), 2U);
  EXPECT_EQ(read.records()[1].label, "two");
  EXPECT_EQ(read.records()[1].bytes, 400U * static_cast<unsigned>(size()));
  read.get({field(room)}, "two").wait();
  EXPECT_TRUE(room == two);
  // Every rank the same blocks: 50 around the last rank's first one, or none.
  const BlockRange range{100 * static_cast<std::uint64_t>(size() - 1), rank() % 2 == 0 ? 50U : 0U};
  read.get({field(room)}, range, "one").wait();
  EXPECT_EQ(room[49], rank() % 2 == 0 ? 100 * (size() - 1) + 49 : 7);
  EXPECT_EQ(room[50], 7);
}

}  // namespace
}  // namespace valet::test
