// SPDX-License-Identifier: BSD-3-Clause
#include "plan/check_options.hpp"

#include "base/diagnose.hpp"
#include "schedule/methods.hpp"

namespace valet::plan {
namespace {

std::optional<Diagnostic> check_phases(const Options& options) {
  if (options.phased.parking < 0)
    return invalid("a parking interval of ", options.phased.parking,
                   "; give 0 for no parking, or k for parking at every k-th phase");
  if (options.phased.available_bytes && options.method == Method::phased &&
      options.phased.heuristic == Heuristic::continuous)
    return invalid(
        "available_bytes is asked at every phase, but heuristic continuous divides the memory of "
        "the beginning; take another heuristic");
  return std::nullopt;
}

}  // namespace

std::optional<Diagnostic> check_options(const Options& options) {
  if (options.stream.window < 1 || options.stream.window > 64)
    return invalid("a window of ", options.stream.window, " messages; choose one from 1 to 64");
  if (!options.trace.empty() && options.trace == options.transfers)
    return invalid("options trace and transfers are both '", options.trace,
                   "', where one would replace the other; give each a file of its own");
  if (auto unknown = schedule::check_choices(options)) return unknown;
  return check_phases(options);
}

std::optional<Diagnostic> check_options(const LayoutOptions& options) {
  return schedule::check_method("option method", options.method);
}

std::optional<Diagnostic> check_options(const AlltoallOptions& options) {
  if (options.method >= AlltoallMethod::automatic && options.method <= AlltoallMethod::direct)
    return std::nullopt;
  return invalid("unknown all-to-all method ", static_cast<int>(options.method),
                 "; start from the default options");
}

void agree_on_options(mpi::Agreement& agreement, const Options& options) {
  agreement.equal({"option method", mpi::name_of<Method>}, options.method);
  agreement.equal({"option order", mpi::name_of<Order>}, options.order);
  agreement.equal({"option negative_rank", mpi::name_of<NegativeRank>}, options.negative_rank);
  agreement.equal({"option verify", mpi::yes_or_no}, options.verify);
  agreement.equal({"option share_memory", mpi::yes_or_no}, options.share_memory);
  agreement.equal({"option phased.heuristic", mpi::name_of<Heuristic>}, options.phased.heuristic);
  agreement.equal({"option phased.scheduler", mpi::name_of<Scheduler>}, options.phased.scheduler);
  agreement.equal({"option phased.parking"}, options.phased.parking);
  agreement.equal({"option phased.seed"}, options.phased.seed);
  agreement.equal({"option phased.available_bytes", mpi::is_given},
                  bool(options.phased.available_bytes));
  agreement.equal({"option trace", mpi::is_given}, !options.trace.empty());
  agreement.equal({"option transfers", mpi::is_given}, !options.transfers.empty());
}

void agree_on_options(mpi::Agreement& agreement, const LayoutOptions& options) {
  agreement.equal({"option method", mpi::name_of<Method>}, options.method);
  agreement.equal({"option verify", mpi::yes_or_no}, options.verify);
  agreement.equal({"option share_memory", mpi::yes_or_no}, options.share_memory);
  agreement.equal({"option trace", mpi::is_given}, !options.trace.empty());
}

void agree_on_options(mpi::Agreement& agreement, const AlltoallOptions& options) {
  agreement.equal({"option any_order", mpi::yes_or_no}, options.any_order);
  agreement.equal({"option method", mpi::name_of<AlltoallMethod>}, options.method);
  agreement.equal({"option share_memory", mpi::yes_or_no}, options.share_memory);
  agreement.equal({"option trace", mpi::is_given}, !options.trace.empty());
}

}  // namespace valet::plan
