// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// What Zoltan's calls do with attached storage. All functions are collective over the structure's
/// communicator and throw the same Error on all ranks.

#include "attached/state.hpp"
#include "dropin/lists.hpp"
#include "rebalancer/stock_lists.hpp"
#include <valet/error.hpp>

#include <zoltan.h>

#include <memory>
#include <optional>

namespace valet::zoltan {

/// The storage attached to a structure; null if there is none.
[[nodiscard]] std::shared_ptr<AttachedState> attached_to(const Zoltan_Struct* zoltan);

/// RETURN_LISTS.
enum class ReturnLists { all, imports, exports, parts, none, candidates };

/// Whether and how Zoltan_LB_Partition() migrates.
struct PartitionWay {
  bool moves = true;                      ///< AUTO_MIGRATE
  ReturnLists lists = ReturnLists::none;  ///< what comes back
  bool without_parts = false;             ///< Zoltan_LB_Balance(): parts are ranks
  std::optional<Diagnostic> wrong = {};   ///< what the caller found, for all ranks

  [[nodiscard]] bool gives_lists() const { return lists != ReturnLists::none; }
};

/// Partitions the objects and, unless only lists are wanted, moves them.
/// @param lists  Gets what RETURN_LISTS asks for.
/// @return Whether anything changes its rank or its part.
bool partition_attached(AttachedState& state, const PartitionWay& way, StockLists& lists);
/// As the parameters of the structure have it.
[[nodiscard]] PartitionWay way_of(const Zoltan_Struct* zoltan);

/// Moves the objects of the lists.
void migrate_attached(AttachedState& state, const UserLists& lists);

/// Takes the storage from its structure.
void detach(AttachedState& state);

}  // namespace valet::zoltan
