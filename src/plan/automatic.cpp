// SPDX-License-Identifier: BSD-3-Clause
#include "plan/automatic.hpp"

#include "mpi/calibration.hpp"
#include "schedule/message_sizes.hpp"
#include "schedule/methods.hpp"
#include <valet/log.hpp>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

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

template <class Index>
std::uint64_t runs_of(const Array<Index>& slots) {
  std::uint64_t runs = slots.size() > 0 ? 1 : 0;
  for (std::size_t k = 1; k < slots.size(); ++k) runs += slots[k] != slots[k - 1] + 1 ? 1 : 0;
  return runs;
}

template <class Index>
std::uint64_t moved_inside_of(const Flows<Index>& flows) {
  if (flows.form == Form::slots || flows.form == Form::any) return flows.resident_from.size();
  if (flows.form == Form::stable) return flows.blocks_resident;
  const std::uint64_t leaving = flows.exports.size();
  return leaving > flows.blocks_arriving
             ? std::min(leaving - flows.blocks_arriving, flows.blocks_resident)
             : 0;
}

/// The methods that the options leave to choose from.
std::vector<Method> methods_for(const Options& options) {
  std::vector<Method> methods;
  for (const schedule::MethodTraits* const traits : schedule::methods())
    if (traits->predict != nullptr && (!traits->may_be_chosen || traits->may_be_chosen(options)))
      methods.push_back(traits->method);
  return methods;
}

/// Each sender has sent the messages of both kinds of methods, those of STREAM as long as they may
/// become.
/// @param longest  Blocks of a message of STREAM at most. [global]
void finalize_messages(plan::State& state, std::uint64_t longest) {
  const bool phased =
      schedule::traits_of(state.options.method).messages == schedule::MessageRule::phased;
  state.visit([&](auto& flows) {
    for (auto& flow : flows.incoming) {
      const auto sizes = schedule::MessageSizes::from(flow.message_blocks);
      flow.message_blocks = static_cast<decltype(flow.message_blocks)>(
          phased ? sizes.phased : std::min(sizes.stream, longest));
    }
  });
}

/// Takes over what a choice says about messages, where the application does not.
/// @param is_named  Whether a rank gives Options::message_bytes: then nobody knows of another rank
///                  whether it does, and all send what they have announced. [global]
void tune_messages(plan::State& state, const schedule::Choice& choice, bool is_named) {
  Options& options = state.options;
  options.share_memory = options.share_memory && choice.shares_memory;
  options.stream.window = std::min(options.stream.window, choice.window);
  const std::size_t tuned = is_named ? schedule::most_message_bytes : choice.message_bytes;
  if (options.message_bytes == 0 &&
      schedule::traits_of(options.method).messages == schedule::MessageRule::tuned)
    options.message_bytes = tuned;
  finalize_messages(state, is_named ? std::numeric_limits<std::uint64_t>::max()
                                    : std::max<std::uint64_t>(1, tuned / state.blocks.block_bytes));
}

}  // namespace

void JointShape::join(mpi::Agreement& agreement) {
  agreement.largest(shape.slots);
  agreement.largest(used_slots);
  agreement.largest(shape.sent);
  agreement.largest(shape.received);
  agreement.largest(shape.handled);
  agreement.largest(shape.crowded);
  agreement.largest(shape.neighbours);
  agreement.largest(shape.partners);
  agreement.largest(shape.runs);
  agreement.largest(shape.moved_inside);
  agreement.largest(shape.direct_bytes);
  agreement.least(shape.budget_bytes);
  agreement.least(shape.direct_fits);
  agreement.least(shape.is_dense);
  agreement.least(shape.may_share);
  agreement.least(shape.keeps_memory);
  agreement.largest(names_message);
  agreement.largest(has_model);
  agreement.largest(model.latency_seconds);
  agreement.largest(model.bandwidth);
  agreement.largest(model.copy_bandwidth);
  agreement.largest(model.block_seconds);
}

JointShape shape_of(const plan::State& state, const schedule::ExchangeShape& own,
                    std::uint64_t used_slots, std::uint64_t sources) {
  const Options& options = state.options;
  JointShape joint{
      .shape = own, .used_slots = used_slots, .names_message = options.message_bytes > 0};
  schedule::ExchangeShape& shape = joint.shape;
  shape.may_share = options.share_memory && state.blocks.reachable_by_mpi;
  shape.handled = own.sent + own.received;
  shape.crowded = schedule::crowded_arrivals({.received = own.received,
                                              .sent = own.sent,
                                              .runs = own.runs,
                                              .sources = sources,
                                              .free = own.slots - std::min(own.slots, used_slots)});
  shape.budget_bytes = options.budget_bytes;
  shape.direct_bytes = shape.handled * state.blocks.block_bytes;
  shape.direct_fits = shape.direct_bytes <= options.budget_bytes;
  if (const auto model = given_model(state)) {
    joint.has_model = true;
    joint.model = *model;
  }
  return joint;
}

JointShape shape_of(const plan::State& state, bool is_dense) {
  if (state.options.method != Method::automatic) return {};
  return std::visit(
      [&](const auto& flows) {
        // In the order of any nobody has to be misplaced.
        const std::size_t crowding = flows.form == Form::any ? 1 : flows.incoming.size();
        return shape_of(state,
                        {.keeps_memory = state.options.keep_memory,
                         .slots = flows.slots,
                         .sent = flows.exports.size(),
                         .received = flows.blocks_arriving,
                         .neighbours = std::max(flows.outgoing.size(), flows.incoming.size()),
                         .partners = flows.partners(),
                         .runs = runs_of(flows.exports),
                         .moved_inside = moved_inside_of(flows),
                         .is_dense = is_dense},
                        flows.blocks_before, crowding);
      },
      state.flows);
}

void add_costs(plan::State& state, JointShape& joint) {
  const mpi::Machine machine =
      mpi::machine_of(state.channel, state.ledger, !joint.has_model, state.options.budget_bytes);
  if (!joint.has_model) joint.model = *machine.model;
  joint.shape.ranks = state.channel.size();
  joint.shape.ranks_on_node = machine.ranks_on_node;
  joint.shape.block_bytes = state.blocks.block_bytes;
  joint.shape.free = joint.shape.slots - std::min(joint.shape.slots, joint.used_slots);
}

void resolve_method(plan::State& state, JointShape& joint) {
  if (state.options.method != Method::automatic) return;
  schedule::Choice choice;
  if (joint.moves_nothing()) {  // nothing to choose, and nothing to measure for
    choice.reason = "no block leaves its rank";
  } else {
    add_costs(state, joint);
    choice = schedule::choose_method(joint.model, joint.shape, methods_for(state.options));
  }
  state.options.method = choice.method;
  tune_messages(state, choice, joint.names_message);
  state.choice = std::make_shared<const schedule::Choice>(std::move(choice));
}

}  // namespace valet::plan
