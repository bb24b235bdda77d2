// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// What is wrong with the arguments of an all-to-all. Pure.

#include <valet/alltoall.hpp>
#include <valet/error.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace valet::operations {

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
