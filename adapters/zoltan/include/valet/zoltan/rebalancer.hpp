// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Partitions with Zoltan, then moves the data in place: for codes with one object per slot of
/// Kokkos Views or plain arrays.

#include <valet/block_cyclic.hpp>
#include <valet/block_storage.hpp>
#include <valet/detail/owned.hpp>
#include <valet/export.hpp>
#include <valet/mpi.hpp>
#include <valet/options.hpp>
#include <valet/ragged_storage.hpp>
#include <valet/rebalance.hpp>
#include <valet/report.hpp>
#include <valet/zoltan/columns.hpp>

#ifdef VALET_ZOLTAN_VIEWS
#include <valet/kokkos/blocks.hpp>
#include <valet/kokkos/detail/view_columns.hpp>
#endif

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

struct Zoltan_Struct;

/// Partitioning with Zoltan, and migration of the result.
namespace valet::zoltan {

using valet::Imbalance;
using valet::RaggedRoom;
using valet::RebalanceResult;
using valet::WhenInfeasible;

/// Options of partition and migration. The same on all ranks, except for `grow`, `grow_ragged`,
/// migration.budget_bytes and the parameter NUM_LOCAL_PARTS.
struct RebalancerOptions {
  /// A method of Zoltan, in upper or lower case.
  ///
  /// - By coordinates: RCB, RIB or HSFC.
  /// - By the order of ranks and slots: BLOCK (contiguous, balanced weights), CYCLIC (one by one,
  ///   ignores weights) or, in addition to Zoltan's methods, BLOCK_CYCLIC (block by block, ignores
  ///   weights). These are planned without exchanging counts (Report::plan_from_layout).
  /// - RANDOM.
  /// - By query functions that the application registers on Rebalancer::handle(): GRAPH,
  ///   HYPERGRAPH, HIER or REFTREE. In them, local ids are slots, and global ids are those of
  ///   Rebalancer::global_ids().
  ///
  /// CYCLIC, BLOCK_CYCLIC and, without weights, BLOCK are computed without Zoltan. BLOCK, and
  /// CYCLIC with block_size 1, still use Zoltan if it has been given parameters or
  /// Rebalancer::handle() has been called. Without Zoltan, or where its answer is the same, there
  /// is no map during the migration, and with migration.order any the objects end in the order of
  /// the layout: with P ranks and blocks of b, object g, numbered by rank and slot, in slot (g / (b
  /// P)) b + g mod b.
  std::string method = "RCB";
  /// Objects per block of BLOCK_CYCLIC and CYCLIC; not used by other methods.
  std::uint64_t block_size = 1;
  /// For BLOCK_CYCLIC, in place of block_size: the objects are the elements of an array, numbered
  /// row by row, and go to the ranks in tiles, as ObjectLayout::tiles() has it. Its extents are
  /// those of all objects, and its grid has at most as many ranks as the communicator.
  std::optional<BlockCyclic> tiles = {};
  /// Zoltan's target for the largest over the mean weight per rank; above 1.
  double imbalance_tolerance = 1.05;
  /// Balance the number of objects as a second weight, in addition to the given weights. RCB only,
  /// and a compromise: RCB makes one cut at a time and minimises a norm of both imbalances
  /// (RCB_MULTICRITERIA_NORM: 1 sum, 2 Euclidean, 3 maximum), so neither is certain to be within
  /// its tolerance. Without weights the number of objects is balanced anyway.
  bool balance_count = false;
  /// What rebalance() does if a partition does not fit.
  WhenInfeasible when_infeasible = WhenInfeasible::refuse;
  /// For WhenInfeasible::grow: enlarges the application's storage to at least this many slots,
  /// leaves the objects in place, and returns the storage. Called in rebalance(), only on ranks
  /// that need more slots, after the partition and before anything moves. Must not communicate. If
  /// it throws, all ranks throw callback_failed and nothing has moved; enlarged storage stays
  /// enlarged. Columns that were given by their address must be given again where that changed;
  /// those of valet::ref() need not.
  std::function<BlockStorage(std::uint64_t required_slots)> grow = {};
  /// The same for a RaggedStorage, on ranks that need more blocks or more bytes.
  std::function<RaggedStorage(const RaggedRoom& required)> grow_ragged = {};
  /// Most objects in a cell. Zoltan takes 92 to 116 bytes and 200 ns per object, so RCB, RIB and
  /// HSFC are given cells of neighbouring objects; if a cut goes through a cell, its objects are
  /// assigned to the two sides one by one. If not set, cells have at most 1 % of a rank's share of
  /// the work, usually far less, as memory permits (RebalanceResult::largest_cell_share), and ranks
  /// with few objects give each one separately. With 1, all ranks give every object separately.
  /// Objects with global_ids() are never put in cells. The balance that is promised, and what is
  /// changed for Zoltan where it would not end, is in the guide, page Partitions.
  std::optional<std::uint64_t> granularity = {};
  /// Any parameters of Zoltan, as name and value, such as NUM_GLOBAL_PARTS or NUM_LOCAL_PARTS if
  /// parts are not ranks. The same in the same order on all ranks, but for NUM_LOCAL_PARTS.
  /// Parameters that the options above replace, those that determine the form of ids and lists, and
  /// RCB_RECTILINEAR_BLOCKS with several parts on a rank, are refused.
  std::vector<std::pair<std::string, std::string>> parameters = {};
  /// Options of the migration: budget, method, order, verification.
  Options migration = {};
};

/// The decision of Rebalancer::partition(), before anything moves: to be inspected, changed, and
/// then given to Rebalancer::migrate(). Move-only; local, may outlive the Rebalancer.
class VALET_EXPORT Partition {
 public:
  /// Moves a partition; afterwards the source can only be destroyed or assigned to.
  Partition(Partition&&) noexcept;
  /// Frees this partition and takes over another one.
  Partition& operator=(Partition&&) noexcept;
  Partition(const Partition&) = delete;
  Partition& operator=(const Partition&) = delete;
  ~Partition();

