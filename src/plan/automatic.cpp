// SPDX-License-Identifier: BSD-3-Clause
#include "plan/automatic.hpp"

#include "mpi/calibration.hpp"
#include "schedule/stream_sizes.hpp"
#include <valet/log.hpp>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>

namespace valet::plan {
namespace {

/// What the application says, in the options or in the environment.
std::optional<schedule::CostModel> given_model(const plan::State& state) {
  if (state.options.automatic.model) return state.options.automatic.model;
  const char* const text = std::getenv("VALET_MODEL");
  if (text == nullptr || *text == '\0') return std::nullopt;
  try {
    return schedule::parse_cost_model(text);
  } catch (const Error& error) {
    log(LogLevel::warning, state.channel.rank(),
        std::string("VALET_MODEL is not obeyed, costs are measured: ") + error.what());
    return std::nullopt;
  }
}

/// Whether the blocks that leave stand in runs of memory too short to be sent from where they are.
bool stand_alone(const Flows& flows, std::uint64_t block_bytes) {
  const std::uint64_t bytes = flows.exports.size() * block_bytes;
  std::uint64_t runs = 0;
  for (const Outgoing& flow : flows.outgoing) {
    const SlotIndex* const slots = flows.exports.begin() + flow.first;
    ++runs;
    if (slots[flow.count - 1] - slots[0] == flow.count - 1) continue;  // they ascend
    for (SlotIndex k = 1; k < flow.count && !schedule::are_packed(bytes, runs);) {
      constexpr SlotIndex chunk = 1024;  // counted without asking
      const SlotIndex end = flow.count - k < chunk ? flow.count : k + chunk;
      for (; k < end; ++k) runs += slots[k] != slots[k - 1] + 1 ? 1 : 0;
    }
  }
  return schedule::are_packed(bytes, runs);
}

/// Messages that a rank receives by STREAM. Where Order::any has blocks come from several ranks, no
/// message crosses a grain.
std::uint64_t messages_of(const Flows& flows) {
  std::uint64_t messages = 0;
  for (const Incoming& flow : flows.incoming) {
    const bool is_cut = flows.form == Form::any && flows.incoming.size() > 1;
    const std::uint64_t most = is_cut
                                   ? std::min<std::uint64_t>(flow.message_blocks, flows.any.grain)
                                   : flow.message_blocks;
    messages += (flow.count + most - 1) / most;
  }
  return messages;
}

}  // namespace

void JointShape::join(mpi::Agreement& agreement) {
  agreement.largest(shape.slots);
  agreement.largest(shape.sent);
  agreement.largest(shape.received);
  agreement.largest(shape.handled);
  agreement.largest(shape.messages);
  agreement.largest(shape.neighbours);
  agreement.largest(shape.packs);
  agreement.least(shape.may_share);
  agreement.least(shape.budget_bytes);
  agreement.least(shape.direct_fits);
  agreement.least(pulls);
  agreement.largest(has_model);
  agreement.largest(model.latency_seconds);
  agreement.largest(model.bandwidth);
  agreement.largest(model.copy_bandwidth);
  agreement.largest(model.block_seconds);
}

JointShape shape_of(const plan::State& state, const schedule::ExchangeShape& own) {
  const Options& options = state.options;
  JointShape joint{.shape = own};
  schedule::ExchangeShape& shape = joint.shape;
  shape.may_share =
      options.share_memory && state.blocks.reachable_by_host &&
      schedule::repays_sharing(schedule::limits_of(options, state.blocks, own.sent, own.received),
                               state.keeps_memory());
  shape.handled = own.sent + own.received;
  shape.budget_bytes = options.budget_bytes;
  shape.direct_fits = shape.handled * state.blocks.block_bytes <= options.budget_bytes;
  if (const auto model = given_model(state)) {
    joint.has_model = true;
    joint.model = *model;
  }
  return joint;
}

JointShape shape_of(const plan::State& state) {
  if (state.options.method != Method::automatic) return {};
  const Flows& flows = state.flows;
  const bool alone = stand_alone(flows, state.blocks.block_bytes);
  JointShape joint =
      shape_of(state, {.packs = !state.blocks.runs_are_contiguous || alone,
                       .slots = flows.slots,
                       .sent = flows.exports.size(),
                       .received = flows.blocks_arriving,
                       .messages = messages_of(flows),
                       .neighbours = std::max(flows.outgoing.size(), flows.incoming.size())});
  const auto is_here = [here = state.channel.node_ranks()](const Outgoing& flow) {
    return std::ranges::binary_search(here, flow.rank);
  };
  const bool is_idle = flows.outgoing.empty() && flows.incoming.empty();
  joint.pulls = is_idle || (state.blocks.in_node_memory && !alone &&
                            std::ranges::all_of(flows.outgoing, is_here));
  return joint;
}

void add_costs(plan::State& state, JointShape& joint) {
  const mpi::Machine machine =
      mpi::machine_of(state.channel, state.ledger, !joint.has_model, state.options.budget_bytes);
  if (!joint.has_model) joint.model = *machine.model;
  joint.shape.ranks = state.channel.size();
  joint.shape.ranks_on_node = machine.ranks_on_node;
  joint.shape.block_bytes = state.blocks.block_bytes;
}

void resolve_method(plan::State& state, JointShape& joint) {
  if (state.options.method != Method::automatic) return;
  schedule::Choice choice;
  if (joint.moves_nothing()) {  // nothing to choose, and nothing to measure for
    choice.reason = "no block leaves its rank";
  } else if (joint.pulls) {
    choice.reason = "all blocks are in memory that the ranks of the node share";
  } else {
    add_costs(state, joint);
    choice = schedule::choose_method(joint.model, joint.shape);
  }
  state.options.method = choice.method;
  state.choice = std::make_shared<const schedule::Choice>(std::move(choice));
}

}  // namespace valet::plan
