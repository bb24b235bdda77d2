// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Zoltan as a partitioner: from columns of numbers, and from what the application tells Zoltan
/// itself, to a rank per object.

#include "handle/parameters.hpp"
#include "mpi/channel.hpp"
#include "rebalance/partitioner.hpp"
#include "rebalance/settings.hpp"
#include "rebalancer/stock_lists.hpp"
#include "rebalancer/zoltan_weights.hpp"
#include <valet/error.hpp>
#include <valet/ledger.hpp>

#include <zoltan.h>

#include <optional>
#include <span>
#include <string>

namespace valet::zoltan {

/// How a structure is to partition. The same on all ranks, but for parts.local.
struct PartitionSetup {
  std::string method = "RCB";    ///< in upper case; BLOCK_CYCLIC, too, which Zoltan has not
  std::uint64_t block_size = 1;  ///< of what is dealt in blocks
  int ranks = 0;                 ///< to which it is dealt; 0: all
  std::optional<BlockCyclic> tiles = {};  ///< in place of both
  bool each_object = false;         ///< objects are given as they are, for Zoltan's own partition
  bool keeps_planes = false;        ///< RCB_RECTILINEAR_BLOCKS
  bool reduces_dimensions = false;  ///< REDUCE_DIMENSIONS
  bool may_know_more = false;       ///< as PartitionerTraits has it [local]
  bool tells_objects = false;       ///< the application answers queries for objects
  bool tells_geometry = false;      ///< likewise for coordinates
  rebalance::PartCounts parts = {};
  std::span<const int> parts_before = {};  ///< of the objects, where the application gave them
  StockLists* lists = nullptr;             ///< gets the lists, if they are wanted
  const char* return_lists = "EXPORT";     ///< which ones; the exports are always among them

  [[nodiscard]] bool deals_blocks() const { return method == "CYCLIC" || method == "BLOCK_CYCLIC"; }
  /// Whether Zoltan has no method for it.
  [[nodiscard]] bool is_own_order() const { return block_size > 1 || method == "BLOCK_CYCLIC"; }
};

/// What follows from the order of the objects alone, if anything.
[[nodiscard]] std::optional<rebalance::OrderRule> order_rule_of(const PartitionSetup& setup,
                                                                bool has_parameters);
/// What the parameters say of a rebalancing.
void take_parameters(const MigrationParameters& parameters, rebalance::Settings& settings);
/// Whether there is such a method.
[[nodiscard]] std::optional<Diagnostic> check_method(const std::string& method);
/// Whether there are such parts. @param whose  Such as "the object in slot ".
[[nodiscard]] std::optional<Diagnostic> check_parts(std::span<const int> parts, int count,
                                                    const char* whose);
/// Whether the method can make parts, where there are some.
[[nodiscard]] std::optional<Diagnostic> check_makes_parts(const PartitionSetup& setup);
/// Sets a parameter of Zoltan's. @return The error that it does not take it, if so.
[[nodiscard]] std::optional<Diagnostic> set_parameter_of(Zoltan_Struct* zoltan, const char* name,
                                                         const std::string& value);
/// For an agreement: the number of a method in upper case, and its name.
[[nodiscard]] std::int64_t method_number(const std::string& method);
[[nodiscard]] std::string method_name(std::int64_t number);
/// Finds out whether MPI hands the six integers of a reduction to an operation of the application
/// all at once. Zoltan_LB_Build_PartDist reads and writes six whatever it is given; an MPI may
/// apply an operation to some at a time. Collective; a reduction.
/// @return What is wrong, on all ranks, if anything.
[[nodiscard]] std::optional<Diagnostic> check_whole_reductions(const mpi::Channel& communicator);

class ZoltanPartition final : public rebalance::Partitioner {
 public:
  /// Local. Sets parameters of the structure while it partitions: OBJ_WEIGHT_DIM, NUM_GID_ENTRIES,
  /// NUM_LID_ENTRIES, RETURN_LISTS, KEEP_CUTS.
  /// @param zoltan  Must outlive this.
  ZoltanPartition(Zoltan_Struct* zoltan, PartitionSetup setup);

  [[nodiscard]] const rebalance::PartitionerTraits& traits() const override { return traits_; }
  void may_know_more() { traits_.may_know_more = true; }
  void each_object(bool is_given) { setup_.each_object = is_given; }
  /// Whether Zoltan has partitioned.
  [[nodiscard]] bool was_asked() const { return was_asked_; }
  /// In the ledger is what Zoltan takes, about, while it does.
  /// @return False also where Zoltan was not asked: for fewer than two objects a part where a rank
  ///         has several parts, which it may never finish.
  bool partition(const mpi::Channel& communicator, Ledger& ledger,
                 const rebalance::PartRanks& part_ranks, const rebalance::Units& units,
                 std::span<int> ranks, std::span<int> parts) override;
  [[nodiscard]] std::optional<rebalance::Target> target_at(
      const rebalance::Point& before) const override;

 private:
  [[nodiscard]] std::optional<Diagnostic> prepare(const rebalance::PartRanks& part_ranks,
                                                  const rebalance::Units& units) const;
  [[nodiscard]] std::uint64_t zoltan_bytes(const mpi::Channel& communicator,
                                           const rebalance::PartRanks& part_ranks,
                                           const rebalance::Objects& objects) const;
  void ask(const mpi::Channel& communicator, Ledger& ledger, const rebalance::PartRanks& part_ranks,
           const ZoltanWeights& weights, std::span<int> ranks, std::span<int> parts);

  Zoltan_Struct* zoltan_;
  PartitionSetup setup_;
  rebalance::PartitionerTraits traits_;
  bool was_asked_ = false;
  std::size_t weight_dimensions_ = 0;  ///< of the units
  bool bisects_;                       ///< the method is RCB or RIB
  bool follows_curve_;                 ///< the method is HSFC, in the coordinates that are given
};

}  // namespace valet::zoltan
