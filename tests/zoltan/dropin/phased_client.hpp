// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// An application that migrates objects in phases, and what each migration must keep.

#include "test_comm.hpp"
#include <valet/zoltan/valet_zoltan.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace valet::test {

constexpr std::uint64_t no_limit = std::numeric_limits<std::uint64_t>::max();

using Objects = std::map<ZOLTAN_ID_TYPE, std::string>;

/// What every rank has and where it goes; the same for each migration of a test.
struct Scenario {
  Objects objects;
  std::vector<ZOLTAN_ID_TYPE> gids, lids;
  std::vector<int> procs;
  std::uint64_t capacity = no_limit;  ///< bytes of objects that the application has memory for

  void add(ZOLTAN_ID_TYPE id, std::size_t bytes, int to) {
    objects[id] = std::string(bytes, static_cast<char>('a' + id % 26));
    if (to == rank()) return;
    gids.push_back(id);
    lids.push_back(id + 7);
    procs.push_back(to);
  }
};

/// Objects of many sizes, none of them larger than 3000 bytes; some ranks have none, others get
/// few.
inline Scenario random_scenario(std::uint64_t number) {
  std::mt19937_64 random(seed() + 1000 * number + static_cast<std::uint64_t>(rank()));
  Scenario scenario;
  const std::uint64_t ranks = static_cast<std::uint64_t>(size());
  const bool empty = (static_cast<std::uint64_t>(rank()) + number) % 4 == 3;
  const std::uint64_t objects = empty ? 0 : 30 + random() % 60;
  for (std::uint64_t k = 0; k < objects; ++k) {
    const std::uint64_t bytes = random() % 8 == 0    ? 0
                                : random() % 10 == 0 ? 1000 + random() % 2000
                                                     : random() % 300;
    const std::uint64_t skewed = random() % (1 + random() % ranks);
    const std::uint64_t to = (skewed + number) % ranks;
    scenario.add(static_cast<ZOLTAN_ID_TYPE>(rank() * 1000) + static_cast<ZOLTAN_ID_TYPE>(k), bytes,
                 static_cast<int>(to));
  }
  return scenario;
}

struct Settings {
  std::string callbacks = "HOLD";
  std::string heuristic = "FIRST_FIT";
  int parking = 0;
  std::string scheduler = "DISTRIBUTED";
  std::string memory = "9K";
  std::uint64_t answer = no_limit;  ///< what the memory callback returns; no_limit: there is none
  std::string method = "PHASED";
  bool multi = false;  ///< callbacks that pack and unpack many objects

  [[nodiscard]] std::string text() const {
    return callbacks + " " + heuristic + " " + std::to_string(parking) + " " + scheduler + " " +
           memory;
  }
};

/// One migration; objects are dropped in the free callback, or at the end where there is none.
class Client {
 public:
  explicit Client(const Settings& chosen, const Scenario& given)
      : settings(chosen),
        scenario(given),
        objects(given.objects),
        zoltan(Zoltan_Create(MPI_COMM_WORLD)) {
    const std::array<std::array<std::string, 2>, 8> parameters{
        {{"DEBUG_LEVEL", "0"},
         {"MIGRATE_METHOD", settings.method},
         {"MIGRATE_CALLBACKS", settings.callbacks},
         {"MIGRATE_HEURISTIC", settings.heuristic},
         {"MIGRATE_PARKING", std::to_string(settings.parking)},
         {"MIGRATE_SCHEDULER", settings.scheduler},
         {"MIGRATE_MEMORY", settings.memory},
         {"MIGRATE_VERIFY", "1"}}};
    for (const auto& [name, value] : parameters)
      EXPECT_EQ(Zoltan_Set_Param(zoltan, name.c_str(), value.c_str()), ZOLTAN_OK) << name;
    Zoltan_Set_Obj_Size_Fn(zoltan, size_one, this);
    if (settings.multi) {
      Zoltan_Set_Pack_Obj_Multi_Fn(zoltan, pack_many, this);
      Zoltan_Set_Unpack_Obj_Multi_Fn(zoltan, unpack_many, this);
    } else {
      Zoltan_Set_Pack_Obj_Fn(zoltan, pack_one, this);
      Zoltan_Set_Unpack_Obj_Fn(zoltan, unpack_one, this);
    }
    Zoltan_Set_Mid_Migrate_PP_Fn(zoltan, mid, this);
    if (settings.callbacks == "STEPS") Valet_Set_Free_Obj_Fn(zoltan, free_one, this);
    if (settings.answer != no_limit || scenario.capacity != no_limit)
      Valet_Set_Memory_Fn(zoltan, memory_left, this);
  }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  ~Client() { Zoltan_Destroy(&zoltan); }

