// SPDX-License-Identifier: BSD-3-Clause
#include "handle/handle_state.hpp"

#include "base/diagnose.hpp"
#include "base/environment.hpp"
#include "base/names.hpp"
#include "geometry/numbered_array.hpp"
#include "handle/messages.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <mutex>
#include <span>
#include <string_view>
#include <utility>

namespace valet::zoltan {
namespace {

struct HandleStates {
  std::mutex mutex;
  std::map<const Zoltan_Struct*, HandleState> of;
};

HandleStates& states() {
  // Never destroyed: Zoltan_Destroy may be called by destructors of other static objects.
  static auto* const all = new HandleStates;
  return *all;
}

/// What Zoltan obeys and does not tell. PART_SIZES, which are set by a function, are SET.
constexpr std::array<std::string_view, 17> followed_names{
    "AUTO_MIGRATE",      "RETURN_LISTS",    "LB_METHOD",
    "LB_BLOCK_SIZE",     "LB_GRID",         "LB_EXTENTS",
    "IMBALANCE_TOL",     "OBJ_WEIGHT_DIM",  "EDGE_WEIGHT_DIM",
    "NUM_GID_ENTRIES",   "NUM_LID_ENTRIES", "NUM_GLOBAL_PARTS",
    "NUM_LOCAL_PARTS",   "KEEP_CUTS",       "RCB_RECTILINEAR_BLOCKS",
    "REDUCE_DIMENSIONS", "PART_SIZES"};

/// Without white space in front, as Zoltan reads names and values, and in upper case.
std::string as_zoltan_reads(const char* text) {
  while (std::isspace(static_cast<unsigned char>(*text)) != 0) ++text;
  return valet::detail::upper_case(text);
}

void follow(HandleState& own, const char* name, const char* value) {
  std::string key = as_zoltan_reads(name);
  constexpr std::string_view old_end = "_PARTITIONS";  // also of numbers of parts
  if (key.ends_with(old_end)) key.replace(key.size() - old_end.size(), key.npos, "_PARTS");
  if (std::ranges::find(followed_names, key) == followed_names.end()) return;
  std::string text = as_zoltan_reads(value);
  if (text == "DEFAULT")
    own.followed.erase(key);
  else
    own.followed[key] = std::move(text);
}

using Shape = BlockCyclic::Extents;

/// A whole number for each dimension, such as 2X3. @return Nothing where it is not that.
std::optional<Shape> parse_shape(std::string_view text, int least) {
  std::array<std::int64_t, layout::most_dimensions> numbers{};
  for (std::size_t count = 0; count < numbers.size();) {
    const std::string_view digits = text.substr(0, text.find('X'));
    int number = 0;
    const auto [read, error] = std::from_chars(digits.begin(), digits.end(), number);
    if (error != std::errc() || read != digits.end() || number < least) return std::nullopt;
    numbers[count++] = number;
    if (digits.size() == text.size()) return Shape(std::span(numbers).first(count));
    text.remove_prefix(digits.size() + 1);
  }
  return std::nullopt;
}

/// What Zoltan's own partition does not know: LB_METHOD BLOCK_CYCLIC and its blocks or tiles.
ParameterAnswer own_partition_parameter(const char* name, const char* value) {
  using Verdict = ParameterAnswer::Verdict;
  const std::string key = as_zoltan_reads(name);
  const std::string text = as_zoltan_reads(value);
  if (key == "LB_METHOD" && text == "BLOCK_CYCLIC") return {Verdict::taken, {}};
  if (key != "LB_BLOCK_SIZE" && key != "LB_GRID" && key != "LB_EXTENTS") return {};
  const int least = key == "LB_EXTENTS" ? 0 : 1;
  if (text == "DEFAULT" || parse_shape(text, least)) return {Verdict::taken, {}};
  return {Verdict::refused, "Invalid value `" + text + "' for parameter `" + key +
                                "'; it takes a whole number from " + std::to_string(least) +
                                " on, or up to 6 with an x between them, one for each dimension. "
                                "It stays as it was."};
}

/// Read once: what the environment asked for when the first migration was decided.
const ParameterTable& environment() {
  static const ParameterTable table = [] {
    std::string warnings;
    ParameterTable read = parameters_of_environment(warnings);
    if (!warnings.empty()) print_warning("Valet_Migrate", warnings);
    valet::detail::warn_of_unknown_variables(rank_in_world());
    return read;
  }();
  return table;
}

/// Those for NULL, and of the environment.
ParameterTable parameters_of_all() {
  ParameterTable table = copy_of(nullptr, &HandleState::parameters);
  table.fall_back_to(environment());
  return table;
}

}  // namespace

Registered<ZOLTAN_VOID_FN> registered(Zoltan_Struct* zoltan, ZOLTAN_FN_TYPE type) {
  Registered<ZOLTAN_VOID_FN> found;
  if (Zoltan_Get_Fn(zoltan, type, &found.function, &found.data) < 0) found.function = nullptr;
  return found;
}

ParameterAnswer set_parameter(const Zoltan_Struct* zoltan, const char* name, const char* value) {
  if (name == nullptr || value == nullptr) return {};
  ParameterAnswer answer = own_partition_parameter(name, value);
  change_handle_state(zoltan, [&](HandleState& own) {
    if (answer.verdict == ParameterAnswer::Verdict::taken) follow(own, name, value);
    if (answer.verdict == ParameterAnswer::Verdict::not_ours)
      answer = own.parameters.set(name, value);
  });
  return answer;
}

void follow_parameter(const Zoltan_Struct* zoltan, const char* name, const char* value) {
  change_handle_state(zoltan, [&](HandleState& own) { follow(own, name, value); });
}

MigrationParameters parameters_of(const Zoltan_Struct* zoltan, const MigrationParameters& given,
                                  Reach reach) {
  MigrationParameters parameters = given;
  if (reach == Reach::all_structures) {
    ParameterTable others = parameters_of_all();
    others.leave_to(given);
    others.apply_to(parameters);
  }
  copy_of(zoltan, &HandleState::parameters).apply_to(parameters);
  return parameters;
}

MigrationParameters parameters_of_storage(const Zoltan_Struct* zoltan, const Options& options,
                                          std::optional<std::uint64_t> granularity,
                                          WhenInfeasible when_infeasible, Reach reach) {
  MigrationParameters given;
  given.options = options;
  given.granularity = granularity;
  given.when_infeasible = when_infeasible;
  if (options.method != Method::automatic) given.method = options.method;
  MigrationParameters parameters = parameters_of(zoltan, given, reach);
  parameters.options.method = parameters.method.value_or(Method::automatic);
  parameters.options.progress_bar = parameters.progress.value_or(options.progress_bar);
  return parameters;
}

std::string ignored_parameter(ObjectKind kind) {
  return parameters_of_all().without_meaning_for(kind);
}

std::optional<Diagnostic> without_meaning(const Zoltan_Struct* zoltan, ObjectKind kind) {
  const std::string found = copy_of(zoltan, &HandleState::parameters).without_meaning_for(kind);
  if (found.empty()) return std::nullopt;
  return invalid("the parameter ", found, " says nothing about ",
                 kind == ObjectKind::callbacks ? "objects behind callbacks"
                 : kind == ObjectKind::lists   ? "the lists of a partition that was made before"
                                               : "objects in slots of arrays or Views",
                 "; set it to DEFAULT for this Zoltan_Struct");
}

std::optional<std::string> followed_parameter(const Zoltan_Struct* zoltan,
                                              const std::string& name) {
  std::optional<std::string> value;
  read_handle_state(zoltan, [&](const HandleState& own) {
    if (const auto found = own.followed.find(name); found != own.followed.end())
      value = found->second;
  });
  return value;
}

std::optional<int> followed_number(const Zoltan_Struct* zoltan, const std::string& name) {
  const std::optional<std::string> text = followed_parameter(zoltan, name);
  if (!text) return std::nullopt;
  if (text->starts_with('T')) return 1;
  return std::atoi(text->c_str());
}

std::optional<Diagnostic> read_tiles(const Zoltan_Struct* zoltan,
                                     const std::optional<ObjectLayout>& known, int& ranks,
                                     std::optional<BlockCyclic>& tiles) try {
  const auto shape = [zoltan](const char* name) {
    return parse_shape(followed_parameter(zoltan, name).value_or(""), 0).value_or(Shape());
  };
  const Shape grid = shape("LB_GRID");
  Shape blocks = shape("LB_BLOCK_SIZE"), extents = shape("LB_EXTENTS");
  const bool is_line = grid.size() <= 1 && blocks.size() <= 1;
  if (is_line && extents.size() != grid.size()) extents = {};
  if (is_line && extents.size() == 0) {
    ranks = grid.size() == 0 ? 0 : static_cast<int>(grid[0]);
    return std::nullopt;
  }
  if (blocks.size() == 0) blocks = Shape::filled(grid.size(), 1);
  if (extents.size() == 0 && known && known->tiling) extents = known->tiling->extents();
  if (blocks.size() != grid.size() || extents.size() != grid.size()) {
    const auto text = [](const Shape& values) {
      return values.size() == 0 ? "not set" : layout::shape_text(values);
    };
    return invalid("LB_BLOCK_SIZE is ", text(blocks), ", LB_GRID ", text(grid), ", LB_EXTENTS ",
                   text(extents), "; give each of them a number for each dimension");
  }
  auto coordinates = BlockCyclic::Coordinates::filled(grid.size(), 0);
  for (std::size_t d = 0; d < grid.size(); ++d) coordinates[d] = static_cast<int>(grid[d]);
  tiles.emplace(extents, blocks, coordinates);
  return std::nullopt;
} catch (const Error& error) {
  return Diagnostic{error.code(), std::string(error.message())};
}

bool has_attached(const Zoltan_Struct* zoltan) {
  return copy_of(zoltan, &HandleState::attached) != nullptr;
}

void read_handle_state(const Zoltan_Struct* zoltan,
                       const std::function<void(const HandleState&)>& read) {
  const std::lock_guard lock(states().mutex);
  const auto found = states().of.find(zoltan);
  if (found != states().of.end()) read(found->second);
}

void change_handle_state(const Zoltan_Struct* zoltan,
                         const std::function<void(HandleState&)>& change) {
  const std::lock_guard lock(states().mutex);
  change(states().of[zoltan]);
}

void copy_handle_state(const Zoltan_Struct* to, const Zoltan_Struct* from) {
  if (to == nullptr || from == nullptr || to == from) return;
  HandleState copy;
  read_handle_state(from, [&](const HandleState& own) { copy = own; });
  copy.report.reset();
  change_handle_state(to, [&](HandleState& own) {
    copy.attached = own.attached;
    own = copy;
  });
}

void forget_handle_state(const Zoltan_Struct* zoltan) {
  if (zoltan == nullptr) return;
  std::shared_ptr<Attachment> attached;  // ends outside of the lock
  const std::lock_guard lock(states().mutex);
  if (const auto found = states().of.find(zoltan); found != states().of.end()) {
    attached = std::move(found->second.attached);
    states().of.erase(found);
  }
  if (attached) attached->structure_is_gone();
}

namespace {
thread_local Zoltan_Struct* nobody = nullptr;
thread_local bool is_reached = false;
}  // namespace

bool stands_in_front() {
  is_reached = false;
  Zoltan_Destroy(&nobody);  // harmless, whoever is called
  return is_reached;
}

bool answers_question(Zoltan_Struct** destroyed) {
  if (destroyed != &nobody) return false;
  is_reached = true;
  return true;
}

ParameterLoan::ParameterLoan(Zoltan_Struct* zoltan, std::initializer_list<Name> names)
    : zoltan_(zoltan) {
  for (const Name& lent : names)
    before_.emplace_back(lent, followed_parameter(zoltan, lent.name).value_or(lent.otherwise));
}

ParameterLoan::~ParameterLoan() {
  for (const auto& [lent, value] : before_)
    if (lent.is_kept)
      follow_parameter(zoltan_, lent.name, value.c_str());
    else
      Zoltan_Set_Param(zoltan_, lent.name, value.c_str());
}

}  // namespace valet::zoltan
