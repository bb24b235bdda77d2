// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Storage attached to a Zoltan_Struct: Zoltan partitions the objects in the slots of Kokkos Views
/// or arrays, and its calls move them in place. For codes that call Zoltan themselves.

#include <valet/block_storage.hpp>
#include <valet/columns.hpp>
#include <valet/detail/owned.hpp>
#include <valet/export.hpp>
#include <valet/object_layout.hpp>
#include <valet/options.hpp>
#include <valet/ragged_storage.hpp>
#include <valet/rebalance.hpp>
#include <valet/ref.hpp>
#include <valet/report.hpp>

#ifdef VALET_ZOLTAN_VIEWS
#include <valet/kokkos/blocks.hpp>
#include <valet/kokkos/detail/view_columns.hpp>
#endif

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

struct Zoltan_Struct;

namespace valet::zoltan {

/// Options of attached storage. A parameter that is set on the Zoltan_Struct itself goes before
/// them; one that is set for NULL, or in the environment, counts only where an option here has its
/// default. The same on all ranks, except for functions and budgets.
struct AttachedOptions {
  /// How the data moves: MIGRATE_METHOD, MIGRATE_MEMORY, MIGRATE_ORDER and so on.
  Options migration = {};
  /// MIGRATE_GRANULARITY: RebalancerOptions::granularity.
  std::optional<std::uint64_t> granularity = {};
  /// MIGRATE_WHEN_INFEASIBLE: what happens if a partition does not fit.
  WhenInfeasible when_infeasible = WhenInfeasible::refuse;
  /// For WhenInfeasible::grow where the storage does not grow by itself (valet::growing(), which is
  /// enough where nothing is said), or parts() are given: enlarges the arrays of the storage to at
  /// least this many slots and leaves the objects in place. Called only on ranks that need more
  /// slots, after the partition and before anything moves. Arrays given by valet::ref() are then
  /// looked at again; for others call Attached::storage(). Must not communicate. If it throws, all
  /// ranks get callback_failed, or out_of_memory, and nothing has moved.
  std::function<void(std::uint64_t required_slots)> grow = {};
  /// The same for a RaggedStorage, on ranks that need more blocks or more bytes.
  std::function<void(const RaggedRoom& required)> grow_ragged = {};
};

/// Returns one entry per slot: the part of the object there. Looked at in each call.
using PartSource = std::function<std::span<int>()>;

/// Storage attached to a Zoltan_Struct. From then on
///
/// - Zoltan asks Valet for the objects, as far as the application has registered no query function
///   of its own. Local ids are slots.
/// - With AUTO_MIGRATE, Zoltan_LB_Partition() and Zoltan_LB_Balance() move the objects in place.
///   With RETURN_LISTS NONE they are given to Zoltan in cells, as by the Rebalancer, and the whole
///   step stays within the Rebalancer's bound. Otherwise they are given one by one, in Zoltan's
///   memory, and the lists that come back are a record: their local ids are the old slots.
/// - Without AUTO_MIGRATE they only partition, and Zoltan_Migrate() and Zoltan_Help_Migrate() move
///   the objects in their lists, whose local ids are the slots at that time.
/// - The MIGRATE_* parameters of valet_zoltan.h apply. MIGRATE_METHOD is AUTO where it is not set.
///
/// PRE_MIGRATE functions run when the partition is known, before the migration is planned, and may
/// enlarge the arrays; MID_MIGRATE when all ranks have agreed on the plan and before a byte moves;
/// POST_MIGRATE when data and count() are new. None runs if nothing changes. Functions to pack, to
/// unpack and for sizes are refused: an object is either here or behind them.
///
/// For this, libvalet_zoltan has to be in front of Zoltan, on the link line or preloaded. Where it
/// is not, a warning says so once, and partition(), Valet_LB_Partition() and Valet_Set_Param() do
/// the same in any link order.
///
/// Move-only. Either this or the Zoltan_Struct may be destroyed first; a use afterwards is an error
/// on all ranks (where Valet is not in front it cannot see the structure end: end this first).
/// Copies of the structure (Zoltan_Copy(), Zoltan_LB_Eval()) have no storage: they partition with
/// the application's query functions alone, and move nothing of it.
class VALET_EXPORT Attached {
 public:
  /// Attaches storage to a structure. Collective over its communicator.
  ///
  /// @param zoltan   From Zoltan_Create().
  /// @param count    Objects of this rank, in slots 0 to count-1; below 2^31. [local]
  /// @param storage  The data to move, preferably of valet::ref(), which may be resized between
  ///                 calls. Its number of slots is the most objects that this rank can hold.
  ///                 [local]
  /// @param options  The same on all ranks, with the exceptions listed there.
  /// @throws Error invalid_argument  A null pointer, or storage is attached already: the same error
  ///         on all ranks. Errors of the storage are reported by the call that uses it.
  Attached(Zoltan_Struct* zoltan, std::uint64_t count, const BlockStorage& storage,
           const AttachedOptions& options = {});
  /// The same for blocks of different sizes: object k has block k of every ragged field and row k
  /// of every column.
  Attached(Zoltan_Struct* zoltan, std::uint64_t count, const RaggedStorage& storage,
           const AttachedOptions& options = {});
  /// The same for vectors or NodeArrays with one value per slot.
  /// @param zoltan       From Zoltan_Create().
  /// @param count        Objects of this rank. [local]
  /// @param first, rest  valet::ref() of each.
  template <valet::detail::ResizableArray First, valet::detail::ResizableArray... Rest>
  Attached(Zoltan_Struct* zoltan, std::uint64_t count, const Ref<First>& first,
           const Ref<Rest>&... rest)
      : Attached(zoltan, count, BlockStorage{field(first), field(rest)...}) {}
#ifdef VALET_ZOLTAN_VIEWS
  /// The same for Views: valet::kokkos::blocks(first, rest...).
  /// @param zoltan  From Zoltan_Create().
  /// @param count   Objects of this rank. [local]
  /// @param first   valet::ref() of a View or DualView, or an execution space instance.
  /// @param rest    valet::ref() of the other Views or DualViews.
  template <class First, class... Rest>
  requires(kokkos::detail::is_column_view<First> || Kokkos::is_execution_space<First>::value)
      Attached(Zoltan_Struct* zoltan, std::uint64_t count, const First& first, const Rest&... rest)
      : Attached(zoltan, count, valet::kokkos::blocks(first, rest...)) {
    static_assert(kokkos::detail::is_reference<First> || Kokkos::is_execution_space<First>::value,
                  "Valet: attach valet::ref(view), so that every call sees the View as it is then");
    static_assert((kokkos::detail::is_reference<Rest> && ...),
                  "Valet: attach valet::ref(view), so that every call sees the View as it is then");
  }
#endif
  /// Moves the object; afterwards the source can only be destroyed or assigned to.
  Attached(Attached&&) noexcept;
  /// Ends this and takes over another one.
  Attached& operator=(Attached&&) noexcept;
  Attached(const Attached&) = delete;
  Attached& operator=(const Attached&) = delete;
  /// Ends the use of the storage. Local. The structure remembers that it had some: partitioning and
  /// migrating with it are errors until other storage is attached, unless detach() came before.
  ~Attached();

