// SPDX-License-Identifier: BSD-3-Clause
#include "base/memory_reserve.hpp"

#include <atomic>
#include <cstdlib>
#include <mutex>

namespace valet::detail {
namespace {

/// From malloc, because operator new would ask the new-handler.
struct Reserve {
  Reserve() = default;
  Reserve(const Reserve&) = delete;
  Reserve& operator=(const Reserve&) = delete;
  ~Reserve() { std::free(memory); }

  void* memory = nullptr;
  int calls = 0;            ///< of this thread that are running
  int leaving = 0;          ///< steps that may not take it
  bool asks_other = false;  ///< whose handler may in turn call ours
};
thread_local Reserve own;

std::mutex mutex;
int users = 0;  ///< calls of all threads that are running
std::atomic<std::new_handler> other = nullptr;

/// What operator new calls before it tries again.
void give_up_reserve() {
  if (own.calls > 0 && own.leaving == 0 && own.memory != nullptr) {
    std::free(std::exchange(own.memory, nullptr));
    return;
  }
  const std::new_handler handler = other;
  if (handler == nullptr || own.asks_other) throw std::bad_alloc();
  struct Asking {
    Asking() { own.asks_other = true; }
    ~Asking() { own.asks_other = false; }
  } const asking;
  handler();
}

/// Where it was given up and the system has some again.
void refill() noexcept {
  if (own.memory == nullptr) own.memory = std::malloc(MemoryReserve::bytes);
}

}  // namespace

MemoryReserve::MemoryReserve() noexcept {
  refill();
  if (own.calls++ > 0) return;
  const std::lock_guard lock(mutex);
  if (users++ == 0) other = std::set_new_handler(give_up_reserve);
}

MemoryReserve::~MemoryReserve() {
  refill();
  if (--own.calls > 0) return;
  const std::lock_guard lock(mutex);
  // Not where the application has set another one meanwhile.
  if (--users == 0 && std::get_new_handler() == give_up_reserve) std::set_new_handler(other);
}

LeaveReserve::LeaveReserve() noexcept { ++own.leaving; }
LeaveReserve::~LeaveReserve() { --own.leaving; }

}  // namespace valet::detail
