// SPDX-License-Identifier: BSD-3-Clause

// What a transfer communicates beside the data: one agreement, and no counts where the offsets say
// them. And sizes may be of any integer type.

#include "counted_mpi.hpp"
#include "partitions.hpp"
#include <valet/p4est/transfer.hpp>

namespace valet::test {
namespace {

/// The calls in which all ranks took part while `action` ran.
template <class Action>
std::map<std::string, long long> collective_calls_of(Action&& action) {
  communication = {};
  action();
  std::map<std::string, long long> calls = communication.calls;
  for (const char* const name : {"Send", "Isend", "Ssend", "Issend"}) calls.erase(name);
  return calls;
}

using Calls = std::map<std::string, long long>;

/// Bytes of some quadrants.
template <class SizeOf>
std::size_t bytes_of(std::int64_t first, std::int64_t last, SizeOf&& size_of) {
  std::size_t bytes = 0;
  for (std::int64_t q = first; q < last; ++q) bytes += size_of(q);
  return bytes;
}

/// An agreement, which is also the meeting of all ranks, unless what a rank keeps has to change its
/// place first.
template <class SizeOf>
Calls agreement(const Offsets& dest, const Offsets& src, SizeOf&& size_of) {
  Calls calls{{"Allreduce", 1}};
  for (std::size_t r = 0; r + 1 < src.size(); ++r) {
    const std::int64_t first = std::max(src[r], dest[r]), last = std::min(src[r + 1], dest[r + 1]);
    if (bytes_of(first, last, size_of) > 0 &&
        bytes_of(src[r], first, size_of) != bytes_of(dest[r], first, size_of))
      calls["Barrier"] = 1;
  }
  return calls;
}

TEST(P4estCalls, OfOneSizeAgreeOnceAndExchangeNoCounts) {
  const Offsets src = even_offsets(1'000);
  std::mt19937_64 random(seed());
  for (int call = 0; call < 5; ++call) {
    const Offsets dest = random_offsets(random, 1'000);
    Bytes data = data_of(src.data(), 40);
    data.resize(40'000);
    Report report;
    const Calls calls = collective_calls_of([&] {
      report = p4est::transfer_fixed(dest.data(), src.data(), MPI_COMM_WORLD, data.data(),
                                     data.size(), 40);
    });
    EXPECT_EQ(report.method, "direct");
    if (call > 0) {  // the first one makes a communicator of its own
      EXPECT_EQ(calls, agreement(dest, src, [](std::int64_t) { return std::size_t{40}; }));
    }
    data.resize(own_count(dest.data()) * 40);
    EXPECT_TRUE(all_ranks(data == data_of(dest.data(), 40)));
  }
}

template <class Size>
void move_many_sizes(const Offsets& dest, const Offsets& src) {
  const std::vector<Size> src_sizes = sizes_of<Size>(src.data());
  const std::vector<Size> dest_sizes = sizes_of<Size>(dest.data());
  const Bytes expected = custom_data_of(dest.data());
  Bytes data = custom_data_of(src.data());
  data.resize(std::max(data.size(), expected.size()));
  const Calls calls = collective_calls_of([&] {
    p4est::transfer_custom(dest.data(), src.data(), MPI_COMM_WORLD, data.data(), data.size(),
                           src_sizes.data(), dest_sizes.data());
  });
  data.resize(expected.size());
  EXPECT_TRUE(all_ranks(data == expected));
  Calls expected_calls = agreement(dest, src, size_of_data);
  expected_calls["Alltoall"] = 1;
  EXPECT_EQ(calls, expected_calls);
}

TEST(P4estCalls, OfManySizesCompareSumsOnceWhateverTheIntegerIs) {
  Bytes nothing;
  const Offsets none = even_offsets(0);
  p4est::transfer_fixed(none.data(), none.data(), MPI_COMM_WORLD, nothing.data(), 0, 8);
  std::mt19937_64 random(seed());
  for (int call = 0; call < 3; ++call) {
    const Offsets src = random_offsets(random, 300), dest = random_offsets(random, 300);
    move_many_sizes<int>(dest, src);
    move_many_sizes<std::size_t>(dest, src);
    move_many_sizes<std::int64_t>(dest, src);
    move_many_sizes<std::uint16_t>(dest, src);
  }
}

}  // namespace
}  // namespace valet::test
