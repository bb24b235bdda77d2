// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// What decides where objects go: a library, or a function of the application. The Balancer does
/// all the rest, and calls it in this order:
///
/// 1. traits(), for what to read of the objects, and how.
/// 2. partition(), once for each rebalancing, unless no rank has an object or OrderRule says it
///    all. The units of a rank are its objects or, if the partitioner goes by coordinates, cells of
///    neighbouring objects: some thousands in place of millions. Some ranks may give cells while
///    others give objects.
/// 3. target_at(), if partition() returned true and some rank gives cells: for the corners of its
///    cells, and then for the objects of those whose corners are in different parts.
///
/// Collective: partition() alone, over all ranks, with and without units.
///
/// Units of measure: coordinates and weights are the application's, or all of them times one power
/// of two where sums of squares would overflow. A cell is where one of its objects is (with
/// OctreeShape::hilbert at an end of the range, if it holds that), and weighs what they weigh
/// together. Weights are at least 0, coordinates finite.
///
/// Errors: partition() throws the same Error on all ranks or on none, for which there is
/// mpi::agree(). Reading a number may fail on this rank alone, if it is on a device; so it is done
/// in Objects::failure.attempt(), which keeps the exception, and the rank goes on with any number.
/// The Balancer learns of it before anything moves.
///
/// Memory: what a partitioner allocates for its units is counted in the ledger while it exists. The
/// bound of a rebalancing in cells has room for 124 bytes per unit, or 156 where parts are not
/// ranks.

#include "mpi/channel.hpp"
#include "rebalance/cells.hpp"
#include "rebalance/objects.hpp"
#include "rebalance/part_ranks.hpp"
#include <valet/export.hpp>
#include <valet/ledger.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>

namespace valet::rebalance {

/// What a partition follows from.
enum class Basis {
  coordinates,  ///< they are required, and units may be cells
  order,        ///< of ranks and slots, with the weights: coordinates are not read
  relations,    ///< what the application tells the partitioner itself; coordinates if there are any
};

/// What the Balancer has to know of a partitioner. The same on all ranks, unless marked as local.
struct PartitionerTraits {
  std::string name;  ///< for errors
  Basis basis = Basis::relations;
  OctreeShape cells = OctreeShape::cubes;  ///< their shape
  PartCounts parts = {};                   ///< otherwise there is one for each rank
  std::uint64_t largest_id = std::numeric_limits<std::uint32_t>::max();
  std::string one_weight = {};  ///< why it cannot balance counts as a second weight; empty: it can
  bool may_know_more = false;   ///< the application may have told it what is not here [local]
  bool knows_weights = true;    ///< false: the application tells it weights that are not here
};

/// What a partitioner is given on a rank.
struct Units {
  const Objects& objects;             ///< objects or cells; maybe none
  std::size_t weight_dimensions = 0;  ///< weights per unit: the columns, then 1 for each [global]
  double total_weight = 0;            ///< of the units of all ranks, above 0 [global]
  Box range{};                        ///< of the coordinates of all ranks [global]
  bool are_cells = false;             ///< on some rank [global]
};

struct Target {
  int rank = 0;
  int part = 0;  ///< the rank, where there is one part for each
};

class VALET_EXPORT Partitioner {
 public:
  Partitioner() = default;
  Partitioner(const Partitioner&) = delete;
  Partitioner& operator=(const Partitioner&) = delete;
  virtual ~Partitioner() = default;

  [[nodiscard]] virtual const PartitionerTraits& traits() const = 0;

  /// Gives each unit a rank, and a part where parts are not ranks. Collective.
  ///
  /// @param ledger      Counts memory. [local]
  /// @param part_ranks  The ranks of the parts that traits() asks for.
  /// @param ranks       One entry for each unit, all to be written. [local]
  /// @param parts       Likewise; empty if there is one part for each rank.
  /// @return Whether cuts were made that target_at() knows, if units are cells. [global]
  virtual bool partition(const mpi::Channel& communicator, Ledger& ledger,
                         const PartRanks& part_ranks, const Units& units, std::span<int> ranks,
                         std::span<int> parts) = 0;

  /// Where an object at this place goes, by the cuts of the last partition(). Local.
  /// @return Nothing if that is not known: then it goes where its cell goes.
  [[nodiscard]] virtual std::optional<Target> target_at(const Point& /*place*/) const {
    return std::nullopt;
  }
};

}  // namespace valet::rebalance
