// SPDX-License-Identifier: BSD-3-Clause

// Messages of more bytes than an int counts. Needs 2.5 GiB on each of two ranks.

#include "mpi/message.hpp"
#include "test_comm.hpp"

namespace valet::mpi {
namespace {

using namespace valet::test;

TEST(LargeMessage, ArrivesWhole) {
  constexpr std::uint64_t bytes = (std::uint64_t{5} << 29) + 12'345;  // 2.5 GiB and an odd rest
  constexpr std::uint64_t step = 4'093;                               // a prime, below a page
  const auto value = [](std::uint64_t at) { return static_cast<std::byte>(at * 2654435761 >> 13); };
  const Channel channel = Channel::open(MPI_COMM_WORLD);
  Ledger ledger;
  Requests requests(ledger, 1, channel);
  std::vector<std::byte> memory(bytes);
  if (rank() == 0) {
    for (std::uint64_t at = 0; at < bytes; at += step) memory[at] = value(at);
    memory.back() = std::byte{77};
    post_send(channel, memory.data(), bytes, 1, 1, requests[0]);
  } else {
    post_receive(channel, memory.data(), bytes, 0, 1, requests[0]);
  }
  while (requests.wait_any()) {
  }
  long long wrong = memory.back() == std::byte{77} ? 0 : 1;
  for (std::uint64_t at = 0; at + 1 < bytes; at += step)
    if (memory[at] != value(at)) ++wrong;
  EXPECT_EQ(sum_over_ranks(wrong), 0);
}

}  // namespace
}  // namespace valet::mpi
