// SPDX-License-Identifier: BSD-3-Clause

// The system refuses memory to one rank while blocks of different sizes are planned or move: its
// n-th allocation, or that and all that follow, n = 1 until a call makes fewer.

#include "ragged_case.hpp"
#include "refused_call.hpp"
#include <valet/valet.h>

namespace valet::test {
namespace {

enum class Arenas { one, two };

/// One or two arenas under one map, and a column beside each; block k of every rank goes to rank k
/// % P.
class ArenaBlocks {
 public:
  ArenaBlocks(std::uint64_t count, Arenas arenas) {
    all_.alignment = 8;
    for (int r = 0; r < size(); ++r) {
      all_.before.emplace_back();
      for (std::uint64_t k = 0; k < count; ++k)
        all_.before.back().push_back({k * 37 % 400, r, k, static_cast<int>(k) % size()});
    }
    const OwnBlocks own(all_);
    before_ = own.before;
    after_ = own.after;
    for (RaggedArrays* const arrays : {&first_, &second_}) *arrays = own.arrays();
    std::vector<RaggedField> fields{first_.field()};
    std::vector<Field> columns{field(first_.names)};
    if (arenas == Arenas::two) {
      fields.push_back(second_.field());
      columns.push_back(field(second_.names));
    }
    storage_.emplace(fields, columns);
    has_two_ = arenas == Arenas::two;
  }
  ArenaBlocks(const ArenaBlocks&) = delete;
  ArenaBlocks& operator=(const ArenaBlocks&) = delete;

  [[nodiscard]] RefusedCall migrated(const Options& options) {
    return tested([this, options](MPI_Comm communicator) {
      migrate(communicator, *storage_, before_.size(), first_.ranks, options);
    });
  }
  /// The same through C, of one arena and its column.
  [[nodiscard]] RefusedCall migrated_in_c(const Valet_Ragged_storage* storage) {
    return tested([this, storage](MPI_Comm communicator) {
      Valet_Ragged_plan* plan = nullptr;
      int code = Valet_Ragged_plan_to_ranks(communicator, storage, before_.size(),
                                            first_.ranks.data(), nullptr, &plan);
      if (code == VALET_SUCCESS)
        code = Valet_Ragged_execute(plan, storage, first_.ranks.data(), nullptr);
      Valet_Ragged_plan_free(plan);
      if (code != VALET_SUCCESS) throw Error(static_cast<ErrorCode>(code), Valet_Error_message());
    });
  }
  [[nodiscard]] RaggedArrays& first() { return first_; }
  [[nodiscard]] RaggedPlan plan(const Options& options) {
    fill();
    return plan_to_ranks(MPI_COMM_WORLD, *storage_, before_.size(), first_.ranks, options);
  }
  [[nodiscard]] RefusedCall executed(RaggedPlan& plan) {
    return tested([this, &plan](MPI_Comm) { execute(plan, *storage_, first_.ranks); });
  }

 private:
  [[nodiscard]] RefusedCall tested(std::function<void(MPI_Comm)> call) {
    return {std::move(call), [this] { fill(); }, [this] { return wrong(before_) == 0; },
            [this] { return wrong(after_) == 0; }};
  }
  void fill() {
    first_.fill(before_);
    second_.fill(before_);
  }

  [[nodiscard]] long long wrong(const RaggedBlocks& blocks) {
    return first_.wrong(blocks) + (has_two_ ? second_.wrong(blocks) : 0);
  }

  RaggedCase all_;
  RaggedBlocks before_, after_;
  RaggedArrays first_{{}, 8, 0, 0}, second_{{}, 8, 0, 0};
  bool has_two_ = false;
  std::optional<RaggedStorage> storage_;  ///< made before memory is refused
};

Options options_of(Method method) {
  return {.budget_bytes = method == Method::direct ? std::size_t{4} << 20 : std::size_t{40'000},
          .method = method};
}

TEST(RefusedAllocation, EndsMapsOfRaggedBlocksOnAllRanks) {
  ArenaBlocks blocks(300, Arenas::one);
  for (const Method method : {Method::stream, Method::direct, Method::phased, Method::cyclic})
    survives_all(blocks.migrated(options_of(method)), to_string(method));
}

TEST(RefusedAllocation, EndsVerifiedMapsOfRaggedBlocksOnAllRanks) {
  ArenaBlocks blocks(300, Arenas::two);
  Options options = options_of(Method::stream);
  options.verify = true;
  options.keep_memory = false;
  survives_all(blocks.migrated(options), "verified");
}

TEST(RefusedAllocation, EndsBlocksOfDifferentSizesInCOnAllRanks) {
  ArenaBlocks blocks(300, Arenas::one);
  RaggedArrays& arrays = blocks.first();
  Valet_Ragged_storage* const in_c = Valet_Ragged_storage_create();
  Valet_Ragged_storage_add_field(in_c, arrays.arena.bytes().data(), arrays.arena.bytes().size(),
                                 arrays.lengths.data(), arrays.lengths.size(), 8, "blocks");
  Valet_Ragged_storage_add_column(in_c, arrays.names.data(), arrays.names.size(), 8, "names");
  survives_all(blocks.migrated_in_c(in_c), "ragged blocks in C");
  Valet_Ragged_storage_free(in_c);
}

// More than is held back for hard times: lists of pages and scratch.
TEST(RefusedAllocation, EndsLargeMapsOfRaggedBlocksOnAllRanks) {
  ArenaBlocks blocks(1'500, Arenas::one);
  for (const std::size_t budget : {std::size_t{8} << 10, std::size_t{4} << 20}) {
    const Options options{.budget_bytes = budget};
    survives_all(blocks.migrated(options), "budget " + std::to_string(budget));
  }
}

// A plan that could not be executed can be executed when there is memory.
TEST(RefusedAllocation, LeavesAPlanOfRaggedBlocksThatCanBeExecuted) {
  ArenaBlocks blocks(300, Arenas::two);
  for (const Method method : all_methods) {
    SCOPED_TRACE(to_string(method));
    bool goes_on = true;
    for (long long n = 1; goes_on && !::testing::Test::HasFailure(); n += refusal_stride) {
      RaggedPlan plan = blocks.plan(options_of(method));
      goes_on = survives(blocks.executed(plan), MPI_COMM_WORLD, 1, n, Refusal::for_good);
      survives(blocks.executed(plan), MPI_COMM_WORLD, 1, 0, Refusal::once);
    }
  }
}

}  // namespace
}  // namespace valet::test
