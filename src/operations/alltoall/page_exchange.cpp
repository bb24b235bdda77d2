// SPDX-License-Identifier: BSD-3-Clause
#include "operations/alltoall/page_exchange.hpp"

#include "base/memory_reserve.hpp"
#include "operations/alltoall/checks.hpp"

#include <algorithm>
#include <utility>

namespace valet::operations {
namespace {

using pages::PageCut;
using pages::PageOrder;
using pages::Segment;
using pages::sum_of_others;

Diagnostic out_of_memory() {
  return {ErrorCode::out_of_memory,
          "the system has no memory for pages within the budget; set a smaller one"};
}

std::size_t count_used(const Array<std::uint64_t>& counts) {
  return counts.size() - static_cast<std::size_t>(std::ranges::count(counts, std::uint64_t{0}));
}

/// Where segments begin takes the place of how long they are, in the memory, too.
void list_segments(pages::StreamMove& move, std::size_t element_bytes, Array<std::uint64_t> sent,
                   Array<std::uint64_t> received, bool any_order) {
  move.incoming().reserve(count_used(received));
  std::uint64_t begin = 0, first_page = 0;
  for (std::size_t r = 0; r < received.size(); ++r) {
    if (received[r] == 0) continue;
    const std::uint64_t bytes = received[r] * element_bytes;
    move.receive(static_cast<int>(r), bytes, any_order ? 0 : begin);
    if (any_order) move.incoming().back().first_page = first_page;
    first_page += move.incoming().back().pages;
    begin += bytes;
  }
  received = {};
  move.outgoing().reserve(count_used(sent));
  for (std::size_t r = 0; r < sent.size(); ++r)
    if (sent[r] > 0) move.outgoing().add(static_cast<int>(r), sent[r] * element_bytes, 0);
}

}  // namespace

Report exchange_pages(std::unique_ptr<plan::State> state_of_plan, std::span<std::byte> data,
                      std::size_t element_bytes, std::uint64_t page_bytes,
                      Array<std::uint64_t> sent, Array<std::uint64_t> received, bool any_order) {
  plan::State& state = *state_of_plan;
  const int rank = state.channel.rank();
  const auto others = [self = static_cast<std::size_t>(rank)](const Array<std::uint64_t>& counts) {
    return sum({counts.begin(), counts.size()}) - counts[self];
  };
  observe::ProgressMeter progress =
      state.frame->progress("all-to-all by stream", others(sent) + others(received), element_bytes);
  pages::StreamMove move(std::move(state_of_plan), state.ledger, data.data(), page_bytes, true);
  list_segments(move, element_bytes, std::move(sent), std::move(received), any_order);
  if (!any_order) move.exchange_begins();
  pages::PageStreams& outgoing = move.outgoing();
  Array<std::byte> fragments;
  auto failed = detail::unless_out_of_memory(
      [&] {
        fragments =
            Array<std::byte>(state.ledger, static_cast<std::size_t>(outgoing.fragment_bytes()));
      },
      out_of_memory);
  move.plan(std::move(failed), any_order ? PageOrder::any : PageOrder::slots);
  state.failure = detail::unless_out_of_memory(
      [&] { state.take_scratch(static_cast<std::size_t>(move.pages().workspace_bytes())); },
      out_of_memory);
  progress.count_in(page_bytes);
  Report report = move.run({fragments.data(), fragments.size()}, [&] {
    for (std::size_t s = 0; s < outgoing.segments().size(); ++s)
      outgoing.append(s, outgoing.segments()[s].bytes(page_bytes));
  });
  progress.count_in(1);
  for (const std::span<const Segment> segments :
       {std::span<const Segment>(outgoing.segments()), std::span<const Segment>(move.incoming())})
    state.observer.moved(sum_of_others(segments, rank, &PageCut::head_bytes) +
                         sum_of_others(segments, rank, &PageCut::tail_bytes));
  progress.finish();
  return report;
}

}  // namespace valet::operations
