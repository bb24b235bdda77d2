// SPDX-License-Identifier: BSD-3-Clause
#include "oracle.h"

#include "oracle.hpp"
#include "random_maps.hpp"

using namespace valet::test;

std::uint64_t oracle_blocks(int ranks, const std::uint64_t* counts, const int* to, int order,
                            std::size_t block_bytes, int rank, int* from_ranks,
                            std::uint64_t* from_slots) {
  std::vector<std::vector<int>> all;
  for (int r = 0; r < ranks; to += counts[r++]) all.emplace_back(to, to + counts[r]);
  const auto content = content_by_ranks(map_to(all), static_cast<valet::Order>(order), block_bytes);
  std::uint64_t count = 0;
  for (const auto& from : row_of(content, rank))
    if (from) {
      from_ranks[count] = from->rank;
      from_slots[count++] = from->slot;
    }
  return count;
}

std::uint64_t oracle_layout(std::uint64_t block_size, std::uint64_t objects, int ranks, int rank,
                            std::uint64_t* numbers) {
  const Numbers all = numbers_of(valet::ObjectLayout{block_size, 0}, objects, ranks);
  std::copy(row_of(all, rank).begin(), row_of(all, rank).end(), numbers);
  return row_of(all, rank).size();
}
