// SPDX-License-Identifier: BSD-3-Clause
#include "swaps.hpp"

#include "measure.hpp"
#include "mpi/check.hpp"

#include <algorithm>
#include <array>

namespace valet::bench {
namespace {

std::vector<int> bitonic_partners(unsigned rank, unsigned ranks) {
  std::vector<int> partners;
  for (unsigned group = 2; group < 2 * ranks; group *= 2)
    for (unsigned flip = group - 1; flip > 0; flip = flip == group - 1 ? group / 4 : flip / 2)
      if ((rank ^ flip) < ranks) partners.push_back(static_cast<int>(rank ^ flip));
  return partners;
}

/// The largest of what the ranks have.
double slowest(double seconds) {
  MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return seconds;
}

}  // namespace

std::vector<int> swap_partners(AlltoallMethod method, int rank, int ranks) {
  if (method == AlltoallMethod::bitonic)
    return bitonic_partners(static_cast<unsigned>(rank), static_cast<unsigned>(ranks));
  std::vector<int> partners;
  for (int partner = 0; partner < ranks; ++partner)
    if (partner != rank) partners.push_back(partner);
  return partners;
}

double swap_bandwidth_ratio(AlltoallMethod method, const Report& mine,
                            std::span<const std::byte> from, std::span<std::byte> to, int repeat) {
  const std::vector<int> partners = swap_partners(method, world_rank(), world_size());
  const std::size_t each = partners.empty() ? 0 : mine.bytes_sent / partners.size();
  const int bytes = mpi::checked_count(std::min(each, from.size()));
  std::vector<double> seconds;
  for (int k = 0; k <= repeat; ++k) {
    const double once = slowest_seconds([&] {
      for (const int partner : partners)
        MPI_Sendrecv(from.data(), bytes, MPI_BYTE, partner, 0, to.data(),
                     mpi::checked_count(to.size()), MPI_BYTE, partner, 0, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
    });
    if (k > 0) seconds.push_back(once);
  }
  const double swaps = slowest(mine.exchange_seconds);
  return swaps > 0 ? median(seconds) / swaps : 1;
}

}  // namespace valet::bench
