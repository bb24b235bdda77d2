// SPDX-License-Identifier: BSD-3-Clause
#include "bindings/c_call.hpp"

#include "observe/report_fields.hpp"
#include "plan/check_options.hpp"
#include "schedule/methods.hpp"
#include <valet/progress.hpp>

#include <new>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace valet::c {
namespace {

#define VALET_SAME_VALUE(C, name) static_assert(VALET_METHOD_##C == static_cast<int>(Method::name));
VALET_METHODS(VALET_SAME_VALUE)
#undef VALET_SAME_VALUE
static_assert(VALET_METHOD_AUTOMATIC == static_cast<int>(Method::automatic));
static_assert(VALET_HEURISTIC_CONTINUOUS == static_cast<int>(Heuristic::continuous));
static_assert(VALET_SCHEDULER_CENTRALIZED == static_cast<int>(Scheduler::centralized));
static_assert(VALET_EDGE_ORDER_ROTATED == static_cast<int>(EdgeOrder::rotated));
static_assert(VALET_ORDER_STABLE == static_cast<int>(Order::stable));
static_assert(VALET_NEGATIVE_RANK_DROP == static_cast<int>(NegativeRank::drop));
static_assert(VALET_ALLTOALL_PAIRWISE == static_cast<int>(AlltoallMethod::pairwise));
static_assert(VALET_ALLTOALL_DIRECT == static_cast<int>(AlltoallMethod::direct));
static_assert(VALET_CALLBACK_FAILED == static_cast<int>(ErrorCode::callback_failed));
static_assert(VALET_FILE_FAILURE == static_cast<int>(ErrorCode::file_failure));

thread_local std::string last_message;
/// The last one that was not about a null pointer: why there is no plan, for example.
thread_local std::string last_cause;
constexpr std::string_view null_pointer = " is a null pointer";
/// What Valet_Callback_failed() was told.
thread_local std::optional<std::string> failure_of_callback;

std::function<std::size_t()> to_available_bytes(const Valet_Phased_options& options) {
  if (options.available_bytes == nullptr) return {};
  return [function = options.available_bytes, data = options.available_bytes_data] {
    return function(data);
  };
}

/// Calls `action` with every number, choice and switch of the options in C++, and the same in C.
template <class InCpp, class InC, class Action>
void for_each_number(InCpp& options, InC& in_c, Action&& action) {
  action(options.budget_bytes, in_c.budget_bytes);
  action(options.method, in_c.method);
  action(options.order, in_c.order);
  action(options.negative_rank, in_c.negative_rank);
  action(options.verify, in_c.verify);
  action(options.share_memory, in_c.share_memory);
  action(options.keep_memory, in_c.keep_memory);
  action(options.message_bytes, in_c.message_bytes);
  action(options.progress_bar, in_c.progress_bar);
  action(options.stream.window, in_c.stream.window);
  action(options.phased.heuristic, in_c.phased.heuristic);
  action(options.phased.scheduler, in_c.phased.scheduler);
  action(options.phased.parking, in_c.phased.parking);
  action(options.phased.seed, in_c.phased.seed);
  action(options.cyclic.edge_order, in_c.cyclic.edge_order);
}

template <class From, class To>
void convert(const From& from, To& to) {
  to = static_cast<To>(from);
}

/// @throws Error unless the value is known.
void require_choice(const char* member, int value, bool is_known) {
  if (!is_known)
    refuse("unknown ", member, " ", value, " in Valet_Options; start from Valet_Options_default()");
}

/// The same for values from 0 to `last`.
void require_choice(const char* member, int value, int last) {
  require_choice(member, value, value >= 0 && value <= last);
}

/// The beginning of a text, as far as there is room for it, and a 0.
template <std::size_t room>
void copy_text(std::string_view text, char (&target)[room]) {
  target[text.copy(target, room - 1)] = '\0';
}

}  // namespace

Diagnostic diagnostic_in_flight() {
  try {
    throw;
  } catch (const Error& error) {
    return {error.code(), std::string(error.message())};
  } catch (const std::bad_alloc&) {
    return {ErrorCode::out_of_memory, "no memory"};
  } catch (const std::exception& error) {
    return {ErrorCode::internal, error.what()};
  } catch (...) {
    return {ErrorCode::internal, "an exception that is no std::exception"};
  }
}

int keep_error() noexcept {
  const Diagnostic diagnostic = diagnostic_in_flight();
  last_message = Error(diagnostic.code, diagnostic.text).what();
  if (last_message.find(null_pointer) == std::string::npos) last_cause = last_message;
  return static_cast<int>(diagnostic.code);
}

