// SPDX-License-Identifier: BSD-3-Clause
#include "rebalance/settings.hpp"

#include "base/diagnose.hpp"
#include "geometry/numbered_array.hpp"

#include <array>
#include <bit>
#include <sstream>

namespace valet::rebalance {
namespace {

std::string name_of_choice(std::int64_t when_infeasible) {
  constexpr std::array names{"refuse", "repair", "grow"};
  return names[static_cast<std::size_t>(when_infeasible)];
}

/// @param function  How messages call what is not there.
std::optional<Diagnostic> missing_growth(const Settings& settings, bool grows,
                                         const char* function) {
  if (grows || settings.when_infeasible != WhenInfeasible::grow) return std::nullopt;
  return invalid("when_infeasible is grow, but there is no ", function,
                 "; give arrays that can grow, or a function that returns a larger storage");
}

std::string tolerance_text(std::int64_t bits) { return text_of(std::bit_cast<double>(bits)); }

}  // namespace

std::optional<Diagnostic> Settings::diagnostic() const {
  if (wrong) return wrong;
  if (!(imbalance_tolerance > 1))
    return invalid("an imbalance tolerance of ", text_of(imbalance_tolerance),
                   "; it is largest over mean and must be above 1");
  if (granularity == 0U)
    return invalid(
        "a granularity of 0; it is the most objects in a cell: give 1 for every "
        "object by itself, or nothing for cells as they fit");
  return std::nullopt;
}

void Settings::join(mpi::Agreement& agreement) const {
  agreement.equal({"when_infeasible", name_of_choice}, when_infeasible);
  agreement.equal({"granularity"}, granularity.value_or(0));
  agreement.equal({"migration.order", mpi::name_of<Order>}, migration.order);
  agreement.equal({"imbalance_tolerance", tolerance_text},
                  std::bit_cast<std::int64_t>(imbalance_tolerance));
  agreement.equal({"balance_count", mpi::yes_or_no}, balance_count);
  const ObjectLayout known = from.value_or(ObjectLayout());
  agreement.equal({"whether the objects are in a layout", mpi::yes_or_no}, from.has_value());
  agreement.equal({"the block size of the layout that they are in"}, known.block_size);
  agreement.equal({"the ranks of the layout that they are in"}, known.ranks);
  agreement.equal({"the tiles of the layout that they are in", nullptr},
                  layout::digest_of(known.tiling));
  agreement.equal({"the tiles that they are to be in", nullptr},
                  layout::digest_of(order_rule.value_or(OrderRule()).tiles));
}

std::optional<Diagnostic> check_growth(const Settings& settings, const BlockStorage& storage) {
  return missing_growth(settings, settings.grow || storage.grows(), "grow");
}

std::optional<Diagnostic> check_growth(const Settings& settings, const RaggedStorage& storage) {
  return missing_growth(settings, settings.grow_ragged || storage.grows(),
                        settings.grow ? "grow_ragged" : "grow");
}

std::string text_of(double value) {
  std::ostringstream text;
  text << value;
  return text.str();
}

}  // namespace valet::rebalance