  int migrate() {
    testing::internal::CaptureStderr();
    const int code = Zoltan_Migrate(zoltan, -1, nullptr, nullptr, nullptr, nullptr,
                                    static_cast<int>(scenario.gids.size()), scenario.gids.data(),
                                    scenario.lids.data(), scenario.procs.data(), nullptr);
    printed = testing::internal::GetCapturedStderr();
    Valet_Get_Report(zoltan, &report);
    if (settings.callbacks == "HOLD" && code == ZOLTAN_OK)
      for (const ZOLTAN_ID_TYPE id : scenario.gids) objects.erase(id);
    return code;
  }

  Settings settings;
  Scenario scenario;
  Objects objects;
  Zoltan_Struct* zoltan;
  Valet_Migration_Report report{};
  std::string printed, complaint;
  /// Packs, mid and unpacks as they came.
  std::vector<std::uint64_t> order;
  std::vector<ZOLTAN_ID_TYPE> freed, arrived, mid_imports, mid_exports;
  /// The ranks that mid names in each step.
  struct Step {
    std::set<int> sources, destinations;
  };
  std::vector<Step> steps;
  bool keeps_steps = false;
  std::uint64_t arrivals_since_answer = 0, last_answer = no_limit, answers = 0;

 private:
  static Client& of(void* data) { return *static_cast<Client*>(data); }
  static int size_one(void* data, int, int, ZOLTAN_ID_PTR gid, ZOLTAN_ID_PTR, int* code) {
    *code = ZOLTAN_OK;
    return static_cast<int>(of(data).objects.at(*gid).size());
  }
  static void pack_one(void* data, int, int, ZOLTAN_ID_PTR gid, ZOLTAN_ID_PTR lid, int, int,
                       char* to, int* code) {
    *code = ZOLTAN_OK;
    if (*lid != *gid + 7) of(data).complaint = "a local id is not that of its object";
    of(data).order.push_back(1000000 + *gid);
    const std::string& payload = of(data).objects.at(*gid);
    std::copy(payload.begin(), payload.end(), to);
  }
  static void unpack_one(void* data, int, ZOLTAN_ID_PTR gid, int bytes, char* from, int* code) {
    *code = ZOLTAN_OK;
    Client& self = of(data);
    self.order.push_back(*gid);
    self.arrived.push_back(*gid);
    self.arrivals_since_answer += static_cast<std::uint64_t>(bytes);
    if (self.settings.callbacks == "STEPS" && self.arrivals_since_answer > self.last_answer)
      self.complaint = "more arrived than the application could take";
    if (self.objects.count(*gid) != 0) self.complaint = "an object arrived twice";
    self.objects[*gid] = std::string(from, static_cast<std::size_t>(bytes));
  }
  static void pack_many(void* data, int gids, int lids, int count, ZOLTAN_ID_PTR gid,
                        ZOLTAN_ID_PTR lid, int* to, int* sizes, int* offsets, char* buffer,
                        int* code) {
    for (int k = 0; k < count; ++k)
      pack_one(data, gids, lids, gid + k, lid + k, to[k], sizes[k], buffer + offsets[k], code);
  }
  static void unpack_many(void* data, int gids, int count, ZOLTAN_ID_PTR gid, int* sizes,
                          int* offsets, char* buffer, int* code) {
    for (int k = 0; k < count; ++k)
      unpack_one(data, gids, gid + k, sizes[k], buffer + offsets[k], code);
  }
  static void free_one(void* data, int, int, ZOLTAN_ID_PTR gid, ZOLTAN_ID_PTR, int* code) {
    Client& self = of(data);
    *code = self.objects.erase(*gid) == 1 ? ZOLTAN_OK : ZOLTAN_FATAL;
    self.freed.push_back(*gid);
  }
  static void mid(void* data, int, int, int imports, ZOLTAN_ID_PTR import_gids, ZOLTAN_ID_PTR,
                  int* import_procs, int*, int exports, ZOLTAN_ID_PTR export_gids, ZOLTAN_ID_PTR,
                  int* export_procs, int*, int* code) {
    *code = ZOLTAN_OK;
    Client& self = of(data);
    if (self.keeps_steps)
      self.steps.push_back({{import_procs, import_procs + std::max(imports, 0)},
                            {export_procs, export_procs + std::max(exports, 0)}});
    self.order.push_back(2000000);
    for (int k = 0; k < imports; ++k) {
      if (static_cast<int>(import_gids[k] / 1000) != import_procs[k])
        self.complaint = "mid gets another source than the one the object comes from";
      self.mid_imports.push_back(import_gids[k]);
    }
    self.mid_exports.insert(self.mid_exports.end(), export_gids,
                            export_gids + std::max(exports, 0));
  }
  static std::uint64_t memory_left(void* data, int* code) {
    *code = ZOLTAN_OK;
    Client& self = of(data);
    self.arrivals_since_answer = 0;
    ++self.answers;
    std::uint64_t used = 0;
    for (const auto& [id, payload] : self.objects) used += payload.size();
    self.last_answer = std::min(self.settings.answer, self.scenario.capacity - used);
    return self.last_answer;
  }
};

