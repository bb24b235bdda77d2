// SPDX-License-Identifier: BSD-3-Clause
#include "ragged_blocks.hpp"
#include <valet/valet.hpp>

namespace valet::bench {
namespace {

class RaggedBenchmark final : public Benchmark {
 public:
  RaggedBenchmark()
      : Benchmark(
            "ragged",
            "Migration of blocks of different sizes. Half of them leave an arena that is exactly "
            "full. Compared with packing and MPI_Alltoallv of lengths and bytes into an existing "
            "second arena (ratio_warm) and into newly allocated memory (ratio_cold)",
            5) {
    own_options_ = {
        {"--lengths", &lengths_,
         "lengths of the blocks (comma-separated): uniform-4k: 0 to 4 KiB, large: 64 KiB to 1 MiB, "
         "lognormal: around 200 bytes, one-giant: one block of half the bytes, the others of 0 to "
         "4 KiB",
         one_of(names_in(all_lengths))},
        {"--bytes", &bytes_,
         "bytes of the arena of a rank, less than 2G (suffix K, M or G allowed)"},
        {"--alignment", &alignment_, "alignment of every block in bytes: a power of two up to 64",
         one_of({"1", "2", "4", "8", "16", "32", "64"})},
        memory_option(),
        method_option(methods_),
        sharing_flag(),
        storage_option()};
  }

 private:
  Jobs jobs() override {
    const std::uint64_t bytes = parse_bytes(bytes_) / alignment_ * alignment_;
    if (bytes == 0) refuse("--bytes is too few for a block of --alignment");
    RaggedAlltoallv::require_countable(bytes);
    return jobs_of([=, this](const auto&... of) { measure(bytes, of...); }, lengths_, methods_);
  }

  void measure(std::uint64_t bytes, const std::string& lengths, const std::string& method) {
    auto options = common_options<Options>();
    options.method = parse_method(method);
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
    Report report;
    const double seconds = slowest_seconds([&] {
      report = migrate(MPI_COMM_WORLD, storage, lengths.size(), blocks.ranks(), options);
    });
    const bool good = blocks.arrived(arena, lengths.data(), report.blocks_after,
                                     RaggedBlocks::Sources::own_first);
    blocks.fill(arena);
    return {seconds, on_all_ranks(good), summed_over_ranks(report, MPI_COMM_WORLD)};
  }

  std::vector<std::string> lengths_{"uniform-4k", "large", "lognormal"};
  std::string bytes_ = "256M";
  std::uint64_t alignment_ = 8;
  std::vector<std::string> methods_{"auto"};
};

}  // namespace

std::unique_ptr<Benchmark> make_ragged_benchmark() { return std::make_unique<RaggedBenchmark>(); }

}  // namespace valet::bench
