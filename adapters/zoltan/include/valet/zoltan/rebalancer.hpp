// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Partition with Zoltan, then move the data in place: for codes whose objects live in Kokkos Views
/// (or plain arrays), one object per slot.

#include <valet/block_storage.hpp>
#include <valet/export.hpp>
#include <valet/mpi.hpp>
#include <valet/options.hpp>
#include <valet/ragged_storage.hpp>
#include <valet/report.hpp>
#include <valet/zoltan/columns.hpp>
#include <valet/zoltan/detail/view_columns.hpp>

#ifdef VALET_ZOLTAN_VIEWS
#include <valet/kokkos/blocks.hpp>
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

/// Partitioning with Zoltan, and migration of what it decides.
namespace valet::zoltan {

/// What Rebalancer::rebalance() does where Zoltan gives a rank more objects than it has slots, or
/// more bytes than an arena has.
enum class WhenInfeasible {
  refuse,  ///< nothing: it throws infeasible, and nothing has moved
  repair,  ///< corrects the partition by the fewest changes: valet::repair(); not for RaggedStorage
  grow     ///< asks the application for more: RebalancerOptions::grow and grow_ragged
};

/// Room that a partition asks of a rank for objects whose data are blocks of different sizes.
struct RaggedRoom {
  std::uint64_t blocks = 0;          ///< lengths of every ragged field, rows of every column
  std::vector<std::uint64_t> bytes;  ///< of each ragged field, what aligns its blocks included
};

/// What the user decides about partition and migration. The same on all ranks, but for `grow`,
/// `grow_ragged` and migration.budget_bytes.
struct RebalancerOptions {
  /// A method of Zoltan, in upper or lower case. By coordinates: RCB, RIB or HSFC. By the order of
  /// ranks and slots: BLOCK (contiguous, balanced weights), CYCLIC (one by one, weights ignored)
  /// or, beyond Zoltan's, BLOCK_CYCLIC (block by block, weights ignored), which are planned without
  /// exchanging counts (Report::plan_from_layout). RANDOM. By what the
  /// application tells Zoltan through query functions that it registers on Rebalancer::handle():
  /// GRAPH, HYPERGRAPH, HIER or REFTREE; local ids are slots there, global ids those of
  /// Rebalancer::global_ids().
  ///
  /// CYCLIC, BLOCK_CYCLIC and, without weights, BLOCK are arithmetic: Zoltan is asked only where it
  /// has been given parameters, or Rebalancer::handle() has been called. Then there is no map, and
  /// with migration.order any the objects end in the order of the layout: of P ranks and blocks of
  /// b the object with number g, by rank and slot, in slot (g / (b P)) b + g mod b.
  std::string method = "RCB";
  /// Objects in a block of BLOCK_CYCLIC and CYCLIC; others have none.
  std::uint64_t block_size = 1;
  /// Largest over mean weight per rank that Zoltan aims for; above 1.
  double imbalance_tolerance = 1.05;
  /// Balance the number of objects as a second weight beside the given weights. RCB only, and a
  /// compromise: RCB makes one cut at a time and minimises a norm of both imbalances
  /// (RCB_MULTICRITERIA_NORM: 1 sum, 2 Euclid, 3 maximum), so that neither is within its tolerance
  /// for certain. Without weights the number is what is balanced anyway.
  bool balance_count = false;
  /// What rebalance() does where a partition does not fit.
  WhenInfeasible when_infeasible = WhenInfeasible::refuse;
  /// For WhenInfeasible::grow: enlarges the application's storage to at least so many slots, with
  /// the objects where they are, and returns it. Called in rebalance() on the ranks that need more
  /// slots only, after the partition and before anything moves; so it must not communicate. It may
  /// throw: then all ranks throw callback_failed and nothing has moved; what was enlarged stays so.
  /// Columns that were given to the Rebalancer and are in memory that was replaced must be given
  /// anew before the next partition, here for instance.
  std::function<BlockStorage(std::uint64_t required_slots)> grow = {};
  /// The same for a RaggedStorage, on the ranks that need more blocks or more bytes.
  std::function<RaggedStorage(const RaggedRoom& required)> grow_ragged = {};
  /// The most objects in a cell. Zoltan takes about 100 bytes and 200 ns for every object it is
  /// given, so RCB, RIB and HSFC are given cells of neighbouring objects; the objects of a cell
  /// that a cut goes through are put on its sides one by one. Nothing: cells of at
  /// most 1 % of a rank's share of the work, mostly far less, as far as memory goes
  /// (RebalanceResult::largest_cell_share); ranks with few objects give each by itself. 1: every
  /// object by itself, on all ranks. Objects with global_ids() are never put in cells.
  std::optional<std::uint64_t> granularity = {};
  /// Any parameter of Zoltan, as name and value; NUM_GLOBAL_PARTS or NUM_LOCAL_PARTS for other
  /// parts than one per rank. Those that the options above stand for, and those that fix the form
  /// of ids and lists, are refused.
  std::vector<std::pair<std::string, std::string>> parameters = {};
  /// How the data moves: budget, method, order, verification.
  Options migration = {};
};

/// Largest over mean per rank; 1 is perfect balance.
struct Imbalance {
  double weight = 1;  ///< by the weights; by the count where there are none
  double count = 1;   ///< by the number of objects
};

/// What one rebalance() did.
struct RebalanceResult {
  std::uint64_t count = 0;                  ///< objects on this rank now: in slots 0 to count-1
  std::uint64_t required_slots = 0;         ///< slots that this rank needed
  Imbalance before;                         ///< over all ranks
  Imbalance after;                          ///< over all ranks
  double partition_seconds = 0;             ///< Zoltan, on this rank
  double migration_seconds = 0;             ///< planning and moving, on this rank
  double largest_cell_share = 0;            ///< see Partition::largest_cell_share()
  std::uint64_t partition_extra_bytes = 0;  ///< see Partition::extra_bytes()
  Report report;                            ///< the migration's, on this rank
};

/// What Rebalancer::partition() decided, before anything moves: to be looked at, changed, and then
/// given to Rebalancer::migrate(). Move-only; local, it may outlive the Rebalancer.
class VALET_EXPORT Partition {
 public:
  /// Moves a partition; what it is moved from can be destroyed or assigned to.
  Partition(Partition&&) noexcept;
  /// Frees this partition and moves another one here.
  Partition& operator=(Partition&&) noexcept;
  Partition(const Partition&) = delete;
  Partition& operator=(const Partition&) = delete;
  ~Partition();

