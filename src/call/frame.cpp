// SPDX-License-Identifier: BSD-3-Clause
#include "call/frame.hpp"

namespace valet::call {

Frame::Frame(mpi::Channel opened, const FrameOptions& chosen)
    : observer(std::make_shared<observe::Observer>()),
      channel(std::move(opened)),
      memory(std::make_shared<storage::Loan>(channel, ledger, chosen.budget_bytes,
                                             chosen.keep_memory)),
      options(chosen) {
  channel.watch(observer.get());
  callbacks.protect(options.progress, options.name_of_progress);
  if (options.trace.empty()) return;
  trace_ = std::make_unique<observe::TraceFile>(ledger, channel.rank(), options.trace);
  observer->trace = &trace_->trace();
}

void Frame::write_trace() {
  if (trace_) trace_->write(channel, caption);
}

void Frame::end(Report& report) {
  report.peak_extra_bytes = ledger.peak_bytes();
  report.shared_bytes = memory->node().own().size();
  caption = {report.method, report.block_bytes, report.budget_bytes};
  write_trace();
  observe::log_finished(channel.rank(), report);
  if (watched_) mpi::agree(channel, callbacks.diagnostic());
}

}  // namespace valet::call
