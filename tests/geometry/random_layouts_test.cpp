// SPDX-License-Identifier: BSD-3-Clause

// Every element of thousands of random pairs of layouts, found exactly where an element-by-element
// oracle has it.

#include "cyclic_layouts.hpp"
#include "geometry/aspen.hpp"
#include "geometry/intersection.hpp"
#include "oracle.hpp"
#include "storage/sequence_copy.hpp"
#include "test_comm.hpp"

#include <sstream>

namespace valet::test {
namespace {

using layout::Intersection;

constexpr long long many_cases = 10'000;
constexpr long long some_cases = 2'000;

struct Element {
  std::int64_t number, offset;
  bool operator==(const Element&) const = default;
};
using Sequence = std::vector<Element>;

/// Local arrays of one rank, with leading dimensions larger than needed.
BlockCyclic::Extents padded_strides(const BlockCyclic::Extents& local_extents, IndexOrder memory) {
  const std::size_t count = local_extents.size();
  auto strides = BlockCyclic::Extents::filled(count, 1);
  std::int64_t stride = 1;
  for (std::size_t step = 0; step < count; ++step) {
    const std::size_t d = memory == IndexOrder::row_major ? count - 1 - step : step;
    strides[d] = stride;
    stride *= local_extents[d] + 2;
  }
  return strides;
}

std::int64_t dot(const BlockCyclic::Extents& indices, const BlockCyclic::Extents& strides) {
  std::int64_t sum = 0;
  for (std::size_t d = 0; d < indices.size(); ++d) sum += indices[d] * strides[d];
  return sum;
}

/// Row by row.
std::int64_t number_of(const BlockCyclic& layout, const BlockCyclic::Extents& global) {
  std::int64_t number = 0;
  for (std::size_t d = 0; d < global.size(); ++d) number = number * layout.extents()[d] + global[d];
  return number;
}

std::string text(const BlockCyclic& layout) {
  std::ostringstream text;
  for (std::size_t d = 0; d < layout.dimensions(); ++d) {
    const layout::Dimension& dimension = layout.dimension(d);
    text << "(" << dimension.extent() << " by " << dimension.block_size() << " on "
         << dimension.ranks() << " from " << dimension.first_rank() << ")";
    if (!dimension.cuts()) continue;
    text << " cut at";
    for (const std::int64_t cut : *dimension.cuts()) text << " " << cut;
  }
  return text.str();
}

/// What every rank of one layout shares with every rank of the other, as the oracle has it.
class Oracle {
 public:
  Oracle(const BlockCyclic& mine, const BlockCyclic& theirs, IndexOrder order, IndexOrder memory)
      : peers_(theirs.ranks()),
        shared_(static_cast<std::size_t>(mine.ranks()) * static_cast<std::size_t>(peers_)) {
    std::vector<int> peer_of(static_cast<std::size_t>(mine.elements()));
    const Numbers their_numbers = numbers_of({theirs}, order, theirs.ranks());
    for (int peer = 0; peer < theirs.ranks(); ++peer)
      for (const std::uint64_t number : row_of(their_numbers, peer)) peer_of[number] = peer;
    const Numbers my_numbers = numbers_of({mine}, order, mine.ranks());
    for (int rank = 0; rank < mine.ranks(); ++rank) {
      strides_.push_back(padded_strides(mine.local_extents(rank), memory));
      std::size_t next = 0;
      for_every_element(mine.local_extents(rank), order, [&](const BlockCyclic::Extents& local) {
        const std::uint64_t number = row_of(my_numbers, rank).at(next++);
        shared_[index(rank, peer_of[number])].push_back(
            {static_cast<std::int64_t>(number), dot(local, strides(rank))});
      });
    }
  }

  [[nodiscard]] const Sequence& shared(int rank, int peer) const {
    return shared_[index(rank, peer)];
  }
  [[nodiscard]] const BlockCyclic::Extents& strides(int rank) const {
    return strides_[static_cast<std::size_t>(rank)];
  }

 private:
  [[nodiscard]] std::size_t index(int rank, int peer) const {
    return static_cast<std::size_t>(rank) * static_cast<std::size_t>(peers_) +
           static_cast<std::size_t>(peer);
  }

  int peers_;
  std::vector<Sequence> shared_;
  std::vector<BlockCyclic::Extents> strides_;
};

/// The local array of a rank, whose elements say where they are.
class LocalArray {
 public:
  LocalArray(const BlockCyclic& layout, int rank, const BlockCyclic::Extents& strides,
             IndexOrder order)
      : strides_(strides), order_(order) {
    for_every_element(layout.local_extents(rank), order, [&](const BlockCyclic::Extents& local) {
      const auto offset = static_cast<std::size_t>(dot(local, strides_));
      if (offset >= elements_.size()) elements_.resize(offset + 1, {-1, -1});
      elements_[offset] = {number_of(layout, layout.global_indices(rank, local)),
                           static_cast<std::int64_t>(offset)};
    });
  }

  /// Entries `first` to `end - 1` of the sequence shared with a peer.
  [[nodiscard]] Sequence packed(const Intersection& intersection, int peer, std::int64_t first,
                                std::int64_t end) const {
    Sequence sequence(static_cast<std::size_t>(end - first));
    if (sequence.empty()) return sequence;
    layout::SequenceCopy(intersection, {strides_, sizeof(Element)}, order_)
        .pack(reinterpret_cast<const std::byte*>(elements_.data()), {peer, first, end - first},
              reinterpret_cast<std::byte*>(sequence.data()));
    return sequence;
  }
  [[nodiscard]] Sequence packed(const Intersection& intersection, int peer) const {
    return packed(intersection, peer, 0, intersection.elements(peer));
  }

