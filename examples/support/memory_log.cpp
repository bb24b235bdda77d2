// SPDX-License-Identifier: BSD-3-Clause
#include "memory_log.hpp"

#include <algorithm>
#include <cstdio>
#include <unistd.h>
#if defined(__GLIBC__)
#include <malloc.h>
#endif

namespace example {
namespace {

/// The second number of /proc/self/statm; 0 on systems that do not have it.
std::uint64_t resident_bytes() {
  std::FILE* const file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr) return 0;
  unsigned long total = 0;
  unsigned long resident = 0;
  const int read = std::fscanf(file, "%lu %lu", &total, &resident);
  std::fclose(file);
  return read == 2 ? std::uint64_t{resident} * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE))
                   : 0;
}

}  // namespace

const char* to_string(Phase phase) {
  switch (phase) {
    case Phase::simulate: return "simulate";
    case Phase::partition: return "partition";
    case Phase::migrate: return "migrate";
  }
  return "";
}

MemoryLog::MemoryLog() {
  // Touched now: pages that appear later would look like growth.
  watched_.resize(most_samples);
  watched_.clear();
  entered_.reserve(most_samples / 16);
  thread_ = std::thread([this] { watch(); });
}

MemoryLog::~MemoryLog() {
  ends_ = true;
  if (thread_.joinable()) thread_.join();
}

double MemoryLog::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

MemorySample MemoryLog::sample() const {
  return {seconds(), resident_bytes(), phase_.load(), step_.load()};
}

void MemoryLog::enter(Phase phase, int step) {
  phase_ = phase;
  step_ = step;
  entered_.push_back(sample());
}

void MemoryLog::was_migrating(double from_seconds, double to_seconds) {
  migrations_.emplace_back(from_seconds, to_seconds);
}

void MemoryLog::watch() {
  while (!ends_) {
    const Phase phase = phase_;
    if (watched_.size() < most_samples) watched_.push_back(sample());
    std::this_thread::sleep_for(std::chrono::milliseconds(phase == Phase::simulate ? 20 : 1));
  }
}

std::vector<MemorySample> MemoryLog::finish() {
  ends_ = true;
  if (thread_.joinable()) thread_.join();
  std::vector<MemorySample> all = watched_;
  all.insert(all.end(), entered_.begin(), entered_.end());
  all.push_back(sample());
  std::sort(all.begin(), all.end(),
            [](const auto& a, const auto& b) { return a.seconds < b.seconds; });
  for (MemorySample& one : all)
    for (const auto& [from, to] : migrations_)
      if (one.seconds >= from && one.seconds <= to) one.phase = Phase::migrate;
  return all;
}

void return_freed_memory() {
#if defined(__GLIBC__)
  mallopt(M_MMAP_THRESHOLD, 64 << 10);
  mallopt(M_TRIM_THRESHOLD, 64 << 10);
#endif
}

}  // namespace example
