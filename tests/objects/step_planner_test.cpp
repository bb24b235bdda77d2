// SPDX-License-Identifier: BSD-3-Clause

// What a rank takes in a step: within the limits, in proportion, and always something.

#include "objects/step_planner.hpp"

#include "objects/parked_objects.hpp"
#include "test_comm.hpp"

#include <deque>

namespace {

using namespace valet::objects;

constexpr std::uint64_t no_limit = std::numeric_limits<std::uint64_t>::max();

struct Sources {
  std::vector<Peer> peers;
  std::vector<int> sizes;
  std::uint64_t object_bytes = 8;

  /// The planner of a rank behind all of its sources, or of another.
  [[nodiscard]] StepPlanner planner(valet::Ledger& ledger, int rank = 100) const {
    return {ledger, peers, sizes, object_bytes, rank};
  }
};

using Credits = std::vector<std::uint64_t>;

Credits credits_of(const StepPlanner& planner) {
  Credits credits;
  for (std::size_t c = 0; c < planner.connections().size(); ++c)
    credits.push_back(planner.credited(c));
  return credits;
}

std::uint64_t cost_of(const Sources& sources, const StepPlanner& planner) {
  std::uint64_t cost = 0;
  for (const StepRange& range : planner.ranges())
    for (std::uint64_t k = range.first; k < range.end; ++k)
      cost += static_cast<std::uint64_t>(sources.sizes[k]) + sources.object_bytes;
  return cost;
}

std::unique_ptr<Division> division_of(std::uint64_t way, int rank) {
  if (way == 6) return std::make_unique<ProportionalDivision>();
  return std::make_unique<HeuristicDivision>(
      valet::PhasedOptions{.heuristic = static_cast<valet::Heuristic>(way)}, rank);
}

TEST(StepPlanner, TakesEverythingAtOnceWhereItFits) {
  valet::Ledger ledger;
  const Sources sources{{{0, 2}, {3, 1}}, {8, 16, 24}};
  StepPlanner planner = sources.planner(ledger);
  ProportionalDivision division;
  const PlannedStep step = planner.plan(division, 72, no_limit);
  EXPECT_EQ(credits_of(planner), (Credits{2, 1}));
  EXPECT_EQ(step.bytes, 48U);
  EXPECT_EQ(planner.objects_left(), 0U);
}

TEST(StepPlanner, ServesSourcesInProportion) {
  valet::Ledger ledger;
  const Sources sources{{{0, 100}, {1, 300}}, std::vector<int>(400, 8)};
  StepPlanner planner = sources.planner(ledger);
  ProportionalDivision division;
  for (int step = 0; step < 10; ++step) {
    planner.plan(division, 40 * 16, no_limit);
    EXPECT_NEAR(static_cast<double>(100 - planner.left(0)) * 3,
                static_cast<double>(300 - planner.left(1)), 6);
  }
  EXPECT_EQ(planner.objects_left(), 0U);
}

TEST(StepPlanner, ServesTheRankBehindItFirstWhereScratchIsLeftOver) {
  valet::Ledger ledger;
  const Sources sources{{{0, 9}, {2, 9}}, std::vector<int>(18, 8)};
  ProportionalDivision division;
  for (const int rank : {1, 3}) {
    StepPlanner planner = sources.planner(ledger, rank);
    planner.plan(division, 16, no_limit);
    EXPECT_EQ(credits_of(planner), rank == 1 ? (Credits{0, 1}) : (Credits{1, 0}));
  }
}

TEST(StepPlanner, TakesAnObjectLargerThanTheLimitAloneAndSaysByHowMuch) {
  valet::Ledger ledger;
  const Sources sources{{{0, 1}, {1, 1}}, {8000, 8000}};
  StepPlanner planner = sources.planner(ledger);
  ProportionalDivision division;
  const PlannedStep step = planner.plan(division, 100, no_limit);
  EXPECT_EQ(step.objects, 1U);
  EXPECT_EQ(step.raised, 8008U - 100U);
}

/// A step of CYCLIC in which this rank takes from its second source only.
class SecondSourceOnly final : public Division {
 public:
  void divide(const Demand&, std::span<std::uint64_t> shares) override {
    std::ranges::fill(shares, 0);
    shares[1] = 1;
  }
  [[nodiscard]] bool one_source() const override { return true; }
};

TEST(StepPlanner, TakesALargeObjectOfTheSourceThatHasTheShare) {
  valet::Ledger ledger;
  const Sources sources{{{0, 1}, {1, 1}}, {8000, 8000}};
  StepPlanner planner = sources.planner(ledger);
  SecondSourceOnly division;
  EXPECT_EQ(planner.plan(division, 100, no_limit).objects, 1U);
  EXPECT_EQ(credits_of(planner), (Credits{0, 1}));
}

TEST(ParkedObjects, CostWhatWaitsAndNothingForParcelsThatAreTaken) {
  valet::Ledger ledger;
  std::vector<std::byte> memory(100);
  ParkedObjects parked(ledger);
  parked.use(memory.data() + memory.size());
  parked.reserve(3);
  parked.add(0, std::array<std::uint64_t, 2>{8, 8});
  parked.add(1, std::array<std::uint64_t, 1>{16});
  EXPECT_EQ(parked.cost(), 32 + 3 * parked_object_bytes + 2 * parcel_bytes);
  parked.take(0, 2);
  EXPECT_EQ(parked.cost(), 16 + parked_object_bytes + parcel_bytes);
}

TEST(StepPlanner, ObeysThePackedLimitEvenWhenNothingFits) {
  valet::Ledger ledger;
  const Sources sources{{{0, 2}}, {64, 8}};
  StepPlanner planner = sources.planner(ledger);
  ProportionalDivision division;
  EXPECT_EQ(planner.plan(division, 1000, 63).objects, 0U);
  EXPECT_EQ(planner.smallest_next(), 64U);
  EXPECT_EQ(planner.plan(division, 1000, 64).objects, 1U);
}

/// Source number `s`, object by object: what it has offered, and what has gone elsewhere.
TEST(StepPlanner, TakesWholeObjectsInOrderWhateverIsOfferedOrMoved) {
  SCOPED_TRACE(valet::test::seed_note());
  std::mt19937_64 random(valet::test::seed());
  for (int trial = 0; trial < 400; ++trial) {
    Sources sources;
    const auto peers = random() % 6 + 1;
    for (std::uint64_t p = 0; p < peers; ++p) {
      sources.peers.push_back({static_cast<int>(2 * p), random() % 40});
      for (std::uint64_t k = 0; k < sources.peers.back().count; ++k)
        sources.sizes.push_back(static_cast<int>(random() % 30) * 8);
    }
    const std::uint64_t limit = 50 + random() % 1000;
    valet::Ledger ledger;
    StepPlanner planner = sources.planner(ledger, static_cast<int>(random() % 12));
    const auto division = division_of(random() % 6, trial);
    planner.withhold();
    std::vector<int> holder(sources.sizes.size());      // who has the object, -1: it has arrived
    std::vector<std::vector<std::uint64_t>> order(14);  // what waits on a rank
    std::uint64_t object = 0;
    for (const Peer& peer : sources.peers)
      for (std::uint64_t k = 0; k < peer.count; ++k) holder[object++] = peer.rank;
    for (int step = 0; planner.objects_left() > 0; ++step) {
      ASSERT_LT(step, 10000);
      std::vector<std::uint64_t> offered(sources.peers.size());
      for (std::size_t s = 0; s < sources.peers.size(); ++s) {
        offered[s] = std::min<std::uint64_t>(planner.left_of(s), random() % 4);
        planner.offer(s, offered[s]);
      }
      const PlannedStep planned = planner.plan(*division, limit, no_limit);
      ASSERT_LE(cost_of(sources, planner), limit + planned.raised) << "trial " << trial;
      ASSERT_TRUE(planned.raised == 0 || planned.objects == 1);
      int last = -1;
      std::uint64_t objects = 0;
      for (const StepRange& range : planner.ranges()) {
        ASSERT_LE(last, range.peer);
        last = range.peer;
        std::uint64_t offset = 0;
        for (std::uint64_t k = 0; k < range.first; ++k)
          offset += static_cast<std::uint64_t>(sources.sizes[k]);
        ASSERT_EQ(range.offset, offset);
        for (std::uint64_t k = range.first; k < range.end; ++k, ++objects) {
          ASSERT_EQ(holder[k], range.peer) << "trial " << trial;
          holder[k] = -1;
          auto& waiting = order[static_cast<std::size_t>(range.peer)];
          if (!waiting.empty()) {
            ASSERT_EQ(waiting.front(), k) << "what waits comes first, in order";
            waiting.erase(waiting.begin());
          } else {
            ASSERT_EQ(sources.peers[range.pair].rank, range.peer);
          }
        }
      }
      ASSERT_EQ(objects, planned.objects);
      // Some of what was offered and not taken goes to another rank.
      for (std::size_t s = 0; s < sources.peers.size(); ++s) {
        const std::size_t mine = static_cast<std::size_t>(sources.peers[s].rank);
        std::uint64_t first = planner.first_of(s) + sources.peers[s].count - planner.left_of(s);
        std::uint64_t ready = 0;
        for (std::uint64_t k = first; k < planner.first_of(s) + sources.peers[s].count;
             ++k, ++ready)
          if (ready == offered[s]) break;
        const std::uint64_t taken = planner.credited(static_cast<std::size_t>(
            std::find_if(planner.connections().begin(), planner.connections().end(),
                         [&](const Peer& peer) { return peer.rank == sources.peers[s].rank; }) -
            planner.connections().begin()));
        const std::uint64_t moving = ready > taken ? random() % (ready - taken + 1) : 0;
        if (moving == 0 || random() % 3 != 0) continue;
        auto place = static_cast<int>(random() % 14);
        if (place == static_cast<int>(mine)) place = 13;
        planner.moved(s, moving, place);
        for (std::uint64_t k = first; k < first + moving; ++k) {
          holder[k] = place;
          order[static_cast<std::size_t>(place)].push_back(k);
        }
      }
    }
    for (const int rank : holder) ASSERT_EQ(rank, -1);
  }
}

TEST(StepPlanner, KeepsTheLimitTheCountAndTheOrderOnRandomSources) {
  SCOPED_TRACE(valet::test::seed_note());
  std::mt19937_64 random(valet::test::seed());
  for (int trial = 0; trial < 300; ++trial) {
    Sources sources;
    const int peers = static_cast<int>(random() % 6) + 1;
    for (int p = 0; p < peers; ++p) {
      sources.peers.push_back({p, random() % 40});
      for (std::uint64_t k = 0; k < sources.peers.back().count; ++k)
        sources.sizes.push_back(static_cast<int>(random() % 30) * 8);
    }
    const std::uint64_t limit = 50 + random() % 1000;
    valet::Ledger ledger;
    StepPlanner planner = sources.planner(ledger, static_cast<int>(random() % 7));
    const auto way = random() % 7;
    const std::uint64_t expected = planner.count_steps(*division_of(way, trial), limit);
    const auto division = division_of(way, trial);
    std::uint64_t steps = 0;
    std::uint64_t objects = 0;
    while (planner.objects_left() > 0) {
      const PlannedStep step = planner.plan(*division, limit, no_limit);
      ASSERT_GT(step.objects, 0U) << "trial " << trial;
      ASSERT_LE(cost_of(sources, planner), limit + step.raised);
      ASSERT_TRUE(step.raised == 0 || step.objects == 1);
      objects += step.objects;
      ++steps;
    }
    ASSERT_EQ(steps, expected);
    ASSERT_EQ(objects, sources.sizes.size());
  }
}

TEST(StepPlanner, ServesSourcesAsTheHeuristicSays) {
  const Sources sources{{{0, 10}, {1, 30}, {2, 20}}, std::vector<int>(60, 8)};
  const auto first_step = [&](valet::Heuristic heuristic) {
    valet::Ledger ledger;
    StepPlanner planner = sources.planner(ledger);
    HeuristicDivision division({.heuristic = heuristic}, 0);
    planner.plan(division, 24 * 16, no_limit);
    return credits_of(planner);
  };
  EXPECT_EQ(first_step(valet::Heuristic::first_fit), (Credits{10, 14, 0}));
  EXPECT_EQ(first_step(valet::Heuristic::max_first), (Credits{0, 24, 0}));
  EXPECT_EQ(first_step(valet::Heuristic::min_max), (Credits{0, 17, 7}));
  const Credits pieces = first_step(valet::Heuristic::continuous);
  for (std::size_t s = 0; s < pieces.size(); ++s)
    EXPECT_NEAR(static_cast<double>(pieces[s]), 0.4 * static_cast<double>(sources.peers[s].count),
                1)
        << "an equal piece of each, in whole objects";
}

TEST(ParkedObjects, LeaveInTheOrderInWhichTheyCameAndGiveTheirMemoryBack) {
  SCOPED_TRACE(valet::test::seed_note());
  std::mt19937_64 random(valet::test::seed());
  std::vector<std::byte> memory(4096);
  valet::Ledger ledger;
  ParkedObjects parked(ledger);
  parked.use(memory.data() + memory.size());
  std::array<std::deque<int>, 3> expected;  // sizes of what waits for each rank
  std::uint64_t bytes = 0;
  for (int round = 0; round < 3000; ++round) {
    const auto target = static_cast<int>(random() % expected.size());
    auto& waiting = expected[static_cast<std::size_t>(target)];
    parked.compact();
    std::vector<std::uint64_t> sizes(random() % 5 + 1);
    std::uint64_t sum = 0;
    for (std::uint64_t& size : sizes) sum += size = random() % 20 * 8;
    if (bytes + sum <= memory.size() && random() % 2 == 0) {
      parked.reserve(sizes.size());
      std::byte* data = parked.add(target, sizes).data;
      ASSERT_GE(data, memory.data());
      for (const std::uint64_t size : sizes) {
        std::fill_n(data, size, static_cast<std::byte>(size / 8));
        data += size;
        waiting.push_back(static_cast<int>(size));
      }
      bytes += sum;
    } else {
      const ParkedObjects::Piece piece = parked.take(target, random() % 4 + 1);
      ASSERT_EQ(piece.sizes.empty(), waiting.empty());
      const std::byte* data = piece.data;
      for (std::size_t k = 0; k < piece.sizes.size(); ++k) {
        const std::uint64_t size = piece.sizes[k];
        ASSERT_EQ(size, static_cast<std::uint64_t>(waiting.front()));
        waiting.pop_front();
        for (std::size_t b = 0; b < size; ++b) ASSERT_EQ(data[b], static_cast<std::byte>(size / 8));
        data += size;
        bytes -= size;
      }
    }
    ASSERT_EQ(parked.waiting_for(target), waiting.size());
    ASSERT_GE(parked.cost(), bytes);
  }
}

TEST(StepPlanner, SpreadsFewStepsEvenlyOverMany) {
  for (std::uint64_t all = 1; all < 40; ++all) {
    for (std::uint64_t own = 0; own <= all; ++own) {
      std::uint64_t taken = 0;
      for (std::uint64_t step = 0; step < all; ++step) {
        taken += takes_part(step, own, all) ? 1 : 0;
        EXPECT_LE(taken * all, (step + 1) * own);
      }
      EXPECT_EQ(taken, own);
    }
  }
}

}  // namespace
