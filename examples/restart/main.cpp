// SPDX-License-Identifier: BSD-3-Clause

// A particle code that writes its state on some ranks and goes on with more or fewer, inside arrays
// that are hardly larger than its particles: a file takes them from where they are, and brings
// each rank its share.

#include "packed.hpp"
#include "particles/cloud.hpp"
#include "support/command_line.hpp"
#include "support/csv_output.hpp"
#include "support/data_limit.hpp"
#include "support/launch.hpp"
#include <valet/kokkos/blocks.hpp>
#include <valet/valet.hpp>

#include <Kokkos_Core.hpp>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <span>

namespace {

using namespace restart;
using namespace example;

constexpr double time_step = 0.04;
constexpr double mean_work = 2;

struct Options {
  bool write = false;
  std::uint64_t particles = 1'000'000;  ///< over all ranks
  int steps = 10;
  double capacity = 1.1;              ///< slots of a rank over its particles
  std::string exchange = "in-place";  ///< or packed: by buffers and MPI_Alltoallv
  double headroom = 0;  ///< data that writing or reading may take, over what a rank has; 0: any
  std::string memory = "1M", output = ".";
  bool quiet = false;
};

struct Output : CsvOutput {
  using CsvOutput::CsvOutput, CsvOutput::file;
};

class Simulation {
 public:
  Simulation(MPI_Comm communicator, const Options& options)
      : communicator_(communicator),
        options_(options),
        is_packed_(options.exchange == "packed"),
        output_(communicator, options.output, options.quiet,
                {{"restart.csv", "rank,particle_bytes,limit_bytes"}}) {
    file_.budget_bytes = valet::parse_bytes(options.memory);
  }
  ~Simulation() { lift_data_limit(); }
  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;

  /// Collective. @throws Lost, BadInput, valet::Error on all ranks.
  void run() {
    options_.write ? begin() : go_on();
    const Checksum start = cloud_.checksum(communicator_);
    for (int k = 0; k < options_.steps; ++k)
      cloud_.advance(static_cast<double>(moment_.step++) * time_step, time_step);
    if (options_.write) cloud_.weigh(communicator_, mean_work);
    moment_.sums = cloud_.checksum(communicator_);
    if (!moment_.sums.same_particles(start)) throw Lost("the particles are not those of the start");
    if (options_.write) write();
    tell();
  }

 private:
  using Checksum = particles::Checksum;

  /// Arrays for so many particles. Local.
  particles::Cloud& make_room(std::uint64_t count) {
    // One more, because particles do not come in fractions.
    cloud_ = particles::Cloud(
        static_cast<std::uint64_t>(options_.capacity * static_cast<double>(count)) + 1);
    cloud_.count = count;
    return cloud_;
  }

  [[nodiscard]] std::uint64_t array_bytes() const { return cloud_.slots() * cloud_.bytes_each; }
  /// From here on the data of this process may exceed what it needs anyhow by the headroom only.
  /// Local.
  void limit(std::uint64_t needed_bytes) {
    needed_bytes_ = needed_bytes;
    if (options_.headroom == 0) return;
    limit_bytes_ =
        static_cast<std::uint64_t>((1 + options_.headroom) * static_cast<double>(needed_bytes));
    limit_data(limit_bytes_);
  }

  void begin() {
    const auto rank = static_cast<std::uint64_t>(rank_), size = static_cast<std::uint64_t>(size_);
    const std::uint64_t first = options_.particles * rank / size;
    const std::uint64_t count = options_.particles * (rank + 1) / size - first;
    make_room(count).fill(first, count);
  }

  static valet::BlockStorage storage_of(const particles::Cloud& cloud) {
    return valet::kokkos::blocks(cloud.position, cloud.velocity, cloud.id, cloud.work, cloud.mass);
  }
  /// What rank 0 knows for all: an array of one element.
  [[nodiscard]] std::span<Moment> moment_of_rank_0() {
    return std::span(&moment_, rank_ == 0 ? 1 : 0);
  }

  void write() {
    limit(data_bytes());
    log_.enter(Phase::migrate, static_cast<int>(moment_.step));
    if (is_packed_) {
      PackedFile(communicator_, MPI_MODE_CREATE | MPI_MODE_WRONLY).write(cloud_, moment_);
    } else {
      valet::Junction file = valet::Junction::create(communicator_, "state.valet", file_);
      file.put(moment_of_rank_0(), on_rank_0_, "moment").wait();
      file.put(storage_of(cloud_), cloud_.count, "particles").wait();
      file.close();
    }
    log_.enter(Phase::simulate, static_cast<int>(moment_.step));
    lift_data_limit();
  }

