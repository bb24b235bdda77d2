// SPDX-License-Identifier: BSD-3-Clause

// storage_program <function> <n>: a migration with verification in which the n-th call of a
// function of rank 1's storage throws that must not throw: a question, or a stage for profilers;
// or, with "gather", packing by a storage that says it does not throw. What should come of it, see
// storage_test.cpp.

#include <valet/valet.hpp>

#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

std::string failing;
int calls_left = 0;

void called(const char* function) {
  if (failing != function || calls_left == 0 || --calls_left > 0) return;
  throw std::runtime_error("the device fell off the bus");
}

/// Memory of the host that answers as a user's storage does.
class Storage final : public valet::StorageBackend {
 public:
  explicit Storage(std::vector<double>& data) : inner_{valet::field(data)} {}

  [[nodiscard]] std::uint64_t slots() const override {
    called("slots");
    return inner_.slots();
  }
  [[nodiscard]] std::size_t block_bytes() const override {
    called("block_bytes");
    return inner_.block_bytes();
  }
  [[nodiscard]] std::optional<valet::Diagnostic> diagnostic() const override {
    called("diagnostic");
    return inner_.backend().diagnostic();
  }
  void begin_stage(const char* /*name*/) override { called("begin_stage"); }
  void end_stage() override { called("end_stage"); }
  [[nodiscard]] bool may_throw() const override {
    called("may_throw");
    return failing != "gather";
  }
  void gather(valet::SlotList from, std::byte* packed) override {
    called("gather");
    inner_.backend().gather(from, packed);
  }
  void scatter(const std::byte* packed, valet::SlotList to) override {
    inner_.backend().scatter(packed, to);
  }
  void copy(valet::SlotList from, valet::SlotList to, std::span<std::byte> scratch) override {
    inner_.backend().copy(from, to, scratch);
  }
  [[nodiscard]] std::byte* contiguous_data() const override {
    called("contiguous_data");
    return inner_.backend().contiguous_data();
  }
  [[nodiscard]] bool reachable_by_mpi() const override {
    called("reachable_by_mpi");
    return true;
  }
  [[nodiscard]] std::size_t pieces_per_block() const override {
    called("pieces_per_block");
    return inner_.backend().pieces_per_block();
  }
  void pieces(std::uint64_t slot, valet::Vector<valet::MemoryPiece>& list) const override {
    inner_.backend().pieces(slot, list);
  }

 private:
  valet::BlockStorage inner_;
};

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  constexpr std::uint64_t blocks = 300;
  std::vector<double> data(blocks + 60);
  std::vector<int> ranks(blocks);
  for (std::size_t k = 0; k < blocks; ++k) ranks[k] = static_cast<int>(k) % size;
  const valet::BlockStorage storage(std::make_shared<Storage>(data));
  valet::Options options;
  options.method = valet::Method::stream;
  options.budget_bytes = 200;
  options.verify = true;
  failing = argv[1];
  if (rank == 1) calls_left = std::atoi(argv[2]);
  try {
    static_cast<void>(valet::migrate(MPI_COMM_WORLD, storage, blocks, ranks, options));
  } catch (const std::exception& error) {
    std::printf("caught %s\n", error.what());
    std::fflush(stdout);
  }
  if (rank == 1 && calls_left > 0) std::printf("no call failed\n");
  // mpirun of Open MPI 4.1 may hang if a rank aborts while another is in MPI_Finalize.
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
