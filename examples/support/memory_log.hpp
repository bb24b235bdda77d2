// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <utility>
#include <vector>

namespace example {

/// What the program was doing at a moment.
enum class Phase : int { simulate, partition, migrate };

[[nodiscard]] const char* to_string(Phase phase);

/// The memory of the process at one moment.
struct MemorySample {
  double seconds = 0;
  std::uint64_t resident_bytes = 0;
  std::uint64_t data_bytes = 0;  ///< private and writable, resident or not, and what it shares
  Phase phase = Phase::simulate;
  int step = 0;
};

/// Watches the memory of this process from a thread of its own, because the peak inside a
/// migration is what matters and no call is made from there. Its own memory is taken at the start.
class MemoryLog {
 public:
  MemoryLog();
  MemoryLog(const MemoryLog&) = delete;
  MemoryLog& operator=(const MemoryLog&) = delete;
  ~MemoryLog();

  /// Notes what comes next, and a sample of its beginning. Local.
  void enter(Phase phase, int step);
  /// Notes afterwards that what was called partition was the migration in this span.
  void was_migrating(double from_seconds, double to_seconds);
  /// Counts arrays of this process that the system does not call data, as others can read them.
  void shares(std::uint64_t bytes) { shared_bytes_ = bytes; }
  [[nodiscard]] double seconds() const;

  /// Ends the watch and gives what it saw, ordered by time.
  [[nodiscard]] std::vector<MemorySample> finish();

 private:
  static constexpr std::size_t most_samples = 100'000;

  [[nodiscard]] MemorySample sample() const;
  void watch();

  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::atomic<Phase> phase_{Phase::simulate};
  std::atomic<int> step_{0};
  std::atomic<bool> ends_{false};
  std::atomic<std::uint64_t> shared_bytes_{0};
  std::vector<MemorySample> entered_;
  std::vector<MemorySample> watched_;
  std::vector<std::pair<double, double>> migrations_;
  std::thread thread_;
};

/// Asks the allocator to give freed memory back at once, so that the resident set is what is used.
void return_freed_memory();

}  // namespace example
