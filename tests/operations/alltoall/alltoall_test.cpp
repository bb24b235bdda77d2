// SPDX-License-Identifier: BSD-3-Clause

// The promise: what MPI_Alltoallv does between two buffers happens inside one, for any counts.

#include "addressed_blocks.hpp"
#include "oracle.hpp"
#include "promise.hpp"
#include "random_maps.hpp"
#include "test_comm.hpp"

namespace valet::test {
namespace {

using Matrix = std::vector<std::vector<std::int64_t>>;

constexpr std::array all_methods{AlltoallMethod::automatic, AlltoallMethod::stream,
                                 AlltoallMethod::swaps,     AlltoallMethod::bitonic,
                                 AlltoallMethod::pairwise,  AlltoallMethod::direct};

struct Case {
  Matrix counts;  ///< counts[i][j]: from rank i to rank j
  std::size_t element_bytes = 8;
  AlltoallOptions options;
  std::uint64_t spare = 0;  ///< elements of room more than needed

  /// Whether the budget holds what leaves any rank.
  [[nodiscard]] bool fits_at_once() const {
    for (std::size_t i = 0; i < counts.size(); ++i)
      if ((sent(i) - static_cast<std::uint64_t>(counts[i][i])) * element_bytes >
          options.budget_bytes)
        return false;
    return true;
  }

