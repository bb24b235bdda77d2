// SPDX-License-Identifier: BSD-3-Clause
#include "base/diagnose.hpp"
#include "base/names.hpp"
#include "context.hpp"
#include "geometry/map_pattern.hpp"
#include "handle/handle_state.hpp"
#include "handle/messages.hpp"
#include "handle/structure.hpp"
#include "mpi/agreement.hpp"
#include "mpi/check.hpp"
#include "object_checks.hpp"
#include "plan/map_layout.hpp"
#include <valet/error.hpp>

#include <algorithm>
#include <new>
#include <optional>
#include <string>

namespace valet::zoltan {
namespace {

/// A value of a parameter as users set it.
template <class Value>
std::string parameter_value(std::int64_t value) {
  return valet::detail::upper_case(mpi::name_of<Value>(value));
}

constexpr const char* function_name = "Zoltan_Migrate";

// Lists may be a layout, as LB_METHOD CYCLIC and BLOCK make them: how many objects every rank sends
// to which follows from a few words of each then, so that they need not be announced.

/// As many ranks as may be told of everyone's list in a few KiB, or whom everyone sends to anyway.
bool pays(int ranks, std::size_t peers) {
  constexpr int few = 512;
  constexpr std::size_t many = 16;  // one rank in so many is a peer
  return ranks <= few || peers * many >= static_cast<std::size_t>(ranks);
}

/// Looks once at a list, up to the first object that cannot be of a layout. None where it does not
/// pay to tell all ranks. Where objects that stay are not listed, the others are dealt to the other
/// ranks. Local.
layout::MapPattern pattern_of(const ObjectList& list, int rank, int ranks) {
  if (!pays(ranks, list.peers.size())) return {};
  const std::size_t own = list.peer_of(rank);
  const bool is_listed = own < list.peers.size() && list.peers[own].rank == rank;
  return layout::recognise({list.procs, static_cast<std::size_t>(list.count)}, ranks,
                           is_listed ? layout::no_rank : rank);
}

/// Copies a text, cut off where it does not fit.
template <std::size_t size>
void copy_text(const std::string& text, char (&to)[size]) {
  to[text.copy(to, size - 1)] = '\0';
}

/// One migration, from the lists of the user to the post callbacks.
class Migration {
 public:
  Migration(Zoltan_Struct* zoltan, MPI_Comm communicator, const UserLists& lists,
            const MigrationParameters& parameters, Valet_Migration_Report& report)
      : zoltan_(zoltan),
        parameters_(parameters),
        frame_(mpi::Channel::open_for_planning(communicator), untraced(parameters.options),
               "callback progress"),
        call_(frame_, parameters_.options),
        callbacks_(zoltan),
        context_{call_, channel_, ledger_, callbacks_, parameters_, lists, {}, report, {}},
        leading_(ledger_),
        exports_(ledger_),
        imports_(ledger_) {
    if (*parameters.method != Method::automatic) call_.method = *parameters.method;
  }

  void run() {
    const double start = mpi::now();
    agree_on_input();
    choose_method();
    begin_trace();
    {
      const observe::TraceSpan span(call_.trace(), observe::TraceKind::stage, "lists");
      find_lists();
      if (context_.agreed.pre) call_pre();
    }
    context_.report.list_seconds = mpi::now() - start;
    {
      const observe::TraceSpan span(call_.trace(), observe::TraceKind::stage, "move");
      move();
    }
    if (context_.agreed.post)
      mpi::agree(channel_, callbacks_.post(context_.user.imports, context_.user.exports));
    warning_ = object_count_.compare(context_);
    const Valet_Migration_Report& report = context_.report;
    const std::uint64_t least = std::min(report.objects_imported, report.objects_exported);
    frame_.write_transfers(
        name_of(parameters_.method),
        {report.objects_imported - least, report.bytes_exported, report.budget_bytes},
        exports_.peers, &objects::Peer::count);
  }

  /// Collective; the ranks have agreed on what run() did.
  void write_trace() {
    frame_.caption = {name_of(parameters_.method), 0, context_.report.budget_bytes};
    frame_.write_trace();
  }

  [[nodiscard]] const mpi::Channel& channel() const { return channel_; }
  [[nodiscard]] const Context& context() const { return context_; }
  /// The code, and the sentence that goes with a warning of Valet's own.
  [[nodiscard]] int code() const {
    const int last = callbacks_.last_code();
    return last == ZOLTAN_OK && !warning_.empty() ? ZOLTAN_WARN : last;
  }
  [[nodiscard]] const std::string& warning() const { return warning_; }