  /// Reads what was written, and sees that it is the same.
  void go_on() {
    log_.enter(Phase::migrate, 0);
    const std::uint64_t before = data_bytes();
    const auto room_for = [&](std::uint64_t count) -> auto& {
      make_room(count);
      limit(before + array_bytes());
      return cloud_;
    };
    if (is_packed_) {
      moment_ = PackedFile(communicator_, MPI_MODE_RDONLY).read(room_for);
    } else {
      valet::Junction file = valet::Junction::open(communicator_, "state.valet", file_);
      file.get(moment_of_rank_0(), on_rank_0_, "moment").wait();
      MPI_Bcast(&moment_, sizeof moment_, MPI_BYTE, 0, communicator_);
      file.get([&](std::uint64_t count) { return storage_of(room_for(count)); }, "particles")
          .wait();
    }
    log_.enter(Phase::simulate, static_cast<int>(moment_.step));
    lift_data_limit();
    if (!(cloud_.checksum(communicator_) == moment_.sums))
      throw Lost("what was read is not what was written");
  }

  void tell() {
    const std::vector<MemorySample> samples = log_.finish();
    std::uint64_t most[2] = {0, array_bytes()};
    for (const MemorySample& sample : samples)
      if (sample.phase == Phase::migrate && sample.data_bytes > needed_bytes_)
        most[0] = std::max(most[0], sample.data_bytes - needed_bytes_);
    MPI_Allreduce(MPI_IN_PLACE, most, 2, MPI_UINT64_T, MPI_MAX, communicator_);
    using Row = std::array<std::uint64_t, 3>;
    const Row own{static_cast<std::uint64_t>(rank_), cloud_.count * cloud_.bytes_each,
                  limit_bytes_};
    for (const auto& [rank, particle_bytes, limit_bytes] : gather<Row>(communicator_, {own}))
      output_.file(0) << rank << ',' << particle_bytes << ',' << limit_bytes << '\n';
    output_.memory(samples);
    output_.close();
    if (rank_ != 0) return;
    std::printf(
        "%s %d ranks, %s: %llu particles at step %llu, each with its id and mass; hash %016llx\n"
        "beside its arrays of up to %.1f MB a rank took up to %.1f MB to %s\n",
        options_.write ? "written on" : "went on with", size_, options_.exchange.c_str(),
        static_cast<unsigned long long>(moment_.sums.count),
        static_cast<unsigned long long>(moment_.step),
        static_cast<unsigned long long>(moment_.sums.everything), megabytes(most[1]),
        megabytes(most[0]), options_.write ? "write" : "read");
  }

  MPI_Comm communicator_;
  const Options& options_;
  int rank_ = rank_of(communicator_), size_ = size_of(communicator_);
  bool is_packed_;
  Output output_;
  valet::JunctionOptions file_;
  valet::GridLayout on_rank_0_{valet::BlockCyclic::block({1}, {1}), {0}};
  particles::Cloud cloud_{0};
  Moment moment_;
  std::uint64_t needed_bytes_ = 0, limit_bytes_ = 0;
  MemoryLog log_;
};

/// @return The exit code of the program: 0, 1 for a wrong result or a failure, 2 for bad input.
int run(int argc, char** argv, bool prints) {
  Options options;
  CLI::App app{
      "Particles that are written on some ranks, and go on with more or fewer inside arrays that\n"
      "are hardly larger than they are. Start it with mpirun. The state is in the working\n"
      "directory: state.valet, or state.raw of the usual way. Writes memory.csv and restart.csv;\n"
      "examples/restart/run.sh makes what `python3 examples/plot.py restart DIR` reads."};
  CLI::Option* const write =
      app.add_flag("--write", options.write, "begin anew, and write the state at the end");
  // The counts of MPI_Alltoallv are of int.
  add_number(app, "--particles", options.particles, 1, 1'000'000'000,
             "number of particles on all ranks together")
      ->needs(write);
  add_number(app, "--steps", options.steps, 0, 1'000'000, "time steps");
  add_number(app, "--capacity", options.capacity, 1.0, 100.0,
             "slots of a rank, relative to its particles", "FACTOR");
  app.add_option("--exchange", options.exchange,
                 "in-place (Valet) or packed (buffers and MPI_Alltoallv)")
      ->check(one_of({"in-place", "packed"}))
      ->type_name("NAME")
      ->capture_default_str();
  add_number(app, "--headroom", options.headroom, 0.0, 100.0,
             "limit on the growth of the data of a rank while it writes or reads, as a fraction\n"
             "of its data before; enforced by the operating system; 0: no limit",
             "FRACTION");
  add_memory(app, options.memory);
  add_output(app, options.output, options.quiet);
  if (const auto exit_code = parse(app, argc, argv, prints, "restart", [] {})) return *exit_code;
  const Kokkos::ScopeGuard kokkos;
  return exit_code_of("restart", prints, [&] { Simulation(MPI_COMM_WORLD, options).run(); });
}

}  // namespace

int main(int argc, char** argv) {
  return_freed_memory();
  return example::launch(argc, argv, "restart", run);
}
