// SPDX-License-Identifier: BSD-3-Clause

// The MIGRATE_* parameters mean the same through every door: attached storage, the Rebalancer,
// lists with their structure, and Zoltan_Migrate() with callbacks. The test runs with
// VALET_MIGRATE_METHOD=DIRECT, VALET_MIGRATE_VERIFY=1 and VALET_MIGRATE_CALLBACKS=STEPS.

#include "attached_line.hpp"
#include "dropin/object_client.hpp"
#include <valet/zoltan/lists.hpp>
#include <valet/zoltan/rebalancer.hpp>

#include <fstream>

namespace valet::test {
namespace {

using Given = std::vector<std::pair<std::string, std::string>>;

/// What a migration did, as its report has it.
struct Done {
  Outcome outcome;
  std::string method;  ///< in lower case
  bool verified = false;
  std::uint64_t budget_bytes = 0, phases = 0;
  std::vector<std::uint64_t> numbers = {};  ///< of the objects of this rank
};

Done done_by(const Report& report) {
  return {{}, report.method, report.verified, report.budget_bytes, report.phases};
}

/// One object for the next rank.
struct OneObject : ObjectClient {
  explicit OneObject(const Given& given) : ObjectClient({}, false) {
    for (const auto& [name, value] : given) set(name.c_str(), value);
    export_to((rank() + 1) % size(), 0, 0);
  }
  int size_of(Id, Id) override { return 8; }
  void pack(Id, Id, int, int, char* to) override { std::memset(to, 1, 8); }
  void unpack(Id, int, char*) override {}
};

/// A door: migrates objects with parameters that are set on a structure, and with options.
struct ParameterDoor {
  const char* name;
  bool has_options;
  std::function<Done(const Given&, const Options&)> migrate;
};

Done by_attached(const Given& given, const Options& options) {
  AttachedLine line;
  line.attach({.migration = options});
  for (const auto& [name, value] : given) line.set(name.c_str(), value);
  Done done;
  const Outcome outcome = outcome_of([&] { line.attached->partition(); });
  done = done_by(line.attached->result().report);
  done.outcome = outcome;
  done.numbers.assign(line.number.begin(),
                      line.number.begin() + static_cast<std::ptrdiff_t>(line.attached->count()));
  return done;
}

Done by_rebalancer(const Given& given, const Options& options, bool by_handle) {
  AttachedLine line;
  Done done;
  done.outcome = outcome_of([&] {
    zoltan::Rebalancer rebalancer(
        MPI_COMM_WORLD, {.parameters = by_handle ? Given() : given, .migration = options});
    if (by_handle)
      for (const auto& [name, value] : given)
        Zoltan_Set_Param(rebalancer.handle(), name.c_str(), value.c_str());
    rebalancer.coordinates(array_columns(valet::ref(line.place), 1));
    const RebalanceResult result = rebalancer.rebalance(AttachedLine::each, line.storage());
    done = done_by(result.report);
    done.numbers.assign(line.number.begin(),
                        line.number.begin() + static_cast<std::ptrdiff_t>(result.count));
  });
  return done;
}

Done by_lists(const Given& given, const Options& options) {
  AttachedLine line;
  for (const auto& [name, value] : given) line.set(name.c_str(), value);
  std::vector<ZOLTAN_ID_TYPE> ids(AttachedLine::each / 2);
  for (std::size_t k = 0; k < ids.size(); ++k) ids[k] = static_cast<ZOLTAN_ID_TYPE>(2 * k);
  const std::vector<int> procs(ids.size(), (rank() + 1) % size());
  zoltan::PartitionLists lists;
  lists.exports = {static_cast<int>(ids.size()), ids.data(), ids.data(), procs.data(), nullptr};
  Done done;
  done.outcome = outcome_of([&] {
    const zoltan::ListMigration result =
        zoltan::migrate(MPI_COMM_WORLD, lists, AttachedLine::each, line.storage(),
                        {.migration = options, .zoltan = line.zoltan});
    done = done_by(result.report);
    done.numbers.assign(line.number.begin(),
                        line.number.begin() + static_cast<std::ptrdiff_t>(result.count));
  });
  return done;
}

Done by_callbacks(const Given& given, const Options&) {
  OneObject client(given);
  const int code = client.migrate_quietly();
  Done done{{},
            client.report.method,
            client.report.verified != 0,
            client.report.budget_bytes,
            client.report.steps};
  for (char& letter : done.method) letter = static_cast<char>(std::tolower(letter));
  if (code < 0) done.outcome = {ErrorCode::invalid_argument, client.report.message};
  return done;
}

const std::vector<ParameterDoor>& parameter_doors() {
  static const std::vector<ParameterDoor> all{{"Attached", true, by_attached},
                                              {"Rebalancer", true,
                                               [](const Given& given, const Options& options) {
                                                 return by_rebalancer(given, options, false);
                                               }},
                                              {"RebalancerByHandle", true,
                                               [](const Given& given, const Options& options) {
                                                 return by_rebalancer(given, options, true);
                                               }},
                                              {"Lists", true, by_lists},
                                              {"Callbacks", false, by_callbacks}};
  return all;
}

/// Without the variables, which the test program's caller sets, and with one rank, where nothing
/// has to move, there is nothing to see.
class ZoltanParameters : public testing::TestWithParam<std::size_t> {
 protected:
  void SetUp() override {
    const char* const method = std::getenv("VALET_MIGRATE_METHOD");
    if (size() == 1 || method == nullptr || std::string(method) != "DIRECT") GTEST_SKIP();
  }
  [[nodiscard]] static const ParameterDoor& door() { return parameter_doors()[GetParam()]; }
  [[nodiscard]] static bool is_behind_callbacks() { return !door().has_options; }
  static Done migrated(const Given& given, const Options& options = {}) {
    return door().migrate(given, options);
  }
  static Done expect_migrated(const Given& given, const Options& options = {}) {
    Done done = migrated(given, options);
    EXPECT_TRUE(all_ranks(done.outcome.code == ErrorCode::success)) << done.outcome.text;
    return done;
  }
  static void for_all(const char* name, const char* value) {
    EXPECT_EQ(Zoltan_Set_Param(nullptr, name, value), ZOLTAN_OK);
  }
};

TEST_P(ZoltanParameters, OfTheStructureGoBeforeOptionsThoseBeforeNullAndThatBeforeTheEnvironment) {
  const Given on_structure{{"MIGRATE_METHOD", "PHASED"}, {"MIGRATE_MEMORY", "64K"}};
  const Options options{.budget_bytes = 32768, .method = Method::stream, .verify = true};
  EXPECT_EQ(expect_migrated({}).method, "direct");
  EXPECT_TRUE(expect_migrated({}).verified);
  for_all("MIGRATE_METHOD", "CYCLIC");
  for_all("MIGRATE_MEMORY", "1M");
  for_all("MIGRATE_VERIFY", "0");
  Done done = expect_migrated({});
  EXPECT_EQ(done.method, "cyclic");
  EXPECT_EQ(done.budget_bytes, 1U << 20U);
  EXPECT_FALSE(done.verified);
  if (door().has_options) {
    done = expect_migrated({}, options);
    EXPECT_EQ(done.method, "stream");
    EXPECT_EQ(done.budget_bytes, 32768U);
    EXPECT_TRUE(done.verified);
  }
  done = expect_migrated(on_structure, options);
  EXPECT_EQ(done.method, "phased");
  EXPECT_EQ(done.budget_bytes, 65536U);
  EXPECT_GE(done.phases, 1U);
  EXPECT_EQ(expect_migrated({{"MIGRATE_VERIFY", "0"}}, options).verified, false);
  for (const char* const name : {"MIGRATE_METHOD", "MIGRATE_MEMORY", "MIGRATE_VERIFY"})
    for_all(name, "DEFAULT");
  EXPECT_EQ(expect_migrated({}).method, "direct");
}

TEST_P(ZoltanParameters, AreTakenBackByDefault) {
  const Done done = expect_migrated({{"MIGRATE_METHOD", "STREAM"},
                                     {"MIGRATE_VERIFY", "0"},
                                     {"migrate_method", " default "},
                                     {"MIGRATE_VERIFY", "DEFAULT"}});
  EXPECT_EQ(done.method, "direct");
  EXPECT_TRUE(done.verified);
}

/// One that reached only some ranks is an error, which names it: so they are looked at.
TEST_P(ZoltanParameters, ReachTheMigration) {
  for (const auto& [method, name, value, word] :
       {std::tuple("PHASED", "MIGRATE_HEURISTIC", "RANDOM", "heuristic"),
        std::tuple("PHASED", "MIGRATE_SCHEDULER", "CENTRALIZED", "scheduler"),
        std::tuple("PHASED", "MIGRATE_PARKING", "2", "parking"),
        std::tuple("PHASED", "MIGRATE_SEED", "17", "seed"),
        std::tuple("CYCLIC", "MIGRATE_EDGE_ORDER", "ROTATED", "edge_order"),
        std::tuple("STREAM", "MIGRATE_VERIFY", "0", "verify")}) {
    SCOPED_TRACE(name);
    Given given{{"MIGRATE_METHOD", method}};
    EXPECT_EQ(expect_migrated({{"MIGRATE_METHOD", method}, {name, value}}).verified,
              word != std::string("verify"));
    if (word == std::string("edge_order") && !is_behind_callbacks()) continue;  // may differ
    // Those of RebalancerOptions are compared before.
    if (std::string(door().name) == "Rebalancer") continue;
    if (is_odd()) given.emplace_back(name, value);
    std::string text = migrated(given).outcome.text;
    std::ranges::transform(text, text.begin(), [](char c) { return std::tolower(c); });
    expect_words(text, {word, "differ"});
  }
}

TEST_P(ZoltanParameters, OfTheOrderDecideOnSlots) {
  if (is_behind_callbacks()) return;
  std::vector<std::uint64_t> before(AttachedLine::each);
  for (std::uint64_t k = 0; k < before.size(); ++k) before[k] = AttachedLine::number_at(k);
  constexpr std::size_t block_bytes = 28;
  for (const auto& [value, order] : {std::pair("ANY", Order::any), std::pair("FILL", Order::fill),
                                     std::pair("STABLE", Order::stable)}) {
    const Done done = expect_migrated({{"MIGRATE_ORDER", value}});
    EXPECT_EQ(wrong_slots_of(before, done.numbers, order, block_bytes), 0) << value;
  }
}

TEST_P(ZoltanParameters, ThatSayNothingAreErrorsWhereTheyAreSetAndElsewhereIgnored) {
  const bool is_lists = std::string(door().name) == "Lists";
  Given wrong;
  if (!is_behind_callbacks()) wrong = {{"MIGRATE_CALLBACKS", "HOLD"}, {"MIGRATE_METHOD", "ZOLTAN"}};
  if (is_behind_callbacks()) wrong = {{"MIGRATE_ORDER", "FILL"}};
  if (is_behind_callbacks() || is_lists)
    wrong.insert(wrong.end(),
                 {{"MIGRATE_GRANULARITY", "8"}, {"MIGRATE_WHEN_INFEASIBLE", "REFUSE"}});
  for (const auto& [name, value] : wrong) {
    SCOPED_TRACE(name);
    for_all(name.c_str(), value.c_str());
    // So that stock Zoltan does not move them.
    const Given method{{"MIGRATE_METHOD", "STREAM"}};
    EXPECT_EQ(expect_migrated(method).method, "stream");
    for_all(name.c_str(), "DEFAULT");
    Given given = method;
    given.emplace_back(name, value);
    if (!is_odd() && std::string(door().name) != "Rebalancer") given = method;
    const Outcome outcome = migrated(given).outcome;
    EXPECT_TRUE(all_ranks(outcome.code == ErrorCode::invalid_argument));
    expect_words(outcome.text, {name + " = " + value + " says nothing about", "set it to DEFAULT"});
  }
}

TEST_P(ZoltanParameters, WriteAReportOfAllRanksOnceATraceAndTheTransfers) {
  const std::string file = testing::TempDir() + "valet_parameters_np" + std::to_string(size());
  const std::string report = file + "_report.json", trace = file + "_trace.json",
                    transfers = file + ".mtx";
  const auto remove = [&] {
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank() == 0) std::remove(report.c_str());
    if (rank() == 0) std::remove(trace.c_str());
    if (rank() == 0) std::remove(transfers.c_str());
    MPI_Barrier(MPI_COMM_WORLD);
  };
  remove();
  Given given{{"MIGRATE_TRACE", trace}, {"MIGRATE_TRANSFERS", transfers}};
  // Rank 0 writes.
  if (rank() == 0 || std::string(door().name) == "Rebalancer")
    given.emplace_back("MIGRATE_REPORT", report);
  expect_migrated(given);
  if (rank() == 0) {
    std::ifstream written(report);
    std::string line;
    std::getline(written, line);
    expect_words(line, {"\"ranks\":" + std::to_string(size()), "\"method\":"});
    EXPECT_TRUE(line.starts_with('{') && line.ends_with('}')) << line;
    EXPECT_FALSE(std::getline(written, line)) << line;
    EXPECT_TRUE(std::ifstream(trace).good());
    std::getline(std::ifstream(transfers), line);
    EXPECT_EQ(line, "%%MatrixMarket matrix coordinate integer general");
  }
  remove();
}

TEST_P(ZoltanParameters, SayOnceWhoMovesTheObjects) {
  const std::string memory = std::to_string(70000 + GetParam());
  const Given given{{"MIGRATE_VERBOSE", "1"}, {"MIGRATE_MEMORY", memory}};
  testing::internal::CaptureStderr();
  if (is_behind_callbacks()) testing::internal::GetCapturedStderr();
  std::string printed;
  for (int k = 0; k < 2; ++k) {
    if (is_behind_callbacks()) {
      OneObject client(given);
      EXPECT_EQ(client.migrate_quietly(), ZOLTAN_OK);
      printed += client.printed;
    } else {
      expect_migrated(given);
    }
  }
  if (!is_behind_callbacks()) printed = testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::ranges::count(printed, '\n'), rank() == 0 ? 1 : 0) << printed;
  if (rank() == 0)
    expect_words(printed, {is_behind_callbacks() ? "moves the objects of Zoltan_Migrate"
                                                 : "moves the objects in slots",
                           "MIGRATE_METHOD DIRECT", "MIGRATE_MEMORY " + memory + " bytes",
                           is_behind_callbacks() ? "" : "ignores MIGRATE_CALLBACKS = STEPS"});
}

