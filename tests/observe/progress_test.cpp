// SPDX-License-Identifier: BSD-3-Clause

// The progress that all-to-alls and layouts report; that of migrations is in watching_test.cpp.

#include "test_comm.hpp"
#include <valet/valet.h>

namespace valet::test {
namespace {

/// Collects reports, and checks what holds for all of them whatever moves.
class Hearing {
 public:
  [[nodiscard]] std::function<void(const Progress&)> callback() {
    return [this](const Progress& progress) { told_.push_back(progress); };
  }
  void expect_complete(std::uint64_t blocks, std::size_t block_bytes) const {
    ASSERT_TRUE(all_ranks(!told_.empty()));
    EXPECT_EQ(told_.back().blocks_done, blocks);
    EXPECT_EQ(told_.back().bytes_done, blocks * block_bytes);
    for (std::size_t k = 0; k < told_.size(); ++k) {
      const Progress& one = told_[k];
      EXPECT_EQ(one.blocks_total, blocks);
      EXPECT_EQ(one.bytes_total, blocks * block_bytes);
      EXPECT_LE(one.blocks_done, blocks);
      EXPECT_EQ(one.bytes_done, one.blocks_done * block_bytes);
      if (k == 0) continue;
      EXPECT_GE(one.blocks_done, told_[k - 1].blocks_done);
      EXPECT_GE(one.elapsed_seconds, told_[k - 1].elapsed_seconds);
    }
  }
  [[nodiscard]] std::uint64_t total() const { return told_.back().blocks_total; }

