// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// The root of parking (Pinar and Hendrickson, "Interprocessor Communication with Limited Memory",
/// IEEE TPDS 15(7), 2004, Figure 8): it sees two numbers of every rank and sends each its flows.

#include "mpi/channel.hpp"
#include "schedule/parking.hpp"
#include <valet/export.hpp>
#include <valet/ledger.hpp>

#include <cstdint>
#include <span>

namespace valet::engine {

/// Gives every rank the flows that it is an end of. Collective.
/// @param flows    On the root, ascending by `from` and by `to`. Elsewhere empty.
/// @param by_from  Gets those from this rank. @param by_to  Those to it.
void scatter_flows(const mpi::Channel& channel, Ledger& ledger,
                   std::span<const schedule::Flow> flows, Vector<schedule::Flow>& by_from,
                   Vector<schedule::Flow>& by_to);

/// What a rank sends to the root.
struct ParkingWish {
  std::int64_t balance = 0;  ///< positive: to be parted with; negative: room for others
  bool has_blocks = false;   ///< it knows of blocks that are not where they belong
};

/// Matches what ranks want to part with and what they have room for. Collective.
///
/// @param wish    Of this rank. [local]
/// @param giving  Gets the flows from this rank, by `to`. @param taking  Those to it, by `from`.
/// @return Whether nothing is left on any rank; there are no flows then.
/// Memory on the root: 60 bytes a rank while it runs.
[[nodiscard]] VALET_EXPORT bool match_parking(const mpi::Channel& channel, Ledger& ledger,
                                              const ParkingWish& wish,
                                              Vector<schedule::Flow>& giving,
                                              Vector<schedule::Flow>& taking);

}  // namespace valet::engine
