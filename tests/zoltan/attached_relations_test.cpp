// SPDX-License-Identifier: BSD-3-Clause

// Query functions of the application that fail on one rank while Zoltan partitions attached objects
// by their relations or places: Zoltan would return on that rank, and the others wait for it.

#include "attached_line.hpp"

namespace valet::test {
namespace {

/// Objects on a ring, of which the application tells all that Zoltan asks.
class ToldRing {
 public:
  explicit ToldRing(AttachedLine& line) : line_(line) {
    line.set("LB_APPROACH", "PARTITION");
    line.set("GRAPH_PACKAGE", "PHG");
    line.attached->ids(array_columns(valet::ref(line.id), 1));
  }

  void tell_list() { set(ZOLTAN_OBJ_LIST_FN_TYPE, list); }
  void tell_one_by_one() {
    set(ZOLTAN_FIRST_OBJ_FN_TYPE, first);
    set(ZOLTAN_NEXT_OBJ_FN_TYPE, next);
  }
  void tell_places() {
    set(ZOLTAN_NUM_GEOM_FN_TYPE, place_dimensions);
    set(ZOLTAN_GEOM_MULTI_FN_TYPE, places);
  }
  void tell_edges(bool at_once) {
    if (at_once) {
      set(ZOLTAN_NUM_EDGES_MULTI_FN_TYPE, edge_counts);
      set(ZOLTAN_EDGE_LIST_MULTI_FN_TYPE, edge_lists);
    } else {
      set(ZOLTAN_NUM_EDGES_FN_TYPE, edge_count);
      set(ZOLTAN_EDGE_LIST_FN_TYPE, edge_list);
    }
  }
  void tell_pins(int format) {
    format_ = format;
    set(ZOLTAN_HG_SIZE_CS_FN_TYPE, pin_counts);
    set(ZOLTAN_HG_CS_FN_TYPE, pins);
    set(ZOLTAN_HG_SIZE_EDGE_WTS_FN_TYPE, weight_count);
    set(ZOLTAN_HG_EDGE_WTS_FN_TYPE, weights);
    line_.set("EDGE_WEIGHT_DIM", "1");
  }
  void tell_fixed() {
    set(ZOLTAN_NUM_FIXED_OBJ_FN_TYPE, fixed_count);
    set(ZOLTAN_FIXED_OBJ_LIST_FN_TYPE, fixed);
  }
  void tell_parts(bool at_once) {
    if (at_once)
      set(ZOLTAN_PART_MULTI_FN_TYPE, parts);
    else
      set(ZOLTAN_PART_FN_TYPE, part);
  }

  /// Partitions when each of these has failed. Collective.
  void expect_errors_of_all(const std::string& method, const std::vector<std::string>& names) {
    line_.set("LB_METHOD", method);
    for (const std::string& name : names)
      for (const bool throws : {false, true}) {
        SCOPED_TRACE(method + " " + name + (throws ? " throws" : ""));
        failing_ = name;
        throws_ = throws;
        expect_refused(line_, ErrorCode::callback_failed,
                       {odd_name(), "ZOLTAN_" + name + "_FN failed",
                        throws ? "no mesh" : "it returned an error", "nothing has moved"});
      }
    failing_.clear();
    EXPECT_EQ(outcome_of([&] { line_.attached->partition(); }).text, "");
    EXPECT_TRUE(line_.is_whole());
  }

 private:
  static constexpr int each = AttachedLine::each;
  static ZOLTAN_ID_TYPE id_at(int k) { return static_cast<ZOLTAN_ID_TYPE>(each * rank() + k); }
  static ZOLTAN_ID_TYPE beside(ZOLTAN_ID_TYPE id, int step) {
    const auto all = static_cast<ZOLTAN_ID_TYPE>(each * size());
    return (id + all + static_cast<ZOLTAN_ID_TYPE>(step)) % all;
  }
  template <class Function>
  void set(ZOLTAN_FN_TYPE type, Function* function) {
    Zoltan_Set_Fn(line_.zoltan, type, reinterpret_cast<ZOLTAN_VOID_FN*>(function), this);
  }
  static int answer(void* data, const char* name) {
    const ToldRing& ring = *static_cast<ToldRing*>(data);
    if (ring.failing_ != name || !is_odd()) return ZOLTAN_OK;
    if (ring.throws_) throw std::runtime_error("no mesh");
    return ZOLTAN_FATAL;
  }

