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
        ranks_(mask_.size(), -7),  // entries of free slots must not matter
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

  /// Plans and executes in one call.
  /// @param by_count  The blocks are in the first slots, so that their number is all it takes.
  Report migrate(MPI_Comm comm, Form form, const Options& options, bool by_count) {
    const auto count = static_cast<std::size_t>(std::count(mask_.begin(), mask_.end(), 1));
    const Occupied occupied = by_count ? Occupied(count) : Occupied::masked(mask_);
    const std::size_t entries = by_count ? count : mask_.size();
    return form == Form::to_ranks ? valet::migrate(comm, storage(), occupied,
                                                   std::span(ranks_).first(entries), options)
                                  : valet::migrate(comm, storage(), occupied,
                                                   std::span(addresses_).first(entries), options);
  }

  [[nodiscard]] GlobalContent content(Form form, Order order) {
    return form == Form::to_ranks ? content_by_ranks(map_, order, blocks_.storage().block_bytes())
                                  : content_by_slots(map_);
  }

  /// Slots of this rank whose content is not what it should be.
  [[nodiscard]] long long wrong(const GlobalContent& content) {
    return wrong_slots(row_of(content, self_), [this](std::uint64_t slot, const Address& origin) {
      return blocks_.holds(slot, origin);
    });
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

}  // namespace valet::test
