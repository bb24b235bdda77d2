// SPDX-License-Identifier: BSD-3-Clause
#include "plan/map_layout.hpp"

#include "base/memory_reserve.hpp"
#include "base/promise.hpp"
#include "mpi/agreement.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <iterator>

namespace valet::plan {
namespace {

/// Blocks dealt in turn, as ranks tell each other: two numbers of 32 bits in each word.
using PartWords = std::array<std::uint64_t, 3>;

PartWords words_of(const layout::CyclicDistribution& part) {
  const auto word = [](std::int64_t high, std::int64_t low) {
    return static_cast<std::uint64_t>(high) << 32U | static_cast<std::uint64_t>(low);
  };
  return {word(part.count, part.block_size), word(part.offset, part.first_rank),
          word(part.step, part.turns)};
}
layout::CyclicDistribution part_of(const std::uint64_t* words) {
  const auto high = [words](std::size_t w) { return static_cast<std::int64_t>(words[w] >> 32U); };
  const auto low = [words](std::size_t w) {
    return static_cast<std::int64_t>(words[w] & 0xffffffffU);
  };
  return {high(0), low(0), high(1), low(1), high(2), low(2)};
}

/// What one rank sends all others.
struct MapDescription {
  PartWords first{};
  std::uint32_t count = 0;
  std::uint32_t parts = 0;
  std::uint32_t detail = 0;
  std::int32_t without = layout::no_rank;

  [[nodiscard]] std::size_t more_parts() const { return parts > 0 ? parts - 1 : 0; }
};
static_assert(sizeof(MapDescription) == 5 * sizeof(std::uint64_t));

/// See compute_counts().
std::uint64_t most_more_parts(int ranks) {
  const auto all = static_cast<std::uint64_t>(ranks);
  const std::uint64_t table = std::min(detail::promised_reserve, sizeof(MapDescription) * all);
  return std::max(all / 4, (detail::promised_reserve - table) / sizeof(PartWords));
}

/// Computes the counts of one rank. Collective where it is made.
class ComputedCounts {
 public:
  ComputedCounts(const mpi::Channel& channel, Ledger& ledger, MapLayout layout,
                 const layout::MapPattern& mine, std::span<const mpi::SparseCount> leaving,
                 std::uint64_t detail)
      : self_(channel.rank()),
        layout_(layout),
        all_(ledger, static_cast<std::size_t>(channel.size())) {
    const MapDescription own{words_of(mine.parts[0]), static_cast<std::uint32_t>(mine.count),
                             static_cast<std::uint32_t>(mine.used),
                             static_cast<std::uint32_t>(detail), mine.without};
    mpi::gather_everywhere(channel, own, std::span(all_));
    if (layout == MapLayout::blocks)
      sum_lengths(channel, ledger, own, leaving);
    else
      gather_more_parts(channel, ledger, mine);
  }

  [[nodiscard]] std::uint64_t bytes() const {
    return all_.size() * sizeof(MapDescription) + words_.size() * sizeof(std::uint64_t);
  }

  /// Calls action(rank, count, detail) for the ranks that send to this one, ascending.
  template <class Action>
  void for_each(Action&& action) const {
    std::int64_t start = 0;
    std::size_t next = 0;
    for (std::size_t rank = 0; rank < all_.size(); ++rank) {
      const MapDescription& sender = all_[rank];
      const std::int64_t end = start + sender.count;
      const std::int64_t count = layout_ == MapLayout::blocks
                                     ? std::min(end, behind_) - std::max(start, first_)
                                     : count_of(sender, next);
      if (count > 0)
        action(static_cast<int>(rank), static_cast<std::uint64_t>(count), sender.detail);
      start = end;
      next += sender.more_parts();
    }
  }

 private:
  /// Blocks on every rank at the end. All blocks in a row are cut by the ranks before and by the
  /// ranks after: adjacent pieces belong to adjacent ranks, as in ASPEN, with blocks of any
  /// lengths.
  void sum_lengths(const mpi::Channel& channel, Ledger& ledger, const MapDescription& own,
                   std::span<const mpi::SparseCount> leaving) {
    words_ = Array<std::uint64_t>(ledger, all_.size());
    std::fill(words_.begin(), words_.end(), 0);
    std::uint64_t stays = own.count;
    for (const mpi::SparseCount& to : leaving) {
      words_[static_cast<std::size_t>(to.rank)] = to.count;
      stays -= to.count;
    }
    words_[static_cast<std::size_t>(self_)] += stays;
    mpi::sum(channel, words_);
    for (int rank = 0; rank <= self_; ++rank) {
      first_ = behind_;
      behind_ += static_cast<std::int64_t>(words_[static_cast<std::size_t>(rank)]);
    }
  }

