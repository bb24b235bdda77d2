// SPDX-License-Identifier: BSD-3-Clause
#include "junction/file/file_transfers.hpp"

#include "base/diagnose.hpp"
#include "base/memory_reserve.hpp"
#include "geometry/shared_objects.hpp"
#include "mpi/agreement.hpp"

#include <algorithm>

namespace valet::junction {

std::optional<Diagnostic> choose_share(const FileEnd& end, std::uint64_t rows,
                                       const std::optional<BlockRange>& range, BlockRange& share) {
  if (range) {
    share = *range;
    if (share.count > rows || share.first > rows - share.count)
      return invalid("it gets blocks ", share.first, " to ", share.first, " + ", share.count,
                     ", but the file has ", rows);
    return std::nullopt;
  }
  const auto bound = [&](int rank) {
    return static_cast<std::uint64_t>(
        layout::balanced_bound(static_cast<std::int64_t>(rows), rank, end.ranks()));
  };
  const int rank = end.channel().rank();
  share = {bound(rank), bound(rank + 1) - bound(rank)};
  return std::nullopt;
}

std::optional<Diagnostic> staging_bytes(const FileEnd& end, std::uint64_t row_bytes,
                                        std::uint64_t& bytes, std::uint64_t part) {
  // What is packed is still in the cache when it is written.
  constexpr std::uint64_t most = std::uint64_t{256} << 10;
  bytes = std::max(std::min<std::uint64_t>(end.options.budget_bytes / part, most), row_bytes);
  if (row_bytes <= end.options.budget_bytes) return std::nullopt;
  return diagnose(ErrorCode::budget_too_small, "the budget of ", end.options.budget_bytes,
                  " bytes does not hold a block on its way to or from the file; set budget_bytes "
                  "to at least ",
                  row_bytes);
}

Array<std::uint64_t> gather_parts(const FileEnd& end, Ledger& ledger, std::uint64_t bytes) {
  Array<std::uint64_t> parts;
  mpi::agree(
      end.channel(),
      detail::unless_out_of_memory(
          [&] { parts = Array<std::uint64_t>(ledger, static_cast<std::size_t>(end.ranks())); },
          "no memory for the sizes of all parts; nothing has moved"));
  mpi::gather_everywhere(end.channel(), std::as_bytes(std::span(&bytes, 1)),
                         std::as_writable_bytes(std::span(parts.data(), parts.size())));
  return parts;
}

}  // namespace valet::junction
