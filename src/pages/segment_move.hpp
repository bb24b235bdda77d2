// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// One memory whose bytes go to several ranks, as segments of runs: into pages, these to their
/// ranks, then heads and tails. An arena of blocks of different sizes is one, and the buffer of an
/// all-to-all, each of whose segments is one run. page_move.hpp says why that is complete, and what
/// it needs.

#include "mpi/check.hpp"
#include "pages/page_move.hpp"
#include "pages/page_segments.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>

namespace valet::pages {

/// One move on one rank.
class SegmentMove : public PageMove {
 public:
  /// @param state             The state of a plan to be: channel, options and ledger are used.
  /// @param ledger            Counts the lists of segments.
  /// @param are_single_runs  As for PageSegments.
  SegmentMove(std::unique_ptr<plan::State> state, Ledger& ledger, std::byte* data,
              std::uint64_t page_bytes, bool are_single_runs)
      : PageMove(std::move(state)),
        ledger_(ledger),
        data_(data),
        page_bytes_(page_bytes),
        outgoing_(ledger, page_bytes, are_single_runs),
        incoming_(ledger) {}

  /// What leaves, by rank; what stays is in it, too.
  [[nodiscard]] PageSegments& outgoing() { return outgoing_; }
  /// What comes, likewise.
  [[nodiscard]] Vector<Segment>& incoming() { return incoming_; }
  /// Appends what comes from a rank above all so far.
  /// @param begin  In the memory.
  void receive(int rank, std::uint64_t bytes, std::uint64_t begin) {
    incoming_.push_back({cut_into_pages(begin, bytes, page_bytes_), rank});
    incoming_.back().begin = begin;
  }
  /// A receiver tells each sender where its bytes will begin, modulo the page. Collective.
  void exchange_begins() {
    const auto remainder = [&](const Segment& segment) { return segment.begin % page_bytes_; };
    mpi::exchange_words(
        state().channel, ledger_, mpi::tag_cuts, 1, std::span(incoming_), outgoing_.segments(),
        [&](const Segment& from, std::span<std::uint64_t> word) { word[0] = remainder(from); },
        [](Segment& to, std::span<const std::uint64_t> word) { to.begin = word[0]; });
    const int rank = state().channel.rank();
    if (Segment* const own = mpi::find_peer(outgoing_.segments(), rank))
      own->begin = remainder(*mpi::find_peer(std::span(incoming_), rank));
    outgoing_.cut_again();
  }

  /// Plans the exchange of pages, as PageMove::plan(). Collective.
  void plan(std::optional<Diagnostic> mine, PageOrder order, bool asks = true) {
    order_ = order;
    PageMove::plan(std::move(mine), data_, page_bytes_, outgoing_.side(), {incoming_}, order, asks);
  }

  /// Moves everything. Collective.
  /// @param fragments  PageSegments::fragment_bytes() of what leaves, or more.
  /// @param append     Appends all runs to the segments, from the first byte to the last.
  Report run(std::span<std::byte> fragments, const std::function<void()>& append) {
    begin(fragments, append);
    return finish();
  }
  /// The same in two parts, as PageMove's.
  void begin(std::span<std::byte> fragments, const std::function<void()>& append) {
    const double start = mpi::now();
    PageMove::begin([&] {
      const observe::TraceSpan span(state().observer.trace, observe::TraceKind::copy, "into pages");
      outgoing_.start(data_, fragments);
      append();
      made_seconds_ = mpi::now() - start;
    });
  }
  Report finish() {
    Report report = PageMove::finish();
    const double moved = mpi::now();
    {
      const observe::TraceSpan span(state().observer.trace, observe::TraceKind::phase, "fragments");
      exchange_fragments(report.blocks_after);
    }
    report.exchange_seconds += mpi::now() - moved;
    report.local_seconds += made_seconds_;
    return report;
  }

 private:
  /// All pages are in their slots: nothing else is where heads and tails belong. Where pages are in
  /// any order these go one behind the other behind all pages.
  void exchange_fragments(std::uint64_t pages_after) {
    const bool is_behind = order_ == PageOrder::any;
    std::uint64_t behind = pages_after * page_bytes_;
    for (Segment& segment : incoming_)
      if (is_behind) segment.begin = std::exchange(behind, behind + segment.fragment_bytes());
    const auto take = [&](const Segment& segment, std::uint64_t first,
                          std::span<const std::byte> bytes) {
      const auto copy = [&](std::uint64_t begin, std::uint64_t end, std::byte* to) {
        const std::uint64_t from = std::max(first, begin);
        const std::uint64_t stop = std::min(first + bytes.size(), end);
        if (from < stop)
          std::memcpy(to + (from - begin), bytes.data() + (from - first), stop - from);
      };
      std::byte* const head = data_ + segment.begin;
      const std::uint64_t between = is_behind ? 0 : segment.pages * page_bytes_;
      copy(0, segment.head_bytes, head);
      copy(segment.head_bytes, segment.fragment_bytes(), head + segment.head_bytes + between);
    };
    pages::exchange_fragments(state().channel, ledger_, outgoing_, std::span(incoming_), take);
  }

  Ledger& ledger_;
  std::byte* data_;
  std::uint64_t page_bytes_;
  PageSegments outgoing_;
  Vector<Segment> incoming_;  ///< ascending by rank, the own one among them
  PageOrder order_ = PageOrder::slots;
  double made_seconds_ = 0;  ///< until all is in pages
};

}  // namespace valet::pages
