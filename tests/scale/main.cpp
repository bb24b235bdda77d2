// SPDX-License-Identifier: BSD-3-Clause

/// Migrates blocks on a simulated machine, each method beside MPI_Alltoallv, and prints one line of
/// JSON for each pattern and method: seconds are simulated ones, of the slowest rank.

#include "charged_blocks.hpp"
#include "folded_memory.hpp"
#include "patterns.hpp"
#include "peer.hpp"
#include <valet/objects.hpp>
#include <valet/plan.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace valet::scale {
namespace {

using Json = nlohmann::ordered_json;

struct Settings {
  std::vector<std::string> patterns{"ring", "transpose", "random", "neighbours"};
  std::vector<std::string> methods{"stream"};
  std::uint64_t slots = 200, free = 0;
  std::size_t block_bytes = 16384, budget_bytes = std::size_t{1} << 20, message_bytes = 0;
  double copy_bandwidth = 10e9;
  bool to_slots = false;
  std::string platform, algorithm;
};

std::vector<std::string> list_of(const std::string& text) {
  std::vector<std::string> items;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    items.push_back(text.substr(at, comma - at));
    at = comma + 1;
  }
  return items;
}

void set(Settings& settings, const std::string& name, const std::string& value) {
  if (name == "--pattern")
    settings.patterns = list_of(value);
  else if (name == "--method")
    settings.methods = list_of(value);
  else if (name == "--slots")
    settings.slots = std::stoull(value);
  else if (name == "--free")
    settings.free = std::stoull(value);
  else if (name == "--block-bytes")
    settings.block_bytes = parse_bytes(value);
  else if (name == "--memory")
    settings.budget_bytes = parse_bytes(value);
  else if (name == "--message")
    settings.message_bytes = parse_bytes(value);
  else if (name == "--copy-bandwidth")
    settings.copy_bandwidth = std::stod(value);
  else if (name == "--to")
    settings.to_slots = value == "slots";
  else if (name == "--platform")
    settings.platform = value;
  else if (name == "--algorithm")
    settings.algorithm = value;
  else
    throw std::invalid_argument("unknown argument " + name);
}

Settings parse(int argc, char** argv) {
  Settings settings;
  for (int k = 1; k + 1 < argc; k += 2) set(settings, argv[k], argv[k + 1]);
  return settings;
}

