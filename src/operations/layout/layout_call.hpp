// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// What is checked of a redistribution before anything moves, and what all ranks agree on.

#include "base/memory_reserve.hpp"
#include "call/frame.hpp"
#include "engine/array_part.hpp"
#include "geometry/intersection.hpp"
#include "mpi/agreement.hpp"
#include "mpi/channel.hpp"
#include "mpi/check.hpp"
#include "mpi/neighbour_words.hpp"
#include "storage/node_memory.hpp"
#include <valet/redistribute.hpp>

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <tuple>

namespace valet::layout {

/// The strides that are given, or those of an array without gaps.
[[nodiscard]] BlockCyclic::Extents strides_of(const BlockCyclic::Extents& given,
                                              const BlockCyclic::Extents& extents,
                                              IndexOrder order);

/// Ranks that a grid layout leaves out have none in its grid.
constexpr int outside = -1;

/// One side of a redistribution, seen from this rank.
struct GridSide {
  const char* name;  ///< for error texts
  const GridLayout& grid;
  int grid_rank = outside;               ///< the first one, of a general grid
  std::size_t cells = 0;                 ///< of this rank; in a block-cyclic grid at most one
  std::optional<IndexOrder> order = {};  ///< of the array; set by check_array()

  GridSide(const char* side, const GridLayout& chosen, int rank);

  [[nodiscard]] const BlockCyclic& layout() const { return grid.layout; }
  [[nodiscard]] int communicator_rank(int rank_in_grid) const {
    return grid.ranks.empty() ? rank_in_grid : grid.ranks[static_cast<std::size_t>(rank_in_grid)];
  }
  /// Elements of this rank; none outside of the grid.
  [[nodiscard]] std::int64_t elements() const { return elements_; }
  [[nodiscard]] std::size_t cells_with_elements() const { return cells_with_elements_; }
  /// Calls action(rank in the grid) for the cells of this rank, ascending.
  template <class Action>
  void for_each_cell(Action&& action) const {
    std::size_t left = cells;
    for (int g = grid_rank; left > 0; ++g) {
      if (communicator_rank(g) != rank_) continue;
      action(g);
      --left;
    }
  }

 private:
  int rank_;
  std::int64_t elements_ = 0;
  std::size_t cells_with_elements_ = 0;
};

/// What suits this rank; in AgreedSizes, what suits all.
struct LayoutSizes {
  static constexpr std::int64_t no_limit = std::numeric_limits<std::int64_t>::max();

  bool at_once = true;                     ///< everything may move at once: on all ranks
  std::int64_t unit = no_limit;            ///< elements of a chunk, or bytes of a page; the least
  std::uint64_t most_peers = 0;            ///< of pages, with the largest budget that is used
  std::optional<IndexOrder> source_order;  ///< none outside of the grid
  std::optional<IndexOrder> target_order;

  void join(mpi::Agreement& agreement);
};

/// One call on one rank, as far as redistribute() and redistribute_in_place() are alike.
struct LayoutCall {
  /// @param name  What reports and traces call it.
  LayoutCall(call::Frame& call, const char* name, const GridLayout& from, const GridLayout& to,
             std::size_t element_bytes, const LayoutOptions& options);

  /// What is wrong with the grids or the size of an element.
  [[nodiscard]] std::optional<Diagnostic> check_grids() const;
  /// What is wrong with an array of this rank, for good grids.
  template <class Pointer>
  [[nodiscard]] std::optional<Diagnostic> check_array(GridSide& side,
                                                      const LocalArray<Pointer>& array) const;
  /// The same for its elements, or those of a cell.
  template <class Pointer>
  [[nodiscard]] std::optional<Diagnostic> check_part(const std::string& name,
                                                     const BlockCyclic::Extents& extents,
                                                     const CellArray<Pointer>& part,
                                                     IndexOrder order) const;
  /// Bytes that tell what is shared, found without taking them. [local]
  [[nodiscard]] std::uint64_t intersection_bytes() const {
    return bytes_of_intersection(from, to) + bytes_of_intersection(to, from);
  }
  [[nodiscard]] static std::uint64_t bytes_of_intersection(const GridSide& mine,
                                                           const GridSide& theirs);
  /// The same for one cell.
  /// @param is_listed  With what it has of each cell of theirs.
  [[nodiscard]] static std::uint64_t bytes_of_cell(const BlockCyclic& mine, int cell,
                                                   const BlockCyclic& theirs, bool is_listed);
  /// Finds what is shared, for which there is `rest` of the budget, and whether everything may move
  /// at once; takes scratch for that. Local. @throws std::bad_alloc.
  /// @param most_leaving  Bytes that may leave a rank at once.
  template <class Source>
  void share_parts(const LocalArray<Source>& source, const TargetArray& target, std::uint64_t rest,
                   std::uint64_t most_leaving);
  /// Either all ranks come back, having given the same layouts and numbers, or all throw.
  /// Collective: one reduction.
  /// @param wrong   What this rank has found wrong.
  /// @param enough  A budget that is enough for this rank, or 0.
  /// @param wish    For memory shared inside nodes; nullptr for none.
  void agree(const std::optional<Diagnostic>& wrong, std::uint64_t enough,
             const storage::NodeWish* wish);

