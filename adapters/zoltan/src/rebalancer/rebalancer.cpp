// SPDX-License-Identifier: BSD-3-Clause
#include "base/memory_reserve.hpp"
#include "handle/handle_state.hpp"
#include "handle/messages.hpp"
#include "mpi/channel.hpp"
#include "rebalance/balancer.hpp"
#include "rebalance/infeasible.hpp"
#include "rebalancer/own_structure.hpp"
#include "rebalancer/zoltan_partition.hpp"
#include <valet/zoltan/rebalancer.hpp>

#include <span>
#include <string>
#include <utility>
#include <vector>

namespace valet::zoltan {

struct Partition::State : rebalance::Decision {};

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
double Partition::seconds() const { return state_->partition_seconds; }
double Partition::largest_cell_share() const { return state_->largest_cell_share; }
const std::string& Partition::warning() const { return state_->warning; }
std::uint64_t Partition::extra_bytes() const { return state_->ledger.peak_bytes(); }

struct Rebalancer::State {
  State(MPI_Comm user, const RebalancerOptions& given, const rebalance::Settings& settings)
      : options(given),
        communicator(mpi::Channel::open(user)),
        structure(communicator, given, settings),
        zoltan(structure.get(), structure.setup()),
        balancer(communicator, zoltan, settings) {}

  /// With the parameters as they are now.
  rebalance::Balancer& now() {
    parameters = parameters_of_storage(structure.get(), options.migration, options.granularity,
                                       options.when_infeasible);
    take_parameters(parameters, balancer.settings);
    balancer.settings.wrong = without_meaning(structure.get(), ObjectKind::storage);
    zoltan.each_object(parameters.granularity == 1U);
    return balancer;
  }
  template <class Storage>
  RebalanceResult rebalance(std::uint64_t count, const Storage& storage) {
    const valet::detail::MemoryReserve reserve;
    rebalance::Decision decision;
    decision.count = count;
    rebalance::Settings& settings = now().settings;
    if (!settings.wrong) settings.wrong = rebalance::check_growth(settings, storage);
    balancer.partition(decision);
    return carry_out(decision, storage, true);
  }
  /// Moves the objects of a decision: by Balancer::settle() where nobody can have changed it, else
  /// by migrate().
  template <class Storage>
  RebalanceResult carry_out(rebalance::Decision& decision, const Storage& storage, bool settles) {
    const valet::detail::MemoryReserve reserve;  // other ranks wait for this one from here on
    rebalance::Balancer& with_parameters = now();
    say_who_moves(structure.get(), parameters, ObjectKind::storage);
    RebalanceResult result = settles ? with_parameters.settle(decision, storage)
                                     : with_parameters.migrate(decision, storage);
    if (decision.is_reported) append_report(communicator.get(), parameters.report, result.report);
    return result;
  }

  const RebalancerOptions options;
  mpi::Channel communicator;
  OwnStructure structure;
  ZoltanPartition zoltan;
  rebalance::Balancer balancer;
  MigrationParameters parameters;
};

Rebalancer::Rebalancer(MPI_Comm communicator, const RebalancerOptions& options) {
  const valet::detail::MemoryReserve reserve;
  state_ = std::make_unique<State>(communicator, options, settings_of(options));
}
Rebalancer::Rebalancer(Rebalancer&&) noexcept = default;
Rebalancer& Rebalancer::operator=(Rebalancer&&) noexcept = default;
Rebalancer::~Rebalancer() = default;

void Rebalancer::coordinates(ColumnSource source) {
  state_->balancer.sources.coordinates = std::move(source);
}
void Rebalancer::weights(ColumnSource source) {
  state_->balancer.sources.weights = std::move(source);
}
void Rebalancer::no_weights() { state_->balancer.sources.weights = nullptr; }
void Rebalancer::global_ids(ColumnSource source) {
  state_->balancer.sources.ids = std::move(source);
}
void Rebalancer::from(const std::optional<ObjectLayout>& layout) {
  state_->balancer.settings.from = layout;
}
void Rebalancer::balance_count(bool balance) { state_->balancer.settings.balance_count = balance; }
Zoltan_Struct* Rebalancer::handle() const {
  state_->zoltan.may_know_more();
  return state_->structure.get();
}

Partition Rebalancer::partition(std::uint64_t count) {
  const valet::detail::MemoryReserve reserve;
  auto partition = std::make_unique<Partition::State>();
  partition->count = count;
  state_->now().partition(*partition);
  return Partition(std::move(partition));
}

void Rebalancer::evaluate(Partition& partition) {
  const valet::detail::MemoryReserve reserve;
  state_->now().evaluate(*partition.state_);
}

std::vector<std::uint64_t> Rebalancer::required_slots(const Partition& partition) const {
  return state_->balancer.required_slots(*partition.state_);
}
RaggedRoom Rebalancer::required_room(const Partition& partition,
                                     const RaggedStorage& storage) const {
  const valet::detail::MemoryReserve reserve;
  return state_->now().required_room(*partition.state_, storage);
}

RebalanceResult Rebalancer::migrate(Partition partition, const BlockStorage& storage) {
  return state_->carry_out(*partition.state_, storage, false);
}
RebalanceResult Rebalancer::migrate(Partition partition, const RaggedStorage& storage) {
  return state_->carry_out(*partition.state_, storage, false);
}

RebalanceResult Rebalancer::rebalance(std::uint64_t count, const BlockStorage& storage) {
  return state_->rebalance(count, storage);
}
RebalanceResult Rebalancer::rebalance(std::uint64_t count, const RaggedStorage& storage) {
  return state_->rebalance(count, storage);
}

}  // namespace valet::zoltan
