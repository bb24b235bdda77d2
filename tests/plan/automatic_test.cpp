// SPDX-License-Identifier: BSD-3-Clause

// Method::automatic: STREAM, whatever the map, and the report says why.

#include "filled_map.hpp"

namespace valet::test {
namespace {

TEST(Automatic, IsTheDefaultAndSaysWhatItChose) {
  for (const Form form : {Form::to_ranks, Form::to_slots})
    for (const unsigned moved : {0U, 280U}) {
      FilledMap filled(ring_map(size(), 300, moved, 1), rank(), Shape::dense, 40);
      Plan plan = filled.plan(MPI_COMM_WORLD, form, Options{});
      for (int execution = 0; execution < 2; ++execution) {
        if (execution > 0) filled.fill();
        const Report report = execute(plan, filled.storage());
        EXPECT_EQ(sum_over_ranks(filled.wrong(form, Order::any)), 0);
        expect_within_bound(report);
        EXPECT_EQ(report.method, "stream");
        EXPECT_EQ(report.reason,
                  "stream brings each block straight to its rank, within any budget");
        expect_words(report.to_string(), {"chosen: " + std::string(report.reason)});
        expect_words(summed_over_ranks(report, MPI_COMM_WORLD).to_json(),
                     {std::string(report.reason)});
      }
    }
}

TEST(Automatic, HasNoReasonWhereAMethodIsNamed) {
  FilledMap filled(ring_map(size(), 300, 280, 1), rank(), Shape::dense, 40);
  Plan plan = filled.plan(MPI_COMM_WORLD, Form::to_ranks, {.method = Method::stream});
  EXPECT_EQ(execute(plan, filled.storage()).reason, "");
}

}  // namespace
}  // namespace valet::test
