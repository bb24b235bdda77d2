// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Columns: numbers per slot that a partitioner reads, such as coordinates and weights.

#include <valet/error.hpp>
#include <valet/ragged_storage.hpp>
#include <valet/ref.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace valet {

/// One number per slot in host memory, of any arithmetic type.
struct Column {
  const std::byte* data = nullptr;  ///< the number of slot 0
  std::ptrdiff_t stride_bytes = 0;  ///< from one slot to the next
  /// Reads the number at `place` as a double. noexcept: an exception would leave other ranks
  /// waiting.
  double (*read)(const std::byte* place) noexcept = nullptr;
  /// The same for `count` slots, `stride_bytes` apart, in one call. May be null.
  void (*read_many)(const std::byte* first, std::ptrdiff_t stride_bytes, std::size_t count,
                    double* numbers) noexcept = nullptr;

  /// The number of a slot.
  [[nodiscard]] double operator[](std::uint64_t slot) const {
    return read(data + static_cast<std::ptrdiff_t>(slot) * stride_bytes);
  }
  /// The numbers of `count` slots starting with `first`.
  void copy_to(double* numbers, std::uint64_t first, std::size_t count) const {
    const std::byte* const place = data + static_cast<std::ptrdiff_t>(first) * stride_bytes;
    if (read_many != nullptr) return read_many(place, stride_bytes, count, numbers);
    for (std::size_t k = 0; k < count; ++k) numbers[k] = (*this)[first + k];
  }
};

/// Columns in memory that the host cannot read, such as device memory: the numbers of some slots at
/// a time are copied to the host, never all. Local. Exceptions of bring() become an error on all
/// ranks.
class StagedColumns {
 public:
  /// Most slots per call of bring().
  static constexpr std::size_t most_slots = 8192;

  StagedColumns() = default;
  StagedColumns(const StagedColumns&) = delete;
  StagedColumns& operator=(const StagedColumns&) = delete;
  virtual ~StagedColumns() = default;

  /// Copies the numbers of `count` slots starting with `first`, at most most_slots, to numbers().
  virtual void bring(std::uint64_t first, std::size_t count) = 0;
  /// The same for a list of slots in any order, at most most_slots.
  virtual void bring(std::span<const std::uint32_t> slots) = 0;
  /// The numbers of a column that bring() copied last, in host memory.
  [[nodiscard]] virtual const double* numbers(std::size_t column) const = 0;
  /// Memory used, on the host or accessible to both host and device.
  [[nodiscard]] virtual std::size_t bytes() const = 0;

  /// The numbers of a column starting with `slot`, as many as are available: at least one. The
  /// column has `slots` slots.
  [[nodiscard]] std::span<const double> from(std::size_t column, std::uint64_t slot,
                                             std::uint64_t slots) {
    if (slot < first_ || slot >= first_ + count_) {
      count_ = 0;  // in case it throws
      const auto count =
          static_cast<std::size_t>(std::min<std::uint64_t>(most_slots, slots - slot));
      bring(slot, count);
      first_ = slot;
      count_ = count;
    }
    const auto at = static_cast<std::size_t>(slot - first_);
    return {numbers(column) + at, count_ - at};
  }
  /// bring() of a list, after which from() has no numbers available.
  void bring_list(std::span<const std::uint32_t> slots) {
    count_ = 0;
    bring(slots);
  }

 private:
  std::uint64_t first_ = 0;
  std::size_t count_ = 0;
};

/// Up to three columns with the same number of slots.
struct Columns {
  static constexpr std::size_t most = 3;     ///< most columns
  using Numbers = std::array<double, most>;  ///< the numbers of a slot

  std::array<Column, most> column{};       ///< the first `size` are used, unless `staged` is set
  std::size_t size = 0;                    ///< number of columns
  std::uint64_t slots = 0;                 ///< numbers per column
  std::shared_ptr<StagedColumns> staged;   ///< reads columns that the host cannot read; or null
  std::shared_ptr<const void> keep_alive;  ///< kept while they are read
  std::optional<Diagnostic> diagnostic;    ///< why they cannot be read
  double factor = 1;                       ///< all numbers are multiplied by it when read

