// SPDX-License-Identifier: BSD-3-Clause
#include "infeasible.hpp"

#include "base/memory_reserve.hpp"
#include "mpi/agreement.hpp"
#include <valet/detail/first_failure.hpp>

#include <optional>
#include <string>

namespace valet::zoltan {

bool some_rank_lacks_slots(const mpi::Channel& communicator, std::uint64_t required,
                           const BlockStorage& storage) {
  bool some_lacks = storage.slots() < required;
  mpi::Agreement agreement;
  agreement.largest(some_lacks);
  agreement.run(communicator, storage.backend().diagnostic());
  return some_lacks;
}

BlockStorage grown_storage(const mpi::Channel& communicator,
                           const std::function<BlockStorage(std::uint64_t)>& grow,
                           std::uint64_t required, const BlockStorage& storage) {
  BlockStorage grown = storage;
  std::optional<Diagnostic> finding;
  if (storage.slots() < required) {
    valet::detail::FirstFailure failure;
    failure.attempt("enlarging the storage (RebalancerOptions::grow)", [&] {
      const valet::detail::LeaveReserve leave;
      grown = grow(required);
    });
    finding = failure.diagnostic("nothing has moved");
    if (!finding) finding = grown.backend().diagnostic();
    if (!finding && grown.slots() < required)
      finding =
          Diagnostic{ErrorCode::infeasible,
                     "RebalancerOptions::grow returned a storage of " +
                         std::to_string(grown.slots()) + " slots, " + std::to_string(required) +
                         " are required; return one that has them, nothing has moved"};
  }
  mpi::agree(communicator, finding);
  return grown;
}

}  // namespace valet::zoltan
