// SPDX-License-Identifier: BSD-3-Clause
#include "base/diagnose.hpp"
#include "base/memory_reserve.hpp"
#include "dropin/lists.hpp"
#include "handle/handle_state.hpp"
#include "handle/messages.hpp"
#include "lists/list_reader.hpp"
#include "mpi/agreement.hpp"
#include "mpi/channel.hpp"
#include "mpi/check.hpp"
#include "storage/guarded_backend.hpp"
#include "storage/joined_backend.hpp"
#include <valet/plan.hpp>
#include <valet/zoltan/lists.hpp>

#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>
#include <optional>
#include <string>
#include <vector>

namespace valet::zoltan {
namespace {

/// The records that imports are sent back as: two messages fit what is held back for hard times.
constexpr std::size_t chunk_bytes = std::size_t{8} << 10;

/// Calls action(rank at the other end, hash of the global id) for the objects that change their
/// rank.
template <class Action>
void for_each_moving(const MigrationList& list, const EntryCounts& entries, int rank,
                     Action&& action) {
  const std::size_t bytes = static_cast<std::size_t>(entries.gid) * sizeof(ZOLTAN_ID_TYPE);
  for (int k = 0; k < list.count; ++k)
    if (list.procs[k] != rank)
      action(list.procs[k],
             XXH3_64bits(list.ids.gid(entries, static_cast<std::uint64_t>(k)), bytes));
}

/// The same number for both ends of a pair and for no other pair.
std::uint64_t of_pair(std::uint64_t hash, int from, int to) {
  const std::array<int, 2> pair{from, to};
  return XXH3_64bits_withSeed(pair.data(), sizeof pair, hash);
}

/// For each rank at the other end, ascending: the objects and the sum of their hashes.
void add_up(const MigrationList& list, const EntryCounts& entries, int rank,
            Vector<mpi::SparseCount>& sums) {
  for_each_moving(list, entries, rank, [&](int other, std::uint64_t hash) {
    auto found = std::ranges::lower_bound(sums, other, {}, &mpi::SparseCount::rank);
    if (found == sums.end() || found->rank != other) found = sums.insert(found, {other, 0, 0});
    ++found->count;
    found->detail += hash;
  });
}

/// Whether other objects come from a rank than are imported from there.
std::optional<Diagnostic> compare_pair(const mpi::SparseCount& exported,
                                       const mpi::SparseCount& imported) {
  if (exported.count == imported.count && exported.detail == imported.detail) return std::nullopt;
  const std::string others =
      exported.count == imported.count ? "others" : std::to_string(imported.count) + " objects";
  return invalid(
      "rank ", exported.rank, " exports ", exported.count, " objects to this rank, which imports ",
      others, " from there; give both lists of one partition, or the exports alone (-1 imports)");
}

/// Compares what each rank imports with what others export to it: the global ids of every pair of
/// ranks, by their hashes (XXH3), in any order. Objects that stay on their rank do not count.
///
/// Collective; one reduction of one number where they agree. @throws Error invalid_argument on all
/// ranks alike, which names a pair; out_of_memory when they do not agree and there is none to say
/// so.
void compare_lists(const mpi::Channel& channel, Ledger& ledger, const UserLists& lists,
                   const EntryCounts& entries) {
  const int rank = channel.rank();
  std::array<std::uint64_t, 1> difference{};
  for_each_moving(lists.exports, entries, rank,
                  [&](int to, std::uint64_t hash) { difference[0] += of_pair(hash, rank, to); });
  for_each_moving(lists.imports, entries, rank, [&](int from, std::uint64_t hash) {
    difference[0] -= of_pair(hash, from, rank);
  });
  mpi::sum(channel, difference);
  if (difference[0] == 0) return;

  Vector<mpi::SparseCount> exports(ledger), imports(ledger), announced(ledger);
  std::optional<Diagnostic> mine = within_memory("the comparison of lists", [&] {
    add_up(lists.exports, entries, rank, exports);
    add_up(lists.imports, entries, rank, imports);
  });
  try {
    mpi::exchange_sparse_counts(channel, ledger, exports, announced);
    if (!mine) mine = objects::first_difference(announced, imports, compare_pair);
  } catch (const std::bad_alloc&) {  // when the exchange is over
    mine = Diagnostic{ErrorCode::out_of_memory, "no memory for the comparison of lists"};
  }
  mpi::agree(channel, mine);
}

/// As the drop-in has lists, whose functions do not write them either.
MigrationList as_migration_list(const PartitionList& list) {
  return {list.count,
          {const_cast<ZOLTAN_ID_PTR>(list.global_ids), const_cast<ZOLTAN_ID_PTR>(list.local_ids)},
          const_cast<int*>(list.procs),
          const_cast<int*>(list.parts)};
}

/// From the lists of all ranks to the map of this one.
class ListReader {
 public:
  /// @param channel  For this call.
  /// @param map      Gets the destinations.
  ListReader(const mpi::Channel& channel, Ledger& ledger, const UserLists& lists,
             const ListCall& call, SlotMap& map)
      : channel_(channel), ledger_(ledger), lists_(lists), call_(call), map_(map) {}

