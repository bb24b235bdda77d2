// SPDX-License-Identifier: BSD-3-Clause
#include "base/diagnose.hpp"
#include "call/frame.hpp"
#include "junction/transfers.hpp"
#include "mpi/agreement.hpp"
#include "mpi/channel.hpp"
#include "operations/layout/redistribution.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace valet::junction {
namespace {

/// A layout on the ranks of a side, as one on those of both.
GridLayout on_both(const GridLayout& layout, const Side& side) {
  GridLayout both = layout;
  if (both.ranks.empty())
    for (int g = 0; g < layout.layout.ranks(); ++g) both.ranks.push_back(g);
  for (int& rank : both.ranks)
    // Ranks that the side does not have stay none, for the check to find.
    rank = rank >= 0 && rank < side.count ? side.first + rank : -1;
  return both;
}

std::optional<Diagnostic> check_ranks(const GridLayout& layout, const Side& side) {
  const auto needed = static_cast<std::size_t>(layout.layout.ranks());
  if (layout.ranks.empty() && needed > static_cast<std::size_t>(side.count))
    return invalid("the grid has ", needed, " ranks, this side of the junction ", side.count,
                   "; take a smaller grid or more ranks");
  const auto wrong =
      std::ranges::find_if(layout.ranks, [&](int rank) { return rank < 0 || rank >= side.count; });
  if (wrong == layout.ranks.end()) return std::nullopt;
  return diagnose(ErrorCode::rank_out_of_range, "the grid names rank ", *wrong, " as its number ",
                  wrong - layout.ranks.begin(), ", but this side of the junction has ranks 0 to ",
                  side.count - 1);
}

class ArrayTransfer final : public Transfer {
 public:
  ArrayTransfer(Description description, const SourceArray& source, const TargetArray& target)
      : Transfer(std::move(description)), source_(source), target_(target) {}

  [[nodiscard]] std::optional<Diagnostic> check(const Link& link) const override {
    return check_ranks(*mine().grid, link.own());
  }

  void begin(const Link& link, const Description& theirs) override {
    const bool puts = mine().direction == Direction::put;
    from_ = on_both(*(puts ? mine() : theirs).grid, puts ? link.own() : link.other());
    to_ = on_both(*(puts ? theirs : mine()).grid, puts ? link.other() : link.own());
    const JunctionOptions& chosen = link.options;
    options_.budget_bytes = chosen.budget_bytes;
    options_.share_memory = chosen.share_memory;
    options_.keep_memory = chosen.keep_memory;
    options_.progress = chosen.progress;
    options_.progress_bar = chosen.progress_bar;
    frame_ = std::make_shared<call::Frame>(mpi::Channel::open_for_call(link.communicator()),
                                           options_, "JunctionOptions::progress");
    frame_->begin([&] {
      move_ = layout::begin_move(frame_, *from_, *to_, mine().element_bytes, source_, target_,
                                 options_);
    });
    verify_ = chosen.verify;
    if (verify_) sum_ = move_->sum_of_source();
  }

  bool progress() override { return move_->progress(); }

  Report finish() override {
    return frame_->end([&] {
      Report report = move_->finish();
      if (verify_) verify(report);
      return report;
    });
  }

 private:
  /// Compares what was put with what was got, over the whole array. Collective.
  void verify(Report& report) {
    const double start = mpi::now();
    std::array<std::uint64_t, 1> difference{sum_ - move_->sum_of_target()};
    mpi::sum(frame_->channel, difference);
    if (difference[0] != 0)
      throw Error(ErrorCode::corrupted, "what was got of '" + mine().label +
                                            "' is not what was put; get it again and report this");
    report.verified = true;
    report.verify_seconds = mpi::now() - start;
  }
  SourceArray source_;
  TargetArray target_;
  std::optional<GridLayout> from_, to_;
  LayoutOptions options_;
  std::shared_ptr<call::Frame> frame_;
  std::unique_ptr<layout::ArrayMove> move_;
  bool verify_ = false;
  std::uint64_t sum_ = 0;  ///< of what this rank puts
};

}  // namespace

std::shared_ptr<Transfer> put_array(Description mine, const SourceArray& array) {
  return std::make_shared<ArrayTransfer>(std::move(mine), array, TargetArray{});
}

std::shared_ptr<Transfer> get_array(Description mine, const TargetArray& array) {
  return std::make_shared<ArrayTransfer>(std::move(mine), SourceArray{}, array);
}

}  // namespace valet::junction
