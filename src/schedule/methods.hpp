// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// The table of methods: all that Valet knows of a method apart from how it moves blocks. Whatever
/// depends on the method asks here, so a new one is a value of the public enums, an entry in
/// VALET_METHODS, a row in methods.cpp, and its own file. No MPI in here.

#include <valet/error.hpp>
#include <valet/export.hpp>
#include <valet/options.hpp>

#include <optional>
#include <span>

/// All methods but the choice among them, as row(C, name): VALET_METHOD_<C> in C and Fortran, <C>
/// as the value of a parameter, Method::<name> in C++, made by engine::make_<name>().
#define VALET_METHODS(row) \
  row(STREAM, stream) row(DIRECT, direct) row(PHASED, phased) row(CYCLIC, cyclic)

namespace valet::schedule {

/// How many blocks a sender puts into a message, which receivers learn while planning.
enum class MessageRule {
  stream,  ///< stream_sizes()
  phased,  ///< phased_sizes()
};

/// Where the memory for blocks in transit comes from.
enum class BudgetRule {
  any,         ///< from two blocks on, more is faster
  everything,  ///< what leaves a rank and arrives there must fit, all at once
};

/// When blocks reach their final slots, for Order::any.
enum class LandingRule {
  whenever,  ///< as they come: final slots are listed
  in_order,  ///< in the order of plan/any_order.hpp, if there is room for those that wait
  at_once,   ///< in that order, when all have left
};

/// One row. Migrations and layouts in place offer all methods; an all-to-all has methods of its
/// own, and moves pages by stream.
struct MethodTraits {
  Method method = Method::stream;
  const char* name = "";        ///< from VALET_METHODS, as to_string() and parse_method() have it
  const char* upper_name = "";  ///< as the value of a parameter
  MessageRule messages = MessageRule::stream;
  BudgetRule budget = BudgetRule::any;
  LandingRule landing = LandingRule::whenever;
  /// Whether its plans share memory inside a node. Null: never.
  bool (*shares_memory)(const Options&) = nullptr;
  std::size_t least_shared_budget = 0;  ///< of a rank that takes part in that
  bool has_phases = false;              ///< blocks move in steps that ranks take together
  /// Whether rank 0 keeps a table over all ranks. Null: never.
  bool (*has_root)(const Options&) = nullptr;
};

/// The rows, in the order of VALET_METHODS.
[[nodiscard]] VALET_EXPORT std::span<const MethodTraits> methods();
/// The row of a method; nullptr for Method::automatic and for what is no method.
[[nodiscard]] VALET_EXPORT const MethodTraits* find_traits(Method method) noexcept;
/// The row of a method that is one. @throws Error invalid_argument.
[[nodiscard]] VALET_EXPORT const MethodTraits& traits_of(Method method);
/// Whether rank 0 keeps a table over all ranks in the method of the options, which is one.
[[nodiscard]] inline bool has_root(const Options& options) {
  const auto asks = traits_of(options.method).has_root;
  return asks != nullptr && asks(options);
}
/// What is wrong with a method that is none, and with the other choices of options. Local.
/// @param option  What the message calls it.
[[nodiscard]] VALET_EXPORT std::optional<Diagnostic> check_method(const char* option,
                                                                  Method method);
[[nodiscard]] VALET_EXPORT std::optional<Diagnostic> check_choices(const Options& options);

}  // namespace valet::schedule
