// SPDX-License-Identifier: BSD-3-Clause
#include "object_checks.hpp"

#include <valet/error.hpp>

#include <xxhash.h>

#include <algorithm>
#include <array>

namespace valet::zoltan {
namespace {

using std::to_string;

constexpr const char* advice =
    "restore the objects and use MIGRATE_CALLBACKS HOLD, or let pack, mid and unpack keep the "
    "local ids of objects that have not left (without local ids: NUM_LID_ENTRIES 0)";

}  // namespace

std::string ObjectCount::compare(Context& context) {
  if (!context.agreed.counts_objects) return {};
  std::uint64_t after = 0;
  if (!failed_) failed_ = context.callbacks.count(after);
  const bool is_error = context.parameters.verify;
  if (is_error) mpi::agree(context.channel, failed_);
  std::array<std::uint64_t, 3> sums{before_, after, failed_ ? 1U : 0U};
  mpi::sum(context.channel, sums);
  if (sums[2] > 0)
    return "ZOLTAN_NUM_OBJ_FN fails on " + to_string(sums[2]) +
           " ranks, so whether STEPS has lost objects is not known";
  if (sums[0] == sums[1]) return {};
  const std::string text = "by ZOLTAN_NUM_OBJ_FN all ranks together had " + to_string(sums[0]) +
                           " objects before the migration and have " + to_string(sums[1]) +
                           " after it";
  if (is_error) throw Error(ErrorCode::corrupted, text + "; " + advice);
  return text +
         ". Drop exported objects by the end of post to see this only where it is wrong; "
         "if they are dropped, " +
         advice;
}

/// Only objects that leave in different steps can be taken for others.
bool LocalIdCheck::is_possible() const {
  return context_.parameters.verify && context_.callbacks.has_object_list() && exports_.count > 1;
}

std::uint64_t LocalIdCheck::hash_of(const ObjectIds& ids, std::uint64_t k) const {
  const EntryCounts& entries = context_.callbacks.entries();
  constexpr std::size_t word = sizeof(ZOLTAN_ID_TYPE);
  const std::uint64_t hash =
      XXH3_64bits(ids.gid(entries, k), word * static_cast<std::size_t>(entries.gid));
  const ZOLTAN_ID_TYPE* const lid = ids.lid(entries, k);
  if (lid == nullptr) return hash;
  return XXH3_64bits_withSeed(lid, word * static_cast<std::size_t>(entries.lid), hash);
}

/// The hashes of the ids of all objects that the application lists, sorted.
std::optional<Diagnostic> LocalIdCheck::list_objects(Array<std::uint64_t>& hashes) {
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
  context_.check_bytes = std::max(
      context_.check_bytes,
      count * (entries.bytes() + sizeof(float) * weights + sizeof(std::uint64_t)) + exports_.count);
  return std::nullopt;
}

std::optional<Diagnostic> LocalIdCheck::begin() {
  if (!is_possible()) return std::nullopt;
  std::optional<Diagnostic> failed;
  auto no_memory = within_memory("the objects that MIGRATE_VERIFY lists", [&] {
    Array<std::uint64_t> listed;
    failed = list_objects(listed);
    if (failed) return;
    was_listed_ = Array<bool>(context_.ledger, exports_.count);
    for (std::uint64_t k = 0; k < exports_.count; ++k)
      was_listed_[k] = std::ranges::binary_search(listed, hash_of(exports_.ids, k));
    is_done_ = false;
  });
  return no_memory ? no_memory : failed;
}

std::optional<Diagnostic> LocalIdCheck::after_step(const StepSender& sender) {
  if (is_done_ || sender.ranges().empty()) return std::nullopt;
  is_done_ = true;
  std::optional<Diagnostic> found;
  auto no_memory =
      within_memory("the objects that MIGRATE_VERIFY lists", [&] { found = compare(sender); });
  was_listed_ = {};
  return no_memory ? no_memory : found;
}

std::optional<Diagnostic> LocalIdCheck::compare(const StepSender& sender) {
  Array<std::uint64_t> listed;
  if (auto failed = list_objects(listed)) return failed;
  std::uint64_t end = 0;
  for (std::size_t pair = 0; pair < exports_.peers.size(); ++pair) {
    end += exports_.peers[pair].count;
    for (std::uint64_t k = end - sender.left_of(pair); k < end; ++k) {
      const std::uint64_t object = exports_.sorted(k);
      if (!was_listed_[object] || std::ranges::binary_search(listed, hash_of(exports_.ids, object)))
        continue;
      return Diagnostic{
          ErrorCode::corrupted,
          context_.callbacks.named(exports_.ids.gid(context_.callbacks.entries(), object), object,
                                   "exports") +
              " has not left, but ZOLTAN_OBJ_LIST_FN lists it no more with the local id that it "
              "had: mid, or what runs with it, changed it in step " +
              to_string(context_.report.steps) + "; " + advice};
    }
  }
  return std::nullopt;
}

}  // namespace valet::zoltan
