// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/wait_limit.hpp"

#include "base/diagnose.hpp"
#include "base/sizes.hpp"

#include <algorithm>
#include <cstring>
#include <sstream>

namespace valet::mpi {
namespace {

/// `bytes`, and what is left of the last place that any type could begin at.
std::size_t rounded(std::size_t bytes) {
  return detail::rounded_up(bytes, alignof(std::max_align_t));
}

template <class T>
std::span<T> copy_to(std::byte*& next, std::span<const T> values) {
  auto* const copy = reinterpret_cast<T*>(next);
  if (!values.empty()) std::memcpy(copy, values.data(), values.size_bytes());
  next += rounded(values.size_bytes());
  return {copy, values.size()};
}

}  // namespace

void WaitLimit::throw_nothing_came() const {
  std::ostringstream seconds;
  seconds << seconds_;
  throw Error(ErrorCode::mpi_failure,
              joined("nothing came from other ranks for ", seconds.str(),
                     " s; has the other job ended? End this one, too, for example with "
                     "MPI_Abort(); the content of what was to be moved is unspecified"));
}

bool has_completed(MPI_Request& request, MPI_Status* status) {
  int done = 0;
  check(MPI_Test(&request, &done, status), "MPI_Test");
  return done != 0;
}

void wait_for(MPI_Request& request, MPI_Status* status, double seconds) {
  if (seconds == 0) return check(MPI_Wait(&request, status), "MPI_Wait");
  const WaitLimit limit(seconds);
  while (!has_completed(request, status)) limit.look_again();
}

CallCopy::CallCopy(const CallMemory& memory)
    : block_(std::make_unique<std::byte[]>(
          rounded(memory.sent.size()) + rounded(memory.received.size()) +
          rounded(memory.counts.size_bytes()) + rounded(memory.begins.size_bytes()))),
      original_(memory) {
  std::byte* next = block_.get();
  copy_.sent = copy_to(next, memory.sent);
  copy_.received = copy_to(next, std::span<const std::byte>(memory.received));
  copy_.counts = copy_to(next, memory.counts);
  copy_.begins = copy_to(next, memory.begins);
}

void CallCopy::finish() {
  std::ranges::copy(copy_.received, original_.received.begin());
  block_.reset();
}

}  // namespace valet::mpi
