// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Waits that end where the other ranks have gone: with a limit (limit_waiting()) they
/// test and yield, and throw once nothing has come for so long. Without one they are MPI's own
/// blocking calls.

#include "mpi/check.hpp"
#include <valet/export.hpp>
#include <valet/mpi.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <thread>

namespace valet::mpi {

/// One wait, from its construction on, for one thing to complete.
class WaitLimit {
 public:
  /// @param seconds  0 for none.
  /// @param since    When it began, by now().
  explicit WaitLimit(double seconds, double since = now())
      : seconds_(seconds), end_(since + seconds) {}

  [[nodiscard]] bool is_set() const { return seconds_ > 0; }
  /// After a look that has found nothing. @throws Error mpi_failure beyond the limit.
  void check() const {
    if (seconds_ > 0 && now() > end_) throw_nothing_came();
  }
  /// The same, and gives the core to others: that of a rank that is waited for, perhaps.
  void look_again() const {
    std::this_thread::yield();
    check();
  }

 private:
  [[noreturn]] VALET_EXPORT void throw_nothing_came() const;

  double seconds_;
  double end_;
};

/// Whether a request has completed, by now. Local.
[[nodiscard]] VALET_EXPORT bool has_completed(MPI_Request& request,
                                              MPI_Status* status = MPI_STATUS_IGNORE);
/// Blocks until a request completes. @throws Error mpi_failure, also beyond the limit: MPI may then
/// still touch its memory.
/// @param seconds  0 for no limit.
VALET_EXPORT void wait_for(MPI_Request& request, MPI_Status* status, double seconds);

/// Memory of a call that may block.
struct CallMemory {
  std::span<const std::byte> sent;
  std::span<std::byte> received;          ///< may hold what is sent
  std::span<const int> counts, begins{};  ///< of the lists of ranks
};

/// A copy of it on the heap. There is no destructor that frees it: MPI may write to it long after
/// the call was given up, so that it is leaked unless finish() says that the call is over. Not
/// counted in any ledger: it is only there with a limit, and as large as what the call is given.
class CallCopy {
 public:
  /// @throws std::bad_alloc.
  VALET_EXPORT explicit CallCopy(const CallMemory& memory);
  CallCopy(const CallCopy&) = delete;
  CallCopy& operator=(const CallCopy&) = delete;
  ~CallCopy() { static_cast<void>(block_.release()); }

  [[nodiscard]] const CallMemory& memory() const { return copy_; }
  /// Gives what was received to the caller, and frees the copy.
  VALET_EXPORT void finish();

 private:
  std::unique_ptr<std::byte[]> block_;
  CallMemory original_, copy_;
};

/// Does a call that may block: `blocking`, or where waiting is limited `starting`, its nonblocking
/// variant, on a copy of its memory.
/// @param channel  Knows the wait_limit(), in seconds; 0 for none.
/// @param name  Of the call, for errors.
/// @param with  with(call, memory, request...) calls it; the request only with `starting`.
/// @param peer  A rank to name in errors.
template <class AnyChannel, class Blocking, class Starting, class With>
void call_blocking(const AnyChannel& channel, const char* name, Blocking* blocking,
                   Starting* starting, const CallMemory& memory, With&& with, int peer = no_peer) {
  const double seconds = channel.wait_limit();
  if (seconds <= 0) return check(with(blocking, memory), name, peer);
  CallCopy copy(memory);
  MPI_Request request = MPI_REQUEST_NULL;
  check(with(starting, copy.memory(), &request), name, peer);
  wait_for(request, MPI_STATUS_IGNORE, seconds);
  copy.finish();
}

}  // namespace valet::mpi
