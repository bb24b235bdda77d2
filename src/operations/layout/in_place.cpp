// SPDX-License-Identifier: BSD-3-Clause
#include "base/callback_guard.hpp"
#include "geometry/intersection.hpp"
#include "mpi/check.hpp"
#include "mpi/neighbour_words.hpp"
#include "mpi/tags.hpp"
#include "operations/layout/page_sort.hpp"
#include "plan/plan_state.hpp"
#include <valet/block_storage.hpp>
#include <valet/plan.hpp>
#include <valet/redistribute.hpp>

#include <algorithm>
#include <cstring>
#include <limits>
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
/// Words of one message when pages are named or fragments sent: 16 KiB of buffers in all.
constexpr std::size_t words_per_message = 256;

/// Lists of words for the peers of one side that have any, this rank left out.
template <class Count, class Access>
class PeerWords {
 public:
  PeerWords(Ledger& ledger, std::span<const PagePeer> peers, int own_rank, Count count,
            Access access)
      : peers_(peers),
        chosen_(LedgerAllocator<std::uint32_t>(ledger)),
        count_(count),
        access_(access) {
    for (std::uint32_t p = 0; p < peers.size(); ++p)
      if (peers[p].rank != own_rank && count(peers[p]) > 0) chosen_.push_back(p);
  }

  [[nodiscard]] std::size_t size() const { return chosen_.size(); }
  [[nodiscard]] int rank(std::size_t i) const { return peers_[chosen_[i]].rank; }
  [[nodiscard]] std::uint64_t count(std::size_t i) const { return count_(peers_[chosen_[i]]); }
  void provide(std::size_t i, std::uint64_t first, std::span<std::uint64_t> words) const {
    access_(peers_[chosen_[i]], first, words);
  }
  void consume(std::size_t i, std::uint64_t first, std::span<std::uint64_t> words) const {
    access_(peers_[chosen_[i]], first, words);
  }

