// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Partition with Zoltan by coordinates, then move the data in place: for codes whose objects
/// live in Kokkos Views (or plain arrays), one object per slot.

#include <valet/block_storage.hpp>
#include <valet/export.hpp>
#include <valet/mpi.hpp>
#include <valet/options.hpp>
#include <valet/report.hpp>
#include <valet/zoltan/columns.hpp>
#include <valet/zoltan/detail/view_columns.hpp>

#ifdef VALET_ZOLTAN_VIEWS
#include <valet/kokkos/blocks.hpp>
#endif

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

struct Zoltan_Struct;

/// Partitioning with Zoltan, and migration of what it decides.
namespace valet::zoltan {

/// What the user decides about partition and migration. The same on all ranks, but for
/// migration.budget_bytes.
struct RebalancerOptions {
  /// RCB, RIB or HSFC, in upper or lower case; or, by the order of ranks and slots and without
  /// coordinates, BLOCK (contiguous, balanced weights) or CYCLIC (one by one, weights ignored):
  /// these are planned without exchanging counts (Report::plan_from_layout).
  std::string method = "RCB";
  /// Largest over mean weight per rank that Zoltan aims for; above 1.
  double imbalance_tolerance = 1.05;
  /// Balance the number of objects as a second weight beside the given weights. RCB only, and a
  /// compromise: RCB makes one cut at a time and minimises a norm of both imbalances
  /// (RCB_MULTICRITERIA_NORM: 1 sum, 2 Euclid, 3 maximum), so that neither is within its tolerance
  /// for certain. Without weights the number is what is balanced anyway.
  bool balance_count = false;
  /// Any parameter of Zoltan, as name and value. Those that the options above stand for, and those
  /// that fix the form of ids and lists, are refused.
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
  std::uint64_t count = 0;           ///< objects on this rank now: in slots 0 to count-1
  std::uint64_t required_slots = 0;  ///< slots that this rank needed
  Imbalance before;                  ///< over all ranks
  Imbalance after;                   ///< over all ranks
  double partition_seconds = 0;      ///< Zoltan, on this rank
  double migration_seconds = 0;      ///< planning and moving, on this rank
  Report report;                     ///< the migration's, on this rank
};

/// Balances objects, by their coordinates or by their order, over the ranks of a communicator and
/// moves their data in place. Move-only. Must be destroyed before MPI_Finalize, on all ranks.
///
/// Memory beyond the storage and valet::execute()'s bound: 4 bytes per object for the map, 8 bytes
/// per rank while imbalances are computed; and, before anything is moved, what Zoltan takes for
/// its partition and its export list, which are freed by then. Data the host cannot read is
/// copied to it for the partition.
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

  /// Where the objects are: 1 to 3 columns, the same number on all ranks. Local. Not needed for
  /// BLOCK and CYCLIC. Read by each rebalance(), in the state they then have: a View that belongs
  /// to the storage moves along. For arrays: array_columns().
  void coordinates(ColumnSource source);
  /// How much work each object is: one column of finite values of at least 0. Local. Without
  /// weights all objects count the same.
  void weights(ColumnSource source);
  /// From now on all objects count the same. Local.
  void no_weights();
  /// See RebalancerOptions::balance_count. Local; the same on all ranks.
  void balance_count(bool balance);

#ifdef VALET_ZOLTAN_VIEWS
  /// Where the objects are, as Views: one of rank 2, slots x (1 to 3), or one of rank 1 for each
  /// component. Local. Copies of the Views are kept. Their execution spaces' default instances are
  /// fenced before they are read.
  template <class... Views>
  requires(Kokkos::is_view<Views>::value&&...) void coordinates(const Views&... views) {
    static_assert(sizeof...(Views) > 0, "Valet: give the coordinates");
    coordinates(detail::view_columns(views...));
  }
  /// How much work each object is, as a View of rank 1. Local.
  template <class View>
  requires(Kokkos::is_view<View>::value) void weights(const View& view) {
    weights(detail::view_columns(view));
  }

  /// Partitions and moves the rows of Views: rebalance() of valet::kokkos::blocks(first, rest...).
  /// @param count  Objects on this rank, in rows 0 to count-1; below 2^31. [local]
  /// @param first  A View, or an execution space instance.
  /// @param rest   The other Views. Their extent(0) is the most objects that this rank can hold.
  template <class First, class... Rest>
  requires(!std::is_same_v<First, BlockStorage>) RebalanceResult
      rebalance(std::uint64_t count, const First& first, const Rest&... rest) {
    return rebalance(count, valet::kokkos::blocks(first, rest...));
  }
#endif

  /// Partitions the objects in slots 0 to count-1 and moves every field of `storage` accordingly.
  ///
  /// Collective; blocking. Coordinates and weights take part in the move only if they are among
  /// the fields of `storage`, and they should be, for the next time.
  ///
  /// @param count    Objects on this rank; below 2^31. [local]
  /// @param storage  The data that moves; its number of slots is the most objects that this rank
  ///                 can hold. [local]
  /// @return The new count, imbalances, times and the report of the migration.
  /// @throws Error infeasible  The partition gives some rank more objects than it has slots; the
  ///         text has the required slots. Grow the storage there, or balance the count.
  /// @throws Error invalid_argument  Coordinates are missing or not finite, weights are negative,
  ///         not finite or all zero, or Zoltan cannot partition (it explains on standard error).
  /// @throws Error out_of_memory  Zoltan found no memory. Further the errors of
  ///         valet::plan_to_ranks() and valet::execute(); callback_failed also where coordinates or
  ///         weights could not be read: nothing has moved then.
  ///         All are thrown on all ranks alike, and the data is as it was, but for mpi_failure,
  ///         corrupted and the callback_failed of valet::execute().
  RebalanceResult rebalance(std::uint64_t count, const BlockStorage& storage);

  /// Zoltan's own handle, for functions that have no counterpart here and do not ask for objects:
  /// outside of rebalance() no query functions are registered.
  [[nodiscard]] Zoltan_Struct* handle() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace valet::zoltan
