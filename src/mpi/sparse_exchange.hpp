// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "mpi/channel.hpp"
#include <valet/export.hpp>
#include <valet/ledger.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace valet::mpi {

/// A few words that one rank sends another; `rank` is the peer, on both sides.
struct SparseCount {
  int rank = 0;
  std::uint64_t count = 0;
  std::uint64_t detail = 0;
};

/// Counts that a rank has on the way, and receives that it has posted. A count is acknowledged when
/// it meets a receive: with a single one N counts would take N latencies.
constexpr std::size_t sparse_counts_at_once = 16;

/// Delivers each count to its rank, where no rank knows beforehand from whom it will receive.
///
/// Collective. Nonblocking consensus: T. Hoefler, C. Siebert, A. Lumsdaine, "Scalable Communication
/// Protocols for Dynamic Sparse Data Exchange", PPoPP 2010, Algorithm 2, with wildcard receives and
/// one blocking wait in place of probing. O(counts + log P) time, no array over the ranks.
///
/// @param outgoing  At most one count per rank [local].
/// @param received  Gets what was sent to this rank, ascending by rank.
/// @throws std::bad_alloc when the exchange is over, for lack of memory for `received` [local].
/// A second exchange on the same channel must be separated from this one by a collective call.
VALET_EXPORT void exchange_sparse_counts(const Channel& channel, Ledger& ledger,
                                         std::span<const SparseCount> outgoing,
                                         Vector<SparseCount>& received);

/// What that allocates beside `received`.
[[nodiscard]] VALET_EXPORT std::size_t sparse_exchange_bytes();

}  // namespace valet::mpi
