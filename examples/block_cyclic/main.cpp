// SPDX-License-Identifier: BSD-3-Clause

// A matrix that some ranks make and others use: a 2 x 2 grid of producers, which likes blocks of
// 64 x 64, hands it to a 1 x 3 grid of consumers, which likes blocks of 100 x 80. Then the
// consumers redistribute it as whole columns inside the memory it occupies. Each element is its
// global index, so every rank can check what it has.

#include "options.hpp"
#include "output.hpp"
#include "support/launch.hpp"
#include <valet/valet.hpp>

#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

using namespace block_cyclic;

constexpr int producers = 4;
constexpr int consumers = 3;

/// The part of the matrix that a rank holds by a layout: column-major, without gaps.
class Part {
 public:
  Part(const valet::GridLayout& grid, int rank) : layout_(grid.layout) {
    const auto found = std::find(grid.ranks.begin(), grid.ranks.end(), rank);
    if (found == grid.ranks.end()) return;
    place_ = static_cast<int>(found - grid.ranks.begin());
    values.resize(static_cast<std::size_t>(layout_.local_elements(place_)));
  }

  void fill() {
    for_each([](double& value, double right) { value = right; });
  }
  [[nodiscard]] long long wrong() {
    long long count = 0;
    for_each([&](double value, double right) { count += value != right ? 1 : 0; });
    return count;
  }
  [[nodiscard]] std::size_t bytes() const { return values.size() * sizeof(double); }

  std::vector<double> values;

 private:
  template <class Visit>
  void for_each(Visit&& visit) {
    if (values.empty()) return;
    const auto extents = layout_.local_extents(place_);
    const auto place = layout_.coordinates(place_);
    const auto columns = static_cast<double>(layout_.dimension(1).extent());
    std::size_t at = 0;
    for (std::int64_t j = 0; j < extents[1]; ++j) {
      const auto column = static_cast<double>(layout_.dimension(1).global_index(place[1], j));
      for (std::int64_t i = 0; i < extents[0]; ++i) {
        const auto row = static_cast<double>(layout_.dimension(0).global_index(place[0], i));
        visit(values[at++], row * columns + column);
      }
    }
  }

  valet::BlockCyclic layout_;
  int place_ = 0;
};

/// Prints a report of all ranks and whether every element is where it belongs.
bool print_report(const std::string& title, const valet::Report& report, Part& part,
                  MPI_Comm communicator) {
  const valet::Report all = valet::summed_over_ranks(report, communicator);
  long long wrong = part.wrong();
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_LONG_LONG, MPI_SUM, communicator);
  if (example::rank_of(communicator) == 0)
    std::printf(
        "%s\n  %.1f MB moved between ranks in %.2f ms; extra memory on a rank: %.2f MB, bound: "
        "%.2f MB\n  %s\n",
        title.c_str(), static_cast<double>(all.bytes_sent) / 1e6, 1e3 * all.seconds(),
        static_cast<double>(all.peak_extra_bytes) / 1e6,
        static_cast<double>(all.extra_bytes_bound) / 1e6,
        wrong == 0 ? "all elements are in place"
                   : (std::to_string(wrong) + " ELEMENTS ARE WRONG").c_str());
  return wrong == 0;
}

/// From producers to consumers, then again among the consumers. @return Whether all was right.
bool hand_over(const Options& options, MPI_Comm communicator) {
  const int rank = example::rank_of(communicator);
  const valet::BlockCyclic::Extents extents{options.rows, options.columns};
  const valet::GridLayout produced{valet::BlockCyclic(extents, {64, 64}, {2, 2}), {0, 1, 2, 3}};
  const valet::GridLayout consumed{valet::BlockCyclic(extents, {100, 80}, {1, 3}), {4, 5, 6}};
  const valet::GridLayout by_columns{valet::BlockCyclic::block(extents, {1, 3}), {4, 5, 6}};

  Part source(produced, rank), target(consumed, rank), columns(by_columns, rank);
  source.fill();
  const valet::LayoutOptions budget{.budget_bytes = valet::parse_bytes(options.memory)};
  const valet::Report handed = valet::redistribute(
      communicator, produced, consumed, sizeof(double),
      {.data = source.values.data(), .bytes = source.bytes(), .order = order},
      {.data = target.values.data(), .bytes = target.bytes(), .order = order}, budget);
  bool right =
      print_report("from 2 x 2 producers to 1 x 3 consumers", handed, target, communicator);

  // Room for the larger of both parts, and nothing else.
  target.values.resize(std::max(target.values.size(), columns.values.size()));
  const valet::Report cyclic = valet::redistribute_in_place(
      communicator, consumed, by_columns, sizeof(double),
      {.data = target.values.data(), .bytes = target.bytes(), .order = order}, budget);
  std::copy_n(target.values.begin(), columns.values.size(), columns.values.begin());
  right = print_report("among the consumers, in place, to whole columns", cyclic, columns,
                       communicator) &&
          right;

  if (rank == 0) {
    write_blocks(options.output, {{"produced", produced}, {"consumed", consumed}});
    write_transfers(options.output, produced, consumed);
  }
  return right;
}

/// @return The exit code of the program: 0, 1 for a wrong result or a failure, 2 for bad input.
int run(int argc, char** argv, bool prints) {
  Options options;
  if (const auto exit_code = read_options(argc, argv, prints, options)) return *exit_code;
  const int ranks = example::size_of(MPI_COMM_WORLD);
  if (ranks != producers + consumers) {
    if (prints)
      std::fprintf(stderr,
                   "block_cyclic: run it on %d ranks, %d producers and %d consumers; these are "
                   "%d\n",
                   producers + consumers, producers, consumers, ranks);
    return example::exit_bad_input;
  }
  try {
    return hand_over(options, MPI_COMM_WORLD) ? EXIT_SUCCESS : EXIT_FAILURE;
  } catch (const valet::Error& error) {
    // The same on all ranks.
    if (prints) std::fprintf(stderr, "block_cyclic: %s\n", error.what());
    return EXIT_FAILURE;
  }
}

}  // namespace

int main(int argc, char** argv) { return example::launch(argc, argv, "block_cyclic", run); }
