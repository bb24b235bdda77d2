// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/diagnose.hpp"
#include "callbacks.hpp"
#include "handle/parameters.hpp"
#include "lists.hpp"
#include "mpi/agreement.hpp"
#include "mpi/channel.hpp"
#include "objects/batches.hpp"
#include "objects/steps.hpp"
#include "observe/progress.hpp"
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
  bool transfers = false;       ///< some rank has MIGRATE_TRANSFERS
  std::uint64_t smallest_memory = 0;
};

inline constexpr const char* memory_function = "VALET_MEMORY_FN";

/// What all parts of one migration share.
struct Context {
  objects::Call& call;
  const mpi::Channel& channel;
  Ledger& ledger;
  Callbacks& callbacks;
  const MigrationParameters& parameters;
  UserLists user;
  Agreed agreed;
  Valet_Migration_Report& report;
  observe::ProgressBar progress;
  std::uint64_t check_bytes = 0;  ///< of MIGRATE_VERIFY, for what the application lists

  /// Whether this rank's application is asked what it can take.
  [[nodiscard]] bool asks_memory() const {
    return callbacks.has_memory() &&
           (parameters.callbacks == CallbackMode::steps || call.has_phases());
  }
  /// What it answers, if it is asked. For objects::Owner.
  std::optional<Diagnostic> find_room(std::uint64_t& bytes) {
    bytes = objects::Owner::no_limit;
    if (!callbacks.has_memory() || !agreed.memory_fn) return std::nullopt;
    return callbacks.memory(call.steps, bytes);
  }
};

/// Packed objects of one source that are consecutive in memory and in the lists of imports.
struct ArrivedRange : objects::ArrivedObjects {
  std::uint64_t id = 0;  ///< the first's, among the global ids
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
    return all_sizes().subspan(range.first, range.count);
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

/// A method that moves everything at once needs a budget for all it `does`; the error names one
/// that is enough for all ranks.
inline std::optional<Diagnostic> check_everything(Context& context, const char* does,
                                                  std::uint64_t bytes) {
  const std::uint64_t budget = context.parameters.options.budget_bytes;
  const bool at_once =
      schedule::traits_of(context.call.method).budget == schedule::BudgetRule::everything;
  if (!at_once) return std::nullopt;
  context.call.budget_at_once = bytes;
  if (bytes <= budget) return std::nullopt;
  return diagnose(ErrorCode::budget_too_small, "MIGRATE_METHOD ", name_of(context.call.method), " ",
                  does, " ", mpi::enough_mark, " bytes at once, but MIGRATE_MEMORY is ", budget,
                  "; set it to that or use STREAM");
}

/// What Valet_Migrate does, with the parameters given. Collective over the structure's
/// communicator. Returns Zoltan's codes; errors are printed and kept in the report.
int migrate(Zoltan_Struct* zoltan, const UserLists& lists, const MigrationParameters& parameters);

/// From the first packing to the last unpacking. Collective. @throws Error on all ranks alike.
///
/// HOLD: batches within the budget are packed in the order of the export list and sent; arrivals
/// stay packed until mid has run on all ranks. Every callback sees stock Zoltan's order.
///
/// @param sizes    Rounded sizes of all exports, in the order of the list.
/// @param imports  Sources and counts are known; gets the rest.
/// @param mine     What this rank found wrong until now, if anything.
void migrate_held(Context& context, const ObjectList& exports, std::span<int> sizes,
                  Imports& imports, const objects::Scratch& scratch,
                  std::optional<Diagnostic> mine);

/// The same for STEPS: pack, send, free, mid and unpack step by step within the budget.
/// @param sizes  Sorted by destination afterwards.
void migrate_in_steps(Context& context, const ObjectList& exports, Array<int>& sizes,
                      Imports& imports, const objects::Scratch& scratch,
                      std::optional<Diagnostic> mine);

}  // namespace valet::zoltan
