// SPDX-License-Identifier: BSD-3-Clause
#include "schedule/cyclic.hpp"

#include <algorithm>

namespace valet::schedule {

// The depth-first search of MADRE Figure 4.

/// What the actions of one cycle or shift have in common.
struct CyclicScheduler::Common {
  std::uint64_t blocks = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t room = std::numeric_limits<std::uint64_t>::max();
  std::uint32_t most_message_blocks = std::numeric_limits<std::uint32_t>::max();
  std::uint32_t step = 0;

  void take_part(const Node& node) {
    most_message_blocks = std::min(most_message_blocks, node.most_message_blocks);
    step = std::max(step, node.step);
  }
  [[nodiscard]] std::uint64_t message_blocks() const {
    return std::min({blocks, std::max<std::uint64_t>(1, room), std::uint64_t{most_message_blocks}});
  }
  [[nodiscard]] Action action(std::uint32_t source, std::uint32_t destination) const {
    return {source, destination, blocks, message_blocks(), step};
  }
};

void CyclicScheduler::run(CyclicLink& link) {
  for (std::uint32_t start = 0; start < nodes_.size(); ++start) {
    while (nodes_[start].edges > 0) {
      push(start);
      while (depth_ > 0) advance(link);
    }
  }
}

void CyclicScheduler::push(std::uint32_t rank) {
  nodes_[rank].position = depth_;
  stack_[depth_++] = rank;
}

std::uint32_t CyclicScheduler::pop() {
  const std::uint32_t rank = stack_[--depth_];
  nodes_[rank].position = no_rank;
  return rank;
}

void CyclicScheduler::advance(CyclicLink& link) {
  const std::uint32_t rank = stack_[depth_ - 1];
  Node& top = nodes_[rank];
  if (top.edges == 0) {
    schedule(link, 0, false);
    return;
  }
  if (top.blocks == 0) {
    const Edge edge = link.next_edge(rank);
    top.destination = edge.destination;
    top.blocks = edge.blocks;
  }
  const std::uint32_t position = nodes_[top.destination].position;
  if (position == no_rank)
    push(top.destination);
  else
    schedule(link, position, true);
}

/// What the stack holds from `first` on: a cycle if it is closed, else the whole stack as a shift,
/// whose last rank has nothing to send, so that what it is to receive fits into its free slots.
void CyclicScheduler::schedule(CyclicLink& link, std::uint32_t first, bool is_closed) {
  Common common;
  for (std::uint32_t i = first; i < depth_; ++i) {
    const Node& node = nodes_[stack_[i]];
    if (is_closed || i + 1 < depth_) common.blocks = std::min(common.blocks, node.blocks);
    if (is_closed || i > first) common.room = std::min(common.room, node.free);
    common.take_part(node);
  }
  const std::uint32_t last = stack_[depth_ - 1];
  if (!is_closed) {
    nodes_[last].free -= common.blocks;
    nodes_[stack_[first]].free += common.blocks;
  }
  while (depth_ > first) {
    const std::uint32_t rank = pop();
    const std::uint32_t in_front = is_closed ? last : no_rank;
    const std::uint32_t source = depth_ > first ? stack_[depth_ - 1] : in_front;
    const bool sends = is_closed || rank != last;
    link.schedule(rank, common.action(source, sends ? nodes_[rank].destination : no_rank));
    nodes_[rank].step = common.step + 1;
    if (sends) send(rank, common.blocks);
  }
}

void CyclicScheduler::send(std::uint32_t rank, std::uint64_t blocks) {
  Node& node = nodes_[rank];
  node.blocks -= blocks;
  if (node.blocks == 0) --node.edges;
}

}  // namespace valet::schedule
