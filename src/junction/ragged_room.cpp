// SPDX-License-Identifier: BSD-3-Clause
#include "junction/ragged_room.hpp"

#include "base/diagnose.hpp"
#include "base/memory_reserve.hpp"
#include "base/sizes.hpp"
#include "mpi/agreement.hpp"
#include "operations/ragged/arenas.hpp"
#include "storage/growth.hpp"

#include <xxhash.h>

namespace valet::junction {

void RoomCount::add(std::uint64_t length) {
  is_sound_ = is_sound_ && length <= most_ && bytes_ <= detail::most_bytes;
  if (!is_sound_) return;
  bytes_ += ragged::aligned(length, field_.alignment_bytes);
  are_whole_ = are_whole_ && length % field_.value_bytes == 0;
  are_aligned_ = are_aligned_ && (!field_.are_offsets || length % field_.alignment_bytes == 0);
}

std::optional<Diagnostic> RoomCount::diagnostic(std::size_t number, const std::string& name) const {
  if (!is_sound_) return unsound(name);
  if (!are_whole_)
    return invalid(ragged::name_of(field_, number), " is of values of ", field_.value_bytes,
                   " bytes, and blocks of ", name,
                   " are not; get them into an arena of the type that was put");
  if (!are_aligned_)
    return invalid(ragged::name_of(field_, number), " has offsets at multiples of ",
                   field_.alignment_bytes, " bytes, and blocks of ", name,
                   " have other lengths; get them into an arena with lengths");
  return std::nullopt;
}

Diagnostic RoomCount::unsound(const std::string& name) {
  return diagnose(ErrorCode::corrupted, "the lengths of ", name, " cannot be; use an older file");
}

std::optional<Diagnostic> make_room(const RaggedStorage& storage, const RaggedRoom& required) {
  if (auto wrong = storage::grow(storage, required)) return wrong;
  if (auto wrong = ragged::check_ragged(storage, 0)) return wrong;
  for (std::size_t f = 0; f < required.bytes.size(); ++f) {
    const RaggedField& field = storage.fields()[f];
    if (required.blocks > field.block_capacity || required.bytes[f] > field.capacity_bytes)
      return diagnose(ErrorCode::infeasible, ragged::name_of(field, f), " has room for ",
                      field.block_capacity, " blocks and ", field.capacity_bytes,
                      " bytes; it gets ", required.blocks, " blocks with ", required.bytes[f],
                      " bytes: grow it to that");
  }
  for (const Field& column : storage.columns())
    if (column.slots < required.blocks)
      return diagnose(ErrorCode::infeasible, "a column has ", column.slots, " rows; it gets ",
                      required.blocks, " blocks: grow it to that");
  return std::nullopt;
}

std::optional<Diagnostic> check_blocks(const RaggedStorage& storage, std::uint64_t count) {
  if (auto wrong = ragged::check_ragged(storage, count)) return wrong;
  std::optional<Diagnostic> wrong;
  auto failed = detail::unless_out_of_memory(
      [&] {
        Ledger ledger;
        wrong = ragged::check_lengths(storage, ragged::arenas_of(ledger, storage), count);
      },
      "no memory to look at blocks; nothing has moved");
  return failed ? failed : wrong;
}

void agree_on_arenas(const mpi::Channel& channel, const RaggedStorage& storage,
                     const std::optional<Diagnostic>& wrong) {
  std::uint64_t digest = storage.columns().size();
  for (const Field& column : storage.columns())
    digest = XXH3_64bits_withSeed(&column.element_bytes, sizeof column.element_bytes, digest);
  mpi::Agreement agreement;
  agreement.equal({"the number of arenas of a storage", nullptr}, storage.fields().size());
  agreement.equal({"the columns of a storage", nullptr}, digest >> 2U);
  agreement.run(channel, wrong);
}

}  // namespace valet::junction
