// SPDX-License-Identifier: BSD-3-Clause

// valet-bench check as its users run it, and what all subcommands print and refuse alike.

#include "bench_program.hpp"

#include <algorithm>
#include <sstream>

namespace valet::test {
namespace {

/// None is longer than 120 characters. How many there are.
int expect_short_lines(const std::string& text) {
  std::istringstream stream(text);
  int lines = 0;
  for (std::string line; std::getline(stream, line); ++lines) EXPECT_LE(line.size(), 120U) << line;
  return lines;
}

/// Whether what was concluded follows from what was measured.
void expect_conclusion(const Json& document, const Json& verdict, const Json& valet) {
  const Json& peer = document.at("cases").at(0);
  const std::uint64_t buffers = peer.at("peak_extra_bytes");
  EXPECT_EQ(verdict.at("saves_memory"),
            valet.at("peak_extra_bytes").get<std::uint64_t>() < buffers &&
                buffers > document.at("setting").at("memory"))
      << document;
  const double lower = verdict.at("ratio_lower"), upper = verdict.at("ratio_upper");
  EXPECT_EQ(verdict.at("time"), upper < 1 ? "less" : lower > 1 ? "more" : "alike") << verdict;
  EXPECT_LE(lower, verdict.at("ratio_median")) << verdict;
  EXPECT_GE(upper, verdict.at("ratio_median")) << verdict;
}

TEST(CheckBench, SaysWhetherMovingInPlacePays) {
  for (const int ranks : {2, 3, 5}) {
    const TemporaryFile file;
    const ProgramRun outcome =
        run(ranks, "check --bytes 4M --block 4K --neighbours " + std::to_string(ranks - 1) +
                       " --memory 256K --repeat 3 --no-bind --json " + file.path());
    EXPECT_EQ(outcome.code, 0) << outcome.text;
    expect_words(outcome.text, {"MPI_Alltoallv, buffers kept", "found: one host, ",
                                " shared memory between ranks, node storage",
                                "1024 blocks of 4 KiB leave each rank for ", "\nValet pays in ",
                                " MiB a rank; ", "on node storage it pays in "});
    EXPECT_LE(expect_short_lines(outcome.text), 12) << outcome.text;
    const Json document = Json::parse(file.text());
    ASSERT_EQ(document.at("cases").size(), 4U);
    for (const Json& one : document.at("cases")) EXPECT_TRUE(one.at("verified").get<bool>()) << one;
    // What is packed, but for a single destination, and what is received.
    EXPECT_EQ(document.at("cases").at(0).at("peak_extra_bytes"), (ranks == 2 ? 4 : 8) << 20);
    EXPECT_EQ(document.at("found").at("hosts"), 1);
    expect_conclusion(document, document.at("verdicts").at("ordinary"), document.at("cases").at(2));
    expect_conclusion(document, document.at("verdicts").at("node"), document.at("cases").at(3));
  }
}

TEST(CheckBench, SendsFewBlocksToAllNeighboursToo) {
  const Json document =
      document_of(5, "check --bytes 1M --block 64K --neighbours 2 --repeat 1 --memory 64K");
  EXPECT_EQ(document.at("cases").at(0).at("peak_extra_bytes"), 2 << 20) << "packed and received";
}

TEST(CheckBench, SavesNothingThatFitsTheBudgetAnyway) {
  const ProgramRun outcome = run(2, "check --bytes 64K --repeat 3 --no-bind");
  EXPECT_EQ(outcome.code, 0) << outcome.text;
  expect_words(outcome.text, {"4 blocks of 16 KiB leave each rank for 1 other; medians of 3 rounds",
                              " 64 KiB a rank, within --memory; "});
  EXPECT_EQ(outcome.text.find("pays in memory"), std::string::npos) << outcome.text;
}

TEST(CheckBench, FindsWhatTheMachineHas) {
  const std::string tiny = "check --bytes 1M --repeat 2 --no-bind ";
  expect_words(run(2, tiny + "--no-share-memory").text, {"no shared memory between ranks"});
  const std::string without = VALET_NO_SINGLE_COPY;
  if (without.empty()) GTEST_SKIP() << "no option of this MPI is known";
  const ProgramRun outcome =
      run_program("env " + without + " " VALET_LAUNCH "2 " VALET_BENCH_PROGRAM " " + tiny);
  expect_words(outcome.text,
               {"found: one host, no single copies of MPI (CMA), shared memory between ranks"});
}

TEST(CheckBench, RefusesBadInput) {
  expect_refused(1, "check", "one rank has nobody to send to: start it with mpirun -n 2 or more");
  expect_refused(3, "check --neighbours 3", "--neighbours is 3, but a rank has 2 others");
  expect_refused(2, "check --bytes 1K", "--bytes is 1K, less than a block of 16K");
  expect_refused(2, "check --repeat -1", "--repeat: -1 is not within 0 and 1000000");
  expect_refused(2, "check --block 4", "--block-bytes must be at least 8");
  expect_refused(2, "check --bytes 1M --memory 1K", "set --memory to at least 16384");
}

TEST(Bench, CountsTheCopiesOfMpiBetweenProcesses) {
  const std::string tiny = "exchange --pattern ring --blocks 500 --repeat 1";
  EXPECT_TRUE(document_of(2, tiny).at("single_copy_calls").is_number()) << "or none can be counted";
  const std::string without = VALET_NO_SINGLE_COPY;
  if (without.empty()) GTEST_SKIP() << "no option of this MPI is known";
  const ProgramRun outcome =
      run_program("env " + without + " " VALET_LAUNCH "2 " VALET_BENCH_PROGRAM " " + tiny);
  expect_words(outcome.text, {"single copies between processes (CMA): 0\n"});
}

TEST(Bench, BindsRanksWhereThereAreEnoughCores) {
  const TemporaryFile file;
  const auto said = [&](const char* options) {
    const ProgramRun outcome =
        run_program("env " VALET_UNBOUND " " VALET_LAUNCH "2 " VALET_BENCH_PROGRAM
                    " exchange --pattern ring --blocks 500 --repeat 1 --json " +
                    file.path() + options);
    const std::string line = outcome.text.substr(0, outcome.text.find('\n'));
    EXPECT_EQ(line.find("2 ranks on "), 0) << outcome.text;
    EXPECT_EQ(Json::parse(file.text()).at("placement"), line);
    return line;
  };
  const std::string left = said(" --no-bind"), now = said("");
  const std::size_t end = left.find(", not bound");
  EXPECT_EQ(now, end == std::string::npos ? left : left.substr(0, end) + ", bound");
}

TEST(Bench, PrintsTablesThatFitALineWithUnits) {
  const ProgramRun outcome =
      run(2,
          "exchange --pattern ring,random --method stream,phased --blocks 500 "
          "--block-bytes 16384 --repeat 1 --no-bind");
  EXPECT_EQ(outcome.code, 0) << outcome.text;
  expect_short_lines(outcome.text);
  expect_words(outcome.text,
               {"in all rows: map ranks, order any, ranks 2, blocks 500, block_bytes 16 KiB",
                "memory 4 MiB", "verified yes", "seconds_median", " ms", "\nrow  "});
  // A single row has all columns.
  const ProgramRun single = run(2, "exchange --pattern ring --blocks 500 --repeat 1 --no-bind");
  expect_short_lines(single.text);
  expect_words(single.text, {"16000 B", "verified", "local_copies"});
}

TEST(Bench, RefusesAFileThatCannotBeWrittenBeforeItMeasures) {
  const ProgramRun outcome =
      run(2, "madre --experiment 1 --blocks 5 --repeat 1 --json /no/such/directory/file.json");
  EXPECT_EQ(outcome.code, 2);
  expect_words(outcome.text, {"--json: cannot write '/no/such/directory/file.json' (No such file"});
  EXPECT_EQ(outcome.text.find("ranks on"), std::string::npos) << outcome.text;
  EXPECT_NE(run(2, "exchange --blocks 5 --repeat 1 --no-bind --json /dev/full").code, 0);
}

}  // namespace
}  // namespace valet::test