  /// Whether unpacking the sequence from a place on fills just these elements.
  [[nodiscard]] bool unpacks(const Intersection& intersection, int peer, std::int64_t first,
                             const Sequence& sequence) const {
    Sequence expected(elements_.size(), {-1, -1});
    Sequence filled = expected;
    for (const Element& element : sequence)
      expected[static_cast<std::size_t>(element.offset)] = element;
    layout::SequenceCopy(intersection, {strides_, sizeof(Element)}, order_)
        .unpack(reinterpret_cast<const std::byte*>(sequence.data()),
                {peer, first, static_cast<std::int64_t>(sequence.size())},
                reinterpret_cast<std::byte*>(filled.data()));
    return filled == expected;
  }

 private:
  BlockCyclic::Extents strides_;
  IndexOrder order_;
  Sequence elements_;
};

template <class Check>
void for_random_layouts(long long cases, Check&& check, bool with_cuts = true) {
  std::mt19937_64 random(seed());
  std::printf("%s, %lld cases\n", seed_note().c_str(), cases);
  for (long long number = 0; number < cases; ++number) {
    RandomLayouts layouts(random);
    const BlockCyclic mine = with_cuts ? layouts.any_layout() : layouts.layout();
    const BlockCyclic theirs = with_cuts ? layouts.any_layout() : layouts.layout();
    SCOPED_TRACE(seed_note(seed(), number) + ": " + text(mine) + " to " + text(theirs));
    check(mine, theirs, layouts);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

TEST(RandomLayouts, AgreeWithTheOracleOnEveryElementOfEveryPair) {
  for_random_layouts(
      many_cases, [](const BlockCyclic& mine, const BlockCyclic& theirs, RandomLayouts& draw) {
        const IndexOrder order = draw.order();
        const Oracle oracle(mine, theirs, order, draw.order());
        for (int rank = 0; rank < mine.ranks(); ++rank) {
          Ledger ledger;
          const Intersection intersection(ledger, mine, rank, theirs);
          const LocalArray array(mine, rank, oracle.strides(rank), order);
          for (int peer = 0; peer < theirs.ranks(); ++peer) {
            const Sequence& expected = oracle.shared(rank, peer);
            ASSERT_EQ(intersection.elements(peer), static_cast<std::int64_t>(expected.size()))
                << "rank " << rank << ", peer " << peer;
            ASSERT_EQ(array.packed(intersection, peer), expected)
                << "rank " << rank << ", peer " << peer;
          }
        }
      });
}

TEST(RandomLayouts, OperationsOfAspenAreAtMostTwoPerFamily) {
  for_random_layouts(
      some_cases,
      [](const BlockCyclic& mine, const BlockCyclic& theirs, RandomLayouts&) {
        for (std::size_t d = 0; d < mine.dimensions(); ++d) {
          const layout::DimensionPair pair(mine.dimension(d), theirs.dimension(d));
          for (int coordinate = 0; coordinate < pair.mine.ranks; ++coordinate) {
            std::int64_t families = 0;
            std::int64_t segments = 0;
            const std::int64_t operations =
                walk_aspen(pair, coordinate, [&](const layout::IndexFamily& family) {
                  ++families;
                  segments += family.count;
                });
            ASSERT_LE(operations, 2 * families);
            ASSERT_LE(families, segments);
          }
        }
      },
      false);
}

TEST(RandomLayouts, BothSidesMeetTheSameSequence) {
  for_random_layouts(some_cases, [](const BlockCyclic& mine, const BlockCyclic& theirs,
                                    RandomLayouts& draw) {
    const IndexOrder order = draw.order();
    const auto rank = static_cast<int>(draw.pick(0, mine.ranks() - 1));
    const auto peer = static_cast<int>(draw.pick(0, theirs.ranks() - 1));
    const LocalArray source(mine, rank, padded_strides(mine.local_extents(rank), order), order);
    const LocalArray target(theirs, peer, padded_strides(theirs.local_extents(peer), order), order);
    Ledger ledger;
    const Intersection here(ledger, mine, rank, theirs);
    const Intersection there(ledger, theirs, peer, mine);
    const Sequence sent = source.packed(here, peer);
    const Sequence received = target.packed(there, rank);
    ASSERT_EQ(sent.size(), received.size());
    for (std::size_t k = 0; k < sent.size(); ++k) ASSERT_EQ(sent[k].number, received[k].number);
  });
}

TEST(RandomLayouts, AnyStretchOfASequenceIsCopiedBothWays) {
  for_random_layouts(
      some_cases, [](const BlockCyclic& mine, const BlockCyclic& theirs, RandomLayouts& draw) {
        const IndexOrder order = draw.order();
        const auto rank = static_cast<int>(draw.pick(0, mine.ranks() - 1));
        const LocalArray array(mine, rank, padded_strides(mine.local_extents(rank), draw.order()),
                               order);
        Ledger ledger;
        const Intersection intersection(ledger, mine, rank, theirs);
        std::int64_t met = 0;
        for (int peer = intersection.next_peer(0); peer < theirs.ranks();
             peer = intersection.next_peer(peer + 1)) {
          const Sequence whole = array.packed(intersection, peer);
          ASSERT_FALSE(whole.empty()) << "next_peer has elements";
          met += static_cast<std::int64_t>(whole.size());
          const std::int64_t first = draw.pick(0, intersection.elements(peer) - 1);
          const std::int64_t end = draw.pick(first + 1, intersection.elements(peer));
          const Sequence stretch(whole.begin() + first, whole.begin() + end);
          ASSERT_EQ(array.packed(intersection, peer, first, end), stretch);
          ASSERT_TRUE(array.unpacks(intersection, peer, first, stretch));
        }
        ASSERT_EQ(met, mine.local_elements(rank)) << "next_peer misses nobody";
      });
}

}  // namespace
}  // namespace valet::test