  /// Objects on this rank: those in slots 0 to count()-1. [local]
  [[nodiscard]] std::uint64_t count() const;
  /// The rank that each object goes to, which may be changed; count() entries. [local]
  /// @throws std::bad_alloc where it is not written down before, see RebalancerOptions::method.
  [[nodiscard]] std::span<int> ranks();
  /// The same to look at. [local]
  [[nodiscard]] std::span<const int> ranks() const;
  /// The part that Zoltan put each object in; empty where parts are ranks. [local]
  [[nodiscard]] std::span<const int> parts() const;
  /// Over all ranks, as the objects are now.
  [[nodiscard]] Imbalance before() const;
  /// Over all ranks, as they will be: by the ranks that partition() or the last
  /// Rebalancer::evaluate() found.
  [[nodiscard]] Imbalance after() const;
  /// Slots that this rank will need; likewise. [local]
  [[nodiscard]] std::uint64_t required_slots() const;
  /// Seconds that the partition took. [local]
  [[nodiscard]] double seconds() const;
  /// The heaviest cell of all ranks, as a part of a rank's (or part's) share of the weight: so much
  /// the balance may be off. 0 where every object was given to Zoltan by itself. Above 0.01 where
  /// a single object weighs as much; or where a rank holds so much more than its share that its
  /// memory for cells is used up: then partition again after migrating, when it holds less.
  [[nodiscard]] double largest_cell_share() const;
  /// The most memory that the partition took: what Valet allocated, the map included, and 100 bytes
  /// for each cell or object that Zoltan was given, more than its geometric methods take; for
  /// methods that ask the application for graphs and the like what the process grew by meanwhile,
  /// where that is more. [local]
  [[nodiscard]] std::uint64_t extra_bytes() const;

