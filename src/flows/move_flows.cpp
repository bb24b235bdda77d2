// SPDX-License-Identifier: BSD-3-Clause
#include "flows/move_flows.hpp"

#include "base/diagnose.hpp"
#include "base/memory_reserve.hpp"
#include "base/promise.hpp"
#include "base/sizes.hpp"
#include "engine/exchange.hpp"
#include "engine/phased/phased_budget.hpp"
#include "engine/pulls.hpp"
#include "flows/verification.hpp"
#include "mpi/agreement.hpp"
#include "mpi/check.hpp"
#include "mpi/neighbour_words.hpp"
#include "observe/observer.hpp"
#include "plan/plan_state.hpp"
#include "plan/planner.hpp"
#include "plan/same_fields.hpp"
#include "schedule/methods.hpp"
#include "storage/guarded_backend.hpp"
#include <valet/detail/first_failure.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <new>
#include <utility>

namespace valet {
namespace {

constexpr std::size_t alignment = detail::cache_line_bytes;
constexpr const char* nothing_has_moved = "nothing has moved; fix it and execute again";

std::size_t aligned(std::size_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

/// The storages of all ranks: what at least one of them does.
struct Storages {
  bool may_throw = false;    ///< the ranks then agree on whether it did
  bool hash_blocks = false;  ///< hashes of packed blocks then have to be the same
};

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
      verification_ = std::make_unique<flows::Verification>(state.channel, state.ledger, flows_);
  }

  [[nodiscard]] std::size_t scratch_bytes() const { return exchange_->scratch_bytes(); }
  [[nodiscard]] std::size_t lent_bytes() const {
    return aligned(scratch_bytes()) + slots_to_track() * sizeof(SlotIndex);
  }

