// SPDX-License-Identifier: BSD-3-Clause

// valet-bench as its users run it, small: what it prints and writes, and that the findings of the
// papers are in it.

#include "bench_program.hpp"
#include "temporary_file.hpp"

namespace valet::test {
namespace {

/// What every case of the two studies has, and the promises that hold for each of them.
void expect_good_cases(const Json& document, int ranks, const std::set<std::string>& methods) {
  std::set<std::string> found;
  for (const Json& one : document.at("cases")) {
    for (const char* const key : {"experiment", "free", "seconds_median", "ratio_warm", "phases",
                                  "messages", "peak_extra_bytes"})
      EXPECT_TRUE(one.at(key).is_number()) << key << " of " << one;
    EXPECT_EQ(one.at("ranks"), ranks);
    EXPECT_TRUE(one.at("verified").get<bool>()) << one;
    found.insert(one.at("method").get<std::string>());
    if (one.at("method") != "alltoallv") {
      EXPECT_LE(one.at("peak_extra_bytes"), one.at("extra_bytes_bound")) << one;
    }
  }
  EXPECT_EQ(found, methods);
}

/// Cases of a benchmark that compares Valet with MPI_Alltoallv in a warm and in a cold buffer.
void expect_comparisons(const Json& document, std::size_t count) {
  EXPECT_EQ(document.at("configuration").at("valet"), VALET_TEST_VERSION);
  EXPECT_EQ(document.at("cases").size(), count);
  for (const Json& one : document.at("cases")) {
    for (const char* const key : {"seconds_median", "seconds_plan", "seconds_exchange",
                                  "seconds_local", "ratio_warm", "ratio_cold", "messages"})
      EXPECT_TRUE(one.at(key).is_number()) << key << " of " << one;
    EXPECT_TRUE(one.at("verified").get<bool>()) << one;
    EXPECT_LE(one.at("peak_extra_bytes"), one.at("extra_bytes_bound")) << one;
  }
}

TEST(Program, ExplainsItselfOnce) {
  for (const auto& [arguments, part] : std::map<std::string, std::string>{
           {"--help", "  alltoall  "},
           {"exchange --help", "--share-memory"},
           {"--help-all", "--share-memory"},
           {"--version", "valet-bench (Valet) " VALET_TEST_VERSION "\nvalet: "}}) {
    const ProgramRun outcome = run(2, arguments);
    EXPECT_EQ(outcome.code, 0) << outcome.text;
    const std::size_t found = outcome.text.find(part);
    ASSERT_NE(found, std::string::npos) << arguments << "\n" << outcome.text;
    if (arguments == "--version") {
      EXPECT_EQ(outcome.text.find(part, found + 1), std::string::npos) << "by rank 0 alone";
    }
  }
}

TEST(Program, NamesTheSubcommandsAndOptionsThatThereAre) {
  for (const char* const arguments : {"exchagne", "exchagne --pattern ring"})
    expect_refused(
        2, arguments,
        "unknown subcommand 'exchagne'; known: alltoall, auto, check, exchange, junction, "
        "layout, madre, ragged, restart, sizes, trace");
  expect_refused(2, "", "a subcommand is needed; known: alltoall, auto, check, exchange, ");
  expect_refused(2, "exchange --methd stream",
                 "unknown option '--methd'; did you mean '--method'?");
  expect_refused(2, "exchange --sideways", "unknown option '--sideways'; --help lists all");
  expect_refused(2, "exchange ring", "unexpected argument 'ring'; --help shows what is taken");
  expect_refused(2, "exchange --blocks many", "--blocks: 'many' is no non-negative integer");
  expect_refused(2, "exchange --blocks -3",
                 "--blocks: '-3' is no non-negative integer such as 4096");
  for (const std::string option : {"alltoall --bytes", "exchange --memory", "sizes --most"})
    expect_refused(
        2, option + " 4X",
        option.substr(option.find('-')) + ": '4X' is not a number of bytes; write for example 4M");
  expect_refused(2, "--verison", "unknown option '--verison'; did you mean '--version'?");
}

TEST(ExchangeBench, AllPatternsToRanksAndToSlots) {
  for (const std::string map : {"ranks", "slots"})
    expect_comparisons(
        document_of(3,
                    "exchange --pattern ring,transpose,random,one-free,neighbours --method "
                    "stream,cyclic --blocks 60 --block-bytes 100 --free 12 --memory 3000 "
                    "--repeat 1 --map " +
                        map),
        10);
}

TEST(ExchangeBench, RefusesBadInput) {
  expect_refused(2, "exchange --pattern sideways", "unknown pattern 'sideways'; known: ring, ");
  expect_refused(2, "exchange --method sideways", "unknown method 'sideways'");
  expect_refused(2, "exchange --map sideways",
                 "--map: unknown value 'sideways'; known: ranks, slots");
  expect_refused(2, "exchange --blocks 10 --free 11", "--free is larger than --blocks");
  expect_refused(2, "exchange --block-bytes 0", "--block-bytes: 0 is not positive");
  expect_refused(2, "exchange --repeat 0", "--repeat: 0 is not positive");
}

TEST(AlltoallBench, AllCasesWithAllMethods) {
  for (const std::string order : {"", " --any-order"}) {
    const Json document = document_of(4, "alltoall --bytes 64K --memory 16K --repeat 1" + order);
    expect_comparisons(document, 12);
    for (const Json& one : document.at("cases")) {
      EXPECT_EQ(one.at("used"), one.at("method"));
      EXPECT_EQ(one.at("swaps").get<int>() > 0, one.at("method") != "stream") << one;
      EXPECT_GT(one.at("seconds_alltoallv"), 0) << one;
    }
  }
  // The counts of the cases add up for any number of ranks.
  for (const int ranks : {5, 6, 7})
    expect_comparisons(document_of(ranks, "alltoall --bytes 8K --case 2,3 --repeat 1"), 6);
  const ProgramRun outcome = run(2, "alltoall --bytes 4K --case 1,2,4 --repeat 1");
  EXPECT_EQ(outcome.code, 0) << outcome.text;
  expect_words(outcome.text,
               {"Execution time in seconds", "#proc", "pairwise case-4", "MPI_Alltoallv case-1"});
  EXPECT_EQ(outcome.text.find("case-2"), std::string::npos) << "not defined for 2 ranks";
}

TEST(AutoBench, ComparesTheChoiceWithAllMethods) {
  const Json document = document_of(2,
                                    "auto --pattern ring --bytes 100K --block-bytes 64,4096 "
                                    "--free-percent 10 --repeat 1");
  ASSERT_EQ(document.at("cases").size(), 2U);
  for (const Json& one : document.at("cases")) {
    for (const char* const key : {"auto_over_best", "ratio_warm", "seconds_stream"})
      EXPECT_TRUE(one.at(key).is_number()) << key << " of " << one;
    EXPECT_TRUE(one.at("verified").get<bool>()) << one;
  }
}

TEST(RaggedBench, AllLengthsWithAllMethods) {
  for (const int ranks : {1, 2, 3}) {
    const Json document =
        document_of(ranks,
                    "ragged --lengths uniform-4k,large,lognormal,one-giant --method auto,stream,"
                    "cyclic --bytes 3M --alignment 16 --memory 64K --repeat 1");
    expect_comparisons(document, 4 * 3);
    std::set<std::string> lengths, methods;
    for (const Json& one : document.at("cases")) {
      EXPECT_EQ(one.at("ranks"), ranks);
      EXPECT_EQ(one.at("bytes"), 3 << 20);
      EXPECT_EQ(one.at("alignment"), 16);
      EXPECT_EQ(one.at("messages").get<int>() > 0, ranks > 1) << one;
      EXPECT_LT(one.at("peak_extra_bytes"), 300'000) << one;
      lengths.insert(one.at("lengths").get<std::string>());
      methods.insert(one.at("method").get<std::string>());
    }
    EXPECT_EQ(lengths, (std::set<std::string>{"uniform-4k", "large", "lognormal", "one-giant"}));
    EXPECT_EQ(methods, (std::set<std::string>{"auto", "stream", "cyclic"}));
  }
}

TEST(RaggedBench, RefusesBadInput) {
  expect_refused(
      2, "ragged --lengths sideways",
      "--lengths: unknown value 'sideways'; known: uniform-4k, large, lognormal, one-giant");
  expect_refused(2, "ragged --alignment 3",
                 "--alignment: unknown value '3'; known: 1, 2, 4, 8, 16, 32, 64");
  expect_refused(2, "ragged --bytes 7", "--bytes is too few for a block of --alignment");
  expect_refused(2, "ragged --bytes 2G",
                 "--bytes is 2147483648, but the MPI_Alltoallv to compare with counts bytes with "
                 "int; give less than 2G");
  expect_refused(2, "ragged --bytes 1M --memory 1K", "set --memory to at least 3072");
}

TEST(RestartBench, WritesAndReadsAllKinds) {
  const TemporaryFile folder;
  const std::string in = std::filesystem::path(folder.path()).parent_path().string();
  const ProgramRun outcome = run(2, "restart --bytes 256K --repeat 1 --folder " + in);
  EXPECT_EQ(outcome.code, 0) << outcome.text;
  for (const char* const kind : {"array", "rows to columns", "particles"})
    EXPECT_NE(outcome.text.find(kind), std::string::npos) << outcome.text;
}

TEST(SizesBench, GoesFromFewBytesToMany) {
  const Json document =
      document_of(2, "sizes --pattern ring --block-bytes 64,4096 --least 1K --most 64K --repeat 1");
  // 64-byte blocks from 1 KiB on, 4 KiB blocks from 4 KiB on, and MPI_Alltoallv of each.
  ASSERT_EQ(document.at("cases").size(), 2U * (4 + 3));
  std::set<std::string> methods;
  for (const Json& one : document.at("cases")) {
    for (const char* const key : {"seconds_median", "seconds_plan", "ratio_warm", "messages"})
      EXPECT_TRUE(one.at(key).is_number()) << key << " of " << one;
    EXPECT_EQ(one.at("bytes"),
              one.at("blocks").get<std::uint64_t>() * one.at("block_bytes").get<std::uint64_t>());
    EXPECT_TRUE(one.at("verified").get<bool>()) << one;
    if (one.at("method") != "alltoallv") {
      EXPECT_LE(one.at("peak_extra_bytes"), one.at("extra_bytes_bound")) << one;
    }
    methods.insert(one.at("method").get<std::string>());
  }
  EXPECT_EQ(methods, (std::set<std::string>{"auto", "alltoallv"}));
  EXPECT_EQ(document.at("cases").back().at("bytes"), 65536);
}

TEST(SizesBench, RefusesBadInput) {
  expect_refused(2, "sizes --most 100 --least 1K", "--most is below --least");
  expect_refused(2, "sizes --block-bytes 4096 --most 2K", "no size of a rank holds a block");
  expect_refused(2, "sizes --block-bytes 4", "--block-bytes must be at least 8");
}

TEST(NodeStorage, IsNamedAndTakesBlocksWithoutMessages) {
  std::vector<std::string> benchmarks{"exchange --pattern ring --blocks 600 --block-bytes 4096",
                                      "ragged --lengths large --bytes 8M --method stream",
                                      "alltoall --case 1 --method stream --any-order --bytes 8M"};
#ifdef VALET_BENCH_KOKKOS
  benchmarks.emplace_back("kokkos --particles 40000 --leave 1");
#endif
#ifdef VALET_BENCH_ZOLTAN
  benchmarks.emplace_back("rebalance --distribution uniform --method RCB --particles 2000");
#endif
  for (const std::string& benchmark : benchmarks)
    for (const std::string storage : {"node", "ordinary"}) {
      const Json document = document_of(2, benchmark + " --repeat 1 --storage " + storage);
      EXPECT_EQ(document.at("storage"), storage);
      EXPECT_EQ(document.at("storage_is_shared"), storage == "node");
      std::uint64_t pulled = 0;
      for (const Json& one : document.at("cases")) {
        pulled += one.at("blocks_pulled").get<std::uint64_t>();
        EXPECT_TRUE(one.at("verified").get<bool>()) << one;
      }
      // What leaves a rank for its new part are stretches that may be short: then it is packed.
      if (storage == "ordinary" || !benchmark.starts_with("rebalance")) {
        EXPECT_EQ(pulled > 0, storage == "node") << document;
      }
    }
  const ProgramRun outcome = run(2, "exchange --blocks 10 --repeat 1 --storage node");
  expect_words(outcome.text, {"storage: node\n", "blocks_pulled"});
  expect_refused(2, "ragged --storage device",
                 "--storage: unknown value 'device'; known: ordinary, node");
}

#ifdef VALET_BENCH_KOKKOS
TEST(KokkosBench, ParticlesLeave) {
  expect_comparisons(document_of(3,
                                 "kokkos --particles 2000 --leave 0.3 --order stable --method "
                                 "stream,direct --repeat 1"),
                     2);
}
#endif

TEST(Madre, AllExperimentsWithAllMethods) {
  const Json document =
      document_of(3, "madre --blocks 50 --block-bytes 100 --memory 3000 --repeat 1");
  expect_good_cases(document, 3,
                    {"stream", "cyclic-ascending", "cyclic-rotated", "phased", "alltoallv"});
  std::vector<int> cases(6, 0);
  for (const Json& one : document.at("cases")) ++cases.at(one.at("experiment").get<std::size_t>());
  // Five series; the third experiment has five amounts of free memory.
  EXPECT_EQ(cases, (std::vector<int>{0, 5, 5, 25, 5, 5}));
}

TEST(Madre, ParkingCostsMorePhasesTheLessMemoryIsFree) {
  // A budget of one block: the free slots are all the memory there is.
  const Json document =
      document_of(2,
                  "madre --experiment 3 --blocks 50 --block-bytes 100 --memory 100 --method phased "
                  "--repeat 1");
  std::vector<std::pair<int, int>> phases;  // by free slots, many first
  for (const Json& one : document.at("cases"))
    if (one.at("method") == "phased") phases.emplace_back(one.at("free"), one.at("phases"));
  ASSERT_EQ(phases.size(), 5U);
  for (std::size_t k = 1; k < phases.size(); ++k) {
    EXPECT_LT(phases[k].first, phases[k - 1].first);
    EXPECT_GT(phases[k].second, phases[k - 1].second) << phases[k].first << " free";
  }
  EXPECT_EQ(phases.back().first, 0);
  EXPECT_EQ(phases.back().second, 50) << "one block a phase";
}

TEST(Madre, CriticalPathOfTheTransposeAsItIsPrinted) {
  const Json document =
      document_of(4, "madre --experiment 5 --blocks 50 --block-bytes 100 --repeat 1");
  for (const Json& one : document.at("cases")) {
    if (one.at("method") == "cyclic-ascending") {
      EXPECT_EQ(one.at("phases"), 2 * 4 - 3);
    }
    if (one.at("method") == "cyclic-rotated") {
      EXPECT_EQ(one.at("phases"), 4 - 1);
    }
  }
}

/// Phases by experiment, free slots and method.
using PhasesOfCases = std::map<std::tuple<int, int, std::string>, int>;
PhasesOfCases phases_of_cases(const Json& cases) {
  PhasesOfCases phases;
  for (const Json& one : cases)
    phases[{one.at("experiment"), one.at("free"), one.at("method")}] = one.at("phases");
  return phases;
}

// What is counted for any number of processes is what the same number of ranks then does.
TEST(Madre, CountsThePhasesThatRanksTake) {
  const std::string setting = "madre --blocks 50 --block-bytes 100 --memory 100 --repeat 1";
  for (const int ranks : {2, 4, 5}) {
    const Json done = document_of(
        ranks, setting + " --method phased,cyclic-ascending,cyclic-rotated --no-share-memory");
    const Json counted = document_of(1, setting + " --processes " + std::to_string(ranks));
    EXPECT_TRUE(counted.at("cases").empty()) << "nothing is measured";
    PhasesOfCases expected = phases_of_cases(done.at("cases"));
    std::erase_if(expected, [](const auto& one) { return std::get<2>(one.first) == "alltoallv"; });
    EXPECT_EQ(expected, phases_of_cases(counted.at("schedules"))) << ranks << " ranks";
  }
}

TEST(Madre, CountsThePapersProcesses) {
  const Json document = document_of(1, "madre --experiment 3,5 --blocks 25000 --processes 32,1024");
  const PhasesOfCases phases = phases_of_cases(document.at("schedules"));
  EXPECT_EQ(phases.at({3, 0, "phased"}), 25000) << "one block a phase, section 4";
  // The paper has 4 for any number of processes; ceil(T/M) is 4.
  EXPECT_LE(phases.at({5, 5000, "phased"}), 5);
  for (const Json& one : document.at("schedules"))
    if (one.at("experiment") == 5 && one.at("processes") == 32 &&
        one.at("method") == "cyclic-ascending") {
      EXPECT_EQ(one.at("phases"), 2 * 32 - 3) << "equal pairs";
    }
}

TEST(Madre, RefusesBadInput) {
  expect_refused(2, "madre --processes 1", "--processes: 1 is not within 2 and 4096");
  expect_refused(2, "madre --experiment 6", "--experiment: 6 is not within");
  expect_refused(2, "madre --blocks 10 --free 11 --experiment 1",
                 "--free is larger than --blocks, which counts all slots");
  expect_refused(2, "madre --method sideways",
                 "--method: unknown value 'sideways'; known: stream, cyclic-asc");
  expect_refused(2, "madre --memory much", "much");
}

#ifdef VALET_BENCH_ZOLTAN

const std::string small_phases =
    "phases --vertices 3000 --parts 16,32 --instances 3 --part 1,16,128 --repeat 1";

TEST(PhasesBench, AllExperimentsWithData) {
  const Json document = document_of(
      2, "phases --vertices 600 --parts 8 --instances 1 --part 2,16 --repeat 1 --overlap 2");
  std::set<std::string> methods{"stream", "alltoallv"};
  for (const std::string heuristic :
       {"first_fit", "max_first", "random", "fortune_wheel", "min_max", "continuous"}) {
    methods.insert(heuristic);
    if (heuristic != "continuous") methods.insert(heuristic + "-centralized-parking1");
  }
  for (const char* const parking : {"1", "2", "3"})
    methods.insert(std::string("fortune_wheel-parking") + parking);
  expect_good_cases(document, 2, methods);
  std::set<int> experiments;
  std::set<std::string> remaps;
  for (const Json& one : document.at("cases")) {
    experiments.insert(one.at("experiment").get<int>());
    remaps.insert(one.at("remap").get<std::string>());
  }
  EXPECT_EQ(experiments, (std::set<int>{1, 2, 3, 4}));
  EXPECT_EQ(remaps, (std::set<std::string>{"diffuse", "scratch"}));
}

/// Mean phases of a way to make them where memory is tightest, for all numbers of parts together.
double phases_of(const Json& document, int experiment, const std::string& method) {
  double sum = 0;
  int count = 0;
  for (const Json& one : document.at("schedules"))
    if (one.at("experiment") == experiment && one.at("method") == method && one.at("part") == 128) {
      sum += one.at("phases").get<double>();
      ++count;
    }
  EXPECT_GT(count, 0) << method;
  return sum / count;
}

TEST(PhasesBench, CountedSchedulesShowWhatThePaperFound) {
  const Json document = document_of(2, small_phases +
                                           " --experiment 3,4 --remap scratch"
                                           " --carry-out 0");
  EXPECT_TRUE(document.at("cases").empty());
  for (const Json& one : document.at("schedules")) {
    EXPECT_EQ(one.at("instances"), 3);
    if (one.at("method") != "continuous") {
      EXPECT_GE(one.at("phases"), one.at("lower")) << one;
    }
    if (one.at("method").get<std::string>().ends_with("parking1")) {
      EXPECT_LE(one.at("phases"), one.at("upper")) << one;
    }
    EXPECT_LE(one.at("phases_least"), one.at("phases")) << one;
    EXPECT_GE(one.at("phases_most"), one.at("phases")) << one;
    if (one.at("part") == 1 && one.at("method") != "continuous") {
      EXPECT_EQ(one.at("phases"), 1) << "memory for one phase: " << one;
    }
  }
  const double first_fit = phases_of(document, 3, "first_fit");
  std::printf("phases, memory 1/128: first_fit %.1f", first_fit);
  for (const char* const heuristic : {"random", "fortune_wheel"}) {
    const double phases = phases_of(document, 3, heuristic);
    std::printf(", %s %.1f", heuristic, phases);
    EXPECT_LT(phases, first_fit) << "Figure 12";
  }
  for (const char* const heuristic : {"fortune_wheel", "first_fit"}) {
    const double never = phases_of(document, 4, heuristic);
    const double always = phases_of(document, 4, std::string(heuristic) + "-parking1");
    std::printf("; parking: %s %.1f to %.1f", heuristic, never, always);
    EXPECT_LT(always, never) << "Figure 13";
  }
  std::printf("\n");
}

TEST(DropinBench, ComparesWithStock) {
  for (const std::string forms : {"", " --multi"}) {
    const Json document = document_of(2, "dropin --data 1M --object 1K,64K --repeat 2" + forms);
    ASSERT_EQ(document.at("cases").size(), 6U);
    for (const Json& one : document.at("cases")) {
      EXPECT_TRUE(one.at("verified").get<bool>()) << one;
      EXPECT_GT(one.at("ratio_stock"), 0) << one;
      if (one.at("mode") == "ZOLTAN") {
        EXPECT_EQ(one.at("ratio_stock"), 1) << one;
      }
    }
  }
}

TEST(RebalanceBench, ComparesCellsWithEveryParticleByItself) {
  const Json document = document_of(
      3, "rebalance --particles 3000 --method RCB,hsfc --memory 256K --repeat 1 --parts 8");
  ASSERT_EQ(document.at("cases").size(), 4U * 2 * 3);
  std::set<std::string> distributions, doors;
  for (const Json& one : document.at("cases")) {
    for (const char* const key :
         {"seconds_median", "ratio_uncoarsened", "ratio_rebalancer", "growth_bytes",
          "promised_bytes", "imbalance_after", "cut_pairs", "ratio_cut"})
      EXPECT_TRUE(one.at(key).is_number()) << key << " of " << one;
    EXPECT_TRUE(one.at("verified").get<bool>()) << one;
    EXPECT_LT(one.at("imbalance_after"), 1.06) << one;
    EXPECT_EQ(one.at("ranks"), 3);
    if (one.at("granularity") == "1") {
      EXPECT_EQ(one.at("ratio_uncoarsened"), 1) << one;
      EXPECT_EQ(one.at("ratio_cut"), 1) << one;
    }
    distributions.insert(one.at("distribution").get<std::string>());
    doors.insert(one.at("door").get<std::string>());
  }
  EXPECT_EQ(doors, (std::set<std::string>{"AUTO_MIGRATE", "Rebalancer"}));
  EXPECT_EQ(distributions,
            (std::set<std::string>{"uniform", "clustered", "needle", "moving-front"}));
}

// Zoltan takes 80 bytes and more for each particle: that must be seen in every case, after others
// have taken and freed as much.
TEST(RebalanceBench, ShowsWhatThePartitionTakes) {
  const Json document = document_of(
      2, "rebalance --particles 100000 --distribution uniform,uniform --method RCB,RIB --repeat 1");
  for (const Json& one : document.at("cases")) {
    if (one.at("granularity") == "1") {
      EXPECT_GT(one.at("growth_bytes"), 70 * 100'000) << one;
    } else {
      EXPECT_LT(one.at("growth_bytes"), one.at("promised_bytes")) << one;
    }
  }
}

TEST(RebalanceBench, RefusesBadInput) {
  expect_refused(2, "rebalance --distribution heap",
                 "unknown distribution 'heap'; known: uniform, clustered, needle, moving-front");
  expect_refused(2, "rebalance --particles 0", "--particles: 0 is not positive");
}

TEST(PhasesBench, ReadsAGraph) {
  // A ring of 24 vertices.
  std::string text = "24 24\n";
  for (int v = 0; v < 24; ++v)
    text += std::to_string((v + 23) % 24 + 1) + " " + std::to_string((v + 1) % 24 + 1) + "\n";
  const TemporaryFile graph(text);
  const Json document =
      document_of(2, "phases --graph " + graph.path() +
                         " --parts 4 --instances 2 --part 2 --repeat 1 --experiment 1");
  EXPECT_GT(document.at("cases").size(), 0U);
  for (const Json& one : document.at("cases")) EXPECT_EQ(one.at("vertices"), 24);
}

TEST(PhasesBench, RefusesBadInput) {
  const TemporaryFile graph("3 2\n2\n1 3\n2 x\n");
  expect_refused(2, "phases --graph " + graph.path(), ", line 4: 'x' is no number");
  expect_refused(2, "phases --graph /no/such.graph", "cannot read '/no/such.graph'");
  expect_refused(2, "phases --experiment 5", "--experiment: 5 is not within");
  expect_refused(2, "phases --remap sideways",
                 "--remap: unknown value 'sideways'; known: diffuse, scratch");
  expect_refused(2, "phases --carry-out -1", "--carry-out: '-1' is no non-negative integer");
  expect_refused(2, "phases --parts 1", "--parts: 1 is not within");
  expect_refused(2, "phases --vertices 20 --parts 64", "64 parts for 20 vertices");
}

#endif

TEST(TraceBench, ReportsWhatATraceCosts) {
  const TemporaryFile trace;
  const Json document = document_of(2,
                                    "trace --bytes 100K --block-bytes 64,1000 --pattern ring "
                                    "--method stream,phased --repeat 2 --file " +
                                        trace.path());
  ASSERT_EQ(document.at("cases").size(), 4U);
  for (const Json& one : document.at("cases")) {
    EXPECT_TRUE(one.at("verified").get<bool>()) << one;
    for (const char* const key : {"seconds_off", "seconds_on", "ratio_on", "entries"})
      EXPECT_GT(one.at(key).get<double>(), 0) << one;
  }
  const std::string text = trace.text();
  EXPECT_EQ(document.at("cases").back().at("file_bytes"), text.size());
  EXPECT_FALSE(Json::parse(text, nullptr, false).is_discarded());
  expect_refused(2, "trace --bytes 1M --block-bytes 4", "--block-bytes must be at least 8");
}

}  // namespace
}  // namespace valet::test
