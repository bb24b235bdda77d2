// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Progress of what takes long: reported to the application, or drawn on the terminal.

#include <valet/export.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace valet {

/// How far a migration is on this rank. Blocks count when they leave it and when they arrive.
struct Progress {
  std::uint64_t blocks_done = 0;   ///< that have left or arrived
  std::uint64_t blocks_total = 0;  ///< that leave or arrive
  std::uint64_t bytes_done = 0;    ///< of blocks_done
  std::uint64_t bytes_total = 0;   ///< of blocks_total
  double elapsed_seconds = 0;      ///< since the exchange began
};

/// @cond
/// Limits reports of progress to ten a second. Local.
class VALET_EXPORT ProgressPace {
 public:
  /// @param delay_seconds  Nothing is due before that much time from now.
  explicit ProgressPace(double delay_seconds = 0);
  /// Whether it is time to report again.
  [[nodiscard]] bool due();
  [[nodiscard]] double elapsed_seconds() const;

 private:
  double start_;
  double next_;
};

/// A bar on standard error of one rank; silent where that is no terminal. Move-only; it is wiped
/// off by the destructor. All functions are local.
class VALET_EXPORT ProgressBar {
 public:
  struct Settings {
    std::string title;
    std::uint64_t total = 0;   ///< of what advance() counts
    bool bytes = false;        ///< the total is shown in MiB, not as a count
    double delay_seconds = 0;  ///< what is over by then draws nothing
    /// Where standard error is no terminal: a line at each tenth, "[0] <title>: 30 % of ...".
    bool lines_elsewhere = false;
  };

  /// Never draws anything.
  ProgressBar() = default;
  explicit ProgressBar(Settings settings);
  ProgressBar(ProgressBar&& other) noexcept;
  ProgressBar& operator=(ProgressBar&& other) noexcept;
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;
  ~ProgressBar();

  /// Whether standard error of this process is a terminal.
  [[nodiscard]] static bool has_terminal();
  void advance(std::uint64_t amount);

 private:
  enum class Form { silent, bar, lines };

  void draw();
  void print_tenth();
  [[nodiscard]] std::string amounts() const;

  Settings settings_;
  Form form_ = Form::silent;
  std::uint64_t done_ = 0;
  std::uint64_t tenths_ = 0;
  bool drawn_ = false;
  ProgressPace pace_;
};

/// The progress of one call on this rank: to the callback of the application and to a bar.
class ProgressMeter {
 public:
  ProgressMeter(std::function<void(const Progress&)> callback, ProgressBar bar,
                std::uint64_t blocks, std::uint64_t block_bytes);
  /// From now on advance() counts pieces of so many bytes, and not blocks.
  void count_in(std::uint64_t bytes) { piece_bytes_ = bytes; }
  /// So many blocks, or pieces, have left, or arrived.
  void advance(std::uint64_t pieces);
  /// Everything has moved: calls the callback, whenever it was last called. Does nothing while some
  /// is left because this was a part of a call that goes on.
  void finish();

 private:
  void report();

  std::function<void(const Progress&)> callback_;
  ProgressBar bar_;
  std::uint64_t block_bytes_;
  std::uint64_t piece_bytes_;
  Progress state_;
  ProgressPace pace_;
};

/// Who wants to know the progress of a call on this rank, and what it is called.
struct ProgressWish {
  const std::function<void(const Progress&)>& callback;  ///< Options::progress
  bool bar = false;                                      ///< Options::progress_bar
  int rank = 0;
  std::string title;

  /// For blocks that leave and blocks that arrive; nothing where nobody wants to know.
  [[nodiscard]] std::optional<ProgressMeter> meter(std::uint64_t blocks,
                                                   std::uint64_t block_bytes) const;
};

/// @endcond

}  // namespace valet
