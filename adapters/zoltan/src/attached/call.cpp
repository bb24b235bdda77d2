// SPDX-License-Identifier: BSD-3-Clause
#include "attached/call.hpp"

#include "base/diagnose.hpp"
#include "base/memory_reserve.hpp"
#include "handle/stage_callbacks.hpp"
#include "lists/list_reader.hpp"
#include "mpi/agreement.hpp"
#include "rebalance/part_ranks.hpp"
#include "rebalancer/queries.hpp"
#include "storage/guarded_backend.hpp"
#include <valet/detail/first_failure.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace valet::zoltan {
namespace {

/// As Zoltan takes them apart; ones that count are the same on all ranks.
constexpr std::array agreed_parameters{"AUTO_MIGRATE",      "RETURN_LISTS",
                                       "LB_METHOD",         "IMBALANCE_TOL",
                                       "OBJ_WEIGHT_DIM",    "NUM_GID_ENTRIES",
                                       "NUM_LID_ENTRIES",   "NUM_GLOBAL_PARTS",
                                       "LB_BLOCK_SIZE",     "LB_GRID",
                                       "LB_EXTENTS",        "KEEP_CUTS",
                                       "REDUCE_DIMENSIONS", "RCB_RECTILINEAR_BLOCKS"};

/// The first letters of a value, as a number that an agreement compares.
std::int64_t letters_of(const std::string& value) {
  std::int64_t letters = 0;
  for (std::size_t k = 0; k < sizeof letters; ++k)
    letters = letters << 8 | (k < value.size() ? value[k] & 0x7F : 0);
  return letters;
}
std::string text_of_letters(std::int64_t letters) {
  std::string text;
  for (int shift = 56; shift >= 0 && (letters >> shift & 0x7F) != 0; shift -= 8)
    text += static_cast<char>(letters >> shift & 0x7F);
  return text;
}

PartitionSetup setup_of(Zoltan_Struct* zoltan, bool is_in_front) {
  const auto is_on = [zoltan](const char* name) {
    return followed_number(zoltan, name).value_or(0) != 0;
  };
  PartitionSetup setup;
  setup.method = followed_parameter(zoltan, "LB_METHOD").value_or("RCB");
  setup.keeps_planes = is_on("RCB_RECTILINEAR_BLOCKS");
  setup.reduces_dimensions = is_on("REDUCE_DIMENSIONS");
  setup.block_size = setup.deals_blocks() && setup.method != "CYCLIC"
                         ? static_cast<std::uint64_t>(
                               std::max(1, followed_number(zoltan, "LB_BLOCK_SIZE").value_or(1)))
                         : 1;
  setup.may_know_more = !is_in_front || followed_parameter(zoltan, "PART_SIZES").has_value() ||
                        RegisteredQueries(zoltan).fixed;
  setup.parts.global = followed_number(zoltan, "NUM_GLOBAL_PARTS");
  setup.parts.local = followed_number(zoltan, "NUM_LOCAL_PARTS");
  setup.parts.are_given = setup.parts.global || setup.parts.local;
  return setup;
}

bool is_of_relations(const std::string& method) {
  return method == "GRAPH" || method == "HYPERGRAPH" || method == "PARMETIS" || method == "JOSTLE";
}

/// The first of these that the application has registered, for an error.
const char* function_for_packing(Zoltan_Struct* zoltan) {
  constexpr std::array<std::pair<ZOLTAN_FN_TYPE, const char*>, 6> functions{
      {{ZOLTAN_OBJ_SIZE_FN_TYPE, "ZOLTAN_OBJ_SIZE_FN"},
       {ZOLTAN_OBJ_SIZE_MULTI_FN_TYPE, "ZOLTAN_OBJ_SIZE_MULTI_FN"},
       {ZOLTAN_PACK_OBJ_FN_TYPE, "ZOLTAN_PACK_OBJ_FN"},
       {ZOLTAN_PACK_OBJ_MULTI_FN_TYPE, "ZOLTAN_PACK_OBJ_MULTI_FN"},
       {ZOLTAN_UNPACK_OBJ_FN_TYPE, "ZOLTAN_UNPACK_OBJ_FN"},
       {ZOLTAN_UNPACK_OBJ_MULTI_FN_TYPE, "ZOLTAN_UNPACK_OBJ_MULTI_FN"}}};
  for (const auto& [type, name] : functions)
    if (registered(zoltan, type).given()) return name;
  return nullptr;
}

/// Runs a function of the application. @return What it throws, as an error of all ranks.
template <class Function>
std::optional<Diagnostic> failure_of(const char* name, Function&& function) {
  valet::detail::FirstFailure failure;
  failure.attempt(name, [&] {
    const valet::detail::LeaveReserve leave;
    function();
  });
  return failure.diagnostic("nothing has moved");
}

}  // namespace

