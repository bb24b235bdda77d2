// SPDX-License-Identifier: BSD-3-Clause

// A combustion code whose cells have lists of species, with no room for a second copy of them.
//
// A detonation runs around a chamber. At and behind its front a cell has many species, elsewhere
// few: at each step lists grow and shrink, and the load of the ranks drifts apart. Zoltan
// partitions the cells by the lengths of their lists, and the cells move, lists and rows, inside
// the arrays of each rank: move_in_place.cpp. Two other ways to move them are there to compare
// with.

#include "cells.hpp"
#include "options.hpp"
#include "output.hpp"
#include "support/data_limit.hpp"
#include "support/launch.hpp"
#include "support/memory_log.hpp"
#include "ways.hpp"
#include <valet/error.hpp>
#include <valet/zoltan/rebalancer.hpp>

#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <span>
#include <string>
#include <vector>

namespace {

using namespace species;
using namespace example;

class Simulation {
 public:
  Simulation(MPI_Comm communicator, const Options& options)
      : communicator_(communicator),
        options_(options),
        rank_(rank_of(communicator)),
        size_(size_of(communicator)),
        cells_(options.chamber, record_capacity(options, size_)),
        output_(communicator, options),
        rebalancer_(communicator, rebalancer_options(options)) {
    cells_.fill(options.chamber, rank_, size_);
    // Zoltan partitions by what stands in the arrays of the cells at that moment.
    using valet::zoltan::array_columns;
    rebalancer_.coordinates(array_columns(cells_.place.data(), cells_.id.size(), 2));
    rebalancer_.weights(array_columns(cells_.lengths.data(), cells_.id.size(), 1));
  }

  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;
  ~Simulation() { lift_data_limit(); }

  /// Collective. @throws Lost, NoRoom, OutOfMemory, valet::Error on all ranks.
  void run() {
    const Totals start = cells_.check(communicator_, options_.chamber, 0);
    prove("the start", start, expected(start.records));
    output_.head(start.records, cells_);
    limit();
    for (int step = 0; step <= options_.steps; ++step) {
      if (step > 0) cells_.react(communicator_, options_.chamber, step);
      rebalance(step);
      if (step == 0 || step == options_.steps / 2 || step == options_.steps)
        output_.lengths(step, cells_);
    }
    lift_data_limit();
    finish();
  }

 private:
  static std::uint64_t record_capacity(const Options& options, int ranks) {
    const double mean = static_cast<double>(options.chamber.all_species(0)) / ranks;
    // And a longest list, because cells are not cut.
    return static_cast<std::uint64_t>(options.capacity * mean) + Chamber::most;
  }

  static valet::zoltan::RebalancerOptions rebalancer_options(const Options& options) {
    valet::zoltan::RebalancerOptions result;
    result.method = options.method;
    result.imbalance_tolerance = 1.01;
    result.granularity = 1;  // so that cuts follow the lines of the mesh
    return result;
  }

  /// From here on the system refuses more data than this.
  void limit() {
    start_bytes_ = data_bytes();
    if (options_.headroom_bytes == 0) return;
    limit_bytes_ = start_bytes_ + options_.headroom_bytes;
    limit_data(limit_bytes_);
  }

  Moved move(std::span<const int> ranks) {
    if (options_.exchange == "packed") return pack_and_send(communicator_, cells_, ranks);
    if (options_.exchange == "zoltan") return zoltan_migrate(communicator_, cells_, ranks);
    return move_in_place(communicator_, cells_, ranks, options_.migration);
  }

  void rebalance(int step) {
    Step all;
    all.step = step;
    all.imbalance_before = cells_.imbalance(communicator_);
    const Totals before = cells_.check(communicator_, options_.chamber, step);
    prove("step " + std::to_string(step), before, expected(before.records));
    const std::uint64_t used_before = cells_.used();

    log_.enter(Phase::partition, step);
    const double start = log_.seconds();
    const valet::zoltan::Partition partition = rebalancer_.partition(cells_.count);
    const double middle = log_.seconds();
    const Moved moved = move(partition.ranks());
    const double end = log_.seconds();
    log_.was_migrating(middle, end);
    log_.enter(Phase::simulate, step);
    prove("the migration of step " + std::to_string(step),
          cells_.check(communicator_, options_.chamber, step), before);
    migrations_.push_back(
        {rank_, step, middle, end, moved.bytes_sent, moved.extra_bytes, limit_bytes_});
    all.imbalance_after = cells_.imbalance(communicator_);
    sum_up(all, moved, std::max(used_before, cells_.used()), middle - start, end - middle);
    output_.row(all);
  }

