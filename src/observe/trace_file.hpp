// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "mpi/channel.hpp"
#include "observe/trace.hpp"
#include <valet/export.hpp>

#include <cstdint>
#include <string>

namespace valet::observe {

/// What the file says of the migration as a whole.
struct TraceCaption {
  std::string method;              ///< needs no escapes in JSON
  std::uint64_t block_bytes = 0;   ///< rank 0's
  std::uint64_t budget_bytes = 0;  ///< this rank's; its label in the picture
};

/// The traces of all ranks, on their way into one file.
///
/// Used by a migration like this: made on every rank when it begins; aligned once all ranks are
/// known to have one; written when it has ended. `trace()` records all the while.
class VALET_EXPORT TraceFile {
 public:
  /// Local. @param path  Where the file is; the path of rank 0 counts.
  TraceFile(Ledger& ledger, int rank, std::string path)
      : trace_(ledger, rank), path_(std::move(path)) {}

  [[nodiscard]] Trace& trace() { return trace_; }

  /// Finds out how this rank's clock differs from that of rank 0, at a barrier. Collective.
  void align(const mpi::Channel& channel);

  /// Writes the file and forgets the entries. Ranks that see the file of rank 0 on the same machine
  /// write their events themselves, all at the same time, each to a part of its own; those of the
  /// others rank 0 writes behind them as they come, in chunks of 2 KiB. Collective; when rank 0
  /// comes back the file is complete. Never fails: entries that were lost are a warning of rank 0,
  /// and so is a file that cannot be written; what was there then stays.
  void write(const mpi::Channel& channel, const TraceCaption& caption);

 private:
  bool open(const mpi::Channel& channel, File& output, bool& writes_itself) const;
  void write_events(const mpi::Channel& channel, const TraceCaption& caption, File& output,
                    bool writes_itself);
  void write_own(File& output, std::uint64_t bytes);
  void write_others(const mpi::Channel& channel, File& output, bool writes_itself,
                    std::uint64_t texts);

  Trace trace_;
  std::string path_;
  double ahead_seconds_ = 0;  ///< this rank's clock less that of rank 0
};

}  // namespace valet::observe
