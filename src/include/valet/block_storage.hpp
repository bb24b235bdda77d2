// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Block storage in the application's arrays: fields, and the storage made of them.

#include <valet/ref.hpp>
#include <valet/storage_backend.hpp>

#include <array>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace valet {

/// One dimension of a non-contiguous row: `extent` entries, `stride_bytes` apart.
struct FieldDimension {
  std::size_t extent = 1;           ///< entries
  std::ptrdiff_t stride_bytes = 0;  ///< from one entry to the next

  /// Whether entries lie alike.
  friend bool operator==(const FieldDimension&, const FieldDimension&) = default;
};

/// Rows that are not all at equal distances, because they lie in tiles of consecutive slots.
struct FieldTiles {
  std::uint64_t slots = 0;          ///< of each tile; 0 if `ends` tells, or there are no tiles
  std::ptrdiff_t stride_bytes = 0;  ///< from one tile to the next, if there are no `starts`
  /// The first entry of the first slot of each tile: a table of the application, or of `kept`.
  void* const* starts = nullptr;
  /// Where tiles differ in size: the slots of the first tile, of the first two, and so on.
  const std::uint64_t* ends = nullptr;
  std::size_t count = 0;                  ///< entries of `starts` and `ends`
  std::shared_ptr<const void> kept = {};  ///< what the tables belong to, unless the application

  /// Whether there are tiles.
  explicit operator bool() const { return slots != 0 || starts != nullptr || ends != nullptr; }
  /// Whether rows lie alike.
  friend bool operator==(const FieldTiles& a, const FieldTiles& b) {
    return a.slots == b.slots && a.stride_bytes == b.stride_bytes && a.starts == b.starts &&
           a.ends == b.ends && a.count == b.count;
  }
};

/// One array of the application in host memory, with one row per slot.
///
/// Entry (i_1, ..., i_k) of the row of slot s is at data + s*slot_stride_bytes +
/// i_1*dimensions[0].stride_bytes + ... and takes element_bytes bytes. Without dimensions the row
/// is one element. With tiles, s counts from the first slot of its tile, and data is the start of
/// this tile. The application owns the memory; Valet reads and writes it only inside execute().
struct Field {
  static constexpr std::size_t max_dimensions = 7;  ///< most dimensions of a row

  void* data = nullptr;                                     ///< the first entry of slot 0
  std::uint64_t slots = 0;                                  ///< rows
  std::ptrdiff_t slot_stride_bytes = 0;                     ///< from one row to the next
  std::size_t element_bytes = 0;                            ///< size of an entry
  std::array<FieldDimension, max_dimensions> dimensions{};  ///< of a row, in any order
  std::size_t dimension_count = 0;                          ///< dimensions in use
  FieldTiles tiles;                                         ///< where the slots are not one run
  std::size_t surplus_bytes = 0;  ///< an incomplete row at the end, which is an error
  std::string label;              ///< name used in messages; the same on all ranks
  /// Describes the array as it is now; if without a label, it keeps its own. Empty for an array
  /// that never moves.
  std::function<Field()> current;
  /// Gives the array this many rows, with the ones it has; may throw and change nothing then. Empty
  /// for an array that Valet must not resize.
  std::function<void(std::uint64_t slots)> resize;
};

/// A field with rows of `row_bytes` contiguous bytes, `slot_stride_bytes` apart: a member of an
/// array of structures, or rows followed by padding. Local.
/// @tparam T                 Any type, including void; not const.
/// @param data               The row of slot 0; the caller owns the memory.
/// @param slots              Rows: the most blocks that fit.
/// @param row_bytes          Bytes of a block in this field; the same on all ranks.
/// @param slot_stride_bytes  From one row to the next on this rank: at least `row_bytes`, or at
///                           most -row_bytes if the slots run backwards.
/// @param label              Name used in messages, the same on all ranks; if empty, they give the
///                           field's number.
template <class T>
[[nodiscard]] Field strided_field(T* data, std::uint64_t slots, std::size_t row_bytes,
                                  std::ptrdiff_t slot_stride_bytes, std::string label = {}) {
  static_assert(!std::is_const_v<T>,
                "Valet moves blocks into these arrays: give non-const data that outlives the call");
  Field result;
  result.data = const_cast<std::remove_const_t<T>*>(data);
  result.slots = slots;
  result.element_bytes = row_bytes;
  result.slot_stride_bytes = slot_stride_bytes;
  result.label = std::move(label);
  return result;
}

