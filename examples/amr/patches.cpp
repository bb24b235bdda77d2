// SPDX-License-Identifier: BSD-3-Clause
#include "patches.hpp"

#include <valet/kokkos/blocks.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <new>
#include <stdexcept>
#include <utility>

namespace amr {
namespace {

/// Splitmix64 (Steele, Lea, Flood, OOPSLA 2014): every bit depends on every bit.
std::uint64_t scramble(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15U;
  x = (x ^ (x >> 30U)) * 0xBF58476D1CE4E5B9U;
  x = (x ^ (x >> 27U)) * 0x94D049BB133111EBU;
  return x ^ (x >> 31U);
}

/// Kokkos and Valet throw exceptions of their own when memory is short.
template <class Make>
auto or_bad_alloc(Make&& make) {
  try {
    return make();
  } catch (const std::runtime_error&) {
    throw std::bad_alloc();
  }
}

template <class View>
View allocated(const std::string& label, std::uint64_t slots) {
  return or_bad_alloc([&] { return View("amr::" + label, slots); });
}

template <class View>
void grow_view(View& view, const std::string& label, std::uint64_t slots) {
  View larger = allocated<View>(label, slots);
  const auto rows = std::make_pair(std::size_t{0}, view.extent(0));
  if constexpr (View::rank == 1)
    Kokkos::deep_copy(Kokkos::subview(larger, rows), view);
  else
    Kokkos::deep_copy(Kokkos::subview(larger, rows, Kokkos::ALL()), view);
  view = larger;
}

/// The same in memory of the node, which grows where it is.
template <class View>
void grow_view(View& view, valet::NodeArray<double>& memory, std::uint64_t slots) {
  using Value = typename View::value_type;
  static_assert(sizeof(Value) == sizeof(double));
  const std::size_t values = View::rank == 1 ? slots : slots * patch_cells;
  or_bad_alloc([&] { memory.resize(values); });
  view = View(reinterpret_cast<Value*>(memory.data()), slots);
}

std::string cells_label(std::size_t variable) { return "cells_" + std::to_string(variable); }

}  // namespace

Patches::Patches(std::uint64_t slots, MPI_Comm node_of) {
  // All ranks or none: one that has no memory later is alone with that.
  if (node_of != MPI_COMM_NULL)
    for (std::size_t k = 0; k < cells.size() + 2; ++k)
      node.push_back(or_bad_alloc([&] { return valet::node_array<double>(node_of, 0); }));
  grow(slots);
}

std::uint64_t Patches::count() const {
  return static_cast<std::uint64_t>(std::count(occupied.begin(), occupied.end(), 1));
}

std::uint64_t Patches::shared_bytes() const {
  std::uint64_t bytes = 0;
  for (const auto& memory : node) bytes += memory.is_shared() ? memory.size() * sizeof(double) : 0;
  return bytes;
}

void Patches::grow(std::uint64_t slots) {
  if (slots <= this->slots()) return;
  // One View at a time. Should memory run out, the larger ones are larger than needed, no more.
  if (inflow.extent(0) < slots) {
    inflow = Layers();  // it holds nothing between steps
    inflow = allocated<Layers>("inflow", slots);
  }
  std::size_t next = 0;
  const auto grow_next = [&](auto& view, const std::string& label) {
    if (node.empty())
      grow_view(view, label, slots);
    else
      grow_view(view, node[next++], slots);
  };
  for (std::size_t v = 0; v < cells.size(); ++v) grow_next(cells[v], cells_label(v));
  grow_next(work, "work");
  grow_next(key, "key");
  occupied.resize(slots, 0);
}

valet::BlockStorage Patches::storage() const {
  return std::apply(
      [this](const auto&... views) { return valet::kokkos::blocks(views..., key, work); }, cells);
}

std::vector<std::uint32_t> Patches::slots_by_leaf(const Mesh& mesh, int rank) const {
  std::vector<std::uint32_t> slot_of(mesh.size(), none);
  for (std::uint32_t slot = 0; slot < occupied.size(); ++slot) {
    if (occupied[slot] == 0) continue;
    std::uint32_t& entry = slot_of[mesh.find(key(slot))];
    if (entry != none) throw std::logic_error("two slots hold one leaf");
    entry = slot;
  }
  for (LeafIndex leaf = 0; leaf < mesh.size(); ++leaf)
    if ((mesh.home[leaf] == rank) != (slot_of[leaf] != none))
      throw std::logic_error("a patch is not where its home is");
  return slot_of;
}

Totals Patches::totals(MPI_Comm communicator) const {
  std::array<std::uint64_t, 2> sums{};
  ExactSum mass;
  for (std::size_t slot = 0; slot < occupied.size(); ++slot) {
    if (occupied[slot] == 0) continue;
    std::uint64_t hash = scramble(key(slot));
    for (const Cells& view : cells)
      for (std::size_t c = 0; c < patch_cells; ++c)
        hash = scramble(hash ^ std::bit_cast<std::uint64_t>(view(slot, c)));
    hash = scramble(hash ^ std::bit_cast<std::uint64_t>(work(slot)));
    ++sums[0];
    sums[1] += hash;
    // A power of two: the product is exact.
    const double volume = std::pow(leaf_of(key(slot)).cell_length(), 3);
    for (std::size_t c = 0; c < patch_cells; ++c) mass.add(volume * cells[density](slot, c));
  }
  MPI_Allreduce(MPI_IN_PLACE, sums.data(), 2, MPI_UINT64_T, MPI_SUM, communicator);
  return {sums[0], sums[1], mass.over_ranks(communicator)};
}

}  // namespace amr
