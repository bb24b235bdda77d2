// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// The run: steps, and every few of them a new mesh, a new partition and a migration.
///
/// Patches move *before* the mesh changes, to where the new leaves will be. Leaves that will be
/// refined then travel as one patch instead of eight, and siblings that will be one leaf come
/// together, so that changing the patches needs no communication.

#include "flow.hpp"
#include "forest.hpp"
#include "memory.hpp"
#include "migrate.hpp"
#include "options.hpp"
#include "output.hpp"
#include "partition.hpp"
#include "regrid.hpp"
#include "support/memory_log.hpp"

#include <mpi.h>

#include <optional>
#include <string>
#include <vector>

namespace amr {

using example::BadInput;

class Simulation {
 public:
  /// Collective. @throws BadInput, example::OutputError.
  Simulation(MPI_Comm communicator, const Options& options);

  /// Collective. @throws example::Lost, OutOfMemory, BadInput, valet::Error, example::OutputError.
  void run();

 private:
  /// A partition that was found to fit.
  struct Choice {
    std::vector<int> home;     ///< per old leaf
    std::uint64_t needed = 0;  ///< slots on this rank, for the move and for the new mesh
    std::string balanced_by;
  };

  void make_first_mesh();
  void make_first_patches();
  void place(Mesh mesh);
  void limit_memory();

  /// One change of the mesh. The functions below are its parts, in this order; collective if
  /// nothing else is said.
  void regrid(int step);
  /// Brings work and fronts of all leaves from the ranks that hold them.
  [[nodiscard]] std::vector<std::uint8_t> look_at_patches();
  [[nodiscard]] Choice choose(const Transition& transition);
  /// Counts what choice.home needs. @return Whether every rank has slots enough.
  [[nodiscard]] bool fits(const Transition& transition, Choice& choice) const;
  void grow(std::uint64_t needed);
  /// What is known of the migration to `home` before it begins. Local.
  [[nodiscard]] Migration announced(const Regrid& regrid, const Transition& change,
                                    std::span<const int> home) const;
  /// Per slot, where its patch goes: the map of a partition that is anywhere.
  [[nodiscard]] std::vector<int> map_to(std::span<const int> home) const;
  [[nodiscard]] Moved move_in_place(std::span<const int> home);
  [[nodiscard]] Moved move(std::span<const int> home);
  void check(const Totals& before, int step) const;
  void summarise(Regrid& regrid, const Migration& own, const Moved& moved);

  /// Largest over mean work of a rank; after a change of the mesh with the work of parents.
  [[nodiscard]] double imbalance() const;
  /// Work of this rank on the next mesh with these homes, over the mean. Local.
  [[nodiscard]] double share(const Transition& change, std::span<const int> home) const;
  void write_vtk(int step);
  void report(const Totals& start, const Totals& end);

  MPI_Comm communicator_;
  const Options& options_;
  int rank_ = 0;
  int size_ = 1;
  ForestLibrary library_;
  Forest forest_;
  Mesh mesh_;
  Flow flow_;
  Patches patches_;
  std::vector<std::uint32_t> slot_of_;
  std::optional<LayerExchange> layers_;
  Partitioner partitioner_;
  Output output_;
  example::MemoryLog log_;
  std::uint64_t limit_bytes_ = 0;  ///< data that the system allows this rank; 0 for any
  std::vector<Migration> migrations_;
  std::vector<Comparison> comparisons_;
  double fullest_percent_ = 0;
  double largest_ratio_ = 0;
};

}  // namespace amr