/// Rows in tiles of equally many slots at equal distances, such as a member of an array of
/// structures of short arrays (Cabana's AoSoA). Local.
/// @param rows               The first tile: strided_field() or another description of its rows,
///                           with the slots of all tiles; not of ref() or growing(), which the
///                           call that uses the storage refuses.
/// @param slots_per_tile     At least 1. The last tile may have fewer in use, but is there whole.
/// @param tile_stride_bytes  From a tile to the next on this rank; may be negative.
[[nodiscard]] inline Field in_tiles(Field rows, std::uint64_t slots_per_tile,
                                    std::ptrdiff_t tile_stride_bytes) {
  rows.tiles = {.slots = slots_per_tile, .stride_bytes = tile_stride_bytes};
  if (slots_per_tile == 0) rows.tiles.count = 1;  // which is refused when the storage is used
  return rows;
}

/// Rows in several arrays, one after another in the order of the slots: the levels of a hierarchy,
/// or the tiles of an AMReX container. Local; keeps copies of both lists.
/// @param rows    How the rows of each array lie: strided_field() or another description, with any
///                data and slots, which are not used; not of ref() or growing(), as above.
/// @param starts  The first entry of the first row of each array; null for one without rows.
/// @param slots   The rows of each array, as many numbers as `starts` has; different between ranks.
/// @throws std::bad_alloc.
[[nodiscard]] VALET_EXPORT Field in_segments(Field rows, std::span<void* const> starts,
                                             std::span<const std::uint64_t> slots);

/// A row behind a pointer for each slot, as node containers have them. Local.
/// @tparam T          Trivially copyable; not const.
/// @param rows        One pointer per slot, none null, to `components` values each. The table, and
///                    what the pointers refer to, belong to the application. Valet copies values
///                    and leaves the table as it is. A storage looks at all pointers when it is
///                    made, which takes 32 bytes for each meanwhile.
/// @param components  Values per slot; the same on all ranks.
/// @param label       Name used in messages, the same on all ranks; if empty, they give the field's
///                    number.
template <class T>
[[nodiscard]] Field pointed_field(std::span<T* const> rows, std::size_t components = 1,
                                  std::string label = {});

/// A contiguous field: `components` values of T per slot, slot after slot. If T is a struct, this
/// is an array of structures. Local.
/// @tparam T          Trivially copyable; not const.
/// @param data        slots * components values; the caller owns the memory.
/// @param slots       The most blocks that fit.
/// @param components  Values per slot; the same on all ranks.
/// @param label       Name used in messages, the same on all ranks; if empty, they give the field's
///                    number.
template <class T>
[[nodiscard]] Field field(T* data, std::uint64_t slots, std::size_t components = 1,
                          std::string label = {}) {
  static_assert(std::is_trivially_copyable_v<T>, "Valet moves bytes: T must be trivially copyable");
  // If the product overflows, the largest number: more than any row has.
  constexpr std::size_t most = ~std::size_t{0};
  const std::size_t row_bytes = components <= most / sizeof(T) ? sizeof(T) * components : most;
  return strided_field(data, slots, row_bytes, static_cast<std::ptrdiff_t>(row_bytes),
                       std::move(label));
}

template <class T>
[[nodiscard]] Field pointed_field(std::span<T* const> rows, std::size_t components,
                                  std::string label) {
  Field result = field(static_cast<T*>(nullptr), rows.size(), components, std::move(label));
  // Pointers to objects have one representation on every system with MPI.
  result.tiles.starts = reinterpret_cast<void* const*>(rows.data());
  result.tiles.count = rows.size();
  result.tiles.slots = 1;
  return result;
}

/// The same for a span, with values.size() / components slots. If the size is not a multiple of
/// `components`, the collective call that uses the storage reports it on all ranks.
/// @param values      The caller owns the memory.
/// @param components  Values per slot; the same on all ranks.
/// @param label       Name used in messages, the same on all ranks; if empty, they give the field's
///                    number.
template <class T, std::size_t extent>
[[nodiscard]] Field field(std::span<T, extent> values, std::size_t components = 1,
                          std::string label = {}) {
  const std::size_t slots = components == 0 ? values.size() : values.size() / components;
  Field result = field(values.data(), slots, components, std::move(label));
  result.surplus_bytes = (values.size() - slots * components) * sizeof(T);
  return result;
}

/// The same for a vector or NodeArray as it is now: if it is resized, make the field anew, or give
/// ref(values).
template <detail::ResizableArray Array>
[[nodiscard]] Field field(Array& values, std::size_t components = 1, std::string label = {}) {
  return field(std::span(values), components, std::move(label));
}

