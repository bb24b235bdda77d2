// SPDX-License-Identifier: BSD-3-Clause

// Memory shared on a node is a faster way for the same bytes: with it and without it the
// application sees the same callbacks in the same order, and gets the same. It is kept for the next
// migration, whatever that is, within the memory of both.

#include "object_client.hpp"
#include "test_comm.hpp"

namespace {

using namespace valet::test;

constexpr int node_objects = 3000;

int node_bytes_of(ZOLTAN_ID_TYPE gid) {
  if (gid % 11 == 0) return 0;
  if (gid % 997 == 5) return 9000;  // more than a slot of shared memory has
  return 1 + static_cast<int>(gid * 37 % 900);
}

unsigned char byte_of(ZOLTAN_ID_TYPE gid, int k) {
  return static_cast<unsigned char>(gid * 131 + static_cast<ZOLTAN_ID_TYPE>(k) * 7);
}

/// Keeps what the callbacks see. Writes every second byte of an object only: the others arrive as
/// zeros.
class NodeClient : public ObjectClient {
 public:
  NodeClient(const char* method, const char* callbacks, bool multi, bool shares)
      : ObjectClient({{"MIGRATE_ONLY_PROC_CHANGES", "0"},
                      {"MIGRATE_METHOD", method},
                      {"MIGRATE_CALLBACKS", callbacks},
                      {"MIGRATE_MEMORY", "128K"},
                      {"MIGRATE_VERIFY", "1"},
                      {"MIGRATE_SHARE_MEMORY", shares ? "1" : "0"}},
                     multi) {}

  /// @param hop  All objects go to the rank so far behind; none: to ranks that alternate.
  void migrate(int count = node_objects, std::optional<int> hop = {}) {
    std::vector<Id> names, slots;  // of this call, which may be inside another one
    std::vector<int> to;
    for (int k = 0; k < count; ++k) {
      names.push_back(static_cast<Id>(rank() * node_objects + k));
      slots.push_back(static_cast<Id>(k));
      to.push_back((rank() + hop.value_or(k * k)) % size());
    }
    if (!in_mid_) unpacked = 0;
    EXPECT_EQ(Zoltan_Migrate(zoltan, -1, nullptr, nullptr, nullptr, nullptr, count, names.data(),
                             slots.data(), to.data(), nullptr),
              ZOLTAN_OK);
    EXPECT_EQ(wrong_, 0U);
    Valet_Get_Report(zoltan, &report);
  }

  /// From now on another migration of the same handle takes place in the middle of each.
  void migrate_within_mid() {
    EXPECT_EQ(Zoltan_Set_Mid_Migrate_PP_Fn(zoltan, mid, this), ZOLTAN_OK);
  }

  std::vector<std::string> calls;
  int unpacked = 0;
  int nested = 0;  ///< migrations inside others: STEPS calls mid after each step

 private:
  static void mid(void* data, int, int, int, ZOLTAN_ID_PTR, ZOLTAN_ID_PTR, int*, int*, int,
                  ZOLTAN_ID_PTR, ZOLTAN_ID_PTR, int*, int*, int* code) {
    *code = ZOLTAN_OK;
    NodeClient& client = *static_cast<NodeClient*>(data);
    if (std::exchange(client.in_mid_, true)) return;
    ++client.nested;
    client.migrate();
    client.in_mid_ = false;
  }
  int size_of(Id gid, Id) override { return node_bytes_of(gid); }
  void pack_begins(int count) override { calls.push_back("packs " + std::to_string(count)); }
  void pack(Id gid, Id, int, int, char* to) override {
    calls.push_back("pack " + std::to_string(gid));
    for (int k = 0; k < node_bytes_of(gid); k += 2) to[k] = static_cast<char>(byte_of(gid, k));
  }
  void unpack_begins(int count) override { calls.push_back("unpacks " + std::to_string(count)); }
  void unpack(Id gid, int, char* from) override {
    calls.push_back("unpack " + std::to_string(gid));
    ++unpacked;
    for (int k = 0; k < node_bytes_of(gid); ++k) {
      const int expected = k % 2 == 0 ? byte_of(gid, k) : 0;
      wrong_ += static_cast<unsigned char>(from[k]) == expected ? 0 : 1;
    }
  }