  void finish_report() {
    Valet_Migration_Report& report = context_.report;
    report.peak_extra_bytes = ledger_.peak_bytes();
    report.steps = call_.steps;
    report.messages = call_.messages;
    report.objects_parked = call_.parked;
    const std::uint64_t listed = report.objects_exported + report.objects_imported;
    report.extra_bytes_bound =
        (parameters_.callbacks == CallbackMode::hold ? report.bytes_imported : 0) +
        report.budget_bytes + report.budget_raised_bytes + root_bytes() + layout_bytes_ +
        (frame_.traces() ? observe::Trace::memory_bytes : 0) +
        listed * (24 + callbacks_.entries().bytes()) + staying_bytes() + context_.check_bytes +
        callbacks_.guard_bytes();
  }

 private:
  /// What a root that knows all ranks may add to the bound.
  [[nodiscard]] std::uint64_t root_bytes() const {
    const bool root = call_.parks() || call_.is_centralized();
    constexpr std::uint64_t fixed = std::uint64_t{64} << 10;
    return root ? fixed + 64 * static_cast<std::uint64_t>(channel_.size()) : 0;
  }

  /// Bytes of what mid gets in STEPS: listed objects that stay where they are.
  [[nodiscard]] std::uint64_t staying_bytes() const {
    const bool lists = parameters_.callbacks == CallbackMode::steps && context_.agreed.mid;
    return lists ? context_.user.staying * (3 * sizeof(int) + callbacks_.entries().bytes()) : 0;
  }

  [[nodiscard]] std::uint64_t transport_bytes() const {
    return objects::transport_bytes(call_, exports_.peers.size() + imports_.sources.size(),
                                    parameters_.callbacks == CallbackMode::steps);
  }

  std::optional<Diagnostic> look_at_input() {
    const UserLists& user = context_.user;
    if (!user.exports_given() && !user.imports_given())
      return invalid("Import or export lists needed.");
    if (auto diagnostic = callbacks_.missing()) return diagnostic;
    if (auto diagnostic = check_lists(user, callbacks_.entries(), channel_.size()))
      return diagnostic;
    return within_memory("the lists", [&] {
      leading_ = migrating(ledger_, user.leading(), callbacks_.entries(), only_proc_changes_,
                           channel_.rank());
      pattern_ = pattern_of(leading_, channel_.rank(), channel_.size());
      context_.user.staying = static_cast<std::uint64_t>(user.leading().count) - leading_.count;
    });
  }

  /// Those that must be the same on all ranks.
  void agree_on_parameters(mpi::Agreement& agreement) const {
    agreement.equal(kind_of_lists, context_.agreed.exports_given);
    const auto same = [&](const char* name, auto value, auto text) {
      agreement.equal({.name = name, .text = text, .remedy = "set the same on all ranks"}, value);
    };
    const auto number = mpi::Named{.name = nullptr}.text;
    same("NUM_GID_ENTRIES", callbacks_.entries().gid, number);
    same("NUM_LID_ENTRIES", callbacks_.entries().lid, number);
    same("MIGRATE_METHOD", *parameters_.method, parameter_value<Method>);
    same("MIGRATE_CALLBACKS", parameters_.callbacks, parameter_value<CallbackMode>);
    same("MIGRATE_HEURISTIC", parameters_.options.phased.heuristic, parameter_value<Heuristic>);
    same("MIGRATE_SCHEDULER", parameters_.options.phased.scheduler, parameter_value<Scheduler>);
    same("MIGRATE_PARKING", parameters_.options.phased.parking, number);
    same("MIGRATE_SEED", parameters_.options.phased.seed, number);
    same("MIGRATE_EDGE_ORDER", parameters_.options.cyclic.edge_order, parameter_value<EdgeOrder>);
    same("MIGRATE_VERIFY", parameters_.options.verify, mpi::yes_or_no);
  }

