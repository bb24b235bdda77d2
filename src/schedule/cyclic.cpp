// SPDX-License-Identifier: BSD-3-Clause
#include "schedule/cyclic.hpp"

#include <algorithm>

namespace valet::schedule {

// The depth-first search of MADRE Figure 4.

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
  Action action{.blocks = std::numeric_limits<std::uint64_t>::max()};
  std::uint64_t room = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t most_message_blocks = std::numeric_limits<std::uint32_t>::max();
  for (std::uint32_t i = first; i < depth_; ++i) {
    const Node& node = nodes_[stack_[i]];
    if (is_closed || i + 1 < depth_) action.blocks = std::min(action.blocks, node.blocks);
    if (is_closed || i > first) room = std::min(room, node.free);
    most_message_blocks = std::min<std::uint64_t>(most_message_blocks, node.most_message_blocks);
    action.step = std::max(action.step, node.step);
  }
  action.message_blocks =
      std::min({action.blocks, std::max<std::uint64_t>(1, room), most_message_blocks});
  const std::uint32_t last = stack_[depth_ - 1];
  if (!is_closed) {
    nodes_[last].free -= action.blocks;
    nodes_[stack_[first]].free += action.blocks;
  }
  while (depth_ > first) {
    const std::uint32_t rank = stack_[--depth_];
    Node& node = nodes_[rank];
    const bool sends = is_closed || rank != last;
    const std::uint32_t in_front = is_closed ? last : no_rank;
    action.source = depth_ > first ? stack_[depth_ - 1] : in_front;
    action.destination = sends ? node.destination : no_rank;
    node.position = no_rank;
    link.schedule(rank, action);
    node.step = action.step + 1;
    if (!sends) continue;
    node.blocks -= action.blocks;
    if (node.blocks == 0) --node.edges;
  }
}

}  // namespace valet::schedule
