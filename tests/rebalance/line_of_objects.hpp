// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Objects on a line, whose place and weight follow from their number.

#include "gathered.hpp"
#include "mpi/channel.hpp"
#include "rebalance/balancer.hpp"
#include "test_comm.hpp"

namespace valet::test {

struct LineOfObjects {
  /// @param here  Objects that this rank has at first. [local]
  LineOfObjects(std::uint64_t here, std::uint64_t slots)
      : place(slots), work(slots), number(slots), count(here) {
    std::uint64_t first = 0;
    MPI_Exscan(&here, &first, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    if (rank() == 0) first = 0;
    all = static_cast<std::uint64_t>(sum_over_ranks(static_cast<long long>(here)));
    for (std::uint64_t k = 0; k < here; ++k) {
      number[k] = first + k;
      place[k] = place_of(number[k]);
      work[k] = work_of(number[k]);
    }
  }
  /// Neighbours in number are far from each other.
  [[nodiscard]] static double place_of(std::uint64_t number) {
    return static_cast<double>((number * 2654435761U) % 1000003U);
  }
  [[nodiscard]] static float work_of(std::uint64_t number) {
    return static_cast<float>(1 + number % 3);
  }

  void tell(rebalance::Balancer& balancer) const {
    balancer.sources.coordinates = array_columns(place.data(), place.size(), 1);
    balancer.sources.weights = array_columns(work.data(), work.size(), 1);
  }
  [[nodiscard]] BlockStorage storage() { return {field(place), field(work), field(number)}; }
  [[nodiscard]] BlockStorage grown_to(std::uint64_t slots) {
    place.resize(slots);
    work.resize(slots);
    number.resize(slots);
    return storage();
  }
  /// Whether every object is there once, with what belongs to it. Collective.
  [[nodiscard]] bool all_are_there() const {
    bool whole = true;
    for (std::uint64_t k = 0; k < count; ++k)
      whole = whole && place[k] == place_of(number[k]) && work[k] == work_of(number[k]);
    return all_ranks(whole) && lost_or_doubled(number, count, all) == 0;
  }
  [[nodiscard]] double weight_here() const {
    double sum = 0;
    for (std::uint64_t k = 0; k < count; ++k) sum += static_cast<double>(work[k]);
    return sum;
  }

  std::vector<double> place;
  std::vector<float> work;
  std::vector<std::uint64_t> number;
  std::uint64_t count;
  std::uint64_t all = 0;  ///< of all ranks
};

/// Settings under which blocks are checked on their way.
inline rebalance::Settings verified(WhenInfeasible when = WhenInfeasible::refuse) {
  rebalance::Settings settings;
  settings.when_infeasible = when;
  settings.migration.verify = true;
  return settings;
}

/// A rebalancing of these objects by a partitioner.
struct Rebalancing {
  Rebalancing(rebalance::Partitioner& partitioner, rebalance::Settings settings)
      : communicator(mpi::Channel::open(MPI_COMM_WORLD)),
        balancer(communicator, partitioner, std::move(settings)) {}

  RebalanceResult run(LineOfObjects& objects) {
    objects.tell(balancer);
    RebalanceResult result = rebalance(objects.count, objects.storage());
    objects.count = result.count;
    return result;
  }
  template <class Storage>
  RebalanceResult rebalance(std::uint64_t count, const Storage& storage) {
    rebalance::Decision decision;
    decision.count = count;
    balancer.partition(decision);
    return balancer.settle(decision, storage);
  }

  mpi::Channel communicator;
  rebalance::Balancer balancer;
};

}  // namespace valet::test
