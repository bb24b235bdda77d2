// SPDX-License-Identifier: BSD-3-Clause
#include "rebalance/objects.hpp"

#include "base/diagnose.hpp"
#include "base/memory_reserve.hpp"
#include "rebalance/partitioner.hpp"
#include "rebalance/settings.hpp"
#include <valet/detail/first_failure.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <limits>
#include <new>
#include <span>
#include <string>

namespace valet::rebalance {
namespace {

/// So few that they stay in the first-level cache.
constexpr std::size_t numbers_at_a_time = 512;

/// The columns of a source, where there is one. It may have to allocate; a rank that throws alone
/// would leave the others behind.
/// @param numbers  Such as "weights", for the error.
std::optional<Diagnostic> read(const ColumnSource& source, const std::string& numbers,
                               std::uint64_t count, Columns& columns) {
  if (!source) return std::nullopt;
  const std::string activity = "reading " + numbers;
  detail::FirstFailure failure;
  try {
    const detail::LeaveReserve leave;
    columns = source();
  } catch (const std::bad_alloc&) {
    return diagnose(ErrorCode::out_of_memory, "no memory on the host for ", activity);
  } catch (...) {
    failure.keep(activity.c_str());
    return failure.diagnostic("nothing has moved");
  }
  if (columns.diagnostic) return columns.diagnostic;
  if (columns.size == 0 || columns.slots >= count) return std::nullopt;
  return invalid(count, " objects, but only ", columns.slots, " ", numbers,
                 "; give one for each object");
}

/// All numbers combined, in eight chains that do not wait for each other.
/// @param start  Neutral, or such that to combine it more than once does not matter.
template <class Combine>
double folded(std::span<const double> numbers, double start, Combine&& combine) {
  std::array<double, 8> chain{};
  chain.fill(start);
  const std::size_t whole = numbers.size() - numbers.size() % chain.size();
  for (std::size_t k = 0; k < whole; k += chain.size())
    for (std::size_t c = 0; c < chain.size(); ++c) chain[c] = combine(chain[c], numbers[k + c]);
  double all = start;
  for (const double value : numbers.subspan(whole)) all = combine(all, value);
  for (const double value : chain) all = combine(all, value);
  return all;
}

/// A number that is not as `is_good` wants it: `name(c)` of an object, which must follow `rule`.
/// All numbers before are shown to `see(c, numbers)`, for each column in order. Columns are often
/// interleaved, so what is read once of memory is read of all of them.
template <class IsGood, class Name, class See>
std::optional<Diagnostic> check_numbers(const Columns& columns, std::uint64_t count,
                                        IsGood&& is_good, Name&& name, const std::string& rule,
                                        See&& see) {
  std::array<double, numbers_at_a_time> numbers{};
  for (std::uint64_t first = 0; first < count; first += numbers.size())
    for (std::size_t c = 0; c < columns.size; ++c) {
      const auto read = std::span(numbers).first(
          static_cast<std::size_t>(std::min<std::uint64_t>(numbers.size(), count - first)));
      columns.copy_to(c, read.data(), first, read.size());
      bool all_good = true;
      for (const double value : read) all_good &= is_good(value);
      if (!all_good) {
        const auto bad = std::ranges::find_if_not(read, is_good);
        const auto slot = first + static_cast<std::uint64_t>(bad - read.begin());
        return invalid(name(c), " of the object in slot ", slot, " is ", text_of(*bad), "; ", rule);
      }
      see(c, read);
    }
  return std::nullopt;
}

std::optional<Diagnostic> check_numbers(Objects& objects, const PartitionerTraits& traits) {
  const auto largest_id = static_cast<double>(traits.largest_id);
  using Numbers = std::span<const double>;
  objects.range.low.fill(std::numeric_limits<double>::infinity());
  objects.range.high.fill(-std::numeric_limits<double>::infinity());
  objects.total_weight = objects.weights.size == 0 ? static_cast<double>(objects.count) : 0;
  auto found = check_numbers(
      objects.coordinates, objects.count, [](double value) { return std::isfinite(value); },
      [](std::size_t c) { return "coordinate " + std::to_string(c); }, "coordinates must be finite",
      [&](std::size_t c, Numbers numbers) {
        const auto least = [](double a, double b) { return b < a ? b : a; };
        const auto largest = [](double a, double b) { return b > a ? b : a; };
        objects.range.low[c] = folded(numbers, objects.range.low[c], least);
        objects.range.high[c] = folded(numbers, objects.range.high[c], largest);
        objects.largest_coordinate =
            std::max({objects.largest_coordinate, -objects.range.low[c], objects.range.high[c]});
      });
  if (!found)
    found = check_numbers(
        objects.weights, objects.count,
        [](double value) { return std::isfinite(value) && value >= 0; },
        [](std::size_t) { return "the weight"; }, "weights must be finite and at least 0",
        [&](std::size_t, Numbers numbers) {
          objects.total_weight += folded(numbers, 0, std::plus<>());
          objects.largest_weight = folded(numbers, objects.largest_weight,
                                          [](double a, double b) { return std::max(a, b); });
        });
  if (!found)
    found = check_numbers(
        objects.ids, objects.count,
        [largest_id](double value) {
          return value >= 0 && value <= largest_id && value == std::floor(value);
        },
        [](std::size_t c) { return "entry " + std::to_string(c) + " of the global id"; },
        traits.name + "'s ids are integers from 0 to " + std::to_string(traits.largest_id),
        [](std::size_t, Numbers) {});
  return found;
}

/// A power of two.
double factor_for(double largest) {
  constexpr int most = 300;    // sums of squares stay far below 2^1024
  constexpr int limit = 1000;  // of what a factor can be
  const int exponent = largest > 0 ? std::ilogb(largest) : 0;
  return std::abs(exponent) <= most ? 1 : std::ldexp(1, std::clamp(-exponent, -limit, limit));
}

}  // namespace

void Objects::scale(double coordinate, double weight) {
  coordinates.factor = factor_for(coordinate);
  for (std::size_t c = 0; c < coordinates.size; ++c) {
    range.low[c] *= coordinates.factor;
    range.high[c] *= coordinates.factor;
  }
  largest_coordinate = coordinate * coordinates.factor;
  weights.factor = factor_for(weight);
  largest_weight = weights.size == 0 ? 1 : weight * weights.factor;
  if (weights.factor == 1) return;
  total_weight = 0;  // it may have overflowed
  failure.attempt(activity, [this] {
    for_each_weight([this](std::uint64_t, double number) { total_weight += number; });
  });
}

std::optional<Diagnostic> look_at(const Sources& sources, bool balance_count,
                                  const PartitionerTraits& traits, Objects& objects) {
  if (traits.basis == Basis::coordinates && !sources.coordinates)
    return invalid("there are no coordinates; call coordinates() first");
  if (balance_count && !traits.one_weight.empty()) return invalid(traits.one_weight);
  if (objects.count > static_cast<std::uint64_t>(std::numeric_limits<int>::max()))
    return invalid(objects.count, " objects; ", traits.name,
                   " counts them with 31 bits, so use more ranks");
  std::optional<Diagnostic> found;
  if (traits.basis != Basis::order)
    found = read(sources.coordinates, "coordinates", objects.count, objects.coordinates);
  if (!found) found = read(sources.weights, "weights", objects.count, objects.weights);
  if (!found) found = read(sources.ids, "global ids", objects.count, objects.ids);
  if (found) return found;
  if (sources.weights && objects.weights.size != 1)
    return invalid("weights of ", objects.weights.size, " components; give one per object");
  objects.count_weighs = balance_count && sources.weights;
  objects.failure.attempt(Objects::activity, [&] { found = check_numbers(objects, traits); });
  return found ? found : objects.diagnostic();
}

}  // namespace valet::rebalance
