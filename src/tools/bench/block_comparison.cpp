// SPDX-License-Identifier: BSD-3-Clause
#include "block_comparison.hpp"

#include "base/names.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <numeric>
#include <utility>

namespace valet::bench {
namespace {

using detail::Named;
constexpr std::array patterns{Named{Pattern::ring, "ring"}, Named{Pattern::transpose, "transpose"},
                              Named{Pattern::random, "random"},
                              Named{Pattern::one_free, "one-free"},
                              Named{Pattern::neighbours, "neighbours"}};

/// @param own_blocks  Blocks of the rank, of `count` ranks.
Address destination_of(Pattern pattern, std::uint64_t own_blocks, int rank, std::uint64_t slot,
                       std::uint64_t count) {
  const auto self = static_cast<std::uint64_t>(rank);
  const auto at = [&](std::uint64_t distance) {
    return static_cast<int>((self + distance) % count);
  };
  const std::uint64_t index = own_blocks * self + slot;
  switch (pattern) {
    case Pattern::ring: return {at(1), slot};
    case Pattern::transpose: return {static_cast<int>(index % count), index / count};
    case Pattern::random: {
      const std::uint64_t to = scatter_index(index, own_blocks * count);
      return {static_cast<int>(to / own_blocks), to % own_blocks};
    }
    case Pattern::one_free:
      // The ranks at distance 1 to P-1 in turn: then no two blocks meet in a slot.
      return count == 1 ? Address{0, slot} : Address{at(1 + slot % (count - 1)), slot};
    case Pattern::neighbours: {
      const std::uint64_t turn = slot % 20;
      if (turn >= 4) return {rank, slot};
      const std::uint64_t distance = 1 + turn / 2;
      return {at(turn % 2 == 0 ? distance : 2 * count - distance), slot};
    }
  }
  return {rank, slot};
}

/// The first word of a block: the address that it starts at.
std::uint64_t word_of(const Address& origin) {
  return (static_cast<std::uint64_t>(origin.rank) << 40) + origin.slot;
}
Address origin_of(std::uint64_t word) {
  return {static_cast<int>(word >> 40), word & ((std::uint64_t{1} << 40) - 1)};
}

std::vector<Address> addresses_of(const Map& map) {
  std::vector<Address> addresses(map.blocks(world_rank()));
  for (std::size_t slot = 0; slot < addresses.size(); ++slot)
    addresses[slot] = map.destination(world_rank(), slot);
  return addresses;
}

std::vector<int> ranks_of(const std::vector<Address>& addresses) {
  std::vector<int> ranks(addresses.size());
  std::ranges::transform(addresses, ranks.begin(), &Address::rank);
  return ranks;
}

}  // namespace

Pattern parse_pattern(const std::string& name) {
  return detail::value_of(patterns, "pattern", name);
}

Texts all_patterns() { return names_in(patterns); }

std::string about_patterns() {
  return "transfer patterns (comma-separated): " + detail::names_of(patterns);
}

Map make_map(Pattern pattern, std::uint64_t slots, std::uint64_t free, int ranks) {
  const auto blocks = [=](int rank) -> std::uint64_t {
    if (pattern == Pattern::one_free && ranks > 1) return rank == 0 ? 0 : slots;
    return slots - free;
  };
  return {slots, blocks, [=](int rank, std::uint64_t slot) {
            return destination_of(pattern, blocks(rank), rank, slot,
                                  static_cast<std::uint64_t>(ranks));
          }};
}

void require_room_for_address(std::size_t block_bytes) {
  if (block_bytes < sizeof(std::uint64_t))
    refuse("--block-bytes must be at least 8: a block holds its address");
}

BlockComparison::BlockComparison(Map map, const std::vector<std::size_t>& field_bytes,
                                 Storage storage)
    : map_(std::move(map)),
      block_bytes_(std::accumulate(field_bytes.begin(), field_bytes.end(), std::size_t{0})),
      memory_(map_.slots * block_bytes_, storage),
      addresses_(addresses_of(map_)),
      ranks_(ranks_of(addresses_)),
      peer_(ranks_, block_bytes_, memory_.data()) {
  std::byte* next = memory_.data();
  for (const std::size_t bytes : field_bytes) {
    fields_.push_back({next, bytes});
    next += bytes * map_.slots;
  }
  fill();
}

void BlockComparison::fill() {
  for (std::uint64_t slot = 0; slot < blocks(); ++slot) {
    const Content content(word_of({world_rank(), slot}));
    for_each_part(slot, [&](auto... part) { content.write(part...); });
  }
}

Outcome BlockComparison::run(const std::function<Moved()>& move) {
  fill();
  Moved moved;
  const auto report_of_move = [&] {
    moved = move();
    return moved.report;
  };
  return timed(report_of_move, [&] { return verified(moved.report.blocks_after, moved.places); });
}

std::function<Outcome()> BlockComparison::migration(const Options& options, Places places) {
  return [=, this, array = storage()] {
    return run([&]() -> Moved {
      return {places == Places::slots
                  ? migrate(MPI_COMM_WORLD, array, blocks(), addresses_, options)
                  : migrate(MPI_COMM_WORLD, array, blocks(), ranks_, options),
              places};
    });
  };
}

std::function<Outcome()> BlockComparison::bound_execution(const Options& options) {
  const auto plan =
      std::make_shared<Plan>(plan_to_ranks(MPI_COMM_WORLD, storage(), blocks(), ranks_, options));
  plan->bind(storage());
  return [plan, this] { return run([&]() -> Moved { return {execute(*plan), Places::any}; }); };
}

bool BlockComparison::verified(std::uint64_t blocks_after, Places places) const {
  bool good = true;
  std::uint64_t surplus = 0;  // blocks found less those written, by their hashes
  std::uint64_t found = 0;
  std::uint64_t last = 0;
  const std::uint64_t slots = places == Places::slots ? map_.slots : blocks_after;
  for (std::uint64_t slot = 0; slot < slots; ++slot) {
    std::uint64_t word = 0;
    std::memcpy(&word, fields_[0].memory + slot * fields_[0].bytes, sizeof word);
    const Content content(word);
    const Address from = origin_of(word);
    const bool plausible = from.rank < world_size() && from.slot < map_.blocks(from.rank);
    const Address to = plausible ? map_.destination(from.rank, from.slot) : Address{-1, 0};
    const bool belongs = to.rank == world_rank() && (places != Places::slots || to.slot == slot);
    if (places == Places::slots && !belongs) continue;  // a free slot
    good = good && belongs && (places != Places::in_order || found == 0 || word > last);
    for_each_part(slot, [&](auto... part) { good = good && content.matches(part...); });
    surplus += mixed(word);
    last = word;
    ++found;
  }
  for (std::uint64_t slot = 0; slot < blocks(); ++slot)
    surplus -= mixed(word_of({world_rank(), slot}));
  return on_all_ranks(good && found == blocks_after) && sum_of_ranks(surplus) == 0;
}

}  // namespace valet::bench
