// SPDX-License-Identifier: BSD-3-Clause
#include "layers.hpp"

#include "flow.hpp"

#include <algorithm>
#include <cstddef>

namespace amr {
namespace {

constexpr int half_edge = edge_cells / 2;

/// The offset of the layer next to the face that gas leaves through.
int outflow_offset(int axis) {
  return velocity[static_cast<std::size_t>(axis)] > 0 ? (edge_cells - 1) * layer_shape(axis).normal
                                                      : 0;
}

/// Which of the four small faces in front of a large one belongs to this leaf.
std::uint8_t quarter_of(const Leaf& leaf, int axis) {
  const int child = leaf.child_number();
  return static_cast<std::uint8_t>((child >> first_other(axis) & 1) |
                                   (child >> second_other(axis) & 1) << 1);
}

}  // namespace

LayerShape layer_shape(int axis) {
  constexpr std::array<int, 3> stride{1, edge_cells, layer_cells};
  return {stride[static_cast<std::size_t>(axis)],
          stride[static_cast<std::size_t>(first_other(axis))],
          stride[static_cast<std::size_t>(second_other(axis))]};
}

LayerExchange::LayerExchange(MPI_Comm communicator, const Mesh& mesh,
                             std::span<const std::uint32_t> slot_of)
    : communicator_(communicator) {
  MPI_Comm_rank(communicator, &rank_);
  for (int d = 0; d < 3; ++d) {
    Axis& axis = axes_[static_cast<std::size_t>(d)];
    const int upstream = velocity[static_cast<std::size_t>(d)] > 0 ? -1 : 1;
    for (LeafIndex to = 0; to < mesh.size(); ++to) {
      const FaceNeighbours behind = face_neighbours(mesh, to, d, upstream);
      const Leaf self = leaf_of(mesh.keys[to]);
      for (int n = 0; n < behind.count; ++n) {
        const LeafIndex from = behind.leaf[n];
        if (mesh.home[from] != rank_ && mesh.home[to] != rank_) continue;
        Layer layer;
        if (behind.count == 4) {
          layer.source = Source::smaller;
          layer.quarter = static_cast<std::uint8_t>(n);
        } else if (leaf_of(mesh.keys[from]).level < self.level) {
          layer.source = Source::larger;
          layer.quarter = quarter_of(self, d);
        }
        Local local{layer, layer};
        local.from.slot = slot_of[from];
        local.to.slot = slot_of[to];
        add(axis, mesh.home[from], mesh.home[to], local);
      }
    }
    for (std::vector<Message>* messages : {&axis.sends, &axis.receives})
      for (Message& message : *messages) {
        std::size_t values = 0;
        for (const Layer& layer : message.layers)
          values += static_cast<std::size_t>(layer.values());
        message.values.resize(values);
      }
  }
}

void LayerExchange::add(Axis& axis, int from_rank, int to_rank, const Local& layer) {
  if (from_rank == to_rank)
    axis.local.push_back(layer);
  else if (from_rank == rank_)
    message_for(axis.sends, to_rank).layers.push_back(layer.from);
  else
    message_for(axis.receives, from_rank).layers.push_back(layer.to);
}

LayerExchange::Message& LayerExchange::message_for(std::vector<Message>& messages, int rank) {
  const auto found = std::find_if(messages.begin(), messages.end(),
                                  [&](const Message& message) { return message.rank == rank; });
  if (found != messages.end()) return *found;
  messages.emplace_back();
  messages.back().rank = rank;
  return messages.back();
}

void LayerExchange::pack(int axis, const Layer& layer, const Patches::Cells& cells,
                         double* values) {
  const LayerShape shape = layer_shape(axis);
  const double* const source = &cells(layer.slot, 0) + outflow_offset(axis);
  const auto cell = [&](int a, int b) { return source[a * shape.first + b * shape.second]; };
  switch (layer.source) {
    case Source::same:
      for (int b = 0; b < edge_cells; ++b)
        for (int a = 0; a < edge_cells; ++a) *values++ = cell(a, b);
      break;
    case Source::larger: {
      const int first = half_edge * (layer.quarter & 1);
      const int second = half_edge * (layer.quarter >> 1);
      for (int b = 0; b < half_edge; ++b)
        for (int a = 0; a < half_edge; ++a) *values++ = cell(first + a, second + b);
      break;
    }
    case Source::smaller:
      for (int b = 0; b < edge_cells; b += 2)
        for (int a = 0; a < edge_cells; a += 2)
          *values++ =
              0.25 * ((cell(a, b) + cell(a + 1, b)) + (cell(a, b + 1) + cell(a + 1, b + 1)));
      break;
  }
}

void LayerExchange::unpack(const Layer& layer, const double* values,
                           const Patches::Layers& inflow) {
  double* const to = &inflow(layer.slot, 0);
  switch (layer.source) {
    case Source::same: std::copy(values, values + layer_cells, to); break;
    case Source::larger:
      for (int b = 0; b < edge_cells; ++b)
        for (int a = 0; a < edge_cells; ++a)
          to[a + edge_cells * b] = values[a / 2 + half_edge * (b / 2)];
      break;
    case Source::smaller: {
      const int first = half_edge * (layer.quarter & 1);
      const int second = half_edge * (layer.quarter >> 1);
      for (int b = 0; b < half_edge; ++b)
        for (int a = 0; a < half_edge; ++a)
          to[first + a + edge_cells * (second + b)] = values[a + half_edge * b];
      break;
    }
  }
}

void LayerExchange::exchange(int axis, const Patches::Cells& cells, const Patches::Layers& inflow) {
  Axis& plan = axes_[static_cast<std::size_t>(axis)];
  requests_.clear();
  for (Message& message : plan.receives)
    MPI_Irecv(message.values.data(), static_cast<int>(message.values.size()), MPI_DOUBLE,
              message.rank, axis, communicator_, &requests_.emplace_back());
  for (Message& message : plan.sends) {
    double* values = message.values.data();
    for (const Layer& layer : message.layers) {
      pack(axis, layer, cells, values);
      values += layer.values();
    }
    MPI_Isend(message.values.data(), static_cast<int>(message.values.size()), MPI_DOUBLE,
              message.rank, axis, communicator_, &requests_.emplace_back());
  }
  std::array<double, layer_cells> values{};
  for (const Local& local : plan.local) {
    pack(axis, local.from, cells, values.data());
    unpack(local.to, values.data(), inflow);
  }
  MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE);
  for (const Message& message : plan.receives) {
    const double* from = message.values.data();
    for (const Layer& layer : message.layers) {
      unpack(layer, from, inflow);
      from += layer.values();
    }
  }
}

}  // namespace amr
