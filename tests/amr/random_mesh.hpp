// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Meshes for the tests of the AMR example, without p4est.

#include "mesh.hpp"

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

namespace amr::test {

inline Mesh uniform_mesh(int level) {
  Mesh mesh;
  const std::uint32_t edge = 1U << level;
  for (std::uint32_t z = 0; z < edge; ++z)
    for (std::uint32_t y = 0; y < edge; ++y)
      for (std::uint32_t x = 0; x < edge; ++x) {
        const std::uint32_t length = root_length >> level;
        mesh.keys.push_back(key_of({{x * length, y * length, z * length}, level}));
      }
  std::sort(mesh.keys.begin(), mesh.keys.end());
  mesh.home.assign(mesh.keys.size(), 0);
  mesh.work.assign(mesh.keys.size(), 1);
  return mesh;
}

/// A mesh in which a share of the leaves was refined; 2:1 balanced where the coarse one is uniform.
inline Mesh refined_mesh(const Mesh& coarse, std::mt19937_64& random, double share) {
  Mesh mesh;
  for (const LeafKey key : coarse.keys)
    if (std::uniform_real_distribution<double>()(random) < share)
      for (int child = 0; child < 8; ++child)
        mesh.keys.push_back(key_of(leaf_of(key).child(child)));
    else
      mesh.keys.push_back(key);
  mesh.home.assign(mesh.keys.size(), 0);
  mesh.work.assign(mesh.keys.size(), 1);
  return mesh;
}

inline void scatter_homes(Mesh& mesh, std::mt19937_64& random, int ranks) {
  for (int& home : mesh.home) home = std::uniform_int_distribution<int>(0, ranks - 1)(random);
}

}  // namespace amr::test
