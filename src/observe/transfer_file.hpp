// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "mpi/channel.hpp"
#include <valet/export.hpp>
#include <valet/report.hpp>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>

namespace valet::observe {

/// What the file says of this rank.
struct TransferRow {
  std::uint64_t free_blocks = 0;  ///< room for so many more before anything moves
  std::uint64_t bytes_sent = 0;
  std::uint64_t budget_bytes = 0;
  std::uint64_t peak_extra_bytes = 0;
};

/// Where free slots are not counted: the room for what a rank gets more than it sends.
[[nodiscard]] inline TransferRow row_of(const Report& report) {
  const std::uint64_t least = std::min(report.blocks_received, report.blocks_sent);
  return {report.blocks_received - least, report.bytes_sent, report.budget_bytes};
}

/// put(destination, blocks)
using PutTransfer = std::function<void(int, std::uint64_t)>;

/// Writes the matrix of transfers, blocks from row to column, in the Matrix Market format, with a
/// comment for each rank. Rank 0 writes what the others send it in chunks of whole lines, as they
/// come: 4 KiB of memory on the stack of each rank, whatever their number. Collective; when rank 0
/// comes back the file is complete. Never fails: a file that cannot be written is a warning of rank
/// 0, and what was there then stays.
/// @param path      Where the file is; that of rank 0 counts.
/// @param method    Rank 0's.
/// @param for_each  Calls a PutTransfer for each destination of this rank, twice alike.
VALET_EXPORT void write_transfers(const mpi::Channel& channel, const std::string& path,
                                  const std::string& method, const TransferRow& row,
                                  const std::function<void(const PutTransfer&)>& for_each);

}  // namespace valet::observe
