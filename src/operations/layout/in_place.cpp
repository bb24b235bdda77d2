// SPDX-License-Identifier: BSD-3-Clause
#include "base/memory_reserve.hpp"
#include "base/partition_index.hpp"
#include "base/sizes.hpp"
#include "engine/phased/phased_budget.hpp"
#include "geometry/intersection.hpp"
#include "mpi/agreement.hpp"
#include "mpi/check.hpp"
#include "operations/layout/owner_streams.hpp"
#include "pages/page_move.hpp"
#include "pages/page_sizes.hpp"
#include <valet/redistribute.hpp>

#include <algorithm>
#include <limits>
#include <memory>
#include <new>
#include <string>
#include <utility>

namespace valet {
namespace {

using detail::most_page_bytes;
using layout::GridSide;
using layout::OwnerStreams;
using pages::Segment;
using pages::sum_of_others;

/// Memory of one rank: pages that leave, pages that arrive, what they are counted with.
struct PageNeeds {
  std::uint64_t out_peers = 0, in_peers = 0;
  std::uint64_t out_bytes = 0, in_bytes = 0;
  std::uint64_t ranks = 0;   ///< in both grids
  std::uint64_t shared = 0;  ///< bytes of an intersection, while pages are planned

  /// Bytes of buffers for fragments: one of each peer, those going out apart from those coming in.
  [[nodiscard]] std::uint64_t buffer_bytes(std::uint64_t page) const {
    return (out_peers + in_peers) * page;
  }
  /// Bytes of lists: pages named on both sides, and what a plan keeps of each.
  [[nodiscard]] std::uint64_t list_bytes(std::uint64_t page) const {
    constexpr std::uint64_t plan_bytes = 16;
    const std::uint64_t out = out_bytes / page, in = in_bytes / page;
    return OwnerStreams::list_bytes(out_peers + in_peers, out + in, ranks) +
           plan_bytes * std::max(out, in);
  }
  /// With pages of this size, which suit all ranks, at most. Buffers count as if pages were as
  /// large as this rank's budget allows, to the byte: so whoever has enough has so with a larger
  /// budget.
  [[nodiscard]] std::uint64_t needed(std::uint64_t page, std::uint64_t budget,
                                     std::size_t element_bytes) const {
    const std::uint64_t pages = out_peers + in_peers + 2;
    const std::uint64_t largest = std::min(budget, share(most_peers()) * most_page_bytes);
    const std::uint64_t buffers = std::max<std::uint64_t>(
        pages * element_bytes, (pages * largest + share(most_peers()) - 1) / share(most_peers()));
    return list_bytes(page) + std::max(buffers, shared);
  }
  /// The largest page, a multiple of the element, of which two buffers for each neighbour and
  /// two in transit leave half of the budget for lists.
  [[nodiscard]] std::uint64_t page_for(std::uint64_t budget, std::size_t element_bytes) const {
    return page_for(budget, element_bytes, most_peers());
  }
  [[nodiscard]] static std::uint64_t page_for(std::uint64_t budget, std::size_t element_bytes,
                                              std::uint64_t peers) {
    return pages::page_for(budget, std::max<std::uint64_t>(peers, 1), element_bytes, element_bytes);
  }
  [[nodiscard]] static std::uint64_t share(std::uint64_t peers) {
    return 2 * pages::buffered_pages(std::max<std::uint64_t>(peers, 1));
  }
  [[nodiscard]] std::uint64_t most_peers() const { return std::max(out_peers, in_peers); }
  /// The least budget for the pages that suit the rank with the most neighbours. At most half of
  /// what it has more is for buffers, and the lists of pages get shorter.
  [[nodiscard]] std::uint64_t enough(std::uint64_t peers, std::size_t element_bytes) const {
    const auto fits = [&](std::uint64_t budget) {
      return needed(page_for(budget, element_bytes, peers), budget, element_bytes) <= budget;
    };
    std::uint64_t below = 0, budget = 1;
    while (!fits(budget)) below = std::exchange(budget, 2 * budget);
    return detail::partition_index(below + 1, budget,
                                   [&](std::uint64_t less) { return !fits(less); });
  }
  /// What the largest page needs beside a plan. @param whole  The budget.
  [[nodiscard]] plan::PageBudget at_most(std::uint64_t whole, std::size_t element_bytes) const {
    const std::uint64_t page = page_for(std::numeric_limits<std::uint64_t>::max(), element_bytes);
    if (ranks == 0) return {.whole = whole, .largest_page = page, .beside = 0};
    return {.whole = whole,
            .largest_page = page,
            .beside = share(most_peers()) * std::max<std::uint64_t>(page, most_page_bytes) +
                      list_bytes(page)};
  }
};

/// One call on one rank.
class InPlace {
 public:
  InPlace(const std::shared_ptr<call::Frame>& frame, const GridLayout& from, const GridLayout& to,
          std::size_t element_bytes, const TargetArray& array, const LayoutOptions& options)
      : pages_(std::make_unique<plan::State>(
            frame, pages::page_options(options.method, options.share_memory, options.keep_memory))),
        state_(pages_.state()),
        channel_(state_.channel),
        ledger_(state_.ledger),
        call_(*frame, from, to, element_bytes, options),
        array_(array) {
    frame->caption = {"layout in place", element_bytes, call_.options.budget_bytes};
  }

