// SPDX-License-Identifier: BSD-3-Clause
#include "base/diagnose.hpp"
#include "base/lent_memory.hpp"
#include "base/memory_reserve.hpp"
#include "base/names.hpp"
#include "base/promise.hpp"
#include "mpi/agreement.hpp"
#include "mpi/check.hpp"
#include "operations/ragged/arena_move.hpp"
#include "operations/ragged/block_sums.hpp"
#include "operations/ragged/plan_state.hpp"
#include "plan/planner.hpp"
#include "schedule/methods.hpp"
#include "storage/growth.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace valet {
namespace ragged {
namespace {

/// What lists take for a page: imports, exports, where pages are, and in PHASED who waits for
/// which.
constexpr std::uint64_t bytes_of_page_lists(Method method) {
  return method == Method::phased ? 32 : 20;
}

/// What a rank lacks that is to hold what the plan says, if anything.
std::optional<Diagnostic> check_room(PlanState& plan, const RaggedStorage& storage,
                                     std::span<const Arena> arenas) {
  const std::size_t columns_end = plan.fields + storage.columns().size();
  for (std::size_t a = 0; a < arenas.size(); ++a) {
    const std::uint64_t bytes = plan.required_bytes(a), capacity = arenas[a].capacity_bytes;
    if (bytes <= capacity) continue;
    std::string name, has = std::to_string(capacity) + " bytes";
    if (a < plan.fields)
      name = name_of(storage.fields()[a], a);
    else if (a < columns_end)
      name = detail::named("column", storage.columns()[a - plan.fields].label, a - plan.fields);
    else
      name = "the lengths of " + name_of(storage.fields()[a - columns_end], a - columns_end);
    if (a >= plan.fields)
      has = "room for " + std::to_string(capacity / arenas[a].row_bytes) + " blocks";
    return diagnose(
        ErrorCode::infeasible, "it would hold ", plan.blocks_after, " blocks, with ", bytes,
        " bytes in ", name, ", which has ", has, " (required_bytes = ", bytes,
        ", required blocks = ", plan.blocks_after,
        "); grow it to that, give a storage that grows, or partition again with the bytes "
        "as a constraint");
  }
  return std::nullopt;
}

RaggedRoom room_of(const PlanState& plan) {
  RaggedRoom room{plan.blocks_after, {}};
  for (std::size_t f = 0; f < plan.fields; ++f) room.bytes.push_back(plan.required_bytes(f));
  return room;
}

Diagnostic changed() {
  return invalid(
      "the map, the lengths or the fields are not those that the plan was made from; give the "
      "same, or plan again");
}

/// Lists, scratch and plans of pages, then what moves.
class Execution {
 public:
  Execution(PlanState& plan, const RaggedStorage& storage, std::span<const int> ranks)
      : plan_(plan), base_(plan.base), storage_(storage), ranks_(ranks), arenas_(base_.ledger) {}

  Report run() {
    const double start = mpi::now();
    for (std::size_t a = 0; a < plan_.arenas.size(); ++a)
      most_pages_ = std::max(most_pages_, plan_.most_bytes(a) / plan_.page_bytes + 1);
    mpi::Agreement agreement;
    agreement.largest(most_pages_);
    agreement.run(base_.channel, check());
    if (plan_.anything_moves) plan::require_numbered_pages(most_pages_);
    if (plan_.anything_moves) plan_pages();
    Report report = describe();
    to_lengths(arenas_, storage_, plan_.blocks_before);
    const double planned = mpi::now();
    report.plan_seconds += planned - start;
    if (sums_) sums_->before(arenas_, ranks_);
    report.verify_seconds = mpi::now() - planned;
    move(report);
    const double moved = mpi::now();
    std::optional<Diagnostic> corrupted;
    if (sums_) corrupted = sums_->after(arenas_);
    to_offsets(arenas_, storage_, plan_.blocks_after);
    if (sums_) mpi::agree(base_.channel, corrupted);
    report.verified = sums_.has_value();
    if (sums_) report.verify_seconds += mpi::now() - moved;
    base_.frame->write_transfers(report.method, observe::row_of(report), plan_.destinations.peers(),
                                 &RankBlocks::blocks);
    return report;
  }

