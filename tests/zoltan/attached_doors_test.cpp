// SPDX-License-Identifier: BSD-3-Clause

// Through whatever door a map of Zoltan's goes, and however the blocks move, the slots of Views
// hold what the oracle has there, for each order and each map.

#include "covering.hpp"
#include "gathered.hpp"
#include "kokkos_environment.hpp"
#include "mesh_fields.hpp"
#include <valet/zoltan/attached.hpp>
#include <valet/zoltan/rebalancer.hpp>

namespace valet::test {
namespace {

using namespace zoltan;

/// How a door leads to the objects.
enum class Through { partition, migrate, help_migrate, attached, lists, rebalancer };

struct Door {
  const char* name;
  Through through = Through::partition;
  const char* auto_migrate = "FALSE";
  const char* return_lists = "ALL";
  bool balances = false;  ///< by Zoltan_LB_Balance

  /// Whether Valet sees the partition and not only its lists.
  [[nodiscard]] bool partitions() const {
    return through == Through::partition || through == Through::attached ||
           through == Through::rebalancer;
  }
  friend std::ostream& operator<<(std::ostream& out, const Door& door) { return out << door.name; }
};

constexpr std::array doors{
    Door{"ZoltanMigrate", Through::migrate},
    Door{"ZoltanMigrateOfExports", Through::migrate, "FALSE", "EXPORT"},
    Door{"ZoltanMigrateOfImports", Through::migrate, "FALSE", "IMPORT"},
    Door{"ZoltanMigrateOfAllObjects", Through::migrate, "FALSE", "PARTS"},
#ifndef VALET_TEST_ZOLTAN_ARCHIVE
    Door{"ZoltanHelpMigrate", Through::help_migrate},
    Door{"ZoltanLBBalanceAndHelpMigrate", Through::help_migrate, "FALSE", "ALL", true},
#endif
    Door{"AutoMigrateNone", Through::partition, "TRUE", "NONE"},
    Door{"AutoMigrateAll", Through::partition, "TRUE", "ALL"},
    Door{"AutoMigrateExport", Through::partition, "TRUE", "EXPORT"},
    Door{"AutoMigrateImport", Through::partition, "TRUE", "IMPORT"},
    Door{"AutoMigrateParts", Through::partition, "TRUE", "PARTS"},
    Door{"AutoMigrateInLBBalanceNone", Through::partition, "TRUE", "NONE", true},
    Door{"AutoMigrateInLBBalance", Through::partition, "TRUE", "ALL", true},
    Door{"Attached", Through::attached},
    Door{"Lists", Through::lists},
    Door{"Rebalancer", Through::rebalancer}};

struct DoorMap {
  const char* method;
  bool weighted = false;

  /// Otherwise objects need no ids, and could be in cells.
  [[nodiscard]] bool follows_relations() const { return std::string(method).ends_with("GRAPH"); }
};
constexpr std::array maps{
    DoorMap{"RCB", true},        DoorMap{"RIB"},    DoorMap{"HSFC", true},   DoorMap{"BLOCK"},
    DoorMap{"BLOCK", true},      DoorMap{"CYCLIC"}, DoorMap{"RANDOM"},       DoorMap{"GRAPH"},
    DoorMap{"HYPERGRAPH", true}, DoorMap{"RCB"},    DoorMap{"CYCLIC", true}, DoorMap{"HSFC"}};

/// A parameter of the migration, or something else that the slots must not depend on.
struct DoorFactor {
  const char* name;
  std::vector<const char*> levels;
};
const std::vector<DoorFactor> door_factors{
    {"MIGRATE_ORDER", {"ANY", "FILL", "STABLE"}},
    {"MIGRATE_METHOD", {"AUTO", "STREAM", "DIRECT", "PHASED", "CYCLIC"}},
    {"MIGRATE_HEURISTIC",
     {"FIRST_FIT", "MAX_FIRST", "RANDOM", "FORTUNE_WHEEL", "MIN_MAX", "CONTINUOUS"}},
    {"MIGRATE_SCHEDULER", {"DISTRIBUTED", "CENTRALIZED"}},
    {"MIGRATE_PARKING", {"0", "1", "3"}},
    {"MIGRATE_MEMORY", {"64", "4K", "4M"}}};
constexpr std::array orders{Order::any, Order::fill, Order::stable};

/// Behind the parameters: the map, who tells Zoltan which objects there are, the door.
enum : std::size_t { of_order, of_method, of_heuristic, of_memory = 5, of_map, of_teller, of_door };
struct DoorCase {
  Levels levels;

