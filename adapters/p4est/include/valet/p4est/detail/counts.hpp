// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// A transfer between two partitions of a forest, on one rank. Pure, except for run_fixed() and
/// run_items().

#include <valet/alltoall.hpp>
#include <valet/detail/known_counts.hpp>
#include <valet/error.hpp>
#include <valet/mpi.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>

namespace valet::p4est::detail {

/// Quadrants in the global order: begin to end - 1.
struct Range {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  [[nodiscard]] std::uint64_t size() const { return end - begin; }
};

/// The quadrants of a rank, from valid offsets.
inline Range range_of(const std::int64_t* gfq, std::size_t rank) {
  return {static_cast<std::uint64_t>(gfq[rank]), static_cast<std::uint64_t>(gfq[rank + 1])};
}

/// The overlap of two ranges; begin is `end` if it is empty.
inline Range overlap(Range a, Range b) {
  const std::uint64_t end = std::min(a.end, b.end);
  return {std::min(std::max(a.begin, b.begin), end), end};
}

/// Name, in errors, of the data that must be the same on all ranks.
inline constexpr const char* basis = "dest_gfq or src_gfq";

/// The partitions before and after, as p4est's global_first_quadrant: P + 1 entries each.
struct Partitions {
  const std::int64_t* dest_gfq = nullptr;
  const std::int64_t* src_gfq = nullptr;
};

/// The error in the offsets of one partition, if any.
inline std::optional<Diagnostic> check_offsets(const std::string& name, const std::int64_t* gfq,
                                               std::size_t ranks) {
  const auto wrong = [](std::string text) {
    return Diagnostic{ErrorCode::invalid_argument, std::move(text)};
  };
  if (gfq == nullptr)
    return wrong(name + " is a null pointer; give the global_first_quadrant of the forest");
  if (gfq[0] != 0)
    return wrong(name + "[0] is " + std::to_string(gfq[0]) +
                 "; offsets begin with 0: give the global_first_quadrant of the forest");
  for (std::size_t r = 0; r < ranks; ++r)
    if (gfq[r + 1] < gfq[r])
      return wrong(name + "[" + std::to_string(r + 1) + "] is " + std::to_string(gfq[r + 1]) +
                   ", less than the " + std::to_string(gfq[r]) +
                   " before it; offsets do not descend: give the global_first_quadrant of the "
                   "forest, one entry more than there are ranks");
  return std::nullopt;
}

inline std::optional<Diagnostic> check(const Partitions& partitions, std::size_t ranks) {
  if (auto wrong = check_offsets("dest_gfq", partitions.dest_gfq, ranks)) return wrong;
  if (auto wrong = check_offsets("src_gfq", partitions.src_gfq, ranks)) return wrong;
  if (partitions.dest_gfq[ranks] == partitions.src_gfq[ranks]) return std::nullopt;
  return Diagnostic{ErrorCode::invalid_argument,
                    "dest_gfq has " + std::to_string(partitions.dest_gfq[ranks]) +
                        " quadrants, but src_gfq has " + std::to_string(partitions.src_gfq[ranks]) +
                        "; move the data after p4est_partition and before the forest is refined "
                        "or coarsened"};
}

/// A hash of these offsets.
inline std::uint64_t fingerprint_of(const Partitions& partitions, std::size_t ranks) {
  std::uint64_t result = 0;
  for (const std::int64_t* const gfq : {partitions.dest_gfq, partitions.src_gfq})
    for (std::size_t r = 0; r <= ranks; ++r) {
      result = (result ^ static_cast<std::uint64_t>(gfq[r])) * 0x9E3779B97F4A7C15U;
      result ^= result >> 32U;
    }
  return result;
}

/// a + b, or the largest number if that overflows.
inline std::uint64_t bounded_sum(std::uint64_t a, std::uint64_t b) {
  const std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  return b > most - a ? most : a + b;
}

/// "its 12 quadrants after the partition"
inline std::string text_of(Range own, const char* when) {
  return "its " + std::to_string(own.size()) + " quadrants " + when + " the partition";
}

/// The error if so many elements do not fit.
inline std::optional<Diagnostic> check_room(Range own, const char* when, std::uint64_t elements,
                                            std::size_t element_bytes, std::size_t capacity_bytes) {
  if (element_bytes == 0 || elements <= capacity_bytes / element_bytes) return std::nullopt;
  const std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  const std::string bytes =
      std::to_string(elements > most / element_bytes ? most : elements * element_bytes);
  return Diagnostic{ErrorCode::infeasible, "the data of " + text_of(own, when) + " take " + bytes +
                                               " bytes, but capacity_bytes is " +
                                               std::to_string(capacity_bytes) + "; give at least " +
                                               bytes};
}

/// A transfer on this rank, to be counted.
struct Transfer {
  Partitions partitions;
  std::size_t capacity_bytes = 0;
  bool any_order = false;

