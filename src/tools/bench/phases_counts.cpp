// SPDX-License-Identifier: BSD-3-Clause
#include "phases_counts.hpp"

#include "measure.hpp"
#include "schedule/phase_schedule.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <string>
#include <tuple>

namespace valet::bench {
namespace {

/// Mean and deviation of numbers that are given one by one.
class Statistics {
 public:
  void add(double value) {
    sum_ += value;
    squares_ += value * value;
    least_ = count_ == 0 ? value : std::min(least_, value);
    most_ = count_ == 0 ? value : std::max(most_, value);
    ++count_;
  }
  [[nodiscard]] double mean() const { return count_ == 0 ? 0 : sum_ / count_; }
  [[nodiscard]] double deviation() const {
    return count_ < 2 ? 0 : std::sqrt(std::max(0.0, squares_ - sum_ * mean()) / (count_ - 1));
  }
  [[nodiscard]] double least() const { return least_; }
  [[nodiscard]] double most() const { return most_; }
  [[nodiscard]] int count() const { return count_; }

 private:
  double sum_ = 0;
  double squares_ = 0;
  double least_ = 0;
  double most_ = 0;
  int count_ = 0;
};

struct Counted {
  Statistics phases, messages, volume, waited, lower, upper;

  void add(const schedule::TransferMatrix& matrix, const std::vector<std::uint64_t>& free,
           const Phasing& phasing, std::uint64_t seed) {
    if (matrix.volume() == 0) return;  // the partition was balanced already
    const schedule::PhaseCounts counts = schedule::count_phases(
        matrix, free, {phasing.heuristic, static_cast<std::uint64_t>(phasing.parking), seed});
    std::uint64_t all_free = 0;
    for (const std::uint64_t blocks : free) all_free += blocks;
    const schedule::PhaseBounds bounds = schedule::phase_bounds(matrix.volume(), all_free);
    const auto volume_of_one = static_cast<double>(matrix.volume());
    phases.add(static_cast<double>(counts.phases));
    messages.add(static_cast<double>(counts.messages) /
                 static_cast<double>(matrix.transfers().size()));
    volume.add(static_cast<double>(counts.volume) / volume_of_one);
    waited.add(static_cast<double>(counts.detours) / volume_of_one);
    lower.add(static_cast<double>(bounds.lower));
    upper.add(static_cast<double>(bounds.upper));
  }
};

}  // namespace

std::vector<Phasing> phasings_of(int experiment) {
  std::vector<Phasing> phasings;
  if (experiment == 3)
    for (const Heuristic heuristic : all_heuristics()) phasings.push_back({heuristic, 0});
  if (experiment == 4)
    for (const Heuristic heuristic : {Heuristic::fortune_wheel, Heuristic::first_fit})
      for (const int parking : {0, 1, 2, 3}) phasings.push_back({heuristic, parking});
  return phasings;
}

std::string name_of(const Phasing& phasing) {
  std::string name = to_string(phasing.heuristic);
  if (phasing.parking > 0) name += "-parking" + std::to_string(phasing.parking);
  return name;
}

std::uint64_t memory_of(const Instance& instance, std::uint64_t part) {
  return std::max<std::uint64_t>(1, (instance.most_received() + part - 1) / part);
}

std::vector<Case> count_schedules(int experiment, const std::vector<Instance>& instances,
                                  const std::vector<std::uint64_t>& parts_of_memory) {
  const std::vector<Phasing> phasings = phasings_of(experiment);
  using Group = std::tuple<std::string, int, std::size_t, std::size_t>;
  std::map<Group, Counted> groups;
  for (const Instance& instance : instances) {
    const schedule::TransferMatrix matrix = instance.matrix();
    for (std::size_t m = 0; m < parts_of_memory.size(); ++m) {
      const std::vector<std::uint64_t> free =
          instance.free(memory_of(instance, parts_of_memory[m]));
      for (std::size_t p = 0; p < phasings.size(); ++p)
        groups[{instance.remap, instance.parts, m, p}].add(matrix, free, phasings[p],
                                                           1 + instance.number);
    }
  }
  std::vector<Case> rows;
  for (const auto& [group, counted] : groups) {
    const auto& [remap, parts, m, p] = group;
    rows.push_back({{"experiment", experiment},
                    {"remap", remap},
                    {"parts", parts},
                    {"part", parts_of_memory[m]},
                    {"method", name_of(phasings[p])},
                    {"instances", counted.phases.count()},
                    {"phases", counted.phases.mean()},
                    {"phases_deviation", counted.phases.deviation()},
                    {"phases_least", counted.phases.least()},
                    {"phases_most", counted.phases.most()},
                    {"messages", counted.messages.mean()},
                    {"volume", counted.volume.mean()},
                    {"waited", counted.waited.mean()},
                    {"lower", counted.lower.mean()},
                    {"upper", counted.upper.mean()}});
  }
  return rows;
}

void print_schedules(const std::vector<Case>& schedules) {
  if (schedules.empty()) return;
  // A row is a way to make phases, or a bound, of one kind of instances.
  std::vector<Case> table;
  std::map<std::tuple<int, std::string, int, std::string>, std::size_t> row_of;
  const auto enter = [&](const Case& one, const std::string& method, double phases) {
    const std::tuple key{one["experiment"].get<int>(), one["remap"].get<std::string>(),
                         one["parts"].get<int>(), method};
    const auto [found, is_new] = row_of.try_emplace(key, table.size());
    if (is_new)
      table.push_back({{"experiment", one["experiment"]},
                       {"instances", one["remap"]},
                       {"parts", one["parts"]},
                       {"phases of", method}});
    table[found->second]["1/" + one["part"].dump() + " memory"] = phases;
  };
  for (const Case& one : schedules) {
    enter(one, "ceil(T/M)", one["lower"].get<double>());
    enter(one, one["method"].get<std::string>(), one["phases"].get<double>());
  }
  for (const Case& one : schedules) enter(one, "ceil(2T/M)+1", one["upper"].get<double>());
  std::stable_sort(table.begin(), table.end(), [](const Case& a, const Case& b) {
    return std::tuple(a["experiment"].get<int>(), a["instances"].get<std::string>(),
                      a["parts"].get<int>()) < std::tuple(b["experiment"].get<int>(),
                                                          b["instances"].get<std::string>(),
                                                          b["parts"].get<int>());
  });
  if (world_rank() == 0)
    std::printf("Counted, without data; means of %d instances:\n",
                schedules.front()["instances"].get<int>());
  print_table(table);
}

}  // namespace valet::bench
