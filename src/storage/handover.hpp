// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace valet::storage {

/// How blocks are written into shared memory that another core reads next: through the cache of the
/// writer, or past it into memory. Where both cores share a cache the first is faster, since half
/// of the traffic then never reaches memory (particles of 56 bytes on Zen 5: 11.5 in place of 14.7
/// ms); where they do not, dirty lines are fetched at a quarter of the speed of memory (Zen 3).
/// Cores change and virtual machines do not tell, so the reader measures both, and asks for what it
/// reads faster. Local.
class Handover {
 public:
  /// Whether the next message, to be written at `memory`, is to go past the cache.
  [[nodiscard]] bool choose(const std::byte* memory, std::uint64_t bytes) {
    if (bytes < least_bytes) return false;
    const std::uint64_t number = asked_++;
    bool past_cache = number % 2 != 0;
    if (number >= trials) {
      past_cache = speed_up * least(past) < least(through);
      if (number % retrial == 0) past_cache = !past_cache;
    }
    messages_[number % messages_.size()] = {memory, bytes, past_cache};
    return past_cache;
  }
  /// Tells how long it took to read a part of a message.
  void note_read(const std::byte* memory, std::uint64_t bytes, double seconds) {
    for (std::uint64_t number = asked_; number > 0 && asked_ - number < messages_.size();) {
      const Message& message = messages_[--number % messages_.size()];
      if (memory < message.memory || memory >= message.memory + message.bytes) continue;
      Samples& samples = samples_[message.past_cache ? past : through];
      samples.of[samples.count++ % samples.of.size()] = seconds / static_cast<double>(bytes);
      return;
    }
  }

 private:
  static constexpr std::uint64_t least_bytes = std::uint64_t{16} << 10;  // worth a measurement
  static constexpr std::uint64_t trials = 16, retrial = 64;              // messages
  static constexpr double speed_up = 1.25;  // that makes it worth to write past the cache
  static constexpr std::size_t through = 0, past = 1;

  /// Seconds a byte of the last messages: what was interrupted is not the least of them.
  struct Samples {
    std::array<double, 4> of{};
    std::size_t count = 0;
  };
  [[nodiscard]] double least(std::size_t way) const {
    const Samples& samples = samples_[way];
    const auto end = samples.of.begin() +
                     static_cast<std::ptrdiff_t>(std::min(samples.count, samples.of.size()));
    return samples.count == 0 ? 0 : *std::min_element(samples.of.begin(), end);
  }

  struct Message {
    const std::byte* memory = nullptr;
    std::uint64_t bytes = 0;
    bool past_cache = false;
  };

  std::array<Message, 32> messages_{};  ///< the last ones
  std::array<Samples, 2> samples_;
  std::uint64_t asked_ = 0;
};

}  // namespace valet::storage
