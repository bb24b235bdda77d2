// SPDX-License-Identifier: BSD-3-Clause
#include "benchmark.hpp"
#include "tools/layouts.hpp"
#include <valet/junction.hpp>

#include <algorithm>
#include <fcntl.h>
#include <filesystem>
#include <unistd.h>

namespace valet::bench {
namespace {

/// What one rank puts into a file and gets back, as a code has it.
struct State {
  static constexpr std::uint64_t fields = 4;

  BlockCyclic put, got;  ///< of the values as an array
  std::vector<double> values;
  bool are_blocks = false;  ///< four arrays of particles, one behind the other

  /// @param bytes  Of a rank.
  State(const std::string& kind, std::uint64_t bytes)
      : put(BlockCyclic::block({rows, columns_of(bytes)}, {world_size(), 1})),
        got(kind == "rows to columns"
                ? BlockCyclic::block({rows, columns_of(bytes)}, {1, world_size()})
                : put),
        values(static_cast<std::size_t>(
            std::max(put.local_elements(world_rank()), got.local_elements(world_rank())))),
        are_blocks(kind == "particles") {}

  void fill() { tools::write_numbers(put, world_rank(), IndexOrder::row_major, values); }
  void clear() { std::ranges::fill(values, -1.0); }
  [[nodiscard]] bool is_right() const {
    return tools::has_numbers(got, world_rank(), IndexOrder::row_major, values);
  }
  [[nodiscard]] std::uint64_t particles() const { return values.size() / fields; }
  [[nodiscard]] BlockStorage storage() {
    const auto nth = [&](std::size_t k, const char* label) {
      return field(values.data() + k * particles(), particles(), 1, label);
    };
    return {nth(0, "x"), nth(1, "y"), nth(2, "z"), nth(3, "id")};
  }

 private:
  static constexpr std::int64_t rows = 720;  // a multiple of most numbers of ranks

  static std::int64_t columns_of(std::uint64_t bytes) {
    const auto columns = static_cast<std::int64_t>(bytes / sizeof(double)) * world_size() / rows;
    return columns - columns % std::int64_t{fields};
  }
};

class RestartBenchmark final : public Benchmark {
  using Benchmark::Benchmark;

  Jobs jobs() override {
    return jobs_of([this](const auto& kind) { study(kind); }, kinds_);
  }
  void study(const std::string& kind) {
    const std::string path = folder_ + "/valet_bench_restart.valet", plain = path + ".plain";
    State state(kind, parse_bytes(bytes_));
    const auto bytes = static_cast<std::size_t>(
        static_cast<std::uint64_t>(state.put.local_elements(world_rank())) * sizeof(double));
    Bytes buffer = allocate(bytes);
    const auto options = common_options<JunctionOptions>();
    std::vector<Series> all{
        {"plain write", [&] { return plain_io(plain, buffer.get(), bytes, true); }},
        {"write", [&] { return write(path, state, options); }},
        {"plain read",
         [&] {
           forget(plain);
           return plain_io(plain, buffer.get(), bytes, false);
         }},
        {"read",
         [&] {
           forget(path);
           return read(path, state, options);
         }},
        {"placed read", [&] {
           forget(plain);
           return placed_read(plain, buffer.get(), bytes, state);
         }}};
    take_turns(all);
    MPI_Barrier(MPI_COMM_WORLD);
    std::error_code ignored;
    if (world_rank() == 0)
      for (const std::string& written : {path, plain}) std::filesystem::remove(written, ignored);
    const double gigabytes = static_cast<double>(sum_of_ranks(bytes)) * 1e-9;
    const auto speed = [&](std::size_t s) { return gigabytes / all[s].median(); };
    rows_.push_back({{"kind", kind},
                     {"gigabytes", gigabytes},
                     {"write_GB_per_s", speed(1)},
                     {"plain_write_GB_per_s", speed(0)},
                     {"write_over_plain", speed(1) / speed(0)},
                     {"read_GB_per_s", speed(3)},
                     {"plain_read_GB_per_s", speed(2)},
                     {"read_over_plain", speed(3) / speed(2)},
                     {"placed_read_GB_per_s", speed(4)},
                     {"read_over_placed", speed(3) / speed(4)},
                     {"peak_extra_bytes",
                      std::max(all[1].report.peak_extra_bytes, all[3].report.peak_extra_bytes)},
                     {"extra_bytes_bound", all[3].report.extra_bytes_bound},
                     {"verified", all[3].verified}});
  }