 private:
  friend class Rebalancer;
  struct State;
  explicit Partition(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

/// Balances objects over the ranks of a communicator and moves their data in place. Move-only. Must
/// be destroyed before MPI_Finalize, on all ranks.
///
/// Memory beyond the storage: with order any and methods that go by coordinates, 12 bytes a slot
/// and the budget once, the map included, and what valet::execute() is promised apart from its
/// slots; in this the cells are held before anything is moved, and what Zoltan takes for them (but
/// up to 8,192 in any case, 1.6 MB). Where parts are not ranks 4 bytes more per object, 16 bytes
/// per rank while imbalances are computed. Where ranks follow from the order of the objects there
/// is no map. Other methods, and a granularity of 1, take what Zoltan takes, about 100 bytes per
/// object, before anything is moved. Columns that the host cannot read are read 8,192 slots at a
/// time, through 64 KiB for each and 32 KiB for each call that gave some, before anything is moved.
///
/// With a RaggedStorage the partition takes the same; then data moves within what valet::execute()
/// is promised for ragged blocks and 4 bytes an object, the map, which there always is.
class VALET_EXPORT Rebalancer {
 public:
  /// Takes the options, and Zoltan's parameters among them. Collective over `communicator`, which
  /// is duplicated.
  /// @param communicator  An intracommunicator.
  /// @param options       The same on all ranks, but for migration.budget_bytes.
  /// @throws Error invalid_argument naming a method, tolerance or parameter that Zoltan does not
  ///         know or that is refused, on all ranks alike; not_initialized, invalid_communicator.
  explicit Rebalancer(MPI_Comm communicator, const RebalancerOptions& options = {});
  /// Moves a rebalancer; what it is moved from can be destroyed or assigned to.
  Rebalancer(Rebalancer&&) noexcept;
  /// Frees this rebalancer, on all ranks, and moves another one here.
  Rebalancer& operator=(Rebalancer&&) noexcept;
  Rebalancer(const Rebalancer&) = delete;
  Rebalancer& operator=(const Rebalancer&) = delete;
  ~Rebalancer();

  /// Where the objects are: 1 to 3 columns, the same number on all ranks. Local. Needed for RCB,
  /// RIB and HSFC. Read by each rebalance(), in the state they then have: a View that belongs to
  /// the storage moves along. For arrays: array_columns().
  void coordinates(ColumnSource source);
  /// How much work each object is: one column of finite values of at least 0. Local. Without
  /// weights all objects count the same.
  void weights(ColumnSource source);
  /// From now on all objects count the same. Local.
  void no_weights();
  /// The objects' names in Zoltan's query functions: a column of integers from 0 to 2^32-1 for each
  /// entry of a global id, 1 to 3, the same number on all ranks. Unique over all ranks. Local.
  /// Without them an object is named by two entries, its rank and its slot.
  void global_ids(ColumnSource source);
  /// See RebalancerOptions::balance_count. Local; the same on all ranks.
  void balance_count(bool balance);

#ifdef VALET_ZOLTAN_VIEWS
  /// Where the objects are, as Views: one of rank 2, slots x (1 to 3), or one of rank 1 for each
  /// component. Local. Copies of the Views are kept. Their execution spaces' default instances are
  /// fenced before they are read.
  ///
  /// The numbers of Views that the host cannot read (CudaSpace, HIPSpace), or that are managed
  /// (CudaUVMSpace), are read by kernels on these instances, some slots at a time: never all are on
  /// the host. What a kernel or a fence throws is callback_failed. A DualView is read on its device
  /// side, to which what the host modified is copied first; one that is marked as modified on both
  /// sides is invalid_argument.
  template <class... Views>
  requires(detail::is_column_view<Views>&&...) void coordinates(const Views&... views) {
    static_assert(sizeof...(Views) > 0, "Valet: give the coordinates");
    coordinates(detail::view_columns(views...));
  }
  /// How much work each object is, as a View or DualView of rank 1. Local.
  template <class View>
  requires(detail::is_column_view<View>) void weights(const View& view) {
    weights(detail::view_columns(view));
  }
  /// The objects' names, as a View or DualView of rank 1, or of rank 2, slots x entries. Local.
  template <class View>
  requires(detail::is_column_view<View>) void global_ids(const View& view) {
    global_ids(detail::view_columns(view));
  }

  /// Moves the rows of Views as a partition says: migrate() of valet::kokkos::blocks(first,
  /// rest...).
  /// @param partition  Of this rebalancer.
  /// @param first      A View or DualView, or an execution space instance.
  /// @param rest       The other Views or DualViews.
  template <class First, class... Rest>
  requires(!std::is_same_v<First, BlockStorage>) RebalanceResult
      migrate(Partition partition, const First& first, const Rest&... rest) {
    return migrate(std::move(partition), valet::kokkos::blocks(first, rest...));
  }

  /// Partitions and moves the rows of Views: rebalance() of valet::kokkos::blocks(first, rest...).
  /// @param count  Objects on this rank, in rows 0 to count-1; below 2^31. [local]
  /// @param first  A View or DualView, or an execution space instance.
  /// @param rest   The other Views or DualViews. Their extent(0) is the most objects that this rank
  /// can hold.
  template <class First, class... Rest>
  requires(!std::is_same_v<First, BlockStorage>) RebalanceResult
      rebalance(std::uint64_t count, const First& first, const Rest&... rest) {
    return rebalance(count, valet::kokkos::blocks(first, rest...));
  }
#endif

  /// Partitions the objects in slots 0 to count-1 and moves every field of `storage` accordingly:
  /// partition() and migrate() in one call, with the errors of both.
  ///
  /// Collective; blocking. Coordinates and weights take part in the move only if they are among
  /// the fields of `storage`, and they should be, for the next time.
  ///
  /// @param count    Objects on this rank; below 2^31. [local]
  /// @param storage  The data that moves; its number of slots is the most objects that this rank
  ///                 can hold, unless RebalancerOptions::grow gives it more. [local]
  /// @return The new count, imbalances, times and the report of the migration.
  /// @throws Error infeasible  The partition gives some rank more objects than it has slots, and
  ///         RebalancerOptions::when_infeasible is to refuse that; or all ranks together have too
  ///         few slots, or the storage that RebalancerOptions::grow gave has. callback_failed where
  ///         that threw. On all ranks alike, and nothing has moved.
  RebalanceResult rebalance(std::uint64_t count, const BlockStorage& storage);

  /// Partitions objects whose data are blocks of different sizes, and moves them: object k, in slot
  /// k, has block k of every ragged field and row k of every column. Collective; blocking.
  ///
  /// As above in all else. Bytes are balanced where they are the weights (block_bytes()); together
  /// with balance_count blocks are, too.
  ///
  /// @param count    Objects on this rank: the first blocks and rows. [local]
  /// @param storage  Coordinates and weights best among its columns; its capacities, in bytes and
  ///                 in blocks, are the most that this rank can hold, unless
  ///                 RebalancerOptions::grow_ragged gives it more. [local]
  /// @throws Error infeasible  As above; also for bytes that do not fit an arena. invalid_argument
  ///         where RebalancerOptions::when_infeasible is to repair, which counts no bytes. On all
  ///         ranks alike, and nothing has moved.
  RebalanceResult rebalance(std::uint64_t count, const RaggedStorage& storage);

  /// Asks Zoltan where the objects in slots 0 to count-1 should be. Moves nothing.
  ///
  /// Collective; blocking.
  ///
  /// @param count  Objects on this rank; below 2^31. [local]
  /// @throws Error invalid_argument  Coordinates are missing or not finite, weights are negative,
  ///         not finite or all zero, global ids are no integers, or Zoltan cannot partition (it
  ///         explains on standard error).
  /// @throws Error out_of_memory, also where Zoltan found none; callback_failed where coordinates,
  ///         weights or global ids could not be read. On all ranks alike.
  [[nodiscard]] Partition partition(std::uint64_t count);

  /// Computes after() and required_slots() of a partition whose ranks() have been changed, with the
  /// weights as they are now. Collective; blocking.
  /// @throws Error rank_out_of_range, and as partition(), on all ranks alike.
  void evaluate(Partition& partition);

  /// The slots that every rank will need, by the last evaluate(), to grow for. Collective; 8 bytes
  /// per rank. @throws Error out_of_memory.
  [[nodiscard]] std::vector<std::uint64_t> required_slots(const Partition& partition) const;

  /// The room that this rank will need, by the ranks() that the partition has now, to grow for.
  /// Collective; blocking: it plans the migration and forgets the plan.
  /// @param partition  Of this rebalancer.
  /// @param storage    The blocks that were partitioned. [local]
  /// @throws Error as valet::plan_to_ranks() for ragged blocks, on all ranks alike.
  [[nodiscard]] RaggedRoom required_room(const Partition& partition,
                                         const RaggedStorage& storage) const;

  /// Moves every field of `storage` as a partition says. Collective; blocking.
  ///
  /// @param partition  Of the objects that are in the storage now, by the ranks() that it has now;
  ///                   their weights are read again for the result's imbalance.
  /// @param storage    As for rebalance(). [local]
  /// @return As rebalance().
  /// @throws Error infeasible  The partition gives some rank more objects than it has slots; the
  ///         text has the required slots. Grow the storage there, or balance the count.
  /// @throws Error Further the errors of evaluate(), valet::plan_to_ranks() and valet::execute().
  /// All are thrown
  ///         on all ranks alike, and the data is as it was, but for mpi_failure, corrupted and the
  ///         callback_failed of valet::execute().
  RebalanceResult migrate(Partition partition, const BlockStorage& storage);
  /// The same for blocks of different sizes. Collective; blocking.
  /// @throws Error infeasible also where a rank would get more bytes than an arena has.
  RebalanceResult migrate(Partition partition, const RaggedStorage& storage);

  /// Zoltan's own handle: to register the application's query functions for graphs, hypergraphs,
  /// hierarchies, trees, parts and fixed objects (with REMAP 0: Zoltan renumbers parts otherwise),
  /// and for functions that have no counterpart here and do not ask for objects. Those for objects
  /// and coordinates are registered during a partition only.
  [[nodiscard]] Zoltan_Struct* handle() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace valet::zoltan
