// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// The memory of a migration for packed objects, of the call's loan.

#include "base/sizes.hpp"
#include "objects/batches.hpp"
#include "objects/call.hpp"
#include <valet/error.hpp>
#include <valet/export.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace valet::objects {

/// Where objects begin in their first page, if there are many. Those of an application often begin
/// 16 bytes behind the start of a page, as malloc has them. Were it 0 here, a copy to such an
/// object would load from addresses that agree with its last stores in all bits within a page, and
/// processors take that for a dependence (4K aliasing; measured: unpacking objects of 64 KiB took
/// three times as long).
inline constexpr std::size_t first_byte = held_page_bytes / 2;
[[nodiscard]] constexpr std::uint64_t first_byte_of(std::uint64_t bytes) {
  constexpr std::uint64_t many = std::uint64_t{2} << 20;
  return bytes + first_byte >= many ? first_byte : 0;
}

/// Whole pages for `bytes` of packed objects.
[[nodiscard]] constexpr std::uint64_t pages_for(std::uint64_t bytes) {
  return detail::rounded_up(bytes + first_byte_of(bytes), held_page_bytes);
}

/// What a rank needs memory for.
struct RoomWish {
  std::span<const Peer> destinations, sources;
  std::uint64_t moved = 0;            ///< bytes that leave, or arrive
  std::uint64_t arrivals = 0;         ///< bytes at a time
  std::uint64_t sent = 0;             ///< scratch for what leaves
  std::uint64_t lists = 0;            ///< what the budget has to hold besides
  bool arrivals_are_scratch = false;  ///< they count in the budget
};

/// What it got.
struct Room {
  std::byte* sent = nullptr;
  std::byte* arrivals = nullptr;
  std::uint64_t raised = 0;  ///< bytes that the budget is too small
};

/// Takes the memory. Ranks of a node share theirs, as the place of all arrivals where these fit or
/// for slots through which they go, where that pays: where more moves than fits the budget, or
/// where the neighbours are those of the migration before. Collective, in one reduction where
/// nothing is shared anew. @throws Error on all ranks alike.
///
/// @param agreement  What else the ranks agree on.
/// @param mine       What this rank found wrong until now, if anything.
[[nodiscard]] VALET_EXPORT Room make_room(Call& call, const Scratch& scratch, const RoomWish& wish,
                                          mpi::Agreement& agreement,
                                          std::optional<Diagnostic> mine);

}  // namespace valet::objects