  static void list(void* data, int, int, ZOLTAN_ID_PTR gids, ZOLTAN_ID_PTR lids, int, float*,
                   int* code) {
    for (int k = 0; k < each; ++k) {
      gids[k] = id_at(k);
      lids[k] = static_cast<ZOLTAN_ID_TYPE>(k);
    }
    *code = answer(data, "OBJ_LIST");
  }
  static int first(void* data, int, int, ZOLTAN_ID_PTR gid, ZOLTAN_ID_PTR lid, int, float*,
                   int* code) {
    *gid = id_at(0);
    *lid = 0;
    *code = answer(data, "FIRST_OBJ");
    return 1;
  }
  static int next(void* data, int, int, ZOLTAN_ID_PTR, ZOLTAN_ID_PTR lid, ZOLTAN_ID_PTR next_gid,
                  ZOLTAN_ID_PTR next_lid, int, float*, int* code) {
    *next_lid = *lid + 1;
    *next_gid = id_at(static_cast<int>(*next_lid));
    *code = *lid == 5 ? answer(data, "NEXT_OBJ") : ZOLTAN_OK;
    return 1;
  }
  static int place_dimensions(void* data, int* code) {
    *code = answer(data, "NUM_GEOM");
    return *code == ZOLTAN_OK ? 2 : 0;
  }
  static void places(void* data, int, int, int count, ZOLTAN_ID_PTR, ZOLTAN_ID_PTR lids, int,
                     double* places, int* code) {
    for (int k = 0; k < count; ++k) *places++ = lids[k], *places++ = rank();
    *code = answer(data, "GEOM_MULTI");
  }
  static int edge_count(void* data, int, int, ZOLTAN_ID_PTR, ZOLTAN_ID_PTR lid, int* code) {
    *code = *lid == 5 ? answer(data, "NUM_EDGES") : ZOLTAN_OK;
    return 2;
  }
  static void put_edges(ZOLTAN_ID_TYPE id, ZOLTAN_ID_PTR to, int* ranks) {
    for (const int step : {-1, 1}) {
      *to = beside(id, step);
      *ranks++ = static_cast<int>(*to++) / each;
    }
  }
  static void edge_list(void* data, int, int, ZOLTAN_ID_PTR gid, ZOLTAN_ID_PTR lid,
                        ZOLTAN_ID_PTR to, int* ranks, int, float*, int* code) {
    put_edges(*gid, to, ranks);
    *code = *lid == 5 ? answer(data, "EDGE_LIST") : ZOLTAN_OK;
  }
  static void edge_counts(void* data, int, int, int count, ZOLTAN_ID_PTR, ZOLTAN_ID_PTR, int* edges,
                          int* code) {
    std::fill_n(edges, count, 2);
    *code = answer(data, "NUM_EDGES_MULTI");
  }
  static void edge_lists(void* data, int, int, int count, ZOLTAN_ID_PTR gids, ZOLTAN_ID_PTR, int*,
                         ZOLTAN_ID_PTR to, int* ranks, int, float*, int* code) {
    *code = answer(data, "EDGE_LIST_MULTI");
    if (*code != ZOLTAN_OK) return;
    for (int k = 0; k < count; ++k) put_edges(gids[k], to + 2 * k, ranks + 2 * k);
  }
  /// Every object is in an edge of its number, with the next one.
  static void pin_counts(void* data, int* lists, int* pins, int* format, int* code) {
    *code = answer(data, "HG_SIZE_CS");
    if (*code != ZOLTAN_OK) return;
    *lists = each;
    *pins = 2 * each;
    *format = static_cast<ToldRing*>(data)->format_;
  }
  static void pins(void* data, int, int lists, int, int format, ZOLTAN_ID_PTR ids, int* first,
                   ZOLTAN_ID_PTR pins, int* code) {
    *code = answer(data, "HG_CS");
    if (*code != ZOLTAN_OK) return;
    for (int k = 0; k < lists; ++k) {
      ids[k] = pins[2 * k] = id_at(k);
      pins[2 * k + 1] = beside(id_at(k), format == ZOLTAN_COMPRESSED_EDGE ? 1 : -1);
      first[k] = 2 * k;
    }
  }
  static void weight_count(void* data, int* count, int* code) {
    *count = each;
    *code = answer(data, "HG_SIZE_EDGE_WTS");
  }
  static void weights(void* data, int, int, int count, int, ZOLTAN_ID_PTR ids, ZOLTAN_ID_PTR,
                      float* weights, int* code) {
    *code = answer(data, "HG_EDGE_WTS");
    if (*code != ZOLTAN_OK) return;
    for (int k = 0; k < count; ++k) ids[k] = id_at(k);
    std::fill_n(weights, count, 2.0F);
  }
  static int fixed_count(void* data, int* code) {
    *code = answer(data, "NUM_FIXED_OBJ");
    return 1;
  }
  static void fixed(void* data, int, int, ZOLTAN_ID_PTR ids, int* parts, int* code) {
    *code = answer(data, "FIXED_OBJ_LIST");
    if (*code != ZOLTAN_OK) return;
    *ids = id_at(3);
    *parts = rank();
  }
  static int part(void* data, int, int, ZOLTAN_ID_PTR, ZOLTAN_ID_PTR lid, int* code) {
    *code = *lid == 5 ? answer(data, "PART") : ZOLTAN_OK;
    return rank();
  }
  static void parts(void* data, int, int, int count, ZOLTAN_ID_PTR, ZOLTAN_ID_PTR, int* parts,
                    int* code) {
    std::fill_n(parts, count, rank());
    *code = answer(data, "PART_MULTI");
  }

