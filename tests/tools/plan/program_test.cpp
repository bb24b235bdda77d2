// SPDX-License-Identifier: BSD-3-Clause

// valet-plan as its users run it: what it prints, its exit codes and its file.

#include "run_program.hpp"
#include "temporary_file.hpp"

#include <nlohmann/json.hpp>

#include <filesystem>
#include <sstream>

namespace valet::test {
namespace {

ProgramRun run(const std::string& arguments) {
  return run_program(std::string(VALET_PLAN_PROGRAM) + " " + arguments);
}

void expect_refused(const std::string& arguments, const std::string& part) {
  const ProgramRun outcome = run(arguments);
  EXPECT_EQ(outcome.code, 2) << arguments << "\n" << outcome.text;
  EXPECT_NE(outcome.text.find(part), std::string::npos) << arguments << "\n" << outcome.text;
}

TEST(Program, ShowsTheCounterexampleToThePublishedBound) {
  const ProgramRun outcome = run("--pattern counterexample --ranks 9 --exact-seconds 0");
  EXPECT_EQ(outcome.code, 0);
  expect_words(outcome.text,
               {"9 ranks, 8 transfers, T = 8 blocks", "M = 2, 0 to 2 on a rank",
                "at least 4 phases", "at most 9, ceil(2T/M)+1", "published as 7, ceil(3T/2M)+1",
                "more than the published bound", "stuck: no block can move without parking"});
}

TEST(Program, SaysForWhichHeuristicsTheBoundHolds) {
  // One block, and room for it: continuous also levels, and takes a phase more than the bound.
  const TemporaryFile matrix("%%MatrixMarket matrix coordinate integer general\n3 3 1\n1 2 1\n");
  const TemporaryFile free("0\n1\n2\n");
  const ProgramRun outcome = run(matrix.path() + " --free " + free.path() + " --parking 1");
  EXPECT_EQ(outcome.code, 0);
  expect_words(outcome.text, {"at most 2, ceil(2T/M)+1, but for continuous",
                              "more than the bound of the others"});
}

TEST(Program, WritesWhatItFoundAsJson) {
  const TemporaryFile json;
  const ProgramRun outcome = run("--pattern figure5 --parking 0,1,2 --json " + json.path());
  ASSERT_EQ(outcome.code, 0) << outcome.text;
  const auto document = nlohmann::json::parse(json.text());
  EXPECT_EQ(document.at("configuration").at("valet"), VALET_TEST_VERSION);
  EXPECT_EQ(document.at("problem").at("volume"), 200);
  EXPECT_EQ(document.at("problem").at("free"), 102);
  EXPECT_EQ(document.at("bounds").at("lower"), 2);
  EXPECT_EQ(document.at("relaxation").at("phases"), 4);
  EXPECT_EQ(document.at("cases").size(), 18U);
  for (const auto& one : document.at("cases")) {
    if (one.at("heuristic") == "continuous") continue;
    EXPECT_TRUE(one.at("complete"));
    EXPECT_EQ(one.at("volume").get<int>(), 200 + one.at("detours").get<int>());
    const int parking = one.at("parking");
    EXPECT_EQ(one.at("phases"), parking == 0 ? 100 : parking == 1 ? 3 : 4);
  }
  EXPECT_EQ(document.at("cyclic").size(), 2U);
#ifdef VALET_PLAN_CBC
  EXPECT_TRUE(document.at("exact").at("proved"));
  EXPECT_EQ(document.at("exact").at("upper"), 3);
  expect_words(outcome.text, {"exact minimum: 3 phases (proved"});
#else
  EXPECT_FALSE(document.at("exact").at("proved"));
  expect_words(outcome.text, {"not proved (built without CBC), between 2 and 3 phases"});
#endif
}

TEST(Program, ReadsAMatrixAndFreeMemory) {
  const TemporaryFile matrix(
      "%%MatrixMarket matrix coordinate integer general\n3 3 2\n1 2 100\n2 1 100\n");
  const TemporaryFile free("1\n1\n100\n");
  const ProgramRun outcome =
      run(matrix.path() + " --free " + free.path() + " --heuristic FIRST_FIT");
  EXPECT_EQ(outcome.code, 0) << outcome.text;
  expect_words(outcome.text, {"M = 102, 1 to 100 on a rank"});
  const ProgramRun with_scratch = run(matrix.path() + " --free 0 --scratch 4 --parking 0");
  expect_words(with_scratch.text, {"M = 12, 4 to 4 on a rank"});
}

TEST(Program, SaysWhoIsBusyInAMatrixThatValetHasWritten) {
  // Blocks of 1000 bytes: rank 1 sends 300 of them and gets none; the budget makes ten slots.
  const TemporaryFile matrix(
      "%%MatrixMarket matrix coordinate integer general\n% by a run\n%! 2 0 300000 10000 70000\n"
      "%! 1 190 100000 10000 20000\n%! 3 200 0 10000 5000\n3 3 3\n2 1 200\n2 3 100\n1 3 100\n");
  const TemporaryFile json;
  const ProgramRun outcome =
      run(matrix.path() + " --latency 1e-3 --bandwidth 1e6 --json " + json.path());
  EXPECT_EQ(outcome.code, 0) << outcome.text;
  expect_words(outcome.text,
               {"busiest rank: 1 (of 0 to 2), which sends 293 KiB to 2 ranks and gets 0 B from 0",
                "predicted time: 302 ms at 1000 us a message and 0.001 GB/s in each direction",
                "peak memory: 70000 B beyond the blocks, on rank 1", "M = 420, 10 to 210 on a rank",
                "of 200 blocks at most: '.:-=+*%@'\n  |    = |\n  |@   = |\n  |      |\n"});
  const auto transfers = nlohmann::json::parse(json.text()).at("transfers");
  EXPECT_EQ(transfers.at("block_bytes"), 1000);
  EXPECT_EQ(transfers.at("busiest").at("bytes_sent"), 300'000);
  EXPECT_EQ(transfers.at("memory").at("peak"), 70'000);
  // By others there are no such lines: the free slots have to be said, and the size of a block.
  const TemporaryFile plain("%%MatrixMarket matrix coordinate integer general\n3 3 1\n1 2 1024\n");
  const ProgramRun without =
      run(plain.path() + " --free 1024 --block-bytes 1024 --exact-seconds 0");
  expect_words(without.text, {"1 MiB leave their rank, 1 KiB a block", "bound of memory: "});
  EXPECT_EQ(without.text.find("peak memory"), std::string::npos) << without.text;
  const TemporaryFile broken(
      "%%MatrixMarket matrix coordinate integer general\n%! 1 2 3\n3 3 1\n1 2 1024\n");
  expect_refused(broken.path(), "line 2: '%! rank free sent budget peak' is expected");
  const TemporaryFile outside(
      "%%MatrixMarket matrix coordinate integer general\n%! 4 1 1 1 1\n3 3 1\n1 2 1024\n");
  expect_refused(outside.path(), "line 2: rank 4 is not within 1 and 3");
}

TEST(Program, DrawsManyRanksInFiftyRows) {
  std::string text = "%%MatrixMarket matrix coordinate integer general\n120 120 120\n";
  for (int rank = 1; rank <= 120; ++rank)
    text += std::to_string(rank) + " " + std::to_string(rank % 120 + 1) + " 5\n";
  const TemporaryFile matrix(text);
  const ProgramRun outcome =
      run(matrix.path() + " --free 5 --heuristic first_fit --exact-seconds 0");
  expect_words(outcome.text, {"from row to column, 3 ranks a cell; of 10 blocks at most"});
  std::istringstream lines(outcome.text);
  int rows = 0;
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(line.size(), 160U) << line;
    if (line.starts_with("  |")) ++rows;
  }
  EXPECT_EQ(rows, 40);
}

TEST(Program, StopsHeuristicsThatNeedTooManyPhases) {
  const TemporaryFile matrix(
      "%%MatrixMarket matrix coordinate integer general\n3 3 3\n1 2 1000000000000\n"
      "2 3 1000000000000\n3 1 1000000000000\n");
  const ProgramRun stopped = run(matrix.path() + " --free 1 --most-phases 1000 --exact-seconds 1");
  EXPECT_EQ(stopped.code, 0) << stopped.text;
  expect_words(stopped.text, {"stopped; a larger --most-phases continues"});
  const ProgramRun ended = run(matrix.path() + " --free 1000000000 --most-phases 1001");
  EXPECT_EQ(ended.text.find("stopped"), std::string::npos) << ended.text;
}

TEST(Program, ReadsAGraph) {
  const TemporaryFile graph(
      "%%MatrixMarket matrix coordinate pattern general\n3 3 4\n1 2\n2 1\n1 3\n3 1\n");
  const ProgramRun outcome = run("--graph " + graph.path());
  EXPECT_EQ(outcome.code, 0) << outcome.text;
#ifdef VALET_PLAN_CBC
  EXPECT_NE(outcome.text.find("exact minimum: 5 phases (proved"), std::string::npos)
      << "a star has no Hamiltonian circuit: more than 4\n"
      << outcome.text;
#endif
}

TEST(Program, RefusesBadInput) {
  const TemporaryFile matrix("%%MatrixMarket matrix coordinate integer general\n3 3 1\n1 2 100\n");
  const TemporaryFile wide("%%MatrixMarket matrix coordinate integer general\n3 4 1\n1 2 100\n");
  const TemporaryFile broken("%%MatrixMarket matrix coordinate integer general\n3 3 1\n1 2 ten\n");
  expect_refused(
      "", "give exactly one of: a matrix file, --pattern, --graph, --neighbours, --junction");
  expect_refused("--pattern figure6 --ranks 8", "give an odd number of ranks from 3 on, not 8");
  expect_refused(
      matrix.path(),
      "free slots are needed with a matrix that Valet has not written: --free NUMBER or");
  expect_refused(matrix.path() + " --free 99",
                 "rank 1 receives 100 blocks, sends 0 and has 99 free slots: it needs 1 more");
  expect_refused(wide.path() + " --free 100", "line 2: the matrix is not square");
  expect_refused(broken.path() + " --free 100", "line 3: 'ten' is no number of blocks");
  expect_refused("/no/such.mtx --free 1", "cannot read '/no/such.mtx'");
  expect_refused("/no/such.valet", "'/no/such.valet' cannot be opened");
  expect_refused("--pattern ring --parking -1", "--parking: -1 is not within 0 and 2147483647");
  expect_refused("--pattern ring --parking often", "--parking: 'often' is no integer");
  expect_refused("--pattern ring --heuristic best_fit",
                 "unknown heuristic 'best_fit'; known: first_fit, max_first");
  expect_refused("--pattern star", "unknown pattern 'star'; known: ring");
  expect_refused("--pattern figure6 --free 0", "no rank has a free slot");
  expect_refused("--pattern ring --ranks many", "--ranks: 'many' is no non-negative integer");
  expect_refused("--pattern ring --exact-seconds soon", "--exact-seconds: 'soon' is no number");
}

TEST(Program, NamesTheFileThatIsNotThere) {
  expect_refused("nowhere.mtx", "cannot read 'nowhere.mtx': is there such a file?");
  expect_refused("nowhere.mtx --free 1", "cannot read 'nowhere.mtx': is there such a file?");
  expect_refused("--graph nowhere.mtx", "cannot read 'nowhere.mtx': is there such a file?");
}

TEST(Program, SaysWhatWasMeant) {
  expect_refused("--patern ring", "unknown option '--patern'; did you mean '--pattern'? ");
  expect_refused("--rnaks=4 --pattern ring", "unknown option '--rnaks'; did you mean '--ranks'? ");
  expect_refused("--pattern ring --unknown", "unknown option '--unknown'; --help lists all");
  expect_refused("--pattern ring one.mtx two.mtx", "unexpected argument 'two.mtx'; --help shows");
}

TEST(Program, RefusesAFileThatCannotBeWrittenBeforeItAnalyses) {
  const ProgramRun outcome = run("--pattern ring --json /no/such/directory/file.json");
  EXPECT_EQ(outcome.code, 2);
  expect_words(outcome.text, {"--json: cannot write '/no/such/directory/file.json' (No such file"});
  EXPECT_EQ(outcome.text.find("transfers"), std::string::npos) << outcome.text;
}

TEST(Program, WritesItsFileAsAWholeOrNotAtAll) {
  const TemporaryFile json("what was there");
  const ProgramRun outcome =
      run_program("ulimit -f 1; " VALET_PLAN_PROGRAM " --pattern figure5 --json " + json.path());
  EXPECT_EQ(outcome.code, 1) << outcome.text;
  expect_words(outcome.text, {"(File too large); give a path"});
  EXPECT_EQ(json.text(), "what was there");
  for (const auto& entry :
       std::filesystem::directory_iterator(std::filesystem::path(json.path()).parent_path())) {
    const std::string name = entry.path().string();
    EXPECT_TRUE(name == json.path() || !name.starts_with(json.path())) << name << " is left";
  }
  EXPECT_EQ(run("--pattern figure5 --json /dev/full").code, 1);
}

TEST(Program, WritesItsFileToAPipeToo) {
  const ProgramRun outcome =
      run_program("{ " VALET_PLAN_PROGRAM " --pattern figure5 --json /dev/fd/3 3>&1 >/dev/null; }");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_FALSE(nlohmann::json::parse(outcome.text, nullptr, false).is_discarded()) << outcome.text;
}

TEST(Program, SaysThatStandardOutputIsFull) {
  const ProgramRun outcome =
      run_program("{ " VALET_PLAN_PROGRAM " --pattern figure5 > /dev/full; } 2>&1");
  EXPECT_EQ(outcome.code, 1);
  expect_words(outcome.text, {"cannot write to standard output"});
}

TEST(Program, ExplainsItself) {
  const ProgramRun outcome = run("--help");
  EXPECT_EQ(outcome.code, 0);
  expect_words(outcome.text, {"--exact-seconds"});
  const ProgramRun version = run("--version");
  EXPECT_EQ(version.code, 0);
  EXPECT_EQ(version.text.find("valet-plan (Valet) " VALET_TEST_VERSION
                              "\nvalet: " VALET_TEST_VERSION "\nmpi_compiled: "),
            0)
      << version.text;
}

}  // namespace
}  // namespace valet::test
