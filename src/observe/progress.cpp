// SPDX-License-Identifier: BSD-3-Clause
#include <valet/progress.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <unistd.h>
#include <utility>

namespace valet {
namespace {

constexpr double seconds_between = 0.1;

/// The user's time, also where MPI's clock is simulated.
double seconds_now() {
  using std::chrono::steady_clock;
  return std::chrono::duration<double>(steady_clock::now().time_since_epoch()).count();
}

}  // namespace

ProgressPace::ProgressPace(double delay_seconds)
    : start_(seconds_now()), next_(start_ + delay_seconds) {}

bool ProgressPace::due() {
  const double now = seconds_now();
  if (now < next_) return false;
  next_ = now + seconds_between;
  return true;
}

double ProgressPace::elapsed_seconds() const { return seconds_now() - start_; }

ProgressBar::ProgressBar(Settings settings)
    : settings_(std::move(settings)), pace_(settings_.delay_seconds) {
  if (has_terminal())
    form_ = Form::bar;
  else if (settings_.lines_elsewhere)
    form_ = Form::lines;
  if (form_ == Form::bar && pace_.due()) draw();
}

ProgressBar::ProgressBar(ProgressBar&& other) noexcept
    : settings_(std::move(other.settings_)),
      form_(std::exchange(other.form_, Form::silent)),
      done_(other.done_),
      tenths_(other.tenths_),
      drawn_(std::exchange(other.drawn_, false)),
      pace_(other.pace_) {}

ProgressBar& ProgressBar::operator=(ProgressBar&& other) noexcept {
  ProgressBar moved(std::move(other));
  std::swap(settings_, moved.settings_);
  std::swap(form_, moved.form_);
  std::swap(done_, moved.done_);
  std::swap(tenths_, moved.tenths_);
  std::swap(drawn_, moved.drawn_);
  std::swap(pace_, moved.pace_);
  return *this;
}

ProgressBar::~ProgressBar() {
  if (drawn_) std::fprintf(stderr, "\r\033[K");
}

bool ProgressBar::has_terminal() { return isatty(STDERR_FILENO) != 0; }

void ProgressBar::advance(std::uint64_t amount) {
  if (form_ == Form::silent) return;
  done_ += amount;
  if (form_ == Form::lines)
    print_tenth();
  else if (pace_.due())
    draw();
}

std::string ProgressBar::amounts() const {
  std::array<char, 64> text{};
  if (settings_.bytes)
    std::snprintf(text.data(), text.size(), "%.1f/%.1f MiB", static_cast<double>(done_) / (1 << 20),
                  static_cast<double>(settings_.total) / (1 << 20));
  else
    std::snprintf(text.data(), text.size(), "%llu/%llu", static_cast<unsigned long long>(done_),
                  static_cast<unsigned long long>(settings_.total));
  return text.data();
}

void ProgressBar::draw() {
  constexpr std::uint64_t width = 40;
  const double part =
      settings_.total == 0
          ? 1
          : std::min(1.0, static_cast<double>(done_) / static_cast<double>(settings_.total));
  const auto filled = static_cast<std::size_t>(part * width);
  std::fprintf(stderr, "\r%s [%s%s] %s\033[K", settings_.title.c_str(),
               std::string(filled, '#').c_str(), std::string(width - filled, ' ').c_str(),
               amounts().c_str());
  std::fflush(stderr);
  drawn_ = true;
}

void ProgressBar::print_tenth() {
  if (settings_.total == 0) return;
  const auto tenths = static_cast<std::uint64_t>(10.0 * static_cast<double>(done_) /
                                                 static_cast<double>(settings_.total));
  if (tenths == tenths_) return;
  tenths_ = tenths;
  std::fprintf(stderr, "[0] %s: %3d %%, %s\n", settings_.title.c_str(),
               static_cast<int>(10 * tenths), amounts().c_str());
}

ProgressMeter::ProgressMeter(std::function<void(const Progress&)> callback, ProgressBar bar,
                             std::uint64_t blocks, std::uint64_t block_bytes)
    : callback_(std::move(callback)),
      bar_(std::move(bar)),
      block_bytes_(block_bytes),
      piece_bytes_(block_bytes) {
  state_.blocks_total = blocks;
  state_.bytes_total = blocks * block_bytes;
}

void ProgressMeter::advance(std::uint64_t pieces) {
  state_.bytes_done += pieces * piece_bytes_;
  state_.blocks_done = state_.bytes_done / block_bytes_;
  bar_.advance(pieces * piece_bytes_);
  if (callback_ && pace_.due()) report();
}

void ProgressMeter::finish() {
  if (callback_ && state_.bytes_done == state_.bytes_total) report();
}

void ProgressMeter::report() {
  state_.elapsed_seconds = pace_.elapsed_seconds();
  callback_(state_);
}

std::optional<ProgressMeter> ProgressWish::meter(std::uint64_t blocks,
                                                 std::uint64_t block_bytes) const {
  constexpr double delay_seconds = 2;
  const bool draws = bar && rank == 0 && ProgressBar::has_terminal();
  if (!callback && !draws) return std::nullopt;
  ProgressBar drawn;
  if (draws)
    drawn = ProgressBar({.title = title,
                         .total = blocks * block_bytes,
                         .bytes = true,
                         .delay_seconds = delay_seconds});
  return ProgressMeter(callback, std::move(drawn), blocks, block_bytes);
}

}  // namespace valet