  /// Collective: bytes of all ranks together, the rest of the rank with the most.
  void sum_up(Step& all, const Moved& moved, std::uint64_t used, double partition_seconds,
              double migration_seconds) {
    double seconds[2] = {partition_seconds, migration_seconds};
    std::uint64_t most[3] = {moved.extra_bytes, moved.bound_bytes, used};
    MPI_Allreduce(MPI_IN_PLACE, seconds, 2, MPI_DOUBLE, MPI_MAX, communicator_);
    MPI_Allreduce(MPI_IN_PLACE, most, 3, MPI_UINT64_T, MPI_MAX, communicator_);
    MPI_Allreduce(&moved.bytes_sent, &all.moved_bytes, 1, MPI_UINT64_T, MPI_SUM, communicator_);
    all.partition_seconds = seconds[0];
    all.migration_seconds = seconds[1];
    all.extra_bytes = most[0];
    all.bound_bytes = most[1];
    all.fullest_percent =
        100 * static_cast<double>(most[2]) / static_cast<double>(cells_.records.size());
    moved_bytes_ += all.moved_bytes;
  }

  /// Every cell once, and as many records.
  [[nodiscard]] Totals expected(std::uint64_t records) const {
    Totals totals{.cells = options_.chamber.cells(), .records = records};
    for (std::uint64_t cell = 0; cell < totals.cells; ++cell) totals.cell_hashes += scramble(cell);
    return totals;
  }

  static void prove(const std::string& when, const Totals& found, const Totals& expected) {
    if (found == expected) return;
    throw Lost("after " + when + " there are " + std::to_string(found.cells) + " cells with " +
               std::to_string(found.records) + " species of " + std::to_string(expected.cells) +
               " with " + std::to_string(expected.records) + ", and " +
               std::to_string(found.wrong) + " are not what they should be");
  }

  void finish() {
    const std::vector<MemorySample> samples = log_.finish();
    std::uint64_t most = start_bytes_;
    for (const MemorySample& sample : samples) most = std::max(most, sample.data_bytes);
    std::uint64_t grown = most - start_bytes_;
    MPI_Allreduce(MPI_IN_PLACE, &grown, 1, MPI_UINT64_T, MPI_MAX, communicator_);
    output_.memory(migrations_, samples);
    output_.close();
    if (rank_ != 0) return;
    std::printf(
        "\nNo list was lost or changed: after each of %d migrations, %.1f MB in all, every cell\n"
        "was on one rank, and every record of its list had the expected content.\n"
        "The data of a rank grew by at most %.1f MB after the start.\n",
        options_.steps + 1, megabytes(moved_bytes_), megabytes(grown));
  }

  MPI_Comm communicator_;
  const Options& options_;
  int rank_;
  int size_;
  Cells cells_;
  Output output_;
  valet::zoltan::Rebalancer rebalancer_;
  MemoryLog log_;
  std::vector<Migration> migrations_;
  std::uint64_t start_bytes_ = 0;
  std::uint64_t limit_bytes_ = 0;
  std::uint64_t moved_bytes_ = 0;
};

/// @return The exit code of the program: 0, 1 for a wrong result or a failure, 2 for bad input.
int run(int argc, char** argv, bool prints) {
  Options options;
  if (const auto exit_code = read_options(argc, argv, prints, options)) return *exit_code;
  return exit_code_of("species", prints, [&] { Simulation(MPI_COMM_WORLD, options).run(); });
}

}  // namespace

int main(int argc, char** argv) {
  example::return_freed_memory();
  return example::launch(argc, argv, "species", run);
}
