// SPDX-License-Identifier: BSD-3-Clause
#include "operations/alltoall/swap_methods.hpp"

#include <algorithm>

namespace valet::operations {
namespace {

/// The lower rank keeps the lowest slots of both.
void split(SwapSequence& sequence, int partner, std::uint64_t slots) {
  if (!sequence.meet(partner)) return;
  const bool is_low = sequence.rank() < partner;
  const std::uint64_t count = is_low
                                  ? lowest_in_second(sequence.chunks(), sequence.theirs(), slots)
                                  : lowest_in_second(sequence.theirs(), sequence.chunks(), slots);
  const SlotRange highest{slots - count, count};
  const SlotRange lowest{0, count};
  sequence.swap(partner, is_low ? highest : lowest, is_low ? lowest : highest);
}

std::uint64_t slots_below(std::span<const Chunk> chunks, int destination) {
  const auto stop = std::ranges::find_if(
      chunks, [&](const Chunk& chunk) { return chunk.destination >= destination; });
  return slots_of({chunks.begin(), stop});
}

/// The slots that `low` gives to `high` for `count` it wants: those for `high` and what follows, or
/// if these are too few, the last ones.
SlotRange given_slots(std::span<const Chunk> chunks_of_low, int low, int high,
                      std::uint64_t count) {
  const std::uint64_t own = slots_below(chunks_of_low, low + 1);
  const std::uint64_t last = slots_of(chunks_of_low) - count;
  return {std::max(own, std::min(slots_below(chunks_of_low, high), last)), count};
}

}  // namespace

int bitonic_phases(int ranks) {
  int phases = 0;
  while (phases < 31 && (std::int64_t{1} << phases) < ranks) ++phases;
  return phases;
}

int bitonic_partner(int rank, int phase, int step) {
  if (step == 0) return static_cast<int>(static_cast<unsigned>(rank) ^ ((1U << phase) - 1));
  return static_cast<int>(static_cast<unsigned>(rank) ^ (1U << (phase - 1 - step)));
}

std::uint64_t most_bitonic_chunks(int ranks) {
  const auto p = static_cast<std::uint64_t>(ranks);
  const auto phases = static_cast<std::uint64_t>(bitonic_phases(ranks));
  const std::uint64_t swaps = p * phases / 2;  // of a phase: each rank in at most one a step
  return 4 * p + p + 2 * swaps + 4;
}

void number_chunks(Chunks& chunks, int rank, int phase, std::uint64_t slots) {
  const int half = 1 << (phase - 1);
  const std::int32_t side = rank / half % 2;
  std::uint64_t place = static_cast<std::uint64_t>(rank % half) * slots;
  std::size_t kept = 0;
  for (Chunk chunk : chunks) {
    if (!is_free(chunk)) {
      chunk.origin = side;
      chunk.first = place;
    }
    place += chunk.count;
    if (kept > 0 && chunks[kept - 1].destination == chunk.destination &&
        chunks[kept - 1].origin == chunk.origin)
      chunks[kept - 1].count += chunk.count;
    else
      chunks[kept++] = chunk;
  }
  chunks.resize(kept);
}

void sort_bitonic(SwapSequence& sequence, std::uint64_t slots) {
  for (int phase = 1; phase <= bitonic_phases(sequence.ranks()); ++phase) {
    number_chunks(sequence.chunks(), sequence.rank(), phase, slots);
    for (int step = 0; step < phase; ++step) {
      const int partner = bitonic_partner(sequence.rank(), phase, step);
      if (partner < sequence.ranks()) split(sequence, partner, slots);
    }
  }
}

void exchange_pairwise(SwapSequence& sequence) {
  const int self = sequence.rank();
  for (int partner = 0; partner < sequence.ranks(); ++partner) {
    if (partner == self || !sequence.meet(partner)) continue;
    const bool is_low = self < partner;
    const std::span<const Chunk> mine(sequence.chunks());
    const std::span<const Chunk> low = is_low ? mine : sequence.theirs();
    const std::span<const Chunk> high = is_low ? sequence.theirs() : mine;
    const int low_rank = std::min(self, partner);
    const SlotRange wanted{0, slots_below(high, low_rank + 1)};
    const SlotRange given = given_slots(low, low_rank, std::max(self, partner), wanted.count);
    sequence.swap(partner, is_low ? given : wanted, is_low ? wanted : given);
  }
}

}  // namespace valet::operations
