// SPDX-License-Identifier: BSD-3-Clause
#include "bindings/c_call.hpp"
#include <valet/group.hpp>

#include <algorithm>

using namespace valet::c;

namespace {

/// The field that was added last.
valet::Field& last_field(Valet_Storage* storage) {
  require_pointer(storage, "the storage", "make one by Valet_Storage_create()");
  if (storage->fields.empty())
    refuse("the storage has no field yet; add it before you say where its rows lie");
  return storage->fields.back();
}

}  // namespace

int Valet_Storage_in_tiles(Valet_Storage* storage, uint64_t slots_per_tile,
                           ptrdiff_t tile_stride_bytes) {
  return guarded([&] {
    valet::Field& field = last_field(storage);
    refuse_negative(*storage, slots_per_tile, "slots_per_tile");
    field = valet::in_tiles(std::move(field), slots_per_tile, tile_stride_bytes);
  });
}

int Valet_Storage_in_segments(Valet_Storage* storage, size_t segments, void* const* starts,
                              const uint64_t* slots) {
  return guarded([&] {
    valet::Field& field = last_field(storage);
    require_number(segments, "segments");
    if (segments > 0) require_pointer(starts, "the starts", "give one for each array");
    if (segments > 0) require_pointer(slots, "the slots", "give the rows of each array");
    for (std::size_t k = 0; k < segments; ++k)
      refuse_negative(*storage, slots[k], "slots of array ", k);
    field = valet::in_segments(field, {starts, segments}, {slots, segments});
  });
}

int Valet_Storage_by_pointers(Valet_Storage* storage, void* const* rows) {
  return guarded([&] {
    valet::Field& field = last_field(storage);
    field.data = nullptr;
    field.tiles = {.slots = 1, .starts = rows, .count = rows == nullptr ? 0 : field.slots};
  });
}

int Valet_Group(const Valet_Storage* storage, uint64_t count, const uint8_t* mask,
                const uint32_t* segments, size_t segment_count, const uint64_t* segment_slots,
                const Valet_Options* options, uint64_t* blocks) {
  return guarded([&] {
    const auto [fields, chosen] = agreed(MPI_COMM_SELF, options, [&](int, const ChosenOptions& is) {
      require_number(count, "count");
      require_number(segment_count, "segment_count");
      if (count > 0) require_pointer(segments, "the segments", "give that of each block");
      if (segment_count > 0) {
        require_pointer(segment_slots, "the slots", "give those of each segment");
        require_pointer(blocks, "the number of blocks", "give one uint64_t for each segment");
      }
      for (std::size_t k = 0; k < segment_count; ++k)
        require_number(segment_slots[k], "slots of segment ", k);
      return std::pair(to_storage(storage), is.options);
    });
    std::ranges::copy(valet::group(fields, to_occupied(count, mask), {segments, count},
                                   {segment_slots, segment_count}, chosen),
                      blocks);
  });
}
