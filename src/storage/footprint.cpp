// SPDX-License-Identifier: BSD-3-Clause
#include "storage/footprint.hpp"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <vector>

namespace valet::storage {
namespace {

/// 0, stride, 2*stride, ..., last*stride.
struct Progression {
  std::int64_t stride = 0;
  std::int64_t last = 0;
};

/// A field is the bytes that start at its lowest address plus one member of each of these, so a
/// question about two rows is one about a sum.
using Progressions = std::vector<Progression>;

void add(Progressions& steps, Progression step) {
  if (step.last > 0) steps.push_back(step);
}

/// Falling strides; those with equal strides become one.
void arrange(Progressions& steps) {
  std::ranges::sort(steps, std::greater<>(), &Progression::stride);
  std::size_t kept = 0;
  for (const Progression step : steps)
    if (kept > 0 && steps[kept - 1].stride == step.stride)
      steps[kept - 1].last += step.last;
    else
      steps[kept++] = step;
  steps.resize(kept);
}

std::int64_t divided_down(std::int64_t a, std::int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }
std::int64_t divided_up(std::int64_t a, std::int64_t b) { return -divided_down(-a, b); }

std::int64_t reach(std::span<const Progression> steps) {
  std::int64_t sum = 0;
  for (const Progression& step : steps) sum += step.stride * step.last;
  return sum;
}

/// Whether a sum of one member of each progression is in [low, high]. Strides are positive.
///
/// Takes the largest stride first: where the others together reach less than it, as in nested
/// arrays, only one or two of its members come into question. Strides that nest in no way could
/// take many `trials`; when none is left the answer is no, because legal fields must not be
/// refused.
bool sum_within(std::span<const Progression> steps, std::int64_t low, std::int64_t high,
                int& trials) {
  if (--trials < 0) return false;
  if (steps.empty()) return low <= 0 && 0 <= high;
  std::int64_t unit = 0;
  for (const Progression& step : steps) unit = std::gcd(unit, step.stride);
  if (divided_up(low, unit) > divided_down(high, unit)) return false;
  const Progression& largest = steps.front();
  const auto others = steps.subspan(1);
  const std::int64_t last = std::min(largest.last, divided_down(high, largest.stride));
  for (std::int64_t k = std::max<std::int64_t>(0, divided_up(low - reach(others), largest.stride));
       k <= last && trials > 0; ++k)
    if (sum_within(others, low - k * largest.stride, high - k * largest.stride, trials))
      return true;
  return false;
}

constexpr int most_trials = 1 << 14;

/// How many parts of a field have a footprint each: its tiles, if each has a start of its own.
std::size_t parts_of(const Field& field) {
  return field.tiles.starts == nullptr ? 1 : field.tiles.count;
}

const void* start_of(const Field& field, std::size_t tile) {
  return field.tiles.starts == nullptr ? field.data : field.tiles.starts[tile];
}

/// The memory of one part of a field.
struct Footprint {
  explicit Footprint(const Field& field, std::size_t tile = 0)
      : lowest(static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(start_of(field, tile)))),
        piece_bytes(static_cast<std::int64_t>(field.element_bytes)) {
    const std::uint64_t slots = slots_of_part(field, tile);
    if (const std::uint64_t in_tile = field.tiles.slots;
        field.tiles.starts == nullptr && in_tile > 0 && slots > in_tile) {
      add_rows(field.slot_stride_bytes, in_tile);
      add_rows(field.tiles.stride_bytes, (slots - 1) / in_tile + 1);
    } else {
      add_rows(field.slot_stride_bytes, slots);
    }
    for (std::size_t d = 0; d < field.dimension_count; ++d)
      add_rows(field.dimensions[d].stride_bytes, field.dimensions[d].extent);
  }
  /// The first byte behind all of it.
  [[nodiscard]] std::int64_t end() const { return lowest + reach(steps) + piece_bytes; }

  std::int64_t lowest;
  std::int64_t piece_bytes;
  Progressions steps;

