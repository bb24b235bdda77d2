// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// What a rank knows about the order of its elements. Elements carry no keys, so methods that sort
/// them keep a table of runs of consecutive elements. Pure.

#include <valet/ledger.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <tuple>

namespace valet::operations {

/// A run of elements, or of free slots, in the order of a sort: by destination, then origin, then
/// first. Free slots have destinations too and follow the elements that have the same one; they
/// take no memory.
struct ElementRun {
  std::int32_t destination = 0;
  std::int32_t origin = 0;  ///< where these elements come from, or free_slot
  std::uint64_t first = 0;  ///< among the elements of that origin; 0 for free slots
  std::uint64_t count = 0;

  [[nodiscard]] bool operator==(const ElementRun&) const = default;
};

constexpr std::int32_t free_slot = std::numeric_limits<std::int32_t>::max();

[[nodiscard]] inline bool is_free(const ElementRun& run) { return run.origin == free_slot; }
[[nodiscard]] inline bool precedes(const ElementRun& a, const ElementRun& b) {
  return std::tie(a.destination, a.origin, a.first) < std::tie(b.destination, b.origin, b.first);
}

/// A range of slots of a table: elements and free slots counted alike.
struct SlotRange {
  std::uint64_t begin = 0;
  std::uint64_t count = 0;
};

using ElementRuns = Vector<ElementRun>;

/// Calls each(run, of_first) for the runs of two sorted tables, in order.
template <class Each>
void merge_runs(std::span<const ElementRun> first, std::span<const ElementRun> second,
                Each&& each) {
  auto a = first.begin();
  auto b = second.begin();
  while (a != first.end() || b != second.end()) {
    const bool of_first = b == second.end() || (a != first.end() && !precedes(*b, *a));
    each(of_first ? *a : *b, of_first);
    ++(of_first ? a : b);
  }
}

/// Appends a run, or makes the last one longer where it continues it.
inline void append(ElementRuns& runs, const ElementRun& run) {
  if (run.count == 0) return;
  if (!runs.empty()) {
    ElementRun& last = runs.back();
    const bool same = last.destination == run.destination && last.origin == run.origin;
    if (same && (is_free(run) || last.first + last.count == run.first)) {
      last.count += run.count;
      return;
    }
  }
  runs.push_back(run);
}

/// Slots; elements among the first `slots`; all elements.
[[nodiscard]] inline std::uint64_t slots_of(std::span<const ElementRun> runs) {
  std::uint64_t slots = 0;
  for (const ElementRun& run : runs) slots += run.count;
  return slots;
}
[[nodiscard]] inline std::uint64_t elements_before(std::span<const ElementRun> runs,
                                                   std::uint64_t slots) {
  std::uint64_t elements = 0;
  for (const ElementRun& run : runs) {
    const std::uint64_t count = std::min(run.count, slots);
    if (!is_free(run)) elements += count;
    slots -= count;
    if (slots == 0) break;
  }
  return elements;
}
[[nodiscard]] inline std::uint64_t elements_of(std::span<const ElementRun> runs) {
  return elements_before(runs, std::numeric_limits<std::uint64_t>::max());
}

/// `count` slots of a run, behind the first `skip`.
[[nodiscard]] inline ElementRun part_of(const ElementRun& run, std::uint64_t skip,
                                        std::uint64_t count) {
  return {run.destination, run.origin, is_free(run) ? 0 : run.first + skip, count};
}

/// Removes the range, or everything else; two runs more at the most.
inline void remove(ElementRuns& runs, SlotRange range) {
  const std::uint64_t end = range.begin + range.count;
  std::uint64_t at = 0;
  std::size_t kept = 0;
  for (std::size_t k = 0; k < runs.size(); ++k) {
    const ElementRun run = runs[k];
    const std::uint64_t before = range.begin > at ? std::min(run.count, range.begin - at) : 0;
    const std::uint64_t behind =
        at + run.count > end ? std::min(run.count, at + run.count - end) : 0;
    at += run.count;
    if (before == run.count || behind == run.count) {
      runs[kept++] = run;
      continue;
    }
    if (before > 0) runs[kept++] = part_of(run, 0, before);
    if (behind == 0) continue;
    const ElementRun rest = part_of(run, run.count - behind, behind);
    if (kept <= k)
      runs[kept++] = rest;
    else
      runs.insert(runs.begin() + static_cast<std::ptrdiff_t>(kept++), rest), ++k;
  }
  runs.resize(kept);
}
inline void keep(ElementRuns& runs, SlotRange range) {
  remove(runs, {range.begin + range.count, std::numeric_limits<std::uint64_t>::max() / 2});
  remove(runs, {0, range.begin});
}

/// How many of the lowest `slots` slots of two tables, with `slots` each, are in `high`.
[[nodiscard]] inline std::uint64_t lowest_in_second(std::span<const ElementRun> low,
                                                    std::span<const ElementRun> high,
                                                    std::uint64_t slots) {
  std::uint64_t in_second = 0;
  merge_runs(low, high, [&](const ElementRun& run, bool of_first) {
    const std::uint64_t count = std::min(run.count, slots);
    slots -= count;
    if (!of_first) in_second += count;
  });
  return in_second;
}

}  // namespace valet::operations