AttachedCall::AttachedCall(AttachedState& state) : state_(state), count_before_(state.count) {
  if (state.zoltan == nullptr)
    throw Error(ErrorCode::invalid_argument,
                state.is_detached
                    ? "this storage has been detached from its Zoltan_Struct; attach it again"
                    : "the Zoltan_Struct of this attached storage has been destroyed; attach the "
                      "storage to another one");
  if (state.is_in_call) {
    state.misuse = Diagnostic{ErrorCode::invalid_argument,
                              "a callback of Zoltan's partitions, migrates, attaches or detaches; "
                              "do that when the call has returned"};
    throw Error(state.misuse->code, state.misuse->text);
  }
  parameters_ = find_parameters(Reach::all_structures);
  setup_ = setup_of(state.zoltan, state.is_in_front);
  state.misuse.reset();
  state.is_in_call = true;
}

AttachedCall::~AttachedCall() { state_.is_in_call = false; }

MigrationParameters AttachedCall::find_parameters(Reach reach) const {
  const AttachedOptions& options = state_.options;
  return parameters_of_storage(state_.zoltan, options.migration, options.granularity,
                               options.when_infeasible, reach);
}

// What this call cannot obey is an error where it was asked for this storage itself. It may be for
// other structures otherwise, and is left out.

std::optional<Diagnostic> AttachedCall::leave_repair_out(const char* why) {
  if (parameters_.when_infeasible != WhenInfeasible::repair) return std::nullopt;
  if (find_parameters(Reach::this_structure).when_infeasible == WhenInfeasible::repair)
    return invalid("MIGRATE_WHEN_INFEASIBLE REPAIR ", why);
  parameters_.when_infeasible = WhenInfeasible::refuse;
  left_out_ = "MIGRATE_WHEN_INFEASIBLE = REPAIR";
  return std::nullopt;
}

std::optional<Diagnostic> AttachedCall::leave_cells_out(const char* why) {
  const std::uint64_t granularity = parameters_.granularity.value_or(1);
  if (granularity == 1) return std::nullopt;
  if (find_parameters(Reach::this_structure).granularity == granularity)
    return invalid("MIGRATE_GRANULARITY is ", granularity, ", but ", why);
  parameters_.granularity.reset();
  left_out_.append(left_out_.empty() ? "" : " and ")
      .append("MIGRATE_GRANULARITY = " + std::to_string(granularity));
  return std::nullopt;
}

std::optional<Diagnostic> AttachedCall::check_storage() const {
  const auto* const blocks = std::get_if<BlockStorage>(&state_.storage);
  if (blocks == nullptr) return std::nullopt;  // planning looks at it
  return storage::diagnostic_now(blocks->backend());
}

std::uint64_t AttachedCall::slots() const {
  return std::visit([](const auto& storage) { return slots_of(storage); }, state_.storage);
}

