// SPDX-License-Identifier: BSD-3-Clause
#include "attached/calls.hpp"

#include "attached/call.hpp"
#include "base/diagnose.hpp"
#include "base/memory_reserve.hpp"
#include "handle/messages.hpp"
#include "handle/stage_callbacks.hpp"
#include "handle/structure.hpp"
#include "lists/list_reader.hpp"
#include "mpi/agreement.hpp"
#include "rebalance/balancer.hpp"
#include "rebalance/part_ranks.hpp"
#include "rebalancer/zoltan_partition.hpp"
#include <valet/detail/first_failure.hpp>

#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace valet::zoltan {
namespace {

/// Moves the objects of a decision, with their parts.
class Move {
 public:
  Move(AttachedCall& call, StageCallbacks& callbacks, const MigrationList& imports,
       const MigrationList& exports)
      : call_(call), callbacks_(callbacks), imports_(imports), exports_(exports) {}

  /// @param balancer   Gets what to do before a byte moves.
  /// @param prepare    Called when PRE_MIGRATE has run: makes the decision ready.
  /// @param take_back  Called where it failed and nothing has moved. Parts, which growth may have
  ///                   moved, have been read again then.
  template <class Prepare, class TakeBack>
  void run(rebalance::Balancer& balancer, rebalance::Decision& decision, Prepare&& prepare,
           TakeBack&& take_back) {
    try {
      if (call_.stages().pre) call_.stage(callbacks_.pre(imports_, exports_));
      prepare();
      move(balancer, decision);
    } catch (const Error& error) {
      if ((!is_moving_ || has_moved_nothing(error.code())) && !call_.read_parts()) take_back();
      throw;
    }
  }
  void finish() {
    if (call_.stages().post) call_.stage(callbacks_.post(imports_, exports_));
  }

 private:
  void move(rebalance::Balancer& balancer, rebalance::Decision& decision) {
    balancer.settings.before_move = [this] {
      if (call_.stages().mid) call_.stage(callbacks_.mid(imports_, exports_));
      is_moving_ = true;
      call_.state().layout.reset();
    };
    say_who_moves(call_.state().zoltan, call_.parameters(), ObjectKind::storage, call_.left_out());
    RebalanceResult result = std::visit(
        [&](const auto& storage) {
          return balancer.settle(decision, joined(storage, call_.fields_along()));
        },
        call_.state().storage);
    call_.state().count = result.count;
    call_.state().layout = result.layout;
    if (decision.is_reported)
      append_report(call_.channel().get(), call_.parameters().report, result.report);
    call_.state().result = std::move(result);
  }

