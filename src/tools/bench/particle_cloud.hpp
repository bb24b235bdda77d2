// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "neighbour_pairs.hpp"
#include <valet/block_storage.hpp>
#include <valet/zoltan/columns.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace valet::bench {

/// Where particles are, and how much work they make.
enum class Distribution {
  uniform,      ///< all over the unit box
  clustered,    ///< four of five in one hundredth of its volume
  needle,       ///< along a diagonal, a thousandth of it wide
  moving_front  ///< uniform; in a thin front particles make ten times the work of others
};
/// @throws Error invalid_argument for a name that there is not.
[[nodiscard]] Distribution parse_distribution(const std::string& name);

/// Particles of 72 bytes. All that a particle carries follows from its id.
class ParticleCloud {
 public:
  static constexpr std::size_t bytes_each = 9 * sizeof(double);

  /// @param particles  On each rank at the beginning.
  ParticleCloud(Distribution distribution, std::uint64_t particles);

  /// Puts all particles where they begin: at random, but for a front, which finds them in slabs.
  void fill();
  /// Whether every particle is on one rank, with all that it carries. Collective.
  [[nodiscard]] bool is_complete() const;

  [[nodiscard]] std::uint64_t slots() const { return id_.size(); }
  [[nodiscard]] std::uint64_t id(std::uint64_t slot) const { return id_[slot]; }
  [[nodiscard]] Point place_of(std::uint64_t id) const;
  [[nodiscard]] double work_of(std::uint64_t id) const;

  [[nodiscard]] BlockStorage storage();
  [[nodiscard]] zoltan::ColumnSource places() const;
  [[nodiscard]] zoltan::ColumnSource works() const;

  std::uint64_t count = 0;

 private:
  void put(std::uint64_t slot, std::uint64_t id);
  [[nodiscard]] bool is_right(std::uint64_t slot) const;

  Distribution distribution_;
  std::uint64_t each_;
  std::vector<double> place_, velocity_;
  std::vector<std::uint64_t> id_;
  std::vector<double> work_, mass_;
};

}  // namespace valet::bench
