// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Random redistributions that every rank knows as a whole, with the answer worked out from the
/// definitions alone.

#include "random_maps.hpp"
#include <valet/valet.hpp>

#include <array>
#include <cstdint>
#include <optional>
#include <random>
#include <span>
#include <utility>
#include <vector>

namespace valet::test {

enum class MapForm { any, fill, stable, slots };
inline constexpr std::array all_forms{MapForm::any, MapForm::fill, MapForm::stable, MapForm::slots};

[[nodiscard]] inline Order order_of(MapForm form) {
  return form == MapForm::fill ? Order::fill : form == MapForm::stable ? Order::stable : Order::any;
}

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
  [[nodiscard]] std::vector<std::optional<Address>> expected(int rank, MapForm form,
                                                             std::size_t block_bytes) const {
    GlobalMap map{slots, {}};
    for (std::size_t r = 0; r < slots.size(); ++r) {
      auto& row = map.destination.emplace_back(destination[r].begin(), destination[r].end());
      row.resize(slots[r]);
    }
    return (form == MapForm::slots ? content_by_slots(map)
                                   : content_by_ranks(map, order_of(form),
                                                      block_bytes))[static_cast<std::size_t>(rank)];
  }
};

inline Plan plan_of(MPI_Comm communicator, const BlockStorage& storage, const MapCase& map,
                    int rank, MapForm form, Options options) {
  options.order = order_of(form);
  const auto index = static_cast<std::size_t>(rank);
  if (form == MapForm::slots)
    return plan_to_slots(communicator, storage, map.counts[index],
                         std::span<const Address>(map.destination[index]), options);
  const std::vector<int> ranks = map.ranks_of(rank);
  return plan_to_ranks(communicator, storage, map.counts[index], std::span<const int>(ranks),
                       options);
}

}  // namespace valet::test
