// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// One rank's part of a global map as the arguments of a call, its blocks written to memory.

#include "addressed_blocks.hpp"
#include "random_maps.hpp"
#include "test_comm.hpp"

namespace valet::test {

enum class Form { to_ranks, to_slots };

/// What a map says, and the order where it says the ranks.
struct Kind {
  Form form = Form::to_ranks;
  Order order = Order::any;
};
inline constexpr std::array<Kind, 4> all_kinds{{{Form::to_ranks, Order::any},
                                                {Form::to_ranks, Order::fill},
                                                {Form::to_ranks, Order::stable},
                                                {Form::to_slots, Order::any}}};

/// What one rank gives for its part of a global map, whatever holds its blocks.
class MapPart {
 public:
  /// `self` is this rank's number in the map; more slots than the map has may be given.
  MapPart(const GlobalMap& map, int self, std::uint64_t least_slots = 0)
      : map_(map),
        self_(self),
        mask_(std::max(least_slots, row_of(map.slots, self)), 0),
        ranks_(mask_.size()),
        addresses_(mask_.size()) {
    for (std::uint64_t slot = 0; slot < destination().size(); ++slot) {
      if (!destination()[slot]) continue;
      mask_[slot] = 1;
      ranks_[slot] = destination()[slot]->rank;
      addresses_[slot] = *destination()[slot];
    }
  }

  [[nodiscard]] std::uint64_t slots() const { return mask_.size(); }
  /// By slot, where the block goes.
  [[nodiscard]] const std::vector<std::optional<Address>>& destination() const {
    return row_of(map_.destination, self_);
  }
  [[nodiscard]] Plan plan(MPI_Comm comm, const BlockStorage& blocks, Form form,
                          const Options& options) {
    say_of_free_slots(options.negative_rank);
    const Occupied occupied = Occupied::masked(mask_);
    return form == Form::to_ranks ? plan_to_ranks(comm, blocks, occupied, ranks_, options)
                                  : plan_to_slots(comm, blocks, occupied, addresses_, options);
  }
  /// Plans and executes in one call.
  /// @param by_count  The blocks are in the first slots, so that their number is all it takes.
  Report migrate(MPI_Comm comm, const BlockStorage& blocks, Form form, const Options& options,
                 bool by_count) {
    say_of_free_slots(options.negative_rank);
    const auto count = static_cast<std::size_t>(std::count(mask_.begin(), mask_.end(), 1));
    const Occupied occupied = by_count ? Occupied(count) : Occupied::masked(mask_);
    const std::size_t entries = by_count ? count : mask_.size();
    return form == Form::to_ranks
               ? valet::migrate(comm, blocks, occupied, std::span(ranks_).first(entries), options)
               : valet::migrate(comm, blocks, occupied, std::span(addresses_).first(entries),
                                options);
  }
  [[nodiscard]] GlobalContent content(Form form, Order order, std::size_t block_bytes) const {
    return form == Form::to_ranks ? content_by_ranks(map_, order, block_bytes)
                                  : content_by_slots(map_);
  }

 protected:
  [[nodiscard]] int self() const { return self_; }

 private:
  /// What is in the free slots of the map is called free, and its entries must not matter; or it is
  /// called a block that is dropped.
  void say_of_free_slots(NegativeRank choice) {
    const bool drops = choice == NegativeRank::drop;
    for (std::uint64_t slot = 0; slot < mask_.size(); ++slot) {
      if (slot < destination().size() && destination()[slot]) continue;
      mask_[slot] = drops ? 1 : 0;
      ranks_[slot] = drops ? -1 : -7;
      addresses_[slot] = {ranks_[slot], 1'000'000};
    }
  }

  const GlobalMap map_;
  int self_;
  std::vector<std::uint8_t> mask_;
  std::vector<int> ranks_;
  std::vector<Address> addresses_;
};

/// The same with blocks in memory.
class FilledMap : public MapPart {
 public:
  FilledMap(const GlobalMap& map, int self, Shape shape, std::size_t dense_bytes = 40,
            std::uint64_t least_slots = 0, bool node = false)
      : MapPart(map, self, least_slots), blocks_(shape, slots(), dense_bytes, node) {
    fill();
  }

  /// Writes every block to the slot where it starts, and to free slots what belongs nowhere: what
  /// an earlier run left there would look as if it had just arrived.
  void fill() {
    for (std::uint64_t slot = 0; slot < destination().size(); ++slot)
      blocks_.write(slot, {destination()[slot] ? self() : -1, slot});
  }

  [[nodiscard]] BlockStorage storage() { return blocks_.storage(); }
  [[nodiscard]] AddressedBlocks& blocks() { return blocks_; }

  using MapPart::plan;
  [[nodiscard]] Plan plan(MPI_Comm comm, Form form, const Options& options) {
    return plan(comm, storage(), form, options);
  }
  Report migrate(MPI_Comm comm, Form form, const Options& options, bool by_count) {
    return MapPart::migrate(comm, storage(), form, options, by_count);
  }
  [[nodiscard]] GlobalContent content(Form form, Order order) {
    return MapPart::content(form, order, storage().block_bytes());
  }

  /// Slots of this rank whose content is not what it should be.
  [[nodiscard]] long long wrong(const GlobalContent& content) {
    return wrong_slots(row_of(content, self()), [this](std::uint64_t slot, const Address& origin) {
      return blocks_.holds(slot, origin);
    });
  }
  [[nodiscard]] long long wrong(Form form, Order order) { return wrong(content(form, order)); }

 private:
  AddressedBlocks blocks_;
};

}  // namespace valet::test
