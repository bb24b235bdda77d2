// SPDX-License-Identifier: BSD-3-Clause
#include "operations/alltoall/page_exchange.hpp"

#include "mpi/neighbour_words.hpp"
#include "mpi/tags.hpp"
#include "plan/node_sharing.hpp"
#include "schedule/stream_sizes.hpp"
#include "storage/copy.hpp"
#include <valet/block_storage.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <numeric>
#include <utility>

namespace valet::operations {
namespace {

constexpr std::size_t word = sizeof(std::uint64_t);

std::uint64_t words_for(std::uint64_t bytes) { return (bytes + word - 1) / word; }

/// Of no bytes too, which may be nowhere: that is not for memcpy.
void copy_some(void* to, const void* from, std::size_t bytes) {
  if (bytes > 0) std::memcpy(to, from, bytes);
}

/// Lists between this rank and others: those of `segments` that belong to another rank and have
/// `count(segment)` > 0 words.
template <class Segments, class Count, class Access>
class Lists {
 public:
  Lists(Ledger& ledger, Segments& segments, int own_rank, Count count, Access access)
      : segments_(&segments),
        chosen_(LedgerAllocator<std::uint32_t>(ledger)),
        count_(count),
        access_(access) {
    for (std::uint32_t s = 0; s < segments.size(); ++s)
      if (segments[s].rank != own_rank && count(segments[s]) > 0) chosen_.push_back(s);
  }

  [[nodiscard]] std::size_t size() const { return chosen_.size(); }
  [[nodiscard]] int rank(std::size_t i) const { return at(i).rank; }
  [[nodiscard]] std::uint64_t count(std::size_t i) const { return count_(at(i)); }
  void provide(std::size_t i, std::uint64_t first, std::span<std::uint64_t> words) const {
    access_(at(i), first, words);
  }
  void consume(std::size_t i, std::uint64_t first, std::span<std::uint64_t> words) const {
    access_(at(i), first, words);
  }

 private:
  [[nodiscard]] auto& at(std::size_t i) const { return (*segments_)[chosen_[i]]; }

