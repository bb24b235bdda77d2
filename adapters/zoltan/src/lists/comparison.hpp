// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/diagnose.hpp"
#include "dropin/lists.hpp"
#include "mpi/agreement.hpp"
#include "mpi/channel.hpp"

#include <xxhash.h>

#include <algorithm>
#include <array>
#include <new>
#include <string>

namespace valet::zoltan {

/// Calls action(rank at the other end, hash of the global id) for the objects that change their
/// rank.
template <class Action>
void for_each_moving(const MigrationList& list, const EntryCounts& entries, int rank,
                     Action&& action) {
  const std::size_t bytes = static_cast<std::size_t>(entries.gid) * sizeof(ZOLTAN_ID_TYPE);
  for (int k = 0; k < list.count; ++k)
    if (list.procs[k] != rank)
      action(list.procs[k],
             XXH3_64bits(list.ids.gid(entries, static_cast<std::uint64_t>(k)), bytes));
}

/// The same number for both ends of a pair and for no other pair.
inline std::uint64_t of_pair(std::uint64_t hash, int from, int to) {
  const std::array<int, 2> pair{from, to};
  return XXH3_64bits_withSeed(pair.data(), sizeof pair, hash);
}

/// For each rank at the other end, ascending: the objects and the sum of their hashes.
inline void add_up(const MigrationList& list, const EntryCounts& entries, int rank,
                   Vector<mpi::SparseCount>& sums) {
  for_each_moving(list, entries, rank, [&](int other, std::uint64_t hash) {
    auto found = std::ranges::lower_bound(sums, other, {}, &mpi::SparseCount::rank);
    if (found == sums.end() || found->rank != other) found = sums.insert(found, {other, 0, 0});
    ++found->count;
    found->detail += hash;
  });
}

/// The first rank from which other objects come than are imported from there.
inline std::optional<Diagnostic> first_difference(std::span<const mpi::SparseCount> exported,
                                                  std::span<const mpi::SparseCount> imported) {
  for (std::size_t e = 0, i = 0; e < exported.size() || i < imported.size();) {
    mpi::SparseCount from{.rank = e < exported.size() ? exported[e].rank : imported[i].rank};
    if (i < imported.size()) from.rank = std::min(from.rank, imported[i].rank);
    mpi::SparseCount wanted{.rank = from.rank};
    if (e < exported.size() && exported[e].rank == from.rank) from = exported[e++];
    if (i < imported.size() && imported[i].rank == from.rank) wanted = imported[i++];
    if (from.count == wanted.count && from.detail == wanted.detail) continue;
    const std::string others =
        from.count == wanted.count ? "others" : std::to_string(wanted.count) + " objects";
    return invalid(
        "rank ", from.rank, " exports ", from.count, " objects to this rank, which imports ",
        others, " from there; give both lists of one partition, or the exports alone (-1 imports)");
  }
  return std::nullopt;
}

/// Compares what each rank imports with what others export to it: the global ids of every pair of
/// ranks, by their hashes (XXH3), in any order. Objects that stay on their rank do not count.
///
/// Collective; one reduction of one number where they agree. @throws Error invalid_argument on all
/// ranks alike, which names a pair; out_of_memory when they do not agree and there is none to say
/// so.
inline void compare_lists(const mpi::Channel& channel, Ledger& ledger, const UserLists& lists,
                          const EntryCounts& entries) {
  const int rank = channel.rank();
  std::array<std::uint64_t, 1> difference{};
  for_each_moving(lists.exports, entries, rank,
                  [&](int to, std::uint64_t hash) { difference[0] += of_pair(hash, rank, to); });
  for_each_moving(lists.imports, entries, rank, [&](int from, std::uint64_t hash) {
    difference[0] -= of_pair(hash, from, rank);
  });
  mpi::sum(channel, difference);
  if (difference[0] == 0) return;

  Vector<mpi::SparseCount> exports(ledger), imports(ledger), announced(ledger);
  std::optional<Diagnostic> mine = within_memory("the comparison of lists", [&] {
    add_up(lists.exports, entries, rank, exports);
    add_up(lists.imports, entries, rank, imports);
  });
  try {
    mpi::exchange_sparse_counts(channel, ledger, exports, announced);
    if (!mine) mine = first_difference(announced, imports);
  } catch (const std::bad_alloc&) {  // when the exchange is over
    mine = Diagnostic{ErrorCode::out_of_memory, "no memory for the comparison of lists"};
  }
  mpi::agree(channel, mine);
}

}  // namespace valet::zoltan