  std::size_t wrong_ = 0;
  bool in_mid_ = false;
};

using NodeCase = std::tuple<const char*, const char*, bool>;
class Node : public ::testing::TestWithParam<NodeCase> {};

TEST_P(Node, SeesTheSameWithAndWithoutSharedMemory) {
  const auto [method, callbacks, multi] = GetParam();
  NodeClient shared(method, callbacks, multi, true);
  NodeClient alone(method, callbacks, multi, false);
  shared.migrate();
  alone.migrate();
  EXPECT_TRUE(shared.calls == alone.calls);
  EXPECT_EQ(shared.report.steps, alone.report.steps);
  EXPECT_EQ(shared.report.batches, alone.report.batches);
  EXPECT_LE(shared.report.peak_extra_bytes, shared.report.extra_bytes_bound);
  EXPECT_LE(alone.report.peak_extra_bytes, alone.report.extra_bytes_bound);
  // The slots that a rank shares are counted. With many ranks there is no room for one.
  if (size() <= 2) {
    EXPECT_GT(shared.report.peak_extra_bytes, alone.report.peak_extra_bytes);
  }
}

/// What a migration of one object per rank takes, and so what is kept from the one before.
std::uint64_t kept_after(const char* callbacks, const char* keep) {
  NodeClient client("STREAM", callbacks, false, true);
  client.set("MIGRATE_MEMORY", "1M");
  client.set("MIGRATE_KEEP_MEMORY", keep);
  for (int k = 0; k < 3; ++k) client.migrate(node_objects, 1);
  client.migrate(1, 1);
  return client.report.peak_extra_bytes;
}

TEST(KeptMemory, IsGivenBackWhereItIsNotToBeKept) {
  for (const char* callbacks : {"HOLD", "STEPS"}) {
    EXPECT_LT(kept_after(callbacks, "0"), 100'000U) << callbacks;
    EXPECT_GT(kept_after(callbacks, "1"), 200'000U) << callbacks;
    const bool keeps = rank() < size() - 1;
    const std::uint64_t kept = kept_after(callbacks, keeps ? "1" : "0");
    EXPECT_TRUE(keeps || kept < 100'000U) << "a rank decides for itself: " << kept;
  }
}

// A callback may migrate with the handle that calls it. What has arrived for the outer migration
// must be there afterwards.
TEST(KeptMemory, IsNotThatOfTheMigrationWhoseCallbackMigrates) {
  for (const char* callbacks : {"HOLD", "STEPS"})
    for (const char* keep : {"0", "1"}) {
      NodeClient client("STREAM", callbacks, false, true);
      client.set("MIGRATE_KEEP_MEMORY", keep);
      client.migrate();
      const int expected = client.unpacked;
      client.migrate_within_mid();
      client.migrate();
      EXPECT_GT(client.nested, 0) << callbacks;
      EXPECT_EQ(client.unpacked, (1 + client.nested) * expected) << callbacks;
    }
}

TEST(KeptMemory, ServesMigrationsThatDifferAndStaysInsideTheMemoryOfEach) {
  for (const unsigned seed : {7U, 8U, 59U}) {
    std::mt19937 common(seed);  // what must be the same on all ranks
    std::mt19937 own(seed * 100 + static_cast<unsigned>(rank()));  // what may differ
    const auto one_of = [](std::mt19937& random, const std::vector<const char*>& values) {
      return values[random() % values.size()];
    };
    NodeClient client("STREAM", "HOLD", seed % 2 == 0, true);
    for (int k = 0; k < 24; ++k) {
      client.set("MIGRATE_METHOD", one_of(common, {"STREAM", "STREAM", "PHASED", "CYCLIC"}));
      client.set("MIGRATE_CALLBACKS", one_of(common, {"HOLD", "STEPS"}));
      client.set("MIGRATE_MEMORY", one_of(own, {"20K", "300K", "1M", "4M", "40M"}));
      client.set("MIGRATE_SHARE_MEMORY", one_of(own, {"0", "1", "1", "1"}));
      client.set("MIGRATE_KEEP_MEMORY", one_of(own, {"0", "1", "1", "1", "1", "1", "1"}));
      const int count = 1 + static_cast<int>(common() % node_objects);
      const int hop = static_cast<int>(common()) % size();
      const bool alternate = common() % 3 == 0;
      const int times = 1 + static_cast<int>(common() % 3);  // the same again may share anew
      for (int time = 0; time < times; ++time) {
        client.migrate(count, alternate ? std::nullopt : std::optional(std::abs(hop)));
        EXPECT_EQ(sum_over_ranks(static_cast<long long>(client.unpacked)),
                  static_cast<long long>(count) * size());
        EXPECT_LE(client.report.peak_extra_bytes, client.report.extra_bytes_bound)
            << "seed " << seed << ", migration " << k << ", time " << time << ": "
            << client.report.method << " " << client.report.callbacks << " with "
            << client.report.budget_bytes << " bytes, " << client.report.bytes_imported
            << " imported";
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Methods, Node,
                         ::testing::Combine(::testing::Values("STREAM", "PHASED", "CYCLIC"),
                                            ::testing::Values("HOLD", "STEPS"), ::testing::Bool()),
                         [](const auto& one) {
                           return std::string(std::get<0>(one.param)) + "_" +
                                  std::get<1>(one.param) +
                                  (std::get<2>(one.param) ? "_multi" : "_single");
                         });

}  // namespace
