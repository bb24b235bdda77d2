// SPDX-License-Identifier: BSD-3-Clause
#include "base/names.hpp"
#include "bindings/c_call.hpp"
#include <valet/detail/host_fields.hpp>
#include <valet/valet.hpp>

#include <cstddef>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

using namespace valet::c;

namespace {

constexpr const char* make_storage = "make one by Valet_Storage_create()";

static_assert(sizeof(Valet_Address) == sizeof(valet::Address) &&
              offsetof(Valet_Address, slot) == offsetof(valet::Address, slot));
static_assert(VALET_LOG_WARNING == static_cast<int>(valet::LogLevel::warning));

/// @throws Error where a plan has no storage or no place. Local.
void require_places(const Valet_Storage* storage, Valet_Plan** plan) {
  require_pointer(storage, "the storage", make_storage);
  require_pointer(plan, "the place for the plan", "give the address of a Valet_Plan*");
}

/// @throws Error invalid_argument for a block that goes to a slot with a negative number, unless
/// its
///         rank is one as well: then it may be dropped, and planning says more about it. Local.
void require_slots(std::span<const valet::Address> map, const std::uint8_t* mask) {
  for (std::size_t k = 0; k < map.size(); ++k)
    if (map[k].rank >= 0 && (mask == nullptr || mask[k] != 0))
      require_number(map[k].slot, "the slot that the block in slot ", k, " goes to");
}

/// Plans a map by `make`, valet::plan_to_ranks() or valet::plan_to_slots().
template <class Destination, class MakePlan>
int plan_map(MPI_Comm communicator, const Valet_Storage* storage, std::uint64_t count,
             const std::uint8_t* mask, const Destination* map, const Valet_Options* options,
             Valet_Plan** plan, MakePlan&& make) {
  return guarded([&] {
    const auto [blocks, chosen] = agreed(communicator, options, [&](int, const ChosenOptions& is) {
      require_places(storage, plan);
      const std::span destinations = to_map(map, count);
      if constexpr (std::is_same_v<Destination, valet::Address>) require_slots(destinations, mask);
      return std::pair(to_storage(storage), is.options);
    });
    *plan = new Valet_Plan{
        make(communicator, blocks, to_occupied(count, mask), to_map(map, count), chosen)};
  });
}

/// Writes a text as far as the caller has room for it, and a 0. Returns the bytes of all of it.
template <class MakeText>
std::size_t write_text(char* target, std::size_t bytes, MakeText&& make_text) {
  std::string text;
  if (bytes > 0 && target != nullptr) target[0] = '\0';
  static_cast<void>(guarded([&] {
    text = make_text();
    if (bytes > 0) require_pointer(target, "the text", "give room for it, or no bytes");
    if (bytes > 0) target[text.copy(target, bytes - 1)] = '\0';
  }));
  return text.size();
}

/// @throws Error for a null pointer or a wrong struct_size. Local.
valet::Report given_report(const Valet_Report* report) {
  require_pointer(report, "the report", "give one that a call has filled");
  return to_report(*report);
}

/// Where this rank has an argument wrong, a storage that all ranks refuse together.
valet::BlockStorage to_storage(const Valet_Storage* storage, const Valet_Report* report) {
  try {
    require_report(report);
    return valet::c::to_storage(storage);
  } catch (...) {
    return refused_storage(diagnostic_in_flight());
  }
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
    require_pointer(functions, "the functions", "give a Valet_Custom_functions");
    require_number(slots, "slots");
    require_number(block_bytes, "block_bytes");
    Valet_Custom_functions defaults{};
    return valet::custom_storage(
        slots, block_bytes,
        to_functions(complete("Valet_Custom_functions", *functions, defaults), data));
  } catch (const valet::Error&) {
    return refused_storage(diagnostic_in_flight());
  }
}

}  // namespace

void Valet_Options_init(Valet_Options* options, size_t struct_size) {
  initialise(options, struct_size, default_options());
}

void Valet_Report_init(Valet_Report* report, size_t struct_size) {
  initialise(report, struct_size, Valet_Report{});
}

Valet_Storage* Valet_Storage_create(void) { return new (std::nothrow) Valet_Storage(); }

int Valet_Storage_add_field(Valet_Storage* storage, void* data, uint64_t slots, size_t row_bytes,
                            ptrdiff_t slot_stride_bytes, const char* label) {
  return Valet_Storage_add_array(storage, data, slots, slot_stride_bytes, row_bytes, 0, nullptr,
                                 nullptr, label);
}

