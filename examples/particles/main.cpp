// SPDX-License-Identifier: BSD-3-Clause

// A particle code that balances its load without room for a second copy of its particles.
//
// Every rank owns arrays that are a tenth larger than the mean number of particles. The particles
// move, the work per rank drifts apart, Zoltan finds a new partition by work, and Valet carries it
// out inside those arrays. A partition by work may ask a rank to hold more particles than it has
// slots: then nothing has moved yet, and the program balances the count as well.

#include "cloud.hpp"
#include "options.hpp"
#include "output.hpp"
#include "packed.hpp"
#include "support/data_limit.hpp"
#include "support/launch.hpp"
#include "support/memory_log.hpp"
#include <valet/valet.hpp>
#include <valet/zoltan/rebalancer.hpp>

#include <Kokkos_Core.hpp>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <optional>
#include <stdexcept>
#include <string>
#include <unistd.h>
#include <vector>

namespace {

using namespace particles;
using namespace example;

constexpr double time_step = 0.04;

/// A limit on this process's data while it lives. Zoltan that finds no memory on one rank may leave
/// the others waiting for ever, so the job is ended after a while.
class DataLimit {
 public:
  /// @param headroom      Over what the process has now; 0 for no limit.
  /// @param shared_bytes  Of that, what the system does not call data.
  DataLimit(double headroom, std::uint64_t shared_bytes)
      : headroom_bytes_(static_cast<std::uint64_t>(
            headroom * static_cast<double>(data_bytes() + shared_bytes))) {
    constexpr unsigned most_seconds = 60;
    if (headroom_bytes_ == 0) return;
    limit_data(data_bytes() + headroom_bytes_);
    alarm(most_seconds);
  }
  DataLimit(const DataLimit&) = delete;
  DataLimit& operator=(const DataLimit&) = delete;
  ~DataLimit() {
    if (headroom_bytes_ == 0) return;
    alarm(0);
    lift_data_limit();
  }
  [[nodiscard]] std::uint64_t headroom_bytes() const { return headroom_bytes_; }

 private:
  std::uint64_t headroom_bytes_;
};

class Simulation {
 public:
  Simulation(MPI_Comm communicator, const Options& options)
      : communicator_(communicator),
        options_(options),
        rank_(rank_of(communicator)),
        size_(size_of(communicator)),
        cloud_(make_cloud(slots_of(options, size_))),
        output_(communicator, options),
        rebalancer_(communicator, rebalancer_options(options)),
        packed_(communicator) {
    log_.shares(shared_bytes());
    const auto ranks = static_cast<std::uint64_t>(size_);
    const auto rank = static_cast<std::uint64_t>(rank_);
    const std::uint64_t each = options.particles / ranks;
    const std::uint64_t more = options.particles % ranks;
    cloud_.fill(rank * each + std::min(rank, more), each + (rank < more ? 1 : 0));
    rebalancer_.coordinates(valet::ref(cloud_.position));
    rebalancer_.weights(valet::ref(cloud_.work));
  }

  /// Collective. @throws Lost.
  void run() {
    const Checksum start = cloud_.checksum(communicator_);
    if (options_.node_storage) output_.note_node_storage(memory_.is_shared());
    output_.head(cloud_.slots());
    for (int step = 0; step <= options_.steps; ++step) {
      if (step % options_.every == 0) rebalance(step);
      if (step < options_.steps) cloud_.advance(step * time_step, time_step);
    }
    prove(start, cloud_.checksum(communicator_));
    output_.memory(migrations_, log_.finish());
    output_.close();
  }

 private:
  Cloud make_cloud(std::uint64_t slots) {
    if (!options_.node_storage) return Cloud(slots);
    memory_ = valet::node_array<double>(communicator_, slots * Cloud::bytes_each / sizeof(double));
    return {slots, memory_.data()};
  }
  [[nodiscard]] std::uint64_t shared_bytes() const {
    return memory_.is_shared() ? memory_.size() * sizeof(double) : 0;
  }
  static std::uint64_t slots_of(const Options& options, int ranks) {
    const double mean = static_cast<double>(options.particles) / ranks;
    // One more, because particles do not come in fractions.
    return static_cast<std::uint64_t>(options.capacity * mean) + 1;
  }
  static valet::zoltan::RebalancerOptions rebalancer_options(const Options& options) {
    valet::zoltan::RebalancerOptions result;
    result.method = options.method;
    result.imbalance_tolerance = 1.005;
    result.migration = options.migration;
    if (options.granularity > 0) result.granularity = options.granularity;
    return result;
  }

  /// Work is 1 for a lonely particle and `mean_work` on average: no partition by work gives a rank
  /// more than mean_work times the mean number of particles, so up to this mean it always fits.
  [[nodiscard]] double mean_work() const {
    return 1 + options_.contrast * 0.98 * (options_.capacity - 1);
  }

  valet::zoltan::RebalanceResult move_everything() {
    if (options_.exchange == "packed") return packed_.rebalance(rebalancer_, cloud_);
    return rebalancer_.rebalance(cloud_.count, cloud_.position, cloud_.velocity, cloud_.id,
                                 cloud_.work, cloud_.mass);
  }

