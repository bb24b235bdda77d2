// SPDX-License-Identifier: BSD-3-Clause

// Cells that only the application can reach, in a hash map with a vector in each, move to other
// ranks under a memory limit. To pack all that leaves, call MPI_Alltoallv and unpack takes more
// memory than there is; valet::migrate_objects goes in steps of its budget. No Zoltan is needed.

#include "cells.hpp"
#include "support/command_line.hpp"
#include "support/csv_output.hpp"
#include "support/data_limit.hpp"
#include "support/launch.hpp"
#include <valet/valet.hpp>

#include <memory>
#include <new>
#include <numeric>

namespace {

using namespace objects;
using namespace example;

struct Options {
  std::uint64_t cells = 32'768;  ///< of a rank
  std::string memory = "1M", headroom = "4M", output = ".";
  bool quiet = false;
};

/// What leaves this rank: cell id[k] for ranks[k].
struct Moves {
  std::vector<std::uint64_t> id;
  std::vector<int> ranks;
};

/// The usual way: a buffer for all that leaves and one for all that arrives. @return What it took.
/// @throws OutOfMemory on all ranks; nothing has moved.
std::string pack_and_send(MPI_Comm communicator, Cells& cells, const Moves& moves) {
  const int rank = rank_of(communicator), size = size_of(communicator);
  std::vector<int> sent(static_cast<std::size_t>(size)), received(sent), from(sent), to(sent);
  for (std::size_t k = 0; k < moves.id.size(); ++k)
    sent[static_cast<std::size_t>(moves.ranks[k])] +=
        static_cast<int>(packed_bytes(cells.at(moves.id[k])));
  MPI_Alltoall(sent.data(), 1, MPI_INT, received.data(), 1, MPI_INT, communicator);
  std::exclusive_scan(sent.begin(), sent.end(), from.begin(), 0);
  std::exclusive_scan(received.begin(), received.end(), to.begin(), 0);
  const auto leave = std::reduce(sent.begin(), sent.end(), std::size_t{0});
  const auto arrive = std::reduce(received.begin(), received.end(), std::size_t{0});

  const std::unique_ptr<std::byte[]> packed(new (std::nothrow) std::byte[leave]);
  const std::unique_ptr<std::byte[]> arrived(new (std::nothrow) std::byte[arrive]);
  int refused = packed && arrived ? size : rank;
  MPI_Allreduce(MPI_IN_PLACE, &refused, 1, MPI_INT, MPI_MIN, communicator);
  std::uint64_t bytes[2] = {leave + arrive, data_bytes()};
  if (refused < size) {
    MPI_Bcast(bytes, 2, MPI_UINT64_T, refused, communicator);
    throw OutOfMemory(
        formatted("out of memory: the system refuses rank %d %.1f MB for buffers, "
                  "beside the %.1f MB of data that it has",
                  refused, megabytes(bytes[0]), megabytes(bytes[1])));
  }

  std::vector<int> next = from;
  for (std::size_t k = 0; k < moves.id.size(); ++k) {
    const auto cell = cells.find(moves.id[k]);
    int& place = next[static_cast<std::size_t>(moves.ranks[k])];
    pack(cell->first, cell->second, &packed[static_cast<std::size_t>(place)]);
    place += static_cast<int>(packed_bytes(cell->second));
    cells.erase(cell);
  }
  MPI_Alltoallv(packed.get(), sent.data(), from.data(), MPI_BYTE, arrived.get(), received.data(),
                to.data(), MPI_BYTE, communicator);
  for (std::size_t place = 0; place < arrive;) place += unpack(cells, &arrived[place]);
  MPI_Allreduce(MPI_IN_PLACE, bytes, 1, MPI_UINT64_T, MPI_MAX, communicator);
  return formatted("up to %.1f MB of buffers on a rank", megabytes(bytes[0]));
}

/// Valet: in steps. @return What it took. @throws valet::Error on all ranks.
std::string migrate(MPI_Comm communicator, Cells& cells, const Moves& moves,
                    std::uint64_t budget_bytes) {
  valet::ObjectFunctions functions;
  functions.size = [&](std::uint64_t k) { return packed_bytes(cells.at(moves.id[k])); };
  functions.pack = [&](std::uint64_t k, std::span<std::byte> packed) {
    pack(moves.id[k], cells.at(moves.id[k]), packed.data());
  };
  functions.unpack = [&](int, std::span<const std::byte> packed) { unpack(cells, packed.data()); };
  functions.left = [&](std::uint64_t k) { cells.erase(moves.id[k]); };
  const valet::Report all =
      valet::summed_over_ranks(valet::migrate_objects(communicator, moves.id.size(), moves.ranks,
                                                      functions, {.budget_bytes = budget_bytes}),
                               communicator);
  return formatted(
      "%.1f MB move in %llu steps; peak %.2f MB, budget %.2f MB, promised at most %.2f MB",
      megabytes(all.bytes_sent), static_cast<unsigned long long>(all.phases),
      megabytes(all.peak_extra_bytes), megabytes(all.budget_bytes),
      megabytes(all.extra_bytes_bound));
}

struct Output : CsvOutput {
  using CsvOutput::CsvOutput, CsvOutput::file;
};

class Simulation {
 public:
  Simulation(MPI_Comm communicator, const Options& options)
      : communicator_(communicator),
        cells_of_rank_(options.cells),
        budget_bytes_(valet::parse_bytes(options.memory)),
        headroom_bytes_(valet::parse_bytes(options.headroom)),
        output_(communicator, options.output, options.quiet, {{"limit.csv", "headroom_bytes"}}) {
    const std::uint64_t first = cells_of_rank_ * static_cast<std::uint64_t>(rank_);
    for (std::uint64_t id = first; id < first + cells_of_rank_; ++id)
      cells_.emplace(id, made_cell(id));
  }