  AttachedCall& call_;
  StageCallbacks& callbacks_;
  MigrationList imports_, exports_;
  bool is_moving_ = false;
};

/// Gives the parts of a partition to the objects, or takes them back if these have not moved.
void swap_parts(AttachedCall& call, rebalance::Decision& decision) {
  const std::span<int> now = call.parts();
  const auto count = static_cast<std::ptrdiff_t>(std::min(now.size(), decision.parts.size()));
  std::swap_ranges(now.begin(), now.begin() + count, decision.parts.begin());
}

bool changes_parts(const AttachedCall& call, const rebalance::Decision& decision) {
  const std::span<int> before = call.parts();
  const auto count = static_cast<std::ptrdiff_t>(std::min(before.size(), decision.parts.size()));
  return mpi::on_some_rank(
      call.channel(), !std::equal(before.begin(), before.begin() + count, decision.parts.begin()));
}

/// Lets ids be as long again as the application has said. Local.
void give_entries_back(AttachedState& state) {
  if (!std::exchange(state.has_own_entries, false)) return;
  for (const char* const name : {"NUM_GID_ENTRIES", "NUM_LID_ENTRIES"})
    Zoltan_Set_Param(state.zoltan, name,
                     followed_parameter(state.zoltan, name).value_or("DEFAULT").c_str());
}

/// How Zoltan is to be asked, which puts its lists into `lists` where some are wanted.
PartitionSetup setup_for(AttachedCall& call, const PartitionWay& way, bool one_by_one,
                         StockLists& lists) {
  PartitionSetup setup = call.setup();
  if (setup.tells_objects) give_entries_back(call.state());
  call.state().has_own_entries = !setup.tells_objects;
  lists.imports.count = lists.exports.count = 0;
  setup.each_object =
      one_by_one || call.answers_for_objects() || call.parameters().granularity == 1U;
  if (one_by_one) {
    setup.lists = &lists;
    setup.return_lists = call.lists_to_ask_for(way);
  }
  return setup;
}

/// Leaves in the lists what RETURN_LISTS asks for.
/// @param made_here  Not by Zoltan: then there are both.
void leave_wanted(ReturnLists wanted, bool made_here, bool changes, StockLists& lists) {
  const bool none = wanted == ReturnLists::none;
  const bool without_imports = wanted == ReturnLists::exports || wanted == ReturnLists::parts;
  if (none || (made_here && without_imports)) lists.imports.leave_out(changes);
  if (none || wanted == ReturnLists::imports) lists.exports.leave_out(changes);
}

/// What leaves, as Zoltan lists it.
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

/// Puts what leaves into lists as Zoltan gives them, which Zoltan allocates. Collective; in the
/// memory that Zoltan takes for lists. @throws Error on all ranks alike.
/// @param source  Of the ids; none: rank and slot.
/// @param ranks   Where each object goes.
/// @param all     Lists objects that stay, too.
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

/// Makes the lists of a partition by arithmetic.
void list_by_order(const AttachedCall& call, ReturnLists wanted, rebalance::Decision& decision,
                   StockLists& lists) {
  mpi::agree(call.channel(), within_memory("the lists", [&] { decision.write_ranks(); }));
  make_lists(call.channel(), call.state().zoltan, call.sources().ids,
             {decision.ranks.data(), decision.ranks.size()}, wanted == ReturnLists::parts, lists);
  decision.ranks = {};
}

/// Moves the objects of a partition, with their parts.
void move_partition(AttachedCall& call, rebalance::Balancer& balancer,
                    rebalance::Decision& decision, const StockLists& lists) {
  StageCallbacks callbacks(call.state().zoltan);
  callbacks.set_entries(lists.entries);
  Move move(call, callbacks, lists.imports.as_list(), lists.exports.as_list());
  bool has_given_parts = false;
  move.run(
      balancer, decision,
      [&] {
        call.read_storage_again();
        if (!call.moves_parts()) return;
        swap_parts(call, decision);
        has_given_parts = true;
      },
      [&] {
        if (has_given_parts) swap_parts(call, decision);
      });
  call.write_ranks_as_parts();
  move.finish();
}

ReturnLists return_lists_of(const Zoltan_Struct* zoltan) {
  const std::string value = followed_parameter(zoltan, "RETURN_LISTS").value_or("ALL");
  const auto has = [&](const char* word) { return value.find(word) != std::string::npos; };
  if (value == "ALL" || (has("IMPORT") && has("EXPORT"))) return ReturnLists::all;
  if (has("IMPORT")) return ReturnLists::imports;
  if (has("EXPORT")) return ReturnLists::exports;
  if (has("PART")) return ReturnLists::parts;
  if (value == "NONE") return ReturnLists::none;
  return value == "CANDIDATE_LISTS" ? ReturnLists::candidates : ReturnLists::all;
}

}  // namespace

std::shared_ptr<AttachedState> attached_to(const Zoltan_Struct* zoltan) {
  return std::static_pointer_cast<AttachedState>(copy_of(zoltan, &HandleState::attached));
}

PartitionWay way_of(const Zoltan_Struct* zoltan) {
  return {.moves = followed_number(zoltan, "AUTO_MIGRATE").value_or(0) != 0,
          .lists = return_lists_of(zoltan)};
}

