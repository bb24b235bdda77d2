// SPDX-License-Identifier: BSD-3-Clause
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
  Redistribution(const std::shared_ptr<call::Frame>& frame, const GridLayout& from,
                 const GridLayout& to, std::size_t element_bytes, const LayoutOptions& options)
      : call_(*frame, "layout", from, to, element_bytes, options), memory_(*frame->memory) {}

  /// Collective. All ranks come back, ready to move, or all throw.
  void prepare(const SourceArray& source, const TargetArray& target) {
    const observe::TraceSpan span(call_.frame.observer->trace, observe::TraceKind::stage, "plan");
    std::optional<Diagnostic> diagnostic = check(source, target);
    if (!diagnostic) diagnostic = intersect();
    call_.agree(diagnostic, enough_, wish_ ? &*wish_ : nullptr);
    call_.frame.align();
  }

  Report run(const SourceArray& source, const TargetArray& target) {
    const double start = mpi::now();
    Report report;
    report.neighbours = call_.parts->neighbours();
    call_.frame.exchange("redistribute",
                         static_cast<std::uint64_t>(call_.from.elements() + call_.to.elements()),
                         call_.element_bytes, report, [&] {
                           if ((*call_.all)->at_once)
                             call_.parts->move_at_once(source.data, target.data, report);
                           else
                             move_in_chunks(source.data, target.data, report);
                         });
    call_.describe(report);
    report.exchange_seconds = mpi::now() - start;
    return report;
  }

 private:
  std::optional<Diagnostic> check(const SourceArray& source, const TargetArray& target) {
    if (auto diagnostic = call_.check_grids()) return diagnostic;
    if (auto diagnostic = call_.check_array(call_.from, source)) return diagnostic;
    if (auto diagnostic = call_.check_array(call_.to, target)) return diagnostic;
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
    intersection_bytes_ = call_.intersection_bytes();
    const bool takes_part = call_.from.elements() > 0 || call_.to.elements() > 0;
    enough_ = intersection_bytes_ + (takes_part ? 2 * call_.element_bytes : 0);
    if (enough_ > call_.options.budget_bytes)
      return Diagnostic{
          ErrorCode::budget_too_small,
          "the budget of " + std::to_string(call_.options.budget_bytes) +
              " bytes does not hold what it shares with other ranks and two elements; "
              "set budget_bytes to " +
              mpi::at_least_enough};
    return detail::unless_out_of_memory(
        [&] {
          call_.share_parts(rest(), schedule::most_bytes_at_once);
          if (takes_part)
            call_.mine.piece = layout::choose_chunk_elements(rest(), call_.element_bytes);
          wish_.emplace(node_wish(sizes(call_.mine)));
        },
        layout::out_of_memory);
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
    layout::ExchangeSizes beside = sizes(**call_.all);
    const std::uint64_t taken =
        beside.send_buffers * beside.chunk_bytes() + memory_.node().mapped_bytes();
    const std::uint64_t left = rest() - std::min(rest(), taken);
    beside.slots = std::clamp<std::uint64_t>(left / beside.chunk_bytes(), 1, beside.slots);
    return beside;
  }
  /// The own segment and those of destinations take no more than the budget leaves, and each holds
  /// at least two chunks, of which one is filled while the other is emptied.
  [[nodiscard]] storage::NodeWish node_wish(const layout::ExchangeSizes& most) {
    storage::NodeWish wish(call_.channel, call_.frame.ledger, call_.parts->peers().destinations,
                           call_.parts->peers().sources);
    const std::uint64_t share = node_limit() / (1 + wish.destinations.size());
    const std::size_t least = std::min<std::size_t>(most.slots, 2) * most.chunk_bytes();
    const bool takes_part = call_.options.share_memory && share >= least;
    wish.allowance = wish.wish =
        takes_part ? std::min<std::uint64_t>(most.slots * most.chunk_bytes(), share) : 0;
    wish.least = most.chunk_bytes();
    return wish;
  }

  void move_in_chunks(const void* source, void* target, Report& report) {
    memory_.share(node_wish(sizes(**call_.all)));
    std::optional<layout::ArrayExchange> exchange;
    mpi::agree(call_.channel, detail::unless_out_of_memory(
                                  [&] {
                                    exchange.emplace(call_.channel, call_.frame.ledger,
                                                     sizes_beside_node(), call_.parts->take_peers(),
                                                     call_.parts->outgoing(source),
                                                     call_.parts->incoming(target), memory_.node());
                                    memory_.take_scratch(exchange->scratch_bytes());
                                  },
                                  layout::out_of_memory));
    memory_.use_scratch([&](std::span<std::byte> scratch) { exchange->run(scratch, report); });
  }

  layout::LayoutCall call_;
  storage::Loan& memory_;
  std::uint64_t enough_ = 0;  ///< a budget, for this rank
  std::uint64_t intersection_bytes_ = 0;
  std::optional<storage::NodeWish> wish_;  ///< before the chunk is agreed upon
};

}  // namespace

Report redistribute(MPI_Comm communicator, const GridLayout& from, const GridLayout& to,
                    std::size_t element_bytes, const SourceArray& source, const TargetArray& target,
                    const LayoutOptions& options) {
  return layout::run_layout_call<Redistribution>(communicator, from, to, element_bytes, options,
                                                 source, target);
}

}  // namespace valet
