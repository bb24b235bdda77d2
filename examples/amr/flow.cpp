// SPDX-License-Identifier: BSD-3-Clause
#include "flow.hpp"

#include <algorithm>
#include <cmath>

namespace amr {
namespace {

using Range =
    Kokkos::RangePolicy<Kokkos::DefaultHostExecutionSpace, Kokkos::IndexType<std::size_t>>;

constexpr double pi = 3.14159265358979;

/// A patch is refined where the phase differs by more than this in it.
constexpr double front_threshold = 0.04;
/// Cells outside of this distance from 0 and 1 are in the front.
constexpr double front_edge = 1e-3;

/// The body at time 0. Flat, so that whole faces of it pass from one octant to the next, and the
/// balance shifts.
constexpr std::array<double, 3> first_centre{0.4, 0.45, 0.3};
constexpr std::array<double, 3> first_radius{0.36, 0.36, 0.09};

/// Rate of the reaction, per time that the gas takes through a smallest cell: it keeps the front
/// about four cells wide.
constexpr double reaction_per_cell = 0.9;

template <class Action>
void for_each_patch(const char* label, const Patches& patches, Action&& action) {
  const std::uint8_t* const occupied = patches.occupied.data();
  Kokkos::parallel_for(label, Range(0, patches.occupied.size()), [=](std::size_t slot) {
    if (occupied[slot] != 0) action(slot);
  });
  Kokkos::DefaultHostExecutionSpace().fence();
}

std::array<double, 3> cell_centre(const Leaf& leaf, int cell) {
  const std::array<int, 3> index{cell % edge_cells, cell / edge_cells % edge_cells,
                                 cell / layer_cells};
  std::array<double, 3> place{};
  for (std::size_t d = 0; d < 3; ++d)
    place[d] =
        static_cast<double>(leaf.corner[d]) / root_length + (index[d] + 0.5) * leaf.cell_length();
  return place;
}

double largest_speed() {
  double largest = 0;
  for (const double v : velocity) largest = std::max(largest, std::abs(v));
  return largest;
}

}  // namespace

Flow::Flow(const FlowOptions& options, int finest_level)
    : options_(options),
      finest_length_(Leaf{{}, finest_level}.cell_length()),
      time_step_(options.courant * finest_length_ / largest_speed()) {}

double Flow::phase_at_start(const std::array<double, 3>& place) const {
  double square = 0;
  for (std::size_t d = 0; d < 3; ++d) {
    const double way = std::abs(place[d] - first_centre[d]);
    const double scaled = std::min(way, 1 - way) / first_radius[d];
    square += scaled * scaled;
  }
  const double depth = (1 - std::sqrt(square)) * first_radius[2] / (0.6 * finest_length_);
  return 0.5 * (1 + std::tanh(0.5 * depth));
}

void Flow::fill(const Patches& patches, std::uint64_t slot) const {
  const Leaf leaf = leaf_of(patches.key(slot));
  for (int cell = 0; cell < patch_cells; ++cell) {
    const std::array<double, 3> place = cell_centre(leaf, cell);
    patches.cells[density](slot, cell) =
        1 + 0.4 * std::sin(2 * pi * place[0]) * std::cos(2 * pi * (place[1] + place[2]));
    patches.cells[phase](slot, cell) = phase_at_start(place);
    for (std::size_t v = first_species; v < variables; ++v) patches.cells[v](slot, cell) = 0;
  }
  patches.work(slot) = 1;
}

bool Flow::front_at_start(const Leaf& leaf) const {
  double least = 1;
  double most = 0;
  for (int cell = 0; cell < patch_cells; ++cell) {
    const double value = phase_at_start(cell_centre(leaf, cell));
    least = std::min(least, value);
    most = std::max(most, value);
  }
  return most - least > front_threshold;
}

bool Flow::front_in(const Patches& patches, std::uint64_t slot) const {
  const double* const values = &patches.cells[phase](slot, 0);
  const auto [least, most] = std::minmax_element(values, values + patch_cells);
  return *most - *least > front_threshold;
}

void Flow::advance(const Patches& patches, LayerExchange& layers) const {
  for (int axis = 0; axis < 3; ++axis)
    for (int variable = 0; variable < variables; ++variable) {
      layers.exchange(axis, patches.cells[static_cast<std::size_t>(variable)], patches.inflow);
      sweep(patches, variable, axis);
    }
  react(patches);
}

void Flow::sweep(const Patches& patches, int variable, int axis) const {
  const Patches::Cells cells = patches.cells[static_cast<std::size_t>(variable)];
  const auto inflow = patches.inflow;
  const auto key = patches.key;
  const double way = velocity[static_cast<std::size_t>(axis)] * time_step_;
  const LayerShape shape = layer_shape(axis);
  // From the side where the gas comes from: a cell is not needed any more once it is overwritten.
  const int first = way > 0 ? 0 : (edge_cells - 1) * shape.normal;
  const int next = way > 0 ? shape.normal : -shape.normal;
  for_each_patch("amr::sweep", patches, [=](std::size_t slot) {
    const double courant = std::abs(way) / leaf_of(key(slot)).cell_length();
    double* const patch = &cells(slot, 0);
    for (int b = 0; b < edge_cells; ++b)
      for (int a = 0; a < edge_cells; ++a) {
        double upstream = inflow(slot, a + edge_cells * b);
        double* cell = &patch[shape.first * a + shape.second * b + first];
        for (int i = 0; i < edge_cells; ++i, cell += next) {
          const double own = *cell;
          *cell = own - courant * (own - upstream);
          upstream = own;
        }
      }
  });
}

void Flow::react(const Patches& patches) const {
  const std::array<Patches::Cells, variables> cells = patches.cells;
  const auto work = patches.work;
  const int substeps = options_.substeps;
  const double speed = reaction_per_cell * largest_speed() / finest_length_;
  const double time_step = time_step_;
  for_each_patch("amr::react", patches, [=](std::size_t slot) {
    int reacting = 0;
    for (int c = 0; c < patch_cells; ++c) {
      double& p = cells[phase](slot, c);
      if (p < front_edge || p > 1 - front_edge) continue;
      ++reacting;
      const double step = time_step / substeps;
      for (int s = 0; s < substeps; ++s) {
        const double rate = p * (1 - p);
        p += step * speed * rate * (p - 0.5);
        for (std::size_t v = first_species; v < variables; ++v) {
          double& species = cells[v](slot, c);
          species += step * (rate - static_cast<double>(v) * species);
        }
      }
    }
    // One for the sweeps, and a sixteenth of that for a substep in the whole patch.
    work(slot) = 1 + reacting * substeps / (16.0 * patch_cells);
  });
}

}  // namespace amr
