// SPDX-License-Identifier: BSD-3-Clause
#include "rebalance/balance.hpp"

#include "base/assert.hpp"
#include "base/diagnose.hpp"
#include "base/memory_reserve.hpp"
#include "mpi/agreement.hpp"
#include "mpi/check.hpp"

#include <algorithm>
#include <array>

namespace valet::rebalance {
namespace {

static_assert(sizeof(Load) == 2 * sizeof(double));

double largest_over_mean(double largest, double sum, int ranks) {
  return sum > 0 ? largest * ranks / sum : 1;
}

Diagnostic bad_rank(std::uint64_t slot, int rank, std::size_t ranks) {
  return diagnose(ErrorCode::rank_out_of_range, "the object in slot ", slot, " is sent to rank ",
                  rank, ", but there are ranks 0 to ", ranks - 1,
                  "; fix Partition::ranks(), nothing has moved");
}

std::optional<Diagnostic> add_up(const Objects& objects, std::span<const int> ranks,
                                 std::span<Load> given) {
  std::optional<Diagnostic> found;
  objects.for_each_weight([&](std::uint64_t k, double weight) {
    const int rank = ranks[k];
    if (rank < 0 || static_cast<std::size_t>(rank) >= given.size()) {
      if (!found) found = bad_rank(k, rank, given.size());
      return;
    }
    Load& load = given[static_cast<std::size_t>(rank)];
    load.weight += weight;
    load.count += 1;
  });
  return found;
}

}  // namespace

Totals totals_over_ranks(const mpi::Channel& communicator, const Load& own,
                         std::span<double> largest) {
  constexpr std::size_t most = 8;
  VALET_ASSERT(largest.size() <= most);
  std::array<double, 2> sums{own.weight, own.count};
  std::array<double, 2 + most> maxima{own.weight, own.count};
  std::ranges::copy(largest, maxima.begin() + 2);
  mpi::sum(communicator, sums);
  mpi::maximum(communicator, std::span(maxima).first(2 + largest.size()));
  std::copy_n(maxima.begin() + 2, largest.size(), largest.begin());
  return {{largest_over_mean(maxima[0], sums[0], communicator.size()),
           largest_over_mean(maxima[1], sums[1], communicator.size())},
          {sums[0], sums[1]}};
}

/// @param add  add(given) adds up what this rank gives to whom.
template <class Add>
Load load_after(const mpi::Channel& communicator, Ledger& ledger, const Objects& objects,
                Add&& add) {
  const auto all = static_cast<std::size_t>(communicator.size());
  Array<Load> given;
  const auto failed = detail::unless_out_of_memory(
      [&] {
        given = Array<Load>(ledger, all);
        std::fill(given.begin(), given.end(), Load{});
        std::optional<Diagnostic> found;
        objects.read_in([&] { found = add(std::span(given)); });
        return found ? found : objects.diagnostic();
      },
      [&] {
        return diagnose(ErrorCode::out_of_memory, "no memory to add up the objects for ", all,
                        " ranks");
      });
  mpi::agree(communicator, failed);
  Load sum;
  mpi::check(
      MPI_Reduce_scatter_block(given.data(), &sum, 2, MPI_DOUBLE, MPI_SUM, communicator.get()),
      "MPI_Reduce_scatter_block");
  return sum;
}

Load load_after(const mpi::Channel& communicator, Ledger& ledger, const Objects& objects,
                std::span<const int> ranks) {
  return load_after(communicator, ledger, objects,
                    [&](std::span<Load> given) { return add_up(objects, ranks, given); });
}

Load load_after(const mpi::Channel& communicator, Ledger& ledger, const Objects& objects,
                const OrderPartition& order) {
  if (objects.weights.size == 0) {
    const auto count = static_cast<double>(order.count_after());
    return {count, count};
  }
  return load_after(communicator, ledger, objects,
                    [&](std::span<Load> given) -> std::optional<Diagnostic> {
                      order.for_each_run([&](int rank, std::uint64_t first, std::uint64_t count) {
                        Load& load = given[static_cast<std::size_t>(rank)];
                        for (std::uint64_t k = first; k < first + count; ++k)
                          load.weight += objects.weight(k);
                        load.count += static_cast<double>(count);
                      });
                      return std::nullopt;
                    });
}

}  // namespace valet::rebalance
