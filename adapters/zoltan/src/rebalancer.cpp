// SPDX-License-Identifier: BSD-3-Clause
#include "base/memory_reserve.hpp"
#include "base/names.hpp"
#include "geometric_partition.hpp"
#include "mpi/agreement.hpp"
#include "mpi/channel.hpp"
#include "mpi/check.hpp"
#include <valet/detail/first_failure.hpp>
#include <valet/plan.hpp>
#include <valet/zoltan/rebalancer.hpp>

#include <array>
#include <limits>
#include <new>
#include <string>
#include <vector>

namespace valet::zoltan {
namespace {

/// The sum of the weights of all objects of this rank, or their number.
double local_weight(const Objects& objects) {
  if (objects.weights.size == 0) return static_cast<double>(objects.count);
  double sum = 0;
  for (std::uint64_t k = 0; k < objects.count; ++k) sum += objects.weights.column[0][k];
  return sum;
}

/// The weight that every rank will have: each rank adds up what it gives to whom.
double weight_after(const mpi::Channel& communicator, const Objects& objects,
                    std::span<const int> ranks) {
  std::vector<double> given(static_cast<std::size_t>(communicator.size()), 0);
  for (std::uint64_t k = 0; k < objects.count; ++k)
    given[static_cast<std::size_t>(ranks[k])] +=
        objects.weights.size == 0 ? 1 : objects.weights.column[0][k];
  double sum = 0;
  mpi::check(
      MPI_Reduce_scatter_block(given.data(), &sum, 1, MPI_DOUBLE, MPI_SUM, communicator.get()),
      "MPI_Reduce_scatter_block");
  return sum;
}

/// A source may have to copy to the host; a rank that throws alone would leave the others behind.
Columns columns_of(const ColumnSource& source) {
  Columns columns;
  valet::detail::FirstFailure failure;
  try {
    const valet::detail::LeaveReserve leave;
    columns = source();
  } catch (const std::bad_alloc&) {
    columns.diagnostic = Diagnostic{ErrorCode::out_of_memory,
                                    "no memory to read coordinates or weights on the host"};
  } catch (...) {
    failure.keep("reading coordinates or weights");
    columns.diagnostic = failure.diagnostic("nothing has moved");
  }
  return columns;
}

struct Totals {
  Imbalance imbalance;
  double weight = 0;
  double count = 0;
};

double largest_over_mean(double largest, double sum, int ranks) {
  return sum > 0 ? largest * ranks / sum : 1;
}

Totals totals_over_ranks(const mpi::Channel& communicator, double weight, std::uint64_t count) {
  const std::array<double, 2> own{weight, static_cast<double>(count)};
  std::array<double, 2> sums{};
  std::array<double, 2> largest{};
  mpi::check(MPI_Allreduce(own.data(), sums.data(), 2, MPI_DOUBLE, MPI_SUM, communicator.get()),
             "MPI_Allreduce");
  mpi::check(MPI_Allreduce(own.data(), largest.data(), 2, MPI_DOUBLE, MPI_MAX, communicator.get()),
             "MPI_Allreduce");
  return {{largest_over_mean(largest[0], sums[0], communicator.size()),
           largest_over_mean(largest[1], sums[1], communicator.size())},
          sums[0],
          sums[1]};
}

}  // namespace

struct Rebalancer::State {
  State(MPI_Comm user, const RebalancerOptions& chosen)
      : communicator(mpi::Channel::open(user)), options(chosen), partition(communicator, chosen) {}

  mpi::Channel communicator;
  RebalancerOptions options;
  GeometricPartition partition;
  ColumnSource coordinates;
  ColumnSource weights;

