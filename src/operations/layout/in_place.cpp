// SPDX-License-Identifier: BSD-3-Clause
#include "base/partition_index.hpp"
#include "base/sizes.hpp"
#include "engine/phased/phased_budget.hpp"
#include "geometry/intersection.hpp"
#include "mpi/agreement.hpp"
#include "mpi/check.hpp"
#include "operations/layout/owner_segments.hpp"
#include "pages/page_move.hpp"
#include "pages/page_sizes.hpp"
#include <valet/redistribute.hpp>

#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <utility>

namespace valet {
namespace {

using detail::most_page_bytes;
using layout::GridSide;
using layout::OwnerSegments;
using pages::Segment;
using pages::sum_of_others;

/// Memory of one rank: pages that leave, pages that arrive, what they are counted with.
struct PageNeeds {
  std::size_t element_bytes = 1;
  std::uint64_t budget = 0;
  std::uint64_t out_peers = 0, in_peers = 0;
  std::uint64_t out_bytes = 0, in_bytes = 0;
  std::uint64_t ranks = 0;   ///< in both grids; 0 where this rank has no elements in either
  std::uint64_t shared = 0;  ///< bytes of an intersection, while pages are planned

  /// Bytes of buffers for fragments: one of each peer, those going out apart from those coming in.
  [[nodiscard]] std::uint64_t buffer_bytes(std::uint64_t page) const {
    return (out_peers + in_peers) * page;
  }
  /// Bytes of lists: pages named on both sides, and what a plan keeps of each.
  [[nodiscard]] std::uint64_t list_bytes(std::uint64_t page) const {
    constexpr std::uint64_t plan_bytes = 16;
    const std::uint64_t out = out_bytes / page, in = in_bytes / page;
    return OwnerSegments::list_bytes(out_peers + in_peers, out + in, ranks) +
           plan_bytes * std::max(out, in);
  }
  /// With pages of this size, which suit all ranks, at most. Buffers count as if pages were as
  /// large as a budget allows, to the byte: so a budget that is enough stays enough when it grows.
  [[nodiscard]] std::uint64_t needed(std::uint64_t page, std::uint64_t of_budget) const {
    if (ranks == 0) return page;
    const std::uint64_t pages = out_peers + in_peers + 2;
    const std::uint64_t largest = std::min(of_budget, share() * most_page_bytes);
    const std::uint64_t buffers =
        std::max<std::uint64_t>(pages * element_bytes, (pages * largest + share() - 1) / share());
    return list_bytes(page) + std::max(buffers, shared);
  }
  /// The largest page, a multiple of the element, of which two buffers for each neighbour and two
  /// in transit leave half of the budget for lists.
  [[nodiscard]] std::uint64_t page_for(std::uint64_t of_budget, std::uint64_t peers) const {
    return pages::page_for(of_budget, std::max<std::uint64_t>(peers, 1), element_bytes,
                           element_bytes);
  }
  [[nodiscard]] std::uint64_t share() const {
    return 2 * pages::buffered_pages(std::max<std::uint64_t>(most_peers(), 1));
  }
  [[nodiscard]] std::uint64_t most_peers() const { return std::max(out_peers, in_peers); }
  /// The least budget for the pages that suit the rank with the most neighbours. At most half of
  /// what it has more is for buffers, and the lists of pages get shorter.
  [[nodiscard]] std::uint64_t enough(std::uint64_t peers) const {
    if (ranks == 0) return element_bytes;
    const auto fits = [&](std::uint64_t bytes) {
      return needed(page_for(bytes, peers), bytes) <= bytes;
    };
    std::uint64_t below = 0, least = 1;
    while (!fits(least)) below = std::exchange(least, 2 * least);
    return detail::partition_index(below + 1, least,
                                   [&](std::uint64_t less) { return !fits(less); });
  }
  /// What the largest page needs beside a plan.
  [[nodiscard]] plan::PageBudget at_most() const {
    const std::uint64_t page = page_for(std::numeric_limits<std::uint64_t>::max(), most_peers());
    if (ranks == 0) return {.whole = budget, .largest_page = page, .beside = 0};
    return {.whole = budget,
            .largest_page = page,
            .beside = share() * std::max<std::uint64_t>(page, most_page_bytes) + list_bytes(page)};
  }
};

/// One call on one rank.
class InPlace : public layout::LayoutCall {
 public:
  InPlace(const std::shared_ptr<call::Frame>& whole, const GridLayout& source,
          const GridLayout& target, std::size_t bytes, const LayoutOptions& chosen)
      : LayoutCall(*whole, "layout in place", source, target, bytes, chosen),
        pages_(std::make_unique<plan::State>(
            whole, pages::page_options(chosen.method, chosen.share_memory, chosen.keep_memory))),
        state_(pages_.state()),
        budget_(options.budget_bytes),
        is_direct_(options.method == Method::direct) {}

