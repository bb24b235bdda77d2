// SPDX-License-Identifier: BSD-3-Clause
#include "flows/move_flows.hpp"

#include "base/diagnose.hpp"
#include "base/memory_reserve.hpp"
#include "base/promise.hpp"
#include "base/sizes.hpp"
#include "engine/exchange.hpp"
#include "engine/phased/phased_budget.hpp"
#include "engine/pulls.hpp"
#include "engine/vacated_slots.hpp"
#include "flows/check_storage.hpp"
#include "flows/verification.hpp"
#include "mpi/agreement.hpp"
#include "mpi/check.hpp"
#include "mpi/neighbour_words.hpp"
#include "observe/observer.hpp"
#include "plan/planner.hpp"
#include "plan/same_fields.hpp"
#include "schedule/methods.hpp"
#include "storage/growth.hpp"
#include "storage/guarded_backend.hpp"
#include <valet/detail/first_failure.hpp>

#include <algorithm>
#include <exception>
#include <new>
#include <utility>

namespace valet {
namespace {

constexpr const char* nothing_has_moved = "nothing has moved; fix it and execute again";

std::size_t whole_lines_of(std::size_t bytes) {
  return detail::rounded_up(bytes, detail::cache_line_bytes);
}

/// The storages of all ranks: what at least one of them does.
struct Storages {
  bool may_throw = false;    ///< the ranks then agree on whether it did
  bool hash_blocks = false;  ///< hashes of packed blocks then have to be the same
};

/// What is known before anything moves.
Report describe(const plan::State& state, bool some_storage_throws) {
  const plan::Flows& flows = state.flows;
  Report report;
  report.method = to_string(state.options.method);
  report.block_bytes = state.blocks.block_bytes;
  report.blocks_before = flows.blocks_before + flows.blocks_dropped;
  report.blocks_dropped = flows.blocks_dropped;
  report.blocks_after = flows.blocks_after;
  report.blocks_sent = flows.exports.size();
  report.blocks_received = flows.blocks_arriving;
  report.bytes_sent = report.blocks_sent * report.block_bytes;
  report.budget_bytes = state.options.budget_bytes;
  report.neighbours = mpi::count_neighbours(flows.outgoing, flows.incoming, state.channel.rank());
  // The promise that plan.hpp makes. Not both tables at a time: planning has ended when the root
  // begins.
  const bool is_root = state.channel.rank() == 0 && schedule::has_root(state.options);
  const bool has_table = is_root || state.from_layout;
  const std::uint64_t ranks = has_table ? static_cast<std::uint64_t>(state.channel.size()) : 0;
  report.extra_bytes_bound =
      detail::promised_bytes(report.budget_bytes, report.neighbours, ranks, state.frame->traces()) +
      state.flows.words_per_slot() * sizeof(SlotIndex) * state.flows.slots;
  report.extra_bytes_bound += state.taking_bytes;
  if (state.options.verify && some_storage_throws)
    report.extra_bytes_bound += flows::PackCheck::bytes_for(report.block_bytes);
  report.plan_seconds = state.plan_seconds;
  report.plan_from_layout = state.from_layout;
  report.segments = state.segments;
  report.periods = state.periods;
  report.reason = state.reason;
  return report;
}

}  // namespace

/// Carries plans out: what all executions of one plan reuse.
class plan::Executor {
 public:
  explicit Executor(plan::State& state)
      : state_(state),
        flows_(state.flows),
        exchange_(engine::make_exchange(state)),
        free_(state.ledger, slots_to_track()) {
    if (state.options.verify)
      verification_ = std::make_unique<flows::Verification>(state.channel, state.ledger, flows_,
                                                            state.blocks.block_bytes);
  }

  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;
  ~Executor() {
    if (running_) abandon();
  }

  [[nodiscard]] std::size_t scratch_bytes() const { return exchange_->scratch_bytes(); }
  [[nodiscard]] std::size_t lent_bytes() const {
    return whole_lines_of(scratch_bytes()) + slots_to_track() * sizeof(SlotIndex);
  }

  /// Takes the caller's memory, or allocates what is not there yet. @throws std::bad_alloc.
  void provide(StorageBackend& backend, std::span<std::byte> lent) {
    const std::size_t bytes = scratch_bytes();
    if (!lent.empty()) {
      scratch_ = lent.first(bytes);
      auto* const memory = static_cast<void*>(lent.data() + whole_lines_of(bytes));
      origins_ = {static_cast<SlotIndex*>(memory), slots_to_track()};
      has_own_ = false;
      return;
    }
    // execute() gives it back where the caller lends memory, which may then be refused.
    if (has_own_ && state_.memory.scratch().size() >= bytes) return;
    own_origins_ = {};
    own_origins_ = Array<SlotIndex>(state_.ledger, slots_to_track());
    origins_ = {own_origins_.data(), own_origins_.size()};
    state_.take_scratch(bytes, &backend);
    scratch_ = state_.memory.scratch_beside(backend.contiguous_data(), bytes).first(bytes);
    has_own_ = true;
  }
  /// Begins to watch which slots are left for good. @throws std::bad_alloc. Local.
  void watch_vacated() {
    if (state_.released != nullptr && flows_.blocks_after == 0)
      vacated_.emplace(state_.ledger, flows_, state_.blocks.block_bytes, *state_.released);
  }