/// What all calls ask of the attached storage and its structure.
std::optional<Diagnostic> AttachedCall::check() {
  if (state_.is_ended)
    return invalid(
        "the storage that was attached to this Zoltan_Struct has ended; attach other storage, or "
        "detach() it before it ends");
  if (const char* const name = function_for_packing(state_.zoltan))
    return invalid("a ", name,
                   " is registered, but storage is attached to this Zoltan_Struct; "
                   "remove the functions that pack and unpack, or detach the storage");
  if (auto diagnostic = without_meaning(state_.zoltan, ObjectKind::storage)) return diagnostic;
  if (auto diagnostic = check_storage()) return diagnostic;
  if (state_.count > slots())
    return invalid(state_.count, " objects, but the attached storage has ", slots(),
                   " slots; say how many there are by count()");
  if (auto diagnostic = check_parts_size()) return diagnostic;
  if (setup_.parts.global.value_or(1) < 1 || setup_.parts.local.value_or(0) < 0)
    return invalid("NUM_GLOBAL_PARTS or NUM_LOCAL_PARTS is ",
                   std::min(setup_.parts.global.value_or(1), setup_.parts.local.value_or(1)),
                   "; give whole numbers, at least 1 and 0");
  const char* const no_repair =
      lists_          ? "changes what lists say; take REFUSE or GROW"
      : moves_parts() ? "changes ranks and not parts; take REFUSE or GROW where parts are not ranks"
      : std::holds_alternative<RaggedStorage>(state_.storage)
          ? "counts slots and no bytes; take REFUSE or GROW for blocks of different sizes"
          : nullptr;
  if (no_repair != nullptr)
    if (auto found = leave_repair_out(no_repair)) return found;
  return check_count();
}

std::optional<Diagnostic> AttachedCall::check_parts_size() const {
  if (!state_.parts || parts_.size() >= slots()) return std::nullopt;
  return invalid("parts() has ", parts_.size(), " entries, but the attached storage has ", slots(),
                 " slots; give one for each");
}

std::optional<Diagnostic> AttachedCall::check_count() const {
  if (!RegisteredQueries(state_.zoltan).count) return std::nullopt;
  int code = ZOLTAN_OK;
  int count = 0;
  if (auto diagnostic = failure_of("ZOLTAN_NUM_OBJ_FN", [&] {
        count = RegisteredQueries::count_objects(state_.zoltan, code);
      }))
    return diagnostic;
  if (code < 0)
    return diagnose(ErrorCode::callback_failed, "Error returned from ZOLTAN_NUM_OBJ_FN function.");
  if (count >= 0 && static_cast<std::uint64_t>(count) == state_.count) return std::nullopt;
  return invalid("ZOLTAN_NUM_OBJ_FN says ", count, " objects, but ", state_.count,
                 " are attached; let both say the same, or remove the function");
}

std::optional<Diagnostic> AttachedCall::check_weights() const {
  const std::optional<int> asked = followed_number(state_.zoltan, "OBJ_WEIGHT_DIM");
  const int given = state_.sources.weights ? 1 : 0;
  if (setup_.tells_objects || asked.value_or(given) == given || asked == 0) return std::nullopt;
  return invalid("OBJ_WEIGHT_DIM is ", *asked, ", but ", given,
                 " weights are attached; give weights(), or leave it out");
}

std::optional<Diagnostic> AttachedCall::check_partition(const PartitionWay& way, bool one_by_one) {
  if (way.wrong) return way.wrong;
  if (auto diagnostic = check()) return diagnostic;
  if (auto diagnostic = check_weights()) return diagnostic;
  if (way.without_parts && setup_.parts.are_given)
    return invalid(
        "Zoltan_LB_Balance with NUM_GLOBAL_PARTS or NUM_LOCAL_PARTS; call "
        "Zoltan_LB_Partition, which tells the parts");
  if (way.gives_lists() && way.lists == ReturnLists::candidates)
    return invalid(
        "RETURN_LISTS CANDIDATE_LISTS says nothing about attached storage; ask for ALL, "
        "IMPORT, EXPORT, PARTS or NONE");
  if (way.gives_lists() && way.moves)
    if (auto found = leave_repair_out(
            "changes what lists say; set RETURN_LISTS NONE, or take REFUSE or GROW"))
      return found;
  if ((one_by_one || answers_for_objects_) && way.moves)
    if (auto found = leave_cells_out(
            one_by_one
                ? "lists have each object by itself; set RETURN_LISTS NONE for cells"
                : "query functions of the application name single objects, which are then in no "
                  "cells; remove those functions, or leave it out"))
      return found;
  if (is_of_relations(setup_.method) && !setup_.tells_objects && !state_.sources.ids)
    return invalid("LB_METHOD ", setup_.method,
                   " needs ids, by which the application names neighbours; give ids()");
  if (setup_.is_own_order() && setup_.tells_objects)
    return invalid(
        "LB_METHOD BLOCK_CYCLIC numbers the objects by rank and slot; remove "
        "ZOLTAN_OBJ_LIST_FN, or take a method of Zoltan's");
  return check_makes_parts(setup_);
}

