// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "mpi/channel.hpp"
#include "plan/flows.hpp"
#include <valet/plan.hpp>

#include <optional>

namespace valet::plan {

/// Tells every rank in which slot each block that it will get must end: fills flows.arrivals.
///
/// Collective among neighbours, in messages of `entries` slots.
///
/// @param addresses  The map of this rank, indexed by slot [local].
/// @return What is wrong with the arrivals, if anything: a slot out of range or taken twice, by
///         another arrival or by a block that stays.
template <class Index>
[[nodiscard]] std::optional<Diagnostic> exchange_final_slots(const mpi::Channel& channel,
                                                             Ledger& ledger, Flows<Index>& flows,
                                                             std::span<const Address> addresses,
                                                             std::size_t entries);

}  // namespace valet::plan
