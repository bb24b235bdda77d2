// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// What one side of a junction tells the other about what it puts or gets. No MPI.

#include <valet/error.hpp>
#include <valet/ledger.hpp>
#include <valet/object_layout.hpp>
#include <valet/redistribute.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace valet::junction {

enum class Direction : std::uint8_t { put, get };
enum class Content : std::uint8_t { array, blocks, numbered_blocks, ragged_blocks, nothing };

/// The same on all ranks of a side.
struct Description {
  Direction direction = Direction::put;
  Content content = Content::array;
  std::uint64_t element_bytes = 0;  ///< of an array
  std::string label = {};
  std::optional<GridLayout> grid = {};       ///< of an array, with ranks of its own side
  std::optional<ObjectLayout> objects = {};  ///< of numbered blocks, of one size or different ones

  /// What it is, as errors call it.
  [[nodiscard]] const char* kind() const;
  /// How errors call it: by its label, if it has one.
  [[nodiscard]] std::string name() const;
  /// As words that the other side understands.
  /// @throws std::bad_alloc.
  [[nodiscard]] Vector<std::int64_t> words(Ledger& ledger) const;
  /// The inverse. @throws std::exception of any kind where the words cannot be.
  [[nodiscard]] static Description from_words(std::span<const std::int64_t> words);
};

/// Differs, but for accidents, where descriptions do; fits an agreement.
[[nodiscard]] std::uint64_t digest_of(std::span<const std::int64_t> words);

/// What makes the descriptions of the two sides no pair, if anything: the same text for both.
[[nodiscard]] std::optional<Diagnostic> contradiction(const Description& one,
                                                      const Description& other);

}  // namespace valet::junction
