// SPDX-License-Identifier: BSD-3-Clause
#include "operations/alltoall/page_exchange.hpp"

#include "base/memory_reserve.hpp"
#include "operations/page_flows.hpp"
#include "schedule/stream_sizes.hpp"
#include "storage/copy.hpp"
#include <valet/block_storage.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

namespace valet::operations {
namespace {

/// Copies; no bytes may be nowhere, which memcpy does not allow.
void copy_some(void* to, const void* from, std::size_t bytes) {
  if (bytes > 0) std::memcpy(to, from, bytes);
}

Diagnostic out_of_memory() {
  return {ErrorCode::out_of_memory,
          "the system has no memory for pages within the budget; set a smaller one"};
}

}  // namespace

PageExchange::PageExchange(std::unique_ptr<plan::State> state, std::span<std::byte> data,
                           std::size_t element_bytes, std::uint64_t page_bytes,
                           Array<std::uint64_t> sent, Array<std::uint64_t> received)
    : plan_(plan::Access::make(std::move(state))),
      state_(plan::Access::state_of(plan_)),
      ledger_(state_.ledger),
      rank_(state_.channel.rank()),
      data_(data),
      page_bytes_(page_bytes),
      outgoing_(list_segments(sent, element_bytes)),
      incoming_(list_segments(received, element_bytes)) {
  for (Segment& segment : outgoing_) {
    const std::uint64_t elements = sent[static_cast<std::size_t>(segment.rank)];
    static_cast<PageCut&>(segment) =
        cut_into_pages(segment.begin, elements * element_bytes, page_bytes);
  }
}

Vector<PageExchange::Segment> PageExchange::list_segments(const Array<std::uint64_t>& counts,
                                                          std::size_t element_bytes) {
  Vector<Segment> segments(ledger_);
  segments.reserve(counts.size() -
                   static_cast<std::size_t>(std::ranges::count(counts, std::uint64_t{0})));
  std::uint64_t begin = 0;
  for (std::size_t r = 0; r < counts.size(); ++r) {
    if (counts[r] == 0) continue;
    segments.push_back({{}, static_cast<int>(r), begin});
    begin += counts[r] * element_bytes;
  }
  return segments;
}

/// Only the sender knows how a segment lay on its pages.
void PageExchange::exchange_cuts() {
  constexpr std::uint64_t words = 4;
  const std::uint64_t pages = sum_of_others(std::span(outgoing_), rank_, &PageCut::pages);
  const std::uint64_t message_blocks =
      schedule::stream_sizes(schedule::limits_of(state_.options, state_.blocks, pages, 0))
          .send_blocks;
  const auto count = [](const Segment&) { return words; };
  const auto provide = [&](const Segment& cut, std::uint64_t, std::span<std::uint64_t> to) {
    std::ranges::copy(std::array{cut.head_bytes, cut.pages, cut.tail_bytes, message_blocks},
                      to.begin());
  };
  const auto consume = [&](Segment& segment, std::uint64_t, std::span<std::uint64_t> from) {
    segment.head_bytes = from[0];
    segment.pages = from[1];
    segment.tail_bytes = from[2];
    segment.message_blocks = from[3];
  };
  mpi::NeighbourWords(state_.channel, ledger_, mpi::tag_cuts, words,
                      mpi::PeerWords{std::span(outgoing_), rank_, count, provide},
                      mpi::PeerWords{std::span(incoming_), rank_, count, consume})
      .run();
  if (const Segment* const from = mpi::find_peer(std::span(outgoing_), rank_))
    static_cast<PageCut&>(*mpi::find_peer(std::span(incoming_), rank_)) = *from;
}

/// Memory for the fragments of all segments, each starting at a whole word.
Array<std::byte> PageExchange::make_staging(Vector<Segment>& segments) {
  std::uint64_t offset = 0;
  for (Segment& segment : segments) {
    segment.staging_offset = offset;
    offset += whole_words(segment.fragment_bytes());
  }
  Array<std::byte> staging;
  if (auto failed = detail::unless_out_of_memory(
          [&] {
            staging = {ledger_, static_cast<std::size_t>(offset)};
          },
          [] { return out_of_memory(); }))
    state_.failure = std::move(failed);
  return staging;
}

void PageExchange::stage_fragments() {
  staging_out_ = make_staging(outgoing_);
  if (state_.failure) return;
  for (const Segment& segment : outgoing_) {
    std::byte* const to = staging_out_.data() + segment.staging_offset;
    const std::byte* const from = data_.data() + segment.begin;
    const std::uint64_t head = segment.head_bytes;
    copy_some(to, from, head);
    copy_some(to + head, from + head + segment.pages * page_bytes_, segment.tail_bytes);
  }
}

void PageExchange::exchange_fragments() {
  stage_fragments();
  staging_in_ = make_staging(incoming_);
  const auto staged = [](Array<std::byte>& staging) {
    return [&staging](const Segment& segment) {
      std::byte* const all = staging.data();
      return std::span(all == nullptr ? nullptr : all + segment.staging_offset,
                       whole_words(segment.fragment_bytes()));
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
      if (segment.rank != rank_) bytes += segment.fragment_bytes();
  return bytes;
}

/// The flows of the pages; where there is no memory for them only who exchanges pages with this
/// rank, so that it goes on until all agree on the error.
void PageExchange::build_flows(bool any_order, std::uint64_t slots) {
  const auto slot = [](const Segment& segment, std::uint64_t k) { return segment.first_page + k; };
  auto failed = detail::unless_out_of_memory(
      [&] {
        build_page_flows(state_, any_order ? plan::Form::fill : plan::Form::slots, slots,
                         std::span(outgoing_), slot, std::span(incoming_), slot);
      },
      [] { return out_of_memory(); });
  if (!failed) return;
  state_.failure = std::move(failed);
  state_.visit([&]<class Index>(plan::Flows<Index>& flows) {
    flows = plan::Flows<Index>(ledger_);
    for (const Segment& segment : outgoing_)
      if (segment.rank != rank_ && segment.pages > 0)
        flows.outgoing.push_back({segment.rank, static_cast<Index>(segment.pages), 0});
    for (const Segment& segment : incoming_)
      if (segment.rank != rank_ && segment.pages > 0)
        flows.incoming.push_back({segment.rank, static_cast<Index>(segment.pages), 0, 1});
  });
}

Report PageExchange::move_pages(bool any_order) {
  std::uint64_t before = 0, packed = 0;
  for (const Segment& segment : outgoing_)
    if (segment.pages > 0) before = segment.first_page + segment.pages;
  for (Segment& segment : incoming_) packed = (segment.first_page = packed) + segment.pages;
  const std::uint64_t slots = std::max(before, packed);
  build_flows(any_order, slots);
  prepare_method(state_);
  const BlockStorage pages{field(data_.data(), slots, static_cast<std::size_t>(page_bytes_))};
  storage::CallScratch scratch;
  if (!state_.failure)
    state_.failure = detail::unless_out_of_memory(
        [&] { scratch = scratch_for(state_, plan_.workspace_bytes()); },
        [] { return out_of_memory(); });
  return execute_pages(plan_, pages, scratch);
}

void PageExchange::finalize_in_order() {
  for (std::size_t s = incoming_.size(); s-- > 0;) {
    const Segment& segment = incoming_[s];
    const std::uint64_t bytes = segment.pages * page_bytes_;
    std::byte* const begin = data_.data() + segment.begin;
    const std::byte* const fragments = staging_in_.data() + segment.staging_offset;
    std::byte* const middle = begin + segment.head_bytes;
    detail::move_up(middle, data_.data() + segment.first_page * page_bytes_, bytes);
    copy_some(begin, fragments, segment.head_bytes);
    copy_some(middle + bytes, fragments + segment.head_bytes, segment.tail_bytes);
  }
}

void PageExchange::append_fragments(std::uint64_t begin) {
  std::byte* to = data_.data() + begin;
  for (const Segment& segment : incoming_) {
    copy_some(to, staging_in_.data() + segment.staging_offset, segment.fragment_bytes());
    to += segment.fragment_bytes();
  }
}

Report PageExchange::run(bool any_order, const observe::ProgressWish& wish, std::uint64_t elements,
                         std::uint64_t element_bytes) {
  observe::ProgressMeter progress(state_.observer.progress, wish, elements, element_bytes);
  state_.blocks.block_bytes = static_cast<std::size_t>(page_bytes_);
  if (state_.trace) state_.trace->hold();  // it goes on after the pages have moved
  observe::Trace* const trace = state_.observer.trace;
  {
    const observe::TraceSpan span(trace, observe::TraceKind::phase, "fragments");
    exchange_cuts();
    exchange_fragments();
  }
  progress.count_in(1);
  state_.observer.moved(fragment_bytes());
  progress.count_in(page_bytes_);
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
