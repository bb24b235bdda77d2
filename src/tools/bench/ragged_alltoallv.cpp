// SPDX-License-Identifier: BSD-3-Clause
#include "measure.hpp"
#include "ragged_blocks.hpp"
#include <valet/error.hpp>
#include <valet/mpi.hpp>

#include <cstring>
#include <limits>
#include <optional>
#include <utility>

namespace valet::bench {

void RaggedAlltoallv::require_countable(std::uint64_t arena_bytes) {
  if (arena_bytes > static_cast<std::uint64_t>(std::numeric_limits<int>::max()))
    throw Error(ErrorCode::invalid_argument,
                "--bytes is " + std::to_string(arena_bytes) +
                    ", but the MPI_Alltoallv to compare with counts bytes with int; give less "
                    "than 2G");
}

RaggedAlltoallv::Buffers RaggedAlltoallv::make_buffers() const {
  const std::size_t count = blocks_.lengths().size();
  return {allocate(blocks_.arena_bytes()), allocate(blocks_.arena_bytes()),
          std::make_unique_for_overwrite<std::uint64_t[]>(count),
          std::make_unique_for_overwrite<std::uint64_t[]>(count)};
}

Outcome RaggedAlltoallv::run_warm() {
  if (warm_.packed == nullptr) {
    warm_ = make_buffers();
    exchange(warm_);  // touches every page
  }
  std::uint64_t count = 0;
  const double seconds = slowest_seconds([&] { count = exchange(warm_); });
  return {seconds, verified(warm_, count)};
}

Outcome RaggedAlltoallv::run_cold() const {
  std::optional<Buffers> buffers;
  std::uint64_t count = 0;
  const double seconds = slowest_seconds([&] {
    buffers = make_buffers();
    count = exchange(*buffers);
  });
  const bool good = verified(*buffers, count);
  return {seconds + slowest_seconds([&] { buffers.reset(); }), good};
}

std::uint64_t RaggedAlltoallv::exchange(const Buffers& buffers) const {
  const auto ranks = static_cast<std::size_t>(world_size());
  const std::vector<std::uint64_t>& lengths = blocks_.lengths();
  std::vector<int> block_counts(ranks, 0), byte_counts(ranks, 0);
  for (std::size_t k = 0; k < lengths.size(); ++k) {
    const auto to = static_cast<std::size_t>(blocks_.ranks()[k]);
    ++block_counts[to];
    byte_counts[to] += static_cast<int>(blocks_.padded(lengths[k]));
  }
  const Counts blocks(std::move(block_counts)), bytes(std::move(byte_counts));
  std::vector<int> next_block = blocks.begins, next_byte = bytes.begins;
  const std::byte* block = arena_;
  for (std::size_t k = 0; k < lengths.size(); ++k) {
    const auto to = static_cast<std::size_t>(blocks_.ranks()[k]);
    const std::uint64_t padded = blocks_.padded(lengths[k]);
    std::memcpy(buffers.packed.get() + next_byte[to], block, padded);
    buffers.packed_lengths[static_cast<std::size_t>(next_block[to]++)] = lengths[k];
    next_byte[to] += static_cast<int>(padded);
    block += padded;
  }
  const Counts blocks_in = arriving(blocks), bytes_in = arriving(bytes);
  alltoallv(buffers.packed_lengths.get(), blocks, buffers.received_lengths.get(), blocks_in,
            MPI_UINT64_T);
  alltoallv(buffers.packed.get(), bytes, buffers.received.get(), bytes_in, MPI_BYTE);
  return blocks_in.all();
}

bool RaggedAlltoallv::verified(const Buffers& buffers, std::uint64_t count) const {
  return on_all_ranks(blocks_.arrived(buffers.received.get(), buffers.received_lengths.get(), count,
                                      RaggedBlocks::Sources::by_rank));
}

}  // namespace valet::bench