/// The same objects, bytes and all but the padding of packed sizes.
inline void expect_same_objects(const Client& client, const Client& stock) {
  long long wrong = client.objects.size() == stock.objects.size() ? 0 : 1;
  for (const auto& [id, payload] : stock.objects) {
    const auto found = client.objects.find(id);
    wrong += found != client.objects.end() && found->second == payload ? 0 : 1;
  }
  EXPECT_EQ(sum_over_ranks(wrong), 0);
}

inline void expect_promises(Client& client, const Client& stock) {
  const Valet_Migration_Report& report = client.report;
  expect_same_objects(client, stock);
  EXPECT_EQ(client.complaint, "");
  EXPECT_TRUE(all_ranks(report.verified == 1));
  EXPECT_TRUE(all_ranks(report.peak_extra_bytes <= report.extra_bytes_bound))
      << report.peak_extra_bytes << " of " << report.extra_bytes_bound;
  EXPECT_TRUE(all_ranks(report.objects_sent == report.objects_exported &&
                        report.objects_unpacked == report.objects_imported));
  EXPECT_EQ(max_over_ranks(static_cast<long long>(report.steps)),
            -max_over_ranks(-static_cast<long long>(report.steps)));
  if (client.settings.answer != no_limit) {
    EXPECT_EQ(client.answers, report.steps);
    EXPECT_TRUE(all_ranks(report.bytes_imported <= report.steps * client.settings.answer))
        << "a phase brings no more than the application can take";
  }
  if (client.settings.callbacks == "HOLD") {
    EXPECT_TRUE(all_ranks(client.order == stock.order)) << "stock's callbacks, in stock's order";
    return;
  }
  EXPECT_TRUE(
      all_ranks(client.mid_imports == client.arrived && client.mid_exports == client.freed));
  auto freed = client.freed;
  auto exported = client.scenario.gids;
  std::sort(freed.begin(), freed.end());
  std::sort(exported.begin(), exported.end());
  EXPECT_TRUE(all_ranks(freed == exported)) << "each object leaves once";
}

}  // namespace valet::test
