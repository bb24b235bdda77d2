// SPDX-License-Identifier: BSD-3-Clause
#include "layout_move.hpp"

#include "geometry/intersection.hpp"
#include <valet/error.hpp>

#include <algorithm>
#include <span>

namespace valet::bench {
namespace {

void require_ranks(const BlockCyclic& layout) {
  if (layout.ranks() > world_size())
    throw Error(ErrorCode::invalid_argument,
                "a grid has more ranks than there are: " + std::to_string(world_size()));
}

std::size_t elements(const BlockCyclic& layout) {
  return world_rank() < layout.ranks()
             ? static_cast<std::size_t>(layout.local_elements(world_rank()))
             : 0;
}

/// Elements that this rank has for each rank.
std::vector<std::uint64_t> shared_elements(const BlockCyclic& from, const BlockCyclic& to) {
  require_ranks(from);
  require_ranks(to);
  std::vector<std::uint64_t> counts(static_cast<std::size_t>(world_size()), 0);
  if (world_rank() >= from.ranks()) return counts;
  Ledger ledger;
  const layout::Intersection shared(ledger, from, world_rank(), to);
  for (int peer = 0; peer < to.ranks(); ++peer)
    counts[static_cast<std::size_t>(peer)] = static_cast<std::uint64_t>(shared.elements(peer));
  return counts;
}

/// Calls visit(place in the column-major local array, number of the element in the array).
template <class Visit>
void for_each(const BlockCyclic& layout, Visit&& visit) {
  if (elements(layout) == 0) return;
  const BlockCyclic::Extents extents = layout.local_extents(world_rank());
  const BlockCyclic::Coordinates place = layout.coordinates(world_rank());
  auto local = BlockCyclic::Extents::filled(extents.size(), 0);
  const auto position = [&](std::size_t d) {
    return static_cast<double>(layout.dimension(d).global_index(place[d], local[d]));
  };
  double weight = 1;  // an index of the first dimension, in the number
  for (std::size_t d = 1; d < extents.size(); ++d)
    weight *= static_cast<double>(layout.dimension(d).extent());
  for (std::size_t at = 0; at < elements(layout);) {
    double rest = 0;
    for (std::size_t d = 1; d < extents.size(); ++d)
      rest = rest * static_cast<double>(layout.dimension(d).extent()) + position(d);
    for (local[0] = 0; local[0] < extents[0]; ++local[0], ++at)
      visit(at, weight * position(0) + rest);
    for (std::size_t d = 1; d < extents.size() && ++local[d] == extents[d]; ++d) local[d] = 0;
  }
}

}  // namespace

LayoutMove::LayoutMove(const BlockCyclic& from, const BlockCyclic& to, const LayoutOptions& options)
    : from_{from},
      to_{to},
      options_(options),
      peer_(shared_elements(from, to), sizeof(double)),
      source_(elements(from)),
      target_(elements(to)),
      array_(std::max(source_.size(), target_.size())) {
  pdgemr2d_ = make_pdgemr2d(from, to);
  for_each(from, [&](std::size_t at, double number) { source_[at] = number; });
}

Outcome LayoutMove::run_alltoallv() {
  return peer_.run_warm(std::as_bytes(std::span(source_)).data());
}

Outcome LayoutMove::run_pdgemr2d() {
  std::ranges::fill(target_, -1.0);
  const double seconds = slowest_seconds([&] { pdgemr2d_(source_.data(), target_.data()); });
  return {seconds, is_right(target_)};
}

Outcome LayoutMove::run_out_of_place() {
  std::ranges::fill(target_, -1.0);
  Report report;
  const double seconds = slowest_seconds([&] {
    report = redistribute(
        MPI_COMM_WORLD, from_, to_, sizeof(double),
        {source_.data(), source_.size() * sizeof(double), IndexOrder::column_major, {}},
        {target_.data(), target_.size() * sizeof(double), IndexOrder::column_major, {}}, options_);
  });
  return {seconds, is_right(target_), summed_over_ranks(report, MPI_COMM_WORLD)};
}

Outcome LayoutMove::run_in_place() {
  std::ranges::copy(source_, array_.begin());
  Report report;
  const double seconds = slowest_seconds([&] {
    report = redistribute_in_place(MPI_COMM_WORLD, from_, to_, sizeof(double),
                                   {array_.data(), local_bytes(), IndexOrder::column_major, {}},
                                   options_);
  });
  return {seconds, is_right(array_), summed_over_ranks(report, MPI_COMM_WORLD)};
}

/// On all ranks.
bool LayoutMove::is_right(const std::vector<double>& part) const {
  bool right = true;
  for_each(to_.layout, [&](std::size_t at, double number) { right = right && part[at] == number; });
  return on_all_ranks(right);
}

}  // namespace valet::bench
