// SPDX-License-Identifier: BSD-3-Clause

// Every callback of the drop-in in every form it can be registered in, which fails at its n-th call
// on one rank, for all n, by a code or an exception: all ranks return the same, nobody waits, and
// nothing is called that must not be any more. The texts: tests/zoltan/dropin/faults_test.cpp.

#include "../zoltan/dropin/object_client.hpp"
#include "test_comm.hpp"

namespace {

using namespace valet::test;

constexpr int objects_each = 12, object_size = 100;

using Call = ObjectClient::Call;
using enum ObjectClient::Call;
constexpr std::array<const char*, ObjectClient::all_calls> names{
    "size", "pack", "unpack", "pre", "mid", "post", "free", "memory"};

/// MIGRATE_CALLBACKS and MIGRATE_METHOD, single or multi forms, stages with parts or without.
struct Form {
  const char* callbacks;
  const char* method;
  bool multi, parts;
};

/// Sends object k of each rank to rank k % P.
class Client : public ObjectClient {
 public:
  explicit Client(const Form& form)
      : ObjectClient({{"MIGRATE_METHOD", form.method},
                      {"MIGRATE_CALLBACKS", form.callbacks},
                      {"MIGRATE_MEMORY", "600"},
                      {"MIGRATE_ONLY_PROC_CHANGES", "0"}},
                     form.multi) {
    for (int k = 0; k < objects_each; ++k) {
      const auto id = static_cast<Id>(1000 * rank() + k);
      export_to(k % size(), id, id);
    }
    register_all(form.parts);
  }

  /// Lets a call fail, on one rank; 0: none. @return Zoltan's code.
  int migrate(Call failing, int number, int where, bool throws) {
    failing_ = failing;
    number_ = rank() == where ? number : 0;
    throws_ = throws;
    counts_ = {};
    return migrate_quietly();
  }
  [[nodiscard]] long long called(Call call) const { return sum_over_ranks(counts_[call]); }
  [[nodiscard]] bool has_failed() const {
    return max_over_ranks(number_ > 0 && counts_[failing_] >= number_ ? 1 : 0) > 0;
  }

 private:
  int begins(Call call) override {
    ++counts_[call];
    if (call != failing_ || counts_[call] != number_) return ZOLTAN_OK;
    if (throws_) throw std::runtime_error("the disk is full");
    return ZOLTAN_FATAL;
  }
  int size_of(Id, Id) override { return object_size; }
  void pack(Id, Id, int, int, char*) override {}
  void unpack(Id, int, char*) override {}

  Call failing_ = all_calls;
  int number_ = 0;
  bool throws_ = false;
  std::array<int, all_calls> counts_{};
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
        failing == in_pre ||
        (failing == in_size && number <= (GetParam().multi ? 1 : objects_each));
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
        EXPECT_TRUE(all_ranks(code == ZOLTAN_OK)) << client.report.message;
        return failures;
      }
      EXPECT_TRUE(all_ranks(code == ZOLTAN_FATAL)) << code;
      expect_words(client.report.message, {"rank " + std::to_string(where) + ":"});
      expect_calls(client, failing, number);
    }
  }
};

TEST_P(EveryCallback, EndsTheMigrationOnAllRanksAtEveryCall) {
  Client client(GetParam());
  for (int failing = 0; failing < ObjectClient::all_calls; ++failing) {
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
