// SPDX-License-Identifier: BSD-3-Clause
#include "bindings/c_call.hpp"

#include "schedule/methods.hpp"
#include <valet/progress.hpp>

#include <cstddef>
#include <functional>
#include <new>
#include <string>
#include <string_view>

namespace valet::c {
namespace {

#define VALET_SAME_VALUE(C, name) static_assert(VALET_##C == static_cast<int>(Method::name));
VALET_METHODS(VALET_SAME_VALUE)
#undef VALET_SAME_VALUE
static_assert(VALET_AUTO == static_cast<int>(Method::automatic));
static_assert(VALET_CONTINUOUS == static_cast<int>(Heuristic::continuous));
static_assert(VALET_CENTRALIZED == static_cast<int>(Scheduler::centralized));
static_assert(VALET_ROTATED == static_cast<int>(EdgeOrder::rotated));
static_assert(VALET_CALLBACK_FAILED == static_cast<int>(ErrorCode::callback_failed));

thread_local std::string last_message;

std::function<void(const Progress&)> to_progress(const Valet_Options& options) {
  if (options.progress == nullptr) return {};
  return [function = options.progress, data = options.progress_data](const Progress& now) {
    const Valet_Progress progress{now.blocks_done, now.blocks_total, now.bytes_done,
                                  now.bytes_total, now.elapsed_seconds};
    function(&progress, data);
  };
}

[[noreturn]] void refuse_choice(const char* member, int value) {
  throw Error(ErrorCode::invalid_argument,
              std::string("unknown ") + member + " " + std::to_string(value) +
                  " in Valet_Options; start from Valet_Options_default()");
}

/// @throws Error for a value that is not from `least` to `most`.
void require_choice(const char* member, int value, int least, int most) {
  if (value < least || value > most) refuse_choice(member, value);
}

/// As much of a text as there is room for, and a 0.
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
  return static_cast<int>(diagnostic.code);
}

const char* last_error() noexcept { return last_message.c_str(); }

void require_pointer(const void* pointer, const char* what, const char* remedy) {
  if (pointer != nullptr) return;
  throw Error(ErrorCode::invalid_argument, std::string(what) + " is a null pointer; " + remedy);
}

Options to_options(const Valet_Options* options) {
  if (options == nullptr) return {};
  if (options->method != VALET_AUTO &&
      schedule::find_traits(static_cast<Method>(options->method)) == nullptr)
    refuse_choice("method", options->method);
  require_choice("order", options->order, VALET_FILL, VALET_STABLE);
  require_choice("heuristic", options->heuristic, VALET_FIRST_FIT, VALET_CONTINUOUS);
  require_choice("scheduler", options->scheduler, VALET_DISTRIBUTED, VALET_CENTRALIZED);
  require_choice("edge_order", options->edge_order, VALET_ASCENDING, VALET_ROTATED);
  return {.budget_bytes = options->budget_bytes,
          .method = static_cast<Method>(options->method),
          .order = static_cast<Order>(options->order),
          .verify = options->verify != 0,
          .message_bytes = options->message_bytes,
          .share_memory = options->share_memory != 0,
          .automatic = {},
          .stream = {.window = options->window},
          .phased = {.heuristic = static_cast<Heuristic>(options->heuristic),
                     .scheduler = static_cast<Scheduler>(options->scheduler),
                     .parking = options->parking,
                     .seed = options->seed,
                     .available_bytes = {}},
          .cyclic = {.edge_order = static_cast<EdgeOrder>(options->edge_order)},
          .trace = options->trace == nullptr ? "" : options->trace,
          .progress = to_progress(*options),
          .progress_bar = options->progress_bar != 0};
}

void tell(const Report& done, Valet_Report* report) noexcept {
  if (report == nullptr) return;
  *report = {.block_bytes = done.block_bytes,
             .blocks_before = done.blocks_before,
             .blocks_after = done.blocks_after,
             .blocks_sent = done.blocks_sent,
             .blocks_received = done.blocks_received,
             .bytes_sent = done.bytes_sent,
             .messages = done.messages,
             .credits = done.credits,
             .local_copies = done.local_copies,
             .swaps = done.swaps,
             .phases = done.phases,
             .detours = done.detours,
             .steps = done.steps,
             .neighbours = done.neighbours,
             .budget_bytes = done.budget_bytes,
             .peak_extra_bytes = done.peak_extra_bytes,
             .extra_bytes_bound = done.extra_bytes_bound,
             .shared_bytes = done.shared_bytes,
             .plan_seconds = done.plan_seconds,
             .exchange_seconds = done.exchange_seconds,
             .local_seconds = done.local_seconds,
             .verify_seconds = done.verify_seconds,
             .waiting_seconds = done.waiting_seconds,
             .gather_seconds = done.gather_seconds,
             .solve_seconds = done.solve_seconds,
             .scatter_seconds = done.scatter_seconds,
             .predicted_seconds = done.choice ? done.choice->seconds : 0,
             .lower_bound_seconds = done.choice ? done.choice->lower_bound_seconds : 0,
             .verified = done.verified ? 1 : 0,
             .plan_from_layout = done.plan_from_layout ? 1 : 0,
             .method = {},
             .reason = {}};
  copy_text(done.method, report->method);
  copy_text(done.reason(), report->reason);
}

}  // namespace valet::c