  /// The error of the call, found before anything is counted; otherwise sets the fingerprint.
  [[nodiscard]] std::optional<Diagnostic> begin(const valet::detail::CountsOfRank& counts) const {
    const std::size_t ranks = counts.sent.size();
    if (any_order)
      return Diagnostic{ErrorCode::invalid_argument,
                        "option any_order is set, but data must be in the order of "
                        "their quadrants; leave it off"};
    if (auto wrong = check(partitions, ranks)) return wrong;
    counts.fingerprint = fingerprint_of(partitions, ranks);
    return std::nullopt;
  }
};

/// Counts quadrants of one size.
inline std::optional<Diagnostic> count_fixed(const Transfer& transfer, std::size_t bytes_each,
                                             const valet::detail::CountsOfRank& counts) {
  if (auto wrong = transfer.begin(counts)) return wrong;
  const auto self = static_cast<std::size_t>(counts.rank);
  const auto& [dest_gfq, src_gfq] = transfer.partitions;
  const Range before = range_of(src_gfq, self), after = range_of(dest_gfq, self);
  for (const auto& [own, when] : {std::pair{before, "before"}, std::pair{after, "after"}})
    if (auto wrong = check_room(own, when, own.size(), bytes_each, transfer.capacity_bytes))
      return wrong;
  for (std::size_t r = 0; r < counts.sent.size(); ++r) {
    counts.sent[r] = bytes_each == 0 ? 0 : overlap(before, range_of(dest_gfq, r)).size();
    counts.received[r] = bytes_each == 0 ? 0 : overlap(after, range_of(src_gfq, r)).size();
  }
  return std::nullopt;
}

/// What quadrants have different numbers of.
struct Item {
  std::size_t bytes = 1;
  const char* name = "bytes";
  const char* numbers = "sizes";   ///< name of the arrays behind "src_" and "dest_"
  const char* global = "offsets";  ///< what must be the same on all ranks
};
inline Item items_of(std::size_t bytes) {
  return {bytes, "items", "counts", "offsets and item_bytes"};
}

/// The numbers of items of a rank's quadrants in one of the partitions.
template <std::integral Size>
struct Sizes {
  Item item;
  std::string name;
  const char* when;
  const Size* sizes;
  Range own;

  /// Items of a part of the rank's quadrants.
  [[nodiscard]] std::uint64_t of(Range part) const {
    std::uint64_t sum = 0;
    for (std::uint64_t q = part.begin - own.begin; q < part.end - own.begin; ++q) {
      const auto size = static_cast<std::uint64_t>(sizes[q]);
      // Memory cannot hold enough of the narrow types to overflow the sum, and the plain loop is
      // fast.
      sum = sizeof(Size) < sizeof(sum) ? sum + size : bounded_sum(sum, size);
    }
    return sum;
  }

  [[nodiscard]] std::optional<Diagnostic> check() const {
    if (sizes == nullptr && own.size() > 0)
      return Diagnostic{ErrorCode::inaccessible_memory,
                        name + " is a null pointer for " + text_of(own, when)};
    Size least = 0;
    for (std::uint64_t q = 0; q < own.size(); ++q) least = std::min(least, sizes[q]);
    if (!std::cmp_less(least, 0)) return std::nullopt;
    const auto q = std::find_if(sizes, sizes + own.size(), [](Size size) { return size < 0; });
    return Diagnostic{ErrorCode::invalid_argument, name + "[" + std::to_string(q - sizes) +
                                                       "] is " + std::to_string(*q) + "; " +
                                                       item.numbers + " are zero or more"};
  }

