// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// A migration as Valet has listed it (Options::transfers), or any transfer matrix: who is busy.

#include "problem.hpp"
#include "tools/output.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace valet::plan {

/// What the comments of the file say of a rank.
struct RankFacts {
  std::uint64_t free_blocks = 0, bytes_sent = 0, budget_bytes = 0, peak_extra_bytes = 0;
};

/// Those of all ranks; none where Valet has not written the file.
/// @throws Error invalid_argument with file and line.
[[nodiscard]] std::vector<RankFacts> read_facts(const std::string& path, std::uint32_t ranks);

struct TransferOptions {
  std::uint64_t block_bytes = 0;  ///< where there are no facts
  std::uint64_t budget_bytes = 0;
  double latency_seconds = 0, bandwidth = 0;
};

/// The bytes of a block, in the mean of all that were sent. Not 0.
[[nodiscard]] std::uint64_t mean_block_bytes(const schedule::TransferMatrix& matrix,
                                             const std::vector<RankFacts>& facts,
                                             const TransferOptions& options);
/// Free slots of every rank, with those that its budget makes as scratch: at most as many as blocks
/// move, which is all that is of use.
[[nodiscard]] std::vector<std::uint64_t> free_of(const std::vector<RankFacts>& facts,
                                                 std::uint64_t block_bytes,
                                                 std::uint64_t moving_blocks);

/// {"block_bytes", "bytes", "busiest": {...}, "seconds", "memory": {...}}: the busiest rank is the
/// one whose messages and bytes take longest, sent and received at the same time.
[[nodiscard]] tools::Case analyse_transfers(const schedule::TransferMatrix& matrix,
                                            const std::vector<RankFacts>& facts,
                                            const TransferOptions& options);
/// Prints that, and draws the matrix: a cell is a rank, or as many as make 50 rows.
void print_transfers(const tools::Case& analysis, const schedule::TransferMatrix& matrix);

}  // namespace valet::plan
