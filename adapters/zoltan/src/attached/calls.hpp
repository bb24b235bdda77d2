// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Attached storage, and what Zoltan's calls do with it. All functions are collective over the
/// structure's communicator and throw the same Error on all ranks.

#include "dropin/lists.hpp"
#include "handle/handle_state.hpp"
#include "mpi/channel.hpp"
#include "rebalance/objects.hpp"
#include "rebalancer/stock_lists.hpp"
#include <valet/error.hpp>
#include <valet/zoltan/attached.hpp>

#include <zoltan.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <variant>

namespace valet::zoltan {

/// What an Attached and a Zoltan_Struct share. Either may be gone.
struct AttachedState final : Attachment {
  Zoltan_Struct* zoltan = nullptr;      ///< null: destroyed, or detached from
  std::optional<mpi::Channel> channel;  ///< none on ranks outside of the structure's communicator
  std::uint64_t count = 0;
  std::variant<BlockStorage, RaggedStorage> storage;
  /// In its place when the Attached is gone.
  const BlockStorage nothing{std::span<const Field>()};
  const RaggedStorage no_lists{std::span<const RaggedField>()};
  rebalance::Sources sources;
  PartSource parts;
  AttachedOptions options;
  std::optional<ObjectLayout> layout;  ///< that the objects are in, as far as is known
  bool count_has_changed = false;      ///< since then [local]
  RebalanceResult result;
  bool is_in_front = false;           ///< Zoltan's functions reach Valet
  bool has_whole_reductions = false;  ///< MPI was found to hand Zoltan what it needs
  bool has_own_entries = false;  ///< Zoltan obeys lengths of ids that the application did not set
  bool is_ended = false;         ///< the Attached is gone, and its storage perhaps too
  bool is_detached = false;      ///< by detach()
  bool is_in_call = false;       ///< Zoltan's callbacks may be running
  std::optional<Diagnostic> misuse;  ///< what a callback of this call did that it must not

  AttachedState(Zoltan_Struct* attached_to, std::uint64_t objects,
                std::variant<BlockStorage, RaggedStorage> blocks, const AttachedOptions& given)
      : zoltan(attached_to), count(objects), storage(std::move(blocks)), options(given) {}
  void structure_is_gone() override {
    zoltan = nullptr;
    channel.reset();
  }
};

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
