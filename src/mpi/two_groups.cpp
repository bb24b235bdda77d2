// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/two_groups.hpp"

#include "mpi/channel.hpp"
#include "mpi/check.hpp"

namespace valet::mpi {

bool is_intercommunicator(MPI_Comm communicator) {
  require_mpi();
  int is_inter = 0;
  if (communicator != MPI_COMM_NULL)
    check(MPI_Comm_test_inter(communicator, &is_inter), "MPI_Comm_test_inter");
  return is_inter != 0;
}

TwoGroups merge(MPI_Comm intercommunicator) {
  TwoGroups groups;
  check(MPI_Intercomm_merge(intercommunicator, 0, &groups.communicator), "MPI_Intercomm_merge");
  check(MPI_Comm_set_errhandler(groups.communicator, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  int rank = 0, rank_in_group = 0;
  check(MPI_Comm_rank(groups.communicator, &rank), "MPI_Comm_rank");
  check(MPI_Comm_rank(intercommunicator, &rank_in_group), "MPI_Comm_rank");
  check(MPI_Comm_size(intercommunicator, &groups.own.count), "MPI_Comm_size");
  check(MPI_Comm_remote_size(intercommunicator, &groups.other.count), "MPI_Comm_remote_size");
  // Each group keeps its order, and one is behind the other.
  groups.own.first = rank - rank_in_group;
  groups.other.first = groups.own.first == 0 ? groups.own.count : 0;
  return groups;
}

void separate(TwoGroups& groups, MPI_Comm& port) {
  MPI_Comm_free(&groups.communicator);
  if (port != MPI_COMM_NULL) MPI_Comm_disconnect(&port);
}

}  // namespace valet::mpi
