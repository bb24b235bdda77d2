// SPDX-License-Identifier: BSD-3-Clause

// PRE, MID and POST functions of an application with attached storage: when they run, what they see
// of the data, and which lists they get.

#include "attached_line.hpp"

namespace valet::test {
namespace {

/// The lists that a function got.
struct SeenLists {
  int imports = -2, exports = -2;
  std::vector<ZOLTAN_ID_TYPE> lids;  ///< of the exports
  std::vector<int> from, to, parts;
  friend bool operator==(const SeenLists&, const SeenLists&) = default;
};

/// Registers functions of both forms and writes down what they see.
class Watched {
 public:
  enum Form { plain, with_parts, both };

  Watched(AttachedLine& line, Form form) : line_(line) {
    Zoltan_Struct* const zoltan = line.zoltan;
    if (form != plain) {
      Zoltan_Set_Pre_Migrate_PP_Fn(zoltan, stage_with_parts<'a'>, this);
      Zoltan_Set_Mid_Migrate_PP_Fn(zoltan, stage_with_parts<'m'>, this);
      Zoltan_Set_Post_Migrate_PP_Fn(zoltan, stage_with_parts<'z'>, this);
    }
    if (form == with_parts) return;
    Zoltan_Set_Pre_Migrate_Fn(zoltan, stage<'a'>, this);
    Zoltan_Set_Mid_Migrate_Fn(zoltan, stage<'m'>, this);
    Zoltan_Set_Post_Migrate_Fn(zoltan, stage<'z'>, this);
  }
  /// The letters of the functions that ran: (a)head, in the (m)iddle, at the end (z); capital ones
  /// have parts.
  std::string order;
  std::vector<SeenLists> lists;
  std::function<void(char)> then = [](char) {};

 private:
  void called(char letter, char shown, SeenLists seen) {
    order += shown;
    lists.push_back(std::move(seen));
    if (letter == 'z')
      EXPECT_TRUE(line_.is_whole());
    else
      EXPECT_TRUE(line_.has_first_content());
    then(letter);
  }
  static SeenLists seen_of(int gids, int lids, int imports, const int* from, int exports,
                           const ZOLTAN_ID_TYPE* ids, const int* to, const int* parts) {
    EXPECT_EQ(gids, 2);
    EXPECT_EQ(lids, 1);
    SeenLists seen{imports, exports, {}, {}, {}, {}};
    for (int k = 0; k < imports; ++k) seen.from.push_back(from[k]);
    for (int k = 0; k < exports; ++k) {
      seen.lids.push_back(ids[k]);
      seen.to.push_back(to[k]);
      if (parts != nullptr) seen.parts.push_back(parts[k]);
    }
    return seen;
  }
  template <char letter>
  static void stage_with_parts(void* data, int gids, int lids, int imports, ZOLTAN_ID_PTR,
                               ZOLTAN_ID_PTR, int* from, int*, int exports, ZOLTAN_ID_PTR,
                               ZOLTAN_ID_PTR ids, int* to, int* parts, int* code) {
    static_cast<Watched*>(data)->called(
        letter, static_cast<char>(letter - 'a' + 'A'),
        seen_of(gids, lids, imports, from, exports, ids, to, parts));
    *code = ZOLTAN_OK;
  }
  template <char letter>
  static void stage(void* data, int gids, int lids, int imports, ZOLTAN_ID_PTR, ZOLTAN_ID_PTR,
                    int* from, int exports, ZOLTAN_ID_PTR, ZOLTAN_ID_PTR ids, int* to, int* code) {
    static_cast<Watched*>(data)->called(
        letter, letter, seen_of(gids, lids, imports, from, exports, ids, to, nullptr));
    *code = ZOLTAN_OK;
  }

  AttachedLine& line_;
};

class AttachedCallbacks : public testing::TestWithParam<Watched::Form> {
 protected:
  AttachedCallbacks() {
    line.attach();
    line.set("AUTO_MIGRATE", "TRUE");
  }
  /// What has to run, once, where objects change their ranks.
  static std::string all_in_order() {
    return GetParam() == Watched::plain        ? "amz"
           : GetParam() == Watched::with_parts ? "AMZ"
                                               : "AaMmZz";
  }

