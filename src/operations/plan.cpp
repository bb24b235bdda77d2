// SPDX-License-Identifier: BSD-3-Clause
#include "base/memory_reserve.hpp"
#include "engine/phased/phased.hpp"
#include "mpi/check.hpp"
#include "mpi/neighbour_words.hpp"
#include "observe/observer.hpp"
#include "operations/object_plans.hpp"
#include "operations/pages/page_plan.hpp"
#include "plan/object_planner.hpp"
#include "plan/planner.hpp"
#include "schedule/methods.hpp"
#include <valet/object_layout.hpp>
#include <valet/plan.hpp>

#include <algorithm>
#include <memory>
#include <utility>

namespace valet {
namespace {

/// Of scratch that plans leave for the next one: the default budget. More is not what a user who
/// gave a large budget for one plan wants to miss afterwards.
constexpr std::size_t most_kept_bytes = std::size_t{4} << 20;

/// Lets the ranks of a plan whose flows are known share memory inside their nodes, where the
/// method, the options and the storage allow it. Collective over all ranks of the plan.
void share_memory(plan::State& state) {
  const schedule::MethodTraits& traits = schedule::traits_of(state.options.method);
  const bool shares = traits.shares_memory != nullptr && traits.shares_memory(state.options) &&
                      !(state.choice && !state.choice->shares_memory);
  if (!shares) return;  // what is kept stays for the next plan, if scratch leaves room
  state.memory.share(plan::node_wish(state));
  state.shares = true;
}

/// Plans with `fill_in`, then prepares what the method needs.
template <class FillIn>
std::unique_ptr<plan::State> make_plan(MPI_Comm communicator, const BlockStorage& storage,
                                       const Options& options, FillIn&& fill_in) {
  auto frame = std::make_shared<call::Frame>(mpi::Channel::open_for_planning(communicator),
                                             call::FrameOptions(options, "Options::progress"));
  auto state = std::make_unique<plan::State>(std::move(frame), options);
  state->memory.keep_scratch_up_to(most_kept_bytes);
  const double start = mpi::now();
  const observe::Stage stage(storage.backend(), state->observer.trace, "plan");
  fill_in(*state);
  operations::prepare_method(*state);
  state->memory.return_scratch();  // until the plan is executed
  state->plan_seconds = mpi::now() - start;
  return state;
}

Plan plan_objects(MPI_Comm communicator, const BlockStorage& storage, std::uint64_t count,
                  const plan::ObjectMove& move, const Options& options) {
  const detail::MemoryReserve reserve;
  return plan::Access::make(make_plan(communicator, storage, options, [&](plan::State& state) {
    plan::plan_objects(state, storage, count, move);
  }));
}

}  // namespace

void operations::prepare_method(plan::State& state) {
  share_memory(state);
  engine::reserve_schedule(state);
  state.frame->align();
}

Plan::Plan(std::unique_ptr<plan::State> state) : state_(std::move(state)) {}
Plan::Plan(Plan&&) noexcept = default;
Plan& Plan::operator=(Plan&&) noexcept = default;
Plan::~Plan() = default;

std::uint64_t Plan::blocks_before() const { return state_->flows.blocks_before; }

std::uint64_t Plan::blocks_after() const { return state_->flows.blocks_after; }

std::uint64_t Plan::required_slots() const {
  const plan::Flows& flows = state_->flows;
  const bool is_map_to_slots = flows.form == plan::Form::slots && !state_->objects;
  return is_map_to_slots ? flows.slots : flows.blocks_after;
}

std::uint64_t Plan::neighbours() const {
  return mpi::count_neighbours(state_->flows.outgoing, state_->flows.incoming,
                               state_->channel.rank());
}

std::uint64_t Plan::extra_bytes() const { return state_->ledger.current_bytes(); }

Plan plan_to_ranks(MPI_Comm communicator, const BlockStorage& storage, const Occupied& occupied,
                   std::span<const int> ranks, const Options& options) {
  const detail::MemoryReserve reserve;
  return plan::Access::make(make_plan(communicator, storage, options, [&](plan::State& state) {
    plan::plan_ranks(state, storage, occupied, ranks);
  }));
}

Plan plan_to_slots(MPI_Comm communicator, const BlockStorage& storage, const Occupied& occupied,
                   std::span<const Address> addresses, const Options& options) {
  const detail::MemoryReserve reserve;
  return plan::Access::make(make_plan(communicator, storage, options, [&](plan::State& state) {
    plan::plan_slots(state, storage, occupied, addresses);
  }));
}

Plan plan_to_layout(MPI_Comm communicator, const BlockStorage& storage, std::uint64_t count,
                    const ObjectLayout& to, const Options& options) {
  return plan_objects(communicator, storage, count, {std::nullopt, to, {}}, options);
}

Plan plan_to_layout(MPI_Comm communicator, const BlockStorage& storage, std::uint64_t count,
                    const ObjectLayout& from, const ObjectLayout& to, const Options& options) {
  return plan_objects(communicator, storage, count, {from, to, {}}, options);
}

Plan operations::plan_to_bounds(MPI_Comm communicator, const BlockStorage& storage,
                                std::uint64_t count, std::span<const std::int64_t> bounds,
                                const Options& options) {
  return plan_objects(communicator, storage, count, {std::nullopt, {}, bounds}, options);
}

}  // namespace valet
