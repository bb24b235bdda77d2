// SPDX-License-Identifier: BSD-3-Clause
#include "operations/alltoall/direct_exchange.hpp"

#include "mpi/message.hpp"
#include "mpi/tags.hpp"

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
      requests_(state.ledger, 2 * sent.size(), state.channel.hooks()) {}

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
    MPI_Request& request = requests_[sent_.size() + to];
    mpi::post_send(state_.channel, staged, bytes, static_cast<int>(to), mpi::tag_data, request);
    state_.observer.sends(&request, static_cast<int>(to), bytes);
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
    if (from != self_ && bytes > 0) {
      mpi::post_receive(state_.channel, data() + begin, bytes, static_cast<int>(from),
                        mpi::tag_data, requests_[from]);
      state_.observer.receives(&requests_[from], static_cast<int>(from), bytes);
    }
    begin += bytes;
  }
}

Report DirectExchange::run(const observe::ProgressWish& wish) {
  const std::uint64_t leaving = sum(sent_) - sent_[self_];
  const std::uint64_t arriving = sum(received_) - received_[self_];
  observe::Observer& observer = state_.observer;
  observe::ProgressMeter progress(observer.progress, wish, leaving + arriving,
                                  buffer_.element_bytes);
  const double start = mpi::now(), waited = observer.waiting_seconds;
  try {
    const observe::TraceSpan span(observer.trace, observe::TraceKind::stage, "exchange");
    std::byte* const staged = state_.memory.scratch().data();
    stage(staged);
    move_own();
    receive_all();  // before the sends, so that MPI has little to hold back
    send_all(staged);
    for (std::size_t slot = 0; slot < 2 * sent_.size(); ++slot) {
      if (requests_.idle(slot)) continue;
      requests_.wait(slot);
      const bool arrived = slot < sent_.size();
      observer.moved(arrived ? received_[slot] : sent_[slot - sent_.size()]);
    }
  } catch (...) {
    state_.memory.leak_scratch();  // MPI may still read it
    throw;
  }
  progress.finish();
  const auto count_others = [this](std::span<const std::uint64_t> counts) {
    return static_cast<std::uint64_t>(
               std::ranges::count_if(counts, [](std::uint64_t count) { return count > 0; })) -
           (counts[self_] > 0 ? 1 : 0);
  };
  Report report;
  report.method = to_string(AlltoallMethod::direct);
  report.block_bytes = buffer_.element_bytes;
  report.blocks_sent = leaving;
  report.blocks_received = arriving;
  report.bytes_sent = bytes_of(leaving);
  report.messages = count_others(sent_);
  report.local_copies = leaving;
  report.exchange_seconds = mpi::now() - start;
  report.waiting_seconds = observer.waiting_seconds - waited;
  return report;
}

}  // namespace valet::operations
