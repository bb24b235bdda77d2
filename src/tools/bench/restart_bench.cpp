// SPDX-License-Identifier: BSD-3-Clause
#include "benchmark.hpp"
#include <valet/junction.hpp>

#include <array>
#include <fcntl.h>
#include <filesystem>
#include <unistd.h>

namespace valet::bench {
namespace {

/// What one rank puts into a file and gets back, as a code has it.
struct State {
  std::vector<double> values;
  std::array<std::vector<double>, 4> fields;
  BlockCyclic put, got;  ///< of the values as an array
  bool are_blocks = false;

  /// @param bytes  Of a rank.
  State(const std::string& kind, std::uint64_t bytes)
      : put(BlockCyclic::block({rows, columns_of(bytes)}, {world_size(), 1})),
        got(kind == "rows to columns"
                ? BlockCyclic::block({rows, columns_of(bytes)}, {1, world_size()})
                : put),
        are_blocks(kind == "particles") {
    const auto count = static_cast<std::size_t>(put.local_elements(world_rank()));
    if (are_blocks)
      for (std::vector<double>& field : fields) field.resize(count / fields.size());
    else
      values.resize(std::max(count, static_cast<std::size_t>(got.local_elements(world_rank()))));
  }

  /// @param layout  In which the values are.
  void fill(const BlockCyclic& layout) {
    for_each(layout, [](double& value, double number) { value = number; });
  }
  void clear() {
    for_each(got, [](double& value, double) { value = -1; });
  }
  [[nodiscard]] bool is_right() {
    bool right = true;
    for_each(got, [&](const double& value, double number) { right = right && value == number; });
    return on_all_ranks(right);
  }
  [[nodiscard]] BlockStorage storage() {
    return {field(fields[0], 1, "x"), field(fields[1], 1, "y"), field(fields[2], 1, "z"),
            field(fields[3], 1, "id")};
  }

 private:
  static constexpr std::int64_t rows = 720;  // a multiple of most numbers of ranks

  static std::int64_t columns_of(std::uint64_t bytes) {
    return static_cast<std::int64_t>(bytes / sizeof(double)) * world_size() / rows;
  }
  template <class Action>
  void for_each(const BlockCyclic& layout, Action&& action) {
    if (are_blocks) {
      for (std::size_t f = 0; f < fields.size(); ++f)
        for (std::size_t k = 0; k < fields[f].size(); ++k)
          action(fields[f][k], static_cast<double>(
                                   (fields[f].size() * static_cast<std::size_t>(world_rank()) + k) *
                                       fields.size() +
                                   f));
      return;
    }
    const BlockCyclic::Extents own = layout.local_extents(world_rank());
    for (std::int64_t i = 0; i < own[0]; ++i) {
      const BlockCyclic::Extents first = layout.global_indices(world_rank(), {i, 0});
      for (std::int64_t j = 0; j < own[1]; ++j)  // blocks: columns follow each other
        action(values[static_cast<std::size_t>(i * own[1] + j)],
               static_cast<double>(first[0] * layout.extents()[1] + first[1] + j));
    }
  }
};

class RestartBenchmark final : public Benchmark {
 public:
  RestartBenchmark()
      : Benchmark(
            "restart",
            "A file that all ranks write and read: an array in the layout that was written "
            "and in another one, and particles in four arrays, beside plain MPI-IO of as many "
            "bytes from one buffer",
            5) {
    own_options_ = {
        {"--bytes", &bytes_, "bytes of each rank"},
        {"--kind", &kinds_, "what is put (comma-separated)",
         one_of({"array", "rows to columns", "particles"})},
        {"--folder", &folder_, "where the files are written"},
        {"--cold", &is_cold_, "read from the disk, not from what the system keeps of it"},
        memory_option()};
  }

 private:
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
        {"read", [&] {
           forget(path);
           return read(path, state, options);
         }}};
    take_turns(all);
    MPI_Barrier(MPI_COMM_WORLD);
    std::error_code ignored;
    if (world_rank() == 0)
      for (const std::string& written : {path, plain}) std::filesystem::remove(written, ignored);
    const double gigabytes = static_cast<double>(sum_of_ranks(bytes)) * 1e-9;
    const auto speed = [&](std::size_t s) { return gigabytes / median(all[s].seconds); };
    rows_.push_back({{"kind", kind},
                     {"gigabytes", gigabytes},
                     {"write_GB_per_s", speed(1)},
                     {"plain_write_GB_per_s", speed(0)},
                     {"write_over_plain", speed(1) / speed(0)},
                     {"read_GB_per_s", speed(3)},
                     {"plain_read_GB_per_s", speed(2)},
                     {"read_over_plain", speed(3) / speed(2)},
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
  static Outcome write(const std::string& path, State& state, const JunctionOptions& options) {
    state.fill(state.put);
    Report report;
    const double seconds = slowest_seconds([&] {
      Junction file = Junction::create(MPI_COMM_WORLD, path, options);
      if (state.are_blocks)
        report = file.put(state.storage(), state.fields[0].size()).wait();
      else
        report = file.put(std::span<const double>(state.values), {state.put}).wait();
      file.close();
    });
    return {seconds, true, summed_over_ranks(report, MPI_COMM_WORLD)};
  }
  static Outcome read(const std::string& path, State& state, const JunctionOptions& options) {
    state.clear();
    Report report;
    const double seconds = slowest_seconds([&] {
      Junction file = Junction::open(MPI_COMM_WORLD, path, options);
      if (state.are_blocks)
        report = file.get(state.storage()).wait();
      else
        report = file.get(std::span(state.values), {state.got}).wait();
    });
    return {seconds, state.is_right(), summed_over_ranks(report, MPI_COMM_WORLD)};
  }

  std::string bytes_ = "64M";
  std::string folder_ = ".";
  bool is_cold_ = false;
  std::vector<std::string> kinds_{"array", "rows to columns", "particles"};
};

}  // namespace

std::unique_ptr<Benchmark> make_restart_benchmark() { return std::make_unique<RestartBenchmark>(); }

}  // namespace valet::bench
