// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// The table of a report's numbers. JSON, the sum over ranks and the struct of C are made from it,
/// and a test compares the type of Fortran with it: a new number is a member of Report, of
/// Valet_Report in report.h and valet.f90, and a row here.

#include <valet/report.hpp>
#include <valet/valet.h>

#include <array>

namespace valet::observe {

/// How the numbers of ranks become one.
enum class OverRanks {
  sum,      ///< what all ranks did together
  largest,  ///< the rank's that took longest or needed most
  same,     ///< on all ranks
  derived,  ///< from the other numbers
};

/// A number of the type `Value`, or a function that returns it; `InC` in C.
template <class Value, class InC>
struct ReportField {
  constexpr ReportField(const char* field_name, Value Report::*field, InC Valet_Report::*field_in_c,
                        OverRanks how)
      : name(field_name), value(field), in_c(field_in_c), over_ranks(how) {}

  const char* name;         ///< in C++, C, Fortran and JSON
  Value Report::*value;     ///< for std::invoke
  InC Valet_Report::*in_c;  ///< the same in C
  OverRanks over_ranks;     ///< how summed_over_ranks() treats it
};

#define VALET_FIELD(member, how) \
  ReportField(#member, &Report::member, &Valet_Report::member, OverRanks::how)

inline constexpr std::array report_counts{VALET_FIELD(block_bytes, same),
                                          VALET_FIELD(blocks_before, sum),
                                          VALET_FIELD(blocks_after, sum),
                                          VALET_FIELD(blocks_sent, sum),
                                          VALET_FIELD(blocks_received, sum),
                                          VALET_FIELD(blocks_pulled, sum),
                                          VALET_FIELD(blocks_dropped, sum),
                                          VALET_FIELD(bytes_sent, sum),
                                          VALET_FIELD(messages, sum),
                                          VALET_FIELD(credits, sum),
                                          VALET_FIELD(local_copies, sum),
                                          VALET_FIELD(misplaced, sum),
                                          VALET_FIELD(swaps, largest),
                                          VALET_FIELD(phases, largest),
                                          VALET_FIELD(detours, sum),
                                          VALET_FIELD(steps, largest),
                                          VALET_FIELD(neighbours, largest),
                                          VALET_FIELD(budget_bytes, largest),
                                          VALET_FIELD(peak_extra_bytes, largest),
                                          VALET_FIELD(extra_bytes_bound, largest),
                                          VALET_FIELD(shared_bytes, largest),
                                          VALET_FIELD(segments, sum),
                                          VALET_FIELD(periods, largest)};

inline constexpr std::array report_seconds{
    VALET_FIELD(plan_seconds, largest),    VALET_FIELD(exchange_seconds, largest),
    VALET_FIELD(local_seconds, largest),   VALET_FIELD(verify_seconds, largest),
    VALET_FIELD(waiting_seconds, largest), VALET_FIELD(gather_seconds, largest),
    VALET_FIELD(solve_seconds, largest),   VALET_FIELD(scatter_seconds, largest)};

inline constexpr std::array report_flags{VALET_FIELD(verified, same),
                                         VALET_FIELD(plan_from_layout, same)};

inline constexpr std::array report_functions{VALET_FIELD(seconds, derived)};

#undef VALET_FIELD

/// Calls `action` with every row whose number a report stores.
template <class Action>
void for_each_stored_field(Action&& action) {
  for (const auto& field : report_counts) action(field);
  for (const auto& field : report_seconds) action(field);
  for (const auto& field : report_flags) action(field);
}

/// Calls `action` with every row.
template <class Action>
void for_each_field(Action&& action) {
  for_each_stored_field(action);
  for (const auto& field : report_functions) action(field);
}

}  // namespace valet::observe
