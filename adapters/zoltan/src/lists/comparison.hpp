// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "dropin/lists.hpp"
#include "mpi/channel.hpp"

namespace valet::zoltan {

/// Compares what each rank imports with what others export to it: the global ids of every pair of
/// ranks, by their hashes (XXH3), in any order. Objects that stay on their rank do not count.
///
/// Collective; one reduction of one number where they agree. @throws Error invalid_argument on all
/// ranks alike, which names a pair; out_of_memory when they do not agree and there is none to say
/// so.
void compare_lists(const mpi::Channel& channel, Ledger& ledger, const UserLists& lists,
                   const EntryCounts& entries);

}  // namespace valet::zoltan
