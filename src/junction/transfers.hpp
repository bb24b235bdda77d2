// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// What goes over a junction.

#include "junction/link.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

namespace valet::junction {

/// Makes storage for a number of blocks.
using StorageFor = std::function<BlockStorage(std::uint64_t blocks)>;

// As the functions of Junction that have these arguments.
[[nodiscard]] std::shared_ptr<Transfer> put_array(Description mine, const SourceArray& array);
[[nodiscard]] std::shared_ptr<Transfer> get_array(Description mine, const TargetArray& array);
[[nodiscard]] std::shared_ptr<Transfer> put_blocks(const BlockStorage& storage, std::uint64_t count,
                                                   std::span<const int> ranks);
[[nodiscard]] std::shared_ptr<Transfer> get_blocks(StorageFor storage_for);
[[nodiscard]] std::shared_ptr<Transfer> put_numbered(const BlockStorage& storage,
                                                     std::uint64_t count,
                                                     const ObjectLayout& layout);
[[nodiscard]] std::shared_ptr<Transfer> get_numbered(const BlockStorage& storage,
                                                     const ObjectLayout& layout);
[[nodiscard]] std::shared_ptr<Transfer> put_ragged(const RaggedStorage& storage,
                                                   std::uint64_t count, std::span<const int> ranks);
[[nodiscard]] std::shared_ptr<Transfer> get_ragged(const RaggedStorage& storage);

}  // namespace valet::junction
