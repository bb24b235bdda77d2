// SPDX-License-Identifier: BSD-3-Clause

// The triangles of a mesh in Views go where Zoltan's lists send them, by every method and with
// every RETURN_LISTS. A block says which triangle it is, so what is right is read from the lists
// alone.

#include "gathered.hpp"
#include "kokkos_environment.hpp"
#include "mesh_fields.hpp"
#include "promise.hpp"
#include "random_maps.hpp"
#include <valet/zoltan/lists.hpp>

#include <Kokkos_Core.hpp>

#include <unordered_map>

namespace valet::test {
namespace {

using namespace zoltan;

constexpr std::uint32_t wide = 23;
constexpr std::uint32_t high = 13;

const Mesh& mesh() {
  static const Mesh instance(wide, high, seed());
  return instance;
}

/// Where every triangle should be and in which part, by the lists of all ranks.
struct Expected {
  std::vector<int> ranks;
  std::vector<int> parts;
  std::vector<std::vector<std::uint32_t>> triangles;  ///< by rank and slot, before

  Expected(const MeshClient& client, const PartitionLists& lists)
      : ranks(client.owners()), parts(client.owners()), triangles(gathered(client.mine())) {
    std::vector<int> listed_ranks(ranks.size(), -1), listed_parts(ranks.size(), -1);
    const bool exports = lists.exports.count >= 0;
    const PartitionList& list = exports ? lists.exports : lists.imports;
    for (int k = 0; k < list.count; ++k) {
      const std::uint32_t triangle = client.triangle_of(list.global_ids + k * lists.gid_entries);
      listed_ranks[triangle] = exports ? list.procs[k] : rank();
      listed_parts[triangle] = list.parts[k];
    }
    const auto merge = [](std::vector<int>& listed, std::vector<int>& into) {
      MPI_Allreduce(MPI_IN_PLACE, listed.data(), static_cast<int>(listed.size()), MPI_INT, MPI_MAX,
                    MPI_COMM_WORLD);
      for (std::size_t k = 0; k < listed.size(); ++k)
        if (listed[k] >= 0) into[k] = listed[k];
    };
    merge(listed_ranks, ranks);
    merge(listed_parts, parts);
  }
  /// What the oracle has in the slots.
  [[nodiscard]] GlobalContent content(Order order, std::size_t block_bytes) const {
    std::vector<std::vector<int>> to;
    for (const auto& own : triangles) {
      to.emplace_back();
      for (const std::uint32_t triangle : own) to.back().push_back(ranks[triangle]);
    }
    return content_by_ranks(map_to(to), order, block_bytes);
  }
};

/// What the test varies.
struct ListsCase {
  std::string method;
  std::string return_lists = "ALL";
  int parts = 0;  ///< 0: one for each rank
  IdWords words = {};
  bool empty_rank = false;
};

MeshZoltan::Parameters parameters_of(const ListsCase& tested) {
  MeshZoltan::Parameters parameters{{"LB_METHOD", tested.method},
                                    {"RETURN_LISTS", tested.return_lists},
                                    {"LB_APPROACH", "PARTITION"},
                                    {"PHG_EDGE_SIZE_THRESHOLD", "1.0"}};
  if (tested.method == "GRAPH") parameters.emplace_back("GRAPH_PACKAGE", "PHG");
  if (tested.parts > 0) parameters.emplace_back("NUM_GLOBAL_PARTS", std::to_string(tested.parts));
  return parameters;
}

/// How a storage is given.
enum class Held { views, host_fields, staged };

class ListedMesh {
 public:
  explicit ListedMesh(const ListsCase& tested)
      : client(mesh(), tested.words, tested.empty_rank),
        zoltan(client, parameters_of(tested)),
        partition(zoltan),
        fields(client),
        parts(mesh().size(), -5),
        gids(static_cast<std::size_t>(tested.words.gid) * mesh().size(), 0) {
    // As Zoltan takes it where no function says otherwise.
    for (std::size_t s = 0; s < client.mine().size(); ++s) {
      parts[s] = rank();
      client.write_gid(client.mine()[s], &gids[s * static_cast<std::size_t>(tested.words.gid)]);
      slots[client.mine()[s]] = s;
    }
  }

