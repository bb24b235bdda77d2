// SPDX-License-Identifier: BSD-3-Clause

// The four cases of Zhuang, Nakashima, Nagamochi 4: elements of 16 bytes between all ranks inside
// one buffer, beside MPI_Alltoallv into a second one; and their Table 1.

#include "commands.hpp"
#include "common_options.hpp"
#include "comparison.hpp"
#include "measure.hpp"
#include "output.hpp"
#include "swaps.hpp"
#include <valet/valet.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <vector>

namespace valet::bench {
namespace {

struct Settings {
  std::vector<int> cases{1, 2, 3, 4};
  std::vector<std::string> methods{"stream", "bitonic", "pairwise"};
  std::string bytes = "64M";
  std::string memory = "4M";
  bool any_order = false;
  bool share_memory = true;
  int repeat = 5;
  std::string json;
};

/// An element names its source, its destination and its place in between.
struct Element {
  std::uint64_t pair = 0;
  std::uint64_t number = 0;
  [[nodiscard]] bool operator==(const Element&) const = default;
};

/// Elements from rank i to rank j of `ranks`, when each rank has `elements`, a multiple of 4*ranks.
/// The last entry of cases 2 and 3 is what makes the paper's counts add up to all elements.
std::uint64_t count_of(int paper_case, int i, int j, int ranks, std::uint64_t elements) {
  const int distance = (j - i + ranks) % ranks;
  const std::uint64_t share = elements / static_cast<std::uint64_t>(ranks);
  const bool last = distance == ranks - 1;
  switch (paper_case) {
    case 1: return share;
    case 2: return 4 * distance < ranks ? 0 : share + (last ? elements / 4 : 0);
    case 3: return 2 * distance < ranks ? 0 : share + (last ? elements / 2 : 0);
    default: return last ? elements : 0;
  }
}

/// One rank's elements and the ways to bring them to their ranks.
class Comparison {
 public:
  Comparison(const Settings& settings, int paper_case, AlltoallMethod method)
      : settings_(settings),
        case_(paper_case),
        method_(method),
        ranks_(world_size()),
        rank_(world_rank()) {
    const std::uint64_t unit = 4 * static_cast<std::uint64_t>(ranks_);
    elements_ = parse_bytes(settings.bytes) / sizeof(Element) / unit * unit;
    for (int j = 0; j < ranks_; ++j) {
      send_.push_back(static_cast<std::int64_t>(count_of(case_, rank_, j, ranks_, elements_)));
      recv_.push_back(static_cast<std::int64_t>(count_of(case_, j, rank_, ranks_, elements_)));
    }
    peer_ = std::make_unique<Alltoallv>(std::vector<std::uint64_t>(send_.begin(), send_.end()),
                                        sizeof(Element));
    memory_.resize(elements_);
  }

  void fill() {
    for_each(send_,
             [&](std::size_t at, int j, std::uint64_t k) { memory_[at] = element(rank_, j, k); });
  }

  double run_valet() {
    AlltoallOptions options;
    options.budget_bytes = parse_bytes(settings_.memory);
    options.any_order = settings_.any_order;
    options.share_memory = settings_.share_memory;
    options.method = method_;
    return slowest_seconds([&] {
      report_ = alltoallv_in_place(
          MPI_COMM_WORLD, {memory_.data(), memory_.size() * sizeof(Element), sizeof(Element)},
          send_, recv_, options);
    });
  }
  double run_warm() {
    if (second_.empty()) {
      second_.resize(elements_);
      peer_->run(memory_.data(), second_.data());
    }
    return slowest_seconds([&] { peer_->run(memory_.data(), second_.data()); });
  }
  double run_cold() {
    return slowest_seconds([&] {
      const auto second = std::make_unique_for_overwrite<std::byte[]>(elements_ * sizeof(Element));
      peer_->run(memory_.data(), second.get());
    });
  }

  [[nodiscard]] bool verified() const {
    bool good = true;
    if (settings_.any_order && report_.method == "stream") return on_all_ranks(same_elements());
    for_each(recv_, [&](std::size_t at, int i, std::uint64_t k) {
      good = good && memory_[at] == element(i, rank_, k);
    });
    return on_all_ranks(good);
  }
  [[nodiscard]] Report report() const { return summed_over_ranks(report_, MPI_COMM_WORLD); }
  /// Swaps of the last run; 0 for a method without them.
  double swap_bandwidth() {
    const AlltoallMethod used = parse_alltoall_method(report_.method);
    if (used == AlltoallMethod::stream) return 0;
    return swap_bandwidth_ratio(used, report_, std::as_bytes(std::span(memory_)),
                                std::as_writable_bytes(std::span(second_)), settings_.repeat);
  }

 private:
  [[nodiscard]] Element element(int i, int j, std::uint64_t k) const {
    return {static_cast<std::uint64_t>(i) * static_cast<std::uint64_t>(ranks_) +
                static_cast<std::uint64_t>(j),
            k};
  }
  template <class Action>
  static void for_each(const std::vector<std::int64_t>& counts, Action&& action) {
    std::size_t at = 0;
    for (std::size_t r = 0; r < counts.size(); ++r)
      for (std::uint64_t k = 0; k < static_cast<std::uint64_t>(counts[r]); ++k, ++at)
        action(at, static_cast<int>(r), k);
  }
  /// Whether the elements that belong here are here, each once.
  [[nodiscard]] bool same_elements() const {
    std::vector<std::vector<bool>> seen;
    for (const std::int64_t count : recv_) seen.emplace_back(count, false);
    for (const Element& each : memory_) {
      const auto i = static_cast<std::size_t>(each.pair) / static_cast<std::size_t>(ranks_);
      if (i >= seen.size() || each.number >= seen[i].size() || seen[i][each.number]) return false;
      if (each != element(static_cast<int>(i), rank_, each.number)) return false;
      seen[i][each.number] = true;
    }
    return true;
  }

