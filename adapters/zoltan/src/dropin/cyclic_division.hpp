// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "division.hpp"
#include "schedule/cyclic.hpp"
#include "schedule/transfers.hpp"
#include "transport.hpp"

namespace valet::zoltan {

/// CYCLIC: in every step rank 0 searches what can be sent depth first for cycles and shifts (Siegel
/// and Siegel, "MADRE: The Memory-Aware Data Redistribution Engine", section 3.2), and those that
/// can begin at once are the step: a rank takes from one source and sends to one destination at
/// most.
///
/// What differs: steps end on all ranks together, because mid may communicate; objects have
/// different sizes, so a rank takes whole ones until it has what its cycle or shift moves, or is
/// full, and the root searches again in the matrix that this left. As it never counts on what a
/// cycle moves, no rank is left with a schedule that it cannot carry out. When the ranks of all
/// cycles and shifts can take nothing (the memory callback says so), all ranks take what they can,
/// first fit, for a step.
///
/// Memory: 16 bytes for each source; on the root MatrixRoom::cyclic_bytes() and 64 bytes for each
/// rank.
class CyclicDivision final : public Division {
 public:
  CyclicDivision(const mpi::Channel& channel, Ledger& ledger, std::span<const Peer> sources,
                 const MatrixRoom& room);
  /// Collective: on all ranks, those that want nothing included.
  void divide(const Demand& demand, std::span<std::uint64_t> shares) override;
  [[nodiscard]] bool one_source() const override { return one_source_; }
  [[nodiscard]] bool stalled() override;

 private:
  class Search;
  void gather(const Demand& demand);
  void search();

  const mpi::Channel& channel_;
  Ledger& ledger_;
  std::span<const Peer> sources_;
  bool one_source_ = true;  ///< this step's
  bool stalled_ = false;    ///< the last step brought nobody anything
  Vector<std::uint64_t> own_;
  // On the root.
  Array<int> counts_;
  Vector<std::uint64_t> all_;
  Vector<schedule::TransferEntry> edges_;  ///< by source, then destination
  Array<std::uint32_t> first_edge_;        ///< for each rank
  schedule::CyclicScheduler scheduler_;
};

}  // namespace valet::zoltan
