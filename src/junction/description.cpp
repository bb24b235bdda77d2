// SPDX-License-Identifier: BSD-3-Clause
#include "junction/description.hpp"

#include "base/diagnose.hpp"
#include "geometry/numbered_array.hpp"
#include "junction/words.hpp"

#include <xxhash.h>

#include <stdexcept>
#include <vector>

namespace valet::junction {
namespace {

void write(Vector<std::int64_t>& words, const BlockCyclic& layout) {
  words.push_back(static_cast<std::int64_t>(layout.dimensions()));
  words.push_back(static_cast<std::int64_t>(layout.rank_order()));
  for (std::size_t d = 0; d < layout.dimensions(); ++d) {
    const layout::Dimension& dimension = layout.dimension(d);
    const auto* const cuts = dimension.cuts().get();
    words.push_back(cuts == nullptr ? 0 : static_cast<std::int64_t>(cuts->size()));
    if (cuts != nullptr) words.insert(words.end(), cuts->begin(), cuts->end());
    words.push_back(dimension.extent());
    words.push_back(dimension.block_size());
    words.push_back(dimension.ranks());
    words.push_back(dimension.first_rank());
  }
}

BlockCyclic read_layout(WordReader& reader) {
  const std::size_t count = reader.next_count();
  if (count == 0 || count > layout::most_dimensions) throw std::out_of_range("no dimensions");
  const auto rank_order = static_cast<IndexOrder>(reader.next());
  auto extents = BlockCyclic::Extents::filled(count, 0), blocks = extents;
  auto grid = BlockCyclic::Coordinates::filled(count, 0), first_ranks = grid;
  auto cuts = layout::PerDimension<std::vector<std::int64_t>>::filled(count, {});
  for (std::size_t d = 0; d < count; ++d) {
    cuts[d].resize(reader.next_count());
    for (std::int64_t& cut : cuts[d]) cut = reader.next();
    extents[d] = reader.next();
    blocks[d] = reader.next();
    grid[d] = reader.next_int();
    first_ranks[d] = reader.next_int();
  }
  if (!cuts[0].empty()) return BlockCyclic::cut_at(cuts, rank_order);
  return {extents, blocks, grid, rank_order, first_ranks};
}

}  // namespace

const char* Description::kind() const {
  switch (content) {
    case Content::array: return "an array";
    case Content::blocks: return "blocks by ranks";
    case Content::numbered_blocks: return "numbered blocks";
    case Content::ragged_blocks:
      return objects ? "numbered blocks of different sizes" : "blocks of different sizes";
    case Content::nothing: break;
  }
  return "";
}

std::string Description::name() const {
  return label.empty() ? joined(kind(), " without a label") : joined("'", label, "'");
}

Vector<std::int64_t> Description::words(Ledger& ledger) const {
  Vector<std::int64_t> words(ledger);
  words.push_back(static_cast<std::int64_t>(direction));
  words.push_back(static_cast<std::int64_t>(content));
  words.push_back(static_cast<std::int64_t>(element_bytes));
  write_text(words, label);
  words.push_back(grid ? 1 : 0);
  if (grid) {
    write(words, grid->layout);
    words.push_back(static_cast<std::int64_t>(grid->ranks.size()));
    for (const int rank : grid->ranks) words.push_back(rank);
  }
  words.push_back(objects ? 1 : 0);
  if (objects) {
    words.push_back(static_cast<std::int64_t>(objects->block_size));
    words.push_back(objects->ranks);
    words.push_back(objects->tiling ? 1 : 0);
    if (objects->tiling) write(words, *objects->tiling);
  }
  return words;
}

Description Description::from_words(std::span<const std::int64_t> words) {
  WordReader reader(words);
  Description description;
  description.direction = static_cast<Direction>(reader.next());
  description.content = static_cast<Content>(reader.next());
  description.element_bytes = reader.next_size();
  description.label = reader.next_text();
  if (reader.next() != 0) {
    description.grid = GridLayout{read_layout(reader)};
    description.grid->ranks.resize(reader.next_count());
    for (int& rank : description.grid->ranks) rank = reader.next_int();
  }
  if (reader.next() != 0) {
    ObjectLayout& objects = description.objects.emplace();
    objects.block_size = reader.next_size();
    objects.ranks = reader.next_int();
    if (reader.next() != 0) objects.tiling = read_layout(reader);
  }
  return description;
}

std::uint64_t digest_of(std::span<const std::int64_t> words) {
  return XXH3_64bits(words.data(), words.size_bytes()) >> 2U;
}

std::optional<Diagnostic> contradiction(const Description& one, const Description& other) {
  const bool one_ends = one.content == Content::nothing;
  if (one_ends != (other.content == Content::nothing))
    return invalid("one side of the junction closes it, the other ",
                   (one_ends ? other : one).direction == Direction::put ? "puts" : "gets",
                   " once more; close it after as many transfers on both sides");
  if (one_ends) return std::nullopt;
  if (one.direction == other.direction)
    return invalid("both sides of the junction ", one.direction == Direction::put ? "put" : "get",
                   "; what one puts the other gets, in the same order");
  const bool one_puts = one.direction == Direction::put;
  const Description& put = one_puts ? one : other;
  const Description& got = one_puts ? other : one;
  if (put.content != got.content || put.objects.has_value() != got.objects.has_value())
    return invalid("one side of the junction puts ", put.kind(), ", the other gets ", got.kind(),
                   "; get what is put");
  if (put.label != got.label)
    return invalid("one side of the junction puts ", put.name(), ", the other gets ", got.name(),
                   "; get arrays in the order in which they are put");
  if (put.content != Content::array) return std::nullopt;
  if (put.element_bytes != got.element_bytes)
    return diagnose(ErrorCode::block_size_mismatch, "the elements of ", put.name(), " have ",
                    put.element_bytes, " bytes where they are put and ", got.element_bytes,
                    " bytes where they are got; give both the same type");
  const BlockCyclic::Extents given = put.grid->layout.extents(),
                             wanted = got.grid->layout.extents();
  if (!(given == wanted))
    return invalid(put.name(), " has ", layout::shape_text(given), " elements where it is put and ",
                   layout::shape_text(wanted),
                   " where it is got; give both the extents of the whole array");
  return std::nullopt;
}

}  // namespace valet::junction
