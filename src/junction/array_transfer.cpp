// SPDX-License-Identifier: BSD-3-Clause
#include "base/diagnose.hpp"
#include "junction/file/file_transfers.hpp"
#include "junction/link.hpp"
#include "junction/transfers.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace valet::junction {
namespace {

/// A layout on the ranks of a side, as one on those of both.
GridLayout on_both(const GridLayout& layout, const mpi::RankRange& side) {
  GridLayout both = layout;
  if (both.ranks.empty())
    for (int g = 0; g < layout.layout.ranks(); ++g) both.ranks.push_back(g);
  for (int& rank : both.ranks)
    // Ranks that the side does not have stay none, for the check to find.
    rank = rank >= 0 && rank < side.count ? side.first + rank : -1;
  return both;
}

std::optional<Diagnostic> check_ranks(const GridLayout& layout, const mpi::RankRange& side) {
  const auto needed = static_cast<std::size_t>(layout.layout.ranks());
  if (layout.ranks.empty() && needed > static_cast<std::size_t>(side.count))
    return invalid("the grid has ", needed, " ranks, this side of the junction ", side.count,
                   "; take a smaller grid or more ranks");
  const auto wrong =
      std::ranges::find_if(layout.ranks, [&](int rank) { return rank < 0 || rank >= side.count; });
  if (wrong == layout.ranks.end()) return std::nullopt;
  return diagnose(ErrorCode::rank_out_of_range, "the grid names rank ", *wrong, " as its number ",
                  wrong - layout.ranks.begin(), ", but this side of the junction has ranks 0 to ",
                  side.count - 1, "; ranks count from 0: fix the ranks of the layout");
}

class ArrayTransfer final : public Transfer {
 public:
  ArrayTransfer(Description description, SourceArray source, TargetArray target)
      : Transfer(std::move(description)), source_(std::move(source)), target_(std::move(target)) {}

  [[nodiscard]] std::optional<Diagnostic> check(const Link& link) const override {
    return check_ranks(*mine().grid, link.own());
  }
  Report run(const Link& link, const Description& theirs) override {
    const bool puts = mine().direction == Direction::put;
    const GridLayout own = on_both(*mine().grid, link.own());
    const GridLayout other = on_both(*theirs.grid, link.other());
    return redistribute(link.communicator(), puts ? own : other, puts ? other : own,
                        mine().element_bytes, source_, target_, link.options_as<LayoutOptions>());
  }
  Report store(FileEnd& file) override { return store_array(file, mine(), source_); }
  Report load(FileEnd& file) override { return load_array(file, mine(), target_); }

 private:
  SourceArray source_;
  TargetArray target_;
};

}  // namespace

std::shared_ptr<Transfer> put_array(Description mine, const SourceArray& array) {
  return std::make_shared<ArrayTransfer>(std::move(mine), array, TargetArray{});
}

std::shared_ptr<Transfer> get_array(Description mine, const TargetArray& array) {
  return std::make_shared<ArrayTransfer>(std::move(mine), SourceArray{}, array);
}

}  // namespace valet::junction
