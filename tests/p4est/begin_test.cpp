// SPDX-License-Identifier: BSD-3-Clause

// Transfers in two parts: what is under way between them goes on beside other calls, needs the data
// only, and ends as in one part.

#include "counted_mpi.hpp"
#include "partitions.hpp"
#include <valet/p4est/transfer.hpp>
#include <valet/valet.hpp>

namespace valet::test {
namespace {

constexpr std::int64_t quadrants = 20'000;
constexpr std::size_t bytes_each = 120;

/// A transfer of quadrants of one size that has begun, with what it must bring.
struct Begun {
  Begun(std::mt19937_64& random, const AlltoallOptions& options)
      : Begun(random_offsets(random, quadrants), random_offsets(random, quadrants), options) {}
  /// The offsets go as soon as it has begun.
  Begun(Offsets src, Offsets dest, const AlltoallOptions& options)
      : data(data_of(src.data(), bytes_each)), expected(data_of(dest.data(), bytes_each)) {
    data.resize(std::max(data.size(), expected.size()));
    execution.emplace(p4est::transfer_fixed_begin(dest.data(), src.data(), MPI_COMM_WORLD,
                                                  data.data(), data.size(), bytes_each, options));
    std::ranges::fill(src, -1);
    std::ranges::fill(dest, -1);
  }
  [[nodiscard]] bool is_there() const {
    return all_ranks(std::ranges::equal(std::span(data).first(expected.size()), expected));
  }
  Report end() {
    const Report report = execution->wait();
    EXPECT_TRUE(is_there()) << report.method;
    EXPECT_TRUE(all_ranks(report.blocks_after == expected.size() / bytes_each));
    EXPECT_TRUE(all_ranks(report.local_seconds >= 0 && report.exchange_seconds >= 0));
    expect_within_bound(report);
    return report;
  }

