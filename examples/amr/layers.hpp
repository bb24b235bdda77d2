// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Brings to every patch the layer of cells behind the face that the gas comes through.

#include "patches.hpp"

#include <mpi.h>

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace amr {

/// Distances in memory between neighbouring cells of a patch: across a layer, and along its two
/// axes.
struct LayerShape {
  int normal = 0;
  int first = 0;
  int second = 0;
};
[[nodiscard]] LayerShape layer_shape(int axis);

/// Who needs whose layer, for one mesh and one distribution. Both sides of a message derive the
/// order of its layers from the table of leaves, so none is negotiated; and a layer takes the same
/// way of packing and unpacking whether its patch is on this rank or not, so results do not depend
/// on the distribution.
class LayerExchange {
 public:
  /// Local.
  /// @param slot_of  Slot of each leaf at home here (Patches::slots_by_leaf).
  LayerExchange(MPI_Comm communicator, const Mesh& mesh, std::span<const std::uint32_t> slot_of);

  /// Fills `inflow` of all patches for a sweep of `cells` along `axis`. Collective.
  void exchange(int axis, const Patches::Cells& cells, const Patches::Layers& inflow);

 private:
  enum class Source : std::uint8_t { same, larger, smaller };
  /// One layer, or the quarter of one, on one side of its way.
  struct Layer {
    std::uint32_t slot = 0;
    Source source = Source::same;
    std::uint8_t quarter = 0;
    [[nodiscard]] int values() const {
      return source == Source::same ? layer_cells : layer_cells / 4;
    }
  };
  struct Local {
    Layer from;
    Layer to;
  };
  /// Layers that go to or come from one rank, and their values.
  struct Message {
    int rank = 0;
    std::vector<Layer> layers;
    std::vector<double> values;
  };
  struct Axis {
    std::vector<Local> local;
    std::vector<Message> sends;
    std::vector<Message> receives;
  };

  void add(Axis& axis, int from_rank, int to_rank, const Local& layer);
  static Message& message_for(std::vector<Message>& messages, int rank);
  static void pack(int axis, const Layer& layer, const Patches::Cells& cells, double* values);
  static void unpack(const Layer& layer, const double* values, const Patches::Layers& inflow);

  MPI_Comm communicator_;
  int rank_ = 0;
  std::array<Axis, 3> axes_;
  std::vector<MPI_Request> requests_;
};

}  // namespace amr
