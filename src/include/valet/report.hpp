// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// What a redistribution did: what moved, how long it took, how much memory it needed.

#include <valet/export.hpp>
#include <valet/method_choice.hpp>
#include <valet/mpi.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace valet {

/// What one redistribution did, on one rank or, after summed_over_ranks(), on all.
struct Report {
  std::string method;                 ///< the name of the method that was used
  int ranks = 1;                      ///< ranks in these numbers
  std::uint64_t block_bytes = 0;      ///< one block, all fields together
  std::uint64_t blocks_before = 0;    ///< on this rank
  std::uint64_t blocks_after = 0;     ///< on this rank: the new count of the application
  std::uint64_t blocks_sent = 0;      ///< to other ranks
  std::uint64_t blocks_received = 0;  ///< from other ranks
  std::uint64_t bytes_sent = 0;       ///< data only
  std::uint64_t messages = 0;         ///< data messages sent, or parts written inside the node
  std::uint64_t credits = 0;          ///< control messages sent
  std::uint64_t local_copies = 0;     ///< blocks copied from slot to slot inside a rank
  std::uint64_t misplaced = 0;  ///< blocks that came before their slots were free: copied once more
  std::uint64_t swaps = 0;      ///< between two ranks, by methods that swap
  std::uint64_t phases = 0;     ///< Method::phased: up to the last in which this rank had a part
  std::uint64_t detours = 0;    ///< blocks received to wait here for another rank
  /// Method::cyclic: the actions of the longest chain that wait for each other, the critical path.
  std::uint64_t steps = 0;
  std::uint64_t neighbours = 0;         ///< ranks that data is exchanged with
  std::uint64_t budget_bytes = 0;       ///< Options::budget_bytes
  std::uint64_t peak_extra_bytes = 0;   ///< most that the ledger ever counted on a rank
  std::uint64_t extra_bytes_bound = 0;  ///< what it promises not to pass
  std::uint64_t shared_bytes = 0;  ///< part of the extra bytes, shared with ranks of the same node
  /// Planned from a layout: the line segments of one period that flows were computed from, at the
  /// sender and at the receiver.
  std::uint64_t segments = 0;
  std::uint64_t periods = 0;    ///< how often these occur; 0 where no layout was found
  double plan_seconds = 0;      ///< looking at the map, counts and final slots exchanged
  double exchange_seconds = 0;  ///< blocks between ranks
  double local_seconds = 0;     ///< blocks inside the rank
  double verify_seconds = 0;    ///< checksums, when asked for
  double gather_seconds = 0;    ///< part of exchange: matrix to the root, centralized scheduler
  double solve_seconds = 0;     ///< part of exchange: the root makes phases
  double scatter_seconds = 0;   ///< part of exchange: phases to the ranks, waiting included
  double waiting_seconds = 0;   ///< part of exchange: blocked in MPI
  bool verified = false;        ///< checksums were compared and agreed
  /// The map was recognised as block or cyclic on all ranks, or plan_to_layout() made the plan:
  /// counts were computed, not exchanged.
  bool plan_from_layout = false;
  /// What Method::automatic chose from; nothing where a method was named.
  std::shared_ptr<const schedule::Choice> choice;

  /// Method::automatic: why it chose this method, a sentence; empty where a method was named.
  [[nodiscard]] std::string_view reason() const {
    return choice ? std::string_view(choice->reason) : std::string_view();
  }
  /// Method::automatic: what it expected of the method that it chose; 0 where a method was named.
  [[nodiscard]] double predicted_seconds() const { return choice ? choice->seconds : 0; }
  /// Method::automatic: the least in which the bytes can cross; 0 where a method was named.
  [[nodiscard]] double lower_bound_seconds() const {
    return choice ? choice->lower_bound_seconds : 0;
  }
  /// plan + exchange + local, without verification.
  [[nodiscard]] double seconds() const { return plan_seconds + exchange_seconds + local_seconds; }
  /// The part of the exchange and local time that the lower bound takes; 0 where it is not known.
  [[nodiscard]] double achieved_fraction() const {
    const double taken = exchange_seconds + local_seconds;
    return taken > 0 ? lower_bound_seconds() / taken : 0;
  }
  /// A few lines for people.
  [[nodiscard]] VALET_EXPORT std::string to_string() const;
  /// The first of them, with the time and the memory: for a log.
  [[nodiscard]] VALET_EXPORT std::string to_line() const;
  /// One JSON object; bytes and counts are integers.
  [[nodiscard]] VALET_EXPORT std::string to_json() const;
};

/// One report for all ranks: counts summed; times, memory and swaps of the rank with the most.
/// Collective.
/// @param report        Of this rank. [local]
/// @param communicator  The ranks to sum over.
/// @return The same on all ranks; Report::ranks says how many they are.
[[nodiscard]] VALET_EXPORT Report summed_over_ranks(const Report& report, MPI_Comm communicator);

}  // namespace valet
