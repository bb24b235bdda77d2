// SPDX-License-Identifier: BSD-3-Clause
#include "base/names.hpp"
#include "bindings/c_call.hpp"
#include <valet/ragged_storage.hpp>

#include <cstddef>
#include <new>
#include <span>
#include <string>

struct Valet_Ragged_plan {
  valet::RaggedPlan plan;
};

using namespace valet::c;

namespace {

int add_field(Valet_Ragged_storage* storage, void* data, std::uint64_t capacity_bytes,
              std::uint64_t* words, std::uint64_t block_capacity, std::size_t alignment_bytes,
              bool are_offsets, const char* label) {
  return guarded([&] {
    require_pointer(storage, "the storage", make_ragged_storage);
    storage->fields.push_back({.data = data,
                               .capacity_bytes = capacity_bytes,
                               .lengths = words,
                               .block_capacity = block_capacity,
                               .alignment_bytes = alignment_bytes,
                               .are_offsets = are_offsets});
    if (label != nullptr) storage->fields.back().label = label;
    const std::string name = valet::detail::named("ragged field", storage->fields.back().label,
                                                  storage->fields.size() - 1);
    refuse_negative(*storage, capacity_bytes, "capacity_bytes of ", name);
    refuse_negative(*storage, block_capacity, "block_capacity of ", name);
    refuse_negative(*storage, alignment_bytes, "alignment_bytes of ", name);
  });
}

/// The arguments of a call that plans, as C++ has them.
struct RaggedCall {
  valet::RaggedStorage storage;
  std::span<const int> ranks;
  valet::Options options;
};

RaggedCall to_call(const Valet_Ragged_storage* storage, std::uint64_t count, const int* ranks,
                   const ChosenOptions& chosen) {
  return {to_storage(storage), to_map(ranks, count), chosen.options};
}

/// What an execution is given, or a storage that all ranks refuse together.
RaggedCall to_execution(const valet::RaggedPlan& plan, const Valet_Ragged_storage* storage,
                        const int* ranks, const Valet_Report* report) {
  try {
    require_report(report);
    return to_call(storage, plan.blocks_before(), ranks, {});
  } catch (...) {
    return {refused_ragged_storage(diagnostic_in_flight()), {}, {}};
  }
}

}  // namespace

Valet_Ragged_storage* Valet_Ragged_storage_create(void) {
  return new (std::nothrow) Valet_Ragged_storage();
}

int Valet_Ragged_storage_add_field(Valet_Ragged_storage* storage, void* data,
                                   uint64_t capacity_bytes, uint64_t* lengths,
                                   uint64_t block_capacity, size_t alignment_bytes,
                                   const char* label) {
  return add_field(storage, data, capacity_bytes, lengths, block_capacity, alignment_bytes, false,
                   label);
}

int Valet_Ragged_storage_add_field_by_offsets(Valet_Ragged_storage* storage, void* data,
                                              uint64_t capacity_bytes, uint64_t* offsets,
                                              uint64_t block_capacity, size_t alignment_bytes,
                                              const char* label) {
  return add_field(storage, data, capacity_bytes, offsets, block_capacity, alignment_bytes, true,
                   label);
}

int Valet_Ragged_storage_add_column(Valet_Ragged_storage* storage, void* data, uint64_t rows,
                                    size_t row_bytes, const char* label) {
  return guarded([&] {
    require_pointer(storage, "the storage", make_ragged_storage);
    storage->columns.push_back(valet::strided_field(data, rows, row_bytes,
                                                    static_cast<std::ptrdiff_t>(row_bytes),
                                                    label == nullptr ? "" : label));
    const std::string name =
        valet::detail::named("column", storage->columns.back().label, storage->columns.size() - 1);
    refuse_negative(*storage, rows, "rows of ", name);
    refuse_negative(*storage, row_bytes, "row_bytes of ", name);
  });
}

int Valet_Ragged_storage_grow_by(Valet_Ragged_storage* storage, Valet_Ragged_storage_for_fn* grow,
                                 void* data) {
  return guarded([&] {
    require_pointer(storage, "the storage", make_ragged_storage);
    storage->grow = nullptr;
    if (grow != nullptr)
      storage->grow = [=](const valet::RaggedRoom& room) {
        return made_storage(grow(data, room.blocks, room.bytes.data()));
      };
  });
}

int Valet_Ragged_storage_refuse(Valet_Ragged_storage* storage, const char* why) {
  return guarded([&] {
    require_pointer(storage, "the storage", make_ragged_storage);
    require_pointer(why, "the text", "say what is wrong");
    storage->refused = valet::Diagnostic{valet::ErrorCode::invalid_argument, why};
  });
}

void Valet_Ragged_storage_free(Valet_Ragged_storage* storage) { delete storage; }

int Valet_Ragged_plan_to_ranks(MPI_Comm communicator, const Valet_Ragged_storage* storage,
                               uint64_t count, const int* ranks, const Valet_Options* options,
                               Valet_Ragged_plan** plan) {
  return guarded([&] {
    const RaggedCall call = agreed(communicator, options, [&](int, const ChosenOptions& chosen) {
      require_pointer(plan, "the place for the plan", "give the address of a Valet_Ragged_plan*");
      return to_call(storage, count, ranks, chosen);
    });
    *plan = new Valet_Ragged_plan{
        valet::plan_to_ranks(communicator, call.storage, count, call.ranks, call.options)};
  });
}

void Valet_Ragged_plan_free(Valet_Ragged_plan* plan) { delete plan; }

uint64_t Valet_Ragged_plan_blocks_after(const Valet_Ragged_plan* plan) {
  return number_of([&] { return plan_of(plan, make_ragged_plan).blocks_after(); });
}

uint64_t Valet_Ragged_plan_required_bytes(const Valet_Ragged_plan* plan, size_t field) {
  return number_of([&] { return plan_of(plan, make_ragged_plan).required_bytes(field); });
}

int Valet_Ragged_execute(Valet_Ragged_plan* plan, const Valet_Ragged_storage* storage,
                         const int* ranks, Valet_Report* report) {
  return guarded([&] {
    const RaggedCall call = to_execution(plan_of(plan, make_ragged_plan), storage, ranks, report);
    write_report(valet::execute(plan->plan, call.storage, call.ranks), report);
  });
}

int Valet_Ragged_migrate(MPI_Comm communicator, const Valet_Ragged_storage* storage,
                         uint64_t* count, const int* ranks, const Valet_Options* options,
                         Valet_Report* report) {
  return guarded([&] {
    const RaggedCall call = agreed(communicator, options, [&](int, const ChosenOptions& chosen) {
      require_pointer(count, "the number of blocks", "give the address of a uint64_t");
      require_report(report);
      return to_call(storage, *count, ranks, chosen);
    });
    const valet::Report done =
        valet::migrate(communicator, call.storage, *count, call.ranks, call.options);
    *count = done.blocks_after;
    write_report(done, report);
  });
}
