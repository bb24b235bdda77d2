// SPDX-License-Identifier: BSD-3-Clause
#include "benchmark.hpp"
#include "device_peers.hpp"

#include <algorithm>
#include <cstdio>
#include <limits>
#include <map>
#include <optional>

namespace valet::bench {
namespace {

struct Use {
  std::uint64_t now = 0;
  std::uint64_t most = 0;
};

/// Kokkos calls plain functions, so what they count is theirs.
std::map<std::string, Use>& uses() {
  static std::map<std::string, Use> by_space;
  return by_space;
}

void allocated(Kokkos::Tools::SpaceHandle space, const char*, const void*, std::uint64_t bytes) {
  Use& use = uses()[space.name];
  use.now += bytes;
  use.most = std::max(use.most, use.now);
}

void freed(Kokkos::Tools::SpaceHandle space, const char*, const void*, std::uint64_t bytes) {
  Use& use = uses()[space.name];
  // What was allocated before we listened was not counted.
  use.now -= std::min(use.now, bytes);
}

/// Counts what Kokkos allocates on this rank from now on, by memory space: every View and every
/// block of kokkos_malloc, with any back end. Memory that a device driver takes for itself is not
/// in it. After Kokkos::initialize().
void count_allocations() {
  Kokkos::Tools::Experimental::set_allocate_data_callback(allocated);
  Kokkos::Tools::Experimental::set_deallocate_data_callback(freed);
}
/// High-water marks start again, at what is allocated now.
void restart_marks() {
  for (auto& [space, use] : uses()) use.most = use.now;
}
/// The most bytes that were allocated at a time since then.
std::uint64_t most_in(const std::string& space) { return uses()[space].most; }
/// The same in all other spaces, each at its own time.
std::uint64_t most_outside(const std::string& space) {
  std::uint64_t sum = 0;
  for (const auto& [name, use] : uses())
    if (name != space) sum += use.most;
  return sum;
}

/// One rank's blocks, and the ways to bring them to their ranks, which take turns. Collective.
class DeviceComparison {
 public:
  DeviceComparison(BlockKind kind, bool scattered, std::uint64_t blocks, const Options& options)
      : kind_(kind),
        route_{world_size(), scattered},
        blocks_(blocks),
        options_(options),
        arrays_(make_arrays(kind, blocks)),
        ranks_(blocks) {
    for (std::uint64_t slot = 0; slot < blocks; ++slot)
      ranks_[slot] = route_.destination(world_rank(), slot);
  }

  /// The map as an application has it: nothing is known of it, and no scratch is at hand.
  Outcome migrate_once() {
    return measure(
        [&] { return migrate(MPI_COMM_WORLD, arrays_.storage(), blocks_, ranks_, options_); });
  }

  /// The second execution of a plan, whose scratch is at hand.
  Outcome execute_again() {
    const BlockStorage storage = arrays_.storage();
    restart_marks();
    write_blocks(arrays_, world_rank(), blocks_);
    Plan plan = plan_to_ranks(MPI_COMM_WORLD, storage, blocks_, ranks_, options_);
    execute(plan, storage);
    return measure([&] {
      Report report = execute(plan, storage);
      report.plan_seconds = 0;  // it stood before
      return report;
    });
  }

  Outcome pipeline() {
    return out_of_place(
        [&](const Shipment&) { return StagedPipeline(kind_, options_.budget_bytes); });
  }

  Outcome alltoallv() {
    return out_of_place([&](const Shipment& shipment) { return FullBuffers(kind_, shipment); });
  }

  /// Bytes that change their rank, over all ranks.
  [[nodiscard]] std::uint64_t moved_bytes() const {
    std::uint64_t leaving = 0;
    for (const int rank : ranks_) leaving += rank == world_rank() ? 0 : 1;
    return sum_of_ranks(leaving) * words_of(kind_) * sizeof(Word);
  }

 private:
  /// @param move  Returns the report of this rank.
  template <class Move>
  Outcome measure(const Move& move) {
    restart_marks();
    write_blocks(arrays_, world_rank(), blocks_);
    return timed(move, [&] { return verified(arrays_); });
  }

  /// The second array and the buffers of a peer are at hand, as scratch that has been touched;
  /// which blocks go where it finds out like Valet. They are freed again: the ways share a device.
  template <class MakePeer>
  Outcome out_of_place(const MakePeer& make_peer) {
    restart_marks();
    const BlockArrays second = make_arrays(kind_, blocks_);
    write_blocks(second, world_rank() + world_size(), blocks_);
    write_blocks(arrays_, world_rank(), blocks_);
    auto peer = make_peer(Shipment(ranks_));
    const auto move = [&] {
      Report report;
      const double start = MPI_Wtime();
      const Shipment shipment(ranks_);
      report.plan_seconds = MPI_Wtime() - start;
      peer.run(arrays_, shipment, second);
      return report;
    };
    return timed(move, [&] { return verified(second); });
  }

