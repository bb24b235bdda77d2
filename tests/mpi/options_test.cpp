// SPDX-License-Identifier: BSD-3-Clause

// cmake/mpi_options.sh: MPI really does what it is asked for. Each test runs in the environment
// that the script prints, as CMakeLists.txt says.

#include "bench/measure.hpp"
#include "testing.hpp"

#include <linux/tcp.h>
#include <mpi.h>
#include <netinet/in.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sched.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <thread>
#include <unistd.h>

namespace {
long yields = 0;
}

// In place of the C library's, also for the plugins of MPI.
extern "C" [[gnu::visibility("default")]] int sched_yield() noexcept {
  ++yields;
  return static_cast<int>(syscall(SYS_sched_yield));
}

namespace valet::test {
namespace {

constexpr int message_bytes = 1 << 24;

int rank() {
  int mine = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &mine);
  return mine;
}

/// The other one of two ranks.
int other() { return 1 - rank(); }

std::uint64_t sum_of_ranks(std::uint64_t value) {
  MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
  return value;
}

/// How often the ranks have copied directly from process to process.
std::uint64_t copies_so_far() { return sum_of_ranks(bench::single_copy_calls().value()); }

/// Two ranks send each other a message. Returns copies_so_far().
std::uint64_t copies_of_exchange() {
  const std::vector<std::byte> sent(message_bytes);
  std::vector<std::byte> received(message_bytes);
  MPI_Sendrecv(sent.data(), message_bytes, MPI_BYTE, other(), 0, received.data(), message_bytes,
               MPI_BYTE, other(), 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return copies_so_far();
}

/// Why one of the ranks may not read the memory of the other, or 0. Collective.
int error_of_reading_the_other() {
  struct Place {
    pid_t process;
    void* address;
  };
  int value = 0;
  int copy = 0;
  const Place mine{getpid(), &value};
  Place place{};
  MPI_Sendrecv(&mine, sizeof mine, MPI_BYTE, other(), 0, &place, sizeof place, MPI_BYTE, other(), 0,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  const iovec to{&copy, sizeof copy};
  const iovec from{place.address, sizeof copy};
  int error = process_vm_readv(place.process, &to, 1, &from, 1, 0) < 0 ? errno : 0;
  MPI_Allreduce(MPI_IN_PLACE, &error, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  return error;
}

/// Bytes that this process has sent by TCP and that have arrived.
std::uint64_t bytes_sent_by_tcp() {
  std::uint64_t sum = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    tcp_info info{};
    socklen_t size = sizeof info;
    if (getsockopt(std::stoi(entry.path().filename()), IPPROTO_TCP, TCP_INFO, &info, &size) == 0)
      sum += info.tcpi_bytes_acked;
  }
  return sum;
}

/// Numbers of cores that a process may run on.
int processors_of(pid_t process) {
  cpu_set_t set;
  EXPECT_EQ(sched_getaffinity(process, sizeof set, &set), 0);
  return CPU_COUNT(&set);
}

/// Whether two threads share a core; then a rank that is bound has two of them.
bool hyperthreads() {
  std::ifstream file("/sys/devices/system/cpu/cpu0/topology/thread_siblings_list");
  std::string list;
  file >> list;
  return list.find_first_of(",-") != std::string::npos;
}

TEST(MpiOptions, CountsCopiesBetweenProcesses) {
  const std::uint64_t copies = copies_of_exchange();
  if (const int error = error_of_reading_the_other())
    GTEST_SKIP() << "not possible here: " << std::strerror(error);
  EXPECT_EQ(copies_so_far(), copies + 2) << "by the test itself";
#ifdef OPEN_MPI
  if (!std::filesystem::exists("/dev/xpmem") && !std::filesystem::exists("/dev/knem")) {
    EXPECT_GT(copies, 0);
  }
#endif
  if (copies == 0) GTEST_SKIP() << "this MPI does not use it";
}

TEST(MpiOptions, NoSingleCopy) { EXPECT_EQ(copies_of_exchange(), 0); }

TEST(MpiOptions, Tcp) {
  EXPECT_EQ(copies_of_exchange(), 0);
  EXPECT_GE(sum_of_ranks(bytes_sent_by_tcp()), message_bytes);
#ifdef MPICH
  // MPI_Finalize of MPICH 4.0 over TCP of UCX 1.13 hangs once in 60 programs of any kind.
  std::thread([code = HasFailure() ? 1 : 0] {
    std::this_thread::sleep_for(std::chrono::seconds(10));
    std::_Exit(code);
  }).detach();
#endif
}

TEST(MpiOptions, Yield) {
  yields = 0;
  std::uint64_t sum = 0;
  // More than once: on a busy machine rank 0 may come first.
  for (int round = 0; round < 20 && sum == 0; ++round) {
    if (rank() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(100));
    MPI_Barrier(MPI_COMM_WORLD);
    sum = sum_of_ranks(static_cast<std::uint64_t>(yields));
  }
  EXPECT_GT(sum, 0);
}

TEST(MpiOptions, Unbound) { EXPECT_EQ(processors_of(0), processors_of(getppid())); }

TEST(MpiOptions, Bound) {
  const int all = processors_of(getppid());
  if (all <= (hyperthreads() ? 2 : 1)) GTEST_SKIP() << "this machine has one core";
  EXPECT_LT(processors_of(0), all);
}

TEST(MpiOptions, Oversubscribe) {
  int ranks = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  EXPECT_EQ(ranks, 2) << "on a host of one core";
}

}  // namespace
}  // namespace valet::test
