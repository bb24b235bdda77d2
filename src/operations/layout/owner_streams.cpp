// SPDX-License-Identifier: BSD-3-Clause
#include "operations/layout/owner_streams.hpp"

#include "geometry/intersection.hpp"
#include "geometry/owner_walk.hpp"

#include <algorithm>

namespace valet::layout {
namespace {

struct Peer {
  int rank = 0;  ///< in the communicator
  int grid_rank = 0;
  std::uint64_t elements = 0;
};

/// Counts bytes in for the progress, a page of them at a time.
class PageByPage {
 public:
  PageByPage(const observe::Observer& observer, std::size_t page_bytes)
      : observer_(observer), page_bytes_(page_bytes) {}
  PageByPage(const PageByPage&) = delete;
  PageByPage& operator=(const PageByPage&) = delete;
  ~PageByPage() { observer_.moved(bytes_); }

  void add(std::uint64_t bytes) {
    bytes_ += bytes;
    if (bytes_ < page_bytes_) return;
    observer_.moved(bytes_);
    bytes_ = 0;
  }

 private:
  const observe::Observer& observer_;
  std::size_t page_bytes_;
  std::uint64_t bytes_ = 0;
};

}  // namespace

OwnerStreams::OwnerStreams(Ledger& ledger, const GridSide& mine, const GridSide& theirs,
                           IndexOrder order, std::size_t element_bytes, std::size_t page_bytes)
    : ledger_(ledger),
      mine_(mine),
      theirs_(theirs),
      order_(order),
      element_bytes_(element_bytes),
      page_bytes_(page_bytes),
      streams_(ledger, page_bytes) {
  if (mine_.elements() == 0) return;
  list_peers();
  streams_.start_list();
  walk_owners<Direction::forward>(
      mine_.layout(), mine_.grid_rank, theirs_.layout(), order_,
      [&](int grid_rank, std::int64_t length) {
        const auto stream = stream_of_[static_cast<std::size_t>(grid_rank)];
        static_cast<void>(streams_.list(static_cast<std::size_t>(stream),
                                        static_cast<std::uint64_t>(length) * element_bytes_));
      });
}

std::uint64_t OwnerStreams::list_bytes(std::uint64_t peers, std::uint64_t pages,
                                       std::uint64_t ranks) {
  return peers * (pages::PageStreams::bytes_of_stream + sizeof(Peer)) +
         pages * sizeof(std::uint64_t) + ranks * sizeof(std::int32_t);
}

void OwnerStreams::list_peers() {
  const Intersection shared(ledger_, mine_.layout(), mine_.grid_rank, theirs_.layout());
  const int end = theirs_.layout().ranks();
  std::size_t count = 0;
  for (int g = shared.next_peer(0); g < end; g = shared.next_peer(g + 1)) ++count;
  Vector<Peer> peers(ledger_);
  peers.reserve(count);
  for (int g = shared.next_peer(0); g < end; g = shared.next_peer(g + 1))
    peers.push_back(
        {theirs_.communicator_rank(g), g, static_cast<std::uint64_t>(shared.elements(g))});
  std::ranges::sort(peers, {}, &Peer::rank);
  streams_.reserve(count);
  stream_of_ = Array<std::int32_t>(ledger_, static_cast<std::size_t>(end));
  for (std::size_t p = 0; p < count; ++p) {
    stream_of_[static_cast<std::size_t>(peers[p].grid_rank)] = static_cast<std::int32_t>(p);
    streams_.add(peers[p].rank, peers[p].elements * element_bytes_, 0);
  }
}

void OwnerStreams::allocate_buffers() {
  buffers_ = Array<std::byte>(ledger_, static_cast<std::size_t>(streams_.fragment_bytes()));
  streams_.provide(buffers_);
}

void OwnerStreams::into_pages(std::byte* part, const observe::Observer& observer) {
  if (segments().empty()) return;
  PageByPage progress(observer, page_bytes_);
  streams_.start(part, buffers_);
  const auto append = [&](int grid_rank, std::int64_t length) {
    const std::uint64_t bytes = static_cast<std::uint64_t>(length) * element_bytes_;
    streams_.append(static_cast<std::size_t>(stream_of_[static_cast<std::size_t>(grid_rank)]),
                    bytes);
    progress.add(bytes);
  };
  walk_owners<Direction::forward>(mine_.layout(), mine_.grid_rank, theirs_.layout(), order_,
                                  append);
}

void OwnerStreams::from_pages(std::byte* part, const observe::Observer& observer) {
  if (segments().empty()) return;
  PageByPage progress(observer, page_bytes_);
  streams_.start_back(part, static_cast<std::uint64_t>(mine_.elements()) * element_bytes_);
  const auto take = [&](int grid_rank, std::int64_t length) {
    const std::uint64_t bytes = static_cast<std::uint64_t>(length) * element_bytes_;
    streams_.take(static_cast<std::size_t>(stream_of_[static_cast<std::size_t>(grid_rank)]), bytes);
    progress.add(bytes);
  };
  walk_owners<Direction::backward>(mine_.layout(), mine_.grid_rank, theirs_.layout(), order_, take);
}

}  // namespace valet::layout
