// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Asks the application's own query functions whether STEPS has lost or doubled objects. An
/// application whose mid renumbers objects that have not left is not fit for STEPS, and neither
/// packed bytes nor checksums show that it packed the wrong ones.

#include "base/diagnose.hpp"
#include "context.hpp"
#include <valet/error.hpp>

#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>

namespace valet::zoltan {

/// What users can do about it.
inline constexpr const char* keep_local_ids =
    "restore the objects and use MIGRATE_CALLBACKS HOLD, or let pack, mid and unpack keep the "
    "local ids of objects that have not left (without local ids: NUM_LID_ENTRIES 0)";

/// The objects of all ranks by ZOLTAN_NUM_OBJ_FN, before and after a migration.
class ObjectCount {
 public:
  /// Counts before the migration. Local.
  void begin(Callbacks& callbacks) { failed_ = callbacks.count(before_); }
  /// Counts again and compares the sums over all ranks. Collective, where the function is
  /// registered on all of them. Returns what differs, the same sentence on all ranks; with
  /// MIGRATE_VERIFY it is thrown. @throws Error on all ranks alike.
  [[nodiscard]] std::string compare(Context& context) {
    if (!context.agreed.counts_objects) return {};
    std::uint64_t after = 0;
    if (!failed_) failed_ = context.callbacks.count(after);
    const bool is_error = context.parameters.options.verify;
    if (is_error) mpi::agree(context.channel, failed_);
    std::array<std::uint64_t, 3> sums{before_, after, failed_ ? 1U : 0U};
    mpi::sum(context.channel, sums);
    if (sums[2] > 0)
      return "ZOLTAN_NUM_OBJ_FN fails on " + std::to_string(sums[2]) +
             " ranks, so whether STEPS has lost objects is not known";
    if (sums[0] == sums[1]) return {};
    const std::string text = "by ZOLTAN_NUM_OBJ_FN all ranks together had " +
                             std::to_string(sums[0]) + " objects before the migration and have " +
                             std::to_string(sums[1]) + " after it";
    if (is_error) throw Error(ErrorCode::corrupted, text + "; " + keep_local_ids);
    return text +
           ". Drop exported objects by the end of post to see this only where it is wrong; "
           "if they are dropped, " +
           keep_local_ids;
  }

 private:
  std::uint64_t before_ = 0;
  std::optional<Diagnostic> failed_;
};

/// MIGRATE_VERIFY: whether the exports that have not left are still listed with the global and
/// local ids that they had, by ZOLTAN_OBJ_LIST_FN. Exports that it did not list before are left
/// out. Local.
class LocalIdCheck {
 public:
  LocalIdCheck(Context& context, const ObjectList& exports)
      : context_(context), exports_(exports) {}

  /// Before the first object is packed.
  [[nodiscard]] std::optional<Diagnostic> begin() {
    // Only objects that leave in different steps can be taken for others.
    if (!context_.parameters.options.verify || !context_.callbacks.has_object_list() ||
        exports_.count < 2)
      return std::nullopt;
    return within_memory("the objects that MIGRATE_VERIFY lists", [&] {
      Array<std::uint64_t> listed;
      std::optional<Diagnostic> failed = list_objects(listed);
      if (failed) return failed;
      was_listed_ = Array<bool>(context_.ledger, exports_.count);
      for (std::uint64_t k = 0; k < exports_.count; ++k)
        was_listed_[k] = std::ranges::binary_search(listed, hash_of(exports_.ids, k));
      is_done_ = false;
      return failed;
    });
  }

  /// After each step; looks once, after the first step in which objects leave and others stay.
  [[nodiscard]] std::optional<Diagnostic> after_step(const objects::StepSender& sender) {
    if (is_done_ || sender.ranges().empty()) return std::nullopt;
    is_done_ = true;
    auto found =
        within_memory("the objects that MIGRATE_VERIFY lists", [&] { return compare(sender); });
    was_listed_ = {};
    return found;
  }

 private:
  [[nodiscard]] std::uint64_t hash_of(const ObjectIds& ids, std::uint64_t k) const {
    const EntryCounts& entries = context_.callbacks.entries();
    constexpr std::size_t word = sizeof(ZOLTAN_ID_TYPE);
    const std::uint64_t hash =
        XXH3_64bits(ids.gid(entries, k), word * static_cast<std::size_t>(entries.gid));
    const ZOLTAN_ID_TYPE* const lid = ids.lid(entries, k);
    if (lid == nullptr) return hash;
    return XXH3_64bits_withSeed(lid, word * static_cast<std::size_t>(entries.lid), hash);
  }

  /// The hashes of the ids of all objects that the application lists, sorted.
  [[nodiscard]] std::optional<Diagnostic> list_objects(Array<std::uint64_t>& hashes) {
    const EntryCounts& entries = context_.callbacks.entries();
    Ledger& ledger = context_.ledger;
    std::uint64_t count = 0;
    if (auto failed = context_.callbacks.count(count)) return failed;
    const auto weights = static_cast<std::size_t>(context_.callbacks.object_weights());
    Array<ZOLTAN_ID_TYPE> gids(ledger, count * static_cast<std::size_t>(entries.gid));
    Array<ZOLTAN_ID_TYPE> lids(ledger, count * static_cast<std::size_t>(entries.lid));
    const ObjectIds ids{gids.data(), lids.data()};
    {
      Array<float> unused(ledger, count * weights);
      if (auto failed = context_.callbacks.list_objects(ids, unused.data())) return failed;
    }
    hashes = Array<std::uint64_t>(ledger, count);
    for (std::uint64_t k = 0; k < count; ++k) hashes[k] = hash_of(ids, k);
    std::ranges::sort(hashes);
    context_.check_bytes =
        std::max(context_.check_bytes,
                 count * (entries.bytes() + sizeof(float) * weights + sizeof(std::uint64_t)) +
                     exports_.count);
    return std::nullopt;
  }

  [[nodiscard]] std::optional<Diagnostic> compare(const objects::StepSender& sender) {
    Array<std::uint64_t> listed;
    if (auto failed = list_objects(listed)) return failed;
    std::uint64_t end = 0;
    for (std::size_t pair = 0; pair < exports_.peers.size(); ++pair) {
      end += exports_.peers[pair].count;
      for (std::uint64_t k = end - sender.left_of(pair); k < end; ++k) {
        const std::uint64_t object = exports_.sorted(k);
        if (!was_listed_[object] ||
            std::ranges::binary_search(listed, hash_of(exports_.ids, object)))
          continue;
        return diagnose(
            ErrorCode::corrupted,
            context_.callbacks.named(exports_.ids.gid(context_.callbacks.entries(), object), object,
                                     "exports"),
            " has not left, but ZOLTAN_OBJ_LIST_FN lists it no more with the local id that it "
            "had: mid, or what runs with it, changed it in step ",
            context_.call.steps, "; ", keep_local_ids);
      }
    }
    return std::nullopt;
  }

  Context& context_;
  const ObjectList& exports_;
  Array<bool> was_listed_;  ///< by place in the list of exports
  bool is_done_ = true;
};

}  // namespace valet::zoltan