  [[nodiscard]] std::uint64_t sent(std::size_t rank) const {
    return static_cast<std::uint64_t>(
        std::accumulate(counts[rank].begin(), counts[rank].end(), std::int64_t{0}));
  }
  /// The most that a rank holds before or after.
  [[nodiscard]] std::uint64_t most() const {
    std::uint64_t most = 0;
    for (std::size_t r = 0; r < counts.size(); ++r) {
      const std::vector<std::int64_t> column = from_each(r);
      most = std::max({most, sent(r),
                       static_cast<std::uint64_t>(
                           std::accumulate(column.begin(), column.end(), std::int64_t{0}))});
    }
    return most;
  }
  /// Ranks that a rank sends to or receives from.
  [[nodiscard]] std::uint64_t neighbours(std::size_t rank) const {
    std::uint64_t count = 0;
    for (std::size_t r = 0; r < counts.size(); ++r)
      count += r != rank && counts[rank][r] + counts[r][rank] > 0 ? 1 : 0;
    return count;
  }
  /// Every element is a block, which goes to a slot.
  [[nodiscard]] GlobalMap map() const {
    std::vector<std::vector<int>> ranks(counts.size());
    for (std::size_t i = 0; i < counts.size(); ++i)
      for (std::size_t j = 0; j < counts.size(); ++j)
        ranks[i].insert(ranks[i].end(), static_cast<std::size_t>(counts[i][j]),
                        static_cast<int>(j));
    return map_to(ranks);
  }
  [[nodiscard]] std::vector<std::int64_t> from_each(std::size_t rank) const {
    std::vector<std::int64_t> column;
    for (const auto& row : counts) column.push_back(row[rank]);
    return column;
  }
};

/// Consecutive elements as rows, to be compared as they are or sorted.
std::vector<std::string> rows(const std::vector<std::byte>& bytes, std::size_t count,
                              std::size_t element_bytes, bool sorted) {
  std::vector<std::string> result;
  for (std::size_t k = 0; k < count; ++k)
    result.emplace_back(reinterpret_cast<const char*>(bytes.data()) + k * element_bytes,
                        element_bytes);
  if (sorted) std::sort(result.begin(), result.end());
  return result;
}

/// What this rank holds afterwards.
Content content_of(const Case& c) {
  const GlobalContent content = content_by_slots(c.map());
  return row_of(content, rank());
}

std::vector<std::byte> elements_of(const Content& content, std::size_t element_bytes) {
  std::vector<std::byte> bytes;
  for (const auto& origin : content)
    if (origin) {
      bytes.resize(bytes.size() + element_bytes);
      write_block(bytes.data() + bytes.size() - element_bytes, element_bytes, *origin);
    }
  return bytes;
}

/// @param content  What this rank has afterwards.
Report run(const Case& c, const Content& content, bool tell_recv_counts) {
  const auto self = static_cast<std::size_t>(rank());
  const std::vector<std::byte> expected = elements_of(content, c.element_bytes);
  const std::uint64_t after = expected.size() / c.element_bytes;
  const bool sorts = c.options.method == AlltoallMethod::bitonic;
  const std::uint64_t elements = (sorts ? c.most() : std::max(c.sent(self), after)) + c.spare;
  std::vector<std::byte> memory(elements * c.element_bytes);
  for (std::uint64_t k = 0; k < c.sent(self); ++k)
    write_block(memory.data() + k * c.element_bytes, c.element_bytes, {rank(), k});
  const std::vector<std::int64_t> column = c.from_each(self);
  Report report = alltoallv_in_place(
      MPI_COMM_WORLD, {memory.data(), memory.size(), c.element_bytes}, c.counts[self],
      tell_recv_counts ? std::span<const std::int64_t>(column) : std::span<const std::int64_t>(),
      c.options);
  const bool sorted = c.options.any_order && report.method == "stream";
  const bool right = rows(memory, after, c.element_bytes, sorted) ==
                     rows(expected, after, c.element_bytes, sorted);
  EXPECT_TRUE(all_ranks(right)) << report.method;
  EXPECT_TRUE(all_ranks(report.blocks_before == c.sent(self) && report.blocks_after == after));
  const bool by_swaps = report.method != "stream" && report.method != "direct";
  const auto ranks = static_cast<std::uint64_t>(size());
  const std::uint64_t neighbours = by_swaps ? ranks - 1 : c.neighbours(self);
  const std::uint64_t promised = promised_bytes(c.options.budget_bytes, neighbours, ranks);
  EXPECT_TRUE(all_ranks(report.neighbours == neighbours)) << report.method;
  EXPECT_TRUE(all_ranks(report.extra_bytes_bound == promised)) << report.method;
  EXPECT_TRUE(all_ranks(report.peak_extra_bytes <= promised))
      << report.method << ": " << report.peak_extra_bytes << " of " << promised;
  EXPECT_TRUE(all_ranks(report.peak_extra_bytes > 0));
  return report;
}

Matrix random_counts(std::mt19937_64& random, std::uint64_t most) {
  const auto ranks = static_cast<std::size_t>(size());
  Matrix counts(ranks, std::vector<std::int64_t>(ranks, 0));
  const std::uint64_t shape = pick(random, 0, 4);
  const std::uint64_t one = pick(random, 0, ranks - 1);
  for (std::size_t i = 0; i < ranks; ++i)
    for (std::size_t j = 0; j < ranks; ++j) {
      if (shape == 0 && i != one) continue;                // one rank holds everything
      if (shape == 1 && j != one) continue;                // one rank gets everything
      if (shape == 2 && j != (i + 1) % ranks) continue;    // a ring
      if (shape == 3 && pick(random, 0, 2) > 0) continue;  // sparse
      counts[i][j] = static_cast<std::int64_t>(pick(random, 0, most));
    }
  return counts;
}

TEST(Alltoall, KeepsTheOrderForRandomCountsAndAnyBudget) {
  const std::uint64_t maps = cases_wanted(size() > 5 ? 50 : 150);
  for (std::uint64_t k = 0; k < maps && all_ranks(!HasFailure()); ++k) {
    SCOPED_TRACE(seed_note(seed() + k));
    std::mt19937_64 random(seed() + k);
    Case c;
    c.counts = random_counts(random, std::array<std::uint64_t, 4>{1, 9, 300, 4000}[random() % 4]);
    c.element_bytes = 1 + random() % 64;
    c.options.budget_bytes =
        std::array<std::size_t, 3>{128 << 10, 1'000'000, 4 << 20}[random() % 3];
    c.options.any_order = random() % 3 == 0;
    c.options.share_memory = random() % 2 == 0;
    c.spare = random() % 3 == 0 ? random() % 1000 : 0;
    const bool tell = random() % 2 == 0;
    const Content content = content_of(c);
    for (const AlltoallMethod method : all_methods) {
      if (method == AlltoallMethod::direct && !c.fits_at_once()) continue;
      c.options.method = method;
      const std::string used = run(c, content, tell).method;
      if (method == AlltoallMethod::automatic) {
        EXPECT_EQ(used == "direct", c.fits_at_once());
      }
      if (method == AlltoallMethod::stream || method == AlltoallMethod::bitonic) {
        EXPECT_EQ(used, to_string(method));
      }
    }
  }
}

TEST(Alltoall, MovesManyPages) {
  const auto ranks = static_cast<std::size_t>(size());
  for (const std::int64_t odd : {0, 5})
    for (const bool any_order : {false, true}) {
      Case c;
      c.counts.assign(ranks, std::vector<std::int64_t>(ranks, (1 << 14) / size() + odd));
      c.element_bytes = 256;
      c.options.any_order = any_order;
      run(c, content_of(c), true);
    }
}

TEST(Alltoall, OfNothingIsNothing) {
  const auto ranks = static_cast<std::size_t>(size());
  const std::vector<std::int64_t> zeros(ranks, 0);
  const Report report = alltoallv_in_place(MPI_COMM_WORLD, {}, zeros, zeros);
  EXPECT_EQ(report.blocks_after, 0U);
}

}  // namespace
}  // namespace valet::test
