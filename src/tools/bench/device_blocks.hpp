// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Blocks in the memory of a device: Views of a particle or a patch code, what stands in them, and
/// the kernels that write, check and copy them. With a Kokkos of host back ends the device is the
/// host.

#include <valet/kokkos/blocks.hpp>
#include <valet/valet.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <functional>
#include <vector>

namespace valet::bench {

using Space = Kokkos::DefaultExecutionSpace;
using DeviceMemory = Space::memory_space;
/// Reached by kernels, the host and MPI: pinned where there is a device.
using HostStaging = kokkos::detail::StagingSpace<Space>;

/// The unit of all kernels here: 8 bytes of any type.
using Word = kokkos::detail::Word64;
using DeviceWords = Kokkos::View<std::uint64_t*, DeviceMemory>;
using StagedWords = Kokkos::View<std::uint64_t*, HostStaging>;
using SlotList = Kokkos::View<std::uint32_t*, DeviceMemory>;

/// One View, in the form kernels take: word `w` of the row in slot `s` is
/// data[s * slot_stride + w * word_stride].
struct FieldWords {
  Word* data = nullptr;
  std::size_t words = 0;  ///< of a row
  std::size_t slot_stride = 0;
  std::size_t word_stride = 0;
  std::size_t packed_offset = 0;  ///< words of a packed block before this field
};

enum class BlockKind {
  particles,  ///< one 64-bit id and twice 3 doubles in 3 Views, of the layout the device prefers
  patches,    ///< 28 KiB in one View, each in one piece
};

/// The Views of a rank, not initialised.
struct BlockArrays {
  std::vector<FieldWords> fields;         ///< word 0 of the first one holds the id of the block
  std::function<BlockStorage()> storage;  ///< keeps the Views as well
};

// Kernels are classes with names: nvcc takes no lambda where the function around it is a private
// member or has a deduced type.
using Indices = Kokkos::RangePolicy<Space, Kokkos::IndexType<std::uint64_t>>;

constexpr std::size_t patch_words = std::size_t{28} * 1024 / sizeof(std::uint64_t);
constexpr int slot_bits = 40;

KOKKOS_INLINE_FUNCTION std::uint64_t scattered_bits(std::uint64_t number) {
  std::uint64_t bits = (number + 1) * 0x9E3779B97F4A7C15ULL;
  bits ^= bits >> 31;
  bits *= 0xBF58476D1CE4E5B9ULL;
  return bits ^ bits >> 29;
}

/// Where blocks go. Every second one leaves, and a rank gets as many as it gives: the same slots of
/// all ranks go to the same distance.
struct Route {
  int ranks = 1;
  bool scattered = false;  ///< to all other ranks alike, not to the next one
  [[nodiscard]] KOKKOS_INLINE_FUNCTION int destination(int rank, std::uint64_t slot) const {
    if (slot % 2 == 0 || ranks == 1) return rank;
    const std::uint64_t others = static_cast<std::uint64_t>(ranks) - 1;
    const std::uint64_t distance = scattered ? 1 + scattered_bits(slot) % others : 1;
    return static_cast<int>((static_cast<std::uint64_t>(rank) + distance) %
                            static_cast<std::uint64_t>(ranks));
  }
};

KOKKOS_INLINE_FUNCTION std::uint64_t id_of(int rank, std::uint64_t slot) {
  return (static_cast<std::uint64_t>(rank) << slot_bits) + slot;
}

/// What word `word` of a packed block holds.
KOKKOS_INLINE_FUNCTION std::uint64_t value_of(std::uint64_t id, std::uint64_t word) {
  return word == 0 ? id : scattered_bits(id ^ word << 52);
}

/// A slot and a word of a field, counted with the one running faster whose neighbours are
/// neighbours in memory.
struct Place {
  std::uint64_t slot;
  std::uint64_t word;
};
KOKKOS_INLINE_FUNCTION Place place_of(const FieldWords& field, std::uint64_t slots,
                                      std::uint64_t index) {
  if (field.slot_stride < field.word_stride) return {index % slots, index / slots};
  return {index / field.words, index % field.words};
}

KOKKOS_INLINE_FUNCTION Word& word_at(const FieldWords& field, std::uint64_t slot,
                                     std::uint64_t word) {
  return field.data[slot * field.slot_stride + word * field.word_stride];
}

struct Write {
  FieldWords field;
  std::uint64_t slots;
  int rank;
  KOKKOS_FUNCTION void operator()(std::uint64_t index) const {
    const Place place = place_of(field, slots, index);
    word_at(field, place.slot, place.word) =
        value_of(id_of(rank, place.slot), field.packed_offset + place.word);
  }
};

struct CountTorn {
  FieldWords ids;
  FieldWords field;
  std::uint64_t slots;
  KOKKOS_FUNCTION void operator()(std::uint64_t index, std::uint64_t& torn) const {
    const Place place = place_of(field, slots, index);
    const std::uint64_t id = word_at(ids, place.slot, 0);
    if (word_at(field, place.slot, place.word) != value_of(id, field.packed_offset + place.word))
      ++torn;
  }
};

/// The hashes of blocks that belong here, less those of the blocks that were written here.
struct Surplus {
  FieldWords ids;
  Route route;
  int rank;
  std::uint64_t blocks;  ///< of every rank
  KOKKOS_FUNCTION void operator()(std::uint64_t slot, std::uint64_t& sum) const {
    const std::uint64_t id = word_at(ids, slot, 0);
    const std::uint64_t from = id >> slot_bits;
    const std::uint64_t from_slot = id & ((std::uint64_t{1} << slot_bits) - 1);
    const bool known = from < static_cast<std::uint64_t>(route.ranks) && from_slot < blocks;
    if (known && route.destination(static_cast<int>(from), from_slot) == rank)
      sum += scattered_bits(id);
    sum -= scattered_bits(id_of(rank, slot));
  }
};

/// Rows in the slots of a list, or from a slot on, to consecutive slots of another field.
struct Copy {
  FieldWords from;
  FieldWords to;
  const std::uint32_t* slots;  ///< nullptr: from slot 0 of `from` on
  std::uint64_t blocks;
  KOKKOS_FUNCTION void operator()(std::uint64_t index) const {
    const bool by_slot = to.slot_stride < to.word_stride;
    const Place place = place_of(by_slot ? to : from, blocks, index);
    word_at(to, place.slot, place.word) =
        word_at(from, slots == nullptr ? place.slot : slots[place.slot], place.word);
  }
};

/// A field in packed blocks.
inline FieldWords packed_field(const FieldWords& field, std::size_t block_words,
                               std::uint64_t* packed) {
  FieldWords words = field;
  words.data = reinterpret_cast<Word*>(packed + field.packed_offset);
  words.slot_stride = block_words;
  words.word_stride = 1;
  return words;
}

inline void copy_rows(const Space& space, const Copy& copy) {
  Kokkos::parallel_for("valet_bench::copy", Indices(space, 0, copy.blocks * copy.from.words), copy);
}

template <class Kernel>
std::uint64_t sum_of(const char* label, std::uint64_t indices, const Kernel& kernel) {
  std::uint64_t sum = 0;
  Kokkos::parallel_reduce(label, Indices(Space(), 0, indices), kernel, sum);
  return sum;
}

/// Adds a View behind the fields that there are.
template <class View>
void add_field(std::vector<FieldWords>& fields, const View& view) {
  FieldWords field{.data = reinterpret_cast<Word*>(view.data()),
                   .words = 1,
                   .slot_stride = static_cast<std::size_t>(view.stride(0)),
                   .word_stride = 1};
  constexpr std::size_t rank = View::rank;
  if constexpr (rank == 2) {
    field.words = view.extent(1);
    field.word_stride = static_cast<std::size_t>(view.stride(1));
  }
  if (!fields.empty()) field.packed_offset = fields.back().packed_offset + fields.back().words;
  fields.push_back(field);
}

template <class View>
View make_view(const char* label, std::uint64_t slots) {
  return View(Kokkos::view_alloc(Kokkos::WithoutInitializing, std::string(label)), slots);
}

inline std::size_t words_of(const BlockArrays& arrays) {
  return arrays.fields.back().packed_offset + arrays.fields.back().words;
}

[[nodiscard]] inline std::size_t words_of(BlockKind kind) {
  return kind == BlockKind::particles ? 7 : patch_words;
}

[[nodiscard]] inline BlockArrays make_arrays(BlockKind kind, std::uint64_t slots) {
  BlockArrays arrays;
  if (kind == BlockKind::patches) {
    // A patch code keeps a patch together, whatever layout the device prefers.
    using Patches = Kokkos::View<double* [patch_words], Kokkos::LayoutRight, DeviceMemory>;
    const auto patches = make_view<Patches>("valet_bench::patches", slots);
    add_field(arrays.fields, patches);
    arrays.storage = [patches] { return kokkos::staged_blocks(Space(), patches); };
    return arrays;
  }
  using Vectors = Kokkos::View<double* [3], DeviceMemory>;
  using Ids = Kokkos::View<std::uint64_t*, DeviceMemory>;
  const auto ids = make_view<Ids>("valet_bench::id", slots);
  const auto positions = make_view<Vectors>("valet_bench::position", slots);
  const auto velocities = make_view<Vectors>("valet_bench::velocity", slots);
  add_field(arrays.fields, ids);
  add_field(arrays.fields, positions);
  add_field(arrays.fields, velocities);
  arrays.storage = [=] { return kokkos::staged_blocks(Space(), ids, positions, velocities); };
  return arrays;
}

/// Every block says where it started, in each of its words.
inline void write_blocks(const BlockArrays& arrays, int rank, std::uint64_t blocks) {
  for (const FieldWords& field : arrays.fields)
    Kokkos::parallel_for("valet_bench::write", Indices(Space(), 0, blocks * field.words),
                         Write{field, blocks, rank});
  Space().fence();
}

/// What kernels find in the first slots of a rank, of as many blocks as were written there.
struct Findings {
  std::uint64_t torn = 0;     ///< words of blocks that are not whole
  std::uint64_t surplus = 0;  ///< summed over all ranks 0 where no block is lost, doubled or astray
};
[[nodiscard]] inline Findings check_blocks(const BlockArrays& arrays, const Route& route, int rank,
                                           std::uint64_t blocks) {
  const FieldWords& ids = arrays.fields.front();
  Findings findings;
  for (const FieldWords& field : arrays.fields)
    findings.torn +=
        sum_of("valet_bench::torn", blocks * field.words, CountTorn{ids, field, blocks});
  findings.surplus = sum_of("valet_bench::surplus", blocks, Surplus{ids, route, rank, blocks});
  return findings;
}

/// Queue the copies of blocks on `space`. Packed blocks stand one behind the other.
inline void gather(const Space& space, const BlockArrays& from, const SlotList& slots,
                   std::uint64_t first_of_list, std::uint64_t blocks, std::uint64_t* packed) {
  for (const FieldWords& field : from.fields)
    copy_rows(space, {field, packed_field(field, words_of(from), packed),
                      slots.data() + first_of_list, blocks});
}

inline void scatter(const Space& space, std::uint64_t* packed, std::uint64_t blocks,
                    const BlockArrays& to, std::uint64_t first_slot) {
  for (FieldWords field : to.fields) {
    field.data += first_slot * field.slot_stride;
    copy_rows(space, {packed_field(field, words_of(to), packed), field, nullptr, blocks});
  }
}

/// Blocks in the slots of a list to the first slots of other arrays.
inline void keep(const Space& space, const BlockArrays& from, const SlotList& slots,
                 const BlockArrays& to) {
  for (std::size_t f = 0; f < from.fields.size(); ++f)
    copy_rows(space, {from.fields[f], to.fields[f], slots.data(), slots.extent(0)});
}

}  // namespace valet::bench
