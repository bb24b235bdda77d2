// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// What the calls on attached storage have in common: the frame, what the ranks agree on, and the
/// parameters of the structure.

#include "attached/calls.hpp"
#include "handle/handle_state.hpp"
#include "handle/object_ids.hpp"
#include "rebalance/settings.hpp"
#include "rebalancer/zoltan_partition.hpp"
#include <valet/block_storage.hpp>
#include <valet/error.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace valet::zoltan {

/// The callbacks that some rank has registered.
struct Stages {
  bool pre = false;
  bool mid = false;
  bool post = false;
};

class AttachedCall {
 public:
  /// Local. @throws Error invalid_argument  The structure is gone, or this is in a callback of
  /// another call, which then fails, too.
  explicit AttachedCall(AttachedState& state);
  AttachedCall(const AttachedCall&) = delete;
  AttachedCall& operator=(const AttachedCall&) = delete;
  ~AttachedCall();

  /// False on ranks outside of the structure's communicator.
  [[nodiscard]] bool takes_part() const { return state_.channel.has_value(); }
  [[nodiscard]] AttachedState& state() const { return state_; }
  [[nodiscard]] const mpi::Channel& channel() const { return *state_.channel; }
  [[nodiscard]] const Stages& stages() const { return stages_; }
  [[nodiscard]] const MigrationParameters& parameters() const { return parameters_; }
  /// Parameters for all structures, or of the environment, that this call cannot obey.
  [[nodiscard]] const std::string& left_out() const { return left_out_; }
  [[nodiscard]] const PartitionSetup& setup() const { return setup_; }
  /// Whether the application answers queries about single objects, so that these cannot be given to
  /// Zoltan in cells. After agree_on_partition().
  [[nodiscard]] bool answers_for_objects() const { return answers_for_objects_; }

  /// What all ranks must know of each other. Collective.
  /// @param one_by_one  How objects are given, whatever the parameters say.
  void agree_on_partition(const PartitionWay& way, bool one_by_one);
  void agree_on_lists(const MigrationList& leading);
  void agree(std::optional<Diagnostic> mine);

  /// Agrees on what a callback said, on whether it did what it must not, and on the callbacks that
  /// are registered now. Collective.
  void stage(std::optional<Diagnostic> diagnostic);
  /// The same for query functions.
  void check_misuse() { stage(std::nullopt); }

  /// @return Captures this, so it must not outlive the call.
  [[nodiscard]] rebalance::Settings settings(bool each_object);
  [[nodiscard]] rebalance::Sources sources() const;
  [[nodiscard]] const char* lists_to_ask_for(const PartitionWay& way) const;

  /// Looks at arrays again that a callback may have enlarged. Collective.
  void read_storage_again();
  [[nodiscard]] std::uint64_t slots() const;
  /// Looks at parts() again. Local. @return What is wrong with them, if anything.
  [[nodiscard]] std::optional<Diagnostic> read_parts();
  /// One entry per slot, and maybe more; empty: none are wanted.
  [[nodiscard]] std::span<int> parts() const { return parts_; }
  [[nodiscard]] std::span<int> parts_of_slots() const;
  /// Whether parts are other than ranks, and move along.
  [[nodiscard]] bool moves_parts() const { return setup_.parts.are_given && state_.parts; }
  [[nodiscard]] std::vector<Field> fields_along() const;
  void write_ranks_as_parts() const;

 private:
  [[nodiscard]] std::optional<Diagnostic> check();
  [[nodiscard]] std::optional<Diagnostic> check_partition(const PartitionWay& way, bool one_by_one);
  [[nodiscard]] MigrationParameters find_parameters(Reach reach) const;
  [[nodiscard]] std::optional<Diagnostic> leave_repair_out(const char* why);
  [[nodiscard]] std::optional<Diagnostic> leave_cells_out(const char* why);
  [[nodiscard]] std::optional<Diagnostic> check_storage() const;
  [[nodiscard]] std::optional<Diagnostic> check_count() const;
  [[nodiscard]] std::optional<Diagnostic> misuse() const;
  [[nodiscard]] std::optional<Diagnostic> check_parts_size() const;
  [[nodiscard]] std::optional<Diagnostic> check_weights() const;
  void join_stages(mpi::Agreement& agreement);
  void join(mpi::Agreement& agreement);
  void forget_layout_of_other_counts();
  void join_zoltans(mpi::Agreement& agreement, std::int64_t queries) const;
  void look_again_in_growth();

  AttachedState& state_;
  MigrationParameters parameters_;
  PartitionSetup setup_;
  Stages stages_;
  std::string left_out_;
  std::span<int> parts_;
  bool answers_for_objects_ = false;
  bool lists_ = false;  ///< lists say what moves
  std::uint64_t count_before_;
};

}  // namespace valet::zoltan
