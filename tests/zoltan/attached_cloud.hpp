// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Objects for attached storage that move and change their weights in steps: all of it follows from
/// an id and the step. And what stock Zoltan makes of them.

#include "gathered.hpp"
#include "places.hpp"
#include "zoltan_lists.hpp"
#include <valet/zoltan/attached.hpp>

namespace valet::test {

inline Place cloud_place(std::uint32_t id, int step) {
  Place place = place_of(Spread::dense_corner, id);
  for (std::size_t d = 0; d < place.size(); ++d)
    place[d] = std::fmod(place[d] + 0.3 * step * static_cast<double>(d + 1), 1.0);
  return place;
}
inline float cloud_weight(std::uint32_t id, int step) {
  return static_cast<float>(1 + 3 * chance(id, 20 + static_cast<std::uint64_t>(step)));
}
inline short cloud_payload(std::uint32_t id, std::size_t k) {
  return static_cast<short>(id * 5 + k);
}

/// Of this rank at first: the more the higher, and none on the last of several.
inline std::vector<std::uint32_t> cloud_ids() {
  const auto before = static_cast<std::uint32_t>(20 * rank() * (rank() + 1));
  std::vector<std::uint32_t> ids(
      size() > 1 && rank() == size() - 1 ? 0 : 40 * (static_cast<std::size_t>(rank()) + 1));
  std::iota(ids.begin(), ids.end(), before);
  return ids;
}

/// Objects as an application tells Zoltan of them. Local ids are slots.
struct ToldObjects {
  std::vector<std::uint32_t> ids;
  std::vector<Place> places;
  std::vector<float> weights;
  std::vector<int> parts;  ///< empty: ranks

  ToldObjects() = default;
  ToldObjects(const std::vector<std::uint32_t>& all, int step) : ids(all) {
    for (const std::uint32_t id : ids) {
      places.push_back(cloud_place(id, step));
      weights.push_back(cloud_weight(id, step));
    }
  }

  void tell_objects(Zoltan_Struct* zoltan) {
    Zoltan_Set_Num_Obj_Fn(zoltan, number, this);
    Zoltan_Set_Obj_List_Fn(zoltan, list, this);
  }
  void tell_places(Zoltan_Struct* zoltan) {
    Zoltan_Set_Num_Geom_Fn(zoltan, dimensions, nullptr);
    Zoltan_Set_Geom_Multi_Fn(zoltan, geometry, this);
  }
  void tell_parts(Zoltan_Struct* zoltan) { Zoltan_Set_Part_Multi_Fn(zoltan, part, this); }

 private:
  static const ToldObjects& of(void* data) { return *static_cast<ToldObjects*>(data); }
  static int number(void* data, int* code) {
    *code = ZOLTAN_OK;
    return static_cast<int>(of(data).ids.size());
  }
  /// The last word of a global id is the id.
  static void list(void* data, int words, int, ZOLTAN_ID_PTR gids, ZOLTAN_ID_PTR lids, int weighted,
                   float* weights, int* code) {
    for (std::size_t k = 0; k < of(data).ids.size(); ++k, gids += words) {
      std::fill_n(gids, words, 3U);
      gids[words - 1] = of(data).ids[k];
      lids[k] = static_cast<ZOLTAN_ID_TYPE>(k);
      if (weighted > 0) weights[k] = of(data).weights[k];
    }
    *code = ZOLTAN_OK;
  }
  static int dimensions(void*, int* code) {
    *code = ZOLTAN_OK;
    return 3;
  }
  static void geometry(void* data, int, int, int count, ZOLTAN_ID_PTR, ZOLTAN_ID_PTR lids, int,
                       double* next, int* code) {
    for (int k = 0; k < count; ++k) next = std::copy_n(of(data).places[lids[k]].begin(), 3, next);
    *code = ZOLTAN_OK;
  }
  static void part(void* data, int, int, int count, ZOLTAN_ID_PTR, ZOLTAN_ID_PTR lids, int* parts,
                   int* code) {
    for (int k = 0; k < count; ++k) parts[k] = of(data).parts[lids[k]];
    *code = ZOLTAN_OK;
  }
};

/// A structure without storage that partitions the same objects.
class StockCloud {
 public:
  explicit StockCloud(const ZoltanParameters& parameters) {
    for (const auto& [name, value] : parameters) zoltan_.set(name, value);
    objects.tell_objects(zoltan_.get());
    objects.tell_places(zoltan_.get());
  }
  StockCloud(const StockCloud&) = delete;
  StockCloud& operator=(const StockCloud&) = delete;
  ~StockCloud() = default;

