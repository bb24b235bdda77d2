// SPDX-License-Identifier: BSD-3-Clause
#include "base/diagnose.hpp"
#include "base/memory_reserve.hpp"
#include "engine/phased/phased_budget.hpp"
#include "mpi/agreement.hpp"
#include "mpi/check.hpp"
#include "mpi/sparse_exchange.hpp"
#include "operations/ragged/plan_state.hpp"
#include "pages/page_cut.hpp"
#include "pages/page_move.hpp"
#include "pages/page_sizes.hpp"
#include "plan/check_options.hpp"
#include "plan/map_layout.hpp"
#include "plan/same_fields.hpp"

#include <algorithm>
#include <memory>
#include <new>
#include <utility>

namespace valet::ragged {
namespace {

Diagnostic no_memory(std::uint64_t blocks) {
  return diagnose(ErrorCode::out_of_memory, "no memory to plan for the destinations of ", blocks,
                  " blocks; send them to fewer ranks");
}

/// One planning on one rank.
class Planner {
 public:
  Planner(PlanState& state, const RaggedStorage& storage, std::uint64_t count,
          std::span<const int> ranks, const Options& chosen)
      : state_(state),
        channel_(state.base.channel),
        ledger_(state.base.ledger),
        storage_(storage),
        count_(count),
        ranks_(ranks),
        chosen_(chosen) {}

  void run() {
    std::optional<Diagnostic> diagnostic = check_ragged(storage_, count_);
    if (!diagnostic && ranks_.size() != count_)
      diagnostic = plan::bad_map_size(ranks_.size(), count_);
    if (!diagnostic) diagnostic = plan::check_options(chosen_);
    if (!diagnostic && chosen_.order == Order::fill)
      diagnostic = invalid(
          "order fill puts blocks into the holes of others, which are of other sizes; take any or "
          "stable");
    if (!diagnostic)
      diagnostic = detail::unless_out_of_memory([&] { return count_blocks(); },
                                                [&] { return no_memory(count_); });
    exchange_counts(diagnostic);
    agree(diagnostic);
    exchange_bytes();
    exchange_starts();
    if (chosen_.method == Method::direct) agree_on_direct();
  }

