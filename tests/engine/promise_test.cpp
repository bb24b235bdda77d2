// SPDX-License-Identifier: BSD-3-Clause

// The bound that a report names is the promise of README.md and docs/memory.md, exactly: for every
// method, form of map and order. And what the process asks for is within it.

#include "promise.hpp"

#include "counted_new.hpp"
#include "filled_map.hpp"

namespace valet::test {
namespace {

constexpr std::size_t budget = std::size_t{1} << 20;

/// Options and what docs/memory.md says of them.
struct MethodCase {
  std::string name;
  Options options;
  bool has_root = false;        ///< rank 0 has 64*P more
  bool lists_arrivals = false;  ///< 16 bytes a slot by Order::any, too
};

std::vector<MethodCase> method_cases() {
  std::vector<MethodCase> cases;
  const auto add = [&](const std::string& name, Method method) -> MethodCase& {
    Options options{.budget_bytes = budget, .method = method};
    cases.push_back({name, options});
    return cases.back();
  };
  add("automatic", Method::automatic);
  add("stream", Method::stream);
  add("direct", Method::direct);
  add("phased", Method::phased).lists_arrivals = true;
  for (const char* name : {"phased, parking", "phased, continuous", "phased, centralized"}) {
    MethodCase& added = add(name, Method::phased);
    added.has_root = added.lists_arrivals = true;
  }
  cases[4].options.phased.parking = 1;
  cases[5].options.phased.heuristic = Heuristic::continuous;
  cases[6].options.phased.scheduler = Scheduler::centralized;
  MethodCase& cyclic = add("cyclic", Method::cyclic);
  cyclic.has_root = cyclic.lists_arrivals = true;
  return cases;
}

/// Ranks that this one sends blocks to or receives them from.
std::uint64_t neighbours_in(const GlobalMap& map) {
  std::set<int> neighbours;
  for (std::size_t source = 0; source < map.destination.size(); ++source)
    for (const auto& to : map.destination[source]) {
      if (!to) continue;
      if (static_cast<int>(source) == rank()) neighbours.insert(to->rank);
      if (to->rank == rank()) neighbours.insert(static_cast<int>(source));
    }
  neighbours.erase(rank());
  return neighbours.size();
}

std::uint64_t bytes_of_slot(const MethodCase& c, Form form, Order order) {
  if (form == Form::to_slots) return 16;
  if (order != Order::any) return 12;
  return c.lists_arrivals ? 16 : 8;
}

void expect_promise(const MethodCase& c, FilledMap& filled, const GlobalMap& map, Form form,
                    std::uint64_t slot_bytes) {
  SCOPED_TRACE(c.name + ", " + to_string(c.options.order) +
               (form == Form::to_slots ? ", to slots" : ", to ranks"));
  filled.fill();
  const BlockStorage storage = filled.storage();
  MPI_Comm communicator = MPI_COMM_NULL;  // a new one, with which nothing is kept yet
  MPI_Comm_dup(MPI_COMM_WORLD, &communicator);
  const AskedBytes asked;
  Report report;
  {
    Plan plan = filled.plan(communicator, form, c.options);
    report = execute(plan, storage);
  }
  const std::uint64_t most_asked = asked.most();
  MPI_Comm_free(&communicator);
  const std::uint64_t neighbours = neighbours_in(map);
  const bool has_table = report.plan_from_layout || (c.has_root && rank() == 0);
  const std::uint64_t promised =
      promised_bytes(c.options.budget_bytes, neighbours,
                     has_table ? static_cast<std::uint64_t>(size()) : 0) +
      (c.options.trace.empty() ? 0 : 24 * 1024) + slot_bytes * filled.slots();
  EXPECT_TRUE(all_ranks(report.neighbours == neighbours)) << report.neighbours;
  EXPECT_TRUE(all_ranks(report.extra_bytes_bound == promised))
      << report.extra_bytes_bound << " for " << promised;
  EXPECT_TRUE(all_ranks(report.peak_extra_bytes <= promised)) << report.peak_extra_bytes;
  EXPECT_TRUE(all_ranks(most_asked <= promised)) << most_asked << " of " << promised;
}

TEST(Promise, OfEveryMethodIsTheFormulaOfTheReadme) {
  std::mt19937_64 random(seed());
  const GlobalMap mixed = random_map(random, size(), 300, Tightness::full, false);
  const GlobalMap layout = ring_map(size(), 500, 500, 0);  // recognised as one
  for (const GlobalMap* map : {&mixed, &layout}) {
    FilledMap filled(*map, rank(), Shape::dense);
    for (MethodCase c : method_cases()) {
      for (const Order order : {Order::any, Order::fill, Order::stable}) {
        c.options.order = order;
        expect_promise(c, filled, *map, Form::to_ranks, bytes_of_slot(c, Form::to_ranks, order));
      }
      expect_promise(c, filled, *map, Form::to_slots, bytes_of_slot(c, Form::to_slots, Order::any));
    }
  }
}

TEST(Promise, OfATraceIsAsDocumented) {
  const GlobalMap map = ring_map(size(), 500, 500, 0);
  FilledMap filled(map, rank(), Shape::dense);
  MethodCase c = method_cases().front();
  c.options.trace = "/dev/null";
  expect_promise(c, filled, map, Form::to_slots, bytes_of_slot(c, Form::to_slots, Order::any));
}

TEST(Promise, OfAnEndlessBudgetDoesNotWrap) {
  const GlobalMap map = ring_map(size(), 50, 50, 0);
  for (const Method method : {Method::automatic, Method::stream, Method::direct, Method::cyclic}) {
    FilledMap filled(map, rank(), Shape::dense);
    const Options options{.budget_bytes = ~std::size_t{0}, .method = method};
    Plan plan = filled.plan(MPI_COMM_WORLD, Form::to_ranks, options);
    const Report report = execute(plan, filled.storage());
    EXPECT_EQ(sum_over_ranks(filled.wrong(Form::to_ranks, Order::any)), 0) << to_string(method);
    EXPECT_TRUE(all_ranks(report.extra_bytes_bound > report.budget_bytes &&
                          report.peak_extra_bytes <= report.extra_bytes_bound))
        << to_string(method) << ": " << report.extra_bytes_bound;
  }
}

}  // namespace
}  // namespace valet::test
