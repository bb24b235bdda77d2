// SPDX-License-Identifier: BSD-3-Clause
#include "base/diagnose.hpp"
#include "base/memory_reserve.hpp"
#include "base/names.hpp"
#include "base/promise.hpp"
#include "base/sizes.hpp"
#include "mpi/agreement.hpp"
#include "mpi/check.hpp"
#include "operations/alltoall/checks.hpp"
#include "operations/alltoall/direct_exchange.hpp"
#include "operations/alltoall/sorted_exchange.hpp"
#include "pages/page_sizes.hpp"
#include "pages/segment_move.hpp"
#include "plan/check_options.hpp"
#include "schedule/stream_sizes.hpp"
#include <valet/alltoall.hpp>
#include <valet/detail/known_counts.hpp>

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <utility>

namespace valet {
namespace {

using operations::sum;

/// What a rank that found something wrong sends in place of its counts, so that nobody blames
/// another rank for them.
constexpr std::uint64_t unknown = std::numeric_limits<std::uint64_t>::max();

/// What suits this rank; in AgreedSizes, what suits all.
struct Sizes {
  std::uint64_t page = 0;        ///< bytes of the page that suits; the least of all ranks'
  std::uint64_t least_page = 0;  ///< the smallest that fits, or unknown; the largest of all ranks'
  bool at_once = false;          ///< everything can leave at once: on all ranks
  bool expects = false;          ///< and may arrive already: on all ranks
  bool takes = false;            ///< pages can be taken without messages: on all ranks
  operations::SwapSizes swaps{0, 1, 0};

  void join(mpi::Agreement& agreement) {
    agreement.least(page);
    agreement.largest(least_page);
    agreement.least(at_once);
    agreement.least(expects);
    agreement.least(takes);
    swaps.join(agreement);
  }
};
using AgreedSizes = mpi::Agreed<Sizes>;

/// What a caller gives.
struct Counts {
  std::span<const std::int64_t> send;
  std::span<const std::int64_t> receive;  ///< or none
};

/// An all-to-all on one rank.
class Alltoall final : public plan::Ongoing {
 public:
  /// @param known  Where an adapter gives the counts, until begin() returns; or null.
  Alltoall(const std::shared_ptr<call::Frame>& frame, const AlltoallBuffer& buffer,
           const detail::KnownCounts* known, const AlltoallOptions& options)
      : Ongoing(frame->channel.rank()),
        frame_(frame),
        channel_(frame->channel),
        buffer_(buffer),
        known_(known),
        options_(options),
        budget_(static_cast<std::size_t>(detail::bounded_budget(options.budget_bytes))),
        self_(static_cast<std::size_t>(channel_.rank())),
        state_(std::make_unique<plan::State>(
            frame, pages::page_options(Method::stream, options.share_memory, options.keep_memory))),
        sent_(frame->ledger, static_cast<std::size_t>(channel_.size())),
        received_(frame->ledger, sent_.size()) {
    state_->options.budget_bytes = budget_;
  }

  /// Counts, agreement, then what moves. Collective.
  Report run(const Counts& counts) {
    begin(counts);
    return finish();
  }
  /// The same in two parts, with progress() between them: all but waiting for data, in pages.
  void begin(const Counts& counts) {
    const double start = mpi::now();
    const std::optional<Diagnostic> wrong = count_elements(counts);
    all_ = agree(wrong);
    report_.blocks_before = sum(sent_);
    report_.blocks_after = sum(received_);
    prepare(start);
    busy_seconds_ = mpi::now() - start;
  }
  /// Where everything leaves at once: sends it.
  void send() {
    if (at_once_) at_once_->start((*all_)->expects);
  }
  bool progress() override {
    const double start = mpi::now();
    const bool is_done = pages_ ? pages_->move.progress() : !at_once_ || at_once_->progress();
    busy_seconds_ += mpi::now() - start;
    return is_done;
  }
  Report wait() override {
    return frame_->end([this] { return finish(); });
  }

 private:
  Report finish() {
    const double start = mpi::now();
    Report report = pages_     ? finish_pages()
                    : at_once_ ? at_once_->run((*all_)->expects)
                               : swaps_->run();
    report.plan_seconds = report_.plan_seconds;
    report.local_seconds += busy_seconds_ + mpi::now() - start - report.seconds();
    report.reason = report_.reason;
    report.neighbours = report_.neighbours;
    report.blocks_before = report_.blocks_before;
    report.blocks_after = report_.blocks_after;
    report.budget_bytes = budget_;
    report.extra_bytes_bound += detail::promised_bytes(
        budget_, report.neighbours, static_cast<std::uint64_t>(channel_.size()), frame_->traces());
    return report;
  }
  [[nodiscard]] std::uint64_t needed(std::uint64_t page_bytes) const {
    return page_overhead_bytes(limits_, page_bytes) + page_bytes;
  }
  [[nodiscard]] bool fits(std::uint64_t page_bytes) const { return needed(page_bytes) <= budget_; }