  /// Takes the storage from the structure, which is as it was before. Collective.
  /// @throws Error invalid_argument  In a callback of Zoltan's. The same error on all ranks.
  void detach();

  /// Objects of this rank. Local.
  [[nodiscard]] std::uint64_t count() const;
  /// Says how many there are now, in slots 0 to count-1. Local.
  void count(std::uint64_t objects);
  /// The layout that the objects are in, which numbers them: BLOCK without weights, CYCLIC and
  /// BLOCK_CYCLIC leave them in one, if the order is ANY, and go on from it. Object g is then where
  /// the layout has it, whatever layouts came before, and the plan comes from the two layouts,
  /// without counts or slots that are exchanged (Report::plan_from_layout, Report::segments). It is
  /// forgotten when the count changes on any rank or objects move in any other way, as blocks of
  /// different sizes always do. Nothing is known of rows
  /// that the application itself puts elsewhere: then call forget_layout(). Local.
  [[nodiscard]] std::optional<ObjectLayout> layout() const;
  /// Says which layout the objects are in. Local; the same on all ranks. The next partition reports
  /// a count that is not that of the layout as invalid_argument.
  void layout(const ObjectLayout& layout);
  /// From now on objects are numbered by rank and slot. Local; on all ranks.
  void forget_layout();

