// SPDX-License-Identifier: BSD-3-Clause
#include "rebalancer/queries.hpp"

#include "handle/structure.hpp"
#include "rebalancer/guarded_queries.hpp"

#include <algorithm>
#include <array>
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
  const auto count = static_cast<std::size_t>(answers_.weights.objects().count);
  const auto gids = static_cast<std::size_t>(entries.gid);
  const int dimensions = std::max(0, followed_number(zoltan_, "OBJ_WEIGHT_DIM").value_or(0));
  int error = ZOLTAN_OK;
  if (application_.objects && count > 0) {
    Array<ZOLTAN_ID_TYPE> global_ids(ledger, count * gids);
    Array<ZOLTAN_ID_TYPE> local_ids(ledger, count * static_cast<std::size_t>(entries.lid));
    Array<float> weights(ledger, count * static_cast<std::size_t>(dimensions));
    call<ZOLTAN_OBJ_LIST_FN>(zoltan_, ZOLTAN_OBJ_LIST_FN_TYPE, entries.gid, entries.lid,
                             global_ids.data(), local_ids.data(), dimensions, weights.data(),
                             &error);
  }
  int lists = 0, pins = 0, format = ZOLTAN_COMPRESSED_EDGE;
  if (has(ZOLTAN_HG_SIZE_CS_FN_TYPE) && has(ZOLTAN_HG_CS_FN_TYPE))
    call<ZOLTAN_HG_SIZE_CS_FN>(zoltan_, ZOLTAN_HG_SIZE_CS_FN_TYPE, &lists, &pins, &format, &error);
  if (lists > 0 && pins > 0) {
    Array<ZOLTAN_ID_TYPE> ids(ledger, static_cast<std::size_t>(lists) * gids);
    Array<ZOLTAN_ID_TYPE> pin_ids(ledger, static_cast<std::size_t>(pins) * gids);
    Array<int> first(ledger, static_cast<std::size_t>(lists) + 1);
    call<ZOLTAN_HG_CS_FN>(zoltan_, ZOLTAN_HG_CS_FN_TYPE, entries.gid, lists, pins, format,
                          ids.data(), first.data(), pin_ids.data(), &error);
  }
  const int edge_weights = std::max(0, followed_number(zoltan_, "EDGE_WEIGHT_DIM").value_or(0));
  int edges = 0;
  if (edge_weights > 0 && has(ZOLTAN_HG_SIZE_EDGE_WTS_FN_TYPE) && has(ZOLTAN_HG_EDGE_WTS_FN_TYPE))
    call<ZOLTAN_HG_SIZE_EDGE_WTS_FN>(zoltan_, ZOLTAN_HG_SIZE_EDGE_WTS_FN_TYPE, &edges, &error);
  if (edges > 0) {
    const auto told = static_cast<std::size_t>(edges);
    Array<ZOLTAN_ID_TYPE> global_ids(ledger, told * gids);
    Array<ZOLTAN_ID_TYPE> local_ids(ledger, told * static_cast<std::size_t>(entries.lid));
    Array<float> weights(ledger, told * static_cast<std::size_t>(edge_weights));
    call<ZOLTAN_HG_EDGE_WTS_FN>(zoltan_, ZOLTAN_HG_EDGE_WTS_FN_TYPE, entries.gid, entries.lid,
                                edges, edge_weights, global_ids.data(), local_ids.data(),
                                weights.data(), &error);
  }
  int fixed = 0;
  if (has(ZOLTAN_NUM_FIXED_OBJ_FN_TYPE) && has(ZOLTAN_FIXED_OBJ_LIST_FN_TYPE))
    fixed = call<ZOLTAN_NUM_FIXED_OBJ_FN>(zoltan_, ZOLTAN_NUM_FIXED_OBJ_FN_TYPE, &error);
  if (fixed > 0) {
    Array<ZOLTAN_ID_TYPE> ids(ledger, static_cast<std::size_t>(fixed) * gids);
    Array<int> parts(ledger, static_cast<std::size_t>(fixed));
    call<ZOLTAN_FIXED_OBJ_LIST_FN>(zoltan_, ZOLTAN_FIXED_OBJ_LIST_FN_TYPE, fixed, entries.gid,
                                   ids.data(), parts.data(), &error);
  }
}

Queries::~Queries() {
  // Those that were there first come last: to set a function for one object removes that for many,
  // and the other way round.
  for (auto one = replaced_.rbegin(); one != replaced_.rend(); ++one)
    Zoltan_Set_Fn(zoltan_, one->type, one->before.function, one->before.data);
}

}  // namespace valet::zoltan