  /// Tells every rank what it gets of this one; where an adapter knows that, only to find out
  /// whether it is right. Returns what is wrong with the call, if anything. Collective where ranks
  /// exchange counts.
  std::optional<Diagnostic> count_elements(const Counts& counts) {
    std::optional<Diagnostic> wrong = plan::check_options(options_);
    if (!wrong) wrong = operations::check_buffer(buffer_);
    if (!wrong && known_ != nullptr)
      wrong = known_->count({channel_.rank(), sent_, received_, fingerprint_});
    else if (!wrong)
      wrong = operations::check_counts("send_counts", counts.send, sent_.size(), buffer_);
    if (!wrong && known_ == nullptr) std::ranges::copy(counts.send, sent_.begin());
    if (known_ == nullptr || known_->mismatch) {
      Array<std::uint64_t> told(frame_->ledger, known_ != nullptr ? sent_.size() : 0);
      const std::span<std::uint64_t> theirs = known_ != nullptr ? told : received_;
      if (wrong) std::ranges::fill(sent_, unknown);
      mpi::exchange_all(channel_, sent_, theirs);
      // Where a rank found something, all that the others do is to meet it.
      if (wrong || std::ranges::find(theirs, unknown) != theirs.end()) return wrong;
      const auto odd = std::ranges::mismatch(theirs, received_).in1;
      if (odd != theirs.end())
        return known_->mismatch(static_cast<int>(odd - theirs.begin()), *odd);
      if (known_ == nullptr)
        wrong = operations::check_received(theirs, counts.receive, buffer_, channel_.rank());
    }
    return wrong ? wrong : suit();
  }

  /// What suits this rank.
  std::optional<Diagnostic> suit() {
    return detail::unless_out_of_memory(
        [&] {
          suit_page();
          mine_.at_once = suits_at_once();
          mine_.takes = pages::can_be_taken(*state_, budget_, buffer_.data, limits_.buffer_bytes);
        },
        "the system has no memory to move within the budget of ", budget_,
        " bytes; set a smaller budget");
  }

  /// The page that suits this rank, and what it would have to do with pages of that size.
  void suit_page() {
    const std::size_t element_bytes = buffer_.element_bytes;
    limits_ = {.budget_bytes = budget_,
               .element_bytes = element_bytes,
               .buffer_bytes = std::max(sum(sent_), sum(received_)) * element_bytes,
               .segments = operations::count_used(sent_)};
    mine_.page = choose_page_bytes(limits_);
    mine_.least_page = fits(mine_.page) ? mine_.page : unknown;
    while (mine_.least_page / 2 >= element_bytes && fits(mine_.least_page / 2) &&
           mine_.least_page != unknown)
      mine_.least_page /= 2;
    state_->blocks.block_bytes = static_cast<std::size_t>(mine_.page);
    mine_.swaps = {limits_.buffer_bytes / element_bytes, element_bytes, budget_};
  }

  /// Whether everything can leave this rank at once, and then prepares for it.
  /// @throws std::bad_alloc.
  bool suits_at_once() {
    const bool must = options_.method == AlltoallMethod::direct;
    if (!must && options_.method != AlltoallMethod::automatic) return false;
    needed_at_once_ = operations::sum_of_others(sent_, self_) * buffer_.element_bytes;
    const bool suits =
        needed_at_once_ <= budget_ && (must || needed_at_once_ <= schedule::most_bytes_at_once);
    if (suits) {
      frame_->memory->take_scratch(static_cast<std::size_t>(needed_at_once_));
      mine_.expects = at_once_.emplace(*state_, buffer_, sent_, received_).expect();
    }
    return suits;
  }

  /// Agrees on what is wrong, on what must be equal everywhere, and on the sizes. Collective: one
  /// reduction.
  AgreedSizes agree(const std::optional<Diagnostic>& wrong) {
    mpi::Agreement agreement;
    if (known_ != nullptr) agreement.equal({.name = known_->basis, .text = nullptr}, fingerprint_);
    agreement.equal({.name = known_ != nullptr ? known_->element_name : "element_bytes",
                     .code = ErrorCode::block_size_mismatch},
                    known_ != nullptr ? known_->element_bytes : buffer_.element_bytes);
    plan::agree_on_options(agreement, options_);
    frame_->join(agreement);
    const AgreedSizes all = agree_on(channel_, agreement, mine_, wrong);
    if (options_.method == AlltoallMethod::direct && !all->at_once) require_at_once();
    return all;
  }