  /// Every rank adds its own to the zeros of the others.
  void gather_more_parts(const mpi::Channel& channel, Ledger& ledger,
                         const layout::MapPattern& mine) {
    std::size_t parts = 0, own = 0;
    for (std::size_t rank = 0; rank < all_.size(); ++rank) {
      if (rank == static_cast<std::size_t>(self_)) own = parts;
      parts += all_[rank].more_parts();
    }
    if (parts == 0) return;
    words_ = Array<std::uint64_t>(ledger, parts * PartWords().size());
    std::fill(words_.begin(), words_.end(), 0);
    for (std::size_t p = 1; p < mine.used; ++p) {
      std::ranges::copy(words_of(mine.parts[p]), &words_[(own + p - 1) * PartWords().size()]);
    }
    mpi::sum(channel, words_);
  }

  /// Means nothing for this rank itself where its map leaves it out: nobody asks for it then.
  /// @param next  The first of its parts behind the first one, among those of all.
  [[nodiscard]] std::int64_t count_of(const MapDescription& sender, std::size_t next) const {
    const auto part = [&](std::size_t p) {
      return part_of(p == 0 ? sender.first.data()
                            : words_.data() + (next + p - 1) * PartWords().size());
    };
    const int left_out = sender.without == layout::no_rank ? 0 : 1;
    return layout::count_dealt(sender.count, sender.parts, part,
                               layout::number_without(self_, sender.without),
                               static_cast<int>(all_.size()) - left_out);
  }

  int self_;
  MapLayout layout_;
  Array<MapDescription> all_;
  Array<std::uint64_t> words_;  ///< lengths, or parts
  std::int64_t first_ = 0, behind_ = 0;
};

/// The entries of a map for blocks with free slots between them.
class OccupiedEntries {
 public:
  using iterator_category = std::forward_iterator_tag;
  using value_type = int;
  using difference_type = std::ptrdiff_t;
  using pointer = const int*;
  using reference = const int&;

  OccupiedEntries() = default;
  OccupiedEntries(const storage::SlotSet& free, const int* map, std::uint64_t from)
      : free_(&free), map_(map), slot_(free.next_absent(from)) {}
  reference operator*() const { return map_[slot_]; }
  OccupiedEntries& operator++() {
    slot_ = free_->next_absent(slot_ + 1);
    return *this;
  }
  bool operator==(const OccupiedEntries& other) const { return slot_ == other.slot_; }

