// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <valet/valet.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <unordered_map>
#include <utility>

namespace valet::test {

/// Slots of a rank at most.
constexpr std::uint64_t most_slots = (std::uint64_t{1} << 32) - 1;

/// Blocks of 8 bytes in as many slots as it says; it stores those that are not zero.
struct SparseBlocks {
  std::unordered_map<std::uint64_t, std::uint64_t> values;

  BlockStorage storage(std::uint64_t slots) {
    CustomFunctions functions;
    functions.pack = [this](SlotSpan from, std::byte* packed) {
      for (std::size_t k = 0; k < from.size(); ++k)
        std::memcpy(packed + 8 * k, &values[from[k]], sizeof(std::uint64_t));
    };
    functions.unpack = [this](const std::byte* packed, SlotSpan to) {
      for (std::size_t k = 0; k < to.size(); ++k)
        std::memcpy(&values[to[k]], packed + 8 * k, sizeof(std::uint64_t));
    };
    return custom_storage(slots, 8, std::move(functions));
  }
};

}  // namespace valet::test
