// SPDX-License-Identifier: BSD-3-Clause
#include "objects/records.hpp"

namespace valet::objects {

RankOrder order_by_rank(Ledger& ledger, std::span<const int> ranks, int without) {
  RankOrder found(ledger);
  Vector<Peer>& peers = found.peers;
  std::size_t last = 0;
  std::uint64_t count = 0;
  int before = -1;
  for (const int rank : ranks) {
    if (rank == without) continue;
    if (rank < before) found.grouped = false;
    before = rank;
    if (last >= peers.size() || peers[last].rank != rank) {
      last = plan::flow_from(peers, rank);
      if (last == peers.size() || peers[last].rank != rank)
        peers.insert(peers.begin() + static_cast<std::ptrdiff_t>(last), Peer{rank, 0});
      else
        found.blocked = false;
    }
    ++peers[last].count;
    ++count;
  }
  if (found.grouped && count == ranks.size()) return found;
  // A counting sort keeps the order of the list among the objects of a rank.
  Vector<std::uint64_t> next(peers.size(), ledger);
  for (std::size_t p = 1; p < peers.size(); ++p) next[p] = next[p - 1] + peers[p - 1].count;
  found.order = Array<std::uint32_t>(ledger, count);
  for (std::size_t k = 0; k < ranks.size(); ++k) {
    if (ranks[k] == without) continue;
    if (last >= peers.size() || peers[last].rank != ranks[k])
      last = plan::flow_from(peers, ranks[k]);
    found.order[next[last]++] = static_cast<std::uint32_t>(k);
  }
  return found;
}

}  // namespace valet::objects
