// SPDX-License-Identifier: BSD-3-Clause
#include "bindings/c_call.hpp"
#include <valet/valet.h>
#include <valet/valet.hpp>

#include <cstddef>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <vector>

struct Valet_Storage {
  std::vector<valet::Field> fields;
};

struct Valet_Plan {
  valet::Plan plan;
};

namespace {

using valet::c::agreed;
using valet::c::guarded;
using valet::c::require_pointer;
using valet::c::tell;
using valet::c::to_options;

static_assert(sizeof(Valet_Address) == sizeof(valet::Address) &&
              offsetof(Valet_Address, slot) == offsetof(valet::Address, slot));
static_assert(VALET_ALLTOALL_PAIRWISE == static_cast<int>(valet::AlltoallMethod::pairwise));
static_assert(VALET_LOG_WARNING == static_cast<int>(valet::LogLevel::warning));

/// Checked by the all-to-all, on all ranks alike: an unknown one is no method of another rank.
valet::AlltoallMethod to_alltoall_method(const Valet_Options* options) {
  return static_cast<valet::AlltoallMethod>(options == nullptr ? VALET_ALLTOALL_AUTOMATIC
                                                               : options->alltoall_method);
}

valet::Occupied to_occupied(std::uint64_t count, const std::uint8_t* mask) {
  if (mask == nullptr) return {count};
  return valet::Occupied::masked({mask, static_cast<std::size_t>(count)});
}

/// A null pointer is a storage without fields, which all ranks refuse together.
valet::BlockStorage to_storage(const Valet_Storage* storage) {
  if (storage == nullptr) return valet::BlockStorage(std::span<const valet::Field>());
  return valet::BlockStorage(std::span<const valet::Field>(storage->fields));
}

/// The arguments of a planning, as C++ has them.
template <class Destination>
struct PlanCall {
  valet::BlockStorage storage;
  valet::Occupied occupied;
  std::span<const Destination> map;
  valet::Options options;
};

template <class Destination>
PlanCall<Destination> to_plan_call(const Valet_Storage* storage, std::uint64_t count,
                                   const std::uint8_t* mask, const Destination* map,
                                   const Valet_Options* options, Valet_Plan** plan) {
  require_pointer(storage, "the storage", "make one by Valet_Storage_create()");
  require_pointer(plan, "the place for the plan", "give the address of a Valet_Plan*");
  if (count > 0) require_pointer(map, "the map", "give a destination for each block");
  return {to_storage(storage),
          to_occupied(count, mask),
          {map, static_cast<std::size_t>(count)},
          to_options(options)};
}

/// @throws Error where there is no plan. Local.
void require_plan(const Valet_Plan* plan) {
  require_pointer(plan, "the plan", "make one by Valet_Plan_to_ranks() or Valet_Plan_to_slots()");
}

/// A number of a plan; 0 where there is none, with a text but no place for a code.
template <class Number>
std::uint64_t number_of(const Valet_Plan* plan, Number number) {
  std::uint64_t result = 0;
  static_cast<void>(guarded([&] {
    require_plan(plan);
    result = (plan->plan.*number)();
  }));
  return result;
}

/// The arguments of an all-to-all, as C++ has them.
struct AlltoallCall {
  std::span<const std::int64_t> send_counts, recv_counts;
  valet::AlltoallOptions options;
};

AlltoallCall to_alltoall_call(int ranks, const std::int64_t* send_counts,
                              const std::int64_t* recv_counts, int any_order,
                              const Valet_Options* options) {
  require_pointer(send_counts, "send_counts", "give an entry for each rank");
  const auto list = [ranks](const std::int64_t* counts) {
    return std::span(counts, counts == nullptr ? 0 : static_cast<std::size_t>(ranks));
  };
  const valet::Options chosen = to_options(options);
  return {list(send_counts),
          list(recv_counts),
          {.budget_bytes = chosen.budget_bytes,
           .any_order = any_order != 0,
           .share_memory = chosen.share_memory,
           .method = to_alltoall_method(options),
           .trace = chosen.trace,
           .progress = chosen.progress,
           .progress_bar = chosen.progress_bar}};
}

}  // namespace

Valet_Options Valet_Options_default(void) {
  const valet::Options options;
  return {options.budget_bytes,
          static_cast<int>(options.method),
          VALET_FILL,
          0,
          options.message_bytes,
          1,
          options.stream.window,
          VALET_ALLTOALL_AUTOMATIC,
          static_cast<int>(options.phased.heuristic),
          static_cast<int>(options.phased.scheduler),
          options.phased.parking,
          options.phased.seed,
          VALET_ASCENDING,
          nullptr,
          nullptr,
          nullptr,
          1};
}

