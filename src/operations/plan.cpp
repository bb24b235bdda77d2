// SPDX-License-Identifier: BSD-3-Clause
#include "operations/plan.hpp"

#include "base/diagnose.hpp"
#include "base/memory_reserve.hpp"
#include "flows/move_flows.hpp"
#include "mpi/check.hpp"
#include "mpi/neighbour_words.hpp"
#include "observe/observer.hpp"
#include "plan/object_planner.hpp"
#include "plan/planner.hpp"
#include <valet/log.hpp>
#include <valet/object_layout.hpp>

#include <exception>
#include <memory>
#include <span>
#include <string>
#include <utility>

namespace valet {
namespace {

/// The most scratch that a plan leaves for the next one: the default budget. A user who gave a
/// large budget for one plan does not want to miss more afterwards.
constexpr std::size_t most_kept_bytes = std::size_t{4} << 20;

/// Plans a map by a function of plan/, then prepares what the method needs.
template <class PlanMap, class... Map>
Plan make_plan(MPI_Comm communicator, const BlockStorage& storage, const Options& options,
               PlanMap&& plan_map, const Map&... map) {
  const detail::MemoryReserve reserve;
  auto frame = std::make_shared<call::Frame>(mpi::Channel::open_for_planning(communicator), options,
                                             "callback progress");
  auto state = std::make_unique<plan::State>(std::move(frame), options);
  state->memory.keep_scratch_up_to(most_kept_bytes);
  const double start = mpi::now();
  const observe::Stage stage(storage.backend(), state->observer.trace, "plan");
  plan_map(*state, storage, map...);
  flows::prepare(*state);
  state->memory.return_unused();  // until the plan is executed
  state->plan_seconds = mpi::now() - start;
  return plan::Access::make(std::move(state));
}

/// What is behind a plan that is about to be executed.
plan::State& begun(Plan& plan) {
  plan::State& state = plan::Access::state_of(plan);
  state.frame->caption = {to_string(state.options.method), state.blocks.block_bytes,
                          state.options.budget_bytes};
  return state;
}

/// An execution of a plan.
class PlanExecution final : public plan::Ongoing {
 public:
  PlanExecution(plan::State& state, const BlockStorage& storage)
      : Ongoing(state.channel.rank()), state_(state), storage_(storage) {}
  bool progress() override { return flows::progress(state_); }
  Report wait() override {
    return state_.frame->end([this] { return flows::finish(state_); });
  }