INSTANTIATE_TEST_SUITE_P(Doors, ZoltanParameters,
                         testing::Range(std::size_t{0}, parameter_doors().size()),
                         [](const auto& tested) {
                           return std::string(parameter_doors()[tested.param].name);
                         });

TEST(ZoltanParameterTable, RefusesWrongValuesWithThoseItTakes) {
  AttachedLine line;
  const std::vector<std::tuple<const char*, const char*, const char*>> wrong{
      {"MIGRATE_METHOD", "PAIRWISE", "ZOLTAN, AUTO, STREAM, DIRECT, PHASED, CYCLIC"},
      {"MIGRATE_MEMORY", "0", "a number of bytes from 1 on, such as 65536, 64K, 4M or 1G"},
      {"MIGRATE_CALLBACKS", "BOTH", "HOLD, STEPS"},
      {"MIGRATE_VERIFY", "YES", "0, 1"},
      {"MIGRATE_PROGRESS", "2", "0, 1"},
      {"MIGRATE_VERBOSE", "-1", "0, 1"},
      {"MIGRATE_SHARE_MEMORY", "ON", "0, 1"},
      {"MIGRATE_KEEP_MEMORY", "", "0, 1"},
      {"MIGRATE_REPORT", "", "the path of a file"},
      {"MIGRATE_TRACE", " ", "the path of a file"},
      {"MIGRATE_HEURISTIC", "BEST", "FIRST_FIT, MAX_FIRST, RANDOM, FORTUNE_WHEEL, MIN_MAX"},
      {"MIGRATE_PARKING", "-1", "0 for never, or k"},
      {"MIGRATE_SCHEDULER", "ROOT", "DISTRIBUTED, CENTRALIZED"},
      {"MIGRATE_SEED", "1.5", "a whole number from 0 on"},
      {"MIGRATE_EDGE_ORDER", "RANDOM", "ASCENDING, ROTATED"},
      {"MIGRATE_ORDER", "SORTED", "ANY, FILL, STABLE"},
      {"MIGRATE_GRANULARITY", "0", "the most objects in a cell"},
      {"MIGRATE_WHEN_INFEASIBLE", "ABORT", "REFUSE, REPAIR, GROW"}};
  for (const auto& [name, value, taken] : wrong) {
    SCOPED_TRACE(name);
    EXPECT_EQ(line.quietly([&] { return Valet_Set_Param(line.zoltan, name, value); }), ZOLTAN_WARN);
    expect_words(line.printed, {"Zoltan WARNING in Zoltan_Set_Param", std::string("`") + name + "'",
                                taken, "It stays as it was"});
    EXPECT_EQ(line.quietly([&] { return Zoltan_Set_Param(nullptr, name, value); }), ZOLTAN_WARN);
    expect_words(line.printed, {taken});
    expect_error(by_rebalancer({{name, value}}, {}, false).outcome, ErrorCode::invalid_argument,
                 {name, taken});
  }
  EXPECT_EQ(line.quietly([&] { return Valet_Set_Param(nullptr, "LB_METHOD", "RCB"); }),
            ZOLTAN_WARN);
  expect_words(line.printed, {"Only MIGRATE_* can be set for all structures", "LB_METHOD"});
}

