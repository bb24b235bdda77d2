// SPDX-License-Identifier: BSD-3-Clause
#include "base/diagnose.hpp"
#include "base/memory_reserve.hpp"
#include "mpi/agreement.hpp"
#include "mpi/family.hpp"
#include "observe/report_fields.hpp"
#include <valet/configuration.hpp>
#include <valet/report.hpp>

#include <nlohmann/json.hpp>

#include <array>
#include <cstdio>
#include <functional>
#include <span>
#include <type_traits>
#include <vector>

namespace valet {
namespace {

/// A number as printf() writes it.
template <class... Rest>
std::string formatted(const char* format, double value, Rest... rest) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), format, value, rest...);
  return text.data();
}

std::string readable_bytes(std::uint64_t bytes) {
  constexpr std::array units{"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= 1024 && unit + 1 < units.size(); ++unit) value /= 1024;
  return formatted(unit == 0 ? "%.0f %s" : "%.1f %s", value, units[unit]);
}

std::string readable_milliseconds(double seconds) { return formatted("%.3f ms", seconds * 1e3); }

/// The name and the time of a stage; nothing for one that was not there.
void append_stage(std::string& text, const char* separator, const char* name, double seconds) {
  if (seconds <= 0) return;
  text.append(separator).append(name).append(" ").append(readable_milliseconds(seconds));
}

/// Where the time of an exchange went, as far as that is known.
std::string parts_of_exchange(const Report& report) {
  std::string text;
  const auto add = [&](const char* name, double seconds) {
    append_stage(text, text.empty() ? "\n  of the exchange: " : ", ", name, seconds);
  };
  add("waiting in MPI", report.waiting_seconds);
  add("gathering", report.gather_seconds);
  add("solving", report.solve_seconds);
  add("scattering", report.scatter_seconds);
  return text;
}

std::string what_left(const Report& report) {
  const std::string of = report.ranks == 1 ? "" : joined(" on ", report.ranks, " ranks");
  return joined(report.method, of, ": ", report.blocks_sent, " of ", report.blocks_before,
                " blocks left their rank (", readable_bytes(report.bytes_sent), ", ");
}

/// Replaces the fields that are treated by `how` by what `reduce` makes of those of all ranks.
template <class Fields, class Reduce>
void combine(Report& report, const Fields& fields, observe::OverRanks how, Reduce&& reduce) {
  std::vector<std::remove_cvref_t<decltype(report.*fields[0].value)>> values;
  for (const auto& field : fields)
    if (field.over_ranks == how) values.push_back(report.*field.value);
  reduce(std::span(values));
  auto value = values.begin();
  for (const auto& field : fields)
    if (field.over_ranks == how) report.*field.value = *value++;
}

}  // namespace

std::string Report::to_line() const {
  return joined(what_left(*this), messages, " messages), ", readable_milliseconds(seconds()), ", ",
                readable_bytes(peak_extra_bytes), " of extra memory");
}

std::string Report::to_string() const {
  std::string text = joined(what_left(*this), messages, " messages, ", credits, " credits), ",
                            local_copies, " local copies");
  const auto add = [&](bool is_known, const auto&... parts) {
    if (is_known) text += joined(parts...);
  };
  add(blocks_pulled > 0, ", ", blocks_pulled, " blocks without a message");
  add(blocks_dropped > 0, ", ", blocks_dropped, " blocks dropped");
  add(misplaced > 0, ", ", misplaced, " of misplaced blocks");
  add(swaps > 0, ", ", swaps, " swaps");
  add(phases > 0, ", ", phases, " phases, ", detours, " blocks waited on another rank");
  add(steps > 0, ", ", steps, " steps");
  add(true, "\n  time ", readable_milliseconds(seconds()), " = plan ",
      readable_milliseconds(plan_seconds), " + exchange ", readable_milliseconds(exchange_seconds),
      " + local ", readable_milliseconds(local_seconds));
  append_stage(text, "; ", "verify", verify_seconds);
  text += parts_of_exchange(*this);
  add(true, "\n  extra memory on a rank: ", readable_bytes(peak_extra_bytes), " at the peak, ",
      readable_bytes(extra_bytes_bound), " promised at most");
  add(!reason.empty(), "\n  chosen: ", reason);
  add(plan_from_layout, "\n  planned from the layout, no counts exchanged: ", segments,
      " segments, ", periods, " periods");
  add(verified, "\n  verified: every block arrived as it was sent");
  return text;
}

std::string Report::to_json() const {
  nlohmann::ordered_json object = {{"method", method}, {"reason", reason}, {"ranks", ranks}};
  observe::for_each_field(
      [&](const auto& field) { object[field.name] = std::invoke(field.value, *this); });
  object["valet"] = version();
  object["mpi"] = mpi::reached_mpi().version;
  return object.dump();
}

Report summed_over_ranks(const Report& report, MPI_Comm communicator) {
  const detail::MemoryReserve reserve;
  const mpi::Channel channel = mpi::Channel::open_for_call(communicator);
  Report total = report;
  total.ranks = channel.size();
  const auto sum = [&](auto values) { mpi::sum(channel, values); };
  const auto maximum = [&](auto values) { mpi::maximum(channel, values); };
  combine(total, observe::report_counts, observe::OverRanks::sum, sum);
  combine(total, observe::report_counts, observe::OverRanks::largest, maximum);
  combine(total, observe::report_seconds, observe::OverRanks::largest, maximum);
  return total;
}

}  // namespace valet
