// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// What every operation has around its own work, whatever it moves.

#include "base/callback_guard.hpp"
#include "base/sizes.hpp"
#include "mpi/agreement.hpp"
#include "mpi/channel.hpp"
#include "observe/observer.hpp"
#include "observe/progress.hpp"
#include "observe/trace_file.hpp"
#include "observe/transfer_file.hpp"
#include "storage/loan.hpp"
#include <valet/ledger.hpp>
#include <valet/report.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace valet::call {

/// The frame of a call, or of a plan with all its executions: the channel, the ledger that counts
/// every byte, the memory that is borrowed, who watches, and what the application's callbacks have
/// thrown.
class Frame {
 public:
  /// @param options        Of any operation.
  /// @param progress_name  What an error calls the progress callback; must live on.
  template <class Options>
  Frame(mpi::Channel opened, const Options& options, const char* progress_name)
      : observer(std::make_shared<observe::Observer>()),
        channel(std::move(opened)),
        memory(std::make_shared<storage::Loan>(
            channel, ledger, static_cast<std::size_t>(detail::bounded_budget(options.budget_bytes)),
            options.keep_memory)),
        progress_(options.progress),
        progress_bar_(options.progress_bar) {
    channel.watch(observer.get());
    callbacks.protect(progress_, progress_name);
    if (!options.trace.empty()) record(options.trace);
    if constexpr (requires { options.transfers; })
      if (!options.transfers.empty()) list_transfers(options.transfers);
  }
  /// A part of another call, which gives it the channel while it is at work: with a ledger of its
  /// own, and the memory and the observer of the whole, which must outlive it.
  [[nodiscard]] static std::shared_ptr<Frame> part_of(const Frame& whole) {
    return std::shared_ptr<Frame>(new Frame(whole));
  }
  Frame& operator=(const Frame&) = delete;
  ~Frame() = default;

  Ledger ledger;  ///< first: everything below is counted by it
  const std::shared_ptr<observe::Observer> observer;
  mpi::Channel channel;
  const std::shared_ptr<storage::Loan> memory;
  detail::CallbackGuard callbacks;
  observe::TraceCaption caption;  ///< for the trace of a call that fails; set before anything moves

  /// Takes part in the agreement before anything moves.
  void join(mpi::Agreement& agreement) {
    watched_ = callbacks.any();
    agreement.largest(watched_);
  }
  /// Has a trace from now on, on all ranks or on none. @param path  Of the file; rank 0's counts.
  void record(const std::string& path) {
    trace_ = std::make_unique<observe::TraceFile>(ledger, channel.rank(), path);
    observer->trace = &trace_->trace();
  }
  /// Finds out how the clocks of the ranks differ, where there is a trace. Collective.
  void align() {
    if (trace_) trace_->align(channel);
  }
  [[nodiscard]] bool traces() const { return trace_ != nullptr; }
  /// Writes it, where there is one. Collective.
  void write_trace() {
    if (trace_) trace_->write(channel, caption);
  }
  /// Lists who has sent how much to whom, on all ranks or on none. @param path  As in record().
  void list_transfers(const std::string& path) { transfers_ = path; }
  [[nodiscard]] bool lists_transfers() const { return transfers_.has_value(); }
  /// Writes the list, where it is wanted, once all has moved. Collective.
  /// @param destinations  What this rank sent: entries with `rank`, which may be this one.
  /// @param blocks        The member of an entry with its blocks.
  template <class Destinations, class Blocks>
  void write_transfers(const std::string& method, observe::TransferRow row,
                       const Destinations& destinations, Blocks blocks) const {
    if (!transfers_) return;
    row.peak_extra_bytes = ledger.peak_bytes();
    const auto list = [&](const observe::PutTransfer& put) {
      for (const auto& to : destinations)
        if (to.rank != channel.rank() && to.*blocks > 0) put(to.rank, to.*blocks);
    };
    observe::write_transfers(channel, *transfers_, method, row, list);
  }
  /// The progress of what moves, as long as the result lives.
  [[nodiscard]] observe::ProgressMeter progress(const std::string& title, std::uint64_t blocks,
                                                std::uint64_t block_bytes) const {
    return {observer->progress,
            {progress_, progress_bar_, channel.rank(), "valet: " + title},
            blocks,
            block_bytes};
  }

  /// Exchanges data by `work`, which fills in the report: a stage of the trace, with progress.
  /// Collective.
  template <class Work>
  void exchange(const std::string& title, std::uint64_t blocks, std::uint64_t block_bytes,
                Report& report, Work&& work) const {
    observe::ProgressMeter meter = progress(title, blocks, block_bytes);
    const observe::TraceSpan span(observer->trace, observe::TraceKind::stage, "exchange");
    const double waited = observer->waiting_seconds;
    work();
    meter.finish();
    report.waiting_seconds = observer->waiting_seconds - waited;
  }

  /// Does the work of the call, which moves data once all ranks have agreed. Collective.
  /// @param work  Returns a report, or throws an error of all ranks.
  /// @throws Error callback_failed on all ranks, with what a callback of some rank threw: all
  ///         blocks are in place.
  template <class Work>
  Report run(Work&& work) {
    begin([] {});
    return end(std::forward<Work>(work));
  }
  /// The same in two parts, between which the caller does something else.
  template <class Work>
  void begin(Work&& work) {
    callbacks.restart();
    traced_where_it_fails(std::forward<Work>(work));
  }
  template <class Work>
  Report end(Work&& work) {
    Report report = traced_where_it_fails(std::forward<Work>(work));
    conclude(report);
    return report;
  }

 private:
  Frame(const Frame& whole)
      : observer(whole.observer),
        channel(whole.channel.again()),
        memory(whole.memory),
        progress_(whole.progress_),
        progress_bar_(whole.progress_bar_) {
    channel.watch(observer.get());
  }
  template <class Work>
  auto traced_where_it_fails(Work&& work) {
    try {
      return work();
    } catch (const Error& error) {
      // After an error that all ranks found when the data had moved there is a trace, too.
      if (error.code() == ErrorCode::callback_failed || error.code() == ErrorCode::corrupted)
        write_trace();
      throw;
    }
  }
  void conclude(Report& report) {
    report.peak_extra_bytes = ledger.peak_bytes();
    report.shared_bytes = memory->node().own().size();
    caption = {report.method, report.block_bytes, report.budget_bytes};
    write_trace();
    observe::log_finished(channel.rank(), report);
    if (watched_) mpi::agree(channel, callbacks.diagnostic());
  }

  std::function<void(const Progress&)> progress_;  ///< does not throw
  bool progress_bar_;
  std::unique_ptr<observe::TraceFile> trace_;  ///< null where none is wanted
  std::optional<std::string> transfers_;       ///< nothing where none are wanted
  bool watched_ = false;                       ///< some rank has callbacks, once agreed upon
};

}  // namespace valet::call
