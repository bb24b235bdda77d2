// SPDX-License-Identifier: BSD-3-Clause
#include "handle/messages.hpp"

#include "handle/handle_state.hpp"
#include "handle/structure.hpp"
#include "mpi/agreement.hpp"
#include "mpi/family.hpp"
#include "observe/file.hpp"
#include <valet/configuration.hpp>
#include <valet/mpi.hpp>
#include <valet/version.hpp>

#include <nlohmann/json.hpp>

#include <array>
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

/// Appends a line to the file of MIGRATE_REPORT; one that cannot be written is a warning.
void append_line(const std::string& path, const std::string& line) {
  if (const int error = observe::append(path, line + "\n"); error != 0)
    print_warning("Zoltan_Migrate", "cannot write the report to MIGRATE_REPORT `" + path + "' (" +
                                        std::strerror(error) +
                                        "); the migration itself went on. Give a path that rank 0 "
                                        "can write, with room");
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

void say_who_moves(const Zoltan_Struct* zoltan, const MigrationParameters& parameters,
                   ObjectKind kind, const std::string& left_out) try {
  if (!parameters.verbose) return;
  const MPI_Comm communicator = communicator_of(zoltan);
  int rank = 0;
  if (communicator == MPI_COMM_NULL || MPI_Comm_rank(communicator, &rank) != MPI_SUCCESS ||
      rank != 0)
    return;
  std::string text = "[0] Valet " VALET_VERSION_TEXT;
  if (kind == ObjectKind::callbacks && !parameters.method) {
    text += " is loaded, but MIGRATE_METHOD is ZOLTAN: stock Zoltan_Migrate moves the objects";
  } else {
    const bool in_slots = kind != ObjectKind::callbacks;
    text.append(in_slots ? " moves the objects in slots" : " moves the objects of Zoltan_Migrate")
        .append(": MIGRATE_METHOD ")
        .append(name_of(in_slots ? parameters.options.method : parameters.method));
    if (!in_slots) text.append(", MIGRATE_CALLBACKS ").append(to_string(parameters.callbacks));
    text.append(", MIGRATE_MEMORY " + std::to_string(parameters.options.budget_bytes) + " bytes");
  }
  for (const std::string& ignored : {ignored_parameter(kind), left_out})
    if (!ignored.empty()) text += "; ignores " + ignored + ", which says nothing about them";
  text += '\n';
  static std::mutex mutex;
  static std::string said;
  const std::lock_guard lock(mutex);
  if (text != said) std::fputs(text.c_str(), stderr);
  said = std::move(text);
} catch (const std::exception&) {
  // A structure that is none of Zoltan's, or no memory: the migration itself says so.
}

void say_what_steps_save(const MigrationParameters& parameters, std::uint64_t arrivals) {
  const std::uint64_t budget = parameters.options.budget_bytes;
  if (!parameters.verbose || arrivals <= budget) return;
  static std::once_flag said;
  std::call_once(said, [&] {
    std::fprintf(
        stderr,
        "[0] Valet " VALET_VERSION_TEXT
        ": MIGRATE_CALLBACKS HOLD keeps %llu bytes of objects that have arrived on a rank, "
        "STEPS would take MIGRATE_MEMORY, %llu bytes; what it asks of the callbacks is in "
        "Valet's guide, page Zoltan, Objects behind callbacks\n",
        static_cast<unsigned long long>(arrivals), static_cast<unsigned long long>(budget));
  });
}

bool lacks_storage(const Zoltan_Struct* zoltan) {
  if (has_attached(zoltan) || followed_parameter(zoltan, "LB_METHOD") != "BLOCK_CYCLIC")
    return false;
  print_warning("Zoltan_LB_Partition",
                "LB_METHOD BLOCK_CYCLIC is Valet's; it needs storage attached to the structure");
  return true;
}

void append_report(MPI_Comm communicator, const std::string& path, const Report& report) {
  const Report all = summed_over_ranks(report, communicator);
  int rank = 0;
  MPI_Comm_rank(communicator, &rank);
  if (rank == 0 && !path.empty()) append_line(path, all.to_json());
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
  append_line(path, line.dump());
}

void print_error_once(const mpi::Channel& channel, const char* function, const std::string& text) {
  // The text of an agreement names the rank that found the error, behind "valet: ".
  const std::string own = "rank " + std::to_string(channel.rank()) + ":";
  if (channel.rank() == 0 || text.find(own) != std::string::npos)
    print_error(channel.rank(), function, text);
}

}  // namespace valet::zoltan