  /// Objects on this rank, in slots 0 to count()-1. [local]
  [[nodiscard]] std::uint64_t count() const;
  /// The destination rank of each object, which may be changed; count() entries. [local]
  /// @throws std::bad_alloc if the ranks are only computed now, see RebalancerOptions::method.
  [[nodiscard]] std::span<int> ranks();
  /// The same, read-only. [local]
  [[nodiscard]] std::span<const int> ranks() const;
  /// The part of each object according to Zoltan; empty if parts are ranks. [local]
  [[nodiscard]] std::span<const int> parts() const;
  /// Imbalance over all ranks, as the objects are now.
  [[nodiscard]] Imbalance before() const;
  /// Imbalance over all ranks after the migration, according to partition() or the last
  /// Rebalancer::evaluate().
  [[nodiscard]] Imbalance after() const;
  /// Slots that this rank will need, likewise. [local]
  [[nodiscard]] std::uint64_t required_slots() const;
  /// Seconds that the partition took. [local]
  [[nodiscard]] double seconds() const;
  /// The heaviest cell of all ranks, as a fraction of the share of the weight of a rank or part:
  /// the balance may be off by this much. 0 if every object was given to Zoltan separately. Above
  /// 0.01 if a single object weighs as much, or if a rank holds so much more than its share that
  /// its memory for cells is exhausted: then partition again after migrating, when it holds less.
  [[nodiscard]] double largest_cell_share() const;
  /// A sentence on a partition that is not as it should be, the same on all ranks, otherwise empty:
  /// a part is heavier than RebalancerOptions::imbalance_tolerance + 0.01 times the mean (with RCB,
  /// RIB and HSFC, one weight, and parts whose sizes the application has not set), or ranks are
  /// less balanced than before and than the tolerance. It is logged, too: set_log_callback().
  [[nodiscard]] const std::string& warning() const;
  /// Peak memory of the partition: allocations of Valet, including the map, and the most that
  /// Zoltan's method takes for each cell or object given to it (the guide, page How much memory).
  /// For methods with query functions, such as graph methods, 100 bytes for each, or the growth of
  /// the process meanwhile, if that is more. [local]
  [[nodiscard]] std::uint64_t extra_bytes() const;

