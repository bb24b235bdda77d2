// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// What a file of Valet looks like; docs/restart.md has it as a table. No MPI.
///
/// Head, then for each record its sections, then the index. All numbers are those of the machine
/// that wrote it, 8 bytes wide but for two of the head.

#include "junction/description.hpp"
#include "junction/words.hpp"
#include <valet/error.hpp>
#include <valet/export.hpp>
#include <valet/ledger.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace valet::file {

/// The first bytes of a file. Written last, so that a file which is not whole has none.
struct Head {
  static constexpr std::array<unsigned char, 8> right_magic = {0x89, 'V', 'A',  'L',
                                                               'E',  'T', '\r', '\n'};
  static constexpr std::uint32_t right_order = 0x01020304;
  static constexpr std::uint32_t newest_version = 1;

  std::array<unsigned char, 8> magic = right_magic;
  std::uint32_t byte_order = right_order;
  std::uint32_t version = newest_version;
  std::uint64_t file_bytes = 0;
  std::uint64_t index_offset = 0;
  std::uint64_t index_words = 0;
  std::uint64_t index_hash = 0;  ///< of the words
  std::uint64_t producers = 0;   ///< ranks that wrote it
  std::uint64_t hash = 0;        ///< of all above

  /// Fills in the hash.
  VALET_EXPORT void seal();
  /// Why a file of so many bytes that begins so cannot be read, if so.
  [[nodiscard]] std::optional<Diagnostic> check(const std::string& path, std::uint64_t bytes) const;

 private:
  [[nodiscard]] std::uint64_t right_hash() const;
};
static_assert(std::is_trivially_copyable_v<Head> && sizeof(Head) == 64);

/// Consecutive rows of all producers, in the order of their ranks or, of an array, of the cells of
/// its grid.
///
/// At `offset` the rows; from `table` on the bytes of every part, then the hash of every page of
/// every part: whole rows, `page_rows` of them, fewer at the end of a part.
struct Section {
  static constexpr std::uint64_t alignment = 64;        ///< where sections begin
  static constexpr std::uint64_t page_bytes = 1 << 20;  ///< or a row, where that is larger

  std::uint64_t row_bytes = 1;
  std::uint64_t offset = 0, table = 0;
  std::uint64_t parts = 0;
  std::uint64_t bytes = 0;       ///< of all rows
  std::uint64_t parts_hash = 0;  ///< of the bytes of the parts

  [[nodiscard]] std::uint64_t rows() const { return bytes / row_bytes; }
  [[nodiscard]] std::uint64_t page_rows() const {
    return std::max<std::uint64_t>(page_bytes / row_bytes, 1);
  }
  /// Pages of a part.
  [[nodiscard]] std::uint64_t pages_of(std::uint64_t part_bytes) const {
    const std::uint64_t page = page_rows() * row_bytes;
    return part_bytes / page + (part_bytes % page == 0 ? 0 : 1);
  }
};

/// A field of the rows.
struct FieldFormat {
  std::string label;
  std::uint64_t row_bytes = 0;
  std::vector<std::uint64_t> extents = {};  ///< as BlockField has them
  [[nodiscard]] bool operator==(const FieldFormat&) const = default;
};

/// Something that was put.
struct Record {
  junction::Description description;
  std::vector<FieldFormat> fields;  ///< of a row of blocks; the arenas of ragged ones
  /// One; of blocks of different sizes for each arena first where each block ends in the bytes of
  /// its producer, then these bytes; at last the rows of each column.
  std::vector<Section> sections;
  IndexOrder order = IndexOrder::row_major;  ///< of the elements in each cell of an array

  /// Blocks, or elements.
  [[nodiscard]] std::uint64_t rows() const { return sections.front().rows(); }
  [[nodiscard]] std::uint64_t bytes() const;
  /// Whether its numbers can be those of a file with that head.
  [[nodiscard]] bool is_sound(const Head& head) const;
};

/// The index: what the records are. @throws std::bad_alloc.
[[nodiscard]] VALET_EXPORT Vector<std::int64_t> words_of(std::span<const Record> records,
                                                         Ledger& ledger);
/// The inverse. @throws std::exception of any kind where the words cannot be.
[[nodiscard]] VALET_EXPORT std::vector<Record> records_of(std::span<const std::int64_t> words);
/// The same of fields alone.
[[nodiscard]] Vector<std::int64_t> words_of(std::span<const FieldFormat> fields, Ledger& ledger);
[[nodiscard]] std::vector<FieldFormat> fields_of(junction::WordReader& reader);
[[nodiscard]] VALET_EXPORT std::uint64_t hash_of(std::span<const std::byte> bytes);

}  // namespace valet::file
