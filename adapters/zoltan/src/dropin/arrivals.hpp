// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "checksums.hpp"
#include "context.hpp"
#include "mpi/agreement.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>

namespace valet::zoltan {

/// What an importer must know of its objects before they come, from their sources: global ids where
/// no import list has them, sizes, and what mid gets in STEPS. Collective.
///
/// @param sizes  Of the exports; in the order of the list, or `sorted` by destination.
void receive_lists(Context& context, const ObjectList& exports, std::span<const int> sizes,
                   bool sorted, Imports& imports);

/// What a rank needs memory for.
struct RoomWish {
  std::uint64_t arrivals = 0;         ///< bytes at a time
  std::uint64_t besides = 0;          ///< scratch for what leaves
  bool arrivals_are_scratch = false;  ///< they count in the budget
};

/// Memory for what leaves, by `allocate`, and for what arrives, whose place is returned. Ranks of a
/// node share memory anew where that pays: where more moves than fits the budget, or where the
/// neighbours are those of the migration before. Collective, in one reduction where nothing is
/// shared anew. @throws Error on all ranks alike.
///
/// @param agreement  What else the ranks agree on.
/// @param mine       What this rank found wrong until now, if anything.
[[nodiscard]] std::byte* make_room(Context& context, const ObjectList& exports,
                                   const Imports& imports, const Scratch& scratch,
                                   const RoomWish& wish, mpi::Agreement& agreement,
                                   std::optional<Diagnostic> mine,
                                   const std::function<void()>& allocate);

/// Held objects in the order in which they are unpacked: by (source, its exports), or that of the
/// import list where that leads.
[[nodiscard]] Vector<ArrivedRange> ranges_of_held(Ledger& ledger, const Imports& imports,
                                                  std::byte* held);

/// Adds objects to the checksums of their sources.
void add_checksums(Checksums& sums, const Imports& imports, std::span<const ArrivedRange> ranges);

/// Unpacks objects. A multi form is called once while the offsets fit an int, otherwise for a
/// source at a time and as few times as that takes. Returns the first failure, after which nothing
/// more is unpacked.
std::optional<Diagnostic> unpack(Context& context, Imports& imports,
                                 std::span<const ArrivedRange> ranges);

}  // namespace valet::zoltan