  [[nodiscard]] const char* value(std::size_t parameter) const {
    return door_factors[parameter].levels[levels[parameter]];
  }
  [[nodiscard]] Order order() const { return orders.at(levels[of_order]); }
  [[nodiscard]] bool is(std::size_t parameter, const std::string& text) const {
    return value(parameter) == text;
  }
  [[nodiscard]] const DoorMap& map() const { return maps.at(levels[of_map]); }
  [[nodiscard]] bool application_tells() const { return levels[of_teller] != 0; }
  [[nodiscard]] const Door& door() const { return doors.at(levels[of_door]); }
  /// Whether the method may need more than its budget.
  /// @param bytes  Of the blocks that leave and arrive, on the rank that has the most.
  [[nodiscard]] bool may_be_refused(std::size_t bytes) const {
    return needs_more(bytes) || (is(of_method, "PHASED") && is(of_memory, "64"));
  }
  /// Whether it does.
  [[nodiscard]] bool needs_more(std::size_t bytes) const {
    return is(of_method, "DIRECT") && bytes > parse_bytes(value(of_memory));
  }
  [[nodiscard]] std::string text() const {
    std::string all = std::string(door().name) + ", " + map().method +
                      (map().weighted ? " with weights" : "") +
                      (application_tells() ? " of the application" : " of Valet");
    for (std::size_t p = 0; p < door_factors.size(); ++p)
      all.append(", ").append(door_factors[p].name).append(" ").append(value(p));
    return all;
  }
};

Levels counts_of_levels() {
  Levels counts;
  for (const DoorFactor& factor : door_factors) counts.push_back(factor.levels.size());
  counts.insert(counts.end(), {maps.size(), 2, doors.size()});
  return counts;
}

/// All choices for a door, without those among phases where there are none; spread if not all are
/// wanted.
std::vector<DoorCase> choices(std::size_t door, std::uint64_t wanted) {
  const Levels counts = counts_of_levels();
  std::vector<DoorCase> all;
  Levels levels(counts.size(), 0);
  levels[of_door] = door;
  for (std::size_t f = 0; f < of_door;) {
    const DoorCase next{levels};
    if (next.is(of_method, "PHASED") ||
        std::all_of(levels.begin() + of_heuristic, levels.begin() + of_memory,
                    [](std::size_t level) { return level == 0; }))
      all.push_back(next);
    for (f = 0; f < of_door && ++levels[f] == counts[f]; ++f) levels[f] = 0;
  }
  std::shuffle(all.begin(), all.end(), std::mt19937_64(seed()));
  all.resize(std::min<std::uint64_t>(wanted, all.size()));
  return all;
}

/// Those of all doors in which each two levels meet.
std::vector<DoorCase> pairs_for(std::size_t door) {
  static const std::vector<Levels> all = pairwise(counts_of_levels());
  std::vector<DoorCase> cases;
  for (const Levels& levels : all)
    if (levels[of_door] == door) cases.push_back({levels});
  return cases;
}

const Mesh& doors_mesh() {
  static const Mesh instance(19, 11, seed());
  return instance;
}
MeshClient& doors_client() {
  static MeshClient instance(doors_mesh(), {}, true);
  return instance;
}

ZoltanParameters zoltan_parameters(const DoorMap& map) {
  ZoltanParameters all{
      {"LB_APPROACH", "PARTITION"}, {"GRAPH_PACKAGE", "PHG"}, {"PHG_EDGE_SIZE_THRESHOLD", "1.0"}};
  if (std::string(map.method) != "GRAPH") all.erase(all.begin() + 1);
  // Where it is set Zoltan's generator begins anew, which is one for the process.
  all.emplace_back("SEED", "7");
  return all;
}
ZoltanParameters with_method(ZoltanParameters all, const DoorMap& map) {
  all.emplace_back("LB_METHOD", map.method);
  if (map.weighted) all.emplace_back("OBJ_WEIGHT_DIM", "1");
  return all;
}
ZoltanParameters migration_parameters(const DoorCase& c) {
  ZoltanParameters all;
  for (std::size_t p = 0; p < door_factors.size(); ++p)
    all.emplace_back(door_factors[p].name, c.value(p));
  return all;
}
/// What stock Zoltan makes of the objects, and where the oracle has them then.
class Reference {
 public:
  explicit Reference(const DoorMap& map) : map_(map), before_(all_numbers()) {
    const MeshZoltan stock(doors_client(), with_method(zoltan_parameters(map), map));
    const ZoltanLists lists(stock.get());
    EXPECT_TRUE(all_ranks(stock.code() == ZOLTAN_OK && lists.code() == ZOLTAN_OK));
    ranks_ = gathered(lists.ranks(doors_client().mine().size(), rank()));
    // RANDOM tells Zoltan of a change where all objects are given to their own ranks.
    for (int r = 0; r < size(); ++r)
      changes_ =
          changes_ || !std::ranges::all_of(row_of(ranks_, r), [r](int to) { return to == r; });
    const std::string method = map.method;
    if (method == "BLOCK" || method == "CYCLIC") find_layout(method == "CYCLIC" ? 1 : 0);
  }

