// SPDX-License-Identifier: BSD-3-Clause
#include "rebalance/infeasible.hpp"

#include "base/diagnose.hpp"
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

/// @param function  How messages call what is not there.
std::optional<Diagnostic> missing_growth(const Settings& settings, bool grows,
                                         const char* function) {
  if (grows || settings.when_infeasible != WhenInfeasible::grow) return std::nullopt;
  return invalid("when_infeasible is grow, but there is no ", function,
                 "; give growing() arrays, or a function that returns a larger storage");
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

std::optional<Diagnostic> check_growth(const Settings& settings, const BlockStorage& storage) {
  return missing_growth(settings, settings.grow || storage.grows(), "grow");
}

std::optional<Diagnostic> check_growth(const Settings& settings, const RaggedStorage& storage) {
  return missing_growth(settings, settings.grow_ragged || storage.grows(),
                        settings.grow ? "grow_ragged" : "grow");
}

}  // namespace valet::rebalance