 private:
  [[nodiscard]] std::optional<Diagnostic> check() {
    if (auto diagnostic = check_ragged(storage_, plan_.blocks_before)) return diagnostic;
    if (storage_.fields().size() != plan_.fields || ranks_.size() != plan_.blocks_before)
      return changed();
    if (storage_.grows()) {
      if (auto diagnostic = storage::grow(storage_, room_of(plan_))) return diagnostic;
      if (auto diagnostic = check_ragged(storage_, plan_.blocks_before)) return diagnostic;
    }
    return detail::unless_out_of_memory(
        [&]() -> std::optional<Diagnostic> {
          arenas_ = arenas_of(base_.ledger, storage_);
          const auto alike = [](const Arena& a, const Arena& b) {
            return a.row_bytes == b.row_bytes && a.alignment_bytes == b.alignment_bytes;
          };
          if (!std::ranges::equal(arenas_, plan_.arenas, alike)) return changed();
          if (auto found = check_room(plan_, storage_, arenas_)) return found;
          if (auto found = check_lengths(storage_, arenas_, plan_.blocks_before)) return found;
          if (fingerprint_of(arenas_, ranks_) != plan_.fingerprint) return changed();
          if (base_.options.verify) sums_.emplace(plan_);
          const bool lists = plan_.anything_moves && most_pages_ <= detail::most_slots;
          return lists ? list_pages() : std::nullopt;
        },
        "no memory for lists of pages; raise the smallest budget_bytes of all ranks, then pages "
        "are larger");
  }
  [[nodiscard]] std::optional<Diagnostic> list_pages() {
    moves_.reserve(arenas_.size());
    std::uint64_t fragment_bytes = 0;
    for (std::size_t a = 0; a < arenas_.size(); ++a) {
      moves_.push_back(std::make_unique<ArenaMove>(plan_, arenas_[a], a, page_options(a)));
      if (!moves_[a]->list_pages(ranks_)) return changed();
      fragment_bytes = std::max(fragment_bytes, moves_[a]->outgoing().fragment_bytes());
    }
    base_.memory.limit(base_.options.budget_bytes -
                       static_cast<std::size_t>(plan_.list_bytes + fragment_bytes));
    fragments_ = Array<std::byte>(base_.ledger, static_cast<std::size_t>(fragment_bytes));
    return std::nullopt;
  }
  void plan_pages() {
    std::uint64_t budget = base_.options.budget_bytes - plan_.list_bytes - fragments_.size();
    for (const auto& move : moves_) {
      move->plan_pages(budget);
      count_in(*move);
      // What ranks of a node share for the first arena is there to the end.
      if (move == moves_.front()) budget -= base_.memory.node().bytes();
    }
    mpi::agree(base_.channel,
               detail::unless_out_of_memory(
                   [&] {
                     std::uint64_t bytes = 0, list_bytes = 0;
                     for (const auto& move : moves_) {
                       std::uint64_t own_lists = 0;
                       bytes = std::max(bytes, move->workspace_bytes(own_lists));
                       list_bytes = std::max(list_bytes, own_lists);
                       count_in(*move);
                       move->state().executor.reset();
                       count_in(*move);
                     }
                     lists_ = Array<std::byte>(base_.ledger, static_cast<std::size_t>(list_bytes));
                     moves_[0]->state().take_scratch(static_cast<std::size_t>(bytes));
                   },
                   [&] {
                     return diagnose(ErrorCode::out_of_memory, "no memory for a budget of ",
                                     base_.options.budget_bytes,
                                     " bytes and lists of pages; lower budget_bytes");
                   }));
  }
  Report move_arena(ArenaMove& move) {
    const detail::LentMemory lists(move.state().ledger, {lists_.data(), lists_.size()});
    try {
      return move.run(ranks_, fragments_);
    } catch (...) {
      lists_.leak();  // MPI may still touch it
      throw;
    }
  }
  /// Moves the arenas one after the other; pages are what the progress counts.
  void move(Report& report) {
    std::uint64_t pages = 0;
    for (const auto& move : moves_) pages += move->moved_pages();
    observe::ProgressMeter progress = base_.frame->progress("ragged", pages, plan_.page_bytes);
    for (const auto& move : moves_) {
      const Report part = move_arena(*move);
      count_in(*move);
      if (move == moves_.front()) {
        report.method = part.method;
        report.reason = part.reason;
      }
      report.messages += part.messages;
      report.credits += part.credits;
      report.blocks_pulled += part.blocks_pulled;
      report.extra_bytes_bound += part.extra_bytes_bound;
      report.local_copies += part.local_copies;
      report.misplaced += part.misplaced;
      report.exchange_seconds += part.exchange_seconds;
      report.local_seconds += part.local_seconds;
      report.waiting_seconds += part.waiting_seconds;
    }
    progress.finish();
  }
  /// The first arena's are those that ranks of a node share memory for.
  [[nodiscard]] Options page_options(std::size_t arena) const {
    Options options = base_.options;
    options.verify = false;  // blocks are, not pages
    options.share_memory = options.share_memory && arena == 0;
    return options;
  }
  /// Lets the ledger of the plan know of what a part has allocated since, and of its peak.
  void count_in(ArenaMove& move) {
    Ledger& part = move.state().ledger;
    const std::uint64_t peak = std::max<std::uint64_t>(part.peak_bytes(), move.counted_bytes);
    base_.ledger.add(static_cast<std::size_t>(peak - move.counted_bytes));
    base_.ledger.subtract(static_cast<std::size_t>(peak));
    move.counted_bytes = part.current_bytes();
    base_.ledger.add(static_cast<std::size_t>(move.counted_bytes));
    part.reset_peak();
  }
  [[nodiscard]] Report describe() const {
    Report report;
    // Where no bytes move there was nothing to choose.
    report.method = to_string(base_.options.method == Method::automatic ? Method::stream
                                                                        : base_.options.method);
    report.blocks_before = plan_.blocks_before;
    report.blocks_dropped = plan_.blocks_dropped;
    report.blocks_after = plan_.blocks_after;
    report.blocks_sent = plan_.blocks_leaving;
    report.blocks_received = plan_.blocks_arriving;
    report.budget_bytes = base_.options.budget_bytes;
    report.neighbours = plan_.neighbours();
    report.extra_bytes_bound = extra_bytes_bound();
    report.plan_seconds = base_.plan_seconds;
    report.plan_from_layout = base_.from_layout;
    report.segments = base_.segments;
    report.periods = base_.periods;
    const std::span<const RankBlocks> peers = plan_.destinations.peers();
    for (std::size_t p = 0; p < peers.size(); ++p)
      for (std::size_t a = 0; a < arenas_.size(); ++a)
        if (peers[p].rank != base_.channel.rank()) report.bytes_sent += plan_.bytes_out.at(p, a);
    return report;
  }
  [[nodiscard]] std::uint64_t extra_bytes_bound() const {
    std::uint64_t pages = 0;
    for (const Arena& arena : arenas_) pages += arena.capacity_bytes / plan_.page_bytes + 1;
    const auto is_root = [&](const std::unique_ptr<ArenaMove>& move) {
      return base_.channel.rank() == 0 && schedule::has_root(move->state().options);
    };
    const auto ranks = base_.from_layout || std::ranges::any_of(moves_, is_root)
                           ? static_cast<std::uint64_t>(base_.channel.size())
                           : std::uint64_t{0};
    return detail::promised_bytes(base_.options.budget_bytes, plan_.neighbours(), ranks,
                                  base_.frame->traces()) +
           bytes_of_page_lists(base_.options.method) * pages;
  }