  AttachedLine line;
};

TEST_P(AttachedCallbacks, GetNoListsWhereNoneAreAsked) {
  line.set("RETURN_LISTS", "NONE");
  Watched watched(line, GetParam());
  EXPECT_TRUE(all_ranks(line.lb_partition() == ZOLTAN_OK)) << line.printed;
  EXPECT_EQ(watched.order, size() > 1 ? all_in_order() : "");
  for (const SeenLists& seen : watched.lists) EXPECT_EQ(seen, (SeenLists{-1, -1, {}, {}, {}, {}}));
}

TEST_P(AttachedCallbacks, GetTheListsThatAreReturned) {
  for (const char* const asked : {"ALL", "IMPORT", "EXPORT", "PARTS"}) {
    SCOPED_TRACE(asked);
    AttachedLine other;
    other.attach();
    other.set("AUTO_MIGRATE", "TRUE");
    other.set("RETURN_LISTS", asked);
    Watched watched(other, GetParam());
    const ZoltanLists lists(other.zoltan);
    EXPECT_TRUE(all_ranks(lists.code() == ZOLTAN_OK));
    EXPECT_EQ(watched.order, size() > 1 ? all_in_order() : "");
    if (size() == 1) continue;  // Zoltan gives empty ones
    EXPECT_EQ(lists.imports().count >= 0, asked[0] == 'A' || asked[0] == 'I');
    EXPECT_EQ(lists.exports().count >= 0, asked[0] != 'I');
    SeenLists returned{lists.imports().count, lists.exports().count, {}, {}, {}, {}};
    for (int k = 0; k < returned.imports; ++k) returned.from.push_back(lists.imports().procs[k]);
    for (int k = 0; k < returned.exports; ++k) {
      returned.lids.push_back(lists.exports().lids[k]);
      returned.to.push_back(lists.exports().procs[k]);
      returned.parts.push_back(lists.exports().parts[k]);
    }
    for (std::size_t k = 0; k < watched.lists.size(); ++k) {
      if (std::islower(watched.order[k]) != 0) watched.lists[k].parts = returned.parts;
      EXPECT_EQ(watched.lists[k], returned) << watched.order[k];
    }
  }
}

TEST_P(AttachedCallbacks, GetTheListsOfTheUser) {
  line.set("RETURN_LISTS", "NONE");
  line.set("NUM_GID_ENTRIES", "2");
  Watched watched(line, GetParam());
  EXPECT_TRUE(all_ranks(line.migrate_on() == ZOLTAN_OK)) << line.printed;
  EXPECT_EQ(watched.order, all_in_order()) << "as in stock Zoltan, also where nothing changes";
  for (const SeenLists& seen : watched.lists) {
    EXPECT_EQ(seen.imports, -1);
    EXPECT_EQ(seen.exports, static_cast<int>(AttachedLine::each));
    EXPECT_EQ(seen.to, std::vector<int>(AttachedLine::each, (rank() + 1) % size()));
  }
}

TEST_P(AttachedCallbacks, DoNotRunWhereNothingChanges) {
  line.set("RETURN_LISTS", "NONE");
  line.attached->partition();
  // Sorted along the line by now.
  std::vector<std::uint64_t> before(
      line.number.begin(), line.number.begin() + static_cast<long>(line.attached->count()));
  Watched watched(line, GetParam());
  watched.then = [](char) { ADD_FAILURE() << "called"; };
  line.set("LB_METHOD", "BLOCK");
  EXPECT_FALSE(line.attached->partition());
  EXPECT_EQ(watched.order, "");
  before.resize(line.number.size());
  EXPECT_TRUE(std::equal(before.begin(), before.begin() + static_cast<long>(line.attached->count()),
                         line.number.begin()));
}

TEST_P(AttachedCallbacks, OfSomeRanksRunThere) {
  std::optional<Watched> watched;
  if (is_odd()) watched.emplace(line, Watched::plain);
  // It would look at what all ranks have.
  Zoltan_Set_Post_Migrate_Fn(line.zoltan, nullptr, nullptr);
  EXPECT_TRUE(all_ranks(line.lb_partition() == ZOLTAN_OK)) << line.printed;
  EXPECT_TRUE(line.is_whole());
  EXPECT_EQ(watched ? watched->order : "", is_odd() && size() > 1 ? "am" : "");
}

TEST_P(AttachedCallbacks, MayRegisterOthers) {
  line.set("RETURN_LISTS", "NONE");
  std::optional<Watched> watched;
  std::string order;
  Watched first(line, GetParam());
  for (const ZOLTAN_FN_TYPE type : {ZOLTAN_MID_MIGRATE_FN_TYPE, ZOLTAN_MID_MIGRATE_PP_FN_TYPE,
                                    ZOLTAN_POST_MIGRATE_FN_TYPE, ZOLTAN_POST_MIGRATE_PP_FN_TYPE})
    Zoltan_Set_Fn(line.zoltan, type, nullptr, nullptr);
  first.then = [&](char) { watched.emplace(line, GetParam()); };
  line.attached->partition();
  EXPECT_EQ(watched ? watched->order : "", size() == 1 ? "" : all_in_order().substr(1));
  EXPECT_EQ(watched.has_value(), size() > 1);
}

TEST_P(AttachedCallbacks, AheadMayEnlargeTheArrays) {
  if (size() == 1) return;
  AttachedLine small(AttachedLine::each + 1);
  small.attach();
  small.make_uneven();
  small.give_parts();
  expect_refused(small, ErrorCode::infeasible, {"13 slots"});
  Watched watched(small, GetParam());
  watched.then = [&](char letter) {
    if (letter != 'a') return;
    const std::size_t slots = AttachedLine::each * static_cast<std::size_t>(size());
    small.place.resize(slots);
    small.work.resize(slots);
    small.number.resize(slots);
    small.id.resize(slots);
    small.parts.resize(slots, rank());
  };
  EXPECT_EQ(outcome_of([&] { small.attached->partition(); }).text, "");
  EXPECT_TRUE(small.is_whole());
  EXPECT_TRUE(std::ranges::all_of(std::span(small.parts).first(small.attached->count()),
                                  [](int part) { return part == rank(); }));
}

std::string name_of_form(const testing::TestParamInfo<Watched::Form>& tested) {
  return tested.param == Watched::plain ? "Plain" : tested.param == Watched::both ? "Both" : "PP";
}
INSTANTIATE_TEST_SUITE_P(Forms, AttachedCallbacks,
                         testing::Values(Watched::plain, Watched::with_parts, Watched::both),
                         name_of_form);

}  // namespace
}  // namespace valet::test
