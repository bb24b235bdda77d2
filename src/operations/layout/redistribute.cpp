// SPDX-License-Identifier: BSD-3-Clause
#include "base/diagnose.hpp"
#include "engine/array_exchange.hpp"
#include "mpi/agreement.hpp"
#include "mpi/check.hpp"
#include "observe/observer.hpp"
#include "operations/layout/layout_call.hpp"
#include "schedule/stream_sizes.hpp"
#include <valet/redistribute.hpp>

#include <algorithm>
#include <functional>
#include <memory>

namespace valet {
namespace {

/// One call on one rank: what it checks, then what it moves.
class Redistribution : public layout::LayoutCall {
 public:
  Redistribution(const std::shared_ptr<call::Frame>& whole, const GridLayout& source,
                 const GridLayout& target, std::size_t bytes, const LayoutOptions& chosen)
      : LayoutCall(*whole, "layout", source, target, bytes, chosen) {}

  /// Collective. All ranks come back, ready to move, or all throw.
  void prepare(const SourceArray& source, const TargetArray& target) {
    const observe::TraceSpan span(frame.observer->trace, observe::TraceKind::stage, "plan");
    std::optional<Diagnostic> diagnostic = check(source, target);
    if (!diagnostic) diagnostic = intersect(source, target);
    agree(diagnostic, enough_, wish_ ? &*wish_ : nullptr);
    frame.align();
  }

  Report run(const SourceArray& /*source*/, const TargetArray& /*target*/) {
    const double start = mpi::now();
    Report report;
    report.neighbours = neighbours();
    frame.exchange("redistribute", static_cast<std::uint64_t>(from.elements() + to.elements()),
                   element_bytes, report, [&] {
                     if ((*all)->at_once)
                       move_at_once(report);
                     else
                       move_in_chunks(report);
                   });
    describe(report);
    report.exchange_seconds = mpi::now() - start;
    return report;
  }

 private:
  std::optional<Diagnostic> check(const SourceArray& source, const TargetArray& target) {
    if (auto diagnostic = check_grids()) return diagnostic;
    if (auto diagnostic = check_array(from, source)) return diagnostic;
    if (auto diagnostic = check_array(to, target)) return diagnostic;
    if (from.elements() > 0 && to.elements() > 0 && overlap(source, target))
      return invalid(
          "its source and target arrays overlap; redistribute in place within one array");
    return std::nullopt;
  }

  /// Calls meets(data, bytes) for the memory of an array. @return Whether it has returned true.
  template <class Pointer, class Meets>
  static bool any_memory(const LocalArray<Pointer>& array, Meets&& meets) {
    if (array.cells.empty()) return meets(array.data, array.bytes);
    return std::ranges::any_of(array.cells, [&](const CellArray<Pointer>& cell) {
      return cell.bytes > 0 && meets(cell.data, cell.bytes);
    });
  }
  static bool overlap(const SourceArray& source, const TargetArray& target) {
    return any_memory(source, [&](const void* data, std::size_t bytes) {
      const auto* const read = static_cast<const std::byte*>(data);
      return any_memory(target, [&](void* room, std::size_t room_bytes) {
        const auto* const written = static_cast<const std::byte*>(room);
        const std::less<> before;
        return before(read, written + room_bytes) && before(written, read + bytes);
      });
    });
  }

  /// Finds what is shared, within the budget, the largest chunk that the rest allows, and whether
  /// everything can move at once.
  std::optional<Diagnostic> intersect(const SourceArray& source, const TargetArray& target) {
    intersection_bytes_ = intersection_bytes();
    const bool takes_part = from.elements() > 0 || to.elements() > 0;
    enough_ = intersection_bytes_ + (takes_part ? 2 * element_bytes : 0);
    if (enough_ > options.budget_bytes)
      return diagnose(ErrorCode::budget_too_small, "the budget of ", options.budget_bytes,
                      " bytes does not hold what it shares with other ranks and two elements; set "
                      "budget_bytes to ",
                      mpi::at_least_enough);
    return detail::unless_out_of_memory(
        [&] {
          share_parts(source, target, rest(), schedule::most_bytes_at_once);
          if (takes_part) mine.unit = layout::choose_chunk_elements(rest(), element_bytes);
          wish_.emplace(node_wish(sizes(mine)));
        },
        layout::out_of_memory);
  }

  /// What the intersections leave of the budget.
  [[nodiscard]] std::uint64_t rest() const { return options.budget_bytes - intersection_bytes_; }
  [[nodiscard]] layout::ExchangeSizes sizes(const layout::LayoutSizes& of) const {
    const std::int64_t chunk = of.unit == layout::LayoutSizes::no_limit ? 1 : of.unit;
    return layout::exchange_sizes(rest(), element_bytes, chunk);
  }
  /// Where no source is on this node, receive buffers are scratch, beside the memory of
  /// destinations.
  [[nodiscard]] layout::ExchangeSizes sizes_beside_node() const {
    layout::ExchangeSizes beside = sizes(**all);
    const std::uint64_t taken =
        beside.send_buffers * beside.chunk_bytes() + frame.memory->node().mapped_bytes();
    const std::uint64_t left = rest() - std::min(rest(), taken);
    beside.receive_buffers =
        std::clamp<std::uint64_t>(left / beside.chunk_bytes(), 1, beside.receive_buffers);
    return beside;
  }
  /// The own segment and those of destinations take no more than the budget leaves, and each holds
  /// at least two chunks, of which one is filled while the other is emptied.
  [[nodiscard]] storage::NodeWish node_wish(const layout::ExchangeSizes& most) {
    storage::NodeWish wish(channel, frame.ledger, peers->destinations, peers->sources);
    const std::uint64_t most_sent_from = layout::most_send_bytes(rest(), element_bytes);
    const std::uint64_t share = (rest() - most_sent_from) / (1 + wish.destinations.size());
    const std::size_t least = std::min<std::size_t>(most.receive_buffers, 2) * most.chunk_bytes();
    const bool takes_part = options.share_memory && share >= least;
    wish.allowance = wish.wish =
        takes_part ? std::min<std::uint64_t>(most.receive_buffers * most.chunk_bytes(), share) : 0;
    wish.least = most.chunk_bytes();
    return wish;
  }

  void move_in_chunks(Report& report) {
    frame.memory->share(node_wish(sizes(**all)));
    std::unique_ptr<layout::ArrayExchange<>> exchange;
    mpi::agree(channel, detail::unless_out_of_memory(
                            [&] {
                              exchange = std::make_unique<layout::ArrayExchange<>>(
                                  channel, frame.ledger, sizes_beside_node(), *std::move(peers),
                                  copies(), frame.memory->node());
                              frame.memory->take_scratch(exchange->scratch_bytes());
                            },
                            layout::out_of_memory));
    try {
      frame.memory->use_scratch(
          [&](std::span<std::byte> scratch) { exchange->run(scratch, report); });
    } catch (...) {
      static_cast<void>(exchange.release());  // MPI may still write a credit to it
      throw;
    }
  }

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