  /// Every block is on its rank and whole, and none is lost or doubled.
  [[nodiscard]] bool verified(const BlockArrays& arrays) const {
    const Findings found = check_blocks(arrays, route_, world_rank(), blocks_);
    return on_all_ranks(found.torn == 0) && sum_of_ranks(found.surplus) == 0;
  }

  BlockKind kind_;
  Route route_;
  std::uint64_t blocks_;
  Options options_;
  BlockArrays arrays_;
  std::vector<int> ranks_;
};

class DeviceBenchmark final : public Benchmark {
  using Benchmark::Benchmark;

  Jobs jobs() override {
    options_ = options_with(method_);
    Jobs jobs;
    for (const std::string& pattern : patterns_)
      for (const std::string& to : to_)
        for (const std::string& size : sizes_) jobs.push_back(job(pattern, to, parse_bytes(size)));
    kokkos_.emplace();
    count_allocations();
    if (world_rank() == 0)
      std::printf("Kernels on %s, blocks in %s, staged in %s\n", Space::name(),
                  DeviceMemory::name(), HostStaging::name());
    return jobs;
  }

  std::function<void()> job(const std::string& pattern, const std::string& to,
                            std::uint64_t bytes) {
    const BlockKind kind = pattern == "particles" ? BlockKind::particles : BlockKind::patches;
    const std::uint64_t blocks =
        bytes / (words_of(kind) * sizeof(Word)) / static_cast<std::uint64_t>(world_size());
    if (blocks < 2 || blocks > std::numeric_limits<std::uint32_t>::max())
      refuse("--size: ", bytes, " bytes are ", blocks, " blocks a rank; give 2 to 4294967295");
    return [=, this] { measure(pattern, kind, to, blocks); };
  }

  void measure(const std::string& pattern, BlockKind kind, const std::string& to,
               std::uint64_t blocks) {
    DeviceComparison ways(kind, to == "random", blocks, options_);
    std::vector<Memory> memory(4);
    // What a way took last is what it takes each time.
    const auto noted = [&](Memory& most, auto&& way) {
      return [&, way] {
        Outcome outcome = way();
        most.device = sum_of_ranks(most_in(DeviceMemory::name()));
        most.elsewhere = sum_of_ranks(most_outside(DeviceMemory::name()));
        return outcome;
      };
    };
    std::vector<Series> all{{"valet", noted(memory[0], [&] { return ways.migrate_once(); })},
                            {"valet-again", noted(memory[1], [&] { return ways.execute_again(); })},
                            {"pipeline", noted(memory[2], [&] { return ways.pipeline(); })},
                            {"alltoallv", noted(memory[3], [&] { return ways.alltoallv(); })}};
    take_turns(all);
    const auto moved = static_cast<double>(ways.moved_bytes());
    for (std::size_t k = 0; k < all.size(); ++k) {
      const double seconds = all[k].median();
      const Report& report = all[k].report;
      rows_.push_back({{"pattern", pattern},
                       {"to", to},
                       {"ranks", world_size()},
                       {"blocks", blocks},
                       {"block_bytes", words_of(kind) * sizeof(Word)},
                       {"memory", options_.budget_bytes},
                       {"space", DeviceMemory::name()},
                       {"method", all[k].name},
                       {"seconds_median", seconds},
                       {"seconds_plan", report.plan_seconds},
                       {"gb_per_s", moved / seconds / 1e9},
                       {"ratio_pipeline", seconds / all[2].median()},
                       {"ratio_alltoallv", seconds / all[3].median()},
                       {"device_bytes", memory[k].device},
                       {"staging_bytes", memory[k].elsewhere},
                       {"peak_extra_bytes", report.peak_extra_bytes},
                       {"extra_bytes_bound", report.extra_bytes_bound},
                       {"verified", all[k].verified}});
    }
  }

  /// Most bytes at a time of all ranks together, which share a device.
  struct Memory {
    std::uint64_t device = 0;
    std::uint64_t elsewhere = 0;
  };

  Texts& patterns_ = option<Texts>(
      "--pattern", {"particles", "patches"},
      "kinds of blocks (comma-separated): particles (56 bytes in 3 Views), patches (28 KiB)",
      one_of({"particles", "patches"}));
  Texts& to_ = option<Texts>(
      "--to", {"next"},
      "destination of every second block (comma-separated): next (rank), random (ranks)",
      one_of({"next", "random"}));
  Texts& sizes_ = option<Texts>(
      "--size", {"64M"}, "bytes of all ranks together (suffix K, M or G allowed; comma-separated)");
  Text& method_ = option<Text>("--method", "automatic", "method, as for valet-bench exchange");
  std::optional<Kokkos::ScopeGuard> kokkos_;
  Options options_;
};

}  // namespace

std::unique_ptr<Benchmark> make_device_benchmark() {
  return std::make_unique<DeviceBenchmark>(
      "device",
      "Migration of blocks in the default memory space of Kokkos. Compares migration in place with "
      "a pipeline through pinned memory and with a single MPI_Alltoallv, both into a second array",
      5, CommonOptions{.memory = "64M", .can_share = false});
}

}  // namespace valet::bench
