// SPDX-License-Identifier: BSD-3-Clause
#include "observe/call.hpp"

namespace valet::observe {

Call::Call(mpi::Channel opened, const CallOptions& chosen)
    : observer(std::make_shared<Observer>()), channel(std::move(opened)), options(chosen) {
  channel.watch(observer.get());
  callbacks.protect(options.progress, options.name_of_progress);
  if (options.trace.empty()) return;
  trace_ = std::make_unique<TraceFile>(ledger, channel.rank(), options.trace);
  observer->trace = &trace_->trace();
}

void Call::write_trace() {
  if (trace_) trace_->write(channel, caption);
}

void Call::end(Report& report) {
  report.peak_extra_bytes = ledger.peak_bytes();
  caption = {report.method, report.block_bytes, report.budget_bytes};
  write_trace();
  log_finished(channel.rank(), report);
  if (watched_) mpi::agree(channel, callbacks.diagnostic());
}

}  // namespace valet::observe
