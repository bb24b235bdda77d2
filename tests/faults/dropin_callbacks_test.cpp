// SPDX-License-Identifier: BSD-3-Clause

// Every callback of the drop-in in every form it can be registered in, which fails at its n-th call
// on one rank, for all n, by a code or an exception: all ranks return the same, nobody waits, and
// nothing is called that must not be any more. The texts: tests/zoltan/dropin/faults_test.cpp.

#include "test_comm.hpp"
#include <valet/zoltan/valet_zoltan.h>

namespace {

using namespace valet::test;

constexpr int objects = 12, object_size = 100;

enum Call { in_size, in_pack, in_unpack, in_pre, in_mid, in_post, in_free, in_memory, calls };
constexpr std::array<const char*, calls> names{"size", "pack", "unpack", "pre",
                                               "mid",  "post", "free",   "memory"};

/// MIGRATE_CALLBACKS and MIGRATE_METHOD, single or multi forms, stages with parts or without.
struct Form {
  const char* callbacks;
  const char* method;
  bool multi, parts;
};

/// Sends object k of each rank to rank k % P.
class Client {
 public:
  explicit Client(const Form& form) : zoltan_(Zoltan_Create(MPI_COMM_WORLD)) {
    for (int k = 0; k < objects; ++k) {
      gids_.push_back(static_cast<ZOLTAN_ID_TYPE>(1000 * rank() + k));
      procs_.push_back(k % size());
    }
    lids_ = gids_;
    const auto set = [&](const char* name, const char* value) {
      Zoltan_Set_Param(zoltan_, name, value);
    };
    set("DEBUG_LEVEL", "0");
    set("MIGRATE_METHOD", form.method);
    set("MIGRATE_CALLBACKS", form.callbacks);
    set("MIGRATE_MEMORY", "600");
    set("MIGRATE_ONLY_PROC_CHANGES", "0");
    register_objects(form.multi);
    register_stages(form.parts);
    Valet_Set_Free_Obj_Fn(zoltan_, free_one, this);
    Valet_Set_Memory_Fn(zoltan_, memory_left, this);
  }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  ~Client() { Zoltan_Destroy(&zoltan_); }

  /// Lets a call fail, on one rank; 0: none. @return Zoltan's code.
  int migrate(Call failing, int number, int where, bool throws) {
    failing_ = failing;
    number_ = rank() == where ? number : 0;
    throws_ = throws;
    counts_ = {};
    testing::internal::CaptureStderr();
    const int code = Zoltan_Migrate(zoltan_, -1, nullptr, nullptr, nullptr, nullptr, objects,
                                    gids_.data(), lids_.data(), procs_.data(), nullptr);
    testing::internal::GetCapturedStderr();
    return code;
  }
  [[nodiscard]] long long called(Call call) const { return sum_over_ranks(counts_[call]); }
  [[nodiscard]] bool has_failed() const {
    return max_over_ranks(number_ > 0 && counts_[failing_] >= number_ ? 1 : 0) > 0;
  }
  [[nodiscard]] std::string message() const {
    Valet_Migration_Report report{};
    Valet_Get_Report(zoltan_, &report);
    return report.message;
  }

 private:
  void register_objects(bool multi) {
    if (multi) {
      Zoltan_Set_Obj_Size_Multi_Fn(zoltan_, size_all, this);
      Zoltan_Set_Pack_Obj_Multi_Fn(zoltan_, pack_all, this);
      Zoltan_Set_Unpack_Obj_Multi_Fn(zoltan_, unpack_all, this);
    } else {
      Zoltan_Set_Obj_Size_Fn(zoltan_, size_one, this);
      Zoltan_Set_Pack_Obj_Fn(zoltan_, pack_one, this);
      Zoltan_Set_Unpack_Obj_Fn(zoltan_, unpack_one, this);
    }
  }
  void register_stages(bool parts) {
    if (parts) {
      Zoltan_Set_Pre_Migrate_PP_Fn(zoltan_, stage_with_parts<in_pre>, this);
      Zoltan_Set_Mid_Migrate_PP_Fn(zoltan_, stage_with_parts<in_mid>, this);
      Zoltan_Set_Post_Migrate_PP_Fn(zoltan_, stage_with_parts<in_post>, this);
    } else {
      Zoltan_Set_Pre_Migrate_Fn(zoltan_, stage<in_pre>, this);
      Zoltan_Set_Mid_Migrate_Fn(zoltan_, stage<in_mid>, this);
      Zoltan_Set_Post_Migrate_Fn(zoltan_, stage<in_post>, this);
    }
  }

