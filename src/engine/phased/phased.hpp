// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// PHASED: in every phase each rank receives at most as many blocks as it has free memory when the
/// phase begins, and what is sent frees memory for the next one.
///
/// Source: A. Pinar, B. Hendrickson, "Interprocessor Communication with Limited Memory", IEEE TPDS
/// 15(7), 2004, sections 4 to 6; with Heuristic::first_fit and parking at every phase it is also
/// MADRE's parking algorithm (Siegel and Siegel, section 3.1), without its sorting of all blocks
/// after each phase: blocks that do not land in their final slots are put right once, when
/// these become free.
///
/// Why it is complete, without parking too. Scratch gives every rank a place more than it needs in
/// the end, so the argument of STREAM (stream.hpp) holds: while blocks are left, some rank has both
/// blocks to receive and a free place. Available memory that shrinks (Figure 9) may slow it down
/// but not stop it, because one block is always let in.
///
/// Memory. A rank keeps lists of its neighbours, 224 bytes each. Where blocks wait on their way any
/// rank may become a neighbour, so lists of all ranks are reckoned with, 512 bytes each (schedule::
/// phased_list_bytes). What goes beyond 64 bytes a neighbour and 24 KiB comes off the budget: from
/// about 190 neighbours on, or 48 ranks with parking. The root gathers two words a rank for parking
/// and matches within 40 bytes a rank; for Heuristic::continuous it has 72, of which 8 are reckoned
/// with for lists that are empty then. What a root decided is kept for further executions, within
/// 2 KiB and a small part of the budget (kept_phases.hpp).

#include "engine/phased/kept_phases.hpp"
#include "engine/phased/phased_transport.hpp"
#include "plan/plan_state.hpp"

#include <memory>
#include <optional>

namespace valet::engine {

/// Ends the planning of Method::phased: checks that the budget holds a block, the lists of all
/// ranks that this one may have to do with, and on the root the schedule of the centralized
/// scheduler, and reserves memory for that and for what ranks keep of it. Collective. @throws Error
/// budget_too_small on all ranks alike.
void reserve_schedule(plan::State& state);

/// A budget that is enough for that on this rank where pages move, before there are any. Collective
/// with the centralized scheduler.
/// @param outgoing, incoming  Ranks that pages go to, and come from.
[[nodiscard]] std::uint64_t enough_for_pages(const mpi::Channel& channel, Ledger& ledger,
                                             const Options& options, const plan::PageBudget& caller,
                                             std::uint64_t outgoing, std::uint64_t incoming);

class Phased final : public Exchange {
 public:
  Phased(const ExchangeContext& context, const plan::Flows& flows);

  [[nodiscard]] std::size_t scratch_bytes() const override {
    return context_.scratch_bytes(sizes_.scratch_blocks());
  }
  void run(Transfer& transfer, std::span<std::byte> scratch, Report& report) override;

 private:
  [[nodiscard]] PhaseStart start_of_phase(Transfer& transfer) const;
  [[nodiscard]] std::unique_ptr<Phases> make_phases(Transfer& transfer, Report& report) const;

  const ExchangeContext context_;
  const plan::Flows& flows_;
  const schedule::PhasedSizes sizes_;
  PhasedTransport transport_;
  std::optional<KeptPhases> kept_;
};

}  // namespace valet::engine
