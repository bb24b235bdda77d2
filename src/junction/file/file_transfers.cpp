// SPDX-License-Identifier: BSD-3-Clause
#include "junction/file/file_transfers.hpp"

#include "base/diagnose.hpp"
#include "base/memory_reserve.hpp"
#include "junction/numbered_blocks.hpp"
#include "mpi/agreement.hpp"
#include "plan/object_planner.hpp"

#include <algorithm>
#include <array>

namespace valet::junction {

std::optional<Diagnostic> choose_share(const FileEnd& end, const Description& what,
                                       const file::Record& record,
                                       const std::optional<BlockRange>& range, Share& share) {
  const int rank = end.channel().rank();
  const std::uint64_t rows = record.rows();
  if (what.objects) {
    const std::optional<ObjectLayout>& put = record.description.objects;
    if (put && plan::check_layout(*put, "", rows, end.other_ranks()))
      return diagnose(ErrorCode::corrupted, FileEnd::name_of(record.description),
                      " was put in a layout that cannot be; use an older file");
    if (auto wrong = plan::check_layout(*what.objects, "the layout that is got", rows, end.ranks()))
      return wrong;
    share.to.emplace(plan::side_of(*what.objects, rows, end.ranks()));
    for (int r = 0; r < rank; ++r) share.first += static_cast<std::uint64_t>(share.to->count(r));
    share.count = static_cast<std::uint64_t>(share.to->count(rank));
    return std::nullopt;
  }
  if (!range) {
    const auto bound = [&](int r) {
      return static_cast<std::uint64_t>(
          layout::balanced_bound(static_cast<std::int64_t>(rows), r, end.ranks()));
    };
    share.first = bound(rank);
    share.count = bound(rank + 1) - bound(rank);
    return std::nullopt;
  }
  share.first = range->first;
  share.count = range->count;
  if (share.count > rows || share.first > rows - share.count)
    return invalid("it gets blocks ", share.first, " to ", share.first, " + ", share.count,
                   ", but the file has ", rows);
  return std::nullopt;
}

void find_destinations(Array<Address>& addresses, const FileEnd& end, const file::Record& record,
                       const Share& share) {
  layout::ArrayRow row;
  const auto begin = static_cast<std::int64_t>(share.first),
             behind = begin + static_cast<std::int64_t>(share.count);
  const auto take = [&](int rank, const layout::ObjectRun& run) {
    place(addresses, *share.to, 0, rank, run);
  };
  if (!record.description.objects) {  // numbered as they lie there
    if (share.count > 0) share.to->cut(row, {begin, 0, behind - begin}, take);
    return;
  }
  const auto from = plan::side_of(*record.description.objects, record.rows(), end.other_ranks());
  std::int64_t before = 0;  // blocks of the producers in front
  for (int m = 0; m < from.ranks() && before < behind; ++m) {
    const std::int64_t count = from.count(m);
    if (before + count > begin)
      from.for_each_run(m, [&](const layout::ObjectRun& run) {
        const std::int64_t at = before + run.slot, first = std::max(at, begin),
                           stop = std::min(at + run.length, behind);
        if (first < stop)
          share.to->cut(row, {run.number + (first - at), first - begin, stop - first}, take);
      });
    before += count;
  }
}

std::optional<Diagnostic> check_numbers(const FileEnd& end, const Description& what,
                                        std::uint64_t count) {
  if (!what.objects) return std::nullopt;
  std::array<std::uint64_t, 1> objects{count};
  mpi::sum(end.channel(), objects);
  if (auto wrong =
          plan::check_layout(*what.objects, "the layout that is put", objects[0], end.ranks()))
    return wrong;
  return check_put(plan::side_of(*what.objects, objects[0], end.ranks()), end.channel().rank(),
                   count);
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