  /// What the ranks must know of each other before anything else, in one reduction.
  void agree_on_input() {
    const MigrationList& leading = context_.user.leading();
    const Probe found = probe(zoltan_, leading.count > 0 ? leading.ids : ObjectIds{});
    callbacks_.set_entries(found.entries);
    only_proc_changes_ = found.only_proc_changes;
    call_.message_object_bytes = found.entries.bytes() + 3 * sizeof(int);
    std::optional<Diagnostic> diagnostic;
    if (found.code < 0)
      diagnostic = Diagnostic{ErrorCode::internal, "stock Zoltan_Migrate moves no object"};
    if (!diagnostic) diagnostic = without_meaning(zoltan_, ObjectKind::callbacks);
    if (!diagnostic) diagnostic = look_at_input();

    const UserLists& user = context_.user;
    Agreed& agreed = context_.agreed;
    agreed.exports_given = user.exports_given();
    agreed.with_parts = user.leading().count >= 0 && user.leading().parts != nullptr;
    agreed.pre = callbacks_.has_pre();
    agreed.mid = callbacks_.has_mid();
    agreed.post = callbacks_.has_post();
    agreed.memory_fn = context_.asks_memory();
    agreed.counts_objects = parameters_.callbacks == CallbackMode::steps && callbacks_.has_count();
    if (agreed.counts_objects) object_count_.begin(callbacks_);
    agreed.report = !parameters_.report.empty();
    agreed.trace = !parameters_.options.trace.empty();
    agreed.transfers = !parameters_.options.transfers.empty();
    agreed.smallest_memory = parameters_.options.budget_bytes;
    mpi::Agreement agreement;
    for (bool* const on_some_rank :
         {&agreed.with_parts, &agreed.pre, &agreed.mid, &agreed.post, &agreed.memory_fn,
          &agreed.report, &agreed.trace, &agreed.transfers})
      agreement.largest(*on_some_rank);
    agreement.least(agreed.smallest_memory);
    // Where any rank's list is none they are announced: lists that look like one on some ranks
    // only.
    bool regular = pattern_.regular, ascending = pattern_.ascending;
    std::uint64_t more_parts = pattern_.used > 1 ? pattern_.used - 1 : 0;
    agreement.least(regular);
    agreement.least(ascending);
    agreement.largest(more_parts);
    agreement.least(agreed.counts_objects);
    agree_on_parameters(agreement);
    mpi::Borrowing own(frame_.channel);
    own.join(agreement);
    agreement.run(channel_, diagnostic);
    own.complete();
    more_parts *= static_cast<std::uint64_t>(channel_.size());
    layout_ = plan::agree_on_layout(channel_, pattern_, {regular, ascending, more_parts});
    context_.report.lists_from_layout = layout_ != plan::MapLayout::none ? 1 : 0;
  }

  /// All ranks record, or none.
  void begin_trace() {
    if (context_.agreed.transfers) frame_.list_transfers(parameters_.options.transfers);
    if (!context_.agreed.trace) return;
    frame_.record(parameters_.options.trace);
    frame_.align();
  }

  /// AUTO: what fits the cache is packed, sent and unpacked together, which is fastest.
  void choose_method() {
    if (parameters_.method != Method::automatic) return;
    parameters_.method = Method::stream;
    copy_text(name_of(parameters_.method), context_.report.method);
    copy_text("STREAM packs and sends what fits the cache at a time", context_.report.reason);
  }

  /// Exports and sources, from whichever lists there are, and the arrays for what is sent of them.
  void find_lists() {
    std::optional<Diagnostic> diagnostic =
        within_memory("the lists", [&] { give_parts_to_imports(); });
    Vector<mpi::SparseCount> announced(ledger_);
    try {
      if (layout_ != plan::MapLayout::none)
        layout_bytes_ = plan::compute_counts(channel_, ledger_, layout_, pattern_, leading_.peers,
                                             0, announced);
      else
        mpi::exchange_sparse_counts(channel_, ledger_, leading_.peers, announced);
    } catch (const std::bad_alloc&) {  // when the exchange is over
      announced.clear();
      diagnostic = Diagnostic{ErrorCode::out_of_memory, "no memory for the lists"};
    }
    if (!context_.agreed.exports_given) return invert_lists(announced, std::move(diagnostic));
    exports_ = std::move(leading_);
    if (!diagnostic)
      diagnostic = within_memory("the lists", [&] {
        imports_.sources.assign(announced.begin(), announced.end());
        for (const Peer& source : imports_.sources) imports_.count += source.count;
        allocate_gids();
        allocate_lists();
      });
    mpi::agree(channel_, diagnostic);
  }

  void call_pre() {
    const bool had_mid = context_.agreed.mid;
    std::optional<Diagnostic> diagnostic =
        callbacks_.pre(context_.user.imports, context_.user.exports);
    if (!diagnostic) diagnostic = callbacks_.missing();
    agree_on_callbacks(context_, diagnostic);
    if (context_.agreed.mid && !had_mid)
      mpi::agree(channel_, within_memory("the lists of mid", [&] { allocate_lists_of_mid(); }));
  }