  [[nodiscard]] ListOptions options() {
    ListOptions result{
        .migration = {.budget_bytes = 8192, .verify = true}, .parts = parts, .global_ids = gids};
    if (client.words().lid == 0)
      result.slot_of = [this](const ZOLTAN_ID_TYPE* gid, const ZOLTAN_ID_TYPE*) {
        return slots.at(client.triangle_of(gid));
      };
    return result;
  }

  ListMigration migrate(const ListOptions& options, Held held = Held::views) {
    const PartitionLists lists = partition.lists();
    const std::uint64_t count = client.mine().size();
    if (held == Held::views)
      return zoltan::migrate(MPI_COMM_WORLD, lists, count, options, fields.number, fields.centre,
                             fields.corners);
    if (held == Held::staged)
      return zoltan::migrate(MPI_COMM_WORLD, lists, count,
                             kokkos::staged_blocks(fields.number, fields.centre, fields.corners),
                             options);
    const std::size_t all = mesh().size();
    const std::span<double> x(fields.centre.data(), all), y(fields.centre.data() + all, all);
    return zoltan::migrate(MPI_COMM_WORLD, lists, count,
                           {field(fields.number.data(), all), field(x), field(y),
                            field(fields.corners.data(), all, 3)},
                           options);
  }

  /// Collective.
  void expect_right(const ListMigration& done, const Expected& expected,
                    Order order = Order::any) const {
    const auto words = static_cast<std::size_t>(client.words().gid);
    const GlobalContent content = expected.content(order, done.report.block_bytes);
    long long damaged = 0, other_parts = 0, other_gids = 0;
    const long long elsewhere = wrong_slots(row_of(content, rank()), [&](std::uint64_t s,
                                                                         const Address& from) {
      return s < done.count && fields.number(s) == row_of(expected.triangles, from.rank)[from.slot];
    });
    for (std::uint64_t s = 0; s < done.count; ++s) {
      damaged += fields.is_right(s) ? 0 : 1;
      const std::uint32_t triangle = fields.number(s);
      other_parts += expected.parts.at(triangle) == parts[s] ? 0 : 1;
      other_gids += client.triangle_of(&gids[s * words]) == triangle ? 0 : 1;
    }
    EXPECT_EQ(sum_over_ranks(damaged), 0);
    EXPECT_EQ(sum_over_ranks(elsewhere), 0);
    EXPECT_EQ(sum_over_ranks(other_parts), 0);
    EXPECT_EQ(sum_over_ranks(other_gids), 0);
    EXPECT_EQ(lost_or_doubled(fields.number, done.count, mesh().size()), 0);
    EXPECT_TRUE(all_ranks(done.report.verified && done.required_slots == done.count));
    expect_within_bound(done.report);
  }

