// SPDX-License-Identifier: BSD-3-Clause
#include "madre_schedules.hpp"

#include "tools/schedules/cyclic_schedule.hpp"
#include "tools/schedules/phase_schedule.hpp"
#include <valet/error.hpp>

#include <numeric>

namespace valet::bench {
namespace {

/// Numbers of [first, first + count) that leave `rest` when divided by `divisor`.
std::uint64_t count_with_rest(std::uint64_t first, std::uint64_t count, std::uint64_t rest,
                              std::uint64_t divisor) {
  const std::uint64_t skipped = (rest + divisor - first % divisor) % divisor;
  return skipped < count ? (count - 1 - skipped) / divisor + 1 : 0;
}

/// Free slots and one block of scratch on each process.
std::vector<std::uint64_t> room_of(Pattern pattern, std::uint64_t slots, std::uint64_t free,
                                   std::uint32_t processes) {
  const bool one_free = pattern == Pattern::one_free && processes > 1;
  std::vector<std::uint64_t> room(processes, (one_free ? 0 : free) + 1);
  if (one_free) room[0] = slots + 1;
  return room;
}

}  // namespace

schedule::TransferMatrix transfers_of(Pattern pattern, std::uint64_t slots, std::uint64_t free,
                                      std::uint32_t processes) {
  const std::uint64_t blocks = slots - free;
  std::vector<schedule::TransferEntry> transfers;
  for (std::uint32_t from = 0; from < processes; ++from) {
    const auto to_distance = [&](std::uint32_t distance, std::uint64_t count) {
      transfers.push_back({from, (from + distance) % processes, count});
    };
    if (pattern == Pattern::ring) {
      to_distance(1, blocks);
    } else if (pattern == Pattern::transpose) {
      for (std::uint32_t to = 0; to < processes; ++to)
        transfers.push_back({from, to, count_with_rest(blocks * from, blocks, to, processes)});
    } else if (pattern == Pattern::one_free) {
      for (std::uint32_t distance = 1; distance < processes && from > 0; ++distance)
        to_distance(distance, count_with_rest(0, slots, distance - 1, processes - 1));
    } else {
      throw Error(ErrorCode::invalid_argument, "no experiment of MADRE has this pattern");
    }
  }
  return {processes, std::move(transfers)};
}

std::vector<tools::Case> count_madre_schedules(Pattern pattern, std::uint64_t slots,
                                               std::uint64_t free, std::uint32_t processes) {
  const schedule::TransferMatrix matrix = transfers_of(pattern, slots, free, processes);
  const std::vector<std::uint64_t> room = room_of(pattern, slots, free, processes);
  const schedule::PhaseBounds bounds = schedule::phase_bounds(
      matrix.volume(), std::accumulate(room.begin(), room.end(), std::uint64_t{0}));
  const auto row = [&](const std::string& method, std::uint64_t phases, std::uint64_t messages,
                       std::uint64_t volume) -> tools::Case {
    const double whole = matrix.volume() > 0 ? static_cast<double>(matrix.volume()) : 1;
    return {{"processes", processes},
            {"blocks", slots},
            {"free", free},
            {"method", method},
            {"phases", phases},
            {"messages", messages},
            {"volume", static_cast<double>(volume) / whole},
            {"lower", bounds.lower},
            {"upper", bounds.upper}};
  };
  const schedule::PhaseCounts parked =
      schedule::count_phases(matrix, room, {Heuristic::first_fit, 1, 1});
  std::vector<tools::Case> rows{row("phased", parked.phases, parked.messages, parked.volume)};
  for (const EdgeOrder order : {EdgeOrder::ascending, EdgeOrder::rotated}) {
    const schedule::CyclicCounts cycles =
        schedule::count_actions(schedule::record_cyclic(matrix, room, order));
    rows.push_back(row(std::string("cyclic-") + to_string(order), cycles.critical_path,
                       cycles.messages, cycles.volume));
  }
  return rows;
}

}  // namespace valet::bench
