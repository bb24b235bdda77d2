// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Writes and reads the rows of a section, page by page, with their hashes. Local: each rank has
/// places of its own in the file.

#include "junction/file/format.hpp"
#include "mpi/file.hpp"

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

/// What becomes of rows that are read: contiguous in memory, or unpacked.
struct RowSink {
  std::byte* data = nullptr;
  /// Where there is no data: takes whole rows. Called for all rows, ascending.
  std::function<void(std::uint64_t first_row, std::span<const std::byte> packed)> unpack = {};
};

/// A section and the bytes of its parts.
struct Parts {
  const Section& section;
  std::span<const std::uint64_t> bytes;
};

/// Writes parts with the hashes of their pages, but not the table of all parts.
/// @param staging  A row at least, where something is packed.
[[nodiscard]] std::optional<Diagnostic> write_rows(mpi::File& file, const Parts& parts,
                                                   std::span<const OwnPart> own,
                                                   std::span<std::byte> staging);
/// Reads consecutive rows. Pages of which they are a part are read as a whole, to compare their
/// hashes: up to two pages more than the rows.
/// @param staging  A row at least.
/// @param name     Of the record, for the error corrupted: then rows have been taken already.
[[nodiscard]] std::optional<Diagnostic> read_rows(mpi::File& file, const Parts& parts,
                                                  std::uint64_t first_row, std::uint64_t rows,
                                                  const RowSink& sink, std::span<std::byte> staging,
                                                  const std::string& name);

}  // namespace valet::file