 private:
  void add_rows(std::int64_t stride, std::uint64_t count) {
    const auto last = static_cast<std::int64_t>(count) - 1;
    if (stride < 0) lowest += last * stride;
    add(steps, {std::abs(stride), last});
  }
};

/// Whether two pieces that differ in at least one position have a byte in common.
bool overlaps_itself(const Footprint& footprint) {
  const std::span<const Progression> all(footprint.steps);
  for (const Progression& step : all)
    if (step.stride == 0) return true;
  // Two pieces differ by some number of strides in each progression, up to `last` both ways. Named
  // in the right order, the first of these numbers that is not 0 is positive.
  for (std::size_t k = 0; k < all.size(); ++k) {
    const auto others = all.subspan(k + 1);
    Progressions differences;
    add(differences, {all[k].stride, all[k].last - 1});
    for (const Progression& step : others) add(differences, {step.stride, 2 * step.last});
    arrange(differences);
    const std::int64_t shift = all[k].stride - reach(others);
    int trials = most_trials;
    if (sum_within(differences, 1 - footprint.piece_bytes - shift,
                   footprint.piece_bytes - 1 - shift, trials))
      return true;
  }
  return false;
}

bool overlap(const Footprint& first, const Footprint& second) {
  // Pieces overlap where a row of the first starts less than its bytes before one of the second, or
  // less than those of the second behind it. Counted down from the highest row of the second, its
  // part of the distance is a sum as well.
  Progressions distances = first.steps;
  distances.insert(distances.end(), second.steps.begin(), second.steps.end());
  arrange(distances);
  const std::int64_t shift = first.lowest - second.lowest - reach(second.steps);
  int trials = most_trials;
  return sum_within(distances, 1 - first.piece_bytes - shift, second.piece_bytes - 1 - shift,
                    trials);
}

/// The addresses between which a part of a field lies.
struct Hull {
  std::int64_t lowest = 0;
  std::int64_t end = 0;
  std::size_t field = 0;
  std::size_t part = 0;
};

/// One for each part with slots, in the order of their addresses.
std::vector<Hull> hulls_of(std::span<const Field> fields) {
  std::size_t parts = 0;
  for (const Field& field : fields) parts += parts_of(field);
  std::vector<Hull> hulls;
  hulls.reserve(parts);
  for (std::size_t f = 0; f < fields.size(); ++f)
    for (std::size_t part = 0; part < parts_of(fields[f]); ++part) {
      if (slots_of_part(fields[f], part) == 0) continue;
      const Footprint footprint(fields[f], part);
      hulls.push_back({footprint.lowest, footprint.end(), f, part});
    }
  std::ranges::sort(hulls, {}, &Hull::lowest);
  return hulls;
}

}  // namespace

std::uint64_t slots_of_part(const Field& field, std::size_t part) {
  const FieldTiles& tiles = field.tiles;
  if (tiles.starts == nullptr) return field.slots;
  const std::uint64_t before = tiles.ends == nullptr ? part * tiles.slots
                               : part == 0           ? 0
                                                     : tiles.ends[part - 1];
  const std::uint64_t end =
      std::min(field.slots, tiles.ends == nullptr ? before + tiles.slots : tiles.ends[part]);
  return end - std::min(before, end);
}

bool rows_overlap(const Field& field) {
  // Tiles of one size differ in their place alone.
  const std::size_t parts = field.tiles.ends == nullptr ? 1 : parts_of(field);
  for (std::size_t part = 0; part < parts; ++part)
    if (slots_of_part(field, part) > 0 && overlaps_itself(Footprint(field, part))) return true;
  return false;
}

std::optional<std::pair<std::size_t, std::size_t>> first_overlap(std::span<const Field> fields) {
  // Only what begins before another ends can overlap it. Members of structures lie between one
  // another, so that there may be several.
  std::vector<Hull> begun;
  for (const Hull& hull : hulls_of(fields)) {
    std::erase_if(begun, [&](const Hull& other) { return other.end <= hull.lowest; });
    for (const Hull& other : begun)
      if (overlap(Footprint(fields[hull.field], hull.part),
                  Footprint(fields[other.field], other.part)))
        return std::minmax({hull.field, other.field});
    begun.push_back(hull);
  }
  return std::nullopt;
}

}  // namespace valet::storage
