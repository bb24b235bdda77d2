// SPDX-License-Identifier: BSD-3-Clause
#include "engine/phased/phased.hpp"
#include "mpi/check.hpp"
#include "observe/stage.hpp"
#include "operations/prepare_method.hpp"
#include "plan/node_sharing.hpp"
#include "plan/planner.hpp"
#include <valet/plan.hpp>

#include <memory>
#include <utility>

namespace valet {
namespace {

/// Plans with `fill_in`, then prepares what the method needs.
template <class FillIn>
std::unique_ptr<plan::State> make_plan(MPI_Comm communicator, const BlockStorage& storage,
                                       const Options& options, FillIn&& fill_in) {
  auto state = std::make_unique<plan::State>(mpi::Channel::open(communicator), options);
  const double start = mpi::now();
  const observe::Stage stage(storage.backend(), state->observer.trace, "plan");
  fill_in(*state);
  operations::prepare_method(*state);
  state->plan_seconds = mpi::now() - start;
  return state;
}

}  // namespace

void operations::prepare_method(plan::State& state) {
  share_memory(state);
  engine::reserve_schedule(state);
  if (state.trace) state.trace->align(state.channel);
}

Plan::Plan(std::unique_ptr<plan::State> state) : state_(std::move(state)) {}
Plan::Plan(Plan&&) noexcept = default;
Plan& Plan::operator=(Plan&&) noexcept = default;
Plan::~Plan() = default;

std::uint64_t Plan::blocks_before() const {
  return state_->visit([](const auto& flows) { return flows.blocks_before; });
}

std::uint64_t Plan::blocks_after() const {
  return state_->visit([](const auto& flows) { return flows.blocks_after; });
}

std::uint64_t Plan::required_slots() const {
  return state_->visit([](const auto& flows) {
    return flows.form == plan::Form::slots ? flows.slots : flows.blocks_after;
  });
}

std::uint64_t Plan::neighbours() const {
  return state_->visit([](const auto& flows) {
    // Both lists ascend by rank; a rank that is in both counts once.
    std::uint64_t count = flows.outgoing.size();
    auto outgoing = flows.outgoing.begin();
    for (const auto& incoming : flows.incoming) {
      while (outgoing != flows.outgoing.end() && outgoing->rank < incoming.rank) ++outgoing;
      if (outgoing == flows.outgoing.end() || outgoing->rank != incoming.rank) ++count;
    }
    return count;
  });
}

std::uint64_t Plan::extra_bytes() const { return state_->ledger.current_bytes(); }

Plan plan_to_ranks(MPI_Comm communicator, const BlockStorage& storage, const Occupied& occupied,
                   std::span<const int> ranks, const Options& options) {
  return plan::Access::make(make_plan(communicator, storage, options, [&](plan::State& state) {
    plan::plan_ranks(state, storage, occupied, ranks);
  }));
}

Plan plan_to_slots(MPI_Comm communicator, const BlockStorage& storage, const Occupied& occupied,
                   std::span<const Address> addresses, const Options& options) {
  return plan::Access::make(make_plan(communicator, storage, options, [&](plan::State& state) {
    plan::plan_slots(state, storage, occupied, addresses);
  }));
}

}  // namespace valet
