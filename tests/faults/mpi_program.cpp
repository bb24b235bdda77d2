// SPDX-License-Identifier: BSD-3-Clause

// mpi_program <default|returns|dies|dies_writing|dies_pulling> <n> [objects|cells|lists]: a
// migration, one of blocks of different sizes and an all-to-all, or objects behind functions, or
// partitions of objects attached to Zoltan, in which Valet's n-th call of MPI on rank 1 fails, as a
// call on a broken network would: MPI tells the error handler of the call's communicator, and where
// that returns the call returns its code. With "dies" it is rank n % 2, and it is killed there,
// while files are open in the working directory; with "dies_writing" when it writes to one of those
// for the n-th time; with "dies_pulling" 100 n microseconds after it has begun to exchange blocks
// that lie in memory of the node. What should come of it, see mpi_test.cpp and kill_test.cpp.

#include "calls_of_valet.hpp"
#ifdef VALET_FAULTS_ZOLTAN
#include "attached_faults.hpp"
#endif
#include <valet/valet.hpp>

#include <mpi.h>

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <span>
#include <string>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <vector>

namespace {

int calls_left = 0;                    ///< until one fails; 0: none does
MPI_Comm last_comm = MPI_COMM_NULL;    ///< that something was posted on
MPI_Comm application = MPI_COMM_NULL;  ///< what Valet is given
int times_told = 0;
bool dies = false, dies_writing = false, dies_pulling = false;
bool is_attached = false;  ///< Zoltan's duplicate of the communicator is what Valet is given

bool fails_now() { return calls_left > 0 && --calls_left == 0; }

int fail(MPI_Comm comm) {
  if (dies) std::raise(SIGKILL);
  PMPI_Comm_call_errhandler(comm, MPI_ERR_OTHER);
  return MPI_ERR_OTHER;
}

void tell(MPI_Comm* comm, int*, ...) {
  if (is_attached || *comm == application) ++times_told;
}

/// Blocks of different sizes with a row each, dealt to the ranks one by one.
void migrate_ragged(valet::Options options, int size) {
  constexpr std::uint64_t most_bytes = 500;
  const std::size_t count = dies ? 600 : 60, room = 2 * count;
  std::vector<std::uint64_t> lengths(room), rows(room);
  std::vector<int> ranks(count);
  for (std::size_t k = 0; k < count; ++k) {
    lengths[k] = k * 37 % most_bytes;
    ranks[k] = static_cast<int>(k) % size;
  }
  std::vector<std::byte> arena(room * most_bytes);
  options.budget_bytes = 8192;
  static_cast<void>(valet::migrate(
      application,
      {{valet::ragged_field(std::span(arena), std::span(lengths))}, {valet::field(rows)}}, count,
      ranks, options));
}

/// Blocks in an array, dealt likewise, the others, and all to all.
void move_blocks(const valet::Options& options, const valet::AlltoallOptions& alltoall, int size) {
  const std::uint64_t blocks = dies ? 3000 : 300;
  std::vector<double> data(blocks + 60);
  std::vector<int> ranks(blocks);
  for (std::size_t k = 0; k < blocks; ++k) ranks[k] = static_cast<int>(k) % size;
  static_cast<void>(valet::migrate(application,
                                   valet::BlockStorage{valet::field(data.data(), data.size())},
                                   blocks, ranks, options));
  migrate_ragged(options, size);
  const std::vector<std::int64_t> counts(static_cast<std::size_t>(size), 50);
  static_cast<void>(valet::alltoallv_in_place(
      application, {data.data(), data.size() * sizeof(double), sizeof(double)}, counts, {},
      alltoall));
}

/// Kills this process after so many microseconds.
timer_t die_after(int microseconds) {
  struct sigevent event {};
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = SIGKILL;
  timer_t timer{};
  timer_create(CLOCK_MONOTONIC, &event, &timer);
  struct itimerspec time {};
  time.it_value = {microseconds / 1'000'000, microseconds % 1'000'000 * 1000};
  timer_settime(timer, 0, &time, nullptr);
  return timer;
}

/// Blocks that the ranks take from each other's slots, again and again, until a rank is killed.
void pull_blocks(valet::Options options, int rank, int size) {
  constexpr std::uint64_t blocks = 1000, row = 1024;
  auto data = valet::node_array<double>(application, blocks * row);
  const std::vector<int> ranks(blocks, (rank + 1) % size);
  const valet::BlockStorage storage{valet::field(data, row)};
  options.budget_bytes = 1 << 20;
  options.verify = false;
  valet::Plan plan = valet::plan_to_ranks(application, storage, blocks, ranks, options);
  static_cast<void>(valet::execute(plan, storage));
  if (valet::execute(plan, storage).blocks_pulled < blocks)
    throw valet::Error(valet::ErrorCode::internal, "blocks went as messages");
  timer_t timer{};
  if (calls_left > 0) timer = die_after(100 * calls_left);
  for (int k = 0; k < 10; ++k) static_cast<void>(valet::execute(plan, storage));
  if (calls_left > 0) timer_delete(timer);
}

/// Objects of different sizes behind functions, dealt likewise: in steps, in phases in which some
/// wait on other ranks, and in cycles.
void move_objects(valet::Options options, int rank, int size) {
  constexpr std::uint64_t count = 40;
  std::vector<int> ranks(count);
  for (std::size_t k = 0; k < count; ++k) ranks[k] = static_cast<int>(k) % size;
  const valet::ObjectFunctions functions{
      .size = [](std::uint64_t object) { return object * 37 % 500; },
      .pack = [](std::uint64_t, std::span<std::byte>) {},
      .unpack = [](int, std::span<const std::byte>) {},
      .left = {}};
  options.budget_bytes = rank == 0 ? 100'000 : 9'000;
  options.phased = {.scheduler = valet::Scheduler::centralized, .parking = 1};
  for (const auto method : {valet::Method::stream, valet::Method::phased, valet::Method::cyclic}) {
    options.method = method;
    static_cast<void>(valet::migrate_objects(application, count, ranks, functions, options));
  }
}

}  // namespace

