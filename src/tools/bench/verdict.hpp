// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// What follows from the memory and the times of two ways to do the same.

#include "tools/errors.hpp"
#include "tools/output.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

namespace valet::bench {

/// What was measured of one of them: peak memory of a rank, and seconds of each round.
struct Measured {
  std::uint64_t peak_extra_bytes;
  std::vector<double> seconds;
};

/// The time of one way over that of the other, round by round, in order; they took turns, so that
/// what else the machine did is in both.
struct Ratios {
  double lower, middle, upper;  ///< quartiles
};

/// @param a, b  As many rounds of each, one at least.
[[nodiscard]] inline Ratios ratios_of(const Measured& a, const Measured& b) {
  std::vector<double> ratios(a.seconds.size());
  std::ranges::transform(a.seconds, b.seconds, ratios.begin(),
                         [](double one, double other) { return one / other; });
  std::ranges::sort(ratios);
  const std::size_t last = ratios.size() - 1;
  return {ratios[last / 4], ratios[last / 2], ratios[last - last / 4]};
}

/// Whether moving blocks in place pays, beside moving them out of place.
struct Verdict {
  bool saves_memory = false;
  bool is_faster = false, is_slower = false;  ///< neither: the rounds do not agree on it
  Ratios ratios{};
  std::string text;  ///< such as "pays in memory and costs time: ..."
};

/// A ratio with one digit behind the point.
[[nodiscard]] inline std::string times(double ratio) {
  const auto tenths = std::lround(ratio * 10);
  return joined(tenths / 10, ".", tenths % 10);
}

/// Such as "35 % more time".
[[nodiscard]] inline std::string said_of_time(const Verdict& verdict) {
  const double ratio = verdict.ratios.middle;
  if (!verdict.is_faster && !verdict.is_slower)
    return "rounds take " + times(verdict.ratios.lower) + " to " + times(verdict.ratios.upper) +
           " times the time";
  if (ratio >= 2) return times(ratio) + " times the time";
  return joined(std::lround(std::abs(ratio - 1) * 100), " % ", ratio > 1 ? "more" : "less",
                " time");
}

/// @param budget_bytes  What a rank may take for moving in any case: buffers that are no larger are
///                      no reason to move in place.
[[nodiscard]] inline Verdict verdict_of(const Measured& in_place, const Measured& out_of_place,
                                        std::uint64_t budget_bytes) {
  Verdict verdict;
  const std::uint64_t taken = in_place.peak_extra_bytes, most = out_of_place.peak_extra_bytes;
  verdict.ratios = ratios_of(in_place, out_of_place);
  verdict.saves_memory = taken < most && most > budget_bytes;
  verdict.is_faster = verdict.ratios.upper < 1;
  verdict.is_slower = verdict.ratios.lower > 1;
  const std::string instead_of = tools::readable_bytes(most);
  const std::string memory =
      taken < most ? "saves " + tools::readable_bytes(most - taken) + " of " + instead_of
                   : "takes " + tools::readable_bytes(taken) + " in place of " + instead_of;
  const char* const pays = verdict.saves_memory && verdict.is_faster ? "pays in memory and time"
                           : verdict.saves_memory && verdict.is_slower
                               ? "pays in memory and costs time"
                           : verdict.saves_memory ? "pays in memory"
                           : verdict.is_faster    ? "pays in time alone"
                                                  : "does not pay";
  verdict.text =
      joined(pays, ": ", memory, " a rank", most > budget_bytes ? "" : ", within --memory", "; ",
             said_of_time(verdict));
  return verdict;
}

}  // namespace valet::bench