  /// The number of a slot in column `c`. Throws as StagedColumns::bring(), as do the functions
  /// below.
  [[nodiscard]] double number(std::size_t c, std::uint64_t slot) const {
    return factor * (staged ? staged->from(c, slot, slots)[0] : column[c][slot]);
  }
  /// The numbers of `count` slots of column `c`, starting with `first`.
  void copy_to(std::size_t c, double* numbers, std::uint64_t first, std::size_t count) const {
    if (!staged) column[c].copy_to(numbers, first, count);
    double* next = numbers;
    for (std::size_t left = staged ? count : 0; left > 0;) {
      const std::span<const double> there = staged->from(c, first, slots);
      const std::size_t copied = std::min(left, there.size());
      next = std::copy_n(there.data(), copied, next);
      first += copied;
      left -= copied;
    }
    if (factor != 1)
      for (std::size_t k = 0; k < count; ++k) numbers[k] *= factor;
  }
  /// All numbers of a list of slots in any order: one entry per slot.
  void gather(std::span<const std::uint32_t> list, Numbers* numbers) const {
    if (!staged) {
      for (const std::uint32_t slot : list) {
        for (std::size_t c = 0; c < size; ++c) (*numbers)[c] = factor * column[c][slot];
        ++numbers;
      }
      return;
    }
    while (!list.empty()) {
      const auto part = list.first(std::min(list.size(), StagedColumns::most_slots));
      staged->bring_list(part);
      for (std::size_t c = 0; c < size; ++c)
        for (std::size_t k = 0; k < part.size(); ++k)
          numbers[k][c] = factor * staged->numbers(c)[k];
      numbers += part.size();
      list = list.subspan(part.size());
    }
  }
};

/// Returns the columns at the moment of a partition, so that resources for reading them exist only
/// for its duration. Must not communicate.
using ColumnSource = std::function<Columns()>;

/// The column of an array of any arithmetic type, or of a member of an array of structures. Local.
/// @param data          The number of slot 0; must stay in place while the column is in use.
/// @param stride_bytes  From one slot to the next.
template <class T>
[[nodiscard]] Column column(const T* data, std::ptrdiff_t stride_bytes) {
  static_assert(std::is_arithmetic_v<T>, "Valet: coordinates and weights are numbers");
  return {reinterpret_cast<const std::byte*>(data), stride_bytes,
          [](const std::byte* place) noexcept {
            return static_cast<double>(*reinterpret_cast<const T*>(place));
          },
          [](const std::byte* first, std::ptrdiff_t stride, std::size_t count,
             double* numbers) noexcept {
            for (std::size_t k = 0; k < count; ++k, first += stride)
              numbers[k] = static_cast<double>(*reinterpret_cast<const T*>(first));
          }};
}

/// The columns of an array with several values per slot, slot after slot. Local.
/// @param data        slots * components values; must stay in place while the source is in use.
/// @param slots       The most objects that fit.
/// @param components  Values per slot: 1 to 3 for coordinates, 1 for weights. The collective call
///                    that uses the source reports other numbers on all ranks.
template <class T>
[[nodiscard]] ColumnSource array_columns(const T* data, std::uint64_t slots,
                                         std::size_t components) {
  return [data, slots, components] {
    Columns columns;
    columns.slots = slots;
    columns.size = components;
    for (std::size_t c = 0; c < components && c < Columns::most; ++c)
      columns.column[c] = column(data + c, static_cast<std::ptrdiff_t>(components * sizeof(T)));
    if (components < 1 || components > Columns::most)
      columns.diagnostic = Diagnostic{ErrorCode::invalid_argument,
                                      "an array of " + std::to_string(components) +
                                          " values per slot; coordinates have 1 to 3, weights 1"};
    else if (data == nullptr && slots > 0)
      columns.diagnostic =
          Diagnostic{ErrorCode::inaccessible_memory, "an array of coordinates or weights is null"};
    return columns;
  };
}

/// The same for a vector or NodeArray that may be resized between partitions, and must outlive the
/// Rebalancer.
/// @param values      `components` values per slot, slot after slot.
/// @param components  As above.
template <detail::ResizableArray Array>
[[nodiscard]] ColumnSource array_columns(Ref<Array> values, std::size_t components) {
  return [values, components] {
    const std::uint64_t slots = components == 0 ? 0 : values.get().size() / components;
    return array_columns(values.get().data(), slots, components)();
  };
}

/// The bytes of each block of an arena, as weights: Rebalancer::weights(). Local. Alignment padding
/// counts only with offsets.
/// @param field  Its lengths or offsets must stay in place while the source is in use, unless it
/// was
///               made of valet::ref().
[[nodiscard]] inline ColumnSource block_bytes(const RaggedField& field) {
  return [given = field] {
    const RaggedField now = given.current ? given.current() : given;
    Columns columns = array_columns(now.lengths, now.block_capacity, 1)();
    if (!now.are_offsets) return columns;
    columns.column[0].read_many = nullptr;
    columns.column[0].read = [](const std::byte* place) noexcept {
      const auto* const offset = reinterpret_cast<const std::uint64_t*>(place);
      return static_cast<double>(offset[1] - offset[0]);
    };
    return columns;
  };
}

}  // namespace valet
