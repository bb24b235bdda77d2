// SPDX-License-Identifier: BSD-3-Clause

// Bad input and callbacks that fail: every rank returns the error, none hangs, the message names
// rank and object, and the report says what had moved.

#include "object_client.hpp"
#include "test_comm.hpp"

#include <new>

namespace {

using namespace valet::test;

constexpr int objects_each = 30;
constexpr int object_size = 100;
constexpr int never = -1;

/// What a callback does that fails.
enum class Failure { code, exception, number };

using Call = ObjectClient::Call;
using enum ObjectClient::Call;

/// Sends object k of each rank to rank k % P, and fails where a test asks for it.
class Faulty : public ObjectClient {
 public:
  /// @param mode  MIGRATE_CALLBACKS, and behind it the method where that is not STREAM.
  explicit Faulty(const std::string& mode, const char* memory = "1K", bool multi = false)
      : ObjectClient({{"MIGRATE_METHOD", contains(mode, "_") ? mode.substr(mode.find('_') + 1)
                                                             : std::string("STREAM")},
                      {"MIGRATE_PARKING", "1"},
                      {"MIGRATE_SCHEDULER", "CENTRALIZED"},
                      {"MIGRATE_MEMORY", memory},
                      {"MIGRATE_CALLBACKS", mode.substr(0, mode.find('_'))},
                      {"MIGRATE_ONLY_PROC_CHANGES", "0"}},
                     multi) {
    for (int k = 0; k < objects_each; ++k)
      export_to(k % size(), static_cast<Id>(1000 * rank() + k), static_cast<Id>(k));
    register_all(true);
  }

  int failing_call = never;
  int failing_rank = 0;
  int failing_number = 0;  ///< how many calls of that kind succeed
  int failing_code = ZOLTAN_FATAL;
  Failure failure = Failure::code;
  std::array<int, all_calls> calls{};
  int size_answer = object_size;

