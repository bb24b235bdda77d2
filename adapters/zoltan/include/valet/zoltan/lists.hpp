// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Moves the objects in Zoltan's lists in place: for codes that call Zoltan themselves, with any
/// method, and keep their objects in Kokkos Views or plain arrays, one per slot.

#include <valet/block_storage.hpp>
#include <valet/export.hpp>
#include <valet/mpi.hpp>
#include <valet/options.hpp>
#include <valet/plan.hpp>
#include <valet/ragged_storage.hpp>
#include <valet/report.hpp>

#ifdef VALET_ZOLTAN_VIEWS
#include <valet/kokkos/blocks.hpp>
#include <valet/kokkos/detail/view_columns.hpp>
#endif

#include <zoltan_types.h>

#include <cstdint>
#include <functional>
#include <span>

struct Zoltan_Struct;

namespace valet::zoltan {

/// One of the lists that Zoltan_LB_Partition() returns: one entry per object. The caller owns the
/// arrays.
struct PartitionList {
  int count = -1;                              ///< number of objects; -1: no list
  const ZOLTAN_ID_TYPE* global_ids = nullptr;  ///< count * gid_entries
  const ZOLTAN_ID_TYPE* local_ids = nullptr;   ///< count * lid_entries, on the rank they come from
  const int* procs = nullptr;  ///< the ranks that imports come from or exports go to
  const int* parts = nullptr;  ///< the destination parts; null if parts are ranks
};

/// The result of Zoltan_LB_Partition() or Zoltan_LB_Balance() on this rank, or your own lists in
/// that form: exports, imports or both, as RETURN_LISTS determines. If both are given, the exports
/// are used, as in Zoltan_Migrate(), and imports must agree with them,
/// which is not checked with ListOptions::part_to_rank.
struct PartitionLists {
  int gid_entries = 1;    ///< words of a global id; the same on all ranks
  int lid_entries = 1;    ///< words of a local id, 0 for none; the same on all ranks
  PartitionList imports;  ///< objects that arrive; local ids are those on their old rank
  PartitionList exports;  ///< objects that leave or, with RETURN_LISTS PARTS, all objects
};

/// Information that is not in the lists, and values returned per slot. Functions and arrays are
/// given on all ranks or on none.
struct ListOptions {
  /// How the data moves: budget, method, order, verification.
  Options migration = {};
  /// Returns the slot of an object from its global and local id (null if there are none). Called
  /// once per object on the rank that has it, before anything moves. If not set, the first word of
  /// the local id is the slot. Must not communicate; an exception becomes callback_failed on all
  /// ranks.
  std::function<std::uint64_t(const ZOLTAN_ID_TYPE* global_id, const ZOLTAN_ID_TYPE* local_id)>
      slot_of = {};
  /// The rank of each part; empty: objects go to the ranks in the lists. With this table the part
  /// of an object determines its rank, and exports need no `procs`. Objects that are not listed
  /// stay, so use RETURN_LISTS PARTS if the table differs from Zoltan's. [local]
  std::span<const int> part_to_rank = {};
  /// One entry per slot, or empty: receives the part of the listed object in each slot, or its rank
  /// if lists have no parts, including objects that change only their part. Other objects keep the
  /// entry of their old slot. [local]
  std::span<int> parts = {};
  /// gid_entries per slot, or empty: likewise receives the global id of the object in each slot.
  /// Not needed if ids are among the fields of the storage, which move anyway. [local]
  std::span<ZOLTAN_ID_TYPE> global_ids = {};
  /// The structure that made the lists, or null. Its MIGRATE_* parameters apply: those set on it go
  /// before `migration`, those set for NULL and in the environment count where `migration` has the
  /// default. It is not otherwise looked at.
  Zoltan_Struct* zoltan = nullptr;
};

/// Result of a migrate().
struct ListMigration {
  std::uint64_t count = 0;           ///< objects now on this rank, in slots 0 to count-1
  std::uint64_t required_slots = 0;  ///< slots that this rank required
  std::uint64_t list_bytes = 0;      ///< peak of the memory that Valet allocated for the lists
  double list_seconds = 0;           ///< time from the lists to a map, on this rank
  Report report;                     ///< the report of the migration on this rank
};

/// Moves every field of the objects in Zoltan's lists, within the memory of `storage` and a budget.
///
/// Collective; blocking. Needs no Zoltan_Struct and calls no callback. If only imports are given
/// (RETURN_LISTS IMPORT), they are sent to the ranks that have the objects. Objects in no list
/// stay. Final slots follow Options::order and the slots before, whatever the order of the lists.
///
/// @param communicator  The communicator of Zoltan_Create().
/// @param lists         As returned by Zoltan; read only during this call. [local]
/// @param occupied      The objects of this rank: their number, if in the first slots, or a mask.
///                      [local]
/// @param storage       The data to move; its number of slots is the most objects that this rank
///                      can hold. [local]
/// @param options       The same on all ranks, except for members marked as local.
/// @return The new count, the cost of reading the lists, and the report of the migration.
/// @throws Error invalid_argument  There are no lists (RETURN_LISTS NONE), some ranks give exports
///         and others only imports, arrays are missing, objects are listed twice, are in an empty
///         slot, or are in a part without a rank, or imports do not match the exports of other
///         ranks.
/// @throws Error slot_out_of_range  A local id, or the result of slot_of, is not a slot.
/// @throws Error rank_out_of_range  A list or the table has a rank that does not exist.
/// @throws Error infeasible  Some rank would get more objects than it has slots; the text has the
///         required slots. Also the errors of valet::plan_to_ranks() and valet::execute();
///         callback_failed also for slot_of, and then nothing has moved. All are the same error on
///         all ranks, and the data is unchanged, except for mpi_failure, corrupted and the
///         callback_failed of valet::execute(); ListOptions::global_ids may already contain ids of
///         listed objects.
///
/// Memory beyond the storage, the lists and the bound of valet::execute(): 4 bytes per slot for the
/// map, and the same for ListOptions::parts, which with global_ids keep up to 64 KiB while data
/// moves. For lists of imports only, before data moves: 24 KiB, 4*(gid_entries + lid_entries + 2)
/// bytes per object imported from this rank, 4 per object imported to it, and 512 per rank on
/// either side.
///
/// Time: O(slots + objects listed); imports and exports together take one more reduction.
VALET_EXPORT ListMigration migrate(MPI_Comm communicator, const PartitionLists& lists,
                                   const Occupied& occupied, const BlockStorage& storage,
                                   const ListOptions& options = {});

/// Moves objects whose data are blocks of different sizes: object k, in slot k, has block k of
/// every ragged field and row k of every column.
///
/// Collective; blocking. Otherwise as above.
///
/// @param communicator  The communicator of Zoltan_Create().
/// @param lists         As returned by Zoltan; read only during this call. [local]
/// @param count         Objects of this rank: the first blocks and rows. [local]
/// @param storage       The data to move, preferably with the ids of the objects among its columns.
///                      Its number of slots is that of its smallest array of lengths or rows.
///                      [local]
/// @param options       The same on all ranks, except for members marked as local; order any or
///                      stable.
/// @return As above; the required slots are the blocks that this rank now has.
/// @throws Error as above, with the errors of plan_to_ranks() and execute() for ragged blocks:
///         infeasible also if some rank would get more bytes than an arena holds; the text has the
///         number.
///
/// Memory beyond the storage, the lists and the bound of execute() for ragged blocks: 4 bytes per
/// object for the map, which is kept while data moves, and the same as above for parts and imports.
VALET_EXPORT ListMigration migrate(MPI_Comm communicator, const PartitionLists& lists,
                                   std::uint64_t count, const RaggedStorage& storage,
                                   const ListOptions& options = {});

#ifdef VALET_ZOLTAN_VIEWS
/// Moves the rows of Views: migrate() with valet::kokkos::blocks(first, rest...).
/// @param communicator  The communicator of Zoltan_Create().
/// @param lists         As returned by Zoltan; read only during this call. [local]
/// @param occupied      The objects of this rank: their number, if in the first rows, or a mask.
///                      [local]
/// @param options       The same on all ranks, except for members marked as local.
/// @param first         A View or DualView, or an execution space instance.
/// @param rest          The other Views or DualViews. Their extent(0) is the most objects that this
///                      rank can hold.
/// @return As above, with the same errors.
template <class First, class... Rest>
requires(kokkos::detail::is_column_view<First> ||
         Kokkos::is_execution_space<First>::value) ListMigration
    migrate(MPI_Comm communicator, const PartitionLists& lists, const Occupied& occupied,
            const ListOptions& options, const First& first, const Rest&... rest) {
  return migrate(communicator, lists, occupied, valet::kokkos::blocks(first, rest...), options);
}
/// The same with default options.
template <class First, class... Rest>
requires(kokkos::detail::is_column_view<First> ||
         Kokkos::is_execution_space<First>::value) ListMigration
    migrate(MPI_Comm communicator, const PartitionLists& lists, const Occupied& occupied,
            const First& first, const Rest&... rest) {
  return migrate(communicator, lists, occupied, valet::kokkos::blocks(first, rest...));
}
#endif

}  // namespace valet::zoltan
