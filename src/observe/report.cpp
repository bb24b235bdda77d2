// SPDX-License-Identifier: BSD-3-Clause
#include <valet/report.hpp>

#include <nlohmann/json.hpp>

#include <array>
#include <cstdio>

namespace valet {
namespace {

std::string readable_bytes(std::uint64_t bytes) {
  constexpr std::array units{"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= 1024 && unit + 1 < units.size(); ++unit) value /= 1024;
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), unit == 0 ? "%.0f %s" : "%.1f %s", value, units[unit]);
  return text.data();
}

std::string readable_milliseconds(double seconds) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.3f ms", seconds * 1e3);
  return text.data();
}

std::string readable_percent(double fraction) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.0f %%", fraction * 100);
  return text.data();
}

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
  const std::string of = report.ranks == 1 ? "" : " on " + std::to_string(report.ranks) + " ranks";
  return report.method + of + ": " + std::to_string(report.blocks_sent) + " of " +
         std::to_string(report.blocks_before) + " blocks left their rank (" +
         readable_bytes(report.bytes_sent) + ", ";
}

}  // namespace

std::string Report::to_line() const {
  return what_left(*this) + std::to_string(messages) + " messages), " +
         readable_milliseconds(seconds()) + ", " + readable_bytes(peak_extra_bytes) +
         " of extra memory";
}

std::string Report::to_string() const {
  std::string parts;
  append_stage(parts, "; ", "verify", verify_seconds);
  parts += parts_of_exchange(*this);
  return what_left(*this) + std::to_string(messages) + " messages, " + std::to_string(credits) +
         " credits), " + std::to_string(local_copies) + " local copies" +
         (swaps > 0 ? ", " + std::to_string(swaps) + " swaps" : "") +
         (phases > 0 ? ", " + std::to_string(phases) + " phases, " + std::to_string(detours) +
                           " blocks waited on another rank"
                     : "") +
         (steps > 0 ? ", " + std::to_string(steps) + " steps" : "") + "\n  time " +
         readable_milliseconds(seconds()) + " = plan " + readable_milliseconds(plan_seconds) +
         " + exchange " + readable_milliseconds(exchange_seconds) + " + local " +
         readable_milliseconds(local_seconds) + parts +
         "\n  extra memory on a rank: " + readable_bytes(peak_extra_bytes) + " at the peak, " +
         readable_bytes(extra_bytes_bound) + " promised at most" +
         (reason().empty() ? "" : "\n  chosen: " + std::string(reason())) +
         (lower_bound_seconds > 0
              ? "\n  lower bound " + readable_milliseconds(lower_bound_seconds) + ", achieved " +
                    readable_percent(achieved_fraction())
              : "") +
         (plan_from_layout ? "\n  planned from the layout found in the map, no counts exchanged"
                           : "") +
         (verified ? "\n  verified: every block arrived as it was sent" : "");
}

std::string Report::to_json() const {
  const nlohmann::ordered_json object = {{"method", method},
                                         {"ranks", ranks},
                                         {"block_bytes", block_bytes},
                                         {"blocks_before", blocks_before},
                                         {"blocks_after", blocks_after},
                                         {"blocks_sent", blocks_sent},
                                         {"blocks_received", blocks_received},
                                         {"bytes_sent", bytes_sent},
                                         {"messages", messages},
                                         {"credits", credits},
                                         {"local_copies", local_copies},
                                         {"swaps", swaps},
                                         {"phases", phases},
                                         {"detours", detours},
                                         {"steps", steps},
                                         {"neighbours", neighbours},
                                         {"budget_bytes", budget_bytes},
                                         {"peak_extra_bytes", peak_extra_bytes},
                                         {"extra_bytes_bound", extra_bytes_bound},
                                         {"shared_bytes", shared_bytes},
                                         {"seconds", seconds()},
                                         {"plan_seconds", plan_seconds},
                                         {"exchange_seconds", exchange_seconds},
                                         {"local_seconds", local_seconds},
                                         {"verify_seconds", verify_seconds},
                                         {"gather_seconds", gather_seconds},
                                         {"solve_seconds", solve_seconds},
                                         {"scatter_seconds", scatter_seconds},
                                         {"predicted_seconds", predicted_seconds},
                                         {"lower_bound_seconds", lower_bound_seconds},
                                         {"achieved_fraction", achieved_fraction()},
                                         {"reason", reason()},
                                         {"waiting_seconds", waiting_seconds},
                                         {"verified", verified},
                                         {"plan_from_layout", plan_from_layout}};
  return object.dump();
}

}  // namespace valet
