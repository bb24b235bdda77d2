// SPDX-License-Identifier: BSD-3-Clause
#include "observe/progress.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace valet::observe {
namespace {

/// What the environment asks for. What is misspelt is `auto`: a display is no reason to end a run.
std::string_view wish() {
  const char* const text = std::getenv("VALET_PROGRESS");
  return text == nullptr ? "auto" : text;
}

bool standard_error_is_file() {
  struct stat status {};
  return fstat(STDERR_FILENO, &status) != 0 || S_ISREG(status.st_mode);
}

}  // namespace

struct ProgressBar::State {
  Settings settings;
  bool in_lines = false;
  ProgressPace pace = ProgressPace(settings.delay_seconds);
  std::uint64_t done = 0;
  std::uint64_t tenths = 0;
  bool drawn = false;

  void draw();
  void print_tenth();
  [[nodiscard]] std::string amounts() const;
};

ProgressBar::ProgressBar(Settings settings) {
  const bool in_lines = !is_shown();
  if (in_lines && (!settings.lines_elsewhere || wish() == "off")) return;
  state_.reset(new State{.settings = std::move(settings), .in_lines = in_lines});
  if (!in_lines && state_->pace.due()) state_->draw();
}

void ProgressBar::Wiper::operator()(State* state) const noexcept {
  if (state->drawn) std::fprintf(stderr, "\r\033[K");
  delete state;
}

bool ProgressBar::is_shown() {
  const auto wanted = wish();
  if (wanted == "off") return false;
  return wanted == "on" ? !standard_error_is_file() : isatty(STDERR_FILENO) != 0;
}

void ProgressBar::advance(std::uint64_t amount) {
  if (state_ == nullptr) return;
  state_->done += amount;
  if (state_->in_lines)
    state_->print_tenth();
  else if (state_->pace.due())
    state_->draw();
}

std::string ProgressBar::State::amounts() const {
  std::array<char, 64> text{};
  if (settings.bytes)
    std::snprintf(text.data(), text.size(), "%.1f/%.1f MiB", static_cast<double>(done) / (1 << 20),
                  static_cast<double>(settings.total) / (1 << 20));
  else
    std::snprintf(text.data(), text.size(), "%llu/%llu", static_cast<unsigned long long>(done),
                  static_cast<unsigned long long>(settings.total));
  return text.data();
}

void ProgressBar::State::draw() {
  constexpr std::uint64_t width = 40;
  const double part =
      settings.total == 0
          ? 1
          : std::min(1.0, static_cast<double>(done) / static_cast<double>(settings.total));
  const auto filled = static_cast<std::size_t>(part * width);
  std::fprintf(stderr, "\r%s [%s%s] %s\033[K", settings.title.c_str(),
               std::string(filled, '#').c_str(), std::string(width - filled, ' ').c_str(),
               amounts().c_str());
  std::fflush(stderr);
  drawn = true;
}

void ProgressBar::State::print_tenth() {
  if (settings.total == 0) return;
  const auto now = static_cast<std::uint64_t>(10.0 * static_cast<double>(done) /
                                              static_cast<double>(settings.total));
  if (now == tenths) return;
  tenths = now;
  std::fprintf(stderr, "[0] %s: %3d %%, %s\n", settings.title.c_str(), static_cast<int>(10 * now),
               amounts().c_str());
}

ProgressMeter::ProgressMeter(ProgressMeter*& current, const ProgressWish& wish,
                             std::uint64_t blocks, std::uint64_t block_bytes)
    : current_(current), block_bytes_(block_bytes), unit_bytes_(block_bytes) {
  constexpr double delay_seconds = 2;
  const bool draws = wish.bar && wish.rank == 0 && ProgressBar::is_shown();
  if (current != nullptr || (!wish.callback && !draws)) return;
  current = this;
  callback_ = wish.callback;
  state_.blocks_total = blocks;
  state_.bytes_total = blocks * block_bytes;
  if (draws)
    bar_ = ProgressBar({.title = wish.title,
                        .total = state_.bytes_total,
                        .bytes = true,
                        .delay_seconds = delay_seconds});
}

void ProgressMeter::advance(std::uint64_t units) {
  state_.bytes_done += units * unit_bytes_;
  state_.blocks_done = state_.bytes_done / block_bytes_;
  bar_.advance(units * unit_bytes_);
  if (callback_ && pace_.due()) report();
}

void ProgressMeter::finish() {
  if (callback_ && state_.bytes_done == state_.bytes_total) report();
}

void ProgressMeter::report() {
  state_.elapsed_seconds = pace_.elapsed_seconds();
  callback_(state_);
}

}  // namespace valet::observe
