// SPDX-License-Identifier: BSD-3-Clause
#include "bindings/c_call.hpp"
#include <valet/custom_storage.hpp>
#include <valet/detail/host_fields.hpp>
#include <valet/valet.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>

namespace {

/// What a function of the application returned, as C++ reports it.
void require_success(int code, const char* function) {
  if (code == 0) return;
  std::string text(function);
  throw std::runtime_error(text.append(" returned ").append(std::to_string(code)));
}

valet::CustomFunctions to_functions(const Valet_Custom_functions& given, void* data) {
  valet::CustomFunctions functions;
  if (given.pack != nullptr)
    functions.pack = [=](valet::SlotSpan slots, std::byte* packed) {
      require_success(given.pack(data, slots.data(), slots.size(), packed), "pack");
    };
  if (given.unpack != nullptr)
    functions.unpack = [=](const std::byte* packed, valet::SlotSpan slots) {
      require_success(given.unpack(data, packed, slots.data(), slots.size()), "unpack");
    };
  if (given.copy != nullptr)
    functions.copy = [=](valet::SlotSpan from, valet::SlotSpan to) {
      require_success(given.copy(data, from.data(), to.data(), from.size()), "copy");
    };
  if (given.allocate_scratch != nullptr)
    functions.allocate_scratch = [=](std::size_t bytes) {
      return given.allocate_scratch(data, bytes);
    };
  if (given.free_scratch != nullptr)
    functions.free_scratch = [=](void* memory) { given.free_scratch(data, memory); };
  if (given.synchronize != nullptr)
    functions.synchronize = [=] { require_success(given.synchronize(data), "synchronize"); };
  functions.mpi_data = given.mpi_data;
  return functions;
}

/// A storage that all ranks refuse together where the functions cannot be used.
valet::BlockStorage custom_storage(std::uint64_t slots, std::size_t block_bytes,
                                   const Valet_Custom_functions* functions, void* data) {
  try {
    valet::c::require_pointer(functions, "the functions", "give a Valet_Custom_functions");
    Valet_Custom_functions defaults{};
    return valet::custom_storage(
        slots, block_bytes,
        to_functions(valet::c::complete("Valet_Custom_functions", *functions, defaults), data));
  } catch (const valet::Error&) {
    return valet::BlockStorage(
        std::make_shared<valet::HostFields>(valet::c::diagnostic_in_flight()));
  }
}

}  // namespace

void Valet_Custom_functions_init(Valet_Custom_functions* functions, size_t struct_size) {
  valet::c::initialise(functions, struct_size, Valet_Custom_functions{});
}

Valet_Storage* Valet_Storage_create_custom(uint64_t slots, size_t block_bytes,
                                           const Valet_Custom_functions* functions, void* data) {
  Valet_Storage* result = nullptr;
  static_cast<void>(valet::c::guarded([&] {
    auto storage = std::make_unique<Valet_Storage>();
    storage->custom.emplace(custom_storage(slots, block_bytes, functions, data));
    result = storage.release();
  }));
  return result;
}
