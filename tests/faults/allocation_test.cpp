// SPDX-License-Identifier: BSD-3-Clause

// The system refuses memory to one rank: its n-th allocation, or that and all that follow, n = 1
// until a call makes fewer. Then all ranks get the same error and nothing has moved, or all
// succeed. Nobody is left waiting.

#include "moved_arrays.hpp"
#include "refused_call.hpp"
#include <valet/valet.h>

namespace valet::test {
namespace {

using Case = RefusedCall;

/// Blocks of 8 bytes that say where they began. Of each rank block k goes to rank_of(rank, k).
class TracedBlocks {
 public:
  TracedBlocks(std::uint64_t slots, std::uint64_t count, bool is_cyclic)
      : count_(count), is_cyclic_(is_cyclic), data_(slots), ranks_(count), addresses_(count) {
    for (std::uint64_t k = 0; k < count; ++k) {
      ranks_[k] = rank_of(rank(), k);
      addresses_[k] = {static_cast<int>((k + static_cast<std::uint64_t>(rank())) % ranks()), k};
    }
    Valet_Storage_add_field(in_c_, data_.data(), slots, 8, 8, "blocks");
  }
  TracedBlocks(const TracedBlocks&) = delete;
  TracedBlocks& operator=(const TracedBlocks&) = delete;
  ~TracedBlocks() { Valet_Storage_free(in_c_); }

  [[nodiscard]] Case to_ranks(const Options& options) {
    return {[this, options](MPI_Comm communicator) {
              migrate(communicator, storage_, count_, ranks_, options);
            },
            [this] { fill(); }, [this] { return is_unchanged(); },
            [this] { return all_are_mine(); }};
  }
  [[nodiscard]] Plan plan(const Options& options) {
    return plan_to_ranks(MPI_COMM_WORLD, storage_, count_, ranks_, options);
  }
  [[nodiscard]] Case executed(Plan& plan) {
    return {[this, &plan](MPI_Comm) { execute(plan, storage_); }, [this] { fill(); },
            [this] { return is_unchanged(); }, [this] { return all_are_mine(); }};
  }
  /// In parts, or as it is bound to the blocks.
  [[nodiscard]] Case executed_in_parts(Plan& plan, bool bound, bool at_once) {
    return {[=, this, &plan](MPI_Comm) {
              if (at_once) {
                execute(plan);
                return;
              }
              Execution execution = bound ? start(plan) : start(plan, storage_);
              execution.progress();
              execution.wait();
            },
            [this] { fill(); }, [this] { return is_unchanged(); },
            [this] { return all_are_mine(); }};
  }
  void bind(Plan& plan) const { plan.bind(storage_); }
  [[nodiscard]] Case to_ranks_in_c() {
    return {[this](MPI_Comm communicator) {
              Valet_Plan* plan = nullptr;
              int code = Valet_Plan_to_ranks(communicator, in_c_, count_, nullptr, ranks_.data(),
                                             nullptr, &plan);
              if (code == VALET_SUCCESS) code = Valet_Execute(plan, in_c_, nullptr);
              Valet_Plan_free(plan);
              if (code != VALET_SUCCESS)
                throw Error(static_cast<ErrorCode>(code), Valet_Error_message());
            },
            [this] { fill(); }, [this] { return is_unchanged(); },
            [this] { return all_are_mine(); }};
  }
  [[nodiscard]] Case to_slots(const Options& options) {
    return {[this, options](MPI_Comm communicator) {
              migrate(communicator, storage_, count_, addresses_, options);
            },
            [this] { fill(); }, [this] { return is_unchanged(); },
            [this] { return all_are_in_place(); }};
  }

  /// Dealt to the ranks one by one.
  [[nodiscard]] Case to_layout() {
    return {[this](MPI_Comm communicator) {
              migrate_to_layout(communicator, storage_, count_, ObjectLayout::cyclic(1));
            },
            [this] { fill(); }, [this] { return is_unchanged(); }, [this] { return are_dealt(); }};
  }

