// SPDX-License-Identifier: BSD-3-Clause
#include "base/memory_reserve.hpp"
#include "engine/array_exchange.hpp"
#include "mpi/agreement.hpp"
#include "mpi/check.hpp"
#include "observe/observer.hpp"
#include "operations/layout/layout_call.hpp"
#include "schedule/at_once.hpp"
#include <valet/redistribute.hpp>

#include <algorithm>
#include <functional>
#include <new>
#include <string>

namespace valet {
namespace {

/// One call on one rank: what it checks, then what it moves.
class Redistribution {
 public:
  Redistribution(call::Frame& frame, const GridLayout& from, const GridLayout& to,
                 std::size_t element_bytes, const LayoutOptions& options)
      : call_(frame, from, to, element_bytes, options),
        memory_(*frame.memory),
        ledger_(frame.ledger),
        observer_(*frame.observer) {
    frame.caption = {"layout", element_bytes, call_.options.budget_bytes};
  }

  /// Collective. All ranks come back, ready to move, or all throw.
  void prepare(const SourceArray& source, const TargetArray& target) {
    const observe::TraceSpan span(observer_.trace, observe::TraceKind::stage, "plan");
    std::optional<Diagnostic> diagnostic = check(source, target);
    if (!diagnostic) diagnostic = intersect();
    mine_.source_order = source.order;
    mine_.target_order = target.order;
    all_ = call_.agree(diagnostic, mine_, enough_, wish_ ? &*wish_ : nullptr);
    call_.frame.align();
  }

  Report move(const void* source, void* target) {
    const layout::OutgoingPart outgoing = parts_->outgoing(source, source_strides_, *all_);
    const layout::IncomingPart incoming = parts_->incoming(target, target_strides_, *all_);
    const double start = mpi::now();
    Report report;
    report.neighbours = parts_->neighbours();
    observe::ProgressMeter progress = call_.frame.progress(
        "redistribute", static_cast<std::uint64_t>(call_.from.elements() + call_.to.elements()),
        call_.element_bytes);
    {
      const observe::TraceSpan span(observer_.trace, observe::TraceKind::stage, "exchange");
      const double waited = observer_.waiting_seconds;
      if ((*all_)->at_once)
        parts_->move_at_once(outgoing, incoming, report);
      else
        move_in_chunks(outgoing, incoming, report);
      progress.finish();
      report.waiting_seconds = observer_.waiting_seconds - waited;
    }
    call_.describe(report);
    report.exchange_seconds = mpi::now() - start;
    return report;
  }

 private:
  std::optional<Diagnostic> check(const SourceArray& source, const TargetArray& target) {
    if (auto diagnostic = call_.check_grids(ledger_)) return diagnostic;
    if (auto diagnostic = call_.check_array(call_.from, source, source_strides_)) return diagnostic;
    if (auto diagnostic = call_.check_array(call_.to, target, target_strides_)) return diagnostic;
    if (call_.from.elements() == 0 || call_.to.elements() == 0) return std::nullopt;
    const auto* const from = static_cast<const std::byte*>(source.data);
    const auto* const to = static_cast<const std::byte*>(target.data);
    const std::less<> before;
    if (before(from, to + target.bytes) && before(to, from + source.bytes))
      return Diagnostic{ErrorCode::invalid_argument,
                        "its source and target arrays overlap; move within one array by "
                        "redistribute_in_place()"};
    return std::nullopt;
  }

  /// Finds what is shared, within the budget, the largest chunk that the rest allows, and whether
  /// everything can move at once.
  std::optional<Diagnostic> intersect() {
    intersection_bytes_ = intersection_bytes(call_.from, call_.to.layout()) +
                          intersection_bytes(call_.to, call_.from.layout());
    const bool takes_part = call_.from.elements() > 0 || call_.to.elements() > 0;
    enough_ = intersection_bytes_ + (takes_part ? 2 * call_.element_bytes : 0);
    if (enough_ > call_.options.budget_bytes)
      return Diagnostic{
          ErrorCode::budget_too_small,
          "the budget of " + std::to_string(call_.options.budget_bytes) +
              " bytes does not hold what it shares with other ranks and two elements; "
              "set budget_bytes to " +
              mpi::at_least_enough};
    try {
      const detail::LeaveReserve leave;
      memory_.limit(rest());
      parts_.emplace(ledger_, call_);
      const std::uint64_t leaving =
          static_cast<std::uint64_t>(parts_->peers().elements_sent) * call_.element_bytes;
      const std::uint64_t bytes = parts_->bytes_at_once();
      mine_.at_once = leaving <= schedule::most_bytes_at_once && bytes <= rest();
      if (mine_.at_once) memory_.take_scratch(bytes);
      if (takes_part) mine_.piece = layout::choose_chunk_elements(rest(), call_.element_bytes);
      wish_.emplace(node_wish(sizes(mine_)));
    } catch (const std::bad_alloc&) {
      return layout::out_of_memory();
    }
    return std::nullopt;
  }

