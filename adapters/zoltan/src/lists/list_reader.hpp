// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// From the lists of all ranks to a destination for each object of this one.

#include "base/diagnose.hpp"
#include "base/memory_reserve.hpp"
#include "dropin/lists.hpp"
#include "handle/object_ids.hpp"
#include "mpi/channel.hpp"
#include <valet/block_storage.hpp>
#include <valet/detail/first_failure.hpp>
#include <valet/ledger.hpp>
#include <valet/plan.hpp>
#include <valet/ragged_storage.hpp>
#include <valet/zoltan/lists.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace valet::zoltan {

/// The objects of this rank that are listed: by itself, or by the ranks that import them.
struct ListedObjects {
  std::uint64_t count = 0;
  ObjectIds ids;
  const int* procs = nullptr;  ///< where they go; may be null where a table of parts says so
  const int* parts = nullptr;  ///< null where parts are ranks
  bool by_importers = false;

  [[nodiscard]] int part(std::uint64_t k) const { return parts != nullptr ? parts[k] : procs[k]; }
};

/// What the caller of migrate() gave beside the lists.
struct ListCall {
  EntryCounts entries;
  int rank = 0;
  int ranks = 1;
  const Occupied& occupied;
  std::uint64_t slots = 0;               ///< of the storage
  std::optional<Diagnostic> wrong = {};  ///< what was found wrong with the call already
  std::string report = {};               ///< path of a file; empty: none [local]
  const ListOptions& options;
};

/// A destination for each slot, 4 bytes each. First every slot has the number of its object in the
/// list, so that what is listed twice is found and values of objects can be put into their slots.
class SlotMap {
 public:
  SlotMap(Ledger& ledger, const ListCall& call) : ledger_(ledger), call_(call) {}

  /// Finds the slots of the objects; what is wrong with them, if anything. The list must stay.
  /// Takes room to keep the parts that put_values() replaces, too. @throws std::bad_alloc.
  [[nodiscard]] std::optional<Diagnostic> enter(const ListedObjects& listed) {
    listed_ = listed;
    if (listed.count > static_cast<std::uint64_t>(std::numeric_limits<int>::max()))
      return invalid(listed.count,
                     " objects are listed; Zoltan counts them with 31 bits, use more ranks");
    map_ = Array<int>(ledger_, call_.occupied.map_size());
    std::fill(map_.begin(), map_.end(), unlisted);
    if (!call_.options.parts.empty()) parts_before_ = Array<int>(ledger_, map_.size());
    const auto& slot_of = call_.options.slot_of;
    valet::detail::FirstFailure failure;
    for (std::uint64_t k = 0; k < listed.count; ++k) {
      const ZOLTAN_ID_TYPE* const lid = listed.ids.lid(call_.entries, k);
      std::uint64_t slot = 0;
      if (!slot_of) {
        slot = *lid;
      } else if (!failure.attempt("option slot_of", [&] {
                   const valet::detail::LeaveReserve leave;
                   slot = slot_of(listed.ids.gid(call_.entries, k), lid);
                 })) {
        return failure.diagnostic("nothing has moved");
      }
      if (auto diagnostic = enter_slot(k, slot)) return diagnostic;
    }
    return std::nullopt;
  }

  /// Puts parts and global ids of the objects into the arrays of the options, and ranks into the
  /// map.
  void put_values() {
    const std::span<int> parts = call_.options.parts;
    const std::span<ZOLTAN_ID_TYPE> gids = call_.options.global_ids;
    const std::span<const int> table = call_.options.part_to_rank;
    const auto words = static_cast<std::size_t>(call_.entries.gid);
    std::copy_n(parts.begin(), parts_before_.size(), parts_before_.begin());
    for (std::size_t slot = 0; slot < map_.size(); ++slot) {
      if (map_[slot] == unlisted) {
        map_[slot] = call_.rank;
        continue;
      }
      const auto k = static_cast<std::uint64_t>(map_[slot]);
      if (!parts.empty()) parts[slot] = listed_.part(k);
      if (!gids.empty()) std::copy_n(listed_.ids.gid(call_.entries, k), words, &gids[slot * words]);
      map_[slot] =
          table.empty() ? listed_.procs[k] : table[static_cast<std::size_t>(listed_.part(k))];
    }
  }

  /// Puts the parts back that were there before.
  void restore_parts() {
    std::copy(parts_before_.begin(), parts_before_.end(), call_.options.parts.begin());
  }

