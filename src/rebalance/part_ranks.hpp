// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// On which ranks the parts of a partition are, if they are not ranks.

#include "mpi/channel.hpp"
#include <valet/export.hpp>
#include <valet/ledger.hpp>

#include <cstdint>
#include <optional>

namespace valet::rebalance {

/// How many parts there are.
struct PartCounts {
  bool are_given = false;     ///< otherwise there are as many as ranks [global]
  std::optional<int> global;  ///< of all ranks [global]
  std::optional<int> local;   ///< of this rank, which may leave it open [local]
};

/// Parts are numbered through over the ranks. Where nothing is said about a rank it has as many as
/// the others; with fewer parts than ranks each part has several ranks, one beside the other.
class VALET_EXPORT PartRanks {
 public:
  /// Collective if counts are given. 4 bytes per rank where some rank says how many parts it has.
  /// @throws Error out_of_memory.
  PartRanks(const mpi::Channel& communicator, Ledger& ledger, const PartCounts& counts);

  [[nodiscard]] int count() const { return count_; }
  /// Whether some rank has more than one.
  [[nodiscard]] bool shares_ranks() const { return shares_ranks_; }
  /// @param lot  Any number: says which rank, where a part has several.
  [[nodiscard]] int rank_of(int part, std::uint64_t lot) const;
  /// The first part of a rank; of one without parts, the part that begins behind it.
  [[nodiscard]] int part_of(int rank) const;

 private:
  [[nodiscard]] int first_rank_of(int part) const;
  void take_local_counts(Array<int> counts, std::optional<int> global);

  int ranks_;
  int count_;
  bool shares_ranks_;
  Array<int> first_part_;  ///< of each rank, where ranks said how many they have
};

}  // namespace valet::rebalance
