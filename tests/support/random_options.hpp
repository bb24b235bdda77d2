// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Random options that every rank draws alike, and how a failure names them.

#include "random_maps.hpp"
#include "schedule/methods.hpp"
#include <valet/valet.hpp>

#include <array>
#include <cstdint>
#include <random>
#include <string>

namespace valet::test {

#define VALET_LISTED(C, name) Method::name,
inline constexpr std::array all_methods{VALET_METHODS(VALET_LISTED) Method::automatic};
#undef VALET_LISTED

/// Blocks of budget of a rank: one block in a quarter of all cases. In every third case each rank
/// has a number of its own, so that some ranks can share memory with others and some cannot.
inline std::size_t random_budget_blocks(std::mt19937_64& random, int self) {
  constexpr std::array<std::size_t, 8> budgets{1, 1, 2, 3, 8, 40, 200, 5000};
  const std::uint64_t choice = pick(random, 0, budgets.size() - 1);
  const std::uint64_t stride = pick(random, 0, 2) == 0 ? pick(random, 1, budgets.size() - 1) : 0;
  return budgets[(choice + stride * static_cast<std::uint64_t>(self)) % budgets.size()];
}

/// Any of the many ways of the phased method.
inline void choose_phases(std::mt19937_64& random, Options& options) {
  options.phased.heuristic = all_heuristics()[pick(random, 0, all_heuristics().size() - 1)];
  options.phased.scheduler =
      pick(random, 0, 2) == 0 ? Scheduler::centralized : Scheduler::distributed;
  options.phased.parking = static_cast<int>(pick(random, 0, 3));
  options.phased.seed = random();
}

inline std::string describe(const Options& options) {
  std::string text = std::string(to_string(options.method)) + ", order " +
                     to_string(options.order) + ", budget " + std::to_string(options.budget_bytes) +
                     (options.share_memory ? "" : ", not shared") +
                     (options.verify ? ", verified" : "");
  if (options.method == Method::phased)
    text += std::string(", ") + to_string(options.phased.heuristic) + ", " +
            to_string(options.phased.scheduler) + ", parking " +
            std::to_string(options.phased.parking);
  return text;
}

}  // namespace valet::test