int Valet_Storage_add_array(Valet_Storage* storage, void* data, uint64_t slots,
                            ptrdiff_t slot_stride_bytes, size_t element_bytes, int dimensions,
                            const size_t* extents, const ptrdiff_t* stride_bytes,
                            const char* label) {
  return guarded([&] {
    require_pointer(storage, "the storage", make_storage);
    if (storage->custom) refuse("a storage of functions takes no fields; make one for each");
    constexpr int most = valet::Field::max_dimensions;
    if (dimensions < 0 || dimensions > most)
      refuse("rows of ", dimensions, " dimensions; give 0 to ", most);
    if (dimensions > 0) require_pointer(extents, "the extents", "give one for each dimension");
    if (dimensions > 0) require_pointer(stride_bytes, "the strides", "give one for each dimension");
    valet::Field field = valet::strided_field(data, slots, element_bytes, slot_stride_bytes,
                                              label == nullptr ? "" : label);
    field.dimension_count = static_cast<std::size_t>(dimensions);
    for (std::size_t d = 0; d < field.dimension_count; ++d)
      field.dimensions[d] = {extents[d], stride_bytes[d]};
    const std::string name = valet::detail::named("field", field.label, storage->fields.size());
    refuse_negative(*storage, slots, "slots of ", name);
    refuse_negative(*storage, element_bytes, "the bytes of an element of ", name);
    storage->fields.push_back(std::move(field));
  });
}

int Valet_Storage_refuse(Valet_Storage* storage, const char* why) {
  return guarded([&] {
    require_pointer(storage, "the storage", make_storage);
    require_pointer(why, "the text", "say what is wrong");
    storage->refused = valet::Diagnostic{valet::ErrorCode::invalid_argument, why};
  });
}

void Valet_Custom_functions_init(Valet_Custom_functions* functions, size_t struct_size) {
  initialise(functions, struct_size, Valet_Custom_functions{});
}

Valet_Storage* Valet_Storage_create_custom(uint64_t slots, size_t block_bytes,
                                           const Valet_Custom_functions* functions, void* data) {
  Valet_Storage* result = nullptr;
  static_cast<void>(guarded([&] {
    auto storage = std::make_unique<Valet_Storage>();
    storage->custom.emplace(custom_storage(slots, block_bytes, functions, data));
    result = storage.release();
  }));
  return result;
}

int Valet_Storage_grow_by(Valet_Storage* storage, Valet_Storage_for_fn* grow, void* data) {
  return guarded([&] {
    require_pointer(storage, "the storage", make_storage);
    storage->grow = nullptr;
    if (grow != nullptr)
      storage->grow = [=](std::uint64_t slots) { return made_storage(grow(data, slots)); };
  });
}

void Valet_Storage_free(Valet_Storage* storage) { delete storage; }

int Valet_Plan_to_ranks(MPI_Comm communicator, const Valet_Storage* storage, uint64_t count,
                        const uint8_t* mask, const int* ranks, const Valet_Options* options,
                        Valet_Plan** plan) {
  return plan_map(communicator, storage, count, mask, ranks, options, plan,
                  [](auto&&... arguments) { return valet::plan_to_ranks(arguments...); });
}

int Valet_Plan_to_slots(MPI_Comm communicator, const Valet_Storage* storage, uint64_t count,
                        const uint8_t* mask, const Valet_Address* addresses,
                        const Valet_Options* options, Valet_Plan** plan) {
  return plan_map(communicator, storage, count, mask,
                  reinterpret_cast<const valet::Address*>(addresses), options, plan,
                  valet::plan_to_slots);
}

int Valet_Repair(MPI_Comm communicator, uint64_t count, const uint8_t* mask, int* ranks,
                 uint64_t slots, uint64_t* changed, uint64_t* changed_in_all) {
  return guarded([&] {
    const std::span<int> map = agreed(communicator, [&](int) {
      require_number(slots, "slots");
      return to_map(ranks, count);
    });
    const valet::RepairResult result =
        valet::repair(communicator, to_occupied(count, mask), map, slots);
    if (changed != nullptr) *changed = result.changed;
    if (changed_in_all != nullptr) *changed_in_all = result.changed_in_all;
  });
}

