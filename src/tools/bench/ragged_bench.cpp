// SPDX-License-Identifier: BSD-3-Clause
#include "ragged_blocks.hpp"
#include <valet/valet.hpp>

namespace valet::bench {
namespace {

class RaggedBenchmark final : public Benchmark {
  using Benchmark::Benchmark;

  Jobs jobs() override {
    const std::uint64_t bytes = parse_bytes(bytes_) / alignment_ * alignment_;
    if (bytes == 0) refuse("--bytes is too few for a block of --alignment");
    RaggedAlltoallv::require_countable(bytes);
    return jobs_of([=, this](const auto&... of) { measure(bytes, of...); }, lengths_, methods_);
  }

  void measure(std::uint64_t bytes, const std::string& lengths, const std::string& method) {
    const Options options = options_with(method);
    const RaggedBlocks blocks(lengths, bytes, alignment_);
    const Array<> memory(bytes, storage());
    std::byte* const arena = memory.data();
    blocks.fill(arena);
    RaggedAlltoallv peer(blocks, arena);
    compare(
        {{"lengths", lengths},
         {"method", method},
         {"ranks", world_size()},
         {"bytes", bytes},
         {"blocks", blocks.lengths().size()},
         {"alignment", alignment_},
         {"memory", options.budget_bytes}},
        [&] { return migration(blocks, arena, options); }, peer);
  }

  /// The blocks are back where they were, for whoever comes next.
  static Outcome migration(const RaggedBlocks& blocks, std::byte* arena, const Options& options) {
    std::vector<std::uint64_t> lengths = blocks.lengths();
    RaggedField field{.data = arena, .capacity_bytes = blocks.arena_bytes()};
    field.lengths = lengths.data();
    field.block_capacity = lengths.size();
    field.alignment_bytes = static_cast<std::size_t>(blocks.alignment());
    const RaggedStorage storage{field};
    std::uint64_t count = 0;
    const auto move = [&] {
      Report report = migrate(MPI_COMM_WORLD, storage, lengths.size(), blocks.ranks(), options);
      count = report.blocks_after;
      return report;
    };
    Outcome outcome = timed(move, [&] {
      return blocks.arrived(arena, lengths.data(), count, RaggedBlocks::Sources::own_first);
    });
    blocks.fill(arena);
    return outcome;
  }

  Texts& lengths_ =
      option<Texts>("--lengths", {"uniform-4k", "large", "lognormal"},
                    "lengths of the blocks (comma-separated): uniform-4k: 0 to 4 KiB, large: 64 "
                    "KiB to 1 MiB, lognormal: around 200 bytes, one-giant: one block of half the "
                    "bytes, the others of 0 to 4 KiB",
                    one_of(names_in(all_lengths)));
  Text& bytes_ = option<Text>(
      "--bytes", "256M", "bytes of the arena of a rank, less than 2G (suffix K, M or G allowed)");
  Number& alignment_ =
      option<Number>("--alignment", 8, "alignment of every block in bytes: a power of two up to 64",
                     one_of({"1", "2", "4", "8", "16", "32", "64"}));
  Texts& methods_ = option<Texts>("--method", {"auto"}, about_methods());
};

}  // namespace

std::unique_ptr<Benchmark> make_ragged_benchmark() {
  return std::make_unique<RaggedBenchmark>(
      "ragged",
      "Migration of blocks of different sizes. Half of them leave an arena that is exactly full. "
      "Compared with packing and MPI_Alltoallv of lengths and bytes into an existing second arena "
      "(ratio_warm) and into newly allocated memory (ratio_cold)",
      5, CommonOptions{.has_storage = true});
}

}  // namespace valet::bench
