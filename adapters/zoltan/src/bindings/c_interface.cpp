// SPDX-License-Identifier: BSD-3-Clause

// Attached storage and lists for C, and what the module `valet_zoltan` of Fortran needs besides.

#include "attached/calls.hpp"
#include "bindings/c_call.hpp"
#include "bindings/fortran_communicator.hpp"
#include "handle/handle_state.hpp"
#include "handle/structure.hpp"
#include <valet/zoltan/attached.hpp>
#include <valet/zoltan/lists.hpp>
#include <valet/zoltan/valet_zoltan.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>

using namespace valet::zoltan;
using namespace valet::c;
using valet::ColumnSource;

namespace {

/// A tiling as C sees it, for as long as this is not set to another.
struct LentTiling {
  valet::BlockCyclic::Extents extents, block_sizes;
  valet::BlockCyclic::Coordinates grid, first_ranks;
  Valet_Layout layout = {};

  const Valet_Layout* set(const valet::BlockCyclic& tiling) {
    extents = block_sizes = tiling.extents();
    grid = first_ranks = valet::BlockCyclic::Coordinates::filled(tiling.dimensions(), 0);
    for (std::size_t d = 0; d < tiling.dimensions(); ++d) {
      block_sizes[d] = tiling.dimension(d).block_size();
      grid[d] = tiling.dimension(d).ranks();
      first_ranks[d] = tiling.dimension(d).first_rank();
    }
    const bool row_major = tiling.rank_order() == valet::IndexOrder::row_major;
    layout = {static_cast<int>(tiling.dimensions()),
              extents.begin(),
              block_sizes.begin(),
              grid.begin(),
              row_major ? VALET_ROW_MAJOR : VALET_COLUMN_MAJOR,
              first_ranks.begin(),
              nullptr};
    return &layout;
  }
};

}  // namespace

struct Valet_Attached {
  Attached attached;
  std::shared_ptr<AttachedState> state;
  /// What Valet_Attached_layout() has pointed to.
  mutable LentTiling tiling = {};
};

