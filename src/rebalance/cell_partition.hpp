// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// A partition by coordinates in which the partitioner is given cells in place of objects.

#include "mpi/channel.hpp"
#include "rebalance/cells.hpp"
#include "rebalance/objects.hpp"
#include "rebalance/part_ranks.hpp"
#include "rebalance/partitioner.hpp"
#include "rebalance/settings.hpp"
#include <valet/ledger.hpp>

#include <array>
#include <cstdint>
#include <optional>

namespace valet::rebalance {

/// An imbalance that is above the tolerance by more than this is corrected.
constexpr double tolerated_excess = 0.01;

/// The objects of all ranks together.
struct AllObjects {
  double weight = 0;
  double count = 0;
  Box range{};
};

/// Whether the objects of this rank should be in cells: the partitioner can be given cells by some
/// ranks and objects by others. [local]
[[nodiscard]] bool wants_cells(const Settings& settings, Basis basis, const Objects& objects);

/// What is promised for the largest over the mean weight of a part: the tolerance, or the mean and
/// the heaviest object; cuts are not more exact than that.
/// @param share  The mean. [global]
[[nodiscard]] double imbalance_bound(const Settings& settings, const Objects& objects,
                                     double share);

class CellPartition {
 public:
  /// Local. @param objects  Looked at. All arguments must outlive this.
  CellPartition(Ledger& ledger, Partitioner& partitioner, const PartRanks& part_ranks,
                const Settings& settings, const Objects& objects);

  /// As Partitioner::partition(). Collective. @throws Error out_of_memory.
  /// @param by_cells   Whether some rank wants cells. [global]
  /// @param even_out   Whether parts above the tolerance give up some of what they have. [global]
  void run(const mpi::Channel& communicator, const AllObjects& all, bool by_cells, bool even_out,
           Array<int>& ranks, Array<int>& parts);

  /// Whether the cuts made between cells went through some, on any rank: then a rank may get more
  /// than the partitioner counted. The same on all ranks.
  [[nodiscard]] bool divides_cells() const { return divides_cells_; }
  /// For an imbalance of divided cells that is too high. Collective. Where it is a little too high,
  /// some objects are dealt to other parts; they end among objects of another part, but they are
  /// few. Otherwise each cell goes to one part, as the partitioner said, and cuts follow the
  /// borders of cells.
  void correct_division(const mpi::Channel& communicator, const AllObjects& all, double imbalance,
                        Array<int>& ranks, Array<int>& parts);

  /// The heaviest cell of this rank, as a part of the share of a rank or part. [local]
  [[nodiscard]] double largest_share() const { return largest_share_; }

 private:
  /// Weights of a cell, and so of the objects of ranks without cells.
  [[nodiscard]] std::size_t cell_weights() const { return objects_.count_weighs ? 2 : 1; }
  void make_cells(const AllObjects& all, Array<int>& ranks);
  void keep_cells_together(const mpi::Channel& communicator, Array<int>& ranks, Array<int>& parts);
  bool deal(const mpi::Channel& communicator, const AllObjects& all, const Objects& units,
            double bound, Array<int>& ranks, Array<int>& parts) const;
  void fill_cells(Array<int>& cell_of);
  void describe_cells(const AllObjects& all);
  [[nodiscard]] double place_to_give(const Cell& cell, const AllObjects& all, std::size_t d,
                                     double coordinate) const;
  [[nodiscard]] CellLimits limits() const;
  void take_targets();
  /// Whether its objects are: then a cut cannot go through it.
  [[nodiscard]] bool is_at_one_point(int cell) const;
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
  Partitioner& partitioner_;
  const PartRanks& part_ranks_;
  const Settings& settings_;
  const Objects& objects_;
  bool has_parts_;
  bool divides_cells_ = false;
  bool evens_out_ = false;
  double share_ = 0;  // of the weight
  double share_of_count_ = 0;
  double largest_share_ = 0;
  std::optional<Octree> octree_;
  std::optional<Cells> cells_;
  Array<double> coordinates_;
  Array<double> weights_;
  Objects given_;  // to the partitioner: columns of the points and weights
  Array<int> chosen_ranks_, chosen_parts_;
  Array<int> rank_of_;  // of each cell; its complement where the cell is cut
  Array<int> part_of_;
};

}  // namespace valet::rebalance
