// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// What goes over a junction.

#include "junction/transport.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace valet::junction {

/// Makes storage for a number of blocks.
using StorageFor = std::function<BlockStorage(std::uint64_t blocks)>;

/// What blocks are put or got by; the rest of their description is made of it.
struct BlockChoice {
  std::optional<std::span<const int>> ranks = {};  ///< of another group
  std::optional<ObjectLayout> layout = {};
  std::optional<BlockRange> range = {};  ///< of a file
  std::string label = {};
};

// As the functions of Junction that have these arguments.
[[nodiscard]] std::shared_ptr<Transfer> put_array(Description mine, const SourceArray& array);
[[nodiscard]] std::shared_ptr<Transfer> get_array(Description mine, const TargetArray& array);
[[nodiscard]] std::shared_ptr<Transfer> put_blocks(const BlockStorage& storage, std::uint64_t count,
                                                   const BlockChoice& choice);
[[nodiscard]] std::shared_ptr<Transfer> get_blocks(StorageFor storage_for,
                                                   const BlockChoice& choice);
[[nodiscard]] std::shared_ptr<Transfer> get_blocks(const BlockStorage& storage,
                                                   const BlockChoice& choice);
[[nodiscard]] std::shared_ptr<Transfer> put_ragged(const RaggedStorage& storage,
                                                   std::uint64_t count, const BlockChoice& choice);
[[nodiscard]] std::shared_ptr<Transfer> get_ragged(const RaggedStorage& storage,
                                                   const BlockChoice& choice);

}  // namespace valet::junction
