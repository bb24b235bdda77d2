// SPDX-License-Identifier: BSD-3-Clause

// p4est is the oracle: what its transfers bring from one array to another is what stays behind in
// one. For random forests in 2D and 3D, repartitioned several times, with ranks left empty.

#include "partitions.hpp"
#include "promise.hpp"
#include <valet/p4est/transfer.hpp>

#include <p4est_algorithms.h>
#include <p4est_communication.h>
#include <p4est_extended.h>
#include <p8est_algorithms.h>
#include <p8est_communication.h>
#include <p8est_extended.h>

namespace valet::test {
namespace {

class P4est : public ::testing::Environment {
 public:
  void SetUp() override {
    sc_init(MPI_COMM_WORLD, 0, 0, nullptr, SC_LP_ERROR);
    p4est_init(nullptr, SC_LP_ERROR);
  }
  void TearDown() override { sc_finalize(); }
};
const ::testing::Environment* const p4est_environment =
    ::testing::AddGlobalTestEnvironment(new P4est);

/// A number of a quadrant that does not depend on who owns it.
template <class Quadrant>
std::uint64_t number_of(const Quadrant& quadrant, std::uint64_t salt) {
  std::uint64_t number = scrambled(salt + static_cast<std::uint64_t>(quadrant.level));
  for (const auto place : {quadrant.x, quadrant.y})
    number = scrambled(number ^ static_cast<std::uint64_t>(place));
  if constexpr (requires { quadrant.z; })
    number = scrambled(number ^ static_cast<std::uint64_t>(quadrant.z));
  return number >> 11U;
}

template <class Forest>
std::uint64_t salt_of(const Forest* forest) {
  return *static_cast<const std::uint64_t*>(forest->user_pointer);
}

template <class Forest, class Quadrant>
int refines(Forest* forest, p4est_topidx_t, Quadrant* quadrant) {
  return number_of(*quadrant, salt_of(forest)) % 3 == 0 ? 1 : 0;
}

template <class Forest, class Quadrant>
int weight(Forest* forest, p4est_topidx_t, Quadrant* quadrant) {
  const std::uint64_t number = number_of(*quadrant, salt_of(forest));
  return number % 50 == 0 ? 10'000 : static_cast<int>(number % 7);
}

struct In2d {
  using Forest = p4est_t;
  static Forest* make(int level) {
    return p4est_new_ext(MPI_COMM_WORLD, p4est_connectivity_new_periodic(), 0, level, 1, 0, nullptr,
                         nullptr);
  }
  static void destroy(Forest* forest) {
    p4est_connectivity_t* const connectivity = forest->connectivity;
    p4est_destroy(forest);
    p4est_connectivity_destroy(connectivity);
  }
  static constexpr auto refine = p4est_refine;
  static constexpr auto partition = p4est_partition;
  static constexpr auto partition_given = p4est_partition_given;
  static constexpr auto transfer_fixed = p4est_transfer_fixed;
  static constexpr auto transfer_custom = p4est_transfer_custom;
  static constexpr auto refines_quadrant = refines<p4est_t, p4est_quadrant_t>;
  static constexpr auto weight_of = weight<p4est_t, p4est_quadrant_t>;
};

struct In3d {
  using Forest = p8est_t;
  static Forest* make(int level) {
    return p8est_new_ext(MPI_COMM_WORLD, p8est_connectivity_new_periodic(), 0, level, 1, 0, nullptr,
                         nullptr);
  }
  static void destroy(Forest* forest) {
    p8est_connectivity_t* const connectivity = forest->connectivity;
    p8est_destroy(forest);
    p8est_connectivity_destroy(connectivity);
  }
  static constexpr auto refine = p8est_refine;
  static constexpr auto partition = p8est_partition;
  static constexpr auto partition_given = p8est_partition_given;
  static constexpr auto transfer_fixed = p8est_transfer_fixed;
  static constexpr auto transfer_custom = p8est_transfer_custom;
  static constexpr auto refines_quadrant = refines<p8est_t, p8est_quadrant_t>;
  static constexpr auto weight_of = weight<p8est_t, p8est_quadrant_t>;
};

template <class In>
class Transfer : public ::testing::Test {
 protected:
  struct Destroy {
    void operator()(typename In::Forest* forest) const { In::destroy(forest); }
  };
  using Forest = std::unique_ptr<typename In::Forest, Destroy>;

  static Forest random_forest(std::mt19937_64& random, std::uint64_t& salt) {
    Forest forest(In::make(static_cast<int>(random() % 4)));
    forest->user_pointer = &salt;
    for (auto rounds = random() % 3; rounds > 0; --rounds)
      In::refine(forest.get(), 0, In::refines_quadrant, nullptr);
    return forest;
  }

