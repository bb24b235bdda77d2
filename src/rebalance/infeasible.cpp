// SPDX-License-Identifier: BSD-3-Clause
#include "rebalance/infeasible.hpp"

#include "mpi/agreement.hpp"
#include "storage/growth.hpp"

#include <optional>

namespace valet::rebalance {
namespace {

template <class Storage, class Grow, class Required>
Storage grown(const mpi::Channel& communicator, const Grow& grow, const Required& required,
              const Storage& storage) {
  const Storage result = grow ? storage.growing(grow) : storage;
  mpi::agree(communicator, storage::grow(result, required));
  return result;
}

}  // namespace

BlockStorage grown_storage(const mpi::Channel& communicator, const Settings& settings,
                           std::uint64_t required, const BlockStorage& storage) {
  return grown(communicator, settings.grow, required, storage);
}

RaggedStorage grown_storage(const mpi::Channel& communicator, const Settings& settings,
                            const RaggedRoom& required, const RaggedStorage& storage) {
  return grown(communicator, settings.grow_ragged, required, storage);
}

void require_growth(const mpi::Channel& communicator, const Settings& settings,
                    const BlockStorage& storage) {
  const bool grows = settings.grow || storage.grows();
  mpi::agree(communicator, grows ? std::nullopt : std::optional(no_growth("grow")));
}

void require_growth(const mpi::Channel& communicator, const Settings& settings,
                    const RaggedStorage& storage) {
  const bool grows = settings.grow_ragged || storage.grows();
  mpi::agree(communicator, grows
                               ? std::nullopt
                               : std::optional(no_growth(settings.grow ? "grow_ragged" : "grow")));
}

}  // namespace valet::rebalance