 private:
  plan::State& state_;
  BlockStorage storage_;  ///< of what moves: shares what it grows to
};

}  // namespace

ObjectLayout ObjectLayout::tiles(const BlockCyclic& array, IndexOrder numbering) {
  // A general grid is refused by the call that gets it.
  if (numbering == IndexOrder::row_major || array.is_cut()) return {0, array.ranks(), array};
  const std::size_t count = array.dimensions();
  auto extents = BlockCyclic::Extents::filled(count, 0), blocks = extents;
  auto grid = BlockCyclic::Coordinates::filled(count, 0), first_ranks = grid;
  for (std::size_t d = 0; d < count; ++d) {
    const layout::Dimension& dimension = array.dimension(count - 1 - d);
    extents[d] = dimension.extent();
    blocks[d] = dimension.block_size();
    grid[d] = dimension.ranks();
    first_ranks[d] = dimension.first_rank();
  }
  const bool by_rows = array.rank_order() == IndexOrder::row_major;
  return tiles({extents, blocks, grid, by_rows ? IndexOrder::column_major : IndexOrder::row_major,
                first_ranks});
}

Plan::Plan(std::unique_ptr<plan::State> state) : state_(std::move(state)) {}
Plan::Plan(Plan&&) noexcept = default;
Plan& Plan::operator=(Plan&&) noexcept = default;
Plan::~Plan() = default;

std::uint64_t Plan::blocks_before() const {
  return state_->flows.blocks_before + state_->flows.blocks_dropped;
}

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

std::uint64_t Plan::workspace_bytes() const { return flows::workspace_bytes(*state_); }

Plan plan_to_ranks(MPI_Comm communicator, const BlockStorage& storage, const Occupied& occupied,
                   std::span<const int> ranks, const Options& options) {
  return make_plan(communicator, storage, options, plan::plan_ranks, occupied, ranks);
}

Plan plan_to_slots(MPI_Comm communicator, const BlockStorage& storage, const Occupied& occupied,
                   std::span<const Address> addresses, const Options& options) {
  return make_plan(communicator, storage, options, plan::plan_slots, occupied, addresses);
}

Plan operations::plan_objects(MPI_Comm communicator, const BlockStorage& storage,
                              std::uint64_t count, const plan::ObjectMove& move,
                              const Options& options) {
  return make_plan(communicator, storage, options, plan::plan_objects, count, move);
}

Plan plan_to_layout(MPI_Comm communicator, const BlockStorage& storage, std::uint64_t count,
                    const ObjectLayout& to, const Options& options) {
  return operations::plan_objects(communicator, storage, count, {.to = to}, options);
}

Plan plan_to_layout(MPI_Comm communicator, const BlockStorage& storage, std::uint64_t count,
                    const ObjectLayout& from, const ObjectLayout& to, const Options& options) {
  return operations::plan_objects(communicator, storage, count, {.from = from, .to = to}, options);
}

Report execute(Plan& plan, const BlockStorage& storage, std::span<std::byte> workspace) {
  mpi::require_mpi();
  const detail::MemoryReserve reserve;
  plan::State& state = begun(plan);
  if (!workspace.empty()) {
    flows::unbind(state);
    state.memory.return_scratch();
  }
  return state.frame->run([&] { return flows::move_flows(state, storage, workspace); });
}

void Plan::bind(const BlockStorage& storage) {
  mpi::require_mpi();
  const detail::MemoryReserve reserve;
  flows::bind(*state_, storage);
}

Report execute(Plan& plan) {
  mpi::require_mpi();
  const detail::MemoryReserve reserve;  // others do not learn of what fails here
  plan::State& state = plan::Access::state_of(plan);
  return state.frame->run([&] {
    flows::begin(state);
    return flows::finish(state);
  });
}

Execution start(Plan& plan, const BlockStorage& storage) {
  mpi::require_mpi();
  const detail::MemoryReserve reserve;
  plan::State& state = begun(plan);
  auto execution = std::make_unique<PlanExecution>(state, storage);
  state.frame->begin([&] { flows::begin(state, storage, {}); });
  return plan::Access::execution(std::move(execution));
}

Execution start(Plan& plan) {
  mpi::require_mpi();
  const detail::MemoryReserve reserve;  // as above
  plan::State& state = begun(plan);
  auto execution = std::make_unique<PlanExecution>(state, BlockStorage(state.bound));
  state.frame->begin([&] { flows::begin(state); });
  return plan::Access::execution(std::move(execution));
}

Execution::Execution(std::unique_ptr<plan::Ongoing> ongoing) : ongoing_(std::move(ongoing)) {}
Execution::Execution(Execution&&) noexcept = default;

Execution::~Execution() {
  if (!ongoing_) return;
  const int rank = ongoing_->rank();
  try {
    wait();
  } catch (const std::exception& error) {
    log(LogLevel::warning, rank,
        std::string("an execution that nobody waited for has failed: ") + error.what());
  }
}

bool Execution::progress() {
  const detail::MemoryReserve reserve;
  return !ongoing_ || ongoing_->progress();
}

Report Execution::wait() {
  const std::unique_ptr<plan::Ongoing> ongoing = std::move(ongoing_);
  if (!ongoing) refuse("this execution was waited for already, or moved from; start another one");
  const detail::MemoryReserve reserve;
  return ongoing->wait();
}

Report migrate(MPI_Comm communicator, const BlockStorage& storage, const Occupied& occupied,
               std::span<const int> ranks, const Options& options) {
  Plan plan = plan_to_ranks(communicator, storage, occupied, ranks, options);
  return execute(plan, storage);
}

Report migrate(MPI_Comm communicator, const BlockStorage& storage, const Occupied& occupied,
               std::span<const Address> addresses, const Options& options) {
  Plan plan = plan_to_slots(communicator, storage, occupied, addresses, options);
  return execute(plan, storage);
}

Report migrate_to_layout(MPI_Comm communicator, const BlockStorage& storage, std::uint64_t count,
                         const ObjectLayout& to, const Options& options) {
  Plan plan = plan_to_layout(communicator, storage, count, to, options);
  return execute(plan, storage);
}

Report migrate_to_layout(MPI_Comm communicator, const BlockStorage& storage, std::uint64_t count,
                         const ObjectLayout& from, const ObjectLayout& to, const Options& options) {
  Plan plan = plan_to_layout(communicator, storage, count, from, to, options);
  return execute(plan, storage);
}

}  // namespace valet
