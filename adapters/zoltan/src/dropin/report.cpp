// SPDX-License-Identifier: BSD-3-Clause
#include "report.hpp"

#include "mpi/agreement.hpp"
#include "mpi/family.hpp"
#include "observe/file.hpp"
#include "zoltan_introspection.hpp"
#include <valet/configuration.hpp>
#include <valet/mpi.hpp>
#include <valet/version.hpp>

#include <nlohmann/json.hpp>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <mutex>
#include <utility>

namespace valet::zoltan {
namespace {

void print(int rank, const char* kind, const char* function, const std::string& text) {
  std::fprintf(stderr, "[%d] Zoltan %s in %s:  %s\n", rank, kind, function, text.c_str());
}

}  // namespace

int rank_in_world() {
  int rank = 0;
  int initialized = 0;
  int finalized = 0;
  MPI_Initialized(&initialized);
  MPI_Finalized(&finalized);
  if (initialized != 0 && finalized == 0) MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

void print_warning(const char* function, const std::string& text) {
  print(rank_in_world(), "WARNING", function, text);
}

void print_error(int rank, const char* function, const std::string& text) {
  print(rank, "ERROR", function, text);
}

void say_who_moves(const Zoltan_Struct* zoltan, const MigrationParameters& parameters) try {
  if (!parameters.verbose) return;
  const MPI_Comm communicator = communicator_of(zoltan);
  int rank = 0;
  if (communicator == MPI_COMM_NULL || MPI_Comm_rank(communicator, &rank) != MPI_SUCCESS ||
      rank != 0)
    return;
  std::string text = "[0] Valet " VALET_VERSION_TEXT;
  if (!parameters.method)
    text += " is loaded, but MIGRATE_METHOD is ZOLTAN: stock Zoltan_Migrate moves the objects\n";
  else
    text.append(" moves the objects of Zoltan_Migrate: MIGRATE_METHOD ")
        .append(name_of(parameters.method))
        .append(", MIGRATE_CALLBACKS ")
        .append(to_string(parameters.callbacks))
        .append(", MIGRATE_MEMORY " + std::to_string(parameters.memory_bytes) + " bytes\n");
  static std::mutex mutex;
  static std::string said;
  const std::lock_guard lock(mutex);
  if (text != said) std::fputs(text.c_str(), stderr);
  said = std::move(text);
} catch (const std::exception&) {
  // A structure that is none of Zoltan's, or no memory: the migration itself says so.
}

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
  if (const int error = observe::append(path, line.dump() + "\n"); error != 0)
    print_warning("Zoltan_Migrate", "cannot write the report to MIGRATE_REPORT `" + path + "' (" +
                                        std::strerror(error) +
                                        "); the migration itself went on. Give a path that rank 0 "
                                        "can write, with room");
}

void print_error_once(const mpi::Channel& channel, const char* function, const std::string& text) {
  // The text of an agreement names the rank that found the error, behind "valet: ".
  const std::string own = "rank " + std::to_string(channel.rank()) + ":";
  if (channel.rank() == 0 || text.find(own) != std::string::npos)
    print_error(channel.rank(), function, text);
}

}  // namespace valet::zoltan