  /// What the intersections leave of the budget.
  [[nodiscard]] std::uint64_t rest() const {
    return call_.options.budget_bytes - intersection_bytes_;
  }
  /// The same beside the most that is sent from.
  [[nodiscard]] std::uint64_t node_limit() const {
    return rest() - layout::most_send_bytes(rest(), call_.element_bytes);
  }
  [[nodiscard]] layout::ExchangeSizes sizes(const layout::LayoutSizes& of) const {
    const std::int64_t chunk = of.piece == layout::LayoutSizes::no_limit ? 1 : of.piece;
    return layout::exchange_sizes(rest(), call_.element_bytes, chunk);
  }
  /// Where no source is on this node, slots are scratch, beside the memory of destinations.
  [[nodiscard]] layout::ExchangeSizes sizes_beside_node() const {
    layout::ExchangeSizes beside = sizes(**all_);
    const std::uint64_t taken =
        beside.send_buffers * beside.chunk_bytes() + memory_.node().mapped_bytes();
    const std::uint64_t left = rest() - std::min(rest(), taken);
    beside.slots = std::clamp<std::uint64_t>(left / beside.chunk_bytes(), 1, beside.slots);
    return beside;
  }
  /// The own segment and those of destinations take no more than the budget leaves, and each holds
  /// at least two chunks, of which one is filled while the other is emptied.
  [[nodiscard]] storage::NodeWish node_wish(const layout::ExchangeSizes& most) {
    storage::NodeWish wish(call_.channel, ledger_, parts_->peers().destinations,
                           parts_->peers().sources);
    const std::uint64_t share = node_limit() / (1 + wish.destinations.size());
    const std::size_t least = std::min<std::size_t>(most.slots, 2) * most.chunk_bytes();
    const bool takes_part = call_.options.share_memory && share >= least;
    wish.allowance = wish.wish =
        takes_part ? std::min<std::uint64_t>(most.slots * most.chunk_bytes(), share) : 0;
    wish.least = most.chunk_bytes();
    return wish;
  }

  void move_in_chunks(const layout::OutgoingPart& outgoing, const layout::IncomingPart& incoming,
                      Report& report) {
    memory_.share(node_wish(sizes(**all_)));
    std::optional<layout::ArrayExchange> exchange;
    std::optional<Diagnostic> diagnostic;
    try {
      const detail::LeaveReserve leave;
      exchange.emplace(call_.channel, ledger_, sizes_beside_node(), parts_->take_peers(), outgoing,
                       incoming, memory_.node());
      memory_.take_scratch(exchange->scratch_bytes());
    } catch (const std::bad_alloc&) {
      diagnostic = layout::out_of_memory();
    }
    mpi::agree(call_.channel, diagnostic);
    try {
      exchange->run(memory_.scratch(), report);
    } catch (...) {
      memory_.leak_scratch();
      throw;
    }
  }

  layout::LayoutCall call_;
  layout::LayoutSizes mine_;
  std::optional<layout::AgreedSizes> all_;
  std::uint64_t enough_ = 0;  ///< a budget, for this rank
  storage::Loan& memory_;
  Ledger& ledger_;
  observe::Observer& observer_;
  BlockCyclic::Extents source_strides_, target_strides_;
  std::uint64_t intersection_bytes_ = 0;
  std::optional<layout::SharedParts> parts_;
  std::optional<storage::NodeWish> wish_;  ///< before the chunk is agreed upon
};

}  // namespace

Report redistribute(MPI_Comm communicator, const GridLayout& from, const GridLayout& to,
                    std::size_t element_bytes, const SourceArray& source, const TargetArray& target,
                    const LayoutOptions& options) {
  const detail::MemoryReserve reserve;
  call::Frame frame(mpi::Channel::open_for_call(communicator),
                    call::FrameOptions(options, "LayoutOptions::progress"));
  return frame.run([&] {
    const double start = mpi::now();
    Redistribution redistribution(frame, from, to, element_bytes, options);
    redistribution.prepare(source, target);
    const double planned = mpi::now() - start;
    Report report = redistribution.move(source.data, target.data);
    report.plan_seconds = planned;
    return report;
  });
}

}  // namespace valet
