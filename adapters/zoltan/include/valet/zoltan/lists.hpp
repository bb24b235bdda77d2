// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Moves what lists of Zoltan speak of, in place: for codes that partition with Zoltan themselves,
/// by whatever method, and keep their objects in Kokkos Views (or plain arrays), one per slot.

#include <valet/block_storage.hpp>
#include <valet/export.hpp>
#include <valet/mpi.hpp>
#include <valet/options.hpp>
#include <valet/plan.hpp>
#include <valet/ragged_storage.hpp>
#include <valet/report.hpp>

#ifdef VALET_ZOLTAN_VIEWS
#include <valet/kokkos/blocks.hpp>
#include <valet/zoltan/detail/view_columns.hpp>
#endif

#include <zoltan_types.h>

#include <cstdint>
#include <functional>
#include <span>
#include <type_traits>

namespace valet::zoltan {

/// One of the lists that Zoltan_LB_Partition() returns: an entry for each object. The arrays remain
/// the caller's.
struct PartitionList {
  int count = -1;                              ///< objects; -1: the list is not given
  const ZOLTAN_ID_TYPE* global_ids = nullptr;  ///< count * gid_entries
  const ZOLTAN_ID_TYPE* local_ids = nullptr;   ///< count * lid_entries, of the rank they come from
  const int* procs = nullptr;  ///< the ranks that imports come from and exports go to
  const int* parts = nullptr;  ///< the parts that they go to; null where parts are ranks
};

/// What Zoltan_LB_Partition() or Zoltan_LB_Balance() returned on this rank, or lists of one's own
/// in that form. Exports, imports or both, as RETURN_LISTS has it: with both the exports count, as
/// in Zoltan_Migrate(), and imports must agree with them.
struct PartitionLists {
  int gid_entries = 1;    ///< words of a global id; the same on all ranks
  int lid_entries = 1;    ///< words of a local id, 0 for none; the same on all ranks
  PartitionList imports;  ///< what comes to this rank: its local ids are of where it comes from
  PartitionList exports;  ///< what leaves this rank, or all that it has (RETURN_LISTS PARTS)
};

/// Where migrate() finds what lists leave open, and what it returns per slot. Functions and arrays
/// are given on all ranks or on none.
struct ListOptions {
  /// How the data moves: budget, method, order, verification.
  Options migration = {};
  /// The slot of an object, by its global and its local id (null where there are none). Called on
  /// the rank that has the object, once, before anything moves. Without it the first word of the
  /// local id is the slot. Must not communicate; what it throws is callback_failed on all ranks.
  std::function<std::uint64_t(const ZOLTAN_ID_TYPE* global_id, const ZOLTAN_ID_TYPE* local_id)>
      slot_of = {};
  /// The rank of each part; empty: objects go where the lists say. With it the part of an object
  /// alone says where it goes: exports need no `procs`. Objects that are not listed stay where they
  /// are, so get RETURN_LISTS PARTS where the table differs from Zoltan's. [local]
  std::span<const int> part_to_rank = {};
  /// One per slot, or empty: gets the part of the object in each slot, of those that only change
  /// their part, too; their rank where lists have no parts. Others keep the part that stands here
  /// before, and bring it along. [local]
  std::span<int> parts = {};
  /// gid_entries per slot, or empty: gets the global id of the object in each slot likewise. Not
  /// where ids are among the fields of the storage, which move anyway. [local]
  std::span<ZOLTAN_ID_TYPE> global_ids = {};
};

/// What one migrate() did.
struct ListMigration {
  std::uint64_t count = 0;           ///< objects on this rank now: in slots 0 to count-1
  std::uint64_t required_slots = 0;  ///< slots that this rank needed
  std::uint64_t list_bytes = 0;      ///< most that Valet had allocated for the lists at a time
  double list_seconds = 0;           ///< from the lists to a map, on this rank
  Report report;                     ///< the migration's, on this rank
};

/// Moves the objects of Zoltan's lists, every field of `storage`, within its memory and a budget.
///
/// Collective; blocking. No Zoltan_Struct is needed and no callback is called. Where only imports
/// are given (RETURN_LISTS IMPORT) they are sent back to where the objects are. Objects that no
/// list names stay. The slots afterwards are those of Options::order, by slot before, whatever the
/// order of the lists.
///
/// @param communicator  That of Zoltan_Create().
/// @param lists     As Zoltan returned them; read only during this call. [local]
/// @param occupied  The objects of this rank: their number, in the first slots, or a mask. [local]
/// @param storage   The data that moves; its number of slots is the most objects that this rank
///                  can hold. [local]
/// @param options   The same on all ranks but for what is local.
/// @return The new count, what it took, and the report of the migration.
/// @throws Error invalid_argument  No lists (RETURN_LISTS NONE), some ranks give exports and others
///         only imports, arrays are missing, objects are listed twice, are in a slot without an
///         object or are in a part without a rank, or imports are not what others export to here.
/// @throws Error slot_out_of_range  A local id is no slot, or slot_of returned none.
/// @throws Error rank_out_of_range  A list or the table names a rank that there is not.
/// @throws Error infeasible  Some rank would get more objects than it has slots; the text has the
///         required slots. Further the errors of valet::plan_to_ranks() and valet::execute();
///         callback_failed also for slot_of: nothing has moved then.
///         All are thrown on all ranks alike, and the data is as it was, but for mpi_failure,
///         corrupted and the callback_failed of valet::execute(); in ListOptions::global_ids those
///         of listed objects may stand already.
///
/// Memory beyond the storage, the lists and valet::execute()'s bound: 4 bytes a slot for the map,
/// as much for ListOptions::parts, which with global_ids keep up to 64 KiB while data moves. For
/// lists of imports only, before that: 24 KiB, 4*(gid_entries + lid_entries + 2) bytes for each
/// object that is imported from here, 4 for each that is imported and 512 for each rank on either
/// side.
/// Time: O(slots + objects listed); with imports and exports one reduction more than with one.
VALET_EXPORT ListMigration migrate(MPI_Comm communicator, const PartitionLists& lists,
                                   const Occupied& occupied, const BlockStorage& storage,
                                   const ListOptions& options = {});

/// Moves objects whose data are blocks of different sizes: object k has block k of every ragged
/// field and row k of every column, and k is its slot.
///
/// Collective; blocking. As above in all else.
///
/// @param communicator  That of Zoltan_Create().
/// @param lists    As Zoltan returned them; read only during this call. [local]
/// @param count    Objects of this rank: the first blocks and rows. [local]
/// @param storage  The data that moves, ids of the objects best among its columns. It has the slots
///                 that its smallest array of lengths or rows has. [local]
/// @param options  The same on all ranks but for what is local; order any or stable.
/// @return As above; the required slots are the blocks that this rank has room for now.
/// @throws Error As above, of plan_to_ranks() and execute() those for ragged blocks: infeasible
///         also where some rank would get more bytes than an arena has; the text has them.
///
/// Memory beyond the storage, the lists and the bound of execute() for ragged blocks: 4 bytes an
/// object for the map, which is held while data moves, and what is said above of parts and imports.
VALET_EXPORT ListMigration migrate(MPI_Comm communicator, const PartitionLists& lists,
                                   std::uint64_t count, const RaggedStorage& storage,
                                   const ListOptions& options = {});

#ifdef VALET_ZOLTAN_VIEWS
/// Moves the rows of Views: migrate() of valet::kokkos::blocks(first, rest...).
/// @param communicator  That of Zoltan_Create().
/// @param lists     As Zoltan returned them; read only during this call. [local]
/// @param occupied  The objects of this rank: their number, in the first rows, or a mask. [local]
/// @param options   The same on all ranks but for what is local.
/// @param first     A View or DualView, or an execution space instance.
/// @param rest      The other Views or DualViews. Their extent(0) is the most objects that this
/// rank can hold.
/// @return As above, with the errors of that.
template <class First, class... Rest>
requires(detail::is_column_view<First> || Kokkos::is_execution_space<First>::value) ListMigration
    migrate(MPI_Comm communicator, const PartitionLists& lists, const Occupied& occupied,
            const ListOptions& options, const First& first, const Rest&... rest) {
  return migrate(communicator, lists, occupied, valet::kokkos::blocks(first, rest...), options);
}
/// The same with the defaults of all options.
template <class First, class... Rest>
requires(detail::is_column_view<First> || Kokkos::is_execution_space<First>::value) ListMigration
    migrate(MPI_Comm communicator, const PartitionLists& lists, const Occupied& occupied,
            const First& first, const Rest&... rest) {
  return migrate(communicator, lists, occupied, valet::kokkos::blocks(first, rest...));
}
#endif

}  // namespace valet::zoltan