  Bytes data, expected;
  std::optional<Execution> execution;
};

const std::array all_options{
    AlltoallOptions{}, AlltoallOptions{.method = AlltoallMethod::stream},
    AlltoallOptions{.budget_bytes = 64 << 10, .method = AlltoallMethod::stream},
    AlltoallOptions{.method = AlltoallMethod::pairwise}};

TEST(P4estBegin, SeveralGoOnAtATimeBesideOtherCallsAndEndInAnyOrder) {
  std::mt19937_64 random(seed());
  SCOPED_TRACE(seed_note());
  for (int k = 0; k < 3; ++k) {
    std::vector<std::unique_ptr<Begun>> begun;
    for (const AlltoallOptions& options : all_options) {
      begun.push_back(std::make_unique<Begun>(random, options));
      // The same communicator, in the meantime.
      const Offsets src = random_offsets(random, 500), dest = random_offsets(random, 500);
      Bytes data = data_of(src.data(), 8);
      data.resize(500 * 8);
      p4est::transfer_fixed(dest.data(), src.data(), MPI_COMM_WORLD, data.data(), data.size(), 8);
      data.resize(own_count(dest.data()) * 8);
      EXPECT_TRUE(all_ranks(data == data_of(dest.data(), 8)));
      for (const auto& each : begun) each->execution->progress();
    }
    std::ranges::shuffle(begun, random);
    for (const auto& each : begun) each->end();
  }
}

/// All parts a third further: so all of it leaves, and not at once if the budget is small.
std::pair<Offsets, Offsets> moved_on() {
  Offsets src = even_offsets(quadrants), dest = src;
  for (int r = 1; r < size(); ++r) dest[static_cast<std::size_t>(r)] -= quadrants / size() / 3;
  return {src, dest};
}

TEST(P4estBegin, WhatLeavesAtOnceIsThereBeforeTheEnd) {
  const auto [src, dest] = moved_on();
  Begun begun(src, dest, {});
  while (!begun.execution->progress()) {
  }
  EXPECT_TRUE(begun.execution->progress()) << "it stays done";
  EXPECT_TRUE(begun.is_there());
  const std::map<std::string, long long> before = communication.calls;
  EXPECT_EQ(begun.execution->wait().method, "direct");
  EXPECT_EQ(communication.calls, before) << "the end sends nothing";
}

TEST(P4estBegin, PagesMoveBeforeTheEnd) {
  const auto [src, dest] = moved_on();
  Begun begun(src, dest, {.budget_bytes = 64 << 10, .method = AlltoallMethod::stream});
  while (!begun.execution->progress()) {
  }
  const long long before = communication.bytes;
  const Report report = begun.end();
  EXPECT_EQ(report.method, "stream");
  // What is left fills no page: two fragments for each neighbour, and credits.
  EXPECT_TRUE(all_ranks(communication.bytes - before <=
                        static_cast<long long>(2 * report.neighbours * report.block_bytes) + 2'000))
      << communication.bytes - before << " of " << report.bytes_sent;
}

TEST(P4estBegin, TheDestructorEnds) {
  const auto [src, dest] = moved_on();
  for (const AlltoallOptions& options : all_options) {
    Begun begun(src, dest, options);
    begun.execution.reset();
    EXPECT_TRUE(begun.is_there());
  }
}

TEST(P4estBegin, EndsOnce) {
  const auto [src, dest] = moved_on();
  Begun begun(src, dest, {});
  begun.end();
  const Outcome outcome = outcome_of([&] { begun.execution->wait(); });
  EXPECT_EQ(outcome.code, ErrorCode::invalid_argument);
  expect_words(outcome.text, {"waited for already"});
}

TEST(P4estBegin, TellsAtTheEndThatACallbackFailed) {
  const auto [src, dest] = moved_on();
  AlltoallOptions options;
  if (is_odd()) options.progress = [](const Progress&) { throw std::runtime_error("no more"); };
  Begun begun(src, dest, options);
  const Outcome outcome = outcome_of([&] { begun.execution->wait(); });
  expect_error(outcome, ErrorCode::callback_failed, {odd_name(), "no more"});
  EXPECT_TRUE(begun.is_there());
}

TEST(P4estBegin, SizesAndCountsMayGo) {
  std::mt19937_64 random(seed());
  SCOPED_TRACE(seed_note());
  for (const AlltoallOptions& options : all_options) {
    const Offsets src = random_offsets(random, 900), dest = random_offsets(random, 900);
    std::vector<int> src_sizes = sizes_of<int>(src.data()), dest_sizes = sizes_of<int>(dest.data());
    const Bytes expected = custom_data_of(dest.data());
    Bytes bytes = custom_data_of(src.data());
    bytes.resize(std::max(bytes.size(), expected.size()));
    // An item of 4 bytes is a byte four times.
    std::vector<std::array<std::byte, 4>> items(bytes.size());
    for (std::size_t b = 0; b < bytes.size(); ++b) items[b].fill(bytes[b]);
    Execution custom =
        p4est::transfer_custom_begin(dest.data(), src.data(), MPI_COMM_WORLD, bytes.data(),
                                     bytes.size(), src_sizes.data(), dest_sizes.data(), options);
    Execution counted = p4est::transfer_items_begin(
        dest.data(), src.data(), MPI_COMM_WORLD, items.data(), items.size() * 4, src_sizes.data(),
        dest_sizes.data(), 4, options);
    std::ranges::fill(src_sizes, -1);
    std::ranges::fill(dest_sizes, -1);
    EXPECT_TRUE(all_ranks(counted.wait().blocks_after == expected.size()));
    EXPECT_TRUE(all_ranks(custom.wait().blocks_after == expected.size()));
    long long wrong = 0;
    for (std::size_t b = 0; b < expected.size(); ++b)
      if (bytes[b] != expected[b] || std::ranges::count(items[b], expected[b]) != 4) ++wrong;
    EXPECT_EQ(sum_over_ranks(wrong), 0);
  }
}

TEST(P4estBegin, AgreesOnceMoreForACommunicator) {
  const auto [src, dest] = moved_on();
  Begun(src, dest, {}).end();
  communication = {};
  Begun begun(src, dest, {});
  EXPECT_EQ(communication.calls["Allreduce"], 2);
  begun.end();
}

}  // namespace
}  // namespace valet::test