Valet_Storage* Valet_Storage_create(void) { return new (std::nothrow) Valet_Storage(); }

int Valet_Storage_add_field(Valet_Storage* storage, void* data, uint64_t slots, size_t row_bytes,
                            ptrdiff_t slot_stride_bytes, const char* label) {
  return guarded([&] {
    require_pointer(storage, "the storage", "make one by Valet_Storage_create()");
    storage->fields.push_back(valet::strided_field(data, slots, row_bytes, slot_stride_bytes,
                                                   label == nullptr ? "" : label));
  });
}

void Valet_Storage_free(Valet_Storage* storage) { delete storage; }

int Valet_Plan_to_ranks(MPI_Comm communicator, const Valet_Storage* storage, uint64_t count,
                        const uint8_t* mask, const int* ranks, const Valet_Options* options,
                        Valet_Plan** plan) {
  return guarded([&] {
    const PlanCall<int> call = agreed(communicator, [&](int) {
      return to_plan_call(storage, count, mask, ranks, options, plan);
    });
    *plan = new Valet_Plan{
        valet::plan_to_ranks(communicator, call.storage, call.occupied, call.map, call.options)};
  });
}

int Valet_Plan_to_slots(MPI_Comm communicator, const Valet_Storage* storage, uint64_t count,
                        const uint8_t* mask, const Valet_Address* addresses,
                        const Valet_Options* options, Valet_Plan** plan) {
  return guarded([&] {
    const auto* const map = reinterpret_cast<const valet::Address*>(addresses);
    const PlanCall<valet::Address> call = agreed(
        communicator, [&](int) { return to_plan_call(storage, count, mask, map, options, plan); });
    *plan = new Valet_Plan{
        valet::plan_to_slots(communicator, call.storage, call.occupied, call.map, call.options)};
  });
}

void Valet_Plan_free(Valet_Plan* plan) { delete plan; }

uint64_t Valet_Plan_blocks_after(const Valet_Plan* plan) {
  return number_of(plan, &valet::Plan::blocks_after);
}

uint64_t Valet_Plan_required_slots(const Valet_Plan* plan) {
  return number_of(plan, &valet::Plan::required_slots);
}

int Valet_Execute(Valet_Plan* plan, const Valet_Storage* storage, Valet_Report* report) {
  return guarded([&] {
    require_plan(plan);
    tell(valet::execute(plan->plan, to_storage(storage)), report);
  });
}

int Valet_Alltoallv_in_place(void* buffer, size_t buffer_bytes, const int64_t* send_counts,
                             const int64_t* recv_counts, size_t element_bytes, int any_order,
                             MPI_Comm communicator, const Valet_Options* options,
                             Valet_Report* report) {
  return guarded([&] {
    const AlltoallCall call = agreed(communicator, [&](int ranks) {
      return to_alltoall_call(ranks, send_counts, recv_counts, any_order, options);
    });
    tell(valet::alltoallv_in_place(communicator, {buffer, buffer_bytes, element_bytes},
                                   call.send_counts, call.recv_counts, call.options),
         report);
  });
}

int Valet_Plan_to_ranks_f(MPI_Fint communicator, const Valet_Storage* storage, uint64_t count,
                          const uint8_t* mask, const int* ranks, const Valet_Options* options,
                          Valet_Plan** plan) {
  return Valet_Plan_to_ranks(MPI_Comm_f2c(communicator), storage, count, mask, ranks, options,
                             plan);
}

int Valet_Plan_to_slots_f(MPI_Fint communicator, const Valet_Storage* storage, uint64_t count,
                          const uint8_t* mask, const Valet_Address* addresses,
                          const Valet_Options* options, Valet_Plan** plan) {
  return Valet_Plan_to_slots(MPI_Comm_f2c(communicator), storage, count, mask, addresses, options,
                             plan);
}

int Valet_Alltoallv_in_place_f(void* buffer, size_t buffer_bytes, const int64_t* send_counts,
                               const int64_t* recv_counts, size_t element_bytes, int any_order,
                               MPI_Fint communicator, const Valet_Options* options,
                               Valet_Report* report) {
  return Valet_Alltoallv_in_place(buffer, buffer_bytes, send_counts, recv_counts, element_bytes,
                                  any_order, MPI_Comm_f2c(communicator), options, report);
}

void Valet_Set_log_callback(Valet_Log_fn* callback, void* data) {
  if (callback == nullptr) return valet::set_log_callback({});
  valet::set_log_callback([callback, data](valet::LogLevel level, std::string_view message) {
    callback(static_cast<int>(level), std::string(message).c_str(), data);
  });
}

const char* Valet_Error_message(void) { return valet::c::last_error(); }
