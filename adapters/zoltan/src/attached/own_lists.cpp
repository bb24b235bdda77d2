// SPDX-License-Identifier: BSD-3-Clause
#include "attached/own_lists.hpp"

#include "base/memory_reserve.hpp"
#include "mpi/agreement.hpp"
#include <valet/detail/first_failure.hpp>

#include <optional>
#include <string>
#include <vector>

namespace valet::zoltan {
namespace {

struct Exports {
  std::vector<ZOLTAN_ID_TYPE> gids, lids;
  std::vector<int> procs;
};

Exports exports_of(const mpi::Channel& channel, const Columns& ids, std::span<const int> ranks,
                   bool all) {
  Exports exports;
  for (std::size_t slot = 0; slot < ranks.size(); ++slot) {
    if (!all && ranks[slot] == channel.rank()) continue;
    if (ids.size == 0) {
      exports.gids.push_back(static_cast<ZOLTAN_ID_TYPE>(channel.rank()));
      exports.gids.push_back(static_cast<ZOLTAN_ID_TYPE>(slot));
    }
    for (std::size_t e = 0; e < ids.size; ++e)
      exports.gids.push_back(static_cast<ZOLTAN_ID_TYPE>(ids.number(e, slot)));
    exports.lids.push_back(static_cast<ZOLTAN_ID_TYPE>(slot));
    exports.procs.push_back(ranks[slot]);
  }
  return exports;
}

}  // namespace

void make_lists(const mpi::Channel& channel, Zoltan_Struct* zoltan, const ColumnSource& source,
                std::span<const int> ranks, bool all, StockLists& lists) {
  Exports exports;
  Columns ids;
  valet::detail::FirstFailure failure;
  auto mine = within_memory("the lists", [&] {
    failure.attempt("reading global ids", [&] {
      const valet::detail::LeaveReserve leave;
      if (source) ids = source();
      if (!ids.diagnostic) exports = exports_of(channel, ids, ranks, all);
    });
  });
  if (!mine) mine = failure.diagnostic("nothing has moved");
  if (!mine) mine = ids.diagnostic;
  mpi::agree(channel, mine);
  lists.entries = {static_cast<int>(ids.size == 0 ? 2 : ids.size), 1};
  Zoltan_Set_Param(zoltan, "NUM_GID_ENTRIES", std::to_string(lists.entries.gid).c_str());
  Zoltan_Set_Param(zoltan, "NUM_LID_ENTRIES", "1");
  // Twice: then Zoltan has allocated both, and frees them as its own.
  StockList& in = lists.imports;
  StockList& out = lists.exports;
  in.free();
  out.free();
  const auto agree = [&channel](int code) {
    std::optional<Diagnostic> wrong;
    if (code != ZOLTAN_OK && code != ZOLTAN_WARN)
      wrong = Diagnostic{ErrorCode::out_of_memory, "Zoltan found no memory for the lists"};
    mpi::agree(channel, wrong);
  };
  agree(Zoltan_Invert_Lists(zoltan, static_cast<int>(exports.procs.size()), exports.gids.data(),
                            exports.lids.data(), exports.procs.data(), exports.procs.data(),
                            &in.count, &in.gids, &in.lids, &in.procs, &in.parts));
  agree(Zoltan_Invert_Lists(zoltan, in.count, in.gids, in.lids, in.procs, in.parts, &out.count,
                            &out.gids, &out.lids, &out.procs, &out.parts));
}

}  // namespace valet::zoltan