  PlanState& plan_;
  plan::State& base_;
  const RaggedStorage& storage_;
  std::span<const int> ranks_;
  Vector<Arena> arenas_;
  Array<std::byte> lists_;  ///< of the method, for one arena after the other
  std::vector<std::unique_ptr<ArenaMove>> moves_;
  Array<std::byte> fragments_;
  std::optional<BlockSums> sums_;
  std::uint64_t most_pages_ = 0;  ///< of an arena on this rank, then on all
};

}  // namespace
}  // namespace ragged

RaggedPlan::RaggedPlan(std::unique_ptr<ragged::PlanState> state) : state_(std::move(state)) {}
RaggedPlan::RaggedPlan(RaggedPlan&&) noexcept = default;
RaggedPlan& RaggedPlan::operator=(RaggedPlan&&) noexcept = default;
RaggedPlan::~RaggedPlan() = default;

std::uint64_t RaggedPlan::blocks_before() const { return state_->blocks_before; }
std::uint64_t RaggedPlan::blocks_after() const { return state_->blocks_after; }
std::uint64_t RaggedPlan::required_bytes(std::size_t field) const {
  if (field >= state_->fields)
    refuse("the plan has ", state_->fields, " arenas, but bytes of arena ", field,
           " are asked for; count from 0");
  return state_->required_bytes(field);
}
std::uint64_t RaggedPlan::neighbours() const { return state_->neighbours(); }
std::uint64_t RaggedPlan::extra_bytes() const { return state_->base.ledger.current_bytes(); }

RaggedPlan plan_to_ranks(MPI_Comm communicator, const RaggedStorage& storage, std::uint64_t count,
                         std::span<const int> ranks, const Options& options) {
  const detail::MemoryReserve reserve;
  return ragged::Access::make_plan(mpi::Channel::open_for_planning(communicator), storage, count,
                                   ranks, options);
}

Report execute(RaggedPlan& plan, const RaggedStorage& storage, std::span<const int> ranks) {
  mpi::require_mpi();
  const detail::MemoryReserve reserve;
  storage.refresh();
  ragged::PlanState& state = ragged::Access::state_of(plan);
  const Options& options = state.base.options;
  state.base.frame->caption = {to_string(options.method), 0, options.budget_bytes};
  struct GiveBack {
    storage::Loan& memory;
    ~GiveBack() { memory.return_all(); }
  } const give_back{state.base.memory};
  return state.base.frame->run([&] { return ragged::Execution(state, storage, ranks).run(); });
}

Report migrate(MPI_Comm communicator, const RaggedStorage& storage, std::uint64_t count,
               std::span<const int> ranks, const Options& options) {
  const detail::MemoryReserve reserve;
  RaggedPlan plan = ragged::Access::make_plan(mpi::Channel::open_for_call(communicator), storage,
                                              count, ranks, options);
  return execute(plan, storage, ranks);
}

}  // namespace valet
