// SPDX-License-Identifier: BSD-3-Clause

// All that this program needs of Valet to move lists of different lengths.

#include "ways.hpp"
#include <valet/ragged_storage.hpp>

namespace species {

Moved move_in_place(MPI_Comm communicator, Cells& cells, std::span<const int> ranks,
                    const valet::Options& options) {
  // The arena with the lengths of its lists, and the columns with a row for each list.
  const valet::RaggedStorage storage{
      {valet::ragged_field(std::span(cells.records), std::span(cells.lengths), "records")},
      {valet::field(cells.id), valet::field(cells.place, 2)}};

  const valet::Report report = valet::migrate(communicator, storage, cells.count, ranks, options);

  cells.count = report.blocks_after;
  return {report.bytes_sent, report.peak_extra_bytes, report.extra_bytes_bound};
}

}  // namespace species
