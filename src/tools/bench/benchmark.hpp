// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "measure.hpp"
#include "observe/progress.hpp"
#include "tools/command_line.hpp"
#include "tools/errors.hpp"
#include "tools/output.hpp"
#include <valet/options.hpp>

#include <any>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace valet::bench {

using tools::Case;
using tools::Check;
using tools::in_range;
using tools::Integers;
using tools::Number;
using tools::Numbers;
using tools::one_of;
using tools::Option;
using tools::positive;
using tools::refuse;
using tools::Text;
using tools::Texts;

/// What the option --method is for methods that move blocks.
[[nodiscard]] std::string about_methods();

/// One of several ways to do the same, which take turns; a line in the plots.
struct Series {
  std::string name;
  std::function<Outcome()> run;
  std::vector<double> seconds = {};  ///< without the first round, which warms up
  bool verified = true;              ///< in all rounds
  Report report = {};                ///< of the run whose time is the median

  [[nodiscard]] double median() const { return bench::median(seconds); }
};

/// The names of a table whose entries have one.
template <class Table>
[[nodiscard]] Texts names_in(const Table& table) {
  Texts names;
  names.reserve(table.size());
  for (const auto& entry : table) names.emplace_back(entry.name);
  return names;
}

/// What is measured one after the other.
using Jobs = std::vector<std::function<void()>>;

/// job(value, ...) for all combinations of values of the lists; the last list runs fastest.
template <class Job>
[[nodiscard]] Jobs jobs_of(const Job& job) {
  return {job};
}
template <class Job, class List, class... Lists>
[[nodiscard]] Jobs jobs_of(const Job& job, const List& list, const Lists&... others) {
  Jobs jobs;
  for (const auto& value : list)
    for (auto& one : jobs_of([=](const auto&... rest) { job(value, rest...); }, others...))
      jobs.push_back(std::move(one));
  return jobs;
}

/// Which options a benchmark has of those that several have.
struct CommonOptions {
  const char* memory = "4M";  ///< default of --memory; nullptr: it has no such option
  bool can_share = true;      ///< --share-memory
  bool has_storage = false;   ///< --storage, for one that makes its arrays with storage()
};

/// A subcommand of valet-bench, on MPI_COMM_WORLD.
class Benchmark {
 public:
  /// @param repeat  Default of --repeat; 0: as many rounds as it wants.
  Benchmark(const char* called, const char* about, int repeat, const CommonOptions& common = {});
  Benchmark(const Benchmark&) = delete;
  Benchmark& operator=(const Benchmark&) = delete;
  virtual ~Benchmark() = default;

  const char* const name;
  const char* const description;
  /// All options; they are set before run().
  std::vector<Option> options();
  /// Measures, prints a table and writes it to a file. Whether all results were what they had to
  /// be.
  /// @throws std::exception when it cannot.
  bool run();

 protected:
  /// An option of this benchmark alone: the place of its value, which is `usual` by default.
  template <class Value>
  Value& option(const char* flags, Value usual, std::string help, Check check = {}) {
    auto& value = std::any_cast<Value&>(values_.emplace_back(std::move(usual)));
    own_options_.push_back({flags, &value, std::move(help), std::move(check)});
    return value;
  }

  /// Each adds rows. Collective, as are they.
  virtual Jobs jobs() = 0;
  /// Rounds of a job.
  [[nodiscard]] virtual int rounds() const { return repeat_ + 1; }
  /// Prints schedules that were computed without data, and returns them for the file.
  static Case counted(const std::vector<Case>& schedules);
  /// Prints what the rows come to; returns further keys for the file. Collective.
  virtual Case summary() { return Case::object(); }

  /// Ends a round of the job.
  void step() { bar_.advance(1); }
  /// Lets all series run once a round.
  void take_turns(std::vector<Series>& all);
  /// Lets Valet take turns with a peer, whose buffers are at hand or must be allocated first, and
  /// adds a row: `setting`, then what was measured. Returns the report of Valet.
  template <class Peer>
  Report compare(Case setting, const std::function<Outcome()>& valet, Peer& peer) {
    return compare(std::move(setting), {{"warm", [&] { return peer.run_warm(); }},
                                        {"cold", [&] { return peer.run_cold(); }},
                                        {"valet", valet}});
  }
  /// Lets all series take turns with MPI_Alltoallv, and adds a row for each.
  /// @param setting  The first keys of all rows, "method" among them.
  /// @param detail   detail(row, report) adds what the experiment shows.
  void compare(const Case& setting, std::vector<Series> all, Alltoallv& peer,
               const std::function<void(Case& row, const Report& report)>& detail);
  /// To --memory and --share-memory.
  template <class AnyOptions>
  void set_common(AnyOptions& options) const {
    options.budget_bytes = parse_bytes(memory_);
    options.share_memory = share_memory_;
  }
  [[nodiscard]] Storage storage() const {
    return storage_ == "node" ? Storage::node : Storage::ordinary;
  }
  template <class AnyOptions>
  [[nodiscard]] AnyOptions common_options() const {
    AnyOptions options;
    set_common(options);
    return options;
  }

  /// The same for a method of moving blocks.
  [[nodiscard]] Options options_with(const std::string& method) const {
    auto options = common_options<Options>();
    options.method = parse_method(method);
    return options;
  }

  std::string memory_;
  bool share_memory_ = true;
  std::string storage_;  ///< empty where there is no choice
  int repeat_;
  std::vector<Case> rows_;

 private:
  /// @param all  The peer with its buffers at hand and without, and Valet.
  Report compare(Case setting, std::vector<Series> all);
  [[nodiscard]] Case describe_storage() const;

  std::deque<std::any> values_;  ///< of the options, each where it stays
  std::vector<Option> own_options_;
  bool can_share_;
  std::string json_;
  bool bind_ = true;
  observe::ProgressBar bar_;
};

/// Each in a source of its own.
using MakeBenchmark = std::unique_ptr<Benchmark>();
MakeBenchmark make_alltoall_benchmark, make_auto_benchmark, make_check_benchmark,
    make_device_benchmark, make_dropin_benchmark, make_exchange_benchmark, make_junction_benchmark,
    make_kokkos_benchmark, make_layout_benchmark, make_madre_benchmark, make_phases_benchmark,
    make_ragged_benchmark, make_rebalance_benchmark, make_restart_benchmark, make_sizes_benchmark,
    make_trace_benchmark;

}  // namespace valet::bench
