// SPDX-License-Identifier: BSD-3-Clause
#include "ragged_blocks.hpp"

#include "base/names.hpp"
#include "content.hpp"
#include "measure.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <random>

namespace valet::bench {
namespace {

enum class Lengths { uniform_4k, large, lognormal, one_giant };

using detail::Named;
constexpr std::array known_lengths{
    Named{Lengths::uniform_4k, "uniform-4k"}, Named{Lengths::large, "large"},
    Named{Lengths::lognormal, "lognormal"}, Named{Lengths::one_giant, "one-giant"}};

/// The next length of a kind. The giant is the first block, so that dwarfs fill the rest.
std::uint64_t next_length(Lengths kind, std::mt19937_64& random, std::uint64_t giant_bytes) {
  const auto uniform = [&](std::uint64_t least, std::uint64_t most) {
    return std::uniform_int_distribution<std::uint64_t>(least, most)(random);
  };
  switch (kind) {
    case Lengths::uniform_4k: return uniform(0, 4096);
    case Lengths::large: return uniform(64 << 10, 1 << 20);
    case Lengths::lognormal:
      return static_cast<std::uint64_t>(
          std::lognormal_distribution<double>(std::log(200.0), 1.0)(random));
    case Lengths::one_giant: return giant_bytes > 0 ? giant_bytes : uniform(0, 4096);
  }
  return 0;
}

Content content_of(int from, std::uint64_t block) {
  return Content(mixed((static_cast<std::uint64_t>(from) << 40) + block));
}

}  // namespace

std::vector<std::string> all_lengths() {
  std::vector<std::string> names(known_lengths.size());
  std::ranges::transform(known_lengths, names.begin(),
                         [](const auto& known) { return known.name; });
  return names;
}

RaggedBlocks::RaggedBlocks(const std::string& lengths, std::uint64_t arena_bytes,
                           std::uint64_t alignment)
    : arena_bytes_(arena_bytes), alignment_(alignment) {
  const auto kind = detail::value_of(known_lengths, "lengths", lengths);
  std::mt19937_64 random(20261123);
  const auto others = static_cast<std::uint64_t>(world_size() - 1);
  std::uint64_t giant_bytes = kind == Lengths::one_giant ? arena_bytes / 2 : 0;
  for (std::uint64_t left = arena_bytes; left > 0;) {
    lengths_.push_back(std::min(left, next_length(kind, random, giant_bytes)));
    left -= padded(lengths_.back());
    const bool leaves = giant_bytes > 0 || random() % 2 == 0;
    distances_.push_back(leaves && others > 0 ? 1 + static_cast<int>(random() % others) : 0);
    giant_bytes = 0;
  }
  // A giant in the middle has neighbours on both sides.
  if (kind == Lengths::one_giant) {
    std::swap(lengths_.front(), lengths_[lengths_.size() / 2]);
    std::swap(distances_.front(), distances_[lengths_.size() / 2]);
  }
  for (std::uint64_t block = 0; block < lengths_.size(); ++block)
    ranks_.push_back(destination(world_rank(), block));
}

int RaggedBlocks::destination(int from, std::uint64_t block) const {
  return (from + distances_[block]) % world_size();
}

void RaggedBlocks::fill(std::byte* arena) const {
  for (std::uint64_t block = 0; block < lengths_.size(); ++block) {
    content_of(world_rank(), block).write(arena, lengths_[block]);
    arena += padded(lengths_[block]);
  }
}

bool RaggedBlocks::arrived(const std::byte* arena, const std::uint64_t* lengths,
                           std::uint64_t count, Sources sources) const {
  std::vector<int> order;
  if (sources == Sources::own_first) order.push_back(world_rank());
  for (int rank = 0; rank < world_size(); ++rank)
    if (sources == Sources::by_rank || rank != world_rank()) order.push_back(rank);
  std::uint64_t found = 0;
  for (const int from : order)
    for (std::uint64_t block = 0; block < lengths_.size(); ++block) {
      if (destination(from, block) != world_rank()) continue;
      if (found == count || lengths[found] != lengths_[block] ||
          !content_of(from, block).matches(arena, lengths_[block]))
        return false;
      arena += padded(lengths_[block]);
      ++found;
    }
  return found == count;
}

}  // namespace valet::bench
