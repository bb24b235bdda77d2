// SPDX-License-Identifier: BSD-3-Clause
#include "base/names.hpp"
#include "benchmark.hpp"
#include "neighbour_pairs.hpp"
#include "peak_memory.hpp"
#include <valet/block_storage.hpp>
#include <valet/mpi.hpp>
#include <valet/zoltan/attached.hpp>
#include <valet/zoltan/columns.hpp>
#include <valet/zoltan/rebalancer.hpp>
#include <valet/zoltan/valet_zoltan.h>

#include <zoltan.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <span>
#include <stdexcept>
#include <vector>

namespace valet::bench {
namespace {

using zoltan::Rebalancer;
using zoltan::RebalanceResult;
using zoltan::RebalancerOptions;

/// Where particles are, and how much work they make.
enum class Distribution {
  uniform,      ///< all over the unit box
  clustered,    ///< four of five in one hundredth of its volume
  needle,       ///< along a diagonal, a thousandth of it wide
  moving_front  ///< uniform; in a thin front particles make ten times the work of others
};
using detail::Named;
constexpr std::array distributions{
    Named{Distribution::uniform, "uniform"}, Named{Distribution::clustered, "clustered"},
    Named{Distribution::needle, "needle"}, Named{Distribution::moving_front, "moving-front"}};

/// The n-th number of a particle, from 0 to 1.
double chance(std::uint64_t id, std::uint64_t n) {
  return static_cast<double>(mixed(mixed(id) + n) >> 11) * 0x1p-53;
}

/// Particles of 72 bytes. All that a particle carries follows from its id.
class ParticleCloud {
 public:
  /// @param particles  On each rank at the beginning.
  ParticleCloud(Distribution distribution, std::uint64_t particles, Storage storage)
      : distribution_(distribution),
        each_(particles),
        id_(slots_for(distribution, particles), storage),
        place_(3 * slots(), storage),
        velocity_(3 * slots(), storage),
        work_(slots(), storage),
        mass_(slots(), storage) {
    // Touched now: pages that appear later would look like growth.
    std::ranges::fill(id_, 0);
    for (const std::span<double> all :
         std::array<std::span<double>, 4>{place_, velocity_, work_, mass_})
      std::ranges::fill(all, 0);
  }

  /// Puts all particles where they begin: at random, but for a front, which finds them in slabs.
  void fill() {
    count = each_;
    for (std::uint64_t k = 0; k < count; ++k) {
      id_[k] = first_id() + k;
      for_each_value(k, [](double& has, double value) { has = value; });
    }
  }

  /// Whether every particle is on one rank, with all that it carries. Collective.
  [[nodiscard]] bool is_complete() const {
    const std::uint64_t all = each_ * static_cast<std::uint64_t>(world_size());
    bool right = count <= slots();
    std::uint64_t surplus = 0;  // particles found less those written, by their hashes
    for (std::uint64_t k = 0; right && k < count; ++k) {
      right = id_[k] < all;
      for_each_value(k, [&](double has, double value) { right = right && has == value; });
      surplus += mixed(id_[k]);
    }
    for (std::uint64_t k = 0; k < each_; ++k) surplus -= mixed(first_id() + k);
    return on_all_ranks(right) && sum_of_ranks(count) == all && sum_of_ranks(surplus) == 0;
  }

  [[nodiscard]] std::uint64_t slots() const { return id_.size(); }
  [[nodiscard]] std::uint64_t id(std::uint64_t slot) const { return id_[slot]; }

  [[nodiscard]] Point place_of(std::uint64_t id) const {
    const Point any{chance(id, 0), chance(id, 1), chance(id, 2)};
    const auto all = static_cast<double>(each_ * static_cast<std::uint64_t>(world_size()));
    switch (distribution_) {
      case Distribution::uniform: return any;
      case Distribution::clustered: {
        constexpr double side = 0.215;  // its cube is a hundredth
        if (id % 5 == 0) return any;
        return {0.6 + side * any[0], 0.1 + side * any[1], 0.3 + side * any[2]};
      }
      case Distribution::needle: {
        constexpr double width = 1e-3;
        return {any[0], 0.2 + 0.6 * any[0] + width * any[1], 0.9 - 0.5 * any[0] + width * any[2]};
      }
      case Distribution::moving_front:
        return {(static_cast<double>(id) + any[0]) / all, any[1], any[2]};
    }
    return any;
  }

