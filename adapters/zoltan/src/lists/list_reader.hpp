// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "dropin/lists.hpp"
#include "mpi/channel.hpp"
#include "slot_map.hpp"

namespace valet::zoltan {

/// What moves along with the storage, on all ranks: a rank without slots has arrays without
/// entries, which do not tell.
struct MovedAlong {
  std::optional<bool> parts, global_ids;
};

/// From the lists of all ranks to the map of this one.
class ListReader {
 public:
  /// @param channel  For this call.
  /// @param map      Gets the destinations.
  ListReader(const mpi::Channel& channel, Ledger& ledger, const PartitionLists& lists,
             const ListCall& call, SlotMap& map);

  /// Collective; one reduction for exports, two where imports are to be compared with them, three
  /// and a round of messages for imports alone. @throws Error on all ranks alike.
  MovedAlong run();

 private:
  [[nodiscard]] std::optional<Diagnostic> check() const;
  [[nodiscard]] std::optional<Diagnostic> check_given() const;
  [[nodiscard]] std::optional<Diagnostic> check_array(const char* name, std::size_t size,
                                                      int words) const;
  [[nodiscard]] std::optional<Diagnostic> enter(const ListedObjects& listed);
  [[nodiscard]] std::optional<Diagnostic> enter_exports();
  void agree_on_input();
  void enter_imports();

  const mpi::Channel& channel_;
  Ledger& ledger_;
  const UserLists lists_;
  const ListCall& call_;
  SlotMap& map_;
  bool has_exports_ = false;  ///< all ranks, after agree_on_input()
  bool compares_ = false;     ///< likewise
  bool with_parts_ = false;   ///< some rank gives parts
  MovedAlong moved_along_;
};

}  // namespace valet::zoltan