 private:
  static std::uint64_t ranks() { return static_cast<std::uint64_t>(size()); }
  [[nodiscard]] int rank_of(int from, std::uint64_t k) const {
    const std::uint64_t mixed = (k + 17 * static_cast<std::uint64_t>(from)) * 0x9E3779B97F4A7C15U;
    return static_cast<int>((is_cyclic_ ? k : mixed >> 40) % ranks());
  }
  [[nodiscard]] static std::uint64_t value(int from, std::uint64_t k) {
    return (static_cast<std::uint64_t>(from) << 40) + k;
  }
  void fill() {
    for (std::uint64_t k = 0; k < data_.size(); ++k) data_[k] = k < count_ ? value(rank(), k) : ~k;
  }
  [[nodiscard]] bool is_unchanged() const {
    for (std::uint64_t k = 0; k < count_; ++k)
      if (data_[k] != value(rank(), k)) return false;
    return true;
  }
  /// The first slots hold each block that is sent here, once.
  [[nodiscard]] bool all_are_mine() const {
    std::uint64_t arrived = 0;
    for (int from = 0; from < size(); ++from)
      for (std::uint64_t k = 0; k < count_; ++k) arrived += rank_of(from, k) == rank() ? 1 : 0;
    std::vector<bool> seen(ranks() * count_);
    for (std::uint64_t slot = 0; slot < arrived; ++slot) {
      const std::uint64_t from = data_[slot] >> 40, k = data_[slot] & 0xFFFFFFFFFFU;
      if (from >= ranks() || k >= count_ || rank_of(static_cast<int>(from), k) != rank() ||
          seen[from * count_ + k])
        return false;
      seen[from * count_ + k] = true;
    }
    return true;
  }
  [[nodiscard]] bool all_are_in_place() const {
    for (std::uint64_t k = 0; k < count_; ++k) {
      const std::uint64_t from = (static_cast<std::uint64_t>(rank()) + k * (ranks() - 1)) % ranks();
      if (data_[k] != value(static_cast<int>(from), k)) return false;
    }
    return true;
  }

  [[nodiscard]] bool are_dealt() const {
    for (std::uint64_t k = 0; k < count_; ++k) {
      const std::uint64_t number = k * ranks() + static_cast<std::uint64_t>(rank());
      if (data_[k] != value(static_cast<int>(number / count_), number % count_)) return false;
    }
    return true;
  }

