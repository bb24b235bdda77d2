// SPDX-License-Identifier: BSD-3-Clause

// The system refuses memory to one rank while objects behind functions move: its n-th allocation,
// or that and all that follow, n = 1 until a call makes fewer. All ranks get out_of_memory and each
// object is on one rank, or all succeed. What the functions themselves take is not refused.

#include "object_cells.hpp"
#include "refused_call.hpp"

#include <string_view>

namespace valet::test {
namespace {

template <class Function>
auto paused(Function function) {
  return [function](auto... arguments) {
    const RefusalPause pause;
    return function(arguments...);
  };
}

/// Cells whose functions have all the memory that they want.
class RefusedCells {
 public:
  RefusedCells(std::uint64_t count, std::uint64_t bytes) : cells_(dealt_cells(count, bytes)) {
    cells_.on_call = [this](const char* function) {
      has_begun_ = has_begun_ || std::string_view(function) != "size";
    };
    const ObjectFunctions functions = cells_.functions();
    functions_ = {paused(functions.size), paused(functions.pack), paused(functions.unpack),
                  paused(functions.left)};
  }

  [[nodiscard]] RefusedCall migrated(const Options& options) {
    cells_.in_order = options.phased.parking == 0;
    return {[this, options](MPI_Comm communicator) {
              static_cast<void>(
                  migrate_objects(communicator, cells_.count(), cells_.ranks, functions_, options));
            },
            [this] {
              cells_.fill();
              has_begun_ = false;
            },
            [this] {
              const auto all = static_cast<long long>(cells_.moves().size());
              const bool before = all_ranks(!has_begun_);
              return cells_.everywhere() == all && cells_.intact_everywhere() == all &&
                     (!before || cells_.wrong(false) == 0);
            },
            [this] { return cells_.wrong() == 0; }};
  }

 private:
  ObjectCells cells_;
  ObjectFunctions functions_;
  bool has_begun_ = false;  ///< anything but sizes was asked for
};

Options phased(Scheduler scheduler, int parking) {
  Options options{.budget_bytes = 40'000, .method = Method::phased};
  options.phased.scheduler = scheduler;
  options.phased.parking = parking;
  options.phased.available_bytes = [] { return std::size_t{20'000}; };
  return options;
}

TEST(RefusedAllocation, EndsStreamsOfObjectsOnAllRanks) {
  RefusedCells cells(60, 900);
  for (const bool verify : {false, true})
    survives_all(
        cells.migrated({.budget_bytes = 40'000, .method = Method::stream, .verify = verify}),
        verify ? "verified" : "stream");
  RefusedCells many(500, 900);
  survives_all(many.migrated({.budget_bytes = 100'000,
                              .method = Method::stream,
                              .share_memory = true,
                              .keep_memory = false}),
               "shared");
}

TEST(RefusedAllocation, EndsParkedObjectsOnAllRanks) {
  RefusedCells cells(60, 900);
  survives_all(cells.migrated(phased(Scheduler::distributed, 2)), "parking");
}

TEST(RefusedAllocation, EndsObjectsThatARootDividesOnAllRanks) {
  RefusedCells cells(60, 900);
  survives_all(cells.migrated(phased(Scheduler::centralized, 0)), "centralized");
  survives_all(cells.migrated({.budget_bytes = 40'000, .method = Method::cyclic}), "cyclic");
}

// Lists and scratch of more than is held back for hard times.
TEST(RefusedAllocation, EndsLargeListsOfObjectsOnAllRanks) {
  RefusedCells cells(6'000, 4);
  for (const Method method : {Method::stream, Method::direct})
    survives_all(cells.migrated({.budget_bytes = std::size_t{4} << 20, .method = method}),
                 to_string(method));
}

}  // namespace
}  // namespace valet::test
