// SPDX-License-Identifier: BSD-3-Clause
#include "operations/layout/page_sort.hpp"

#include "geometry/intersection.hpp"
#include "geometry/owner_walk.hpp"
#include "observe/observer.hpp"
#include "storage/copy.hpp"

#include <algorithm>

namespace valet::layout {
PageSort::PageSort(Ledger& ledger, const GridSide& mine, const GridSide& theirs, IndexOrder order,
                   std::size_t element_bytes, std::size_t page_bytes)
    : ledger_(ledger),
      mine_(mine),
      theirs_(theirs),
      order_(order),
      element_bytes_(element_bytes),
      page_bytes_(page_bytes),
      buffer_stride_(operations::whole_words(page_bytes)),
      peers_(ledger) {
  if (mine_.elements() == 0) return;
  list_peers();
  find_slots();
}

std::uint64_t PageSort::list_bytes(std::uint64_t peers, std::uint64_t pages, std::uint64_t ranks) {
  return peers * (sizeof(PagePeer) + 2 * sizeof(std::uint64_t)) + pages * sizeof(std::uint64_t) +
         ranks * sizeof(std::int32_t);
}

void PageSort::list_peers() {
  const Intersection shared(ledger_, mine_.layout(), mine_.grid_rank, theirs_.layout());
  const int end = theirs_.layout().ranks();
  std::size_t count = 0;
  for (int g = shared.next_peer(0); g < end; g = shared.next_peer(g + 1)) ++count;
  peers_.reserve(count);
  for (int g = shared.next_peer(0); g < end; g = shared.next_peer(g + 1)) {
    const auto elements = static_cast<std::uint64_t>(shared.elements(g));
    peers_.push_back({.rank = theirs_.communicator_rank(g),
                      .grid_rank = g,
                      .elements = elements,
                      .pages = elements * element_bytes_ / page_bytes_});
  }
  std::ranges::sort(peers_, {}, &PagePeer::rank);
  peer_of_ = Array<std::int32_t>(ledger_, static_cast<std::size_t>(end));
  std::uint64_t pages = 0;
  for (std::size_t p = 0; p < peers_.size(); ++p) {
    peer_of_[static_cast<std::size_t>(peers_[p].grid_rank)] = static_cast<std::int32_t>(p);
    peers_[p].first_page = pages;
    pages += peers_[p].pages;
  }
  slots_ = Array<std::uint64_t>(ledger_, pages);
  filled_ = Array<std::uint64_t>(ledger_, peers_.size());
  next_page_ = Array<std::uint64_t>(ledger_, peers_.size());
}

/// The pass without the data: in which order buffers fill.
void PageSort::find_slots() {
  std::ranges::fill(filled_, std::uint64_t{0});
  std::ranges::fill(next_page_, std::uint64_t{0});
  std::uint64_t slot = 0;
  const auto note = [&](int grid_rank, std::int64_t length) {
    const auto p = static_cast<std::size_t>(peer_of_[static_cast<std::size_t>(grid_rank)]);
    std::uint64_t& filled = filled_[p];
    filled += static_cast<std::uint64_t>(length) * element_bytes_;
    for (; filled >= page_bytes_; filled -= page_bytes_)
      slots_[peers_[p].first_page + next_page_[p]++] = slot++;
  };
  walk_owners<Direction::forward>(mine_.layout(), mine_.grid_rank, theirs_.layout(), order_, note);
}

void PageSort::allocate_buffers() {
  buffers_ = Array<std::byte>(ledger_, peers_.size() * buffer_stride_);
}

void PageSort::to_pages(std::byte* part, const observe::Observer& observer) {
  if (peers_.empty()) return;
  std::ranges::fill(filled_, std::uint64_t{0});
  const std::byte* from = part;
  std::byte* page = part;
  const auto append = [&](int grid_rank, std::int64_t length) {
    const auto p = static_cast<std::size_t>(peer_of_[static_cast<std::size_t>(grid_rank)]);
    std::byte* const buffer = buffers_.data() + p * buffer_stride_;
    std::uint64_t filled = filled_[p];
    for (auto left = static_cast<std::uint64_t>(length) * element_bytes_; left > 0;) {
      const std::uint64_t bytes = std::min(left, page_bytes_ - filled);
      detail::copy_bytes(buffer + filled, from, bytes);
      from += bytes;
      left -= bytes;
      filled += bytes;
      if (filled < page_bytes_) continue;
      detail::copy_bytes(page, buffer, page_bytes_);
      page += page_bytes_;
      filled = 0;
      observer.moved(1);
    }
    filled_[p] = filled;
  };
  walk_owners<Direction::forward>(mine_.layout(), mine_.grid_rank, theirs_.layout(), order_,
                                  append);
}

void PageSort::from_pages(std::byte* part, const observe::Observer& observer) {
  if (peers_.empty()) return;
  for (std::size_t p = 0; p < peers_.size(); ++p) {
    filled_[p] = fragment_bytes(peers_[p]);
    next_page_[p] = peers_[p].pages;
  }
  std::byte* to = part + static_cast<std::uint64_t>(mine_.elements()) * element_bytes_;
  const auto take = [&](int grid_rank, std::int64_t length) {
    const auto p = static_cast<std::size_t>(peer_of_[static_cast<std::size_t>(grid_rank)]);
    std::byte* const buffer = buffers_.data() + p * buffer_stride_;
    std::uint64_t filled = filled_[p];
    for (auto left = static_cast<std::uint64_t>(length) * element_bytes_; left > 0;) {
      if (filled == 0) {
        const std::uint64_t slot = slots_[peers_[p].first_page + --next_page_[p]];
        detail::copy_bytes(buffer, part + slot * page_bytes_, page_bytes_);
        filled = page_bytes_;
        observer.moved(1);
      }
      const std::uint64_t bytes = std::min(left, filled);
      to -= bytes;
      left -= bytes;
      filled -= bytes;
      detail::copy_bytes(to, buffer + filled, bytes);
    }
    filled_[p] = filled;
  };
  walk_owners<Direction::backward>(mine_.layout(), mine_.grid_rank, theirs_.layout(), order_, take);
}

}  // namespace valet::layout
