// SPDX-License-Identifier: BSD-3-Clause
#include "forest.hpp"

#include <p8est_bits.h>
#include <p8est_extended.h>
#include <p8est_vtk.h>

#include <algorithm>

namespace amr {
namespace {

/// p4est counts in smaller units from version 2.3 on, too small for a LeafKey. Nothing is lost:
/// leaves are larger than our units.
constexpr int unit_shift = P8EST_MAXLEVEL - root_level;
static_assert(unit_shift >= 0, "p4est has at least our levels");

int refine_wished(p8est_t*, p4est_topidx_t, p8est_quadrant_t* quadrant) {
  return quadrant->p.user_int == static_cast<int>(Wish::refine) ? 1 : 0;
}

int coarsen_wished(p8est_t*, p4est_topidx_t, p8est_quadrant_t* siblings[]) {
  return std::all_of(siblings, siblings + P8EST_CHILDREN,
                     [](const p8est_quadrant_t* quadrant) {
                       return quadrant->p.user_int == static_cast<int>(Wish::coarsen);
                     })
             ? 1
             : 0;
}

int weight_of(p8est_t*, p4est_topidx_t, p8est_quadrant_t* quadrant) { return quadrant->p.user_int; }

void wish_nothing(p8est_t*, p4est_topidx_t, p8est_quadrant_t* quadrant) {
  quadrant->p.user_int = static_cast<int>(Wish::keep);
}

Leaf leaf_at(const p8est_quadrant_t& quadrant) {
  return {{static_cast<std::uint32_t>(quadrant.x >> unit_shift),
           static_cast<std::uint32_t>(quadrant.y >> unit_shift),
           static_cast<std::uint32_t>(quadrant.z >> unit_shift)},
          quadrant.level};
}

struct DestroyArray {
  void operator()(sc_array_t* array) const { sc_array_destroy(array); }
};

}  // namespace

ForestLibrary::ForestLibrary(MPI_Comm communicator) {
  sc_init(communicator, 0, 0, nullptr, SC_LP_ERROR);
  p4est_init(nullptr, SC_LP_ERROR);
}
ForestLibrary::~ForestLibrary() { sc_finalize(); }

void Forest::Destroy::operator()(p8est* forest) const { p8est_destroy(forest); }

Forest::Forest(MPI_Comm communicator, int level)
    : connectivity_(p8est_connectivity_new_periodic(), p8est_connectivity_destroy),
      forest_(p8est_new_ext(communicator, connectivity_.get(), 0, level, 1, 0, nullptr, nullptr)) {
  cut_evenly();
}

Forest::Forest(p8est* forest, std::shared_ptr<p8est_connectivity> connectivity)
    : connectivity_(std::move(connectivity)), forest_(forest) {}

/// Calls action(leaf index, quadrant). The cube is one tree.
template <class Action>
void Forest::for_each_local(Action&& action) const {
  if (forest_->local_num_quadrants == 0) return;
  auto first = static_cast<LeafIndex>(forest_->global_first_quadrant[forest_->mpirank]);
  sc_array_t& quadrants = p8est_tree_array_index(forest_->trees, 0)->quadrants;
  for (std::size_t k = 0; k < quadrants.elem_count; ++k)
    action(static_cast<LeafIndex>(first + k), *p8est_quadrant_array_index(&quadrants, k));
}

std::vector<LeafKey> Forest::keys() const {
  std::vector<LeafKey> own;
  for_each_local([&](LeafIndex, const p8est_quadrant_t& quadrant) {
    own.push_back(key_of(leaf_at(quadrant)));
  });
  const auto ranks = static_cast<std::size_t>(forest_->mpisize);
  std::vector<int> counts(ranks);
  std::vector<int> displs(ranks);
  for (std::size_t r = 0; r < ranks; ++r) {
    displs[r] = static_cast<int>(forest_->global_first_quadrant[r]);
    counts[r] = static_cast<int>(forest_->global_first_quadrant[r + 1]) - displs[r];
  }
  std::vector<LeafKey> all(static_cast<std::size_t>(forest_->global_num_quadrants));
  MPI_Allgatherv(own.data(), static_cast<int>(own.size()), MPI_UINT64_T, all.data(), counts.data(),
                 displs.data(), MPI_UINT64_T, forest_->mpicomm);
  return all;
}

Forest Forest::adapted(std::span<const Wish> wishes) {
  cut_evenly();
  Forest target(p8est_copy(forest_.get(), 0), connectivity_);
  target.for_each_local([&](LeafIndex leaf, p8est_quadrant_t& quadrant) {
    quadrant.p.user_int = static_cast<int>(wishes[leaf]);
  });
  p8est_coarsen(target.forest_.get(), 0, coarsen_wished, wish_nothing);
  p8est_refine(target.forest_.get(), 0, refine_wished, wish_nothing);
  p8est_balance(target.forest_.get(), P8EST_CONNECT_FACE, wish_nothing);
  return target;
}

void Forest::cut_evenly() { p8est_partition(forest_.get(), 1, nullptr); }

std::vector<int> Forest::cut(std::span<const int> weights) {
  for_each_local(
      [&](LeafIndex leaf, p8est_quadrant_t& quadrant) { quadrant.p.user_int = weights[leaf]; });
  p8est_partition(forest_.get(), 1, weight_of);
  std::vector<int> ranks(weights.size());
  for (int rank = 0; rank < forest_->mpisize; ++rank)
    std::fill(ranks.begin() + forest_->global_first_quadrant[rank],
              ranks.begin() + forest_->global_first_quadrant[rank + 1], rank);
  return ranks;
}

bool Forest::write_vtk(const std::string& base, std::span<const LeafColumn, 3> columns) const {
  // p4est asks for every array in one call with a variable number of arguments.
  constexpr std::size_t most = std::span<const LeafColumn, 3>::extent;
  std::unique_ptr<sc_array_t, DestroyArray> arrays[most];
  for (std::size_t c = 0; c < most; ++c) {
    arrays[c].reset(
        sc_array_new_count(sizeof(double), static_cast<std::size_t>(forest_->local_num_quadrants)));
    std::size_t k = 0;
    for_each_local([&](LeafIndex leaf, const p8est_quadrant_t&) {
      *static_cast<double*>(sc_array_index(arrays[c].get(), k++)) = columns[c].values[leaf];
    });
  }
  p8est_vtk_context_t* context = p8est_vtk_context_new(forest_.get(), base.c_str());
  p8est_vtk_context_set_scale(context, 1);
  int failed = 1;
  context = p8est_vtk_write_header(context);
  // With the owners in the mesh as well: p4est 2.2 loses memory when it writes levels without them,
  // and aborts over that at its end.
  if (context != nullptr)
    context = p8est_vtk_write_cell_dataf(
        context, 0, 1, 1, 0, static_cast<int>(most), 0, columns[0].name, arrays[0].get(),
        columns[1].name, arrays[1].get(), columns[2].name, arrays[2].get(), context);
  if (context != nullptr) failed = p8est_vtk_write_footer(context) != 0 ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, forest_->mpicomm);
  return failed == 0;
}

}  // namespace amr
