// SPDX-License-Identifier: BSD-3-Clause

// The algebra of S. F. Siegel, A. R. Siegel, "MADRE: The Memory-Aware Data Redistribution Engine",
// section 2.1, on random transmutations.

#include "transmutation.hpp"

#include "random_transmutation.hpp"
#include "test_comm.hpp"

namespace valet::test {
namespace {

using Factor = Transmutation::Factor;
using Kind = Factor::Kind;
constexpr std::int64_t none = Transmutation::undefined;

constexpr std::uint64_t cases = 2000;

template <class Check>
void for_random_cases(Check&& check) {
  for (std::uint64_t k = 0; k < cases && !testing::Test::HasFailure(); ++k) {
    SCOPED_TRACE(seed_note(seed() + k, 0));
    std::mt19937_64 random(seed() + k);
    const std::uint64_t size = std::uniform_int_distribution<std::uint64_t>(0, 40)(random);
    check(random, size);
  }
}

/// The definition, point by point.
std::int64_t composed(const Transmutation& after, const Transmutation& first, std::uint64_t x) {
  const std::int64_t middle = first(x);
  return middle == none ? none : after(static_cast<std::uint64_t>(middle));
}

bool is_identity_on(const Transmutation& t, const std::set<std::uint64_t>& domain) {
  for (std::uint64_t x = 0; x < t.size(); ++x)
    if (t(x) != (domain.contains(x) ? static_cast<std::int64_t>(x) : none)) return false;
  return true;
}

std::set<std::uint64_t> as_set(const std::vector<std::uint64_t>& points) {
  return {points.begin(), points.end()};
}

/// Splits the points in two halves and moves each half by a transmutation of its own.
std::pair<Transmutation, Transmutation> disjoint_pair(std::mt19937_64& random, std::uint64_t size) {
  std::vector<std::uint64_t> points(size);
  std::iota(points.begin(), points.end(), 0);
  std::shuffle(points.begin(), points.end(), random);
  const std::size_t half = size / 2;
  const auto on = [&](std::span<const std::uint64_t> some) {
    std::vector<std::int64_t> images(size);
    std::iota(images.begin(), images.end(), 0);
    const Transmutation inner = random_transmutation(random, some.size());
    for (std::uint64_t k = 0; k < some.size(); ++k)
      images[some[k]] = inner.defined(k)
                            ? static_cast<std::int64_t>(some[static_cast<std::uint64_t>(inner(k))])
                            : none;
    return Transmutation(images);
  };
  const std::span<const std::uint64_t> all(points);
  return {on(all.first(half)), on(all.subspan(half))};
}

TEST(Transmutation, IdentityFixesEveryPoint) {
  const Transmutation identity(5);
  for (std::uint64_t x = 0; x < 5; ++x) EXPECT_EQ(identity(x), static_cast<std::int64_t>(x));
  EXPECT_TRUE(identity.support().empty());
  EXPECT_TRUE(identity.factors().empty());
  EXPECT_EQ(identity.minimal_copies(), 0U);
}

TEST(Transmutation, ProductIsCompositionWhereItMakesSense) {
  for_random_cases([](std::mt19937_64& random, std::uint64_t size) {
    const Transmutation p = random_transmutation(random, size);
    const Transmutation s = random_transmutation(random, size);
    const Transmutation product = p * s;
    for (std::uint64_t x = 0; x < size; ++x) EXPECT_EQ(product(x), composed(p, s, x));
  });
}

TEST(Transmutation, IsAMonoid) {
  for_random_cases([](std::mt19937_64& random, std::uint64_t size) {
    const Transmutation one(size);
    const Transmutation p = random_transmutation(random, size);
    const Transmutation s = random_transmutation(random, size);
    const Transmutation t = random_transmutation(random, size);
    EXPECT_EQ(one * p, p);
    EXPECT_EQ(p * one, p);
    EXPECT_EQ((p * s) * t, p * (s * t));
  });
}

TEST(Transmutation, PseudoInverseGoesBackFromImages) {
  for_random_cases([](std::mt19937_64& random, std::uint64_t size) {
    const Transmutation p = random_transmutation(random, size);
    const Transmutation inverse = p.pseudo_inverse();
    std::set<std::uint64_t> domain, images;
    for (std::uint64_t x = 0; x < size; ++x) {
      if (!p.defined(x)) continue;
      domain.insert(x);
      images.insert(static_cast<std::uint64_t>(p(x)));
    }
    EXPECT_TRUE(is_identity_on(inverse * p, domain));
    EXPECT_TRUE(is_identity_on(p * inverse, images));
    EXPECT_EQ(p * inverse * p, p);
    EXPECT_EQ(inverse.pseudo_inverse(), p);
    const Transmutation s = random_transmutation(random, size);
    EXPECT_EQ((p * s).pseudo_inverse(), s.pseudo_inverse() * p.pseudo_inverse());
  });
}

TEST(Transmutation, SupportIsWhatIsMovedOrFree) {
  const Transmutation t({1, 0, 2, none, 4, 3});
  EXPECT_EQ(t.support(), (std::vector<std::uint64_t>{0, 1, 3, 5}));
}

TEST(Transmutation, DisjointOnesCommuteAndTheirSupportsUnite) {
  for_random_cases([](std::mt19937_64& random, std::uint64_t size) {
    const auto [p, s] = disjoint_pair(random, size);
    ASSERT_TRUE(p.disjoint(s));
    ASSERT_TRUE(s.disjoint(p));
    EXPECT_EQ(p * s, s * p);
    std::set<std::uint64_t> both = as_set(p.support());
    both.merge(as_set(s.support()));
    EXPECT_EQ(as_set((p * s).support()), both);
  });
}

TEST(Transmutation, IsDisjointWhenSupportsDoNotIntersect) {
  for_random_cases([](std::mt19937_64& random, std::uint64_t size) {
    const Transmutation p = random_transmutation(random, size);
    const Transmutation s = random_transmutation(random, size);
    const auto other = as_set(s.support());
    const auto mine = p.support();
    const bool meet =
        std::any_of(mine.begin(), mine.end(), [&](auto x) { return other.contains(x); });
    EXPECT_EQ(p.disjoint(s), !meet);
  });
}

TEST(Transmutation, FactorsAreDisjointNontrivialAndMultiplyToTheWhole) {
  for_random_cases([](std::mt19937_64& random, std::uint64_t size) {
    const Transmutation t = random_transmutation(random, size);
    std::vector<Factor> factors = t.factors();
    std::set<std::uint64_t> seen;
    std::uint64_t copies = 0;
    std::uint64_t last_smallest = 0;
    for (std::size_t k = 0; k < factors.size(); ++k) {
      const Factor& factor = factors[k];
      const std::size_t length = factor.points.size();
      EXPECT_GE(length, factor.kind == Kind::cycle ? 2U : 1U);
      for (const std::uint64_t x : factor.points) EXPECT_TRUE(seen.insert(x).second);
      const std::uint64_t smallest = *std::min_element(factor.points.begin(), factor.points.end());
      EXPECT_TRUE(k == 0 || smallest > last_smallest);
      last_smallest = smallest;
      EXPECT_TRUE(factor.kind == Kind::shift || factor.points.front() == smallest);
      copies += factor.kind == Kind::cycle ? length + 1 : length - 1;
      // One factor alone has itself as its only factor: the factorisation is unique.
      EXPECT_EQ(Transmutation::of_factor(factor, size).factors(), std::vector<Factor>{factor});
    }
    EXPECT_EQ(seen, as_set(t.support()));
    EXPECT_EQ(t.minimal_copies(), copies);
    std::shuffle(factors.begin(), factors.end(), random);
    Transmutation product(size);
    for (const Factor& factor : factors) product = Transmutation::of_factor(factor, size) * product;
    EXPECT_EQ(product, t);
  });
}

TEST(Transmutation, Example28OfThePaper) {
  // There the points are 1 to 5: f(1) = 2, f(2) = 1, f(3) = 4, so pi = (12)[34][5].
  const Transmutation pi({1, 0, 3, none, none});
  const std::vector<Factor> factors{
      {Kind::cycle, {0, 1}}, {Kind::shift, {2, 3}}, {Kind::shift, {4}}};
  EXPECT_EQ(pi.factors(), factors);
  EXPECT_EQ(pi.minimal_copies(), 3U + 1U + 0U);
}

TEST(Transmutation, ImageOutOfRangeNamesThePoints) {
  for (const std::int64_t bad : {std::int64_t{3}, std::int64_t{-2}, std::int64_t{1} << 40}) {
    const Outcome outcome = outcome_of([&] { Transmutation({0, bad, 1}); });
    EXPECT_EQ(outcome.code, ErrorCode::slot_out_of_range);
    expect_words(outcome.text, {"block 1 is sent to slot " + std::to_string(bad), "3 slots"});
  }
}

TEST(Transmutation, ImageTakenTwiceNamesBothPoints) {
  const Outcome outcome = outcome_of([] { Transmutation({2, none, 0, 2}); });
  EXPECT_EQ(outcome.code, ErrorCode::slot_taken_twice);
  expect_words(outcome.text, {"blocks 0 and 3 are both sent to slot 2"});
}

TEST(Transmutation, DifferentSizesCannotBeCombined) {
  const Transmutation three(3), four(4);
  EXPECT_EQ(outcome_of([&] { static_cast<void>(three * four); }).code, ErrorCode::invalid_argument);
  const Outcome outcome = outcome_of([&] { static_cast<void>(three.disjoint(four)); });
  EXPECT_EQ(outcome.code, ErrorCode::invalid_argument);
  expect_words(outcome.text, {"3 and 4 points"});
}

}  // namespace
}  // namespace valet::test
