// SPDX-License-Identifier: BSD-3-Clause
#include "rebalance/balancer.hpp"

#include "base/assert.hpp"
#include "base/diagnose.hpp"
#include "base/memory_reserve.hpp"
#include "mpi/agreement.hpp"
#include "mpi/check.hpp"
#include "mpi/wait_limit.hpp"
#include "rebalance/dealing.hpp"
#include "rebalance/part_ranks.hpp"
#include "storage/growth.hpp"
#include "storage/guarded_backend.hpp"
#include <valet/log.hpp>
#include <valet/repair.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

namespace valet::rebalance {
namespace {

Diagnostic no_memory_for_map(std::uint64_t count) {
  return diagnose(ErrorCode::out_of_memory, "no memory for the map of ", count, " objects");
}

/// Counts what columns are staged in while it lives.
class Staging {
 public:
  Staging(Ledger& ledger, const Objects& objects)
      : ledger_(ledger), bytes_(objects.staging_bytes()) {
    ledger_.add(bytes_);
  }
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;
  ~Staging() { ledger_.subtract(bytes_); }

 private:
  Ledger& ledger_;
  std::size_t bytes_;
};

/// What one rank has.
struct Load {
  double weight = 0;
  double count = 0;
};
static_assert(sizeof(Load) == 2 * sizeof(double));

struct Totals {
  Imbalance imbalance;
  Load sum;
};

double largest_over_mean(double largest, double sum, int ranks) {
  return sum > 0 ? largest * ranks / sum : 1;
}

/// How well work and objects are balanced over the ranks. Collective; two reductions.
/// @param largest  Other numbers, which become the largest of all ranks; at most 8.
Totals totals_over_ranks(const mpi::Channel& communicator, const Load& own,
                         std::span<double> largest) {
  constexpr std::size_t most = 8;
  VALET_ASSERT(largest.size() <= most);
  std::array<double, 2> sums{own.weight, own.count};
  std::array<double, 2 + most> maxima{own.weight, own.count};
  std::ranges::copy(largest, maxima.begin() + 2);
  mpi::sum(communicator, sums);
  mpi::maximum(communicator, std::span(maxima).first(2 + largest.size()));
  std::copy_n(maxima.begin() + 2, largest.size(), largest.begin());
  return {{largest_over_mean(maxima[0], sums[0], communicator.size()),
           largest_over_mean(maxima[1], sums[1], communicator.size())},
          {sums[0], sums[1]}};
}

Diagnostic bad_rank(std::uint64_t slot, int rank, std::size_t ranks) {
  return diagnose(ErrorCode::rank_out_of_range, "the object in slot ", slot, " is sent to rank ",
                  rank, ", but there are ranks 0 to ", ranks - 1,
                  "; fix Partition::ranks(), nothing has moved");
}

/// Adds what each rank is given. Local.
std::optional<Diagnostic> add_up(const Objects& objects, std::span<const int> ranks,
                                 std::span<Load> given) {
  std::optional<Diagnostic> found;
  objects.for_each_weight([&](std::uint64_t k, double weight) {
    const int rank = ranks[k];
    if (rank < 0 || static_cast<std::size_t>(rank) >= given.size()) {
      if (!found) found = bad_rank(k, rank, given.size());
      return;
    }
    Load& load = given[static_cast<std::size_t>(rank)];
    load.weight += weight;
    load.count += 1;
  });
  return found;
}
std::optional<Diagnostic> add_up(const Objects& objects, const OrderPartition& order,
                                 std::span<Load> given) {
  order.for_each_run([&](int rank, std::uint64_t first, std::uint64_t count) {
    Load& load = given[static_cast<std::size_t>(rank)];
    for (std::uint64_t k = first; k < first + count; ++k) load.weight += objects.weight(k);
    load.count += static_cast<double>(count);
  });
  return std::nullopt;
}

/// What this rank will have. Collective: each rank adds up what it gives to whom, 16 bytes per
/// rank. Where objects without weights go by their order nothing is communicated.
Load load_after(const mpi::Channel& communicator, const Objects& objects, Decision& decision) {
  if (decision.order && objects.weights.size == 0) {
    const auto count = static_cast<double>(decision.order->count_after());
    return {count, count};
  }
  const auto all = static_cast<std::size_t>(communicator.size());
  Array<Load> given;
  const auto failed = detail::unless_out_of_memory(
      [&] {
        given = Array<Load>(decision.ledger, all);
        std::fill(given.begin(), given.end(), Load{});
        std::optional<Diagnostic> found;
        objects.read_in([&] {
          found = decision.order ? add_up(objects, *decision.order, given)
                                 : add_up(objects, decision.ranks, given);
        });
        return found ? found : objects.diagnostic();
      },
      "no memory to add up the objects for ", all, " ranks");
  mpi::agree(communicator, failed);
  Load sum;
  mpi::call_blocking(
      communicator, "MPI_Reduce_scatter_block", MPI_Reduce_scatter_block, MPI_Ireduce_scatter_block,
      {std::as_bytes(std::span<const Load>(given)), std::as_writable_bytes(std::span(&sum, 1)), {}},
      [&](auto* call, const mpi::CallMemory& memory, auto... request) {
        return call(memory.sent.data(), memory.received.data(), 2, MPI_DOUBLE, MPI_SUM,
                    communicator.get(), request...);
      });
  return sum;
}

/// What the call should say although it did not fail.
std::string warning_of_bound(double imbalance, double tolerance, double largest_cell_share) {
  std::string text = "the heaviest part of the partition has " + text_of(imbalance) +
                     " times the mean weight, above the imbalance tolerance of " +
                     text_of(tolerance);
  if (largest_cell_share > tolerated_excess)
    return text + ": a cell has " + text_of(largest_cell_share) +
           " of the mean; partition again after migrating, when ranks hold less, and leave out a "
           "granularity";
  return text + ", but too many objects are at one place or on one plane for the method";
}

std::string warning_of_worse(const Imbalance& before, const Imbalance& after) {
  return "the partition has a higher imbalance of weights, largest over mean, than there was: " +
         text_of(after.weight) + " instead of " + text_of(before.weight);
}

Report carry_out(Plan& plan, const BlockStorage& storage, Array<int>& ranks) {
  ranks = {};  // the plan needs it no more, and blocks are yet to move
  return execute(plan, storage);
}
Report carry_out(RaggedPlan& plan, const RaggedStorage& storage, Array<int>& ranks) {
  return execute(plan, storage, {ranks.data(), ranks.size()});
}

/// The storage of this rank, which is enlarged if it had too little room. All ranks have found
/// theirs right before. Collective; one reduction.
/// @throws Error as storage::grow() finds it, on all ranks alike.
template <class Storage, class Grow, class Required>
Storage grown(const mpi::Channel& communicator, const Grow& grow, const Required& required,
              const Storage& storage) {
  const Storage result = grow ? storage.growing(grow) : storage;
  mpi::agree(communicator, storage::grow(result, required));
  return result;
}

RaggedRoom room_for(const RaggedPlan& plan, const RaggedStorage& storage) {
  RaggedRoom room{plan.blocks_after(), {}};
  for (std::size_t f = 0; f < storage.fields().size(); ++f)
    room.bytes.push_back(plan.required_bytes(f));
  return room;
}

}  // namespace

void Decision::write_ranks() {
  if (!order || ranks.size() == count) return;
  ranks = Array<int>(ledger, count);
  order->write(std::span<int>(ranks.data(), ranks.size()));
}

Balancer::Balancer(const mpi::Channel& communicator, Partitioner& partitioner, Settings chosen)
    : settings(std::move(chosen)), communicator_(communicator), partitioner_(partitioner) {}

/// A partitioner would deadlock or read beyond its arrays where ranks differ in the dimensions.
/// @return Whether any rank has the flag.
bool Balancer::look_at_objects(Objects& objects, Decision& decision, bool flag) const {
  objects.rank = communicator_.rank();
  std::optional<Diagnostic> mine = settings.diagnostic();
  if (!mine) mine = look_at(sources, settings.balance_count, partitioner_.traits(), objects);
  mpi::Agreement agreement;
  agreement.equal({"the number of coordinates of an object"}, objects.coordinates.size);
  agreement.equal({"the number of weights of an object"}, objects.weight_dimensions());
  agreement.equal({"the number of entries of a global id"}, objects.id_entries());
  settings.join(agreement);
  decision.is_reported = settings.is_reported;
  agreement.largest(decision.is_reported);
  agreement.largest(flag);
  double coordinate = objects.largest_coordinate;
  double weight = objects.largest_weight;
  agreement.largest(coordinate);
  agreement.largest(weight);
  agreement.run(communicator_, mine);
  objects.scale(coordinate, weight);
  return flag;
}

/// What is known of the slots when the objects have moved.
std::optional<ObjectLayout> Balancer::layout_after(const Decision& decision) const {
  if (!decision.order || settings.migration.order != Order::any) return std::nullopt;
  return decision.order->layout();
}

/// The order of these objects says it all. [global]
bool Balancer::order_decides(const Objects& objects) const {
  return settings.order_rule && (settings.order_rule->deals || objects.weights.size == 0);
}

/// Likewise, and the application has told the partitioner no more. [global]
bool Balancer::goes_by_order(const Objects& objects, bool may_know_more) const {
  using Asked = OrderRule::Asked;
  if (!order_decides(objects)) return false;
  if (settings.from && settings.order_rule->deals && !has_parts()) return true;
  if (settings.order_rule->asked == Asked::always) return false;
  return settings.order_rule->asked == Asked::never || !may_know_more;
}

/// The partitioner was asked because the application may have told it more. Where it answers what
/// arithmetic would have, objects end in the same slots: a parameter that does not change the ranks
/// does not change the slots either. Collective.
void Balancer::recognise_order(const Objects& objects, std::uint64_t all,
                               Decision& decision) const {
  if (!order_decides(objects) || has_parts() || settings.from) return;
  decision.order.emplace(communicator_, decision.ledger, *settings.order_rule, objects.count, all);
  if (follows_order(decision))
    decision.ranks = {};
  else
    decision.order.reset();
}

/// Whether the ranks that are written down are those of the order, on all ranks. Collective.
bool Balancer::follows_order(const Decision& decision) const {
  const std::span<const int> ranks(decision.ranks.data(), decision.ranks.size());
  bool is_same = true;
  if (ranks.size() == decision.count)
    decision.order->for_each_run([&](int rank, std::uint64_t first, std::uint64_t count) {
      is_same = is_same && std::ranges::all_of(ranks.subspan(first, count),
                                               [rank](int written) { return written == rank; });
    });
  return !mpi::on_some_rank(communicator_, !is_same);
}

void Balancer::allocate(Decision& decision) const {
  mpi::agree(communicator_, detail::unless_out_of_memory(
                                [&] {
                                  decision.ranks = Array<int>(decision.ledger, decision.count);
                                  if (has_parts())
                                    decision.parts = Array<int>(decision.ledger, decision.count);
                                },
                                [&] { return no_memory_for_map(decision.count); }));
}

/// From now on the partition is a map, on all ranks. Collective.
void Balancer::write_ranks(Decision& decision) const {
  if (!decision.order) return;
  mpi::agree(communicator_,
             detail::unless_out_of_memory([&] { decision.write_ranks(); },
                                          [&] { return no_memory_for_map(decision.count); }));
  decision.order.reset();
}

void Balancer::choose_ranks(const Objects& objects, bool by_order, bool may_know_more,
                            Decision& decision) const {
  // The high ends of the range of all objects, the low ends negated, and whether some rank wants
  // cells.
  constexpr std::size_t ends = Columns::most;
  std::array<double, 2 * ends + 1> largest{};
  std::ranges::copy(objects.range.high, largest.begin());
  std::ranges::transform(objects.range.low, largest.begin() + ends, std::negate<>());
  largest.back() = wants_cells(settings, partitioner_.traits().basis, objects) ? 1 : 0;
  const Totals before = totals_over_ranks(
      communicator_, {objects.total_weight, static_cast<double>(objects.count)}, largest);
  decision.before = before.imbalance;
  if (before.sum.count == 0)
    return evaluate(objects, decision);  // a partitioner need not know what to do with nothing
  if (before.sum.weight == 0)
    mpi::agree(communicator_, Diagnostic{ErrorCode::invalid_argument,
                                         "all weights are zero; give weights above zero, or none"});
  if (by_order) {
    decision.order.emplace(communicator_, decision.ledger, *settings.order_rule, objects.count,
                           static_cast<std::uint64_t>(before.sum.count), settings.from);
    evaluate(objects, decision);
  } else {
    AllObjects all{before.sum.weight, before.sum.count, {}};
    std::copy_n(largest.begin(), ends, all.range.high.begin());
    std::transform(largest.begin() + ends, largest.end() - 1, all.range.low.begin(),
                   std::negate<>());
    ask(objects, all, largest.back() > 0, may_know_more, decision);
  }
  if (!has_parts() && partitioner_.traits().knows_weights && decision.warning.empty() &&
      decision.after.weight >
          std::max(decision.before.weight, settings.imbalance_tolerance) + tolerated_excess)
    decision.warning = warning_of_worse(decision.before, decision.after);
  if (!decision.warning.empty()) log(LogLevel::warning, communicator_.rank(), decision.warning);
}

/// @param may_know_more  Whether some rank's application may have told the partitioner what parts
///                      should have: then who should have how much is not known. [global]
void Balancer::ask(const Objects& objects, const AllObjects& all, bool by_cells, bool may_know_more,
                   Decision& decision) const {
  const PartRanks part_ranks(communicator_, decision.ledger, partitioner_.traits().parts);
  if (partitioner_.traits().basis != Basis::coordinates) {
    partitioner_.partition(communicator_, decision.ledger, part_ranks,
                           {objects, objects.weight_dimensions(), all.weight, all.range},
                           decision.ranks, decision.parts);
    recognise_order(objects, static_cast<std::uint64_t>(all.count), decision);
    return evaluate(objects, decision);
  }
  const bool is_bounded = !may_know_more && !objects.count_weighs;
  CellPartition in_cells(decision.ledger, partitioner_, part_ranks, settings, objects);
  in_cells.run(communicator_, all, by_cells, is_bounded && settings.granularity != 1U,
               decision.ranks, decision.parts);
  decision.largest_cell_share = in_cells.largest_share();
  const auto reached = [&] {
    evaluate(objects, decision);
    if (!has_parts()) return decision.after.weight;
    Dealing parts(communicator_, decision.ledger, part_ranks.count(), all.weight);
    return parts.imbalance(objects, decision.parts);
  };
  double imbalance = reached();
  if ((is_bounded || !has_parts()) && in_cells.divides_cells() &&
      imbalance > settings.imbalance_tolerance + tolerated_excess) {
    in_cells.correct_division(communicator_, all, imbalance, decision.ranks, decision.parts);
    imbalance = reached();
  }
  if (is_bounded && imbalance > imbalance_bound(settings, objects, all.weight / part_ranks.count()))
    decision.warning =
        warning_of_bound(imbalance, settings.imbalance_tolerance, decision.largest_cell_share);
}

void Balancer::evaluate(const Objects& objects, Decision& decision) const {
  const Load load = load_after(communicator_, objects, decision);
  decision.after =
      totals_over_ranks(communicator_, load, std::span(&decision.largest_cell_share, 1)).imbalance;
  decision.required_slots = static_cast<std::uint64_t>(load.count);
}

Plan Balancer::make_plan(Decision& decision, const BlockStorage& storage) const {
  if (decision.order && settings.migration.order == Order::any)
    return decision.order->plan(communicator_, storage, settings.migration);
  write_ranks(decision);
  return plan_to_ranks(communicator_.get(), storage, decision.count,
                       {decision.ranks.data(), decision.ranks.size()}, settings.migration);
}

RaggedPlan Balancer::make_plan(Decision& decision, const RaggedStorage& storage) const {
  write_ranks(decision);
  return plan_to_ranks(communicator_.get(), storage, decision.count,
                       {decision.ranks.data(), decision.ranks.size()}, settings.migration);
}

/// @param may_grow  Whether the application may enlarge a storage of blocks of different sizes.
template <class Storage>
RebalanceResult Balancer::move(Decision& decision, const Storage& storage, bool may_grow) const {
  const double start = mpi::now();
  const std::optional<ObjectLayout> after = layout_after(decision);
  auto plan = make_plan(decision, storage);
  RebalanceResult result = decision;
  result.partition_extra_bytes = decision.ledger.peak_bytes();
  const double planned = mpi::now();
  const Storage target = [&] {
    if constexpr (std::is_same_v<Storage, RaggedStorage>)
      if (may_grow)
        return grown(communicator_, settings.grow_ragged, room_for(plan, storage), storage);
    return storage;
  }();
  if (settings.before_move) settings.before_move();
  const double moving = mpi::now();
  result.required_slots = plan.blocks_after();
  result.report = carry_out(plan, target, decision.ranks);
  result.count = result.report.blocks_after;
  if (result.report.plan_from_layout) result.layout = after;
  result.migration_seconds = mpi::now() - moving + planned - start;
  return result;
}

void Balancer::partition(Decision& decision) const {
  const detail::MemoryReserve reserve;
  const double start = mpi::now();
  {  // What columns are staged in ends here, before blocks move.
    Objects objects;
    objects.count = decision.count;
    const bool may_know_more =
        look_at_objects(objects, decision, partitioner_.traits().may_know_more);
    const Staging staging(decision.ledger, objects);
    const bool by_order = goes_by_order(objects, may_know_more);
    if (!by_order) allocate(decision);
    choose_ranks(objects, by_order, may_know_more, decision);
  }
  decision.partition_seconds = mpi::now() - start;
}

void Balancer::evaluate(Decision& decision) const {
  const detail::MemoryReserve reserve;
  Objects objects;
  objects.count = decision.count;
  // Who only looked at the ranks gets the slots of who did not.
  if (look_at_objects(objects, decision, decision.may_be_changed) && decision.order &&
      !follows_order(decision))
    write_ranks(decision);
  const Staging staging(decision.ledger, objects);
  evaluate(objects, decision);
}

std::vector<std::uint64_t> Balancer::required_slots(const Decision& decision) const {
  const detail::MemoryReserve reserve;
  std::vector<std::uint64_t> all;
  mpi::agree(communicator_, detail::unless_out_of_memory(
                                [&] { all.resize(static_cast<std::size_t>(communicator_.size())); },
                                "no memory for 8 bytes per rank"));
  mpi::gather_everywhere(communicator_, std::as_bytes(std::span(&decision.required_slots, 1)),
                         std::as_writable_bytes(std::span(all)));
  return all;
}

RaggedRoom Balancer::required_room(Decision& decision, const RaggedStorage& storage) const {
  const detail::MemoryReserve reserve;
  return room_for(make_plan(decision, storage), storage);
}

RebalanceResult Balancer::migrate(Decision& decision, const BlockStorage& storage) const {
  const detail::MemoryReserve reserve;
  evaluate(decision);  // its ranks may have been changed
  return move(decision, storage);
}

RebalanceResult Balancer::migrate(Decision& decision, const RaggedStorage& storage) const {
  const detail::MemoryReserve reserve;
  evaluate(decision);  // its ranks may have been changed
  return move(decision, storage);
}

RebalanceResult Balancer::settle(Decision& decision, const BlockStorage& storage) const {
  const detail::MemoryReserve reserve;
  if (settings.when_infeasible == WhenInfeasible::refuse) return move(decision, storage);
  const auto wrong = storage::diagnostic_now(storage.backend());
  if (!mpi::on_some_rank(communicator_, storage.slots() < decision.required_slots, wrong))
    return move(decision, storage);
  if (settings.when_infeasible == WhenInfeasible::grow)
    return move(decision, grown(communicator_, settings.grow, decision.required_slots, storage));
  write_ranks(decision);
  repair(communicator_.get(), decision.count, decision.ranks, storage.slots());
  return migrate(decision, storage);
}

RebalanceResult Balancer::settle(Decision& decision, const RaggedStorage& storage) const {
  const detail::MemoryReserve reserve;
  if (settings.when_infeasible == WhenInfeasible::repair)
    throw Error(
        ErrorCode::invalid_argument,
        "when_infeasible is repair, which counts slots and no bytes; take refuse or grow for "
        "blocks of different sizes");
  return move(decision, storage, settings.when_infeasible == WhenInfeasible::grow);
}

bool Balancer::changes_ranks(const Decision& decision) const {
  bool changes = false;
  if (decision.order)
    decision.order->for_each_run([&](int rank, std::uint64_t, std::uint64_t) {
      changes = changes || rank != communicator_.rank();
    });
  else
    changes = std::ranges::any_of(std::span(decision.ranks.data(), decision.ranks.size()),
                                  [&](int rank) { return rank != communicator_.rank(); });
  return mpi::on_some_rank(communicator_, changes);
}

}  // namespace valet::rebalance