int Valet_Plan_to_layout(MPI_Comm communicator, const Valet_Storage* storage, uint64_t count,
                         const Valet_Object_layout* from, const Valet_Object_layout* to,
                         const Valet_Options* options, Valet_Plan** plan) {
  return guarded([&] {
    struct Arguments {
      valet::BlockStorage objects;
      std::optional<valet::ObjectLayout> before;
      valet::ObjectLayout after;
      valet::Options options;
    };
    const Arguments call = agreed(communicator, options, [&](int, const ChosenOptions& chosen) {
      require_places(storage, plan);
      require_pointer(to, "the layout after", "give a Valet_Object_layout");
      require_number(count, "count");
      std::optional<valet::ObjectLayout> before;
      if (from != nullptr) before = to_object_layout(*from);
      return Arguments{to_storage(storage), before, to_object_layout(*to), chosen.options};
    });
    *plan =
        new Valet_Plan{call.before ? valet::plan_to_layout(communicator, call.objects, count,
                                                           *call.before, call.after, call.options)
                                   : valet::plan_to_layout(communicator, call.objects, count,
                                                           call.after, call.options)};
  });
}

void Valet_Plan_free(Valet_Plan* plan) { delete plan; }

uint64_t Valet_Plan_blocks_after(const Valet_Plan* plan) {
  return number_of([&] { return plan_of(plan).blocks_after(); });
}

uint64_t Valet_Plan_required_slots(const Valet_Plan* plan) {
  return number_of([&] { return plan_of(plan).required_slots(); });
}

int Valet_Execute(Valet_Plan* plan, const Valet_Storage* storage, Valet_Report* report) {
  return guarded(
      [&] { write_report(valet::execute(plan_of(plan), to_storage(storage, report)), report); });
}

int Valet_Alltoallv_in_place(MPI_Comm communicator, void* buffer, size_t buffer_bytes,
                             const int64_t* send_counts, const int64_t* recv_counts,
                             size_t element_bytes, int any_order, const Valet_Options* options,
                             Valet_Report* report) {
  return guarded([&] {
    std::size_t ranks = 0;
    const auto chosen = agreed(communicator, options, [&](int size, const ChosenOptions& given) {
      require_report(report);
      require_pointer(send_counts, "send_counts", "give an entry for each rank");
      require_number(buffer_bytes, "buffer_bytes");
      require_number(element_bytes, "element_bytes");
      ranks = static_cast<std::size_t>(size);
      auto wishes = to_alltoall_options(given);
      wishes.any_order = any_order != 0;
      return wishes;
    });
    const std::span received(recv_counts, recv_counts == nullptr ? 0 : ranks);
    write_report(valet::alltoallv_in_place(communicator, {buffer, buffer_bytes, element_bytes},
                                           {send_counts, ranks}, received, chosen),
                 report);
  });
}

size_t Valet_Report_to_string(const Valet_Report* report, char* text, size_t bytes) {
  return write_text(text, bytes, [&] { return given_report(report).to_string(); });
}

size_t Valet_Report_to_json(const Valet_Report* report, char* text, size_t bytes) {
  return write_text(text, bytes, [&] { return given_report(report).to_json(); });
}

int Valet_Summed_over_ranks(MPI_Comm communicator, const Valet_Report* report,
                            Valet_Report* total) {
  return guarded([&] {
    const valet::Report mine = agreed(communicator, [&](int) {
      require_pointer(report, "the report", "give one that a call has filled");
      require_pointer(total, "the place for the sum", "give the address of a Valet_Report");
      require_report(total);
      return to_report(*report);
    });
    write_report(valet::summed_over_ranks(mine, communicator), total);
  });
}

void Valet_Set_log_callback(Valet_Log_fn* callback, void* data) {
  if (callback == nullptr) return valet::set_log_callback({});
  valet::set_log_callback([callback, data](valet::LogLevel level, std::string_view message) {
    callback(static_cast<int>(level), std::string(message).c_str(), data);
  });
}

const char* Valet_Version(void) { return valet::version(); }

size_t Valet_Configuration_to_string(char* text, size_t bytes) {
  return write_text(text, bytes, [] { return valet::configuration().to_string(); });
}

size_t Valet_Configuration_to_json(char* text, size_t bytes) {
  return write_text(text, bytes, [] { return valet::configuration().to_json(); });
}

const char* Valet_Error_message(void) { return last_error(); }
