// SPDX-License-Identifier: BSD-3-Clause
#include "device_peers.hpp"

#include "measure.hpp"
#include "mpi/check.hpp"

#include <algorithm>
#include <numeric>
#include <span>
#include <string>
#include <type_traits>

namespace valet::bench {
namespace {

/// What kernels pack into: a second buffer only where they do not use the host's memory anyway.
DeviceWords device_part_of(const StagedWords& staged) {
  if constexpr (std::is_same_v<HostStaging, DeviceMemory>)
    return staged;
  else
    return DeviceWords("valet_bench::packed", staged.extent(0));
}

StagedWords staged_words(std::uint64_t words) { return StagedWords("valet_bench::staged", words); }

template <class To, class From>
void copy(const Space& space, const To& to, const From& from, std::uint64_t words) {
  if constexpr (!std::is_same_v<HostStaging, DeviceMemory>) {
    const auto part = Kokkos::make_pair(std::uint64_t{0}, words);
    Kokkos::deep_copy(space, Kokkos::subview(to, part), Kokkos::subview(from, part));
  } else {
    static_cast<void>(space), static_cast<void>(to), static_cast<void>(from);
    static_cast<void>(words);
  }
}

SlotList on_device(const std::vector<std::uint32_t>& slots) {
  using HostSlots = Kokkos::View<const std::uint32_t*, Kokkos::HostSpace,
                                 Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  SlotList list(Kokkos::view_alloc(Kokkos::WithoutInitializing, "valet_bench::slots"),
                slots.size());
  Kokkos::deep_copy(list, HostSlots(slots.data(), slots.size()));
  return list;
}

/// Two queues of the device, so that what leaves and what arrives do not wait for each other.
std::array<Space, 2> two_queues() {
#if KOKKOS_VERSION >= 40000
  if constexpr (!Kokkos::SpaceAccessibility<Kokkos::HostSpace, DeviceMemory>::accessible) {
    const auto queues = Kokkos::Experimental::partition_space(Space(), 1, 1);
    return {queues[0], queues[1]};
  }
#endif
  return {Space(), Space()};
}

std::uint64_t sum(const std::vector<std::uint64_t>& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

}  // namespace

Shipment::Shipment(const std::vector<int>& destinations)
    : send_counts(static_cast<std::size_t>(world_size()), 0), receive_counts(send_counts) {
  const auto self = static_cast<std::size_t>(world_rank());
  for (const int rank : destinations) ++send_counts[static_cast<std::size_t>(rank)];
  std::vector<std::uint32_t> stays(send_counts[self]);
  send_counts[self] = 0;
  std::vector<std::uint64_t> next(send_counts.size(), 0);
  std::partial_sum(send_counts.begin(), send_counts.end() - 1, next.begin() + 1);
  std::vector<std::uint32_t> leaves(sum(send_counts));
  std::size_t kept = 0;
  for (std::size_t slot = 0; slot < destinations.size(); ++slot) {
    const auto rank = static_cast<std::size_t>(destinations[slot]);
    (rank == self ? stays[kept++] : leaves[next[rank]++]) = static_cast<std::uint32_t>(slot);
  }
  leaving = on_device(leaves);
  staying = on_device(stays);
  const std::uint64_t* const sends = send_counts.data();
  std::uint64_t* const receives = receive_counts.data();
  MPI_Alltoall(sends, 1, MPI_UINT64_T, receives, 1, MPI_UINT64_T, MPI_COMM_WORLD);
}

StagedPipeline::StagedPipeline(BlockKind kind, std::uint64_t staging_bytes)
    : block_words_(words_of(kind)),
      chunk_blocks_(std::max<std::uint64_t>(
          staging_bytes / (2 * chunks_a_way) / (block_words_ * sizeof(Word)), 1)),
      block_(block_words_ * sizeof(Word)) {
  for (Buffer* const buffer : {out_.data(), &out_[1], in_.data(), &in_[1]}) {
    buffer->staged = staged_words(chunk_blocks_ * block_words_);
    buffer->on_device = device_part_of(buffer->staged);
  }
  const auto queues = two_queues();
  outward_ = queues[0];
  inward_ = queues[1];
}

/// In the order of the distance between the ranks, so that no rank is everyone's first.
std::vector<StagedPipeline::Chunk> StagedPipeline::chunks(const std::vector<std::uint64_t>& counts,
                                                          Way way, std::uint64_t first_slot) const {
  const std::size_t ranks = counts.size();
  const auto self = static_cast<std::size_t>(world_rank());
  std::vector<std::uint64_t> first(ranks, first_slot);
  for (std::size_t r = 1; r < ranks; ++r) first[r] = first[r - 1] + counts[r - 1];
  std::vector<Chunk> chunks;
  for (std::size_t distance = 1; distance < ranks; ++distance) {
    const std::size_t rank = (self + (way == Way::out ? distance : ranks - distance)) % ranks;
    for (std::uint64_t done = 0; done < counts[rank]; done += chunk_blocks_)
      chunks.push_back({static_cast<int>(rank), first[rank] + done,
                        std::min(chunk_blocks_, counts[rank] - done)});
  }
  return chunks;
}

void StagedPipeline::start_send(const BlockArrays& from, const Shipment& shipment,
                                const Chunk& chunk, Buffer& buffer, MPI_Request& request) {
  gather(outward_, from, shipment.leaving, chunk.first, chunk.blocks, buffer.on_device.data());
  copy(outward_, buffer.staged, buffer.on_device, chunk.blocks * block_words_);
  outward_.fence();
  MPI_Isend(buffer.staged.data(), mpi::checked_count(chunk.blocks), block_.get(), chunk.rank, 0,
            MPI_COMM_WORLD, &request);
}

void StagedPipeline::start_receive(const Chunk& chunk, Buffer& buffer, MPI_Request& request) {
  MPI_Irecv(buffer.staged.data(), mpi::checked_count(chunk.blocks), block_.get(), chunk.rank, 0,
            MPI_COMM_WORLD, &request);
}

void StagedPipeline::take_in(const Chunk& chunk, const Buffer& buffer, const BlockArrays& to) {
  copy(inward_, buffer.on_device, buffer.staged, chunk.blocks * block_words_);
  scatter(inward_, buffer.on_device.data(), chunk.blocks, to, chunk.first);
}

void StagedPipeline::run(const BlockArrays& from, const Shipment& shipment, const BlockArrays& to) {
  const auto sends = chunks(shipment.send_counts, Way::out, 0);
  const auto receives = chunks(shipment.receive_counts, Way::in, shipment.staying.extent(0));
  std::array<MPI_Request, chunks_a_way + 1> requests;
  requests.fill(MPI_REQUEST_NULL);
  constexpr std::size_t receive = chunks_a_way;  // the others are the buffers that are being sent
  std::size_t sent = 0, received = 0;
  if (!receives.empty()) start_receive(receives[0], in_[0], requests[receive]);
  keep(inward_, from, shipment.staying, to);
  for (;;) {
    for (std::size_t b = 0; b < out_.size(); ++b)
      if (requests[b] == MPI_REQUEST_NULL && sent < sends.size())
        start_send(from, shipment, sends[sent++], out_[b], requests[b]);
    int which = MPI_UNDEFINED;
    MPI_Waitany(static_cast<int>(requests.size()), requests.data(), &which, MPI_STATUS_IGNORE);
    if (which == MPI_UNDEFINED) break;
    if (which != static_cast<int>(receive)) continue;
    // The other buffer is free once its chunk is in the array; then it receives the next chunk
    // while this one is on its way there.
    inward_.fence();
    const std::size_t arrived = received++;
    if (received < receives.size())
      start_receive(receives[received], in_[received % chunks_a_way], requests[receive]);
    take_in(receives[arrived], in_[arrived % chunks_a_way], to);
  }
  inward_.fence();
}

FullBuffers::FullBuffers(BlockKind kind, const Shipment& shipment)
    : block_words_(words_of(kind)),
      sent_(staged_words(shipment.leaving.extent(0) * block_words_)),
      received_(staged_words(sum(shipment.receive_counts) * block_words_)),
      packed_(device_part_of(sent_)),
      arrived_(device_part_of(received_)),
      block_(block_words_ * sizeof(Word)) {}

void FullBuffers::run(const BlockArrays& from, const Shipment& shipment, const BlockArrays& to) {
  const Space space;
  gather(space, from, shipment.leaving, 0, shipment.leaving.extent(0), packed_.data());
  copy(space, sent_, packed_, sent_.extent(0));
  space.fence();
  keep(space, from, shipment.staying, to);
  alltoallv(sent_.data(), Counts(shipment.send_counts), received_.data(),
            Counts(shipment.receive_counts), block_.get());
  copy(space, arrived_, received_, received_.extent(0));
  scatter(space, arrived_.data(), sum(shipment.receive_counts), to, shipment.staying.extent(0));
  space.fence();
}

}  // namespace valet::bench