  /// Balances work alone; if that does not fit the arrays somewhere, work and count; and if that
  /// does not fit either, count alone, which always does.
  valet::zoltan::RebalanceResult balance(std::string& balanced_by) {
    const bool has_second_weight = options_.method == "RCB";
    const std::vector<std::string> ways =
        has_second_weight ? std::vector<std::string>{"work", "work+count", "count"}
                          : std::vector<std::string>{"work", "count"};
    for (const std::string& way : ways) {
      if (way == "count")
        rebalancer_.no_weights();
      else
        rebalancer_.weights(valet::ref(cloud_.work));
      rebalancer_.balance_count(way == "work+count");
      try {
        balanced_by = way;
        return move_everything();
      } catch (const valet::Error& error) {
        if (error.code() != valet::ErrorCode::infeasible || way == ways.back()) throw;
        output_.note("       a partition by " + way + " does not fit: " + error.what());
      }
    }
    throw std::logic_error("no way to balance");
  }

  void rebalance(int step) {
    cloud_.weigh(communicator_, mean_work());
    const int number = static_cast<int>(step / options_.every);
    const Checksum before = cloud_.checksum(communicator_);
    const double imbalance_before = cloud_.imbalance(communicator_);
    log_.enter(Phase::partition, step);
    std::string balanced_by;
    std::optional<DataLimit> limit(std::in_place, options_.headroom, shared_bytes());
    const std::uint64_t headroom_bytes = limit->headroom_bytes();
    const valet::zoltan::RebalanceResult result = balance(balanced_by);
    limit.reset();
    const double end = log_.seconds();
    log_.was_migrating(end - result.migration_seconds, end);
    log_.enter(Phase::simulate, step);
    cloud_.count = result.count;
    if (!(cloud_.checksum(communicator_) == before))
      throw Lost("the migration of step " + std::to_string(step) + " changed particles");
    note_migration(number, step, result, end, headroom_bytes);
    output_.row(summed(number, step, balanced_by, result, imbalance_before));
  }

  static std::uint64_t out_of_place_bytes(const valet::Report& report) {
    return (report.blocks_sent + report.blocks_received) * report.block_bytes;
  }

  void note_migration(int number, int step, const valet::zoltan::RebalanceResult& result,
                      double end_seconds, std::uint64_t headroom_bytes) {
    const valet::Report& report = result.report;
    migrations_.push_back({rank_, number, step, end_seconds - result.migration_seconds, end_seconds,
                           report.peak_extra_bytes, report.extra_bytes_bound,
                           out_of_place_bytes(report), report.blocks_before, report.blocks_after,
                           headroom_bytes});
  }

  /// Collective: bytes of all ranks together, the rest of the rank with the most.
  Rebalance summed(int number, int step, const std::string& balanced_by,
                   const valet::zoltan::RebalanceResult& result, double imbalance_before) {
    const valet::Report& report = result.report;
    std::array<double, 2> seconds{result.partition_seconds, result.migration_seconds};
    std::array<std::uint64_t, 4> most{report.peak_extra_bytes, report.extra_bytes_bound,
                                      out_of_place_bytes(report), result.count};
    std::uint64_t moved = report.bytes_sent;
    MPI_Allreduce(MPI_IN_PLACE, seconds.data(), 2, MPI_DOUBLE, MPI_MAX, communicator_);
    MPI_Allreduce(MPI_IN_PLACE, most.data(), 4, MPI_UINT64_T, MPI_MAX, communicator_);
    MPI_Allreduce(MPI_IN_PLACE, &moved, 1, MPI_UINT64_T, MPI_SUM, communicator_);
    Rebalance all;
    all.number = number;
    all.step = step;
    all.balanced_by = balanced_by;
    all.imbalance_before = imbalance_before;
    all.imbalance_after = cloud_.imbalance(communicator_);
    all.count_imbalance_after = result.after.count;
    all.fullest_percent =
        100.0 * static_cast<double>(most[3]) / static_cast<double>(cloud_.slots());
    all.moved_bytes = moved;
    all.partition_seconds = seconds[0];
    all.migration_seconds = seconds[1];
    all.extra_bytes = most[0];
    all.limit_bytes = most[1];
    all.out_of_place_bytes = most[2];
    fullest_percent_ = std::max(fullest_percent_, all.fullest_percent);
    return all;
  }

  /// Compares sums that do not depend on who owns what.
  void prove(const Checksum& start, const Checksum& end) const {
    if (!end.same_particles(start))
      throw Lost("at the end there are " + std::to_string(end.count) + " particles of " +
                 std::to_string(start.count) +
                 ", or their ids or masses are not those of the start");
    if (rank_ != 0) return;
    std::printf(
        "\nNo particle was lost or changed: %llu at the start and at the end, with equal sums of\n"
        "ids, of hashes of ids and of hashes of (id, mass); each migration preserved the sum of\n"
        "the hashes of all fields.\n"
        "The fullest rank had %.1f %% of its slots occupied.\n",
        static_cast<unsigned long long>(end.count), fullest_percent_);
  }

  MPI_Comm communicator_;
  const Options& options_;
  int rank_;
  int size_;
  valet::NodeArray<double> memory_;  ///< of the particles, where ranks of a node share it
  Cloud cloud_;
  Output output_;
  valet::zoltan::Rebalancer rebalancer_;
  PackedExchange packed_;
  MemoryLog log_;
  std::vector<Migration> migrations_;
  double fullest_percent_ = 0;
};

/// @return The exit code of the program: 0, 1 for a wrong result or a failure, 2 for bad input.
int run(int argc, char** argv, bool prints) {
  Options options;
  if (const auto exit_code = read_options(argc, argv, prints, options)) return *exit_code;
  const Kokkos::ScopeGuard kokkos;
  return exit_code_of("particles", prints, [&] { Simulation(MPI_COMM_WORLD, options).run(); });
}

}  // namespace

int main(int argc, char** argv) {
  example::return_freed_memory();
  return example::launch(argc, argv, "particles", run);
}