  [[nodiscard]] bool changes() const { return changes_; }
  [[nodiscard]] std::size_t count_after(int of) const {
    std::size_t count = 0;
    for (const auto& row : ranks_) count += static_cast<std::size_t>(std::ranges::count(row, of));
    return count;
  }
  /// Objects that leave and arrive, on the rank that has the most.
  [[nodiscard]] std::size_t most_moved() const {
    std::vector<std::size_t> moved(ranks_.size(), 0);
    for (int from = 0; from < size(); ++from)
      for (const int to : row_of(ranks_, from))
        if (from != to) ++row_of(moved, from), ++row_of(moved, to);
    return *std::ranges::max_element(moved);
  }
  /// Whether an order of the objects is known in which ranks follow from it.
  [[nodiscard]] bool is_layout() const { return layout_.has_value(); }
  /// Objects by rank and slot, before.
  [[nodiscard]] const Numbers& numbers() const { return before_; }
  [[nodiscard]] const Content& content(Order order, bool by_layout, std::size_t block_bytes) {
    auto& known = content_[{order, by_layout}];
    if (known.empty())
      known = by_layout ? content_by_slots(map_between(before_, *layout_))
                        : content_by_ranks(map_to(ranks_), order, block_bytes);
    return row_of(known, rank());
  }

 private:
  static Numbers all_numbers() {
    return gathered(
        std::vector<std::uint64_t>(doors_client().mine().begin(), doors_client().mine().end()));
  }
  /// Notes the layout if the ranks are those of one.
  void find_layout(std::uint64_t block_size) {
    std::vector<std::uint64_t> in_order;
    for (const auto& row : before_) in_order.insert(in_order.end(), row.begin(), row.end());
    Numbers layout = numbers_of(ObjectLayout{block_size}, in_order.size(), size());
    std::vector<int> to(in_order.size());
    for (int r = 0; r < size(); ++r)
      for (std::uint64_t& number : row_of(layout, r)) {
        to[number] = r;
        number = in_order[number];
      }
    std::vector<int> partition;
    for (const auto& row : ranks_) partition.insert(partition.end(), row.begin(), row.end());
    if (partition == to) layout_ = layout;
  }

