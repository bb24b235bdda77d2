// SPDX-License-Identifier: BSD-3-Clause
#include "schedule/apportionment.hpp"

#include "base/partition_index.hpp"

#include <algorithm>
#include <numeric>
#include <random>

namespace valet::schedule {
namespace {

using Counts = std::span<const std::uint64_t>;
using Credits = std::span<std::uint64_t>;

std::uint64_t sources_with_blocks(Counts remaining) {
  return static_cast<std::uint64_t>(
      std::ranges::count_if(remaining, [](std::uint64_t count) { return count > 0; }));
}

std::uint64_t one_if_any(std::uint64_t count) { return count > 0 ? 1 : 0; }

std::uint64_t pick_below(ReceiverRandom& random, std::uint64_t end) {
  return std::uniform_int_distribution<std::uint64_t>(0, end - 1)(random);
}

/// The first source at which a running sum of weights passes `mark`; served sources weigh nothing.
template <class Weight>
std::size_t at_mark(Counts remaining, Credits credited, std::uint64_t mark, Weight&& weight) {
  for (std::size_t i = 0;; ++i) {
    if (credited[i] > 0) continue;
    const std::uint64_t here = weight(remaining[i]);
    if (mark < here) return i;
    mark -= here;
  }
}

std::size_t of_most(Counts remaining, Credits credited) {
  std::size_t best = 0;
  std::uint64_t most = 0;
  for (std::size_t i = 0; i < remaining.size(); ++i) {
    if (credited[i] > 0 || remaining[i] <= most) continue;
    best = i;
    most = remaining[i];
  }
  return best;
}

/// Serves the sources that `choose` names, each with all it has, while memory and sources last.
/// `choose` gets the numbers of sources and blocks that are not served.
template <class Choose>
void serve_one_by_one(Counts remaining, std::uint64_t free, Credits credited, Choose&& choose) {
  std::uint64_t sources = sources_with_blocks(remaining);
  std::uint64_t blocks = std::accumulate(remaining.begin(), remaining.end(), std::uint64_t{0});
  while (free > 0 && sources > 0) {
    const std::size_t chosen = choose(sources, blocks);
    credited[chosen] = std::min(free, remaining[chosen]);
    free -= credited[chosen];
    blocks -= remaining[chosen];
    --sources;
  }
}

void first_fit(Counts remaining, std::uint64_t free, Credits credited) {
  for (std::size_t i = 0; i < remaining.size() && free > 0; ++i) {
    credited[i] = std::min(free, remaining[i]);
    free -= credited[i];
  }
}

/// Blocks that need credits so that no source keeps more than `level`; counts up to `enough`.
std::uint64_t above(Counts remaining, std::uint64_t level, std::uint64_t enough) {
  std::uint64_t sum = 0;
  for (const std::uint64_t count : remaining) {
    if (count > level) sum += count - level;
    if (sum > enough) break;
  }
  return sum;
}

void min_max(Counts remaining, std::uint64_t free, Credits credited) {
  const std::uint64_t most = remaining.empty() ? 0 : std::ranges::max(remaining);
  const std::uint64_t low = detail::partition_index(
      0, most, [&](std::uint64_t level) { return above(remaining, level, free) > free; });
  std::uint64_t left = free - above(remaining, low, free);
  // What is left is too little to lower the level for all who are at it: one block each.
  for (std::size_t i = 0; i < remaining.size(); ++i) {
    credited[i] = remaining[i] - std::min(remaining[i], low);
    if (left == 0 || low == 0 || remaining[i] < low) continue;
    ++credited[i];
    --left;
  }
}

/// An equal part of every transfer, rounded so that no more than a block is lost in all: the
/// fraction that one source does not get goes to the next. Where that begins moves from phase to
/// phase.
void equal_parts(const ReceiverPhase& phase, Credits credited) {
  const std::size_t sources = phase.remaining.size();
  const std::uint64_t busy = sources_with_blocks(phase.remaining);
  if (busy == 0) return;
  const std::size_t first =
      at_mark(phase.remaining, credited, phase.equal_phases_left % busy, one_if_any);
  std::uint64_t free = phase.free;
  std::uint64_t fraction = phase.equal_phases_left - 1;  // so that the sum is rounded up
  for (std::size_t k = 0; k < sources && free > 0; ++k) {
    const std::size_t i = (first + k) % sources;
    fraction += phase.remaining[i] % phase.equal_phases_left;
    std::uint64_t part = phase.remaining[i] / phase.equal_phases_left;
    if (fraction >= phase.equal_phases_left) {
      fraction -= phase.equal_phases_left;
      ++part;
    }
    credited[i] = std::min(free, part);
    free -= credited[i];
  }
}

}  // namespace

void apportion(Heuristic heuristic, const ReceiverPhase& phase, ReceiverRandom& random,
               std::span<std::uint64_t> credited) {
  const Counts remaining = phase.remaining;
  std::fill(credited.begin(), credited.end(), std::uint64_t{0});
  switch (heuristic) {
    case Heuristic::first_fit: first_fit(remaining, phase.free, credited); return;
    case Heuristic::max_first:
      serve_one_by_one(remaining, phase.free, credited,
                       [&](std::uint64_t, std::uint64_t) { return of_most(remaining, credited); });
      return;
    case Heuristic::random:
      serve_one_by_one(remaining, phase.free, credited, [&](std::uint64_t sources, std::uint64_t) {
        return at_mark(remaining, credited, pick_below(random, sources), one_if_any);
      });
      return;
    case Heuristic::fortune_wheel:
      serve_one_by_one(remaining, phase.free, credited, [&](std::uint64_t, std::uint64_t blocks) {
        return at_mark(remaining, credited, pick_below(random, blocks),
                       [](std::uint64_t count) { return count; });
      });
      return;
    case Heuristic::min_max: min_max(remaining, phase.free, credited); return;
    case Heuristic::continuous:
      if (phase.equal_phases_left == 0)
        first_fit(remaining, phase.free, credited);
      else
        equal_parts(phase, credited);
      return;
  }
}

}  // namespace valet::schedule