  /// As read_lists(). Collective. @throws Error on all ranks alike.
  MovedAlong run() {
    agree_on_input();
    if (has_exports_) {
      if (compares_) compare_lists(channel_, ledger_, lists_, call_.entries);
      map_.put_values();
    } else {
      enter_imports();
    }
    return moved_along_;
  }

 private:
  [[nodiscard]] std::optional<Diagnostic> check() const {
    if (auto diagnostic = check_given()) return diagnostic;
    if (call_.wrong) return call_.wrong;
    if (call_.occupied.map_size() > call_.slots)
      return invalid(call_.occupied.map_size(), " objects do not fit the ", call_.slots,
                     " slots of the storage; give the number of objects that it holds");
    const ListOptions& options = call_.options;
    if (auto diagnostic = check_array("parts", options.parts.size(), 1)) return diagnostic;
    if (auto diagnostic = check_array("global_ids", options.global_ids.size(), call_.entries.gid))
      return diagnostic;
    const MigrationList& exports = lists_.exports;
    const bool by_table = !options.part_to_rank.empty() && exports.parts != nullptr;
    if (auto diagnostic = check_lists({{}, exports}, call_.entries, channel_.size(), !by_table))
      return diagnostic;
    return check_lists({lists_.imports, {}}, call_.entries, channel_.size());
  }

  [[nodiscard]] std::optional<Diagnostic> check_given() const {
    if (!lists_.exports_given() && !lists_.imports_given())
      return invalid(
          "neither import nor export lists are given, as with RETURN_LISTS NONE; set "
          "RETURN_LISTS to ALL, IMPORT, EXPORT or PARTS");
    const EntryCounts& entries = call_.entries;
    if (entries.gid < 1 || entries.lid < 0)
      return invalid(entries.gid, " words of a global id and ", entries.lid,
                     " of a local id; give what Zoltan_LB_Partition() returned");
    if (entries.lid == 0 && !call_.options.slot_of)
      return invalid(
          "there are no local ids (NUM_LID_ENTRIES 0) to say in which slots the objects "
          "are; give option slot_of");
    return std::nullopt;
  }

  [[nodiscard]] std::optional<Diagnostic> check_array(const char* name, std::size_t size,
                                                      int words) const {
    if (size == 0 || size == call_.slots * static_cast<std::uint64_t>(words)) return std::nullopt;
    return invalid("option ", name, " has ", size, " entries for ", call_.slots,
                   " slots; it needs ", words, " for each");
  }

  [[nodiscard]] std::optional<Diagnostic> enter(const ListedObjects& listed) {
    return within_memory("the map of the objects", [&] { return map_.enter(listed); });
  }

  [[nodiscard]] std::optional<Diagnostic> enter_exports() {
    const MigrationList& list = lists_.exports;
    return enter({static_cast<std::uint64_t>(list.count), list.ids, list.procs, list.parts, false});
  }

