// SPDX-License-Identifier: BSD-3-Clause
#include "base/promise.hpp"
#include "schedule/cyclic.hpp"
#include "schedule/stream_sizes.hpp"
#include <valet/error.hpp>
#include <valet/method_choice.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <utility>

namespace valet::schedule {
namespace {

/// A message and the credit that it answers. Protocol, not a fit: see engine/credit_transport.hpp.
constexpr double latencies_of_message = 2;

double message_seconds(const CostModel& model, std::uint64_t messages) {
  return latencies_of_message * static_cast<double>(messages) * model.latency_seconds;
}

/// Out of the slots and into them, through a buffer.
double copy_seconds(const CostModel& model, const ExchangeShape& shape) {
  const double block = static_cast<double>(shape.block_bytes) / model.copy_bandwidth;
  return static_cast<double>(shape.handled) * (block + (shape.packs ? model.block_seconds : 0));
}

/// Through memory that ranks of a node share both copies are made at once with nothing in between.
/// As messages, those of one node from slot to slot where these are long runs, else packed while
/// others are on their way.
void predict_stream(const CostModel& model, const ExchangeShape& shape, Prediction& prediction) {
  const double copies = copy_seconds(model, shape);
  const double wire = lower_bound_seconds(model, shape);
  const double sent = shape.packs ? std::max(copies, wire) : wire;
  prediction.shares_memory =
      shape.may_share && shape.ranks_on_node > 1 && (shape.packs || copies <= wire);
  const bool all_share = prediction.shares_memory && shape.ranks_on_node >= shape.ranks;
  prediction.seconds = message_seconds(model, shape.messages) + (all_share ? copies : sent);
}

/// One step after the other, but one message for each neighbour.
void predict_direct(const CostModel& model, const ExchangeShape& shape, Prediction& prediction) {
  prediction.seconds = message_seconds(model, shape.neighbours) + copy_seconds(model, shape) +
                       lower_bound_seconds(model, shape);
  prediction.fits = shape.direct_fits;
  prediction.extra_bytes = shape.handled * shape.block_bytes;
}

/// As stream, but for what ranks wait for the root, which sends all actions itself.
void predict_cyclic(const CostModel& model, const ExchangeShape& shape, Prediction& prediction) {
  predict_stream(model, shape, prediction);
  prediction.seconds += cyclic_root_seconds(model, shape);
  prediction.fits = shape.ranks <= most_cyclic_ranks;
  prediction.extra_bytes += detail::promised_of_rank * static_cast<std::uint64_t>(shape.ranks);
}

std::string milliseconds(double seconds) {
  std::array<char, 32> text{};
  char* const end = std::to_chars(text.data(), text.data() + text.size(), seconds * 1e3,
                                  std::chars_format::general, 3)
                        .ptr;
  return std::string(text.data(), end).append(" ms");
}

struct Entry {
  std::string_view name;
  double CostModel::*value;
};

constexpr std::array<Entry, 4> entries{{{"latency", &CostModel::latency_seconds},
                                        {"bandwidth", &CostModel::bandwidth},
                                        {"copy", &CostModel::copy_bandwidth},
                                        {"block", &CostModel::block_seconds}}};

[[noreturn]] void refuse(std::string_view entry) {
  throw Error(ErrorCode::invalid_argument,
              "'" + std::string(entry) + "' is not an entry of a cost model; write for example " +
                  to_string(CostModel{}) +
                  " (seconds, bytes per second, bytes per second, seconds; all above 0)");
}

void read_entry(std::string_view text, CostModel& model) {
  const std::size_t sign = text.find('=');
  if (sign == std::string_view::npos) refuse(text);
  for (const Entry& entry : entries) {
    if (text.substr(0, sign) != entry.name) continue;
    const std::string_view number = text.substr(sign + 1);
    double value = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
    if (error != std::errc() || end != number.data() + number.size()) refuse(text);
    if (!(value > 0) || !std::isfinite(value)) refuse(text);
    model.*entry.value = value;
    return;
  }
  refuse(text);
}

}  // namespace

CostModel parse_cost_model(std::string_view text) {
  CostModel model;
  for (;;) {
    const std::size_t comma = text.find(',');
    read_entry(text.substr(0, comma), model);
    if (comma == std::string_view::npos) return model;
    text.remove_prefix(comma + 1);
  }
}

std::string to_string(const CostModel& model) {
  std::string text;
  for (const Entry& entry : entries) {
    std::array<char, 32> number{};
    std::snprintf(number.data(), number.size(), "%.4g", model.*entry.value);
    if (!text.empty()) text.append(",");
    text.append(entry.name).append("=").append(number.data());
  }
  return text;
}

bool are_packed(std::uint64_t bytes, std::uint64_t runs) { return bytes < straight_bytes * runs; }

double lower_bound_seconds(const CostModel& model, const ExchangeShape& shape) {
  return static_cast<double>(std::max(shape.sent, shape.received)) *
         static_cast<double>(shape.block_bytes) / model.bandwidth;
}

/// Each swap sends half of what a rank has, or its share of what must leave, and merges it.
double swaps_seconds(const CostModel& model, const ExchangeShape& shape) {
  const double rounds = std::ceil(std::log2(std::max(2, shape.ranks)));
  const double moved =
      std::max(static_cast<double>(shape.slots) / 2,
               static_cast<double>(std::max(shape.sent, shape.received)) / rounds) *
      static_cast<double>(shape.block_bytes);
  return rounds * (rounds + 1) / 2 *
         (moved / model.bandwidth + moved / model.copy_bandwidth + message_seconds(model, 1));
}

double cyclic_root_seconds(const CostModel& model, const ExchangeShape& shape) {
  constexpr double messages_of_pair = 1 + 1 + 1.0 / actions_per_note;
  return messages_of_pair * shape.ranks * static_cast<double>(shape.neighbours) *
         model.latency_seconds;
}

Prediction predict(const CostModel& model, const ExchangeShape& shape, Method method) {
  Prediction prediction;
  prediction.method = method;
  prediction.extra_bytes = shape.budget_bytes;
  if (method == Method::cyclic)
    predict_cyclic(model, shape, prediction);
  else if (method == Method::direct)
    predict_direct(model, shape, prediction);
  else
    predict_stream(model, shape, prediction);
  return prediction;
}

Choice choose_method(const CostModel& model, const ExchangeShape& shape) {
  Choice choice;
  auto& [best, other] = choice.predictions;
  best = predict(model, shape, Method::stream);
  other = predict(model, shape, Method::direct);
  if (other.fits && other.seconds < best.seconds) std::swap(best, other);
  choice.method = best.method;
  choice.shares_memory = best.shares_memory;
  choice.seconds = best.seconds;
  choice.lower_bound_seconds = lower_bound_seconds(model, shape);
  choice.reason.append(to_string(best.method))
      .append(", predicted to take ")
      .append(milliseconds(best.seconds))
      .append(other.fits ? ", where " : "; beyond the budget is ")
      .append(to_string(other.method))
      .append(other.fits ? " takes " : " with ")
      .append(milliseconds(other.seconds));
  return choice;
}

std::string to_table(std::span<const Prediction> predictions) {
  std::string table;
  for (const Prediction& prediction : predictions) {
    std::array<char, 128> line{};
    std::snprintf(line.data(), line.size(), "%-8s %12.6f s %14llu bytes%s\n",
                  to_string(prediction.method), prediction.seconds,
                  static_cast<unsigned long long>(prediction.extra_bytes),
                  prediction.fits ? "" : "  over the budget");
    table += line.data();
  }
  return table;
}

}  // namespace valet::schedule
