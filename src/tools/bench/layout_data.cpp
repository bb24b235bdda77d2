// SPDX-License-Identifier: BSD-3-Clause

// Matrices of doubles from one block-cyclic layout to another, beside ScaLAPACK's pdgemr2d and
// MPI_Alltoallv of the same bytes between packed, warm buffers.

#include "layout_data.hpp"

#include "geometry/intersection.hpp"
#include "layout_bench.hpp"
#include "measure.hpp"
#include "output.hpp"
#include "scalapack.hpp"
#include <valet/valet.hpp>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <sstream>

namespace valet::bench {
namespace {

/// One move on one rank, with all who carry it out in turn.
class Comparison {
 public:
  Comparison(const LayoutDataSettings& settings, GridLayout from, GridLayout to)
      : from_(std::move(from)), to_(std::move(to)) {
    options_.budget_bytes = parse_bytes(settings.memory);
    options_.share_memory = settings.share_memory;
    if (std::max(from_.layout.ranks(), to_.layout.ranks()) > world_size())
      throw Error(ErrorCode::invalid_argument,
                  "a grid has more ranks than there are: " + std::to_string(world_size()));
    scalapack_ = make_scalapack_peer(from_.layout, to_.layout);
    const std::vector<std::uint64_t> counts = shared_elements();
    alltoallv_ = std::make_unique<Alltoallv>(counts, sizeof(double));
    before_ = elements(from_.layout);
    after_ = elements(to_.layout);
    source_.resize(before_);
    target_.resize(after_);
    array_.resize(std::max(before_, after_));
    fill(from_.layout, source_);
  }

  void round(bool counts) {
    const double alltoallv =
        slowest_seconds([&] { alltoallv_->run(source_.data(), target_.data()); });
    double pdgemr2d = 0;
    if (scalapack_ != nullptr) {
      clear(target_);
      pdgemr2d = slowest_seconds([&] { scalapack_->run(source_.data(), target_.data()); });
      good_[0] = good_[0] && is_right(to_.layout, target_);
    }
    clear(target_);
    const double out_of_place = slowest_seconds([&] {
      reports_[0] = redistribute(
          MPI_COMM_WORLD, from_, to_, sizeof(double),
          {source_.data(), before_ * sizeof(double), IndexOrder::column_major, {}},
          {target_.data(), after_ * sizeof(double), IndexOrder::column_major, {}}, options_);
    });
    good_[1] = good_[1] && is_right(to_.layout, target_);
    std::ranges::copy(source_, array_.begin());
    const double in_place = slowest_seconds([&] {
      reports_[1] = redistribute_in_place(MPI_COMM_WORLD, from_, to_, sizeof(double),
                                          {.data = array_.data(),
                                           .bytes = array_.size() * sizeof(double),
                                           .order = IndexOrder::column_major,
                                           .strides = {}},
                                          options_);
    });
    good_[2] = good_[2] && is_right(to_.layout, array_);
    if (!counts) return;
    alltoallv_seconds_.push_back(alltoallv);
    pdgemr2d_seconds_.push_back(pdgemr2d);
    seconds_[0].push_back(out_of_place);
    seconds_[1].push_back(in_place);
  }

  [[nodiscard]] std::vector<Case> rows(const std::string& move, bool& failed) const {
    std::vector<Case> rows;
    const double warm = median(alltoallv_seconds_);
    for (std::size_t m = 0; m < methods.size(); ++m) {
      const double seconds = median(seconds_[m]);
      const Report report = summed_over_ranks(reports_[m], MPI_COMM_WORLD);
      const bool verified = on_all_ranks(good_[m + 1]);
      failed = failed || !verified || !on_all_ranks(good_[0]);
      Case row = {{"method", methods[m]},
                  {"move", move},
                  {"ranks", world_size()},
                  {"seconds_median", seconds},
                  {"seconds_alltoallv", warm}};
      if (scalapack_ != nullptr) row["ratio_pdgemr2d"] = seconds / median(pdgemr2d_seconds_);
      row["ratio_warm"] = seconds / warm;
      row["ratio_redistribute"] = seconds / median(seconds_[0]);
      row["peak_extra_bytes"] = report.peak_extra_bytes;
      row["extra_bytes_bound"] = report.extra_bytes_bound;
      row["local_bytes"] = array_.size() * sizeof(double);
      row["verified"] = verified;
      rows.push_back(row);
    }
    return rows;
  }

