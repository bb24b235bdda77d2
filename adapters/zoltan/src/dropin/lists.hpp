// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// The lists of a migration, whichever of them the application gave, as one form: what this rank
/// exports, in the order in which it is packed, and what it imports, in the order in which it is
/// unpacked. Both orders are stock Zoltan's.

#include "callbacks.hpp"
#include "mpi/agreement.hpp"
#include "mpi/sparse_exchange.hpp"
#include "transport.hpp"

#include <cstdint>

namespace valet::zoltan {

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

/// What one rank alone can find wrong with the lists that say what moves. Local.
/// @param needs_procs  Whether ranks say where objects go, or something else does.
[[nodiscard]] std::optional<Diagnostic> check_lists(const UserLists& lists,
                                                    const EntryCounts& entries, int ranks,
                                                    bool needs_procs = true);

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
  [[nodiscard]] Array<int> sorted(Ledger& ledger, std::span<const int> values) const;
  [[nodiscard]] std::size_t peer_of(int rank) const;
  /// What pack gets as the destination of its objects.
  [[nodiscard]] int* destinations() const { return parts != nullptr ? parts : procs; }

  void allocate(Ledger& ledger, const EntryCounts& entries, std::uint64_t objects, bool with_parts);
  /// Gives all objects the same part.
  void give_part(Ledger& ledger, int part);
  void drop_parts() {
    own_parts_ = {};
    parts = nullptr;
  }
  /// Whether its arrays are its own, not the application's.
  [[nodiscard]] bool owns_arrays() const { return own_gids_.size() > 0; }
  /// Sorts the global ids by rank within their memory and gives up all other arrays. For a list
  /// that owns its arrays.
  void keep_sorted_gids(const EntryCounts& entries);

 private:
  Array<ZOLTAN_ID_TYPE> own_gids_, own_lids_;
  Array<int> own_procs_, own_parts_;
};

/// The objects of a list that migrate: all, or those that change their rank. Local.
/// @throws std::bad_alloc.
[[nodiscard]] ObjectList migrating(Ledger& ledger, const MigrationList& list,
                                   const EntryCounts& entries, bool only_proc_changes, int rank);

/// Records of one size, one for every object.
struct RecordColumn {
  std::size_t bytes = 0;       ///< of a record
  const void* from = nullptr;  ///< in the order of the list
  void* to = nullptr;          ///< filled by ascending source rank, then the source's order
  bool sorted = false;         ///< `from` is sorted by rank, whatever the list is
};

/// Records of all objects from a list to the ranks at its other end. Collective.
///
/// @param columns      Of the same bytes on all ranks.
/// @param chunk_bytes  Of one message; the same on all ranks.
/// @param turn   Of the transport: calls without an agreement between them have different ones.
void send_records(const mpi::Channel& channel, Ledger& ledger, const ObjectList& list,
                  std::span<const Peer> sources, std::span<const RecordColumn> columns,
                  std::size_t chunk_bytes, int turn = 0);

/// What the importers want of this rank: a list of exports by (importing rank, its list), whose ids
/// are to come. Local. @throws std::bad_alloc.
[[nodiscard]] ObjectList make_inverse(Ledger& ledger, std::span<const mpi::SparseCount> wanted,
                                      const EntryCounts& entries, bool with_parts);
/// Brings the ids. Collective.
void invert(const mpi::Channel& channel, Ledger& ledger, const ObjectList& imports,
            ObjectList& exports, const EntryCounts& entries, bool with_parts,
            std::size_t chunk_bytes);

/// Reports to each destination how many objects it will get, or how many are asked of it: what
/// others report is `received`. Collective. @throws std::bad_alloc as exchange_sparse_counts().
void announce(const mpi::Channel& channel, Ledger& ledger, const ObjectList& list,
              Vector<mpi::SparseCount>& received);

}  // namespace valet::zoltan
