// SPDX-License-Identifier: BSD-3-Clause

// One of two jobs: job_program accept|connect NAME FOLDER SECONDS, which meet, or put|get NAME
// FOLDER SECONDS STEPS, with a junction. Rank 0 prints the word that the other job has sent, or how
// many steps were right, or the error, after all ranks have had the same.

#include "grid_cases.hpp"
#include "mpi/meeting.hpp"
#include <valet/junction.hpp>
#include <valet/valet.hpp>

#include <mpi.h>

#include <cstdlib>
#include <iostream>
#include <span>
#include <sstream>
#include <string>
#include <vector>

namespace {

bool are_alike(std::size_t value) {
  const auto own = static_cast<unsigned long long>(value);
  unsigned long long most = own, least = own;
  MPI_Allreduce(&own, &most, 1, MPI_UNSIGNED_LONG_LONG, MPI_MAX, MPI_COMM_WORLD);
  MPI_Allreduce(&own, &least, 1, MPI_UNSIGNED_LONG_LONG, MPI_MIN, MPI_COMM_WORLD);
  return most == least;
}

/// A word of each job to the other, over the merged communicator.
std::string exchange(MPI_Comm inter, bool accepts) {
  MPI_Comm both = MPI_COMM_NULL;
  MPI_Intercomm_merge(inter, accepts ? 0 : 1, &both);
  int own_ranks = 0, ranks = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &own_ranks);
  MPI_Comm_size(both, &ranks);
  const int first_of_others = ranks - own_ranks;
  int word = accepts ? 11 : 22;
  std::ostringstream text;
  text << ranks << " ranks, words";
  for (const int from : {0, accepts ? own_ranks : first_of_others}) {
    int received = word;
    MPI_Bcast(&received, 1, MPI_INT, from, both);
    text << ' ' << received;
  }
  MPI_Comm_free(&both);
  return text.str();
}

std::string meet(char** argv) {
  const bool accepts = std::string(argv[1]) == "accept";
  const auto join = accepts ? valet::mpi::accept_job : valet::mpi::connect_job;
  MPI_Comm inter = join(MPI_COMM_WORLD, argv[2], argv[3], std::atof(argv[4]));
  std::string text = exchange(inter, accepts);
  MPI_Comm_disconnect(&inter);
  return text;
}

/// An array in three dimensions: block-cyclic where it is put, in cells of any extents where it is
/// got.
valet::GridLayout layout_of(bool puts, int ranks) {
  const valet::BlockCyclic::Extents extents{40, 50, 60};
  if (puts) return {valet::BlockCyclic(extents, {7, 8, 9}, {1, ranks, 1})};
  valet::GridLayout cells{valet::BlockCyclic::cut_at({{0, 13, 40}, {0, 50}, {0, 21, 33, 60}})};
  for (int cell = 0; cell < cells.layout.ranks(); ++cell) cells.ranks.push_back(cell % ranks);
  return cells;
}

/// An array in each step, in which every element is its number and that of the step.
std::string put_or_get(char** argv, int rank, int ranks) {
  const bool puts = std::string(argv[1]) == "put";
  const int steps = std::atoi(argv[5]);
  const valet::GridLayout layout = layout_of(puts, ranks);
  std::vector<valet::test::Element> values(valet::test::elements_of(layout, rank));
  valet::JunctionOptions options;
  options.folder = argv[3];
  options.timeout_seconds = std::atof(argv[4]);
  options.budget_bytes = 100'000;
  valet::Junction junction = puts ? valet::Junction::accept(MPI_COMM_WORLD, argv[2], options)
                                  : valet::Junction::connect(MPI_COMM_WORLD, argv[2], options);
  int right = 0;
  for (int step = 0; step < steps; ++step) {
    const auto value = [step](valet::test::Element number) {
      return number + static_cast<valet::test::Element>(step);
    };
    if (puts)
      valet::test::for_every_local(layout, rank,
                                   [&](std::size_t k, auto number) { values[k] = value(number); });
    (puts ? junction.put(std::span<const valet::test::Element>(values), layout)
          : junction.get(std::span(values), layout))
        .wait();
    bool is_right = true;
    valet::test::for_every_local(layout, rank, [&](std::size_t k, auto number) {
      is_right = is_right && values[k] == value(number);
    });
    right += is_right ? 1 : 0;
    if (step == 0 && rank == 0) std::cout << "goes on" << std::endl;
  }
  junction.close();
  return std::to_string(right) + " steps were right";
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc != 5 && argc != 6) MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
  int rank = 0, ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  std::string text;
  try {
    text = argc == 5 ? meet(argv) : put_or_get(argv, rank, ranks);
  } catch (const valet::Error& error) {
    text = error.what();
  }
  if (!are_alike(std::hash<std::string>()(text))) text = "texts differ: " + text;
  if (rank == 0) std::cout << text << std::endl;
  MPI_Finalize();
  return EXIT_SUCCESS;
}