namespace {

static_assert(VALET_WHEN_INFEASIBLE_GROW == static_cast<int>(valet::WhenInfeasible::grow));

/// @throws Error where there is no handle. Local.
template <class Handle>
Handle& of(Handle* attached) {
  require_pointer(attached, "the attached storage", "make it by Valet_Zoltan_attach()");
  return *attached;
}

/// Zeros are the defaults of all options.
template <class Struct>
Struct defaults_of() {
  Struct defaults{};
  defaults.struct_size = sizeof defaults;
  return defaults;
}
/// Those of the caller. @param given  NULL for the defaults.
template <class Struct>
Struct chosen(const char* name, const Struct* given) {
  const auto defaults = defaults_of<Struct>();
  return given == nullptr ? defaults : complete(name, *given, defaults);
}

AttachedOptions to_attached_options(const Valet_Attached_options* given) {
  const Valet_Attached_options options = chosen("Valet_Attached_options", given);
  if (options.when_infeasible < 0 || options.when_infeasible > VALET_WHEN_INFEASIBLE_GROW)
    throw valet::Error(valet::ErrorCode::invalid_argument,
                       valet::joined("unknown when_infeasible ", options.when_infeasible,
                                     " in Valet_Attached_options; take one of "
                                     "VALET_WHEN_INFEASIBLE_..."));
  AttachedOptions result;
  result.migration = to_options(complete_options(options.migration));
  if (options.granularity > 0) result.granularity = options.granularity;
  result.when_infeasible = static_cast<valet::WhenInfeasible>(options.when_infeasible);
  return result;
}

valet::BlockStorage to_cpp(const Valet_Storage* storage) {
  require_pointer(storage, "the storage", "make one by Valet_Storage_create()");
  return to_storage(storage);
}
valet::RaggedStorage to_cpp(const Valet_Ragged_storage* storage) { return to_storage(storage); }

template <class Storage>
int attach(Zoltan_Struct* zz, std::uint64_t count, const Storage* storage,
           const Valet_Attached_options* options, Valet_Attached** attached) {
  return guarded([&] {
    const auto convert = [&](int) {
      require_pointer(attached, "the place for the handle",
                      "give the address of a Valet_Attached*");
      return std::pair(to_cpp(storage), to_attached_options(options));
    };
    // In a callback others may not be here: the constructor says so.
    const std::shared_ptr<AttachedState> before = attached_to(zz);
    const bool is_alone = zz == nullptr || (before && before->is_in_call);
    const MPI_Comm communicator = is_alone ? MPI_COMM_NULL : communicator_of(zz);
    const auto [blocks, chosen] =
        communicator == MPI_COMM_NULL ? convert(1) : agreed(communicator, convert);
    auto made = std::make_unique<Valet_Attached>(
        Valet_Attached{Attached(zz, count, blocks, chosen), attached_to(zz)});
    *attached = made.release();
  });
}

template <class Storage>
int replace(Valet_Attached* attached, const Storage* storage) {
  return guarded([&] { of(attached).attached.storage(to_cpp(storage)); });
}

template <class T>
ColumnSource source_of(const Valet_Numbers& numbers) {
  return [numbers] {
    valet::Columns columns = valet::array_columns(static_cast<const T*>(numbers.data),
                                                  numbers.slots, numbers.components)();
    if (numbers.stride_bytes > 0)
      for (valet::Column& column : columns.column)
        column.stride_bytes = static_cast<std::ptrdiff_t>(numbers.stride_bytes);
    return columns;
  };
}

ColumnSource to_source(const Valet_Numbers* numbers) {
  if (numbers == nullptr) return nullptr;
  switch (numbers->type) {
    case VALET_NUMBERS_DOUBLE: return source_of<double>(*numbers);
    case VALET_NUMBERS_FLOAT: return source_of<float>(*numbers);
    case VALET_NUMBERS_INT32: return source_of<std::int32_t>(*numbers);
    case VALET_NUMBERS_UINT32: return source_of<std::uint32_t>(*numbers);
    case VALET_NUMBERS_INT64: return source_of<std::int64_t>(*numbers);
    case VALET_NUMBERS_UINT64: return source_of<std::uint64_t>(*numbers);
    default:
      throw valet::Error(valet::ErrorCode::invalid_argument,
                         valet::joined("unknown type ", numbers->type,
                                       " in Valet_Numbers; take one of VALET_NUMBERS_..."));
  }
}

int give(Valet_Attached* attached, Attached& (Attached::*member)(ColumnSource),
         const Valet_Numbers* numbers) {
  return guarded([&] { (of(attached).attached.*member)(to_source(numbers)); });
}

void require_grown(int code) {
  if (code == 0) return;
  throw valet::Error(valet::ErrorCode::callback_failed,
                     valet::joined("the function of Valet_Attached_grow() returned ", code));
}

Valet_Rebalance_result to_c(const valet::RebalanceResult& result) {
  Valet_Rebalance_result whole{sizeof whole,
                               result.count,
                               result.required_slots,
                               result.before.weight,
                               result.before.count,
                               result.after.weight,
                               result.after.count,
                               result.partition_seconds,
                               result.migration_seconds,
                               result.largest_cell_share,
                               result.partition_extra_bytes,
                               {}};
  result.warning.copy(whole.warning, sizeof whole.warning - 1);
  return whole;
}

PartitionList to_list(const Valet_Zoltan_list& list) {
  return {list.count, list.global_ids, list.local_ids, list.procs, list.parts};
}

/// The arguments of a call, as C++ has them.
struct ListArguments {
  PartitionLists lists;
  valet::BlockStorage storage;
  ListOptions options;
};

ListOptions to_list_options(const Valet_Zoltan_list_options* given, std::uint64_t slots,
                            int gid_entries) {
  ListOptions result;
  const Valet_Zoltan_list_options options = chosen("Valet_Zoltan_list_options", given);
  result.migration = to_options(complete_options(options.migration));
  if (options.slot_of != nullptr)
    result.slot_of = [function = options.slot_of, data = options.slot_of_data](
                         const ZOLTAN_ID_TYPE* global_id, const ZOLTAN_ID_TYPE* local_id) {
      return function(global_id, local_id, data);
    };
  if (options.part_to_rank != nullptr)
    result.part_to_rank = {options.part_to_rank, options.part_count};
  if (options.parts != nullptr) result.parts = {options.parts, slots};
  if (options.global_ids != nullptr && gid_entries > 0)
    result.global_ids = {options.global_ids, slots * static_cast<std::size_t>(gid_entries)};
  result.zoltan = options.zoltan;
  return result;
}

ListArguments to_arguments(const Valet_Zoltan_lists* lists, const Valet_Storage* storage,
                           const Valet_Zoltan_list_options* options, const std::uint64_t* new_count,
                           const Valet_Report* report) {
  require_pointer(lists, "the lists", "give what Zoltan_LB_Partition returned");
  const valet::BlockStorage blocks = to_cpp(storage);
  require_pointer(new_count, "the place for the new count", "give the address of a uint64_t");
  require_report(report);
  return {
      {lists->gid_entries, lists->lid_entries, to_list(lists->imports), to_list(lists->exports)},
      blocks,
      to_list_options(options, blocks.slots(), lists->gid_entries)};
}

}  // namespace