  /// Replaces the storage, for arrays that were not given by valet::ref() and are elsewhere now.
  /// Local.
  void storage(const BlockStorage& storage);
  /// The same. Local.
  void storage(const RaggedStorage& storage);

  /// Coordinates of the objects, weights, and global ids: as for the Rebalancer. Local. Weights
  /// also say what OBJ_WEIGHT_DIM is. Without ids, an object has two entries, its rank and its
  /// slot; GRAPH and HYPERGRAPH need ids.
  Attached& coordinates(ColumnSource source);
  /// The work of each object: one column. Local.
  Attached& weights(ColumnSource source);
  /// Global ids of the objects: 1 to 3 columns of integers from 0 to 2^32-1. Local. Zoltan is told
  /// them where lists are returned or query functions of the application name objects; otherwise
  /// objects may be in cells.
  Attached& ids(ColumnSource source);
  /// Where the parts of the objects are, if parts are not ranks: they are asked for before a
  /// partition, written, and move along. Entries are from 0 to the number of parts - 1. Local, on
  /// all ranks or on none.
  Attached& parts(PartSource source);
  /// The same for a vector or NodeArray of int with one entry per slot. Local.
  template <valet::detail::ResizableArray Array>
  Attached& parts(Ref<Array> values) {
    return parts([values] { return std::span<int>(values.get()); });
  }
#ifdef VALET_ZOLTAN_VIEWS
  /// The same as Views: valet::ref() of each.
  template <class... Views>
  requires(kokkos::detail::is_column_view<Views>&&...) Attached& coordinates(
      const Views&... views) {
    return coordinates(kokkos::detail::view_columns(views...));
  }
  /// The same as a View of rank 1: valet::ref() of it.
  template <class View>
  requires(kokkos::detail::is_column_view<View>) Attached& weights(const View& view) {
    return weights(kokkos::detail::view_columns(view));
  }
  /// The same as a View of rank 1, or of rank 2, slots x entries: valet::ref() of it.
  template <class View>
  requires(kokkos::detail::is_column_view<View>) Attached& ids(const View& view) {
    return ids(kokkos::detail::view_columns(view));
  }
  /// The same as a View of int of rank 1 in host memory: valet::ref() of it.
  template <class View>
  requires(Kokkos::is_view<View>::value) Attached& parts(Ref<View> view) {
    return parts([view] { return std::span<int>(view.get().data(), view.get().extent(0)); });
  }
#endif

  /// Partitions the objects and moves them, as Zoltan_LB_Partition() does with AUTO_MIGRATE and
  /// RETURN_LISTS NONE, whatever these are. Collective; blocking.
  ///
  /// @return Whether the partition changed anything; then count() is new.
  /// @throws Error  Those of Rebalancer::rebalance(); invalid_argument also for functions of the
  ///         application that do not go with attached storage, for a parameter that says nothing
  ///         about it, for parts out of range, and in a callback of Zoltan's; callback_failed for
  ///         an error of a PRE, MID or POST function. The same error on all ranks. Before
  ///         POST_MIGRATE, nothing has moved, with the exceptions of valet::execute().
  ///
  /// Memory: that of the Rebalancer; 4 bytes per object more for parts that are not ranks.
  bool partition();

  /// The last migration of this storage, whichever call made it: the report and, if it was
  /// partitioned in that call, times and imbalances. Local.
  [[nodiscard]] const RebalanceResult& result() const;

 private:
  struct Owner;
  valet::detail::Owned<Owner> owner_;
};

}  // namespace valet::zoltan
