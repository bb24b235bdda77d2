// SPDX-License-Identifier: BSD-3-Clause
#include "particle_cloud.hpp"

#include "base/names.hpp"
#include "measure.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace valet::bench {
namespace {

using detail::Named;
constexpr std::array distributions{
    Named{Distribution::uniform, "uniform"}, Named{Distribution::clustered, "clustered"},
    Named{Distribution::needle, "needle"}, Named{Distribution::moving_front, "moving-front"}};

/// The n-th number of a particle, from 0 to 1.
double chance(std::uint64_t id, std::uint64_t n) {
  return static_cast<double>(mixed(mixed(id) + n) >> 11) * 0x1p-53;
}

/// Slots over the mean number of particles: work that is as uneven as a front's gives some ranks
/// many particles.
double slots_over_mean(Distribution distribution) {
  return distribution == Distribution::moving_front ? 1.9 : 1.15;
}

}  // namespace

Distribution parse_distribution(const std::string& name) {
  return detail::value_of(distributions, "distribution", name);
}

ParticleCloud::ParticleCloud(Distribution distribution, std::uint64_t particles)
    : distribution_(distribution), each_(particles) {
  const auto slots =
      static_cast<std::size_t>(slots_over_mean(distribution) * static_cast<double>(particles)) + 16;
  place_.resize(3 * slots);
  velocity_.resize(3 * slots);
  id_.resize(slots);
  work_.resize(slots);
  mass_.resize(slots);
}

Point ParticleCloud::place_of(std::uint64_t id) const {
  const Point any{chance(id, 0), chance(id, 1), chance(id, 2)};
  const auto all = static_cast<double>(each_ * static_cast<std::uint64_t>(world_size()));
  switch (distribution_) {
    case Distribution::uniform: return any;
    case Distribution::clustered: {
      constexpr double side = 0.215;  // its cube is a hundredth
      if (id % 5 == 0) return any;
      return {0.6 + side * any[0], 0.1 + side * any[1], 0.3 + side * any[2]};
    }
    case Distribution::needle: {
      constexpr double width = 1e-3;
      return {any[0], 0.2 + 0.6 * any[0] + width * any[1], 0.9 - 0.5 * any[0] + width * any[2]};
    }
    case Distribution::moving_front:
      return {(static_cast<double>(id) + any[0]) / all, any[1], any[2]};
  }
  return any;
}

double ParticleCloud::work_of(std::uint64_t id) const {
  if (distribution_ != Distribution::moving_front) return 1;
  constexpr double front = 0.35, width = 0.03;
  const double beyond = (place_of(id)[0] - front) / width;
  return 1 + 9 * std::exp(-beyond * beyond);
}

void ParticleCloud::put(std::uint64_t slot, std::uint64_t id) {
  id_[slot] = id;
  std::ranges::copy(place_of(id), place_.begin() + static_cast<std::ptrdiff_t>(3 * slot));
  for (std::uint64_t d = 0; d < 3; ++d) velocity_[3 * slot + d] = chance(id, 3 + d);
  work_[slot] = work_of(id);
  mass_[slot] = chance(id, 6);
}

void ParticleCloud::fill() {
  count = each_;
  const std::uint64_t first = static_cast<std::uint64_t>(world_rank()) * each_;
  for (std::uint64_t k = 0; k < count; ++k) put(k, first + k);
}

bool ParticleCloud::is_right(std::uint64_t slot) const {
  const std::uint64_t id = id_[slot];
  const Point place = place_of(id);
  bool right = work_[slot] == work_of(id) && mass_[slot] == chance(id, 6);
  for (std::uint64_t d = 0; d < 3; ++d)
    right =
        right && place_[3 * slot + d] == place[d] && velocity_[3 * slot + d] == chance(id, 3 + d);
  return right;
}

bool ParticleCloud::is_complete() const {
  const std::uint64_t all = each_ * static_cast<std::uint64_t>(world_size());
  bool right = count <= slots();
  std::uint64_t surplus = 0;  // particles found less those written, by their hashes
  for (std::uint64_t k = 0; right && k < count; ++k) {
    right = id_[k] < all && is_right(k);
    surplus += mixed(id_[k]);
  }
  const std::uint64_t first = static_cast<std::uint64_t>(world_rank()) * each_;
  for (std::uint64_t k = 0; k < each_; ++k) surplus -= mixed(first + k);
  return on_all_ranks(right) && sum_of_ranks(count) == all && sum_of_ranks(surplus) == 0;
}

BlockStorage ParticleCloud::storage() {
  return {field(place_, 3), field(velocity_, 3), field(id_), field(work_), field(mass_)};
}
zoltan::ColumnSource ParticleCloud::places() const {
  return zoltan::array_columns(place_.data(), slots(), 3);
}
zoltan::ColumnSource ParticleCloud::works() const {
  return zoltan::array_columns(work_.data(), slots(), 1);
}

}  // namespace valet::bench