 private:
  const storage::SlotSet* free_ = nullptr;
  const int* map_ = nullptr;
  std::uint64_t slot_ = 0;
};

/// @param ascends  Asked where all ranks' maps do: whether the whole does.
template <class Ascends>
MapLayout layout_of(const JointPatterns& all, int ranks, Ascends&& ascends) {
  if (all.regular && all.more_parts == 0) return MapLayout::patterns;
  if (all.ascending && ascends()) return MapLayout::blocks;
  return all.regular && all.more_parts <= most_more_parts(ranks) ? MapLayout::patterns
                                                                 : MapLayout::none;
}

MapSums sums_of(const layout::MapPattern& mine, std::uint64_t destinations,
                std::uint64_t block_bytes) {
  return {mine.regular ? 0U : 1U,
          mine.ascending ? 0U : 1U,
          mine.used > 1 ? mine.used - 1 : 0,
          destinations,
          block_bytes,
          block_bytes > 0 ? 1U : 0U};
}

/// @param sums    Over all ranks.
/// @param layout  Asked where a table is worth it.
template <class Layout>
JointMap joint_of(const MapSums& sums, int ranks, Layout&& layout) {
  const auto all = static_cast<std::uint64_t>(ranks);
  const JointPatterns patterns{sums[0] == 0, sums[1] == 0, sums[2]};
  return {worth_a_table(ranks, sums[3]) ? layout(patterns) : MapLayout::none,
          (sums[3] + all - 1) / all, sums[4] / std::max<std::uint64_t>(1, sums[5])};
}

}  // namespace

bool worth_a_table(int ranks, std::uint64_t destinations) {
  constexpr int small = 512;          // 24 KiB
  constexpr std::uint64_t many = 16;  // one rank in so many is a destination
  const auto all = static_cast<std::uint64_t>(ranks);
  return ranks <= small || destinations / all >= all / many;
}

layout::MapPattern pattern_of(const MapCounts& map_counts, std::span<const int> map, int ranks) {
  const std::uint64_t blocks = map_counts.blocks_before;
  if (map_counts.initially_free.next(0) >= blocks)
    return layout::recognise(map.first(static_cast<std::size_t>(blocks)), ranks);
  const storage::SlotSet& free = map_counts.initially_free;
  return layout::PatternScan(OccupiedEntries(free, map.data(), 0),
                             OccupiedEntries(free, map.data(), free.slots()),
                             static_cast<std::int64_t>(blocks), ranks, layout::no_rank)
      .run();
}

MapLayout agree_on_layout(const mpi::Channel& channel, const layout::MapPattern& mine,
                          const JointPatterns& all) {
  return layout_of(all, channel.size(), [&] {
    // Every rank's map ascends; so does the whole if none goes back behind the ranks below it.
    const std::int64_t below = mpi::maximum_of_lower(channel, mine.last_rank);
    std::array<std::uint64_t, 1> goes_back{mine.count > 0 && below > mine.first_rank ? 1U : 0U};
    mpi::maximum(channel, std::span<std::uint64_t>(goes_back));
    return goes_back[0] == 0;
  });
}

JointMap agree_on_map(const mpi::Channel& channel, const layout::MapPattern& mine,
                      std::uint64_t destinations, std::uint64_t block_bytes) {
  MapSums sums = sums_of(mine, destinations, block_bytes);
  mpi::sum(channel, sums);
  return joint_of(sums, channel.size(),
                  [&](const JointPatterns& all) { return agree_on_layout(channel, mine, all); });
}

ToldMaps::ToldMaps(const mpi::Channel& channel, const layout::MapPattern& mine,
                   std::uint64_t block_bytes, std::span<const mpi::SparseCount> leaving)
    : ranks_(channel.size()) {
  std::array<Letter, few_ranks> to{};
  to.fill({.sums = sums_of(mine, leaving.size(), block_bytes),
           .first_rank = mine.first_rank,
           .last_rank = mine.last_rank,
           .blocks = mine.count});
  for (const mpi::SparseCount& count : leaving) {
    Letter& letter = to[static_cast<std::size_t>(count.rank)];
    letter.count = count.count;
    letter.detail = count.detail;
  }
  const auto ranks = static_cast<std::size_t>(ranks_);
  mpi::exchange_all(channel, std::as_bytes(std::span(to).first(ranks)),
                    std::as_writable_bytes(std::span(from_).first(ranks)));
}

JointMap ToldMaps::joint() const {
  MapSums sums{};
  bool ascends = true;
  int last_rank = layout::no_rank;
  for (const Letter& letter : std::span(from_).first(static_cast<std::size_t>(ranks_))) {
    std::ranges::transform(sums, letter.sums, sums.begin(), std::plus());
    ascends = ascends && (letter.blocks == 0 || letter.first_rank >= last_rank);
    last_rank = std::max(last_rank, letter.last_rank);
  }
  return joint_of(sums, ranks_, [&](const JointPatterns& all) {
    return layout_of(all, ranks_, [&] { return ascends; });
  });
}

void ToldMaps::list_arriving(Vector<mpi::SparseCount>& received) const {
  const valet::detail::LeaveReserve leave;
  for (int rank = 0; rank < ranks_; ++rank)
    if (const Letter& letter = from_[static_cast<std::size_t>(rank)]; letter.count > 0)
      received.push_back({rank, letter.count, letter.detail});
}

std::uint64_t compute_counts(const mpi::Channel& channel, Ledger& ledger, MapLayout layout,
                             const layout::MapPattern& mine,
                             std::span<const mpi::SparseCount> leaving, std::uint64_t detail,
                             Vector<mpi::SparseCount>& received) {
  const ComputedCounts counts(channel, ledger, layout, mine, leaving, detail);
  const bool to_itself = std::ranges::any_of(
      leaving, [&](const mpi::SparseCount& to) { return to.rank == channel.rank(); });
  const auto for_each = [&](auto&& action) {
    counts.for_each([&](int rank, std::uint64_t count, std::uint64_t of_sender) {
      if (rank != channel.rank() || to_itself) action(mpi::SparseCount{rank, count, of_sender});
    });
  };
  std::size_t sources = 0;  // so that the list is not larger than it must be
  for_each([&](const mpi::SparseCount&) { ++sources; });
  const valet::detail::LeaveReserve leave;
  received.reserve(sources);
  for_each([&](const mpi::SparseCount& count) { received.push_back(count); });
  return counts.bytes();
}

}  // namespace valet::plan
