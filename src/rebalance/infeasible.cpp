// SPDX-License-Identifier: BSD-3-Clause
#include "rebalance/infeasible.hpp"

#include "mpi/agreement.hpp"
#include "storage/growth.hpp"

#include <optional>

namespace valet::rebalance {
namespace {

/// @param name  How messages call the function.
template <class Storage, class Grow, class Required>
Storage grown(const mpi::Channel& communicator, const char* name, const Grow& grow,
              const Required& required, const Storage& storage) {
  const Storage result = grow ? storage.growing(grow) : storage;
  std::optional<Diagnostic> finding;
  if (!result.grows())
    finding = no_growth(name);
  else
    finding = storage::grow(result, required);
  mpi::agree(communicator, finding);
  return result;
}

}  // namespace

BlockStorage grown_storage(const mpi::Channel& communicator, const Settings& settings,
                           std::uint64_t required, const BlockStorage& storage) {
  return grown(communicator, "grow", settings.grow, required, storage);
}

RaggedStorage grown_storage(const mpi::Channel& communicator, const Settings& settings,
                            const RaggedRoom& required, const RaggedStorage& storage) {
  return grown(communicator, "grow_ragged", settings.grow_ragged, required, storage);
}

}  // namespace valet::rebalance
