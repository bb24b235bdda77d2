// SPDX-License-Identifier: BSD-3-Clause
#include "engine/cyclic/cyclic_sender.hpp"

#include "mpi/tags.hpp"

#include <algorithm>

namespace valet::engine {

template <class Index>
CyclicSender<Index>::CyclicSender(const ExchangeContext& context, const plan::Flows<Index>& flows,
                                  const schedule::StreamSizes& sizes, mpi::Requests& requests,
                                  std::size_t first_place)
    : context_(context),
      flows_(flows),
      sizes_(sizes),
      requests_(requests),
      first_place_(first_place),
      block_bytes_(context.blocks.block_bytes),
      sent_(context.ledger, flows.outgoing.size()),
      pieces_(context.ledger) {
  if (sizes.send_buffers == 0) pieces_.reserve(context.blocks.pieces_per_block);
}

template <class Index>
std::size_t CyclicSender<Index>::places_needed(const schedule::StreamSizes& sizes) {
  return 1 + std::max<std::size_t>(1, sizes.send_buffers);
}

/// Messages that may be on their way: one where there is no buffer.
template <class Index>
std::size_t CyclicSender<Index>::buffers_count() const {
  return std::max<std::size_t>(1, sizes_.send_buffers);
}

template <class Index>
std::size_t CyclicSender<Index>::place_of(std::uint64_t message) const {
  return first_place_ + 1 + message % buffers_count();
}

template <class Index>
std::uint64_t CyclicSender<Index>::size_of(std::uint64_t message) const {
  return std::min(increment_, blocks_ - message * increment_);
}

template <class Index>
std::span<const Index> CyclicSender<Index>::slots_of(const Transfer<Index>& transfer,
                                                     std::uint64_t message) const {
  return transfer.exports(flows_.outgoing[flow_], first_ + message * increment_, size_of(message));
}

template <class Index>
std::byte* CyclicSender<Index>::buffer_of(std::uint64_t message) const {
  return buffers_ + message % buffers_count() * sizes_.send_blocks * block_bytes_;
}

template <class Index>
void CyclicSender<Index>::start(std::byte* buffers) {
  buffers_ = buffers;
  std::fill(sent_.begin(), sent_.end(), Index{0});
  total_ = staged_ = credited_ = posted_ = away_ = 0;
}

template <class Index>
void CyclicSender<Index>::begin(std::uint32_t destination, std::uint64_t blocks,
                                std::uint64_t increment) {
  flow_ = flow_from(flows_.outgoing, static_cast<int>(destination));
  first_ = sent_[flow_];
  sent_[flow_] = static_cast<Index>(first_ + blocks);
  blocks_ = blocks;
  increment_ = increment;
  total_ = (blocks - 1) / increment + 1;
  staged_ = credited_ = posted_ = away_ = 0;
  listen();
}

/// Waits for the next credit. It comes from one rank, which also waits for nobody else.
template <class Index>
void CyclicSender<Index>::listen() {
  if (credited_ == total_) return;
  mpi::post_receive(context_.channel, nullptr, 0, flows_.outgoing[flow_].rank, mpi::tag_credit,
                    requests_[first_place_]);
}

template <class Index>
void CyclicSender<Index>::stage(Transfer<Index>& transfer) {
  // A buffer is free again when the message that used it has been posted and has left.
  while (staged_ < total_ && staged_ < posted_ + buffers_count() &&
         requests_.idle(place_of(staged_))) {
    transfer.gather(slots_of(transfer, staged_), buffer_of(staged_));
    ++staged_;
  }
}

template <class Index>
void CyclicSender<Index>::advance(Transfer<Index>& transfer, Report& report) {
  const bool stages = sizes_.send_buffers > 0;
  if (stages) stage(transfer);
  while (posted_ < credited_ && (stages ? posted_ < staged_ : posted_ == away_)) {
    post(transfer, posted_++);
    ++report.messages;
  }
}

template <class Index>
void CyclicSender<Index>::post(Transfer<Index>& transfer, std::uint64_t message) {
  const int rank = flows_.outgoing[flow_].rank;
  MPI_Request& request = requests_[place_of(message)];
  context_.observer().sends(&request, rank, size_of(message) * block_bytes_);
  context_.observer().moved(size_of(message));
  if (sizes_.send_buffers > 0) {
    mpi::post_send(context_.channel, buffer_of(message), size_of(message) * block_bytes_, rank,
                   mpi::tag_data, request);
    return;
  }
  const Index slot = slots_of(transfer, message).front();
  if (const std::byte* const dense = transfer.backend().contiguous_data()) {
    mpi::post_send(context_.channel, dense + slot * block_bytes_, block_bytes_, rank, mpi::tag_data,
                   request);
    return;
  }
  pieces_.pieces.clear();
  transfer.backend().pieces(slot, pieces_.pieces);
  mpi::post_send_pieces(context_.channel, pieces_, rank, mpi::tag_data, request);
}

template <class Index>
std::uint64_t CyclicSender<Index>::bytes_in_use() const {
  std::uint64_t blocks = 0;
  for (std::uint64_t message = away_; message < staged_; ++message) blocks += size_of(message);
  return blocks * block_bytes_;
}

template <class Index>
void CyclicSender<Index>::completed(Transfer<Index>& transfer, std::size_t place) {
  if (place == first_place_) {
    ++credited_;
    listen();
    return;
  }
  if (sizes_.send_buffers == 0) transfer.release(slots_of(transfer, away_));
  ++away_;
}

template class CyclicSender<std::uint32_t>;
template class CyclicSender<std::uint64_t>;

}  // namespace valet::engine