#define VALET_FAILS(Name, parameters, arguments, comm)                                       \
  extern "C" VALET_INTERPOSED int MPI_##Name parameters {                                    \
    if (dies_writing || dies_pulling || !valet::test::is_valet(__builtin_return_address(0))) \
      return PMPI_##Name arguments;                                                          \
    last_comm = comm;                                                                        \
    return fails_now() ? fail(comm) : PMPI_##Name arguments;                                 \
  }

VALET_FAILS(Isend,
            (const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
             MPI_Request* request),
            (data, count, type, to, tag, comm, request), comm)
VALET_FAILS(Issend,
            (const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
             MPI_Request* request),
            (data, count, type, to, tag, comm, request), comm)
VALET_FAILS(Irecv,
            (void* data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
             MPI_Request* request),
            (data, count, type, from, tag, comm, request), comm)
VALET_FAILS(Ibarrier, (MPI_Comm comm, MPI_Request* request), (comm, request), comm)
VALET_FAILS(Allreduce,
            (const void* sent, void* received, int count, MPI_Datatype type, MPI_Op operation,
             MPI_Comm comm),
            (sent, received, count, type, operation, comm), comm)
VALET_FAILS(Alltoall,
            (const void* sent, int sends, MPI_Datatype send_type, void* received, int receives,
             MPI_Datatype receive_type, MPI_Comm comm),
            (sent, sends, send_type, received, receives, receive_type, comm), comm)
VALET_FAILS(Bcast, (void* data, int count, MPI_Datatype type, int root, MPI_Comm comm),
            (data, count, type, root, comm), comm)
VALET_FAILS(Exscan,
            (const void* sent, void* received, int count, MPI_Datatype type, MPI_Op operation,
             MPI_Comm comm),
            (sent, received, count, type, operation, comm), comm)
VALET_FAILS(Reduce_scatter_block,
            (const void* sent, void* received, int count, MPI_Datatype type, MPI_Op operation,
             MPI_Comm comm),
            (sent, received, count, type, operation, comm), comm)
