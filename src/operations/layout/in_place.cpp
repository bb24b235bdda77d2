// SPDX-License-Identifier: BSD-3-Clause
#include "base/callback_guard.hpp"
#include "geometry/intersection.hpp"
#include "mpi/check.hpp"
#include "mpi/peer_words.hpp"
#include "operations/layout/page_sort.hpp"
#include "operations/prepare_method.hpp"
#include "plan/known_flows.hpp"
#include <valet/block_storage.hpp>
#include <valet/plan.hpp>
#include <valet/redistribute.hpp>

#include <algorithm>
#include <limits>
#include <memory>
#include <new>
#include <string>

namespace valet {
namespace {

using layout::GridSide;
using layout::PagePeer;
using layout::PageSort;

constexpr std::size_t word = sizeof(std::uint64_t);
constexpr std::size_t most_page_bytes = std::size_t{64} << 10;
constexpr std::int64_t any_page = std::numeric_limits<std::int64_t>::max();
/// Pages of one side, for plan::KnownFlows: where PageSort puts them, or looks for them.
struct Pages {
  const PageSort& sort;
  std::span<const std::uint64_t> words = {};  ///< that the peers say of their messages

  [[nodiscard]] std::span<const PagePeer> peers() const { return sort.peers(); }
  [[nodiscard]] static std::uint64_t blocks(const PagePeer& peer) { return peer.pages; }
  [[nodiscard]] std::uint64_t slot(const PagePeer& peer, std::uint64_t k) const {
    return sort.slots(peer)[k];
  }
  [[nodiscard]] std::uint64_t message_blocks(const PagePeer& peer) const {
    return words[sort.index(peer)];
  }
};

/// Memory of one rank: pages that leave, pages that arrive, what they are counted with.
struct PageNeeds {
  std::uint64_t out_peers = 0, in_peers = 0;
  std::uint64_t out_bytes = 0, in_bytes = 0;
  std::uint64_t ranks = 0;   ///< of both grids
  std::uint64_t shared = 0;  ///< bytes of an intersection, while pages are planned

  /// Bytes of buffers for fragments: one of each peer, those going out apart from those coming in.
  [[nodiscard]] std::uint64_t buffer_bytes(std::uint64_t page) const {
    return (out_peers + in_peers) * (page + word);
  }
  /// Bytes of lists: pages named on both sides, and what a plan keeps of each.
  [[nodiscard]] std::uint64_t list_bytes(std::uint64_t page) const {
    constexpr std::uint64_t plan_bytes = 16;
    const std::uint64_t out = out_bytes / page, in = in_bytes / page;
    return PageSort::list_bytes(out_peers + in_peers, out + in, ranks) +
           plan_bytes * std::max(out, in);
  }
  [[nodiscard]] std::uint64_t needed(std::uint64_t page) const {
    return list_bytes(page) + std::max(buffer_bytes(page) + 2 * page, shared);
  }
  /// The largest page, a multiple of the element, of which two buffers for each neighbour and
  /// two in transit leave half of the budget for lists.
  [[nodiscard]] std::uint64_t page_for(std::uint64_t budget, std::size_t element_bytes) const {
    const std::uint64_t peers = std::max<std::uint64_t>(std::max(out_peers, in_peers), 1);
    const std::uint64_t page = std::min<std::uint64_t>(most_page_bytes, budget / (4 * peers + 4));
    return std::max<std::uint64_t>(page / element_bytes, 1) * element_bytes;
  }
};

/// The options of the exchange of pages.
Options page_options(const LayoutOptions& options) {
  Options result;
  result.method = options.method;
  result.share_memory = options.share_memory;
  result.trace = options.trace;
  result.progress_bar = false;
  return result;
}

/// One call on one rank.
class InPlace {
 public:
  InPlace(MPI_Comm communicator, const GridLayout& from, const GridLayout& to,
          std::size_t element_bytes, const TargetArray& array, const LayoutOptions& options)
      : plan_(plan::Access::make(std::make_unique<plan::State>(mpi::Channel::open(communicator),
                                                               page_options(options)))),
        state_(plan::Access::state_of(plan_)),
        channel_(state_.channel),
        ledger_(state_.ledger),
        from_("source", from, channel_.rank()),
        to_("target", to, channel_.rank()),
        element_bytes_(element_bytes),
        array_(array),
        options_(options),
        progress_(options.progress, "LayoutOptions::progress") {}