  /// Ahead of the agreement to run(): lets blocks arrive, unless scratch is for hashes first.
  /// Local.
  void expect(bool stands) {
    if (!verification_) exchange_->expect(scratch_, stands);
  }
  void withdraw() {
    if (!exchange_) return;  // given up
    try {
      exchange_->withdraw();
    } catch (...) {
      give_up();
      throw;
    }
  }
  void bind() { exchange_->bind(); }
  [[nodiscard]] engine::Pulls* pulls() { return exchange_->pulls(); }

  /// Begins an execution, ends it, and meanwhile goes on as far as that takes no waiting: returns
  /// whether there is nothing left to wait for.
  void begin(StorageBackend& storage, const Storages& all);
  bool progress();
  Report finish();
  [[nodiscard]] bool is_running() const { return running_.has_value(); }
  [[nodiscard]] bool begins_alone() const { return exchange_->begins_alone(); }

 private:
  /// Told of blocks as they leave: not where those of others may be parked.
  [[nodiscard]] engine::VacatedSlots* vacated_now() {
    const Method method = state_.options.method;
    const bool parks_nothing = method == Method::stream || method == Method::direct;
    return vacated_ && parks_nothing ? &*vacated_ : nullptr;
  }
  /// Where blocks land in order nobody has to know which slots are free, and none is misplaced.
  [[nodiscard]] std::size_t slots_to_track() const {
    return flows_.in_order() ? 0 : static_cast<std::size_t>(flows_.slots);
  }

  /// One execution.
  struct Running {
    Running(Executor& executor, StorageBackend& storage, const Storages& of_all);

    StorageBackend& guarded() {
      if (planned.may_throw()) guard.emplace(planned);
      return guard ? *guard : planned;
    }

    StorageBackend& planned;
    const Storages all;
    std::optional<storage::GuardedBackend> guard;
    StorageBackend& backend;
    Report report;
    observe::ProgressMeter meter;
    engine::LocalSlots local;
    std::optional<observe::Stage> stage;  ///< the exchange, from begin() to finish()
    double waited_seconds = 0;            ///< by the observer, before
  };

  /// However that ends, the plan can be executed again.
  struct Ends {
    Executor* executor;
    ~Ends() {
      if (executor != nullptr) executor->running_.reset();
    }
  };

  /// Where the storage of some rank throws: whether one did. Collective.
  void agree(const char* consequence) {
    if (running_->all.may_throw)
      mpi::agree(state_.channel,
                 running_->guard ? running_->guard->failure(consequence) : std::nullopt);
  }
  void hash_before();
  void redistribute();
  void hash_after();
  /// A step of the exchange.
  template <class Step>
  bool exchange(Step&& step);
  /// Requests may be pending: what they touch is given up, not freed.
  void abandon() noexcept {
    static_cast<void>(exchange_.release());
    state_.memory.leak_scratch();
  }
  void give_up() noexcept {
    abandon();
    running_.reset();
  }

