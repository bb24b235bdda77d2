// SPDX-License-Identifier: BSD-3-Clause

// One of two jobs that meet: job_program accept|connect NAME FOLDER SECONDS. Rank 0 prints the word
// that the other job has sent, or the error, after all ranks have had the same.

#include "junction/meeting.hpp"
#include <valet/valet.hpp>

#include <mpi.h>

#include <cstdlib>
#include <iostream>
#include <sstream>
#include <string>

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

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc != 5) MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
  const bool accepts = std::string(argv[1]) == "accept";
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  std::string text;
  try {
    const auto meet = accepts ? valet::junction::accept_job : valet::junction::connect_job;
    MPI_Comm inter = meet(MPI_COMM_WORLD, argv[2], argv[3], std::atof(argv[4]));
    text = exchange(inter, accepts);
    MPI_Comm_disconnect(&inter);
  } catch (const valet::Error& error) {
    text = error.what();
  }
  if (!are_alike(std::hash<std::string>()(text))) text = "texts differ: " + text;
  if (rank == 0) std::cout << text << std::endl;
  MPI_Finalize();
  return EXIT_SUCCESS;
}
