// SPDX-License-Identifier: BSD-3-Clause
#include "base/diagnose.hpp"
#include "base/memory_reserve.hpp"
#include "base/sizes.hpp"
#include "storage/guarded_backend.hpp"
#include <valet/group.hpp>

#include <numeric>
#include <optional>
#include <utility>

namespace valet {
namespace {

/// Where the blocks of each segment will be: count[k] slots from first[k] on.
struct Segments {
  std::vector<std::uint64_t> first;
  std::vector<std::uint64_t> count;

  Segments(const Occupied& occupied, std::span<const std::uint32_t> segments,
           std::span<const std::uint64_t> slots)
      : first(slots.size()), count(slots.size()) {
    if (segments.size() != occupied.map_size())
      refuse(ErrorCode::invalid_argument, "group() got ", segments.size(), " segments for ",
             occupied.map_size(), occupied.is_masked() ? " slots" : " blocks",
             "; give one for each");
    std::exclusive_scan(slots.begin(), slots.end(), first.begin(), std::uint64_t{0},
                        detail::bounded_sum);
    for (std::uint64_t slot = 0; slot < segments.size(); ++slot) {
      if (!holds_block(occupied, slot)) continue;
      if (segments[slot] >= slots.size())
        refuse(ErrorCode::invalid_argument, "the block in slot ", slot, " belongs to segment ",
               std::int64_t{static_cast<std::int32_t>(segments[slot])}, ", but there are ",
               slots.size(), ", from 0 on; give one of these, nothing has moved");
      ++count[segments[slot]];
    }
    for (std::size_t k = 0; k < slots.size(); ++k)
      if (count[k] > slots[k])
        refuse(ErrorCode::infeasible, "segment ", k, " has ", slots[k], " slots for ", count[k],
               " blocks; enlarge it, nothing has moved");
  }

  /// Where each block goes: those that are in place keep their slots, the others fill what these
  /// leave.
  [[nodiscard]] std::vector<Address> addresses(const Occupied& occupied,
                                               std::span<const std::uint32_t> segments) const {
    std::vector<Address> result(segments.size());
    std::vector<std::uint64_t> next = first;
    const auto stays = [&](std::uint64_t slot) {
      return slot < segments.size() && holds_block(occupied, slot) &&
             includes(segments[slot], slot);
    };
    for (std::uint64_t slot = 0; slot < segments.size(); ++slot) {
      if (!holds_block(occupied, slot)) continue;
      std::uint64_t& place = next[segments[slot]];
      if (stays(slot)) {
        result[slot].slot = slot;
        continue;
      }
      while (stays(place)) ++place;
      result[slot].slot = place++;
    }
    return result;
  }

 private:
  [[nodiscard]] static bool holds_block(const Occupied& occupied, std::uint64_t slot) {
    return !occupied.is_masked() || occupied.mask()[slot] != 0;
  }
  /// Whether blocks of the segment will be there.
  [[nodiscard]] bool includes(std::uint32_t segment, std::uint64_t slot) const {
    return slot >= first[segment] && slot < first[segment] + count[segment];
  }
  template <class... Parts>
  [[noreturn]] static void refuse(ErrorCode code, const Parts&... parts) {
    throw Error(code, joined(parts...));
  }
};

}  // namespace

std::vector<std::uint64_t> group(const BlockStorage& storage, const Occupied& occupied,
                                 std::span<const std::uint32_t> segments,
                                 std::span<const std::uint64_t> segment_slots,
                                 const Options& options) {
  const auto wrong = storage::diagnostic_now(storage.backend());
  if (wrong) throw Error(wrong->code, wrong->text);
  if (occupied.map_size() > storage.slots())
    throw Error(ErrorCode::invalid_argument,
                joined(occupied.map_size(), " blocks do not fit the ", storage.slots(),
                       " slots of the storage; give the number of blocks that it holds"));
  const detail::MemoryReserve reserve;
  std::optional<Segments> result;
  std::vector<Address> addresses;
  const auto failed = detail::unless_out_of_memory(
      [&] {
        result.emplace(occupied, segments, segment_slots);
        addresses = result->addresses(occupied, segments);
      },
      "no memory for 16 bytes per block; nothing has moved");
  if (failed) throw Error(failed->code, failed->text);
  migrate(MPI_COMM_SELF, storage, occupied, addresses, options);
  return std::move(result->count);
}

}  // namespace valet
