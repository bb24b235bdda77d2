// SPDX-License-Identifier: BSD-3-Clause
#include <valet/schedule/cyclic.hpp>
#include <valet/schedule/detail/names.hpp>

#include <algorithm>
#include <array>

namespace valet::schedule {
namespace {

/// The depth-first search of MADRE Figure 4.
class Search {
 public:
  Search(Ledger& ledger, std::span<const CyclicRank> ranks, CyclicLink& link,
         std::uint64_t most_increment)
      : link_(link),
        most_increment_(most_increment),
        nodes_(ledger, ranks.size()),
        stack_(ledger, ranks.size()) {
    for (std::size_t rank = 0; rank < ranks.size(); ++rank)
      nodes_[rank] = {.edges = ranks[rank].edges, .free = ranks[rank].free};
  }

  void run() {
    for (std::uint32_t start = 0; start < nodes_.size(); ++start) {
      while (nodes_[start].edges > 0) {
        push(start);
        while (depth_ > 0) step();
      }
    }
  }

 private:
  static constexpr std::uint32_t outside = no_rank;

  struct Node {
    std::uint32_t edges = 0;  ///< the current one and those that were not asked for
    std::uint32_t destination = 0;
    std::uint64_t blocks = 0;  ///< left on the current edge; 0 when it must be asked for
    std::uint64_t free = 0;
    std::uint32_t position = outside;  ///< in the stack
  };

  void push(std::uint32_t rank) {
    nodes_[rank].position = depth_;
    stack_[depth_++] = rank;
  }

  void step() {
    Node& top = nodes_[stack_[depth_ - 1]];
    if (top.edges == 0) {
      schedule_shift();
      return;
    }
    if (top.blocks == 0) {
      const Edge edge = link_.next_edge(stack_[depth_ - 1]);
      top.destination = edge.destination;
      top.blocks = edge.blocks;
    }
    const std::uint32_t position = nodes_[top.destination].position;
    if (position == outside)
      push(top.destination);
    else
      schedule_cycle(position);
  }

  /// All that the stack holds from `first` on, back to its beginning.
  void schedule_cycle(std::uint32_t first) {
    std::uint64_t blocks = std::numeric_limits<std::uint64_t>::max();
    std::uint64_t room = blocks;
    for (std::uint32_t i = first; i < depth_; ++i) {
      blocks = std::min(blocks, nodes_[stack_[i]].blocks);
      room = std::min(room, nodes_[stack_[i]].free);
    }
    const std::uint64_t increment = increment_of(blocks, room);
    const std::uint32_t last = stack_[depth_ - 1];
    while (depth_ > first) {
      const std::uint32_t rank = pop();
      const std::uint32_t source = depth_ > first ? stack_[depth_ - 1] : last;
      link_.schedule(rank, {source, nodes_[rank].destination, blocks, increment});
      send(rank, blocks);
    }
  }

  /// The whole stack: its last rank has nothing to send, so what it is to receive fits into its
  /// free slots.
  void schedule_shift() {
    std::uint64_t blocks = std::numeric_limits<std::uint64_t>::max();
    std::uint64_t room = blocks;
    for (std::uint32_t i = 0; i + 1 < depth_; ++i) {
      blocks = std::min(blocks, nodes_[stack_[i]].blocks);
      room = std::min(room, nodes_[stack_[i + 1]].free);
    }
    const std::uint64_t increment = increment_of(blocks, room);
    nodes_[stack_[depth_ - 1]].free -= blocks;
    nodes_[stack_[0]].free += blocks;
    bool sends = false;
    while (depth_ > 0) {
      const std::uint32_t rank = pop();
      const std::uint32_t source = depth_ > 0 ? stack_[depth_ - 1] : no_rank;
      link_.schedule(rank, {source, sends ? nodes_[rank].destination : no_rank, blocks, increment});
      if (sends) send(rank, blocks);
      sends = true;
    }
  }

  [[nodiscard]] std::uint64_t increment_of(std::uint64_t blocks, std::uint64_t room) const {
    return std::min({blocks, std::max<std::uint64_t>(1, room), most_increment_});
  }

  std::uint32_t pop() {
    const std::uint32_t rank = stack_[--depth_];
    nodes_[rank].position = outside;
    return rank;
  }

  void send(std::uint32_t rank, std::uint64_t blocks) {
    Node& node = nodes_[rank];
    node.blocks -= blocks;
    if (node.blocks > 0) return;
    --node.edges;
    if (node.edges > 0) link_.edge_used(rank);
  }

  CyclicLink& link_;
  std::uint64_t most_increment_;
  Array<Node> nodes_;
  Array<std::uint32_t> stack_;
  std::uint32_t depth_ = 0;
};

constexpr std::array all_orders{EdgeOrder::ascending, EdgeOrder::rotated};

}  // namespace

const char* to_string(EdgeOrder order) noexcept {
  switch (order) {
    case EdgeOrder::ascending: return "ascending";
    case EdgeOrder::rotated: return "rotated";
  }
  return "unknown";
}

EdgeOrder parse_edge_order(std::string_view name) {
  return detail::parse_name(name, "edge order", std::span<const EdgeOrder>(all_orders));
}

void schedule_cyclic(Ledger& ledger, std::span<const CyclicRank> ranks, CyclicLink& link,
                     std::uint64_t most_increment) {
  Search(ledger, ranks, link, most_increment).run();
}

}  // namespace valet::schedule