  /// Partitions the objects. Collective.
  const ZoltanLists& partition() {
    if (!objects.parts.empty()) objects.tell_parts(zoltan_.get());
    lists_.emplace(zoltan_.get());
    EXPECT_TRUE(all_ranks(zoltan_.code() == ZOLTAN_OK && lists_->code() == ZOLTAN_OK));
    ranks_ = gathered(lists_->ranks(objects.ids.size(), rank()));
    ids_ = gathered(objects.ids);
    return *lists_;
  }
  [[nodiscard]] const ZoltanLists& lists() const { return *lists_; }
  ZoltanHandle& handle() { return zoltan_; }
  /// The rank of each object of this rank.
  [[nodiscard]] const std::vector<int>& ranks() const { return row_of(ranks_, rank()); }
  /// The ids in the slots of this rank when they have moved there. Local.
  [[nodiscard]] std::vector<std::uint32_t> ids_after(Order order, std::size_t block_bytes) const {
    std::vector<std::uint32_t> ids;
    const GlobalContent content = content_by_ranks(map_to(ranks_), order, block_bytes);
    for (const auto& from : row_of(content, rank()))
      if (from) ids.push_back(row_of(ids_, from->rank)[from->slot]);
    return ids;
  }

  ToldObjects objects;

 private:
  ZoltanHandle zoltan_;
  std::optional<ZoltanLists> lists_;
  std::vector<std::vector<int>> ranks_;
  std::vector<std::vector<std::uint32_t>> ids_;
};

/// Objects in vectors. The storage refers to them.
struct VectorCloud {
  std::vector<std::uint32_t> id;
  std::vector<double> place;
  std::vector<float> weight;

  VectorCloud(const std::vector<std::uint32_t>& ids, std::size_t slots, int step = 0) {
    resize(slots);
    for (std::size_t k = 0; k < ids.size(); ++k) write(k, ids[k], step);
  }
  void resize(std::size_t slots) {
    id.resize(slots);
    place.resize(3 * slots);
    weight.resize(slots);
  }
  void write(std::size_t slot, std::uint32_t of, int step) {
    const Place at = cloud_place(of, step);
    id[slot] = of;
    std::ranges::copy(at, place.begin() + static_cast<std::ptrdiff_t>(3 * slot));
    weight[slot] = cloud_weight(of, step);
  }
  [[nodiscard]] bool has(std::size_t slot, std::uint32_t of, int step) const {
    const Place at = cloud_place(of, step);
    return slot < id.size() && id[slot] == of && weight[slot] == cloud_weight(of, step) &&
           std::equal(at.begin(), at.end(), place.begin() + static_cast<std::ptrdiff_t>(3 * slot));
  }
  /// Whether these objects are in the first slots, and no other counts.
  [[nodiscard]] bool has_all(const std::vector<std::uint32_t>& ids, std::uint64_t count,
                             int step = 0) const {
    bool right = count == ids.size();
    for (std::size_t k = 0; k < ids.size(); ++k) right = right && has(k, ids[k], step);
    return right;
  }
  [[nodiscard]] BlockStorage storage() {
    return {field(valet::ref(id)), field(valet::ref(place), 3), field(valet::ref(weight))};
  }
  static constexpr std::size_t block_bytes = 4 + 3 * 8 + 4;
  zoltan::Attached attach(const ZoltanHandle& zoltan, std::uint64_t count,
                          const zoltan::AttachedOptions& options = {}) {
    zoltan::Attached cells(zoltan.get(), count, storage(), options);
    cells.coordinates(array_columns(valet::ref(place), 3))
        .weights(array_columns(valet::ref(weight), 1))
        .ids(array_columns(valet::ref(id), 1));
    return cells;
  }
};

}  // namespace valet::test
