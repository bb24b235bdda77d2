// SPDX-License-Identifier: BSD-3-Clause

// Traces of whole calls: every method, the all-to-alls and the layouts.

#include "filled_map.hpp"
#include "shared_folder.hpp"

#include <nlohmann/json.hpp>

#include <fstream>
#include <iterator>
#include <string_view>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

namespace valet::test {
namespace {

using Json = nlohmann::json;

/// A file that rank 0 writes. The same name on all ranks.
class TemporaryTrace : public SharedFolder {
 public:
  [[nodiscard]] std::string path() const { return SharedFolder::path("trace.json"); }
  /// What is in it, on rank 0; nothing elsewhere.
  [[nodiscard]] Json read() const {
    return rank() == 0 ? Json::parse(std::ifstream(path())) : Json();
  }
};

struct Interval {
  double start = 0, end = 0;
};

/// The process number of a rank in the picture.
int process_of(int rank) { return rank + 1; }

/// Whether that is one of the event's categories.
bool is(const Json& event, const std::string& category) {
  return ("," + event.at("cat").get<std::string>() + ",").find("," + category + ",") !=
         std::string::npos;
}

/// Complete events of a rank, by their thread.
std::map<int, std::vector<Interval>> intervals_of(const Json& trace, int rank) {
  std::map<int, std::vector<Interval>> threads;
  for (const Json& event : trace["traceEvents"])
    if (event["ph"] == "X" && event["pid"] == process_of(rank))
      threads[event["tid"].get<int>()].push_back(
          {event["ts"].get<double>(), event["ts"].get<double>() + event["dur"].get<double>()});
  for (auto& [thread, list] : threads)
    std::sort(list.begin(), list.end(), [](const Interval& a, const Interval& b) {
      return a.start < b.start || (a.start == b.start && a.end > b.end);
    });
  return threads;
}

/// Whether every two of them are apart or one inside the other, as viewers need it.
bool nest(const std::vector<Interval>& sorted) {
  constexpr double rounding = 0.0021;
  std::vector<double> open;
  for (const Interval& one : sorted) {
    while (!open.empty() && open.back() <= one.start + rounding) open.pop_back();
    if (!open.empty() && one.end > open.back() + rounding) return false;
    open.push_back(one.end);
  }
  return true;
}

std::uint64_t bytes_of(const Json& trace, const char* category, int rank) {
  std::uint64_t bytes = 0;
  for (const Json& event : trace["traceEvents"])
    if (event["ph"] == "X" && event["pid"] == process_of(rank) && is(event, category))
      bytes += event["args"]["bytes"].get<std::uint64_t>();
  return bytes;
}

std::vector<std::string> stages_of(const Json& trace, int rank) {
  std::vector<std::pair<double, std::string>> stages;
  for (const Json& event : trace["traceEvents"])
    if (event["ph"] == "X" && event["pid"] == process_of(rank) && is(event, "stage"))
      stages.emplace_back(event["ts"].get<double>(), event["name"].get<std::string>());
  std::sort(stages.begin(), stages.end());
  std::vector<std::string> names;
  for (auto& [start, name] : stages) names.push_back(name);
  return names;
}

bool has(const Json& trace, const char* category) {
  const auto& events = trace["traceEvents"];
  return std::any_of(events.begin(), events.end(),
                     [&](const Json& event) { return is(event, category); });
}

/// Whether an event has the fields that the Trace Event Format asks for, of the right types.
bool has_required_fields(const Json& event) {
  const std::string phase = event.value("ph", "");
  const bool is_known = phase == "M" || phase == "X" || phase == "i" || phase == "C";
  if (!is_known || !event.at("name").is_string() || !event.at("cat").is_string() ||
      !event.at("ts").is_number() || !event.at("pid").is_number_integer() ||
      !event.at("tid").is_number_integer() || !event.at("args").is_object())
    return false;
  if (phase == "M") return !event["args"].empty();
  if (phase == "C") return event["args"].at("bytes").is_number_unsigned();
  return phase == "i" || (event.at("dur").is_number() && event["dur"].get<double>() >= 0);
}

/// What holds of the trace of any call, on rank 0.
void expect_well_formed(const Json& trace, std::uint64_t budget_bytes) {
  if (rank() != 0) return;
  EXPECT_EQ(trace["otherData"]["ranks"], size());
  for (int r = 0; r < size(); ++r) {
    SCOPED_TRACE("rank " + std::to_string(r));
    for (const auto& [thread, list] : intervals_of(trace, r))
      EXPECT_TRUE(nest(list)) << "thread " << thread;
  }
  for (const Json& event : trace["traceEvents"]) {
    ASSERT_TRUE(has_required_fields(event)) << event;
    if (event["ph"] == "M") continue;
    ASSERT_GE(event["ts"].get<double>(), 0) << event;
    const bool is_counter = event["ph"] == "C";
    ASSERT_TRUE(!is_counter || event["args"]["bytes"].get<std::uint64_t>() <= budget_bytes)
        << event;
  }
}

struct Case {
  const char* name;
  Options options;
};

std::vector<Case> cases() {
  std::vector<Case> all;
  const auto add = [&](const char* name, Method method, auto&& change) {
    Options options{.budget_bytes = 20'000, .method = method};
    change(options);
    all.push_back({name, options});
  };
  const auto nothing = [](Options&) {};
  add("stream in shared memory", Method::stream, nothing);
  add("stream by messages", Method::stream, [](Options& o) {
    o.share_memory = false;
    o.message_bytes = 1000;
  });
  add("little at once", Method::stream, [](Options& o) {
    o.share_memory = false;
    o.budget_bytes = 1 << 20;
  });
  add("stream without buffers", Method::stream, [](Options& o) {
    o.share_memory = false;
    o.budget_bytes = 40;
  });
  add("direct", Method::direct, [](Options& o) { o.budget_bytes = 1 << 20; });
  add("phased", Method::phased, [](Options& o) { o.budget_bytes = 2000; });
  add("phased by a root, with parking", Method::phased, [](Options& o) {
    o.phased.scheduler = Scheduler::centralized;
    o.phased.parking = 1;
  });
  add("cyclic", Method::cyclic, nothing);
  return all;
}

TEST(TraceOfAMigration, ShowsWhatEveryRankDidByAnyMethod) {
  std::mt19937_64 random(seed());
  SCOPED_TRACE(seed_note());
  const GlobalMap map = random_map(random, size(), 300, Tightness::full, false);
  for (const Case& one : cases()) {
    SCOPED_TRACE(one.name);
    const TemporaryTrace file;
    FilledMap filled(map, rank(), Shape::dense);
    Options options = one.options;
    options.trace = file.path();
    options.verify = true;
    Plan plan = filled.plan(MPI_COMM_WORLD, Form::to_slots, options);
    const Report report = execute(plan, filled.storage());
    EXPECT_EQ(sum_over_ranks(filled.wrong(Form::to_slots, options.order)), 0);
    expect_within_bound(report);
    EXPECT_TRUE(all_ranks(report.waiting_seconds <= report.exchange_seconds));
    const Json trace = file.read();
    expect_well_formed(trace, options.budget_bytes);
    std::vector<std::uint64_t> sent(static_cast<std::size_t>(size()));
    MPI_Gather(&report.bytes_sent, 1, MPI_UINT64_T, sent.data(), 1, MPI_UINT64_T, 0,
               MPI_COMM_WORLD);
    if (rank() != 0) continue;
    std::uint64_t received = 0;
    // A meeting of all ranks is everybody's credit.
    const bool is_at_once =
        options.method == Method::direct || std::string_view(one.name) == "little at once";
    const bool gives_credits = !is_at_once;
    for (int r = 0; r < size(); ++r) {
      EXPECT_EQ(stages_of(trace, r),
                (std::vector<std::string>{"plan", "verify", "exchange", "local", "verify"}));
      EXPECT_EQ(bytes_of(trace, "send", r), sent[static_cast<std::size_t>(r)]);
      received += bytes_of(trace, "receive", r);
      EXPECT_EQ(bytes_of(trace, "credit", r),
                gives_credits ? bytes_of(trace, "receive", r) : std::uint64_t{0});
    }
    const std::uint64_t all_sent = std::accumulate(sent.begin(), sent.end(), std::uint64_t{0});
    EXPECT_EQ(received, all_sent);
    EXPECT_TRUE(has(trace, "wait") || size() == 1);
    EXPECT_TRUE(has(trace, "credit") || size() == 1 || !gives_credits);
    EXPECT_EQ(has(trace, "phase"), options.method == Method::phased);
    EXPECT_EQ(trace["otherData"]["method"], to_string(options.method));
  }
}

TEST(TraceOfAMigration, IsWrittenAnewByEveryExecution) {
  const TemporaryTrace file;
  const GlobalMap map = ring_map(size(), 50, 50, 1);
  FilledMap filled(map, rank(), Shape::structure);
  const Options options{.trace = file.path()};
  Plan plan = filled.plan(MPI_COMM_WORLD, Form::to_ranks, options);
  execute(plan, filled.storage());
  const Json first = file.read();
  execute(plan, filled.storage());
  const Json second = file.read();
  if (rank() != 0) return;
  EXPECT_EQ(stages_of(first, 0), (std::vector<std::string>{"plan", "exchange", "local"}));
  EXPECT_EQ(stages_of(second, 0), (std::vector<std::string>{"exchange", "local"}));
}

constexpr std::size_t small_budget = 2000;  // many messages: events go through the temporary file

void trace_many_messages(const std::string& path) {
  const GlobalMap map = ring_map(size(), 3000, 3000, 1);
  FilledMap filled(map, rank(), Shape::dense);
  const Options options{.budget_bytes = small_budget, .trace = path};
  Plan plan = filled.plan(MPI_COMM_WORLD, Form::to_ranks, options);
  execute(plan, filled.storage());
}

/// Checks such a trace, on rank 0.
void expect_stages_of_all(const Json& trace) {
  expect_well_formed(trace, small_budget);
  if (rank() != 0) return;
  for (int r = 0; r < size(); ++r)
    EXPECT_EQ(stages_of(trace, r), (std::vector<std::string>{"plan", "exchange", "local"}));
}

TEST(TraceOfAMigration, IsWrittenOverALongerFile) {
  const TemporaryTrace file;
  if (rank() == 0) std::ofstream(file.path()) << std::string(std::size_t{3} << 20, '}');
  trace_many_messages(file.path());
  expect_stages_of_all(file.read());
}

/// A pipe that has no parts: rank 0 writes for all, as it does for ranks of other machines.
TEST(TraceOfAMigration, IsWrittenByRankZeroAloneWhereNobodyElseCan) {
  const TemporaryTrace file;
  std::string text;
  std::thread reader;
  if (rank() == 0) {
    ASSERT_EQ(mkfifo(file.path().c_str(), 0600), 0);
    reader = std::thread([&] {
      std::ifstream pipe(file.path());
      text.assign(std::istreambuf_iterator<char>(pipe), {});
    });
  }
  trace_many_messages(file.path());
  if (rank() != 0) return;
  reader.join();
  expect_stages_of_all(Json::parse(text));
}

TEST(TraceOfAMigration, ThatCannotBeWrittenIsAWarningAndTheBlocksMove) {
  for (const char* path : {"/nowhere/at/all/trace.json", "/dev/full"}) {
    SCOPED_TRACE(path);
    const GlobalMap map = ring_map(size(), 200, 200, 1);
    FilledMap filled(map, rank(), Shape::dense);
    const Options options{.verify = true, .trace = path};
    testing::internal::CaptureStderr();
    Plan plan = filled.plan(MPI_COMM_WORLD, Form::to_ranks, options);
    const Report report = execute(plan, filled.storage());
    const std::string text = testing::internal::GetCapturedStderr();
    EXPECT_TRUE(all_ranks(report.verified));
    EXPECT_EQ(sum_over_ranks(filled.wrong(Form::to_ranks, options.order)), 0);
    const std::string expected = std::string("valet: warning: cannot write the trace to '") + path;
    EXPECT_EQ(contains(text, expected), rank() == 0) << text;
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), rank() == 0 ? 1 : 0) << text;
  }
}

TEST(TraceOfAMigration, IsWantedByAllRanksOrByNone) {
  if (size() == 1) return;
  const GlobalMap map = ring_map(size(), 10, 10, 1);
  FilledMap filled(map, rank(), Shape::dense);
  const std::string path = rank() == size() - 1 ? "/dev/null" : "";
  const Options options{.trace = path};
  const auto refused = [](const std::string& text) {
    return contains(text, "trace") && contains(text, "on all ranks");
  };
  EXPECT_TRUE(all_ranks(refused(
      outcome_of([&] { (void)filled.plan(MPI_COMM_WORLD, Form::to_ranks, options); }).text)));
  std::vector<int> numbers(static_cast<std::size_t>(size()), rank());
  const std::vector<std::int64_t> ones(numbers.size(), 1);
  const AlltoallBuffer buffer{numbers.data(), numbers.size() * sizeof(int), sizeof(int)};
  EXPECT_TRUE(all_ranks(refused(outcome_of([&] {
                                  alltoallv_in_place(MPI_COMM_WORLD, buffer, ones, {},
                                                     {.trace = path});
                                }).text)));
  const GridLayout grid{BlockCyclic({size()}, {1}, {size()})};
  EXPECT_TRUE(all_ranks(refused(outcome_of([&] {
                                  redistribute_in_place(MPI_COMM_WORLD, grid, grid, sizeof(int),
                                                        {.data = numbers.data(),
                                                         .bytes = numbers.size() * sizeof(int)},
                                                        {.trace = path});
                                }).text)));
}

TEST(TraceOfAnAlltoall, ShowsPagesOrSwaps) {
  constexpr std::size_t each = 20'000;
  const auto ranks = static_cast<std::size_t>(size());
  const std::vector<std::int64_t> counts(ranks, each);
  for (const AlltoallMethod method :
       {AlltoallMethod::stream, AlltoallMethod::bitonic, AlltoallMethod::pairwise}) {
    SCOPED_TRACE(to_string(method));
    const TemporaryTrace file;
    std::vector<int> numbers(each * ranks);
    for (std::size_t k = 0; k < numbers.size(); ++k)
      numbers[k] = rank() * size() + static_cast<int>(k / each);
    const Report report = alltoallv_in_place(
        MPI_COMM_WORLD, {numbers.data(), numbers.size() * sizeof(int), sizeof(int)}, counts, {},
        {.budget_bytes = 100'000, .method = method, .trace = file.path()});
    expect_within_bound(report);
    bool right = true;
    for (std::size_t k = 0; k < numbers.size(); ++k)
      right = right && numbers[k] == static_cast<int>(k / each) * size() + rank();
    EXPECT_TRUE(all_ranks(right));
    const Json trace = file.read();
    expect_well_formed(trace, 100'000);
    if (rank() != 0) continue;
    EXPECT_EQ(stages_of(trace, size() - 1)[0], "plan");
    EXPECT_EQ(stages_of(trace, size() - 1)[1], "exchange");
    if (size() == 1) continue;
    EXPECT_TRUE(has(trace, "send"));
    EXPECT_EQ(has(trace, "swap"), method != AlltoallMethod::stream);
  }
}

TEST(TraceOfALayout, ShowsTheExchangeBesideOrInPlace) {
  const std::int64_t n = 100'000;  // whole pages for every pair
  const GridLayout blocks{BlockCyclic({n}, {7}, {size()})};
  const GridLayout cyclic{BlockCyclic({n}, {1}, {size()})};
  std::vector<double> from(static_cast<std::size_t>(n)), to(from.size());
  const std::size_t bytes = from.size() * sizeof(double);
  for (const bool in_place : {false, true}) {
    SCOPED_TRACE(in_place);
    const TemporaryTrace file;
    const LayoutOptions options{.budget_bytes = 200'000, .trace = file.path()};
    const Report report =
        in_place ? redistribute_in_place(MPI_COMM_WORLD, blocks, cyclic, sizeof(double),
                                         {.data = from.data(), .bytes = bytes}, options)
                 : redistribute(MPI_COMM_WORLD, blocks, cyclic, sizeof(double),
                                {.data = from.data(), .bytes = bytes},
                                {.data = to.data(), .bytes = bytes}, options);
    expect_within_bound(report);
    const Json trace = file.read();
    expect_well_formed(trace, options.budget_bytes);
    if (rank() != 0) continue;
    EXPECT_EQ(trace["otherData"]["method"], in_place ? "layout in place" : "layout");
    EXPECT_EQ(stages_of(trace, size() - 1)[0], "plan");
    EXPECT_EQ(stages_of(trace, size() - 1)[1], "exchange");
    EXPECT_TRUE(has(trace, "copy"));
    EXPECT_TRUE(has(trace, "send") || size() == 1);
  }
}

}  // namespace
}  // namespace valet::test
