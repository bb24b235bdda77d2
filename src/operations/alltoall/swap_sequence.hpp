// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// The means of Zhuang, Nakashima, Nagamochi 3.1: two ranks swap equally many slots of their sorted
/// sequences, then each merges what it got with what it kept.
///
/// A slot that is free takes no memory and none of the network's time, so the numbers of elements
/// that change sides may differ. Elements go in messages of a fixed size, at most two in flight in
/// each direction: each is copied to a buffer first, so that the one that comes is received where
/// it was. The copy goes past the cache (detail::copy_past_cache): on 2 ranks swaps of 64 MiB
/// reached 0.7 to 0.9 of MPI_Sendrecv's bandwidth that way, through the cache 1.05 or 0.5,
/// depending on whether the cores share one. A message says that the receive for the next one is
/// posted; none is ever unexpected.

#include "mpi/channel.hpp"
#include "mpi/check.hpp"
#include "mpi/message.hpp"
#include "mpi/tags.hpp"
#include "observe/observer.hpp"
#include "operations/alltoall/element_runs.hpp"
#include "storage/block_merge.hpp"
#include "storage/copy.hpp"
#include <valet/report.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>

namespace valet::operations {

/// Memory that a sequence may use for tables, and the table beyond which it gives up.
struct TableLimits {
  std::uint64_t bytes = 0;
  std::uint64_t most_runs = 0;
};

/// The elements of one rank, and scratch to move them with.
struct SwapMemory {
  std::span<std::byte> data;
  std::size_t element_bytes = 1;
  std::span<std::byte> scratch;
  std::uint64_t message_elements = 1;  ///< the same on all ranks; scratch holds two messages
};

/// The part of the distributed sequence that one rank holds. Without memory only the table
/// changes: that is how a method is tried on the counts. After an Error it must not be destroyed:
/// MPI may still write to it.
class SwapSequence {
 public:
  SwapSequence(const mpi::Channel& channel, Ledger& ledger, TableLimits limits,
               std::uint64_t swap_cost)
      : channel_(channel),
        ledger_(ledger),
        limits_(limits),
        swap_cost_(swap_cost),
        runs_(ledger),
        theirs_(ledger),
        requests_(ledger, request_count, channel) {}

  /// The table to start from, of `size` runs that each(append) names; gives up where it cannot be
  /// held.
  template <class Each>
  void start(std::uint64_t size, Each&& each) {
    if (size > limits_.most_runs || 2 * size * sizeof(ElementRun) > limits_.bytes) return give_up();
    runs_.reserve(size);
    each([&](const ElementRun& run) { append(runs_, run); });
    note_sizes();
  }
  void attach(const SwapMemory& memory) { memory_ = memory; }

  [[nodiscard]] int rank() const { return channel_.rank(); }
  [[nodiscard]] int ranks() const { return channel_.size(); }
  [[nodiscard]] ElementRuns& runs() { return runs_; }
  /// The partner's table, after meet().
  [[nodiscard]] std::span<const ElementRun> theirs() const { return theirs_; }
  /// What has happened to it, or would have; its blocks are elements.
  [[nodiscard]] const Report& report() const { return report_; }
  /// Elements swapped one after the other until here, on all ranks, the costs of a swap included.
  [[nodiscard]] std::uint64_t volume() const { return volume_; }
  /// Elements held at once.
  [[nodiscard]] std::uint64_t most_elements() const { return most_elements_; }
  /// A table got too large, here or on a rank that was met.
  [[nodiscard]] bool gave_up() const { return gave_up_; }

  /// Exchanges tables with a rank that does the same. False when either gave up.
  [[nodiscard]] bool meet(int partner) {
    // Both tables here, and the merged one, which may be as long as both and cut two runs.
    const std::uint64_t most = limits_.bytes / sizeof(ElementRun) / 2;
    const std::uint64_t taken = runs_.size() + 4;
    const Meeting& mine =
        my_meeting_ = {runs_.size(), most > taken ? most - taken : 0, volume_, gave_up_ ? 1U : 0U};
    const Meeting& theirs = their_meeting_;
    exchange_meetings(partner);
    volume_ = std::max(mine.volume, theirs.volume) + swap_cost_;
    ++report_.swaps;
    if (theirs.gave_up != 0 || mine.runs > theirs.room || theirs.runs > mine.room) give_up();
    if (gave_up_) return false;
    theirs_ = ElementRuns(ledger_);
    theirs_.reserve(theirs.runs + 1);
    theirs_.resize(theirs.runs);
    exchange(partner, mpi::tag_tables, std::as_bytes(std::span(runs_)),
             std::as_writable_bytes(std::span(theirs_)));
    return true;
  }
  /// Gives the partner just met the slots `mine` for its slots `theirs`, which are as many.
  void swap(int partner, SlotRange mine, SlotRange theirs) {
    if (mine.count == 0) return;
    SwapCounts counts;
    counts.held = elements_of(runs_);
    counts.begin = elements_before(runs_, mine.begin);
    counts.sent = elements_before(runs_, mine.begin + mine.count) - counts.begin;
    keep(theirs_, theirs);
    counts.received = elements_of(theirs_);
    report_.blocks_sent += counts.sent;
    report_.blocks_received += counts.received;
    volume_ += std::max(counts.sent, counts.received);
    const double start = mpi::now();
    if (moves()) {
      const observe::TraceSpan span(
          trace(), observe::TraceKind::swap, "swap",
          {.peer = partner, .bytes = counts.sent * memory_.element_bytes});
      exchange_elements(partner, counts);
    }
    const double middle = mpi::now();
    runs_.reserve(runs_.size() + 1);
    remove(runs_, mine);
    if (moves()) {
      const observe::TraceSpan span(trace(), observe::TraceKind::copy, "merge");
      merge_elements(counts);
    }
    merge_tables();
    report_.exchange_seconds += middle - start;
    report_.local_seconds += mpi::now() - middle;
  }

