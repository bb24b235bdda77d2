// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// One rank's part of a global map as the arguments of a call, its blocks written to memory.

#include "addressed_blocks.hpp"
#include "random_maps.hpp"
#include "test_comm.hpp"
#include <valet/valet.hpp>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace valet::test {

enum class Form { to_ranks, to_slots };

class FilledMap {
 public:
  /// `self` is this rank's number in the map; more slots than the map has may be given.
  FilledMap(const GlobalMap& map, int self, Shape shape, std::size_t dense_bytes = 40,
            std::uint64_t least_slots = 0)
      : map_(map),
        self_(self),
        blocks_(shape, std::max(least_slots, slots_of(map, self)), dense_bytes),
        mask_(std::max(least_slots, slots_of(map, self)), 0),
        ranks_(mask_.size(), -7),
        addresses_(mask_.size(), Address{-7, 1'000'000}) {
    for (std::uint64_t slot = 0; slot < destination().size(); ++slot) {
      if (!destination()[slot]) continue;
      mask_[slot] = 1;
      ranks_[slot] = destination()[slot]->rank;
      addresses_[slot] = *destination()[slot];
    }
    fill();
  }

  /// Writes every block to the slot where it starts, and to free slots what belongs nowhere: what
  /// an earlier run left there would look as if it had just arrived.
  void fill() {
    for (std::uint64_t slot = 0; slot < destination().size(); ++slot)
      blocks_.write(slot, {destination()[slot] ? self_ : -1, slot});
  }

  [[nodiscard]] BlockStorage storage() { return blocks_.storage(); }
  [[nodiscard]] AddressedBlocks& blocks() { return blocks_; }
  [[nodiscard]] std::uint64_t slots() const { return mask_.size(); }

  [[nodiscard]] Plan plan(MPI_Comm comm, Form form, const Options& options) {
    return plan(comm, storage(), form, options);
  }
  /// The same for another storage of the blocks.
  [[nodiscard]] Plan plan(MPI_Comm comm, const BlockStorage& blocks, Form form,
                          const Options& options) {
    const Occupied occupied = Occupied::masked(mask_);
    return form == Form::to_ranks ? plan_to_ranks(comm, blocks, occupied, ranks_, options)
                                  : plan_to_slots(comm, blocks, occupied, addresses_, options);
  }

  [[nodiscard]] GlobalContent content(Form form, Order order) {
    return form == Form::to_ranks ? content_by_ranks(map_, order, blocks_.storage().block_bytes())
                                  : content_by_slots(map_);
  }

  /// Slots of this rank whose content is not what it should be.
  [[nodiscard]] long long wrong(const GlobalContent& content) {
    const auto& here = content[static_cast<std::size_t>(self_)];
    long long count = 0;
    for (std::uint64_t slot = 0; slot < here.size(); ++slot)
      if (here[slot] && !blocks_.holds(slot, *here[slot])) ++count;
    return count;
  }
  [[nodiscard]] long long wrong(Form form, Order order) { return wrong(content(form, order)); }

 private:
  static std::uint64_t slots_of(const GlobalMap& map, int self) {
    return map.slots[static_cast<std::size_t>(self)];
  }
  [[nodiscard]] const std::vector<std::optional<Address>>& destination() const {
    return map_.destination[static_cast<std::size_t>(self_)];
  }

  const GlobalMap map_;
  int self_;
  AddressedBlocks blocks_;
  std::vector<std::uint8_t> mask_;
  std::vector<int> ranks_;
  std::vector<Address> addresses_;
};

/// A map in which block k of rank r goes to slot k of rank r + k + shift, modulo ranks.
inline GlobalMap ring_map(int ranks, std::uint64_t slots, std::uint64_t blocks, int shift) {
  GlobalMap map;
  map.slots.assign(static_cast<std::size_t>(ranks), slots);
  map.destination.resize(map.slots.size());
  for (int rank = 0; rank < ranks; ++rank) {
    auto& row = map.destination[static_cast<std::size_t>(rank)];
    row.resize(slots);
    for (std::uint64_t k = 0; k < blocks; ++k)
      row[k] = Address{(rank + static_cast<int>(k) + shift) % ranks, k};
  }
  return map;
}

}  // namespace valet::test
