// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/before_finalize.hpp"

#include "mpi/channel.hpp"
#include "mpi/check.hpp"

#include <utility>

namespace valet::mpi {
namespace {

int run(MPI_Comm, int, void* action, void*) {
  try {
    (*static_cast<std::function<void()>*>(action))();
  } catch (...) {
    // There is nobody to tell, and MPI must not be left by an exception.
  }
  return MPI_SUCCESS;
}

}  // namespace

BeforeFinalize::BeforeFinalize(std::function<void()> action) : action_(std::move(action)) {
  check(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, run, &key_, nullptr),
        "MPI_Comm_create_keyval");
  check(MPI_Comm_set_attr(MPI_COMM_SELF, key_, &action_), "MPI_Comm_set_attr");
}

BeforeFinalize::~BeforeFinalize() {
  if (!mpi_is_usable()) return;
  MPI_Comm_delete_attr(MPI_COMM_SELF, key_);
  MPI_Comm_free_keyval(&key_);
}

}  // namespace valet::mpi