  /// Takes the caller's memory, or allocates what is not there yet. @throws std::bad_alloc.
  void provide(StorageBackend& backend, std::span<std::byte> lent) {
    const std::size_t bytes = scratch_bytes();
    if (!lent.empty()) {
      scratch_ = lent.first(bytes);
      auto* const memory = static_cast<void*>(lent.data() + aligned(bytes));
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

  /// Ahead of the agreement to run(): lets blocks arrive, unless scratch is for hashes first.
  /// Local.
  void expect() {
    if (!verification_) exchange_->expect(scratch_);
  }
  void withdraw() { exchange_->withdraw(); }
  [[nodiscard]] engine::Pulls* pulls() { return exchange_->pulls(); }

  void run(StorageBackend& storage, const Storages& all, Report& report) {
    std::optional<storage::GuardedBackend> guard;
    if (storage.may_throw()) guard.emplace(storage);
    StorageBackend& backend = guard ? *guard : storage;
    const auto agree = [&](const char* consequence) {
      if (all.may_throw)
        mpi::agree(state_.channel, guard ? guard->failure(consequence) : std::nullopt);
    };
    const double start = mpi::now();
    observe::Trace* const trace = state_.observer.trace;
    if (verification_) {
      const observe::Stage stage(backend, trace, "verify");
      using flows::BlockHash;
      if (all.may_throw)
        verification_->examine(
            state_.channel, state_.ledger, backend, scratch_, guard.has_value(),
            [&] { return guard ? guard->failure(nothing_has_moved) : std::nullopt; });
      verification_->before(backend, scratch_,
                            all.hash_blocks ? BlockHash::of_pieces : BlockHash::xxh3);
      agree(nothing_has_moved);
    }
    const double begin = mpi::now();
    engine::LocalSlots local(flows_, backend, free_, origins_, trace, &state_.node());
    exchange(backend, local, report);
    const double exchanged = mpi::now();
    {
      const observe::Stage stage(backend, trace, "local");
      report.local_copies = local.redistribute(scratch_);
      report.misplaced = local.misplaced();
      // Before any checksum: blocks that could not be moved would be called corrupted.
      agree(
          "the content of the occupied slots is unspecified on all ranks; restore it, from a "
          "checkpoint for instance");
    }
    const double moved = mpi::now();
    report.exchange_seconds = exchanged - begin;
    report.local_seconds = moved - exchanged;
    if (!verification_) return;
    const observe::Stage stage(backend, trace, "verify");
    std::optional<Diagnostic> diagnostic = verification_->after(backend, scratch_);
    if (guard)
      if (auto failure = guard->failure("every block has moved, but is not verified"))
        diagnostic = std::move(failure);
    mpi::agree(state_.channel, diagnostic);
    report.verified = true;
    report.verify_seconds = (begin - start) + (mpi::now() - moved);
  }

 private:
  /// Where blocks land in order nobody has to know which slots are free, and none is misplaced.
  [[nodiscard]] std::size_t slots_to_track() const {
    return flows_.in_order() ? 0 : static_cast<std::size_t>(flows_.slots);
  }

  void exchange(StorageBackend& backend, engine::LocalSlots& local, Report& report) {
    const observe::Stage stage(backend, local.trace(), "exchange");
    const double waited = state_.observer.waiting_seconds;
    try {
      exchange_->run(local, scratch_, report);
    } catch (...) {
      // Requests may be pending: what they touch is given up, not freed.
      static_cast<void>(exchange_.release());
      state_.memory.leak_scratch();
      throw;
    }
    report.waiting_seconds = state_.observer.waiting_seconds - waited;
    if (observe::ProgressMeter* const progress = state_.observer.progress) progress->finish();
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
};

namespace {

plan::Executor& executor_of(plan::State& state) {
  if (!state.executor) state.executor = std::make_shared<plan::Executor>(state);
  return *state.executor;
}

std::optional<Diagnostic> check_storage(const plan::State& state, const StorageBackend& backend) {
  const plan::Flows& flows = state.flows;
  if (auto diagnostic = storage::asked([&] { return backend.diagnostic(); })) return diagnostic;
  const BlockTraits blocks = backend.traits();
  const bool is_never_allocated =
      blocks.block_bytes == 0 && storage::asked([&] { return backend.slots(); }) == 0;
  if (blocks.block_bytes != state.blocks.block_bytes && !is_never_allocated)
    return diagnose(ErrorCode::block_size_mismatch, "the storage has blocks of ",
                    blocks.block_bytes, " bytes, the plan was made for ", state.blocks.block_bytes,
                    "; give the fields that were planned for");
  if (blocks.reachable_by_mpi != state.blocks.reachable_by_mpi ||
      blocks.reachable_by_host != state.blocks.reachable_by_host)
    return invalid(
        "the storage is in another kind of memory than the one that was planned for; plan again");
  const std::uint64_t slots = storage::asked([&] { return backend.slots(); });
  if (slots >= flows.slots) return std::nullopt;
  if (flows.blocks_after > slots)
    return diagnose(ErrorCode::infeasible, "it would hold ", flows.blocks_after,
                    " blocks, but has ", slots, " slots (required_slots = ", flows.blocks_after,
                    "); grow its fields to that many slots and give the storage that is made of "
                    "them then, or partition again with the count as a constraint");
  return invalid("the storage has ", slots, " slots, the plan was made for ", flows.slots,
                 "; give storage that is not smaller");
}

/// @param connects  Whether the ranks have to find out from whom they take blocks.
std::optional<Diagnostic> make_ready(plan::State& state, StorageBackend& backend,
                                     std::span<std::byte> lent, bool& connects) {
  if (state.failure) return state.failure;
  if (auto diagnostic = check_storage(state, backend)) return diagnostic;
  detail::FirstFailure failure;
  if (!failure.attempt(
          "waiting for the application's work on the blocks (StorageBackend::synchronize)",
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
    if (engine::Pulls* const pulls = executor.pulls()) connects = pulls->describe(backend);
  } catch (const std::bad_alloc&) {
    return diagnose(ErrorCode::out_of_memory, "no memory for a budget of ",
                    state.options.budget_bytes,
                    " bytes and the plan's own arrays; lower budget_bytes");
  } catch (...) {
    failure.keep("making the workspace (StorageBackend::allocate_scratch)");
    return failure.diagnostic(nothing_has_moved);
  }
  return std::nullopt;
}

/// What is known before anything moves.
Report describe(const plan::State& state, bool some_storage_throws) {
  const plan::Flows& flows = state.flows;
  Report report;
  report.method = to_string(state.options.method);
  report.block_bytes = state.blocks.block_bytes;
  report.blocks_before = flows.blocks_before;
  report.blocks_after = flows.blocks_after;
  report.blocks_sent = flows.exports.size();
  report.blocks_received = flows.blocks_arriving;
  report.bytes_sent = report.blocks_sent * report.block_bytes;
  report.budget_bytes = state.options.budget_bytes;
  report.neighbours = mpi::count_neighbours(flows.outgoing, flows.incoming, state.channel.rank());
  // The promise that plan.hpp makes. Not both tables at a time: planning has ended when the root
  // begins.
  const auto has_root = schedule::traits_of(state.options.method).has_root;
  const bool is_root = state.channel.rank() == 0 && has_root && has_root(state.options);
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
  report.choice = state.choice;
  return report;
}

}  // namespace

void flows::prepare(plan::State& state) {
  const schedule::MethodTraits& traits = schedule::traits_of(state.options.method);
  state.shares = state.options.share_memory && traits.shares_memory != nullptr &&
                 traits.shares_memory(state.options) &&
                 !(state.choice && !state.choice->shares_memory);
  // Where it does not, what is kept stays for the next plan, if scratch leaves room.
  if (state.shares) state.memory.share(plan::node_wish(state));
  engine::reserve_schedule(state);
  state.frame->align();
}

std::uint64_t flows::workspace_bytes(plan::State& state) { return executor_of(state).lent_bytes(); }

Report flows::move_flows(plan::State& state, StorageBackend& backend, std::span<std::byte> lent,
                         const std::function<void()>& make_blocks) {
  storage::asked([&] { backend.refresh(); });
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
  const std::optional<Diagnostic> wrong = make_ready(state, backend, lent, connects);
  agreement.largest(connects);
  if (!wrong && !make_blocks) executor_of(state).expect();
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
  Report report = describe(state, all.may_throw);
  try {
    const observe::ProgressMeter progress = state.frame->progress(
        report.method, report.blocks_sent + report.blocks_received, report.block_bytes);
    executor_of(state).run(backend, all, report);
  } catch (const Error&) {
    throw;
  } catch (...) {
    // A storage threw that says it does not, or memory ran out. Other ranks wait for this one.
    std::terminate();
  }
  return report;
}

}  // namespace valet
