// SPDX-License-Identifier: BSD-3-Clause
#include "schedule/phased_rank.hpp"

#include <algorithm>

namespace valet::schedule {

std::int64_t PhasedRank::balance(const PhaseStart& left, std::uint64_t sending) const {
  std::uint64_t own = 0;
  std::uint64_t for_others = 0;  // where there is room, all of the column has been credited
  for (std::size_t entry = 0; entry < row.keys.size(); ++entry) {
    if (is_direct(row.keys[entry])) own += row.counts[entry];
    if (row.keys[entry].peer == rank_) for_others += row.counts[entry];
  }
  const std::uint64_t room = left.waiting_room - std::min(left.waiting_room, for_others);
  return std::clamp(parking_balance(column.sum(), left.free, sending),
                    -static_cast<std::int64_t>(room), static_cast<std::int64_t>(own));
}

void PhasedRank::resize(Vector<std::uint64_t>& counts, std::size_t size) {
  if (size > counts.capacity()) {
    Vector<std::uint64_t>(counts.get_allocator()).swap(counts);
    counts.reserve(size);
  }
  counts.resize(size);
}

}  // namespace valet::schedule
