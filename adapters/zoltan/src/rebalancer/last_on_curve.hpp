// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Which of some points is the last one on the curve of Zoltan's method HSFC. Local, no MPI.

#include "rebalance/cells.hpp"
#include <valet/columns.hpp>

#include <zoltan.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

// In no header of Zoltan's, and null where it hides them.
extern "C" {
__attribute__((weak)) double Zoltan_HSFC_InvHilbert1d(Zoltan_Struct*, double*);
__attribute__((weak)) double Zoltan_HSFC_InvHilbert2d(Zoltan_Struct*, double*);
__attribute__((weak)) double Zoltan_HSFC_InvHilbert3d(Zoltan_Struct*, double*);
}

namespace valet::zoltan {

/// Zoltan's, of points in the unit square or cube.
using Curve = double (*)(Zoltan_Struct*, double*);

inline Curve curve_in(std::size_t dimensions) {
  return dimensions == 1   ? Zoltan_HSFC_InvHilbert1d
         : dimensions == 2 ? Zoltan_HSFC_InvHilbert2d
                           : Zoltan_HSFC_InvHilbert3d;
}

/// The last point on HSFC's curve. The curve leaves most cells of a coarse grid before it comes to
/// the last points, so the position of few points has to be computed.
class LastOnCurve {
 public:
  /// With the margins that HSFC has.
  LastOnCurve(const rebalance::Box& range, std::size_t dimensions) : dimensions_(dimensions) {
    constexpr double margin = 1.6e-7;  // HSFC_EPSILON
    for (std::size_t d = 0; d < dimensions; ++d) {
      const double wider = (range.high[d] - range.low[d]) * margin;
      low_[d] = range.low[d] - wider;
      extent_[d] = (range.high[d] + wider) - low_[d];
      if (extent_[d] == 0) extent_[d] = 1;
    }
  }

  /// Of the points that were shown; below 0 if there was none.
  [[nodiscard]] double position() const { return position_; }
  /// Whether a point is behind all that were shown before.
  [[nodiscard]] bool is_last(const Columns::Numbers& point) {
    Place place = scaled(point);
    const int turn = turn_of(place);
    if (turn != unknown && turn < turn_) return false;
    const double position = curve_in(dimensions_)(nullptr, place.data());
    if (position <= position_) return false;
    position_ = position;
    turn_ = std::max(turn, turn_);
    return true;
  }

 private:
  using Place = std::array<double, Columns::most>;
  static constexpr int side = 16;
  static constexpr std::int16_t unknown = -1;

  [[nodiscard]] Place scaled(const Columns::Numbers& point) const {
    Place place{};
    for (std::size_t d = 0; d < dimensions_; ++d)
      place[d] = std::clamp((point[d] - low_[d]) / extent_[d], 0.0, 1.0);
    return place;
  }
  /// When the curve comes to the cell of a place. Unknown next to the border of a cell, where HSFC,
  /// which rounds, may see the place in another one.
  int turn_of(const Place& place) {
    constexpr double close = 1e-6;
    constexpr double inside = 0.3;  // of a cell: nowhere near a border of its parts
    std::size_t cell = 0, cells = 1;
    Place in_cell{};
    for (std::size_t d = 0; d < dimensions_; ++d) {
      const double at = place[d] * side;
      const int first = static_cast<int>(at);
      if (at - first < close || at - first > 1 - close) return unknown;
      in_cell[d] = (first + inside) / side;
      cell = cell * side + static_cast<std::size_t>(first);
      cells *= side;
    }
    std::int16_t& turn = turns_[cell];
    if (turn == 0)  // counted from 1
      turn = static_cast<std::int16_t>(1 + curve_in(dimensions_)(nullptr, in_cell.data()) *
                                               static_cast<double>(cells));
    return turn;
  }

  std::size_t dimensions_;
  Place low_{}, extent_{};
  double position_ = -1;
  int turn_ = 0;
  std::array<std::int16_t, std::size_t{side} * side * side> turns_{};
};

}  // namespace valet::zoltan
