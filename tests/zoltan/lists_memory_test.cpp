// SPDX-License-Identifier: BSD-3-Clause

// What migrate() of lists takes from the system, against what lists.hpp promises.

#include "counted_new.hpp"
#include "list_objects.hpp"

namespace valet::test {
namespace {

/// The docstring of migrate(): beside the bound of execute(), before anything moves.
std::uint64_t promised_of_lists(const ListObjects& objects, bool imports_lead, bool with_arrays) {
  const std::uint64_t slots = objects.values.size();
  constexpr std::uint64_t words = 1 + 1 + 2;  // an id of each kind, rank and part
  const std::uint64_t map = 4 * slots * (with_arrays ? 2 : 1);
  if (!imports_lead) return map;
  return map + 4 * words * objects.exports.procs.size() + 4 * objects.imports.procs.size() +
         (24 << 10) + 512 * 2 * static_cast<std::uint64_t>(size());
}

void expect_within_promise(std::uint64_t each, bool imports, bool exports, bool with_arrays) {
  ListObjects objects(each, 2 * each);
  zoltan::ListOptions options;
  if (with_arrays) options = objects.options();
  options.migration.budget_bytes = std::size_t{64} << 10;
  const zoltan::PartitionLists lists = objects.lists(imports, exports);
  const AskedBytes asked;
  const auto done =
      zoltan::migrate(MPI_COMM_WORLD, lists, objects.count, objects.storage(), options);
  const unsigned long long most = asked.most();
  EXPECT_TRUE(all_ranks(objects.has_moved(done.count, with_arrays)));
  const std::uint64_t of_lists = promised_of_lists(objects, imports && !exports, with_arrays);
  const std::uint64_t promised =
      of_lists + done.report.extra_bytes_bound + (with_arrays ? 64 << 10 : 0);
  EXPECT_TRUE(all_ranks(done.list_bytes <= of_lists)) << done.list_bytes << " > " << of_lists;
  EXPECT_TRUE(all_ranks(done.list_bytes >= 4 * each));
  EXPECT_TRUE(all_ranks(most <= promised)) << most << " > " << promised;
}

TEST(MemoryOfLists, IsWithinThePromise) {
  for (const std::uint64_t each : {std::uint64_t{60'000}, std::uint64_t{50}})
    for (const bool with_arrays : {false, true}) {
      expect_within_promise(each, false, true, with_arrays);
      expect_within_promise(each, true, true, with_arrays);
      expect_within_promise(each, true, false, with_arrays);
    }
}

}  // namespace
}  // namespace valet::test
