// SPDX-License-Identifier: BSD-3-Clause
#include "storage/copy.hpp"
#include "storage/field_check.hpp"
#include "storage/rows.hpp"
#include <valet/block_storage.hpp>
#include <valet/detail/host_fields.hpp>

#include <algorithm>
#include <array>
#include <new>
#include <numeric>
#include <unistd.h>
#include <utility>

namespace valet {
namespace {

using detail::ListedRows;
using detail::Packed;
using detail::Rows;
using detail::SlotRows;

/// Less than this is not worth going past the cache.
constexpr std::size_t worth_past_cache_bytes = std::size_t{16} << 10;
/// Packed blocks that stay in the first-level cache while all fields are moved.
constexpr std::size_t cached_bytes = std::size_t{8} << 10;

/// Bytes that the cache of one core holds; a little where the system does not tell.
std::size_t core_cache_bytes() {
  static const long second_level = sysconf(_SC_LEVEL2_CACHE_SIZE);
  return std::max<std::size_t>(std::size_t{256} << 10,
                               static_cast<std::size_t>(std::max(0L, second_level)));
}

/// Rows in tiles whose addresses are listed at a time.
constexpr std::size_t most_listed = 256;
using Starts = std::array<std::byte*, most_listed>;

/// Calls action(first, count) for parts of a list of `size` blocks that stay in the cache.
template <class Action>
void for_each_chunk(std::size_t size, std::size_t block_bytes, Action&& action) {
  const std::size_t chunk = std::max<std::size_t>(1, cached_bytes / block_bytes);
  for (std::size_t first = 0; first < size; first += chunk)
    action(first, std::min(chunk, size - first));
}

/// Whether the list is slots first, first+1, ... in this order.
bool is_run(SlotList slots) {
  if (slots.empty() || slots.back() - slots.front() != slots.size() - 1) return false;
  SlotIndex differences = 0;  // lists that begin and end like a run mostly are one: no early end
  for (std::size_t k = 0; k < slots.size(); ++k)
    differences |= slots[k] - slots.front() - static_cast<SlotIndex>(k);
  return differences == 0;
}

}  // namespace

Field in_segments(Field rows, std::span<void* const> starts, std::span<const std::uint64_t> slots) {
  struct Tables {
    std::vector<void*> starts;
    std::vector<std::uint64_t> ends;
  };
  const auto tables = std::make_shared<Tables>();
  tables->starts.assign(starts.begin(), starts.end());
  tables->ends.resize(slots.size());
  std::inclusive_scan(slots.begin(), slots.end(), tables->ends.begin());
  rows.surplus_bytes = 0;
  rows.data = nullptr;
  rows.slots = slots.empty() ? 0 : tables->ends.back();
  rows.tiles = {.starts = tables->starts.data(),
                .ends = starts.size() == slots.size() ? tables->ends.data() : nullptr,
                .count = std::max(starts.size(), slots.size()),
                .kept = tables};
  return rows;
}

HostFields::HostFields(std::span<const Field> fields) {
  if (std::ranges::any_of(fields, [](const Field& field) { return bool(field.current); }))
    given_.assign(fields.begin(), fields.end());
  describe(fields);
}

bool HostFields::describe_again() noexcept try {
  bool changed = false;
  for (Field& field : given_) changed = storage::look_again(field) || changed;
  if (changed) describe(given_);
  return changed;
} catch (const std::bad_alloc&) {
  refuse_without_memory();
  return true;
}

/// Without memory all ranks learn of it: an exception of this one would let others wait.
void HostFields::describe(std::span<const Field> fields) try {
  slots_ = 0;
  block_bytes_ = 0;
  dense_ = nullptr;
  rows_.clear();
  diagnostic_ = storage::field_diagnostic(fields);
  if (diagnostic_ || storage::is_never_allocated(fields)) return;
  slots_ = fields.front().slots;
  for (const Field& field : fields) append_row(field);
  const Row& only = rows_.front();
  if (rows_.size() == 1 && only.dimensions.empty() && !only.tiles &&
      only.slot_stride_bytes == static_cast<std::ptrdiff_t>(only.piece_bytes))
    dense_ = only.base;
} catch (const std::bad_alloc&) {
  refuse_without_memory();
}

void HostFields::refuse_without_memory() {
  slots_ = 0;
  rows_.clear();
  diagnostic_ = Diagnostic{ErrorCode::out_of_memory, "no memory to describe the fields"};
}

void HostFields::append_row(const Field& field) {
  Row row;
  row.base = static_cast<std::byte*>(field.data);
  row.slot_stride_bytes = field.slot_stride_bytes;
  row.piece_bytes = field.element_bytes;
  row.packed_offset = block_bytes_;
  std::vector<FieldDimension> dimensions;
  row.row_bytes = field.element_bytes;
  for (std::size_t d = 0; d < field.dimension_count; ++d) {
    row.row_bytes *= field.dimensions[d].extent;
    if (field.dimensions[d].extent != 1) dimensions.push_back(field.dimensions[d]);
  }
  if (dimensions.size() > 1)
    for (const FieldDimension& dimension : dimensions) row.extents.push_back(dimension.extent);
  // The innermost dimension that follows its elements directly becomes part of the piece.
  while (!dimensions.empty() &&
         dimensions.back().stride_bytes == static_cast<std::ptrdiff_t>(row.piece_bytes)) {
    row.piece_bytes *= dimensions.back().extent;
    dimensions.pop_back();
  }
  row.dimensions = std::move(dimensions);
  row.label = field.label;
  row.tiles = field.tiles;
  block_bytes_ += row.row_bytes;
  rows_.push_back(std::move(row));
}

void HostFields::visit_fields(const std::function<void(const BlockField&)>& visit) const {
  for (const Row& row : rows_) visit({row.label, row.row_bytes, row.extents});
}

std::byte* HostFields::Row::start(std::uint64_t slot) const {
  if (!tiles) return base + static_cast<std::ptrdiff_t>(slot) * slot_stride_bytes;
  std::uint64_t tile = 0, first = 0;
  if (tiles.ends == nullptr) {
    tile = slot / tiles.slots;
    first = tile * tiles.slots;
  } else {
    const std::span ends(tiles.ends, tiles.count);
    tile = static_cast<std::uint64_t>(std::ranges::upper_bound(ends, slot) - ends.begin());
    first = tile == 0 ? 0 : ends[tile - 1];
  }
  std::byte* const start = tiles.starts == nullptr
                               ? base + static_cast<std::ptrdiff_t>(tile) * tiles.stride_bytes
                               : static_cast<std::byte*>(tiles.starts[tile]);
  return start + static_cast<std::ptrdiff_t>(slot - first) * slot_stride_bytes;
}

/// Calls action(offset in the row, offset in a packed block) for every piece of the row of a block.
template <class Action>
void HostFields::for_each_piece(const Row& row, Action&& action) {
  std::array<std::size_t, Field::max_dimensions> position{};
  std::size_t packed_offset = row.packed_offset;
  for (bool more = true; more; packed_offset += row.piece_bytes) {
    std::ptrdiff_t offset = 0;
    for (std::size_t d = 0; d < row.dimensions.size(); ++d)
      offset += static_cast<std::ptrdiff_t>(position[d]) * row.dimensions[d].stride_bytes;
    action(offset, packed_offset);
    more = false;
    for (std::size_t d = row.dimensions.size(); d-- > 0 && !more;) {
      more = ++position[d] < row.dimensions[d].extent;
      if (!more) position[d] = 0;
    }
  }
}

/// Calls action(bytes, first, how many, offset in a packed block, their rows in each list) for
/// every piece of the blocks in the first `count` slots of each list; those behind may come next.
template <class Action, class... Lists>
void HostFields::for_each_rows(std::size_t count, Action&& action, Lists... lists) const {
  for (const Row& row : rows_) {
    if (!row.tiles) {
      for_each_piece(row, [&](std::ptrdiff_t offset, std::size_t packed_offset) {
        const Rows rows{row.base + offset, row.slot_stride_bytes, row.piece_bytes};
        action(row.piece_bytes, std::size_t{0}, count, packed_offset, SlotRows{rows, lists}...);
      });
      continue;
    }
    for (std::size_t first = 0; first < count; first += most_listed) {
      const std::size_t size = std::min(most_listed, count - first);
      const auto listed = [&](SlotList slots) {
        Starts starts;
        std::ranges::transform(slots.subspan(first, size), starts.begin(),
                               [&](SlotIndex slot) { return row.start(slot); });
        return starts;
      };
      const auto move = [&](const auto&... starts) {
        for_each_piece(row, [&](std::ptrdiff_t offset, std::size_t packed_offset) {
          action(row.piece_bytes, first, size, packed_offset,
                 ListedRows{std::span(starts).first(size), offset}...);
        });
      };
      move(listed(lists)...);
    }
  }
}

/// Packs the first `count` blocks; those behind are packed next.
void HostFields::gather_batch(SlotList slots, std::size_t count, std::byte* packed) const {
  for_each_rows(
      count,
      [&](std::size_t bytes, std::size_t first, std::size_t in_batch, std::size_t packed_offset,
          const auto& rows) {
        detail::gather_rows(
            rows, bytes, in_batch,
            Packed<std::byte>{packed + first * block_bytes_ + packed_offset, block_bytes_});
      },
      slots);
}

/// Gathers for a message: past the cache, whole lines at a time. Small blocks are put together in a
/// buffer that stays in the first-level cache.
void HostFields::gather_streaming(SlotList slots, std::byte* packed) const {
  if (dense_ != nullptr && is_run(slots)) {
    detail::copy_past_cache(packed, dense_ + slots.front() * block_bytes_,
                            slots.size() * block_bytes_);
  } else if (std::array<std::byte, cached_bytes> together; 2 * block_bytes_ <= together.size()) {
    for_each_chunk(slots.size(), block_bytes_, [&](std::size_t first, std::size_t count) {
      gather_batch(slots.subspan(first), count, together.data());
      detail::copy_past_cache(packed + first * block_bytes_, together.data(), count * block_bytes_);
    });
  } else {
    for (const Row& row : rows_)
      for_each_piece(row, [&](std::ptrdiff_t offset, std::size_t packed_offset) {
        for (std::size_t k = 0; k < slots.size(); ++k)
          detail::copy_past_cache(packed + k * block_bytes_ + packed_offset,
                                  row.start(slots[k]) + offset, row.piece_bytes);
      });
  }
  detail::finish_past_cache();
}

void HostFields::gather(SlotList from, std::byte* packed) {
  if (dense_ != nullptr && is_run(from))
    return detail::copy_bytes(packed, dense_ + from.front() * block_bytes_,
                              from.size() * block_bytes_);
  for_each_chunk(from.size(), block_bytes_, [&](std::size_t first, std::size_t count) {
    gather_batch(from.subspan(first), count, packed + first * block_bytes_);
  });
}

void HostFields::start_gather(SlotList from, std::byte* packed) {
  if (from.size() * block_bytes_ < worth_past_cache_bytes) return gather(from, packed);
  gather_streaming(from, packed);
}

/// Copies to slots. Past the cache no line is fetched only to be overwritten, but where all slots
/// fit the cache they are there already.
void HostFields::write_run(std::byte* to, const std::byte* from, std::size_t bytes) const {
  if (slots_ * block_bytes_ <= core_cache_bytes()) return detail::copy_bytes(to, from, bytes);
  detail::copy_past_cache(to, from, bytes);
  detail::finish_past_cache();
}

void HostFields::scatter(const std::byte* packed, SlotList to) {
  if (dense_ != nullptr && is_run(to))
    return write_run(dense_ + to.front() * block_bytes_, packed, to.size() * block_bytes_);
  for_each_chunk(to.size(), block_bytes_, [&](std::size_t first, std::size_t count) {
    const std::byte* const chunk = packed + first * block_bytes_;
    for_each_rows(
        count,
        [&](std::size_t bytes, std::size_t begin, std::size_t in_batch, std::size_t packed_offset,
            const auto& rows) {
          const Packed<const std::byte> from{chunk + begin * block_bytes_ + packed_offset,
                                             block_bytes_};
          if (bytes < worth_past_cache_bytes / 16)
            return detail::scatter_rows(from, rows, bytes, in_batch);
          for (std::size_t k = 0; k < in_batch; ++k) write_run(rows.at(k), from.at(k), bytes);
        },
        to.subspan(first));
  });
}

void HostFields::copy(SlotList from, SlotList to, std::span<std::byte>) {
  for_each_rows(
      from.size(),
      [&](std::size_t bytes, std::size_t, std::size_t, std::size_t, const auto& source,
          const auto& target) { detail::copy_rows(source, target, bytes, block_bytes_); },
      from, to);
}

void HostFields::visit_rows(
    const std::function<void(std::byte*, std::ptrdiff_t, std::size_t)>& visit) const {
  if (std::ranges::any_of(rows_, [](const Row& row) { return bool(row.tiles); })) return;
  for (const Row& row : rows_)
    for_each_piece(row, [&](std::ptrdiff_t offset, std::size_t) {
      visit(row.base + offset, row.slot_stride_bytes, row.piece_bytes);
    });
}

std::size_t HostFields::pieces_per_block() const {
  std::size_t count = 0;
  for (const Row& row : rows_) count += row.row_bytes / row.piece_bytes;
  return std::max<std::size_t>(1, count);
}

void HostFields::pieces(std::uint64_t slot, Vector<MemoryPiece>& list) const {
  for (const Row& row : rows_) {
    std::byte* const start = row.start(slot);
    for_each_piece(row, [&](std::ptrdiff_t offset, std::size_t) {
      list.push_back({start + offset, row.piece_bytes});
    });
  }
}

}  // namespace valet
