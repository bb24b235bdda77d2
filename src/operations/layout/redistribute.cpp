// SPDX-License-Identifier: BSD-3-Clause
#include "engine/array_exchange.hpp"
#include "mpi/check.hpp"
#include "observe/observer.hpp"
#include "observe/trace_file.hpp"
#include "operations/layout/layout_call.hpp"
#include "storage/sequence_copy.hpp"
#include <valet/log.hpp>
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
  Redistribution(mpi::Channel& channel, const GridLayout& from, const GridLayout& to,
                 std::size_t element_bytes, const LayoutOptions& options)
      : call_(channel, from, to, element_bytes, options) {
    channel.watch(&observer_);
    if (options.trace.empty()) return;
    trace_.emplace(ledger_, channel.rank(), options.trace);
    observer_.trace = &trace_->trace();
  }

  /// Collective. All ranks come back, ready to move, or all throw.
  void prepare(const SourceArray& source, const TargetArray& target) {
    const observe::TraceSpan span(observer_.trace, observe::TraceKind::stage, "plan");
    std::optional<Diagnostic> diagnostic = check(source, target);
    if (!diagnostic) diagnostic = intersect(call_.least);
    call_.agree(diagnostic, source.order, target.order);
    if (trace_) trace_->align(call_.channel);
    if (call_.least != layout::LayoutCall::no_limit) chunk_elements_ = call_.least;
  }

  Report move(const void* source, void* target) {
    layout::ArrayExchange::Outgoing outgoing;
    layout::ArrayExchange::Incoming incoming;
    std::optional<layout::SequenceCopy> pack, unpack;
    if (sent_) {
      pack.emplace(*sent_, layout::ArrayShape{source_strides_, call_.element_bytes}, call_.order);
      outgoing = {&*sent_, &call_.to.grid, call_.to.grid_rank, &*pack,
                  static_cast<const std::byte*>(source)};
    }
    if (received_) {
      unpack.emplace(*received_, layout::ArrayShape{target_strides_, call_.element_bytes},
                     call_.order);
      incoming = {&*received_, &call_.from.grid, call_.from.grid_rank, &*unpack,
                  static_cast<std::byte*>(target)};
    }
    const double start = mpi::now();
    layout::ArrayExchange exchange(
        call_.channel, ledger_,
        layout::exchange_sizes(call_.options.budget_bytes - intersection_bytes_,
                               call_.element_bytes, chunk_elements_),
        outgoing, incoming, call_.options.share_memory);
    Report report;
    observe::ProgressMeter progress(
        observer_.progress, call_.progress_wish("valet: redistribute"),
        static_cast<std::uint64_t>(call_.from.elements() + call_.to.elements()),
        call_.element_bytes);
    {
      const observe::TraceSpan span(observer_.trace, observe::TraceKind::stage, "exchange");
      const double waited = observer_.waiting_seconds;
      exchange.run(report);
      progress.finish();
      report.waiting_seconds = observer_.waiting_seconds - waited;
    }
    call_.describe(report, "layout");
    report.peak_extra_bytes = ledger_.peak_bytes();
    report.exchange_seconds = mpi::now() - start;
    if (trace_)
      trace_->write(call_.channel, {report.method, report.block_bytes, report.budget_bytes});
    call_.agree_on_progress();
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

  /// Finds what is shared, within the budget, and the largest chunk that the rest allows.
  std::optional<Diagnostic> intersect(std::int64_t& chunk_elements) {
    intersection_bytes_ = intersection_bytes(call_.from, call_.to.layout()) +
                          intersection_bytes(call_.to, call_.from.layout());
    const bool takes_part = call_.from.elements() > 0 || call_.to.elements() > 0;
    const std::uint64_t needed = intersection_bytes_ + (takes_part ? 2 * call_.element_bytes : 0);
    if (needed > call_.options.budget_bytes)
      return Diagnostic{
          ErrorCode::budget_too_small,
          "the budget of " + std::to_string(call_.options.budget_bytes) +
              " bytes does not hold what it shares with other ranks and two elements; "
              "set budget_bytes to at least " +
              std::to_string(needed)};
    try {
      if (call_.from.elements() > 0)
        sent_.emplace(ledger_, call_.from.layout(), call_.from.grid_rank, call_.to.layout());
      if (call_.to.elements() > 0)
        received_.emplace(ledger_, call_.to.layout(), call_.to.grid_rank, call_.from.layout());
    } catch (const std::bad_alloc&) {
      return Diagnostic{ErrorCode::out_of_memory,
                        "the system has no memory for the " + std::to_string(intersection_bytes_) +
                            " bytes that what it shares with other ranks takes"};
    }
    if (takes_part)
      chunk_elements = layout::choose_chunk_elements(
          call_.options.budget_bytes - intersection_bytes_, call_.element_bytes);
    return std::nullopt;
  }

  layout::LayoutCall call_;
  Ledger ledger_;
  observe::Observer observer_;
  std::optional<observe::TraceFile> trace_;
  BlockCyclic::Extents source_strides_, target_strides_;
  std::uint64_t intersection_bytes_ = 0;
  std::optional<layout::Intersection> sent_, received_;
  std::int64_t chunk_elements_ = 1;
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
