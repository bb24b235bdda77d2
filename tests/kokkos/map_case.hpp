// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Random redistributions that every rank knows as a whole, with the answer worked out from the
/// definitions alone.

#include <valet/valet.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <random>
#include <span>
#include <utility>
#include <vector>

namespace valet::test {

enum class MapForm { fill, stable, slots };

struct MapCase {
  std::vector<std::uint64_t> slots;               ///< per rank
  std::vector<std::uint64_t> counts;              ///< occupied slots per rank: the first ones
  std::vector<std::vector<Address>> destination;  ///< [rank][slot]

  /// Blocks go to random slots. Some ranks may have no slots or no blocks; in a tight case no slot
  /// is free.
  static MapCase random(int ranks, std::mt19937_64& random) {
    MapCase result;
    const bool tight = random() % 4 == 0;
    std::vector<Address> places;
    for (int r = 0; r < ranks; ++r) {
      const std::uint64_t slots = random() % 5 == 0 ? 0 : 1 + random() % 24;
      result.slots.push_back(slots);
      result.counts.push_back(tight ? slots : random() % (slots + 1));
      for (std::uint64_t s = 0; s < slots; ++s) places.push_back({r, s});
    }
    for (std::size_t i = places.size(); i > 1; --i) std::swap(places[i - 1], places[random() % i]);
    std::size_t next = 0;
    for (int r = 0; r < ranks; ++r) {
      auto& row = result.destination.emplace_back();
      for (std::uint64_t s = 0; s < result.counts[static_cast<std::size_t>(r)]; ++s)
        row.push_back(places[next++]);
    }
    return result;
  }

  [[nodiscard]] std::vector<int> ranks_of(int rank) const {
    std::vector<int> ranks;
    for (const Address& to : destination[static_cast<std::size_t>(rank)]) ranks.push_back(to.rank);
    return ranks;
  }

  /// Which block must be in each slot of `rank` afterwards: its old address, or nothing.
  [[nodiscard]] std::vector<std::optional<Address>> expected(int rank, MapForm form) const {
    std::vector<std::optional<Address>> content(slots[static_cast<std::size_t>(rank)]);
    std::vector<Address> arrivals;
    std::vector<Address> staying;
    for (int r = 0; r < static_cast<int>(slots.size()); ++r) {
      const auto& row = destination[static_cast<std::size_t>(r)];
      for (std::uint64_t s = 0; s < row.size(); ++s) {
        if (row[s].rank != rank) continue;
        if (form == MapForm::slots) content[row[s].slot] = Address{r, s};
        (r == rank ? staying : arrivals).push_back({r, s});
      }
    }
    if (form == MapForm::stable) {
      staying.insert(staying.end(), arrivals.begin(), arrivals.end());
      std::copy(staying.begin(), staying.end(), content.begin());
    }
    if (form == MapForm::fill) fill(content, staying, arrivals);
    return content;
  }

 private:
  static void fill(std::vector<std::optional<Address>>& content,
                   const std::vector<Address>& staying, const std::vector<Address>& arrivals) {
    for (const Address& block : staying) content[block.slot] = block;
    std::size_t slot = 0;
    for (const Address& block : arrivals) {
      while (content[slot]) ++slot;
      content[slot] = block;
    }
    const std::size_t after = staying.size() + arrivals.size();
    std::size_t high = after;
    for (slot = 0; slot < after; ++slot) {
      if (content[slot]) continue;
      while (!content[high]) ++high;
      content[slot] = std::exchange(content[high], std::nullopt);
    }
  }
};

inline Plan plan_of(MPI_Comm communicator, const BlockStorage& storage, const MapCase& map,
                    int rank, MapForm form, Options options) {
  options.order = form == MapForm::stable ? Order::stable : Order::fill;
  const auto index = static_cast<std::size_t>(rank);
  if (form == MapForm::slots)
    return plan_to_slots(communicator, storage, map.counts[index],
                         std::span<const Address>(map.destination[index]), options);
  const std::vector<int> ranks = map.ranks_of(rank);
  return plan_to_ranks(communicator, storage, map.counts[index], std::span<const int>(ranks),
                       options);
}

}  // namespace valet::test
