// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <ctime>
#include <random>
#include <stdexcept>

namespace valet::test {

/// While it lives, a signal stops this process again and again, between any two instructions,
/// mostly for microseconds: what other ranks see of its memory then stays as it is. One at a time.
class RandomStops {
 public:
  explicit RandomStops(std::uint64_t seed) {
    std::mt19937_64 random(seed);
    for (std::uint32_t& number : numbers()) number = static_cast<std::uint32_t>(random());
    struct sigaction action {};
    action.sa_handler = stop;
    action.sa_flags = SA_RESTART;
    struct sigevent event {};
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = SIGUSR2;
    if (sigaction(SIGUSR2, &action, &before_) != 0 ||
        timer_create(CLOCK_MONOTONIC, &event, &timer()) != 0)
      throw std::runtime_error("there is no timer for random stops");
    start_again();
  }
  RandomStops(const RandomStops&) = delete;
  RandomStops& operator=(const RandomStops&) = delete;
  ~RandomStops() {
    timer_delete(timer());
    sigaction(SIGUSR2, &before_, nullptr);
  }

 private:
  static std::array<std::uint32_t, 1024>& numbers() {
    static std::array<std::uint32_t, 1024> numbers;
    return numbers;
  }
  static timer_t& timer() {
    static timer_t timer;
    return timer;
  }
  static std::uint32_t next() {
    static std::uint32_t position = 0;
    return numbers()[position++ % 1024];
  }
  static void start_again() {
    struct itimerspec next_stop {};
    next_stop.it_value.tv_nsec = 1'000 + next() % 300'000;
    timer_settime(timer(), 0, &next_stop, nullptr);
  }
  /// Does nothing that a signal handler may not do.
  static void stop(int) {
    const int error = errno;
    const std::uint32_t length = next() % (next() % 64 == 0 ? 3'000'000 : 100'000);
    const struct timespec nanoseconds { 0, static_cast<long>(length) };
    nanosleep(&nanoseconds, nullptr);
    start_again();
    errno = error;
  }

  struct sigaction before_ {};
};

}  // namespace valet::test
