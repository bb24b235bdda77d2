// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// From lists to a destination per slot. Everything here is local.

#include "dropin/callbacks.hpp"
#include <valet/ledger.hpp>
#include <valet/plan.hpp>
#include <valet/zoltan/lists.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace valet::zoltan {

/// The objects of this rank that are listed: by itself, or by the ranks that import them.
struct ListedObjects {
  std::uint64_t count = 0;
  ObjectIds ids;
  const int* procs = nullptr;  ///< where they go; may be null where a table of parts says so
  const int* parts = nullptr;  ///< null where parts are ranks
  bool by_importers = false;

  [[nodiscard]] int part(std::uint64_t k) const { return parts != nullptr ? parts[k] : procs[k]; }
};

/// What the caller of migrate() gave beside the lists.
struct ListCall {
  EntryCounts entries;
  int rank = 0;
  int ranks = 1;
  const Occupied& occupied;
  std::uint64_t slots = 0;                       ///< of the storage
  std::optional<Diagnostic> wrong_storage = {};  ///< what it says is wrong with itself
  const ListOptions& options;
};

/// A destination for each slot, 4 bytes each. First every slot has the number of its object in the
/// list, so that what is listed twice is found and values of objects can be put into their slots.
class SlotMap {
 public:
  SlotMap(Ledger& ledger, const ListCall& call) : ledger_(ledger), call_(call) {}

  /// Finds the slots of the objects; what is wrong with them, if anything. The list must stay.
  [[nodiscard]] std::optional<Diagnostic> enter(const ListedObjects& listed);
  /// Room to keep the parts that put_values() replaces. @throws std::bad_alloc.
  void reserve_parts();
  /// Puts parts and global ids of the objects into the arrays of the options, and ranks into the
  /// map.
  void put_values();
  /// Puts the parts back that were there before.
  void restore_parts();

  /// One for each slot or block, as plan_to_ranks() wants it; after put_values().
  [[nodiscard]] std::span<const int> ranks() const { return {map_.data(), map_.size()}; }
  /// Frees the map.
  void release() { map_ = {}; }

 private:
  static constexpr int unlisted = -1;

  [[nodiscard]] std::optional<Diagnostic> enter_slot(std::uint64_t k, std::uint64_t slot);
  [[nodiscard]] std::optional<Diagnostic> check_rank(std::uint64_t k) const;
  [[nodiscard]] bool is_occupied(std::uint64_t slot) const;
  /// "the export with global id 17 (number 3)".
  [[nodiscard]] std::string named(std::uint64_t k) const;

  Ledger& ledger_;
  const ListCall& call_;
  ListedObjects listed_;
  Array<int> map_;
  Array<int> parts_before_;
};

}  // namespace valet::zoltan
