// SPDX-License-Identifier: BSD-3-Clause

// The system refuses memory to one rank in the middle of Zoltan_Migrate: its n-th allocation, or
// that and all that follow, n = 1 until a migration makes fewer. All ranks return ZOLTAN_MEMERR, or
// all have every object where it belongs. Nobody is left waiting.

#include "../zoltan/dropin/object_client.hpp"
#include "refused_call.hpp"

namespace valet::test {
namespace {

struct Form {
  const char* callbacks;
  std::string method;
  int objects;  ///< of each rank
  bool by_imports;
};

/// Object k of a rank goes to the rank (rank + k) mod P. Its callbacks take no memory.
class Client : public ObjectClient {
 public:
  explicit Client(const Form& form)
      : ObjectClient({{"MIGRATE_METHOD", form.method},
                      {"MIGRATE_CALLBACKS", form.callbacks},
                      {"MIGRATE_MEMORY", form.objects < 100 ? "2K" : "100K"},
                      {"MIGRATE_ONLY_PROC_CHANGES", "0"}},
                     false),
        form_(form),
        arrived_(gids_in_all()) {
    for (int k = 0; k < form.objects; ++k)
      for (int other = 0; other < size(); ++other) {
        const int owner = form.by_imports ? other : rank();
        const int target = (owner + k) % size();
        const int peer = form.by_imports ? owner : target;
        if (form.by_imports ? target != rank() : other > 0) continue;
        const auto id = static_cast<Id>(owner * form.objects + k);
        export_to(peer, id, id);
      }
  }

  /// A migration; what it prints is caught from its preparation on until its outcome is looked at.
  [[nodiscard]] RefusedCall migration() {
    return {[this](MPI_Comm) {
              const int code = migrate();
              end_refusal();
              if (code != ZOLTAN_OK)
                throw Error(code == ZOLTAN_MEMERR ? ErrorCode::out_of_memory : ErrorCode::internal,
                            "a code of Zoltan");
            },
            [this] {
              std::ranges::fill(arrived_, 0);
              testing::internal::CaptureStderr();
            },
            [this] { return caught() && has_at_most_its_own(); },
            [this] { return caught() && has_all(); }};
  }

 private:
  int migrate() {
    const int count = static_cast<int>(gids.size());
    if (form_.by_imports)
      return Zoltan_Migrate(zoltan, count, gids.data(), lids.data(), procs.data(), nullptr, -1,
                            nullptr, nullptr, nullptr, nullptr);
    return Zoltan_Migrate(zoltan, -1, nullptr, nullptr, nullptr, nullptr, count, gids.data(),
                          lids.data(), procs.data(), nullptr);
  }
  static bool caught() {
    testing::internal::GetCapturedStderr();
    return true;
  }
  [[nodiscard]] std::size_t gids_in_all() const {
    return static_cast<std::size_t>(size() * form_.objects);
  }
  [[nodiscard]] bool belongs_here(std::size_t gid) const {
    const int owner = static_cast<int>(gid) / form_.objects;
    return (owner + static_cast<int>(gid) % form_.objects) % size() == rank();
  }
  [[nodiscard]] bool has_all() const {
    for (std::size_t gid = 0; gid < arrived_.size(); ++gid)
      if (arrived_[gid] != (belongs_here(gid) ? 1 : 0)) return false;
    return true;
  }
  [[nodiscard]] bool has_at_most_its_own() const {
    for (std::size_t gid = 0; gid < arrived_.size(); ++gid)
      if (arrived_[gid] > (belongs_here(gid) ? 1 : 0)) return false;
    return true;
  }

  int size_of(Id gid, Id) override { return static_cast<int>(8 + gid % 3 * 8); }
  void pack(Id gid, Id, int, int bytes, char* to) override {
    for (int i = 0; i + 4 <= bytes; i += 4) std::memcpy(to + i, &gid, 4);
  }
  void unpack(Id gid, int bytes, char* from) override {
    for (int i = 0; i + 4 <= bytes; i += 4)
      if (std::memcmp(from + i, &gid, 4) != 0) return;  // missing in arrived_
    ++arrived_[gid];
  }

  Form form_;
  std::vector<int> arrived_;  ///< how often each object was unpacked here
};

class RefusedAllocationInDropin : public testing::TestWithParam<Form> {};

TEST_P(RefusedAllocationInDropin, EndsAMigrationOnAllRanks) {
  Client client(GetParam());
  client.set("MIGRATE_KEEP_MEMORY", "0");
  survives_all(client.migration());
}

std::vector<Form> forms() {
  std::vector<Form> all;
  for (const int objects : {12, 9000})
    for (const char* const callbacks : {"HOLD", "STEPS"})
      for (const char* const method : {"STREAM", "PHASED", "CYCLIC"})
        if (objects < 100 || std::string(method) != "CYCLIC")  // the root makes many lists there
          all.push_back({callbacks, method, objects, false});
  all.push_back({"HOLD", "STREAM", 9000, true});
  all.push_back({"HOLD", "DIRECT", 12, true});
  return all;
}

INSTANTIATE_TEST_SUITE_P(Forms, RefusedAllocationInDropin, testing::ValuesIn(forms()),
                         [](const auto& tested) {
                           const Form& form = tested.param;
                           return std::string(form.callbacks) + "_" + form.method + "_" +
                                  std::to_string(form.objects) +
                                  (form.by_imports ? "_imports" : "");
                         });

}  // namespace
}  // namespace valet::test