  DoorMap map_;
  Numbers before_;
  bool changes_ = false;
  std::vector<std::vector<int>> ranks_;
  std::optional<Numbers> layout_;
  std::map<std::pair<Order, bool>, GlobalContent> content_;
};

Reference& reference_of(const DoorCase& c) {
  static std::map<std::size_t, Reference> known;
  static std::once_flag warm;
  // The first time in a process, RANDOM throws a number away.
  std::call_once(warm, [] { const Reference unused(DoorMap{"RANDOM"}); });
  return known.try_emplace(c.levels[of_map], c.map()).first->second;
}

/// What has become of the objects of a case.
struct PassedDoor {
  bool is_refused = false;
  bool changes = true;
  std::uint64_t count = 0;
  Report report;
};

/// Lists of Zoltan's, and what its functions do with them.
void pass_zoltan(const Door& door, Zoltan_Struct* zoltan, PassedDoor& passed) {
  const ZoltanLists lists(zoltan, door.balances);
  int code = lists.code();
  passed.changes = lists.changes();
  if (code == ZOLTAN_OK && door.through == Through::migrate) code = lists.migrate(zoltan);
  if (code == ZOLTAN_OK && door.through == Through::help_migrate) code = lists.help_migrate(zoltan);
  passed.is_refused = code != ZOLTAN_OK;
}

PassedDoor pass_attached(const DoorCase& c, MeshFields& fields) {
  const Door& door = c.door();
  const ZoltanParameters own{{"AUTO_MIGRATE", door.auto_migrate},
                             {"RETURN_LISTS", door.return_lists},
                             {"MIGRATE_GRANULARITY", "1"}};
  const MeshZoltan zoltan(
      doors_client(),
      with_method(zoltan_parameters(c.map()), c.map()) + migration_parameters(c) + own,
      c.application_tells());
  EXPECT_EQ(zoltan.code(), ZOLTAN_OK);
  Attached cells(zoltan.get(), doors_client().mine().size(), ref(fields.number), ref(fields.centre),
                 ref(fields.corners), ref(fields.weight));
  cells.coordinates(ref(fields.centre));
  if (c.map().follows_relations()) cells.ids(ref(fields.number));
  if (c.map().weighted) cells.weights(ref(fields.weight));
  PassedDoor passed;
  if (door.through == Through::attached)
    passed.is_refused =
        outcome_of([&] { passed.changes = cells.partition(); }).code != ErrorCode::success;
  else
    pass_zoltan(door, zoltan.get(), passed);
  passed.count = cells.count();
  passed.report = cells.result().report;
  return passed;
}

PassedDoor pass_lists(const DoorCase& c, MeshFields& fields) {
  const MeshZoltan zoltan(
      doors_client(), with_method(zoltan_parameters(c.map()), c.map()) + migration_parameters(c));
  const MeshLists lists(zoltan);
  PassedDoor passed;
  passed.changes = reference_of(c).changes();
  const Outcome outcome = outcome_of([&] {
    const ListMigration done =
        zoltan::migrate(MPI_COMM_WORLD, lists.lists(), doors_client().mine().size(),
                        ListOptions{.zoltan = zoltan.get()}, fields.number, fields.centre,
                        fields.corners, fields.weight);
    passed.count = done.count;
    passed.report = done.report;
  });
  passed.is_refused = outcome.code != ErrorCode::success;
  return passed;
}

PassedDoor pass_rebalancer(const DoorCase& c, MeshFields& fields) {
  constexpr double zoltans_tolerance = 1.1;
  ZoltanParameters all = zoltan_parameters(c.map()) + migration_parameters(c);
  all.emplace_back("MIGRATE_GRANULARITY", "1");
  Rebalancer rebalancer(
      MPI_COMM_WORLD,
      {.method = c.map().method, .imbalance_tolerance = zoltans_tolerance, .parameters = all});
  rebalancer.coordinates(ref(fields.centre));
  if (c.map().follows_relations()) rebalancer.global_ids(ref(fields.number));
  if (c.map().weighted) rebalancer.weights(ref(fields.weight));
  MeshZoltan::tell_relations(rebalancer.handle(), doors_client());
  PassedDoor passed;
  passed.changes = reference_of(c).changes();
  const Outcome outcome = outcome_of([&] {
    const RebalanceResult result = rebalancer.rebalance(
        doors_client().mine().size(), fields.number, fields.centre, fields.corners, fields.weight);
    passed.count = result.count;
    passed.report = result.report;
  });
  passed.is_refused = outcome.code != ErrorCode::success;
  return passed;
}

PassedDoor pass(const DoorCase& c, MeshFields& fields) {
  if (c.door().through == Through::lists) return pass_lists(c, fields);
  if (c.door().through == Through::rebalancer) return pass_rebalancer(c, fields);
  return pass_attached(c, fields);
}

constexpr std::size_t door_block_bytes =
    sizeof(std::uint32_t) + 2 * sizeof(double) + 3 * sizeof(short) + sizeof(float);

/// @return Whether it was refused.
bool expect_content(const DoorCase& c) {
  SCOPED_TRACE(c.text());
  Reference& reference = reference_of(c);
  const std::vector<std::uint64_t>& mine = row_of(reference.numbers(), rank());
  // No room that is not needed.
  MeshFields fields(doors_client(), std::max(mine.size(), reference.count_after(rank())));
  const PassedDoor passed = pass(c, fields);
  const bool is_refused = max_over_ranks(passed.is_refused ? 1 : 0) > 0;
  EXPECT_TRUE(all_ranks(passed.is_refused == is_refused));
  const std::size_t bytes = reference.most_moved() * door_block_bytes;
  if (is_refused) {
    EXPECT_TRUE(c.may_be_refused(bytes));
    bool is_unchanged = true;
    for (std::size_t k = 0; k < mine.size(); ++k)
      is_unchanged = is_unchanged && fields.number(k) == mine[k] && fields.is_right_with_weight(k);
    EXPECT_TRUE(all_ranks(is_unchanged));
    return true;
  }
  EXPECT_FALSE(c.needs_more(bytes));
  const bool by_layout = reference.is_layout() && c.order() == Order::any && c.door().partitions();
  const Content& content = reference.content(c.order(), by_layout, door_block_bytes);
  const auto held = static_cast<std::uint64_t>(
      std::ranges::count_if(content, [](const auto& from) { return from.has_value(); }));
  long long wrong = wrong_slots(content, [&](std::uint64_t slot, const Address& from) {
    return fields.number(slot) == row_of(reference.numbers(), from.rank)[from.slot] &&
           fields.is_right_with_weight(slot);
  });
  wrong += passed.count == held ? 0 : 1;
  EXPECT_EQ(sum_over_ranks(wrong), 0);
  EXPECT_EQ(passed.changes, reference.changes());
  EXPECT_TRUE(!reference.changes() || !by_layout || passed.report.plan_from_layout);
  return false;
}

class AttachedDoors : public ::testing::TestWithParam<Door> {};

TEST_P(AttachedDoors, LeadToTheSameSlots) {
  const auto door = static_cast<std::size_t>(
      std::ranges::find(doors, std::string(GetParam().name), &Door::name) - doors.begin());
  const std::uint64_t wanted = cases_wanted(0);
  const std::vector<DoorCase> cases = wanted > 0 ? choices(door, wanted) : pairs_for(door);
  std::size_t refused = 0;
  for (const DoorCase& c : cases) {
    refused += expect_content(c) ? 1 : 0;
    if (HasFailure()) return;
  }
  EXPECT_LT(refused, cases.size() / 2);
}

INSTANTIATE_TEST_SUITE_P(Zoltan, AttachedDoors, ::testing::ValuesIn(doors), ParameterName());

}  // namespace
}  // namespace valet::test
