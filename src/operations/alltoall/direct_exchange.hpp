// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// The all-to-all at once (engine/at_once.hpp): what leaves is copied to scratch and sent from
/// there, and what arrives is received straight into its place. One copy more than MPI_Alltoallv.

#include "engine/at_once.hpp"
#include "operations/alltoall/checks.hpp"
#include "plan/plan_state.hpp"
#include <valet/alltoall.hpp>

#include <cstdint>
#include <cstring>
#include <span>

namespace valet::operations {

/// One all-to-all on one rank, counts known and agreed upon.
class DirectExchange {
 public:
  /// @param state           The state of a plan to be: channel, ledger and observer are used; must
  ///                        outlive this.
  /// @param sent, received  Elements for and from each rank, P entries.
  DirectExchange(plan::State& state, const AlltoallBuffer& buffer,
                 std::span<const std::uint64_t> sent, std::span<const std::uint64_t> received)
      : state_(state),
        buffer_(buffer),
        sent_(sent),
        received_(received),
        self_(static_cast<std::size_t>(state.channel.rank())),
        own_from_(offset_of(sent, self_)),
        own_to_(offset_of(received, self_)),
        messages_(state.channel, state.ledger, count_others(received, self_),
                  count_others(sent, self_)) {}
  DirectExchange(const DirectExchange&) = delete;
  DirectExchange& operator=(const DirectExchange&) = delete;
  ~DirectExchange() {
    if (!is_expecting_) return;
    try {
      messages_.withdraw();
    } catch (const Error&) {  // they come into the caller's memory
    }
  }

  /// Ahead of the agreement to run(), without which nothing changes: packs what leaves into scratch
  /// and lets arrive what comes, unless the own segment would have to give way to it. Local.
  /// @return Whether it did. If all ranks did, they need not meet again.
  bool expect() {
    if (moves_own_segment()) return false;
    prepare();
    return is_expecting_ = true;
  }

  /// Ahead of run(): sends everything, in scratch for all that leaves, which has been taken.
  /// Collective; waits for nothing else.
  void start(bool all_expect) {
    state_.memory.use_scratch(
        [&](std::span<std::byte> scratch) { send_all(scratch.data(), all_expect); });
  }
  /// Lets messages go on without waiting. @return Whether only run() is left.
  bool progress() { return messages_.progress(); }

  /// Moves everything that start() has not, in scratch likewise. Collective, blocking.
  /// @param all_expect  Whether all ranks do.
  Report run(bool all_expect) {
    const double start = mpi::now();
    Report report;
    report.method = to_string(AlltoallMethod::direct);
    report.block_bytes = buffer_.element_bytes;
    report.blocks_sent = report.local_copies = sum_of_others(sent_, self_);
    report.blocks_received = sum_of_others(received_, self_);
    report.bytes_sent = bytes_of(report.blocks_sent);
    state_.frame->exchange("all-to-all by direct", report.blocks_sent + report.blocks_received,
                           buffer_.element_bytes, report, [&] {
                             state_.memory.use_scratch([&](std::span<std::byte> scratch) {
                               if (!has_sent_) send_all(scratch.data(), all_expect);
                               wait_for_all();
                             });
                           });
    report.messages = messages_.messages();
    report.exchange_seconds = mpi::now() - start;
    return report;
  }

 private:
  [[nodiscard]] std::size_t bytes_of(std::uint64_t elements) const {
    return static_cast<std::size_t>(elements) * buffer_.element_bytes;
  }
  [[nodiscard]] std::byte* data() const { return static_cast<std::byte*>(buffer_.data); }
  /// Bytes in front of the segment of a rank.
  [[nodiscard]] std::size_t offset_of(std::span<const std::uint64_t> counts,
                                      std::size_t rank) const {
    return bytes_of(sum(counts.first(rank)));
  }

  /// Calls action(to, begin, bytes) for the ranks behind this one in ring order, so that nobody is
  /// everybody's first, with where their segment begins.
  template <class Action>
  void for_each_destination(Action&& action) const {
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

  [[nodiscard]] bool moves_own_segment() const { return own_from_ != own_to_ && sent_[self_] > 0; }
  void prepare() {
    std::byte* next = state_.memory.scratch().data();
    for_each_destination([&](std::size_t, std::size_t begin, std::size_t bytes) {
      std::memcpy(next, data() + begin, bytes);
      next += bytes;
    });
    if (moves_own_segment())
      std::memmove(data() + own_to_, data() + own_from_, bytes_of(sent_[self_]));
    receive_all();
  }

  void send_all(const std::byte* staged, bool all_expect) {
    if (!is_expecting_) prepare();
    is_expecting_ = false;
    if (!all_expect) messages_.meet();
    for_each_destination([&](std::size_t to, std::size_t, std::size_t bytes) {
      messages_.send(static_cast<int>(to), staged, bytes);
      staged += bytes;
    });
    has_sent_ = true;
  }

  void receive_all() {
    std::size_t begin = 0;
    for (std::size_t from = 0; from < received_.size(); ++from) {
      const std::size_t bytes = bytes_of(received_[from]);
      if (from != self_ && bytes > 0)
        messages_.receive(static_cast<int>(from), data() + begin, bytes);
      begin += bytes;
    }
  }

  void wait_for_all() {
    std::size_t posted = 0;
    for (std::size_t from = 0; from < received_.size(); ++from) {
      if (from == self_ || received_[from] == 0) continue;
      messages_.wait_for(posted++);
      state_.observer.moved(received_[from]);
    }
    messages_.wait_for_sends();
    state_.observer.moved(sum_of_others(sent_, self_));
  }

  plan::State& state_;
  const AlltoallBuffer& buffer_;
  std::span<const std::uint64_t> sent_, received_;
  std::size_t self_;
  std::size_t own_from_, own_to_;  ///< bytes in front of the own segment
  bool is_expecting_ = false;      ///< what arrives may arrive already
  bool has_sent_ = false;
  engine::AtOnce messages_;
};

}  // namespace valet::operations
