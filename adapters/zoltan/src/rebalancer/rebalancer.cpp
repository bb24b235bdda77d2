// SPDX-License-Identifier: BSD-3-Clause
#include "balance.hpp"
#include "base/memory_reserve.hpp"
#include "base/names.hpp"
#include "cell_partition.hpp"
#include "dealing.hpp"
#include "infeasible.hpp"
#include "mpi/agreement.hpp"
#include "mpi/channel.hpp"
#include "mpi/check.hpp"
#include "objects.hpp"
#include "part_ranks.hpp"
#include "partition_state.hpp"
#include "zoltan_partition.hpp"
#include <valet/log.hpp>
#include <valet/plan.hpp>
#include <valet/repair.hpp>
#include <valet/zoltan/rebalancer.hpp>

#include <algorithm>
#include <array>
#include <span>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace valet::zoltan {
namespace {

Diagnostic no_memory_for_map(std::uint64_t count) {
  return {ErrorCode::out_of_memory,
          "no memory for the map of " + std::to_string(count) + " objects"};
}

/// What the ranks take the largest of: the high end of the range of all objects, the low end
/// negated, and at last whether some rank wants cells.
using Largest = std::array<double, 2 * Columns::most + 1>;

Largest largest_of(const Box& range, bool wants_cells) {
  Largest largest{};
  for (std::size_t d = 0; d < Columns::most; ++d) {
    largest[d] = -range.low[d];
    largest[Columns::most + d] = range.high[d];
  }
  largest.back() = wants_cells ? 1 : 0;
  return largest;
}

AllObjects all_objects(const Load& sum, const Largest& largest) {
  AllObjects all{sum.weight, sum.count, {}};
  for (std::size_t d = 0; d < Columns::most; ++d) {
    all.range.low[d] = -largest[d];
    all.range.high[d] = largest[Columns::most + d];
  }
  return all;
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

std::string text_of(double value) {
  std::ostringstream text;
  text << value;
  return text.str();
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

RaggedRoom room_for(const RaggedPlan& plan, const RaggedStorage& storage) {
  RaggedRoom room{plan.blocks_after(), {}};
  for (std::size_t f = 0; f < storage.fields().size(); ++f)
    room.bytes.push_back(plan.required_bytes(f));
  return room;
}

}  // namespace

Partition::Partition(std::unique_ptr<State> state) : state_(std::move(state)) {}
Partition::Partition(Partition&&) noexcept = default;
Partition& Partition::operator=(Partition&&) noexcept = default;
Partition::~Partition() = default;

std::uint64_t Partition::count() const { return state_->count; }
std::span<int> Partition::ranks() {
  state_->write_ranks();
  state_->may_be_changed = true;
  return state_->ranks;
}
std::span<const int> Partition::ranks() const {
  state_->write_ranks();
  return state_->ranks;
}
std::span<const int> Partition::parts() const { return state_->parts; }
Imbalance Partition::before() const { return state_->before; }
Imbalance Partition::after() const { return state_->after; }
std::uint64_t Partition::required_slots() const { return state_->required_slots; }
double Partition::seconds() const { return state_->seconds; }
double Partition::largest_cell_share() const { return state_->largest_cell_share; }
const std::string& Partition::warning() const { return state_->warning; }
std::uint64_t Partition::extra_bytes() const { return state_->ledger.peak_bytes(); }

struct Rebalancer::State {
  State(MPI_Comm user, const RebalancerOptions& chosen)
      : communicator(mpi::Channel::open(user)), options(chosen), zoltan(communicator, chosen) {}

  mpi::Channel communicator;
  RebalancerOptions options;
  ZoltanPartition zoltan;
  Sources sources;
  bool asks_zoltan = false;  ///< the application has its handle [local]

  bool look_at_objects(Objects& objects, bool flag) const;
  void allocate(Partition::State& partition) const;
  void choose_ranks(const Objects& objects, bool by_order, bool any_asks_zoltan,
                    Partition::State& partition);
  void ask_zoltan(const Objects& objects, const AllObjects& all, bool by_cells,
                  bool any_asks_zoltan, Partition::State& partition);
  [[nodiscard]] bool has_arithmetic(const Objects& objects) const;
  [[nodiscard]] bool goes_by_arithmetic(const Objects& objects, bool any_asks_zoltan) const;
  void recognise_order(const Objects& objects, std::uint64_t all,
                       Partition::State& partition) const;
  [[nodiscard]] bool follows_order(const Partition::State& partition) const;
  void choose_by_order(std::uint64_t count, std::uint64_t all, Partition::State& partition) const;
  void evaluate(const Objects& objects, Partition::State& partition) const;
  void write_ranks(Partition::State& partition) const;
  [[nodiscard]] Plan make_plan(Partition::State& partition, const BlockStorage& storage) const;
  [[nodiscard]] RaggedPlan make_plan(Partition::State& partition,
                                     const RaggedStorage& storage) const;
  template <class Storage, class Ready>
  RebalanceResult move(Partition partition, const Storage& storage, Ready&& ready) const;
  template <class Storage>
  RebalanceResult move(Partition partition, const Storage& storage) const {
    return move(std::move(partition), storage, [&](const auto&) { return storage; });
  }
};

/// Zoltan would deadlock or read beyond its arrays where ranks differ in the dimensions.
/// @return Whether any rank has the flag.
bool Rebalancer::State::look_at_objects(Objects& objects, bool flag) const {
  objects.rank = communicator.rank();
  const std::optional<Diagnostic> mine = look_at(sources, options, objects);
  mpi::Agreement agreement;
  agreement.equal({"the number of coordinates of an object"}, objects.coordinates.size);
  agreement.equal({"the number of weights of an object"}, objects.weight_dimensions());
  agreement.equal({"the number of entries of a global id"}, objects.id_entries());
  agreement.largest(flag);
  double coordinate = objects.largest_coordinate;
  double weight = objects.largest_weight;
  agreement.largest(coordinate);
  agreement.largest(weight);
  agreement.run(communicator, mine);
  objects.scale(coordinate, weight);
  return flag;
}

/// What Zoltan does with the objects alone is known. [global]
bool Rebalancer::State::has_arithmetic(const Objects& objects) const {
  if (!goes_by_order(options.method) || valet::detail::upper_case(options.method) == "RANDOM")
    return false;
  return deals_blocks(options.method) || objects.weights.size == 0;
}

/// Likewise, and the application has told it no more. [global]
bool Rebalancer::State::goes_by_arithmetic(const Objects& objects, bool any_asks_zoltan) const {
  const bool zoltan_can =
      options.block_size == 1 && valet::detail::upper_case(options.method) != "BLOCK_CYCLIC";
  if (zoltan_can && (any_asks_zoltan || !options.parameters.empty())) return false;
  return has_arithmetic(objects);
}

/// Zoltan was asked because the application may have told it more. Where it answers what arithmetic
/// would have, objects end in the same slots: a parameter that does not change the ranks does not
/// change the slots either. Collective.
void Rebalancer::State::recognise_order(const Objects& objects, std::uint64_t all,
                                        Partition::State& partition) const {
  if (!has_arithmetic(objects) || zoltan.has_parts()) return;
  choose_by_order(objects.count, all, partition);
  if (follows_order(partition))
    partition.ranks = {};
  else
    partition.order.reset();
}

/// Whether the ranks that are written down are those of the order, on all ranks. Collective.
bool Rebalancer::State::follows_order(const Partition::State& partition) const {
  const std::span<const int> ranks(partition.ranks.data(), partition.ranks.size());
  bool is_same = true;
  if (ranks.size() == partition.count)
    partition.order->for_each_run([&](int rank, std::uint64_t first, std::uint64_t count) {
      is_same = is_same && std::ranges::all_of(ranks.subspan(first, count),
                                               [rank](int written) { return written == rank; });
    });
  mpi::Agreement agreement;
  agreement.least(is_same);
  agreement.run(communicator, std::nullopt);
  return is_same;
}

void Rebalancer::State::allocate(Partition::State& partition) const {
  mpi::agree(communicator, valet::detail::unless_out_of_memory(
                               [&] {
                                 partition.ranks = Array<int>(partition.ledger, partition.count);
                                 if (zoltan.has_parts())
                                   partition.parts = Array<int>(partition.ledger, partition.count);
                               },
                               [&] { return no_memory_for_map(partition.count); }));
}

/// From now on the partition is a map, on all ranks. Collective.
void Rebalancer::State::write_ranks(Partition::State& partition) const {
  if (!partition.order) return;
  mpi::agree(communicator, valet::detail::unless_out_of_memory(
                               [&] { partition.write_ranks(); },
                               [&] { return no_memory_for_map(partition.count); }));
  partition.order.reset();
}

void Rebalancer::State::choose_ranks(const Objects& objects, bool by_order, bool any_asks_zoltan,
                                     Partition::State& partition) {
  Largest largest = largest_of(objects.range, wants_cells(options, objects));
  const Totals before = totals_over_ranks(
      communicator, {objects.total_weight, static_cast<double>(objects.count)}, largest);
  partition.before = before.imbalance;
  if (before.sum.count == 0)
    return evaluate(objects, partition);  // Zoltan prints a warning when there is nothing to do
  if (before.sum.weight == 0)
    mpi::agree(communicator, Diagnostic{ErrorCode::invalid_argument,
                                        "all weights are zero; give weights above zero, or none"});
  if (by_order) {
    choose_by_order(objects.count, static_cast<std::uint64_t>(before.sum.count), partition);
    evaluate(objects, partition);
  } else {
    ask_zoltan(objects, all_objects(before.sum, largest), largest.back() > 0, any_asks_zoltan,
               partition);
  }
  if (!zoltan.has_parts() && partition.warning.empty() &&
      partition.after.weight >
          std::max(partition.before.weight, options.imbalance_tolerance) + tolerated_excess)
    partition.warning = warning_of_worse(partition.before, partition.after);
  if (!partition.warning.empty()) log(LogLevel::warning, communicator.rank(), partition.warning);
}

/// @param any_asks_zoltan  Whether some rank's application has the handle, and may have set sizes
/// of
///                     parts: then who should have how much is not known. [global]
void Rebalancer::State::ask_zoltan(const Objects& objects, const AllObjects& all, bool by_cells,
                                   bool any_asks_zoltan, Partition::State& partition) {
  const bool has_parts = zoltan.has_parts();
  const PartRanks part_ranks(communicator, partition.ledger, zoltan.part_counts());
  if (!goes_by_coordinates(options.method)) {
    zoltan.partition(communicator, partition.ledger, part_ranks,
                     {objects, objects.weight_dimensions(), all.weight}, partition.ranks,
                     partition.parts);
    recognise_order(objects, static_cast<std::uint64_t>(all.count), partition);
    return evaluate(objects, partition);
  }
  const bool is_bounded = !any_asks_zoltan && !objects.count_weighs;
  CellPartition in_cells(partition.ledger, zoltan, part_ranks, options, objects);
  in_cells.run(communicator, all, by_cells, is_bounded && options.granularity != 1U,
               partition.ranks, partition.parts);
  partition.largest_cell_share = in_cells.largest_share();
  const auto reached = [&] {
    evaluate(objects, partition);
    if (!has_parts) return partition.after.weight;
    Dealing parts(communicator, partition.ledger, part_ranks.count(), all.weight);
    return parts.imbalance(objects, partition.parts);
  };
  double imbalance = reached();
  if ((is_bounded || !has_parts) && in_cells.divides_cells() &&
      imbalance > options.imbalance_tolerance + tolerated_excess) {
    in_cells.correct_division(communicator, all, imbalance, partition.ranks, partition.parts);
    imbalance = reached();
  }
  if (is_bounded && imbalance > imbalance_bound(options, objects, all.weight / part_ranks.count()))
    partition.warning =
        warning_of_bound(imbalance, options.imbalance_tolerance, partition.largest_cell_share);
}

void Rebalancer::State::choose_by_order(std::uint64_t count, std::uint64_t all,
                                        Partition::State& partition) const {
  if (deals_blocks(options.method))
    partition.order = OrderPartition::dealt(communicator, count, all, options.block_size);
  else
    partition.order = OrderPartition::cut(communicator, partition.ledger, count, all);
}

void Rebalancer::State::evaluate(const Objects& objects, Partition::State& partition) const {
  const Load load = partition.order
                        ? load_after(communicator, partition.ledger, objects, *partition.order)
                        : load_after(communicator, partition.ledger, objects, partition.ranks);
  partition.after =
      totals_over_ranks(communicator, load, std::span(&partition.largest_cell_share, 1)).imbalance;
  partition.required_slots = static_cast<std::uint64_t>(load.count);
}

Plan Rebalancer::State::make_plan(Partition::State& partition, const BlockStorage& storage) const {
  if (partition.order && options.migration.order == Order::any)
    return partition.order->plan(communicator, storage, options.migration);
  write_ranks(partition);
  return plan_to_ranks(communicator.get(), storage, partition.count,
                       {partition.ranks.data(), partition.ranks.size()}, options.migration);
}

RaggedPlan Rebalancer::State::make_plan(Partition::State& partition,
                                        const RaggedStorage& storage) const {
  write_ranks(partition);
  return plan_to_ranks(communicator.get(), storage, partition.count,
                       {partition.ranks.data(), partition.ranks.size()}, options.migration);
}

/// @param ready  ready(plan) is the storage to carry it out in.
template <class Storage, class Ready>
RebalanceResult Rebalancer::State::move(Partition partition, const Storage& storage,
                                        Ready&& ready) const {
  const double start = MPI_Wtime();
  RebalanceResult result;
  result.before = partition.before();
  result.after = partition.after();
  result.partition_seconds = partition.seconds();
  result.largest_cell_share = partition.largest_cell_share();
  result.warning = partition.warning();
  auto plan = make_plan(*partition.state_, storage);
  result.partition_extra_bytes = partition.extra_bytes();
  const double planned = MPI_Wtime();
  const Storage room = std::forward<Ready>(ready)(plan);
  const double moving = MPI_Wtime();
  result.required_slots = plan.blocks_after();
  result.report = carry_out(plan, room, partition.state_->ranks);
  result.count = result.report.blocks_after;
  result.migration_seconds = MPI_Wtime() - moving + planned - start;
  return result;
}

Rebalancer::Rebalancer(MPI_Comm communicator, const RebalancerOptions& options) {
  const valet::detail::MemoryReserve reserve;
  state_ = std::make_unique<State>(communicator, options);
}
Rebalancer::Rebalancer(Rebalancer&&) noexcept = default;
Rebalancer& Rebalancer::operator=(Rebalancer&&) noexcept = default;
Rebalancer::~Rebalancer() = default;

void Rebalancer::coordinates(ColumnSource source) {
  state_->sources.coordinates = std::move(source);
}
void Rebalancer::weights(ColumnSource source) { state_->sources.weights = std::move(source); }
void Rebalancer::no_weights() { state_->sources.weights = nullptr; }
void Rebalancer::global_ids(ColumnSource source) { state_->sources.ids = std::move(source); }
void Rebalancer::balance_count(bool balance) { state_->options.balance_count = balance; }
Zoltan_Struct* Rebalancer::handle() const {
  state_->asks_zoltan = true;
  return state_->zoltan.handle();
}

Partition Rebalancer::partition(std::uint64_t count) {
  const valet::detail::MemoryReserve reserve;
  const double start = MPI_Wtime();
  auto partition = std::make_unique<Partition::State>();
  partition->count = count;
  {  // What columns are staged in ends here, before blocks move.
    Objects objects;
    objects.count = count;
    const bool asks_zoltan = state_->look_at_objects(objects, state_->asks_zoltan);
    const Staging staging(partition->ledger, objects);
    const bool by_order = state_->goes_by_arithmetic(objects, asks_zoltan);
    if (!by_order) state_->allocate(*partition);
    state_->choose_ranks(objects, by_order, asks_zoltan, *partition);
  }
  partition->seconds = MPI_Wtime() - start;
  return Partition(std::move(partition));
}

void Rebalancer::evaluate(Partition& partition) {
  const valet::detail::MemoryReserve reserve;
  Objects objects;
  objects.count = partition.count();
  Partition::State& chosen = *partition.state_;
  // Who only looked at the ranks gets the slots of who did not.
  if (state_->look_at_objects(objects, chosen.may_be_changed) && chosen.order &&
      !state_->follows_order(chosen))
    state_->write_ranks(chosen);
  const Staging staging(partition.state_->ledger, objects);
  state_->evaluate(objects, *partition.state_);
}

std::vector<std::uint64_t> Rebalancer::required_slots(const Partition& partition) const {
  const valet::detail::MemoryReserve reserve;
  const mpi::Channel& communicator = state_->communicator;
  std::vector<std::uint64_t> all;
  mpi::agree(communicator,
             valet::detail::unless_out_of_memory(
                 [&] { all.resize(static_cast<std::size_t>(communicator.size())); },
                 [] {
                   return Diagnostic{ErrorCode::out_of_memory, "no memory for 8 bytes per rank"};
                 }));
  const std::uint64_t own = partition.required_slots();
  mpi::gather_everywhere(communicator, std::as_bytes(std::span(&own, 1)),
                         std::as_writable_bytes(std::span(all)));
  return all;
}

RebalanceResult Rebalancer::migrate(Partition partition, const BlockStorage& storage) {
  const valet::detail::MemoryReserve reserve;
  evaluate(partition);  // its ranks may have been changed
  return state_->move(std::move(partition), storage);
}

RebalanceResult Rebalancer::rebalance(std::uint64_t count, const BlockStorage& storage) {
  const valet::detail::MemoryReserve reserve;
  const mpi::Channel& communicator = state_->communicator;
  const RebalancerOptions& options = state_->options;
  Partition planned = partition(count);
  const std::uint64_t required = planned.required_slots();
  if (options.when_infeasible == WhenInfeasible::refuse ||
      !some_rank_lacks_slots(communicator, required, storage))
    return state_->move(std::move(planned), storage);
  if (options.when_infeasible == WhenInfeasible::grow)
    return state_->move(std::move(planned),
                        grown_storage(communicator, options, required, storage));
  state_->write_ranks(*planned.state_);
  repair(communicator.get(), count, planned.ranks(), storage.slots());
  return migrate(std::move(planned), storage);
}

RaggedRoom Rebalancer::required_room(const Partition& partition,
                                     const RaggedStorage& storage) const {
  const valet::detail::MemoryReserve reserve;
  return room_for(state_->make_plan(*partition.state_, storage), storage);
}

RebalanceResult Rebalancer::migrate(Partition partition, const RaggedStorage& storage) {
  const valet::detail::MemoryReserve reserve;
  evaluate(partition);  // its ranks may have been changed
  return state_->move(std::move(partition), storage);
}

RebalanceResult Rebalancer::rebalance(std::uint64_t count, const RaggedStorage& storage) {
  const valet::detail::MemoryReserve reserve;
  const RebalancerOptions& options = state_->options;
  if (options.when_infeasible == WhenInfeasible::repair)
    throw Error(ErrorCode::invalid_argument,
                "RebalancerOptions::when_infeasible is repair, which counts slots and no bytes; "
                "take refuse or grow for blocks of different sizes");
  Partition planned = partition(count);
  if (options.when_infeasible == WhenInfeasible::refuse)
    return state_->move(std::move(planned), storage);
  return state_->move(std::move(planned), storage, [&](const RaggedPlan& plan) {
    return grown_storage(state_->communicator, options, room_for(plan, storage), storage);
  });
}

}  // namespace valet::zoltan
