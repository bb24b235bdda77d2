// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// The lists of a migration, whichever of them the application gave, as one form: what this rank
/// exports, in the order in which it is packed, and what it imports, in the order in which it is
/// unpacked. Both orders are stock Zoltan's.

#include "base/diagnose.hpp"
#include "handle/object_ids.hpp"
#include "mpi/agreement.hpp"
#include "objects/records.hpp"
#include "plan/flows.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>

namespace valet::zoltan {

using objects::Peer, objects::RecordColumn;

/// The arguments of Zoltan_Migrate.
struct UserLists {
  MigrationList imports;
  MigrationList exports;
  std::uint64_t staying = 0;  ///< objects of the leading list that do not move
  /// Stock Zoltan looks at the imports only where there are no exports; else it hands them to pre,
  /// mid and post as they are, whatever is in them.
  [[nodiscard]] bool exports_given() const { return exports.count >= 0; }
  [[nodiscard]] bool imports_given() const { return imports.count >= 0; }
  [[nodiscard]] const MigrationList& leading() const { return exports_given() ? exports : imports; }
};

/// The name of UserLists::exports_given(), which must be the same on all ranks.
inline constexpr mpi::Named kind_of_lists{
    .name = "the kind of list",
    .text = [](std::int64_t exports) -> std::string {
      return exports != 0 ? "export lists" : "only import lists";
    },
    .remedy =
        "give the same kind on all ranks (0 objects where there are none, -1 for a list that is "
        "not given)"};

inline std::optional<Diagnostic> check_list(const MigrationList& list, const EntryCounts& entries,
                                            int ranks, bool needs_procs, const char* name) {
  if (list.count <= 0) return std::nullopt;
  const auto missing = [&](const char* what) {
    return invalid(list.count, " ", name, "s, but no array of their ", what,
                   "; give one entry for each");
  };
  if (list.ids.gids == nullptr) return missing("global ids");
  if (list.ids.lids == nullptr && entries.lid > 0) return missing("local ids");
  if (!needs_procs) return std::nullopt;
  if (list.procs == nullptr) return missing("ranks");
  for (int k = 0; k < list.count; ++k) {
    if (list.procs[k] >= 0 && list.procs[k] < ranks) continue;
    return diagnose(
        ErrorCode::rank_out_of_range,
        list.ids.named(std::string("the ") + name, entries, static_cast<std::uint64_t>(k)),
        " (number ", k, ") names rank ", list.procs[k], ", but the communicator has ranks 0 to ",
        ranks - 1, "; ranks count from 0: fix the list, nothing has moved");
  }
  return std::nullopt;
}

/// What one rank alone can find wrong with the lists that say what moves. Local.
/// @param needs_procs  Whether ranks say where objects go, or something else does.
[[nodiscard]] inline std::optional<Diagnostic> check_lists(const UserLists& lists,
                                                           const EntryCounts& entries, int ranks,
                                                           bool needs_procs = true) {
  return check_list(lists.leading(), entries, ranks, needs_procs,
                    lists.exports_given() ? "export" : "import");
}

/// Objects in the order of a list, and the ranks at the other end. Arrays are the application's
/// unless objects had to be left out or came from elsewhere.
class ObjectList {
 public:
  explicit ObjectList(Ledger& ledger) : peers(ledger) {}

  std::uint64_t count = 0;
  ObjectIds ids;
  int* procs = nullptr;
  int* parts = nullptr;  ///< null: there are none
  Vector<Peer> peers;    ///< ascending by rank
  /// Whether the objects stand by ascending rank; otherwise order has them so.
  bool grouped = true;
  bool blocked = true;  ///< whether the objects of each rank stand together, in whatever order
  Array<std::uint32_t> order;

  /// The object at place k of those sorted by rank.
  [[nodiscard]] std::uint64_t sorted(std::uint64_t k) const { return grouped ? k : order[k]; }
  /// Values of the objects, sorted likewise. @throws std::bad_alloc.
  [[nodiscard]] Array<int> sorted(Ledger& ledger, std::span<const int> values) const {
    Array<int> result(ledger, count);
    for (std::uint64_t k = 0; k < count; ++k) result[k] = values[sorted(k)];
    return result;
  }

  [[nodiscard]] objects::SortedObjects sorted() const {
    return {peers, {order.data(), order.size()}};
  }
  [[nodiscard]] std::size_t peer_of(int rank) const { return plan::flow_from(peers, rank); }
  /// What pack gets as the destination of its objects.
  [[nodiscard]] int* destinations() const { return parts != nullptr ? parts : procs; }

  void allocate(Ledger& ledger, const EntryCounts& entries, std::uint64_t objects,
                bool with_parts) {
    count = objects;
    own_gids_ = Array<ZOLTAN_ID_TYPE>(ledger, objects * static_cast<std::uint64_t>(entries.gid));
    own_lids_ = Array<ZOLTAN_ID_TYPE>(ledger, objects * static_cast<std::uint64_t>(entries.lid));
    own_procs_ = Array<int>(ledger, objects);
    if (with_parts) own_parts_ = Array<int>(ledger, objects);
    ids = {own_gids_.data(), own_lids_.data()};
    procs = own_procs_.data();
    parts = own_parts_.data();
  }

