// SPDX-License-Identifier: BSD-3-Clause
#include "balance.hpp"

#include "base/memory_reserve.hpp"
#include "mpi/agreement.hpp"
#include "mpi/check.hpp"

#include <algorithm>
#include <array>
#include <string>

namespace valet::zoltan {
namespace {

static_assert(sizeof(Load) == 2 * sizeof(double));

double largest_over_mean(double largest, double sum, int ranks) {
  return sum > 0 ? largest * ranks / sum : 1;
}

std::optional<Diagnostic> add_up(const Objects& objects, std::span<const int> ranks,
                                 std::span<Load> given) {
  for (std::uint64_t k = 0; k < objects.count; ++k) {
    if (ranks[k] < 0 || static_cast<std::size_t>(ranks[k]) >= given.size())
      return Diagnostic{ErrorCode::rank_out_of_range,
                        "the object in slot " + std::to_string(k) + " is sent to rank " +
                            std::to_string(ranks[k]) + ", but there are ranks 0 to " +
                            std::to_string(given.size() - 1) +
                            "; fix Partition::ranks(), nothing has moved"};
    Load& load = given[static_cast<std::size_t>(ranks[k])];
    load.weight += objects.weight(k);
    load.count += 1;
  }
  return std::nullopt;
}

}  // namespace

Totals totals_over_ranks(const mpi::Channel& communicator, const Load& own) {
  Load sums;
  Load largest;
  mpi::check(MPI_Allreduce(&own, &sums, 2, MPI_DOUBLE, MPI_SUM, communicator.get()),
             "MPI_Allreduce");
  mpi::check(MPI_Allreduce(&own, &largest, 2, MPI_DOUBLE, MPI_MAX, communicator.get()),
             "MPI_Allreduce");
  return {{largest_over_mean(largest.weight, sums.weight, communicator.size()),
           largest_over_mean(largest.count, sums.count, communicator.size())},
          sums};
}

Load load_after(const mpi::Channel& communicator, Ledger& ledger, const Objects& objects,
                std::span<const int> ranks) {
  const auto all = static_cast<std::size_t>(communicator.size());
  Array<Load> given;
  std::optional<Diagnostic> found;
  auto failed = valet::detail::unless_out_of_memory(
      [&] {
        given = Array<Load>(ledger, all);
        std::fill(given.begin(), given.end(), Load{});
        found = add_up(objects, ranks, std::span(given));
      },
      [&] {
        return Diagnostic{ErrorCode::out_of_memory,
                          "no memory to add up the objects for " + std::to_string(all) + " ranks"};
      });
  mpi::agree(communicator, failed ? failed : found);
  Load sum;
  mpi::check(
      MPI_Reduce_scatter_block(given.data(), &sum, 2, MPI_DOUBLE, MPI_SUM, communicator.get()),
      "MPI_Reduce_scatter_block");
  return sum;
}

}  // namespace valet::zoltan