const char* last_error() noexcept { return last_message.c_str(); }

void require_pointer(const void* pointer, const char* what, const char* remedy) {
  if (pointer != nullptr) return;
  std::string text = joined(what, null_pointer, "; ", remedy);
  if (!last_cause.empty()) text += "; the last call that failed before said: " + last_cause;
  refuse(text);
}

std::function<void(const Progress&)> to_progress(Valet_Progress_fn* function, void* data) {
  if (function == nullptr) return {};
  return [=](const Progress& now) {
    const Valet_Progress progress{now.blocks_done, now.blocks_total, now.bytes_done,
                                  now.bytes_total, now.elapsed_seconds};
    failure_of_callback.reset();
    function(&progress, data);
    if (failure_of_callback) throw std::runtime_error(*std::exchange(failure_of_callback, {}));
  };
}

Valet_Options default_options() {
  const Options options;
  Valet_Options defaults{};
  defaults.struct_size = sizeof defaults;
  defaults.alltoall_method = static_cast<int>(AlltoallOptions().method);
  for_each_number(options, defaults, [](const auto& value, auto& in_c) { convert(value, in_c); });
  return defaults;
}

Valet_Options complete_options(const Valet_Options* options) {
  if (options == nullptr) return default_options();
  return complete("Valet_Options", *options, default_options());
}

Options to_options(const Valet_Options& options) {
  const auto method = static_cast<Method>(options.method);
  require_choice("method", options.method,
                 method == Method::automatic || schedule::find_traits(method) != nullptr);
  require_choice("order", options.order, VALET_ORDER_STABLE);
  require_choice("negative_rank", options.negative_rank, VALET_NEGATIVE_RANK_DROP);
  require_choice("heuristic", options.phased.heuristic, VALET_HEURISTIC_CONTINUOUS);
  require_choice("scheduler", options.phased.scheduler, VALET_SCHEDULER_CENTRALIZED);
  require_choice("edge_order", options.cyclic.edge_order, VALET_EDGE_ORDER_ROTATED);
  require_number(options.budget_bytes, "the budget (budget_bytes)");
  require_number(options.message_bytes, "message_bytes");
  Options result;
  for_each_number(result, options, [](auto& value, const auto& in_c) { convert(in_c, value); });
  result.phased.available_bytes = to_available_bytes(options.phased);
  if (options.trace != nullptr) result.trace = options.trace;
  if (options.transfers != nullptr) result.transfers = options.transfers;
  result.progress = to_progress(options.progress, options.progress_data);
  require_nothing_wrong(plan::check_options(result));
  return result;
}

ChosenOptions to_chosen_options(const Valet_Options* options) {
  const Valet_Options whole = complete_options(options);
  const auto alltoall_method = static_cast<AlltoallMethod>(whole.alltoall_method);
  require_nothing_wrong(plan::check_options(AlltoallOptions{.method = alltoall_method}));
  return {to_options(whole), alltoall_method};
}

void agree_on_options(mpi::Agreement& agreement, const ChosenOptions& chosen) {
  plan::agree_on_options(agreement, chosen.options);
  agreement.equal({"option alltoall_method", mpi::name_of<AlltoallMethod>}, chosen.alltoall_method);
}

Report to_report(const Valet_Report& report) {
  const Valet_Report whole = complete("Valet_Report", report, Valet_Report{});
  Report result;
  observe::for_each_stored_field(
      [&](const auto& field) { result.*field.value = whole.*field.in_c; });
  result.method = whole.method;
  result.ranks = whole.ranks;
  if (whole.reason[0] != '\0') result.reason = report.reason;  // lasts as long as the caller's
  return result;
}

void require_report(const Valet_Report* report) {
  if (report != nullptr) static_cast<void>(complete("Valet_Report", *report, Valet_Report{}));
}

void write_report(const Report& done, Valet_Report* report) {
  if (report == nullptr) return;
  Valet_Report whole{};
  observe::for_each_field(
      [&](const auto& field) { whole.*field.in_c = std::invoke(field.value, done); });
  whole.struct_size = report->struct_size;
  whole.ranks = done.ranks;
  copy_text(done.method, whole.method);
  copy_text(done.reason, whole.reason);
  std::memcpy(report, &whole, whole.struct_size);
}

}  // namespace valet::c

extern "C" {

/// For languages whose callbacks cannot throw in C++: what the progress callback that calls this is
/// taken to throw. @param why  Copied. Local.
VALET_EXPORT void Valet_Callback_failed(const char* why) { valet::c::failure_of_callback = why; }

}  // extern "C"