bool partition_attached(AttachedState& state, const PartitionWay& way, StockLists& lists) {
  AttachedCall call(state);
  if (!call.takes_part()) return false;
  const bool one_by_one = !way.moves || way.gives_lists();
  call.agree_on_partition(way, one_by_one);
  // Lists are read with the lengths of ids that they were made with.
  std::optional<ParameterLoan> loan;
  loan.emplace(state.zoltan,
               std::initializer_list<ParameterLoan::Name>{{"AUTO_MIGRATE"},
                                                          {"RETURN_LISTS", "ALL"},
                                                          {"OBJ_WEIGHT_DIM"},
                                                          {"KEEP_CUTS"},
                                                          {"NUM_GID_ENTRIES", "DEFAULT", true},
                                                          {"NUM_LID_ENTRIES", "DEFAULT", true}});
  Zoltan_Set_Param(state.zoltan, "AUTO_MIGRATE", "FALSE");

  const PartitionSetup setup = setup_for(call, way, one_by_one, lists);
  ZoltanPartition zoltan(state.zoltan, setup);
  rebalance::Balancer balancer(call.channel(), zoltan, call.settings(setup.each_object));
  balancer.sources = call.sources();
  // Nobody asks for objects by their ids, without which they may be in cells.
  if (!one_by_one && !call.answers_for_objects() &&
      zoltan.traits().basis != rebalance::Basis::relations)
    balancer.sources.ids = nullptr;
  rebalance::Decision decision;
  decision.count = state.count;
  balancer.partition(decision);
  call.check_misuse();
  const bool lacks_lists = way.gives_lists() && decision.order && !zoltan.was_asked();
  if (lacks_lists) list_by_order(call, way.lists, decision, lists);
  lists.entries = probe(state.zoltan, {}).entries;
  bool changes = balancer.changes_ranks(decision);
  if (setup.parts.are_given && state.parts) changes = changes_parts(call, decision) || changes;
  leave_wanted(way.lists, lacks_lists, changes, lists);
  if (auto layout = balancer.layout_after(decision); layout && !changes) state.layout = layout;
  loan.reset();  // callbacks may set parameters
  if (way.moves && changes) move_partition(call, balancer, decision, lists);
  return changes;
}

void migrate_attached(AttachedState& state, const UserLists& user) {
  AttachedCall call(state);
  if (!call.takes_part()) return;
  const MigrationList& leading = user.leading();
  const Probe found = probe(state.zoltan, leading.count > 0 ? leading.ids : ObjectIds{});
  call.agree_on_lists(leading);

  StageCallbacks callbacks(state.zoltan);
  callbacks.set_entries(found.entries);
  PartitionSetup setup = call.setup();
  setup.tells_objects = true;  // lists say it all: nobody is asked, and nothing is read
  ZoltanPartition nobody(state.zoltan, setup);
  rebalance::Balancer balancer(call.channel(), nobody, call.settings(false));
  balancer.settings.granularity.reset();
  rebalance::Decision decision;
  decision.count = state.count;
  const Occupied occupied(state.count);
  ListOptions options;
  ListCall lists{.entries = found.entries,
                 .rank = call.channel().rank(),
                 .ranks = call.channel().size(),
                 .occupied = occupied,
                 .options = options};
  SlotMap map(decision.ledger, lists);
  bool has_given_parts = false;
  Move move(call, callbacks, user.imports, user.exports);
  move.run(
      balancer, decision,
      [&] {
        call.read_storage_again();
        options.parts = call.parts_of_slots();
        lists.slots = call.slots();
        read_lists(call.channel(), decision.ledger, user, lists, map);
        has_given_parts = true;
        decision.ranks = map.take();
        balancer.evaluate(decision);
      },
      [&] {
        options.parts = call.parts_of_slots();
        if (has_given_parts) map.restore_parts();
      });
  move.finish();
}

void detach(AttachedState& state) {
  {
    AttachedCall call(state);
    if (call.takes_part()) call.agree({});
  }
  Zoltan_Struct* const zoltan = state.zoltan;
  give_entries_back(state);
  state.structure_is_gone();
  state.is_ended = state.is_detached = true;
  change_handle_state(zoltan, [](HandleState& own) { own.attached.reset(); });
}

}  // namespace valet::zoltan
