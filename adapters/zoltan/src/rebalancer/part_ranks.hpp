// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// On which ranks the parts of a partition are.

#include "mpi/channel.hpp"
#include <valet/ledger.hpp>

#include <cstdint>
#include <optional>

namespace valet::zoltan {

/// What one rank says about parts.
struct PartCounts {
  bool are_given = false;     ///< otherwise there are as many as ranks [global]
  std::optional<int> global;  ///< NUM_GLOBAL_PARTS [global]
  std::optional<int> local;   ///< NUM_LOCAL_PARTS [local]
};

/// The distribution of parts that Zoltan_LB_Build_PartDist makes of the same parameters.
class PartRanks {
 public:
  /// Collective if counts are given. 4 bytes per rank where some rank says how many parts it has.
  /// @throws Error out_of_memory.
  PartRanks(const mpi::Channel& communicator, Ledger& ledger, const PartCounts& counts);

  [[nodiscard]] int count() const { return count_; }
  /// Whether some rank has more than one.
  [[nodiscard]] bool shares_ranks() const { return shares_ranks_; }
  /// @param lot  Any number: says which rank, where a part has several.
  [[nodiscard]] int rank_of(int part, std::uint64_t lot) const;

 private:
  [[nodiscard]] int first_rank_of(int part) const;
  void take_local_counts(Array<int> counts, std::optional<int> global);

  int ranks_;
  int count_;
  bool shares_ranks_;
  Array<int> first_part_;  ///< of each rank, where ranks said how many they have
};

}  // namespace valet::zoltan