  /// Counts the items that go to, or come from, each rank's part of the other partition.
  [[nodiscard]] std::optional<Diagnostic> count(const std::int64_t* other_gfq,
                                                std::size_t capacity_bytes,
                                                std::span<std::uint64_t> counts) const {
    if (auto wrong = check()) return wrong;
    std::uint64_t items = 0;
    for (std::size_t r = 0; r < counts.size(); ++r) {
      counts[r] = item.bytes == 0 ? 0 : of(overlap(own, range_of(other_gfq, r)));
      items = bounded_sum(items, counts[r]);
    }
    return check_room(own, when, items, item.bytes, capacity_bytes);
  }
};

/// Counts items.
template <std::integral Size>
std::optional<Diagnostic> count_items(const Transfer& transfer, const Item& item,
                                      const Size* src_sizes, const Size* dest_sizes,
                                      const valet::detail::CountsOfRank& counts) {
  if (auto wrong = transfer.begin(counts)) return wrong;
  const auto& [dest_gfq, src_gfq] = transfer.partitions;
  const auto self = static_cast<std::size_t>(counts.rank);
  const std::string numbers = item.numbers;
  const Sizes<Size> before{item, "src_" + numbers, "before", src_sizes, range_of(src_gfq, self)};
  const Sizes<Size> after{item, "dest_" + numbers, "after", dest_sizes, range_of(dest_gfq, self)};
  if (auto wrong = before.count(dest_gfq, transfer.capacity_bytes, counts.sent)) return wrong;
  return after.count(src_gfq, transfer.capacity_bytes, counts.received);
}

/// The error if the items that `source` sends do not match dest_sizes.
template <std::integral Size>
Diagnostic sizes_differ(const Partitions& partitions, const Sizes<Size>& after, int source,
                        std::uint64_t sent) {
  const Range shared =
      overlap(after.own, range_of(partitions.src_gfq, static_cast<std::size_t>(source)));
  const std::uint64_t first = shared.begin - after.own.begin;
  const std::string numbers = after.item.numbers;
  const std::string which = shared.size() == 0
                                ? after.name + " of the quadrants from there, which are none,"
                                : after.name + "[" + std::to_string(first) + "] to [" +
                                      std::to_string(first + shared.size() - 1) + "]";
  return {ErrorCode::invalid_argument,
          "rank " + std::to_string(source) + " has " + std::to_string(sent) + " " +
              after.item.name + " for it by src_" + numbers + ", but " + which + " add up to " +
              std::to_string(after.of(shared)) + "; move the " + numbers +
              " with transfer_fixed first, and give the same " + after.item.global +
              " on all ranks"};
}

/// alltoallv_of_known() or start_alltoallv_of_known().
template <class Result>
using Run = Result (*)(MPI_Comm, const AlltoallBuffer&, const valet::detail::KnownCounts&,
                       const AlltoallOptions&);

/// Runs a transfer of quadrants of one size. Collective.
template <class Result>
Result run_fixed(Run<Result> run, const Partitions& partitions, MPI_Comm communicator,
                 AlltoallBuffer buffer, const AlltoallOptions& options) {
  const Transfer transfer{partitions, buffer.bytes, options.any_order};
  const std::size_t bytes_each = buffer.element_bytes;
  buffer.element_bytes = std::max<std::size_t>(1, bytes_each);
  return run(communicator, buffer,
             {.count =
                  [&](const valet::detail::CountsOfRank& counts) {
                    return count_fixed(transfer, bytes_each, counts);
                  },
              .basis = basis,
              .element_name = "bytes_each",
              .element_bytes = bytes_each},
             options);
}

/// The same for quadrants with different numbers of items. Collective.
template <class Result, std::integral Size>
Result run_items(Run<Result> run, const Partitions& partitions, MPI_Comm communicator,
                 AlltoallBuffer buffer, const Item& item, const Size* src_sizes,
                 const Size* dest_sizes, const AlltoallOptions& options) {
  const Transfer transfer{partitions, buffer.bytes, options.any_order};
  buffer.element_bytes = std::max<std::size_t>(1, item.bytes);
  int self = 0;  // set by count()
  return run(communicator, buffer,
             {.count =
                  [&](const valet::detail::CountsOfRank& counts) {
                    self = counts.rank;
                    return count_items(transfer, item, src_sizes, dest_sizes, counts);
                  },
              .mismatch =
                  [&](int source, std::uint64_t sent) {
                    const auto own = range_of(partitions.dest_gfq, static_cast<std::size_t>(self));
                    return sizes_differ<Size>(
                        partitions,
                        {item, std::string("dest_") + item.numbers, "after", dest_sizes, own},
                        source, sent);
                  },
              .basis = basis,
              .element_name = "item_bytes",
              .element_bytes = item.bytes},
             options);
}

}  // namespace valet::p4est::detail
