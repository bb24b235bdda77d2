// SPDX-License-Identifier: BSD-3-Clause
#include "checksums.hpp"

#include "mpi/sparse_exchange.hpp"

#include <xxhash.h>

#include <string>

namespace valet::zoltan {

void Checksums::add(std::size_t peer, std::uint64_t number, const std::byte* object, int bytes) {
  flows_[peer].sum += XXH3_64bits_withSeed(object, static_cast<std::size_t>(bytes), number);
  ++flows_[peer].objects;
}

std::optional<Diagnostic> Checksums::compare(const mpi::Channel& channel, Ledger& ledger,
                                             const Checksums& received) const {
  Vector<mpi::SparseCount> sent(ledger);
  Vector<mpi::SparseCount> announced(ledger);
  sent.reserve(peers_.size());
  for (std::size_t p = 0; p < peers_.size(); ++p)
    sent.push_back({peers_[p].rank, flows_[p].objects, flows_[p].sum});
  mpi::exchange_sparse_counts(channel, ledger, sent, announced);
  for (std::size_t p = 0; p < announced.size() && p < received.peers_.size(); ++p)
    if (announced[p].count != received.flows_[p].objects ||
        announced[p].detail != received.flows_[p].sum)
      return Diagnostic{ErrorCode::corrupted, "the " + std::to_string(announced[p].count) +
                                                  " packed objects of rank " +
                                                  std::to_string(announced[p].rank) +
                                                  " are not what that rank packed; restart from a "
                                                  "checkpoint and report this"};
  return std::nullopt;
}

}  // namespace valet::zoltan