  /// Ranks that this one exchanges elements with, before its peers are taken. [local]
  [[nodiscard]] std::uint64_t neighbours() const {
    return mpi::count_neighbours(peers->destinations, peers->sources, channel.rank());
  }
  /// The arrays as the exchange sees them, once all ranks have agreed on the order of the target.
  [[nodiscard]] ArrayCopies copies() const {
    return {channel, element_bytes, sent, received,
            (*all)->target_order.value_or(IndexOrder::row_major)};
  }
  /// Moves everything at once, in the scratch that share_parts() has taken. Collective.
  void move_at_once(Report& report);

  /// Hashes of the elements of this rank, whose sum over all ranks does not depend on the layout.
  template <class Pointer>
  [[nodiscard]] std::uint64_t sum_of(const GridSide& side, const LocalArray<Pointer>& array) const;
  /// Looks whether something is lost. Collective. @throws Error corrupted on all ranks.
  /// @param difference  Between this rank's sums before and afterwards.
  void verify(std::uint64_t difference, Report& report) const;

  /// What is the same in both reports.
  void describe(Report& report) const;

  call::Frame& frame;
  const mpi::Channel& channel;
  GridSide from, to;
  std::size_t element_bytes;
  LayoutOptions options;
  LayoutSizes mine;                             ///< of this rank
  std::optional<mpi::Agreed<LayoutSizes>> all;  ///< once agreed upon
  std::optional<ArrayPeers> peers;              ///< by share_parts()
  Vector<ArrayCell> sent, received;             ///< likewise; those that have elements

  /// The cells of this rank that have elements. @throws std::bad_alloc.
  template <class Pointer>
  [[nodiscard]] Vector<ArrayCell> find_cells(const GridSide& side, const BlockCyclic& other,
                                             const LocalArray<Pointer>& array) const;
};

/// The text of the error that there is no memory for buffers.
constexpr const char* out_of_memory =
    "the system has no memory for buffers within the budget; set a smaller one";

/// redistribute() or redistribute_in_place() as a Move, which has prepare(arrays...) and
/// run(arrays...). Collective.
template <class Move, class... Arrays>
Report run_layout_call(MPI_Comm communicator, const GridLayout& from, const GridLayout& to,
                       std::size_t element_bytes, const LayoutOptions& options,
                       const Arrays&... arrays) {
  const detail::MemoryReserve reserve;
  const auto frame = std::make_shared<call::Frame>(mpi::Channel::open_for_call(communicator),
                                                   options, "callback progress");
  return frame->run([&] {
    const double start = mpi::now();
    Move move(frame, from, to, element_bytes, options);
    move.prepare(arrays...);
    const double planned = mpi::now() - start;
    const auto all = std::tie(arrays...);  // in place the source is the target
    const std::uint64_t before = options.verify ? move.sum_of(move.from, std::get<0>(all)) : 0;
    Report report = move.run(arrays...);
    report.plan_seconds = planned;
    if (!options.verify) return report;
    const double moved = mpi::now();
    move.verify(before - move.sum_of(move.to, std::get<sizeof...(Arrays) - 1>(all)), report);
    report.verify_seconds = mpi::now() - moved;
    return report;
  });
}

}  // namespace valet::layout