  void prepare();
  Report run();

 private:
  Report move_at_once();
  Report move_pages();
  std::optional<Diagnostic> check();
  void measure();
  std::optional<Diagnostic> prepare_at_once(std::uint64_t intersections);
  [[nodiscard]] Diagnostic too_small() const;
  [[nodiscard]] bool fits_direct() const;
  void prepare_pages();
  [[nodiscard]] std::size_t pages_budget() const;
  [[nodiscard]] bool keeps_order() const { return (*all_)->source_order == (*all_)->target_order; }
  void sort_pages();
  void make_plan();
  void exchange_fragments();
  [[nodiscard]] std::uint64_t handled_elements() const;
  [[nodiscard]] std::uint64_t elements_of_others(const OwnerStreams& streams) const {
    const int rank = channel_.rank();
    const auto sum = [&](auto member) { return sum_of_others(streams.segments(), rank, member); };
    return (sum(&Segment::head_bytes) + sum(&Segment::pages) * page_bytes_ +
            sum(&Segment::tail_bytes)) /
           call_.element_bytes;
  }
  [[nodiscard]] std::byte* part() const { return static_cast<std::byte*>(array_.data); }

  pages::PageMove pages_;  ///< first: its ledger counts all below
  plan::State& state_;
  const mpi::Channel& channel_;
  Ledger& ledger_;
  layout::LayoutCall call_;
  layout::LayoutSizes mine_;
  std::optional<layout::AgreedSizes> all_;
  bool is_at_once_ = false;
  const TargetArray& array_;
  BlockCyclic::Extents strides_before_, strides_after_;
  std::optional<layout::SharedParts> parts_;  ///< while everything may move at once
  PageNeeds needs_;
  std::uint64_t budget_at_once_ = 0;  ///< enough on this rank for what moves at once
  std::size_t page_bytes_ = 1;
  std::optional<OwnerStreams> leaving_, arriving_;
};

std::optional<Diagnostic> InPlace::check() {
  if (auto diagnostic = call_.check_grids(ledger_)) return diagnostic;
  if (array_.strides.size() > 0)
    return Diagnostic{
        ErrorCode::invalid_argument,
        "its array has strides; an array that is moved in place is contiguous before and "
        "after, so give none"};
  if (auto diagnostic = call_.check_array(call_.from, array_, strides_before_)) return diagnostic;
  return call_.check_array(call_.to, array_, strides_after_);
}

/// What the pages of this rank need, and the largest page that its budget allows.
void InPlace::measure() {
  if (call_.from.elements() == 0 && call_.to.elements() == 0) return;
  const auto ranks = [](const GridSide& side) {
    return static_cast<std::uint64_t>(side.layout().ranks());
  };
  const std::uint64_t most_peers = std::max(ranks(call_.from), ranks(call_.to));
  needs_ = {.out_peers = most_peers,
            .in_peers = most_peers,
            .out_bytes = static_cast<std::uint64_t>(call_.from.elements()) * call_.element_bytes,
            .in_bytes = static_cast<std::uint64_t>(call_.to.elements()) * call_.element_bytes,
            .ranks = ranks(call_.from) + ranks(call_.to),
            .shared = std::max(intersection_bytes(call_.from, call_.to.layout()),
                               intersection_bytes(call_.to, call_.from.layout()))};
  // Where the budget does not hold what tells how many neighbours there are, they are as many as
  // take most of a budget.
  if (needs_.shared <= call_.options.budget_bytes) {
    state_.memory.limit(call_.options.budget_bytes - static_cast<std::size_t>(needs_.shared));
    const auto count_peers = [this](const GridSide& mine, const GridSide& theirs) {
      if (mine.elements() == 0) return std::uint64_t{0};
      const layout::Intersection both(ledger_, mine.layout(), mine.grid_rank, theirs.layout());
      std::uint64_t peers = 0;
      for (int g = both.next_peer(0); g < theirs.layout().ranks(); g = both.next_peer(g + 1))
        ++peers;
      return peers;
    };
    needs_.out_peers = count_peers(call_.from, call_.to);
    needs_.in_peers = count_peers(call_.to, call_.from);
  }
  mine_.most_peers = needs_.most_peers();
  mine_.piece =
      static_cast<std::int64_t>(needs_.page_for(call_.options.budget_bytes, call_.element_bytes));
}

/// Where everything fits the budget at once, pages only cost time.
std::optional<Diagnostic> InPlace::prepare_at_once(std::uint64_t intersections) {
  const std::uint64_t budget = call_.options.budget_bytes;
  const bool is_direct = call_.options.method == Method::direct;
  const bool is_free = call_.options.method == Method::automatic || is_direct;
  // Whatever is shared, no more than both parts can leave and arrive.
  if (is_direct)
    budget_at_once_ =
        intersections + static_cast<std::uint64_t>(call_.from.elements() + call_.to.elements()) *
                            call_.element_bytes;
  mine_.at_once = is_free && intersections <= budget;
  if (!mine_.at_once) return std::nullopt;
  try {
    const detail::LeaveReserve leave;
    state_.memory.limit(static_cast<std::size_t>(budget - intersections));
    parts_.emplace(ledger_, call_);
    const std::uint64_t bytes = parts_->bytes_at_once();
    mine_.at_once = bytes <= budget - intersections;
    if (mine_.at_once) state_.memory.take_scratch(static_cast<std::size_t>(bytes));
  } catch (const std::bad_alloc&) {
    return layout::out_of_memory();
  }
  return std::nullopt;
}

void InPlace::prepare() {
  std::optional<Diagnostic> diagnostic = check();
  if (!diagnostic)
    diagnostic = detail::unless_out_of_memory([&] { measure(); }, layout::out_of_memory);
  if (!diagnostic)
    diagnostic = prepare_at_once(intersection_bytes(call_.from, call_.to.layout()) +
                                 intersection_bytes(call_.to, call_.from.layout()));
  mine_.source_order = mine_.target_order = array_.order;
  all_ = call_.agree(diagnostic, mine_, 0, nullptr);
  is_at_once_ = (*all_)->at_once && keeps_order();
  if (is_at_once_) return call_.frame.align();
  parts_.reset();
  prepare_pages();
}

Diagnostic InPlace::too_small() const {
  const std::uint64_t budget = call_.options.budget_bytes;
  if (call_.options.method == Method::direct)
    return pages::too_small_for_direct(
        "all elements that leave and arrive, and for what the layouts share", budget);
  return mpi::budget_too_small_for("pages of " + std::to_string(page_bytes_) + " bytes", budget);
}

/// Whether the budget holds all pages that leave and arrive, and one where none do.
bool InPlace::fits_direct() const {
  if (needs_.ranks == 0) return page_bytes_ <= call_.options.budget_bytes;
  const int rank = channel_.rank();
  const std::uint64_t pages = sum_of_others(leaving_->segments(), rank, &Segment::pages) +
                              sum_of_others(arriving_->segments(), rank, &Segment::pages);
  return needs_.buffer_bytes(page_bytes_) + needs_.list_bytes(page_bytes_) + pages * page_bytes_ <=
         call_.options.budget_bytes;
}

void InPlace::prepare_pages() {
  const layout::LayoutSizes& all = **all_;
  if (all.piece != layout::LayoutSizes::no_limit) page_bytes_ = static_cast<std::size_t>(all.piece);
  const bool is_direct = call_.options.method == Method::direct;
  std::optional<Diagnostic> odd;
  if (!keeps_order())
    odd = Diagnostic{ErrorCode::invalid_argument,
                     "the array is row-major in one layout and column-major in the other; in place "
                     "it keeps its order"};
  else if (const std::uint64_t budget = call_.options.budget_bytes;
           (needs_.ranks > 0 ? needs_.needed(page_bytes_, budget, call_.element_bytes)
                             : page_bytes_) > budget)
    odd = too_small();
  else {
    state_.memory.limit(pages_budget());
    odd = detail::unless_out_of_memory([&] { sort_pages(); }, layout::out_of_memory);
    if (!odd && is_direct && !fits_direct()) odd = too_small();
  }
  mpi::Agreement agreement;
  agreement.enough(is_direct           ? budget_at_once_
                   : needs_.ranks == 0 ? call_.element_bytes
                                       : needs_.enough(all.most_peers, call_.element_bytes));
  if (call_.options.method == Method::phased)
    agreement.enough(
        engine::enough_for_pages(channel_, ledger_, state_.options,
                                 needs_.at_most(call_.options.budget_bytes, call_.element_bytes),
                                 needs_.out_peers, needs_.in_peers));
  agreement.run(channel_, odd);
  make_plan();
  state_.failure = detail::unless_out_of_memory(
      [&] {
        leaving_->allocate_buffers();
        arriving_->allocate_buffers();
        state_.take_scratch(static_cast<std::size_t>(pages_.workspace_bytes()));
      },
      layout::out_of_memory);
}

/// What lists, and what fills no page, leave of the budget.
std::size_t InPlace::pages_budget() const {
  if (needs_.ranks == 0) return call_.options.budget_bytes;
  return call_.options.budget_bytes - static_cast<std::size_t>(needs_.buffer_bytes(page_bytes_) +
                                                               needs_.list_bytes(page_bytes_));
}

void InPlace::sort_pages() {
  leaving_.emplace(ledger_, call_.from, call_.to, *(*all_)->target_order, call_.element_bytes,
                   page_bytes_);
  arriving_.emplace(ledger_, call_.to, call_.from, *(*all_)->target_order, call_.element_bytes,
                    page_bytes_);
}

/// Pages leave from where into_pages() puts them and land where from_pages() looks for them.
void InPlace::make_plan() {
  const observe::TraceSpan span(state_.observer.trace, observe::TraceKind::stage, "plan");
  state_.page_budget = needs_.at_most(call_.options.budget_bytes, call_.element_bytes);
  state_.limit_budget(pages_budget());
  pages_.plan(std::nullopt, part(), page_bytes_, leaving_->side(), arriving_->side(),
              pages::PageOrder::slots);
}

void InPlace::exchange_fragments() {
  const auto fragments = [&](const Segment& segment) { return leaving_->fragments(segment); };
  const auto take = [&](const Segment& segment, std::uint64_t first,
                        std::span<const std::byte> bytes) {
    std::ranges::copy(bytes, arriving_->fragments(segment).subspan(first).begin());
  };
  pages::exchange_fragments(channel_, ledger_, leaving_->segments(), arriving_->segments(),
                            fragments, take);
}

/// What is not on pages, and travels apart from them.
std::uint64_t fragment_bytes(const OwnerStreams& streams, int rank) {
  std::uint64_t bytes = 0;
  for (const Segment& segment : streams.segments())
    if (segment.rank != rank) bytes += segment.fragment_bytes();
  return bytes;
}

/// Counts three passes: into pages, to their ranks, out of pages.
std::uint64_t InPlace::handled_elements() const {
  return static_cast<std::uint64_t>(call_.from.elements() + call_.to.elements()) +
         elements_of_others(*leaving_) + elements_of_others(*arriving_);
}

Report InPlace::move_at_once() {
  observe::Observer& observer = state_.observer;
  // Elements that change ranks count once more, as they do in pages.
  const std::uint64_t change =
      static_cast<std::uint64_t>(parts_->peers().elements_sent + parts_->peers().elements_received);
  observe::ProgressMeter progress = call_.frame.progress(
      "redistribute in place",
      static_cast<std::uint64_t>(call_.from.elements() + call_.to.elements()) + change,
      call_.element_bytes);
  const observe::TraceSpan span(observer.trace, observe::TraceKind::stage, "exchange");
  const double start = mpi::now(), waited = observer.waiting_seconds;
  const layout::OutgoingPart outgoing = parts_->outgoing(array_.data, strides_before_, *all_);
  const layout::IncomingPart incoming = parts_->incoming(array_.data, strides_after_, *all_);
  Report report;
  report.neighbours = parts_->neighbours();
  parts_->move_at_once(outgoing, incoming, report);
  observer.moved(change);
  progress.finish();
  report.exchange_seconds = mpi::now() - start;
  report.waiting_seconds = observer.waiting_seconds - waited;
  return report;
}

/// The three passes and what they come to; pages are the blocks of the report.
Report InPlace::move_pages() {
  const double start = mpi::now();
  observe::Observer& observer = state_.observer;
  observe::ProgressMeter progress =
      call_.frame.progress("redistribute in place", handled_elements(), call_.element_bytes);
  double sorted = start;
  Report report = pages_.run([&] {
    const observe::TraceSpan span(observer.trace, observe::TraceKind::copy, "into pages");
    progress.count_in(1);
    leaving_->into_pages(part(), observer);
    progress.count_in(page_bytes_);
    sorted = mpi::now();
  });
  state_.memory.return_scratch();
  progress.count_in(1);
  exchange_fragments();
  observer.moved(fragment_bytes(*leaving_, channel_.rank()) +
                 fragment_bytes(*arriving_, channel_.rank()));
  leaving_->free_buffers();
  const double exchanged = mpi::now();
  {
    const observe::TraceSpan span(observer.trace, observe::TraceKind::copy, "out of pages");
    arriving_->from_pages(part(), observer);
  }
  progress.finish();
  report.exchange_seconds = exchanged - sorted;
  report.local_seconds = sorted - start + mpi::now() - exchanged;
  return report;
}

Report InPlace::run() {
  Report report = is_at_once_ ? move_at_once() : move_pages();
  if (!is_at_once_)
    report.neighbours =
        mpi::count_neighbours(leaving_->segments(), arriving_->segments(), channel_.rank());
  call_.describe(report);
  if (is_at_once_) return report;
  report.blocks_sent = elements_of_others(*leaving_);
  report.blocks_received = elements_of_others(*arriving_);
  report.bytes_sent = report.blocks_sent * call_.element_bytes;
  report.local_copies = 2 * (report.blocks_before + report.blocks_after);
  return report;
}

}  // namespace

Report redistribute_in_place(MPI_Comm communicator, const GridLayout& from, const GridLayout& to,
                             std::size_t element_bytes, const TargetArray& array,
                             const LayoutOptions& options) {
  const detail::MemoryReserve reserve;
  const auto frame =
      std::make_shared<call::Frame>(mpi::Channel::open_for_call(communicator),
                                    call::FrameOptions(options, "LayoutOptions::progress"));
  return frame->run([&] {
    InPlace move(frame, from, to, element_bytes, array, options);
    const double start = mpi::now();
    move.prepare();
    const double planned = mpi::now() - start;
    Report report = move.run();
    report.plan_seconds = planned;
    return report;
  });
}

}  // namespace valet
