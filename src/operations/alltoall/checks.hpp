// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// The arguments of an all-to-all, and what is wrong with them. Pure.

#include "base/diagnose.hpp"
#include "base/sizes.hpp"
#include <valet/alltoall.hpp>
#include <valet/error.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <string>

namespace valet::operations {

/// The sum of counts.
[[nodiscard]] inline std::uint64_t sum(std::span<const std::uint64_t> counts) {
  return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

/// The same but for one rank.
[[nodiscard]] inline std::uint64_t sum_of_others(std::span<const std::uint64_t> counts,
                                                 std::size_t self) {
  return sum(counts) - counts[self];
}
/// Ranks that there are elements of.
[[nodiscard]] inline std::size_t count_used(std::span<const std::uint64_t> counts) {
  return counts.size() - static_cast<std::size_t>(std::ranges::count(counts, std::uint64_t{0}));
}
/// The same but for one rank.
[[nodiscard]] inline std::size_t count_others(std::span<const std::uint64_t> counts,
                                              std::size_t self) {
  return count_used(counts) - (counts[self] > 0 ? 1 : 0);
}

/// What this rank alone can find wrong with counts of its call among so many ranks.
[[nodiscard]] inline std::optional<Diagnostic> check_counts(const std::string& name,
                                                            std::span<const std::int64_t> counts,
                                                            std::size_t ranks,
                                                            const AlltoallBuffer& buffer) {
  if (counts.size() != ranks)
    return invalid(name, " has ", counts.size(), " entries for a communicator of ", ranks,
                   " ranks; it needs one for each");
  const std::uint64_t most = detail::most_bytes / buffer.element_bytes;
  std::uint64_t total = 0;
  for (std::size_t r = 0; r < ranks; ++r) {
    const std::int64_t count = counts[r];
    if (count < 0) return invalid(name, "[", r, "] is ", count, "; a count is zero or more");
    if (static_cast<std::uint64_t>(count) > most - total)
      return invalid(name, " adds up to more than ", detail::most_bytes_text, "; fix entry ", r);
    total += static_cast<std::uint64_t>(count);
  }
  if (total <= buffer.bytes / buffer.element_bytes) return std::nullopt;
  return diagnose(ErrorCode::infeasible, name, " adds up to ", total, " elements of ",
                  buffer.element_bytes, " bytes, but the buffer has ", buffer.bytes,
                  " bytes; it needs ", total * buffer.element_bytes);
}

/// What this rank alone can find wrong with its buffer.
[[nodiscard]] inline std::optional<Diagnostic> check_buffer(const AlltoallBuffer& buffer) {
  if (buffer.element_bytes == 0) return invalid("elements of zero bytes; give their size");
  if (buffer.element_bytes > detail::most_bytes)
    return invalid("elements of ", buffer.element_bytes, " bytes, more than ",
                   detail::most_bytes_text, "; give their size");
  if (buffer.bytes > detail::most_bytes)
    return invalid("a buffer of ", buffer.bytes, " bytes, more than ", detail::most_bytes_text,
                   "; give its size in bytes");
  if (buffer.data == nullptr && buffer.bytes > 0)
    return diagnose(ErrorCode::inaccessible_memory, "the buffer is a null pointer for ",
                    buffer.bytes, " bytes; allocate it first");
  return std::nullopt;
}

/// What it finds once it knows what the others send.
/// @param recv_counts  As the caller gave them, or none.
[[nodiscard]] inline std::optional<Diagnostic> check_received(
    std::span<const std::uint64_t> received, std::span<const std::int64_t> recv_counts,
    const AlltoallBuffer& buffer, int rank) {
  if (!recv_counts.empty()) {
    if (auto diagnostic = check_counts("recv_counts", recv_counts, received.size(), buffer))
      return diagnostic;
    for (std::size_t r = 0; r < received.size(); ++r)
      if (static_cast<std::uint64_t>(recv_counts[r]) != received[r])
        return invalid("recv_counts[", r, "] is ", recv_counts[r], ", but rank ", r,
                       " has send_counts[", rank, "] = ", received[r], "; give the same number");
    return std::nullopt;
  }
  std::uint64_t total = 0;
  for (const std::uint64_t count : received) total = detail::bounded_sum(total, count);
  if (total <= buffer.bytes / buffer.element_bytes) return std::nullopt;
  // The total may be cut off; the number of elements that would do is given as far as it is known.
  return diagnose(ErrorCode::infeasible, "it gets ", total,
                  " elements, but its buffer has room for ", buffer.bytes / buffer.element_bytes,
                  "; enlarge it to that many");
}

}  // namespace valet::operations