  /// Lets the system drop what it keeps of a file, which is on the disk, where that is wanted.
  void forget(const std::string& path) const {
    if (is_cold_ && world_rank() == 0) {
      const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
      posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
      close(file);
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  static Outcome plain_io(const std::string& path, std::byte* buffer, std::size_t bytes,
                          bool writes) {
    if (writes) std::fill(buffer, buffer + bytes, std::byte{1});
    return slowest_seconds([&] {
      MPI_File file = MPI_FILE_NULL;
      MPI_File_open(MPI_COMM_WORLD, path.c_str(),
                    writes ? MPI_MODE_CREATE | MPI_MODE_WRONLY : MPI_MODE_RDONLY, MPI_INFO_NULL,
                    &file);
      if (writes) MPI_File_set_size(file, 0);
      const auto at = static_cast<MPI_Offset>(bytes) * world_rank();
      const auto count = static_cast<int>(bytes);
      if (writes)
        MPI_File_write_at_all(file, at, buffer, count, MPI_BYTE, MPI_STATUS_IGNORE);
      else
        MPI_File_read_at_all(file, at, buffer, count, MPI_BYTE, MPI_STATUS_IGNORE);
      if (writes) MPI_File_sync(file);
      MPI_File_close(&file);
    });
  }
  /// Brings as many bytes where `state` has them, as a code does by MPI-IO alone: columns by a view
  /// of the file, particles by a buffer from which it takes the fields.
  static Outcome placed_read(const std::string& path, std::byte* buffer, std::size_t bytes,
                             State& state) {
    MPI_File file = MPI_FILE_NULL;
    const auto at = static_cast<MPI_Offset>(bytes) * world_rank();
    const BlockCyclic::Extents all = state.got.extents(),
                               own = state.got.local_extents(world_rank()),
                               first = state.got.global_indices(world_rank(), {0, 0});
    std::array<int, 2> sizes{}, parts{}, starts{};
    for (std::size_t d = 0; d < 2; ++d) {
      sizes[d] = static_cast<int>(all[d]);
      parts[d] = static_cast<int>(own[d]);
      starts[d] = static_cast<int>(first[d]);
    }
    return slowest_seconds([&] {
      MPI_File_open(MPI_COMM_WORLD, path.c_str(), MPI_MODE_RDONLY, MPI_INFO_NULL, &file);
      if (state.are_blocks) {
        MPI_File_read_at_all(file, at, buffer, static_cast<int>(bytes), MPI_BYTE,
                             MPI_STATUS_IGNORE);
        const auto* const rows = static_cast<const double*>(static_cast<const void*>(buffer));
        for (std::size_t k = 0; k < state.particles(); ++k)
          for (std::size_t f = 0; f < State::fields; ++f)
            state.values[f * state.particles() + k] = rows[k * State::fields + f];
      } else {
        MPI_Datatype part = MPI_DATATYPE_NULL;
        MPI_Type_create_subarray(2, sizes.data(), parts.data(), starts.data(), MPI_ORDER_C,
                                 MPI_DOUBLE, &part);
        MPI_Type_commit(&part);
        MPI_File_set_view(file, 0, MPI_DOUBLE, part, "native", MPI_INFO_NULL);
        MPI_File_read_all(file, state.values.data(), parts[0] * parts[1], MPI_DOUBLE,
                          MPI_STATUS_IGNORE);
        MPI_Type_free(&part);
      }
      MPI_File_close(&file);
    });
  }
  static Outcome write(const std::string& path, State& state, const JunctionOptions& options) {
    state.fill();
    const auto move = [&] {
      Junction file = Junction::create(MPI_COMM_WORLD, path, options);
      Report report =
          (state.are_blocks ? file.put(state.storage(), state.particles())
                            : file.put(std::span<const double>(state.values), {state.put}))
              .wait();
      file.close();
      return report;
    };
    return timed(move, [] { return true; });
  }
  static Outcome read(const std::string& path, State& state, const JunctionOptions& options) {
    state.clear();
    const auto move = [&] {
      Junction file = Junction::open(MPI_COMM_WORLD, path, options);
      return (state.are_blocks ? file.get(state.storage())
                               : file.get(std::span(state.values), {state.got}))
          .wait();
    };
    return timed(move, [&] { return state.is_right(); });
  }

  Text& bytes_ = option<Text>("--bytes", "64M", "bytes of each rank");
  Texts& kinds_ = option<Texts>("--kind", {"array", "rows to columns", "particles"},
                                "what is put (comma-separated)",
                                one_of({"array", "rows to columns", "particles"}));
  Text& folder_ = option<Text>("--folder", ".", "where the files are written");
  bool& is_cold_ =
      option("--cold", false, "read from the disk, not from what the system keeps of it");
};

}  // namespace

std::unique_ptr<Benchmark> make_restart_benchmark() {
  return std::make_unique<RestartBenchmark>(
      "restart",
      "A file that all ranks write and read: an array in the layout that was written and in "
      "another one, and particles in four arrays, beside plain MPI-IO of as many bytes from one "
      "buffer, and brought to the same places",
      5, CommonOptions{.can_share = false});
}

}  // namespace valet::bench