  [[nodiscard]] BlockStorage storage() {
    return {field(place_, 3), field(velocity_, 3), field(id_), field(work_), field(mass_)};
  }
  /// Where the particles are and what work they make.
  template <class Balancer>
  void describe_to(Balancer& balancer) const {
    balancer.coordinates(zoltan::array_columns(place_.data(), slots(), 3));
    balancer.weights(zoltan::array_columns(work_.data(), slots(), 1));
  }

  std::uint64_t count = 0;

 private:
  static std::uint64_t slots_for(Distribution distribution, std::uint64_t particles) {
    // Work that is as uneven as a front's gives some ranks many particles.
    const double slots_over_mean = distribution == Distribution::moving_front ? 1.9 : 1.15;
    return static_cast<std::uint64_t>(slots_over_mean * static_cast<double>(particles)) + 16;
  }

  [[nodiscard]] std::uint64_t first_id() const {
    return static_cast<std::uint64_t>(world_rank()) * each_;
  }

  [[nodiscard]] double work_of(std::uint64_t id) const {
    if (distribution_ != Distribution::moving_front) return 1;
    constexpr double front = 0.35, width = 0.03;
    const double beyond = (place_of(id)[0] - front) / width;
    return 1 + 9 * std::exp(-beyond * beyond);
  }

  /// Calls visit(what a slot has, what it has to have) for all that follows from its id.
  template <class Visit>
  void for_each_value(std::uint64_t slot, Visit&& visit) const {
    const std::uint64_t id = id_[slot];
    const Point place = place_of(id);
    for (std::uint64_t d = 0; d < 3; ++d) {
      visit(place_[3 * slot + d], place[d]);
      visit(velocity_[3 * slot + d], chance(id, 3 + d));
    }
    visit(work_[slot], work_of(id));
    visit(mass_[slot], chance(id, 6));
  }

  Distribution distribution_;
  std::uint64_t each_;
  Array<std::uint64_t> id_;
  Array<double> place_, velocity_, work_, mass_;
};

/// One way to rebalance, and what it came to.
struct Way {
  RebalancerOptions options;
  bool is_attached = false;  ///< to a Zoltan_Struct, with AUTO_MIGRATE and RETURN_LISTS NONE
  RebalanceResult result = {};
};

/// What rebalances a cloud: a Rebalancer, or a Zoltan_Struct to which the cloud is attached.
class Door {
 public:
  Door(MPI_Comm communicator, const Way& way, ParticleCloud& cloud) : cloud_(cloud) {
    if (way.is_attached)
      attach(communicator, way.options);
    else
      cloud.describe_to(rebalancer_.emplace(communicator, way.options));
  }
  Door(const Door&) = delete;
  Door& operator=(const Door&) = delete;
  ~Door() {
    particles_.reset();
    Zoltan_Destroy(&zoltan_);
  }

  RebalanceResult rebalance() {
    RebalanceResult result = particles_ ? partition_and_migrate()
                                        : rebalancer_->rebalance(cloud_.count, cloud_.storage());
    cloud_.count = result.count;
    return result;
  }

 private:
  void attach(MPI_Comm communicator, const RebalancerOptions& options) {
    zoltan_ = Zoltan_Create(communicator);
    particles_.emplace(zoltan_, cloud_.count, cloud_.storage(),
                       zoltan::AttachedOptions{.migration = options.migration});
    cloud_.describe_to(*particles_);
    const std::string tolerance = std::to_string(options.imbalance_tolerance);
    const std::array<std::array<const char*, 2>, 5> parameters{
        {{"DEBUG_LEVEL", "0"},
         {"LB_METHOD", options.method.c_str()},
         {"IMBALANCE_TOL", tolerance.c_str()},
         {"AUTO_MIGRATE", "TRUE"},
         {"RETURN_LISTS", "NONE"}}};
    for (const auto& [name, value] : parameters) Valet_Set_Param(zoltan_, name, value);
  }

