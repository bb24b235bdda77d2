// SPDX-License-Identifier: BSD-3-Clause
#include "operations/alltoall/direct_exchange.hpp"

#include <algorithm>
#include <cstring>

namespace valet::operations {

DirectExchange::DirectExchange(plan::State& state, const AlltoallBuffer& buffer,
                               std::span<const std::uint64_t> sent,
                               std::span<const std::uint64_t> received)
    : state_(state),
      buffer_(buffer),
      sent_(sent),
      received_(received),
      self_(static_cast<std::size_t>(state.channel.rank())),
      messages_(state.channel, state.ledger, count_others(received), count_others(sent)) {}

/// Ranks but this one that these counts name.
std::size_t DirectExchange::count_others(std::span<const std::uint64_t> counts) const {
  const auto used = [](std::uint64_t count) { return count > 0; };
  return static_cast<std::size_t>(std::ranges::count_if(counts, used)) -
         (counts[self_] > 0 ? 1 : 0);
}

/// Calls action(to, begin, bytes) for the ranks behind this one in ring order, so that nobody is
/// everybody's first, with where their segment begins.
template <class Action>
void DirectExchange::for_each_destination(Action&& action) const {
  const std::size_t ranks = sent_.size();
  std::size_t begin = offset_of(sent_, self_ + 1);
  for (std::size_t step = 1; step < ranks; ++step) {
    const std::size_t to = (self_ + step) % ranks;
    if (to == 0) begin = 0;
    const std::size_t bytes = bytes_of(sent_[to]);
    if (bytes > 0) action(to, begin, bytes);
    begin += bytes;
  }
}

void DirectExchange::stage(std::byte* staged) const {
  for_each_destination([&](std::size_t, std::size_t begin, std::size_t bytes) {
    std::memcpy(staged, data() + begin, bytes);
    staged += bytes;
  });
}

void DirectExchange::send_all(const std::byte* staged) {
  for_each_destination([&](std::size_t to, std::size_t, std::size_t bytes) {
    messages_.send(static_cast<int>(to), staged, bytes);
    staged += bytes;
  });
}

void DirectExchange::move_own() {
  const std::size_t from = offset_of(sent_, self_), to = offset_of(received_, self_);
  if (from != to && sent_[self_] > 0)
    std::memmove(data() + to, data() + from, bytes_of(sent_[self_]));
}

void DirectExchange::receive_all() {
  std::size_t begin = 0;
  for (std::size_t from = 0; from < received_.size(); ++from) {
    const std::size_t bytes = bytes_of(received_[from]);
    if (from != self_ && bytes > 0)
      messages_.receive(static_cast<int>(from), data() + begin, bytes);
    begin += bytes;
  }
}

void DirectExchange::wait_for_all() {
  std::size_t posted = 0;
  for (std::size_t from = 0; from < received_.size(); ++from) {
    if (from == self_ || received_[from] == 0) continue;
    messages_.wait_for(posted++);
    state_.observer.moved(received_[from]);
  }
  messages_.wait_for_sends();
  state_.observer.moved(sum(sent_) - sent_[self_]);
}

Report DirectExchange::run() {
  const std::uint64_t leaving = sum(sent_) - sent_[self_];
  const std::uint64_t arriving = sum(received_) - received_[self_];
  observe::Observer& observer = state_.observer;
  observe::ProgressMeter progress =
      state_.frame->progress("all-to-all by direct", leaving + arriving, buffer_.element_bytes);
  const double start = mpi::now(), waited = observer.waiting_seconds;
  try {
    const observe::TraceSpan span(observer.trace, observe::TraceKind::stage, "exchange");
    std::byte* const staged = state_.memory.scratch().data();
    stage(staged);
    move_own();
    receive_all();
    messages_.meet();
    send_all(staged);
    wait_for_all();
  } catch (...) {
    state_.memory.leak_scratch();  // MPI may still read it
    throw;
  }
  progress.finish();
  Report report;
  report.method = to_string(AlltoallMethod::direct);
  report.block_bytes = buffer_.element_bytes;
  report.blocks_sent = leaving;
  report.blocks_received = arriving;
  report.bytes_sent = bytes_of(leaving);
  report.messages = messages_.messages();
  report.local_copies = leaving;
  report.exchange_seconds = mpi::now() - start;
  report.waiting_seconds = observer.waiting_seconds - waited;
  return report;
}

}  // namespace valet::operations
