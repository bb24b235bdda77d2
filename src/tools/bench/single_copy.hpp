// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>

namespace valet::bench {

/// How often this process has read or written the memory of another one with CMA, cross-memory
/// attach [local]. KNEM and XPMEM, which MPI can use instead where their kernel modules are loaded,
/// are not counted; nor is libfabric, which does not call the C library for it.
/// Nothing if it cannot be known, because MPI does not find the functions that count.
std::optional<std::uint64_t> single_copy_calls();

}  // namespace valet::bench
