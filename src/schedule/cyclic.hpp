// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// The cyclic scheduler (Siegel and Siegel, "MADRE: The Memory-Aware Data Redistribution Engine",
/// section 3.2): a root searches the graph of all transfers depth first, with one edge per rank at
/// a time, and schedules a cycle whenever the search meets itself, a shift whenever it ends. Every
/// rank gets a list of actions and carries it out without root and barriers.

#include <valet/export.hpp>
#include <valet/ledger.hpp>
#include <valet/options.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>

namespace valet::schedule {

/// Actions that may be on their way to a rank or wait there.
constexpr std::size_t action_window = 8;
/// After so many a rank tells the root that they are done.
constexpr std::size_t actions_per_note = action_window / 2;
/// Actions of a rank that others may be at already although it has not come to them: those of its
/// window that it has not begun, and one that the root has sent to others and cannot send to it
/// before its window opens.
constexpr std::size_t actions_ahead = action_window + 1;

/// Blocks that a rank has for one other.
struct Edge {
  std::uint32_t destination = 0;
  std::uint64_t blocks = 0;
};

constexpr std::uint32_t no_rank = std::numeric_limits<std::uint32_t>::max();

/// What a rank does next: sends `blocks` to `destination` and receives as many from `source`, in
/// messages of `message_blocks` blocks, the last of which may be shorter. Without a destination it
/// only receives, without a source it only sends. It receives a message and sends one, and goes on
/// when both are done; where it has no free slot, a message is one block, and one block of scratch
/// takes what arrives until the block that leaves has left.
struct Action {
  std::uint32_t source = no_rank;
  std::uint32_t destination = no_rank;
  std::uint64_t blocks = 0;
  std::uint64_t message_blocks = 0;
  /// The longest chain of actions that must end before this one can begin, if each takes one step
  /// and all ranks of a cycle or shift begin together.
  std::uint32_t step = 0;
  [[nodiscard]] bool operator==(const Action&) const = default;
};

/// The root's connection to the ranks, itself among them.
class CyclicLink {
 public:
  CyclicLink() = default;
  CyclicLink(const CyclicLink&) = delete;
  CyclicLink& operator=(const CyclicLink&) = delete;
  virtual ~CyclicLink() = default;

  /// The next edge of a rank, in its order. Asked for `edges` times in all, and only when the
  /// actions of the rank have used up the edge before; may wait for it.
  virtual Edge next_edge(std::uint32_t rank) = 0;
  /// The next action of `rank`. Those of one cycle or shift come one after another.
  virtual void schedule(std::uint32_t rank, const Action& action) = 0;
};

/// What the root knows of a rank from the start.
struct CyclicRank {
  std::uint32_t edges = 0;  ///< ranks it has blocks for
  /// Blocks of a message that it can send or receive at most; at least 1.
  std::uint32_t most_message_blocks = std::numeric_limits<std::uint32_t>::max();
  /// Free slots, and blocks of scratch that take arrivals while others have not left yet.
  std::uint64_t free = 0;
};

/// What a rank sends to the root.
struct CyclicNote {
  enum class Kind : std::uint32_t {
    joins,  ///< who it is, and its first edge if it has one
    edge,   ///< its next edge, after what the root scheduled has used up the last
    done,   ///< it has carried out actions_per_note actions more
  };
  Kind kind = Kind::joins;
  std::uint32_t destination = 0;
  std::uint64_t blocks = 0;
  CyclicRank known = {};  ///< when it joins
};

/// The root's search. Memory: 48 bytes a rank, all of it from the start.
class VALET_EXPORT CyclicScheduler {
 public:
  CyclicScheduler(Ledger& ledger, std::size_t ranks)
      : nodes_(ledger, ranks), stack_(ledger, ranks) {}

  /// Gives what the root must know of a rank; for every rank before each run().
  void set(std::uint32_t rank, const CyclicRank& known) { nodes_[rank] = Node{known}; }
  /// Schedules everything. The map must be feasible. Each cycle or shift uses up an edge at least,
  /// so there are no more of them than edges. O(edges * P) time at worst.
  void run(CyclicLink& link);

 private:
  struct Node : CyclicRank {  ///< edges: the current one and those that were not asked for
    std::uint32_t destination = 0;
    std::uint32_t position = no_rank;  ///< in the stack; no_rank outside of it
    std::uint64_t blocks = 0;          ///< left on the current edge; 0 when it must be asked for
    std::uint32_t step = 0;            ///< its next action's
  };

  void push(std::uint32_t rank);
  void advance(CyclicLink& link);
  void schedule(CyclicLink& link, std::uint32_t first, bool is_closed);

  Array<Node> nodes_;
  Array<std::uint32_t> stack_;
  std::uint32_t depth_ = 0;
};

}  // namespace valet::schedule
