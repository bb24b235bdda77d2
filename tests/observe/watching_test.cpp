// SPDX-License-Identifier: BSD-3-Clause

// What an application learns while it migrates: progress, messages, and what a terminal shows.

#include "filled_map.hpp"
#include "observe/progress.hpp"

#include <poll.h>

#include <atomic>
#include <chrono>
#include <fcntl.h>
#include <thread>
#include <unistd.h>

namespace valet::test {
namespace {

struct Logged {
  LogLevel level;
  std::string message;
};

/// Collects messages until the end of a scope.
class Listener {
 public:
  Listener() {
    set_log_callback([this](LogLevel level, std::string_view message) {
      messages_.push_back({level, std::string(message)});
    });
  }
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  ~Listener() { set_log_callback({}); }
  [[nodiscard]] const std::vector<Logged>& messages() const { return messages_; }

 private:
  std::vector<Logged> messages_;
};

Report move_a_ring(const Options& options, std::uint64_t slots = 500) {
  const GlobalMap map = ring_map(size(), slots, slots, 1);
  FilledMap filled(map, rank(), Shape::dense);
  Plan plan = filled.plan(MPI_COMM_WORLD, Form::to_ranks, options);
  const Report report = execute(plan, filled.storage());
  EXPECT_EQ(sum_over_ranks(filled.wrong(Form::to_ranks, options.order)), 0);
  return report;
}

TEST(Progress, ReachesTheTotalByAnyMethodAndIsNotReportedTooOften) {
  for (const Method method : {Method::stream, Method::direct, Method::phased, Method::cyclic}) {
    SCOPED_TRACE(to_string(method));
    std::vector<Progress> reports;
    Options options{.budget_bytes = method == Method::direct ? 1U << 20U : 2000U,
                    .method = method,
                    .phased = {.parking = 1}};
    options.progress = [&](const Progress& progress) { reports.push_back(progress); };
    const Report report = move_a_ring(options);
    ASSERT_TRUE(all_ranks(!reports.empty()));
    const Progress& last = reports.back();
    // A block that waits here for another rank is sent from here, too.
    EXPECT_EQ(last.blocks_done, report.blocks_sent - report.detours + report.blocks_received);
    EXPECT_EQ(last.blocks_total, last.blocks_done);
    EXPECT_EQ(last.bytes_done, last.blocks_done * report.block_bytes);
    EXPECT_EQ(last.bytes_total, last.bytes_done);
    EXPECT_LE(last.elapsed_seconds, report.exchange_seconds + 0.01);
    EXPECT_LE(static_cast<double>(reports.size()), 10 * report.exchange_seconds + 3);
    for (std::size_t k = 1; k < reports.size(); ++k) {
      EXPECT_GE(reports[k].blocks_done, reports[k - 1].blocks_done);
      const bool is_last = k + 1 == reports.size();  // made at the end, not when due
      EXPECT_TRUE(is_last || reports[k].elapsed_seconds - reports[k - 1].elapsed_seconds >= 0.099);
    }
  }
}

TEST(Log, HasALineForEveryMigrationThatHasFinished) {
  const Listener listener;
  const Report report = move_a_ring({});
  ASSERT_TRUE(all_ranks(listener.messages().size() == 1));
  EXPECT_EQ(listener.messages()[0].level, LogLevel::info);
  EXPECT_EQ(listener.messages()[0].message, report.to_line());
  expect_words(report.to_line(), {"500 blocks left their rank"});
  EXPECT_EQ(report.to_line().find('\n'), std::string::npos);
}

TEST(Log, WarnsOnRankZeroInPlaceOfStandardError) {
  const Listener listener;
  const Options options{.trace = "/nowhere/at/all"};
  testing::internal::CaptureStderr();
  move_a_ring(options);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  ASSERT_EQ(listener.messages().size(), rank() == 0 ? 2U : 1U);
  if (rank() != 0) return;
  EXPECT_EQ(listener.messages()[0].level, LogLevel::warning);
  expect_words(listener.messages()[0].message, {"'/nowhere/at/all' (No such file or directory)"});
}

TEST(Log, IsSilentByDefaultWhenAllIsWell) {
  testing::internal::CaptureStderr();
  move_a_ring({});
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_FALSE(is_logged(LogLevel::info, 0));
  EXPECT_TRUE(is_logged(LogLevel::warning, 0));
  EXPECT_FALSE(is_logged(LogLevel::warning, 1));
}

TEST(Log, DropsWhatACallbackThrows) {
  set_log_callback([](LogLevel, std::string_view) { throw std::runtime_error("no"); });
  move_a_ring({});
  set_log_callback({});
}

TEST(Log, MayBeSetByManyThreadsWhileOthersSpeak) {
  std::atomic<int> count = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&count, t] {
      for (int k = 0; k < 500; ++k) {
        if (t % 2 == 0)
          set_log_callback([&count](LogLevel, std::string_view) { ++count; });
        else
          log(LogLevel::debug, 0, "a message");
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(count, 1000);
  set_log_callback({});
}

/// A terminal in place of standard error, until the end of a scope.
class Terminal {
 public:
  Terminal() : kept_(dup(STDERR_FILENO)), master_(posix_openpt(O_RDWR | O_NOCTTY)) {
    if (master_ < 0 || grantpt(master_) != 0 || unlockpt(master_) != 0) return;
    const int slave = open(ptsname(master_), O_RDWR | O_NOCTTY);
    if (slave < 0) return;
    std::fflush(stderr);
    dup2(slave, STDERR_FILENO);
    close(slave);
    works_ = true;
  }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;
  ~Terminal() {
    restore();
    close(kept_);
    if (master_ >= 0) close(master_);
  }
  [[nodiscard]] bool works() const { return works_; }
  /// What was written to it so far; then standard error is what it was.
  [[nodiscard]] std::string shown() {
    std::fflush(stderr);
    std::string text;
    std::array<char, 4096> part{};
    pollfd readable{master_, POLLIN, 0};
    // The system hands it over piece by piece.
    while (poll(&readable, 1, 200) > 0 && (readable.revents & POLLIN) != 0) {
      const ssize_t size = read(master_, part.data(), part.size());
      if (size <= 0) break;
      text.append(part.data(), static_cast<std::size_t>(size));
    }
    restore();
    return text;
  }

 private:
  void restore() { dup2(kept_, STDERR_FILENO); }

  int kept_;
  int master_;
  bool works_ = false;
};

TEST(ProgressBar, IsDrawnOnATerminalAndWipedOff) {
  Terminal terminal;
  if (!terminal.works()) GTEST_SKIP() << "this system gives no terminals";
  {
    observe::ProgressBar bar({.title = "measuring", .total = 4});
    std::this_thread::sleep_for(std::chrono::milliseconds(120));
    bar.advance(2);
    observe::ProgressBar moved = std::move(bar);  // the old one wipes nothing
  }
  const std::string shown = terminal.shown();
  expect_words(shown, {"measuring [####################                    ] 2/4"});
  EXPECT_EQ(shown.substr(shown.size() - 4), "\r\033[K");
}

TEST(ProgressBar, DrawsNothingOfWhatIsSoonOver) {
  Terminal terminal;
  if (!terminal.works()) GTEST_SKIP() << "this system gives no terminals";
  {
    observe::ProgressBar bar({.title = "soon over", .total = 10, .delay_seconds = 60});
    for (int k = 0; k < 10; ++k) bar.advance(1);
  }
  move_a_ring({});
  EXPECT_EQ(terminal.shown(), "");
}

/// An environment variable while it lives.
class Environment {
 public:
  Environment(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;
  ~Environment() { unsetenv(name_); }

 private:
  const char* name_;
};

TEST(ProgressBar, IsDrawnInAPipeWhereTheUserWantsIt) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  const int kept = dup(STDERR_FILENO);
  std::fflush(stderr);
  dup2(ends[1], STDERR_FILENO);
  close(ends[1]);
  for (const char* const wish : {"auto", "on", "off", "nonsense"}) {
    const Environment progress("VALET_PROGRESS", wish);
    const observe::ProgressBar bar({.title = wish, .total = 4});
  }
  dup2(kept, STDERR_FILENO);
  close(kept);
  std::array<char, 4096> text{};
  const ssize_t size = read(ends[0], text.data(), text.size());
  close(ends[0]);
  ASSERT_GT(size, 0);
  EXPECT_EQ(std::string(text.data(), static_cast<std::size_t>(size)),
            "\ron [" + std::string(40, ' ') + "] 0/4\033[K\r\033[K");
}

TEST(ProgressBar, IsOffOnATerminalAndNeverInAFile) {
  Terminal terminal;
  if (!terminal.works()) GTEST_SKIP() << "this system gives no terminals";
  {
    const Environment progress("VALET_PROGRESS", "off");
    observe::ProgressBar bar({.title = "off", .total = 1, .lines_elsewhere = true});
    bar.advance(1);
  }
  EXPECT_EQ(terminal.shown(), "");
  testing::internal::CaptureStderr();  // in a file
  {
    const Environment progress("VALET_PROGRESS", "on");
    const observe::ProgressBar bar({.title = "on", .total = 1});
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(ProgressBar, PrintsLinesOnlyWhereTheyAreAskedFor) {
  for (const bool lines : {false, true}) {
    testing::internal::CaptureStderr();
    observe::ProgressBar bar(
        {.title = "arrivals", .total = 3 << 20, .bytes = true, .lines_elsewhere = lines});
    for (int k = 0; k < 3; ++k) bar.advance(1 << 20);
    const std::string text = testing::internal::GetCapturedStderr();
    EXPECT_EQ(text, lines ? "[0] arrivals:  30 %, 1.0/3.0 MiB\n[0] arrivals:  60 %, 2.0/3.0 MiB\n"
                            "[0] arrivals: 100 %, 3.0/3.0 MiB\n"
                          : "");
  }
}

}  // namespace
}  // namespace valet::test
