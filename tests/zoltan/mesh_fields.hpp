// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// The triangles of a mesh in Views.

#include "mesh.hpp"

#include <Kokkos_Core.hpp>

namespace valet::test {

/// The fields of the triangles of a client, all computed from a triangle's number.
struct MeshFields {
  Kokkos::View<std::uint32_t*> number;
  Kokkos::View<double* [2], Kokkos::LayoutLeft> centre;
  Kokkos::View<short* [3], Kokkos::LayoutRight> corners;
  Kokkos::View<float*> weight;

  explicit MeshFields(const MeshClient& client) : MeshFields(client, client.mesh().size()) {}
  MeshFields(const MeshClient& client, std::size_t slots)
      : number("number", slots),
        centre("centre", slots),
        corners("corners", slots),
        weight("weight", slots),
        mesh_(client.mesh()) {
    for (std::size_t s = 0; s < client.mine().size(); ++s) write(s, client.mine()[s]);
  }

  void write(std::size_t slot, std::uint32_t triangle) {
    number(slot) = triangle;
    for (int d = 0; d < 2; ++d) centre(slot, d) = mesh_.centre(triangle, d);
    for (std::size_t c = 0; c < 3; ++c)
      corners(slot, c) = static_cast<short>(mesh_.triangle(triangle)[c]);
    weight(slot) = Mesh::weight(triangle);
  }
  [[nodiscard]] bool is_right(std::size_t slot) const {
    const std::uint32_t triangle = number(slot);
    if (triangle >= mesh_.size()) return false;
    bool right = true;
    for (int d = 0; d < 2; ++d) right = right && centre(slot, d) == mesh_.centre(triangle, d);
    for (std::size_t c = 0; c < 3; ++c)
      right = right && corners(slot, c) == static_cast<short>(mesh_.triangle(triangle)[c]);
    return right;
  }
  /// Likewise, if its weight has come along.
  [[nodiscard]] bool is_right_with_weight(std::size_t slot) const {
    return is_right(slot) && weight(slot) == Mesh::weight(number(slot));
  }

 private:
  const Mesh& mesh_;
};

}  // namespace valet::test