double slowest(double seconds) {
  double most = 0;
  MPI_Allreduce(&seconds, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return most;
}

/// Seconds of the slowest rank from an instant at which all begin. Ranks do not leave a barrier or
/// a reduction together, but simulated clocks are one clock.
template <class Action>
double timed(Action&& action) {
  constexpr double until_all_know = 1e-3;
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = slowest(MPI_Wtime()) + until_all_know;
  wait_until(start);
  action();
  return slowest(MPI_Wtime() - start);
}

/// What no plan can do without, for a scale of its time.
double two_reductions_and_a_barrier() {
  return timed([] {
    std::uint64_t mine = 1, all = 0;
    for (int k = 0; k < 2; ++k)
      MPI_Allreduce(&mine, &all, 1, MPI_UINT64_T, MPI_MAX, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
  });
}

/// Whether a method sends blocks that lie apart as one message of pieces.
bool has_pieces(const std::string& method) { return method != "stream" && method != "alltoallv"; }

/// Methods of migrate_objects() have this before their name: blocks are objects behind functions.
constexpr std::string_view of_objects = "objects-";

Options options_of(const Settings& settings, const std::string& method) {
  Options options{.budget_bytes = settings.budget_bytes,
                  .message_bytes = settings.message_bytes,
                  .share_memory = false,
                  .progress_bar = false};
  if (method == "cyclic-rotated" || method == "cyclic-ascending") {
    options.method = Method::cyclic;
    options.cyclic.edge_order =
        method == "cyclic-rotated" ? EdgeOrder::rotated : EdgeOrder::ascending;
  } else {
    options.method = parse_method(method);
  }
  // Everything at once: its budget is what leaves and what arrives.
  if (options.method == Method::direct)
    options.budget_bytes =
        std::max<std::size_t>(options.budget_bytes, 4 * settings.slots * settings.block_bytes);
  if (options.method == Method::phased) {
    // The parking algorithm of MADRE's section 3.1.
    options.phased.heuristic = Heuristic::first_fit;
    options.phased.parking = 1;
  }
  return options;
}

/// One pattern on one rank, whose blocks are their addresses.
class Migration {
 public:
  Migration(const Settings& settings, const Pattern& pattern, const Part& part)
      : settings_(settings),
        pattern_(pattern),
        part_(part),
        blocks_(std::make_shared<ChargedBlocks>(settings.slots, settings.block_bytes,
                                                settings.copy_bandwidth)),
        storage_(std::shared_ptr<StorageBackend>(blocks_)) {
    for (std::uint64_t slot = 0; slot < part.blocks; ++slot) {
      const Destination to = pattern.destination(part, slot);
      ranks_.push_back(to.rank);
      addresses_.push_back({to.rank, to.slot});
      blocks_->set_identity(slot, identity(part.rank, slot));
    }
  }

  [[nodiscard]] Json measure(const std::string& method) {
    try {
      return measured(method);
    } catch (const Error& error) {  // of all ranks alike
      return {{"refused", error.what()}};
    }
  }

 private:
  [[nodiscard]] Json measured(const std::string& method) {
    if (method.starts_with(of_objects)) return measured_objects(method.substr(of_objects.size()));
    const Options options = options_of(settings_, method);
    static_cast<void>(plan(options));  // makes what is kept with the communicator
    std::unique_ptr<Plan> plan_again;
    const double plan_seconds = timed([&] { plan_again = std::make_unique<Plan>(plan(options)); });
    Report report;
    const double seconds = timed([&] { report = execute(*plan_again, storage_); });
    report = summed_over_ranks(report, MPI_COMM_WORLD);
    return {{"plan_seconds", plan_seconds},
            {"seconds", seconds},
            {"exchange_seconds", report.exchange_seconds},
            {"local_seconds", report.local_seconds},
            {"copy_seconds", slowest(blocks_->copy_seconds())},
            {"bytes_sent", report.bytes_sent},
            {"messages", report.messages},
            {"credits", report.credits},
            {"misplaced", report.misplaced},
            {"phases", report.phases},
            {"neighbours", report.neighbours},
            {"peak_extra_bytes", report.peak_extra_bytes},
            {"budget_bytes", report.budget_bytes},
            {"verified", is_right(report)}};
  }

  /// Of each object only its identity is packed; copies of the whole are charged.
  [[nodiscard]] Json measured_objects(const std::string& method) {
    std::uint64_t wrong = 0;
    const auto charge = [&] { charge_copy(settings_.block_bytes, settings_.copy_bandwidth); };
    const ObjectFunctions functions{
        .size = [&](std::uint64_t) { return settings_.block_bytes; },
        .pack =
            [&](std::uint64_t object, std::span<std::byte> packed) {
              charge();
              const std::uint64_t name = identity(part_.rank, object);
              std::memcpy(packed.data(), &name, sizeof name);
            },
        .unpack =
            [&](int source, std::span<const std::byte> packed) {
              charge();
              std::uint64_t name = 0;
              std::memcpy(&name, packed.data(), sizeof name);
              const Part from = pattern_.part(source, part_.ranks, settings_.slots, settings_.free);
              const bool is_from =
                  (name - 1) / settings_.slots == static_cast<std::uint64_t>(source);
              const bool is_here =
                  pattern_.destination(from, (name - 1) % settings_.slots).rank == part_.rank;
              if (!is_from || !is_here) ++wrong;
            },
        .left = {}};
    Report report;
    const double seconds = timed([&] {
      report = migrate_objects(MPI_COMM_WORLD, ranks_.size(), ranks_, functions,
                               options_of(settings_, method));
    });
    std::uint64_t all_wrong = 0;
    MPI_Allreduce(&wrong, &all_wrong, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    report = summed_over_ranks(report, MPI_COMM_WORLD);
    return {{"seconds", seconds},
            {"messages", report.messages},
            {"phases", report.phases},
            {"peak_extra_bytes", report.peak_extra_bytes},
            {"verified", all_wrong == 0 && report.blocks_after == report.blocks_before}};
  }

  [[nodiscard]] std::uint64_t identity(int rank, std::uint64_t slot) const {
    return static_cast<std::uint64_t>(rank) * settings_.slots + slot + 1;
  }

  [[nodiscard]] Plan plan(const Options& options) const {
    if (settings_.to_slots)
      return plan_to_slots(MPI_COMM_WORLD, storage_, part_.blocks, addresses_, options);
    return plan_to_ranks(MPI_COMM_WORLD, storage_, part_.blocks, ranks_, options);
  }

  /// Every block is where the map wants it, and none is there twice. Collective.
  [[nodiscard]] bool is_right(const Report& all) const {
    std::uint64_t right = 0;
    std::vector<std::uint64_t> seen;
    for (std::uint64_t slot = 0; slot < settings_.slots; ++slot) {
      const std::uint64_t found = blocks_->identity(slot);
      if (found == 0 || !belongs(found - 1, slot)) continue;
      seen.push_back(found);
    }
    std::ranges::sort(seen);
    right = static_cast<std::uint64_t>(std::ranges::unique(seen).begin() - seen.begin());
    std::uint64_t sum = 0;
    MPI_Allreduce(&right, &sum, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    return sum == all.blocks_after && all.blocks_after == all.blocks_before;
  }

  [[nodiscard]] bool belongs(std::uint64_t index, std::uint64_t slot) const {
    const Part source = pattern_.part(static_cast<int>(index / settings_.slots), part_.ranks,
                                      settings_.slots, settings_.free);
    const Destination to = pattern_.destination(source, index % settings_.slots);
    return to.rank == part_.rank && (!settings_.to_slots || to.slot == slot);
  }

  const Settings& settings_;
  const Pattern& pattern_;
  Part part_;
  std::shared_ptr<ChargedBlocks> blocks_;
  BlockStorage storage_;
  std::vector<int> ranks_;
  std::vector<Address> addresses_;
};

Json measure_peer(const Settings& settings, const Pattern& pattern, const Part& part) {
  Peer peer(pattern, part, settings.block_bytes, settings.copy_bandwidth);
  const double seconds = timed([&] { peer.exchange(); });
  return {{"algorithm", settings.algorithm}, {"seconds", seconds}};
}

void run(const Settings& settings) {
  int rank = 0, ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const FoldedMemory memory(settings.block_bytes,
                            std::ranges::none_of(settings.methods, has_pieces));
  two_reductions_and_a_barrier();  // the first messages are later than those that follow
  for (const std::string& name : settings.patterns) {
    const Pattern pattern(name);
    const Part part = pattern.part(rank, ranks, settings.slots, settings.free);
    for (const std::string& method : settings.methods) {
      const double collectives = two_reductions_and_a_barrier();
      Json row{{"platform", settings.platform},
               {"ranks", ranks},
               {"pattern", name},
               {"method", method},
               {"slots", settings.slots},
               {"free", settings.free},
               {"block_bytes", settings.block_bytes},
               {"collectives_seconds", collectives}};
      row.update(method == "alltoallv" ? measure_peer(settings, pattern, part)
                                       : Migration(settings, pattern, part).measure(method));
      if (rank == 0) {
        std::puts(row.dump().c_str());
        std::fflush(stdout);
      }
    }
  }
}

}  // namespace
}  // namespace valet::scale

__attribute__((visibility("default"))) int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int code = 0;
  try {
    valet::scale::run(valet::scale::parse(argc, argv));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    code = 1;
    MPI_Abort(MPI_COMM_WORLD, code);
  }
  MPI_Finalize();
  return code;
}
