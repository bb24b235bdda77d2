// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// The MIGRATE_* parameters: names, checked values, and where a value comes from.

#include "schedule/methods.hpp"
#include <valet/options.hpp>

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace valet::zoltan {

enum class CallbackMode { hold, steps };

/// What one migration obeys.
struct MigrationParameters {
  std::optional<Method> method;  ///< none: stock Zoltan moves the objects
  CallbackMode callbacks = CallbackMode::hold;
  std::size_t memory_bytes = std::size_t{4} << 20;
  // For PHASED.
  Heuristic heuristic = Options().phased.heuristic;
  Scheduler scheduler = Options().phased.scheduler;
  int parking = Options().phased.parking;  ///< at every so many phases; 0: never
  bool verify = false;
  bool progress = false;
  bool verbose = false;      ///< says once who moves the objects
  bool share_memory = true;  ///< inside a node
  bool keep_memory = true;   ///< for the next migration
  std::string report;        ///< path of a file; empty: none
  std::string trace;         ///< likewise

  /// Whether objects may wait on ranks that do not unpack them.
  [[nodiscard]] bool parks() const { return method == Method::phased && parking > 0; }
  /// Whether the objects move in phases, in HOLD too.
  [[nodiscard]] bool has_phases() const {
    return method && *method != Method::automatic && schedule::traits_of(*method).has_phases;
  }
  /// Whether rank 0 divides for all.
  [[nodiscard]] bool is_centralized() const {
    return method == Method::cyclic ||
           (method == Method::phased && scheduler == Scheduler::centralized);
  }
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
  static constexpr std::size_t count = 13;

  /// Takes a value, after checking it; "DEFAULT" removes it. Names and values in upper or lower
  /// case, with white space around them. A refused value leaves the table as it was.
  ParameterAnswer set(std::string_view name, std::string_view value);

  /// Overwrites what this table gives.
  void apply_to(MigrationParameters& parameters) const;

 private:
  std::array<std::optional<std::string>, count> values_;
};

/// Reads VALET_MIGRATE_* from the environment. A refused value is left out and appended to
/// `warnings`, a line each.
[[nodiscard]] ParameterTable parameters_of_environment(std::string& warnings);

}  // namespace valet::zoltan
