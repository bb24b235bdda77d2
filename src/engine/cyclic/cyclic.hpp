// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "engine/cyclic/cyclic_follower.hpp"
#include "engine/cyclic/cyclic_root.hpp"

#include <memory>

namespace valet::engine {

/// CYCLIC: a root finds cycles and shifts, the ranks carry them out without root and barriers.
///
/// Source: S. F. Siegel, A. R. Siegel, "MADRE: The Memory-Aware Data Redistribution Engine",
/// section 3.2, which the search follows (schedule/cyclic.hpp). What differs: ranks begin while the
/// root still schedules, so nobody stores a whole schedule; a message is at most what a buffer
/// holds; blocks are not sorted between actions, they wait in buffers for their slots and what is
/// misplaced is put right when its slot becomes free.
///
/// Why it is complete. A rank carries its actions out in the order in which the root made them. Of
/// the cycles and shifts that are not carried out take the first: all its ranks are at it. A rank
/// credits an increment when it has an idle buffer, and can fill free slots from a buffer. If none
/// of the ranks of a cycle could go on, each would hold arrivals for which no slot is free, so it
/// would have received more than it has sent; but round a cycle as much is received as sent. The
/// first rank of a shift only sends, and the last has free slots for all that it receives.
///
/// Memory: 8 bytes a neighbour and 4 KiB; on the root 64 bytes a rank besides.
template <class Index>
class Cyclic final : public Exchange<Index> {
 public:
  Cyclic(const ExchangeContext& context, const plan::Flows<Index>& flows);

  [[nodiscard]] std::size_t scratch_bytes() const override;
  void run(Transfer<Index>& transfer, std::span<std::byte> scratch, Report& report) override;
  void leak() noexcept override;

 private:
  void wait(Transfer<Index>& transfer, Report& report);

  std::size_t block_bytes_;
  std::uint64_t least_blocks_;  ///< what the local redistribution needs
  schedule::StreamSizes sizes_;
  std::size_t follower_places_;
  std::unique_ptr<mpi::Requests> requests_;
  std::unique_ptr<CyclicFollower<Index>> follower_;
  std::unique_ptr<CyclicRoot> root_;  ///< on one rank
};

}  // namespace valet::engine
