// SPDX-License-Identifier: BSD-3-Clause
#include "slot_map.hpp"

#include "base/memory_reserve.hpp"
#include <valet/detail/first_failure.hpp>

#include <algorithm>
#include <limits>

namespace valet::zoltan {
using std::to_string;

std::optional<Diagnostic> SlotMap::enter(const ListedObjects& listed) {
  listed_ = listed;
  if (listed.count > static_cast<std::uint64_t>(std::numeric_limits<int>::max()))
    return Diagnostic{ErrorCode::invalid_argument,
                      to_string(listed.count) +
                          " objects are listed; Zoltan counts them with 31 bits, use more ranks"};
  map_ = Array<int>(ledger_, call_.occupied.map_size());
  std::fill(map_.begin(), map_.end(), unlisted);
  const auto& slot_of = call_.options.slot_of;
  valet::detail::FirstFailure failure;
  for (std::uint64_t k = 0; k < listed.count; ++k) {
    const ZOLTAN_ID_TYPE* const lid = listed.ids.lid(call_.entries, k);
    std::uint64_t slot = 0;
    if (!slot_of) {
      slot = *lid;
    } else if (!failure.attempt("ListOptions::slot_of", [&] {
                 const valet::detail::LeaveReserve leave;
                 slot = slot_of(listed.ids.gid(call_.entries, k), lid);
               })) {
      return failure.diagnostic("nothing has moved");
    }
    if (auto diagnostic = enter_slot(k, slot)) return diagnostic;
  }
  return std::nullopt;
}

std::optional<Diagnostic> SlotMap::enter_slot(std::uint64_t k, std::uint64_t slot) {
  const auto in_slot = [&] {
    return named(k) + " is in slot " + to_string(slot) +
           (call_.options.slot_of ? " by slot_of" : " by its local id");
  };
  if (slot >= call_.slots)
    return Diagnostic{ErrorCode::slot_out_of_range,
                      in_slot() + ", but the storage has " + to_string(call_.slots) +
                          " slots; give slots from 0 as local ids, or ListOptions::slot_of"};
  if (!is_occupied(slot))
    return Diagnostic{ErrorCode::invalid_argument,
                      in_slot() + ", which holds no object (" +
                          (call_.occupied.is_masked()
                               ? std::string("its entry in the mask is 0")
                               : to_string(call_.occupied.map_size()) + " objects, from slot 0") +
                          "); give the objects that this rank has now"};
  int& entry = map_[slot];
  if (entry != unlisted)
    return Diagnostic{ErrorCode::invalid_argument, in_slot() + ", and so is " +
                                                       named(static_cast<std::uint64_t>(entry)) +
                                                       "; list each object once"};
  entry = static_cast<int>(k);
  return check_rank(k);
}

std::optional<Diagnostic> SlotMap::check_rank(std::uint64_t k) const {
  const std::span<const int> table = call_.options.part_to_rank;
  if (table.empty()) return std::nullopt;
  const int part = listed_.part(k);
  if (part < 0 || static_cast<std::uint64_t>(part) >= table.size())
    return Diagnostic{ErrorCode::invalid_argument,
                      named(k) + " goes to part " + to_string(part) +
                          ", which has no rank: ListOptions::part_to_rank has entries for parts "
                          "0 to " +
                          to_string(table.size() - 1)};
  const int rank = table[static_cast<std::size_t>(part)];
  if (rank >= 0 && rank < call_.ranks) return std::nullopt;
  return Diagnostic{ErrorCode::rank_out_of_range,
                    named(k) + " goes to part " + to_string(part) +
                        ", which ListOptions::part_to_rank gives to rank " + to_string(rank) +
                        ", but the communicator has ranks 0 to " + to_string(call_.ranks - 1)};
}

bool SlotMap::is_occupied(std::uint64_t slot) const {
  // A mask may lack entries, of which planning tells.
  if (slot >= call_.occupied.map_size()) return false;
  return !call_.occupied.is_masked() || call_.occupied.mask()[slot] != 0;
}

void SlotMap::reserve_parts() {
  if (!call_.options.parts.empty()) parts_before_ = Array<int>(ledger_, map_.size());
}

void SlotMap::put_values() {
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

void SlotMap::restore_parts() {
  std::copy(parts_before_.begin(), parts_before_.end(), call_.options.parts.begin());
}

std::string SlotMap::named(std::uint64_t k) const {
  std::string text = listed_.by_importers ? "the object" : "the export";
  text += " with global id";
  const ZOLTAN_ID_TYPE* const gid = listed_.ids.gid(call_.entries, k);
  for (int e = 0; e < call_.entries.gid; ++e) text.append(" ").append(to_string(gid[e]));
  if (!listed_.by_importers) return text + " (number " + to_string(k) + ")";
  return text + " that rank " + to_string(listed_.procs[k]) + " imports from here";
}

}  // namespace valet::zoltan
