// SPDX-License-Identifier: BSD-3-Clause
#include "rebalancer/queries.hpp"

#include "base/memory_reserve.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
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

/// Calls a function of the application.
template <class Function, class... Arguments>
void call_guarded(void* data, int* error, Arguments... arguments) {
  const GuardedQuery& query = *static_cast<GuardedQuery*>(data);
  query.objects->failure.attempt(query.name, [&] {
    const valet::detail::LeaveReserve leave;
    *error = ZOLTAN_OK;
    reinterpret_cast<Function*>(query.function)(query.data, arguments..., error);
    if (*error < 0) throw std::runtime_error("it returned an error");
  });
  *error = ZOLTAN_OK;
}

// What a function does not write is zero, or the slot.

void guarded_list(void* data, int gids, int lids, ZOLTAN_ID_PTR global_ids, ZOLTAN_ID_PTR local_ids,
                  int weight_dimensions, float* weights, int* error) {
  const std::uint64_t count = static_cast<GuardedQuery*>(data)->objects->count;
  std::fill_n(global_ids, count * static_cast<std::uint64_t>(gids), 0U);
  for (std::uint64_t k = 0; k < count * static_cast<std::uint64_t>(lids); ++k)
    local_ids[k] = static_cast<ZOLTAN_ID_TYPE>(k / static_cast<std::uint64_t>(lids));
  std::fill_n(weights, count * static_cast<std::uint64_t>(weight_dimensions), 0.0F);
  call_guarded<ZOLTAN_OBJ_LIST_FN>(data, error, gids, lids, global_ids, local_ids,
                                   weight_dimensions, weights);
}

void guarded_place(void* data, int gids, int lids, ZOLTAN_ID_PTR global_id, ZOLTAN_ID_PTR local_id,
                   double* place, int* error) {
  *place = 0;
  call_guarded<ZOLTAN_GEOM_FN>(data, error, gids, lids, global_id, local_id, place);
}

void guarded_places(void* data, int gids, int lids, int count, ZOLTAN_ID_PTR global_ids,
                    ZOLTAN_ID_PTR local_ids, int dimensions, double* places, int* error) {
  std::fill_n(places, static_cast<std::size_t>(count) * static_cast<std::size_t>(dimensions), 0.0);
  call_guarded<ZOLTAN_GEOM_MULTI_FN>(data, error, gids, lids, count, global_ids, local_ids,
                                     dimensions, places);
}

struct Found {
  ZOLTAN_VOID_FN* function = nullptr;
  void* data = nullptr;
};

Found registered(Zoltan_Struct* zoltan, ZOLTAN_FN_TYPE type) {
  Found found;
  if (Zoltan_Get_Fn(zoltan, type, &found.function, &found.data) < 0) found.function = nullptr;
  return found;
}

template <class Function>
ZOLTAN_VOID_FN* untyped(Function* function) {
  return reinterpret_cast<ZOLTAN_VOID_FN*>(function);
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
    if (registered(zoltan, queries[k].first).function != nullptr) all |= std::int64_t{1} << k;
  count = has(0);
  objects = has(1) || has(2);
  geometry = has(3) || has(4) || has(5);
  parts = has(6) || has(7);
  fixed = has(15) || has(16);
}

int RegisteredQueries::count_objects(Zoltan_Struct* zoltan, int& code) {
  const Found found = registered(zoltan, ZOLTAN_NUM_OBJ_FN_TYPE);
  return reinterpret_cast<ZOLTAN_NUM_OBJ_FN*>(found.function)(found.data, &code);
}

Queries::Queries(Zoltan_Struct* zoltan, const Answers& answers)
    : zoltan_(zoltan), answers_(answers) {
  const RegisteredQueries application(zoltan);
  replaced_.reserve(8);
  guard(ZOLTAN_OBJ_LIST_FN_TYPE, "ZOLTAN_OBJ_LIST_FN", untyped<ZOLTAN_OBJ_LIST_FN>(guarded_list));
  guard(ZOLTAN_GEOM_FN_TYPE, "ZOLTAN_GEOM_FN", untyped<ZOLTAN_GEOM_FN>(guarded_place));
  guard(ZOLTAN_GEOM_MULTI_FN_TYPE, "ZOLTAN_GEOM_MULTI_FN",
        untyped<ZOLTAN_GEOM_MULTI_FN>(guarded_places));
  if (!application.objects) {
    set(ZOLTAN_NUM_OBJ_FN_TYPE, untyped<ZOLTAN_NUM_OBJ_FN>(number_of_objects), &answers_);
    set(ZOLTAN_OBJ_LIST_FN_TYPE, untyped<ZOLTAN_OBJ_LIST_FN>(list_of_objects), &answers_);
  }
  if (!application.geometry && answers.weights.objects().coordinates.size > 0) {
    set(ZOLTAN_NUM_GEOM_FN_TYPE, untyped<ZOLTAN_NUM_GEOM_FN>(number_of_coordinates), &answers_);
    set(ZOLTAN_GEOM_MULTI_FN_TYPE, untyped<ZOLTAN_GEOM_MULTI_FN>(list_of_coordinates), &answers_);
  }
  if (!application.parts && !answers.parts.empty())
    set(ZOLTAN_PART_MULTI_FN_TYPE, untyped<ZOLTAN_PART_MULTI_FN>(list_of_parts), &answers_);
}

void Queries::guard(ZOLTAN_FN_TYPE type, const char* name, ZOLTAN_VOID_FN* function) {
  const Found own = registered(zoltan_, type);
  if (own.function == nullptr) return;
  guarded_[guarded_count_] = {&answers_.weights.objects(), name, own.function, own.data};
  set(type, function, &guarded_[guarded_count_++]);
}

void Queries::set(ZOLTAN_FN_TYPE type, ZOLTAN_VOID_FN* function, const void* data) {
  const Found before = registered(zoltan_, type);
  replaced_.push_back({type, before.function, before.data});
  Zoltan_Set_Fn(zoltan_, type, function, const_cast<void*>(data));
}

Queries::~Queries() {
  for (const Replaced& each : replaced_)
    Zoltan_Set_Fn(zoltan_, each.type, each.function, each.data);
}

}  // namespace valet::zoltan
