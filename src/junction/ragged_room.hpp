// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// The arenas into which a junction brings blocks of different sizes.

#include "mpi/channel.hpp"
#include <valet/error.hpp>
#include <valet/ragged_storage.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace valet::junction {

/// Counts what an arena must have for blocks whose lengths become known one by one.
class RoomCount {
 public:
  /// @param most  Bytes that no block has more of.
  RoomCount(const RaggedField& field, std::uint64_t most) : field_(field), most_(most) {}

  void add(std::uint64_t length);
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  /// What is wrong with the lengths, if anything.
  /// @param number  Of the field. @param name  Of what is got.
  [[nodiscard]] std::optional<Diagnostic> diagnostic(std::size_t number,
                                                     const std::string& name) const;
  [[nodiscard]] static Diagnostic unsound(const std::string& name);

 private:
  const RaggedField& field_;
  std::uint64_t most_, bytes_ = 0;
  bool is_sound_ = true, are_whole_ = true, are_aligned_ = true;
};

/// Enlarges a storage that may be enlarged. Local. @return What it lacks then.
[[nodiscard]] std::optional<Diagnostic> make_room(const RaggedStorage& storage,
                                                  const RaggedRoom& required);
/// What is wrong with blocks that are put, if anything. Local.
[[nodiscard]] std::optional<Diagnostic> check_blocks(const RaggedStorage& storage,
                                                     std::uint64_t count);
/// What all ranks have in common that pass blocks of different sizes. Collective.
/// @param wrong  What this rank has found wrong.
void agree_on_arenas(const mpi::Channel& channel, const RaggedStorage& storage,
                     const std::optional<Diagnostic>& wrong);

/// Before the lengths of blocks are written one after the other.
inline void begin_lengths(const RaggedField& field) {
  if (field.are_offsets && field.lengths != nullptr) field.lengths[0] = 0;
}
inline void write_length(const RaggedField& field, std::uint64_t block, std::uint64_t length) {
  if (field.are_offsets)
    field.lengths[block + 1] = field.lengths[block] + length;
  else
    field.lengths[block] = length;
}

}  // namespace valet::junction
