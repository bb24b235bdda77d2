// SPDX-License-Identifier: BSD-3-Clause
#include "schedule/grains.hpp"

namespace valet::schedule {

FlowPiece GrainOrder::front(std::uint64_t most) const {
  const Entry& entry = heap_.front();
  std::uint64_t end = end_of_grain(entry, grain_);
  if (heap_.size() == 1) end = entry.total;
  while (end - entry.first < most && end < entry.total) {
    const Entry next{end, entry.total, entry.flow, entry.turn};
    const auto is_before = [&](std::size_t child) {
      return child >= heap_.size() || key_of(next, grain_) < key_of(heap_[child], grain_);
    };
    if (!is_before(1) || !is_before(2)) break;
    end = end_of_grain(next, grain_);
  }
  return {entry.flow, entry.first, std::min(most, end - entry.first)};
}

void GrainOrder::advance(std::uint64_t count) {
  const std::uint64_t end = heap_.front().first + count;
  const bool same_grain = end < end_of_grain(heap_.front(), grain_);
  if (same_grain || (heap_.size() == 1 && end < heap_.front().total)) {
    heap_.front().first = end;
    return;
  }
  std::pop_heap(heap_.begin(), heap_.end(), Later{grain_});
  heap_.back().first = end;
  if (end == heap_.back().total)
    heap_.pop_back();
  else
    std::push_heap(heap_.begin(), heap_.end(), Later{grain_});
}

}  // namespace valet::schedule