  Segments* segments_;
  Vector<std::uint32_t> chosen_;
  Count count_;
  Access access_;
};

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

/// The segment that stays on this rank; nullptr where it is empty.
PageExchange::Segment* PageExchange::own(Vector<Segment>& segments) const {
  const auto found = std::ranges::find(segments, rank_, &Segment::rank);
  return found == segments.end() ? nullptr : &*found;
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
                      Lists(ledger_, outgoing_, rank_, count, say),
                      Lists(ledger_, incoming_, rank_, count, hear))
      .run();
  const auto own = [&](const Segment& segment) { return segment.rank == rank_; };
  if (const auto from = std::ranges::find_if(outgoing_, own); from != outgoing_.end())
    std::ranges::find_if(incoming_, own)->cut = from->cut;
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
  constexpr std::size_t entries = 256;  // 16 KiB of buffers in all
  stage_fragments();
  staging_in_ = make_staging(incoming_);
  const auto count = [](const Segment& s) { return words_for(s.cut.fragment_bytes()); };
  const auto provide = [&](const Segment& s, std::uint64_t first, std::span<std::uint64_t> words) {
    copy_some(words.data(), staging_out_.data() + s.staging_offset + first * word,
              words.size_bytes());
  };
  const auto consume = [&](const Segment& s, std::uint64_t first, std::span<std::uint64_t> words) {
    copy_some(staging_in_.data() + s.staging_offset + first * word, words.data(),
              words.size_bytes());
  };
  mpi::NeighbourWords(state_.channel, ledger_, mpi::tag_fragments, entries,
                      Lists(ledger_, outgoing_, rank_, count, provide),
                      Lists(ledger_, incoming_, rank_, count, consume))
      .run();
  const auto own = [&](const Segment& segment) { return segment.rank == rank_; };
  if (const auto from = std::ranges::find_if(outgoing_, own); from != outgoing_.end())
    copy_some(staging_in_.data() + std::ranges::find_if(incoming_, own)->staging_offset,
              staging_out_.data() + from->staging_offset, from->cut.fragment_bytes());
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

/// What planning a map finds out is known here: segments are runs of pages.
template <class Index>
void PageExchange::make_flows(plan::Flows<Index>& flows, bool any_order) {
  flows.form = any_order ? plan::Form::fill : plan::Form::slots;
  flows.slots = page_slots();
  flows.initially_free = storage::SlotSet(ledger_, flows.slots);
  flows.initially_free.insert(storage::SlotRun{0, flows.slots});
  flows.outgoing.reserve(outgoing_.size());
  flows.incoming.reserve(incoming_.size());
  Index leaving = 0;
  for (const Segment& segment : outgoing_) {
    const auto pages = static_cast<Index>(segment.cut.pages);
    if (pages == 0) continue;
    flows.initially_free.erase(storage::SlotRun{segment.cut.first_page, pages});
    flows.blocks_before += pages;
    if (segment.rank == rank_) {
      flows.blocks_resident = pages;
      continue;
    }
    flows.outgoing.push_back({segment.rank, pages, leaving});
    leaving = static_cast<Index>(leaving + pages);
  }
  flows.exports = Array<Index>(ledger_, leaving);
  for (const Segment& segment : outgoing_) {
    if (segment.rank == rank_ || segment.cut.pages == 0) continue;
    const auto flow = std::ranges::lower_bound(flows.outgoing, segment.rank, {},
                                               [](const auto& each) { return each.rank; });
    std::iota(flows.exports.begin() + flow->first,
              flows.exports.begin() + flow->first + flow->count,
              static_cast<Index>(segment.cut.first_page));
  }
  for (const Segment& segment : incoming_)
    if (segment.rank != rank_) flows.blocks_arriving += segment.cut.pages;
  flows.blocks_after = flows.blocks_resident + flows.blocks_arriving;
  if (any_order) {
    flows.holes = flows.initially_free.grown(ledger_, flows.slots);
    flows.holes.insert_ascending(std::span<const Index>(flows.exports.begin(), leaving));
  }
  place_in_order(flows);
}

/// Where arrivals go: by source, packed at the front; in the holes where any order will do.
template <class Index>
void PageExchange::place_in_order(plan::Flows<Index>& flows) {
  const bool any_order = flows.form == plan::Form::fill;
  if (!any_order) flows.arrivals = Array<Index>(ledger_, flows.blocks_arriving);
  auto cursor = static_cast<Index>(any_order ? flows.holes.next(0) : 0);
  std::uint64_t slot = 0;
  for (const Segment& segment : incoming_) {
    const auto pages = static_cast<Index>(segment.cut.pages);
    if (segment.rank == rank_) {
      if (any_order || pages == 0) continue;
      const std::uint64_t first_page = own(outgoing_)->cut.first_page;
      const std::size_t moves = first_page == slot ? 0 : pages;
      flows.resident_from = Array<Index>(ledger_, moves);
      flows.resident_to = Array<Index>(ledger_, moves);
      std::iota(flows.resident_from.begin(), flows.resident_from.end(),
                static_cast<Index>(first_page));
      std::iota(flows.resident_to.begin(), flows.resident_to.end(), static_cast<Index>(slot));
    } else if (pages > 0) {
      if (!any_order)
        std::iota(flows.arrivals.begin() + cursor, flows.arrivals.begin() + cursor + pages,
                  static_cast<Index>(slot));
      flows.incoming.push_back(
          {segment.rank, pages, cursor, static_cast<Index>(segment.message_blocks)});
      cursor = flows.advance(cursor, pages);
    }
    slot += pages;
  }
}

Report PageExchange::move_pages(bool any_order) {
  const std::uint64_t slots = page_slots();
  if (slots > std::numeric_limits<std::uint32_t>::max())
    state_.flows.emplace<plan::Flows<std::uint64_t>>(ledger_);
  state_.visit([&](auto& flows) { make_flows(flows, any_order); });
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