  /// Throws where everything must leave at once, and cannot on some rank. Collective.
  void require_at_once() const {
    std::optional<Diagnostic> too_small;
    if (!mine_.at_once)
      too_small =
          diagnose(ErrorCode::budget_too_small, "the budget of ", budget_, " bytes is below the ",
                   needed_at_once_, " that leave a rank at once; set budget_bytes to ",
                   mpi::at_least_enough, ", or take stream");
    mpi::agree(channel_, too_small, needed_at_once_);
  }

  /// A budget with which pages fit on all ranks: tries larger ones, because pages that suit one
  /// rank need not suit another. Collective.
  [[nodiscard]] std::uint64_t enough_for_pages(std::uint64_t page) const {
    for (std::uint64_t enough = 0;;) {
      std::uint64_t most = needed(page);
      mpi::maximum(channel_, std::span(&most, 1));
      if (most <= enough) return enough;
      enough = std::max(most, enough + enough / 8);
      pages::PageLimits limits = limits_;
      limits.budget_bytes = enough;
      page = choose_page_bytes(limits);
      mpi::Agreement least;
      least.least(page);
      least.run(channel_, std::nullopt);
    }
  }

  /// Whether pages fit the budget on all ranks. Collective only where they do not seem to.
  /// @throws Error where they must and do not.
  [[nodiscard]] bool pages_fit(const AgreedSizes& all) const {
    if (all->least_page <= all->page) return true;
    const bool is_short = !fits(all->page);
    const bool all_fit = !mpi::on_some_rank(channel_, is_short);
    std::optional<Diagnostic> too_small;
    if (is_short) too_small = mpi::budget_too_small_for("pages with these counts", budget_);
    if (!all_fit && options_.method == AlltoallMethod::stream)
      mpi::agree(channel_, too_small, enough_for_pages(all->page));
    return all_fit;
  }

  /// The method by swaps, which are made for it; nothing where pages are used. Collective.
  std::optional<AlltoallMethod> choose_swaps(const AgreedSizes& all) {
    const AlltoallMethod wish = options_.method;
    const bool may_use_pages = wish == AlltoallMethod::automatic || wish == AlltoallMethod::stream;
    if (may_use_pages && pages_fit(all)) return std::nullopt;
    frame_->memory->free_unused();  // swaps have the whole budget
    return swaps_.emplace(*state_, buffer_, sent_, sum(received_), budget_, all->swaps)
        .choose(wish, [&] { return enough_for_pages(all->page); });
  }

  /// Ranks that this one exchanges elements with.
  [[nodiscard]] std::uint64_t count_neighbours() const {
    std::uint64_t neighbours = 0;
    for (std::size_t r = 0; r < sent_.size(); ++r)
      neighbours += r != self_ && (sent_[r] > 0 || received_[r] > 0) ? 1 : 0;
    return neighbours;
  }

  /// Begins to move everything by the method that suits all ranks. Collective.
  /// @param start  When the call began.
  void prepare(double start) {
    const AgreedSizes& all = *all_;
    state_->blocks.block_bytes = static_cast<std::size_t>(all->page);
    std::optional<AlltoallMethod> method = AlltoallMethod::direct;
    if (!all->at_once) {
      at_once_.reset();
      method = choose_swaps(all);
    }
    frame_->caption = {to_string(method.value_or(AlltoallMethod::stream)), buffer_.element_bytes,
                       budget_};
    const double planned = mpi::now();
    if (method) frame_->align();
    if (observe::Trace* const trace = frame_->observer->trace)
      trace->span(observe::TraceKind::stage, "plan", start, planned);
    // Swaps may have to do with any rank.
    report_.neighbours = method && !all->at_once ? sent_.size() - 1 : count_neighbours();
    report_.plan_seconds = planned - start;
    if (options_.method == AlltoallMethod::automatic)
      report_.reason = all->at_once ? "the budgets hold all that leaves"
                       : method     ? "pages do not fit the budget of some rank"
                                    : "pages fit the budgets";
    if (!method) begin_pages(all->page, all->takes);
  }