  std::uint64_t count_;
  bool is_cyclic_;
  std::vector<std::uint64_t> data_;
  std::vector<int> ranks_;
  std::vector<Address> addresses_;
  const BlockStorage storage_{field(data_.data(), data_.size(), 1)};
  Valet_Storage* const in_c_ = Valet_Storage_create();
};

std::vector<Options> all_options() {
  std::vector<Options> all;
  for (const Method method : all_methods)
    for (const Order order : {Order::any, Order::fill}) {
      if (order == Order::fill && method != Method::stream) continue;
      const Options options{.budget_bytes = std::size_t{1} << 20, .method = method, .order = order};
      all.push_back(options);
    }
  return all;
}

std::string name_of(const Options& options) {
  return std::string(to_string(options.method)) + ", order " + to_string(options.order);
}

TEST(RefusedAllocation, EndsMapsToRanksOnAllRanks) {
  TracedBlocks blocks(90, 60, false);
  for (const Options& options : all_options())
    survives_all(blocks.to_ranks(options), name_of(options));
}

TEST(RefusedAllocation, EndsMapsToRanksInCOnAllRanks) {
  for (const std::uint64_t count : {std::uint64_t{60}, std::uint64_t{8'000}}) {
    TracedBlocks blocks(3 * count, count, false);
    survives_all(blocks.to_ranks_in_c(), "in C, " + std::to_string(count));
  }
}

TEST(RefusedAllocation, EndsCyclicMapsOnAllRanks) {
  TracedBlocks blocks(90, 60, true);
  survives_all(blocks.to_ranks({}), "cyclic map");
}

TEST(RefusedAllocation, EndsLayoutsOnAllRanks) {
  TracedBlocks small(90, 60, false), large(140'000, 8'000, false);
  survives_all(small.to_layout(), "layout");
  survives_all(large.to_layout(), "large layout");
}

TEST(RefusedAllocation, EndsMapsToSlotsOnAllRanks) {
  TracedBlocks blocks(90, 60, false);
  for (const Options& options : all_options())
    if (options.order == Order::any) survives_all(blocks.to_slots(options), name_of(options));
}

// More than is held back for hard times: bitmaps, lists and scratch.
TEST(RefusedAllocation, EndsLargeMapsOnAllRanks) {
  TracedBlocks blocks(140'000, 8'000, false);
  for (const Options& options : all_options()) {
    survives_all(blocks.to_ranks(options), name_of(options));
    if (options.method == Method::stream && options.order == Order::any)
      survives_all(blocks.to_slots(options), name_of(options) + ", slots");
  }
}

TEST(RefusedAllocation, EndsVerifiedAndCentralizedMapsOnAllRanks) {
  TracedBlocks blocks(90, 60, false);
  Options options{.verify = true, .keep_memory = false};
  survives_all(blocks.to_ranks(options), "verified");
  options.method = Method::phased;
  options.phased.scheduler = Scheduler::centralized;
  options.phased.parking = 1;
  survives_all(blocks.to_ranks(options), "centralized");
}

// A plan that could not be executed can be executed when there is memory.
TEST(RefusedAllocation, LeavesAPlanThatCanBeExecuted) {
  TracedBlocks blocks(140'000, 8'000, false);
  for (const Options& options : all_options()) {
    SCOPED_TRACE(name_of(options));
    bool goes_on = true;
    for (long long n = 1; goes_on && !::testing::Test::HasFailure(); n += refusal_stride) {
      Plan plan = blocks.plan(options);
      goes_on = survives(blocks.executed(plan), MPI_COMM_WORLD, 1, n, Refusal::for_good);
      survives(blocks.executed(plan), MPI_COMM_WORLD, 1, 0, Refusal::once);
    }
  }
}

// Bound plans ask nobody whether all ranks can: they take no memory.
TEST(RefusedAllocation, EndsExecutionsInPartsOnAllRanks) {
  TracedBlocks blocks(90, 60, false);
  for (const Options& options : all_options())
    for (const bool bound : {false, true})
      for (const bool at_once : {false, true}) {
        if (at_once && !bound) continue;
        Plan plan = blocks.plan(options);
        if (bound) blocks.bind(plan);
        survives_all(blocks.executed_in_parts(plan, bound, at_once),
                     name_of(options) + (bound ? ", bound" : "") + (at_once ? ", at once" : ""));
      }
}

TEST(RefusedAllocation, EndsARepairOnAllRanks) {
  // All want to be on rank 0, which has room for a half of its own.
  for (const std::size_t count : {std::size_t{60}, std::size_t{8'000}}) {
    std::vector<int> ranks;
    const std::vector<int> wish(count, 0);
    RepairResult result;
    const Case tested{
        [&](MPI_Comm communicator) {
          result = repair(communicator, count, ranks, rank() == 0 ? count / 2 : 2 * count);
        },
        [&] { ranks = wish; }, [&] { return ranks == wish; },
        [&] {
          const auto changed =
              count - static_cast<std::size_t>(std::count(ranks.begin(), ranks.end(), 0));
          return result.changed == changed && result.changed_in_all > changed;
        }};
    survives_all(tested, "repair of " + std::to_string(count));
  }
}

TEST(RefusedAllocation, EndsAResizeOnAllRanks) {
  for (const ResizeBalance balance : {ResizeBalance::count, ResizeBalance::numbering}) {
    std::vector<std::uint64_t> ids(9'000), start(9'000);
    for (std::size_t k = 0; k < ids.size(); ++k)
      start[k] = 9'000 * static_cast<std::uint64_t>(rank()) + k;
    const std::uint64_t count = rank() < 2 ? 4'000 : 0;
    const BlockStorage storage{field(ids)};
    const std::array<int, 9> captured{};  // more than a std::function holds itself
    ResizeOptions options{.balance = balance};
    options.released = [captured](std::uint64_t, std::uint64_t) { static_cast<void>(captured); };
    ResizeResult result;
    const Case tested{[&](MPI_Comm communicator) {
                        result = resize(communicator, storage, count, 2, 1, options);
                      },
                      [&] { ids = start; }, [&] { return ids == start; },
                      [&] { return result.count == (rank() == 0 ? 8'000U : 0U); }};
    survives_all(tested, balance == ResizeBalance::count ? "resize by count" : "by numbering");
  }
}

/// From rank 0 to all others, which each get as many.
TEST(RefusedAllocation, EndsATransferOnBothSides) {
  constexpr std::uint64_t each = 40;
  const bool puts = rank() == 0;
  MPI_Comm own = MPI_COMM_NULL, between = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, puts ? 0 : 1, 0, &own);
  MPI_Intercomm_create(own, 0, MPI_COMM_WORLD, puts ? 1 : 0, 0, &between);
  const std::uint64_t count = puts ? each * (static_cast<std::uint64_t>(size()) - 1) : 0;
  std::vector<std::uint64_t> ids(puts ? count : each), start(ids.size(), 1);
  std::vector<int> to;
  for (std::uint64_t k = 0; k < count; ++k) to.push_back(static_cast<int>(k / each));
  if (puts) std::iota(start.begin(), start.end(), 0U);
  const BlockStorage storage{field(ids)};
  const std::uint64_t last = (puts ? count : each * static_cast<std::uint64_t>(rank())) - 1;
  std::optional<Junction> junction;
  const Case tested{[&](MPI_Comm) {
                      junction = Junction::connect(between, "refused", {.timeout_seconds = 20});
                      (puts ? junction->put(storage, count, to) : junction->get(storage)).wait();
                    },
                    [&] {
                      junction.reset();  // where there is memory
                      ids = start;
                    },
                    [&] { return ids == start; }, [&] { return ids.back() == last; }};
  survives_all(tested);
  junction.reset();
  MPI_Comm_free(&between);
  MPI_Comm_free(&own);
}

/// Local: the others take no part.
TEST(RefusedAllocation, EndsAGroupOnItsRank) {
  std::vector<std::uint64_t> ids(1'000), start(1'000), grouped;
  std::iota(start.begin(), start.end(), 0U);
  std::vector<std::uint32_t> segments;
  for (std::uint32_t k = 0; k < 1'000; ++k) segments.push_back(k % 2);
  const BlockStorage storage{field(ids)};
  for (const Refusal refusal : {Refusal::once, Refusal::for_good}) {
    bool refused = rank() == 0;
    for (long long n = 1; refused && !HasFailure(); ++n) {
      ids = start;
      grouped.clear();
      refuse_allocation(n, refusal);
      const Outcome outcome = outcome_of([&] {
        grouped = group(storage, 1'000, segments, std::array<std::uint64_t, 2>{500, 500});
      });
      refused = end_refusal();
      SCOPED_TRACE("allocation " + std::to_string(n) + ": " + outcome.text);
      const bool success = outcome.code == ErrorCode::success;
      EXPECT_TRUE(success || outcome.code == ErrorCode::out_of_memory);
      EXPECT_EQ(success, grouped == std::vector<std::uint64_t>(2, 500));
      const bool is_grouped =
          std::is_partitioned(ids.begin(), ids.end(), [](std::uint64_t id) { return id % 2 == 0; });
      EXPECT_TRUE(success ? is_grouped : ids == start);
    }
  }
}

/// Both arrays grow on rank 0, or none of them.
TEST(RefusedAllocation, EndsGrowthOnAllRanks) {
  constexpr std::uint64_t count = 5'000;
  std::vector<std::uint64_t> ids, copies, start(count);
  for (std::size_t k = 0; k < count; ++k) start[k] = count * static_cast<std::uint64_t>(rank()) + k;
  const std::vector<int> to(count, 0);
  const BlockStorage storage{growing(ids, 1), growing(copies, 1)};
  const std::uint64_t after = rank() == 0 ? count * static_cast<std::uint64_t>(size()) : count;
  const Case tested{[&](MPI_Comm communicator) { migrate(communicator, storage, count, to); },
                    [&] {
                      for (std::vector<std::uint64_t>* const array : {&ids, &copies}) {
                        *array = start;
                        array->shrink_to_fit();
                      }
                    },
                    // Arrays that had grown before another rank failed stay larger.
                    [&] {
                      return ids.size() == copies.size() &&
                             std::equal(start.begin(), start.end(), ids.begin()) &&
                             std::equal(start.begin(), start.end(), copies.begin());
                    },
                    [&] { return ids.size() == after && copies == ids; }};
  survives_all(tested, "growth");
}

class Segments {
 public:
  explicit Segments(std::uint64_t each) : each_(each), data_(each * ranks()) {}

  [[nodiscard]] Case by(AlltoallMethod method, std::size_t budget_bytes) {
    const AlltoallOptions options{.budget_bytes = budget_bytes, .method = method};
    return {[this, options](MPI_Comm communicator) {
              alltoallv_in_place(communicator, {data_.data(), data_.size() * 8, 8}, counts_, {},
                                 options);
            },
            [this] {
              for (std::uint64_t k = 0; k < data_.size(); ++k) data_[k] = value(self(), k);
            },
            [this] {
              for (std::uint64_t k = 0; k < data_.size(); ++k)
                if (data_[k] != value(self(), k)) return false;
              return true;
            },
            [this] {
              for (std::uint64_t k = 0; k < data_.size(); ++k)
                if (data_[k] != value(k / each_, self() * each_ + k % each_)) return false;
              return true;
            }};
  }

 private:
  static std::uint64_t ranks() { return static_cast<std::uint64_t>(size()); }
  static std::uint64_t self() { return static_cast<std::uint64_t>(rank()); }
  static std::uint64_t value(std::uint64_t from, std::uint64_t k) { return (from << 40) + k; }

  std::uint64_t each_;
  std::vector<std::uint64_t> data_;
  const std::vector<std::int64_t> counts_ =
      std::vector<std::int64_t>(ranks(), static_cast<std::int64_t>(each_));
};

TEST(RefusedAllocation, EndsAnAlltoallOnAllRanks) {
  for (const std::uint64_t each : {std::uint64_t{31}, std::uint64_t{40'003}})
    for (const AlltoallMethod method :
         {AlltoallMethod::automatic, AlltoallMethod::stream, AlltoallMethod::direct,
          AlltoallMethod::swaps, AlltoallMethod::bitonic, AlltoallMethod::pairwise}) {
      if (each > 31 && method == AlltoallMethod::swaps) continue;  // tries both that follow
      Segments segments(each);
      const std::size_t budget =
          method == AlltoallMethod::direct ? std::size_t{4} << 20 : std::size_t{1} << 19;
      survives_all(segments.by(method, budget),
                   std::string(to_string(method)) + ", " + std::to_string(each));
    }
}

Case layout_case(Part& before, Part& after, const GridLayout& from, const GridLayout& to,
                 const LayoutOptions& options) {
  return {[&before, &after, &from, &to, options](MPI_Comm communicator) {
            redistribute(communicator, from, to, 8, before.source(), after.target(), options);
          },
          [&before, &after] {
            before.fill();
            std::ranges::fill(after.bytes(), untouched);
          },
          [&before] { return before.wrong_bytes() == 0; },
          [&after] { return after.wrong_bytes() == 0; }};
}

TEST(RefusedAllocation, EndsARedistributionOnAllRanks) {
  const GridLayout from{BlockCyclic({150, 130}, {64, 64}, {size(), 1}), {}};
  std::vector<std::int64_t> cuts{0, 7};
  for (int r = 2; r <= size(); ++r) cuts.push_back(7 + 20 * r);
  cuts.back() = 130;
  for (const GridLayout& to : {GridLayout{BlockCyclic({150, 130}, {30, 50}, {1, size()}), {}},
                               GridLayout{BlockCyclic::cut_at({{0, 150}, cuts})}}) {
    Part before(from, 8, IndexOrder::column_major), after(to, 8, IndexOrder::column_major);
    for (const std::size_t budget : {std::size_t{64} << 10, std::size_t{4} << 20})
      survives_all(layout_case(before, after, from, to, {.budget_bytes = budget}),
                   "budget " + std::to_string(budget));
  }
}

TEST(RefusedAllocation, EndsARedistributionInPlaceOnAllRanks) {
  const GridLayout from{BlockCyclic({150, 130}, {64, 64}, {size(), 1}), {}};
  const GridLayout to{BlockCyclic({150, 130}, {30, 50}, {1, size()}), {}};
  const IndexOrder order = IndexOrder::column_major;
  Part before(from, 8, order), after(to, 8, order);
  before.fill();
  std::vector<std::byte> memory(std::max(before.bytes().size(), after.bytes().size()));
  for (const Method method : all_methods) {
    LayoutOptions options{.budget_bytes = std::size_t{256} << 10, .method = method};
    if (method == Method::direct) options.budget_bytes = std::size_t{8} << 20;
    const Case tested{
        [&](MPI_Comm communicator) {
          redistribute_in_place(communicator, from, to, 8,
                                {.data = memory.data(), .bytes = memory.size(), .order = order},
                                options);
        },
        [&] { std::ranges::copy(before.bytes(), memory.begin()); },
        [&] { return std::equal(before.bytes().begin(), before.bytes().end(), memory.begin()); },
        [&] {
          std::copy_n(memory.begin(), after.bytes().size(), after.bytes().begin());
          return after.wrong_bytes() == 0;
        }};
    survives_all(tested, to_string(method));
  }
}

}  // namespace
}  // namespace valet::test
