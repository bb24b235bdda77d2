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
#include "pages/page_options.hpp"
#include "pages/page_sizes.hpp"
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

/// What suits a rank, then all.
struct Sizes {
  std::uint64_t page = 0;        ///< bytes of one: the least that suits a rank
  std::uint64_t least_page = 0;  ///< from here to `page` all fit a rank: the largest; or unknown
  bool at_once = false;          ///< everything can leave at once
  plan::JointShape shape = {};   ///< what the choice between pages and swaps is made from
  operations::SwapSizes swaps{0, 1, 0};

  void join(mpi::Agreement& agreement) {
    agreement.least(page);
    agreement.largest(least_page);
    agreement.least(at_once);
    shape.join(agreement);
    swaps.join(agreement);
  }
};
using AgreedSizes = mpi::Agreed<Sizes>;

/// An all-to-all on one rank.
struct Call {
  const AlltoallBuffer& buffer;
  const AlltoallOptions& options;
  const detail::KnownCounts* known;  ///< where an adapter gives the counts
  std::span<std::uint64_t> sent, received;
  pages::PageLimits limits = {};
  std::uint64_t needed_at_once = 0;  ///< budget to move everything at once
  std::uint64_t fingerprint = 0;     ///< of what known counts follow from

  [[nodiscard]] std::uint64_t needed(std::uint64_t page_bytes) const {
    return page_overhead_bytes(limits, page_bytes) + page_bytes;
  }
  [[nodiscard]] bool fits(std::uint64_t page_bytes) const {
    return needed(page_bytes) <= options.budget_bytes;
  }
  [[nodiscard]] std::uint64_t elements_of(std::uint64_t page_bytes) const {
    return std::max<std::uint64_t>(1, page_bytes / buffer.element_bytes);
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
bool suits_at_once(plan::State& state, Call& call) {
  const AlltoallMethod method = call.options.method;
  if (method != AlltoallMethod::automatic && method != AlltoallMethod::direct) return false;
  const std::uint64_t needed = call.needed_at_once = operations::DirectExchange::scratch_bytes(
      call.sent, state.channel.rank(), call.buffer.element_bytes);
  const bool suits = needed <= call.options.budget_bytes &&
                     (method == AlltoallMethod::direct || needed <= schedule::most_bytes_at_once);
  if (suits) state.memory.take_scratch(static_cast<std::size_t>(needed));
  return suits;
}

/// The page that suits this rank, and what it would have to do with pages of that size.
void suit_page(plan::State& state, Call& call, Sizes& mine) {
  const auto used = [](std::uint64_t count) { return count > 0; };
  const std::size_t element_bytes = call.buffer.element_bytes;
  call.limits = {.budget_bytes = call.options.budget_bytes,
                 .element_bytes = element_bytes,
                 .buffer_bytes = std::max(sum(call.sent), sum(call.received)) * element_bytes,
                 .segments = static_cast<std::uint64_t>(std::ranges::count_if(call.sent, used))};
  mine.page = choose_page_bytes(call.limits);
  mine.least_page = call.fits(mine.page) ? mine.page : unknown;
  while (mine.least_page / 2 >= element_bytes && call.fits(mine.least_page / 2) &&
         mine.least_page != unknown)
    mine.least_page /= 2;
  state.blocks.block_bytes = static_cast<std::size_t>(mine.page);
  const std::uint64_t elements = call.elements_of(mine.page);
  mine.shape = shape_of_pages(state, call.sent, call.received, elements);
  rescale(mine.shape, elements, 1);
  mine.swaps = {call.limits.buffer_bytes / element_bytes, element_bytes, call.options.budget_bytes};
}

/// What suits this rank.
std::optional<Diagnostic> suit(plan::State& state, Call& call, Sizes& mine) {
  try {
    const detail::LeaveReserve leave;
    suit_page(state, call, mine);
    mine.at_once = suits_at_once(state, call);
    return std::nullopt;
  } catch (const std::bad_alloc&) {
    return Diagnostic{ErrorCode::out_of_memory,
                      "the system has no memory to move within the budget of " +
                          std::to_string(call.options.budget_bytes) +
                          " bytes; set a smaller budget"};
  }
}

/// That everything must leave at once, and cannot on some rank. Collective.
void require_at_once(const mpi::Channel& channel, const Call& call, const Sizes& mine) {
  std::optional<Diagnostic> too_small;
  if (!mine.at_once)
    too_small = Diagnostic{ErrorCode::budget_too_small,
                           "the budget of " + std::to_string(call.options.budget_bytes) +
                               " bytes is below the " + std::to_string(call.needed_at_once) +
                               " that leave a rank at once; set budget_bytes to " +
                               mpi::at_least_enough + ", or take stream"};
  mpi::Agreement budgets;
  budgets.enough(call.needed_at_once);
  budgets.run(channel, too_small);
}

/// Agrees on what is wrong, on what must be equal everywhere, and on the sizes. Collective: one
/// reduction.
AgreedSizes agree_on_call(const plan::State& state, const Call& call,
                          const std::optional<Diagnostic>& wrong, const Sizes& mine) {
  mpi::Agreement agreement;
  if (call.known != nullptr)
    agreement.equal({.name = call.known->basis, .text = nullptr}, call.fingerprint);
  agreement.equal({.name = call.known != nullptr ? call.known->element_name : "element_bytes",
                   .code = ErrorCode::block_size_mismatch},
                  call.known != nullptr ? call.known->element_bytes : call.buffer.element_bytes);
  plan::agree_on_options(agreement, call.options);
  state.frame->join(agreement);
  const AgreedSizes all = agree_on(state.channel, agreement, mine, wrong);
  if (call.options.method == AlltoallMethod::direct && !all->at_once)
    require_at_once(state.channel, call, mine);
  return all;
}

/// A budget with which pages fit on all ranks: tries larger ones, because pages that suit one rank
/// need not suit another. Collective.
std::uint64_t enough_for_pages(const mpi::Channel& channel, const Call& call, std::uint64_t page) {
  for (std::uint64_t enough = 0;;) {
    std::uint64_t needed = call.needed(page);
    mpi::Agreement most;
    most.largest(needed);
    most.run(channel, std::nullopt);
    if (needed <= enough) return enough;
    enough = std::max(needed, enough + enough / 8);
    pages::PageLimits limits = call.limits;
    limits.budget_bytes = enough;
    page = choose_page_bytes(limits);
    mpi::Agreement least;
    least.least(page);
    least.run(channel, std::nullopt);
  }
}

/// Whether pages fit the budget on all ranks. Collective only where they do not seem to.
/// @throws Error where they must and do not.
bool pages_fit(const mpi::Channel& channel, const Call& call, const AgreedSizes& all) {
  if (all->least_page <= all->page) return true;
  bool fits = call.fits(all->page);
  const bool is_short = !fits;
  mpi::Agreement agreement;
  agreement.least(fits);
  agreement.run(channel, std::nullopt);
  if (!fits && call.options.method == AlltoallMethod::stream) {
    mpi::Agreement budgets;
    budgets.enough(enough_for_pages(channel, call, all->page));
    budgets.run(channel, is_short ? std::optional(mpi::budget_too_small_for(
                                        "pages with these counts", call.options.budget_bytes))
                                  : std::nullopt);
  }
  return fits;
}

/// Method::automatic of an all-to-all: whether pages are faster than swaps, and for pages whether
/// ranks of a node share memory. Collective.
bool pages_pay(plan::State& state, const Call& call, const AgreedSizes& all) {
  plan::JointShape joint = all->shape;
  rescale(joint, 1, call.elements_of(all->page));
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
std::optional<AlltoallMethod> choose_swaps(plan::State& state, const Call& call,
                                           const AgreedSizes& all,
                                           std::optional<operations::SortedExchange>& swaps) {
  const AlltoallMethod wish = call.options.method;
  const auto make = [&]() -> operations::SortedExchange& {
    state.memory.free_unused();  // swaps have the whole budget
    return swaps.emplace(state, call.buffer, call.sent, sum(call.received),
                         call.options.budget_bytes, all->swaps);
  };
  const bool may_use_pages = wish == AlltoallMethod::automatic || wish == AlltoallMethod::stream;
  if (!may_use_pages || !pages_fit(state.channel, call, all))
    return make().choose(wish, [&] { return enough_for_pages(state.channel, call, all->page); });
  if (wish != AlltoallMethod::automatic || pages_pay(state, call, all)) return std::nullopt;
  return make().find_suited();
}

/// Moves everything at once. Collective.
Report at_once(plan::State& state, const Call& call) {
  if (call.options.method == AlltoallMethod::automatic) {
    schedule::Choice choice;
    choice.reason = "the budgets hold all that leaves";
    state.choice = std::make_shared<const schedule::Choice>(std::move(choice));
  }
  return operations::DirectExchange(state, call.buffer, call.sent, call.received).run();
}

/// Moves pages, which fit all ranks. Collective.
/// @param start  When the call began.
Report by_pages(std::unique_ptr<plan::State> state, const Call& call, std::uint64_t page,
                Array<std::uint64_t> sent, Array<std::uint64_t> received, double start) {
  state->limit_budget(call.options.budget_bytes -
                      static_cast<std::size_t>(page_overhead_bytes(call.limits, page)));
  state->plan_seconds = mpi::now() - start;
  if (observe::Trace* const trace = state->observer.trace)
    trace->span(observe::TraceKind::stage, "plan", start, mpi::now());
  return operations::exchange_pages(std::move(state),
                                    {static_cast<std::byte*>(call.buffer.data), call.buffer.bytes},
                                    call.buffer.element_bytes, page, std::move(sent),
                                    std::move(received), call.options.any_order);
}

/// What a caller gives.
struct Counts {
  std::span<const std::int64_t> send;
  std::span<const std::int64_t> receive;  ///< or none
};

/// Tells every rank what it gets of this one. Collective. Returns what is wrong with the call, if
/// anything.
std::optional<Diagnostic> exchange_counts(plan::State& state, Call& call, const Counts& counts,
                                          Sizes& mine) {
  std::optional<Diagnostic> diagnostic = plan::check_options(call.options);
  if (!diagnostic)
    diagnostic = operations::check_alltoall(call.buffer, counts.send, call.sent.size());
  if (diagnostic)
    std::ranges::fill(call.sent, unknown);
  else
    std::ranges::copy(counts.send, call.sent.begin());
  mpi::exchange_all(state.channel, call.sent, call.received);
  // Where a rank found something, all that the others do is to meet it.
  if (diagnostic || std::ranges::find(call.received, unknown) != call.received.end())
    return diagnostic;
  diagnostic =
      operations::check_received(call.received, counts.receive, call.buffer, state.channel.rank());
  return diagnostic ? diagnostic : suit(state, call, mine);
}

/// The same for counts that an adapter knows. Collective where they are compared.
std::optional<Diagnostic> take_known_counts(plan::State& state, Call& call, Sizes& mine) {
  std::optional<Diagnostic> diagnostic = plan::check_options(call.options);
  if (!diagnostic) diagnostic = operations::check_buffer(call.buffer);
  if (!diagnostic)
    diagnostic =
        call.known->count({state.channel.rank(), call.sent, call.received, call.fingerprint});
  if (call.known->mismatch) {
    Array<std::uint64_t> theirs(state.ledger, call.sent.size());
    if (diagnostic) std::ranges::fill(call.sent, unknown);
    mpi::exchange_all(state.channel, call.sent, theirs);
    if (diagnostic || std::ranges::find(theirs, unknown) != theirs.end()) return diagnostic;
    const auto wrong = std::ranges::mismatch(theirs, call.received).in1;
    if (wrong != theirs.end())
      return call.known->mismatch(static_cast<int>(wrong - theirs.begin()), *wrong);
  }
  return diagnostic ? diagnostic : suit(state, call, mine);
}

/// Moves everything by the method that suits all ranks. Collective.
/// @param sent, received  Of the call, which are given up for pages.
/// @param start           When the call began.
Report move(std::unique_ptr<plan::State> state, const Call& call, const AgreedSizes& all,
            Array<std::uint64_t> sent, Array<std::uint64_t> received, double start) {
  const std::shared_ptr<call::Frame> frame = state->frame;
  state->blocks.block_bytes = static_cast<std::size_t>(all->page);
  std::optional<operations::SortedExchange> swaps;
  std::optional<AlltoallMethod> method = AlltoallMethod::direct;
  if (!all->at_once) method = choose_swaps(*state, call, all, swaps);
  frame->caption = {to_string(method.value_or(AlltoallMethod::stream)), call.buffer.element_bytes,
                    call.options.budget_bytes};
  // Swaps may have to do with any rank.
  const std::uint64_t neighbours =
      method && !all->at_once ? sent.size() - 1
                              : count_neighbours(call.sent, call.received,
                                                 static_cast<std::size_t>(frame->channel.rank()));
  Report report;
  std::shared_ptr<const schedule::Choice> choice = state->choice;
  if (!method) {
    swaps.reset();
    report =
        by_pages(std::move(state), call, all->page, std::move(sent), std::move(received), start);
  } else {
    const double end = mpi::now();
    frame->align();
    if (observe::Trace* const trace = state->observer.trace)
      trace->span(observe::TraceKind::stage, "plan", start, end);
    report = all->at_once ? at_once(*state, call) : swaps->run();
    choice = state->choice;
    report.plan_seconds = end - start;
  }
  report.choice = choice;
  report.neighbours = neighbours;
  return report;
}

/// An all-to-all inside its frame: counts, agreement, then what moves. Collective.
/// @param known  Where an adapter gives the counts, in place of `counts`.
Report exchange_segments(const std::shared_ptr<call::Frame>& frame, const AlltoallBuffer& buffer,
                         const Counts& counts, const detail::KnownCounts* known,
                         const AlltoallOptions& options) {
  const double start = mpi::now();
  auto state = std::make_unique<plan::State>(
      frame, pages::page_options(Method::stream, options.share_memory, options.keep_memory));
  state->options.budget_bytes = options.budget_bytes;
  const auto ranks = static_cast<std::size_t>(frame->channel.size());
  Array<std::uint64_t> sent(frame->ledger, ranks), received(frame->ledger, ranks);
  Call call{buffer, options, known, {sent.begin(), ranks}, {received.begin(), ranks}};
  Sizes mine;
  const std::optional<Diagnostic> wrong = known != nullptr
                                              ? take_known_counts(*state, call, mine)
                                              : exchange_counts(*state, call, counts, mine);
  const AgreedSizes all = agree_on_call(*state, call, wrong, mine);
  const std::uint64_t before = sum(call.sent), after = sum(call.received);
  Report report = move(std::move(state), call, all, std::move(sent), std::move(received), start);
  report.local_seconds += mpi::now() - start - report.seconds();
  report.blocks_before = before;
  report.blocks_after = after;
  report.budget_bytes = options.budget_bytes;
  report.extra_bytes_bound =
      detail::promised_bytes(options.budget_bytes, report.neighbours, ranks, frame->traces());
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