 private:
  std::vector<Progress> told_;
};

/// Elements from rank to rank: uneven, and many enough for pages.
std::int64_t count_of(int from, int to) { return 3000 * ((from + 2 * to) % 3) + 1001 + to; }

/// One all-to-all on this rank, and its result checked.
class Exchanged {
 public:
  Exchanged() {
    for (int r = 0; r < size(); ++r) {
      counts_.push_back(count_of(rank(), r));
      if (r != rank())
        crossing_ += static_cast<std::uint64_t>(counts_.back() + count_of(r, rank()));
      numbers_.insert(numbers_.end(), static_cast<std::size_t>(counts_.back()),
                      rank() * size() + r);
    }
    // Room for what a rank has for a time by swaps.
    numbers_.resize(std::size_t{10'000} * static_cast<std::size_t>(size()));
  }
  [[nodiscard]] AlltoallBuffer buffer() {
    return {numbers_.data(), numbers_.size() * sizeof(int), sizeof(int)};
  }
  [[nodiscard]] const std::vector<std::int64_t>& counts() const { return counts_; }
  /// Elements that leave this rank and that arrive.
  [[nodiscard]] std::uint64_t crossing() const { return crossing_; }
  [[nodiscard]] bool right() const {
    std::size_t at = 0;
    for (int r = 0; r < size(); ++r)
      for (std::int64_t k = 0; k < count_of(r, rank()); ++k)
        if (numbers_[at++] != r * size() + rank()) return false;
    return true;
  }

 private:
  std::vector<std::int64_t> counts_;
  std::vector<int> numbers_;
  std::uint64_t crossing_ = 0;
};

TEST(ProgressOfAnAlltoall, ReachesItsTotalByAnyMethod) {
  for (const AlltoallMethod method :
       {AlltoallMethod::automatic, AlltoallMethod::stream, AlltoallMethod::swaps,
        AlltoallMethod::bitonic, AlltoallMethod::pairwise}) {
    SCOPED_TRACE(to_string(method));
    Exchanged exchanged;
    Hearing hearing;
    const Report report = alltoallv_in_place(
        MPI_COMM_WORLD, exchanged.buffer(), exchanged.counts(), {},
        {.budget_bytes = 200'000, .method = method, .progress = hearing.callback()});
    EXPECT_TRUE(all_ranks(exchanged.right()));
    const bool by_pages = report.swaps == 0;
    hearing.expect_complete(
        by_pages ? exchanged.crossing() : report.blocks_sent + report.blocks_received, sizeof(int));
  }
}

TEST(ProgressOfAnAlltoall, IsReportedToTheRanksThatAskForIt) {
  Exchanged exchanged;
  Hearing hearing;
  AlltoallOptions options{.method = AlltoallMethod::stream};
  if (rank() == size() - 1) options.progress = hearing.callback();
  options.progress_bar = rank() % 2 == 0;
  alltoallv_in_place(MPI_COMM_WORLD, exchanged.buffer(), exchanged.counts(), {}, options);
  EXPECT_TRUE(all_ranks(exchanged.right()));
  if (rank() == size() - 1) {
    EXPECT_EQ(hearing.total(), exchanged.crossing());
  }
}

TEST(ProgressOfAnAlltoall, IsReportedInCToo) {
  Exchanged exchanged;
  Valet_Progress last{};
  Valet_Options options = Valet_Options_default();
  options.progress = [](const Valet_Progress* progress, void* data) {
    *static_cast<Valet_Progress*>(data) = *progress;
  };
  options.progress_data = &last;
  options.alltoall_method = VALET_ALLTOALL_STREAM;
  const AlltoallBuffer buffer = exchanged.buffer();
  const int code =
      Valet_Alltoallv_in_place(MPI_COMM_WORLD, buffer.data, buffer.bytes, exchanged.counts().data(),
                               nullptr, buffer.element_bytes, 0, &options, nullptr);
  EXPECT_EQ(code, VALET_SUCCESS) << Valet_Error_message();
  EXPECT_EQ(last.blocks_done, exchanged.crossing());
  EXPECT_EQ(last.blocks_total, exchanged.crossing());
}

/// The same error on all ranks for a callback of the last one that throws.
template <class Call>
void expect_failure(const std::string& name, Call&& call) {
  std::function<void(const Progress&)> callback;
  int calls = 0;
  if (rank() == size() - 1)
    callback = [&calls](const Progress&) {
      ++calls;
      throw std::runtime_error("no window");
    };
  expect_thrown(ErrorCode::callback_failed, {odd_name(), name + " failed: no window"},
                [&] { call(callback); });
  EXPECT_EQ(calls, rank() == size() - 1 ? 1 : 0) << "it is not called again";
}

TEST(ProgressOfAnAlltoall, ThatThrowsEndsTheCallOnAllRanksWithAllDataInPlace) {
  for (const AlltoallMethod method : {AlltoallMethod::stream, AlltoallMethod::bitonic}) {
    SCOPED_TRACE(to_string(method));
    Exchanged exchanged;
    expect_failure("callback progress", [&](const auto& callback) {
      alltoallv_in_place(MPI_COMM_WORLD, exchanged.buffer(), exchanged.counts(), {},
                         {.budget_bytes = 200'000, .method = method, .progress = callback});
    });
    EXPECT_TRUE(all_ranks(exchanged.right()));
  }
}

/// On all ranks, and on all but the first, which is then outside of the grid.
std::vector<GridLayout> grids(std::int64_t elements) {
  std::vector<GridLayout> all{{BlockCyclic({elements}, {7}, {size()})},
                              {BlockCyclic({elements}, {1000}, {size()})}};
  if (size() == 1) return all;
  std::vector<int> ranks(static_cast<std::size_t>(size() - 1));
  std::iota(ranks.begin(), ranks.end(), 1);
  all.push_back({BlockCyclic({elements}, {13}, {size() - 1}), ranks});
  return all;
}

TEST(ProgressOfALayout, ReachesItsTotalBesideAndInPlace) {
  constexpr std::int64_t n = 60'000;
  const std::vector<GridLayout> all = grids(n);
  for (std::size_t g = 0; g < all.size(); ++g)
    for (const bool in_place : {false, true}) {
      SCOPED_TRACE("grid " + std::to_string(g) + (in_place ? " in place" : ""));
      const GridLayout& from = all[g];
      const GridLayout& to = all[(g + 1) % all.size()];
      std::vector<double> source(static_cast<std::size_t>(n)), target(source.size());
      const std::size_t bytes = source.size() * sizeof(double);
      Hearing hearing;
      const LayoutOptions options{.budget_bytes = 200'000, .progress = hearing.callback()};
      const Report report =
          in_place ? redistribute_in_place(MPI_COMM_WORLD, from, to, sizeof(double),
                                           {.data = source.data(), .bytes = bytes}, options)
                   : redistribute(MPI_COMM_WORLD, from, to, sizeof(double),
                                  {.data = source.data(), .bytes = bytes},
                                  {.data = target.data(), .bytes = bytes}, options);
      const std::uint64_t parts = report.blocks_before + report.blocks_after;
      hearing.expect_complete(
          in_place ? parts + report.blocks_sent + report.blocks_received : parts, sizeof(double));
    }
}

TEST(ProgressOfALayout, ThatThrowsEndsTheCallOnAllRanksWithAllDataInPlace) {
  constexpr std::int64_t n = 6000;
  const GridLayout even{BlockCyclic({n}, {1}, {size()})}, blocks{BlockCyclic({n}, {n}, {size()})};
  for (const bool in_place : {false, true}) {
    // Cyclic out one by one, gathered on the first rank.
    std::vector<std::int64_t> source(static_cast<std::size_t>(n), -1), target(source.size(), -1);
    const std::size_t bytes = source.size() * sizeof(std::int64_t);
    for (std::int64_t i = rank(), k = 0; i < n; i += size(), ++k)
      source[static_cast<std::size_t>(k)] = i;
    expect_failure("callback progress", [&](const auto& callback) {
      const LayoutOptions options{.budget_bytes = 200'000, .progress = callback};
      if (in_place)
        redistribute_in_place(MPI_COMM_WORLD, even, blocks, sizeof(std::int64_t),
                              {.data = source.data(), .bytes = bytes}, options);
      else
        redistribute(MPI_COMM_WORLD, even, blocks, sizeof(std::int64_t),
                     {.data = source.data(), .bytes = bytes},
                     {.data = target.data(), .bytes = bytes}, options);
    });
    if (rank() > 0) continue;
    const std::vector<std::int64_t>& moved = in_place ? source : target;
    for (std::int64_t i = 0; i < n; ++i) ASSERT_EQ(moved[static_cast<std::size_t>(i)], i);
  }
}

}  // namespace
}  // namespace valet::test
