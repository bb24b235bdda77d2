// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Objects on a line, attached to a Zoltan_Struct, for whoever bends what belongs to them.

#include "gathered.hpp"
#include "test_comm.hpp"
#include "zoltan_lists.hpp"
#include <valet/zoltan/attached.hpp>
#include <valet/zoltan/valet_zoltan.h>

namespace valet::test {

/// Object k of rank r has the number each * r + k. Where there are other ranks, a partition by RCB
/// moves most objects.
class AttachedLine {
 public:
  static constexpr std::uint64_t each = 12;

  explicit AttachedLine(std::uint64_t slots = 4 * each)
      : place(slots), work(slots, 1), number(slots), id(slots), zoltan(structure()) {
    for (std::uint64_t k = 0; k < each; ++k) {
      place[k] = static_cast<double>(k) + 0.1 * rank();
      number[k] = number_at(k);
      id[k] = static_cast<std::uint32_t>(number_at(k));
    }
  }
  AttachedLine(const AttachedLine&) = delete;
  AttachedLine& operator=(const AttachedLine&) = delete;
  ~AttachedLine() { Zoltan_Destroy(&zoltan); }

  static Zoltan_Struct* structure() {
    float version = 0;
    Zoltan_Initialize(0, nullptr, &version);
    Zoltan_Struct* const made = Zoltan_Create(MPI_COMM_WORLD);
    Zoltan_Set_Param(made, "DEBUG_LEVEL", "0");
    return made;
  }
  static std::uint64_t number_at(std::uint64_t slot) {
    return each * static_cast<std::uint64_t>(rank()) + slot;
  }
  [[nodiscard]] BlockStorage storage() {
    return {field(valet::ref(place)), field(valet::ref(work)), field(valet::ref(number)),
            field(valet::ref(id))};
  }
  zoltan::Attached& attach(const zoltan::AttachedOptions& options = {}) {
    attached.emplace(zoltan, each, storage(), options);
    attached->coordinates(array_columns(valet::ref(place), 1));
    return *attached;
  }
  void give_parts() {
    parts.assign(place.size(), rank());
    attached->parts(valet::ref(parts));
  }
  /// The last rank then gets all objects but a few.
  void make_uneven() {
    work.front() = 1000;
    attached->weights(array_columns(valet::ref(work), 1));
  }
  void set(const char* name, const std::string& value) {
    EXPECT_EQ(Zoltan_Set_Param(zoltan, name, value.c_str()), ZOLTAN_OK) << name;
  }

  /// Keeps what a call prints. @return Its code.
  template <class Call>
  int quietly(Call&& call) {
    testing::internal::CaptureStderr();
    const int code = call();
    printed = testing::internal::GetCapturedStderr();
    return code;
  }
  int lb_partition() {
    return quietly([this] { return ZoltanLists(zoltan).code(); });
  }
  /// Sends the object in every slot to the next rank.
  int migrate_on() {
    std::vector<ZOLTAN_ID_TYPE> gids, lids;
    for (std::uint64_t k = 0; k < attached->count(); ++k)
      lids.push_back(static_cast<ZOLTAN_ID_TYPE>(k));
    gids.resize(2 * lids.size());
    std::vector<int> procs(lids.size(), (rank() + 1) % size());
    return quietly([&] {
      return Zoltan_Migrate(zoltan, -1, nullptr, nullptr, nullptr, nullptr,
                            static_cast<int>(lids.size()), gids.data(), lids.data(), procs.data(),
                            nullptr);
    });
  }

  /// Whether nothing has moved on this rank.
  [[nodiscard]] bool has_first_content() const {
    bool good = !attached || attached->count() == each;
    for (std::uint64_t k = 0; k < each; ++k) good = good && number[k] == number_at(k);
    return good;
  }
  /// Whether nothing has moved on any rank.
  [[nodiscard]] bool is_untouched() const {
    return all_ranks(has_first_content() &&
                     std::ranges::all_of(parts, [](int part) { return part == rank(); }));
  }
  [[nodiscard]] bool is_whole() const {
    return lost_or_doubled(number, attached->count(), each * static_cast<std::uint64_t>(size())) ==
           0;
  }