  void prepare(const TargetArray& array) {
    std::optional<Diagnostic> diagnostic = check(array);
    if (!diagnostic)
      diagnostic = detail::unless_out_of_memory(
          [&] {
            measure();
            prepare_at_once(array, intersection_bytes());
          },
          layout::out_of_memory);
    agree(diagnostic, 0, nullptr);
    if (moves_at_once()) return frame.align();
    peers.reset();
    sent = Vector<layout::ArrayCell>(frame.ledger);
    received = Vector<layout::ArrayCell>(frame.ledger);
    prepare_pages(array);
    make_plan(array);
  }

  Report run(const TargetArray& array) {
    Report report = moves_at_once() ? move_at_once() : move_pages(array);
    describe(report);
    return report;
  }

 private:
  [[nodiscard]] const layout::LayoutSizes& sizes() const { return **all; }
  [[nodiscard]] bool keeps_order() const { return sizes().source_order == sizes().target_order; }
  [[nodiscard]] bool moves_at_once() const { return sizes().at_once && keeps_order(); }
  /// Of this rank, before and after.
  [[nodiscard]] std::uint64_t elements() const {
    return static_cast<std::uint64_t>(from.elements() + to.elements());
  }
  [[nodiscard]] std::uint64_t pages_of_others(const OwnerSegments& owned) const {
    return sum_of_others(owned.segments(), state_.channel.rank(), &Segment::pages);
  }
  [[nodiscard]] std::uint64_t elements_of_others(const OwnerSegments& owned) const {
    return (pages::fragment_bytes_of_others(owned.segments(), state_.channel.rank()) +
            pages_of_others(owned) * page_bytes_) /
           element_bytes;
  }
  /// What lists, and what fills no page, leave of the budget.
  [[nodiscard]] std::size_t pages_budget() const {
    return budget_ - static_cast<std::size_t>(needs_.buffer_bytes(page_bytes_) +
                                              needs_.list_bytes(page_bytes_));
  }

  std::optional<Diagnostic> check(const TargetArray& array) {
    if (auto diagnostic = check_grids()) return diagnostic;
    for (const GridSide* const side : {&from, &to})
      if (side->layout().is_cut())
        return invalid("the ", side->name,
                       " layout is a general grid; only block-cyclic ones are moved in place, so "
                       "redistribute it into a second array");
    if (array.strides.size() > 0)
      return invalid(
          "its array has strides; an array that is moved in place is contiguous before and after, "
          "so give none");
    if (auto diagnostic = check_array(from, array)) return diagnostic;
    return check_array(to, array);
  }

