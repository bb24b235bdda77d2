// SPDX-License-Identifier: BSD-3-Clause
#include "storage/field_check.hpp"

#include "base/diagnose.hpp"
#include "base/sizes.hpp"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <tuple>
#include <utility>
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

/// The memory of a field.
struct Footprint {
  explicit Footprint(const Field& field)
      : lowest(static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(field.data))),
        piece_bytes(static_cast<std::int64_t>(field.element_bytes)) {
    add_rows(field.slot_stride_bytes, field.slots);
    for (std::size_t d = 0; d < field.dimension_count; ++d)
      add_rows(field.dimensions[d].stride_bytes, field.dimensions[d].extent);
  }

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

/// At most detail::most_bytes + 1, which stands for more.
std::uint64_t row_bytes(const Field& field) {
  std::uint64_t bytes = field.element_bytes;
  for (std::size_t d = 0; d < field.dimension_count; ++d)
    bytes = detail::bounded_product(bytes, field.dimensions[d].extent);
  return bytes;
}

/// Whether the rows span more than any memory has, which the sums above could not count.
bool is_beyond_memory(const Field& field) {
  if (detail::bounded_product(row_bytes(field), field.slots) > detail::most_bytes) return true;
  constexpr auto most = static_cast<double>(detail::most_bytes);
  const auto span = [](std::int64_t stride, std::uint64_t count) {
    return std::abs(static_cast<double>(stride)) * static_cast<double>(count);
  };
  double bytes =
      static_cast<double>(field.element_bytes) + span(field.slot_stride_bytes, field.slots);
  for (std::size_t d = 0; d < field.dimension_count; ++d)
    bytes += span(field.dimensions[d].stride_bytes, field.dimensions[d].extent);
  return bytes > most;
}

std::string name_of(std::span<const Field> fields, std::size_t f) {
  return fields[f].label.empty() ? "field " + std::to_string(f) : "field '" + fields[f].label + "'";
}

/// How the rows of a field lie, as part of a message.
std::string shape_of(const Field& field) {
  return " (rows of " + std::to_string(row_bytes(field)) + " bytes, " +
         std::to_string(field.slot_stride_bytes) + " apart)";
}

/// What is wrong with the row of a field, whatever its slots.
std::optional<Diagnostic> row_diagnostic(const Field& field, const std::string& name) {
  if (field.dimension_count > Field::max_dimensions)
    return invalid(name, " has rows of ", field.dimension_count,
                   " dimensions; describe them by at most ", Field::max_dimensions,
                   ", those that follow each other in memory as one");
  if (row_bytes(field) == 0) return invalid(name, " has rows of zero bytes; leave it out");
  if (row_bytes(field) > detail::most_bytes)
    return invalid(name, " has rows of more than ", detail::most_bytes_text,
                   "; give the extents and the bytes of an element that it has");
  return std::nullopt;
}

std::optional<Diagnostic> diagnostic_of(std::span<const Field> fields, std::size_t f) {
  const Field& field = fields[f];
  const std::string name = name_of(fields, f);
  if (auto diagnostic = row_diagnostic(field, name)) return diagnostic;
  if (field.surplus_bytes > 0)
    return invalid(name, " has ", field.surplus_bytes, " bytes behind its ", field.slots,
                   " rows of ", row_bytes(field),
                   " bytes; give an array whose size is a multiple of the components");
  if (field.slots != fields.front().slots)
    return diagnose(ErrorCode::field_mismatch, name, " has ", field.slots,
                    " slots, but the first field has ", fields.front().slots,
                    "; all fields of a storage need the same number");
  if (field.slots == 0) return std::nullopt;
  if (field.data == nullptr)
    return diagnose(ErrorCode::inaccessible_memory, name,
                    " has no memory (a null pointer) for its ", field.slots,
                    " slots; allocate it first");
  if (is_beyond_memory(field))
    return invalid(name, shape_of(field), " has ", field.slots,
                   " slots, more than any memory holds; give the slots and strides that it has");
  if (rows_overlap(field))
    return invalid(name, shape_of(field),
                   " has rows that overlap; give strides that keep every two rows apart");
  return std::nullopt;
}

}  // namespace

bool rows_overlap(const Field& field) {
  const Footprint footprint(field);
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

bool fields_overlap(const Field& a, const Field& b) {
  const Footprint first(a), second(b);
  // Pieces overlap where a row of `a` starts less than its bytes before one of `b`, or less than
  // those of `b` behind it. Counted down from the highest row of `b`, its part of the distance is a
  // sum as well.
  Progressions distances = first.steps;
  distances.insert(distances.end(), second.steps.begin(), second.steps.end());
  arrange(distances);
  const std::int64_t shift = first.lowest - second.lowest - reach(second.steps);
  int trials = most_trials;
  return sum_within(distances, 1 - first.piece_bytes - shift, second.piece_bytes - 1 - shift,
                    trials);
}

bool look_again(Field& field) {
  if (!field.current) return false;
  Field now = field.current();
  const auto description = [](auto& f) {
    return std::tie(f.data, f.slots, f.slot_stride_bytes, f.element_bytes, f.dimensions,
                    f.dimension_count, f.surplus_bytes);
  };
  const bool is_renamed = !now.label.empty() && now.label != field.label;
  if (!is_renamed && description(now) == description(field)) return false;
  description(field) = description(now);
  if (is_renamed) field.label = std::move(now.label);
  return true;
}

bool is_never_allocated(std::span<const Field> fields) {
  return std::ranges::all_of(fields,
                             [](const Field& field) {
                               return field.slots == 0 && field.data == nullptr &&
                                      field.dimension_count <= Field::max_dimensions;
                             }) &&
         std::ranges::any_of(fields, [](const Field& field) { return row_bytes(field) == 0; });
}

std::optional<Diagnostic> field_diagnostic(std::span<const Field> fields) {
  if (fields.empty()) return invalid("a block storage without fields; give at least one");
  if (is_never_allocated(fields)) return std::nullopt;
  std::uint64_t block_bytes = 0;
  for (std::size_t f = 0; f < fields.size(); ++f) {
    if (auto diagnostic = diagnostic_of(fields, f)) return diagnostic;
    block_bytes = detail::bounded_sum(block_bytes, row_bytes(fields[f]));
  }
  if (block_bytes > detail::most_bytes)
    return invalid("the rows of all fields together have more than ", detail::most_bytes_text,
                   "; give the rows that they have");
  if (fields.front().slots == 0) return std::nullopt;
  for (std::size_t b = 1; b < fields.size(); ++b)
    for (std::size_t a = 0; a < b; ++a)
      if (fields_overlap(fields[a], fields[b]))
        return invalid(name_of(fields, b), shape_of(fields[b]), " shares memory with ",
                       name_of(fields, a), shape_of(fields[a]),
                       fields[a].data == fields[b].data ? ", which starts at the same address" : "",
                       "; give every array once, and every field memory of its own");
  return std::nullopt;
}

}  // namespace valet::storage
