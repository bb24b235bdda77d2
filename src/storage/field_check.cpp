// SPDX-License-Identifier: BSD-3-Clause
#include "storage/field_check.hpp"

#include "base/diagnose.hpp"
#include "base/names.hpp"
#include "base/sizes.hpp"
#include "storage/footprint.hpp"

#include <algorithm>
#include <cstdlib>
#include <tuple>
#include <utility>

namespace valet::storage {
namespace {

/// At most detail::most_bytes + 1, which stands for more.
std::uint64_t row_bytes(const Field& field) {
  std::uint64_t bytes = field.element_bytes;
  for (std::size_t d = 0; d < field.dimension_count; ++d)
    bytes = detail::bounded_product(bytes, field.dimensions[d].extent);
  return bytes;
}

/// Whether the rows span more than any memory has, which the sums above could not count.
bool is_beyond_memory(const Field& field) {
  if (detail::bounded_product(row_bytes(field), field.slots) > detail::most_bytes) return true;
  constexpr auto most = static_cast<double>(detail::most_bytes);
  const auto span = [](std::int64_t stride, std::uint64_t count) {
    return std::abs(static_cast<double>(stride)) * static_cast<double>(count);
  };
  double bytes =
      static_cast<double>(field.element_bytes) + span(field.slot_stride_bytes, field.slots);
  if (field.tiles.slots > 0)
    bytes += span(field.tiles.stride_bytes, field.slots / field.tiles.slots);
  for (std::size_t d = 0; d < field.dimension_count; ++d)
    bytes += span(field.dimensions[d].stride_bytes, field.dimensions[d].extent);
  return bytes > most;
}

std::string name_of(std::span<const Field> fields, std::size_t f) {
  return detail::named("field", fields[f].label, f);
}

/// How the rows of a field lie, as part of a message.
std::string shape_of(const Field& field) {
  return " (rows of " + std::to_string(row_bytes(field)) + " bytes, " +
         std::to_string(field.slot_stride_bytes) + " apart)";
}

/// What is wrong with the row of a field, whatever its slots.
std::optional<Diagnostic> row_diagnostic(const Field& field, const std::string& name) {
  if (field.dimension_count > Field::max_dimensions)
    return invalid(name, " has rows of ", field.dimension_count,
                   " dimensions; describe them by at most ", Field::max_dimensions,
                   ", those that follow each other in memory as one");
  if (row_bytes(field) == 0)
    return invalid(name, " has rows of zero bytes; give one component or more, or leave it out");
  if (row_bytes(field) > detail::most_bytes)
    return invalid(name, " has rows of more than ", detail::most_bytes_text,
                   "; give the extents and the bytes of an element that it has");
  return std::nullopt;
}

/// What is wrong with the tiles of a field, if it has any.
std::optional<Diagnostic> tile_diagnostic(const Field& field, const std::string& name) {
  const FieldTiles& tiles = field.tiles;
  if (!tiles && tiles.count == 0) return std::nullopt;
  if (field.current && field.current().tiles == FieldTiles{})
    return invalid(name,
                   " has tiles of an array that may be resized, which would leave them; give a "
                   "field of the array as it is, and grow it by BlockStorage::growing()");
  if (tiles.ends != nullptr && (tiles.starts == nullptr || tiles.count == 0 ||
                                !std::is_sorted(tiles.ends, tiles.ends + tiles.count)))
    return invalid(name,
                   " has tiles that end in slots that do not ascend, or without their starts"
                   "; give the start and the rows of each");
  if (tiles.starts == nullptr && tiles.count == 0) return std::nullopt;
  if (tiles.slots == 0 && tiles.ends == nullptr)
    return tiles.kept == nullptr
               ? invalid(name, " has tiles of 0 slots; give the slots that each has")
               : invalid(name,
                         " has lists of different lengths for its arrays, of which the "
                         "longer one has ",
                         tiles.count, "; give the start and the rows of each");
  const std::uint64_t slots = tiles.ends == nullptr
                                  ? detail::bounded_product(tiles.slots, tiles.count)
                                  : std::span(tiles.ends, tiles.count).back();
  if (slots < field.slots)
    return invalid(name, " has ", tiles.count, " tiles with ", slots, " slots for its ",
                   field.slots, "; give all of them");
  for (std::size_t tile = 0; tiles.starts != nullptr && tile < tiles.count; ++tile)
    if (tiles.starts[tile] == nullptr && slots_of_part(field, tile) > 0)
      return tiles.slots == 1
                 ? diagnose(ErrorCode::inaccessible_memory, name,
                            " has a null pointer as the row of slot ", tile,
                            "; give every slot a row")
                 : diagnose(ErrorCode::inaccessible_memory, name,
                            " has no memory (a null pointer) for its array ", tile, " with ",
                            slots_of_part(field, tile), " slots; allocate it first");
  return std::nullopt;
}

std::optional<Diagnostic> diagnostic_of(std::span<const Field> fields, std::size_t f) {
  const Field& field = fields[f];
  const std::string name = name_of(fields, f);
  if (auto diagnostic = row_diagnostic(field, name)) return diagnostic;
  if (field.surplus_bytes > 0)
    return invalid(name, " has ", field.surplus_bytes, " bytes behind its ", field.slots,
                   " rows of ", row_bytes(field),
                   " bytes; give an array whose size is a multiple of the components");
  if (field.slots != fields.front().slots)
    return diagnose(ErrorCode::field_mismatch, name, " has ", field.slots,
                    " slots, but the first field has ", fields.front().slots,
                    "; all fields of a storage need the same number");
  if (auto diagnostic = tile_diagnostic(field, name)) return diagnostic;
  if (field.slots == 0) return std::nullopt;
  if (field.data == nullptr && field.tiles.starts == nullptr)
    return diagnose(ErrorCode::inaccessible_memory, name,
                    " has no memory (a null pointer) for its ", field.slots,
                    " slots; allocate it first");
  if (is_beyond_memory(field))
    return invalid(name, shape_of(field), " has ", field.slots,
                   " slots, more than any memory holds; give the slots and strides that it has");
  if (rows_overlap(field))
    return invalid(name, shape_of(field),
                   " has rows that overlap; give strides that keep every two rows apart");
  return std::nullopt;
}

}  // namespace

bool look_again(Field& field) {
  if (!field.current) return false;
  Field now = field.current();
  // Said of the array as it was: field_diagnostic() refuses it.
  if (!now.tiles) now.tiles = field.tiles;
  const auto description = [](auto& f) {
    return std::tie(f.data, f.slots, f.slot_stride_bytes, f.element_bytes, f.dimensions,
                    f.dimension_count, f.surplus_bytes, f.tiles);
  };
  const bool is_renamed = !now.label.empty() && now.label != field.label;
  if (!is_renamed && description(now) == description(field)) return false;
  description(field) = description(now);
  if (is_renamed) field.label = std::move(now.label);
  return true;
}

bool is_never_allocated(std::span<const Field> fields) {
  return std::ranges::all_of(fields,
                             [](const Field& field) {
                               return field.slots == 0 && field.data == nullptr &&
                                      field.dimension_count <= Field::max_dimensions;
                             }) &&
         std::ranges::any_of(fields, [](const Field& field) { return row_bytes(field) == 0; });
}

std::optional<Diagnostic> field_diagnostic(std::span<const Field> fields) {
  if (fields.empty()) return invalid("a block storage without fields; give at least one");
  if (is_never_allocated(fields)) return std::nullopt;
  std::uint64_t block_bytes = 0;
  for (std::size_t f = 0; f < fields.size(); ++f) {
    if (auto diagnostic = diagnostic_of(fields, f)) return diagnostic;
    block_bytes = detail::bounded_sum(block_bytes, row_bytes(fields[f]));
  }
  if (block_bytes > detail::most_bytes)
    return invalid("the rows of all fields together have more than ", detail::most_bytes_text,
                   "; give the rows that they have");
  if (fields.front().slots == 0) return std::nullopt;
  if (const auto shared = first_overlap(fields)) {
    const auto [a, b] = *shared;
    if (a == b)
      return invalid(name_of(fields, a), shape_of(fields[a]),
                     fields[a].tiles.slots == 1
                         ? " has slots whose rows share memory; give every slot a row of its own"
                         : " has arrays that share memory; give every one memory of its own");
    return invalid(name_of(fields, b), shape_of(fields[b]), " shares memory with ",
                   name_of(fields, a), shape_of(fields[a]),
                   fields[a].data == fields[b].data && fields[a].tiles.starts == nullptr
                       ? ", which starts at the same address"
                       : "",
                   "; give every array once, and every field memory of its own");
  }
  return std::nullopt;
}

}  // namespace valet::storage