  RebalanceResult partition_and_migrate() {
    particles_->count(cloud_.count);
    int changes = 0, gids = 0, lids = 0, imports = 0, exports = 0;
    std::array<ZOLTAN_ID_PTR, 4> ids{};
    std::array<int*, 4> places{};
    const int code =
        Valet_LB_Partition(zoltan_, &changes, &gids, &lids, &imports, &ids[0], &ids[1], &places[0],
                           &places[1], &exports, &ids[2], &ids[3], &places[2], &places[3]);
    if (code != ZOLTAN_OK) throw std::runtime_error("Zoltan_LB_Partition failed");
    return particles_->result();
  }

  ParticleCloud& cloud_;
  std::optional<Rebalancer> rebalancer_;
  Zoltan_Struct* zoltan_ = nullptr;
  std::optional<zoltan::Attached> particles_;
};

/// A few of the particles, and which of them are neighbours: known to rank 0.
class SampledPairs {
 public:
  SampledPairs(const ParticleCloud& cloud, std::uint64_t particles) {
    constexpr std::size_t neighbours = 6;
    constexpr std::uint64_t wanted = 1'000'000;  // of a fifth, a needle's few cut pairs are 3 % off
    stride_ = std::max<std::uint64_t>(1, particles / wanted);
    count_ = (particles + stride_ - 1) / stride_;
    if (world_rank() != 0) return;
    std::vector<Point> points(count_);
    for (std::uint64_t k = 0; k < count_; ++k) points[k] = cloud.place_of(k * stride_);
    pairs_ = neighbour_pairs(points, neighbours);
  }

  /// Pairs in different parts. Collective.
  [[nodiscard]] std::uint64_t cut(const ParticleCloud& cloud, std::span<const int> parts) const {
    std::vector<int> part(count_, -1);
    for (std::uint64_t k = 0; k < cloud.count; ++k)
      if (cloud.id(k) % stride_ == 0) part[cloud.id(k) / stride_] = parts[k];
    MPI_Allreduce(MPI_IN_PLACE, part.data(), static_cast<int>(count_), MPI_INT, MPI_MAX,
                  MPI_COMM_WORLD);
    const auto is_cut = [&](const NeighbourPair& pair) {
      return part[pair.first] != part[pair.second];
    };
    return largest_of_ranks(static_cast<std::uint64_t>(std::ranges::count_if(pairs_, is_cut)));
  }

 private:
  std::uint64_t stride_ = 1;
  std::size_t count_ = 0;
  std::vector<NeighbourPair> pairs_;
};

class RebalanceBenchmark final : public Benchmark {
  using Benchmark::Benchmark;

  Jobs jobs() override {
    FreedAtOnce::keep_freed_memory();
    return jobs_of([this](const auto&... of) { measure(of...); }, distributions_, methods_);
  }

  static Outcome run_way(Door& door, ParticleCloud& cloud, Way& way) {
    cloud.fill();
    return timed([&] { way.result = door.rebalance(); }, [&] { return cloud.is_complete(); });
  }

  /// Adds what the process grows by in one rebalance, on a communicator on which nothing is kept:
  /// by the system's count, of the partition by the library's own, and what is promised.
  static bool add_growth(Case& row, ParticleCloud& cloud, const Way& way) {
    const FreedAtOnce freed_at_once;
    MPI_Comm fresh = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &fresh);
    {
      Door door(fresh, way, cloud);
      cloud.fill();
      const PeakMemory memory;
      const RebalanceResult result = door.rebalance();
      row["growth_bytes"] = largest_of_ranks(memory.grown());
      row["partition_extra_bytes"] = largest_of_ranks(result.partition_extra_bytes);
      // The bound of the migration has 8 bytes a slot, the whole step 12.
      row["promised_bytes"] = largest_of_ranks(result.report.extra_bytes_bound + 4 * cloud.slots());
    }
    MPI_Comm_free(&fresh);
    return cloud.is_complete();
  }