 private:
  int begins(Call call) override {
    const bool fails =
        call == failing_call && rank() == failing_rank && calls[call] == failing_number;
    ++calls[call];
    if (fails && failing_code == ZOLTAN_MEMERR && failure == Failure::exception)
      throw std::bad_alloc();
    if (fails && failure == Failure::exception) throw std::runtime_error("the disk is full");
    if (fails && failure == Failure::number) throw 42;  // NOLINT: applications do
    return fails ? failing_code : ZOLTAN_OK;
  }
  int size_of(Id gid, Id) override { return gid == 3 ? size_answer : object_size; }
  void pack(Id, Id, int, int, char*) override {}
  void unpack(Id, int, char*) override {}
};

struct Fault {
  Call call;
  int number;
  const char* name;  ///< the callback's, in the message
};

void fail_at(Faulty& faulty, const Fault& fault, int where, Failure failure = Failure::code) {
  faulty.failing_call = fault.call;
  faulty.failing_rank = where;
  faulty.failing_number = fault.number;
  faulty.failure = failure;
}

void expect_error_everywhere(Faulty& faulty, int code, int expected, const std::string& text) {
  EXPECT_TRUE(all_ranks(code == expected)) << code;
  const Valet_Migration_Report report = faulty.report;
  const std::string message = report.message;
  EXPECT_EQ(report.code, expected);
  expect_words(message, {"rank " + std::to_string(faulty.failing_rank) + ":", text});
  if (rank() == 0 || rank() == faulty.failing_rank) {
    expect_words(faulty.printed, {"Zoltan ERROR in Zoltan_Migrate", text});
  }
}

class CallbackFaults : public ::testing::TestWithParam<const char*> {};

/// Every callback with a fault in the first, a middle and the last call.
std::vector<Fault> faults_of(const std::string& mode) {
  const bool steps = mode.substr(0, 5) == "STEPS";
  std::vector<Fault> faults{{in_pre, 0, "ZOLTAN_PRE_MIGRATE_PP_FN"},
                            {in_mid, 0, "ZOLTAN_MID_MIGRATE_PP_FN"},
                            {in_post, 0, "ZOLTAN_POST_MIGRATE_PP_FN"}};
  for (const int number : {0, objects_each / 2, objects_each - 1}) {
    faults.push_back(
        {in_size, number, "ZOLTAN_OBJ_SIZE_FN function for the object with global id"});
    faults.push_back(
        {in_pack, number, "ZOLTAN_PACK_OBJ_FN function for the object with global id"});
    faults.push_back(
        {in_unpack, number, "ZOLTAN_UNPACK_OBJ_FN function for the object with global id"});
    if (steps) faults.push_back({in_free, number, "VALET_FREE_OBJ_FN"});
  }
  if (steps) faults.push_back({in_mid, 2, "ZOLTAN_MID_MIGRATE_PP_FN"});
  if (mode != "HOLD") faults.push_back({in_memory, 1, "VALET_MEMORY_FN"});
  return faults;
}

TEST_P(CallbackFaults, EndTheMigrationOnAllRanks) {
  for (const Fault& fault : faults_of(GetParam())) {
    for (const int where : {0, size() - 1}) {
      SCOPED_TRACE(std::string(fault.name) + " " + std::to_string(fault.number) + " on rank " +
                   std::to_string(where));
      Faulty faulty(GetParam());
      fail_at(faulty, fault, where);
      expect_error_everywhere(faulty, faulty.migrate_quietly(), ZOLTAN_FATAL, fault.name);
    }
  }
}

TEST_P(CallbackFaults, MayBeExceptions) {
  for (const Fault& fault : faults_of(GetParam()))
    for (const Failure failure : {Failure::exception, Failure::number})
      for (const int where : {0, size() - 1}) {
        SCOPED_TRACE(std::string(fault.name) + " " + std::to_string(fault.number) + " on rank " +
                     std::to_string(where));
        Faulty faulty(GetParam());
        fail_at(faulty, fault, where);
        faulty.failure = failure;
        expect_error_everywhere(faulty, faulty.migrate_quietly(), ZOLTAN_FATAL, fault.name);
        const std::string message = faulty.report.message;
        expect_words(message,
                     {"Exception thrown by ",
                      failure == Failure::number ? ": without a text" : ": the disk is full"});
      }
}

TEST_P(CallbackFaults, MayBeExceptionsInMultiForms) {
  for (const Fault& fault : {Fault{in_size, 0, "ZOLTAN_OBJ_SIZE_MULTI_FN"},
                             Fault{in_pack, 0, "ZOLTAN_PACK_OBJ_MULTI_FN"},
                             Fault{in_unpack, 0, "ZOLTAN_UNPACK_OBJ_MULTI_FN"}})
    for (const int where : {0, size() - 1}) {
      SCOPED_TRACE(std::string(fault.name) + " on rank " + std::to_string(where));
      Faulty faulty(GetParam(), "1K", true);
      fail_at(faulty, fault, where, Failure::exception);
      expect_error_everywhere(faulty, faulty.migrate_quietly(), ZOLTAN_FATAL,
                              std::string("Exception thrown by ") + fault.name);
    }
}

TEST_P(CallbackFaults, DoNotSpoilTheNextMigrationAsExceptions) {
  for (const Call call : {in_pack, in_unpack, in_mid}) {
    Faulty faulty(GetParam());
    faulty.failing_call = call;
    faulty.failure = Failure::exception;
    EXPECT_TRUE(all_ranks(faulty.migrate_quietly() == ZOLTAN_FATAL));
    faulty.failing_call = never;
    EXPECT_TRUE(all_ranks(faulty.migrate_quietly() == ZOLTAN_OK)) << faulty.printed;
  }
}

TEST_P(CallbackFaults, OfNoMemoryMayBeExceptions) {
  Faulty faulty(GetParam());
  faulty.failing_call = in_pack;
  faulty.failing_code = ZOLTAN_MEMERR;
  faulty.failure = Failure::exception;
  expect_error_everywhere(faulty, faulty.migrate_quietly(), ZOLTAN_MEMERR, "ZOLTAN_PACK_OBJ_FN");
}

TEST_P(CallbackFaults, KeepTheDifferenceBetweenFatalAndNoMemory) {
  Faulty faulty(GetParam());
  faulty.failing_call = in_pack;
  faulty.failing_rank = size() - 1;
  faulty.failing_number = 4;
  faulty.failing_code = ZOLTAN_MEMERR;
  expect_error_everywhere(faulty, faulty.migrate_quietly(), ZOLTAN_MEMERR, "ZOLTAN_PACK_OBJ_FN");
}

TEST_P(CallbackFaults, LeaveAReportOfWhatHadMoved) {
  Faulty faulty(GetParam());
  faulty.failing_call = in_pack;
  faulty.failing_number = 7;
  faulty.migrate_quietly();
  const Valet_Migration_Report report = faulty.report;
  EXPECT_EQ(report.objects_exported, static_cast<std::uint64_t>(objects_each));
  EXPECT_TRUE(rank() != 0 || report.objects_packed == 7) << report.objects_packed;
  EXPECT_LT(report.objects_sent, static_cast<std::uint64_t>(objects_each));
  EXPECT_LE(report.objects_sent, report.objects_packed);
  EXPECT_EQ(report.objects_unpacked, static_cast<std::uint64_t>(faulty.calls[in_unpack]));
  if (std::string(GetParam()).substr(0, 4) == "HOLD") {
    EXPECT_EQ(sum_over_ranks(faulty.calls[in_mid] + faulty.calls[in_unpack]), 0);
    EXPECT_EQ(report.objects_sent, 0U);
  }
  EXPECT_EQ(faulty.calls[in_post], 0);
}

TEST_P(CallbackFaults, DoNotSpoilTheNextMigration) {
  Faulty faulty(GetParam());
  faulty.failing_call = in_unpack;
  faulty.migrate_quietly();
  faulty.failing_call = never;
  EXPECT_TRUE(all_ranks(faulty.migrate_quietly() == ZOLTAN_OK)) << faulty.printed;
  EXPECT_STREQ(faulty.report.message, "");
}

TEST_P(CallbackFaults, PassAWarningOfTheLastCallbackOn) {
  Faulty faulty(GetParam());
  faulty.failing_call = in_post;
  faulty.failing_rank = 0;
  faulty.failing_code = ZOLTAN_WARN;
  const int code = faulty.migrate_quietly();
  EXPECT_EQ(code, rank() == 0 ? ZOLTAN_WARN : ZOLTAN_OK);
}

INSTANTIATE_TEST_SUITE_P(Modes, CallbackFaults,
                         ::testing::Values("HOLD", "STEPS", "HOLD_PHASED", "STEPS_PHASED",
                                           "STEPS_CYCLIC"),
                         ParameterName());

constexpr const char* likely_cause = "the local ids of those that have not left must stay valid";

TEST(StaleLocalIds, AreNamedAsTheLikelyCauseWhereMidHasRun) {
  for (const Call call : {in_size, in_pack, in_free}) {
    Faulty faulty("STEPS");
    faulty.failing_call = call;
    // Sizes are asked for all objects first, then again for those of a step.
    faulty.failing_number = call == in_size ? 2 * objects_each - 1 : objects_each - 1;
    expect_error_everywhere(faulty, faulty.migrate_quietly(), ZOLTAN_FATAL, likely_cause);
    EXPECT_TRUE(all_ranks(faulty.calls[in_mid] > 0));
  }
}

TEST(StaleLocalIds, AreNotNamedWhereMidHasNotRun) {
  for (const char* const mode : {"HOLD", "STEPS"}) {
    Faulty faulty(mode);
    faulty.failing_call = mode[0] == 'H' ? in_pack : in_size;
    faulty.failing_number = objects_each - 1;
    EXPECT_TRUE(all_ranks(faulty.migrate_quietly() == ZOLTAN_FATAL));
    EXPECT_EQ(std::string(faulty.report.message).find(likely_cause), std::string::npos);
  }
}

/// Nothing may have been called but what comes before the lists are looked at.
void expect_refused(Faulty& faulty, int code, int expected, const std::string& text) {
  EXPECT_TRUE(all_ranks(code == expected)) << code;
  const std::string message = faulty.report.message;
  expect_words(message, {text});
  EXPECT_EQ(sum_over_ranks(faulty.calls[in_pack] + faulty.calls[in_unpack]), 0);
}

TEST(BadInput, RanksOutsideTheCommunicator) {
  for (const int bad : {-1, size(), 12345}) {
    Faulty faulty("HOLD");
    if (rank() == size() - 1) faulty.procs[5] = bad;
    expect_refused(faulty, faulty.migrate_quietly(), ZOLTAN_FATAL,
                   "rank " + std::to_string(size() - 1) + ": the export with global id " +
                       std::to_string(1000 * (size() - 1) + 5) + " (number 5) names rank " +
                       std::to_string(bad));
  }
}

TEST(BadInput, SizesBelowZero) {
  Faulty faulty("HOLD");
  faulty.size_answer = -8;
  expect_refused(faulty, faulty.migrate_quietly(), ZOLTAN_FATAL,
                 "rank 0: a size of -8 bytes for the object with global id 3 (number 3");
}

TEST(BadInput, MissingCallbacks) {
  Faulty faulty("HOLD");
  if (rank() == size() - 1) Zoltan_Set_Pack_Obj_Fn(faulty.zoltan, nullptr, nullptr);
  expect_refused(faulty, faulty.migrate_quietly(), ZOLTAN_FATAL,
                 "Must register a ZOLTAN_PACK_OBJ_FN or ZOLTAN_PACK_OBJ_MULTI_FN");
  // They are back, and the ones that were there still are.
  if (rank() == size() - 1)
    Zoltan_Set_Pack_Obj_Fn(
        faulty.zoltan,
        [](void*, int, int, ZOLTAN_ID_PTR, ZOLTAN_ID_PTR, int, int, char*, int* code) {
          *code = ZOLTAN_OK;
        },
        nullptr);
  EXPECT_TRUE(all_ranks(faulty.migrate_quietly() == ZOLTAN_OK));
}

TEST(BadInput, NoListsAtAll) {
  Faulty faulty("HOLD");
  const int code = faulty.quietly([&] {
    return Zoltan_Migrate(faulty.zoltan, -1, nullptr, nullptr, nullptr, nullptr, -1, nullptr,
                          nullptr, nullptr, nullptr);
  });
  expect_refused(faulty, code, ZOLTAN_FATAL, "Import or export lists needed");
}

TEST(BadInput, ArraysThatAreNotThere) {
  Faulty faulty("HOLD");
  const int code = faulty.quietly([&] {
    return Zoltan_Migrate(faulty.zoltan, -1, nullptr, nullptr, nullptr, nullptr, 1,
                          faulty.gids.data(), nullptr, faulty.procs.data(), nullptr);
  });
  expect_refused(faulty, code, ZOLTAN_FATAL, "no array of their local ids");
}

TEST(BadInput, ListsOfDifferentKinds) {
  if (size() == 1) return;
  Faulty faulty("HOLD");
  const bool exports = rank() != 0;
  const int code = faulty.quietly([&] {
    return Zoltan_Migrate(faulty.zoltan, exports ? -1 : 0, nullptr, nullptr, nullptr, nullptr,
                          exports ? 0 : -1, nullptr, nullptr, nullptr, nullptr);
  });
  expect_refused(faulty, code, ZOLTAN_FATAL, "the kind of list differs: only import lists on rank");
}

TEST(BadInput, ParametersThatDifferBetweenRanks) {
  if (size() == 1) return;
  Faulty faulty("HOLD");
  if (rank() == 1) Zoltan_Set_Param(faulty.zoltan, "MIGRATE_VERIFY", "1");
  expect_refused(faulty, faulty.migrate_quietly(), ZOLTAN_FATAL, "MIGRATE_VERIFY differs: no on ");
}

TEST(BadInput, EntriesOfIdsThatDifferBetweenRanks) {
  if (size() == 1) return;
  Faulty faulty("HOLD");
  if (rank() == 1) {
    Zoltan_Set_Param(faulty.zoltan, "NUM_GID_ENTRIES", "2");
    faulty.gids.resize(2 * faulty.gids.size());
  }
  const int objects_listed = static_cast<int>(faulty.procs.size());
  const int code = faulty.quietly([&] {
    return Zoltan_Migrate(faulty.zoltan, -1, nullptr, nullptr, nullptr, nullptr, objects_listed,
                          faulty.gids.data(), faulty.lids.data(), faulty.procs.data(), nullptr);
  });
  expect_refused(faulty, code, ZOLTAN_FATAL, "NUM_GID_ENTRIES differs: 1 on ");
}

TEST(BadInput, DirectThatDoesNotFit) {
  Faulty faulty("HOLD");
  Zoltan_Set_Param(faulty.zoltan, "MIGRATE_METHOD", "DIRECT");
  // Each rank has one more than the one before, so that what is enough for rank 0 is not for all.
  for (int k = objects_each; k < objects_each + rank(); ++k)
    faulty.export_to(0, static_cast<ObjectClient::Id>(1000 * rank() + k),
                     static_cast<ObjectClient::Id>(k));
  expect_refused(faulty, faulty.migrate_quietly(), ZOLTAN_FATAL,
                 "MIGRATE_METHOD DIRECT packs " +
                     std::to_string(104 * (objects_each + size() - 1)) +
                     " bytes at once, but MIGRATE_MEMORY is 1024; set it to that");
}

TEST(RanksOutside, ReturnAtOnce) {
  MPI_Comm some = MPI_COMM_NULL;
  const bool inside = rank() < (size() + 1) / 2;
  MPI_Comm_split(MPI_COMM_WORLD, inside ? 0 : MPI_UNDEFINED, rank(), &some);
  // Zoltan hands MPI_COMM_NULL to MPI, and goes on when it gets an error for it.
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  Zoltan_Struct* zoltan = Zoltan_Create(inside ? some : MPI_COMM_NULL);
  if (!inside) {
    Zoltan_Set_Param(zoltan, "MIGRATE_METHOD", "STREAM");
    EXPECT_EQ(Zoltan_Migrate(zoltan, 0, nullptr, nullptr, nullptr, nullptr, 0, nullptr, nullptr,
                             nullptr, nullptr),
              ZOLTAN_OK);
  }
  Zoltan_Destroy(&zoltan);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  if (some != MPI_COMM_NULL) MPI_Comm_free(&some);
}

TEST(LargeObjects, RaiseTheBudgetAndTheReportSaysSo) {
  for (const char* callbacks : {"HOLD", "STEPS"}) {
    Faulty faulty(callbacks, "64K");
    Valet_Set_Memory_Fn(faulty.zoltan, nullptr, nullptr);
    faulty.size_answer = 1 << 20;
    EXPECT_TRUE(all_ranks(faulty.migrate_quietly() == ZOLTAN_OK)) << faulty.printed;
    const Valet_Migration_Report report = faulty.report;
    EXPECT_TRUE(rank() != 0 || report.budget_raised_bytes >= (1U << 20) - 65536U);
    EXPECT_LE(report.peak_extra_bytes, report.extra_bytes_bound) << callbacks;
  }
}

}  // namespace