  /// By number, by weight, or as drawn. @return The offsets from before.
  static Offsets repartition(typename In::Forest& forest, std::mt19937_64& random,
                             std::uint64_t& salt) {
    Offsets before = offsets_of(forest);
    salt = random();
    const std::uint64_t how = random() % 3;
    if (how < 2) {
      In::partition(&forest, 0, how == 0 ? nullptr : In::weight_of);
      return before;
    }
    const Offsets drawn = random_offsets(random, forest.global_num_quadrants);
    std::vector<p4est_locidx_t> numbers;
    for (std::size_t r = 1; r < drawn.size(); ++r)
      numbers.push_back(static_cast<p4est_locidx_t>(drawn[r] - drawn[r - 1]));
    In::partition_given(&forest, numbers.data());
    return before;
  }

  static Offsets offsets_of(const typename In::Forest& forest) {
    return {forest.global_first_quadrant, forest.global_first_quadrant + size() + 1};
  }
};

using Dimensions = ::testing::Types<In2d, In3d>;
TYPED_TEST_SUITE(Transfer, Dimensions);

AlltoallOptions random_options(std::mt19937_64& random) {
  AlltoallOptions options;
  options.budget_bytes =
      std::array<std::size_t, 5>{4 << 10, 24 << 10, 128 << 10, 1 << 20, 4 << 20}[random() % 5];
  options.share_memory = random() % 2 == 0;
  options.method = std::array{AlltoallMethod::automatic, AlltoallMethod::automatic,
                              AlltoallMethod::stream, AlltoallMethod::pairwise}[random() % 4];
  return options;
}

/// Runs transfer(options) and looks at its memory. Where the budget is refused, the data must be as
/// it was, and a larger one must do.
template <class Call>
Report transferred(Bytes& data, AlltoallOptions options, Call&& transfer) {
  const Bytes before(data.begin(), data.end());
  Report report;
  Outcome outcome = outcome_of([&] { report = transfer(options); });
  if (outcome.code == ErrorCode::budget_too_small) {
    EXPECT_TRUE(same_on_all_ranks(outcome)) << outcome.text;
    EXPECT_TRUE(all_ranks(data == before)) << outcome.text;
    options.budget_bytes = 1 << 20;
    outcome = outcome_of([&] { report = transfer(options); });
  }
  EXPECT_EQ(outcome.code, ErrorCode::success) << outcome.text;
  const std::uint64_t promised =
      promised_bytes(options.budget_bytes, report.neighbours, static_cast<std::uint64_t>(size()));
  EXPECT_TRUE(all_ranks(report.extra_bytes_bound == promised)) << report.method;
  EXPECT_TRUE(all_ranks(report.peak_extra_bytes <= promised))
      << report.method << ": " << report.peak_extra_bytes << " of " << promised;
  return report;
}

/// Ends a transfer after some looks at it.
Report ended(Execution execution, std::mt19937_64& random) {
  for (auto looks = random() % 20; looks > 0; --looks) execution.progress();
  return execution.wait();
}

/// Forests, and for each of them `rounds` partitions.
constexpr std::uint64_t forests = 40;
constexpr int rounds = 4;

TYPED_TEST(Transfer, OfOneSizeLeavesWhatP4estBrings) {
  for (std::uint64_t k = 0; k < cases_wanted(forests) && all_ranks(!this->HasFailure()); ++k) {
    SCOPED_TRACE(seed_note(seed(), static_cast<long long>(k)));
    std::mt19937_64 random(seed() + k);
    std::uint64_t salt = random();
    const auto forest = this->random_forest(random, salt);
    const std::size_t bytes_each =
        std::array<std::size_t, 6>{0, 1, 4, 8, 13, 4096 + 24}[random() % 6];
    Bytes data = data_of(forest->global_first_quadrant, bytes_each);
    for (int round = 0; round < rounds; ++round) {
      const Offsets src = this->repartition(*forest, random, salt);
      const std::int64_t* const dest = forest->global_first_quadrant;
      Bytes expected(own_count(dest) * bytes_each);
      TypeParam::transfer_fixed(dest, src.data(), MPI_COMM_WORLD, 7, expected.data(), data.data(),
                                bytes_each);
      data.resize(std::max(data.size(), expected.size()));
      const bool in_parts = random() % 2 == 0;
      const Report report =
          transferred(data, random_options(random), [&](const AlltoallOptions& options) {
            if (in_parts)
              return ended(
                  p4est::transfer_fixed_begin(dest, src.data(), MPI_COMM_WORLD, data.data(),
                                              data.size(), bytes_each, options),
                  random);
            return p4est::transfer_fixed(dest, src.data(), MPI_COMM_WORLD, data.data(), data.size(),
                                         bytes_each, options);
          });
      data.resize(expected.size());
      EXPECT_TRUE(all_ranks(data == expected)) << report.method;
      EXPECT_TRUE(all_ranks(bytes_each == 0 || report.blocks_after == own_count(dest)));
    }
    EXPECT_TRUE(all_ranks(data == data_of(forest->global_first_quadrant, bytes_each)));
  }
}

TYPED_TEST(Transfer, OfManySizesLeavesWhatP4estBrings) {
  for (std::uint64_t k = 0; k < cases_wanted(forests) && all_ranks(!this->HasFailure()); ++k) {
    SCOPED_TRACE(seed_note(seed(), static_cast<long long>(k)));
    std::mt19937_64 random(seed() + k);
    std::uint64_t salt = random();
    const auto forest = this->random_forest(random, salt);
    std::vector<int> sizes = sizes_of<int>(forest->global_first_quadrant);
    Bytes data = custom_data_of(forest->global_first_quadrant);
    for (int round = 0; round < rounds; ++round) {
      const Offsets src = this->repartition(*forest, random, salt);
      const std::int64_t* const dest = forest->global_first_quadrant;
      // The sizes go first, in place as well.
      std::vector<int> new_sizes = sizes;
      new_sizes.resize(std::max(sizes.size(), own_count(dest)));
      p4est::transfer_fixed(dest, src.data(), MPI_COMM_WORLD, new_sizes.data(),
                            new_sizes.size() * sizeof(int), sizeof(int));
      new_sizes.resize(own_count(dest));
      EXPECT_TRUE(all_ranks(new_sizes == sizes_of<int>(dest)));
      Bytes expected(custom_data_of(dest).size());
      TypeParam::transfer_custom(dest, src.data(), MPI_COMM_WORLD, 7, expected.data(),
                                 new_sizes.data(), data.data(), sizes.data());
      data.resize(std::max(data.size(), expected.size()));
      const bool in_parts = random() % 2 == 0;
      const Report report =
          transferred(data, random_options(random), [&](const AlltoallOptions& options) {
            if (in_parts)
              return ended(p4est::transfer_custom_begin(dest, src.data(), MPI_COMM_WORLD,
                                                        data.data(), data.size(), sizes.data(),
                                                        new_sizes.data(), options),
                           random);
            return p4est::transfer_custom(dest, src.data(), MPI_COMM_WORLD, data.data(),
                                          data.size(), sizes.data(), new_sizes.data(), options);
          });
      data.resize(expected.size());
      EXPECT_TRUE(all_ranks(data == expected)) << report.method;
      EXPECT_TRUE(all_ranks(report.blocks_after == expected.size()));
      sizes = new_sizes;
    }
    EXPECT_TRUE(all_ranks(data == custom_data_of(forest->global_first_quadrant)));
  }
}

/// p4est before 2.3 has no p4est_transfer_items: an item is so many bytes for its _custom.
TYPED_TEST(Transfer, OfItemsLeavesWhatP4estBrings) {
  for (std::uint64_t k = 0; k < cases_wanted(forests) && all_ranks(!this->HasFailure()); ++k) {
    SCOPED_TRACE(seed_note(seed(), static_cast<long long>(k)));
    std::mt19937_64 random(seed() + k);
    std::uint64_t salt = random();
    const auto forest = this->random_forest(random, salt);
    const std::size_t item_bytes = std::array<std::size_t, 5>{0, 1, 3, 8, 100}[random() % 5];
    const auto counts_of = [](const p4est_gloidx_t* gfq) {
      std::vector<int> counts = sizes_of<int>(gfq);
      for (int& count : counts) count = count % 23;
      return counts;
    };
    const auto bytes_of = [&](std::vector<int> counts) {
      for (int& count : counts) count *= static_cast<int>(item_bytes);
      return counts;
    };
    const auto sum = [](const std::vector<int>& numbers) {
      return static_cast<std::size_t>(std::accumulate(numbers.begin(), numbers.end(), 0));
    };
    const Offsets src = this->repartition(*forest, random, salt);
    const std::int64_t* const dest = forest->global_first_quadrant;
    const std::vector<int> counts = counts_of(src.data()), new_counts = counts_of(dest);
    Bytes data;
    append_data(data, src[static_cast<std::size_t>(rank())], sum(bytes_of(counts)));
    Bytes expected(sum(bytes_of(new_counts)));
    TypeParam::transfer_custom(dest, src.data(), MPI_COMM_WORLD, 7, expected.data(),
                               bytes_of(new_counts).data(), data.data(), bytes_of(counts).data());
    data.resize(std::max(data.size(), expected.size()));
    const bool in_parts = random() % 2 == 0;
    const Report report =
        transferred(data, random_options(random), [&](const AlltoallOptions& options) {
          if (in_parts)
            return ended(p4est::transfer_items_begin(dest, src.data(), MPI_COMM_WORLD, data.data(),
                                                     data.size(), counts.data(), new_counts.data(),
                                                     item_bytes, options),
                         random);
          return p4est::transfer_items(dest, src.data(), MPI_COMM_WORLD, data.data(), data.size(),
                                       counts.data(), new_counts.data(), item_bytes, options);
        });
    data.resize(expected.size());
    EXPECT_TRUE(all_ranks(data == expected)) << report.method;
    EXPECT_TRUE(all_ranks(report.blocks_after == (item_bytes == 0 ? 0 : sum(new_counts))));
  }
}

}  // namespace
}  // namespace valet::test