 private:
  std::span<const PagePeer> peers_;
  Vector<std::uint32_t> chosen_;
  Count count_;
  Access access_;
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
  /// Bytes of lists: pages named on both sides, their addresses, and what a plan keeps of each.
  [[nodiscard]] std::uint64_t list_bytes(std::uint64_t page) const {
    constexpr std::uint64_t plan_bytes = 16;
    const std::uint64_t out = out_bytes / page, in = in_bytes / page;
    return PageSort::list_bytes(out_peers + in_peers, out + in, ranks) + out * sizeof(Address) +
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

/// One call on one rank.
class InPlace {
 public:
  InPlace(MPI_Comm communicator, const mpi::Channel& channel, const GridLayout& from,
          const GridLayout& to, std::size_t element_bytes, const TargetArray& array,
          const LayoutOptions& options)
      : communicator_(communicator),
        channel_(channel),
        from_("source", from, channel.rank()),
        to_("target", to, channel.rank()),
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
  void make_plan();
  void exchange_fragments();
  [[nodiscard]] std::optional<ProgressMeter> meter() const;
  [[nodiscard]] std::byte* part() const { return static_cast<std::byte*>(array_.data); }

  MPI_Comm communicator_;
  const mpi::Channel& channel_;
  GridSide from_, to_;
  std::size_t element_bytes_;
  const TargetArray& array_;
  const LayoutOptions& options_;
  detail::ProgressGuard progress_;
  bool is_watched_ = false;  ///< by a rank
  Ledger ledger_;
  PageNeeds needs_;
  std::size_t page_bytes_ = 1;
  IndexOrder order_ = IndexOrder::row_major;
  std::optional<PageSort> leaving_, arriving_;
  std::optional<Plan> plan_;
  std::uint64_t planning_peak_bytes_ = 0;
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
    workspace_ = Array<std::byte>(ledger_, plan_->workspace_bytes());
  } catch (const std::bad_alloc&) {
    odd = Diagnostic{ErrorCode::out_of_memory,
                     "the system has no memory for buffers within the budget; set a smaller one"};
  }
  mpi::agree(channel_, odd);
}

/// Pages leave from where to_pages() puts them and land where from_pages() looks for them, which
/// their receiver tells their sender.
void InPlace::make_plan() {
  leaving_.emplace(ledger_, from_, to_, order_, element_bytes_, page_bytes_);
  arriving_.emplace(ledger_, to_, from_, order_, element_bytes_, page_bytes_);
  Array<Address> addresses(ledger_, leaving_->pages());
  const auto address = [&](const PagePeer& peer, std::uint64_t first,
                           std::span<const std::uint64_t> slots) {
    const std::span<const std::uint64_t> own = leaving_->slots(peer);
    for (std::size_t k = 0; k < slots.size(); ++k)
      addresses[own[first + k]] = Address{peer.rank, slots[k]};
  };
  const auto name = [&](const PagePeer& peer, std::uint64_t first, std::span<std::uint64_t> slots) {
    std::ranges::copy(arriving_->slots(peer).subspan(first, slots.size()), slots.begin());
  };
  const auto pages = [](const PagePeer& peer) { return peer.pages; };
  const int rank = channel_.rank();
  mpi::NeighbourWords(channel_, ledger_, mpi::tag_slots, words_per_message,
                      PeerWords(ledger_, arriving_->peers(), rank, pages, name),
                      PeerWords(ledger_, leaving_->peers(), rank, pages, address))
      .run();
  const auto own = std::ranges::find(arriving_->peers(), rank, &PagePeer::rank);
  if (own != arriving_->peers().end())
    address(*std::ranges::find(leaving_->peers(), rank, &PagePeer::rank), 0,
            arriving_->slots(*own));

  Options options;
  const std::uint64_t taken = needs_.buffer_bytes(page_bytes_) + needs_.list_bytes(page_bytes_);
  options.budget_bytes = needs_.ranks == 0 ? options_.budget_bytes : options_.budget_bytes - taken;
  options.method = options_.method;
  options.share_memory = options_.share_memory;
  options.trace = options_.trace;
  options.progress_bar = false;
  const std::uint64_t slots = std::max(leaving_->pages(), arriving_->pages());
  const BlockStorage storage{field(part(), slots, page_bytes_)};
  plan_.emplace(plan_to_slots(communicator_, storage, Occupied(leaving_->pages()),
                              std::span<const Address>(addresses.data(), addresses.size()),
                              options));
  // The plan has a ledger of its own. What it took only while it was made is given back by now,
  // before there are buffers.
  Ledger& of_plan = plan::Access::state_of(*plan_).ledger;
  planning_peak_bytes_ = ledger_.current_bytes() + of_plan.peak_bytes();
  of_plan.reset_peak();
}

void InPlace::exchange_fragments() {
  const auto words = [](PageSort& sort) {
    return [&sort](const PagePeer& peer) { return (sort.fragment_bytes(peer) + word - 1) / word; };
  };
  const auto provide = [this](const PagePeer& peer, std::uint64_t first,
                              std::span<std::uint64_t> to) {
    std::memcpy(to.data(), leaving_->fragment(peer) + first * word, to.size_bytes());
  };
  const auto consume = [this](const PagePeer& peer, std::uint64_t first,
                              std::span<std::uint64_t> from) {
    std::memcpy(arriving_->fragment(peer) + first * word, from.data(), from.size_bytes());
  };
  const int rank = channel_.rank();
  mpi::NeighbourWords(channel_, ledger_, mpi::tag_data, words_per_message,
                      PeerWords(ledger_, leaving_->peers(), rank, words(*leaving_), provide),
                      PeerWords(ledger_, arriving_->peers(), rank, words(*arriving_), consume))
      .run();
  const auto own = std::ranges::find(leaving_->peers(), rank, &PagePeer::rank);
  if (own == leaving_->peers().end() || leaving_->fragment_bytes(*own) == 0) return;
  std::memcpy(arriving_->fragment(*std::ranges::find(arriving_->peers(), rank, &PagePeer::rank)),
              leaving_->fragment(*own), leaving_->fragment_bytes(*own));
}

constexpr int no_rank = -1;

/// What is not on pages, and is copied and travels apart from them.
std::uint64_t fragment_bytes(const PageSort& sort, int skipped_rank) {
  std::uint64_t bytes = 0;
  for (const PagePeer& peer : sort.peers())
    if (peer.rank != skipped_rank) bytes += sort.fragment_bytes(peer);
  return bytes;
}

/// Of three passes: into pages, to their ranks, out of pages.
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
  observe::Observer& observer = plan::Access::state_of(*plan_).observer;
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
  const std::uint64_t slots = std::max(leaving_->pages(), arriving_->pages());
  const BlockStorage storage{field(part(), slots, page_bytes_)};
  Report report = execute(*plan_, storage, {workspace_.data(), workspace_.size()});
  report.peak_extra_bytes =
      std::max<std::uint64_t>({planning_peak_bytes_, ledger_.peak_bytes() + plan_->extra_bytes(),
                               ledger_.current_bytes() + report.peak_extra_bytes});
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
  observe::TraceFile* const trace = plan::Access::state_of(*plan_).trace.get();
  if (trace != nullptr) trace->hold();  // it goes on after the pages have moved
  Report report = move();
  if (trace != nullptr) {
    trace->release();
    trace->write(plan::Access::state_of(*plan_).channel,
                 {"layout in place", element_bytes_, options_.budget_bytes});
  }
  plan_.reset();
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
  const mpi::Channel channel = mpi::Channel::open(communicator);
  const double start = mpi::now();
  InPlace move(communicator, channel, from, to, element_bytes, array, options);
  move.prepare();
  const double planned = mpi::now() - start;
  Report report = move.run();
  report.plan_seconds = planned;
  return report;
}

}  // namespace valet