  plan::State& state_;
  const plan::Flows& flows_;
  std::unique_ptr<engine::Exchange> exchange_;
  storage::SlotSet free_;
  std::unique_ptr<flows::Verification> verification_;
  std::span<std::byte> scratch_;
  Array<SlotIndex> own_origins_;
  std::span<SlotIndex> origins_;
  bool has_own_ = false;  ///< scratch and origins that nobody has lent
  std::optional<engine::VacatedSlots> vacated_;
  std::optional<Running> running_;
};

plan::Executor::Running::Running(Executor& executor, StorageBackend& storage,
                                 const Storages& of_all)
    : planned(storage),
      all(of_all),
      backend(guarded()),
      report(describe(executor.state_, all.may_throw)),
      meter(executor.state_.frame->progress(
          report.method, report.blocks_sent + report.blocks_received, report.block_bytes)),
      local(executor.flows_, backend, executor.free_, executor.origins_,
            executor.state_.observer.trace, &executor.state_.node(), executor.vacated_now()) {}

void plan::Executor::begin(StorageBackend& storage, const Storages& all) {
  running_.emplace(*this, storage, all);
  Ends ends{this};
  if (verification_) hash_before();
  ends.executor = nullptr;
  running_->stage.emplace(running_->backend, running_->local.trace(), "exchange");
  running_->waited_seconds = state_.observer.waiting_seconds;
  exchange([&] {
    exchange_->begin(running_->local, scratch_);
    return false;
  });
}

bool plan::Executor::progress() {
  return exchange([&] { return exchange_->progress(); });
}

Report plan::Executor::finish() {
  Report& report = running_->report;
  exchange([&] {
    exchange_->finish(report);
    return true;
  });
  report.waiting_seconds = state_.observer.waiting_seconds - running_->waited_seconds;
  if (observe::ProgressMeter* const meter = state_.observer.progress) meter->finish();
  running_->stage.reset();
  if (vacated_) vacated_->finish();
  const Ends ends{this};
  redistribute();
  if (verification_) hash_after();
  state_.frame->write_transfers(
      report.method, {flows_.slots - flows_.blocks_before, report.bytes_sent, report.budget_bytes},
      flows_.outgoing, &plan::Outgoing::count);
  return std::move(report);
}

template <class Step>
bool plan::Executor::exchange(Step&& step) {
  const double begin = mpi::now();
  bool is_done = false;
  try {
    is_done = step();
  } catch (...) {
    give_up();
    throw;
  }
  running_->report.exchange_seconds += mpi::now() - begin;
  return is_done;
}

void plan::Executor::hash_before() {
  const double begin = mpi::now();
  const observe::Stage stage(running_->backend, running_->local.trace(), "verify");
  const std::optional<storage::GuardedBackend>& guard = running_->guard;
  if (running_->all.may_throw)
    verification_->examine(
        state_.channel, state_.ledger, running_->backend, scratch_, guard.has_value(),
        [&] { return guard ? guard->failure(nothing_has_moved) : std::nullopt; });
  using flows::BlockHash;
  verification_->before(running_->backend, scratch_,
                        running_->all.hash_blocks ? BlockHash::of_pieces : BlockHash::xxh3);
  agree(nothing_has_moved);
  running_->report.verify_seconds = mpi::now() - begin;
}

void plan::Executor::redistribute() {
  const double begin = mpi::now();
  const observe::Stage stage(running_->backend, running_->local.trace(), "local");
  running_->report.local_copies =
      running_->local.redistribute(scratch_.first(exchange_->local_bytes()));
  running_->report.misplaced = running_->local.misplaced();
  // Before any checksum: blocks that could not be moved would be called corrupted.
  agree(
      "the content of the occupied slots is unspecified on all ranks; restore it, from a "
      "checkpoint for instance");
  running_->report.local_seconds = mpi::now() - begin;
}

void plan::Executor::hash_after() {
  const double begin = mpi::now();
  const observe::Stage stage(running_->backend, running_->local.trace(), "verify");
  std::optional<Diagnostic> diagnostic = verification_->after(running_->backend, scratch_);
  if (running_->guard)
    if (auto failure = running_->guard->failure("every block has moved, but is not verified"))
      diagnostic = std::move(failure);
  mpi::agree(state_.channel, diagnostic);
  running_->report.verified = true;
  running_->report.verify_seconds += mpi::now() - begin;
}

namespace {

plan::Executor& executor_of(plan::State& state) {
  if (!state.executor) state.executor = std::make_shared<plan::Executor>(state);
  return *state.executor;
}

/// @param binds     Whether it will be executed on this storage again and again.
/// @param connects  Whether the ranks have to find out from whom they take blocks.
std::optional<Diagnostic> make_ready(plan::State& state, StorageBackend& backend,
                                     std::span<std::byte> lent, bool binds, bool& connects) {
  if (auto diagnostic = flows::check_storage(state, backend)) return diagnostic;
  detail::FirstFailure failure;
  if (!failure.attempt("waiting for the application's work on the blocks (synchronize)",
                       [&] { backend.synchronize(); }))
    return failure.diagnostic(nothing_has_moved);
  try {
    // What is left to allocate beside memory that is lent is small, and pages have been sorted.
    std::optional<detail::LeaveReserve> leave;
    if (lent.empty()) leave.emplace();
    plan::Executor& executor = executor_of(state);
    if (!lent.empty() && lent.size() < executor.lent_bytes())
      return invalid("the workspace has ", lent.size(),
                     " bytes, the plan needs workspace_bytes() = ", executor.lent_bytes());
    if (reinterpret_cast<std::uintptr_t>(lent.data()) % alignof(std::max_align_t) != 0)
      return invalid("the workspace starts at an address that is not a multiple of ",
                     alignof(std::max_align_t), "; align it as malloc does");
    executor.provide(backend, lent);
    executor.watch_vacated();
    if (binds) executor.bind();
    if (engine::Pulls* const pulls = executor.pulls()) connects = pulls->describe(backend, binds);
  } catch (const std::bad_alloc&) {
    return diagnose(ErrorCode::out_of_memory, "no memory for a budget of ",
                    state.options.budget_bytes,
                    " bytes and the plan's own arrays; lower budget_bytes");
  } catch (...) {
    failure.keep("making the workspace (allocate_scratch)");
    return failure.diagnostic(nothing_has_moved);
  }
  return std::nullopt;
}

}  // namespace

void flows::prepare(plan::State& state) {
  const schedule::MethodTraits& traits = schedule::traits_of(state.options.method);
  state.shares = state.options.share_memory && traits.shares_memory != nullptr &&
                 traits.shares_memory(state.options);
  // Where it does not, what is kept stays for the next plan, if scratch leaves room.
  if (state.shares) state.memory.share(plan::node_wish(state));
  engine::reserve_schedule(state);
  state.frame->align();
}

std::uint64_t flows::workspace_bytes(plan::State& state) { return executor_of(state).lent_bytes(); }

namespace {

/// What execution `step` returns. A storage that throws although it says it does not, or memory
/// that runs out, would leave other ranks waiting for this one.
template <class Step>
auto without_surprise(Step&& step) {
  try {
    return step();
  } catch (const Error&) {
    throw;
  } catch (...) {
    std::terminate();
  }
}

void require_idle(const plan::State& state) {
  if (state.executor && state.executor->is_running())
    refuse("an execution of this plan is under way; wait for it first");
}

/// Looks at the storage, and agrees that all ranks can move its blocks. Collective.
Storages agree_to_move(plan::State& state, const BlockStorage& storage, std::span<std::byte> lent,
                       bool binds, const std::function<void()>& make_blocks) {
  storage::asked([&] { storage.backend().refresh(); });
  std::optional<Diagnostic> wrong = state.failure;
  // What has become smaller than what was planned for is a mistake that growth must not hide.
  if (!wrong && storage.grows() && storage.slots() >= state.flows.slots_before)
    wrong = storage::grow(storage, state.flows.blocks_after);
  StorageBackend& backend = storage.backend();
  // What can go wrong on some rank is found out in the reduction that agrees on what is wrong.
  Storages all{storage::asked([&] { return backend.may_throw(); }),
               storage::asked([&] { return backend.hashes_blocks(); })};
  mpi::Agreement agreement;
  agreement.largest(all.may_throw);
  agreement.largest(all.hash_blocks);
  state.frame->join(agreement);
  plan::SameFields fields = plan::fields_of(backend);
  fields.join(agreement, state.channel);
  bool connects = false;
  if (!wrong) wrong = make_ready(state, backend, lent, binds, connects);
  if (!wrong && binds) wrong = flows::check_binding(state, backend);
  agreement.largest(connects);
  if (!wrong && !make_blocks) executor_of(state).expect(binds);
  try {
    agreement.run(state.channel, wrong);
  } catch (...) {
    if (state.executor) state.executor->withdraw();
    throw;
  }
  if (make_blocks) make_blocks();
  if (engine::Pulls* const pulls = executor_of(state).pulls()) {
    if (connects)
      pulls->connect();
    else if (make_blocks)
      pulls->meet();
    state.taking_bytes = pulls->bytes();
  }
  return all;
}

}  // namespace

void flows::unbind(plan::State& state) {
  require_idle(state);
  if (state.bound) state.executor->withdraw();
  state.bound.reset();
}

void flows::bind(plan::State& state, const BlockStorage& storage) {
  unbind(state);
  static_cast<void>(agree_to_move(state, storage, {}, true, {}));
  state.bound = storage.shared_backend();
}

void flows::begin(plan::State& state) {
  require_idle(state);
  if (!state.bound)
    refuse(
        "this plan is not bound to a storage; bind it, after each execution with another storage, "
        "too, or give the storage");
  plan::Executor& executor = *state.executor;
  if (!executor.begins_alone()) mpi::barrier(state.channel);
  if (engine::Pulls* const pulls = executor.pulls()) pulls->meet();
  without_surprise([&] { executor.begin(*state.bound, {}); });
}

void flows::begin(plan::State& state, const BlockStorage& storage, std::span<std::byte> lent,
                  const std::function<void()>& make_blocks) {
  unbind(state);
  const Storages all = agree_to_move(state, storage, lent, false, make_blocks);
  without_surprise([&] { executor_of(state).begin(storage.backend(), all); });
}

bool flows::progress(plan::State& state) {
  return without_surprise([&] { return state.executor->progress(); });
}

Report flows::finish(plan::State& state) {
  return without_surprise([&] { return state.executor->finish(); });
}

}  // namespace valet
