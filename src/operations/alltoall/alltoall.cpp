// SPDX-License-Identifier: BSD-3-Clause
#include "base/memory_reserve.hpp"
#include "base/names.hpp"
#include "base/promise.hpp"
#include "base/sizes.hpp"
#include "mpi/agreement.hpp"
#include "mpi/check.hpp"
#include "operations/alltoall/checks.hpp"
#include "operations/alltoall/direct_exchange.hpp"
#include "operations/alltoall/page_exchange.hpp"
#include "operations/alltoall/sorted_exchange.hpp"
#include "operations/pages/page_plan.hpp"
#include "plan/automatic.hpp"
#include "plan/check_options.hpp"
#include "plan/planner.hpp"
#include "schedule/at_once.hpp"
#include "schedule/stream_sizes.hpp"
#include <valet/alltoall.hpp>
#include <valet/detail/known_counts.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <limits>
#include <memory>
#include <new>
#include <string>
#include <utility>

namespace valet {
namespace {

using operations::sum;

/// What a rank that found something wrong sends in place of its counts, so that nobody blames
/// another rank for them.
constexpr std::uint64_t unknown = std::numeric_limits<std::uint64_t>::max();

/// What the choice between pages and swaps is made from: pages of this rank.
plan::JointShape shape_of_pages(const plan::State& state, std::span<const std::uint64_t> sent,
                                std::span<const std::uint64_t> received,
                                std::uint64_t elements_of_page) {
  const auto self = static_cast<std::size_t>(state.channel.rank());
  const auto pages = [&](std::uint64_t elements) {
    return (elements + elements_of_page - 1) / elements_of_page;
  };
  std::uint64_t destinations = 0, sources = 0;
  for (std::size_t r = 0; r < sent.size(); ++r) {
    if (r == self) continue;
    destinations += sent[r] > 0 ? 1 : 0;
    sources += received[r] > 0 ? 1 : 0;
  }
  const std::uint64_t before = sum(sent), after = sum(received);
  const std::uint64_t arriving = pages(after - received[self]);
  const std::uint64_t in_message =
      message_blocks(state, {.blocks = std::max<std::uint64_t>(1, arriving)});  // others', about
  return shape_of(state, {.slots = pages(std::max(before, after)),
                          .sent = pages(before - sent[self]),
                          .received = arriving,
                          .messages = 2 * sources + arriving / in_message,  // and fragments
                          .neighbours = std::max(destinations, sources)});
}

/// Ranks that this one exchanges elements with.
std::uint64_t count_neighbours(std::span<const std::uint64_t> sent,
                               std::span<const std::uint64_t> received, std::size_t self) {
  std::uint64_t neighbours = 0;
  for (std::size_t r = 0; r < sent.size(); ++r)
    neighbours += r != self && (sent[r] > 0 || received[r] > 0) ? 1 : 0;
  return neighbours;
}

/// An all-to-all on one rank, and what the ranks agree on before anything moves.
struct Call {
  const AlltoallBuffer& buffer;
  const AlltoallOptions& options;
  std::span<const std::uint64_t> sent, received;
  operations::PageLimits limits = {};
  std::uint64_t page = 0;  ///< bytes of one: the least that suits a rank
  std::uint64_t least_page =
      0;                 ///< from here to the page that suits it all fit a rank: the largest
  bool at_once = false;  ///< `direct` suits a rank, then all
  std::uint64_t needed_at_once = 0;  ///< budget for that
  plan::JointShape joint = {};       ///< pages: what the choice between them and swaps is made from
  operations::SwapSizes swaps{0, 1, 0};
  const detail::KnownCounts* known = nullptr;  ///< where an adapter gives the counts
  std::uint64_t fingerprint = 0;               ///< of what these follow from

