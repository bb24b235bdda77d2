// SPDX-License-Identifier: BSD-3-Clause
#include "report.hpp"

#include "handle/messages.hpp"
#include "mpi/agreement.hpp"
#include "mpi/family.hpp"
#include <valet/configuration.hpp>
#include <valet/version.hpp>

#include <nlohmann/json.hpp>

#include <array>
#include <cstdint>

namespace valet::zoltan {
void append_report(const mpi::Channel& channel, const std::string& path,
                   const Valet_Migration_Report& report) {
  std::array sums{report.objects_exported, report.objects_imported, report.bytes_exported,
                  report.bytes_imported,   report.objects_packed,   report.objects_sent,
                  report.objects_unpacked, report.messages,         report.batches,
                  report.objects_parked};
  std::array largest{report.budget_bytes, report.budget_raised_bytes, report.peak_extra_bytes,
                     report.extra_bytes_bound, report.steps};
  std::array seconds{report.seconds, report.list_seconds, report.move_seconds,
                     report.unpack_seconds};
  mpi::sum(channel, sums);
  mpi::maximum(channel, std::span<std::uint64_t>(largest));
  mpi::maximum(channel, std::span<double>(seconds));
  if (channel.rank() != 0 || path.empty()) return;
  const nlohmann::ordered_json line = {{"method", report.method},
                                       {"callbacks", report.callbacks},
                                       {"code", report.code},
                                       {"ranks", report.ranks},
                                       {"objects_exported", sums[0]},
                                       {"objects_imported", sums[1]},
                                       {"bytes_exported", sums[2]},
                                       {"bytes_imported", sums[3]},
                                       {"objects_packed", sums[4]},
                                       {"objects_sent", sums[5]},
                                       {"objects_unpacked", sums[6]},
                                       {"messages", sums[7]},
                                       {"batches", sums[8]},
                                       {"steps", largest[4]},
                                       {"objects_parked", sums[9]},
                                       {"budget_bytes", largest[0]},
                                       {"budget_raised_bytes", largest[1]},
                                       {"peak_extra_bytes", largest[2]},
                                       {"extra_bytes_bound", largest[3]},
                                       {"seconds", seconds[0]},
                                       {"list_seconds", seconds[1]},
                                       {"move_seconds", seconds[2]},
                                       {"unpack_seconds", seconds[3]},
                                       {"verified", report.verified != 0},
                                       {"lists_from_layout", report.lists_from_layout != 0},
                                       {"reason", report.reason},
                                       {"message", report.message},
                                       {"valet", version()},
                                       {"mpi", mpi::reached_mpi().version}};
  append_line(path, line.dump());
}

}  // namespace valet::zoltan