  MeshClient client;
  MeshZoltan zoltan;
  MeshLists partition;
  MeshFields fields;
  std::vector<int> parts;
  std::vector<ZOLTAN_ID_TYPE> gids;
  std::unordered_map<std::uint32_t, std::uint64_t> slots;
};

void expect_case(const ListsCase& tested, Held held = Held::views) {
  SCOPED_TRACE(tested.method + ", " + tested.return_lists + ", " + std::to_string(tested.parts) +
               " parts, " + std::to_string(tested.words.gid) + " + " +
               std::to_string(tested.words.lid) + " words");
  ListedMesh listed(tested);
  ASSERT_TRUE(all_ranks(listed.zoltan.code() == ZOLTAN_OK));
  ASSERT_TRUE(all_ranks(listed.partition.code() == ZOLTAN_OK));
  const PartitionLists lists = listed.partition.lists();
  const Expected expected(listed.client, lists);
  const ListMigration done = listed.migrate(listed.options(), held);
  listed.expect_right(done, expected);
}

class ListMethods : public ::testing::TestWithParam<const char*> {};

constexpr std::array return_lists_modes{"ALL", "IMPORT", "EXPORT", "PARTS"};

TEST_P(ListMethods, AndEveryFormOfLists) {
  for (const char* const return_lists : return_lists_modes) {
    expect_case({.method = GetParam(), .return_lists = return_lists});
    if (std::string(GetParam()) == "HIER") continue;  // has as many parts as ranks
    for (const int parts : {size() + 2, size() - 1})
      if (parts > 0)
        expect_case({.method = GetParam(), .return_lists = return_lists, .parts = parts});
  }
}

TEST_P(ListMethods, AndLongIdsAndEmptyRanks) {
  for (const char* const return_lists : return_lists_modes)
    expect_case(
        {.method = GetParam(), .return_lists = return_lists, .words = {2, 3}, .empty_rank = true});
}

INSTANTIATE_TEST_SUITE_P(Lists, ListMethods,
                         ::testing::Values("RCB", "RIB", "HSFC", "BLOCK", "CYCLIC", "RANDOM",
                                           "HIER", "GRAPH", "HYPERGRAPH"));

TEST(Lists, GiveTheSamePartsInEveryForm) {
  std::vector<std::vector<int>> parts;
  for (const char* const return_lists : return_lists_modes) {
    const ListsCase tested{.method = "RCB", .return_lists = return_lists, .parts = size() + 2};
    ListedMesh listed(tested);
    const ListMigration done = listed.migrate(listed.options());
    std::vector<int>& all = parts.emplace_back(mesh().size(), -1);
    for (std::uint64_t s = 0; s < done.count; ++s)
      all.at(listed.fields.number(s)) = listed.parts[s];
    MPI_Allreduce(MPI_IN_PLACE, all.data(), static_cast<int>(all.size()), MPI_INT, MPI_MAX,
                  MPI_COMM_WORLD);
    EXPECT_EQ(*std::ranges::max_element(all), size() + 1);
    EXPECT_EQ(parts.front(), all) << return_lists;
  }
}

TEST(Lists, MoveWhateverHoldsTheObjects) {
  for (const Held held : {Held::host_fields, Held::staged})
    for (const char* const return_lists : {"IMPORT", "EXPORT"})
      expect_case({.method = "HYPERGRAPH", .return_lists = return_lists, .parts = size() + 2},
                  held);
}

TEST(Lists, WithoutLocalIdsAskForTheSlots) {
  for (const char* const return_lists : return_lists_modes)
    expect_case({.method = "GRAPH", .return_lists = return_lists, .words = {2, 0}});
}

// The slots afterwards say nothing of how the lists were given.
TEST(Lists, LeaveTheOrderToTheOptions) {
  for (const Order order : {Order::any, Order::fill, Order::stable}) {
    std::vector<std::uint32_t> first;
    for (const char* const return_lists : return_lists_modes) {
      ListedMesh listed({.method = "RCB", .return_lists = return_lists});
      ListOptions options = listed.options();
      options.migration.order = order;
      const Expected expected(listed.client, listed.partition.lists());
      const ListMigration done = listed.migrate(options);
      listed.expect_right(done, expected, order);
      const std::vector<std::uint32_t> numbers(listed.fields.number.data(),
                                               listed.fields.number.data() + done.count);
      if (first.empty()) first = numbers;
      EXPECT_TRUE(all_ranks(numbers == first)) << return_lists;
    }
  }
}

TEST(Lists, MoveTheObjectsOfAMask) {
  ListedMesh listed({.method = "HYPERGRAPH", .words = {1, 0}});
  const PartitionLists lists = listed.partition.lists();
  const Expected expected(listed.client, lists);
  // Every object in the second half of the slots, the other way round.
  const std::size_t slots = 2 * mesh().size();
  Kokkos::View<std::uint32_t*> number("number", slots);
  std::vector<std::uint8_t> mask(slots, 0);
  const std::size_t count = listed.client.mine().size();
  for (std::size_t s = 0; s < count; ++s) {
    number(slots - 1 - s) = listed.client.mine()[s];
    mask[slots - 1 - s] = 1;
  }
  ListOptions options;
  options.slot_of = [&](const ZOLTAN_ID_TYPE* gid, const ZOLTAN_ID_TYPE*) {
    return slots - 1 - listed.slots.at(*gid);
  };
  const ListMigration done =
      zoltan::migrate(MPI_COMM_WORLD, lists, Occupied::masked(mask), options, number);
  long long elsewhere = 0;
  for (std::uint64_t s = 0; s < done.count; ++s)
    elsewhere += expected.ranks.at(number(s)) == rank() ? 0 : 1;
  EXPECT_EQ(sum_over_ranks(elsewhere), 0);
  EXPECT_EQ(sum_over_ranks(static_cast<long long>(done.count)), mesh().size());
}

// Parts are dealt to ranks by a table that is not Zoltan's.
TEST(Lists, SendPartsToTheRanksOfATable) {
  for (const char* const return_lists : {"PARTS", "EXPORT", "IMPORT"}) {
    const int parts = 2 * size() + 1;
    ListedMesh listed({.method = "GRAPH", .return_lists = return_lists, .parts = parts});
    std::vector<int> table(static_cast<std::size_t>(parts));
    for (int part = 0; part < parts; ++part)
      table[static_cast<std::size_t>(part)] = (7 * part + 1) % size();
    Expected expected(listed.client, listed.partition.lists());
    const bool lists_all = std::string(return_lists) == "PARTS";
    for (std::size_t k = 0; k < expected.ranks.size(); ++k)
      if (lists_all || expected.ranks[k] != listed.client.owners()[k] ||
          expected.parts[k] != listed.client.owners()[k])
        expected.ranks[k] = table.at(static_cast<std::size_t>(expected.parts[k]));
    ListOptions options = listed.options();
    options.part_to_rank = table;
    PartitionLists lists = listed.partition.lists();
    lists.exports.procs = nullptr;
    const ListMigration done =
        zoltan::migrate(MPI_COMM_WORLD, lists, listed.client.mine().size(), options,
                        listed.fields.number, listed.fields.centre, listed.fields.corners);
    listed.expect_right(done, expected);
  }
}

// Triangles of one corner of the mesh belong to the last rank, as PHG is told.
TEST(Lists, KeepFixedObjectsWhereTheyAreFixed) {
  ListsCase tested{.method = "HYPERGRAPH"};
  MeshClient client(mesh(), tested.words, false);
  MeshZoltan zoltan(client, parameters_of(tested));
  zoltan.set("REMAP", "0");  // else parts are numbered anew, those of fixed objects too
  static const auto is_fixed = [](std::uint32_t k) { return mesh().centre(k, 0) < 2; };
  Zoltan_Set_Num_Fixed_Obj_Fn(
      zoltan.get(),
      [](void* data, int* error) {
        *error = ZOLTAN_OK;
        return static_cast<int>(
            std::ranges::count_if(static_cast<MeshClient*>(data)->mine(), is_fixed));
      },
      &client);
  Zoltan_Set_Fixed_Obj_List_Fn(
      zoltan.get(),
      [](void* data, int, int, ZOLTAN_ID_PTR gids, int* parts, int* error) {
        *error = ZOLTAN_OK;
        for (const std::uint32_t k : static_cast<MeshClient*>(data)->mine()) {
          if (!is_fixed(k)) continue;
          *gids++ = k;
          *parts++ = size() - 1;
        }
      },
      &client);
  const MeshLists partition(zoltan);
  MeshFields fields(client);
  const ListMigration done = zoltan::migrate(MPI_COMM_WORLD, partition.lists(),
                                             client.mine().size(), fields.number, fields.centre);
  long long strangers = 0;
  for (std::uint64_t s = 0; s < done.count; ++s)
    strangers += is_fixed(fields.number(s)) && rank() != size() - 1 ? 1 : 0;
  EXPECT_EQ(sum_over_ranks(strangers), 0);
  EXPECT_EQ(lost_or_doubled(fields.number, done.count, mesh().size()), 0);
}

}  // namespace
}  // namespace valet::test
