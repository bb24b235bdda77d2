// SPDX-License-Identifier: BSD-3-Clause
#include "bindings/c_call.hpp"
#include <valet/objects.hpp>

#include <tuple>

using namespace valet::c;

namespace {

valet::ObjectFunctions to_functions(const Valet_Object_functions* functions, void* data) {
  require_pointer(functions, "the functions", "give a Valet_Object_functions");
  const Valet_Object_functions given =
      complete("Valet_Object_functions", *functions, Valet_Object_functions{});
  valet::ObjectFunctions to;
  if (given.size != nullptr)
    to.size = [=](std::uint64_t object) {
      std::uint64_t bytes = 0;
      require_success(given.size(data, object, &bytes));
      return bytes;
    };
  if (given.pack != nullptr)
    to.pack = [=](std::uint64_t object, std::span<std::byte> packed) {
      require_success(given.pack(data, object, packed.data(), packed.size()));
    };
  if (given.unpack != nullptr)
    to.unpack = [=](int source, std::span<const std::byte> packed) {
      require_success(given.unpack(data, source, packed.data(), packed.size()));
    };
  if (given.left != nullptr)
    to.left = [=](std::uint64_t object) { require_success(given.left(data, object)); };
  return to;
}

}  // namespace

void Valet_Object_functions_init(Valet_Object_functions* functions, size_t struct_size) {
  initialise(functions, struct_size, Valet_Object_functions{});
}

int Valet_Migrate_objects(MPI_Comm communicator, uint64_t count, const int* ranks,
                          const Valet_Object_functions* functions, void* data,
                          const Valet_Options* options, Valet_Report* report) {
  return guarded([&] {
    const auto [destinations, calls, chosen] =
        agreed(communicator, options, [&](int, const ChosenOptions& is) {
          require_report(report);
          return std::tuple(to_map(ranks, count), to_functions(functions, data), is.options);
        });
    write_report(valet::migrate_objects(communicator, count, destinations, calls, chosen), report);
  });
}