TEST(ZoltanParameterTable, FollowsWhatZoltanTook) {
  AttachedLine line;
  line.attach();
  line.set("LB_METHOD", "HSFC");
  for (const auto& [name, value] :
       {std::pair("LB_METHOD", "QUICK"), std::pair("RETURN_LISTS", "SOME")})
    EXPECT_NE(line.quietly([&] { return Zoltan_Set_Param(line.zoltan, name, value); }), ZOLTAN_OK)
        << name;
  expect_works(line);
}

TEST(ZoltanParameterTable, IsThatOfOneStructure) {
  std::set<Zoltan_Struct*> seen;
  [[maybe_unused]] bool again = false;
  for (int k = 0; k < 40; ++k) {
    AttachedLine line;
    again = !seen.insert(line.zoltan).second || again;
    line.attach();
    EXPECT_EQ(outcome_of([&] { line.attached->partition(); }).text, "");
    EXPECT_NE(line.attached->result().report.method, "phased");
    for (const auto& [name, value] :
         {std::pair("MIGRATE_METHOD", "PHASED"), std::pair("LB_METHOD", "GRAPH"),
          std::pair("OBJ_WEIGHT_DIM", "2"), std::pair("NUM_GLOBAL_PARTS", "77")})
      line.set(name, value);
    std::optional<zoltan::Rebalancer> rebalancer;
    rebalancer.emplace(MPI_COMM_WORLD);
    again = !seen.insert(rebalancer->handle()).second || again;
    Zoltan_Set_Param(rebalancer->handle(), "MIGRATE_CALLBACKS", "STEPS");
  }
#ifndef __SANITIZE_ADDRESS__  // which keeps freed memory for long
  EXPECT_TRUE(max_over_ranks(again ? 1 : 0) == 1) << "no address came again";
#endif
}

