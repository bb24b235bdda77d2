// SPDX-License-Identifier: BSD-3-Clause
#include "call/frame.hpp"

namespace valet::call {

void Frame::watch(const std::string& trace) {
  channel.watch(observer.get());
  if (trace.empty()) return;
  trace_ = std::make_unique<observe::TraceFile>(ledger, channel.rank(), trace);
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