 private:
  /// Budgets for Method::direct.
  struct DirectNeed {
    std::uint64_t here = 0;    ///< with the pages at hand
    std::uint64_t enough = 0;  ///< with any pages
  };
  [[nodiscard]] std::optional<Diagnostic> count_blocks() {
    state_.arenas = arenas_of(ledger_, storage_);
    state_.fields = storage_.fields().size();
    if (auto found = check_lengths(storage_, state_.arenas, count_)) return found;
    for (std::uint64_t k = 0; k < count_; ++k) {
      const int rank = ranks_[k];
      if (rank >= 0 && rank < channel_.size())
        state_.destinations.count(rank);
      else if (rank == plan::dropped_rank && chosen_.negative_rank == NegativeRank::drop)
        ++state_.blocks_dropped;
      else
        return plan::bad_destination(k, rank, channel_.size(), "block ");
    }
    state_.destinations.sort();
    state_.bytes_out = ArenaBytes(ledger_, outgoing().size(), state_.arenas.size());
    state_.starts_out = ArenaBytes(ledger_, outgoing().size(), state_.arenas.size());
    for (std::size_t a = 0; a < state_.fields; ++a)
      for_each_block(state_.arenas[a], ranks_, state_.destinations,
                     [&](std::size_t peer, std::uint64_t bytes) {
                       if (peer < outgoing().size()) state_.bytes_out.at(peer, a) += bytes;
                     });
    state_.blocks_before = count_;
    state_.fingerprint = fingerprint_of(state_.arenas, ranks_);
    for (std::size_t p = 0; p < outgoing().size(); ++p) {
      for (std::size_t a = state_.fields; a < state_.arenas.size(); ++a)
        state_.bytes_out.at(p, a) = outgoing()[p].blocks * state_.arenas[a].row_bytes;
      if (outgoing()[p].rank != channel_.rank()) state_.blocks_leaving += outgoing()[p].blocks;
    }
    return std::nullopt;
  }
  void exchange_counts(std::optional<Diagnostic>& diagnostic) {
    Vector<mpi::SparseCount> leaving(ledger_), arriving(ledger_);
    if (!diagnostic)
      diagnostic = detail::unless_out_of_memory(
          [&] {
            leaving.reserve(outgoing().size());
            for (const RankBlocks& peer : outgoing())
              if (peer.rank != channel_.rank()) leaving.push_back({peer.rank, peer.blocks, 0});
          },
          [&] { return no_memory(count_); });
    const bool is_whole = !diagnostic && state_.blocks_dropped == 0;
    const layout::MapPattern pattern =
        is_whole ? layout::recognise(ranks_, channel_.size()) : layout::MapPattern{};
    const plan::MapLayout layout = plan::agree_on_map(channel_, pattern, leaving.size(), 0).layout;
    state_.base.from_layout = layout != plan::MapLayout::none;
    if (state_.base.from_layout)
      state_.base.periods = layout == plan::MapLayout::patterns
                                ? static_cast<std::uint64_t>(pattern.periods(channel_.size()))
                                : 1;
    try {
      if (state_.base.from_layout)
        plan::compute_counts(channel_, ledger_, layout, pattern, leaving, 0, arriving);
      else
        mpi::exchange_sparse_counts(channel_, ledger_, leaving, arriving);
      if (!diagnostic) list_incoming(arriving);
    } catch (const std::bad_alloc&) {  // when the exchange is over
      diagnostic = no_memory(count_);
    }
  }
  void list_incoming(const Vector<mpi::SparseCount>& arriving) {
    const std::size_t own = state_.destinations.index_of(channel_.rank());
    const bool stays = own < outgoing().size();
    state_.incoming.reserve(arriving.size() + 1);
    for (const mpi::SparseCount& count : arriving) {
      state_.incoming.push_back({count.rank, count.count});
      state_.blocks_arriving += count.count;
    }
    if (stays) {
      state_.incoming.push_back(outgoing()[own]);
      std::ranges::sort(state_.incoming, {}, &RankBlocks::rank);
    }
    state_.blocks_after =
        state_.blocks_arriving + count_ - state_.blocks_leaving - state_.blocks_dropped;
    if (state_.base.from_layout)
      state_.base.segments = outgoing().size() + arriving.size() - (stays ? 1 : 0);
    state_.bytes_in = ArenaBytes(ledger_, state_.incoming.size(), state_.arenas.size());
    starts_in_ = ArenaBytes(ledger_, state_.incoming.size(), state_.arenas.size());
  }
  void agree(const std::optional<Diagnostic>& diagnostic) {
    state_.list_bytes =
        pages::ragged_list_bytes(outgoing().size() + state_.incoming.size(), state_.arenas.size());
    const std::uint64_t budget = state_.base.options.budget_bytes;
    // Method::direct needs more than that, which is known only later.
    bool some_lack = !diagnostic && chosen_.method != Method::direct && least_budget() > budget;
    state_.page_bytes =
        pages::ragged_page_bytes(budget - std::min(budget, state_.list_bytes), outgoing().size());
    // Each of them counts, and where.
    std::uint64_t shapes = 0;
    for (const Arena& arena : state_.arenas)
      shapes = (shapes * 1'000'003 + arena.row_bytes * 64 + arena.alignment_bytes) % (1ULL << 60);
    state_.anything_moves = state_.blocks_leaving + state_.blocks_dropped > 0;
    mpi::Agreement agreement;
    agreement.equal({.name = "the number of ragged fields", .code = ErrorCode::field_mismatch},
                    storage_.fields().size());
    agreement.equal({.name = "the number of columns", .code = ErrorCode::field_mismatch},
                    storage_.columns().size());
    agreement.equal({.name = "the alignments of ragged fields and the bytes of a row of columns",
                     .text = nullptr,
                     .code = ErrorCode::block_size_mismatch},
                    shapes);
    plan::SameFields arrays([this](const plan::SameFields::Visit& visit) {
      for (const RaggedField& field : storage_.fields()) visit({field.label, 0, {}});
      for (const Field& column : storage_.columns())
        visit({column.label, column.element_bytes, {}});
    });
    arrays.join(agreement, channel_);
    plan::agree_on_options(agreement, chosen_);
    agreement.least(state_.page_bytes);
    agreement.largest(state_.anything_moves);
    state_.base.frame->join(agreement);
    agreement.largest(some_lack);
    mpi::Borrowing own(state_.base.channel);
    own.join(agreement);
    agreement.run(channel_, diagnostic);
    own.complete();
    if (some_lack) refuse_budget();
  }
  /// All ranks learn which budget is enough for every rank, and for the method.
  void refuse_budget() {
    std::optional<Diagnostic> mine;
    if (const std::uint64_t budget = state_.base.options.budget_bytes; least_budget() > budget)
      mine =
          diagnose(ErrorCode::budget_too_small, "the budget of ", budget, " bytes is below the ",
                   least_budget(), " that two pages of ", pages::least_ragged_page_bytes,
                   " bytes for each of ", outgoing().size(),
                   " destinations, and two more, and lists of the ranks take; set budget_bytes to ",
                   mpi::at_least_enough);
    mpi::Agreement agreement;
    agreement.enough(least_budget());
    if (chosen_.method == Method::phased)
      agreement.enough(engine::enough_for_pages(channel_, ledger_, chosen_, state_.page_budget(),
                                                outgoing().size(), state_.incoming.size()));
    agreement.run(channel_, mine);
  }
  /// Sends the first `words` numbers of each of `out` to that rank, which get those of `in`.
  void exchange_rows(std::span<const RankBlocks> out, ArenaBytes& rows_out,
                     std::span<const RankBlocks> in, ArenaBytes& rows_in, std::size_t words) {
    const auto row = [](ArenaBytes& rows, const RankBlocks& peer, std::span<const RankBlocks> of) {
      return rows.of_peer(static_cast<std::size_t>(&peer - of.data()));
    };
    mpi::exchange_words(
        channel_, ledger_, mpi::tag_cuts, words, out, in,
        [&](const RankBlocks& peer, std::span<std::uint64_t> list) {
          std::ranges::copy(row(rows_out, peer, out).first(words), list.begin());
        },
        [&](const RankBlocks& peer, std::span<const std::uint64_t> list) {
          std::ranges::copy(list, row(rows_in, peer, in).begin());
        });
  }
  /// Rows of columns and lengths are all alike, so only the bytes of ragged fields are sent.
  void exchange_bytes() {
    exchange_rows(outgoing(), state_.bytes_out, state_.incoming, state_.bytes_in, state_.fields);
    const std::size_t own = state_.destinations.index_of(channel_.rank());
    for (std::size_t p = 0; p < state_.incoming.size(); ++p) {
      if (state_.incoming[p].rank == channel_.rank())
        std::ranges::copy(state_.bytes_out.of_peer(own), state_.bytes_in.of_peer(p).begin());
      for (std::size_t a = state_.fields; a < state_.arenas.size(); ++a)
        state_.bytes_in.at(p, a) = state_.incoming[p].blocks * state_.arenas[a].row_bytes;
    }
  }
  /// A receiver tells each sender where its bytes will begin, modulo the page.
  void exchange_starts() {
    for (std::size_t a = 0; a < state_.arenas.size(); ++a)
      state_.for_each_begin(a, [&](std::size_t p, std::uint64_t begin) {
        starts_in_.at(p, a) = begin % state_.page_bytes;
      });
    exchange_rows(state_.incoming, starts_in_, outgoing(), state_.starts_out, state_.arenas.size());
  }
  /// All pages of an arena that leave and arrive, beside lists and what buffers segments: of each
  /// no more than its bytes or two pages.
  [[nodiscard]] DirectNeed direct_need() {
    const std::uint64_t page = state_.page_bytes;
    std::uint64_t buffers = 0, pages = 0, most_buffers = 0, most_moved = 0;
    for (std::size_t a = 0; a < state_.arenas.size(); ++a) {
      std::uint64_t own_buffers = 0, own_pages = 0, own_most_buffers = 0, moved = 0;
      const auto add = [&](const RankBlocks& peer, const pages::PageCut& cut, std::uint64_t bytes) {
        if (peer.rank == channel_.rank()) return;
        own_pages += cut.pages;
        moved += bytes;
      };
      for (std::size_t p = 0; p < outgoing().size(); ++p) {
        const std::uint64_t bytes = state_.bytes_out.at(p, a);
        const pages::PageCut cut = pages::cut_into_pages(state_.starts_out.at(p, a), bytes, page);
        own_buffers += cut.buffered_bytes(page);
        own_most_buffers += std::min(bytes, std::uint64_t{2 * detail::most_page_bytes});
        add(outgoing()[p], cut, bytes);
      }
      for (std::size_t p = 0; p < state_.incoming.size(); ++p) {
        const std::uint64_t bytes = state_.bytes_in.at(p, a);
        add(state_.incoming[p], pages::cut_into_pages(starts_in_.at(p, a), bytes, page), bytes);
      }
      buffers = std::max(buffers, own_buffers);
      pages = std::max(pages, own_pages);
      most_buffers = std::max(most_buffers, own_most_buffers);
      most_moved = std::max(most_moved, moved);
    }
    const std::uint64_t least = least_budget();
    return {std::max(least, state_.list_bytes + buffers + pages * page),
            std::max(least, state_.list_bytes + most_buffers + most_moved)};
  }
  /// With the number in the error, the largest of all ranks, pages of any size fit every rank.
  void agree_on_direct() {
    const DirectNeed need = direct_need();
    const std::uint64_t budget = state_.base.options.budget_bytes;
    std::optional<Diagnostic> mine;
    if (need.here > budget)
      mine = pages::too_small_for_direct(
          "all that leaves and arrives, for what fills no page, and for lists of the ranks",
          budget);
    mpi::agree(channel_, mine, need.enough);
  }
  [[nodiscard]] std::uint64_t least_budget() const {
    return pages::buffered_pages(outgoing().size()) * pages::least_ragged_page_bytes +
           state_.list_bytes;
  }
  [[nodiscard]] std::span<const RankBlocks> outgoing() const { return state_.destinations.peers(); }

  PlanState& state_;
  const mpi::Channel& channel_;
  Ledger& ledger_;
  const RaggedStorage& storage_;
  std::uint64_t count_;
  std::span<const int> ranks_;
  const Options& chosen_;
  ArenaBytes starts_in_;
};

}  // namespace

RaggedPlan Access::make_plan(mpi::Channel channel, const RaggedStorage& storage,
                             std::uint64_t count, std::span<const int> ranks,
                             const Options& options) {
  auto state = std::make_unique<PlanState>(
      std::make_shared<call::Frame>(std::move(channel), options, "callback progress"), options);
  state->base.memory.return_unused();  // until the plan is carried out
  storage.refresh();
  const double start = mpi::now();
  Planner(*state, storage, count, ranks, options).run();
  state->base.frame->align();
  state->base.plan_seconds = mpi::now() - start;
  return RaggedPlan(std::move(state));
}

}  // namespace valet::ragged