/// The same for a vector or NodeArray that may be resized between the calls which use the field.
template <detail::ResizableArray Array>
[[nodiscard]] Field field(Ref<Array> values, std::size_t components = 1, std::string label = {}) {
  Field result = field(values.get(), components, std::move(label));
  result.current = [values, components] { return field(values.get(), components); };
  if constexpr (detail::CanGrow<Array>)
    if (values.may_grow())
      result.resize = [values, components](std::uint64_t new_slots) {
        detail::resize_to(values.get(), static_cast<std::size_t>(new_slots) * components);
      };
  return result;
}

/// The same for growing(values): an array that Valet may enlarge. Local.
template <detail::ResizableArray Array>
[[nodiscard]] Field growing(Array& values, std::size_t components, std::string label = {}) {
  return field(growing(values), components, std::move(label));
}

/// Rejected at compile time: a const or temporary array cannot receive blocks.
template <detail::ResizableArray Array>
[[nodiscard]] Field field(const Array& values, std::size_t components = 1, std::string label = {}) {
  return field(std::span(values), components, std::move(label));
}
/// Rejected at compile time: std::vector<bool> packs bits, and Valet moves bytes.
template <class Allocator>
void field(const std::vector<bool, Allocator>& values, std::size_t components = 1,
           std::string label = {}) = delete;

/// The fields of one rank, seen as slots that each hold one block.
///
/// A cheap handle: copies refer to the same memory. Construction is local and never throws because
/// of bad fields. Errors in them (different numbers of slots, no memory, an array given twice,
/// overlapping rows) are reported on all ranks by the collective call that uses the storage.
class VALET_EXPORT BlockStorage {
 public:
  /// Fields with the same number of slots. Rows and labels are the same on all ranks, in the same
  /// order; collective calls compare them and throw field_mismatch, or block_size_mismatch, where
  /// they differ.
  BlockStorage(std::initializer_list<Field> fields);
  /// The same for a list made at run time.
  explicit BlockStorage(std::span<const Field> fields);
  /// Blocks in memory that only `backend` can access (adapters).
  explicit BlockStorage(std::shared_ptr<StorageBackend> backend);
  /// The same, of arrays that Field::resize enlarges.
  BlockStorage(std::shared_ptr<StorageBackend> backend, std::span<const Field> fields);
  /// Refers to the same memory. There is no move that leaves an unusable storage behind.
  BlockStorage(const BlockStorage&) = default;
  /// Refers to the same memory.
  BlockStorage& operator=(const BlockStorage&) = default;
  ~BlockStorage() = default;

  /// The same storage, with a function that enlarges it on a rank that will hold more blocks than
  /// it has slots: what growing() does, for arrays that Valet cannot resize. Local.
  /// @param grow  Called at most once in a call that moves blocks, on such a rank alone, when all
  ///              ranks have planned and before anything moves, with the slots that are required.
  ///              Keeps the blocks in their slots, and returns the storage, of the same fields,
  ///              that this one and its copies are from then on. May throw, which all ranks do
  ///              then, and must not communicate.
  [[nodiscard]] BlockStorage growing(
      std::function<BlockStorage(std::uint64_t required_slots)> grow) const;
  /// Whether it may be enlarged. [local]
  [[nodiscard]] bool grows() const { return bool(shared_->grow); }

  /// The most blocks that this rank can hold. [local]
  [[nodiscard]] std::uint64_t slots() const noexcept {
    backend().refresh();
    return backend().slots();
  }
  /// Bytes of a block, all fields together.
  [[nodiscard]] std::size_t block_bytes() const noexcept {
    backend().refresh();
    return backend().block_bytes();
  }
  /// The backend, which accesses the memory.
  [[nodiscard]] StorageBackend& backend() const { return *shared_->backend; }
  /// The same, to keep it.
  [[nodiscard]] const std::shared_ptr<StorageBackend>& shared_backend() const {
    return shared_->backend;
  }
  /// @cond
  // Enlarges it, where it grows. Throws what that throws.
  void grow(std::uint64_t required_slots) const;
  /// @endcond

 private:
  /// @cond
  struct Shared {
    std::shared_ptr<StorageBackend> backend;
    std::function<BlockStorage(std::uint64_t required_slots)> grow;
  };
  /// @endcond
  std::shared_ptr<Shared> shared_;
};

}  // namespace valet
