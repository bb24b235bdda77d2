// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// A partition by coordinates in which Zoltan is given cells in place of objects.

#include "cells.hpp"
#include "mpi/channel.hpp"
#include "objects.hpp"
#include "zoltan_partition.hpp"
#include <valet/ledger.hpp>
#include <valet/zoltan/rebalancer.hpp>

#include <array>
#include <cstdint>
#include <optional>

namespace valet::zoltan {

/// The objects of all ranks together.
struct AllObjects {
  double weight = 0;
  double count = 0;
  Box range{};
};

class CellPartition {
 public:
  /// Local. @param objects  Looked at. All arguments must outlive this.
  CellPartition(Ledger& ledger, ZoltanPartition& zoltan, const RebalancerOptions& options,
                const Objects& objects);

  /// Whether the objects of this rank should be in cells: Zoltan can be given cells by some ranks
  /// and objects by others. [local]
  [[nodiscard]] bool wants_cells() const;

  /// As ZoltanPartition::partition(). Collective, for when some rank wants cells.
  void run(const mpi::Channel& communicator, const AllObjects& all, Array<int>& ranks,
           Array<int>& parts);

  /// Whether the cuts that Zoltan made between cells went through some, on any rank: then a rank
  /// may get more than Zoltan counted. The same on all ranks.
  [[nodiscard]] bool divides_cells() const { return divides_cells_; }
  /// Sends each cell to one rank, as Zoltan said. Collective.
  void keep_cells_together(const mpi::Channel& communicator, Array<int>& ranks, Array<int>& parts);

  /// The heaviest cell of this rank, as a part of the share of a rank or part. [local]
  [[nodiscard]] double largest_share() const { return largest_share_; }

 private:
  /// Of a cell, and so of the objects of ranks without cells: cells always have weights.
  [[nodiscard]] std::size_t weight_dimensions() const { return objects_.count_weighs ? 2 : 1; }
  void fill_cells(Array<int>& cell_of);
  void describe_cells(const AllObjects& all);
  [[nodiscard]] double place_for_zoltan(const Cell& cell, const AllObjects& all, std::size_t d,
                                        double place) const;
  [[nodiscard]] CellLimits limits() const;
  void take_targets(const Array<int>& ranks, const Array<int>& parts);
  [[nodiscard]] bool is_cut(std::size_t used, int part);
  /// Places that are read at a time: what is staged takes a while each time.
  static constexpr std::size_t read_at_a_time = 256;
  /// Objects of cells that are cut.
  struct CutObjects {
    static constexpr std::size_t most = read_at_a_time;
    std::array<std::uint32_t, most> object{};
    std::size_t count = 0;
  };
  void spread(Array<int>& ranks, Array<int>& parts);
  void divide(CutObjects& cut, Array<int>& ranks, Array<int>& parts) const;

  Ledger& ledger_;
  ZoltanPartition& zoltan_;
  const RebalancerOptions& options_;
  const Objects& objects_;
  OctreeShape shape_;
  bool divides_cells_ = false;
  double share_ = 0;  // of the weight
  double share_of_count_ = 0;
  double largest_share_ = 0;
  std::optional<Octree> octree_;
  std::optional<Cells> cells_;
  Array<double> places_;
  Array<double> weights_;
  Objects given_;       // to Zoltan: columns of the places and weights
  Array<int> rank_of_;  // of each cell; its complement where the cell is cut
  Array<int> part_of_;
};

}  // namespace valet::zoltan
