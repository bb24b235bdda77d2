// SPDX-License-Identifier: BSD-3-Clause

// The system refuses memory to one rank in the middle of a migration of Zoltan's lists: its n-th
// allocation, or that and all that follow, n = 1 until a call makes fewer. All ranks throw
// out_of_memory and nothing has moved, or all have what the lists say. Nobody is left waiting.

#include "../zoltan/list_objects.hpp"
#include "refused_call.hpp"

namespace valet::test {
namespace {

/// What is given, and what moves along.
struct Form {
  bool imports = false;
  bool exports = false;
  bool with_arrays = false;
};

/// Few objects, and more than what is held back for hard times has room for.
class RefusedAllocationInLists : public testing::TestWithParam<std::uint64_t> {};

TEST_P(RefusedAllocationInLists, EndsAMigrationOfListsOnAllRanks) {
  for (const Form& form : {Form{false, true, true}, Form{true, true, false},
                           Form{true, false, true}, Form{true, false, false}}) {
    SCOPED_TRACE(std::string(form.imports ? "imports " : "") + (form.exports ? "exports " : "") +
                 (form.with_arrays ? "arrays" : ""));
    ListObjects objects(GetParam(), 2 * GetParam());
    const zoltan::PartitionLists lists = objects.lists(form.imports, form.exports);
    const zoltan::ListOptions options =
        form.with_arrays ? objects.options() : zoltan::ListOptions();
    const BlockStorage storage = objects.storage();
    std::uint64_t now = 0;
    survives_all({[&](MPI_Comm communicator) {
                    now =
                        zoltan::migrate(communicator, lists, objects.count, storage, options).count;
                  },
                  [&] { objects.fill(); }, [&] { return objects.is_unchanged(); },
                  [&] { return objects.has_moved(now, form.with_arrays); }});
  }
}

TEST_P(RefusedAllocationInLists, EndsTheComparisonOfListsOnAllRanks) {
  ListObjects objects(GetParam(), 2 * GetParam());
  if (size() == 1) return;
  if (rank() == 1) objects.imports.gids.front() += 1;
  for (const int poor : {0, 1})
    for (long long n = 1; !::testing::Test::HasFailure(); ++n) {
      const BlockStorage storage = objects.storage();
      const zoltan::PartitionLists lists = objects.lists(true, true);
      bool refused = false;
      if (rank() == poor) refuse_allocation(n);
      const Outcome outcome = outcome_of([&] {
        try {
          zoltan::migrate(MPI_COMM_WORLD, lists, objects.count, storage);
        } catch (const Error&) {
          refused = end_refusal();  // before the text is kept
          throw;
        }
      });
      EXPECT_TRUE(same_on_all_ranks(outcome)) << outcome.text;
      EXPECT_TRUE(all_ranks(outcome.code == ErrorCode::out_of_memory ||
                            outcome.code == ErrorCode::invalid_argument))
          << outcome.text;
      EXPECT_TRUE(all_ranks(objects.is_unchanged()));
      if (all_ranks(!refused)) break;
    }
}

INSTANTIATE_TEST_SUITE_P(Objects, RefusedAllocationInLists, testing::Values(60, 9000),
                         ParameterName());

}  // namespace
}  // namespace valet::test