 private:
  static constexpr std::array<const char*, 2> methods{"redistribute", "redistribute_in_place"};

  static std::size_t elements(const BlockCyclic& layout) {
    return world_rank() < layout.ranks()
               ? static_cast<std::size_t>(layout.local_elements(world_rank()))
               : 0;
  }

  [[nodiscard]] std::vector<std::uint64_t> shared_elements() const {
    std::vector<std::uint64_t> counts(static_cast<std::size_t>(world_size()), 0);
    if (world_rank() >= from_.layout.ranks()) return counts;
    Ledger ledger;
    const layout::Intersection shared(ledger, from_.layout, world_rank(), to_.layout);
    for (int peer = 0; peer < to_.layout.ranks(); ++peer)
      counts[static_cast<std::size_t>(peer)] = static_cast<std::uint64_t>(shared.elements(peer));
    return counts;
  }

  /// Calls visit(place in the column-major local array, number of the element in the array).
  template <class Visit>
  static void for_each(const BlockCyclic& layout, Visit&& visit) {
    if (elements(layout) == 0) return;
    const BlockCyclic::Extents extents = layout.local_extents(world_rank());
    const BlockCyclic::Coordinates place = layout.coordinates(world_rank());
    auto local = BlockCyclic::Extents::filled(extents.size(), 0);
    const auto position = [&](std::size_t d) {
      return static_cast<double>(layout.dimension(d).global_index(place[d], local[d]));
    };
    double weight = 1;  // of an index of the first dimension, in the number
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
  static void fill(const BlockCyclic& layout, std::vector<double>& part) {
    for_each(layout, [&](std::size_t at, double number) { part[at] = number; });
  }
  static bool is_right(const BlockCyclic& layout, const std::vector<double>& part) {
    bool right = true;
    for_each(layout, [&](std::size_t at, double number) { right = right && part[at] == number; });
    return right;
  }
  static void clear(std::vector<double>& part) { std::ranges::fill(part, -1.0); }

  GridLayout from_, to_;
  LayoutOptions options_;
  std::unique_ptr<ScalapackPeer> scalapack_;
  std::unique_ptr<Alltoallv> alltoallv_;
  std::size_t before_ = 0, after_ = 0;
  std::vector<double> source_, target_, array_;
  std::array<bool, methods.size() + 1> good_{true, true, true};  ///< pdgemr2d first
  std::array<Report, methods.size()> reports_;
  std::vector<double> alltoallv_seconds_, pdgemr2d_seconds_;
  std::array<std::vector<double>, methods.size()> seconds_;
};

std::unique_ptr<Comparison> make_comparison(const LayoutDataSettings& settings,
                                            const std::string& move) {
  std::vector<std::string> parts;
  std::istringstream text(move);
  for (std::string part; std::getline(text, part, ':');) parts.push_back(part);
  if (parts.size() != 4)
    throw Error(
        ErrorCode::invalid_argument,
        "'" + move + "' is no move; write block, grid, block and grid, as in 64x64:2x2:30x50:4x1");
  return std::make_unique<Comparison>(settings,
                                      GridLayout{make_layout(settings.extent, parts[0], parts[1])},
                                      GridLayout{make_layout(settings.extent, parts[2], parts[3])});
}

}  // namespace

void run_layout_data(const LayoutDataSettings& settings, bool& failed) {
  std::vector<Case> cases;
  Progress progress("measuring",
                    settings.moves.size() * (1 + static_cast<std::size_t>(settings.repeat)));
  for (const std::string& move : settings.moves) {
    const auto comparison = make_comparison(settings, move);
    for (int k = 0; k <= settings.repeat; ++k, progress.step()) comparison->round(k > 0);
    for (const Case& row : comparison->rows(move, failed)) cases.push_back(row);
  }
  print_table(cases);
  write_json(settings.json, cases);
}

}  // namespace valet::bench
