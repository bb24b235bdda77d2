// SPDX-License-Identifier: BSD-3-Clause
#include "junction/numbered_blocks.hpp"

#include "base/diagnose.hpp"

namespace valet::junction {

std::optional<Diagnostic> check_put(const layout::ObjectSide& side, int rank, std::uint64_t count) {
  const auto due = static_cast<std::uint64_t>(side.count(rank));
  if (due == count) return std::nullopt;
  return invalid("it puts ", count, " of ", side.objects(), " objects, but has ", due,
                 " in its layout; give those");
}

std::optional<Diagnostic> check_got(const layout::ObjectSide& side, int rank, std::uint64_t slots) {
  const auto due = static_cast<std::uint64_t>(side.count(rank));
  if (due <= slots) return std::nullopt;
  return diagnose(ErrorCode::infeasible, "it gets ", due, " of ", side.objects(),
                  " objects, but has ", slots, " slots; grow its storage to that many");
}

void place(Array<Address>& addresses, const layout::ObjectSide& to, int first_rank, int rank,
           const layout::ObjectRun& run) {
  auto slot = static_cast<std::uint64_t>(to.slot(rank, run.number));
  for (std::int64_t k = 0; k < run.length; ++k)
    addresses[static_cast<std::size_t>(run.slot + k)] = {first_rank + rank, slot++};
}

}  // namespace valet::junction