  void invert_lists(std::span<const mpi::SparseCount> wanted, std::optional<Diagnostic> mine) {
    const EntryCounts& entries = callbacks_.entries();
    const bool with_parts = context_.agreed.with_parts;
    if (!mine)
      mine = within_memory("the lists of exports",
                           [&] { exports_ = make_inverse(ledger_, wanted, entries, with_parts); });
    mpi::agree(channel_, mine);
    invert(channel_, ledger_, leading_, exports_, entries, with_parts,
           objects::chunk_for(context_.agreed.smallest_memory));
    mpi::agree(channel_, within_memory("the lists of imports", [&] {
                 imports_.sources.assign(leading_.peers.begin(), leading_.peers.end());
                 imports_.count = leading_.count;
                 order_imports();
                 allocate_lists();
               }));
  }

  void allocate_gids() {
    imports_.own_gids = Array<ZOLTAN_ID_TYPE>(
        ledger_, imports_.count * static_cast<std::size_t>(callbacks_.entries().gid));
    imports_.gids = imports_.own_gids.data();
  }
  /// For what is known of an object before it is sent.
  void allocate_lists() {
    sizes_ = Array<int>(ledger_, exports_.count);
    imports_.sizes = Array<int>(ledger_, imports_.count);
    allocate_lists_of_mid();
  }
  void allocate_lists_of_mid() {
    if (parameters_.callbacks == CallbackMode::hold || !context_.agreed.mid) return;
    imports_.lids = Array<ZOLTAN_ID_TYPE>(
        ledger_, imports_.count * static_cast<std::size_t>(callbacks_.entries().lid));
    if (context_.agreed.with_parts) imports_.parts = Array<int>(ledger_, imports_.count);
  }

  /// Global ids in the order in which stock Zoltan unpacks what only import lists ask for. The rest
  /// of those lists is not needed any more, but for the order of a step's part of them.
  void order_imports() {
    leading_.drop_parts();
    const bool hold = parameters_.callbacks == CallbackMode::hold;
    imports_.gids = leading_.ids.gids;
    if (!hold && !leading_.grouped) {
      imports_.places = Array<std::uint32_t>(ledger_, leading_.count);
      std::ranges::copy(leading_.order, imports_.places.begin());
      imports_.blocked = leading_.blocked;
    }
    if (hold && leading_.blocked && !leading_.grouped) {
      imports_.in_order = &leading_;
    } else if (leading_.owns_arrays()) {
      leading_.keep_sorted_gids(callbacks_.entries());
    } else if (!leading_.grouped) {
      copy_sorted_gids();
    }
  }

  void copy_sorted_gids() {
    allocate_gids();
    for (std::uint64_t k = 0; k < leading_.count; ++k)
      leading_.ids.copy(callbacks_.entries(), leading_.order[k], {imports_.gids, nullptr}, k);
    leading_.order = {};
  }

  /// A rank that gives no parts where others do imports to the part of its own number.
  void give_parts_to_imports() {
    const bool lacks = !context_.agreed.exports_given && leading_.parts == nullptr;
    if (!context_.agreed.with_parts || !lacks) return;
    leading_.give_part(ledger_, channel_.rank());
  }

  [[nodiscard]] std::optional<Diagnostic> ask_sizes() {
    Valet_Migration_Report& report = context_.report;
    report.objects_exported = exports_.count;
    report.objects_imported = imports_.count;
    const std::span<int> sizes(sizes_.data(), sizes_.size());
    auto diagnostic = callbacks_.sizes(exports_.ids, 0, sizes);
    if (!diagnostic)
      for (const int size : sizes) report.bytes_exported += static_cast<std::uint64_t>(size);
    return diagnostic;
  }

  /// The matrix of a root, before anything moves.
  void reserve_matrix() {
    if (!call_.is_centralized()) return;
    call_.matrix = objects::room_for_matrix(channel_, ledger_, imports_.sources.size());
    const std::size_t memory = parameters_.options.budget_bytes;
    const bool cyclic = call_.method == Method::cyclic;
    const std::uint64_t needed = call_.matrix_bytes();
    std::optional<Diagnostic> diagnostic;
    if (needed > memory)
      diagnostic = diagnose(ErrorCode::budget_too_small,
                            cyclic ? "MIGRATE_METHOD CYCLIC" : "MIGRATE_SCHEDULER CENTRALIZED",
                            " needs ", needed, " bytes here for the ", call_.matrix.pairs,
                            " pairs of ranks between which objects move, but MIGRATE_MEMORY is ",
                            memory, "; raise it or use ", (cyclic ? "PHASED" : "DISTRIBUTED"));
    mpi::agree(channel_, diagnostic);
  }

