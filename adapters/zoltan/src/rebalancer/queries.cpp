// SPDX-License-Identifier: BSD-3-Clause
#include "rebalancer/queries.hpp"

#include "base/memory_reserve.hpp"
#include "handle/structure.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <tuple>
#include <type_traits>
#include <utility>

namespace valet::zoltan {
namespace {

/// Objects whose coordinates are read at a time.
constexpr std::size_t numbers_at_a_time = 512;

const Answers& answers_of(void* data) { return *static_cast<const Answers*>(data); }
const ZoltanWeights& weights_of(void* data) { return answers_of(data).weights; }
const Objects& objects_of(void* data) { return weights_of(data).objects(); }

int number_of_objects(void* data, int* error) {
  *error = ZOLTAN_OK;
  return static_cast<int>(objects_of(data).count);
}

/// Zero where it cannot be read. Zoltan is not told: other ranks would wait for this one.
double number_of(const Objects& objects, const Columns& columns, std::size_t c,
                 std::uint64_t slot) {
  double number = 0;
  objects.failure.attempt(Objects::activity, [&] { number = columns.number(c, slot); });
  return number;
}

void list_of_objects(void* data, int, int, ZOLTAN_ID_PTR global_ids, ZOLTAN_ID_PTR local_ids,
                     int weight_dimensions, float* weights, int* error) {
  const Objects& objects = objects_of(data);
  const auto dimensions = static_cast<std::size_t>(weight_dimensions);
  for (std::uint64_t k = 0; k < objects.count; ++k) {
    if (objects.ids.size == 0) {
      *global_ids++ = static_cast<ZOLTAN_ID_TYPE>(objects.rank);
      *global_ids++ = static_cast<ZOLTAN_ID_TYPE>(k);
    }
    for (std::size_t e = 0; e < objects.ids.size; ++e)
      *global_ids++ = static_cast<ZOLTAN_ID_TYPE>(number_of(objects, objects.ids, e, k));
    local_ids[k] = static_cast<ZOLTAN_ID_TYPE>(k);
    for (std::size_t d = 0; d < dimensions; ++d)
      weights[dimensions * k + d] =
          d == 0                     ? weights_of(data)[k]
          : d < objects.weights.size ? static_cast<float>(number_of(objects, objects.weights, d, k))
                                     : 1.0F;
  }
  *error = ZOLTAN_OK;
}

int number_of_coordinates(void* data, int* error) {
  *error = ZOLTAN_OK;
  return static_cast<int>(objects_of(data).coordinates.size);
}

void list_of_coordinates(void* data, int, int, int count, ZOLTAN_ID_PTR, ZOLTAN_ID_PTR local_ids,
                         int dimensions, double* coordinates, int* error) {
  const Objects& objects = objects_of(data);
  std::array<std::uint32_t, numbers_at_a_time> slots{};
  std::array<Columns::Numbers, numbers_at_a_time> points{};
  for (int first = 0; first < count;) {
    const int read = std::min(count - first, static_cast<int>(numbers_at_a_time));
    std::copy_n(local_ids + first, read, slots.begin());
    const std::span<const std::uint32_t> list(slots.data(), static_cast<std::size_t>(read));
    objects.failure.attempt(Objects::activity,
                            [&] { objects.coordinates.gather(list, points.data()); });
    for (std::size_t k = 0; k < list.size(); ++k)
      coordinates = std::copy_n(points[k].begin(), dimensions, coordinates);
    first += read;
  }
  *error = ZOLTAN_OK;
}

/// Local ids may be the application's: one that is no slot is found when the partition is there.
void list_of_parts(void* data, int, int words, int count, ZOLTAN_ID_PTR, ZOLTAN_ID_PTR local_ids,
                   int* parts, int* error) {
  const std::span<const int> known = answers_of(data).parts;
  for (int k = 0; k < count; ++k, local_ids += words) {
    const std::size_t slot = words > 0 ? *local_ids : known.size();
    parts[k] = slot < known.size() ? known[slot] : 0;
  }
  *error = ZOLTAN_OK;
}

int told_dimensions(void* data, int* error) {
  *error = ZOLTAN_OK;
  return *static_cast<const int*>(data);
}

/// Calls what Zoltan would.
template <class Function, class... Arguments>
auto call(Zoltan_Struct* zoltan, ZOLTAN_FN_TYPE type, Arguments... arguments) {
  const Registered<ZOLTAN_VOID_FN> found = registered(zoltan, type);
  return reinterpret_cast<Function*>(found.function)(found.data, arguments...);
}

constexpr std::array queries{std::pair(ZOLTAN_NUM_OBJ_FN_TYPE, "NUM_OBJ"),
                             std::pair(ZOLTAN_OBJ_LIST_FN_TYPE, "OBJ_LIST"),
                             std::pair(ZOLTAN_FIRST_OBJ_FN_TYPE, "FIRST_OBJ"),
                             std::pair(ZOLTAN_NUM_GEOM_FN_TYPE, "NUM_GEOM"),
                             std::pair(ZOLTAN_GEOM_FN_TYPE, "GEOM"),
                             std::pair(ZOLTAN_GEOM_MULTI_FN_TYPE, "GEOM_MULTI"),
                             std::pair(ZOLTAN_PART_FN_TYPE, "PART"),
                             std::pair(ZOLTAN_PART_MULTI_FN_TYPE, "PART_MULTI"),
                             std::pair(ZOLTAN_NEXT_OBJ_FN_TYPE, "NEXT_OBJ"),
                             std::pair(ZOLTAN_NUM_EDGES_FN_TYPE, "NUM_EDGES"),
                             std::pair(ZOLTAN_EDGE_LIST_FN_TYPE, "EDGE_LIST"),
                             std::pair(ZOLTAN_NUM_EDGES_MULTI_FN_TYPE, "NUM_EDGES_MULTI"),
                             std::pair(ZOLTAN_EDGE_LIST_MULTI_FN_TYPE, "EDGE_LIST_MULTI"),
                             std::pair(ZOLTAN_HG_SIZE_CS_FN_TYPE, "HG_SIZE_CS"),
                             std::pair(ZOLTAN_HG_CS_FN_TYPE, "HG_CS"),
                             std::pair(ZOLTAN_NUM_FIXED_OBJ_FN_TYPE, "NUM_FIXED_OBJ"),
                             std::pair(ZOLTAN_FIXED_OBJ_LIST_FN_TYPE, "FIXED_OBJ_LIST"),
                             std::pair(ZOLTAN_HG_SIZE_EDGE_WTS_FN_TYPE, "HG_SIZE_EDGE_WTS"),
                             std::pair(ZOLTAN_NUM_COARSE_OBJ_FN_TYPE, "NUM_COARSE_OBJ"),
                             std::pair(ZOLTAN_COARSE_OBJ_LIST_FN_TYPE, "COARSE_OBJ_LIST"),
                             std::pair(ZOLTAN_FIRST_COARSE_OBJ_FN_TYPE, "FIRST_COARSE_OBJ"),
                             std::pair(ZOLTAN_NUM_CHILD_FN_TYPE, "NUM_CHILD"),
                             std::pair(ZOLTAN_CHILD_LIST_FN_TYPE, "CHILD_LIST"),
                             std::pair(ZOLTAN_CHILD_WEIGHT_FN_TYPE, "CHILD_WEIGHT"),
                             std::pair(ZOLTAN_HIER_NUM_LEVELS_FN_TYPE, "HIER_NUM_LEVELS")};

// Functions of the application, called so that a rank on which one fails does not leave Zoltan
// alone: others would wait for it.

template <class Function>
ZOLTAN_VOID_FN* untyped(Function* function) {
  return reinterpret_cast<ZOLTAN_VOID_FN*>(function);
}

/// Calls a function of the application, unless one has failed before.
/// @param arguments  But for the data; the last one is where its error code goes.
/// @return What it returns, 0 where it returns nothing; none where it failed.
template <class Function, class... Arguments>
std::optional<int> ask(const GuardedQuery& query, Arguments... arguments) {
  int* const error = std::get<sizeof...(Arguments) - 1>(std::tie(arguments...));
  std::optional<int> answer;
  query.objects->failure.attempt(query.name, [&] {
    const valet::detail::LeaveReserve leave;
    auto* const function = reinterpret_cast<Function*>(query.function);
    int number = 0;
    *error = ZOLTAN_OK;
    if constexpr (std::is_void_v<std::invoke_result_t<Function*, void*, Arguments...>>)
      function(query.data, arguments...);
    else
      number = function(query.data, arguments...);
    if (*error < 0) throw std::runtime_error("it returned an error");
    answer = number;
  });
  *error = ZOLTAN_OK;
  return answer;
}

/// Stands in for a function of the application. Where that fails, the answer is the number 0, or
/// that of otherwise(objects, arguments...).
template <class Function, auto otherwise>
struct Guarded;
template <class... Arguments, auto otherwise>
struct Guarded<int(void*, Arguments...), otherwise> {
  static int call(void* data, Arguments... arguments) {
    return ask<int(void*, Arguments...)>(*static_cast<const GuardedQuery*>(data), arguments...)
        .value_or(0);
  }
};
template <class... Arguments, auto otherwise>
struct Guarded<void(void*, Arguments...), otherwise> {
  static void call(void* data, Arguments... arguments) {
    const auto& query = *static_cast<const GuardedQuery*>(data);
    if (!ask<void(void*, Arguments...)>(query, arguments...))
      otherwise(*query.objects, arguments...);
  }
};

template <class Function, auto otherwise = nullptr>
Guard guard(ZOLTAN_FN_TYPE type, const char* name) {
  return {type, name, untyped<Function>(Guarded<Function, otherwise>::call)};
}

// What is left where a function fails must not let this rank fail alone: no numbers, no edges,
// edges from an object to itself.

template <class T>
void clear(T* numbers, std::uint64_t count, int words = 1) {
  std::fill_n(numbers, count * static_cast<std::uint64_t>(words), T{});
}
std::uint64_t number(int count) { return static_cast<std::uint64_t>(count); }

void list_nothing(const Objects& objects, int gids, int lids, ZOLTAN_ID_PTR global_ids,
                  ZOLTAN_ID_PTR local_ids, int dimensions, float* weights, int*) {
  clear(global_ids, objects.count, gids);
  for (std::uint64_t k = 0; k < objects.count * number(lids); ++k)
    local_ids[k] = static_cast<ZOLTAN_ID_TYPE>(k / number(lids));
  clear(weights, objects.count, dimensions);
}

/// From functions for the first object and for the next one.
void list_one_by_one(void* data, int gids, int lids, ZOLTAN_ID_PTR global_ids,
                     ZOLTAN_ID_PTR local_ids, int dimensions, float* weights, int* error) {
  const auto& first = *static_cast<const GuardedQuery*>(data);
  const auto then = registered(first.zoltan, ZOLTAN_NEXT_OBJ_FN_TYPE);
  const GuardedQuery next{first.zoltan, first.objects, "ZOLTAN_NEXT_OBJ_FN", then.function,
                          then.data};
  std::optional<int> found = ask<ZOLTAN_FIRST_OBJ_FN>(first, gids, lids, global_ids, local_ids,
                                                      dimensions, weights, error);
  ZOLTAN_ID_PTR gid = global_ids, lid = local_ids;
  for (std::uint64_t k = 1; found && k < first.objects->count; ++k, gid += gids, lid += lids)
    found = ask<ZOLTAN_NEXT_OBJ_FN>(next, gids, lids, gid, lid, gid + gids, lid + lids, dimensions,
                                    weights + k * number(dimensions), error);
  if (!found)
    list_nothing(*first.objects, gids, lids, global_ids, local_ids, dimensions, weights, error);
}

void put_at_one_place(const Objects&, int, int, int count, ZOLTAN_ID_PTR, ZOLTAN_ID_PTR,
                      int dimensions, double* places, int*) {
  clear(places, number(count), dimensions);
}
/// One coordinate is as many as are known here.
void put_at_zero(const Objects&, int, int, ZOLTAN_ID_PTR, ZOLTAN_ID_PTR, double* place, int*) {
  *place = 0;
}

/// Parts, or numbers of edges.
void count_nothing(const Objects&, int, int, int count, ZOLTAN_ID_PTR, ZOLTAN_ID_PTR, int* numbers,
                   int*) {
  clear(numbers, number(count));
}

void lead_back(const Objects& objects, int gids, int, int count, ZOLTAN_ID_PTR global_ids,
               ZOLTAN_ID_PTR, int* edges, ZOLTAN_ID_PTR neighbours, int* ranks, int dimensions,
               float* weights, int*) {
  for (int k = 0; k < count; ++k, global_ids += gids)
    for (int e = 0; e < edges[k]; ++e) {
      neighbours = std::copy_n(global_ids, gids, neighbours);
      *ranks++ = objects.rank;
      weights = std::fill_n(weights, dimensions, 1.0F);
    }
}

void edges_one_by_one(void* data, int gids, int lids, int count, ZOLTAN_ID_PTR global_ids,
                      ZOLTAN_ID_PTR local_ids, int* edges, ZOLTAN_ID_PTR neighbours, int* ranks,
                      int dimensions, float* weights, int* error) {
  const auto& query = *static_cast<const GuardedQuery*>(data);
  std::uint64_t first = 0;
  std::optional<int> told = 0;
  ZOLTAN_ID_PTR gid = global_ids, lid = local_ids;
  for (int k = 0; told && k < count; first += number(edges[k++]), gid += gids, lid += lids)
    told = ask<ZOLTAN_EDGE_LIST_FN>(query, gids, lids, gid, lid, neighbours + first * number(gids),
                                    ranks + first, dimensions, weights + first * number(dimensions),
                                    error);
  if (!told)
    lead_back(*query.objects, gids, lids, count, global_ids, local_ids, edges, neighbours, ranks,
              dimensions, weights, error);
}

void have_no_pins(const Objects&, int* lists, int* pins, int* format, int*) {
  *lists = *pins = 0;
  *format = ZOLTAN_COMPRESSED_EDGE;
}
/// Edges without any.
void put_no_pins(const Objects&, int gids, int lists, int pins, int, ZOLTAN_ID_PTR ids, int* first,
                 ZOLTAN_ID_PTR pin_ids, int*) {
  clear(ids, number(lists), gids);
  std::fill_n(first, lists, pins);
  clear(pin_ids, number(pins), gids);
}

void have_no_weights(const Objects&, int* count, int*) { *count = 0; }
void put_no_weights(const Objects&, int gids, int lids, int count, int dimensions,
                    ZOLTAN_ID_PTR global_ids, ZOLTAN_ID_PTR local_ids, float* weights, int*) {
  clear(global_ids, number(count), gids);
  clear(local_ids, number(count), lids);
  clear(weights, number(count), dimensions);
}

void fix_nothing(const Objects&, int count, int gids, ZOLTAN_ID_PTR global_ids, int* parts, int*) {
  clear(global_ids, number(count), gids);
  clear(parts, number(count));
}

#define VALET_GUARD(name, ...)                                                  \
  guard<ZOLTAN_##name##_FN __VA_OPT__(, ) __VA_ARGS__>(ZOLTAN_##name##_FN_TYPE, \
                                                       "ZOLTAN_" #name "_FN")

/// Those for which Zoltan can go on with something else. In place of ids of objects, pins or what
/// is fixed that can be wrong enough for Zoltan to end on one rank: see Queries::ask_ahead().
const std::array<Guard, 17>& guards() {
  static const std::array<Guard, 17> all{
      {VALET_GUARD(OBJ_LIST, list_nothing),
       {ZOLTAN_FIRST_OBJ_FN_TYPE, "ZOLTAN_FIRST_OBJ_FN",
        untyped<ZOLTAN_OBJ_LIST_FN>(list_one_by_one), ZOLTAN_OBJ_LIST_FN_TYPE,
        ZOLTAN_NEXT_OBJ_FN_TYPE},
       VALET_GUARD(NUM_GEOM),
       VALET_GUARD(GEOM, put_at_zero),
       VALET_GUARD(GEOM_MULTI, put_at_one_place),
       VALET_GUARD(PART),
       VALET_GUARD(PART_MULTI, count_nothing),
       VALET_GUARD(NUM_EDGES),
       VALET_GUARD(NUM_EDGES_MULTI, count_nothing),
       VALET_GUARD(EDGE_LIST_MULTI, lead_back),
       {ZOLTAN_EDGE_LIST_FN_TYPE, "ZOLTAN_EDGE_LIST_FN",
        untyped<ZOLTAN_EDGE_LIST_MULTI_FN>(edges_one_by_one), ZOLTAN_EDGE_LIST_MULTI_FN_TYPE},
       VALET_GUARD(HG_SIZE_CS, have_no_pins),
       VALET_GUARD(HG_CS, put_no_pins),
       VALET_GUARD(HG_SIZE_EDGE_WTS, have_no_weights),
       VALET_GUARD(HG_EDGE_WTS, put_no_weights),
       VALET_GUARD(NUM_FIXED_OBJ),
       VALET_GUARD(FIXED_OBJ_LIST, fix_nothing)}};
  return all;
}

}  // namespace

std::string RegisteredQueries::names(std::int64_t all) {
  std::string text;
  for (std::size_t k = 0; k < queries.size(); ++k)
    if ((all >> k & 1) != 0) text.append(text.empty() ? "" : " ").append(queries[k].second);
  return text.empty() ? "none" : text;
}

RegisteredQueries::RegisteredQueries(Zoltan_Struct* zoltan) {
  const auto has = [&](std::size_t k) { return (all >> k & 1) != 0; };
  for (std::size_t k = 0; k < queries.size(); ++k)
    if (registered(zoltan, queries[k].first).given()) all |= std::int64_t{1} << k;
  count = has(0);
  objects = has(1) || has(2);
  geometry = has(3) || has(4) || has(5);
  parts = has(6) || has(7);
  fixed = has(15) || has(16);
}

int RegisteredQueries::count_objects(Zoltan_Struct* zoltan, int& code) {
  return call<ZOLTAN_NUM_OBJ_FN>(zoltan, ZOLTAN_NUM_OBJ_FN_TYPE, &code);
}

Queries::Queries(Zoltan_Struct* zoltan, const Answers& answers)
    : zoltan_(zoltan), answers_(answers), application_(zoltan) {
  guarded_.reserve(guards().size());
  replaced_.reserve(2 * guards().size() + 6);
  for (const Guard& one : guards()) guard(one);
  // It was agreed on, or is the caller's.
  set(ZOLTAN_NUM_OBJ_FN_TYPE, untyped<ZOLTAN_NUM_OBJ_FN>(number_of_objects), &answers_);
  if (!application_.objects)
    set(ZOLTAN_OBJ_LIST_FN_TYPE, untyped<ZOLTAN_OBJ_LIST_FN>(list_of_objects), &answers_);
  if (!application_.geometry && answers.weights.objects().coordinates.size > 0) {
    set(ZOLTAN_NUM_GEOM_FN_TYPE, untyped<ZOLTAN_NUM_GEOM_FN>(number_of_coordinates), &answers_);
    set(ZOLTAN_GEOM_MULTI_FN_TYPE, untyped<ZOLTAN_GEOM_MULTI_FN>(list_of_coordinates), &answers_);
  }
  if (!application_.parts && !answers.parts.empty())
    set(ZOLTAN_PART_MULTI_FN_TYPE, untyped<ZOLTAN_PART_MULTI_FN>(list_of_parts), &answers_);
}

void Queries::guard(const Guard& one) {
  const Registered<ZOLTAN_VOID_FN> own = registered(zoltan_, one.type);
  const bool is_asked = one.as == one.type || !has(one.as);
  if (!own.given() || !has(one.needs) || !is_asked) return;
  guarded_.push_back({zoltan_, &answers_.weights.objects(), one.name, own.function, own.data});
  replaced_.push_back({one.type, own});
  set(one.as, one.function, &guarded_.back());
}

void Queries::set(ZOLTAN_FN_TYPE type, ZOLTAN_VOID_FN* function, const void* data) {
  replaced_.push_back({type, registered(zoltan_, type)});
  Zoltan_Set_Fn(zoltan_, type, function, const_cast<void*>(data));
}

std::optional<Diagnostic> Queries::ask_ahead(Ledger& ledger, bool is_graph) {
  const Objects& objects = answers_.weights.objects();
  if (application_.geometry && has(ZOLTAN_NUM_GEOM_FN_TYPE)) {
    int error = ZOLTAN_OK;
    dimensions_ = call<ZOLTAN_NUM_GEOM_FN>(zoltan_, ZOLTAN_NUM_GEOM_FN_TYPE, &error);
    set(ZOLTAN_NUM_GEOM_FN_TYPE, untyped<ZOLTAN_NUM_GEOM_FN>(told_dimensions), &dimensions_);
  }
  if (is_graph)
    if (auto lacking = within_memory("what the application tells of objects",
                                     [&] { read_graph(ledger, probe(zoltan_, {}).entries); }))
      return lacking;
  return objects.diagnostic();
}

/// Calls the functions for which there is nothing that Zoltan could be told in place of their
/// answers: neighbours of an object that has no id are nowhere.
void Queries::read_graph(Ledger& ledger, const EntryCounts& entries) const {
  const auto ids = [&ledger](int count, int words) {
    return Array<ZOLTAN_ID_TYPE>(ledger,
                                 static_cast<std::size_t>(count) * static_cast<std::size_t>(words));
  };
  const auto weights = [&ledger](int count, int dimensions) {
    return Array<float>(ledger,
                        static_cast<std::size_t>(count) * static_cast<std::size_t>(dimensions));
  };
  const auto count = static_cast<int>(answers_.weights.objects().count);
  const int dimensions = std::max(0, followed_number(zoltan_, "OBJ_WEIGHT_DIM").value_or(0));
  int error = ZOLTAN_OK;
  if (application_.objects && count > 0)
    call<ZOLTAN_OBJ_LIST_FN>(zoltan_, ZOLTAN_OBJ_LIST_FN_TYPE, entries.gid, entries.lid,
                             ids(count, entries.gid).data(), ids(count, entries.lid).data(),
                             dimensions, weights(count, dimensions).data(), &error);
  int lists = 0, pins = 0, format = ZOLTAN_COMPRESSED_EDGE;
  if (has(ZOLTAN_HG_SIZE_CS_FN_TYPE) && has(ZOLTAN_HG_CS_FN_TYPE))
    call<ZOLTAN_HG_SIZE_CS_FN>(zoltan_, ZOLTAN_HG_SIZE_CS_FN_TYPE, &lists, &pins, &format, &error);
  if (lists > 0 && pins > 0)
    call<ZOLTAN_HG_CS_FN>(zoltan_, ZOLTAN_HG_CS_FN_TYPE, entries.gid, lists, pins, format,
                          ids(lists, entries.gid).data(),
                          Array<int>(ledger, static_cast<std::size_t>(lists) + 1).data(),
                          ids(pins, entries.gid).data(), &error);
  const int edge_weights = std::max(0, followed_number(zoltan_, "EDGE_WEIGHT_DIM").value_or(0));
  int edges = 0;
  if (edge_weights > 0 && has(ZOLTAN_HG_SIZE_EDGE_WTS_FN_TYPE) && has(ZOLTAN_HG_EDGE_WTS_FN_TYPE))
    call<ZOLTAN_HG_SIZE_EDGE_WTS_FN>(zoltan_, ZOLTAN_HG_SIZE_EDGE_WTS_FN_TYPE, &edges, &error);
  if (edges > 0)
    call<ZOLTAN_HG_EDGE_WTS_FN>(zoltan_, ZOLTAN_HG_EDGE_WTS_FN_TYPE, entries.gid, entries.lid,
                                edges, edge_weights, ids(edges, entries.gid).data(),
                                ids(edges, entries.lid).data(), weights(edges, edge_weights).data(),
                                &error);
  int fixed = 0;
  if (has(ZOLTAN_NUM_FIXED_OBJ_FN_TYPE) && has(ZOLTAN_FIXED_OBJ_LIST_FN_TYPE))
    fixed = call<ZOLTAN_NUM_FIXED_OBJ_FN>(zoltan_, ZOLTAN_NUM_FIXED_OBJ_FN_TYPE, &error);
  if (fixed > 0)
    call<ZOLTAN_FIXED_OBJ_LIST_FN>(
        zoltan_, ZOLTAN_FIXED_OBJ_LIST_FN_TYPE, fixed, entries.gid, ids(fixed, entries.gid).data(),
        Array<int>(ledger, static_cast<std::size_t>(fixed)).data(), &error);
}

Queries::~Queries() {
  // Those that were there first come last: to set a function for one object removes that for many,
  // and the other way round.
  for (auto one = replaced_.rbegin(); one != replaced_.rend(); ++one)
    Zoltan_Set_Fn(zoltan_, one->type, one->before.function, one->before.data);
}

}  // namespace valet::zoltan
