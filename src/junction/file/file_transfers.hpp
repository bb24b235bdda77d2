// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// How transfers write to a file and read from it. All are collective over its ranks, and throw
/// errors that are the same on all of them.

#include "geometry/shared_objects.hpp"
#include "junction/file/file_end.hpp"
#include "junction/transfers.hpp"
#include <valet/plan.hpp>

#include <cstdint>
#include <optional>

namespace valet::junction {

Report store_array(FileEnd& end, const Description& what, const SourceArray& array);
Report load_array(FileEnd& end, const Description& what, const TargetArray& array);

Report store_blocks(FileEnd& end, const Description& what, const BlockStorage& storage,
                    std::uint64_t count);
/// @param range  An equal share where there is none; not together with a layout.
Report load_blocks(FileEnd& end, const Description& what, const StorageFor& storage_for,
                   const std::optional<BlockRange>& range);

Report store_ragged(FileEnd& end, const Description& what, const RaggedStorage& storage,
                    std::uint64_t count);
Report load_ragged(FileEnd& end, const Description& what, const RaggedStorage& storage,
                   const std::optional<BlockRange>& range);

/// The blocks of a record that this rank reads: those of a range, an equal share, or as many as it
/// gets by a layout.
struct Share : BlockRange {
  std::optional<layout::ObjectSide> to = {};  ///< where they go, by a layout
};
/// @return What is wrong with the choice, if anything.
[[nodiscard]] std::optional<Diagnostic> choose_share(const FileEnd& end, const Description& what,
                                                     const file::Record& record,
                                                     const std::optional<BlockRange>& range,
                                                     Share& share);
/// Where the blocks go of a share that goes somewhere, one for one.
void find_destinations(Array<Address>& addresses, const FileEnd& end, const file::Record& record,
                       const Share& share);
/// Whether ranks put what their layout gives them, where there is one. Collective.
/// @return What this rank has wrong, if anything.
[[nodiscard]] std::optional<Diagnostic> check_numbers(const FileEnd& end, const Description& what,
                                                      std::uint64_t count);
/// Bytes to pack rows in, of a part of the budget.
/// @return What is wrong with the budget for a row of that size.
[[nodiscard]] std::optional<Diagnostic> staging_bytes(const FileEnd& end, std::uint64_t row_bytes,
                                                      std::uint64_t& bytes, std::uint64_t part = 1);
/// What the parts of all ranks have, given this rank's. Collective.
[[nodiscard]] Array<std::uint64_t> gather_parts(const FileEnd& end, Ledger& ledger,
                                                std::uint64_t bytes);

}  // namespace valet::junction