  AttachedLine& line_;
  std::string failing_;
  bool throws_ = false;
  int format_ = ZOLTAN_COMPRESSED_EDGE;
};

TEST(AttachedRelations, ThatAreAskedOneByOneFailOnAllRanks) {
  for (const char* const method : {"GRAPH", "HYPERGRAPH"}) {
    AttachedLine line;
    line.attach();
    ToldRing ring(line);
    ring.tell_one_by_one();
    ring.tell_edges(false);
    ring.tell_parts(false);
    ring.expect_errors_of_all(method, {"FIRST_OBJ", "NEXT_OBJ", "NUM_EDGES", "EDGE_LIST", "PART"});
  }
}

TEST(AttachedRelations, ThatAreAskedAtOnceFailOnAllRanks) {
  for (const char* const method : {"GRAPH", "HYPERGRAPH"}) {
    AttachedLine line;
    line.attach();
    ToldRing ring(line);
    ring.tell_list();
    ring.tell_edges(true);
    ring.tell_fixed();
    ring.tell_parts(true);
    ring.expect_errors_of_all(method, {"OBJ_LIST", "NUM_EDGES_MULTI", "EDGE_LIST_MULTI",
                                       "NUM_FIXED_OBJ", "FIXED_OBJ_LIST", "PART_MULTI"});
  }
}

TEST(AttachedRelations, OfHyperedgesFailOnAllRanks) {
  for (const int format : {ZOLTAN_COMPRESSED_EDGE, ZOLTAN_COMPRESSED_VERTEX})
    for (const bool lists : {false, true}) {
      AttachedLine line;
      line.attach();
      ToldRing ring(line);
      if (lists) ring.tell_list();
      ring.tell_pins(format);
      ring.expect_errors_of_all("HYPERGRAPH",
                                {"HG_SIZE_CS", "HG_CS", "HG_SIZE_EDGE_WTS", "HG_EDGE_WTS"});
    }
}

TEST(AttachedRelations, OfPlacesFailOnAllRanks) {
  for (const char* const method : {"RCB", "RIB", "HSFC"}) {
    AttachedLine line;
    line.attach();
    ToldRing ring(line);
    ring.tell_one_by_one();
    ring.tell_places();
    ring.tell_parts(true);
    ring.expect_errors_of_all(method,
                              {"FIRST_OBJ", "NEXT_OBJ", "NUM_GEOM", "GEOM_MULTI", "PART_MULTI"});
  }
}

TEST(AttachedRelations, HaveAsManyCoordinatesOnAllRanks) {
  if (size() == 1) return;
  AttachedLine line;
  line.attach();
  Zoltan_Set_Num_Geom_Fn(
      line.zoltan,
      [](void*, int* code) {
        *code = ZOLTAN_OK;
        return is_odd() ? 2 : 3;
      },
      nullptr);
  Zoltan_Set_Geom_Multi_Fn(
      line.zoltan,
      [](void*, int, int, int, ZOLTAN_ID_PTR, ZOLTAN_ID_PTR, int, double*, int*) { std::abort(); },
      nullptr);
  expect_refused(line, ErrorCode::invalid_argument,
                 {"ZOLTAN_NUM_GEOM_FN", "2 on rank " + std::to_string(odd_rank()), "3 on rank"});
}

}  // namespace
}  // namespace valet::test
