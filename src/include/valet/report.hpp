// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Reports of redistributions: what moved, how long it took, how much memory it needed.

#include <valet/detail/cxx20.hpp>
#include <valet/export.hpp>
#include <valet/mpi.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace valet {

/// Report of one redistribution, for one rank or, after summed_over_ranks(), for all.
struct Report {
  std::string method;                 ///< name of the method used
  int ranks = 1;                      ///< ranks covered by this report
  std::uint64_t block_bytes = 0;      ///< bytes of a block, all fields together
  std::uint64_t blocks_before = 0;    ///< on this rank
  std::uint64_t blocks_after = 0;     ///< on this rank: the application's new count
  std::uint64_t blocks_sent = 0;      ///< to other ranks; of one that waits in between, by both
  std::uint64_t blocks_received = 0;  ///< from other ranks
  /// Of these, taken straight from slots of another rank; pages of blocks of different sizes.
  std::uint64_t blocks_pulled = 0;
  std::uint64_t blocks_dropped = 0;  ///< of blocks_before, by NegativeRank::drop
  std::uint64_t bytes_sent = 0;      ///< of blocks_sent
  std::uint64_t messages = 0;        ///< data messages sent, or parts written inside the node
  std::uint64_t credits = 0;         ///< control messages sent
  std::uint64_t local_copies = 0;    ///< blocks copied from slot to slot inside a rank
  std::uint64_t misplaced = 0;  ///< blocks that came before their slots were free: copied again
  std::uint64_t swaps = 0;      ///< swaps between two ranks, by methods that swap
  std::uint64_t phases = 0;     ///< Method::phased: phases up to this rank's last one
  std::uint64_t detours = 0;    ///< blocks received to wait here for another rank
  /// Method::cyclic: actions on the critical path, the longest chain of dependent actions.
  std::uint64_t steps = 0;
  std::uint64_t neighbours = 0;         ///< ranks with which data is exchanged
  std::uint64_t budget_bytes = 0;       ///< Options::budget_bytes
  std::uint64_t peak_extra_bytes = 0;   ///< peak of the ledger on a rank
  std::uint64_t extra_bytes_bound = 0;  ///< guaranteed upper bound of peak_extra_bytes
  std::uint64_t shared_bytes = 0;       ///< part of the extra bytes shared with ranks of the node
  /// Planned from a layout: line segments of one period from which flows were computed, at the
  /// sender and at the receiver.
  std::uint64_t segments = 0;
  std::uint64_t periods = 0;    ///< number of periods; 0 if no layout was found
  double plan_seconds = 0;      ///< reading the map, exchanging counts and final slots
  double exchange_seconds = 0;  ///< moving blocks between ranks
  double local_seconds = 0;     ///< moving blocks inside the rank
  double verify_seconds = 0;    ///< checksums, if requested
  /// Part of exchange: matrix to the root, centralized scheduler. This and the next two are 0 where
  /// the phases of an earlier execution were kept.
  double gather_seconds = 0;
  double solve_seconds = 0;    ///< part of exchange: the root computes phases
  double scatter_seconds = 0;  ///< part of exchange: phases to the ranks, including waiting
  double waiting_seconds = 0;  ///< part of exchange: blocked in MPI
  bool verified = false;       ///< checksums were compared and agree
  /// Counts were computed instead of exchanged: the map was recognised as regular on all ranks,
  /// or plan_to_layout() made the plan.
  bool plan_from_layout = false;
  /// If Valet chose the method: why, as a sentence that lasts as long as the program.
  std::string_view reason = {};

  /// Plan, exchange and local time, without verification.
  [[nodiscard]] double seconds() const { return plan_seconds + exchange_seconds + local_seconds; }
  /// The report as a few readable lines.
  [[nodiscard]] VALET_EXPORT std::string to_string() const;
  /// The first of these lines, with time and memory: for a log.
  [[nodiscard]] VALET_EXPORT std::string to_line() const;
  /// The report as one JSON object; bytes and counts are integers. Ends with the facts `valet` and
  /// `mpi` of configuration().
  [[nodiscard]] VALET_EXPORT std::string to_json() const;
};

/// Combines the reports of all ranks: blocks, bytes sent, messages, credits, copies and segments
/// are summed; other numbers are those of the rank with the most. Collective.
/// @param report        The report of this rank. [local]
/// @param communicator  The ranks to combine.
/// @return The same report on all ranks; Report::ranks is their number.
[[nodiscard]] VALET_EXPORT Report summed_over_ranks(const Report& report, MPI_Comm communicator);

}  // namespace valet