 private:
  friend class Rebalancer;
  struct State;
  explicit Partition(std::unique_ptr<State> state);

  valet::detail::Owned<State> state_;
};

/// Balances objects over the ranks of a communicator and moves their data in place. Move-only. Must
/// be destroyed before MPI_Finalize, on all ranks.
///
/// Memory beyond the storage, with order any and geometric methods: budget + 64 KiB +
/// 256*neighbours + 12*slots bytes, including the map. Before anything moves, cells and Zoltan's
/// memory for them fit this bound (but up to 8,192 cells, 1.6 MB, or 2 MB if parts are not ranks,
/// are always allowed). Further memory:
///
/// - 4 bytes per object if parts are not ranks.
/// - 16 bytes per rank while imbalances are computed; with RCB, RIB and HSFC also 8 bytes per part,
///   or 64 if parts that are too heavy give to others. 4 bytes per rank with NUM_LOCAL_PARTS.
/// - No map if the order of the objects determines their ranks.
/// - For other methods, and with a granularity of 1, the memory of Zoltan, 40 to 120 bytes per
///   object by method, before anything moves.
/// - For columns that the host cannot read, which are read 8,192 slots at a time, 64 KiB per column
///   and 32 KiB per call that gave some, before anything moves.
///
/// With a RaggedStorage the partition takes the same. The data then moves within the bound of
/// valet::execute() for ragged blocks, plus 4 bytes per object for the map, which always exists.
class VALET_EXPORT Rebalancer {
 public:
  /// Makes a rebalancer and sets Zoltan's parameters. Collective over `communicator`, which is
  /// duplicated.
  /// @param communicator  An intracommunicator.
  /// @param options       The same on all ranks, with the exceptions listed in RebalancerOptions.
  /// @throws Error invalid_argument naming a method, tolerance or parameter that Zoltan does not
  ///         know or that is refused: the same error on all ranks. not_initialized.
  ///         invalid_communicator, also if MPI applies an operation of the application to a part of
  ///         a reduction: Zoltan needs all of it at once.
  explicit Rebalancer(MPI_Comm communicator, const RebalancerOptions& options = {});
  /// Moves a rebalancer; afterwards the source can only be destroyed or assigned to.
  Rebalancer(Rebalancer&&) noexcept;
  /// Frees this rebalancer, on all ranks, and takes over another one.
  Rebalancer& operator=(Rebalancer&&) noexcept;
  Rebalancer(const Rebalancer&) = delete;
  Rebalancer& operator=(const Rebalancer&) = delete;
  ~Rebalancer();

