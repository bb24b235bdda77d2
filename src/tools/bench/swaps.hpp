// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <valet/alltoall.hpp>
#include <valet/report.hpp>

#include <cstddef>
#include <span>
#include <vector>

namespace valet::bench {

/// The ranks that a rank swaps with, in order, in BITONIC or PAIRWISE.
[[nodiscard]] std::vector<int> swap_partners(AlltoallMethod method, int rank, int ranks);

/// The bandwidth of the swaps of an all-to-all, over that of MPI_Sendrecv of as many bytes, in as
/// many calls of equal size, between the same ranks and from `from` to `to`. Both of the slowest
/// rank, waiting for partners included; the median of `repeat`. Collective over MPI_COMM_WORLD.
/// @param method  That was used.
/// @param mine    The report of this rank.
[[nodiscard]] double swap_bandwidth_ratio(AlltoallMethod method, const Report& mine,
                                          std::span<const std::byte> from, std::span<std::byte> to,
                                          int repeat);

}  // namespace valet::bench
