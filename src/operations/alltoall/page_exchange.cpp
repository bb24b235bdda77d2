// SPDX-License-Identifier: BSD-3-Clause
#include "operations/alltoall/page_exchange.hpp"

#include "mpi/peer_words.hpp"
#include "plan/known_flows.hpp"
#include "plan/node_sharing.hpp"
#include "schedule/stream_sizes.hpp"
#include "storage/copy.hpp"
#include <valet/block_storage.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

namespace valet::operations {
namespace {

constexpr std::size_t word = sizeof(std::uint64_t);

std::uint64_t words_for(std::uint64_t bytes) { return (bytes + word - 1) / word; }

/// Copies; no bytes may be nowhere, which memcpy does not allow.
void copy_some(void* to, const void* from, std::size_t bytes) {
  if (bytes > 0) std::memcpy(to, from, bytes);
}

}  // namespace

PageExchange::PageExchange(std::unique_ptr<plan::State> state, std::span<std::byte> data,
                           std::uint64_t page_bytes, Array<std::uint64_t> sent,
                           Array<std::uint64_t> received)
    : plan_(plan::Access::make(std::move(state))),
      state_(plan::Access::state_of(plan_)),
      ledger_(state_.ledger),
      rank_(state_.channel.rank()),
      data_(data),
      page_bytes_(page_bytes),
      outgoing_(LedgerAllocator<Segment>(ledger_)),
      incoming_(LedgerAllocator<Segment>(ledger_)) {
  list_segments(outgoing_, {sent.begin(), sent.size()});
  list_segments(incoming_, {received.begin(), received.size()});
  for (Segment& segment : outgoing_)
    segment.cut =
        cut_into_pages(segment.begin, sent[static_cast<std::size_t>(segment.rank)], page_bytes);
}

void PageExchange::list_segments(Vector<Segment>& segments, std::span<const std::uint64_t> bytes) {
  segments.reserve(static_cast<std::size_t>(
      std::count_if(bytes.begin(), bytes.end(), [](std::uint64_t b) { return b > 0; })));
  std::uint64_t begin = 0;
  for (std::size_t r = 0; r < bytes.size(); ++r) {
    if (bytes[r] > 0) segments.push_back({.rank = static_cast<int>(r), .begin = begin, .cut = {}});
    begin += bytes[r];
  }
}

/// Only the sender knows how a segment lay on its pages.
void PageExchange::tell_cuts() {
  constexpr std::uint64_t words = 4;
  std::uint64_t pages = 0;
  for (const Segment& segment : outgoing_)
    if (segment.rank != rank_) pages += segment.cut.pages;
  const std::uint64_t message_blocks =
      schedule::stream_sizes(schedule::limits_of(state_.options, state_.blocks, pages, 0))
          .send_blocks;
  const auto count = [](const Segment&) { return words; };
  const auto say = [&](const Segment& segment, std::uint64_t, std::span<std::uint64_t> to) {
    const PageCut& cut = segment.cut;
    std::ranges::copy(std::array{cut.head_bytes, cut.pages, cut.tail_bytes, message_blocks},
                      to.begin());
  };
  const auto hear = [&](Segment& segment, std::uint64_t, std::span<std::uint64_t> said) {
    segment.cut = {.head_bytes = said[0], .first_page = 0, .pages = said[1], .tail_bytes = said[2]};
    segment.message_blocks = said[3];
  };
  mpi::NeighbourWords(state_.channel, ledger_, mpi::tag_cuts, words,
                      mpi::PeerWords(ledger_, std::span(outgoing_), rank_, count, say),
                      mpi::PeerWords(ledger_, std::span(incoming_), rank_, count, hear))
      .run();
  if (const Segment* const from = mpi::find_peer(std::span(outgoing_), rank_))
    mpi::find_peer(std::span(incoming_), rank_)->cut = from->cut;
}

/// Memory for the fragments of all segments, each starting at a whole word.
Array<std::byte> PageExchange::make_staging(Vector<Segment>& segments) {
  std::uint64_t offset = 0;
  for (Segment& segment : segments) {
    segment.staging_offset = offset;
    offset += words_for(segment.cut.fragment_bytes()) * word;
  }
  return {ledger_, static_cast<std::size_t>(offset)};
}

void PageExchange::stage_fragments() {
  staging_out_ = make_staging(outgoing_);
  for (const Segment& segment : outgoing_) {
    const PageCut& cut = segment.cut;
    std::byte* const to = staging_out_.data() + segment.staging_offset;
    const std::byte* const from = data_.data() + segment.begin;
    copy_some(to, from, cut.head_bytes);
    copy_some(to + cut.head_bytes, from + cut.head_bytes + cut.pages * page_bytes_, cut.tail_bytes);
  }
}

void PageExchange::exchange_fragments() {
  stage_fragments();
  staging_in_ = make_staging(incoming_);
  const auto staged = [](Array<std::byte>& staging) {
    return [&staging](const Segment& segment) {
      return std::span(staging.data() + segment.staging_offset,
                       words_for(segment.cut.fragment_bytes()) * word);
    };
  };
  mpi::exchange_bytes(state_.channel, ledger_, std::span(outgoing_), std::span(incoming_),
                      staged(staging_out_), staged(staging_in_));
  staging_out_ = {};
}

/// Bytes of fragments between this rank and others.
std::uint64_t PageExchange::fragment_bytes() const {
  std::uint64_t bytes = 0;
  for (const Vector<Segment>* const segments : {&outgoing_, &incoming_})
    for (const Segment& segment : *segments)
      if (segment.rank != rank_) bytes += segment.cut.fragment_bytes();
  return bytes;
}

/// The slots that pages use before or after.
std::uint64_t PageExchange::page_slots() const {
  std::uint64_t before = 0, after = 0;
  for (const Segment& segment : outgoing_)
    if (segment.cut.pages > 0) before = segment.cut.first_page + segment.cut.pages;
  for (const Segment& segment : incoming_) after += segment.cut.pages;
  return std::max(before, after);
}

/// Pages of segments, for plan::KnownFlows: where they stand, and packed at the front by source.
struct PageExchange::PagesOut {
  std::span<Segment> segments;
  [[nodiscard]] std::span<Segment> peers() const { return segments; }
  [[nodiscard]] static std::uint64_t blocks(const Segment& segment) { return segment.cut.pages; }
  [[nodiscard]] static std::uint64_t slot(const Segment& segment, std::uint64_t k) {
    return segment.cut.first_page + k;
  }
};
struct PageExchange::PagesIn : PagesOut {
  [[nodiscard]] static std::uint64_t slot(const Segment& segment, std::uint64_t k) {
    return segment.first_slot + k;
  }
  [[nodiscard]] static std::uint64_t message_blocks(const Segment& segment) {
    return segment.message_blocks;
  }
};

Report PageExchange::move_pages(bool any_order) {
  std::uint64_t packed = 0;
  for (Segment& segment : incoming_) packed = (segment.first_slot = packed) + segment.cut.pages;
  const std::uint64_t slots = page_slots();
  plan::KnownFlows(state_, PagesOut{outgoing_}, PagesIn{{incoming_}})
      .build(any_order ? plan::Form::fill : plan::Form::slots, slots);
  share_memory(state_);
  const BlockStorage pages{field(data_.data(), slots, static_cast<std::size_t>(page_bytes_))};
  return execute(plan_, pages);
}

void PageExchange::finalize_in_order() {
  std::uint64_t page = 0;
  for (const Segment& segment : incoming_) page += segment.cut.pages;
  for (std::size_t s = incoming_.size(); s-- > 0;) {
    const Segment& segment = incoming_[s];
    const std::uint64_t bytes = segment.cut.pages * page_bytes_;
    page -= segment.cut.pages;
    std::byte* const begin = data_.data() + segment.begin;
    const std::byte* const fragments = staging_in_.data() + segment.staging_offset;
    std::byte* const middle = begin + segment.cut.head_bytes;
    detail::move_up(middle, data_.data() + page * page_bytes_, bytes);
    copy_some(begin, fragments, segment.cut.head_bytes);
    copy_some(middle + bytes, fragments + segment.cut.head_bytes, segment.cut.tail_bytes);
  }
}

void PageExchange::append_fragments(std::uint64_t begin) {
  std::byte* to = data_.data() + begin;
  for (const Segment& segment : incoming_) {
    copy_some(to, staging_in_.data() + segment.staging_offset, segment.cut.fragment_bytes());
    to += segment.cut.fragment_bytes();
  }
}

Report PageExchange::run(bool any_order, std::optional<ProgressMeter> progress) {
  observe::WatchedProgress watched(state_.observer, std::move(progress));
  state_.blocks.block_bytes = static_cast<std::size_t>(page_bytes_);
  if (state_.trace) state_.trace->hold();  // it goes on after the pages have moved
  observe::Trace* const trace = state_.observer.trace;
  {
    const observe::TraceSpan span(trace, observe::TraceKind::phase, "fragments");
    tell_cuts();
    exchange_fragments();
  }
  watched.count_in(1);
  state_.observer.moved(fragment_bytes());
  watched.count_in(page_bytes_);
  Report report = move_pages(any_order);
  {
    const observe::TraceSpan span(trace, observe::TraceKind::copy, "fragments between pages");
    if (any_order)
      append_fragments(report.blocks_after * page_bytes_);
    else
      finalize_in_order();
  }
  if (state_.trace) {
    state_.trace->release();
    state_.trace->write(state_.channel,
                        {report.method, report.block_bytes, state_.options.budget_bytes});
  }
  return report;
}

}  // namespace valet::operations
