// SPDX-License-Identifier: BSD-3-Clause
#include "operations/alltoall/page_exchange.hpp"

#include "base/memory_reserve.hpp"

#include <algorithm>
#include <utility>

namespace valet::operations {
namespace {

Diagnostic out_of_memory() {
  return {ErrorCode::out_of_memory,
          "the system has no memory for pages within the budget; set a smaller one"};
}

std::size_t count_used(const Array<std::uint64_t>& counts) {
  return counts.size() - static_cast<std::size_t>(std::ranges::count(counts, std::uint64_t{0}));
}

}  // namespace

PageExchange::PageExchange(std::unique_ptr<plan::State> state, std::span<std::byte> data,
                           std::size_t element_bytes, std::uint64_t page_bytes,
                           Array<std::uint64_t> sent, Array<std::uint64_t> received)
    : pages_(std::move(state)),
      state_(pages_.state()),
      ledger_(state_.ledger),
      rank_(state_.channel.rank()),
      data_(data),
      element_bytes_(element_bytes),
      page_bytes_(page_bytes),
      sent_(std::move(sent)),
      received_(std::move(received)),
      outgoing_(ledger_, page_bytes, true),
      incoming_(ledger_) {}

void PageExchange::list_segments(bool any_order) {
  incoming_.reserve(count_used(received_));
  std::uint64_t begin = 0, first_page = 0;
  for (std::size_t r = 0; r < received_.size(); ++r) {
    if (received_[r] == 0) continue;
    const std::uint64_t bytes = received_[r] * element_bytes_;
    pages::Segment& segment = incoming_.emplace_back();
    static_cast<pages::PageCut&>(segment) =
        pages::cut_into_pages(any_order ? 0 : begin, bytes, page_bytes_);
    if (any_order) segment.first_page = first_page;
    first_page += segment.pages;
    segment.rank = static_cast<int>(r);
    segment.begin = begin;
    begin += bytes;
  }
  received_ = {};
  // Where segments begin takes the place of how long they are.
  outgoing_.reserve(count_used(sent_));
  for (std::size_t r = 0; r < sent_.size(); ++r)
    if (sent_[r] > 0) outgoing_.add(static_cast<int>(r), sent_[r] * element_bytes_, 0);
  sent_ = {};
  if (!any_order) exchange_begins();
}

/// Only the receiver knows where a segment will begin.
void PageExchange::exchange_begins() {
  const auto one = [](const pages::Segment&) { return std::uint64_t{1}; };
  const auto provide = [&](const pages::Segment& segment, std::uint64_t,
                           std::span<std::uint64_t> words) {
    words[0] = segment.begin % page_bytes_;
  };
  const auto consume = [](pages::Segment& segment, std::uint64_t,
                          std::span<const std::uint64_t> words) { segment.begin = words[0]; };
  mpi::NeighbourWords(state_.channel, ledger_, mpi::tag_cuts, 1,
                      mpi::PeerWords{std::span(incoming_), rank_, one, provide},
                      mpi::PeerWords{outgoing_.segments(), rank_, one, consume})
      .run();
  if (pages::Segment* const own = mpi::find_peer(outgoing_.segments(), rank_))
    own->begin = mpi::find_peer(std::span(incoming_), rank_)->begin % page_bytes_;
  outgoing_.cut_again();
}

void PageExchange::make_pages() {
  outgoing_.start(data_.data(), fragments_);
  for (std::size_t s = 0; s < outgoing_.segments().size(); ++s)
    outgoing_.append(s, outgoing_.segments()[s].bytes(page_bytes_));
}

/// Around the pages of their segments, or one behind the other behind all pages.
void PageExchange::exchange_fragments(bool any_order, std::uint64_t pages_after) {
  if (any_order) {
    std::uint64_t begin = pages_after * page_bytes_;
    for (pages::Segment& segment : incoming_) {
      segment.begin = begin;
      begin += segment.fragment_bytes();
    }
  }
  const auto fragments = [&](const pages::Segment& segment) {
    return outgoing_.fragments_of(static_cast<std::size_t>(&segment - outgoing_.segments().data()));
  };
  const auto take = [&](const pages::Segment& segment, std::uint64_t first,
                        std::span<const std::byte> bytes) {
    std::byte* const head = data_.data() + segment.begin;
    const std::uint64_t between = any_order ? 0 : segment.pages * page_bytes_;
    place_fragments(segment, first, bytes, head, head + segment.head_bytes + between);
  };
  pages::exchange_fragments(state_.channel, ledger_, outgoing_.segments(), std::span(incoming_),
                            fragments, take);
}

Report PageExchange::run(bool any_order, std::uint64_t elements) {
  observe::ProgressMeter progress(state_.observer.progress,
                                  state_.frame->progress_wish("valet: all-to-all by stream"),
                                  elements, element_bytes_);
  observe::Trace* const trace = state_.observer.trace;
  list_segments(any_order);
  auto failed = detail::unless_out_of_memory(
      [&] {
        fragments_ =
            Array<std::byte>(ledger_, static_cast<std::size_t>(outgoing_.fragment_bytes()));
      },
      out_of_memory);
  pages_.plan(std::move(failed), data_.data(), page_bytes_, outgoing_.side(),
              {std::span(incoming_)}, any_order ? pages::PageOrder::any : pages::PageOrder::slots);
  state_.failure = detail::unless_out_of_memory(
      [&] { state_.take_scratch(static_cast<std::size_t>(pages_.workspace_bytes())); },
      out_of_memory);
  progress.count_in(page_bytes_);
  Report report = pages_.run([&] {
    const observe::TraceSpan span(trace, observe::TraceKind::copy, "into pages");
    make_pages();
  });
  {
    const observe::TraceSpan span(trace, observe::TraceKind::phase, "fragments");
    exchange_fragments(any_order, report.blocks_after);
  }
  progress.count_in(1);
  for (const std::span<const pages::Segment> segments :
       {std::span<const pages::Segment>(outgoing_.segments()),
        std::span<const pages::Segment>(incoming_)})
    state_.observer.moved(sum_of_others(segments, rank_, &pages::PageCut::head_bytes) +
                          sum_of_others(segments, rank_, &pages::PageCut::tail_bytes));
  progress.finish();
  return report;
}

}  // namespace valet::operations
