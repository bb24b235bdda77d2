// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <valet/export.hpp>

#include <cstddef>
#include <memory>

namespace valet::storage {

/// Of most machines: memory that begins at a multiple may have such pages.
constexpr std::size_t huge_page_bytes = std::size_t{2} << 20;

/// Memory for blocks in transit, from the beginning of a page on; not initialised. Where it is
/// large it asks for huge pages: inside a node the kernel pins the pages of the sender one by one,
/// which takes as long as copying them, but whole huge pages at once. No more than `bytes` are
/// asked of the system. @throws std::bad_alloc.
[[nodiscard]] VALET_EXPORT std::shared_ptr<std::byte> allocate_with_huge_pages(std::size_t bytes);

}  // namespace valet::storage
