// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// The MIGRATE_* parameters: names, checked values, and where a value comes from. One table for
/// objects behind callbacks, attached storage, lists and the Rebalancer.

#include "schedule/methods.hpp"
#include <valet/options.hpp>
#include <valet/rebalance.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace valet::zoltan {

enum class CallbackMode { hold, steps };

/// How the objects of a structure are reached.
enum class ObjectKind : unsigned {
  callbacks = 1,  ///< by the functions that pack and unpack them
  storage = 2,    ///< in slots, partitioned and moved: attached storage, the Rebalancer
  lists = 4,      ///< in slots, moved as lists have it
};

/// What one migration obeys.
struct MigrationParameters {
  std::optional<Method> method;  ///< none: stock Zoltan moves objects behind callbacks
  CallbackMode callbacks = CallbackMode::hold;
  Options options = {};          ///< all but the method
  std::optional<bool> progress;  ///< whether rank 0 shows the progress
  bool verbose = false;          ///< says once who moves the objects
  std::string report;            ///< path of a file; empty: none
  // For what moves in slots.
  std::optional<std::uint64_t> granularity;
  WhenInfeasible when_infeasible = WhenInfeasible::refuse;
};

/// The value of MIGRATE_METHOD.
[[nodiscard]] const char* name_of(std::optional<Method> method);
[[nodiscard]] const char* to_string(CallbackMode callbacks) noexcept;

/// What became of one Zoltan_Set_Param.
struct ParameterAnswer {
  enum class Verdict {
    not_ours,  ///< Zoltan must be asked
    taken,
    refused,  ///< ours, but the value is not known
  };
  Verdict verdict = Verdict::not_ours;
  std::string warning;  ///< why it was refused
};

/// Values that were given, as text; what was not given is left to the next table.
class ParameterTable {
 public:
  static constexpr std::size_t count = 19;

  /// Takes a value, after checking it; "DEFAULT" removes it. Names and values in upper or lower
  /// case, with white space around them. A refused value leaves the table as it was.
  ParameterAnswer set(std::string_view name, std::string_view value);

  /// Overwrites what this table gives.
  void apply_to(MigrationParameters& parameters) const;
  /// Puts `other` behind this table: takes from it what this one does not give.
  void fall_back_to(const ParameterTable& other);
  /// Leaves out what the caller's options give: what differs from the default there.
  void leave_to(const MigrationParameters& options);

  /// The first value, as "NAME = value", that says nothing about such objects; empty if there is
  /// none.
  [[nodiscard]] std::string without_meaning_for(ObjectKind kind) const;

 private:
  std::array<std::optional<std::string>, count> values_;
};

/// Reads VALET_MIGRATE_* from the environment. A refused value is left out and appended to
/// `warnings`, a line each.
[[nodiscard]] ParameterTable parameters_of_environment(std::string& warnings);

}  // namespace valet::zoltan
