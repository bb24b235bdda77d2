// SPDX-License-Identifier: BSD-3-Clause
#include "commands.hpp"
#include "common_options.hpp"
#include "dropin_client.hpp"
#include "measure.hpp"
#include "output.hpp"
#include <valet/options.hpp>

#include <malloc.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <sys/mman.h>

namespace valet::bench {
namespace {

struct Settings {
  std::vector<std::string> object_bytes{"1K", "64K"};
  std::string data = "256M";
  std::string memory = "4M";
  bool multi = false;
  int repeat = 5;
  std::string json;
};

/// A line of /proc/self/status in bytes; 0 where the system has none.
std::uint64_t status_bytes(const std::string& key) {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);)
    if (line.rfind(key + ":", 0) == 0) return std::stoull(line.substr(key.size() + 1)) * 1024;
  return 0;
}

/// What the process grows by at its peak.
class PeakMemory {
 public:
  PeakMemory() {
    malloc_trim(0);
    // 5 sets the peak to what is resident now.
    std::ofstream("/proc/self/clear_refs") << "5";
    before_ = status_bytes("VmRSS");
  }
  [[nodiscard]] std::uint64_t grown() const {
    const std::uint64_t peak = status_bytes("VmHWM");
    return peak - std::min(peak, before_);
  }

 private:
  std::uint64_t before_;
};

/// Takes fresh memory from the system, writes to it and gives it back. A virtual machine may return
/// free memory to its host and pay milliseconds for each large page that it asks back; all modes
/// shall begin with memory that is at hand, whatever ran before them.
void bring_in_memory(std::size_t bytes) {
  void* const memory =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return;
  madvise(memory, bytes, MADV_HUGEPAGE);
  constexpr std::size_t page = 4096;
  for (std::size_t k = 0; k < bytes; k += page) static_cast<volatile char*>(memory)[k] = 1;
  munmap(memory, bytes);
}

struct Mode {
  const char* name;
  std::vector<double> seconds;
  std::uint64_t peak = 0;
  bool verified = true;
};

std::uint64_t most_of_ranks(std::uint64_t value) {
  std::uint64_t most = 0;
  MPI_Allreduce(&value, &most, 1, MPI_UINT64_T, MPI_MAX, MPI_COMM_WORLD);
  return most;
}

void run_mode(Mode& mode, DropinClient& client, const Settings& settings, bool counts) {
  client.fill();
  // Stock Zoltan takes somewhat more than twice what moves.
  bring_in_memory(parse_bytes(settings.data) / 2 * 5);
  const PeakMemory memory;
  int code = ZOLTAN_OK;
  const double seconds =
      slowest_seconds([&] { code = client.migrate(mode.name, settings.memory); });
  const std::uint64_t grown = most_of_ranks(memory.grown());
  mode.verified = client.verified() && on_all_ranks(code == ZOLTAN_OK) && mode.verified;
  if (!counts) return;
  mode.seconds.push_back(seconds);
  mode.peak = std::max(mode.peak, grown);
}

void measure(const Settings& settings, const std::string& object_bytes, std::vector<Case>& cases,
             Progress& progress, bool& failed) {
  const std::size_t bytes = parse_bytes(object_bytes);
  if (bytes % sizeof(std::uint64_t) != 0)
    throw std::invalid_argument("objects of " + object_bytes + ": give a multiple of 8 bytes");
  DropinClient client(std::max<std::size_t>(1, parse_bytes(settings.data) / bytes), bytes,
                      settings.multi);
  std::array<Mode, 3> modes{
      {{"ZOLTAN", {}, 0, true}, {"HOLD", {}, 0, true}, {"STEPS", {}, 0, true}}};
  for (int k = 0; k <= settings.repeat; ++k) {
    for (Mode& mode : modes) run_mode(mode, client, settings, k > 0);
    progress.step();
  }
  const double stock = median(modes[0].seconds);
  for (const Mode& mode : modes) {
    failed = failed || !mode.verified;
    cases.push_back({{"mode", mode.name},
                     {"ranks", world_size()},
                     {"object_bytes", bytes},
                     {"data_bytes", parse_bytes(settings.data)},
                     {"memory", parse_bytes(settings.memory)},
                     {"seconds_median", median(mode.seconds)},
                     {"ratio_stock", median(mode.seconds) / stock},
                     {"peak_extra_bytes", mode.peak},
                     {"stock_peak_extra_bytes", modes[0].peak},
                     {"verified", mode.verified}});
  }
}

void run(const Settings& settings, bool& failed) {
  float version = 0;
  if (Zoltan_Initialize(0, nullptr, &version) != ZOLTAN_OK)
    throw std::runtime_error("Zoltan cannot be initialised");
  std::vector<Case> cases;
  {
    Progress progress("measuring", settings.object_bytes.size() *
                                       (static_cast<std::size_t>(settings.repeat) + 1));
    for (const std::string& bytes : settings.object_bytes)
      measure(settings, bytes, cases, progress, failed);
  }
  print_table(cases);
  write_json(settings.json, cases);
}

}  // namespace

void add_dropin_command(CLI::App& app, bool& failed) {
  auto settings = std::make_shared<Settings>();
  CLI::App* const command = app.add_subcommand(
      "dropin",
      "Zoltan_Migrate of objects that all leave: stock, and with Valet's HOLD and STEPS; time and "
      "growth of the process");
  command->add_option("--object", settings->object_bytes, "bytes of an object, with K or M")
      ->delimiter(',')
      ->capture_default_str();
  command->add_option("--data", settings->data, "bytes of objects per rank, with K, M or G")
      ->capture_default_str();
  command->add_option("--memory", settings->memory, "MIGRATE_MEMORY, with K, M or G")
      ->capture_default_str();
  command->add_flag("--multi", settings->multi, "register the multi forms of the callbacks");
  add_repeat_option(*command, settings->repeat);
  add_json_option(*command, settings->json);
  command->callback([settings, &failed] { run(*settings, failed); });
}

}  // namespace valet::bench
