// SPDX-License-Identifier: BSD-3-Clause

// Functions of the application with attached storage that fail or do what they must not, on one
// rank, and the lifetimes of the storage, of its structure and of copies.

#include "attached_line.hpp"

#include <zoltan_eval.h>

namespace valet::test {
namespace {

using zoltan::Attached;
using zoltan::AttachedOptions;

enum class Where { count, pre, mid, post };
constexpr std::array all_places{Where::count, Where::pre, Where::mid, Where::post};

/// Functions of the application, in one of which it does something on the odd rank.
struct Bent {
  Bent(Zoltan_Struct* zoltan, Where place, std::function<int()> action)
      : act(std::move(action)), where(place) {
    Zoltan_Set_Num_Obj_Fn(zoltan, count, this);
    Zoltan_Set_Pre_Migrate_PP_Fn(zoltan, stage<Where::pre>, this);
    Zoltan_Set_Mid_Migrate_PP_Fn(zoltan, stage<Where::mid>, this);
    Zoltan_Set_Post_Migrate_PP_Fn(zoltan, stage<Where::post>, this);
  }
  static Bent& of(void* data) { return *static_cast<Bent*>(data); }
  int called(Where here) { return here == where && is_odd() ? act() : ZOLTAN_OK; }
  static int count(void* data, int* code) {
    *code = of(data).called(Where::count);
    return AttachedLine::each;
  }
  template <Where here>
  static void stage(void* data, int, int, int, ZOLTAN_ID_PTR, ZOLTAN_ID_PTR, int*, int*, int,
                    ZOLTAN_ID_PTR, ZOLTAN_ID_PTR, int*, int*, int* code) {
    MPI_Barrier(MPI_COMM_WORLD);  // real ones communicate
    *code = of(data).called(here);
  }