  std::vector<double> place, work;
  std::vector<std::uint64_t> number;
  std::vector<std::uint32_t> id;
  std::vector<int> parts;
  Zoltan_Struct* zoltan;
  std::optional<zoltan::Attached> attached;
  std::string printed;
};

/// Expects that a call of Zoltan's is refused on all ranks, that rank 0 prints one line with these
/// words, no other rank more than a line, and that nothing has moved. Collective.
template <class Call>
void expect_fatal(AttachedLine& line, const std::vector<std::string>& words, Call&& call,
                  int expected = ZOLTAN_FATAL) {
  const int code = call();
  EXPECT_TRUE(all_ranks(code == expected)) << code << ": " << line.printed;
  if (rank() == 0) expect_words(line.printed, words);
  const auto lines = std::ranges::count(line.printed, '\n');
  EXPECT_TRUE(all_ranks(lines <= 1 && (lines == 1 || rank() != 0))) << line.printed;
  EXPECT_TRUE(line.is_untouched()) << line.printed;
}

/// The same for Zoltan_LB_Partition() with AUTO_MIGRATE and RETURN_LISTS NONE, and for partition().
inline void expect_refused(AttachedLine& line, ErrorCode code,
                           const std::vector<std::string>& words) {
  line.set("AUTO_MIGRATE", "1");
  line.set("RETURN_LISTS", "NONE");
  expect_fatal(
      line, words, [&] { return line.lb_partition(); },
      code == ErrorCode::out_of_memory ? ZOLTAN_MEMERR : ZOLTAN_FATAL);
  expect_error(outcome_of([&] { line.attached->partition(); }), code, words);
  EXPECT_TRUE(line.is_untouched());
}

/// And for Zoltan_Migrate(), too.
inline void expect_all_refused(AttachedLine& line, ErrorCode code,
                               const std::vector<std::string>& words) {
  expect_refused(line, code, words);
  expect_fatal(
      line, words, [&] { return line.migrate_on(); },
      code == ErrorCode::out_of_memory ? ZOLTAN_MEMERR : ZOLTAN_FATAL);
}

/// Nothing is wrong any more: a partition moves the objects, and no object is lost. Collective.
inline void expect_works(AttachedLine& line) {
  const Outcome outcome = outcome_of([&] { line.attached->partition(); });
  EXPECT_TRUE(all_ranks(outcome.code == ErrorCode::success)) << outcome.text;
  EXPECT_TRUE(line.is_whole());
  EXPECT_EQ(line.is_untouched(), size() == 1);
}

/// An application behind callbacks, which Zoltan asks and tells.
struct PackedObjects {
  std::vector<ZOLTAN_ID_TYPE> ids;
  int weights_asked = 0;
  /// The code of the function for objects (0), for a place (1) and for many places (2).
  std::function<int(int)> fails = [](int) { return ZOLTAN_OK; };

  PackedObjects() {
    for (int k = 0; k < 4; ++k) ids.push_back(static_cast<ZOLTAN_ID_TYPE>(4 * rank() + k));
  }
  void register_with(Zoltan_Struct* zoltan) {
    Zoltan_Set_Num_Obj_Fn(
        zoltan,
        [](void* data, int* code) {
          *code = ZOLTAN_OK;
          return static_cast<int>(of(data).size());
        },
        this);
    Zoltan_Set_Obj_List_Fn(
        zoltan,
        [](void* data, int, int, ZOLTAN_ID_PTR gids, ZOLTAN_ID_PTR lids, int weights, float* weight,
           int* code) {
          static_cast<PackedObjects*>(data)->weights_asked = weights;
          *code = static_cast<PackedObjects*>(data)->fails(0);
          for (const ZOLTAN_ID_TYPE id : of(data)) *gids++ = *lids++ = id;
          std::fill_n(weight, of(data).size() * static_cast<std::size_t>(weights), 1.0F);
        },
        this);
    Zoltan_Set_Num_Geom_Fn(
        zoltan,
        [](void*, int* code) {
          *code = ZOLTAN_OK;
          return 1;
        },
        this);
    Zoltan_Set_Geom_Fn(
        zoltan,
        [](void* data, int, int, ZOLTAN_ID_PTR gid, ZOLTAN_ID_PTR, double* place, int* code) {
          *code = static_cast<PackedObjects*>(data)->fails(1);
          *place = *gid % 4;
        },
        this);
  }
  void register_many_places(Zoltan_Struct* zoltan) {
    Zoltan_Set_Geom_Multi_Fn(
        zoltan,
        [](void* data, int, int, int count, ZOLTAN_ID_PTR gids, ZOLTAN_ID_PTR, int, double* places,
           int* code) {
          *code = static_cast<PackedObjects*>(data)->fails(2);
          for (int k = 0; k < count; ++k) places[k] = gids[k];
        },
        this);
  }
  void register_packing(Zoltan_Struct* zoltan) {
    Zoltan_Set_Obj_Size_Fn(
        zoltan,
        [](void*, int, int, ZOLTAN_ID_PTR, ZOLTAN_ID_PTR, int* code) {
          *code = ZOLTAN_OK;
          return 8;
        },
        this);
    Zoltan_Set_Pack_Obj_Fn(
        zoltan,
        [](void* data, int, int, ZOLTAN_ID_PTR gid, ZOLTAN_ID_PTR, int, int, char*, int* code) {
          std::erase(of(data), *gid);
          *code = ZOLTAN_OK;
        },
        this);
    Zoltan_Set_Unpack_Obj_Fn(
        zoltan,
        [](void* data, int, ZOLTAN_ID_PTR gid, int, char*, int* code) {
          of(data).push_back(*gid);
          *code = ZOLTAN_OK;
        },
        this);
  }
  static std::vector<ZOLTAN_ID_TYPE>& of(void* data) {
    return static_cast<PackedObjects*>(data)->ids;
  }
};

}  // namespace valet::test