  static void called(void* data, Call call, int* code) {
    Client& client = *static_cast<Client*>(data);
    ++client.counts_[call];
    *code = ZOLTAN_OK;
    if (call != client.failing_ || client.counts_[call] != client.number_) return;
    if (client.throws_) throw std::runtime_error("the disk is full");
    *code = ZOLTAN_FATAL;
  }
  static int size_one(void* data, int, int, ZOLTAN_ID_PTR, ZOLTAN_ID_PTR, int* code) {
    called(data, in_size, code);
    return object_size;
  }
  static void pack_one(void* data, int, int, ZOLTAN_ID_PTR, ZOLTAN_ID_PTR, int, int, char*,
                       int* code) {
    called(data, in_pack, code);
  }
  static void unpack_one(void* data, int, ZOLTAN_ID_PTR, int, char*, int* code) {
    called(data, in_unpack, code);
  }
  static void size_all(void* data, int, int, int count, ZOLTAN_ID_PTR, ZOLTAN_ID_PTR, int* sizes,
                       int* code) {
    std::fill_n(sizes, count, object_size);
    called(data, in_size, code);
  }
  static void pack_all(void* data, int, int, int, ZOLTAN_ID_PTR, ZOLTAN_ID_PTR, int*, int*, int*,
                       char*, int* code) {
    called(data, in_pack, code);
  }
  static void unpack_all(void* data, int, int, ZOLTAN_ID_PTR, int*, int*, char*, int* code) {
    called(data, in_unpack, code);
  }
  template <Call kind>
  static void stage_with_parts(void* data, int, int, int, ZOLTAN_ID_PTR, ZOLTAN_ID_PTR, int*, int*,
                               int, ZOLTAN_ID_PTR, ZOLTAN_ID_PTR, int*, int*, int* code) {
    MPI_Barrier(MPI_COMM_WORLD);  // as real ones do: whoever comes here alone waits for ever
    called(data, kind, code);
  }
  template <Call kind>
  static void stage(void* data, int, int, int, ZOLTAN_ID_PTR, ZOLTAN_ID_PTR, int*, int,
                    ZOLTAN_ID_PTR, ZOLTAN_ID_PTR, int*, int* code) {
    MPI_Barrier(MPI_COMM_WORLD);
    called(data, kind, code);
  }
  static void free_one(void* data, int, int, ZOLTAN_ID_PTR, ZOLTAN_ID_PTR, int* code) {
    called(data, in_free, code);
  }
  static std::uint64_t memory_left(void* data, int* code) {
    called(data, in_memory, code);
    return 1000;
  }

  Zoltan_Struct* zoltan_;
  std::vector<ZOLTAN_ID_TYPE> gids_, lids_;
  std::vector<int> procs_;
  Call failing_ = calls;
  int number_ = 0;
  bool throws_ = false;
  std::array<int, calls> counts_{};
};

std::string name_of(const Form& form) {
  return std::string(form.callbacks) + "_" + form.method + (form.multi ? "_multi" : "_single") +
         (form.parts ? "_parts" : "_plain");
}

class EveryCallback : public testing::TestWithParam<Form> {
 protected:
  /// What the documentation says of the calls of a migration that failed.
  void expect_calls(const Client& client, Call failing, int number) {
    const bool holds = std::string(GetParam().callbacks) == "HOLD";
    const bool before_objects =
        failing == in_pre || (failing == in_size && number <= (GetParam().multi ? 1 : objects));
    EXPECT_TRUE(!before_objects || client.called(in_pack) == 0) << "found before an object moves";
    EXPECT_TRUE(!holds || failing != in_pack || client.called(in_mid) == 0)
        << "of pack, before mid runs";
    EXPECT_TRUE(failing == in_post || client.called(in_post) == 0);
  }

  /// @return How often the callback failed.
  int fail_at_every_call(Client& client, Call failing) {
    for (int number = 1, failures = 0;; number += 1 + number / 2, ++failures) {
      const int where = (number + failures) % size();
      const bool throws = failures % 2 == 1;
      SCOPED_TRACE(std::string(names[failing]) + ", call " + std::to_string(number) + " on rank " +
                   std::to_string(where) + (throws ? " throws" : ""));
      const int code = client.migrate(failing, number, where, throws);
      if (!client.has_failed()) {
        EXPECT_TRUE(all_ranks(code == ZOLTAN_OK)) << client.message();
        return failures;
      }
      EXPECT_TRUE(all_ranks(code == ZOLTAN_FATAL)) << code;
      expect_words(client.message(), {"rank " + std::to_string(where) + ":"});
      expect_calls(client, failing, number);
    }
  }
};

TEST_P(EveryCallback, EndsTheMigrationOnAllRanksAtEveryCall) {
  Client client(GetParam());
  for (int failing = 0; failing < calls; ++failing) {
    EXPECT_TRUE(all_ranks(client.migrate(in_size, 0, 0, false) == ZOLTAN_OK)) << "is well before";
    const bool is_used = client.called(static_cast<Call>(failing)) > 0;
    const int failures = fail_at_every_call(client, static_cast<Call>(failing));
    EXPECT_EQ(failures > 0, is_used) << names[static_cast<std::size_t>(failing)];
  }
}

std::vector<Form> forms() {
  std::vector<Form> all;
  for (const char* const callbacks : {"HOLD", "STEPS"})
    for (const char* const method : {"STREAM", "PHASED", "CYCLIC"})
      for (const bool multi : {false, true}) all.push_back({callbacks, method, multi, multi});
  all.push_back({"HOLD", "STREAM", false, true});
  all.push_back({"STEPS", "STREAM", true, false});
  return all;
}

INSTANTIATE_TEST_SUITE_P(Forms, EveryCallback, testing::ValuesIn(forms()),
                         [](const auto& tested) { return name_of(tested.param); });

}  // namespace
