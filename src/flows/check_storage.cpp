// SPDX-License-Identifier: BSD-3-Clause
#include "flows/check_storage.hpp"

#include "base/diagnose.hpp"
#include "storage/guarded_backend.hpp"

namespace valet {

std::optional<Diagnostic> flows::check_storage(const plan::State& state,
                                               const StorageBackend& backend) {
  const plan::Flows& flows = state.flows;
  if (auto diagnostic = storage::asked([&] { return backend.diagnostic(); })) return diagnostic;
  const BlockTraits blocks = backend.traits();
  const bool is_never_allocated =
      blocks.block_bytes == 0 && storage::asked([&] { return backend.slots(); }) == 0;
  if (blocks.block_bytes != state.blocks.block_bytes && !is_never_allocated)
    return diagnose(ErrorCode::block_size_mismatch, "the storage has blocks of ",
                    blocks.block_bytes, " bytes, the plan was made for ", state.blocks.block_bytes,
                    "; give the fields that were planned for");
  if (blocks.reachable_by_mpi != state.blocks.reachable_by_mpi ||
      blocks.reachable_by_host != state.blocks.reachable_by_host)
    return invalid(
        "the storage is in another kind of memory than the one that was planned for; plan again");
  const std::uint64_t slots = storage::asked([&] { return backend.slots(); });
  if (slots >= flows.slots) return std::nullopt;
  if (flows.blocks_after > slots)
    return diagnose(ErrorCode::infeasible, "it would hold ", flows.blocks_after,
                    " blocks, but has ", slots, " slots (required_slots = ", flows.blocks_after,
                    "); grow its fields to that many slots and give the storage that is made of "
                    "them then, give a storage that grows, or partition again with the count as a "
                    "constraint");
  return invalid("the storage has ", slots, " slots, the plan was made for ", flows.slots,
                 "; give storage that is not smaller");
}

std::optional<Diagnostic> flows::check_binding(const plan::State& state,
                                               const StorageBackend& backend) {
  if (storage::asked([&] { return backend.may_throw(); }))
    return invalid(
        "the storage may throw exceptions, so it cannot be bound; execute the plan with "
        "the storage each time");
  if (!state.options.verify && !state.frame->traces() && !state.frame->lists_transfers() &&
      !state.frame->callbacks.any())
    return std::nullopt;
  return invalid(
      "a plan with verify, trace, transfers or callbacks cannot be bound; plan without them");
}

}  // namespace valet
