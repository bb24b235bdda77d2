// SPDX-License-Identifier: BSD-3-Clause
#include "plan/final_slots.hpp"

#include "mpi/neighbour_words.hpp"
#include "mpi/tags.hpp"

#include <algorithm>
#include <string>

namespace valet::plan {
namespace {

/// The final slots of this rank's exports, as lists of words.
template <class Index>
struct LeavingSlots {
  const Flows<Index>& flows;
  std::span<const Address> addresses;

  [[nodiscard]] std::size_t size() const { return flows.outgoing.size(); }
  [[nodiscard]] int rank(std::size_t i) const { return flows.outgoing[i].rank; }
  [[nodiscard]] std::uint64_t count(std::size_t i) const { return flows.outgoing[i].count; }
  void provide(std::size_t i, std::uint64_t first, std::span<std::uint64_t> words) const {
    const Index* const exports = flows.exports.begin() + flows.outgoing[i].first + first;
    for (std::size_t k = 0; k < words.size(); ++k) words[k] = addresses[exports[k]].slot;
  }
};

/// Where the words of other ranks go.
template <class Index>
struct ArrivingSlots {
  Flows<Index>& flows;

  [[nodiscard]] std::size_t size() const { return flows.incoming.size(); }
  [[nodiscard]] int rank(std::size_t i) const { return flows.incoming[i].rank; }
  [[nodiscard]] std::uint64_t count(std::size_t i) const { return flows.incoming[i].count; }
  void consume(std::size_t i, std::uint64_t first, std::span<const std::uint64_t> words) const {
    Index* const arrivals = flows.arrivals.begin() + flows.incoming[i].cursor + first;
    // What does not fit the index type is out of range, and stays so when cut to slots.
    for (std::size_t k = 0; k < words.size(); ++k)
      arrivals[k] = static_cast<Index>(std::min(words[k], flows.slots));
  }
};

/// Checks range and injectivity of everything that ends on this rank.
template <class Index>
std::optional<Diagnostic> check_final_slots(const mpi::Channel& channel, Ledger& ledger,
                                            const Flows<Index>& flows,
                                            std::span<const Address> addresses) {
  storage::SlotSet taken(ledger, flows.slots);
  const auto take = [&](std::uint64_t slot, int source) -> std::optional<Diagnostic> {
    const std::string block = "the block that rank " + std::to_string(source) + " sends to slot " +
                              std::to_string(slot) + " of rank " + std::to_string(channel.rank());
    if (slot >= flows.slots)
      return Diagnostic{ErrorCode::slot_out_of_range,
                        block + " or beyond is out of range: there are " +
                            std::to_string(flows.slots) +
                            " slots; grow the storage before planning, or fix the map"};
    if (taken.contains(slot))
      return Diagnostic{ErrorCode::slot_taken_twice,
                        block +
                            " is not alone: another block has the same address; fix the map, "
                            "every block needs a slot of its own"};
    taken.insert(slot);
    return std::nullopt;
  };
  for (std::uint64_t slot = 0; slot < addresses.size(); ++slot) {
    if (flows.initially_free.contains(slot) || addresses[slot].rank != channel.rank()) continue;
    if (auto diagnostic = take(addresses[slot].slot, channel.rank())) return diagnostic;
  }
  for (const Incoming<Index>& flow : flows.incoming)
    for (std::uint64_t k = 0; k < flow.count; ++k)
      if (auto diagnostic = take(flows.arrivals[flow.cursor + k], flow.rank)) return diagnostic;
  return std::nullopt;
}

}  // namespace

template <class Index>
std::optional<Diagnostic> exchange_final_slots(const mpi::Channel& channel, Ledger& ledger,
                                               Flows<Index>& flows,
                                               std::span<const Address> addresses,
                                               std::size_t entries) {
  mpi::NeighbourWords(channel, ledger, mpi::tag_slots, entries,
                      LeavingSlots<Index>{flows, addresses}, ArrivingSlots<Index>{flows})
      .run();
  return check_final_slots(channel, ledger, flows, addresses);
}

template std::optional<Diagnostic> exchange_final_slots(const mpi::Channel&, Ledger&,
                                                        Flows<std::uint32_t>&,
                                                        std::span<const Address>, std::size_t);
template std::optional<Diagnostic> exchange_final_slots(const mpi::Channel&, Ledger&,
                                                        Flows<std::uint64_t>&,
                                                        std::span<const Address>, std::size_t);

}  // namespace valet::plan
