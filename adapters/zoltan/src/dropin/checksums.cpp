// SPDX-License-Identifier: BSD-3-Clause
#include "checksums.hpp"

#include <xxhash.h>

#include <algorithm>
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
  // A source may be in one of the lists only.
  std::size_t a = 0;
  std::size_t p = 0;
  while (a < announced.size() || p < received.peers_.size()) {
    const int source = a < announced.size() ? announced[a].rank : received.peers_[p].rank;
    const int rank =
        p < received.peers_.size() ? std::min(source, received.peers_[p].rank) : source;
    mpi::SparseCount packed;
    Flow arrived;
    if (a < announced.size() && announced[a].rank == rank) packed = announced[a++];
    if (p < received.peers_.size() && received.peers_[p].rank == rank)
      arrived = received.flows_[p++];
    if (auto diagnostic = compare_flow(rank, packed, arrived)) return diagnostic;
  }
  return std::nullopt;
}

std::optional<Diagnostic> Checksums::compare_flow(int rank, const mpi::SparseCount& packed,
                                                  const Flow& arrived) {
  const std::string count = std::to_string(packed.count);
  std::string text;
  if (packed.count != arrived.objects)
    text = "rank " + std::to_string(rank) + " packed " + count + " objects for this rank, but " +
           std::to_string(arrived.objects) + " arrived";
  else if (packed.detail != arrived.sum)
    text = "the " + count + " packed objects of rank " + std::to_string(rank) +
           " are not what that rank packed";
  else
    return std::nullopt;
  return Diagnostic{ErrorCode::corrupted, text + "; restart from a checkpoint and report this"};
}

}  // namespace valet::zoltan