  void prepare();
  Report run();

 private:
  Report move();
  std::optional<Diagnostic> check();
  std::optional<Diagnostic> measure(std::int64_t& page);
  [[nodiscard]] BlockStorage pages() const;
  void make_plan();
  void exchange_fragments();
  [[nodiscard]] std::optional<ProgressMeter> meter() const;
  [[nodiscard]] std::byte* part() const { return static_cast<std::byte*>(array_.data); }

  Plan plan_;  ///< first: its ledger counts all below
  plan::State& state_;
  const mpi::Channel& channel_;
  Ledger& ledger_;
  GridSide from_, to_;
  std::size_t element_bytes_;
  const TargetArray& array_;
  const LayoutOptions& options_;
  detail::ProgressGuard progress_;
  bool is_watched_ = false;  ///< by a rank
  PageNeeds needs_;
  std::size_t page_bytes_ = 1;
  IndexOrder order_ = IndexOrder::row_major;
  std::optional<PageSort> leaving_, arriving_;
  Array<std::byte> workspace_;
};

std::optional<Diagnostic> InPlace::check() {
  {
    Array<std::uint8_t> seen(ledger_, static_cast<std::size_t>(channel_.size()));
    if (auto diagnostic = check_grids(from_, to_, element_bytes_, {seen.begin(), seen.size()}))
      return diagnostic;
  }
  if (array_.strides.size() > 0)
    return Diagnostic{
        ErrorCode::invalid_argument,
        "its array has strides; an array that is moved in place is contiguous before and "
        "after, so give none"};
  BlockCyclic::Extents strides;
  if (auto diagnostic = check_array(from_, element_bytes_, array_, strides)) return diagnostic;
  return check_array(to_, element_bytes_, array_, strides);
}

/// What the pages of this rank need, and the largest page that its budget allows.
std::optional<Diagnostic> InPlace::measure(std::int64_t& page) {
  if (from_.elements() == 0 && to_.elements() == 0) return std::nullopt;
  const std::uint64_t shared =
      std::max(intersection_bytes(from_, to_.layout()), intersection_bytes(to_, from_.layout()));
  std::uint64_t needed = shared;
  if (shared <= options_.budget_bytes) {
    const auto count_peers = [this](const GridSide& mine, const GridSide& theirs) {
      if (mine.elements() == 0) return std::uint64_t{0};
      const layout::Intersection both(ledger_, mine.layout(), mine.grid_rank, theirs.layout());
      std::uint64_t peers = 0;
      for (int g = both.next_peer(0); g < theirs.layout().ranks(); g = both.next_peer(g + 1))
        ++peers;
      return peers;
    };
    needs_ = {.out_peers = count_peers(from_, to_),
              .in_peers = count_peers(to_, from_),
              .out_bytes = static_cast<std::uint64_t>(from_.elements()) * element_bytes_,
              .in_bytes = static_cast<std::uint64_t>(to_.elements()) * element_bytes_,
              .ranks = static_cast<std::uint64_t>(from_.layout().ranks()) +
                       static_cast<std::uint64_t>(to_.layout().ranks()),
              .shared = shared};
    const std::uint64_t largest = needs_.page_for(options_.budget_bytes, element_bytes_);
    page = static_cast<std::int64_t>(largest);
    needed = needs_.needed(largest);
    if (needed <= options_.budget_bytes) return std::nullopt;
  }
  // With more budget pages are larger and the lists of them shorter.
  std::uint64_t enough = std::max<std::uint64_t>(options_.budget_bytes, shared);
  while (needs_.needed(needs_.page_for(enough, element_bytes_)) > enough) enough += enough / 8 + 1;
  return Diagnostic{
      ErrorCode::budget_too_small,
      "the budget of " + std::to_string(options_.budget_bytes) +
          " bytes is too small for pages of this array; set budget_bytes to at least " +
          std::to_string(enough)};
}

void InPlace::prepare() {
  std::optional<Diagnostic> diagnostic = check();
  layout::CallNumbers numbers{.element_bytes = element_bytes_,
                              .traced = !options_.trace.empty(),
                              .source_order = {},
                              .target_order = {},
                              .least = any_page,
                              .watched = progress_.any()};
  if (from_.grid_rank != layout::outside) numbers.source_order = array_.order;
  if (to_.grid_rank != layout::outside) numbers.target_order = array_.order;
  if (!diagnostic) diagnostic = measure(numbers.least);
  agree_on_call(channel_, diagnostic, from_.grid, to_.grid, numbers);
  is_watched_ = numbers.watched;
  if (numbers.least != any_page) page_bytes_ = static_cast<std::size_t>(numbers.least);
  order_ = *numbers.target_order;
  std::optional<Diagnostic> odd;
  if (*numbers.source_order != order_)
    odd = Diagnostic{ErrorCode::invalid_argument,
                     "the array is row-major in one layout and column-major in the other; in place "
                     "it keeps its order"};
  // The least page of all ranks may need longer lists here.
  else if (const std::uint64_t needed = needs_.needed(page_bytes_);
           needs_.ranks > 0 && needed > options_.budget_bytes)
    odd =
        Diagnostic{ErrorCode::budget_too_small,
                   "the budget of " + std::to_string(options_.budget_bytes) +
                       " bytes is too small for pages of " + std::to_string(page_bytes_) +
                       " bytes, the most that the budget of another rank allows; set budget_bytes "
                       "to at least " +
                       std::to_string(needed) + ", or give that rank more"};
  mpi::agree(channel_, odd);
  make_plan();
  try {
    leaving_->allocate_buffers();
    arriving_->allocate_buffers();
    workspace_ = Array<std::byte>(ledger_, plan_.workspace_bytes());
  } catch (const std::bad_alloc&) {
    odd = Diagnostic{ErrorCode::out_of_memory,
                     "the system has no memory for buffers within the budget; set a smaller one"};
  }
  mpi::agree(channel_, odd);
}

BlockStorage InPlace::pages() const {
  return BlockStorage{field(part(), std::max(leaving_->pages(), arriving_->pages()), page_bytes_)};
}

/// Pages leave from where to_pages() puts them and land where from_pages() looks for them. Both
/// sides know how many; what a sender tells is how it cuts them into messages.
void InPlace::make_plan() {
  const observe::TraceSpan span(state_.observer.trace, observe::TraceKind::stage, "plan");
  leaving_.emplace(ledger_, from_, to_, order_, element_bytes_, page_bytes_);
  arriving_.emplace(ledger_, to_, from_, order_, element_bytes_, page_bytes_);
  if (needs_.ranks > 0)
    state_.options.budget_bytes =
        options_.budget_bytes - needs_.buffer_bytes(page_bytes_) - needs_.list_bytes(page_bytes_);
  else
    state_.options.budget_bytes = options_.budget_bytes;
  const BlockStorage storage = pages();
  state_.blocks = storage.backend().traits();
  {
    std::uint64_t leaving = 0;
    for (const PagePeer& peer : leaving_->peers())
      if (peer.rank != channel_.rank()) leaving += peer.pages;
    const std::uint64_t own_word = leaving > 0 ? message_blocks(state_, leaving) : 1;
    Array<std::uint64_t> words(ledger_, arriving_->peers().size());
    const auto one = [](const PagePeer& peer) { return std::uint64_t{peer.pages > 0 ? 1U : 0U}; };
    const auto say = [&](const PagePeer&, std::uint64_t, std::span<std::uint64_t> to) {
      to[0] = own_word;
    };
    const auto hear = [&](const PagePeer& peer, std::uint64_t, std::span<std::uint64_t> said) {
      words[arriving_->index(peer)] = said[0];
    };
    mpi::NeighbourWords(channel_, ledger_, mpi::tag_sparse_count, 1,
                        mpi::PeerWords(ledger_, leaving_->peers(), channel_.rank(), one, say),
                        mpi::PeerWords(ledger_, arriving_->peers(), channel_.rank(), one, hear))
        .run();
    plan::KnownFlows(state_, Pages{*leaving_}, Pages{*arriving_, {words.data(), words.size()}})
        .build(plan::Form::slots, storage.slots());
  }
  std::optional<Diagnostic> diagnostic = storage.backend().diagnostic();
  if (!diagnostic) diagnostic = check_budget(state_);
  agree_on_flows(state_, diagnostic, plan::Form::slots, true);
  operations::prepare_method(state_);
}

void InPlace::exchange_fragments() {
  const auto buffer = [](PageSort& sort) {
    return [&sort](const PagePeer& peer) { return sort.fragment(peer); };
  };
  mpi::exchange_bytes(channel_, ledger_, leaving_->peers(), arriving_->peers(), buffer(*leaving_),
                      buffer(*arriving_));
}

constexpr int no_rank = -1;

/// What is not on pages, and is copied and travels apart from them.
std::uint64_t fragment_bytes(const PageSort& sort, int skipped_rank) {
  std::uint64_t bytes = 0;
  for (const PagePeer& peer : sort.peers())
    if (peer.rank != skipped_rank) bytes += sort.fragment_bytes(peer);
  return bytes;
}

/// Counts three passes: into pages, to their ranks, out of pages.
std::optional<ProgressMeter> InPlace::meter() const {
  auto elements = static_cast<std::uint64_t>(from_.elements() + to_.elements());
  for (const PageSort* const sort : {&*leaving_, &*arriving_})
    for (const PagePeer& peer : sort->peers())
      if (peer.rank != channel_.rank()) elements += peer.elements;
  const ProgressWish wish{progress_.callback(), options_.progress_bar, channel_.rank(),
                          "valet: redistribute in place"};
  return wish.meter(elements, element_bytes_);
}

/// The three passes and what they come to; pages are the blocks of the report.
Report InPlace::move() {
  const double start = mpi::now();
  observe::Observer& observer = state_.observer;
  observe::WatchedProgress watched(observer, meter());
  const auto fragments_moved = [&](std::uint64_t bytes) {
    watched.count_in(1);
    observer.moved(bytes);
    watched.count_in(page_bytes_);
  };
  watched.count_in(page_bytes_);
  {
    const observe::TraceSpan span(observer.trace, observe::TraceKind::copy, "into pages");
    leaving_->to_pages(part(), observer);
    fragments_moved(fragment_bytes(*leaving_, no_rank));
  }
  const double sorted = mpi::now();
  exchange_fragments();
  fragments_moved(fragment_bytes(*leaving_, channel_.rank()) +
                  fragment_bytes(*arriving_, channel_.rank()));
  leaving_->free_buffers();
  Report report = execute(plan_, pages(), {workspace_.data(), workspace_.size()});
  workspace_ = {};
  const double exchanged = mpi::now();
  {
    const observe::TraceSpan span(observer.trace, observe::TraceKind::copy, "out of pages");
    arriving_->from_pages(part(), observer);
    fragments_moved(fragment_bytes(*arriving_, no_rank));
  }
  watched.finish();
  report.exchange_seconds = exchanged - sorted;
  report.local_seconds = sorted - start + mpi::now() - exchanged;
  return report;
}

Report InPlace::run() {
  observe::TraceFile* const trace = state_.trace.get();
  if (trace != nullptr) trace->hold();  // it goes on after the pages have moved
  Report report = move();
  if (trace != nullptr) {
    trace->release();
    trace->write(channel_, {"layout in place", element_bytes_, options_.budget_bytes});
  }
  if (is_watched_) mpi::agree(channel_, progress_.diagnostic());
  report.method = "layout in place";
  report.block_bytes = element_bytes_;
  report.blocks_before = static_cast<std::uint64_t>(from_.elements());
  report.blocks_after = static_cast<std::uint64_t>(to_.elements());
  report.blocks_sent = report.blocks_received = 0;
  for (const PagePeer& peer : leaving_->peers())
    if (peer.rank != channel_.rank()) report.blocks_sent += peer.elements;
  for (const PagePeer& peer : arriving_->peers())
    if (peer.rank != channel_.rank()) report.blocks_received += peer.elements;
  report.bytes_sent = report.blocks_sent * element_bytes_;
  report.local_copies = 2 * (report.blocks_before + report.blocks_after);
  report.budget_bytes = options_.budget_bytes;
  report.extra_bytes_bound = options_.budget_bytes + (std::uint64_t{64} << 10) +
                             64 * static_cast<std::uint64_t>(channel_.size());
  return report;
}

}  // namespace

Report redistribute_in_place(MPI_Comm communicator, const GridLayout& from, const GridLayout& to,
                             std::size_t element_bytes, const TargetArray& array,
                             const LayoutOptions& options) {
  InPlace move(communicator, from, to, element_bytes, array, options);
  const double start = mpi::now();
  move.prepare();
  const double planned = mpi::now() - start;
  Report report = move.run();
  report.plan_seconds = planned;
  return report;
}

}  // namespace valet
