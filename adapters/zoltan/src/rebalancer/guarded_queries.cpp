// SPDX-License-Identifier: BSD-3-Clause
#include "rebalancer/guarded_queries.hpp"

#include "base/memory_reserve.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <tuple>
#include <type_traits>

namespace valet::zoltan {
namespace {

using rebalance::Objects;

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

}  // namespace

#define VALET_GUARD(name, ...)                                                  \
  guard<ZOLTAN_##name##_FN __VA_OPT__(, ) __VA_ARGS__>(ZOLTAN_##name##_FN_TYPE, \
                                                       "ZOLTAN_" #name "_FN")

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

}  // namespace valet::zoltan
