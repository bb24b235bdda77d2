// SPDX-License-Identifier: BSD-3-Clause
#include "pages/page_streams.hpp"

#include "base/assert.hpp"
#include "storage/copy.hpp"

#include <algorithm>
#include <cstring>

namespace valet::pages {

void PageStreams::add(int rank, std::uint64_t bytes, std::uint64_t begin) {
  Segment& segment = segments_.emplace_back();
  streams_.emplace_back();
  segment.rank = rank;
  segment.begin = begin;
  cut(segment, bytes);
}

void PageStreams::cut_again() {
  pages_ = fragment_bytes_ = 0;
  for (Segment& segment : segments_) cut(segment, segment.bytes(page_bytes_));
}

void PageStreams::cut(Segment& segment, std::uint64_t bytes) {
  static_cast<PageCut&>(segment) = cut_into_pages(segment.begin, bytes, page_bytes_);
  segment.first_page = pages_;
  pages_ += segment.pages;
  fragment_bytes_ += scratch_of(segment);
}

/// For its head and a buffer.
std::uint64_t PageStreams::scratch_of(const Segment& segment) const {
  return are_in_one_piece_ ? segment.fragment_bytes() : segment.buffered_bytes(page_bytes_);
}

void PageStreams::start_list() {
  slots_ = Array<std::uint64_t>(ledger_, static_cast<std::size_t>(pages_));
  next_slot_ = 0;
  for (std::size_t s = 0; s < streams_.size(); ++s) {
    const Segment& segment = segments_[s];
    streams_[s].left = segment.bytes(page_bytes_);
    streams_[s].room = segment.head_bytes + (segment.pages > 0 ? page_bytes_ : 1);
    streams_[s].page = segment.first_page;
  }
}

/// Lists the pages that these bytes fill; returns those that begin another one.
std::uint64_t PageStreams::list_pages(std::size_t stream, std::uint64_t bytes) {
  Stream& filled = streams_[stream];
  bytes -= filled.room;
  for (std::uint64_t full = 1 + bytes / page_bytes_; full > 0; --full)
    slots_[filled.page++] = next_slot_++;
  filled.room = page_bytes_;
  return bytes % page_bytes_;
}

bool PageStreams::is_complete() const {
  return std::ranges::all_of(streams_, [](const Stream& stream) { return stream.left == 0; });
}

void PageStreams::provide(std::span<std::byte> scratch) {
  VALET_ASSERT(scratch.size() >= fragment_bytes_);
  std::byte* fragments = scratch.data();
  for (std::size_t s = 0; s < segments_.size(); ++s) {
    streams_[s].next = streams_[s].fragments = fragments;
    fragments += scratch_of(segments_[s]);
  }
}

void PageStreams::start(std::byte* data, std::span<std::byte> scratch) {
  provide(scratch);
  from_ = to_ = data;
}

/// To the front, where as much has been read. What is read next may overlap with it.
void PageStreams::write_page(const std::byte* from) {
  if (to_ != from) std::memmove(to_, from, page_bytes_);
  to_ += page_bytes_;
}

void PageStreams::append(std::size_t stream, std::uint64_t bytes) {
  std::byte*& next = streams_[stream].next;
  std::byte* const buffer = streams_[stream].fragments + segments_[stream].head_bytes;
  // A stream without whole pages is all head, and never full.
  std::byte* const full = buffer + page_bytes_;
  while (bytes > 0) {
    if (next == buffer && bytes >= page_bytes_) {
      write_page(from_);
      from_ += page_bytes_;
      bytes -= page_bytes_;
      continue;
    }
    // The head goes up to the buffer, so that the page behind it may move from where it is.
    std::byte* const end = next < buffer ? buffer : full;
    const std::uint64_t part = std::min(bytes, static_cast<std::uint64_t>(end - next));
    detail::copy_bytes(next, from_, part);
    next += part;
    from_ += part;
    bytes -= part;
    if (next != full) continue;
    detail::copy_bytes(to_, buffer, page_bytes_);
    to_ += page_bytes_;
    next = buffer;
  }
}

void PageStreams::start_back(std::byte* data, std::uint64_t bytes) {
  data_ = data;
  to_ = data + bytes;
  for (std::size_t s = 0; s < segments_.size(); ++s) {
    VALET_ASSERT(segments_[s].begin == 0 && segments_[s].pages * segments_[s].head_bytes == 0);
    streams_[s].page = segments_[s].first_page + segments_[s].pages;
    streams_[s].next = streams_[s].fragments + segments_[s].fragment_bytes();
  }
}

void PageStreams::take(std::size_t stream, std::uint64_t bytes) {
  std::byte* const buffer = streams_[stream].fragments;
  std::byte*& next = streams_[stream].next;
  while (bytes > 0) {
    if (next == buffer) {
      const std::byte* const page = data_ + slots_[--streams_[stream].page] * page_bytes_;
      if (bytes >= page_bytes_) {
        to_ -= page_bytes_;
        bytes -= page_bytes_;
        if (to_ != page) std::memmove(to_, page, page_bytes_);
        continue;
      }
      detail::copy_bytes(buffer, page, page_bytes_);
      next = buffer + page_bytes_;
    }
    const std::uint64_t part = std::min(bytes, static_cast<std::uint64_t>(next - buffer));
    next -= part;
    to_ -= part;
    bytes -= part;
    detail::copy_bytes(to_, next, part);
  }
}

}  // namespace valet::pages