  /// Pairs of neighbours that a partition into more parts cuts.
  [[nodiscard]] std::uint64_t cut_pairs(ParticleCloud& cloud, RebalancerOptions options) const {
    options.parameters.emplace_back("NUM_GLOBAL_PARTS", std::to_string(all_parts()));
    Rebalancer rebalancer(MPI_COMM_WORLD, options);
    cloud.describe_to(rebalancer);
    cloud.fill();
    const zoltan::Partition partition = rebalancer.partition(cloud.count);
    return pairs_->cut(cloud, partition.parts().empty() ? partition.ranks() : partition.parts());
  }
  [[nodiscard]] int all_parts() const { return std::max(parts_, world_size()); }

  void measure(const std::string& distribution, const std::string& method) {
    ParticleCloud cloud(detail::value_of(distributions, "distribution", distribution), particles_,
                        storage());
    RebalancerOptions options;
    options.method = method;
    set_common(options.migration);
    std::array<Way, 3> ways{Way{options}, Way{options}, Way{options, true}};
    ways[1].options.granularity = 1;
    std::array<std::optional<Door>, ways.size()> doors;
    std::vector<Series> all;
    for (std::size_t w = 0; w < ways.size(); ++w) {
      doors[w].emplace(MPI_COMM_WORLD, ways[w], cloud);
      all.push_back(
          {w == 1 ? "1" : "automatic", [&, w] { return run_way(*doors[w], cloud, ways[w]); }});
    }
    take_turns(all);
    for (std::optional<Door>& door : doors) door.reset();
    if (pairs_of_ != distribution)
      pairs_.emplace(cloud, particles_ * static_cast<std::uint64_t>(world_size()));
    pairs_of_ = distribution;
    std::array<std::uint64_t, ways.size()> cut{};
    for (std::size_t w = 0; w < ways.size(); ++w) cut[w] = cut_pairs(cloud, ways[w].options);
    for (std::size_t w = 0; w < ways.size(); ++w) {
      const double seconds = all[w].median();
      Case row = {{"distribution", distribution},
                  {"method", method},
                  {"door", ways[w].is_attached ? "AUTO_MIGRATE" : "Rebalancer"},
                  {"granularity", all[w].name},
                  {"ranks", world_size()},
                  {"particles", particles_},
                  {"memory", ways[w].options.migration.budget_bytes},
                  {"seconds_median", seconds},
                  {"ratio_uncoarsened", seconds / all[1].median()},
                  {"ratio_rebalancer", seconds / all[0].median()},
                  {"blocks_pulled", sum_of_ranks(ways[w].result.report.blocks_pulled)}};
      const bool verified = add_growth(row, cloud, ways[w]) && all[w].verified;
      row.update({{"imbalance_after", ways[w].result.after.weight},
                  {"parts", all_parts()},
                  {"cut_pairs", cut[w]},
                  {"ratio_cut", static_cast<double>(cut[w]) /
                                    static_cast<double>(std::max<std::uint64_t>(1, cut[1]))},
                  {"verified", verified}});
      rows_.push_back(std::move(row));
    }
  }

  Texts& distributions_ = option<Texts>(
      "--distribution", names_in(distributions),
      "distributions of the particles (comma-separated): " + detail::names_of(distributions));
  Texts& methods_ = option<Texts>("--method", {"RCB", "HSFC", "RIB"},
                                  "methods of Zoltan (comma-separated): RCB, HSFC, RIB");
  Number& particles_ = option<Number>("--particles", 500'000, "particles per rank", positive());
  int& parts_ = option(
      "--parts", 8,
      "parts of the partition in which cut pairs of neighbours are counted; at least one per rank",
      positive());
  std::optional<SampledPairs> pairs_;
  std::string pairs_of_;
};

}  // namespace

std::unique_ptr<Benchmark> make_rebalance_benchmark() {
  return std::make_unique<RebalanceBenchmark>(
      "rebalance",
      "Partitioning with Zoltan and migration of 72-byte particles. Compares partitions of cells, "
      "by the Rebalancer and by AUTO_MIGRATE on attached storage, with partitions of individual "
      "particles: time, memory growth and quality of the partition",
      11, CommonOptions{.can_share = false, .has_storage = true});
}

}  // namespace valet::bench
