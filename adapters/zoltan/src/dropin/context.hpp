// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "batches.hpp"
#include "callbacks.hpp"
#include "division.hpp"
#include "lists.hpp"
#include "mpi/channel.hpp"
#include "observe/trace.hpp"
#include "parameters.hpp"
#include "progress.hpp"
#include <valet/ledger.hpp>
#include <valet/zoltan/valet_zoltan.h>

#include <algorithm>
#include <cstdint>
#include <new>

namespace valet::zoltan {

/// What the ranks of a migration agreed upon before it began.
struct Agreed {
  bool exports_given = false;
  bool imports_compared = false;  ///< both lists were given, and some rank imports something
  bool with_parts = false;        ///< some rank gave parts
  bool pre = false;               ///< registered on some rank
  bool mid = false;
  bool post = false;
  bool memory_fn = false;
  bool report = false;  ///< some rank has MIGRATE_REPORT
  bool trace = false;   ///< some rank has MIGRATE_TRACE
  std::uint64_t smallest_memory = 0;
};

/// What all parts of one migration share.
struct Context {
  const mpi::Channel& channel;
  Ledger& ledger;
  Callbacks& callbacks;
  const MigrationParameters& parameters;
  const UserLists& user;
  Agreed agreed;
  MatrixRoom matrix;
  Valet_Migration_Report& report;
  NodeSlots& node;
  ProgressBar progress;
  observe::Trace* trace = nullptr;  ///< nullptr: nobody looks
};

/// What this rank gets.
struct Imports {
  explicit Imports(Ledger& ledger) : sources(LedgerAllocator<Peer>(ledger)) {}

  Vector<Peer> sources;  ///< ascending by rank
  std::uint64_t count = 0;
  Array<int> sizes;              ///< by source, in the order of its exports
  ZOLTAN_ID_PTR gids = nullptr;  ///< in the order of the unpacking
  Array<ZOLTAN_ID_TYPE> own_gids;
  /// Stock Zoltan unpacks by ascending source, unless only import lists were given and the objects
  /// of each source stand together in them: then in the order of this list.
  const ObjectList* in_order = nullptr;
};

/// Shares memory with ranks of the node, where more moves than fits the budget at once, and so far
/// as what is `needed` anyway leaves of it. Collective.
inline void share_with_node(Context& context, const ObjectList& exports, const Imports& imports,
                            const Scratch& scratch, std::uint64_t needed) {
  const Valet_Migration_Report& report = context.report;
  const bool much = std::max(report.bytes_exported, report.bytes_imported) > scratch.budget;
  context.node.connect(
      context.channel, context.ledger, exports.peers, imports.sources,
      much && context.parameters.share_memory
          ? std::min(scratch.node, scratch.budget - std::min(scratch.budget, needed))
          : 0,
      scratch.chunk);
}

/// Runs what may find no memory; the answer is agreed upon with the other ranks later.
template <class Action>
std::optional<Diagnostic> within_memory(const char* what, Action&& action) {
  try {
    action();
  } catch (const std::bad_alloc&) {
    return Diagnostic{ErrorCode::out_of_memory, std::string("no memory for ") + what};
  }
  return std::nullopt;
}

}  // namespace valet::zoltan