  [[nodiscard]] std::optional<Diagnostic> look_at(Objects& objects) const;
  void agree_on(const Objects& objects, const std::optional<Diagnostic>& mine) const;
  void choose_ranks(const Objects& objects, std::span<int> ranks, RebalanceResult& result);
};

/// Reads what the sources give now, and finds what this rank alone can find wrong with it.
std::optional<Diagnostic> Rebalancer::State::look_at(Objects& objects) const {
  const bool by_coordinates = needs_coordinates(options.method);
  if (by_coordinates && !coordinates)
    return Diagnostic{ErrorCode::invalid_argument,
                      "there are no coordinates; call coordinates() first"};
  if (options.balance_count && valet::detail::upper_case(options.method) != "RCB")
    return Diagnostic{ErrorCode::invalid_argument, "balance_count needs the method RCB: " +
                                                       valet::detail::upper_case(options.method) +
                                                       " balances one weight only"};
  if (objects.count > static_cast<std::uint64_t>(std::numeric_limits<int>::max()))
    return Diagnostic{ErrorCode::invalid_argument,
                      std::to_string(objects.count) +
                          " objects; Zoltan counts them with 31 bits, so use more ranks"};
  if (by_coordinates) objects.coordinates = columns_of(coordinates);
  if (objects.coordinates.diagnostic) return objects.coordinates.diagnostic;
  if (weights) objects.weights = columns_of(weights);
  if (objects.weights.diagnostic) return objects.weights.diagnostic;
  if (weights && objects.weights.size != 1)
    return Diagnostic{
        ErrorCode::invalid_argument,
        "weights of " + std::to_string(objects.weights.size) + " components; give one per object"};
  objects.count_weighs = options.balance_count && weights;
  for (const Columns* columns : {&objects.coordinates, &objects.weights})
    if (columns->size > 0 && columns->slots < objects.count)
      return Diagnostic{ErrorCode::invalid_argument,
                        std::to_string(objects.count) + " objects, but only " +
                            std::to_string(columns->slots) +
                            (columns == &objects.weights ? " weights" : " coordinates") +
                            "; give one for each object"};
  return check_objects(objects);
}

/// Agrees on what ranks found wrong. Zoltan would deadlock or read beyond its arrays where they
/// differ in the dimensions.
void Rebalancer::State::agree_on(const Objects& objects,
                                 const std::optional<Diagnostic>& mine) const {
  mpi::Agreement agreement;
  agreement.equal({"the coordinates of an object"}, objects.coordinates.size);
  agreement.equal({"the weights of an object"}, objects.weight_dimensions());
  agreement.run(communicator, mine);
}

void Rebalancer::State::choose_ranks(const Objects& objects, std::span<int> ranks,
                                     RebalanceResult& result) {
  const Totals before = totals_over_ranks(communicator, local_weight(objects), objects.count);
  result.before = before.imbalance;
  if (before.count == 0) return;  // Zoltan prints a warning when there is nothing to do
  if (before.weight == 0)
    mpi::agree(communicator, Diagnostic{ErrorCode::invalid_argument,
                                        "all weights are zero; give weights above zero, or none"});
  partition.partition(communicator, objects, ranks);
}

Rebalancer::Rebalancer(MPI_Comm communicator, const RebalancerOptions& options)
    : state_(std::make_unique<State>(communicator, options)) {}
Rebalancer::Rebalancer(Rebalancer&&) noexcept = default;
Rebalancer& Rebalancer::operator=(Rebalancer&&) noexcept = default;
Rebalancer::~Rebalancer() = default;

void Rebalancer::coordinates(ColumnSource source) { state_->coordinates = std::move(source); }
void Rebalancer::weights(ColumnSource source) { state_->weights = std::move(source); }
void Rebalancer::no_weights() { state_->weights = nullptr; }
void Rebalancer::balance_count(bool balance) { state_->options.balance_count = balance; }
Zoltan_Struct* Rebalancer::handle() const { return state_->partition.handle(); }

RebalanceResult Rebalancer::rebalance(std::uint64_t count, const BlockStorage& storage) {
  const valet::detail::MemoryReserve reserve;
  const mpi::Channel& communicator = state_->communicator;
  RebalanceResult result;
  const double start = MPI_Wtime();
  std::vector<int> ranks;
  double weight = 0;
  {
    Objects objects;
    objects.count = count;
    objects.rank = communicator.rank();
    std::optional<Diagnostic> diagnostic = state_->look_at(objects);
    try {
      const valet::detail::LeaveReserve leave;
      if (!diagnostic) ranks.resize(count);
    } catch (const std::bad_alloc&) {
      diagnostic = Diagnostic{ErrorCode::out_of_memory,
                              "no memory for the map of " + std::to_string(count) + " objects"};
    }
    state_->agree_on(objects, diagnostic);
    state_->choose_ranks(objects, ranks, result);
    weight = weight_after(communicator, objects, ranks);
    // What was copied to the host for Zoltan ends here, before blocks move.
  }
  const double partitioned = MPI_Wtime();
  Plan plan = plan_to_ranks(communicator.get(), storage, count, std::span<const int>(ranks),
                            state_->options.migration);
  result.required_slots = plan.required_slots();
  result.after = totals_over_ranks(communicator, weight, plan.blocks_after()).imbalance;
  result.report = execute(plan, storage);
  result.count = result.report.blocks_after;
  result.partition_seconds = partitioned - start;
  result.migration_seconds = MPI_Wtime() - partitioned;
  return result;
}

}  // namespace valet::zoltan
