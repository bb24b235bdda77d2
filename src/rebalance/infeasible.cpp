// SPDX-License-Identifier: BSD-3-Clause
#include "rebalance/infeasible.hpp"

#include "base/diagnose.hpp"
#include "base/memory_reserve.hpp"
#include "base/names.hpp"
#include "mpi/agreement.hpp"
#include <valet/detail/first_failure.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <type_traits>

namespace valet::rebalance {
namespace {

using detail::named;
using std::to_string;

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

/// @param name  How messages call the function.
template <class Storage, class Grow, class Required>
Storage grown(const mpi::Channel& communicator, const std::string& name, const Grow& grow,
              const Required& required, const Storage& storage) {
  Storage result = storage;
  std::optional<Diagnostic> finding;
  if (!grow) finding = no_growth(name);
  if (!finding && lack_of(storage, required)) {
    const std::string activity = "enlarging the storage (" + name + ")";
    detail::FirstFailure failure;
    failure.attempt(activity.c_str(), [&] {
      const detail::LeaveReserve leave;
      result = grow(required);
    });
    finding = failure.diagnostic("nothing has moved");
    if constexpr (std::is_same_v<Storage, BlockStorage>)  // execution looks at the other
      if (!finding) finding = result.backend().diagnostic();
    if (!finding)
      if (const auto lacks = lack_of(result, required))
        finding = diagnose(ErrorCode::infeasible, name, " returned a storage ", *lacks,
                           " are required; return one that has them, nothing has moved");
  }
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