/// What Zoltan obeys for an application of callbacks is what it set, whatever was called meanwhile.
TEST(ZoltanParameterTable, LeavesZoltansParametersAsTheyWere) {
  for (const bool fails : {false, true}) {
    AttachedLine line;
    for (const auto& [name, value] :
         {std::pair("RETURN_LISTS", "PARTS"), std::pair("OBJ_WEIGHT_DIM", "1"),
          std::pair("KEEP_CUTS", "1"), std::pair("AUTO_MIGRATE", "TRUE")})
      line.set(name, value);
    line.attach();
    line.attached->weights(array_columns(valet::ref(line.work), 1));
    if (fails)
      Zoltan_Set_Pre_Migrate_Fn(
          line.zoltan,
          [](void*, int, int, int, ZOLTAN_ID_PTR, ZOLTAN_ID_PTR, int*, int, ZOLTAN_ID_PTR,
             ZOLTAN_ID_PTR, int*, int* code) { *code = ZOLTAN_FATAL; },
          nullptr);
    line.lb_partition();
    EXPECT_EQ(outcome_of([&] { line.attached->partition(); }).code,
              fails && size() > 1 ? ErrorCode::callback_failed : ErrorCode::success);
    line.attached->detach();
    Zoltan_Set_Pre_Migrate_Fn(line.zoltan, nullptr, nullptr);
    PackedObjects packed;
    packed.register_with(line.zoltan);
    packed.register_packing(line.zoltan);
    const auto first = packed.ids;
    const ZoltanLists lists(line.zoltan);
    EXPECT_TRUE(all_ranks(lists.code() == ZOLTAN_OK));
    EXPECT_EQ(packed.weights_asked, 1);
    EXPECT_EQ(lists.gid_entries(), 1);
    EXPECT_EQ(lists.exports().count, 4) << "RETURN_LISTS PARTS";
    EXPECT_TRUE(size() == 1 || !all_ranks(packed.ids == first)) << "AUTO_MIGRATE";
    double place[3]{1, 0, 0};
    int proc = -1;
    EXPECT_EQ(Zoltan_LB_Point_Assign(line.zoltan, place, &proc), ZOLTAN_OK) << "KEEP_CUTS";
  }
}

}  // namespace
}  // namespace valet::test
