// SPDX-License-Identifier: BSD-3-Clause

#include "filled_map.hpp"

#include <nlohmann/json.hpp>

namespace valet::test {
namespace {

Report a_report() {
  Report report;
  report.method = "stream";
  report.block_bytes = 36;
  report.blocks_before = 10;
  report.blocks_after = 11;
  report.blocks_sent = 4;
  report.blocks_received = 5;
  report.bytes_sent = std::uint64_t{5} << 40;
  report.messages = 3;
  report.credits = 2;
  report.local_copies = 6;
  report.neighbours = 7;
  report.budget_bytes = 4 << 20;
  report.peak_extra_bytes = 3 << 20;
  report.extra_bytes_bound = 5 << 20;
  report.plan_seconds = 0.25;
  report.exchange_seconds = 0.5;
  report.local_seconds = 0.125;
  report.verify_seconds = 8;
  return report;
}

TEST(Report, JsonHasEveryNumberAndCountsAreIntegers) {
  const nlohmann::json json = nlohmann::json::parse(a_report().to_json());
  std::set<std::string> keys;
  for (const auto& item : json.items()) keys.insert(item.key());
  const std::set<std::string> expected{"method",
                                       "ranks",
                                       "block_bytes",
                                       "blocks_before",
                                       "blocks_after",
                                       "blocks_sent",
                                       "blocks_received",
                                       "blocks_pulled",
                                       "blocks_dropped",
                                       "bytes_sent",
                                       "messages",
                                       "credits",
                                       "local_copies",
                                       "neighbours",
                                       "budget_bytes",
                                       "peak_extra_bytes",
                                       "extra_bytes_bound",
                                       "shared_bytes",
                                       "segments",
                                       "periods",
                                       "seconds",
                                       "plan_seconds",
                                       "exchange_seconds",
                                       "local_seconds",
                                       "verify_seconds",
                                       "verified",
                                       "plan_from_layout",
                                       "misplaced",
                                       "swaps",
                                       "steps",
                                       "phases",
                                       "detours",
                                       "reason",
                                       "gather_seconds",
                                       "solve_seconds",
                                       "scatter_seconds",
                                       "waiting_seconds",
                                       "valet",
                                       "mpi"};
  EXPECT_EQ(keys, expected);
  EXPECT_EQ(json["bytes_sent"].get<std::uint64_t>(), std::uint64_t{5} << 40);
  for (const char* key : {"block_bytes", "blocks_before", "bytes_sent", "messages", "local_copies",
                          "peak_extra_bytes", "extra_bytes_bound"})
    EXPECT_TRUE(json[key].is_number_integer()) << key;
  EXPECT_EQ(json["seconds"].get<double>(), 0.875);
  EXPECT_EQ(json["verified"].get<bool>(), false);
  EXPECT_EQ(json["method"].get<std::string>(), "stream");
  EXPECT_EQ(json["valet"].get<std::string>(), version());
  expect_words(configuration().to_string(), {"\nmpi: " + json["mpi"].get<std::string>() + "\n"});
}

TEST(Report, SecondsLeaveVerificationOut) { EXPECT_EQ(a_report().seconds(), 0.875); }

TEST(Report, TextSaysWhatMovedHowLongItTookAndWhatItCost) {
  Report report = a_report();
  const std::string text = report.to_string();
  expect_words(text,
               {"stream", "4 of 10 blocks", "5.0 TiB", "3 messages", "2 credits", "6 local copies",
                "875.000 ms", "250.000 ms", "3.0 MiB at the peak", "5.0 MiB promised"});
  EXPECT_EQ(text.find("verified"), std::string::npos);
  expect_words(text, {"verify 8000.000 ms"});
  for (const char* words : {"waiting", "gathering", "solving", "scattering"})
    EXPECT_EQ(text.find(words), std::string::npos) << "a stage that was not there: " << words;
  EXPECT_EQ(text.find("swaps"), std::string::npos) << "a method without swaps does not name them";
  EXPECT_EQ(text.find("phases"), std::string::npos);
  EXPECT_EQ(text.find("layout"), std::string::npos);
  report.waiting_seconds = 0.375;
  report.solve_seconds = 0.001;
  expect_words(report.to_string(),
               {"of the exchange: waiting in MPI 375.000 ms, solving 1.000 ms"});
  report.plan_from_layout = true;
  expect_words(report.to_string(), {"planned from the layout"});
  report.phases = 9;
  report.detours = 5;
  expect_words(report.to_string(), {"9 phases, 5 blocks waited"});
  report.misplaced = 3;
  expect_words(report.to_string(), {"6 local copies, 3 of misplaced blocks"});
  report.verified = true;
  report.swaps = 12;
  report.steps = 34;
  expect_words(report.to_string(), {"12 swaps", "34 steps"});
  report.ranks = 8;
  expect_words(report.to_string(), {"verified", "on 8 ranks"});
}

TEST(Report, SumsCountsAndTakesTheLargestTimeAndMemory) {
  Report mine = a_report();
  const auto me = static_cast<std::uint64_t>(rank());
  const auto ranks = static_cast<std::uint64_t>(size());
  mine.blocks_sent = me;
  mine.bytes_sent = me << 40;
  mine.peak_extra_bytes = 100 + me;
  mine.misplaced = 4;
  mine.swaps = 3 + me;
  mine.phases = 20 - me;
  mine.detours = 2;
  mine.steps = 5 + me;
  mine.plan_from_layout = true;
  mine.waiting_seconds = static_cast<double>(me);
  mine.local_seconds = static_cast<double>(ranks - me);
  const Report total = summed_over_ranks(mine, MPI_COMM_WORLD);
  EXPECT_EQ(total.ranks, size());
  EXPECT_EQ(total.blocks_before, 10 * ranks);
  EXPECT_EQ(total.blocks_sent, ranks * (ranks - 1) / 2);
  EXPECT_EQ(total.bytes_sent, ranks * (ranks - 1) / 2 << 40);
  EXPECT_EQ(total.peak_extra_bytes, 100 + ranks - 1);
  EXPECT_EQ(total.neighbours, 7U);
  EXPECT_EQ(total.misplaced, 4 * ranks);
  EXPECT_EQ(total.swaps, 3 + ranks - 1);
  EXPECT_EQ(total.phases, 20U);
  EXPECT_EQ(total.detours, 2 * ranks);
  EXPECT_EQ(total.steps, 5 + ranks - 1);
  EXPECT_EQ(total.local_seconds, static_cast<double>(ranks));
  EXPECT_EQ(total.waiting_seconds, static_cast<double>(ranks - 1));
  EXPECT_EQ(total.method, "stream");
  EXPECT_TRUE(total.plan_from_layout);
}

TEST(Report, OfAMigrationAddsUp) {
  const GlobalMap map = ring_map(size(), 30, 20, 1);
  FilledMap filled(map, rank(), Shape::structure);
  const Options options{.verify = true};
  Plan plan = filled.plan(MPI_COMM_WORLD, Form::to_ranks, options);
  const Report report = execute(plan, filled.storage());
  const Report total = summed_over_ranks(report, MPI_COMM_WORLD);
  EXPECT_EQ(report.blocks_after, plan.blocks_after());
  EXPECT_EQ(report.block_bytes, 36U);
  EXPECT_EQ(report.neighbours, plan.neighbours());
  EXPECT_TRUE(report.verified);
  EXPECT_EQ(total.blocks_sent, total.blocks_received);
  EXPECT_EQ(total.blocks_before, total.blocks_after);
  EXPECT_EQ(total.bytes_sent, 36 * total.blocks_sent);
  EXPECT_EQ(total.messages, total.credits) << "each credit is answered by one message";
  EXPECT_LE(total.peak_extra_bytes, total.extra_bytes_bound);
}

}  // namespace
}  // namespace valet::test