 private:
  // Indices of requests; sends and receives of rounds alternate between two.
  static constexpr std::size_t send_request = 0, receive_request = 2;
  static constexpr std::size_t word_send_request = 4, word_receive_request = 5, request_count = 6;

  /// What ranks send each other when they meet.
  struct Meeting {
    std::uint64_t runs = 0;    ///< in the table
    std::uint64_t room = 0;    ///< for runs of the partner
    std::uint64_t volume = 0;  ///< as volume()
    std::uint64_t gave_up = 0;
  };
  /// Elements that change sides: those from `begin` on, of `held`.
  struct SwapCounts {
    std::uint64_t begin = 0, sent = 0, received = 0, held = 0;
    [[nodiscard]] std::uint64_t both() const { return sent < received ? sent : received; }
  };
  /// A message in either direction: the elements of each.
  struct Round {
    std::uint64_t offset = 0, count = 0;
    bool paired = true;
  };

  void give_up() {
    gave_up_ = true;
    runs_ = ElementRuns(ledger_);
    theirs_ = ElementRuns(ledger_);
  }
  void note_sizes() {
    most_elements_ = std::max(most_elements_, elements_of(runs_));
    if (runs_.size() > limits_.most_runs) give_up();
  }
  void exchange(int partner, int tag, std::span<const std::byte> mine,
                std::span<std::byte> theirs) {
    mpi::post_receive(channel_, theirs.data(), theirs.size(), partner, tag,
                      requests_[word_receive_request]);
    mpi::post_send(channel_, mine.data(), mine.size(), partner, tag, requests_[word_send_request]);
    requests_.wait(word_receive_request);
    requests_.wait(word_send_request);
  }
  void exchange_meetings(int partner) {
    exchange(partner, mpi::tag_sparse_count, std::as_bytes(std::span(&my_meeting_, 1)),
             std::as_writable_bytes(std::span(&their_meeting_, 1)));
  }
  /// First the messages that have a counterpart, then those of the rank that gives more.
  [[nodiscard]] std::uint64_t rounds(const SwapCounts& counts) const {
    const auto messages = [&](std::uint64_t count) {
      return count / memory_.message_elements + (count % memory_.message_elements > 0 ? 1 : 0);
    };
    const std::uint64_t more = std::max(counts.sent, counts.received) - counts.both();
    return messages(counts.both()) + messages(more);
  }
  [[nodiscard]] Round round(const SwapCounts& counts, std::uint64_t k) const {
    const std::uint64_t size = memory_.message_elements;
    const std::uint64_t both = counts.both();
    if (k * size < both) return {k * size, std::min(size, both - k * size), true};
    const std::uint64_t paired = both / size + (both % size > 0 ? 1 : 0);
    const std::uint64_t offset = both + (k - paired) * size;
    return {offset, std::min(size, std::max(counts.sent, counts.received) - offset), false};
  }
  /// Makes room for what a round brings and posts the receive: where its elements that go were, or,
  /// where none go, behind the elements.
  void make_ready(int partner, const SwapCounts& counts, std::uint64_t k) {
    const Round next = round(counts, k);
    requests_.wait(send_request + k % 2);
    std::byte* to = element(counts.begin + next.offset);
    std::uint64_t bytes = next.count * memory_.element_bytes;
    if (next.paired) {
      const observe::TraceSpan span(trace(), observe::TraceKind::gather, "gather",
                                    {.bytes = bytes});
      detail::copy_past_cache(staging(k), to, bytes);
      detail::finish_past_cache();
    } else if (counts.received > counts.sent) {
      to = element(counts.held + next.offset - counts.both());
    } else {
      bytes = 0;
    }
    MPI_Request& request = requests_[receive_request + k % 2];
    mpi::post_receive(channel_, to, bytes, partner, mpi::tag_data, request);
    if (bytes > 0) observe::observer_of(channel_)->receives(&request, partner, bytes);
  }
  void send_round(int partner, const SwapCounts& counts, std::uint64_t k) {
    const Round next = round(counts, k);
    const std::byte* from = next.paired ? staging(k) : element(counts.begin + next.offset);
    std::uint64_t bytes = next.count * memory_.element_bytes;
    if (!next.paired && counts.sent < counts.received) bytes = 0;
    MPI_Request& request = requests_[send_request + k % 2];
    mpi::post_send(channel_, from, bytes, partner, mpi::tag_data, request);
    if (bytes == 0) return;
    ++report_.messages;
    observe::observer_of(channel_)->sends(&request, partner, bytes);
  }
  void exchange_elements(int partner, const SwapCounts& counts) {
    const std::uint64_t count = rounds(counts);
    if (count == 0) return;
    note_in_use(std::min<std::uint64_t>(count, 2) * memory_.message_elements);
    make_ready(partner, counts, 0);
    exchange_meetings(partner);  // both have posted their first receive
    for (std::uint64_t k = 0; k < count; ++k) {
      if (k + 1 < count) make_ready(partner, counts, k + 1);
      send_round(partner, counts, k);
      requests_.wait(receive_request + k % 2);
      const Round done = round(counts, k);
      observe::observer_of(channel_)->moved(done.paired ? 2 * done.count : done.count);
    }
    requests_.wait(send_request);
    requests_.wait(send_request + 1);
    note_in_use(0);
  }
  /// Calls each(from, count) for the elements in their new order, `from` being where they are after
  /// they were sent.
  template <class Each>
  void for_each_run(const SwapCounts& counts, Each&& each) const {
    std::uint64_t kept = 0, got = 0;
    merge_runs(runs_, theirs_, [&](const ElementRun& run, bool of_kept) {
      if (is_free(run)) return;
      std::uint64_t& at = of_kept ? kept : got;
      const std::uint64_t cut = of_kept ? counts.begin : counts.both();
      const std::uint64_t before = at < cut ? std::min(run.count, cut - at) : 0;
      if (before > 0) each(of_kept ? at : counts.begin + at, before);
      const std::uint64_t rest = at + before;
      if (before < run.count)
        each(of_kept ? rest + counts.sent : counts.held + rest - cut, run.count - before);
      at += run.count;
    });
  }
  /// Merges what is not in its place already.
  void merge_elements(const SwapCounts& counts) {
    constexpr std::uint64_t nowhere = std::numeric_limits<std::uint64_t>::max();
    std::uint64_t begin = nowhere, end = 0, total = 0;
    for_each_run(counts, [&](std::uint64_t from, std::uint64_t count) {
      if (from != total) {
        begin = std::min(begin, total);
        end = total + count;
      }
      total += count;
    });
    if (begin == nowhere) return;
    // Elements behind the end of the result are only there if its last one is not in its place.
    const std::uint64_t limit = end == total ? std::max(total, counts.held) : end;
    storage::BlockMerge merge({element(begin), (limit - begin) * memory_.element_bytes},
                              memory_.element_bytes, memory_.scratch);
    const auto in_region = [&](auto&& action) {
      std::uint64_t out = 0;
      for_each_run(counts, [&](std::uint64_t from, std::uint64_t count) {
        const std::uint64_t skip = out < begin ? std::min(count, begin - out) : 0;
        const std::uint64_t stop = std::min(out + count, end);
        if (out + skip < stop) action(from + skip - begin, stop - out - skip);
        out += count;
      });
    };
    in_region([&](std::uint64_t from, std::uint64_t count) { merge.expect(from, count); });
    in_region([&](std::uint64_t from, std::uint64_t count) { merge.append(from, count); });
    report_.local_copies += merge.finish();
  }
  void merge_tables() {
    ElementRuns merged(ledger_);
    merged.reserve(runs_.size() + theirs_.size());
    merge_runs(runs_, theirs_, [&](const ElementRun& run, bool) { append(merged, run); });
    runs_ = std::move(merged);
    theirs_ = ElementRuns(ledger_);
    note_sizes();
  }
  void note_in_use(std::uint64_t elements) const {
    if (trace() != nullptr) trace()->counter("scratch in use", elements * memory_.element_bytes);
  }
  [[nodiscard]] observe::Trace* trace() const { return observe::observer_of(channel_)->trace; }
  [[nodiscard]] std::byte* element(std::uint64_t k) const {
    return memory_.data.data() + k * memory_.element_bytes;
  }
  [[nodiscard]] std::byte* staging(std::uint64_t k) const {
    return memory_.scratch.data() + k % 2 * memory_.message_elements * memory_.element_bytes;
  }
  [[nodiscard]] bool moves() const { return !memory_.scratch.empty(); }

  const mpi::Channel& channel_;
  Ledger& ledger_;
  TableLimits limits_;
  std::uint64_t swap_cost_;  ///< elements whose transfer takes as long as a message does anyway
  ElementRuns runs_, theirs_;
  mpi::Requests requests_;
  Meeting my_meeting_, their_meeting_;
  SwapMemory memory_;
  Report report_;
  std::uint64_t volume_ = 0, most_elements_ = 0;
  bool gave_up_ = false;
};

}  // namespace valet::operations