VALET_FAILS(Barrier, (MPI_Comm comm), (comm), comm)
VALET_FAILS(Gather,
            (const void* sent, int sends, MPI_Datatype send_type, void* received, int receives,
             MPI_Datatype receive_type, int root, MPI_Comm comm),
            (sent, sends, send_type, received, receives, receive_type, root, comm), comm)
VALET_FAILS(Gatherv,
            (const void* sent, int sends, MPI_Datatype send_type, void* received,
             const int* receives, const int* places, MPI_Datatype receive_type, int root,
             MPI_Comm comm),
            (sent, sends, send_type, received, receives, places, receive_type, root, comm), comm)
VALET_FAILS(Scatter,
            (const void* sent, int sends, MPI_Datatype send_type, void* received, int receives,
             MPI_Datatype receive_type, int root, MPI_Comm comm),
            (sent, sends, send_type, received, receives, receive_type, root, comm), comm)
VALET_FAILS(Scatterv,
            (const void* sent, const int* sends, const int* places, MPI_Datatype send_type,
             void* received, int receives, MPI_Datatype receive_type, int root, MPI_Comm comm),
            (sent, sends, places, send_type, received, receives, receive_type, root, comm), comm)
VALET_FAILS(Comm_dup, (MPI_Comm comm, MPI_Comm* copy), (comm, copy), comm)
VALET_FAILS(Comm_split_type, (MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm* part),
            (comm, type, key, info, part), comm)
VALET_FAILS(Wait, (MPI_Request * request, MPI_Status* status), (request, status), last_comm)
VALET_FAILS(Waitany, (int count, MPI_Request* requests, int* index, MPI_Status* status),
            (count, requests, index, status), last_comm)

/// Files in the working directory, not what MPI writes to: half of what is asked for.
extern "C" __attribute__((visibility("default"))) ssize_t write(int descriptor, const void* data,
                                                                size_t bytes) {
  struct stat status {};
  if (dies_writing && fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) && fails_now()) {
    syscall(SYS_write, descriptor, data, bytes / 2);
    std::raise(SIGKILL);
  }
  return syscall(SYS_write, descriptor, data, bytes);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  PMPI_Comm_dup(MPI_COMM_WORLD, &application);
  const std::string mode = argv[1];
  dies_writing = mode == "dies_writing";
  dies_pulling = mode == "dies_pulling";
  dies = dies_writing || dies_pulling || mode == "dies";
  if (mode == "returns") {
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
    MPI_Comm_create_errhandler(tell, &handler);
    MPI_Comm_set_errhandler(application, handler);
  }
  const std::string moved = argc > 3 ? argv[3] : "";
  is_attached = moved == "cells" || moved == "lists";
  valet::Options options;
  options.method = valet::Method::stream;
  options.budget_bytes = 200;
  options.share_memory = dies;
  options.verify = true;
  valet::AlltoallOptions alltoall;
  if (dies) {
    setenv("TMPDIR", ".", 1);  // for Valet alone: MPI has its files already
    options.budget_bytes = 2000;
    options.trace = alltoall.trace = "trace.json";
  }
  const int call = std::atoi(argv[2]);
  const int failing = dies ? call % 2 : 1;
  if (rank == failing) calls_left = call;
  try {
    if (is_attached) {
#ifdef VALET_FAULTS_ZOLTAN
      if (valet::test::move_attached(application, moved == "lists") != ZOLTAN_OK)
        throw valet::Error(valet::ErrorCode::mpi_failure, "returned as a code of Zoltan's");
#endif
    } else if (dies_pulling) {
      pull_blocks(options, rank, size);
    } else if (moved == "objects") {
      move_objects(options, rank, size);
    } else {
      move_blocks(options, alltoall, size);
    }
  } catch (const valet::Error& error) {
    std::printf("rank %d was told %d times, then %s\n", rank, times_told, error.what());
    std::fflush(stdout);
    MPI_Abort(MPI_COMM_WORLD, 3);
  }
  const bool is_through = rank == failing && calls_left > 0;
  if (is_through) std::printf("no call failed\n");
  // mpirun of Open MPI 4.1 may hang if a rank aborts while another is in MPI_Finalize.
  PMPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