  const Settings& settings_;
  int case_;
  AlltoallMethod method_;
  int ranks_, rank_;
  std::uint64_t elements_ = 0;
  std::vector<std::int64_t> send_, recv_;
  std::unique_ptr<Alltoallv> peer_;
  std::vector<Element> memory_, second_;
  Report report_;
};

/// The paper defines cases 2 and 3 from four ranks on.
bool is_defined(int paper_case) {
  return (paper_case != 2 && paper_case != 3) || world_size() >= 4;
}

Case measure(const Settings& settings, int paper_case, const std::string& method,
             Progress& progress, bool& failed) {
  Comparison comparison(settings, paper_case, parse_alltoall_method(method));
  Case row = {{"case", paper_case},
              {"method", method},
              {"used", ""},
              {"order", settings.any_order ? "any" : "kept"},
              {"ranks", world_size()},
              {"bytes", parse_bytes(settings.bytes)},
              {"memory", parse_bytes(settings.memory)}};
  measure_in_turn(comparison, settings.repeat, progress, row, failed);
  const Report report = comparison.report();
  row["used"] = report.method;
  row["swaps"] = report.swaps;
  row["swap_bandwidth_ratio"] = comparison.swap_bandwidth();
  row["seconds_alltoallv"] = row["seconds_median"].get<double>() / row["ratio_warm"].get<double>();
  return row;
}

/// As Table 1 of the paper: seconds, a column for each case of each method. What MPI_Alltoallv took
/// is that of the first method's turn.
void print_seconds(const Settings& settings, const std::vector<Case>& rows) {
  if (world_rank() != 0) return;
  std::vector<std::string> columns = settings.methods;
  columns.emplace_back("MPI_Alltoallv");
  const auto find = [&](const std::string& method, int paper_case) {
    return std::find_if(rows.begin(), rows.end(), [&](const Case& row) {
      return row["case"] == paper_case && row["method"] == method;
    });
  };
  const int width = 9 * static_cast<int>(settings.cases.size());
  std::printf("\nExecution time in seconds\n%5s", "");
  for (const std::string& column : columns) std::printf(" |%*s", width, column.c_str());
  std::printf("\n%5s", "#proc");
  for (std::size_t k = 0; k < columns.size(); ++k) {
    std::printf(" |");
    for (const int paper_case : settings.cases) std::printf("   case-%d", paper_case);
  }
  std::printf("\n%5d", world_size());
  for (const std::string& column : columns) {
    std::printf(" |");
    const bool is_peer = &column == &columns.back();
    for (const int paper_case : settings.cases) {
      const auto row = find(is_peer ? columns.front() : column, paper_case);
      if (row == rows.end())
        std::printf("%9s", "-");
      else
        std::printf("%9.4f",
                    (*row)[is_peer ? "seconds_alltoallv" : "seconds_median"].get<double>());
    }
  }
  std::printf("\n");
  std::fflush(stdout);
}

void run(const Settings& settings, bool& failed) {
  for (const std::string& method : settings.methods)
    static_cast<void>(parse_alltoall_method(method));
  const auto cases = static_cast<std::size_t>(
      std::count_if(settings.cases.begin(), settings.cases.end(), is_defined));
  Progress progress("measuring", cases * settings.methods.size() *
                                     (static_cast<std::size_t>(settings.repeat) + 1));
  std::vector<Case> rows;
  for (const int paper_case : settings.cases)
    for (const std::string& method : settings.methods)
      if (is_defined(paper_case))
        rows.push_back(measure(settings, paper_case, method, progress, failed));
  print_table(rows);
  print_seconds(settings, rows);
  write_json(settings.json, rows);
}

}  // namespace

void add_alltoall_command(CLI::App& app, bool& failed) {
  auto settings = std::make_shared<Settings>();
  CLI::App* const command = app.add_subcommand(
      "alltoall",
      "Elements of 16 bytes between all ranks inside one buffer, beside MPI_Alltoallv into a "
      "second buffer (ratio_warm) and into freshly allocated memory (ratio_cold)");
  command
      ->add_option("--case", settings->cases,
                   "1: even, 2 and 3: three quarters and a half of the pairs (4 ranks or more), 4: "
                   "all to one rank")
      ->check(CLI::Range(1, 4))
      ->delimiter(',');
  command
      ->add_option("--method", settings->methods,
                   "auto, stream, alltoall, bitonic, pairwise; several separated by commas")
      ->delimiter(',')
      ->capture_default_str();
  command->add_option("--bytes", settings->bytes, "bytes per rank, with K, M or G")
      ->capture_default_str();
  add_budget_option(*command, settings->memory);
  command->add_flag("--any-order", settings->any_order, "let elements end in any order");
  add_sharing_flag(*command, settings->share_memory);
  add_repeat_option(*command, settings->repeat);
  add_json_option(*command, settings->json);
  command->callback([settings, &failed] { run(*settings, failed); });
}

}  // namespace valet::bench
