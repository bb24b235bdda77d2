// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// The octree in p4est: which leaves there are, and how its curve is cut. p4est is GPL; this is the
/// only place that includes it.

#include "mesh.hpp"

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

struct p8est;
struct p8est_connectivity;

namespace amr {

/// Initialises p4est and ends it. One, alive while there are forests.
class ForestLibrary {
 public:
  explicit ForestLibrary(MPI_Comm communicator);
  ForestLibrary(const ForestLibrary&) = delete;
  ForestLibrary& operator=(const ForestLibrary&) = delete;
  ~ForestLibrary();
};

/// What shall become of a leaf.
enum class Wish : std::int8_t { coarsen = -1, keep = 0, refine = 1 };

/// A number for each leaf that the VTK files show.
struct LeafColumn {
  const char* name;
  std::span<const double> values;  ///< by leaf index, of all leaves
};

/// A 2:1 balanced octree over the periodic unit cube. All functions are collective.
class Forest {
 public:
  Forest(MPI_Comm communicator, int level);

  /// The leaves of all ranks.
  [[nodiscard]] std::vector<LeafKey> keys() const;
  /// The forest after one round of coarsening, refining and balancing; this one stays as it is.
  /// Eight siblings become one leaf if all of them wish to, and p4est then still finds the mesh
  /// balanced. No leaf changes by more than one level.
  [[nodiscard]] Forest adapted(std::span<const Wish> wishes);
  /// Cuts the curve into pieces of equal weight, one for each rank, without separating siblings.
  /// @param weights  By leaf index, above 0. [global]
  /// @return The rank of each leaf. [global]
  [[nodiscard]] std::vector<int> cut(std::span<const int> weights);
  /// Cuts into pieces of as many leaves each. p4est coarsens only siblings that are on one rank, so
  /// this comes before adapted(); it makes the result independent of the number of ranks.
  void cut_evenly();
  /// Writes BASE.pvtu and one .vtu for each rank. @return Whether that was possible; the same on
  /// all ranks.
  [[nodiscard]] bool write_vtk(const std::string& base,
                               std::span<const LeafColumn, 3> columns) const;

 private:
  struct Destroy {
    void operator()(p8est* forest) const;
  };

  explicit Forest(p8est* forest, std::shared_ptr<p8est_connectivity> connectivity);

  template <class Action>
  void for_each_local(Action&& action) const;

  std::shared_ptr<p8est_connectivity> connectivity_;
  std::unique_ptr<p8est, Destroy> forest_;
};

}  // namespace amr
