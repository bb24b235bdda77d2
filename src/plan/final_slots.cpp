// SPDX-License-Identifier: BSD-3-Clause
#include "plan/final_slots.hpp"

#include "base/diagnose.hpp"
#include "mpi/tags.hpp"
#include "storage/slot_set.hpp"

#include <algorithm>
#include <utility>

namespace valet::plan {

void exchange_final_slots(const mpi::Channel& channel, Ledger& ledger, Flows& flows,
                          std::span<const Address> addresses, Array<std::uint64_t> buffers) {
  const auto count = [](const auto& flow) -> std::uint64_t { return flow.count; };
  const auto provide = [&](const Outgoing& flow, std::uint64_t first,
                           std::span<std::uint64_t> words) {
    const SlotIndex* const exports = flows.exports.begin() + flow.first + first;
    for (std::size_t k = 0; k < words.size(); ++k) words[k] = addresses[exports[k]].slot;
  };
  // A slot that does not fit the index type is out of range, and still is when cut to the number of
  // slots.
  const auto consume = [&](const Incoming& flow, std::uint64_t first,
                           std::span<const std::uint64_t> words) {
    SlotIndex* const arrivals = flows.arrivals.begin() + flow.cursor + first;
    for (std::size_t k = 0; k < words.size(); ++k)
      arrivals[k] = static_cast<SlotIndex>(std::min(words[k], flows.slots));
  };
  const int rank = channel.rank();
  mpi::NeighbourWords(channel, ledger, mpi::tag_slots, SlotWords::entries, std::move(buffers),
                      mpi::PeerWords{std::span(flows.outgoing), rank, count, provide},
                      mpi::PeerWords{std::span(flows.incoming), rank, count, consume})
      .run();
}

std::optional<Diagnostic> check_final_slots(const mpi::Channel& channel, Ledger& ledger,
                                            const Flows& flows,
                                            std::span<const Address> addresses) {
  storage::SlotSet taken(ledger, flows.slots);
  const auto finding = [&](ErrorCode code, std::uint64_t slot, int source, const auto&... what) {
    return diagnose(code, "the block that rank ", source, " sends to slot ", slot, " of rank ",
                    channel.rank(), what...);
  };
  const auto take = [&](std::uint64_t slot, int source) -> std::optional<Diagnostic> {
    if (slot >= flows.slots)
      return finding(ErrorCode::slot_out_of_range, slot, source,
                     " or beyond is out of range: there are ", flows.slots,
                     " slots; grow the storage before planning, or fix the map");
    if (taken.contains(slot))
      return finding(ErrorCode::slot_taken_twice, slot, source,
                     " is not alone: another block has the same address; fix the map, every block "
                     "needs a slot of its own");
    taken.insert(slot);
    return std::nullopt;
  };
  for (std::uint64_t slot = 0; slot < addresses.size(); ++slot) {
    if (flows.initially_free.contains(slot) || addresses[slot].rank != channel.rank()) continue;
    if (auto diagnostic = take(addresses[slot].slot, channel.rank())) return diagnostic;
  }
  for (const Incoming& flow : flows.incoming)
    for (std::uint64_t k = 0; k < flow.count; ++k)
      if (auto diagnostic = take(flows.arrivals[flow.cursor + k], flow.rank)) return diagnostic;
  return std::nullopt;
}

}  // namespace valet::plan
