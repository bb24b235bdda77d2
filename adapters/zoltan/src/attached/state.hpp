// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// What an Attached and a Zoltan_Struct share. Either may be gone.

#include "handle/handle_state.hpp"
#include "mpi/channel.hpp"
#include "rebalance/objects.hpp"
#include <valet/zoltan/attached.hpp>

#include <cstdint>
#include <optional>
#include <utility>
#include <variant>

namespace valet::zoltan {

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

}  // namespace valet::zoltan
