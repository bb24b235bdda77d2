// SPDX-License-Identifier: BSD-3-Clause
#include "operations/ragged/arenas.hpp"

#include "base/diagnose.hpp"
#include "base/names.hpp"
#include "storage/footprint.hpp"

#include <xxhash.h>

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

namespace valet::ragged {
namespace {

constexpr std::size_t most_alignment = 64;
constexpr std::size_t most_arenas = 32;

std::optional<Diagnostic> check_field(const RaggedField& field, const std::string& name,
                                      std::uint64_t count) {
  if (field.prepare)
    if (auto found = field.prepare()) return found;
  if (!std::has_single_bit(field.alignment_bytes) || field.alignment_bytes > most_alignment)
    return invalid(name, " has an alignment of ", field.alignment_bytes,
                   " bytes; give a power of two, 64 at most");
  if (field.value_bytes == 0)
    return invalid(name,
                   " has values of 0 bytes; give the bytes of one, or 1 for blocks of anything");
  if (field.capacity_bytes > detail::most_bytes ||
      detail::bounded_product(field.block_capacity, sizeof(std::uint64_t)) > detail::most_bytes)
    return invalid(name, " says it has ", field.capacity_bytes, " bytes and room for ",
                   field.block_capacity, " lengths, more than ", detail::most_bytes_text,
                   "; give the numbers that it has");
  if ((field.data == nullptr && field.capacity_bytes > 0) ||
      (field.lengths == nullptr && field.block_capacity > 0))
    return diagnose(ErrorCode::inaccessible_memory, name, " has no memory for its ",
                    (field.lengths == nullptr && field.block_capacity > 0 ? "lengths" : "bytes"),
                    "; allocate it before the call, or say that it has none");
  if (reinterpret_cast<std::uintptr_t>(field.data) % field.alignment_bytes != 0)
    return invalid(name, " starts at an address that is not a multiple of its alignment of ",
                   field.alignment_bytes,
                   " bytes; allocate it with that alignment, or ask for less");
  if (count > field.block_capacity)
    return invalid(name, " has lengths for ", field.block_capacity, " blocks, but holds ", count,
                   "; give the number of blocks that it holds");
  return std::nullopt;
}

std::optional<Diagnostic> check_column(const Field& column, const std::string& name,
                                       std::uint64_t count) {
  if (column.dimension_count > 0 || column.element_bytes == 0 ||
      column.slot_stride_bytes != static_cast<std::ptrdiff_t>(column.element_bytes))
    return invalid(name,
                   " does not have its rows one after the other; beside blocks of different sizes "
                   "give contiguous arrays");
  if (detail::bounded_product(column.slots, column.element_bytes) > detail::most_bytes)
    return invalid(name, " says it has ", column.slots, " rows of ", column.element_bytes,
                   " bytes, more than ", detail::most_bytes_text, "; give the numbers that it has");
  if (column.surplus_bytes > 0)
    return invalid(name, " ends with ", column.surplus_bytes,
                   " bytes that are part of a row; give whole rows");
  if (column.data == nullptr && column.slots > 0)
    return diagnose(ErrorCode::inaccessible_memory, name,
                    " has no memory; allocate it before the call, or say that it has no rows");
  if (count > column.slots)
    return diagnose(ErrorCode::field_mismatch, name, " has ", column.slots, " rows for ", count,
                    " blocks; it needs one for each");
  return std::nullopt;
}

std::string column_name(const Field& column, std::size_t number) {
  return detail::named("column", column.label, number);
}

std::optional<Diagnostic> check_overlap(const RaggedStorage& storage) {
  std::vector<Field> arrays;  // as bytes, with the names that messages have for them
  const auto add = [&](void* data, std::uint64_t bytes, const std::string& name) {
    if (bytes > 0)
      arrays.push_back(strided_field(static_cast<std::byte*>(data), bytes, 1, 1, name));
  };
  for (std::size_t f = 0; f < storage.fields().size(); ++f) {
    const RaggedField& field = storage.fields()[f];
    const std::string name = name_of(field, f);
    add(field.data, field.capacity_bytes, "the bytes of " + name);
    const bool has_end = field.are_offsets && field.lengths != nullptr;
    const std::uint64_t words = field.block_capacity + (has_end ? 1 : 0);
    add(field.lengths, words * sizeof(std::uint64_t), "the lengths of " + name);
  }
  for (std::size_t c = 0; c < storage.columns().size(); ++c) {
    const Field& column = storage.columns()[c];
    add(column.data, column.slots * column.element_bytes, column_name(column, c));
  }
  if (const auto shared = storage::first_overlap(arrays))
    return invalid(arrays[shared->first].label, " and ", arrays[shared->second].label,
                   " share memory; give each array once");
  return std::nullopt;
}

/// What is wrong with a length or an offset, described by `what`, that is not of whole values.
template <class... What>
Diagnostic no_whole_values(const RaggedField& field, const std::string& name, const What&... what) {
  return invalid(name, " has ", what..., ", no multiple of the ", field.value_bytes,
                 " bytes of its values; lengths and offsets count bytes, not values: multiply them "
                 "by the bytes of a value, or give the arena as bytes; nothing has moved");
}

/// What is wrong with the offsets of a field, which has `count` blocks.
std::optional<Diagnostic> check_offsets(const RaggedField& field, const std::string& name,
                                        std::uint64_t count) {
  const auto bad = [&](std::uint64_t k, const auto&... what) {
    return invalid(name, " has ", field.lengths[k], " as its offset ", k, what...,
                   "; fix the offsets, nothing has moved");
  };
  if (count > 0 && field.lengths[0] != 0) return bad(0, ", but blocks start at byte 0");
  for (std::uint64_t k = 1; count > 0 && k <= count; ++k) {
    if (field.lengths[k] < field.lengths[k - 1])
      return bad(k, ", below the ", field.lengths[k - 1], " before it");
    if (field.lengths[k] > field.capacity_bytes)
      return bad(k, ", behind its ", field.capacity_bytes, " bytes");
    if (field.lengths[k] % field.alignment_bytes != 0)
      return bad(k, ", no multiple of its alignment of ", field.alignment_bytes, " bytes");
    // Where values need not be aligned, padding may stand between blocks.
    if (field.value_bytes % field.alignment_bytes == 0 && field.lengths[k] % field.value_bytes != 0)
      return no_whole_values(field, name, field.lengths[k], " as its offset ", k);
  }
  return std::nullopt;
}

/// The same for lengths.
std::optional<Diagnostic> check_lengths_of(const RaggedField& field, const Arena& arena,
                                           std::size_t number, std::uint64_t count) {
  if (field.are_offsets) return check_offsets(field, name_of(field, number), count);
  std::uint64_t bytes = 0;
  for (std::uint64_t k = 0; k < count; ++k) {
    const std::uint64_t left = field.capacity_bytes - bytes;
    if (field.lengths[k] > left || arena.bytes_of(k) > left)
      return invalid(name_of(field, number), " has ", field.capacity_bytes, " bytes, but block ", k,
                     " of ", field.lengths[k], " bytes would start at byte ", bytes,
                     " and, with what aligns the next one, end behind them; fix the lengths, "
                     "nothing has moved");
    if (field.lengths[k] % field.value_bytes != 0)
      return no_whole_values(field, name_of(field, number), "block ", k, " of ", field.lengths[k],
                             " bytes");
    bytes += arena.bytes_of(k);
  }
  return std::nullopt;
}

}  // namespace

std::string name_of(const RaggedField& field, std::size_t number) {
  return detail::named("ragged field", field.label, number);
}

std::optional<Diagnostic> check_ragged(const RaggedStorage& storage, std::uint64_t count) {
  if (storage.fields().empty())
    return invalid(
        "the storage has no ragged field; give at least one, or a storage of fields for blocks of "
        "one "
        "size");
  if (2 * storage.fields().size() + storage.columns().size() > most_arenas)
    return invalid("the storage has more than ", most_arenas,
                   " arrays, lengths included; move it in parts");
  for (std::size_t f = 0; f < storage.fields().size(); ++f)
    if (auto found = check_field(storage.fields()[f], name_of(storage.fields()[f], f), count))
      return found;
  for (std::size_t c = 0; c < storage.columns().size(); ++c)
    if (auto found =
            check_column(storage.columns()[c], column_name(storage.columns()[c], c), count))
      return found;
  return check_overlap(storage);
}

Arena arena_of(const RaggedField& field) {
  return {.data = static_cast<std::byte*>(field.data),
          .capacity_bytes = field.capacity_bytes,
          .lengths = field.lengths,
          .alignment_bytes = field.alignment_bytes,
          .has_offsets = field.are_offsets};
}

Vector<Arena> arenas_of(Ledger& ledger, const RaggedStorage& storage) {
  Vector<Arena> arenas(ledger);
  arenas.reserve(2 * storage.fields().size() + storage.columns().size());
  for (const RaggedField& field : storage.fields()) arenas.push_back(arena_of(field));
  for (const Field& column : storage.columns())
    arenas.push_back({.data = static_cast<std::byte*>(column.data),
                      .capacity_bytes = column.slots * column.element_bytes,
                      .row_bytes = column.element_bytes});
  for (const RaggedField& field : storage.fields())
    arenas.push_back({.data = static_cast<std::byte*>(static_cast<void*>(field.lengths)),
                      .capacity_bytes = field.block_capacity * sizeof(std::uint64_t),
                      .row_bytes = sizeof(std::uint64_t)});
  return arenas;
}

std::optional<Diagnostic> check_lengths(const RaggedStorage& storage, std::span<const Arena> arenas,
                                        std::uint64_t count) {
  for (std::size_t f = 0; f < storage.fields().size(); ++f)
    if (auto found = check_lengths_of(storage.fields()[f], arenas[f], f, count)) return found;
  return std::nullopt;
}

void to_lengths(std::span<Arena> arenas, const RaggedStorage& storage, std::uint64_t count) {
  for (std::size_t f = 0; f < storage.fields().size(); ++f) {
    if (!arenas[f].has_offsets) continue;
    arenas[f].has_offsets = false;
    std::uint64_t* const words = storage.fields()[f].lengths;
    for (std::uint64_t k = 0; k < count; ++k) words[k] = words[k + 1] - words[k];
  }
}

/// Blocks that came from a rank with lengths are padded.
void to_offsets(std::span<const Arena> arenas, const RaggedStorage& storage, std::uint64_t count) {
  for (std::size_t f = 0; f < storage.fields().size(); ++f) {
    const RaggedField& field = storage.fields()[f];
    if (!field.are_offsets || field.lengths == nullptr) continue;
    std::uint64_t begin = 0;
    for (std::uint64_t k = 0; k < count; ++k) {
      const std::uint64_t bytes = arenas[f].bytes_of(k);
      field.lengths[k] = std::exchange(begin, begin + bytes);
    }
    field.lengths[count] = begin;
  }
}

std::uint64_t fingerprint_of(std::span<const Arena> arenas, std::span<const int> ranks) {
  std::uint64_t digest = XXH3_64bits(ranks.data(), ranks.size_bytes());
  std::array<std::uint64_t, 256> lengths{};
  for (const Arena& arena : arenas)
    for (std::size_t k = 0; arena.lengths != nullptr && k < ranks.size(); k += lengths.size()) {
      const std::size_t some = std::min(lengths.size(), ranks.size() - k);
      for (std::size_t i = 0; i < some; ++i) lengths[i] = arena.length_of(k + i);
      digest = XXH3_64bits_withSeed(lengths.data(), some * sizeof(std::uint64_t), digest);
    }
  return digest;
}

void Destinations::sort() {
  peers_.reserve(entries_.size());
  entries_.for_each([&](int rank, std::uint64_t blocks) { peers_.push_back({rank, blocks}); });
  std::ranges::sort(peers_, {}, &RankBlocks::rank);
  for (std::size_t p = 0; p < peers_.size(); ++p) entries_.known(peers_[p].rank)->count = p;
}

}  // namespace valet::ragged