  /// One for each slot or block, as plan_to_ranks() wants it; after put_values().
  [[nodiscard]] std::span<const int> ranks() const { return {map_.data(), map_.size()}; }
  /// Frees the map.
  void release() { map_ = {}; }
  /// Gives the map away.
  [[nodiscard]] Array<int> take() { return std::move(map_); }

 private:
  static constexpr int unlisted = -1;

  [[nodiscard]] std::optional<Diagnostic> enter_slot(std::uint64_t k, std::uint64_t slot) {
    const auto in_slot = [&] {
      return joined(named(k), " is in slot ", slot,
                    call_.options.slot_of ? " by slot_of" : " by its local id");
    };
    if (slot >= call_.slots)
      return diagnose(ErrorCode::slot_out_of_range, in_slot(), ", but the storage has ",
                      call_.slots, " slots; give slots from 0 as local ids, or option slot_of");
    if (!is_occupied(slot))
      return invalid(in_slot(), ", which holds no object (",
                     (call_.occupied.is_masked()
                          ? std::string("its entry in the mask is 0")
                          : std::to_string(call_.occupied.map_size()) + " objects, from slot 0"),
                     "); give the objects that this rank has now");
    int& entry = map_[slot];
    if (entry != unlisted)
      return invalid(in_slot(), ", and so is ", named(static_cast<std::uint64_t>(entry)),
                     "; list each object once");
    entry = static_cast<int>(k);
    return check_rank(k);
  }

  [[nodiscard]] std::optional<Diagnostic> check_rank(std::uint64_t k) const {
    const std::span<const int> table = call_.options.part_to_rank;
    if (table.empty()) return std::nullopt;
    const int part = listed_.part(k);
    if (part < 0 || static_cast<std::uint64_t>(part) >= table.size())
      return invalid(named(k), " goes to part ", part,
                     ", which has no rank: option part_to_rank has entries for parts "
                     "0 to ",
                     table.size() - 1);
    const int rank = table[static_cast<std::size_t>(part)];
    if (rank >= 0 && rank < call_.ranks) return std::nullopt;
    return diagnose(ErrorCode::rank_out_of_range, named(k), " goes to part ", part,
                    ", which option part_to_rank gives to rank ", rank,
                    ", but the communicator has ranks 0 to ", call_.ranks - 1,
                    "; fix the table, nothing has moved");
  }

  [[nodiscard]] bool is_occupied(std::uint64_t slot) const {
    // A mask may lack entries, of which planning tells.
    if (slot >= call_.occupied.map_size()) return false;
    return !call_.occupied.is_masked() || call_.occupied.mask()[slot] != 0;
  }

  /// "the export with global id 17 (number 3)".
  [[nodiscard]] std::string named(std::uint64_t k) const {
    const std::string text =
        listed_.ids.named(listed_.by_importers ? "the object" : "the export", call_.entries, k);
    if (!listed_.by_importers) return text + " (number " + std::to_string(k) + ")";
    return text + " that rank " + std::to_string(listed_.procs[k]) + " imports from here";
  }

  Ledger& ledger_;
  const ListCall& call_;
  ListedObjects listed_;
  Array<int> map_;
  Array<int> parts_before_;
};

/// What moves along with the storage, on all ranks: a rank without slots has arrays without
/// entries, which do not tell.
struct MovedAlong {
  std::optional<bool> parts, global_ids;
  bool is_reported = false;  ///< some rank writes a report
};

/// Reads the lists into the map. Collective; one reduction for exports, two where imports are to be
/// compared with them, three and a round of messages for imports alone.
/// @param channel  For this call.
/// @throws Error on all ranks alike.
MovedAlong read_lists(const mpi::Channel& channel, Ledger& ledger, const UserLists& lists,
                      const ListCall& call, SlotMap& map);

/// Whether the data is as it was when such an error is thrown.
[[nodiscard]] bool has_moved_nothing(ErrorCode code);

/// The blocks that a storage has room for in all of its arrays.
[[nodiscard]] std::uint64_t slots_of(const RaggedStorage& storage);
[[nodiscard]] inline std::uint64_t slots_of(const BlockStorage& storage) { return storage.slots(); }

/// A storage with arrays that move along.
[[nodiscard]] BlockStorage joined(const BlockStorage& storage, const std::vector<Field>& fields);
[[nodiscard]] RaggedStorage joined(const RaggedStorage& storage, const std::vector<Field>& fields);

}  // namespace valet::zoltan
