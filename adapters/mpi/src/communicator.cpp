// SPDX-License-Identifier: BSD-3-Clause
#include "communicator.hpp"

#include "base/environment.hpp"
#include "mpi/family.hpp"
#include "storage/huge_pages.hpp"
#include <valet/error.hpp>
#include <valet/log.hpp>
#include <valet/options.hpp>

#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <string>
#include <utility>

namespace valet::preload {
namespace {

constexpr const char* budget_variable = "VALET_ALLTOALL_MEMORY";
constexpr std::size_t default_budget = std::size_t{4} << 20;

bool mpi_runs() {
  int initialized = 0, finalized = 0;
  PMPI_Initialized(&initialized);
  PMPI_Finalized(&finalized);
  return initialized != 0 && finalized == 0;
}

std::size_t budget_of_environment(int rank) {
  const char* const text = std::getenv(budget_variable);
  if (text == nullptr || *text == '\0') return default_budget;
  try {
    return parse_bytes(text);
  } catch (const Error& error) {
    log(LogLevel::warning, rank, std::string(budget_variable) + ": " + error.what());
    return default_budget;
  }
}

int free_own(MPI_Comm, int, void* attribute, void*) {
  auto* const communicator = static_cast<Communicator*>(attribute);
  if (mpi_runs()) PMPI_Comm_free(&communicator->own);  // MPI_Finalize frees what is left
  delete communicator;
  return MPI_SUCCESS;
}

/// Of an attribute that duplicates of a communicator do not get.
int key() {
  static const int created = [] {
    int made = MPI_KEYVAL_INVALID;
    check_told(PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, free_own, &made, nullptr));
    return made;
  }();
  return created;
}

/// Not MPI_Comm_dup, which would call what the program has its attributes copied by.
std::unique_ptr<Communicator> make(MPI_Comm program) {
  auto made = std::make_unique<Communicator>();
  MPI_Group group = MPI_GROUP_NULL;
  check_told(PMPI_Comm_group(program, &group));
  const int code = PMPI_Comm_create(program, group, &made->own);
  PMPI_Group_free(&group);
  check_told(code);
  check(PMPI_Comm_set_errhandler(made->own, MPI_ERRORS_RETURN));
  check(PMPI_Comm_rank(made->own, &made->rank));
  check(PMPI_Comm_size(made->own, &made->size));
  detail::warn_of_unknown_variables(made->rank);
  std::uint64_t budget = budget_of_environment(made->rank);
  check(PMPI_Allreduce(MPI_IN_PLACE, &budget, 1, MPI_UINT64_T, MPI_MIN, made->own));
  made->budget = budget;
  return made;
}

std::mutex kept_mutex;
std::shared_ptr<std::byte> kept_bytes;
std::size_t kept_size = 0;

}  // namespace

int ranks_served(MPI_Comm program) {
  int is_inter = 0, size = 0;
  if (!mpi_runs() || !mpi::mpi_mismatch().empty() || program == MPI_COMM_NULL ||
      PMPI_Comm_test_inter(program, &is_inter) != MPI_SUCCESS || is_inter != 0 ||
      PMPI_Comm_size(program, &size) != MPI_SUCCESS)
    return 0;
  return size;
}

const Communicator& communicator_of(MPI_Comm program) {
  void* attribute = nullptr;
  int found = 0;
  check_told(PMPI_Comm_get_attr(program, key(), static_cast<void*>(&attribute), &found));
  if (found != 0) return *static_cast<Communicator*>(attribute);
  auto made = make(program);
  check_told(PMPI_Comm_set_attr(program, key(), made.get()));
  return *made.release();
}

Scratch::Scratch(std::size_t bytes) {
  exchange_with_kept();
  if (size_ >= bytes) return;
  bytes_.reset();
  bytes_ = storage::allocate_with_huge_pages(bytes);
  size_ = bytes;
}

void Scratch::exchange_with_kept() noexcept {
  const std::lock_guard lock(kept_mutex);
  std::swap(kept_bytes, bytes_);
  std::swap(kept_size, size_);
}

}  // namespace valet::preload
