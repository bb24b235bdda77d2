// SPDX-License-Identifier: BSD-3-Clause
#include "commands.hpp"
#include "common_options.hpp"
#include "comparison.hpp"
#include "measure.hpp"
#include "output.hpp"
#include <valet/kokkos/blocks.hpp>
#include <valet/valet.hpp>

#include <Kokkos_Core.hpp>

#include <memory>

namespace valet::bench {
namespace {

struct Settings {
  std::uint64_t particles = 2'000'000;
  double leave = 0.5;
  std::string memory = "4M";
  std::vector<std::string> methods{"stream"};
  std::string order = "fill";
  int repeat = 5;
  std::string json;
};

constexpr std::size_t particle_bytes =
    3 * sizeof(double) + 3 * sizeof(double) + sizeof(std::uint64_t);

/// Particles of one rank: three fields, every second (or third, ...) one leaves for the next rank.
class Particles {
 public:
  Particles(const Settings& settings, const Options& options)
      : options_(options),
        rank_(static_cast<std::uint64_t>(world_rank())),
        ranks_count_(static_cast<std::uint64_t>(world_size())),
        count_(settings.particles),
        position_("position", count_),
        velocity_("velocity", count_),
        id_("id", count_),
        ranks_(count_, world_rank()) {
    const int next = static_cast<int>((rank_ + 1) % ranks_count_);
    std::uint64_t leaving = 0;
    for (std::uint64_t p = 0; p < count_; ++p) {
      const double due = settings.leave * static_cast<double>(p + 1);
      if (due < static_cast<double>(leaving + 1)) continue;
      ranks_[p] = next;
      ++leaving;
    }
    std::vector<std::uint64_t> counts(ranks_count_, 0);
    counts[static_cast<std::size_t>(next)] = leaving;
    peer_ = std::make_unique<Alltoallv>(counts, particle_bytes);
    packed_.resize(leaving * particle_bytes, 1);
    received_.resize(peer_->blocks_received() * particle_bytes, 2);
  }

  void fill() {
    for (std::uint64_t p = 0; p < count_; ++p) {
      const std::uint64_t id = rank_ << 40 | p;
      id_(p) = id;
      for (std::size_t d = 0; d < 3; ++d) {
        position_(p, d) = value(id, d);
        velocity_(p, d) = value(id, d + 3);
      }
    }
  }

  double run_valet() {
    return slowest_seconds([&] {
      report_ = migrate(MPI_COMM_WORLD, kokkos::blocks(position_, velocity_, id_), count_, ranks_,
                        options_);
    });
  }

  double run_warm() {
    return slowest_seconds([&] { peer_->run(packed_.data(), received_.data()); });
  }

  double run_cold() {
    return slowest_seconds([&] {
      const auto fresh = std::make_unique_for_overwrite<std::byte[]>(received_.size());
      peer_->run(packed_.data(), fresh.get());
    });
  }

  /// Every particle on this rank belongs here and has its own values, and none was lost or doubled.
  [[nodiscard]] bool verified() const {
    const std::uint64_t before = (rank_ + ranks_count_ - 1) % ranks_count_;
    bool good = true;
    std::uint64_t sum = 0;
    for (std::uint64_t p = 0; p < report_.blocks_after; ++p) {
      const std::uint64_t id = id_(p);
      const std::uint64_t from = id >> 40;
      good = good && (from == rank_ || from == before);
      for (std::size_t d = 0; d < 3; ++d)
        good = good && position_(p, d) == value(id, d) && velocity_(p, d) == value(id, d + 3);
      sum += mixed(id);
    }
    std::uint64_t expected = 0;
    for (std::uint64_t p = 0; p < count_; ++p) expected += mixed(rank_ << 40 | p);
    return on_all_ranks(good) && sum_of_ranks(sum) == sum_of_ranks(expected);
  }

  [[nodiscard]] Report report() const { return summed_over_ranks(report_, MPI_COMM_WORLD); }

 private:
  static std::uint64_t mixed(std::uint64_t id) {
    return (id + 1) * 0x9E3779B97F4A7C15ULL ^ id >> 7;
  }
  static double value(std::uint64_t id, std::size_t component) {
    return static_cast<double>(mixed(id) >> 12) + static_cast<double>(component);
  }

  Options options_;
  std::uint64_t rank_;
  std::uint64_t ranks_count_;
  std::uint64_t count_;
  Kokkos::View<double*[3], Kokkos::LayoutRight, Kokkos::HostSpace> position_, velocity_;
  Kokkos::View<std::uint64_t*, Kokkos::HostSpace> id_;
  std::vector<int> ranks_;
  std::unique_ptr<Alltoallv> peer_;
  std::vector<char> packed_, received_;
  Report report_;
};

Case measure(const Settings& settings, const std::string& method, Progress& progress,
             bool& failed) {
  Options options;
  options.budget_bytes = parse_bytes(settings.memory);
  options.method = parse_method(method);
  options.order = parse_order(settings.order);
  Particles particles(settings, options);
  Case row = {{"pattern", "particles"},
              {"method", method},
              {"map", "ranks"},
              {"order", settings.order},
              {"ranks", world_size()},
              {"blocks", settings.particles},
              {"block_bytes", particle_bytes},
              {"free", 0},
              {"memory", options.budget_bytes},
              {"leave", settings.leave}};
  measure_in_turn(particles, settings.repeat, progress, row, failed);
  return row;
}

void run(const Settings& settings, bool& failed) {
  const Kokkos::ScopeGuard kokkos;
  std::vector<Case> cases;
  {
    Progress progress("measuring",
                      settings.methods.size() * (static_cast<std::size_t>(settings.repeat) + 1));
    for (const std::string& method : settings.methods)
      cases.push_back(measure(settings, method, progress, failed));
  }
  print_table(cases);
  write_json(settings.json, cases);
}

}  // namespace

void add_kokkos_command(CLI::App& app, bool& failed) {
  auto settings = std::make_shared<Settings>();
  CLI::App* const command = app.add_subcommand(
      "kokkos",
      "Particles in Kokkos Views (3 doubles, 3 doubles, one 64-bit id) to the next rank, "
      "beside MPI_Alltoallv on the same bytes already packed");
  command->add_option("--particles", settings->particles, "particles per rank, no free slot")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_option("--leave", settings->leave, "fraction of the particles that leaves")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  add_budget_option(*command, settings->memory);
  command
      ->add_option("--method", settings->methods, "stream or direct; several are measured in turn")
      ->delimiter(',')
      ->capture_default_str();
  command->add_option("--order", settings->order, "fill or stable")
      ->check(CLI::IsMember({"fill", "stable"}))
      ->capture_default_str();
  add_repeat_option(*command, settings->repeat);
  add_json_option(*command, settings->json);
  command->callback([settings, &failed] { run(*settings, failed); });
}

}  // namespace valet::bench
