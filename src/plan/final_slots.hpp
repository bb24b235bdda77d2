// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// The slots in which blocks must end, by a map to slots: known where they come from, needed where
/// they go.

#include "mpi/neighbour_words.hpp"
#include "plan/flows.hpp"
#include <valet/plan.hpp>

#include <cstdint>
#include <optional>
#include <span>

namespace valet::plan {

/// How final slots travel: in messages of so many words.
struct SlotWords {
  static constexpr std::size_t entries = 512;  // 32 KiB of buffers in all
  [[nodiscard]] static Array<std::uint64_t> buffers(Ledger& ledger) {
    return {ledger, mpi::words_of_neighbours(entries)};
  }
};

/// Sends every rank the slot in which each block that it will get must end: fills flows.arrivals.
/// Collective among neighbours.
void exchange_final_slots(const mpi::Channel& channel, Ledger& ledger, Flows& flows,
                          std::span<const Address> addresses, Array<std::uint64_t> buffers);

/// What is wrong with the slots where something ends on this rank, if anything: one out of range or
/// taken twice, by another arrival or by a block that stays. Local.
[[nodiscard]] std::optional<Diagnostic> check_final_slots(const mpi::Channel& channel,
                                                          Ledger& ledger, const Flows& flows,
                                                          std::span<const Address> addresses);

}  // namespace valet::plan
