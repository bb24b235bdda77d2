// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>

namespace valet::schedule {

/// How often to look for completions before the blocks of a full buffer are misplaced.
///
/// Nobody can know beforehand whether waiting pays: it does where a peer only has no core at the
/// moment, and does not where the ranks wait for each other. So it is learnt: where it paid to wait
/// the next wait may be twice as long, else it is half as long. It is never much longer than
/// misplacing takes, which goes by the number of blocks: each is copied once more, to and from
/// anywhere in memory.
class Patience {
 public:
  /// @param blocks  How many a buffer holds.
  explicit Patience(std::uint64_t blocks)
      : most_(static_cast<int>(std::min<std::uint64_t>(most, blocks / blocks_per_look))),
        allowed_(most_ / 4) {}

  /// Whether to look once more; counts the look.
  [[nodiscard]] bool lasts() {
    if (spent_ >= allowed_) return false;
    ++spent_;
    return true;
  }
  /// The blocks had to be misplaced.
  void failed() {
    allowed_ = std::max(most_ / 8, allowed_ / 2);
    spent_ = 0;
  }
  /// The blocks found their final slots. Without a look since the last outcome nothing is learnt.
  void succeeded() {
    if (spent_ > 0) allowed_ = std::min(most_, 2 * allowed_);
    spent_ = 0;
  }

 private:
  /// A look takes up to a microsecond where nobody else wants the core, a misplaced block of one
  /// cache line a tenth of it.
  static constexpr std::uint64_t blocks_per_look = 16;
  static constexpr std::uint64_t most = 128;

  int most_;
  int allowed_;
  int spent_ = 0;
};

}  // namespace valet::schedule
