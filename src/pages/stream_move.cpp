// SPDX-License-Identifier: BSD-3-Clause
#include "pages/stream_move.hpp"

#include "mpi/check.hpp"

#include <utility>

namespace valet::pages {

void StreamMove::receive(int rank, std::uint64_t bytes, std::uint64_t begin) {
  Segment& segment = incoming_.emplace_back();
  static_cast<PageCut&>(segment) = cut_into_pages(begin, bytes, page_bytes_);
  segment.rank = rank;
  segment.begin = begin;
}

void StreamMove::exchange_begins() {
  const int rank = state().channel.rank();
  const auto one = [](const Segment&) { return std::uint64_t{1}; };
  const auto provide = [&](const Segment& segment, std::uint64_t, std::span<std::uint64_t> words) {
    words[0] = segment.begin % page_bytes_;
  };
  const auto consume = [](Segment& segment, std::uint64_t, std::span<const std::uint64_t> words) {
    segment.begin = words[0];
  };
  mpi::NeighbourWords(state().channel, ledger_, mpi::tag_cuts, 1,
                      mpi::PeerWords{std::span(incoming_), rank, one, provide},
                      mpi::PeerWords{outgoing_.segments(), rank, one, consume})
      .run();
  if (Segment* const own = mpi::find_peer(outgoing_.segments(), rank))
    own->begin = mpi::find_peer(std::span(incoming_), rank)->begin % page_bytes_;
  outgoing_.cut_again();
}

void StreamMove::plan(std::optional<Diagnostic> mine, PageOrder order, bool asks) {
  order_ = order;
  pages_.plan(std::move(mine), data_, page_bytes_, outgoing_.side(), {incoming_}, order, asks);
}

Report StreamMove::run(std::span<std::byte> fragments, const std::function<void()>& append) {
  const double start = mpi::now();
  double made = start;
  Report report = pages_.run([&] {
    const observe::TraceSpan span(state().observer.trace, observe::TraceKind::copy, "into pages");
    outgoing_.start(data_, fragments);
    append();
    made = mpi::now();
  });
  const double moved = mpi::now();
  {
    const observe::TraceSpan span(state().observer.trace, observe::TraceKind::phase, "fragments");
    exchange_fragments(report.blocks_after);
  }
  report.exchange_seconds += mpi::now() - moved;
  report.local_seconds += made - start;
  return report;
}

/// All pages are in their slots: nothing else is where heads and tails belong. Where pages are in
/// any order these go one behind the other behind all pages.
void StreamMove::exchange_fragments(std::uint64_t pages_after) {
  const bool is_behind = order_ == PageOrder::any;
  std::uint64_t behind = pages_after * page_bytes_;
  for (Segment& segment : incoming_)
    if (is_behind) segment.begin = std::exchange(behind, behind + segment.fragment_bytes());
  const auto fragments = [&](const Segment& segment) {
    return outgoing_.fragments_of(static_cast<std::size_t>(&segment - outgoing_.segments().data()));
  };
  const auto take = [&](const Segment& segment, std::uint64_t first,
                        std::span<const std::byte> bytes) {
    std::byte* const head = data_ + segment.begin;
    const std::uint64_t between = is_behind ? 0 : segment.pages * page_bytes_;
    place_fragments(segment, first, bytes, head, head + segment.head_bytes + between);
  };
  pages::exchange_fragments(state().channel, ledger_, outgoing_.segments(), std::span(incoming_),
                            fragments, take);
}

}  // namespace valet::pages
