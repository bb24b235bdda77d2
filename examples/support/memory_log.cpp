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

/// The second and the sixth number of /proc/self/statm; 0 on systems that do not have it.
void read_memory(MemorySample& sample) {
  std::FILE* const file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr) return;
  unsigned long resident = 0;
  unsigned long data = 0;
  const int read = std::fscanf(file, "%*u %lu %*u %*u %*u %lu", &resident, &data);
  std::fclose(file);
  if (read != 2) return;
  const auto page_bytes = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  sample.resident_bytes = resident * page_bytes;
  sample.data_bytes = data * page_bytes;
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
  MemorySample now;
  now.seconds = seconds();
  now.phase = phase_.load();
  now.step = step_.load();
  read_memory(now);
  now.data_bytes += shared_bytes_;
  return now;
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
  // A simulation is looked at now and then, but what follows it from its first millisecond on.
  constexpr double between_samples = 0.02;
  double last = -between_samples;
  while (!ends_) {
    const bool wanted = phase_ != Phase::simulate || seconds() - last >= between_samples;
    if (wanted && watched_.size() < most_samples) {
      watched_.push_back(sample());
      last = watched_.back().seconds;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
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
  // After a refusal a thread would go on in another arena, without what is free in its own.
  mallopt(M_ARENA_MAX, 1);
#endif
}

}  // namespace example
