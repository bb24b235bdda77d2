// SPDX-License-Identifier: BSD-3-Clause

// The system refuses memory to one rank in the middle of Zoltan_Migrate: its n-th allocation, or
// that and all that follow, n = 1 until a migration makes fewer. All ranks return ZOLTAN_MEMERR, or
// all have every object where it belongs. Nobody is left waiting.

#include "refused_new.hpp"
#include "test_comm.hpp"
#include <valet/zoltan/valet_zoltan.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

namespace {

using namespace valet::test;

struct Form {
  const char* callbacks;
  std::string method;
  int objects;  ///< of each rank
  bool by_imports;
};

/// Object k of a rank goes to the rank (rank + k) mod P. Its callbacks take no memory.
class Client {
 public:
  explicit Client(const Form& form)
      : form_(form), zoltan_(Zoltan_Create(MPI_COMM_WORLD)), arrived_(gids_in_all()) {
    for (int k = 0; k < form.objects; ++k)
      for (int other = 0; other < size(); ++other) {
        const int owner = form.by_imports ? other : rank();
        const int target = (owner + k) % size();
        const int peer = form.by_imports ? owner : target;
        if (form.by_imports ? target != rank() : other > 0) continue;
        gids_.push_back(static_cast<ZOLTAN_ID_TYPE>(owner * form.objects + k));
        procs_.push_back(peer);
      }
    lids_ = gids_;
    set("DEBUG_LEVEL", "0");
    set("MIGRATE_METHOD", form.method.c_str());
    set("MIGRATE_CALLBACKS", form.callbacks);
    set("MIGRATE_MEMORY", form.objects < 100 ? "2K" : "100K");
    set("MIGRATE_ONLY_PROC_CHANGES", "0");
    Zoltan_Set_Obj_Size_Fn(zoltan_, size_one, this);
    Zoltan_Set_Pack_Obj_Fn(zoltan_, pack_one, this);
    Zoltan_Set_Unpack_Obj_Fn(zoltan_, unpack_one, this);
  }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  ~Client() { Zoltan_Destroy(&zoltan_); }

  void set(const char* name, const char* value) { Zoltan_Set_Param(zoltan_, name, value); }

  /// With the n-th allocation of one rank refused. @return Whether there was one.
  bool survives(int poor, long long n, Refusal refusal) {
    std::ranges::fill(arrived_, 0);
    if (rank() == poor) refuse_allocation(n, refusal);
    const int code = migrate();
    const bool refused = end_refusal();
    EXPECT_TRUE(all_ranks(code == ZOLTAN_OK) || all_ranks(code == ZOLTAN_MEMERR)) << code;
    EXPECT_TRUE(code == ZOLTAN_OK ? has_all() : has_at_most_its_own());
    return !all_ranks(!refused);
  }

 private:
  int migrate() {
    const int count = static_cast<int>(gids_.size());
    if (form_.by_imports)
      return Zoltan_Migrate(zoltan_, count, gids_.data(), lids_.data(), procs_.data(), nullptr, -1,
                            nullptr, nullptr, nullptr, nullptr);
    return Zoltan_Migrate(zoltan_, -1, nullptr, nullptr, nullptr, nullptr, count, gids_.data(),
                          lids_.data(), procs_.data(), nullptr);
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

  static int size_one(void*, int, int, ZOLTAN_ID_PTR gid, ZOLTAN_ID_PTR, int* code) {
    *code = ZOLTAN_OK;
    return static_cast<int>(8 + *gid % 3 * 8);
  }
  static void pack_one(void*, int, int, ZOLTAN_ID_PTR gid, ZOLTAN_ID_PTR, int, int bytes,
                       char* buffer, int* code) {
    *code = ZOLTAN_OK;
    for (int i = 0; i + 4 <= bytes; i += 4) std::memcpy(buffer + i, gid, 4);
  }
  static void unpack_one(void* data, int, ZOLTAN_ID_PTR gid, int bytes, char* buffer, int* code) {
    *code = ZOLTAN_OK;
    for (int i = 0; i + 4 <= bytes; i += 4)
      if (std::memcmp(buffer + i, gid, 4) != 0) return;  // missing in arrived_
    ++static_cast<Client*>(data)->arrived_[*gid];
  }

  Form form_;
  Zoltan_Struct* zoltan_;
  std::vector<ZOLTAN_ID_TYPE> gids_, lids_;
  std::vector<int> procs_;
  std::vector<int> arrived_;  ///< how often each object was unpacked here
};

class RefusedAllocationInDropin : public testing::TestWithParam<Form> {};

TEST_P(RefusedAllocationInDropin, EndsAMigrationOnAllRanks) {
  for (const Refusal refusal : {Refusal::once, Refusal::for_good})
    for (const int poor : {0, size() - 1}) {
      Client client(GetParam());
      client.set("MIGRATE_KEEP_MEMORY", "0");
      bool goes_on = true;
      for (long long n = 1; goes_on && !HasFailure(); ++n) {
        SCOPED_TRACE("allocation " + std::to_string(n) + " of rank " + std::to_string(poor) +
                     (refusal == Refusal::once ? ", once" : ", for good"));
        testing::internal::CaptureStderr();
        goes_on = client.survives(poor, n, refusal);
        testing::internal::GetCapturedStderr();
      }
    }
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
