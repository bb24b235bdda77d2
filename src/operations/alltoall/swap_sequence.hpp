// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// The means of Zhuang, Nakashima, Nagamochi 3.1: two ranks swap equally many slots of their sorted
/// sequences, then each merges what it got with what it kept.
///
/// A slot that is free takes no memory and none of the network's time, so the numbers of elements
/// that change sides may differ. Elements go in messages of a fixed size, at most two in flight in
/// each direction: each is copied to a buffer first, so that the one that comes is received where
/// it was. The copy goes past the cache (detail::stream_bytes): on 2 ranks swaps of 64 MiB reached
/// 0.7 to 0.9 of MPI_Sendrecv's bandwidth that way, through the cache 1.05 or 0.5, depending on
/// whether the cores share one. A message says that the receive for the next one is posted; none
/// is ever unexpected.

#include "mpi/channel.hpp"
#include "mpi/requests.hpp"
#include "operations/alltoall/chunks.hpp"
#include <valet/report.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace valet::observe {
class Trace;
}

namespace valet::operations {

/// Memory that a sequence may use for tables, and the table beyond which it gives up.
struct ChunkLimits {
  std::uint64_t bytes = 0;
  std::uint64_t most_chunks = 0;
};

/// The elements of one rank, and scratch to move them with.
struct SwapMemory {
  std::span<std::byte> data;
  std::size_t element_bytes = 1;
  std::span<std::byte> scratch;
  std::uint64_t message_elements = 1;  ///< the same on all ranks; scratch holds two messages
};

/// The part of the distributed sequence that one rank holds. Without memory only the table
/// changes: that is how a method is tried on the counts. After an Error it must not be destroyed:
/// MPI may still write to it.
class SwapSequence {
 public:
  SwapSequence(const mpi::Channel& channel, Ledger& ledger, ChunkLimits limits,
               std::uint64_t swap_cost);

  /// The table to start from, of `size` chunks that each(append) names; gives up where it cannot be
  /// held.
  template <class Each>
  void start(std::uint64_t size, Each&& each) {
    if (size > limits_.most_chunks || 2 * size * sizeof(Chunk) > limits_.bytes) return give_up();
    chunks_.reserve(size);
    each([&](const Chunk& chunk) { append(chunks_, chunk); });
    note_sizes();
  }
  void attach(const SwapMemory& memory) { memory_ = memory; }

  [[nodiscard]] int rank() const { return channel_.rank(); }
  [[nodiscard]] int ranks() const { return channel_.size(); }
  [[nodiscard]] Chunks& chunks() { return chunks_; }
  /// The partner's table, after meet().
  [[nodiscard]] std::span<const Chunk> theirs() const { return theirs_; }
  /// What has happened to it, or would have; its blocks are elements.
  [[nodiscard]] const Report& report() const { return report_; }
  /// Elements swapped one after the other until here, on all ranks, the costs of a swap included.
  [[nodiscard]] std::uint64_t volume() const { return volume_; }
  /// Elements held at once.
  [[nodiscard]] std::uint64_t most_elements() const { return most_elements_; }
  /// A table got too large, here or on a rank that was met.
  [[nodiscard]] bool gave_up() const { return gave_up_; }

  /// Exchanges tables with a rank that does the same. False when either gave up.
  [[nodiscard]] bool meet(int partner);
  /// Gives the partner just met the slots `mine` for its slots `theirs`, which are as many.
  void swap(int partner, SlotRange mine, SlotRange theirs);

 private:
  /// What ranks send each other when they meet.
  struct Meeting {
    std::uint64_t chunks = 0;  ///< in the table
    std::uint64_t room = 0;    ///< for chunks of the partner
    std::uint64_t volume = 0;  ///< as volume()
    std::uint64_t gave_up = 0;
  };
  /// Elements that change sides: those from `begin` on, of `held`.
  struct Transfer {
    std::uint64_t begin = 0, sent = 0, received = 0, held = 0;
    [[nodiscard]] std::uint64_t both() const { return sent < received ? sent : received; }
  };
  /// Elements of one message in either direction.
  struct Part {
    std::uint64_t offset = 0, count = 0;
    bool paired = true;
  };

  void give_up();
  void note_sizes();
  void exchange(int partner, int tag, std::span<const std::byte> mine, std::span<std::byte> theirs);
  void exchange_meetings(int partner);
  [[nodiscard]] std::uint64_t parts(const Transfer& transfer) const;
  [[nodiscard]] Part part(const Transfer& transfer, std::uint64_t k) const;
  void make_ready(int partner, const Transfer& transfer, std::uint64_t k);
  void send_part(int partner, const Transfer& transfer, std::uint64_t k);
  void exchange_elements(int partner, const Transfer& transfer);
  template <class Each>
  void for_each_run(const Transfer& transfer, Each&& each) const;
  void merge_elements(const Transfer& transfer);
  void merge_tables();
  void note_in_use(std::uint64_t elements) const;
  [[nodiscard]] observe::Trace* trace() const;
  [[nodiscard]] std::byte* element(std::uint64_t k) const {
    return memory_.data.data() + k * memory_.element_bytes;
  }
  [[nodiscard]] std::byte* staging(std::uint64_t k) const {
    return memory_.scratch.data() + k % 2 * memory_.message_elements * memory_.element_bytes;
  }
  [[nodiscard]] bool moves() const { return !memory_.scratch.empty(); }

  const mpi::Channel& channel_;
  Ledger& ledger_;
  ChunkLimits limits_;
  std::uint64_t swap_cost_;  ///< elements whose transfer takes as long as a message does anyway
  Chunks chunks_, theirs_;
  mpi::Requests requests_;
  Meeting my_meeting_, their_meeting_;
  SwapMemory memory_;
  Report report_;
  std::uint64_t volume_ = 0, most_elements_ = 0;
  bool gave_up_ = false;
};

}  // namespace valet::operations
