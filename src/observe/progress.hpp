// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Progress of what takes long: reported to the application, or drawn on the terminal.

#include <valet/export.hpp>
#include <valet/progress.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace valet::observe {

/// Limits reports of progress to ten a second of the user's time, also where MPI's clock is
/// simulated. Local.
class ProgressPace {
 public:
  /// @param delay_seconds  Nothing is due before that time has passed.
  explicit ProgressPace(double delay_seconds = 0) : next_seconds_(delay_seconds) {}
  /// Whether it is time to report again.
  [[nodiscard]] bool due() {
    const double now = elapsed_seconds();
    if (now < next_seconds_) return false;
    next_seconds_ = now + 0.1;
    return true;
  }
  [[nodiscard]] double elapsed_seconds() const {
    return std::chrono::duration<double>(Clock::now() - start_).count();
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now();
  double next_seconds_;
};

/// A bar on standard error of one rank. Move-only; it is wiped off by the destructor. All functions
/// are local.
///
/// The environment variable VALET_PROGRESS says where: `auto`, the default, on a terminal, `off`
/// nowhere. `on` also in a pipe, which is what a launcher like mpirun gives its ranks; never in a
/// file.
class VALET_EXPORT ProgressBar {
 public:
  struct Settings {
    std::string title;
    std::uint64_t total = 0;   ///< what advance() counts up to
    bool bytes = false;        ///< the total is shown in MiB, not as a count
    double delay_seconds = 0;  ///< what is over by then draws nothing
    /// Where there is no bar, but for VALET_PROGRESS=off: a line at each tenth, "[0] <title>: 30
    /// %".
    bool lines_elsewhere = false;
  };

  /// Never draws anything.
  ProgressBar() = default;
  explicit ProgressBar(Settings settings);

  /// Whether there is a bar on standard error of this process.
  [[nodiscard]] static bool is_shown();
  void advance(std::uint64_t amount);

 private:
  struct State;
  struct Wiper {
    VALET_EXPORT void operator()(State* state) const noexcept;
  };

  std::unique_ptr<State, Wiper> state_;  ///< null for one that never draws anything
};

/// Who wants to know the progress of a call on this rank, and what it is called.
struct ProgressWish {
  const std::function<void(const Progress&)>& callback;  ///< Options::progress
  bool bar = false;                                      ///< Options::progress_bar
  int rank = 0;
  std::string title;
};

/// The progress of one call on this rank, while it lives: to the callback of the application and to
/// a bar.
class ProgressMeter {
 public:
  /// For blocks that leave and blocks that arrive.
  /// @param current  Gets this meter until it is gone, unless nobody wants to know, or there is one
  ///                 already: that of the call that this one is a part of.
  ProgressMeter(ProgressMeter*& current, const ProgressWish& wish, std::uint64_t blocks,
                std::uint64_t block_bytes);
  ProgressMeter(const ProgressMeter&) = delete;
  ProgressMeter& operator=(const ProgressMeter&) = delete;
  ~ProgressMeter() {
    if (current_ == this) current_ = nullptr;
  }

  /// From now on advance() counts units of so many bytes, and not blocks.
  void count_in(std::uint64_t bytes) { unit_bytes_ = bytes; }
  /// So many blocks, or units, have left, or arrived.
  void advance(std::uint64_t units);
  /// Everything has moved: calls the callback, whenever it was last called. Does nothing while some
  /// is left because this was a part of a call that goes on.
  void finish();

 private:
  void report();

  ProgressMeter*& current_;
  std::function<void(const Progress&)> callback_;
  ProgressBar bar_;
  std::uint64_t block_bytes_;
  std::uint64_t unit_bytes_;
  Progress state_;
  ProgressPace pace_;
};

}  // namespace valet::observe
