// SPDX-License-Identifier: BSD-3-Clause
#include "base/callback_guard.hpp"
#include "engine/array_exchange.hpp"
#include "mpi/agreement.hpp"
#include "mpi/check.hpp"
#include "observe/observer.hpp"
#include "observe/trace_file.hpp"
#include "operations/layout/grid_side.hpp"
#include <valet/log.hpp>
#include <valet/redistribute.hpp>

#include <algorithm>
#include <functional>
#include <limits>
#include <new>
#include <string>

namespace valet {
namespace {

using layout::GridSide;

constexpr std::int64_t any_chunk = std::numeric_limits<std::int64_t>::max();

/// One call on one rank: what it checks, then what it moves.
class Redistribution {
 public:
  Redistribution(mpi::Channel& channel, const GridLayout& from, const GridLayout& to,
                 std::size_t element_bytes, const LayoutOptions& options)
      : channel_(channel),
        from_("source", from, channel.rank()),
        to_("target", to, channel.rank()),
        element_bytes_(element_bytes),
        options_(options),
        progress_(options.progress, "LayoutOptions::progress") {
    channel.watch(&observer_);
    if (options.trace.empty()) return;
    trace_.emplace(ledger_, channel.rank(), options.trace);
    observer_.trace = &trace_->trace();
  }

  /// Collective. All ranks come back, ready to move, or all throw.
  void prepare(const SourceArray& source, const TargetArray& target) {
    const observe::TraceSpan span(observer_.trace, observe::TraceKind::stage, "plan");
    std::optional<Diagnostic> diagnostic = check(source, target);
    layout::CallNumbers numbers{.element_bytes = element_bytes_,
                                .traced = trace_.has_value(),
                                .source_order = {},
                                .target_order = {},
                                .least = any_chunk,
                                .watched = progress_.any()};
    if (from_.grid_rank != layout::outside) numbers.source_order = source.order;
    if (to_.grid_rank != layout::outside) numbers.target_order = target.order;
    if (!diagnostic) diagnostic = intersect(numbers.least);
    agree_on_call(channel_, diagnostic, from_.grid, to_.grid, numbers);
    is_watched_ = numbers.watched;
    if (trace_) trace_->align(channel_);
    if (numbers.least != any_chunk) chunk_elements_ = numbers.least;
    order_ = *numbers.target_order;
  }

  Report move(const void* source, void* target) {
    layout::ArrayExchange::Outgoing outgoing;
    layout::ArrayExchange::Incoming incoming;
    std::optional<layout::SequenceCopy> pack, unpack;
    if (sent_) {
      pack.emplace(*sent_, layout::ArrayShape{source_strides_, element_bytes_}, order_);
      outgoing = {&*sent_, &to_.grid, to_.grid_rank, &*pack, static_cast<const std::byte*>(source)};
    }
    if (received_) {
      unpack.emplace(*received_, layout::ArrayShape{target_strides_, element_bytes_}, order_);
      incoming = {&*received_, &from_.grid, from_.grid_rank, &*unpack,
                  static_cast<std::byte*>(target)};
    }
    const double start = mpi::now();
    layout::ArrayExchange exchange(
        channel_, ledger_,
        layout::exchange_sizes(options_.budget_bytes - intersection_bytes_, element_bytes_,
                               chunk_elements_),
        outgoing, incoming, options_.share_memory);
    Report report;
    const ProgressWish wish{progress_.callback(), options_.progress_bar, channel_.rank(),
                            "valet: redistribute"};
    observe::WatchedProgress watched(
        observer_,
        wish.meter(static_cast<std::uint64_t>(from_.elements() + to_.elements()), element_bytes_));
    {
      const observe::TraceSpan span(observer_.trace, observe::TraceKind::stage, "exchange");
      const double waited = observer_.waiting_seconds;
      exchange.run(report);
      watched.finish();
      report.waiting_seconds = observer_.waiting_seconds - waited;
    }
    report.method = "layout";
    report.block_bytes = element_bytes_;
    report.blocks_before = static_cast<std::uint64_t>(from_.elements());
    report.blocks_after = static_cast<std::uint64_t>(to_.elements());
    report.budget_bytes = options_.budget_bytes;
    report.peak_extra_bytes = ledger_.peak_bytes();
    report.extra_bytes_bound = options_.budget_bytes + (std::uint64_t{64} << 10) +
                               64 * static_cast<std::uint64_t>(channel_.size());
    report.exchange_seconds = mpi::now() - start;
    if (trace_) trace_->write(channel_, {report.method, element_bytes_, options_.budget_bytes});
    if (is_watched_) mpi::agree(channel_, progress_.diagnostic());
    return report;
  }