void Valet_Attached_options_init(Valet_Attached_options* options, size_t struct_size) {
  initialise(options, struct_size, defaults_of<Valet_Attached_options>());
}

void Valet_Rebalance_result_init(Valet_Rebalance_result* result, size_t struct_size) {
  initialise(result, struct_size, to_c({}));
}

int Valet_Zoltan_attach(struct Zoltan_Struct* zz, uint64_t count, const Valet_Storage* storage,
                        const Valet_Attached_options* options, Valet_Attached** attached) {
  return attach(zz, count, storage, options, attached);
}

int Valet_Zoltan_attach_ragged(struct Zoltan_Struct* zz, uint64_t count,
                               const Valet_Ragged_storage* storage,
                               const Valet_Attached_options* options, Valet_Attached** attached) {
  return attach(zz, count, storage, options, attached);
}

int Valet_Attached_coordinates(Valet_Attached* attached, const Valet_Numbers* numbers) {
  return give(attached, &Attached::coordinates, numbers);
}

int Valet_Attached_weights(Valet_Attached* attached, const Valet_Numbers* numbers) {
  return give(attached, &Attached::weights, numbers);
}

int Valet_Attached_ids(Valet_Attached* attached, const Valet_Numbers* numbers) {
  return give(attached, &Attached::ids, numbers);
}

int Valet_Attached_parts(Valet_Attached* attached, int* parts, uint64_t slots) {
  return guarded([&] {
    PartSource source;
    if (parts != nullptr) source = [parts, slots] { return std::span(parts, slots); };
    of(attached).attached.parts(source);
  });
}

int Valet_Attached_grow(Valet_Attached* attached, Valet_Grow_fn* grow, void* data) {
  return guarded([&] {
    AttachedOptions& options = of(attached).state->options;
    options.grow = nullptr;
    options.grow_ragged = nullptr;
    if (grow == nullptr) return;
    options.grow = [grow, data](std::uint64_t slots) { require_grown(grow(slots, nullptr, data)); };
    options.grow_ragged = [grow, data](const valet::RaggedRoom& room) {
      require_grown(grow(room.blocks, room.bytes.data(), data));
    };
  });
}

uint64_t Valet_Attached_count(const Valet_Attached* attached) {
  return number_of([&] { return of(attached).attached.count(); });
}

int Valet_Attached_set_count(Valet_Attached* attached, uint64_t count) {
  return guarded([&] { of(attached).attached.count(count); });
}

int Valet_Attached_layout(const Valet_Attached* attached, int* is_known,
                          Valet_Object_layout* layout) {
  return guarded([&] {
    const auto known = of(attached).attached.layout();
    require_pointer(is_known, "the place for the answer", "give the address of an int");
    require_pointer(layout, "the place for the layout",
                    "give the address of a Valet_Object_layout");
    *is_known = known ? 1 : 0;
    if (known)
      *layout = {known->block_size, known->ranks,
                 known->tiling ? of(attached).tiling.set(*known->tiling) : nullptr,
                 VALET_ROW_MAJOR};
  });
}