  /// Coordinates of the objects: 1 to 3 columns, the same number on all ranks. Local. Required for
  /// RCB, RIB and HSFC. Each rebalance() reads them anew: a View that belongs to the storage moves
  /// along. For arrays: array_columns().
  void coordinates(ColumnSource source);
  /// The work of each object: one column of finite, nonnegative values. Local. Without weights all
  /// objects count the same.
  void weights(ColumnSource source);
  /// Removes the weights: all objects count the same. Local.
  void no_weights();
  /// Global ids of the objects in Zoltan's query functions: 1 to 3 columns of integers from 0 to
  /// 2^32-1, one for each entry of an id, the same number on all ranks. Unique over all ranks.
  /// Local. If not given, an object has two entries, its rank and its slot.
  void global_ids(ColumnSource source);
  /// The layout that the objects are in at the next partitions, which numbers them for BLOCK
  /// without weights, CYCLIC and BLOCK_CYCLIC: RebalanceResult::layout of the last one. Local; the
  /// same on all ranks. None: objects are numbered by rank and slot.
  void from(const std::optional<ObjectLayout>& layout);
  /// See RebalancerOptions::balance_count. Local; the same on all ranks.
  void balance_count(bool balance);

#ifdef VALET_ZOLTAN_VIEWS
  /// Coordinates of the objects as Views: valet::ref(view) of one of rank 2, slots x (1 to 3), or
  /// of one of rank 1 per component, which must outlive the Rebalancer. Each partition reads the
  /// Views as they are then, after Kokkos::resize() too. Local. The default instances of their
  /// execution spaces are fenced before they are read.
  ///
  /// Views that the host cannot read (CudaSpace, HIPSpace), or that are managed (CudaUVMSpace), are
  /// read by kernels on these instances, some slots at a time: their numbers are never all on the
  /// host. Exceptions of a kernel or a fence become callback_failed. Of a DualView the device side
  /// is read, after data modified on the host has been copied to it; if both sides are marked as
  /// modified, the error is invalid_argument.
  template <class... Views>
  requires(kokkos::detail::is_column_view<Views>&&...) void coordinates(const Views&... views) {
    static_assert(sizeof...(Views) > 0, "Valet: give the coordinates");
    coordinates(kokkos::detail::view_columns(views...));
  }
  /// The work of each object: valet::ref() of a View or DualView of rank 1. Local.
  template <class View>
  requires(kokkos::detail::is_column_view<View>) void weights(const View& view) {
    weights(kokkos::detail::view_columns(view));
  }
  /// Global ids of the objects: valet::ref() of a View or DualView of rank 1, or of rank 2, slots x
  /// entries. Local.
  template <class View>
  requires(kokkos::detail::is_column_view<View>) void global_ids(const View& view) {
    global_ids(kokkos::detail::view_columns(view));
  }

  /// Moves the rows of Views as a partition determines: migrate() with valet::kokkos::blocks(first,
  /// rest...).
  /// @param partition  From this rebalancer.
  /// @param first      A View or DualView, or an execution space instance.
  /// @param rest       The other Views or DualViews.
  template <class First, class... Rest>
  requires(!std::is_same_v<First, BlockStorage>) RebalanceResult
      migrate(Partition partition, const First& first, const Rest&... rest) {
    return migrate(std::move(partition), valet::kokkos::blocks(first, rest...));
  }

  /// Partitions and moves the rows of Views: rebalance() with valet::kokkos::blocks(first,
  /// rest...).
  /// @param count  Objects on this rank, in rows 0 to count-1; below 2^31. [local]
  /// @param first  A View or DualView, or an execution space instance.
  /// @param rest   The other Views or DualViews. Their extent(0) is the most objects that this rank
  ///               can hold.
  template <class First, class... Rest>
  requires(!std::is_same_v<First, BlockStorage>) RebalanceResult
      rebalance(std::uint64_t count, const First& first, const Rest&... rest) {
    return rebalance(count, valet::kokkos::blocks(first, rest...));
  }
#endif

  /// Partitions the objects in slots 0 to count-1 and moves every field of `storage` accordingly:
  /// partition() and migrate() in one call, with the errors of both.
  ///
  /// Collective; blocking. Coordinates and weights move only if they are among the fields of
  /// `storage`; they should be, so that they are available for the next call.
  ///
  /// @param count    Objects on this rank; below 2^31. [local]
  /// @param storage  The data to move; its number of slots is the most objects that this rank can
  ///                 hold, unless RebalancerOptions::grow enlarges it. [local]
  /// @return The new count, imbalances, times and the report of the migration.
  /// @throws Error infeasible  The partition gives some rank more objects than it has slots, and
  ///         RebalancerOptions::when_infeasible is `refuse`; or all ranks together, or the storage
  ///         from RebalancerOptions::grow, have too few slots. callback_failed if that function
  ///         threw. The same error on all ranks, and nothing has moved.
  RebalanceResult rebalance(std::uint64_t count, const BlockStorage& storage);

