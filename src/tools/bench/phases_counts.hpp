// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// The schedules of an experiment in numbers, without data: for more processors than there are
/// ranks.

#include "output.hpp"
#include "phases_instance.hpp"
#include <valet/options.hpp>

#include <cstdint>
#include <vector>

namespace valet::bench {

/// A way to make phases.
struct Phasing {
  Heuristic heuristic = Heuristic::first_fit;
  int parking = 0;
};

/// What Experiments 3 and 4 compare.
[[nodiscard]] std::vector<Phasing> phasings_of(int experiment);
[[nodiscard]] std::string name_of(const Phasing& phasing);

/// Memory of a processor beyond what it needs in the end, if it is one `part`th of what one phase
/// needs; at least one block.
[[nodiscard]] std::uint64_t memory_of(const Instance& instance, std::uint64_t part);

/// A row for every kind of instance, number of parts, memory and way to make phases: means over the
/// instances, with the standard deviation and the extremes of the phases, and the bounds. Local.
/// Keys: experiment, remap, parts, part, method, instances, phases, phases_deviation, phases_least,
/// phases_most, messages and volume (over those of one phase), waited (over the volume), lower,
/// upper.
[[nodiscard]] std::vector<Case> count_schedules(int experiment,
                                                const std::vector<Instance>& instances,
                                                const std::vector<std::uint64_t>& parts_of_memory);

/// Prints phases, a line for each way to make them and a column for each memory.
void print_schedules(const std::vector<Case>& schedules);

}  // namespace valet::bench
