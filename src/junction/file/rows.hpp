// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Writes and reads the rows of a section, page by page, with their hashes. Local: each rank has
/// places of its own in the file.

#include "junction/file/format.hpp"
#include "mpi/file.hpp"
#include "observe/progress.hpp"

#include <xxhash.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace valet::file {

/// A part of a section that this rank writes: contiguous in memory, or packed.
struct OwnPart {
  std::size_t part = 0;
  const std::byte* data = nullptr;
  /// Where there is no data: packs whole rows. Called for all rows, ascending.
  std::function<void(std::uint64_t first_row, std::span<std::byte> packed)> pack = {};
};

/// What becomes of rows that are read: contiguous in memory, or unpacked. Their numbers count from
/// the first one of a call.
struct RowSink {
  std::byte* data = nullptr;
  /// Where there is no data: takes whole rows. Called for all rows, ascending.
  std::function<void(std::uint64_t first_row, std::span<const std::byte> packed)> unpack = {};
};

/// The hash of a page whose bytes come one after the other.
class PageHash {
 public:
  PageHash() { reset(); }
  void reset() { XXH3_64bits_reset(&state_); }
  void add(std::span<const std::byte> bytes) {
    XXH3_64bits_update(&state_, bytes.data(), bytes.size());
  }
  [[nodiscard]] std::uint64_t value() const { return XXH3_64bits_digest(&state_); }

 private:
  XXH3_state_t state_;
};

/// Where a part has its bytes in the file, and the hashes of its pages.
struct PartPlace {
  std::size_t number = 0;
  std::uint64_t bytes_at = 0, hashes_at = 0;
};

/// A section and the bytes of its parts.
struct Parts {
  const Section& section;
  std::span<const std::uint64_t> bytes;
  observe::ProgressMeter* meter = nullptr;  ///< counts the bytes of rows; null for none
};

/// Writes parts with the hashes of their pages, but not the table of all parts.
/// @param staging  A row at least, where something is packed.
[[nodiscard]] std::optional<Diagnostic> write_rows(mpi::File& file, const Parts& parts,
                                                   std::span<const OwnPart> own,
                                                   std::span<std::byte> staging);

/// Reads consecutive rows, as many at a time as are wanted. The pages of which they are a part are
/// read as a whole, to compare their hashes: up to two pages more than the rows.
class RowsReader {
 public:
  /// @param parts    Their bytes must live on.
  /// @param staging  A row at least.
  /// @param name     Of the record, for the error corrupted: then rows have been taken already.
  RowsReader(mpi::File& file, const Parts& parts, std::uint64_t first_row, std::uint64_t rows,
             std::span<std::byte> staging, std::string name);
  RowsReader(const RowsReader&) = delete;
  RowsReader& operator=(const RowsReader&) = delete;
  ~RowsReader() = default;

  /// The next of them.
  [[nodiscard]] std::optional<Diagnostic> read(std::uint64_t rows, const RowSink& sink);
  /// All that are left.
  [[nodiscard]] std::optional<Diagnostic> read(const RowSink& sink) { return read(left_, sink); }

 private:
  [[nodiscard]] std::uint64_t rows_of_part() const {
    return parts_.bytes[part_.number] / parts_.section.row_bytes;
  }
  std::optional<Diagnostic> pass_over(std::uint64_t rows);
  std::optional<Diagnostic> take(std::uint64_t rows, std::uint64_t number, const RowSink& sink);
  std::optional<Diagnostic> compare(std::uint64_t page);

  mpi::File& file_;
  Parts parts_;
  std::span<std::byte> staging_;
  std::string name_;
  PartPlace part_;
  std::uint64_t row_ = 0;   ///< of the part
  std::uint64_t left_ = 0;  ///< that are wanted
  bool has_begun_ = false;
  PageHash hash_;  ///< of the page that has begun
};

}  // namespace valet::file
