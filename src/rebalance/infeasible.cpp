// SPDX-License-Identifier: BSD-3-Clause
#include "rebalance/infeasible.hpp"

#include "base/memory_reserve.hpp"
#include "base/names.hpp"
#include "mpi/agreement.hpp"
#include <valet/detail/first_failure.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>

namespace valet::rebalance {
namespace {

using detail::named;
using std::to_string;

/// How messages call a function of the options.
struct Growth {
  const char* function;
  const char* activity;
};
constexpr Growth growth_of_slots{"RebalancerOptions::grow",
                                 "enlarging the storage (RebalancerOptions::grow)"};
constexpr Growth growth_of_arenas{"RebalancerOptions::grow_ragged",
                                  "enlarging the storage (RebalancerOptions::grow_ragged)"};

std::optional<Diagnostic> wrong(const BlockStorage& storage) {
  return storage.backend().diagnostic();
}
/// Execution looks at it.
std::optional<Diagnostic> wrong(const RaggedStorage& /*storage*/) { return std::nullopt; }

/// What a storage lacks, if anything, such as "of 10 slots, 12".
std::optional<std::string> lack(std::uint64_t has, const std::string& what, std::uint64_t needs) {
  if (has >= needs) return std::nullopt;
  return "of " + to_string(has) + " " + what + ", " + to_string(needs);
}

std::optional<std::string> lack_of(const BlockStorage& storage, std::uint64_t required) {
  return lack(storage.slots(), "slots", required);
}

std::optional<std::string> lack_of(const RaggedStorage& storage, const RaggedRoom& required) {
  const std::vector<RaggedField>& fields = storage.fields();
  for (std::size_t f = 0; f < std::min(fields.size(), required.bytes.size()); ++f) {
    const std::string name = named("ragged field", fields[f].label, f);
    if (auto found = lack(fields[f].capacity_bytes, "bytes in " + name, required.bytes[f]))
      return found;
    if (auto found = lack(fields[f].block_capacity, "lengths of " + name, required.blocks))
      return found;
  }
  for (std::size_t c = 0; c < storage.columns().size(); ++c) {
    const Field& column = storage.columns()[c];
    if (auto found =
            lack(column.slots, "rows in " + named("column", column.label, c), required.blocks))
      return found;
  }
  return std::nullopt;
}

template <class Storage, class Grow, class Required>
Storage grown(const mpi::Channel& communicator, const Growth& growth, const Grow& grow,
              const Required& required, const Storage& storage) {
  Storage result = storage;
  std::optional<Diagnostic> finding;
  if (!grow) finding = no_growth(growth.function);
  if (!finding && lack_of(storage, required)) {
    detail::FirstFailure failure;
    failure.attempt(growth.activity, [&] {
      const detail::LeaveReserve leave;
      result = grow(required);
    });
    finding = failure.diagnostic("nothing has moved");
    if (!finding) finding = wrong(result);
    if (!finding)
      if (const auto lacks = lack_of(result, required))
        finding = Diagnostic{ErrorCode::infeasible,
                             std::string(growth.function) + " returned a storage " + *lacks +
                                 " are required; return one that has them, nothing has moved"};
  }
  mpi::agree(communicator, finding);
  return result;
}

}  // namespace

bool some_rank_lacks_slots(const mpi::Channel& communicator, std::uint64_t required,
                           const BlockStorage& storage) {
  bool some_lacks = storage.slots() < required;
  mpi::Agreement agreement;
  agreement.largest(some_lacks);
  agreement.run(communicator, storage.backend().diagnostic());
  return some_lacks;
}

BlockStorage grown_storage(const mpi::Channel& communicator, const Settings& settings,
                           std::uint64_t required, const BlockStorage& storage) {
  return grown(communicator, growth_of_slots, settings.grow, required, storage);
}

RaggedStorage grown_storage(const mpi::Channel& communicator, const Settings& settings,
                            const RaggedRoom& required, const RaggedStorage& storage) {
  return grown(communicator, growth_of_arenas, settings.grow_ragged, required, storage);
}

}  // namespace valet::rebalance
