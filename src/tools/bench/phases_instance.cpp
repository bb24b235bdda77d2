// SPDX-License-Identifier: BSD-3-Clause
#include "phases_instance.hpp"

#include "measure.hpp"
#include "overlap.hpp"
#include <valet/error.hpp>
#include <valet/mpi.hpp>

#include <algorithm>
#include <utility>

namespace valet::bench {
namespace {

/// Blocks of every part.
std::vector<std::uint64_t> sizes_of(const std::vector<int>& parts, int part_count) {
  std::vector<std::uint64_t> sizes(static_cast<std::size_t>(part_count), 0);
  for (const int part : parts) ++sizes[static_cast<std::size_t>(part)];
  return sizes;
}

}  // namespace

const char* to_string(Remap remap) { return remap == Remap::diffuse ? "diffuse" : "scratch"; }

Remap parse_remap(const std::string& name) {
  for (const Remap remap : {Remap::diffuse, Remap::scratch})
    if (name == to_string(remap)) return remap;
  throw Error(ErrorCode::invalid_argument, "unknown remap '" + name + "'; known: diffuse, scratch");
}

schedule::TransferMatrix Instance::matrix() const {
  std::vector<schedule::TransferEntry> transfers;
  for (std::size_t v = 0; v < before.size(); ++v)
    if (before[v] != after[v])
      transfers.push_back(
          {static_cast<std::uint32_t>(before[v]), static_cast<std::uint32_t>(after[v]), 1});
  return {static_cast<std::uint32_t>(parts), std::move(transfers)};
}

std::vector<std::uint64_t> Instance::free(std::uint64_t extra) const {
  const std::vector<std::uint64_t> now = sizes_of(before, parts);
  std::vector<std::uint64_t> free = sizes_of(after, parts);
  for (std::size_t part = 0; part < free.size(); ++part)
    free[part] = std::max(free[part], now[part]) - now[part] + extra;
  return free;
}

std::uint64_t Instance::most_received() const {
  std::vector<std::uint64_t> received(static_cast<std::size_t>(parts), 0);
  for (std::size_t v = 0; v < before.size(); ++v)
    if (before[v] != after[v]) ++received[static_cast<std::size_t>(after[v])];
  return *std::max_element(received.begin(), received.end());
}

Instance Instance::folded(int count) const {
  Instance result = *this;
  result.parts = count;
  for (int& part : result.before) part %= count;
  for (int& part : result.after) part %= count;
  return result;
}

std::vector<Instance> make_instances(const Graph& graph, int parts, int layers,
                                     const std::vector<Remap>& remaps, std::uint64_t count,
                                     std::uint64_t seed) {
  // One partition more than instances: each is the next one of the partition before it.
  std::vector<std::vector<int>> partitions;
  for (std::uint64_t k = 0; k <= count; ++k)
    partitions.push_back(partition(graph, parts, seed + k));
  std::vector<Instance> instances;
  for (const Remap remap : remaps)
    for (std::uint64_t k = 0; k < count; ++k)
      instances.push_back({to_string(remap), k, parts, partitions[k],
                           remap == Remap::diffuse
                               ? partitions[k]
                               : renamed_to_stay(partitions[k + 1], partitions[k], parts)});
  // The ranks share the work; all know the result.
  for (std::size_t k = static_cast<std::size_t>(world_rank()); k < instances.size();
       k += static_cast<std::size_t>(world_size()))
    instances[k].after = balance_overlap(graph, instances[k].after, parts, layers);
  for (std::size_t k = 0; k < instances.size(); ++k)
    MPI_Bcast(instances[k].after.data(), static_cast<int>(graph.vertices()), MPI_INT,
              static_cast<int>(k % static_cast<std::size_t>(world_size())), MPI_COMM_WORLD);
  return instances;
}

}  // namespace valet::bench
