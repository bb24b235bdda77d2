// SPDX-License-Identifier: BSD-3-Clause
#include "operations/ragged/page_streams.hpp"

#include "base/assert.hpp"
#include "storage/copy.hpp"

#include <algorithm>
#include <cstring>

namespace valet::ragged {

void PageStreams::add(int rank, std::uint64_t bytes, std::uint64_t begin) {
  Segment segment;
  static_cast<operations::PageCut&>(segment) =
      operations::cut_into_pages(begin, bytes, page_bytes_);
  segment.rank = rank;
  segment.bytes = bytes;
  segment.begin = begin;
  segment.first_listed = pages_;
  pages_ += segment.pages;
  fragment_bytes_ += segment.head_bytes + (segment.pages > 0 ? page_bytes_ : 0);
  segments_.push_back(segment);
}

void PageStreams::start_list() {
  slots_ = Array<std::uint64_t>(ledger_, static_cast<std::size_t>(pages_));
  next_slot_ = 0;
  for (Segment& segment : segments_) segment.done = 0;
}

bool PageStreams::list(std::size_t stream, std::uint64_t bytes) {
  if (stream >= segments_.size()) return false;
  Segment& segment = segments_[stream];
  if (bytes > segment.bytes - segment.done) return false;
  const auto full_pages = [&] {
    return segment.done < segment.head_bytes ? 0
                                             : (segment.done - segment.head_bytes) / page_bytes_;
  };
  std::uint64_t page = full_pages();
  segment.done += bytes;
  for (const std::uint64_t end = full_pages(); page < end; ++page)
    slots_[segment.first_listed + page] = next_slot_++;
  return true;
}

bool PageStreams::is_complete() const {
  return std::ranges::all_of(segments_,
                             [](const Segment& segment) { return segment.done == segment.bytes; });
}

void PageStreams::start(std::byte* data, std::span<std::byte> scratch) {
  VALET_ASSERT(scratch.size() >= fragment_bytes_);
  from_ = page_ = data;
  std::byte* fragments = scratch.data();
  for (Segment& segment : segments_) {
    segment.next = segment.fragments = fragments;
    fragments += segment.head_bytes + (segment.pages > 0 ? page_bytes_ : 0);
  }
}

/// To the front, where as much has been read. What is read next may overlap with it.
void PageStreams::write_page(const std::byte* from) {
  if (page_ != from) std::memmove(page_, from, page_bytes_);
  page_ += page_bytes_;
}

void PageStreams::append(std::size_t stream, std::uint64_t bytes) {
  Segment& segment = segments_[stream];
  std::byte* const buffer = segment.fragments + segment.head_bytes;
  // A stream without whole pages is all head, and never full.
  std::byte* const full = buffer + page_bytes_;
  while (bytes > 0) {
    if (segment.next == buffer && bytes >= page_bytes_) {
      write_page(from_);
      from_ += page_bytes_;
      bytes -= page_bytes_;
      continue;
    }
    // The head goes up to the buffer, so that the page behind it may move from where it is.
    std::byte* const end = segment.next < buffer ? buffer : full;
    const std::uint64_t part = std::min(bytes, static_cast<std::uint64_t>(end - segment.next));
    detail::copy_bytes(segment.next, from_, part);
    segment.next += part;
    from_ += part;
    bytes -= part;
    if (segment.next != full) continue;
    detail::copy_bytes(page_, buffer, page_bytes_);
    page_ += page_bytes_;
    segment.next = buffer;
  }
}

}  // namespace valet::ragged
