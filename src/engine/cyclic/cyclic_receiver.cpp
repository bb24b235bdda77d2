// SPDX-License-Identifier: BSD-3-Clause
#include "engine/cyclic/cyclic_receiver.hpp"

#include "mpi/message.hpp"
#include "mpi/tags.hpp"

#include <algorithm>

namespace valet::engine {

template <class Index>
CyclicReceiver<Index>::CyclicReceiver(const ExchangeContext& context,
                                      const plan::Flows<Index>& flows,
                                      const schedule::StreamSizes& sizes, mpi::Requests& requests,
                                      std::size_t first_place)
    : context_(context),
      flows_(flows),
      sizes_(sizes),
      requests_(requests),
      first_place_(first_place),
      block_bytes_(context.blocks.block_bytes),
      cursors_(context.ledger, flows.incoming.size()),
      posted_(sizes.receive_buffers, PostedReceive{},
              LedgerAllocator<PostedReceive>(context.ledger)) {}

template <class Index>
std::byte* CyclicReceiver<Index>::buffer_of(std::size_t posted) const {
  return buffers_ + posted * sizes_.receive_blocks * block_bytes_;
}

template <class Index>
void CyclicReceiver<Index>::start(std::byte* buffers) {
  buffers_ = buffers;
  for (std::size_t f = 0; f < cursors_.size(); ++f) cursors_[f] = flows_.incoming[f].cursor;
  std::fill(posted_.begin(), posted_.end(), PostedReceive{});
  held_ = 0;
  total_ = credited_ = arrived_ = 0;
}

template <class Index>
void CyclicReceiver<Index>::begin(std::uint32_t source, std::uint64_t blocks,
                                  std::uint64_t increment) {
  flow_ = flow_from(flows_.incoming, static_cast<int>(source));
  blocks_ = blocks;
  increment_ = increment;
  total_ = (blocks - 1) / increment + 1;
  credited_ = arrived_ = 0;
}

/// A posted that is not in use and whose last credit has left; posted_.size() if there is none.
template <class Index>
std::size_t CyclicReceiver<Index>::idle_receive() const {
  for (std::size_t k = 0; k < posted_.size(); ++k)
    if (posted_[k].state == PostedReceive::State::idle &&
        requests_.idle(first_place_ + posted_.size() + k))
      return k;
  return posted_.size();
}

/// Moves blocks of a buffer to slots; true when none is left.
template <class Index>
bool CyclicReceiver<Index>::place(Transfer<Index>& transfer, std::size_t k,
                                  typename Transfer<Index>::Misplace misplace) {
  PostedReceive& posted = posted_[k];
  const std::uint64_t placed = transfer.place(buffer_of(k) + posted.offset * block_bytes_,
                                              posted.cursor, posted.size, misplace);
  posted.cursor = flows_.advance(posted.cursor, placed);
  posted.offset = static_cast<Index>(posted.offset + placed);
  posted.size = static_cast<Index>(posted.size - placed);
  if (posted.size > 0) return false;
  posted = PostedReceive{};
  --held_;
  return true;
}

/// Empties one buffer into other slots than the final ones; false when slots do not suffice.
template <class Index>
bool CyclicReceiver<Index>::misplace_one(Transfer<Index>& transfer) {
  for (std::size_t k = 0; k < posted_.size(); ++k)
    if (posted_[k].state == PostedReceive::State::held)
      return place(transfer, k, Transfer<Index>::Misplace::if_needed);
  return false;
}

template <class Index>
void CyclicReceiver<Index>::advance(Transfer<Index>& transfer, Report& report) {
  for (std::size_t k = 0; k < posted_.size() && held_ > 0; ++k)
    if (posted_[k].state == PostedReceive::State::held)
      place(transfer, k, Transfer<Index>::Misplace::never);
  while (credited_ < total_) {
    while (2 * held_ > posted_.size() && misplace_one(transfer)) {
    }
    const std::size_t k = idle_receive();
    if (k == posted_.size()) return;
    post(transfer, k);
    ++report.credits;
  }
}

/// Posts the receive, then sends the credit: no data can arrive unexpected. The credit is empty, as
/// both sides know the size of every increment.
template <class Index>
void CyclicReceiver<Index>::post(Transfer<Index>& transfer, std::size_t k) {
  PostedReceive& posted = posted_[k];
  const std::uint64_t size = std::min(increment_, blocks_ - credited_ * increment_);
  Index& cursor = cursors_[flow_];
  posted = PostedReceive{
      .state = PostedReceive::State::buffer, .cursor = cursor, .size = static_cast<Index>(size)};
  std::byte* memory = buffer_of(k);
  if (std::byte* const dense = transfer.backend().contiguous_data()) {
    const storage::SlotRun run = flows_.final_run(cursor, size);
    if (run.count == size && transfer.free().contains(run.first) &&
        transfer.free().next_run(run.first, size).count == size) {
      transfer.reserve(run);
      posted.state = PostedReceive::State::final_run;
      memory = dense + run.first * block_bytes_;
    }
  }
  cursor = flows_.advance(cursor, size);
  ++credited_;
  const int rank = flows_.incoming[flow_].rank;
  mpi::post_receive(context_.channel, memory, size * block_bytes_, rank, mpi::tag_data,
                    requests_[first_place_ + k]);
  mpi::post_send(context_.channel, nullptr, 0, rank, mpi::tag_credit,
                 requests_[first_place_ + posted_.size() + k]);
  context_.observer().credits(&requests_[first_place_ + k], rank, size * block_bytes_);
}

template <class Index>
void CyclicReceiver<Index>::completed(Transfer<Index>& transfer, std::size_t place_done) {
  const std::size_t k = place_done - first_place_;
  if (k >= posted_.size()) return;  // a credit has left
  ++arrived_;
  PostedReceive& posted = posted_[k];
  context_.observer().moved(posted.size);
  if (posted.state == PostedReceive::State::final_run) {
    posted = PostedReceive{};
    return;
  }
  posted.state = PostedReceive::State::held;
  ++held_;
  place(transfer, k, Transfer<Index>::Misplace::never);
}

template <class Index>
std::uint64_t CyclicReceiver<Index>::bytes_in_use() const {
  std::uint64_t blocks = 0;
  for (const PostedReceive& posted : posted_)
    if (posted.state == PostedReceive::State::buffer || posted.state == PostedReceive::State::held)
      blocks += posted.size;
  return blocks * block_bytes_;
}

template <class Index>
void CyclicReceiver<Index>::finish(Transfer<Index>& transfer) {
  while (held_ > 0)
    if (!misplace_one(transfer))
      throw Error(ErrorCode::internal, "blocks have arrived that no slot is free for");
}

template class CyclicReceiver<std::uint32_t>;
template class CyclicReceiver<std::uint64_t>;

}  // namespace valet::engine
