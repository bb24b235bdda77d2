// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// An application that migrates objects in phases, and what each migration must keep.

#include "gathered.hpp"
#include "object_client.hpp"

namespace valet::test {

constexpr std::uint64_t no_limit = std::numeric_limits<std::uint64_t>::max();

using Objects = std::map<ZOLTAN_ID_TYPE, std::string>;

inline std::string payload_of(ZOLTAN_ID_TYPE id, std::size_t bytes) {
  return std::string(bytes, static_cast<char>('a' + id % 26));
}

/// What every rank has and where it goes; the same for each migration of a test.
struct Scenario {
  Objects objects;
  std::vector<ZOLTAN_ID_TYPE> gids, lids;
  std::vector<int> procs;
  std::uint64_t capacity = no_limit;  ///< bytes of objects that the application has memory for

  void add(ZOLTAN_ID_TYPE id, std::size_t bytes, int to) {
    objects[id] = payload_of(id, bytes);
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
class Client : public ObjectClient {
 public:
  explicit Client(const Settings& chosen, const Scenario& given)
      : ObjectClient({{"MIGRATE_METHOD", chosen.method},
                      {"MIGRATE_CALLBACKS", chosen.callbacks},
                      {"MIGRATE_HEURISTIC", chosen.heuristic},
                      {"MIGRATE_PARKING", std::to_string(chosen.parking)},
                      {"MIGRATE_SCHEDULER", chosen.scheduler},
                      {"MIGRATE_MEMORY", chosen.memory},
                      {"MIGRATE_VERIFY", "1"}},
                     chosen.multi),
        settings(chosen),
        scenario(given),
        objects(given.objects) {
    gids = given.gids;
    lids = given.lids;
    procs = given.procs;
    Zoltan_Set_Mid_Migrate_PP_Fn(zoltan, mid, this);
    if (settings.callbacks == "STEPS") Valet_Set_Free_Obj_Fn(zoltan, free_one, this);
    if (settings.answer != no_limit || scenario.capacity != no_limit)
      Valet_Set_Memory_Fn(zoltan, memory_left, this);
  }

  int migrate() {
    const int code = migrate_quietly();
    if (settings.callbacks == "HOLD" && code == ZOLTAN_OK)
      for (const Id id : scenario.gids) objects.erase(id);
    return code;
  }

  Settings settings;
  Scenario scenario;
  Objects objects;
  std::string complaint;
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
  int size_of(Id gid, Id) override { return static_cast<int>(objects.at(gid).size()); }
  void pack(Id gid, Id lid, int, int, char* to) override {
    if (lid != gid + 7) complaint = "a local id is not that of its object";
    order.push_back(1000000 + gid);
    std::ranges::copy(objects.at(gid), to);
  }
  void unpack(Id gid, int bytes, char* from) override {
    order.push_back(gid);
    arrived.push_back(gid);
    arrivals_since_answer += static_cast<std::uint64_t>(bytes);
    if (settings.callbacks == "STEPS" && arrivals_since_answer > last_answer)
      complaint = "more arrived than the application could take";
    if (objects.count(gid) != 0) complaint = "an object arrived twice";
    objects[gid] = std::string(from, static_cast<std::size_t>(bytes));
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

/// What this rank must have afterwards, by the oracle. Collective.
inline Objects objects_after(const Scenario& scenario) {
  std::vector<ZOLTAN_ID_TYPE> ids;
  std::vector<std::size_t> bytes;
  std::vector<int> to;
  for (const auto& [id, payload] : scenario.objects) {
    const auto exported = std::ranges::find(scenario.gids, id) - scenario.gids.begin();
    const bool stays = exported == std::ssize(scenario.gids);
    ids.push_back(id);
    bytes.push_back(payload.size());
    to.push_back(stays ? rank() : scenario.procs[static_cast<std::size_t>(exported)]);
  }
  const auto all_ids = gathered(ids);
  const auto all_bytes = gathered(bytes);
  const GlobalContent content = content_by_ranks(map_to(gathered(to)), Order::stable, 1);
  Objects objects;
  for (const auto& from : row_of(content, rank())) {
    if (!from) continue;
    const ZOLTAN_ID_TYPE id = row_of(all_ids, from->rank)[from->slot];
    objects[id] = payload_of(id, row_of(all_bytes, from->rank)[from->slot]);
  }
  return objects;
}

inline void expect_promises(Client& client, const Client& stock) {
  const Valet_Migration_Report& report = client.report;
  const Objects expected = objects_after(client.scenario);
  // An object arrives with its packed size, a multiple of 8.
  EXPECT_TRUE(all_ranks(
      std::ranges::equal(client.objects, expected, [](const auto& found, const auto& right) {
        return found.first == right.first && found.second.starts_with(right.second) &&
               found.second.size() < right.second.size() + 8;
      })));
  EXPECT_EQ(client.complaint, "");
  EXPECT_TRUE(all_ranks(report.verified == 1));
  expect_within_bound(report);
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