  void move() {
    std::optional<Diagnostic> diagnostic = ask_sizes();
    reserve_matrix();
    const objects::Scratch scratch = objects::divide_scratch(
        {parameters_.options.budget_bytes, context_.agreed.smallest_memory, transport_bytes(),
         context_.report.bytes_exported + exports_.count * 2 * sizeof(int), exports_.peers.size(),
         call_.method == Method::direct, call_.has_phases()});
    call_.steps = 1;
    // A budget below what it takes to move anything at all.
    const std::uint64_t least = scratch.budget + transport_bytes();
    context_.report.budget_raised_bytes =
        least - std::min<std::uint64_t>(least, parameters_.options.budget_bytes);
    if (parameters_.callbacks == CallbackMode::steps)
      migrate_in_steps(context_, exports_, sizes_, imports_, scratch, std::move(diagnostic));
    else
      migrate_held(context_, exports_, {sizes_.data(), sizes_.size()}, imports_, scratch,
                   std::move(diagnostic));
  }

  /// Whether there is a trace is agreed on.
  static Options untraced(Options options) {
    options.trace.clear();
    options.transfers.clear();
    return options;
  }

  Zoltan_Struct* zoltan_;
  MigrationParameters parameters_;  ///< AUTO is replaced by its choice
  call::Frame frame_;
  mpi::Channel& channel_ = frame_.channel;
  Ledger& ledger_ = frame_.ledger;
  objects::Call call_;
  Callbacks callbacks_;
  Context context_;
  ObjectCount object_count_;
  std::string warning_;
  bool only_proc_changes_ = true;
  layout::MapPattern pattern_;  ///< of the leading list
  plan::MapLayout layout_ = plan::MapLayout::none;
  std::uint64_t layout_bytes_ = 0;  ///< what it took to compute counts
  ObjectList leading_, exports_;
  Imports imports_;
  Array<int> sizes_;
};

Valet_Migration_Report empty_report(const MigrationParameters& parameters, int ranks) {
  Valet_Migration_Report report{};
  copy_text(name_of(parameters.method), report.method);
  copy_text(to_string(parameters.callbacks), report.callbacks);
  report.ranks = ranks;
  report.budget_bytes = parameters.options.budget_bytes;
  return report;
}

}  // namespace

int migrate(Zoltan_Struct* zoltan, const UserLists& lists, const MigrationParameters& parameters) {
  MPI_Comm communicator = MPI_COMM_NULL;
  Valet_Migration_Report report{};
  int rank = 0;
  try {
    communicator = communicator_of(zoltan);
    if (communicator == MPI_COMM_NULL) return ZOLTAN_OK;
    int ranks = 1;
    MPI_Comm_rank(communicator, &rank);
    MPI_Comm_size(communicator, &ranks);
    report = empty_report(parameters, ranks);
    const double start = mpi::now();
    {
      Migration migration(zoltan, communicator, lists, parameters, report);
      try {
        migration.run();
        report.code = migration.code();
        if (!migration.warning().empty()) {
          copy_text(migration.warning(), report.message);
          if (rank == 0) print_warning(function_name, migration.warning());
        }
      } catch (const Error& error) {
        if (error.code() == ErrorCode::mpi_failure) throw;
        // Agreed upon: all ranks are here, so they can still report together.
        report.code = error.code() == ErrorCode::out_of_memory ? ZOLTAN_MEMERR : ZOLTAN_FATAL;
        copy_text(error.what(), report.message);
        print_error_once(migration.channel(), function_name, error.what());
      }
      report.seconds = mpi::now() - start;
      migration.write_trace();
      migration.finish_report();
      if (migration.context().agreed.report)
        append_report(migration.channel(), parameters.report, report);
    }
  } catch (const std::exception& error) {
    report.code = ZOLTAN_FATAL;
    copy_text(error.what(), report.message);
    print_error(rank, function_name, error.what());
  }
  change_handle_state(zoltan, [&](HandleState& own) { own.report = report; });
  return report.code;
}

}  // namespace valet::zoltan
