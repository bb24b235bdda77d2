// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/sizes.hpp"
#include "call/frame.hpp"
#include "mpi/channel.hpp"
#include "mpi/eager.hpp"
#include "plan/flows.hpp"
#include "schedule/methods.hpp"
#include "schedule/stream_sizes.hpp"
#include "storage/loan.hpp"
#include <valet/object_layout.hpp>
#include <valet/plan.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <utility>

namespace valet::plan {

class Executor;  // flows/move_flows.cpp

/// Numbered objects from one layout to another.
struct ObjectMove {
  std::optional<ObjectLayout> from = {};  ///< nothing: they are numbered by rank and slot
  ObjectLayout to = {};
  /// In place of that: rank r gets bounds[r] to bounds[r + 1] - 1. Of P + 1; while planning.
  std::span<const std::int64_t> bounds = {};
  std::optional<std::uint64_t> objects = {};  ///< of all ranks, where it is known [global]
};

/// What pages are to the caller whose budget pays for them, for errors.
struct PageBudget {
  std::uint64_t whole = 0;         ///< bytes that the caller gave
  std::uint64_t largest_page = 0;  ///< with a larger budget
  std::uint64_t beside = 0;        ///< bytes for the caller's own lists and buffers with such pages
  std::uint64_t plans = 1;         ///< that share what remains
};

/// Tells the application which slots are not used any more.
struct ReleasedSlots {
  const std::function<void(std::uint64_t first, std::uint64_t slots)>& tell;
  detail::FirstFailure& failure;
  const char* name;  ///< for the error
};

struct State {
  State(std::shared_ptr<call::Frame> made_by, const Options& chosen)
      : frame(std::move(made_by)),
        ledger(frame->ledger),
        observer(*frame->observer),
        channel(frame->channel),
        memory(*frame->memory),
        options(chosen),
        flows(ledger) {
    options.budget_bytes = detail::bounded_budget(options.budget_bytes);
    frame->callbacks.protect(options.phased.available_bytes, "callback available_bytes",
                             std::numeric_limits<std::size_t>::max());
    flows.eager_bytes = mpi::eager_bytes(channel);
  }

  /// Whether a rank is on the node of this one. Local.
  [[nodiscard]] bool is_on_node(int rank) const {
    return std::ranges::binary_search(channel.node_ranks(), rank);
  }
  /// What this rank asks of the source of a flow. Local.
  [[nodiscard]] schedule::Asked asked_of(const Incoming& flow) const {
    const bool is_short = flows.eager_bytes > 0 && !is_on_node(flow.rank);
    return schedule::asked_of(flow.message_blocks, blocks.block_bytes,
                              is_short ? flows.eager_bytes : 0);
  }
  /// Whether memory that is shared serves what comes next, too. Local.
  [[nodiscard]] bool keeps_memory() const { return options.keep_memory && channel.has_kept(); }
  /// What is left of the budget for the blocks.
  void limit_budget(std::size_t bytes) {
    options.budget_bytes = bytes;
    memory.limit(bytes);
  }
  /// Provides scratch for the exchange. @throws std::bad_alloc. Local.
  void take_scratch(std::size_t bytes, const StorageBackend* backend = nullptr) {
    // Phases have lists in the budget, so that what is kept may not be larger than is needed.
    if (schedule::traits_of(options.method).has_phases) memory.limit(memory.node().bytes() + bytes);
    memory.take_scratch(bytes, backend);
  }
  /// The memory shared inside nodes that this plan uses, or nothing.
  [[nodiscard]] const storage::NodeMemory& node() const { return shares ? memory.node() : no_node; }

  // The call that made the plan, and what is used of it.
  std::shared_ptr<call::Frame> frame;  ///< first: its ledger counts everything below
  Ledger& ledger;
  observe::Observer& observer;
  mpi::Channel& channel;
  storage::Loan& memory;

  // What the caller wants, set before planning.
  Options options;  ///< with an available_bytes that does not throw; progress, trace: see the frame
  BlockTraits blocks;
  std::optional<PageBudget> page_budget;  ///< where blocks are pages
  std::unique_ptr<ObjectMove> objects;    ///< where there is no map

  // The plan, which every execution reads.
  Flows flows;
  bool shares = false;             ///< memory inside nodes
  bool at_once = false;            ///< so little moves that no rank waits for credits [global]
  std::size_t schedule_bytes = 0;  ///< part of the budget, for the schedule that this rank makes
  std::size_t kept_schedule_bytes = 0;  ///< likewise, for its part of a schedule of the root
  /// What this rank lacked memory for when the ranks could not agree on it any more: they do when
  /// the plan is executed.
  std::optional<Diagnostic> failure;

  // What planning found, for reports.
  double plan_seconds = 0;
  std::string_view reason;     ///< Report::reason
  bool from_layout = false;    ///< Report::plan_from_layout; the same on all ranks
  std::uint64_t segments = 0;  ///< Report::segments
  std::uint64_t periods = 0;   ///< Report::periods

  // What executions work with.
  std::uint64_t taking_bytes = 0;  ///< what taking blocks without messages needs beside the budget
  storage::NodeMemory no_node{ledger};      ///< where `shares` is false
  std::shared_ptr<Executor> executor;       ///< what they reuse
  std::shared_ptr<StorageBackend> bound;    ///< that executions need not look at; null for none
  const ReleasedSlots* released = nullptr;  ///< told of them where this rank ends without blocks
};

/// What is behind an execution.
class Ongoing {
 public:
  explicit Ongoing(int rank) : rank_(rank) {}
  Ongoing(const Ongoing&) = delete;
  Ongoing& operator=(const Ongoing&) = delete;
  virtual ~Ongoing() = default;

  /// As Execution::progress() and wait().
  virtual bool progress() = 0;
  virtual Report wait() = 0;
  [[nodiscard]] int rank() const { return rank_; }

 private:
  int rank_;
};

/// What is behind a plan, for the operations.
struct Access {
  [[nodiscard]] static State& state_of(Plan& plan) { return *plan.state_; }
  [[nodiscard]] static Plan make(std::unique_ptr<State> state) { return Plan(std::move(state)); }
  [[nodiscard]] static Execution execution(std::unique_ptr<Ongoing> ongoing) {
    return Execution(std::move(ongoing));
  }
};

}  // namespace valet::plan