  /// Begins to move pages, which fit all ranks: what goes to a rank is a segment, and the buffer
  /// has one after the other. Collective.
  /// @param takes  Whether pages can be taken.
  void begin_pages(std::uint64_t page, bool takes) {
    swaps_.reset();
    state_->limit_budget(budget_ - static_cast<std::size_t>(page_overhead_bytes(limits_, page)));
    plan::State& state = *state_;
    pages_.reset(new MovingPages{
        frame_->progress(
            "all-to-all by stream",
            operations::sum_of_others(sent_, self_) + operations::sum_of_others(received_, self_),
            buffer_.element_bytes),
        {std::move(state_), frame_->ledger, static_cast<std::byte*>(buffer_.data), page, true},
        {}});
    auto& [progress, move, fragments] = *pages_;
    list_segments(move);
    if (!options_.any_order) move.exchange_begins();
    pages::PageSegments& outgoing = move.outgoing();
    const char* const no_memory =
        "the system has no memory for pages within the budget; set a smaller one";
    auto failed = detail::unless_out_of_memory(
        [&] {
          pages_->fragments =
              Array<std::byte>(state.ledger, static_cast<std::size_t>(outgoing.fragment_bytes()));
        },
        no_memory);
    move.plan(std::move(failed),
              options_.any_order ? pages::PageOrder::any : pages::order_of_slots(takes));
    state.failure = detail::unless_out_of_memory(
        [&] { state.take_scratch(static_cast<std::size_t>(pages_->move.workspace_bytes())); },
        no_memory);
    progress.count_in(page);
    move.begin({fragments.data(), fragments.size()}, [&] {
      for (std::size_t s = 0; s < outgoing.segments().size(); ++s)
        outgoing.append(s, outgoing.segments()[s].bytes(page));
    });
  }
  Report finish_pages() {
    auto& [progress, move, fragments] = *pages_;
    Report report = move.finish();
    progress.count_in(1);
    for (const auto segments : {move.outgoing().segments(), std::span(move.incoming())})
      frame_->observer->moved(pages::fragment_bytes_of_others(segments, channel_.rank()));
    progress.finish();
    return report;
  }

  /// Where segments begin takes the place of how long they are, in the memory, too.
  void list_segments(pages::SegmentMove& move) {
    move.incoming().reserve(operations::count_used(received_));
    std::uint64_t begin = 0, first_page = 0;
    for (std::size_t r = 0; r < received_.size(); ++r) {
      if (received_[r] == 0) continue;
      const std::uint64_t bytes = received_[r] * buffer_.element_bytes;
      move.receive(static_cast<int>(r), bytes, options_.any_order ? 0 : begin);
      if (options_.any_order) move.incoming().back().first_page = first_page;
      first_page += move.incoming().back().pages;
      begin += bytes;
    }
    received_ = {};
    move.outgoing().reserve(operations::count_used(sent_));
    for (std::size_t r = 0; r < sent_.size(); ++r)
      if (sent_[r] > 0)
        move.outgoing().add(static_cast<int>(r), sent_[r] * buffer_.element_bytes, 0);
    sent_ = {};
  }

  /// Pages under way.
  struct MovingPages {
    observe::ProgressMeter progress;
    pages::SegmentMove move;
    Array<std::byte> fragments;
  };

  std::shared_ptr<call::Frame> frame_;
  const mpi::Channel& channel_;
  const AlltoallBuffer buffer_;
  const detail::KnownCounts* known_;
  const AlltoallOptions options_;
  std::size_t budget_;
  std::size_t self_;
  std::unique_ptr<plan::State> state_;  ///< given up for pages, as are the counts
  Array<std::uint64_t> sent_, received_;
  std::uint64_t fingerprint_ = 0;  ///< of what known counts follow from
  pages::PageLimits limits_;
  std::uint64_t needed_at_once_ = 0;  ///< budget to move everything at once
  Sizes mine_;
  std::optional<operations::DirectExchange> at_once_;
  std::optional<operations::SortedExchange> swaps_;
  std::unique_ptr<MovingPages> pages_;
  std::optional<AgreedSizes> all_;
  Report report_;            ///< what is known of it before anything moves
  double busy_seconds_ = 0;  ///< in begin() and progress()
};

std::shared_ptr<call::Frame> make_frame(mpi::Channel channel, const AlltoallOptions& options) {
  return std::make_shared<call::Frame>(std::move(channel), options, "callback progress");
}

/// The same with its frame. Collective.
Report exchange_framed(MPI_Comm communicator, const AlltoallBuffer& buffer, const Counts& counts,
                       const detail::KnownCounts* known, const AlltoallOptions& options) {
  const detail::MemoryReserve reserve;
  const auto frame = make_frame(mpi::Channel::open_for_call(communicator), options);
  return frame->run([&] { return Alltoall(frame, buffer, known, options).run(counts); });
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

Execution detail::start_alltoallv_of_known(MPI_Comm communicator, const AlltoallBuffer& buffer,
                                           const KnownCounts& counts,
                                           const AlltoallOptions& options) {
  const detail::MemoryReserve reserve;
  // A communicator of its own: other calls may come before the end.
  const auto frame = make_frame(mpi::Channel::open(communicator), options);
  auto call = std::make_unique<Alltoall>(frame, buffer, &counts, options);
  frame->begin([&] {
    call->begin({});
    call->send();
  });
  return plan::Access::execution(std::move(call));
}

}  // namespace valet
