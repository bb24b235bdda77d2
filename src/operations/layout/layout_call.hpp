// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// What is checked of a redistribution before anything moves, and what all ranks agree on.

#include "call/frame.hpp"
#include "engine/arrays_at_once.hpp"
#include "geometry/intersection.hpp"
#include "mpi/agreement.hpp"
#include "mpi/channel.hpp"
#include "mpi/neighbour_words.hpp"
#include "storage/node_memory.hpp"
#include "storage/sequence_copy.hpp"
#include <valet/redistribute.hpp>

#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

namespace valet::layout {

/// Ranks that a grid layout leaves out have none in its grid.
constexpr int outside = -1;

/// One side of a redistribution, seen from this rank.
struct GridSide {
  const char* name;  ///< for error texts
  const GridLayout& grid;
  int grid_rank = outside;

  GridSide(const char* side, const GridLayout& chosen, int rank);

  [[nodiscard]] const BlockCyclic& layout() const { return grid.layout; }
  [[nodiscard]] int communicator_rank(int rank_in_grid) const {
    return grid.ranks.empty() ? rank_in_grid : grid.ranks[static_cast<std::size_t>(rank_in_grid)];
  }
  /// Elements of this rank; none outside of the grid.
  [[nodiscard]] std::int64_t elements() const { return elements_; }

 private:
  std::int64_t elements_ = 0;
};

/// What suits a rank, then all.
struct LayoutSizes {
  static constexpr std::int64_t no_limit = std::numeric_limits<std::int64_t>::max();

  bool at_once = true;                     ///< everything may move at once
  std::int64_t piece = no_limit;           ///< elements of a chunk, or bytes of a page
  std::uint64_t most_peers = 0;            ///< of pages, with the largest budget that is used
  std::optional<IndexOrder> source_order;  ///< none outside of the grid
  std::optional<IndexOrder> target_order;

  void join(mpi::Agreement& agreement);
};
using AgreedSizes = mpi::Agreed<LayoutSizes>;

/// One call on one rank, as far as redistribute() and redistribute_in_place() are alike.
struct LayoutCall {
  LayoutCall(call::Frame& call, const GridLayout& from, const GridLayout& to,
             std::size_t element_bytes, const LayoutOptions& options);

  /// What is wrong with the grids or the size of an element.
  [[nodiscard]] std::optional<Diagnostic> check_grids(Ledger& ledger) const;
  /// What is wrong with an array of this rank, for good grids; its strides where nothing is.
  template <class Pointer>
  [[nodiscard]] std::optional<Diagnostic> check_array(const GridSide& side,
                                                      const LocalArray<Pointer>& array,
                                                      BlockCyclic::Extents& strides) const;
  /// Either all ranks come back, having given the same layouts and numbers, or all throw.
  /// Collective: one reduction.
  /// @param wrong   What this rank has found wrong.
  /// @param mine    With the orders of the arrays of this rank, whether it has any or not.
  /// @param enough  A budget that is enough for this rank, or 0.
  /// @param wish    For memory shared inside nodes; nullptr for none.
  [[nodiscard]] AgreedSizes agree(const std::optional<Diagnostic>& wrong, LayoutSizes mine,
                                  std::uint64_t enough, const storage::NodeWish* wish) const;

  /// What is the same in both reports.
  void describe(Report& report) const;

  call::Frame& frame;
  const mpi::Channel& channel;
  GridSide from, to;
  std::size_t element_bytes;
  LayoutOptions options;
};

/// That there is no memory for buffers.
[[nodiscard]] Diagnostic out_of_memory();

/// What a rank shares with others, and how its arrays lie.
class SharedParts {
 public:
  /// For good grids. @throws std::bad_alloc.
  SharedParts(Ledger& ledger, const LayoutCall& call);

  [[nodiscard]] const ArrayPeers& peers() const { return peers_; }
  [[nodiscard]] ArrayPeers take_peers() { return std::move(peers_); }
  /// Ranks that this one exchanges elements with, before its peers are taken. [local]
  [[nodiscard]] std::uint64_t neighbours() const {
    return mpi::count_neighbours(peers_.destinations, peers_.sources, call_.channel.rank());
  }
  /// Scratch to move everything at once. [local]
  [[nodiscard]] std::uint64_t bytes_at_once() const {
    return ArraysAtOnce::scratch_bytes(peers_, call_.element_bytes);
  }
  /// The arrays as the exchange sees them, once all ranks have agreed on the order of the target.
  [[nodiscard]] OutgoingPart outgoing(const void* array, const BlockCyclic::Extents& strides,
                                      const AgreedSizes& all);
  [[nodiscard]] IncomingPart incoming(void* array, const BlockCyclic::Extents& strides,
                                      const AgreedSizes& all);
  /// Moves everything at once, in scratch of bytes_at_once() that has been taken. Collective.
  void move_at_once(const OutgoingPart& outgoing, const IncomingPart& incoming, Report& report);

 private:
  const LayoutCall& call_;
  std::optional<Intersection> sent_, received_;
  std::optional<SequenceCopy> pack_, unpack_;
  ArrayPeers peers_;
};

/// Bytes that an intersection takes, found without taking them; 0 outside of the grid.
[[nodiscard]] std::uint64_t intersection_bytes(const GridSide& mine, const BlockCyclic& theirs);

}  // namespace valet::layout
