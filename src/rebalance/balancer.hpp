// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Partitions the objects of all ranks and moves them, whatever the partitioner.

#include "mpi/channel.hpp"
#include "rebalance/cell_partition.hpp"
#include "rebalance/objects.hpp"
#include "rebalance/order_partition.hpp"
#include "rebalance/partitioner.hpp"
#include "rebalance/settings.hpp"
#include <valet/block_storage.hpp>
#include <valet/export.hpp>
#include <valet/ledger.hpp>
#include <valet/plan.hpp>
#include <valet/ragged_storage.hpp>
#include <valet/rebalance.hpp>

#include <cstdint>
#include <optional>
#include <vector>

namespace valet::rebalance {

/// Where the objects of a rank go, and what is known of the result before they have moved.
struct VALET_EXPORT Decision : RebalanceResult {
  Ledger ledger;
  /// By arithmetic: then `ranks` are written when they are asked for.
  std::optional<OrderPartition> order;
  bool is_reported = false;     ///< some rank writes a report of the migration [global]
  bool may_be_changed = false;  ///< the ranks have been given away to be changed [local]
  Array<int> ranks;             ///< one for each object
  Array<int> parts;             ///< likewise, where parts are not ranks

  /// Writes the ranks where they are not written yet. Local. @throws std::bad_alloc.
  void write_ranks();
};

/// Every function is collective and blocking, and throws the same Error on all ranks.
class VALET_EXPORT Balancer {
 public:
  /// Local.
  /// @param communicator  Must outlive this, as the partitioner.
  /// @param chosen        Right, and the same on all ranks: agreed on.
  Balancer(const mpi::Channel& communicator, Partitioner& partitioner, Settings chosen);

  Sources sources;
  Settings settings;

  /// Chooses a rank for each of the decision's objects, which are counted there. Moves nothing.
  void partition(Decision& decision) const;
  /// Computes again what a decision means, whose ranks may have been changed.
  void evaluate(Decision& decision) const;
  /// The slots that every rank will need. 8 bytes per rank.
  [[nodiscard]] std::vector<std::uint64_t> required_slots(const Decision& decision) const;
  /// The room that this rank will need.
  [[nodiscard]] RaggedRoom required_room(Decision& decision, const RaggedStorage& storage) const;
  /// Moves the objects as was decided; evaluates it first.
  RebalanceResult migrate(Decision& decision, const BlockStorage& storage) const;
  RebalanceResult migrate(Decision& decision, const RaggedStorage& storage) const;
  /// Moves the objects of a partition that nobody has changed, where need be after repair or
  /// growth.
  RebalanceResult settle(Decision& decision, const BlockStorage& storage) const;
  RebalanceResult settle(Decision& decision, const RaggedStorage& storage) const;
  /// The layout of the objects when they have moved, if they are in one then. Local.
  [[nodiscard]] std::optional<ObjectLayout> layout_after(const Decision& decision) const;
  /// Whether any object goes to another rank. Writes no ranks.
  [[nodiscard]] bool changes_ranks(const Decision& decision) const;

 private:
  bool look_at_objects(Objects& objects, Decision& decision, bool flag) const;
  void allocate(Decision& decision) const;
  void choose_ranks(const Objects& objects, bool by_order, bool may_know_more,
                    Decision& decision) const;
  void ask(const Objects& objects, const AllObjects& all, bool by_cells, bool may_know_more,
           Decision& decision) const;
  [[nodiscard]] bool order_decides(const Objects& objects) const;
  [[nodiscard]] bool goes_by_order(const Objects& objects, bool may_know_more) const;
  void recognise_order(const Objects& objects, std::uint64_t all, Decision& decision) const;
  [[nodiscard]] bool follows_order(const Decision& decision) const;
  void evaluate(const Objects& objects, Decision& decision) const;
  void write_ranks(Decision& decision) const;
  [[nodiscard]] Plan make_plan(Decision& decision, const BlockStorage& storage) const;
  [[nodiscard]] RaggedPlan make_plan(Decision& decision, const RaggedStorage& storage) const;
  template <class Storage>
  [[gnu::visibility("hidden")]] RebalanceResult move(Decision& decision, const Storage& storage,
                                                     bool may_grow = false) const;
  [[nodiscard]] bool has_parts() const { return partitioner_.traits().parts.are_given; }

  const mpi::Channel& communicator_;
  Partitioner& partitioner_;
};

}  // namespace valet::rebalance