  /// Partitions objects whose data are blocks of different sizes, and moves them: object k, in slot
  /// k, has block k of every ragged field and row k of every column. Collective; blocking.
  ///
  /// Otherwise as above. Bytes are balanced if they are the weights (block_bytes()), with
  /// balance_count together with blocks.
  ///
  /// @param count    Objects on this rank: the first blocks and rows. [local]
  /// @param storage  Preferably with coordinates and weights among its columns. Its capacities, in
  ///                 bytes and in blocks, are the most that this rank can hold, unless
  ///                 RebalancerOptions::grow_ragged enlarges them. [local]
  /// @throws Error infeasible  As above, also for bytes that do not fit an arena. invalid_argument
  ///         if RebalancerOptions::when_infeasible is `repair`, which does not count bytes. The
  ///         same error on all ranks, and nothing has moved.
  RebalanceResult rebalance(std::uint64_t count, const RaggedStorage& storage);

  /// Lets Zoltan determine the destinations of the objects in slots 0 to count-1. Moves nothing.
  ///
  /// Collective; blocking.
  ///
  /// @param count  Objects on this rank; below 2^31. [local]
  /// @throws Error invalid_argument  Coordinates are missing or not finite, weights are negative,
  ///         not finite or all zero, global ids are not integers, or Zoltan cannot partition (it
  ///         prints the reason on standard error).
  /// @throws Error out_of_memory, also of Zoltan; callback_failed if coordinates, weights or global
  ///         ids could not be read. The same error on all ranks.
  [[nodiscard]] Partition partition(std::uint64_t count);

  /// Recomputes after() and required_slots() of a partition whose ranks() have been changed, with
  /// the current weights. Collective; blocking.
  /// @throws Error rank_out_of_range, and as partition(): the same error on all ranks.
  void evaluate(Partition& partition);

  /// The slots that every rank will need according to the last evaluate(), for growing. Collective;
  /// 8 bytes per rank. @throws Error out_of_memory.
  [[nodiscard]] std::vector<std::uint64_t> required_slots(const Partition& partition) const;

  /// The room that this rank will need according to the current ranks() of the partition, for
  /// growing. Collective; blocking: it plans the migration and discards the plan.
  /// @param partition  From this rebalancer.
  /// @param storage    The partitioned blocks. [local]
  /// @throws Error as valet::plan_to_ranks() for ragged blocks, the same error on all ranks.
  [[nodiscard]] RaggedRoom required_room(const Partition& partition,
                                         const RaggedStorage& storage) const;

  /// Moves every field of `storage` as a partition determines. Collective; blocking.
  ///
  /// @param partition  A partition of the objects that are in the storage now, with its current
  ///                   ranks(). The weights are read again for the imbalance in the result.
  /// @param storage    As for rebalance(). [local]
  /// @return As rebalance().
  /// @throws Error infeasible  The partition gives some rank more objects than it has slots; the
  ///         text has the required slots. Grow the storage there, or balance the count.
  /// @throws Error Also the errors of evaluate(), valet::plan_to_ranks() and valet::execute(). All
  ///         are the same error on all ranks, and the data is unchanged, except for mpi_failure,
  ///         corrupted and the callback_failed of valet::execute().
  RebalanceResult migrate(Partition partition, const BlockStorage& storage);
  /// The same for blocks of different sizes. Collective; blocking.
  /// @throws Error infeasible also if a rank would get more bytes than an arena holds.
  RebalanceResult migrate(Partition partition, const RaggedStorage& storage);

  /// Zoltan's handle, for registering the application's query functions for graphs, hypergraphs,
  /// hierarchies, trees, parts and fixed objects (with REMAP 0, otherwise Zoltan renumbers parts),
  /// and for functions without a counterpart here that do not query objects. Query functions for
  /// objects and coordinates are registered only during a partition.
  [[nodiscard]] Zoltan_Struct* handle() const;

 private:
  struct State;
  valet::detail::Owned<State> state_;
};

}  // namespace valet::zoltan
