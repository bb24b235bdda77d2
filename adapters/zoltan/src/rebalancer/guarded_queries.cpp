// SPDX-License-Identifier: BSD-3-Clause
#include "rebalancer/guarded_queries.hpp"

#include "base/memory_reserve.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <type_traits>

namespace valet::zoltan {
namespace {

using rebalance::Objects;

// Functions of the application. One that fails is not called again, and Zoltan goes on with what is
// left, which must not let this rank fail alone: no numbers, no edges, edges from an object to
// itself.

/// @return What it returns, 0 where it returns nothing; none where it, or another before, failed.
template <class Function, class... Arguments>
std::optional<int> ask(const void* data, int* error, Arguments... arguments) {
  const GuardedQuery& query = *static_cast<const GuardedQuery*>(data);
  std::optional<int> answer;
  query.objects->failure.attempt(query.name, [&] {
    const valet::detail::LeaveReserve leave;
    auto* const function = reinterpret_cast<Function*>(query.function);
    int number = 0;
    *error = ZOLTAN_OK;
    if constexpr (std::is_void_v<std::invoke_result_t<Function*, void*, Arguments..., int*>>)
      function(query.data, arguments..., error);
    else
      number = function(query.data, arguments..., error);
    if (*error < 0) throw std::runtime_error("it returned an error");
    answer = number;
  });
  *error = ZOLTAN_OK;
  return answer;
}

template <class T>
void clear(T* numbers, std::uint64_t count, int words = 1) {
  std::fill_n(numbers, count * static_cast<std::uint64_t>(words), T{});
}

void list_nothing(const Objects& objects, int gids, int lids, ZOLTAN_ID_PTR global_ids,
                  ZOLTAN_ID_PTR local_ids, int dimensions, float* weights) {
  clear(global_ids, objects.count, gids);
  for (std::uint64_t k = 0; k < objects.count * static_cast<std::uint64_t>(lids); ++k)
    local_ids[k] = static_cast<ZOLTAN_ID_TYPE>(k / static_cast<std::uint64_t>(lids));
  clear(weights, objects.count, dimensions);
}

void guarded_list(void* data, int gids, int lids, ZOLTAN_ID_PTR global_ids, ZOLTAN_ID_PTR local_ids,
                  int dimensions, float* weights, int* error) {
  if (!ask<ZOLTAN_OBJ_LIST_FN>(data, error, gids, lids, global_ids, local_ids, dimensions, weights))
    list_nothing(*static_cast<GuardedQuery*>(data)->objects, gids, lids, global_ids, local_ids,
                 dimensions, weights);
}

/// From functions for the first object and for the one behind another.
void list_one_by_one(void* data, int gids, int lids, ZOLTAN_ID_PTR global_ids,
                     ZOLTAN_ID_PTR local_ids, int dimensions, float* weights, int* error) {
  const GuardedQuery& first = *static_cast<GuardedQuery*>(data);
  const Objects& objects = *first.objects;
  const auto then = registered(first.zoltan, ZOLTAN_NEXT_OBJ_FN_TYPE);
  const GuardedQuery next{first.zoltan, &objects, "ZOLTAN_NEXT_OBJ_FN", then.function, then.data};
  std::optional<int> found = ask<ZOLTAN_FIRST_OBJ_FN>(&first, error, gids, lids, global_ids,
                                                      local_ids, dimensions, weights);
  ZOLTAN_ID_PTR gid = global_ids, lid = local_ids;
  for (std::uint64_t k = 1; found && k < objects.count; ++k, gid += gids, lid += lids)
    found =
        ask<ZOLTAN_NEXT_OBJ_FN>(&next, error, gids, lids, gid, lid, gid + gids, lid + lids,
                                dimensions, weights + k * static_cast<std::uint64_t>(dimensions));
  if (!found) list_nothing(objects, gids, lids, global_ids, local_ids, dimensions, weights);
}

/// One coordinate is as many as are known here.
void guarded_place(void* data, int gids, int lids, ZOLTAN_ID_PTR global_id, ZOLTAN_ID_PTR local_id,
                   double* place, int* error) {
  if (!ask<ZOLTAN_GEOM_FN>(data, error, gids, lids, global_id, local_id, place)) *place = 0;
}

void guarded_places(void* data, int gids, int lids, int count, ZOLTAN_ID_PTR global_ids,
                    ZOLTAN_ID_PTR local_ids, int dimensions, double* places, int* error) {
  if (!ask<ZOLTAN_GEOM_MULTI_FN>(data, error, gids, lids, count, global_ids, local_ids, dimensions,
                                 places))
    clear(places, static_cast<std::uint64_t>(count), dimensions);
}

int guarded_dimensions(void* data, int* error) {
  return ask<ZOLTAN_NUM_GEOM_FN>(data, error).value_or(0);
}

int guarded_part(void* data, int gids, int lids, ZOLTAN_ID_PTR global_id, ZOLTAN_ID_PTR local_id,
                 int* error) {
  return ask<ZOLTAN_PART_FN>(data, error, gids, lids, global_id, local_id).value_or(0);
}

void guarded_parts(void* data, int gids, int lids, int count, ZOLTAN_ID_PTR global_ids,
                   ZOLTAN_ID_PTR local_ids, int* parts, int* error) {
  if (!ask<ZOLTAN_PART_MULTI_FN>(data, error, gids, lids, count, global_ids, local_ids, parts))
    clear(parts, static_cast<std::uint64_t>(count));
}

int guarded_edge_count(void* data, int gids, int lids, ZOLTAN_ID_PTR global_id,
                       ZOLTAN_ID_PTR local_id, int* error) {
  return ask<ZOLTAN_NUM_EDGES_FN>(data, error, gids, lids, global_id, local_id).value_or(0);
}

void guarded_edge_counts(void* data, int gids, int lids, int count, ZOLTAN_ID_PTR global_ids,
                         ZOLTAN_ID_PTR local_ids, int* edges, int* error) {
  if (!ask<ZOLTAN_NUM_EDGES_MULTI_FN>(data, error, gids, lids, count, global_ids, local_ids, edges))
    clear(edges, static_cast<std::uint64_t>(count));
}

void lead_back(const Objects& objects, int gids, int count, ZOLTAN_ID_PTR global_ids,
               const int* edges, ZOLTAN_ID_PTR neighbours, int* ranks, int dimensions,
               float* weights) {
  for (int k = 0; k < count; ++k)
    for (int e = 0; e < edges[k]; ++e) {
      neighbours = std::copy_n(global_ids + k * gids, gids, neighbours);
      *ranks++ = objects.rank;
      weights = std::fill_n(weights, dimensions, 1.0F);
    }
}

void guarded_edges(void* data, int gids, int lids, int count, ZOLTAN_ID_PTR global_ids,
                   ZOLTAN_ID_PTR local_ids, int* edges, ZOLTAN_ID_PTR neighbours, int* ranks,
                   int dimensions, float* weights, int* error) {
  if (!ask<ZOLTAN_EDGE_LIST_MULTI_FN>(data, error, gids, lids, count, global_ids, local_ids, edges,
                                      neighbours, ranks, dimensions, weights))
    lead_back(*static_cast<GuardedQuery*>(data)->objects, gids, count, global_ids, edges,
              neighbours, ranks, dimensions, weights);
}

void edges_one_by_one(void* data, int gids, int lids, int count, ZOLTAN_ID_PTR global_ids,
                      ZOLTAN_ID_PTR local_ids, int* edges, ZOLTAN_ID_PTR neighbours, int* ranks,
                      int dimensions, float* weights, int* error) {
  std::uint64_t first = 0;
  std::optional<int> told = 0;
  for (int k = 0; told && k < count; first += static_cast<std::uint64_t>(edges[k++]))
    told = ask<ZOLTAN_EDGE_LIST_FN>(
        data, error, gids, lids, global_ids + k * gids, local_ids + k * lids,
        neighbours + first * static_cast<std::uint64_t>(gids), ranks + first, dimensions,
        weights + first * static_cast<std::uint64_t>(dimensions));
  if (!told)
    lead_back(*static_cast<GuardedQuery*>(data)->objects, gids, count, global_ids, edges,
              neighbours, ranks, dimensions, weights);
}

void guarded_hyperedge_counts(void* data, int* lists, int* pins, int* format, int* error) {
  if (ask<ZOLTAN_HG_SIZE_CS_FN>(data, error, lists, pins, format)) return;
  *lists = *pins = 0;
  *format = ZOLTAN_COMPRESSED_EDGE;
}

void guarded_hyperedges(void* data, int gids, int lists, int pins, int format, ZOLTAN_ID_PTR ids,
                        int* first, ZOLTAN_ID_PTR pin_ids, int* error) {
  if (ask<ZOLTAN_HG_CS_FN>(data, error, gids, lists, pins, format, ids, first, pin_ids)) return;
  clear(ids, static_cast<std::uint64_t>(lists), gids);
  std::fill_n(first, lists, pins);
  clear(pin_ids, static_cast<std::uint64_t>(pins), gids);
}

void guarded_weight_count(void* data, int* count, int* error) {
  if (!ask<ZOLTAN_HG_SIZE_EDGE_WTS_FN>(data, error, count)) *count = 0;
}

void guarded_weights(void* data, int gids, int lids, int count, int dimensions,
                     ZOLTAN_ID_PTR global_ids, ZOLTAN_ID_PTR local_ids, float* weights,
                     int* error) {
  if (ask<ZOLTAN_HG_EDGE_WTS_FN>(data, error, gids, lids, count, dimensions, global_ids, local_ids,
                                 weights))
    return;
  clear(global_ids, static_cast<std::uint64_t>(count), gids);
  clear(local_ids, static_cast<std::uint64_t>(count), lids);
  clear(weights, static_cast<std::uint64_t>(count), dimensions);
}

int guarded_fixed_count(void* data, int* error) {
  return ask<ZOLTAN_NUM_FIXED_OBJ_FN>(data, error).value_or(0);
}

void guarded_fixed(void* data, int count, int gids, ZOLTAN_ID_PTR global_ids, int* parts,
                   int* error) {
  if (ask<ZOLTAN_FIXED_OBJ_LIST_FN>(data, error, count, gids, global_ids, parts)) return;
  clear(global_ids, static_cast<std::uint64_t>(count), gids);
  clear(parts, static_cast<std::uint64_t>(count));
}

}  // namespace

Registered<ZOLTAN_VOID_FN> registered(Zoltan_Struct* zoltan, ZOLTAN_FN_TYPE type) {
  Registered<ZOLTAN_VOID_FN> found;
  if (Zoltan_Get_Fn(zoltan, type, &found.function, &found.data) < 0) found.function = nullptr;
  return found;
}

const std::array<Guard, 17>& guards() {
  static const std::array<Guard, 17> all{
      {{ZOLTAN_OBJ_LIST_FN_TYPE, "ZOLTAN_OBJ_LIST_FN", untyped<ZOLTAN_OBJ_LIST_FN>(guarded_list)},
       {ZOLTAN_FIRST_OBJ_FN_TYPE, "ZOLTAN_FIRST_OBJ_FN",
        untyped<ZOLTAN_OBJ_LIST_FN>(list_one_by_one), ZOLTAN_OBJ_LIST_FN_TYPE,
        ZOLTAN_NEXT_OBJ_FN_TYPE},
       {ZOLTAN_NUM_GEOM_FN_TYPE, "ZOLTAN_NUM_GEOM_FN",
        untyped<ZOLTAN_NUM_GEOM_FN>(guarded_dimensions)},
       {ZOLTAN_GEOM_FN_TYPE, "ZOLTAN_GEOM_FN", untyped<ZOLTAN_GEOM_FN>(guarded_place)},
       {ZOLTAN_GEOM_MULTI_FN_TYPE, "ZOLTAN_GEOM_MULTI_FN",
        untyped<ZOLTAN_GEOM_MULTI_FN>(guarded_places)},
       {ZOLTAN_PART_FN_TYPE, "ZOLTAN_PART_FN", untyped<ZOLTAN_PART_FN>(guarded_part)},
       {ZOLTAN_PART_MULTI_FN_TYPE, "ZOLTAN_PART_MULTI_FN",
        untyped<ZOLTAN_PART_MULTI_FN>(guarded_parts)},
       {ZOLTAN_NUM_EDGES_FN_TYPE, "ZOLTAN_NUM_EDGES_FN",
        untyped<ZOLTAN_NUM_EDGES_FN>(guarded_edge_count)},
       {ZOLTAN_NUM_EDGES_MULTI_FN_TYPE, "ZOLTAN_NUM_EDGES_MULTI_FN",
        untyped<ZOLTAN_NUM_EDGES_MULTI_FN>(guarded_edge_counts)},
       {ZOLTAN_EDGE_LIST_MULTI_FN_TYPE, "ZOLTAN_EDGE_LIST_MULTI_FN",
        untyped<ZOLTAN_EDGE_LIST_MULTI_FN>(guarded_edges)},
       {ZOLTAN_EDGE_LIST_FN_TYPE, "ZOLTAN_EDGE_LIST_FN",
        untyped<ZOLTAN_EDGE_LIST_MULTI_FN>(edges_one_by_one), ZOLTAN_EDGE_LIST_MULTI_FN_TYPE,
        ZOLTAN_EDGE_LIST_FN_TYPE},
       {ZOLTAN_HG_SIZE_CS_FN_TYPE, "ZOLTAN_HG_SIZE_CS_FN",
        untyped<ZOLTAN_HG_SIZE_CS_FN>(guarded_hyperedge_counts)},
       {ZOLTAN_HG_CS_FN_TYPE, "ZOLTAN_HG_CS_FN", untyped<ZOLTAN_HG_CS_FN>(guarded_hyperedges)},
       {ZOLTAN_HG_SIZE_EDGE_WTS_FN_TYPE, "ZOLTAN_HG_SIZE_EDGE_WTS_FN",
        untyped<ZOLTAN_HG_SIZE_EDGE_WTS_FN>(guarded_weight_count)},
       {ZOLTAN_HG_EDGE_WTS_FN_TYPE, "ZOLTAN_HG_EDGE_WTS_FN",
        untyped<ZOLTAN_HG_EDGE_WTS_FN>(guarded_weights)},
       {ZOLTAN_NUM_FIXED_OBJ_FN_TYPE, "ZOLTAN_NUM_FIXED_OBJ_FN",
        untyped<ZOLTAN_NUM_FIXED_OBJ_FN>(guarded_fixed_count)},
       {ZOLTAN_FIXED_OBJ_LIST_FN_TYPE, "ZOLTAN_FIXED_OBJ_LIST_FN",
        untyped<ZOLTAN_FIXED_OBJ_LIST_FN>(guarded_fixed)}}};
  return all;
}

}  // namespace valet::zoltan
