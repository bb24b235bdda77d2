// SPDX-License-Identifier: BSD-3-Clause

// Lists of LB_METHOD CYCLIC and BLOCK, and lists that are nearly such: which are recognised, that
// the application sees the calls of stock Zoltan either way, and what is communicated for it.

#include "../../clients/zoltan/lists.hpp"
#include "counted_mpi.hpp"
#include "object_client.hpp"
#include "random_maps.hpp"
#include "test_comm.hpp"

namespace {

using namespace valet::test;

using clients::Given;
using clients::List;

constexpr std::array all_given{Given::exports, Given::imports, Given::both};

void shuffle(List& list, std::mt19937_64& random) {
  std::vector<std::size_t> order(list.procs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::shuffle(order.begin(), order.end(), random);
  const List old = list;
  for (std::size_t k = 0; k < order.size(); ++k) {
    list.gids[k] = list.lids[k] = old.gids[order[k]];
    list.procs[k] = old.procs[order[k]];
  }
}

/// Objects with numbers from this rank's first one on. What it is asked to pack and gets to unpack
/// is written down.
class Client : public ObjectClient {
 public:
  explicit Client(const std::vector<std::uint64_t>& counts)
      : ObjectClient({{"RETURN_LISTS", "ALL"}}, false),
        count_(counts[static_cast<std::size_t>(rank())]) {
    for (int r = 0; r < rank(); ++r) first_ += counts[static_cast<std::size_t>(r)];
    Zoltan_Set_Num_Obj_Fn(zoltan, number, this);
    Zoltan_Set_Obj_List_Fn(zoltan, list, this);
  }

  void partition(const char* method, int parts = 0) {
    lists = clients::partition(zoltan, {}, rank(), method, parts, true);
  }

  /// @return What the application saw.
  std::vector<std::string> migrate(const char* method, Given given) {
    set("MIGRATE_METHOD", method);
    calls_.clear();
    const int code = clients::migrate(zoltan, lists, given, false);
    EXPECT_TRUE(all_ranks(code == ZOLTAN_OK));
    Valet_Get_Report(zoltan, &report);
    return calls_;
  }

  clients::Partition lists;

 private:
  static Client& client_of(void* data) { return *static_cast<Client*>(data); }
  static int number(void* data, int* code) {
    *code = ZOLTAN_OK;
    return static_cast<int>(client_of(data).count_);
  }
  static void list(void* data, int, int, ZOLTAN_ID_PTR gids, ZOLTAN_ID_PTR lids, int weights,
                   float* weight, int* code) {
    const Client& client = client_of(data);
    for (std::uint64_t k = 0; k < client.count_; ++k) {
      gids[k] = lids[k] = static_cast<ZOLTAN_ID_TYPE>(client.first_ + k);
      if (weights > 0) weight[k] = static_cast<float>(1 + gids[k] % 3);
    }
    *code = ZOLTAN_OK;
  }
  int size_of(Id gid, Id) override { return static_cast<int>(4 + gid % 9); }
  void pack(Id gid, Id, int to, int bytes, char* buffer) override {
    calls_.push_back("pack " + std::to_string(gid) + " to " + std::to_string(to));
    std::fill_n(buffer, bytes, static_cast<char>(gid % 100));
  }
  void unpack(Id gid, int bytes, char* buffer) override {
    const bool whole = std::count(buffer, buffer + bytes, static_cast<char>(gid % 100)) == bytes;
    calls_.push_back("unpack " + std::to_string(gid) + (whole ? "" : ", broken"));
  }

  std::uint64_t count_, first_ = 0;
  std::vector<std::string> calls_;
};

std::vector<std::uint64_t> random_counts(std::mt19937_64& random) {
  std::vector<std::uint64_t> counts;
  for (int r = 0; r < size(); ++r)
    counts.push_back(pick(random, 0, 3) == 0 ? 0 : pick(random, 0, 60));
  counts[pick(random, 0, counts.size() - 1)] += 1;  // Zoltan prints a warning where there is none
  return counts;
}

TEST(ListLayout, OfCyclicIsRecognisedAndUnpackedInTheOrderOfStock) {
  for (std::uint64_t test_case = 0; test_case < 20; ++test_case) {
    SCOPED_TRACE(seed_note(seed(), static_cast<long long>(test_case)));
    std::mt19937_64 random(seed() + test_case);
    Client client(random_counts(random));
    client.partition(test_case % 2 == 0 ? "CYCLIC" : "BLOCK");
    for (const Given given : all_given) {
      const std::vector<std::string> stock = client.migrate("ZOLTAN", given);
      EXPECT_TRUE(all_ranks(client.migrate("STREAM", given) == stock));
      const Valet_Migration_Report report = client.report;
      if (given != Given::imports && test_case % 2 == 0) {
        EXPECT_TRUE(all_ranks(report.lists_from_layout == 1));
      }
      expect_within_bound(report);
      const int from_layout = report.lists_from_layout;
      EXPECT_EQ(sum_over_ranks(from_layout), from_layout * size()) << "the same on all ranks";
    }
  }
}

TEST(ListLayout, OfRegularPartitionsIsRecognisedWhicheverListsAreGiven) {
  struct Regular {
    const char* method;
    std::vector<std::uint64_t> counts;  ///< of the first ranks; the others have no objects
    int parts;                          ///< of a rank
    bool weighted;
  };
  const Regular regular[]{{"CYCLIC", {100, 200, 300, 400, 17}, 1, false},
                          {"CYCLIC", {240, 240, 240, 240, 240}, 1, false},
                          {"CYCLIC", {100, 200, 300, 400, 17}, 2, false},
                          {"CYCLIC", {3}, 1, false},
                          {"BLOCK", {100, 200, 300, 400, 17}, 1, false},
                          {"BLOCK", {100, 200, 300, 400, 17}, 2, false},
                          {"BLOCK", {400, 300, 200, 100}, 3, true},
                          {"BLOCK", {400, 300, 200, 100}, 1, true},
                          {"BLOCK", {1000}, 1, false},
                          {"BLOCK", {1001}, 1, false},
                          {"BLOCK", {1003, 10}, 1, false},
                          {"BLOCK", {1000, 7}, 1, true},
                          {"BLOCK", {2}, 1, false}};
  for (const Regular& row : regular) {
    SCOPED_TRACE(row.method + (", " + std::to_string(row.counts[0])) + " on rank 0, parts " +
                 std::to_string(row.parts) + (row.weighted ? ", weights" : ""));
    std::vector<std::uint64_t> counts = row.counts;
    counts.resize(static_cast<std::size_t>(size()), 0);
    Client client(counts);
    client.set("OBJ_WEIGHT_DIM", row.weighted ? "1" : "0");
    client.partition(row.method, row.parts * size());
    for (const Given given : all_given) {
      const std::vector<std::string> stock = client.migrate("ZOLTAN", given);
      EXPECT_TRUE(all_ranks(client.migrate("STREAM", given) == stock));
      EXPECT_TRUE(all_ranks(client.report.lists_from_layout == 1)) << static_cast<int>(given);
      expect_within_bound(client.report);
    }
  }
}

TEST(ListLayout, OfOneRankAloneIsNone) {
  for (std::uint64_t test_case = 0; test_case < 20; ++test_case) {
    SCOPED_TRACE(seed_note(seed(), static_cast<long long>(test_case)));
    std::mt19937_64 random(seed() + test_case);
    Client client(std::vector<std::uint64_t>(static_cast<std::size_t>(size()), 200));
    client.partition("CYCLIC");
    // One rank's list is shuffled, the others look as before.
    const bool is_odd = rank() == static_cast<int>(test_case % static_cast<std::uint64_t>(size()));
    if (is_odd) shuffle(client.lists.exports, random);
    const std::vector<std::string> stock = client.migrate("ZOLTAN", Given::exports);
    EXPECT_TRUE(all_ranks(client.migrate("STREAM", Given::exports) == stock));
    // To one other rank every order is a layout.
    EXPECT_TRUE(all_ranks(client.report.lists_from_layout == (size() < 3 ? 1 : 0)));
  }
}

TEST(ListLayout, WithObjectsThatStayIsRecognisedToo) {
  std::mt19937_64 random(seed());
  Client client(random_counts(random));
  client.set("MIGRATE_ONLY_PROC_CHANGES", "0");
  client.partition("CYCLIC");
  // As RETURN_LISTS PARTS has them: those that stay, too.
  const std::uint64_t first =
      client.lists.exports.gids.empty() ? 0 : client.lists.exports.gids.front();
  client.lists.exports.procs.clear();
  for (std::size_t k = 0; k < client.lists.exports.gids.size(); ++k)
    client.lists.exports.procs.push_back(
        static_cast<int>((first + k) % static_cast<std::uint64_t>(size())));
  const std::vector<std::string> stock = client.migrate("ZOLTAN", Given::exports);
  EXPECT_TRUE(all_ranks(client.migrate("STREAM", Given::exports) == stock));
  EXPECT_TRUE(all_ranks(client.report.lists_from_layout == 1));
}

/// What a migration of these lists communicates, on this rank.
Communication communication_of(Client& client) {
  // The first ones find out more, and keep memory for the next.
  for (int round = 0; round < 3; ++round)
    static_cast<void>(client.migrate("STREAM", Given::exports));
  communication = {};
  static_cast<void>(client.migrate("STREAM", Given::exports));
  return communication;
}

TEST(ListLayout, SavesWhatAnnouncesCounts) {
  if (size() < 3) GTEST_SKIP() << "with one other rank everything is a layout";
  Client cyclic(std::vector<std::uint64_t>(static_cast<std::size_t>(size()), 60));
  cyclic.partition("CYCLIC");
  const Communication layout = communication_of(cyclic);
  // The same objects to the same ranks, in another order.
  std::mt19937_64 random(seed());
  shuffle(cyclic.lists.exports, random);
  const Communication general = communication_of(cyclic);
  const auto calls = [](const Communication& all, const char* name) {
    const auto found = all.calls.find(name);
    return found == all.calls.end() ? 0 : found->second;
  };
  EXPECT_TRUE(all_ranks(calls(general, "Issend") == size() - 1));
  EXPECT_TRUE(all_ranks(calls(layout, "Issend") == 0 && calls(layout, "Ibarrier") == 0));
  EXPECT_TRUE(all_ranks(calls(layout, "Allgather") == calls(general, "Allgather") + 1));
  EXPECT_TRUE(all_ranks(calls(layout, "Allreduce") == calls(general, "Allreduce")));
  EXPECT_TRUE(all_ranks(layout.all_calls() < general.all_calls()))
      << ::testing::PrintToString(layout.calls) << ::testing::PrintToString(general.calls);
}

}  // namespace