  /// What the ranks must know of each other, in one reduction.
  void agree_on_input() {
    std::optional<Diagnostic> mine = check();
    if (!mine && lists_.exports_given()) mine = enter_exports();
    const ListOptions& options = call_.options;
    has_exports_ = lists_.exports_given();
    compares_ = has_exports_ && lists_.imports_given() && options.part_to_rank.empty();
    with_parts_ = lists_.leading().parts != nullptr;
    mpi::Agreement agreement;
    agreement.equal(kind_of_lists, has_exports_);
    agreement.largest(with_parts_);
    agreement.least(compares_);
    const char* const remedy = "set the same on all ranks";
    agreement.equal({.name = "NUM_GID_ENTRIES", .remedy = remedy}, call_.entries.gid);
    agreement.equal({.name = "NUM_LID_ENTRIES", .remedy = remedy}, call_.entries.lid);
    if (call_.slots > 0) moved_along_ = {!options.parts.empty(), !options.global_ids.empty()};
    agreement.equal({.name = "option parts", .text = mpi::is_given}, moved_along_.parts);
    agreement.equal({.name = "option global_ids", .text = mpi::is_given}, moved_along_.global_ids);
    moved_along_.is_reported = !call_.report.empty();
    agreement.largest(moved_along_.is_reported);
    agreement.run(channel_, mine);
  }

  /// Sends the imports back to where the objects are.
  void enter_imports() {
    ObjectList imports(ledger_);
    ObjectList wanted(ledger_);
    std::optional<Diagnostic> mine = within_memory("the lists", [&] {
      imports = migrating(ledger_, lists_.imports, call_.entries, false, channel_.rank());
      if (!with_parts_ || imports.parts != nullptr) return;
      // A rank that gives no parts where others do imports to the part of its own number.
      imports.give_part(ledger_, channel_.rank());
    });
    Vector<mpi::SparseCount> announced(ledger_);
    try {
      mpi::exchange_sparse_counts(channel_, ledger_, imports.peers, announced);
      if (!mine)
        mine = within_memory("the lists of what others import from here", [&] {
          wanted = make_inverse(ledger_, announced, call_.entries, with_parts_);
        });
    } catch (const std::bad_alloc&) {  // when the exchange is over
      mine = Diagnostic{ErrorCode::out_of_memory, "no memory for the lists"};
    }
    mpi::agree(channel_, mine);
    invert(channel_, ledger_, imports, wanted, call_.entries, with_parts_, chunk_bytes);
    mpi::agree(channel_, enter({wanted.count, wanted.ids, wanted.procs, wanted.parts, true}));
    map_.put_values();
  }