int Valet_Attached_set_layout(Valet_Attached* attached, const Valet_Object_layout* layout) {
  return guarded([&] {
    Attached& told = of(attached).attached;
    require_pointer(layout, "the layout", "or call Valet_Attached_forget_layout()");
    told.layout(to_object_layout(*layout));
  });
}

int Valet_Attached_forget_layout(Valet_Attached* attached) {
  return guarded([&] { of(attached).attached.forget_layout(); });
}

int Valet_Attached_storage(Valet_Attached* attached, const Valet_Storage* storage) {
  return replace(attached, storage);
}

int Valet_Attached_storage_ragged(Valet_Attached* attached, const Valet_Ragged_storage* storage) {
  return replace(attached, storage);
}

int Valet_Attached_partition(Valet_Attached* attached, int* changes, Valet_Report* report) {
  return guarded([&] {
    AttachedState& state = *of(attached).state;
    PartitionWay way;
    try {
      require_report(report);
    } catch (...) {
      way.wrong = diagnostic_in_flight();
    }
    StockLists none;
    const bool is_changed = partition_attached(state, way, none);
    if (changes != nullptr) *changes = is_changed ? 1 : 0;
    if (is_changed) write_report(state.result.report, report);
  });
}

int Valet_Attached_result(const Valet_Attached* attached, Valet_Rebalance_result* result,
                          Valet_Report* report) {
  return guarded([&] {
    const valet::RebalanceResult& last = of(attached).attached.result();
    require_report(report);
    if (result != nullptr) {
      static_cast<void>(complete("Valet_Rebalance_result", *result, Valet_Rebalance_result{}));
      Valet_Rebalance_result whole = to_c(last);
      whole.struct_size = result->struct_size;
      std::memcpy(result, &whole, whole.struct_size);
    }
    write_report(last.report, report);
  });
}

int Valet_Attached_detach(Valet_Attached* attached) {
  return guarded([&] { of(attached).attached.detach(); });
}

void Valet_Attached_free(Valet_Attached* attached) { delete attached; }

void Valet_Zoltan_list_options_init(Valet_Zoltan_list_options* options, size_t struct_size) {
  initialise(options, struct_size, defaults_of<Valet_Zoltan_list_options>());
}

int Valet_Zoltan_Migrate_lists(MPI_Comm communicator, const Valet_Zoltan_lists* lists,
                               uint64_t count, const uint8_t* mask, const Valet_Storage* storage,
                               const Valet_Zoltan_list_options* options, uint64_t* new_count,
                               Valet_Report* report) {
  return guarded([&] {
    const ListArguments call = agreed(communicator, [&](int) {
      return to_arguments(lists, storage, options, new_count, report);
    });
    const ListMigration done =
        migrate(communicator, call.lists, to_occupied(count, mask), call.storage, call.options);
    *new_count = done.count;
    write_report(done.report, report);
  });
}

extern "C" {

VALET_EXPORT Zoltan_Struct* Valet_Zoltan_create_f(int communicator) {
  float version = 0;
  if (Zoltan_Initialize(0, nullptr, &version) != ZOLTAN_OK) return nullptr;
  Zoltan_Struct* const zoltan = Zoltan_Create(from_fortran(communicator));
  forget_handle_state(zoltan);  // of another one at its address, in any link order
  return zoltan;
}

VALET_EXPORT void Valet_Zoltan_destroy_f(Zoltan_Struct** zoltan) {
  forget_handle_state(*zoltan);  // in any link order
  Zoltan_Destroy(zoltan);
}

VALET_EXPORT int Valet_Zoltan_Migrate_lists_f(int communicator, const Valet_Zoltan_lists* lists,
                                              uint64_t count, const uint8_t* mask,
                                              const Valet_Storage* storage,
                                              const Valet_Zoltan_list_options* options,
                                              uint64_t* new_count, Valet_Report* report) {
  return Valet_Zoltan_Migrate_lists(from_fortran(communicator), lists, count, mask, storage,
                                    options, new_count, report);
}

}  // extern "C"
