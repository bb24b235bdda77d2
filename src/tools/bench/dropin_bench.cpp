// SPDX-License-Identifier: BSD-3-Clause
#include "benchmark.hpp"
#include "dropin_client.hpp"
#include "peak_memory.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <stdexcept>
#include <sys/mman.h>

namespace valet::bench {
namespace {

/// Takes fresh memory from the system, writes to it and gives it back. A virtual machine may return
/// free memory to its host and pay milliseconds for each large page that it asks back; all modes
/// shall begin with memory that is at hand, whatever ran before them.
void bring_in_memory(std::size_t bytes) {
  void* const memory =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return;
  madvise(memory, bytes, MADV_HUGEPAGE);
  for (std::size_t k = 0; k < bytes; k += static_cast<std::size_t>(page))
    static_cast<volatile char*>(memory)[k] = 1;
  munmap(memory, bytes);
}

class DropinBenchmark final : public Benchmark {
  using Benchmark::Benchmark;

  Jobs jobs() override {
    float version = 0;
    if (Zoltan_Initialize(0, nullptr, &version) != ZOLTAN_OK)
      throw std::runtime_error("Zoltan cannot be initialised");
    return jobs_of([this](const auto&... of) { measure(of...); }, data_bytes_, object_bytes_);
  }

  /// @param grown  What the process grew by at most, in all runs but the first; for Valet what it
  ///               counted itself where that is more, because it keeps memory between the runs.
  Outcome run_mode(const std::string& mode, DropinClient& client, std::size_t data,
                   std::optional<std::uint64_t>& grown) {
    client.fill();
    // Stock Zoltan takes somewhat more than twice what moves.
    bring_in_memory(data / 2 * 5);
    const PeakMemory memory;
    int code = ZOLTAN_OK;
    const double seconds = slowest_seconds([&] { code = client.migrate(mode, memory_); });
    const std::uint64_t counted = mode == "ZOLTAN" ? 0 : client.report().peak_extra_bytes;
    const std::uint64_t most = largest_of_ranks(std::max(memory.grown(), counted));
    grown = grown ? std::max(*grown, most) : 0;
    return {seconds, client.verified() && on_all_ranks(code == ZOLTAN_OK)};
  }

  void measure(const std::string& data_bytes, const std::string& object_bytes) {
    const std::size_t data = parse_bytes(data_bytes);
    const std::size_t bytes = parse_bytes(object_bytes);
    if (bytes % sizeof(std::uint64_t) != 0)
      throw std::invalid_argument("objects of " + object_bytes + ": give a multiple of 8 bytes");
    DropinClient client(std::max<std::size_t>(1, data / bytes), bytes, multi_);
    constexpr std::array modes{"ZOLTAN", "HOLD", "STEPS"};
    std::array<std::optional<std::uint64_t>, modes.size()> grown;
    std::vector<Series> all;
    all.reserve(modes.size());
    for (std::size_t m = 0; m < modes.size(); ++m)
      all.push_back({modes[m], [&, m] { return run_mode(modes[m], client, data, grown[m]); }});
    take_turns(all);
    for (std::size_t m = 0; m < modes.size(); ++m)
      rows_.push_back({{"mode", all[m].name},
                       {"ranks", world_size()},
                       {"object_bytes", bytes},
                       {"data_bytes", data},
                       {"memory", parse_bytes(memory_)},
                       {"seconds_median", all[m].median()},
                       {"ratio_stock", all[m].median() / all[0].median()},
                       {"peak_extra_bytes", *grown[m]},
                       {"verified", all[m].verified}});
  }

  Texts& object_bytes_ = option<Texts>("--object", {"1K", "64K"},
                                       "bytes per object (suffix K or M allowed; comma-separated)");
  Texts& data_bytes_ = option<Texts>(
      "--data", {"256M"}, "bytes of objects per rank (suffix K, M or G allowed; comma-separated)");
  Text& memory_ =
      option<Text>("--memory", "4M", "value of MIGRATE_MEMORY in bytes (suffix K, M or G allowed)");
  bool& multi_ = option("--multi", false, "register the multi-object forms of the callbacks");
};

}  // namespace

std::unique_ptr<Benchmark> make_dropin_benchmark() {
  return std::make_unique<DropinBenchmark>(
      "dropin",
      "Zoltan_Migrate of objects that all leave their rank. Compares the time and the memory "
      "growth of stock Zoltan, HOLD and STEPS",
      5, CommonOptions{.memory = nullptr, .can_share = false});
}

}  // namespace valet::bench
