// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// The schedules of MADRE's experiments (S. F. Siegel, A. R. Siegel, "MADRE: The Memory-Aware Data
/// Redistribution Engine", section 4) for any number of processes, counted without data: what the
/// paper explains its times with. Pure.

#include "patterns.hpp"
#include "tools/schedules/transfer_matrix.hpp"

#include <cstdint>
#include <vector>

namespace valet::bench {

/// Blocks of each pair of `processes`, which make_map() distributes over the ranks of mpirun.
/// Rings, transposes and one_free.
/// @param slots, free  As make_map(). @throws Error invalid_argument: another pattern.
[[nodiscard]] schedule::TransferMatrix transfers_of(Pattern pattern, std::uint64_t slots,
                                                    std::uint64_t free, std::uint32_t processes);

/// Rows for the parking algorithm ("phased": first fit, parking at every phase) and the cyclic
/// scheduler with either order of edges. Each process has one block of scratch beside its free
/// slots. Keys: processes, blocks, free, method, phases (of CYCLIC the steps of its critical path),
/// messages, volume (over T), lower and upper (bounds of phases).
[[nodiscard]] std::vector<tools::Case> count_madre_schedules(Pattern pattern, std::uint64_t slots,
                                                             std::uint64_t free,
                                                             std::uint32_t processes);

}  // namespace valet::bench