  const mpi::Channel& channel_;
  Ledger& ledger_;
  const UserLists& lists_;
  const ListCall& call_;
  SlotMap& map_;
  bool has_exports_ = false;  ///< all ranks, after agree_on_input()
  bool compares_ = false;     ///< likewise
  bool with_parts_ = false;   ///< some rank gives parts
  MovedAlong moved_along_;
};

/// The arrays that move along with a storage.
std::vector<Field> fields_along(const MovedAlong& moved, const ListOptions& options,
                                int gid_words) {
  std::vector<Field> fields;
  if (moved.parts.value_or(false)) fields.push_back(field(options.parts, 1, "option parts"));
  if (moved.global_ids.value_or(false))
    fields.push_back(
        field(options.global_ids, static_cast<std::size_t>(gid_words), "option global_ids"));
  return fields;
}

/// Plans, and moves. @return The report of it.
Report move(MPI_Comm communicator, const ListCall& call, SlotMap& map, const BlockStorage& blocks,
            std::uint64_t& required_slots) {
  Plan plan =
      plan_to_ranks(communicator, blocks, call.occupied, map.ranks(), call.options.migration);
  map.release();
  required_slots = plan.required_slots();
  return execute(plan, blocks);
}
Report move(MPI_Comm communicator, const ListCall& call, SlotMap& map, const RaggedStorage& blocks,
            std::uint64_t& required_slots) {
  RaggedPlan plan = plan_to_ranks(communicator, blocks, call.occupied.map_size(), map.ranks(),
                                  call.options.migration);
  required_slots = plan.blocks_after();
  return execute(plan, blocks, map.ranks());
}

/// @param wrong  What is wrong with the storage, if anything.
template <class Storage>
ListMigration migrate_listed(MPI_Comm communicator, const PartitionLists& lists,
                             const Occupied& occupied, std::uint64_t slots,
                             const std::optional<Diagnostic>& wrong, const Storage& storage,
                             const ListOptions& options) {
  ListOptions obeyed = options;
  ListCall call{.entries = {lists.gid_entries, lists.lid_entries},
                .occupied = occupied,
                .slots = slots,
                .wrong = wrong,
                .options = obeyed};
  if (options.zoltan != nullptr) {
    const MigrationParameters parameters = parameters_of_storage(options.zoltan, options.migration);
    obeyed.migration = parameters.options;
    call.report = parameters.report;
    if (!wrong) call.wrong = without_meaning(options.zoltan, ObjectKind::lists);
    say_who_moves(options.zoltan, parameters, ObjectKind::lists);
  }
  std::optional<mpi::Channel> channel = mpi::Channel::open_for_call(communicator);
  const double start = mpi::now();
  call.rank = channel->rank();
  call.ranks = channel->size();
  Ledger ledger;
  SlotMap map(ledger, call);
  const UserLists user{as_migration_list(lists.imports), as_migration_list(lists.exports)};
  const MovedAlong along = read_lists(*channel, ledger, user, call, map);
  channel.reset();  // the plan takes the place of the call
  ListMigration result;
  result.list_seconds = mpi::now() - start;
  result.list_bytes = ledger.peak_bytes();
  try {
    const Storage blocks = joined(storage, fields_along(along, call.options, lists.gid_entries));
    result.report = move(communicator, call, map, blocks, result.required_slots);
  } catch (const Error& error) {
    if (has_moved_nothing(error.code())) map.restore_parts();
    throw;
  }
  result.count = result.report.blocks_after;
  if (along.is_reported) append_report(communicator, call.report, result.report);
  return result;
}

}  // namespace

MovedAlong read_lists(const mpi::Channel& channel, Ledger& ledger, const UserLists& lists,
                      const ListCall& call, SlotMap& map) {
  return ListReader(channel, ledger, lists, call, map).run();
}

bool has_moved_nothing(ErrorCode code) {
  return code != ErrorCode::corrupted && code != ErrorCode::mpi_failure &&
         code != ErrorCode::internal && code != ErrorCode::callback_failed;
}

std::uint64_t slots_of(const RaggedStorage& storage) {
  storage.refresh();
  std::uint64_t slots = std::numeric_limits<std::uint64_t>::max();
  for (const RaggedField& field : storage.fields()) slots = std::min(slots, field.block_capacity);
  for (const Field& column : storage.columns()) slots = std::min(slots, column.slots);
  return slots;
}

BlockStorage joined(const BlockStorage& storage, const std::vector<Field>& fields) {
  if (fields.empty()) return storage;
  return storage::joined(storage, BlockStorage(fields));
}
RaggedStorage joined(const RaggedStorage& storage, const std::vector<Field>& fields) {
  std::vector<Field> columns = storage.columns();
  columns.insert(columns.end(), fields.begin(), fields.end());
  RaggedStorage result(storage.fields(), columns);
  if (!storage.grows()) return result;
  return result.growing([storage, fields](const RaggedRoom& required) {
    storage.grow(required);
    return joined(storage, fields);
  });
}

ListMigration migrate(MPI_Comm communicator, const PartitionLists& lists, const Occupied& occupied,
                      const BlockStorage& storage, const ListOptions& options) {
  const valet::detail::MemoryReserve reserve;
  const auto wrong = storage::diagnostic_now(storage.backend());
  return migrate_listed(communicator, lists, occupied, storage.slots(), wrong, storage, options);
}

ListMigration migrate(MPI_Comm communicator, const PartitionLists& lists, std::uint64_t count,
                      const RaggedStorage& storage, const ListOptions& options) {
  const valet::detail::MemoryReserve reserve;
  return migrate_listed(communicator, lists, Occupied(count), slots_of(storage), std::nullopt,
                        storage, options);
}

}  // namespace valet::zoltan
