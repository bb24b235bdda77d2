// SPDX-License-Identifier: BSD-3-Clause
#include <valet/mpi/check.hpp>
#include <valet/mpi/root.hpp>

namespace valet::mpi {
namespace {

/// Where each list begins.
Array<int> begins_of(std::span<const int> counts, Ledger& ledger) {
  Array<int> begins(ledger, counts.size());
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    begins[i] = checked_count(sum);
    sum += static_cast<std::uint64_t>(counts[i]);
  }
  return begins;
}

}  // namespace

void gather_words(const Channel& channel, std::span<const std::uint64_t> words,
                  std::span<std::uint64_t> all) {
  const int count = checked_count(words.size());
  const void* const sent = words.data();
  void* const received = all.data();
  check(MPI_Gather(sent, count, MPI_UINT64_T, received, count, MPI_UINT64_T, root, channel.get()),
        "MPI_Gather", root);
}

void gather_lists(const Channel& channel, std::span<const std::uint64_t> words,
                  std::span<const int> counts, std::span<std::uint64_t> all, Ledger& ledger) {
  const Array<int> begins = begins_of(counts, ledger);
  check(MPI_Gatherv(words.data(), checked_count(words.size()), MPI_UINT64_T, all.data(),
                    counts.data(), begins.data(), MPI_UINT64_T, root, channel.get()),
        "MPI_Gatherv", root);
}

void scatter_lists(const Channel& channel, std::span<const std::uint64_t> all,
                   std::span<const int> counts, Vector<std::uint64_t>& own, Ledger& ledger) {
  int count = 0;
  check(MPI_Scatter(counts.data(), 1, MPI_INT, &count, 1, MPI_INT, root, channel.get()),
        "MPI_Scatter", root);
  const Array<int> begins = begins_of(counts, ledger);
  own.resize(static_cast<std::size_t>(count));
  check(MPI_Scatterv(all.data(), counts.data(), begins.data(), MPI_UINT64_T, own.data(), count,
                     MPI_UINT64_T, root, channel.get()),
        "MPI_Scatterv", root);
}

void broadcast_words(const Channel& channel, std::span<std::uint64_t> words) {
  void* const data = words.data();
  check(MPI_Bcast(data, checked_count(words.size()), MPI_UINT64_T, root, channel.get()),
        "MPI_Bcast", root);
}

}  // namespace valet::mpi
