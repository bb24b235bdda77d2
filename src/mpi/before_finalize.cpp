// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/before_finalize.hpp"

#include "mpi/channel.hpp"
#include "mpi/check.hpp"

#include <mutex>
#include <utility>

namespace valet::mpi {
namespace {

std::mutex mutex;  // of the list
BeforeFinalize* newest = nullptr;

int run_all(MPI_Comm, int, void*, void*) {
  while (newest != nullptr) newest->run();
  return MPI_SUCCESS;
}

/// One attribute for all, which nobody deletes: in MPI_Finalize the application's own may destroy
/// plans, and Open MPI forgets those that are left when one of them deletes another.
void await_finalize() {
  static const bool awaits = [] {
    int key = MPI_KEYVAL_INVALID;
    check(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, run_all, &key, nullptr),
          "MPI_Comm_create_keyval");
    check(MPI_Comm_set_attr(MPI_COMM_SELF, key, nullptr), "MPI_Comm_set_attr");
    check(MPI_Comm_free_keyval(&key), "MPI_Comm_free_keyval");
    return true;
  }();
  static_cast<void>(awaits);
}

}  // namespace

BeforeFinalize::BeforeFinalize(std::function<void()> action) : action_(std::move(action)) {
  await_finalize();
  const std::scoped_lock lock(mutex);
  older_ = newest;
  if (older_ != nullptr) older_->newer_ = this;
  newest = this;
}

BeforeFinalize::~BeforeFinalize() {
  if (mpi_is_usable())
    run();
  else
    static_cast<void>(leave());
}

void BeforeFinalize::run() noexcept {
  if (!leave()) return;
  try {
    action_();
  } catch (...) {
    // There is nobody to tell, and MPI must not be left by an exception.
  }
}

bool BeforeFinalize::leave() {
  const std::scoped_lock lock(mutex);
  if (newest != this && newer_ == nullptr) return false;
  (newer_ != nullptr ? newer_->older_ : newest) = older_;
  if (older_ != nullptr) older_->newer_ = newer_;
  older_ = newer_ = nullptr;
  return true;
}

}  // namespace valet::mpi
