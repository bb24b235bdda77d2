// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// The all-to-all at once (engine/at_once.hpp): what leaves is copied to scratch and sent from
/// there, and what arrives is received straight into its place. One copy more than MPI_Alltoallv.

#include "engine/at_once.hpp"
#include "operations/alltoall/checks.hpp"
#include "plan/plan_state.hpp"
#include <valet/alltoall.hpp>

#include <cstdint>
#include <span>

namespace valet::operations {

/// One all-to-all on one rank, counts known and agreed upon.
class DirectExchange {
 public:
  /// @param state           Of a plan to be: channel, ledger and observer are used; must outlive
  ///                        this.
  /// @param sent, received  Elements for and from each rank, P entries.
  DirectExchange(plan::State& state, const AlltoallBuffer& buffer,
                 std::span<const std::uint64_t> sent, std::span<const std::uint64_t> received);

  /// Bytes of scratch: all that leaves `rank`. At most 2^60.
  [[nodiscard]] static std::uint64_t scratch_bytes(std::span<const std::uint64_t> sent, int rank,
                                                   std::size_t element_bytes) {
    return (sum(sent) - sent[static_cast<std::size_t>(rank)]) * element_bytes;
  }

  /// Moves everything, in scratch of scratch_bytes() that has been taken. Collective, blocking.
  Report run();

 private:
  [[nodiscard]] std::size_t bytes_of(std::uint64_t elements) const {
    return static_cast<std::size_t>(elements) * buffer_.element_bytes;
  }
  [[nodiscard]] std::byte* data() const { return static_cast<std::byte*>(buffer_.data); }
  /// Bytes in front of the segment of a rank.
  [[nodiscard]] std::size_t offset_of(std::span<const std::uint64_t> counts,
                                      std::size_t rank) const {
    return bytes_of(sum(counts.first(rank)));
  }
  template <class Action>
  void for_each_destination(Action&& action) const;
  void stage(std::byte* staged) const;
  void send_all(const std::byte* staged);
  void move_own();
  void receive_all();
  void wait_for_all();
  [[nodiscard]] std::size_t count_others(std::span<const std::uint64_t> counts) const;

  plan::State& state_;
  const AlltoallBuffer& buffer_;
  std::span<const std::uint64_t> sent_, received_;
  std::size_t self_;
  engine::AtOnce messages_;
};

}  // namespace valet::operations
