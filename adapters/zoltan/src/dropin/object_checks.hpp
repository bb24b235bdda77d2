// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Asks the application's own query functions whether STEPS has lost or doubled objects. An
/// application whose mid renumbers objects that have not left is not fit for STEPS, and neither
/// packed bytes nor checksums show that it packed the wrong ones.

#include "context.hpp"
#include "step_streams.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace valet::zoltan {

/// The objects of all ranks by ZOLTAN_NUM_OBJ_FN, before and after a migration.
class ObjectCount {
 public:
  /// Counts before the migration. Local.
  void begin(Callbacks& callbacks) { failed_ = callbacks.count(before_); }
  /// Counts again and compares the sums over all ranks. Collective, where the function is
  /// registered on all of them. Returns what differs, the same sentence on all ranks; with
  /// MIGRATE_VERIFY it is thrown. @throws Error on all ranks alike.
  [[nodiscard]] std::string compare(Context& context);

 private:
  std::uint64_t before_ = 0;
  std::optional<Diagnostic> failed_;
};

/// MIGRATE_VERIFY: whether the exports that have not left are still listed with the global and
/// local ids that they had, by ZOLTAN_OBJ_LIST_FN. Exports that it did not list before are left
/// out. Local.
class LocalIdCheck {
 public:
  LocalIdCheck(Context& context, const ObjectList& exports)
      : context_(context), exports_(exports) {}

  /// Before the first object is packed.
  [[nodiscard]] std::optional<Diagnostic> begin();
  /// After each step; looks once, after the first step in which objects leave and others stay.
  [[nodiscard]] std::optional<Diagnostic> after_step(const StepSender& sender);

 private:
  [[nodiscard]] bool is_possible() const;
  [[nodiscard]] std::uint64_t hash_of(const ObjectIds& ids, std::uint64_t k) const;
  [[nodiscard]] std::optional<Diagnostic> list_objects(Array<std::uint64_t>& hashes);
  [[nodiscard]] std::optional<Diagnostic> compare(const StepSender& sender);

  Context& context_;
  const ObjectList& exports_;
  Array<bool> was_listed_;  ///< by place in the list of exports
  bool is_done_ = true;
};

}  // namespace valet::zoltan
