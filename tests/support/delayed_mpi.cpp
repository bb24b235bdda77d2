// SPDX-License-Identifier: BSD-3-Clause
#include "delayed_mpi.hpp"

#include <execinfo.h>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <sched.h>
#include <unistd.h>

namespace {

constexpr std::size_t most_threads = 16;

struct Thread {
  std::atomic<const char*> call{nullptr};  ///< of MPI that it is in; a string that stays
  std::atomic<const char*> last{nullptr};
};

std::array<Thread, most_threads> threads;
std::atomic<std::size_t> thread_count = 0;
std::atomic<std::uint64_t> calls = 0;
std::atomic<std::uint64_t> current_seed = 0;
std::atomic<int> own_rank = -1;

std::uint64_t number_of(const char* name) {
  const char* const text = std::getenv(name);
  return text == nullptr ? 0 : std::strtoull(text, nullptr, 0);
}

std::uint64_t delays() {
  static const std::uint64_t seed = number_of("VALET_TEST_DELAYS");
  return seed;
}

unsigned stall_seconds() {
  static const auto seconds = static_cast<unsigned>(number_of("VALET_TEST_STALL_SECONDS"));
  return seconds;
}

void pause(std::mt19937_64& random) {
  const std::uint64_t dice = random() % 1024;
  if (dice == 0)
    usleep(static_cast<useconds_t>(random() % 20'000));  // others get far ahead
  else if (dice < 64)
    usleep(static_cast<useconds_t>(random() % 300));
  else if (dice < 192)
    sched_yield();
}

/// A call of MPI, from its construction to the end of the scope.
class Call {
 public:
  explicit Call(const char* name) : thread_(own_thread()) {
    ++calls;
    thread_.call = thread_.last = name;
    if (delays() != 0) pause(random());
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  ~Call() {
    if (delays() != 0) pause(random());
    thread_.call = nullptr;
  }

 private:
  static Thread& own_thread() {
    thread_local const std::size_t number = thread_count++;
    return threads[number % most_threads];
  }
  static std::mt19937_64& random() {
    thread_local std::mt19937_64 random(delays() * 1'000'003 +
                                        static_cast<std::uint64_t>(own_rank + 1) * most_threads +
                                        thread_count);
    return random;
  }

  Thread& thread_;
};

/// All that a signal handler may do: no memory, no streams.
void write_text(const char* text) {
  if (write(STDERR_FILENO, text, std::strlen(text)) < 0) return;
}

void write_number(std::uint64_t number) {
  std::array<char, 21> digits{};
  std::size_t begin = digits.size() - 1;
  do {
    digits[--begin] = static_cast<char>('0' + number % 10);
    number /= 10;
  } while (number > 0);
  write_text(&digits[begin]);
}

extern "C" void say_where_it_stalls(int) {
  write_text("[rank ");
  write_number(static_cast<std::uint64_t>(own_rank.load()));
  write_text("] nothing ends for too long; VALET_TEST_SEED=");
  write_number(current_seed);
  write_text("; its threads are in:");
  for (std::size_t t = 0; t < thread_count && t < most_threads; ++t) {
    const char* const call = threads[t].call;
    const char* const last = threads[t].last;
    write_text(call != nullptr ? " MPI_" : " no call, last MPI_");
    write_text(call != nullptr ? call : last);
    write_text(",");
  }
  write_text(" the one that says so here:\n");
  std::array<void*, 40> frames{};
  const int depth = backtrace(frames.data(), static_cast<int>(frames.size()));
  backtrace_symbols_fd(frames.data(), depth, STDERR_FILENO);
  sleep(3);  // others have something to say, too
  _exit(124);
}

void watch() {
  if (stall_seconds() == 0) return;
  std::signal(SIGALRM, say_where_it_stalls);
  alarm(stall_seconds());
}

int initialized(int code) {
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  own_rank = rank;
  return code;
}

}  // namespace

namespace valet::test {

void working_on(std::uint64_t seed) {
  current_seed = seed;
  if (stall_seconds() > 0) alarm(stall_seconds());
}

std::uint64_t calls_seen() { return calls; }

}  // namespace valet::test

// These stand in front of MPI's functions for libraries as well.
#define VALET_DELAYED(Name, parameters, arguments)                              \
  extern "C" __attribute__((visibility("default"))) int MPI_##Name parameters { \
    const Call call(#Name);                                                     \
    return PMPI_##Name arguments;                                               \
  }

extern "C" __attribute__((visibility("default"))) int MPI_Init_thread(int* argc, char*** argv,
                                                                      int required, int* provided) {
  watch();
  const Call call("Init_thread");
  return initialized(PMPI_Init_thread(argc, argv, required, provided));
}

VALET_DELAYED(Finalize, (), ())
VALET_DELAYED(Comm_dup, (MPI_Comm comm, MPI_Comm* copy), (comm, copy))
VALET_DELAYED(Comm_split, (MPI_Comm comm, int color, int key, MPI_Comm* part),
              (comm, color, key, part))

/// On as many nodes as VALET_TEST_NODES says, to which ranks are dealt in turn.
extern "C" __attribute__((visibility("default"))) int MPI_Comm_split_type(MPI_Comm comm, int type,
                                                                          int key, MPI_Info info,
                                                                          MPI_Comm* part) {
  const Call call("Comm_split_type");
  const char* const nodes = std::getenv("VALET_TEST_NODES");
  if (nodes == nullptr) return PMPI_Comm_split_type(comm, type, key, info, part);
  int rank = 0;
  PMPI_Comm_rank(comm, &rank);
  return PMPI_Comm_split(comm, rank % std::max(1, std::atoi(nodes)), key, part);
}

VALET_DELAYED(Comm_free, (MPI_Comm * comm), (comm))
VALET_DELAYED(Send,
              (const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm),
              (data, count, type, to, tag, comm))
VALET_DELAYED(Ssend,
              (const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm),
              (data, count, type, to, tag, comm))
VALET_DELAYED(Isend,
              (const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
               MPI_Request* request),
              (data, count, type, to, tag, comm, request))
VALET_DELAYED(Issend,
              (const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
               MPI_Request* request),
              (data, count, type, to, tag, comm, request))
VALET_DELAYED(Recv,
              (void* data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
               MPI_Status* status),
              (data, count, type, from, tag, comm, status))
VALET_DELAYED(Irecv,
              (void* data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
               MPI_Request* request),
              (data, count, type, from, tag, comm, request))
VALET_DELAYED(Sendrecv,
              (const void* sent, int sends, MPI_Datatype send_type, int to, int send_tag,
               void* received, int receives, MPI_Datatype receive_type, int from, int receive_tag,
               MPI_Comm comm, MPI_Status* status),
              (sent, sends, send_type, to, send_tag, received, receives, receive_type, from,
               receive_tag, comm, status))
VALET_DELAYED(Wait, (MPI_Request * request, MPI_Status* status), (request, status))
VALET_DELAYED(Waitall, (int count, MPI_Request* requests, MPI_Status* statuses),
              (count, requests, statuses))
VALET_DELAYED(Waitany, (int count, MPI_Request* requests, int* index, MPI_Status* status),
              (count, requests, index, status))
VALET_DELAYED(Testany,
              (int count, MPI_Request* requests, int* index, int* flag, MPI_Status* status),
              (count, requests, index, flag, status))
VALET_DELAYED(Cancel, (MPI_Request * request), (request))
VALET_DELAYED(Barrier, (MPI_Comm comm), (comm))
VALET_DELAYED(Ibarrier, (MPI_Comm comm, MPI_Request* request), (comm, request))
VALET_DELAYED(Bcast, (void* data, int count, MPI_Datatype type, int root, MPI_Comm comm),
              (data, count, type, root, comm))
VALET_DELAYED(Allreduce,
              (const void* sent, void* received, int count, MPI_Datatype type, MPI_Op operation,
               MPI_Comm comm),
              (sent, received, count, type, operation, comm))
VALET_DELAYED(Exscan,
              (const void* sent, void* received, int count, MPI_Datatype type, MPI_Op operation,
               MPI_Comm comm),
              (sent, received, count, type, operation, comm))
VALET_DELAYED(Gather,
              (const void* sent, int sends, MPI_Datatype send_type, void* received, int receives,
               MPI_Datatype receive_type, int root, MPI_Comm comm),
              (sent, sends, send_type, received, receives, receive_type, root, comm))
VALET_DELAYED(Gatherv,
              (const void* sent, int sends, MPI_Datatype send_type, void* received,
               const int* receives, const int* begins, MPI_Datatype receive_type, int root,
               MPI_Comm comm),
              (sent, sends, send_type, received, receives, begins, receive_type, root, comm))
VALET_DELAYED(Scatter,
              (const void* sent, int sends, MPI_Datatype send_type, void* received, int receives,
               MPI_Datatype receive_type, int root, MPI_Comm comm),
              (sent, sends, send_type, received, receives, receive_type, root, comm))
VALET_DELAYED(Scatterv,
              (const void* sent, const int* sends, const int* begins, MPI_Datatype send_type,
               void* received, int receives, MPI_Datatype receive_type, int root, MPI_Comm comm),
              (sent, sends, begins, send_type, received, receives, receive_type, root, comm))
VALET_DELAYED(Allgather,
              (const void* sent, int sends, MPI_Datatype send_type, void* received, int receives,
               MPI_Datatype receive_type, MPI_Comm comm),
              (sent, sends, send_type, received, receives, receive_type, comm))
VALET_DELAYED(Alltoall,
              (const void* sent, int sends, MPI_Datatype send_type, void* received, int receives,
               MPI_Datatype receive_type, MPI_Comm comm),
              (sent, sends, send_type, received, receives, receive_type, comm))
