// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <valet/detail/callback_guard.hpp>
#include <valet/map/flows.hpp>
#include <valet/map/plan.hpp>
#include <valet/mpi/channel.hpp>
#include <valet/mpi/node_memory.hpp>
#include <valet/report/observer.hpp>
#include <valet/report/trace_file.hpp>
#include <valet/schedule/method_choice.hpp>

#include <memory>
#include <utility>
#include <variant>

namespace valet {

/// What a method keeps between executions of a plan.
class PlanWorkspace {
 public:
  PlanWorkspace() = default;
  PlanWorkspace(const PlanWorkspace&) = delete;
  PlanWorkspace& operator=(const PlanWorkspace&) = delete;
  virtual ~PlanWorkspace() = default;
};

using AnyFlows = std::variant<Flows<std::uint32_t>, Flows<std::uint64_t>>;

struct Plan::State {
  State(mpi::Channel opened, const Options& chosen)
      : channel(std::move(opened)),
        options(chosen),
        flows(Flows<std::uint32_t>(ledger)),
        node(ledger) {
    channel.observe(&observer);
    callbacks.protect(options);
    if (options.trace.empty()) return;
    trace = std::make_shared<TraceFile>(ledger, channel.rank(), options.trace);
    observer.trace = &trace->trace();
  }

  Ledger ledger;  // first: everything below is counted by it
  Observer observer;
  std::shared_ptr<TraceFile> trace;  ///< null where none is wanted
  mpi::Channel channel;
  detail::CallbackGuard callbacks;
  Options options;  ///< with callbacks that do not throw
  BlockTraits blocks;
  double plan_seconds = 0;
  std::shared_ptr<const schedule::Choice> choice;  ///< of Method::automatic
  bool from_layout = false;  ///< Report::plan_from_layout; the same on all ranks
  AnyFlows flows;
  mpi::NodeMemory node;
  std::size_t schedule_bytes = 0;  ///< of the budget, for the schedule that this rank makes
  std::unique_ptr<PlanWorkspace> workspace;

  /// Calls action(flows) with the index type at hand.
  template <class Action>
  decltype(auto) visit(Action&& action) {
    return std::visit(std::forward<Action>(action), flows);
  }
};

}  // namespace valet