void AttachedCall::join_stages(mpi::Agreement& agreement) {
  const StageCallbacks callbacks(state_.zoltan);
  stages_ = {callbacks.has_pre(), callbacks.has_mid(), callbacks.has_post()};
  for (bool* const on_some_rank : {&stages_.pre, &stages_.mid, &stages_.post})
    agreement.largest(*on_some_rank);
}

void AttachedCall::join(mpi::Agreement& agreement) {
  join_stages(agreement);
  agreement.largest(state_.count_has_changed);
  agreement.equal({"whether parts() are given", mpi::yes_or_no}, state_.parts != nullptr);
  agreement.equal({"whether there are NUM_GLOBAL_PARTS or NUM_LOCAL_PARTS", mpi::yes_or_no},
                  setup_.parts.are_given);
}

/// What must be the same on all ranks where Zoltan partitions.
void AttachedCall::join_zoltans(mpi::Agreement& agreement, std::int64_t queries) const {
  agreement.equal({"which query functions are registered", RegisteredQueries::names,
                   "register the same on all ranks"},
                  queries);
  for (const char* const name : agreed_parameters)
    agreement.equal({name, text_of_letters, "set the same on all ranks"},
                    letters_of(followed_parameter(state_.zoltan, name).value_or("DEFAULT")));
}

/// A rank whose count has changed is in no layout, and then no rank is.
void AttachedCall::forget_layout_of_other_counts() {
  if (std::exchange(state_.count_has_changed, false)) state_.layout.reset();
}

/// What a callback did that it must not.
std::optional<Diagnostic> AttachedCall::misuse() const {
  if (!state_.is_ended) return state_.misuse;
  return invalid(
      "a callback of Zoltan's ends the attached storage; do that when the call has returned");
}

void AttachedCall::agree(std::optional<Diagnostic> mine) {
  if (!mine) mine = misuse();
  mpi::agree(channel(), mine);
}

void AttachedCall::stage(std::optional<Diagnostic> diagnostic) {
  if (diagnostic && diagnostic->code == ErrorCode::invalid_argument)
    diagnostic->code = ErrorCode::callback_failed;
  if (auto found = misuse()) diagnostic = std::move(found);
  mpi::Agreement agreement;
  join_stages(agreement);
  agreement.run(channel(), diagnostic);
}

void AttachedCall::agree_on_partition(const PartitionWay& way, bool one_by_one) {
  const RegisteredQueries application(state_.zoltan);
  setup_.tells_objects = application.objects;
  setup_.tells_geometry = application.geometry;
  answers_for_objects_ = application.tells_of_objects();
  std::optional<Diagnostic> mine = read_parts();
  if (!mine && setup_.method == "BLOCK_CYCLIC")
    mine = read_tiles(state_.zoltan, state_.layout, setup_.ranks, setup_.tiles);
  mpi::Agreement agreement;
  join(agreement);
  join_zoltans(agreement, application.all);
  agreement.equal({"whether objects are moved", mpi::yes_or_no}, way.moves);
  if (!mine) mine = check_partition(way, one_by_one);
  agreement.run(channel(), mine ? mine : misuse());
  forget_layout_of_other_counts();
  if (!state_.has_whole_reductions)
    if (auto found = check_whole_reductions(channel())) mpi::agree(channel(), found);
  state_.has_whole_reductions = true;
  if (moves_parts() && !application.parts)
    setup_.parts_before = parts_.first(static_cast<std::size_t>(state_.count));
}

void AttachedCall::agree_on_lists(const MigrationList& leading) {
  lists_ = true;
  std::optional<Diagnostic> mine = read_parts();
  mpi::Agreement agreement;
  join(agreement);
  if (!mine) mine = check();
  agreement.run(channel(), mine ? mine : misuse());
  forget_layout_of_other_counts();
  std::span<const int> listed;
  if (leading.parts != nullptr && leading.count > 0)
    listed = {leading.parts, static_cast<std::size_t>(leading.count)};
  Ledger ledger;
  const int parts = rebalance::PartRanks(channel(), ledger, setup_.parts).count();
  mpi::agree(channel(), check_parts(listed, parts, "the object at place "));
}