  ~Simulation() { lift_data_limit(); }
  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;

  /// Collective. @throws Lost, OutputError, valet::Error on all ranks.
  void run() {
    output_.note(formatted("Ranks: %d, each with %llu cells of 1 to 39 particles%s", size_,
                           static_cast<unsigned long long>(cells_of_rank_),
                           size_ == 1 ? ". On one rank nothing moves: start it with mpirun" : ""));
    const auto packed = [this](const Moves& moves) {
      return pack_and_send(communicator_, cells_, moves);
    };
    step(0, "pack, MPI_Alltoallv, unpack", headroom_bytes_, packed);
    step(1, "valet::migrate_objects", headroom_bytes_, [this](const Moves& moves) {
      return migrate(communicator_, cells_, moves, budget_bytes_);
    });
    step(2, "pack, MPI_Alltoallv, unpack", 0, packed);
    if (rank_ == 0) output_.file(0) << headroom_bytes_ << '\n';
    output_.memory(log_.finish());
    output_.close();
    if (rank_ == 0) std::puts("After each, every cell was where it belongs, with its particles.");
  }

 private:
  /// Cells are in blocks of ids, or dealt out one by one: as many on each rank.
  [[nodiscard]] int owner(std::uint64_t id, bool dealt) const {
    return static_cast<int>(dealt ? id % static_cast<std::uint64_t>(size_) : id / cells_of_rank_);
  }

  /// Moves all cells from one to the other; meanwhile the data of a rank may grow by `headroom`
  /// bytes, 0 for any number. Collective.
  template <class Way>
  void step(int number, const char* name, std::uint64_t headroom, Way&& way) {
    Moves moves;
    for (const auto& [id, cell] : cells_)
      if (const int to = owner(id, !dealt_); to != rank_) {
        moves.id.push_back(id);
        moves.ranks.push_back(to);
      }
    output_.note(headroom > 0 ? formatted("%s, in %.1f MB:", name, megabytes(headroom))
                              : formatted("%s, without a limit:", name));
    log_.enter(Phase::migrate, number);
    if (headroom > 0) limit_data(data_bytes() + headroom);
    std::string took;
    try {
      took = way(moves);
      dealt_ = !dealt_;
    } catch (const OutOfMemory& error) {
      took = error.what();
    }
    lift_data_limit();
    log_.enter(Phase::simulate, number);
    output_.note("  " + took);
    prove(name);
  }

  /// Every cell where it belongs, as it was made. Collective.
  void prove(const char* after) const {
    std::uint64_t right = 0;
    for (const auto& [id, cell] : cells_)
      right += owner(id, dealt_) == rank_ && cell == made_cell(id) ? 1U : 0U;
    int wrong = right == cells_of_rank_ && cells_.size() == right ? 0 : 1;
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, communicator_);
    if (wrong > 0)
      throw Lost(
          formatted("after %s %d ranks do not have the cells that they should", after, wrong));
  }

  MPI_Comm communicator_;
  int rank_ = rank_of(communicator_), size_ = size_of(communicator_);
  std::uint64_t cells_of_rank_, budget_bytes_, headroom_bytes_;
  Output output_;
  Cells cells_;
  bool dealt_ = false;
  MemoryLog log_;
};

/// @return The exit code of the program: 0, 1 for a wrong result or a failure, 2 for bad input.
int run(int argc, char** argv, bool prints) {
  Options options;
  CLI::App app{
      "Cells of a hash map, each with particles of its own, move to other ranks: packed into\n"
      "buffers, which the limit on memory refuses, then by valet::migrate_objects within the\n"
      "limit, then packed without it. Start it with mpirun. Writes memory.csv and limit.csv\n"
      "for `python3 examples/plot.py objects DIR`."};
  // The counts of MPI_Alltoallv are of int.
  add_number(app, "--cells", options.cells, 1, 1'000'000, "number of cells of a rank");
  add_memory(app, options.memory);
  add_bytes(app, "--headroom", options.headroom,
            "limit on the growth of the data of a rank while cells move, in bytes (suffix K, M or\n"
            "G allowed); enforced by the operating system; 0: no limit")
      ->capture_default_str();
  add_output(app, options.output, options.quiet);
  if (const auto exit_code = parse(app, argc, argv, prints, "objects", [] {})) return *exit_code;
  return exit_code_of("objects", prints, [&] { Simulation(MPI_COMM_WORLD, options).run(); });
}

}  // namespace

int main(int argc, char** argv) {
  return_freed_memory();
  return example::launch(argc, argv, "objects", run);
}
