// SPDX-License-Identifier: BSD-3-Clause
#include "plan/automatic.hpp"

#include "mpi/agreement.hpp"
#include "mpi/calibration.hpp"
#include "schedule/message_sizes.hpp"
#include "schedule/methods.hpp"
#include <valet/log.hpp>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace valet::plan {
namespace {

enum Number : std::size_t {
  slots,
  sent,
  received,
  handled,
  crowded,
  destinations,
  sources,
  partners,
  runs,
  moved_inside,
  used_slots,  ///< minus the free ones, so that the least counts
  budget,      ///< minus it, likewise
  direct_bytes,
  direct_excess,  ///< of direct_bytes over the budget
  is_scattered,   ///< blocks are not one array
  does_not_share,
  has_model,
  names_message,  ///< a rank gives Options::message_bytes
  latency,
  bandwidth,
  copy_bandwidth,
  block_seconds,
  numbers
};
static_assert(numbers <= std::tuple_size_v<ShapeNumbers>);

/// Positive doubles are ordered as their bits are.
std::int64_t bits(double value) { return std::bit_cast<std::int64_t>(value); }
double value(std::int64_t bits) { return std::bit_cast<double>(bits); }

std::int64_t as_number(std::uint64_t count) {
  return static_cast<std::int64_t>(
      std::min<std::uint64_t>(count, std::numeric_limits<std::int64_t>::max()));
}

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

/// Ranks in both lists, which ascend.
template <class Index>
std::uint64_t partners_of(const Flows<Index>& flows) {
  std::uint64_t partners = 0;
  auto incoming = flows.incoming.begin();
  for (const Outgoing<Index>& outgoing : flows.outgoing) {
    while (incoming != flows.incoming.end() && incoming->rank < outgoing.rank) ++incoming;
    partners += incoming != flows.incoming.end() && incoming->rank == outgoing.rank ? 1 : 0;
  }
  return partners;
}

template <class Index>
std::uint64_t moved_inside_of(const Flows<Index>& flows) {
  if (flows.form == Form::slots) return flows.resident_from.size();
  if (flows.form == Form::stable) return flows.blocks_resident;
  const std::uint64_t leaving = flows.exports.size();
  return leaving > flows.blocks_arriving
             ? std::min(leaving - flows.blocks_arriving, flows.blocks_resident)
             : 0;
}

schedule::ExchangeShape shape_of(const plan::State& state, const ShapeNumbers& largest,
                                 int ranks_on_node) {
  const auto at = [&](Number number) { return static_cast<std::uint64_t>(largest[number]); };
  schedule::ExchangeShape shape;
  shape.ranks = state.channel.size();
  shape.ranks_on_node = ranks_on_node;
  shape.may_share = largest[does_not_share] == 0;
  shape.block_bytes = state.blocks.block_bytes;
  shape.slots = at(slots);
  shape.sent = at(sent);
  shape.received = at(received);
  shape.handled = at(handled);
  shape.crowded = at(crowded);
  shape.neighbours = std::max(at(destinations), at(sources));
  shape.partners = at(partners);
  shape.runs = at(runs);
  shape.moved_inside = at(moved_inside);
  shape.free = shape.slots - std::min(shape.slots, at(used_slots));
  shape.budget_bytes = static_cast<std::uint64_t>(-largest[budget]);
  shape.direct_bytes = at(direct_bytes);
  shape.direct_fits = largest[direct_excess] <= 0;
  shape.is_dense = largest[is_scattered] == 0;
  return shape;
}

/// The methods that the options leave to choose from.
std::vector<Method> methods_for(const Options& options) {
  std::vector<Method> methods;
  for (const schedule::MethodTraits* const traits : schedule::methods())
    if (traits->predict != nullptr && (!traits->may_be_chosen || traits->may_be_chosen(options)))
      methods.push_back(traits->method);
  return methods;
}

/// Each sender told the messages of both kinds of methods, those of STREAM as long as they may
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
///                  whether it does, and all send what they told. [global]
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

ShapeNumbers shape_numbers(const plan::State& state, const OwnShape& own) {
  ShapeNumbers result{};
  const Options& options = state.options;
  const std::uint64_t direct = (own.sent + own.received) * state.blocks.block_bytes;
  result[slots] = as_number(own.slots);
  result[used_slots] = as_number(own.used_slots);
  result[sent] = as_number(own.sent);
  result[received] = as_number(own.received);
  result[handled] = as_number(own.sent + own.received);
  result[crowded] = as_number(
      schedule::crowded_arrivals({.received = own.received,
                                  .sent = own.sent,
                                  .runs = own.runs,
                                  .sources = own.sources,
                                  .free = own.slots - std::min(own.slots, own.used_slots)}));
  result[destinations] = as_number(own.destinations);
  result[sources] = as_number(own.sources);
  result[partners] = as_number(own.partners);
  result[runs] = as_number(own.runs);
  result[moved_inside] = as_number(own.moved_inside);
  result[direct_bytes] = as_number(direct);
  result[direct_excess] = as_number(direct) - as_number(options.budget_bytes);
  result[names_message] = options.message_bytes > 0 ? 1 : 0;
  result[budget] = -as_number(options.budget_bytes);
  result[is_scattered] = own.is_dense ? 0 : 1;
  result[does_not_share] = options.share_memory && state.blocks.reachable_by_mpi ? 0 : 1;
  if (const auto model = given_model(state)) {
    result[has_model] = 1;
    result[latency] = bits(model->latency_seconds);
    result[bandwidth] = bits(model->bandwidth);
    result[copy_bandwidth] = bits(model->copy_bandwidth);
    result[block_seconds] = bits(model->block_seconds);
  }
  return result;
}

ShapeNumbers shape_numbers(const plan::State& state, bool is_dense) {
  if (state.options.method != Method::automatic) return {};
  return std::visit(
      [&](const auto& flows) {
        return shape_numbers(state, OwnShape{.slots = flows.slots,
                                             .used_slots = flows.blocks_before,
                                             .sent = flows.exports.size(),
                                             .received = flows.blocks_arriving,
                                             .destinations = flows.outgoing.size(),
                                             .sources = flows.incoming.size(),
                                             .partners = partners_of(flows),
                                             .runs = runs_of(flows.exports),
                                             .moved_inside = moved_inside_of(flows),
                                             .is_dense = is_dense});
      },
      state.flows);
}

bool moves_nothing(const ShapeNumbers& largest) { return largest[sent] == 0; }

CostInputs cost_inputs(plan::State& state, const ShapeNumbers& largest) {
  const bool is_given = largest[has_model] > 0;
  const mpi::Machine machine =
      mpi::machine_of(state.channel, state.ledger, !is_given, state.options.budget_bytes);
  const schedule::CostModel model =
      is_given ? schedule::CostModel{value(largest[latency]), value(largest[bandwidth]),
                                     value(largest[copy_bandwidth]), value(largest[block_seconds])}
               : *machine.model;
  return {model, shape_of(state, largest, machine.ranks_on_node)};
}

void resolve_method(plan::State& state, const ShapeNumbers& largest) {
  if (state.options.method != Method::automatic) return;
  schedule::Choice choice;
  if (moves_nothing(largest)) {  // nothing to choose, and nothing to measure for
    choice.reason = "no block leaves its rank";
  } else {
    const CostInputs known = cost_inputs(state, largest);
    choice = schedule::choose_method(known.model, known.shape, methods_for(state.options));
  }
  state.options.method = choice.method;
  tune_messages(state, choice, largest[names_message] > 0);
  state.choice = std::make_shared<const schedule::Choice>(std::move(choice));
}

}  // namespace valet::plan
