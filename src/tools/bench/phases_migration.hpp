// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "measure.hpp"
#include "phases_instance.hpp"
#include <valet/valet.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <vector>

namespace valet::bench {

/// What a vertex carries: eight doubles in the paper. The words follow from the vertex.
constexpr std::size_t words_of_block = 8;
using Block = std::array<std::uint64_t, words_of_block>;

inline Block block_of(std::uint64_t vertex) {
  Block block{};
  for (std::size_t k = 0; k < block.size(); ++k) block[k] = vertex + (k << 56);
  return block;
}

/// One rank's vertices, which Valet or MPI_Alltoallv brings to their new ranks. The instance has as
/// many parts as there are ranks, and outlives this.
class Migration {
 public:
  explicit Migration(const Instance& instance) : instance_(instance), rank_(world_rank()) {
    std::vector<std::uint64_t> counts(static_cast<std::size_t>(world_size()), 0);
    for (std::uint32_t v = 0; v < instance.before.size(); ++v) {
      const int to = instance.after[v];
      if (instance.before[v] == rank_) {
        vertices_.push_back(v);
        ranks_.push_back(to);
        ++counts[static_cast<std::size_t>(to)];
        if (to != rank_) ++leaving_;
      }
    }
    starts_.resize(counts.size(), 0);
    for (std::size_t r = 1; r < counts.size(); ++r) starts_[r] = starts_[r - 1] + counts[r - 1];
    peer_ = std::make_unique<Alltoallv>(counts, sizeof(Block));
    blocks_.resize(std::max<std::size_t>(vertices_.size(), peer_->blocks_received()));
    packed_.resize(vertices_.size());
    received_.resize(static_cast<std::size_t>(peer_->blocks_received()));
  }

  void fill() {
    for (std::size_t k = 0; k < vertices_.size(); ++k) blocks_[k] = block_of(vertices_[k]);
  }

  double run_warm() {
    return slowest_seconds([&] {
      std::vector<std::uint64_t> next = starts_;
      for (std::size_t k = 0; k < ranks_.size(); ++k)
        packed_[next[static_cast<std::size_t>(ranks_[k])]++] = blocks_[k];
      peer_->run(packed_.data(), received_.data());
    });
  }

  double run_valet(const Options& options) {
    const BlockStorage storage{field(blocks_.data(), blocks_.size())};
    return slowest_seconds([&] {
      report_ = migrate(MPI_COMM_WORLD, storage, Occupied(vertices_.size()), ranks_, options);
    });
  }

  /// Whether this rank has the vertices that belong here, each once and whole.
  [[nodiscard]] bool verified() const {
    std::vector<bool> seen(instance_.after.size(), false);
    bool good = report_.blocks_after == peer_->blocks_received();
    for (std::size_t k = 0; k < report_.blocks_after && good; ++k) {
      const std::uint64_t vertex = blocks_[k][0];
      good = vertex < seen.size() && !seen[vertex] && instance_.after[vertex] == rank_ &&
             blocks_[k] == block_of(vertex);
      if (good) seen[vertex] = true;
    }
    return on_all_ranks(good);
  }

  [[nodiscard]] Report report() const { return summed_over_ranks(report_, MPI_COMM_WORLD); }
  [[nodiscard]] std::uint64_t leaving() const { return leaving_; }
  [[nodiscard]] std::uint64_t peer_bytes() const {
    return (packed_.size() + received_.size()) * sizeof(Block);
  }

 private:
  const Instance& instance_;
  int rank_;
  std::vector<std::uint32_t> vertices_;
  std::vector<int> ranks_;
  std::uint64_t leaving_ = 0;
  std::vector<std::uint64_t> starts_;
  std::unique_ptr<Alltoallv> peer_;
  std::vector<Block> blocks_, packed_, received_;
  Report report_;
};

}  // namespace valet::bench
