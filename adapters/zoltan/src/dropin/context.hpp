// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/diagnose.hpp"
#include "callbacks.hpp"
#include "division.hpp"
#include "handle/parameters.hpp"
#include "lists.hpp"
#include "mpi/agreement.hpp"
#include "mpi/channel.hpp"
#include "observe/progress.hpp"
#include "observe/trace.hpp"
#include "workspace.hpp"
#include <valet/ledger.hpp>
#include <valet/zoltan/valet_zoltan.h>

#include <cstdint>

namespace valet::zoltan {

/// What the ranks of a migration agreed upon before it began.
struct Agreed {
  bool exports_given = false;
  bool with_parts = false;  ///< some rank gave parts
  bool pre = false;         ///< registered on some rank
  bool mid = false;
  bool post = false;
  bool memory_fn = false;
  bool counts_objects = false;  ///< STEPS: all ranks have ZOLTAN_NUM_OBJ_FN
  bool report = false;          ///< some rank has MIGRATE_REPORT
  bool trace = false;           ///< some rank has MIGRATE_TRACE
  bool keep_memory = true;
  std::uint64_t smallest_memory = 0;
};

/// What all parts of one migration share.
struct Context {
  Workspace& workspace;
  const mpi::Channel& channel;
  Ledger& ledger;
  Callbacks& callbacks;
  const MigrationParameters& parameters;
  UserLists user;
  Agreed agreed;
  MatrixRoom matrix;
  Valet_Migration_Report& report;
  observe::ProgressBar progress;
  observe::Trace* trace = nullptr;  ///< nullptr: nobody looks
  std::uint64_t check_bytes = 0;    ///< of MIGRATE_VERIFY, for what the application lists

  /// Whether this rank's application is asked what it can take.
  [[nodiscard]] bool asks_memory() const {
    return callbacks.has_memory() &&
           (parameters.callbacks == CallbackMode::steps || parameters.has_phases());
  }
};

/// Packed objects of one source that are consecutive in memory and in the lists of imports.
struct ArrivedRange {
  std::size_t source = 0;    ///< among all sources
  std::uint64_t number = 0;  ///< the first's, among the objects of its source
  std::uint64_t id = 0;      ///< the first's, among the global ids
  std::uint64_t object = 0;  ///< the first's, among the sizes
  std::uint64_t count = 0;
  std::byte* data = nullptr;
};

/// What this rank gets.
struct Imports {
  explicit Imports(Ledger& ledger) : sources(ledger) {}

  Vector<Peer> sources;  ///< ascending by rank
  std::uint64_t count = 0;
  Array<int> sizes;            ///< by source, in the order of its exports
  Array<ZOLTAN_ID_TYPE> lids;  ///< STEPS with mid: those of the sources; likewise
  Array<int> parts;            ///< likewise, where there are parts
  /// STEPS: their places in the import list that leads, where that is not sorted by source.
  Array<std::uint32_t> places;
  bool blocked = false;          ///< whether the objects of each source stand together in it
  ZOLTAN_ID_PTR gids = nullptr;  ///< in the order of the unpacking
  Array<ZOLTAN_ID_TYPE> own_gids;
  /// Stock Zoltan unpacks by ascending source, unless only import lists were given and the objects
  /// of each source stand together in them: then in the order of this list.
  const ObjectList* in_order = nullptr;

  [[nodiscard]] std::span<const int> all_sizes() const { return {sizes.data(), count}; }
  [[nodiscard]] std::span<const int> sizes_of(const ArrivedRange& range) const {
    return all_sizes().subspan(range.object, range.count);
  }
};

/// Agrees on the errors of a callback that may have registered others, and whether there are stages
/// to come. Collective, in one reduction. @throws Error on all ranks alike.
inline void agree_on_callbacks(Context& context, const std::optional<Diagnostic>& mine) {
  Agreed& agreed = context.agreed;
  agreed.mid = agreed.mid || context.callbacks.has_mid();
  agreed.post = context.callbacks.has_post();
  agreed.memory_fn = context.asks_memory();
  mpi::Agreement agreement;
  agreement.largest(agreed.memory_fn);
  agreement.largest(agreed.mid);
  agreement.largest(agreed.post);
  agreement.run(context.channel, mine);
}

/// A method that moves everything at once needs a budget for all it `does`.
inline std::optional<Diagnostic> check_everything(const Context& context, const char* does,
                                                  std::uint64_t bytes) {
  const MigrationParameters& parameters = context.parameters;
  const bool at_once =
      schedule::traits_of(*parameters.method).budget == schedule::BudgetRule::everything;
  if (!at_once || bytes <= parameters.options.budget_bytes) return std::nullopt;
  return diagnose(ErrorCode::budget_too_small, "MIGRATE_METHOD ", name_of(parameters.method), " ",
                  does, " ", bytes, " bytes at once, but MIGRATE_MEMORY is ",
                  parameters.options.budget_bytes, "; raise it or use STREAM");
}

}  // namespace valet::zoltan
