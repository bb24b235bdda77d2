// SPDX-License-Identifier: BSD-3-Clause
#include <valet/exchange/cyclic_receiver.hpp>
#include <valet/mpi/message.hpp>
#include <valet/mpi/tags.hpp>

#include <algorithm>

namespace valet {

template <class Index>
CyclicReceiver<Index>::CyclicReceiver(const ExchangeContext& context, const Flows<Index>& flows,
                                      const schedule::StreamSizes& sizes, mpi::Requests& requests,
                                      std::size_t first_place)
    : context_(context),
      flows_(flows),
      sizes_(sizes),
      requests_(requests),
      first_place_(first_place),
      block_bytes_(context.blocks.block_bytes),
      cursors_(context.ledger, flows.incoming.size()),
      landings_(sizes.receive_buffers, Landing{}, LedgerAllocator<Landing>(context.ledger)) {}

template <class Index>
std::byte* CyclicReceiver<Index>::buffer_of(std::size_t landing) const {
  return buffers_ + landing * sizes_.receive_blocks * block_bytes_;
}

template <class Index>
void CyclicReceiver<Index>::start(std::byte* buffers) {
  buffers_ = buffers;
  for (std::size_t f = 0; f < cursors_.size(); ++f) cursors_[f] = flows_.incoming[f].cursor;
  std::fill(landings_.begin(), landings_.end(), Landing{});
  held_ = 0;
  total_ = granted_ = arrived_ = 0;
}

template <class Index>
void CyclicReceiver<Index>::begin(std::uint32_t source, std::uint64_t blocks,
                                  std::uint64_t increment) {
  flow_ = flow_from(flows_.incoming, static_cast<int>(source));
  blocks_ = blocks;
  increment_ = increment;
  total_ = (blocks - 1) / increment + 1;
  granted_ = arrived_ = 0;
}

/// A landing that is not in use and whose last grant has left; landings_.size() if there is none.
template <class Index>
std::size_t CyclicReceiver<Index>::idle_landing() const {
  for (std::size_t k = 0; k < landings_.size(); ++k)
    if (landings_[k].state == Landing::State::idle &&
        requests_.idle(first_place_ + landings_.size() + k))
      return k;
  return landings_.size();
}

/// Moves blocks of a buffer to slots; true when none is left.
template <class Index>
bool CyclicReceiver<Index>::place(Transfer<Index>& transfer, std::size_t k,
                                  typename Transfer<Index>::Misplace misplace) {
  Landing& landing = landings_[k];
  const std::uint64_t placed = transfer.place(buffer_of(k) + landing.offset * block_bytes_,
                                              landing.cursor, landing.size, misplace);
  landing.cursor = flows_.advance(landing.cursor, placed);
  landing.offset = static_cast<Index>(landing.offset + placed);
  landing.size = static_cast<Index>(landing.size - placed);
  if (landing.size > 0) return false;
  landing = Landing{};
  --held_;
  return true;
}

/// Empties one buffer into other slots than the final ones; false when slots do not suffice.
template <class Index>
bool CyclicReceiver<Index>::misplace_one(Transfer<Index>& transfer) {
  for (std::size_t k = 0; k < landings_.size(); ++k)
    if (landings_[k].state == Landing::State::held)
      return place(transfer, k, Transfer<Index>::Misplace::if_needed);
  return false;
}

template <class Index>
void CyclicReceiver<Index>::advance(Transfer<Index>& transfer, Report& report) {
  for (std::size_t k = 0; k < landings_.size() && held_ > 0; ++k)
    if (landings_[k].state == Landing::State::held)
      place(transfer, k, Transfer<Index>::Misplace::never);
  while (granted_ < total_) {
    while (2 * held_ > landings_.size() && misplace_one(transfer)) {
    }
    const std::size_t k = idle_landing();
    if (k == landings_.size()) return;
    post(transfer, k);
    ++report.grants;
  }
}

/// Posts the receive, then sends the grant: no data can arrive unexpected. The grant is empty, as
/// both sides know the size of every increment.
template <class Index>
void CyclicReceiver<Index>::post(Transfer<Index>& transfer, std::size_t k) {
  Landing& landing = landings_[k];
  const std::uint64_t size = std::min(increment_, blocks_ - granted_ * increment_);
  Index& cursor = cursors_[flow_];
  landing =
      Landing{.state = Landing::State::buffer, .cursor = cursor, .size = static_cast<Index>(size)};
  std::byte* memory = buffer_of(k);
  if (std::byte* const dense = transfer.mover().dense()) {
    const SlotRun run = flows_.final_run(cursor, size);
    if (run.count == size && transfer.free().contains(run.first) &&
        transfer.free().next_run(run.first, size).count == size) {
      transfer.reserve(run);
      landing.state = Landing::State::final_run;
      memory = dense + run.first * block_bytes_;
    }
  }
  cursor = flows_.advance(cursor, size);
  ++granted_;
  const int rank = flows_.incoming[flow_].rank;
  mpi::post_receive(context_.channel, memory, size * block_bytes_, rank, mpi::tag_data,
                    requests_[first_place_ + k]);
  mpi::post_send(context_.channel, nullptr, 0, rank, mpi::tag_grant,
                 requests_[first_place_ + landings_.size() + k]);
  context_.observer().grants(&requests_[first_place_ + k], rank, size * block_bytes_);
}

template <class Index>
void CyclicReceiver<Index>::completed(Transfer<Index>& transfer, std::size_t place_done) {
  const std::size_t k = place_done - first_place_;
  if (k >= landings_.size()) return;  // a grant has left
  ++arrived_;
  Landing& landing = landings_[k];
  context_.observer().moved(landing.size);
  if (landing.state == Landing::State::final_run) {
    landing = Landing{};
    return;
  }
  landing.state = Landing::State::held;
  ++held_;
  place(transfer, k, Transfer<Index>::Misplace::never);
}

template <class Index>
std::uint64_t CyclicReceiver<Index>::bytes_in_use() const {
  std::uint64_t blocks = 0;
  for (const Landing& landing : landings_)
    if (landing.state == Landing::State::buffer || landing.state == Landing::State::held)
      blocks += landing.size;
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

}  // namespace valet
