// SPDX-License-Identifier: BSD-3-Clause
#include "base/memory_reserve.hpp"

#include <atomic>
#include <cstdlib>
#include <mutex>

namespace valet::detail {
namespace {

/// What a thread holds back. Nothing is done when it is looked at for the first time, or when the
/// thread ends: the handler looks at it in threads that have never called Valet.
struct Reserve {
  void* memory = nullptr;   ///< from malloc, because operator new would ask the new-handler
  int calls = 0;            ///< of this thread that are running
  int leaving = 0;          ///< steps that may not take it
  bool asks_other = false;  ///< whose handler may in turn call ours
  bool has_ended = false;   ///< the thread; destructors of objects of the program may still call
};
constinit thread_local Reserve own;

struct EndOfThread {
  EndOfThread() = default;
  EndOfThread(const EndOfThread&) = delete;
  EndOfThread& operator=(const EndOfThread&) = delete;
  ~EndOfThread() {
    std::free(std::exchange(own.memory, nullptr));
    own.has_ended = true;
  }
};

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
  if (own.memory != nullptr || own.has_ended) return;
  thread_local const EndOfThread end;
  own.memory = std::malloc(MemoryReserve::bytes);
}

}  // namespace

MemoryReserve::MemoryReserve() noexcept {
  refill();
  if (own.calls++ > 0) return;
  const std::lock_guard lock(mutex);
  if (users++ > 0) return;
  const std::new_handler before = std::set_new_handler(give_up_reserve);
  if (before != give_up_reserve) other = before;  // else the application has put ours back
}

MemoryReserve::~MemoryReserve() {
  refill();
  if (--own.calls > 0) return;
  const std::lock_guard lock(mutex);
  // Unless the application has set another one meanwhile.
  if (--users == 0 && std::get_new_handler() == give_up_reserve) std::set_new_handler(other);
}

bool MemoryReserve::is_held() noexcept {
  refill();
  return own.memory != nullptr;
}

LeaveReserve::LeaveReserve() noexcept { ++own.leaving; }
LeaveReserve::~LeaveReserve() { --own.leaving; }

}  // namespace valet::detail