rebalance::Settings AttachedCall::settings(bool each_object) {
  constexpr double zoltans = 1.1;
  rebalance::Settings settings;
  const auto tolerance = followed_parameter(state_.zoltan, "IMBALANCE_TOL");
  settings.imbalance_tolerance =
      std::max(std::nextafter(1.0, 2.0), tolerance ? std::atof(tolerance->c_str()) : zoltans);
  settings.order_rule = order_rule_of(setup_, setup_.parts.are_given);
  if (!setup_.tells_objects) settings.from = state_.layout;
  // Lists are Zoltan's own where it numbers the objects as they are numbered here, and objects that
  // the application tells it may have other weights or another order.
  const bool is_zoltans = each_object && !settings.from && !setup_.is_own_order();
  if (settings.order_rule && is_zoltans)
    settings.order_rule->asked = rebalance::OrderRule::Asked::always;
  take_parameters(parameters_, settings);
  if (each_object || setup_.tells_geometry) settings.granularity = 1;
  // Before MID_MIGRATE, as an application's function does it.
  if (settings.when_infeasible == WhenInfeasible::refuse &&
      std::visit([](const auto& is) { return is.grows(); }, state_.storage))
    settings.when_infeasible = WhenInfeasible::grow;
  if (state_.options.grow)
    settings.grow = [this](std::uint64_t required) {
      const auto grow = state_.options.grow;  // which may end the attached storage
      grow(required);
      look_again_in_growth();
      return joined(std::get<BlockStorage>(state_.storage), fields_along());
    };
  if (state_.options.grow_ragged)
    settings.grow_ragged = [this](const RaggedRoom& required) {
      const auto grow = state_.options.grow_ragged;
      grow(required);
      look_again_in_growth();
      return joined(std::get<RaggedStorage>(state_.storage), fields_along());
    };
  settings.wrong = std::visit([&](const auto& is) { return rebalance::check_growth(settings, is); },
                              state_.storage);
  return settings;
}

rebalance::Sources AttachedCall::sources() const {
  rebalance::Sources sources = state_.sources;
  if (setup_.tells_objects || followed_number(state_.zoltan, "OBJ_WEIGHT_DIM") == 0)
    sources.weights = nullptr;
  if (setup_.tells_objects) sources.ids = nullptr;
  if (setup_.tells_objects || setup_.tells_geometry) sources.coordinates = nullptr;
  return sources;
}

const char* AttachedCall::lists_to_ask_for(const PartitionWay& way) const {
  if (!way.gives_lists()) return setup_.parts.are_given ? "PARTS" : "EXPORT";
  switch (way.lists) {
    case ReturnLists::exports: return "EXPORT";
    case ReturnLists::parts: return "PARTS";
    default: return "ALL";
  }
}

std::optional<Diagnostic> AttachedCall::read_parts() {
  if (!state_.parts) return std::nullopt;
  return failure_of("reading parts()", [this] {
    const PartSource parts = state_.parts;
    parts_ = parts();
  });
}

/// What is thrown becomes an error of all ranks.
void AttachedCall::look_again_in_growth() {
  std::optional<Diagnostic> found = misuse();
  if (!found) found = read_parts();
  if (!found) found = check_parts_size();
  if (found) throw Error(found->code, found->text);
}

void AttachedCall::read_storage_again() {
  std::optional<Diagnostic> mine = misuse();
  if (!mine) mine = read_parts();
  if (!mine) mine = check_storage();
  if (!mine) mine = check_parts_size();
  if (!mine && state_.count != count_before_)
    mine = invalid("a callback of Zoltan's changes count() from ", count_before_, " to ",
                   state_.count, "; say the count before the call");
  agree(mine);
}

std::vector<Field> AttachedCall::fields_along() const {
  if (!state_.parts || !(setup_.parts.are_given || lists_)) return {};
  return {field(parts_of_slots(), 1, "parts()")};
}

std::span<int> AttachedCall::parts_of_slots() const {
  return parts_.first(std::min<std::size_t>(parts_.size(), slots()));
}

void AttachedCall::write_ranks_as_parts() const {
  if (!state_.parts || setup_.parts.are_given) return;
  std::ranges::fill(parts_.first(static_cast<std::size_t>(state_.count)), channel().rank());
}

}  // namespace valet::zoltan
