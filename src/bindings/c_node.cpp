// SPDX-License-Identifier: BSD-3-Clause
#include "bindings/c_call.hpp"
#include <valet/detail/node_bytes.hpp>

#include <map>
#include <mutex>

using namespace valet::c;

namespace {

/// What Valet_Node_alloc() has given, by its address.
struct Given {
  std::mutex mutex;
  std::map<const void*, valet::detail::NodeBytes> memory;

  static Given& all() {
    static Given given;
    return given;
  }
};

/// Calls use(entry) for what begins at `memory`, and no other thread at the same time.
/// @throws Error where that is not from Valet_Node_alloc().
template <class Use>
void with_entry(const void* memory, Use&& use) {
  Given& given = Given::all();
  const std::lock_guard lock(given.mutex);
  const auto entry = given.memory.find(memory);
  if (entry == given.memory.end())
    refuse(
        "no node memory begins at this address, or it has been freed; give what Valet_Node_alloc() "
        "has written");
  use(entry);
}

}  // namespace

int Valet_Node_alloc(MPI_Comm communicator, size_t bytes, void** memory) {
  return guarded([&] {
    agreed(communicator, [&](int) {
      require_pointer(memory, "the place for the memory", "give the address of a void*");
      require_number(bytes, "bytes");
      return memory;
    });
    const valet::detail::NodeBytes made(communicator, bytes, 1);
    Given& given = Given::all();
    const std::lock_guard lock(given.mutex);
    given.memory.emplace(made.data(), made);
    *memory = made.data();
  });
}

int Valet_Node_resize(void* memory, size_t bytes) {
  return guarded([&] {
    require_number(bytes, "bytes");
    with_entry(memory, [&](auto entry) { entry->second.resize(bytes, 1); });
  });
}

int Valet_Node_free(void* memory) {
  if (memory == nullptr) return VALET_SUCCESS;
  return guarded([&] { with_entry(memory, [](auto entry) { Given::all().memory.erase(entry); }); });
}