 private:
  std::optional<Diagnostic> check(const SourceArray& source, const TargetArray& target) {
    {
      Array<std::uint8_t> seen(ledger_, static_cast<std::size_t>(channel_.size()));
      if (auto diagnostic = check_grids(from_, to_, element_bytes_, {seen.begin(), seen.size()}))
        return diagnostic;
    }
    if (auto diagnostic = check_array(from_, element_bytes_, source, source_strides_))
      return diagnostic;
    if (auto diagnostic = check_array(to_, element_bytes_, target, target_strides_))
      return diagnostic;
    if (from_.elements() == 0 || to_.elements() == 0) return std::nullopt;
    const auto* const from = static_cast<const std::byte*>(source.data);
    const auto* const to = static_cast<const std::byte*>(target.data);
    const std::less<> before;
    if (before(from, to + target.bytes) && before(to, from + source.bytes))
      return Diagnostic{ErrorCode::invalid_argument,
                        "its source and target arrays overlap; move within one array by "
                        "redistribute_in_place()"};
    return std::nullopt;
  }

  /// Finds what is shared, within the budget, and the largest chunk that the rest allows.
  std::optional<Diagnostic> intersect(std::int64_t& chunk_elements) {
    intersection_bytes_ =
        intersection_bytes(from_, to_.layout()) + intersection_bytes(to_, from_.layout());
    const bool takes_part = from_.elements() > 0 || to_.elements() > 0;
    const std::uint64_t needed = intersection_bytes_ + (takes_part ? 2 * element_bytes_ : 0);
    if (needed > options_.budget_bytes)
      return Diagnostic{
          ErrorCode::budget_too_small,
          "the budget of " + std::to_string(options_.budget_bytes) +
              " bytes does not hold what it shares with other ranks and two elements; "
              "set budget_bytes to at least " +
              std::to_string(needed)};
    try {
      if (from_.elements() > 0)
        sent_.emplace(ledger_, from_.layout(), from_.grid_rank, to_.layout());
      if (to_.elements() > 0)
        received_.emplace(ledger_, to_.layout(), to_.grid_rank, from_.layout());
    } catch (const std::bad_alloc&) {
      return Diagnostic{ErrorCode::out_of_memory,
                        "the system has no memory for the " + std::to_string(intersection_bytes_) +
                            " bytes that what it shares with other ranks takes"};
    }
    if (takes_part)
      chunk_elements = layout::choose_chunk_elements(options_.budget_bytes - intersection_bytes_,
                                                     element_bytes_);
    return std::nullopt;
  }

  const mpi::Channel& channel_;
  GridSide from_, to_;
  std::size_t element_bytes_;
  const LayoutOptions& options_;
  Ledger ledger_;
  observe::Observer observer_;
  std::optional<observe::TraceFile> trace_;
  BlockCyclic::Extents source_strides_, target_strides_;
  std::uint64_t intersection_bytes_ = 0;
  std::optional<layout::Intersection> sent_, received_;
  std::int64_t chunk_elements_ = 1;
  detail::ProgressGuard progress_;
  bool is_watched_ = false;  ///< by a rank
  IndexOrder order_ = IndexOrder::row_major;
};

}  // namespace

Report redistribute(MPI_Comm communicator, const GridLayout& from, const GridLayout& to,
                    std::size_t element_bytes, const SourceArray& source, const TargetArray& target,
                    const LayoutOptions& options) {
  mpi::Channel channel = mpi::Channel::open(communicator);
  const double start = mpi::now();
  Redistribution redistribution(channel, from, to, element_bytes, options);
  redistribution.prepare(source, target);
  const double planned = mpi::now() - start;
  Report report = redistribution.move(source.data, target.data);
  report.plan_seconds = planned;
  if (is_logged(LogLevel::info, channel.rank()))
    log(LogLevel::info, channel.rank(), report.to_line());
  return report;
}

}  // namespace valet