  /// What the pages of this rank need, and the largest page that its budget allows.
  void measure() {
    needs_ = {.element_bytes = element_bytes, .budget = budget_};
    if (elements() == 0) return;
    const auto ranks = [](const GridSide& side) {
      return static_cast<std::uint64_t>(side.layout().ranks());
    };
    needs_.out_peers = needs_.in_peers = std::max(ranks(from), ranks(to));
    needs_.out_bytes = static_cast<std::uint64_t>(from.elements()) * element_bytes;
    needs_.in_bytes = static_cast<std::uint64_t>(to.elements()) * element_bytes;
    needs_.ranks = ranks(from) + ranks(to);
    needs_.shared = std::max(bytes_of_intersection(from, to), bytes_of_intersection(to, from));
    // Where the budget does not hold what tells how many neighbours there are, they are as many as
    // take most of a budget.
    if (needs_.shared <= budget_) {
      state_.memory.limit(budget_ - static_cast<std::size_t>(needs_.shared));
      needs_.out_peers = count_peers(from, to);
      needs_.in_peers = count_peers(to, from);
    }
    mine.most_peers = needs_.most_peers();
    mine.unit = static_cast<std::int64_t>(needs_.page_for(budget_, needs_.most_peers()));
  }

  [[nodiscard]] std::uint64_t count_peers(const GridSide& side, const GridSide& other) {
    if (side.elements() == 0) return 0;
    const layout::Intersection both(state_.ledger, side.layout(), side.grid_rank, other.layout());
    std::uint64_t count = 0;
    for (int g = both.next_peer(0); g < other.layout().ranks(); g = both.next_peer(g + 1)) ++count;
    return count;
  }

  /// Where everything fits the budget at once, pages only cost time.
  void prepare_at_once(const TargetArray& array, std::uint64_t intersections) {
    // Whatever is shared, no more than both parts can leave and arrive.
    if (is_direct_) budget_at_once_ = intersections + elements() * element_bytes;
    mine.at_once = (options.method == Method::automatic || is_direct_) && intersections <= budget_;
    if (mine.at_once)
      share_parts(array, array, budget_ - intersections, std::numeric_limits<std::uint64_t>::max());
  }

  [[nodiscard]] Diagnostic too_small() const {
    if (is_direct_)
      return pages::too_small_for_direct(
          "all elements that leave and arrive, and for what the layouts share", budget_);
    return mpi::budget_too_small_for("pages of " + std::to_string(page_bytes_) + " bytes", budget_);
  }

  std::optional<Diagnostic> sort_pages() {
    if (!keeps_order())
      return invalid(
          "the array is row-major in one layout and column-major in the other; in place it keeps "
          "its order");
    if (needs_.needed(page_bytes_, budget_) > budget_) return too_small();
    state_.memory.limit(pages_budget());
    const IndexOrder order = *sizes().target_order;
    leaving_.emplace(state_.ledger, from, to, order, element_bytes, page_bytes_);
    arriving_.emplace(state_.ledger, to, from, order, element_bytes, page_bytes_);
    // All pages that leave and arrive.
    const std::uint64_t bytes =
        (pages_of_others(*leaving_) + pages_of_others(*arriving_)) * page_bytes_;
    return is_direct_ && bytes > pages_budget() ? std::optional(too_small()) : std::nullopt;
  }

  void prepare_pages(const TargetArray& array) {
    if (sizes().unit != layout::LayoutSizes::no_limit)
      page_bytes_ = static_cast<std::size_t>(sizes().unit);
    const std::optional<Diagnostic> odd =
        detail::unless_out_of_memory([&] { return sort_pages(); }, layout::out_of_memory);
    all_taken_ = pages::can_be_taken(state_, budget_, array.data, elements());
    mpi::Agreement agreement;
    agreement.least(all_taken_);
    agreement.enough(is_direct_ ? budget_at_once_ : needs_.enough(sizes().most_peers));
    if (options.method == Method::phased)
      agreement.enough(engine::enough_for_pages(state_.channel, state_.ledger, state_.options,
                                                needs_.at_most(), needs_.out_peers,
                                                needs_.in_peers));
    agreement.run(state_.channel, odd);
  }

  /// Pages leave from where into_pages() puts them and land where from_pages() looks for them.
  void make_plan(const TargetArray& array) {
    {
      const observe::TraceSpan span(state_.observer.trace, observe::TraceKind::stage, "plan");
      state_.page_budget = needs_.at_most();
      state_.limit_budget(pages_budget());
      pages_.plan(std::nullopt, static_cast<std::byte*>(array.data), page_bytes_, leaving_->side(),
                  arriving_->side(), pages::order_of_slots(all_taken_));
    }
    state_.failure = detail::unless_out_of_memory(
        [&] {
          leaving_->allocate_buffers();
          arriving_->allocate_buffers();
          state_.take_scratch(static_cast<std::size_t>(pages_.workspace_bytes()));
        },
        layout::out_of_memory);
  }