  std::function<int()> act;
  Where where;
};

enum class MisusedCall { none, lists, migrate, partition };
constexpr std::array misused_calls{MisusedCall::none, MisusedCall::lists, MisusedCall::migrate,
                                   MisusedCall::partition};

/// Expects the error of such an action through each door; `make` returns what is done.
template <class Make>
void expect_refused_everywhere(ErrorCode code, const std::vector<std::string>& words, Make&& make) {
  for (const Where where : all_places)
    for (const MisusedCall door : misused_calls) {
      if (size() == 1 && where != Where::count) continue;  // nothing changes
      SCOPED_TRACE("function " + std::to_string(static_cast<int>(where)) + " door " +
                   std::to_string(static_cast<int>(door)));
      AttachedLine line;
      line.attach();
      line.give_parts();
      line.set("NUM_GLOBAL_PARTS", std::to_string(size()));
      line.set("AUTO_MIGRATE", "1");
      if (door == MisusedCall::none) line.set("RETURN_LISTS", "NONE");
      const Bent bent(line.zoltan, where, make(line));
      Outcome outcome;
      const int zoltans = door == MisusedCall::migrate     ? line.migrate_on()
                          : door == MisusedCall::partition ? line.quietly([&] {
                              outcome = outcome_of([&] { line.attached->partition(); });
                              return ZOLTAN_FATAL;
                            })
                                                           : line.lb_partition();
      EXPECT_TRUE(all_ranks(zoltans == ZOLTAN_FATAL)) << zoltans << line.printed;
      if (door == MisusedCall::partition)
        expect_error(outcome, code, words);
      else if (rank() == 0)
        expect_words(line.printed, words);
      EXPECT_EQ(where == Where::post, !line.is_untouched());
      EXPECT_TRUE(!all_ranks(line.attached.has_value()) || line.is_whole());
    }
}

TEST(AttachedFunctions, ErrorsOfOneRankAreThoseOfAll) {
  expect_refused_everywhere(ErrorCode::callback_failed, {odd_name(), "Error returned from ZOLTAN_"},
                            [](AttachedLine&) { return [] { return ZOLTAN_FATAL; }; });
}

TEST(AttachedFunctions, ExceptionsOfOneRankAreErrorsOfAll) {
  expect_refused_everywhere(
      ErrorCode::callback_failed, {odd_name(), "ZOLTAN_", "no mesh any more"},
      [](AttachedLine&) { return []() -> int { throw std::runtime_error("no mesh any more"); }; });
}

TEST(AttachedFunctions, DoNotPartitionMigrateAttachOrDetach) {
  const std::vector<std::string> words{odd_name(), "a callback of Zoltan's",
                                       "do that when the call has returned"};
  using Action = std::function<void(AttachedLine&)>;
  // What they are answered is lost on them.
  const std::vector<Action> actions{
      [](AttachedLine& line) { EXPECT_EQ(ZoltanLists(line.zoltan).code(), ZOLTAN_FATAL); },
      [](AttachedLine& line) {
        EXPECT_EQ(Zoltan_Migrate(line.zoltan, -1, nullptr, nullptr, nullptr, nullptr, 0, nullptr,
                                 nullptr, nullptr, nullptr),
                  ZOLTAN_FATAL);
      },
      [](AttachedLine& line) { outcome_of([&] { line.attached->partition(); }); },
      [](AttachedLine& line) { outcome_of([&] { line.attached->detach(); }); },
      [](AttachedLine& line) {
        outcome_of([&] { const Attached other(line.zoltan, 0, line.storage()); });
      },
      [](AttachedLine& line) { line.attached.reset(); }};
  for (const Action& action : actions)
    expect_refused_everywhere(ErrorCode::invalid_argument, words, [&](AttachedLine& line) {
      return [&] {
        action(line);
        return ZOLTAN_OK;
      };
    });
}

TEST(AttachedFunctions, OfGrowthDoNotPartitionEither) {
  if (size() == 1) return;
  AttachedLine line(AttachedLine::each + 1);
  AttachedOptions options{.when_infeasible = WhenInfeasible::grow};
  options.grow = [&](std::uint64_t slots) {
    outcome_of([&] { line.attached->partition(); });
    line.place.resize(slots);
    line.work.resize(slots);
    line.number.resize(slots);
    line.id.resize(slots);
  };
  line.attach(options);
  line.make_uneven();
  expect_error(outcome_of([&] { line.attached->partition(); }), ErrorCode::callback_failed,
               {"grow", "a callback of Zoltan's partitions"});
  EXPECT_TRUE(line.is_untouched());
}

TEST(AttachedFunctions, SourcesThatThrowEndOnAllRanks) {
  AttachedLine line;
  line.attach();
  line.attached->coordinates([&]() -> Columns {
    if (is_odd()) throw std::runtime_error("no mirror");
    return array_columns(line.place.data(), line.place.size(), 1)();
  });
  expect_refused(line, ErrorCode::callback_failed,
                 {odd_name(), "reading coordinates failed: no mirror", "nothing has moved"});
  line.attached->coordinates(array_columns(valet::ref(line.place), 1));
  line.attached->ids([&]() -> Columns {
    if (is_odd()) throw std::runtime_error("no numbers");
    return array_columns(line.id.data(), line.id.size(), 1)();
  });
  line.set("AUTO_MIGRATE", "1");
  line.set("RETURN_LISTS", "ALL");  // in which objects have their ids
  expect_fatal(line, {odd_name(), "no numbers"}, [&] { return line.lb_partition(); });
  EXPECT_TRUE(line.is_untouched());
}

/// Zoltan itself would return on that rank, and the others wait for it.
TEST(AttachedFunctions, ThatAnswerZoltanFailOnAllRanks) {
  using Answer = std::function<int()>;
  const std::array<std::pair<Answer, std::string>, 2> answers{
      {{[] { return ZOLTAN_FATAL; }, "it returned an error"},
       {[]() -> int { throw std::runtime_error("no mesh"); }, "no mesh"}}};
  for (const char* const method : {"RCB", "RIB", "HSFC"})
    for (const auto& [answer, text] : answers)
      for (const int which : {0, 1, 2}) {
        SCOPED_TRACE(method + std::string(" ") + std::to_string(which));
        AttachedLine line;
        line.attach();
        line.set("LB_METHOD", method);
        PackedObjects places;
        places.ids.resize(AttachedLine::each);
        std::iota(places.ids.begin(), places.ids.end(), 0U);  // slots
        places.register_with(line.zoltan);
        places.fails = [&, &answer = answer](int here) {
          return here == which && is_odd() ? answer() : ZOLTAN_OK;
        };
        if (which == 2) places.register_many_places(line.zoltan);
        expect_refused(line, ErrorCode::callback_failed,
                       {odd_name(),
                        which == 0   ? "ZOLTAN_OBJ_LIST_FN failed"
                        : which == 1 ? "ZOLTAN_GEOM_FN failed"
                                     : "ZOLTAN_GEOM_MULTI_FN failed",
                        text, "nothing has moved"});
        places.fails = [](int) { return ZOLTAN_OK; };
        EXPECT_EQ(outcome_of([&] { line.attached->partition(); }).text, "");
        EXPECT_TRUE(line.is_whole());
      }
}

TEST(AttachedLifetime, OfTheStructureMayEndFirst) {
  AttachedLine line;
  line.attach();
  expect_works(line);
  Zoltan_Destroy(&line.zoltan);
  for (const bool detaches : {false, true})
    expect_error(outcome_of([&] {
                   if (detaches)
                     line.attached->detach();
                   else
                     line.attached->partition();
                 }),
                 ErrorCode::invalid_argument,
                 {"the Zoltan_Struct of this attached storage has been destroyed", "another one"});
  line.zoltan = AttachedLine::structure();
  const std::uint64_t count = line.attached->count();
  line.attached.emplace(line.zoltan, count, line.storage());
  line.attached->coordinates(array_columns(valet::ref(line.place), 1));
  line.attached->partition();
  EXPECT_TRUE(line.is_whole());
}

TEST(AttachedLifetime, OfTheStorageMayEndFirst) {
  AttachedLine line;
  line.attach();
  line.set("AUTO_MIGRATE", "1");
  line.attached.reset();
  const std::vector<std::string> words{"has ended", "attach other storage"};
  expect_fatal(line, words, [&] { return line.lb_partition(); });
  expect_fatal(line, words, [&] {
    return line.quietly([&] {
      return Zoltan_Migrate(line.zoltan, -1, nullptr, nullptr, nullptr, nullptr, 0, nullptr,
                            nullptr, nullptr, nullptr);
    });
  });
  line.attach();
  expect_works(line);
}

TEST(AttachedLifetime, EndsWithDetach) {
  AttachedLine line;
  line.attach();
  line.set("AUTO_MIGRATE", "1");
  line.attached->detach();
  // Without query functions, stock Zoltan has nothing to do.
  EXPECT_TRUE(all_ranks(line.lb_partition() != ZOLTAN_OK)) << line.printed;
  EXPECT_TRUE(line.is_untouched());
  Attached other(line.zoltan, AttachedLine::each, line.storage());
  other.coordinates(array_columns(valet::ref(line.place), 1));
  for (const bool detaches : {false, true})
    expect_error(outcome_of([&] {
                   if (detaches)
                     line.attached->detach();
                   else
                     line.attached->partition();
                 }),
                 ErrorCode::invalid_argument, {"has been detached", "attach it again"});
  EXPECT_EQ(outcome_of([&] { other.partition(); }).text, "");
  line.attached->count(other.count());
  EXPECT_TRUE(line.is_whole());
}

TEST(AttachedLifetime, MovesWithItsOwner) {
  AttachedLine line;
  Attached first(std::move(line.attach()));
  expect_thrown(ErrorCode::invalid_argument, {"attached storage that was moved from"},
                [&] { line.attached->partition(); });
  line.attached = std::move(first);
  expect_works(line);
}

TEST(AttachedLifetime, LeavesAStructureThatMovesPackedObjects) {
  AttachedLine line;
  line.attach();
  expect_works(line);  // with ids of two words
  line.attached->detach();
  PackedObjects packed;
  packed.register_with(line.zoltan);
  packed.register_packing(line.zoltan);
  line.set("AUTO_MIGRATE", "1");
  line.set("MIGRATE_METHOD", "STREAM");
  EXPECT_TRUE(all_ranks(line.lb_partition() == ZOLTAN_OK)) << line.printed;
  Valet_Migration_Report report{};
  EXPECT_EQ(Valet_Get_Report(line.zoltan, &report) == ZOLTAN_OK, size() > 1);
  EXPECT_EQ(lost_or_doubled(packed.ids, packed.ids.size(), 4 * static_cast<std::uint64_t>(size())),
            0);
}

TEST(AttachedLifetime, IsNotThatOfCopies) {
  AttachedLine line;
  line.attach();
  line.set("AUTO_MIGRATE", "1");
  line.set("MIGRATE_METHOD", "PHASED");
  Zoltan_Struct* copy = Zoltan_Copy(line.zoltan);
  EXPECT_TRUE(all_ranks(line.quietly([&] { return ZoltanLists(copy).code(); }) != ZOLTAN_OK));
  EXPECT_TRUE(line.is_untouched());
  PackedObjects packed;
  packed.register_with(copy);
  packed.register_packing(copy);
  EXPECT_TRUE(all_ranks(line.quietly([&] { return ZoltanLists(copy).code(); }) == ZOLTAN_OK))
      << line.printed;
  Valet_Migration_Report report{};
  if (size() > 1) {
    EXPECT_EQ(Valet_Get_Report(copy, &report), ZOLTAN_OK);
    EXPECT_STREQ(report.method, "PHASED");
  }
  EXPECT_TRUE(line.is_untouched());
  Zoltan_Struct* onto = AttachedLine::structure();
  Zoltan_Copy_To(onto, line.zoltan);
  Zoltan_Copy_To(line.zoltan, copy);
  for (const ZOLTAN_FN_TYPE type :
       {ZOLTAN_OBJ_SIZE_FN_TYPE, ZOLTAN_PACK_OBJ_FN_TYPE, ZOLTAN_UNPACK_OBJ_FN_TYPE,
        ZOLTAN_NUM_OBJ_FN_TYPE, ZOLTAN_OBJ_LIST_FN_TYPE, ZOLTAN_GEOM_FN_TYPE,
        ZOLTAN_NUM_GEOM_FN_TYPE})
    Zoltan_Set_Fn(line.zoltan, type, nullptr, nullptr);
  Zoltan_Destroy(&copy);
  Zoltan_Destroy(&onto);
  expect_works(line);  // its storage stays with it, whatever is copied onto it
}

TEST(AttachedLifetime, EvaluationAsksTheApplicationAlone) {
  AttachedLine line;
  line.attach();
  ZOLTAN_BALANCE_EVAL balance{};
  const auto evaluate = [&] {
    return line.quietly([&] { return Zoltan_LB_Eval_Balance(line.zoltan, 0, &balance); });
  };
  evaluate();  // nobody to ask
  EXPECT_TRUE(line.is_untouched());
  PackedObjects packed;
  packed.register_with(line.zoltan);
  EXPECT_TRUE(all_ranks(evaluate() == ZOLTAN_OK)) << line.printed;
  EXPECT_EQ(balance.nobj[EVAL_GLOBAL_SUM], 4 * size());
  EXPECT_TRUE(line.is_untouched());
}

}  // namespace
}  // namespace valet::test
