// SPDX-License-Identifier: BSD-3-Clause

// One rank's trace by itself, with a clock that the test turns.

#include "observe/trace.hpp"

#include "test_comm.hpp"

#include <nlohmann/json.hpp>

namespace valet::test {
namespace {

using Json = nlohmann::json;

double clock_seconds = 0;
double turned_clock() { return clock_seconds; }

/// The events of a trace, read through a buffer of the least size.
std::vector<Json> events_of(observe::Trace& trace, double zero_seconds) {
  trace.rewind(zero_seconds, 4096);
  const std::uint64_t bytes = trace.most_text_bytes();
  std::string all;
  std::array<char, observe::Trace::least_text> buffer{};
  trace.read(buffer, [&](std::span<const char> text) { all.append(text.data(), text.size()); });
  EXPECT_LE(all.size(), bytes) << "the part of the file that a rank writes";
  EXPECT_LE(bytes, all.size() * 3 / 2 + 1000) << "the rest are spaces";
  return Json::parse("[" + all + "]").get<std::vector<Json>>();
}

std::vector<Json> without_labels(std::vector<Json> events) {
  std::erase_if(events, [](const Json& event) { return event["ph"] == "M"; });
  return events;
}

class TraceOfOneRank : public testing::Test {
 protected:
  void SetUp() override { clock_seconds = 100; }
  Ledger ledger_;
  observe::Trace trace_{ledger_, 7, turned_clock};
};

TEST_F(TraceOfOneRank, WritesNestedWorkAsCompleteEventsInMicroseconds) {
  {
    const observe::TraceSpan stage(&trace_, observe::TraceKind::stage, "exchange");
    clock_seconds += 0.001;
    {
      const observe::TraceSpan span(&trace_, observe::TraceKind::gather, "gather", {.bytes = 320});
      clock_seconds += 0.0000025;
    }
    trace_.instant(observe::TraceKind::mark, "action", {.peer = 2, .bytes = 64});
    clock_seconds += 0.001;
  }
  const std::vector<Json> events = without_labels(events_of(trace_, 99.5));
  ASSERT_EQ(events.size(), 3U);
  EXPECT_EQ(events[0], Json::parse(R"({"ph":"X","pid":8,"tid":1,"ts":501000.0,"dur":2.5,
      "cat":"gather","name":"gather","args":{"bytes":320}})"))
      << "processes and threads count from 1";
  EXPECT_EQ(events[1]["ph"], "i");
  EXPECT_EQ(events[1]["args"], Json::parse(R"({"peer":2,"bytes":64})"));
  EXPECT_EQ(events[2]["name"], "exchange");
  EXPECT_NEAR(events[2]["dur"].get<double>(), 2002.5, 1e-3);
  EXPECT_DOUBLE_EQ(trace_.first_seconds(), 100) << "the stage began first, and ended last";
}

TEST_F(TraceOfOneRank, GivesMessagesUnderWayThreadsOfTheirOwn) {
  std::array<int, 3> keys{};
  trace_.message_begins(observe::TraceKind::send, &keys[0], {.peer = 1, .bytes = 10});
  trace_.message_begins(observe::TraceKind::send, &keys[1], {.peer = 2, .bytes = 20});
  trace_.message_begins(observe::TraceKind::credited, &keys[2], {.peer = 3, .bytes = 30});
  const double start = clock_seconds;
  clock_seconds += 1;
  trace_.span(observe::TraceKind::wait, "wait", start, clock_seconds);
  trace_.message_ends(&keys[0]);
  trace_.message_ends(&keys[0]);  // not under way any more: nothing
  trace_.message_begins(observe::TraceKind::send, &keys[0], {.peer = 4, .bytes = 40});
  for (int& key : keys) trace_.message_ends(&key);
  const std::vector<Json> all = events_of(trace_, 100);
  std::vector<int> threads;
  for (const Json& event : without_labels(all))
    if (event["cat"] == "send" || event["cat"] == "credit,receive") threads.push_back(event["tid"]);
  EXPECT_EQ(threads, (std::vector<int>{2, 2, 3, 1001})) << "the lowest that is free";
  std::vector<std::string> names;
  for (const Json& event : all)
    if (event["name"] == "thread_name") names.push_back(event["args"]["name"]);
  EXPECT_EQ(names, (std::vector<std::string>{"work", "sends 0", "sends 1", "receives 0"}));
}

TEST_F(TraceOfOneRank, ShowsOfAReceiveWhatHasCome) {
  std::array<int, 3> keys{};
  trace_.message_begins(observe::TraceKind::credited, &keys[0], {.peer = 1, .bytes = 30});
  trace_.message_begins(observe::TraceKind::credited, &keys[1], {.peer = 1, .bytes = 30});
  trace_.message_begins(observe::TraceKind::send, &keys[2], {.peer = 1, .bytes = 30});
  for (const int& key : keys) trace_.message_ends(&key, &key == &keys[1] ? 0 : 20);
  std::vector<std::uint64_t> bytes;
  for (const Json& event : without_labels(events_of(trace_, 100)))
    bytes.push_back(event["args"]["bytes"]);
  EXPECT_EQ(bytes, (std::vector<std::uint64_t>{20, 30, 30}))
      << "a message; data written to shared memory, of which MPI sees nothing; a send";
}

TEST_F(TraceOfOneRank, RecordsThePostingOfMoreMessagesThanItHasThreads) {
  std::vector<char> keys(observe::Trace::most_messages + 5);
  for (char& key : keys)
    trace_.message_begins(observe::TraceKind::send, &key, {.peer = 1, .bytes = 1});
  for (char& key : keys) trace_.message_ends(&key);
  EXPECT_EQ(without_labels(events_of(trace_, 100)).size(), keys.size());
  EXPECT_EQ(trace_.lost(), 0U);
}

TEST_F(TraceOfOneRank, RecordsANumberWhenItChanges) {
  for (const std::uint64_t value : {5, 5, 6, 6, 5}) trace_.counter("scratch in use", value);
  std::vector<std::uint64_t> values;
  for (const Json& event : without_labels(events_of(trace_, 0))) {
    EXPECT_EQ(event["ph"], "C");
    values.push_back(event["args"]["bytes"]);
  }
  EXPECT_EQ(values, (std::vector<std::uint64_t>{5, 6, 5}));
}

TEST_F(TraceOfOneRank, LeavesOutNumbersThatLastNoTimeUnlessTheyAreTheHighest) {
  struct Said {
    std::uint64_t value;
    double seconds;  // until the next
  };
  for (const Said said : {Said{5, 1e-3}, {4, 1e-6}, {9, 1e-6}, {8, 1e-6}, {3, 1e-3}, {2, 1e-6}}) {
    trace_.counter("scratch in use", said.value);
    clock_seconds += said.seconds;
    trace_.span(observe::TraceKind::wait, "wait", clock_seconds,
                clock_seconds);  // looked at the clock
  }
  std::vector<std::uint64_t> values;
  for (const Json& event : without_labels(events_of(trace_, 0)))
    values.push_back(event["args"]["bytes"]);
  EXPECT_EQ(values, (std::vector<std::uint64_t>{5, 9, 3, 2}));
}

TEST_F(TraceOfOneRank, GivesBackAnyEntryAsItWas) {
  std::mt19937_64 random(seed());
  SCOPED_TRACE(seed_note());
  const auto bits = [&](int most) { return random() >> (64 - most) >> random() % most; };
  constexpr std::array names{"one", "two", "three"};
  constexpr std::array kinds{observe::TraceKind::stage, observe::TraceKind::gather,
                             observe::TraceKind::copy};
  constexpr std::array categories{"stage", "gather", "copy"};
  std::vector<Json> expected;
  for (int k = 0; k < 5000; ++k) {
    const auto name = random() % names.size(), kind = random() % kinds.size();
    const double start = clock_seconds - static_cast<double>(random() % 1000);
    observe::TraceDetails details;
    Json args = Json::object();
    if (random() % 2 == 0) args["peer"] = details.peer = static_cast<int>(bits(31));
    if (random() % 2 == 0)
      args["bytes"] = details.bytes = bits(63);
    else if (random() % 2 == 0)
      args["number"] = details.number = bits(63);
    clock_seconds += 1e-3;
    trace_.span(kinds[kind], names[name], start, clock_seconds, details);
    expected.push_back({{"cat", categories[kind]},
                        {"name", names[name]},
                        {"args", args},
                        {"ts", std::round((start + 1000) * 1e6)},
                        {"dur", std::round((clock_seconds - start) * 1e6)}});
  }
  const std::vector<Json> events = without_labels(events_of(trace_, -1000));
  ASSERT_EQ(events.size(), expected.size());
  for (std::size_t k = 0; k < events.size(); ++k) {
    for (const char* const member : {"cat", "name", "args"})
      ASSERT_EQ(events[k][member], expected[k][member]);
    for (const char* const member : {"ts", "dur"})
      ASSERT_NEAR(events[k][member].get<double>(), expected[k][member].get<double>(), 1);
  }
}

TEST_F(TraceOfOneRank, KeepsAnyNumberOfEventsInFixedMemory) {
  constexpr std::uint64_t many = 10'000;
  for (std::uint64_t k = 0; k < many; ++k) {
    clock_seconds += 1e-6;
    trace_.instant(observe::TraceKind::mark, "event", {.number = k});
  }
  EXPECT_EQ(trace_.entries(), many);
  EXPECT_LE(ledger_.peak_bytes(), observe::Trace::memory_bytes);
  const std::vector<Json> events = without_labels(events_of(trace_, 100));
  ASSERT_EQ(events.size(), many);
  for (std::uint64_t k = 0; k < many; ++k) ASSERT_EQ(events[k]["args"]["number"], k);
  EXPECT_EQ(trace_.lost(), 0U);
  trace_.clear();
  trace_.instant(observe::TraceKind::mark, "again");
  EXPECT_EQ(without_labels(events_of(trace_, 100)).size(), 1U) << "what was is forgotten";
}

TEST_F(TraceOfOneRank, LosesTheLaterEventsWhereThereIsNoTemporaryFile) {
  const char* const before = std::getenv("TMPDIR");
  const std::string kept = before == nullptr ? "" : before;
  setenv("TMPDIR", "/nowhere/at/all", 1);
  constexpr std::uint64_t many = 5000;
  for (std::uint64_t k = 0; k < many; ++k)
    trace_.instant(observe::TraceKind::mark, "event", {.number = k});
  if (before == nullptr)
    unsetenv("TMPDIR");
  else
    setenv("TMPDIR", kept.c_str(), 1);
  EXPECT_GT(trace_.lost(), 0U);
  const std::vector<Json> events = without_labels(events_of(trace_, 0));
  ASSERT_EQ(events.size() + trace_.lost(), many);
  EXPECT_EQ(events.back()["args"]["number"], events.size() - 1);
}

}  // namespace
}  // namespace valet::test
