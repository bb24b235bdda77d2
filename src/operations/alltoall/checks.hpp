// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// The arguments of an all-to-all, and what is wrong with them. Pure.

#include <valet/alltoall.hpp>
#include <valet/error.hpp>

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>

namespace valet::operations {

/// The sum of counts.
[[nodiscard]] inline std::uint64_t sum(std::span<const std::uint64_t> counts) {
  return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

/// What this rank alone can find wrong with its buffer.
[[nodiscard]] std::optional<Diagnostic> check_buffer(const AlltoallBuffer& buffer);

/// What this rank alone can find wrong with its call among so many ranks.
[[nodiscard]] std::optional<Diagnostic> check_alltoall(const AlltoallBuffer& buffer,
                                                       std::span<const std::int64_t> send_counts,
                                                       std::size_t ranks);

/// What it finds once it knows what the others send.
/// @param recv_counts  As the caller gave them, or none.
[[nodiscard]] std::optional<Diagnostic> check_received(std::span<const std::uint64_t> received,
                                                       std::span<const std::int64_t> recv_counts,
                                                       const AlltoallBuffer& buffer, int rank);

}  // namespace valet::operations