  [[nodiscard]] std::uint64_t needed(std::uint64_t page_bytes) const {
    return page_overhead_bytes(limits, page_bytes) + page_bytes;
  }
  [[nodiscard]] bool fits(std::uint64_t page_bytes) const {
    return needed(page_bytes) <= options.budget_bytes;
  }
  [[nodiscard]] std::uint64_t elements_of_page() const {
    return std::max<std::uint64_t>(1, page / buffer.element_bytes);
  }
};

/// Numbers of pages into numbers of elements and back: ranks meet before they know their pages.
void rescale(plan::JointShape& joint, std::uint64_t times, std::uint64_t parts) {
  schedule::ExchangeShape& shape = joint.shape;
  for (std::uint64_t* const count : {&shape.slots, &shape.sent, &shape.received, &shape.handled})
    *count = (*count * times + parts - 1) / parts;
}

/// Whether everything can leave this rank at once, and then the scratch for it.
/// @throws std::bad_alloc.
void suit_at_once(plan::State& state, Call& call) {
  const AlltoallMethod method = call.options.method;
  if (method != AlltoallMethod::automatic && method != AlltoallMethod::direct) return;
  const std::uint64_t needed = call.needed_at_once = operations::DirectExchange::scratch_bytes(
      call.sent, state.channel.rank(), call.buffer.element_bytes);
  call.at_once = needed <= call.options.budget_bytes &&
                 (method == AlltoallMethod::direct || needed <= schedule::most_bytes_at_once);
  if (call.at_once) state.memory.take_scratch(static_cast<std::size_t>(needed));
}

/// The page that suits this rank, and what it would have to do with pages of that size.
void suit_page(plan::State& state, Call& call) {
  const auto used = [](std::uint64_t count) { return count > 0; };
  const std::size_t element_bytes = call.buffer.element_bytes;
  call.limits = {.budget_bytes = call.options.budget_bytes,
                 .element_bytes = element_bytes,
                 .buffer_bytes = std::max(sum(call.sent), sum(call.received)) * element_bytes,
                 .segments = static_cast<std::uint64_t>(std::ranges::count_if(call.sent, used))};
  call.page = choose_page_bytes(call.limits);
  call.least_page = call.fits(call.page) ? call.page : unknown;
  while (call.least_page / 2 >= element_bytes && call.fits(call.least_page / 2) &&
         call.least_page != unknown)
    call.least_page /= 2;
  state.blocks.block_bytes = static_cast<std::size_t>(call.page);
  const std::uint64_t elements = call.elements_of_page();
  call.joint = shape_of_pages(state, call.sent, call.received, elements);
  rescale(call.joint, elements, 1);
  call.swaps = {call.limits.buffer_bytes / element_bytes, element_bytes, call.options.budget_bytes};
}

/// What suits this rank.
std::optional<Diagnostic> suit(plan::State& state, Call& call) {
  try {
    const detail::LeaveReserve leave;
    suit_page(state, call);
    suit_at_once(state, call);
    return std::nullopt;
  } catch (const std::bad_alloc&) {
    return Diagnostic{ErrorCode::out_of_memory,
                      "the system has no memory to move within the budget of " +
                          std::to_string(call.options.budget_bytes) +
                          " bytes; set a smaller budget"};
  }
}

/// Agrees on what is wrong, on what must be equal everywhere, and on the pages. Collective: one
/// reduction.
void agree_on_call(plan::State& state, const std::optional<Diagnostic>& mine, Call& call) {
  mpi::Agreement agreement;
  if (call.known != nullptr)
    agreement.equal({.name = call.known->basis, .text = nullptr}, call.fingerprint);
  agreement.equal({.name = call.known != nullptr ? call.known->element_name : "element_bytes",
                   .code = ErrorCode::block_size_mismatch},
                  call.known != nullptr ? call.known->element_bytes : call.buffer.element_bytes);
  plan::agree_on_options(agreement, call.options);
  agreement.least(call.page);
  agreement.largest(call.least_page);
  state.frame->join(agreement);
  const bool fits = call.at_once;
  agreement.least(call.at_once);
  call.joint.join(agreement);
  call.swaps.join(agreement);
  agreement.run(state.channel, mine);
  if (call.options.method == AlltoallMethod::direct && !call.at_once) {
    std::optional<Diagnostic> too_small;
    if (!fits)
      too_small = Diagnostic{ErrorCode::budget_too_small,
                             "the budget of " + std::to_string(call.options.budget_bytes) +
                                 " bytes is below the " + std::to_string(call.needed_at_once) +
                                 " that leave a rank at once; set budget_bytes to " +
                                 mpi::at_least_enough + ", or take stream"};
    mpi::Agreement budgets;
    budgets.enough(call.needed_at_once);
    budgets.run(state.channel, too_small);
  }
  state.blocks.block_bytes = static_cast<std::size_t>(call.page);
  rescale(call.joint, 1, call.elements_of_page());
}

/// A budget with which pages fit on all ranks: tries larger ones, because pages that suit one rank
/// need not suit another. Collective.
std::uint64_t enough_for_pages(const mpi::Channel& channel, const Call& call) {
  std::uint64_t needed = call.needed(call.page);
  for (std::uint64_t enough = 0;;) {
    mpi::Agreement most;
    most.largest(needed);
    most.run(channel, std::nullopt);
    if (needed <= enough) return enough;
    enough = std::max(needed, enough + enough / 8);
    operations::PageLimits limits = call.limits;
    limits.budget_bytes = enough;
    std::uint64_t page = choose_page_bytes(limits);
    mpi::Agreement least;
    least.least(page);
    least.run(channel, std::nullopt);
    needed = page_overhead_bytes(limits, page) + page;
  }
}

/// Whether pages fit the budget on all ranks. Collective only where they do not seem to.
/// @throws Error where they must and do not.
bool pages_fit(const mpi::Channel& channel, const Call& call) {
  if (call.least_page <= call.page) return true;
  bool fits = call.fits(call.page);
  const bool is_short = !fits;
  mpi::Agreement agreement;
  agreement.least(fits);
  agreement.run(channel, std::nullopt);
  if (!fits && call.options.method == AlltoallMethod::stream) {
    mpi::Agreement budgets;
    budgets.enough(enough_for_pages(channel, call));
    budgets.run(channel, is_short ? std::optional(mpi::budget_too_small_for(
                                        "pages with these counts", call.options.budget_bytes))
                                  : std::nullopt);
  }
  return fits;
}

/// Method::automatic of an all-to-all: whether pages are faster than swaps, and for pages whether
/// ranks of a node share memory. Collective.
bool pages_pay(plan::State& state, plan::JointShape& joint) {
  schedule::Choice choice;
  bool pays = true;
  if (joint.moves_nothing()) {
    choice.reason = "nothing leaves its rank";
  } else {
    state.make_room_to_measure();
    add_costs(state, joint);
    const schedule::Prediction pages = schedule::predict(joint.model, joint.shape, Method::stream);
    const double swaps = schedule::swaps_seconds(joint.model, joint.shape);
    pays = pages.seconds <= swaps;
    choice.shares_memory = pages.shares_memory;
    choice.seconds = std::min(pages.seconds, swaps);
    choice.lower_bound_seconds = schedule::lower_bound_seconds(joint.model, joint.shape);
    std::array<char, 96> reason{};
    std::snprintf(reason.data(), reason.size(),
                  "pages are predicted to take %.3g ms, swaps %.3g ms", pages.seconds * 1e3,
                  swaps * 1e3);
    choice.reason = reason.data();
  }
  state.choice = std::make_shared<const schedule::Choice>(std::move(choice));
  return pays;
}

/// The method by swaps, `swaps` being made for it; nothing where pages are used. Collective.
/// @param elements_after  On this rank.
std::optional<AlltoallMethod> choose_swaps(plan::State& state, Call& call,
                                           std::uint64_t elements_after,
                                           std::optional<operations::SortedExchange>& swaps) {
  const AlltoallMethod wish = call.options.method;
  const auto make = [&]() -> operations::SortedExchange& {
    state.memory.free_unused();  // swaps have the whole budget
    return swaps.emplace(state, call.buffer, call.sent, elements_after, call.options.budget_bytes,
                         call.swaps);
  };
  const bool may_use_pages = wish == AlltoallMethod::automatic || wish == AlltoallMethod::stream;
  if (!may_use_pages || !pages_fit(state.channel, call))
    return make().choose(wish, [&] { return enough_for_pages(state.channel, call); });
  if (wish != AlltoallMethod::automatic || pages_pay(state, call.joint)) return std::nullopt;
  return make().find_suited();
}

/// The progress of an all-to-all by this method.
observe::ProgressWish progress_wish(const call::Frame& call, AlltoallMethod method) {
  return call.progress_wish(std::string("valet: all-to-all by ") + to_string(method));
}

/// Moves everything at once. Collective.
Report at_once(plan::State& state, const Call& call) {
  if (call.options.method == AlltoallMethod::automatic) {
    schedule::Choice choice;
    choice.reason = "the budgets hold all that leaves";
    state.choice = std::make_shared<const schedule::Choice>(std::move(choice));
  }
  return operations::DirectExchange(state, call.buffer, call.sent, call.received)
      .run(progress_wish(*state.frame, AlltoallMethod::direct));
}

/// Moves pages, once it is finalized that all fit. Collective.
/// @param start  When the call began.
Report by_pages(std::unique_ptr<plan::State> state, const Call& call, Array<std::uint64_t> sent,
                Array<std::uint64_t> received, double start) {
  const int rank = state->channel.rank();
  const auto self = static_cast<std::size_t>(rank);
  const std::size_t element_bytes = call.buffer.element_bytes;
  const std::uint64_t elements = sum(call.sent) - sent[self] + sum(call.received) - received[self];
  state->limit_budget(call.options.budget_bytes -
                      static_cast<std::size_t>(page_overhead_bytes(call.limits, call.page)));
  state->plan_seconds = mpi::now() - start;
  if (observe::Trace* const trace = state->observer.trace)
    trace->span(observe::TraceKind::stage, "plan", start, mpi::now());
  operations::PageExchange exchange(std::move(state),
                                    {static_cast<std::byte*>(call.buffer.data), call.buffer.bytes},
                                    element_bytes, call.page, std::move(sent), std::move(received));
  return exchange.run(call.options.any_order, elements);
}

/// What a caller gives.
struct Counts {
  std::span<const std::int64_t> send;
  std::span<const std::int64_t> receive;  ///< or none
};

/// Tells every rank what it gets of this one: fills `sent` and `received`. Collective. Returns what
/// is wrong with the call, if anything.
std::optional<Diagnostic> exchange_counts(plan::State& state, Call& call, const Counts& counts,
                                          std::span<std::uint64_t> sent,
                                          std::span<std::uint64_t> received) {
  std::optional<Diagnostic> diagnostic = plan::check_options(call.options);
  if (!diagnostic) diagnostic = operations::check_alltoall(call.buffer, counts.send, sent.size());
  if (diagnostic)
    std::ranges::fill(sent, unknown);
  else
    std::ranges::copy(counts.send, sent.begin());
  mpi::exchange_all(state.channel, sent, received);
  // Where a rank found something, all that the others do is to meet it.
  if (diagnostic || std::ranges::find(received, unknown) != received.end()) return diagnostic;
  diagnostic =
      operations::check_received(received, counts.receive, call.buffer, state.channel.rank());
  return diagnostic ? diagnostic : suit(state, call);
}

/// The same for counts that an adapter knows. Collective where they are compared.
std::optional<Diagnostic> take_known_counts(plan::State& state, Call& call,
                                            std::span<std::uint64_t> sent,
                                            std::span<std::uint64_t> received) {
  std::optional<Diagnostic> diagnostic = plan::check_options(call.options);
  if (!diagnostic) diagnostic = operations::check_buffer(call.buffer);
  if (!diagnostic)
    diagnostic = call.known->count({state.channel.rank(), sent, received, call.fingerprint});
  if (call.known->mismatch) {
    Array<std::uint64_t> theirs(state.ledger, sent.size());
    if (diagnostic) std::ranges::fill(sent, unknown);
    mpi::exchange_all(state.channel, sent, theirs);
    if (diagnostic || std::ranges::find(theirs, unknown) != theirs.end()) return diagnostic;
    const auto wrong = std::ranges::mismatch(theirs, received).in1;
    if (wrong != theirs.end())
      return call.known->mismatch(static_cast<int>(wrong - theirs.begin()), *wrong);
  }
  return diagnostic ? diagnostic : suit(state, call);
}

/// An all-to-all inside its frame: counts, agreement, choice, then what moves. Collective.
/// @param known  Where an adapter gives the counts, in place of `counts`.
Report exchange_segments(const std::shared_ptr<call::Frame>& frame, const AlltoallBuffer& buffer,
                         const Counts& counts, const detail::KnownCounts* known,
                         const AlltoallOptions& options) {
  auto state = std::make_unique<plan::State>(
      frame, operations::page_options(Method::stream, options.share_memory, options.keep_memory));
  state->options.budget_bytes = options.budget_bytes;
  const double start = mpi::now();
  const mpi::Channel& channel = state->channel;
  observe::Trace* const trace = state->observer.trace;
  const auto ranks = static_cast<std::size_t>(channel.size());
  Array<std::uint64_t> sent(state->ledger, ranks), received(state->ledger, ranks);
  const std::span sent_span(sent.begin(), ranks), received_span(received.begin(), ranks);
  Call call{.buffer = buffer, .options = options, .sent = sent_span, .received = received_span};
  call.known = known;
  agree_on_call(*state,
                known != nullptr ? take_known_counts(*state, call, sent_span, received_span)
                                 : exchange_counts(*state, call, counts, sent_span, received_span),
                call);
  const std::uint64_t before = sum(sent_span), after = sum(received_span);
  std::optional<operations::SortedExchange> swaps;
  std::optional<AlltoallMethod> method = AlltoallMethod::direct;
  if (!call.at_once) method = choose_swaps(*state, call, after, swaps);
  frame->caption = {to_string(method.value_or(AlltoallMethod::stream)), buffer.element_bytes,
                    options.budget_bytes};
  Report report;
  // Swaps may have to do with any rank.
  const std::uint64_t neighbours =
      method && !call.at_once
          ? ranks - 1
          : count_neighbours(sent_span, received_span, static_cast<std::size_t>(channel.rank()));
  std::shared_ptr<const schedule::Choice> choice = state->choice;
  if (!method) {
    swaps.reset();
    report = by_pages(std::move(state), call, std::move(sent), std::move(received), start);
  } else {
    const double end = mpi::now();
    frame->align();
    if (trace != nullptr) trace->span(observe::TraceKind::stage, "plan", start, end);
    report = call.at_once ? at_once(*state, call) : swaps->run(progress_wish(*frame, *method));
    choice = state->choice;
    report.plan_seconds = end - start;
  }
  report.local_seconds += mpi::now() - start - report.seconds();
  report.choice = choice;
  report.blocks_before = before;
  report.blocks_after = after;
  report.budget_bytes = options.budget_bytes;
  report.neighbours = neighbours;
  report.extra_bytes_bound =
      detail::promised_bytes(options.budget_bytes, neighbours, ranks, frame->traces());
  return report;
}

/// The same with its frame. Collective.
Report exchange_framed(MPI_Comm communicator, const AlltoallBuffer& buffer, const Counts& counts,
                       const detail::KnownCounts* known, const AlltoallOptions& chosen) {
  const detail::MemoryReserve reserve;
  AlltoallOptions options = chosen;
  options.budget_bytes = detail::bounded_budget(options.budget_bytes);
  const auto frame =
      std::make_shared<call::Frame>(mpi::Channel::open_for_call(communicator),
                                    call::FrameOptions(options, "AlltoallOptions::progress"));
  return frame->run([&] { return exchange_segments(frame, buffer, counts, known, options); });
}

constexpr std::array methods{detail::Named{AlltoallMethod::automatic, "automatic", "auto"},
                             detail::Named{AlltoallMethod::stream, "stream"},
                             detail::Named{AlltoallMethod::swaps, "swaps"},
                             detail::Named{AlltoallMethod::bitonic, "bitonic"},
                             detail::Named{AlltoallMethod::pairwise, "pairwise"},
                             detail::Named{AlltoallMethod::direct, "direct"}};

}  // namespace

const char* to_string(AlltoallMethod method) noexcept { return detail::name_of(methods, method); }

AlltoallMethod parse_alltoall_method(std::string_view name) {
  return detail::value_of(methods, "all-to-all method", name);
}

Report alltoallv_in_place(MPI_Comm communicator, const AlltoallBuffer& buffer,
                          std::span<const std::int64_t> send_counts,
                          std::span<const std::int64_t> recv_counts,
                          const AlltoallOptions& options) {
  return exchange_framed(communicator, buffer, {send_counts, recv_counts}, nullptr, options);
}

Report detail::alltoallv_of_known(MPI_Comm communicator, const AlltoallBuffer& buffer,
                                  const KnownCounts& counts, const AlltoallOptions& options) {
  return exchange_framed(communicator, buffer, {}, &counts, options);
}

}  // namespace valet