  Report move_at_once() {
    const double start = mpi::now();
    // Elements that change ranks count once more, as they do in pages.
    const auto change = static_cast<std::uint64_t>(peers->elements_sent + peers->elements_received);
    Report report;
    report.neighbours = neighbours();
    frame.exchange("redistribute in place", elements() + change, element_bytes, report, [&] {
      LayoutCall::move_at_once(report);
      state_.observer.moved(change);
    });
    report.exchange_seconds = mpi::now() - start;
    if (!is_direct_) report.reason = "the budgets hold all that leaves and arrives";
    return report;
  }

  void exchange_fragments() {
    const auto take = [&](const Segment& segment, std::uint64_t first,
                          std::span<const std::byte> bytes) {
      std::ranges::copy(bytes, arriving_->fragments_of(segment).subspan(first).begin());
    };
    pages::exchange_fragments(state_.channel, state_.ledger, *leaving_, arriving_->segments(),
                              take);
    state_.observer.moved(
        pages::fragment_bytes_of_others(leaving_->segments(), state_.channel.rank()) +
        pages::fragment_bytes_of_others(arriving_->segments(), state_.channel.rank()));
    leaving_->free_buffers();
  }

  /// Three passes, into pages, to their ranks, out of pages, and what they come to; pages are the
  /// blocks of the report.
  Report move_pages(const TargetArray& array) {
    const double start = mpi::now();
    auto* const part = static_cast<std::byte*>(array.data);
    observe::Observer& observer = state_.observer;
    observe::ProgressMeter progress = frame.progress(
        "redistribute in place",
        elements() + elements_of_others(*leaving_) + elements_of_others(*arriving_), element_bytes);
    double sorted = start;
    Report report = pages_.run([&] {
      const observe::TraceSpan span(observer.trace, observe::TraceKind::copy, "into pages");
      progress.count_in(1);
      leaving_->into_pages(part, observer);
      progress.count_in(page_bytes_);
      sorted = mpi::now();
    });
    state_.memory.return_scratch();
    progress.count_in(1);
    exchange_fragments();
    const double exchanged = mpi::now();
    {
      const observe::TraceSpan span(observer.trace, observe::TraceKind::copy, "out of pages");
      arriving_->from_pages(part, observer);
    }
    progress.finish();
    report.exchange_seconds = exchanged - sorted;
    report.local_seconds = sorted - start + mpi::now() - exchanged;
    report.neighbours =
        mpi::count_neighbours(leaving_->segments(), arriving_->segments(), state_.channel.rank());
    report.blocks_sent = elements_of_others(*leaving_);
    report.blocks_received = elements_of_others(*arriving_);
    report.bytes_sent = report.blocks_sent * element_bytes;
    report.blocks_pulled = report.blocks_pulled * page_bytes_ / element_bytes;
    report.local_copies = 2 * elements();
    return report;
  }

  pages::PageMove pages_;  ///< first: its ledger counts all below
  plan::State& state_;
  std::size_t budget_;
  bool is_direct_;
  bool all_taken_ = false;  ///< pages can be taken without messages; on all ranks once agreed
  PageNeeds needs_;
  std::uint64_t budget_at_once_ = 0;  ///< enough on this rank for what moves at once
  std::size_t page_bytes_ = 1;
  std::optional<OwnerSegments> leaving_, arriving_;
};

}  // namespace

Report redistribute_in_place(MPI_Comm communicator, const GridLayout& from, const GridLayout& to,
                             std::size_t element_bytes, const TargetArray& array,
                             const LayoutOptions& options) {
  return layout::run_layout_call<InPlace>(communicator, from, to, element_bytes, options, array);
}

}  // namespace valet