  /// Object k is number `at` of others from now on.
  void set(const EntryCounts& entries, std::uint64_t k, const ObjectIds& others, std::uint64_t at,
           int rank, int part) {
    others.copy(entries, at, ids, k);
    procs[k] = rank;
    if (parts != nullptr) parts[k] = part;
  }

  [[nodiscard]] MigrationList as_list() const {
    return {static_cast<int>(count), ids, procs, parts};
  }

  /// Gives all objects the same part.
  void give_part(Ledger& ledger, int part) {
    own_parts_ = Array<int>(ledger, count);
    std::fill(own_parts_.begin(), own_parts_.end(), part);
    parts = own_parts_.data();
  }

  void drop_parts() {
    own_parts_ = {};
    parts = nullptr;
  }
  /// Whether its arrays are its own, not the application's.
  [[nodiscard]] bool owns_arrays() const { return own_gids_.size() > 0; }
  /// Sorts the global ids by rank within their memory and gives up all other arrays. For a list
  /// that owns its arrays.
  void keep_sorted_gids(const EntryCounts& entries) {
    own_lids_ = {};
    own_procs_ = {};
    own_parts_ = {};
    ids.lids = nullptr;
    procs = parts = nullptr;
    // Along the cycles of the order; a place that is done points to itself.
    for (std::uint64_t start = 0; !grouped && start < count; ++start) {
      std::uint64_t k = start;
      while (order[k] != start) {
        const std::uint64_t from = order[k];
        std::swap_ranges(ids.gid(entries, k), ids.gid(entries, k) + entries.gid,
                         ids.gid(entries, from));
        order[k] = static_cast<std::uint32_t>(k);
        k = from;
      }
      order[k] = static_cast<std::uint32_t>(k);
    }
    order = {};
    grouped = true;
  }

 private:
  Array<ZOLTAN_ID_TYPE> own_gids_, own_lids_;
  Array<int> own_procs_, own_parts_;
};

/// The objects of a list that migrate: all, or those that change their rank. Local.
/// @throws std::bad_alloc.
[[nodiscard]] inline ObjectList migrating(Ledger& ledger, const MigrationList& list,
                                          const EntryCounts& entries, bool only_proc_changes,
                                          int rank) {
  ObjectList result(ledger);
  const auto all = static_cast<std::uint64_t>(std::max(list.count, 0));
  std::uint64_t moving = all;
  if (only_proc_changes)
    moving -= static_cast<std::uint64_t>(std::count(list.procs, list.procs + all, rank));
  if (moving == all) {
    result.count = all;
    result.ids = list.ids;
    result.procs = list.procs;
    result.parts = list.parts;
  } else {
    result.allocate(ledger, entries, moving, list.parts != nullptr);
    std::uint64_t to = 0;
    for (std::uint64_t k = 0; k < all; ++k) {
      if (list.procs[k] == rank) continue;
      result.set(entries, to++, list.ids, k, list.procs[k],
                 list.parts != nullptr ? list.parts[k] : 0);
    }
  }
  objects::RankOrder found =
      objects::order_by_rank(ledger, {result.procs, static_cast<std::size_t>(result.count)});
  result.peers = std::move(found.peers);
  result.order = std::move(found.order);
  result.grouped = found.grouped;
  result.blocked = found.blocked;
  return result;
}

/// What the importers want of this rank: a list of exports by (importing rank, its list), whose ids
/// are to come. Local. @throws std::bad_alloc.
[[nodiscard]] inline ObjectList make_inverse(Ledger& ledger, std::span<const Peer> wanted,
                                             const EntryCounts& entries, bool with_parts) {
  ObjectList exports(ledger);
  std::uint64_t count = 0;
  exports.peers.assign(wanted.begin(), wanted.end());
  for (const Peer& peer : wanted) count += peer.count;
  exports.allocate(ledger, entries, count, with_parts);
  int* next = exports.procs;
  for (const Peer& peer : exports.peers) next = std::fill_n(next, peer.count, peer.rank);
  return exports;
}

/// Brings the ids. Collective.
inline void invert(const mpi::Channel& channel, Ledger& ledger, const ObjectList& imports,
                   ObjectList& exports, const EntryCounts& entries, bool with_parts,
                   std::size_t chunk_bytes) {
  constexpr std::size_t word = sizeof(ZOLTAN_ID_TYPE);
  Vector<RecordColumn> columns(ledger);
  columns.push_back(
      {word * static_cast<std::size_t>(entries.gid), imports.ids.gids, exports.ids.gids});
  if (entries.lid > 0)
    columns.push_back(
        {word * static_cast<std::size_t>(entries.lid), imports.ids.lids, exports.ids.lids});
  if (with_parts) columns.push_back({sizeof(int), imports.parts, exports.parts});
  send_records(channel, ledger, imports.sorted(), exports.peers, columns, chunk_bytes);
}

}  // namespace valet::zoltan
