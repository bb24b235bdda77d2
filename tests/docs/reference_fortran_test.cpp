// SPDX-License-Identifier: BSD-3-Clause

// Runs the snippets in Fortran of the API reference: reference.f90 and readme.f90.

#include "test_comm.hpp"
#include <valet/valet.h>

extern "C" {
void fortran_moved_lists(int comm, double* values, std::int64_t value_count, std::int64_t* lengths,
                         std::int64_t most, std::int64_t* count, const int* ranks);
void fortran_moved_in_node_memory(int comm, std::int64_t slots, std::int64_t required,
                                  const int* ranks, double* total);
void fortran_other_calls(int comm, Valet_Storage* storage, std::int64_t slots, std::int64_t count,
                         double* buffer, std::int64_t elements, int size,
                         const std::int64_t* send_counts, int* ranks,
                         const Valet_Address* addresses);
void fortran_redistributed(int comm, int size, std::int64_t n, double* a, double* room);
void fortran_shared(int rank, int ranks, std::int64_t n, std::int64_t* runs);
void fortran_moved_rows(int comm, double* entries, std::int64_t capacity, std::int64_t* offsets,
                        int* id, std::int64_t most, std::int64_t* count, const int* ranks);
void fortran_custom(std::int64_t slots, Valet_Pack_fn* pack, Valet_Unpack_fn* unpack, void* queue,
                    Valet_Storage** device);
void fortran_moved_objects(int comm, std::int64_t count, const int* ranks,
                           Valet_Object_size_fn* size, Valet_Object_pack_fn* pack,
                           Valet_Object_unpack_fn* unpack, Valet_Object_left_fn* left, void* tree);
void fortran_pushed(int comm, int rank, double* position, int count, const int* ranks, int steps);
int fortran_heard();
}

namespace {

using valet::test::rank;
using valet::test::size;
using valet::test::sum_over_ranks;

constexpr int slots = 12;

int comm() { return MPI_Comm_c2f(MPI_COMM_WORLD); }
int next() { return (rank() + 1) % size(); }
int previous() { return (rank() + size() - 1) % size(); }

TEST(ReferenceInFortran, MovesLists) {
  std::vector<double> values(3 * slots, rank());
  std::vector<std::int64_t> lengths(slots, 3 * sizeof(double));
  const std::vector<int> ranks(slots, next());
  std::int64_t count = slots;
  fortran_moved_lists(comm(), values.data(), 3 * slots, lengths.data(), slots, &count,
                      ranks.data());
  EXPECT_EQ(count, slots);
  EXPECT_EQ(values, std::vector<double>(3 * slots, previous()));
}

TEST(ReferenceInFortran, MovesInNodeMemory) {
  const std::vector<int> ranks(slots, next());
  double total = rank() + 1;
  fortran_moved_in_node_memory(comm(), slots, 2 * slots, ranks.data(), &total);
  EXPECT_EQ(total, 3.0 * slots * (previous() + 1));
}

TEST(ReferenceInFortran, PushesParticlesWhileOthersTravel) {
  std::vector<double> position(2 * slots, 0);
  std::vector<int> ranks(position.size(), rank());
  for (std::size_t k = 1; k < ranks.size(); k += 2) ranks[k] = next();
  constexpr int steps = 3;
  fortran_pushed(comm(), rank(), position.data(), static_cast<int>(position.size()), ranks.data(),
                 steps);
  const std::ptrdiff_t pushed = size() == 1 ? 2 * slots : slots;
  EXPECT_EQ(std::count(position.begin(), position.end(), steps), pushed);
}

TEST(ReferenceInFortran, SendsRepairsAndDeals) {
  const auto all = static_cast<std::size_t>(size());
  std::vector<double> buffer(all, rank());
  const std::vector<std::int64_t> send_counts(all, 1);
  std::vector<int> ranks(slots, 0), value(slots);
  std::vector<Valet_Address> addresses;
  for (int k = 0; k < slots; ++k) {
    value[static_cast<std::size_t>(k)] = rank() * slots + k;
    addresses.push_back({next(), static_cast<std::uint64_t>(slots - 1 - k)});
  }
  Valet_Storage* storage = Valet_Storage_create();
  Valet_Storage_add_field(storage, value.data(), slots, sizeof(int), sizeof(int), nullptr);

  fortran_other_calls(comm(), storage, slots, slots, buffer.data(), size(), size(),
                      send_counts.data(), ranks.data(), addresses.data());

  Valet_Storage_free(storage);
  for (int from = 0; from < size(); ++from)
    EXPECT_EQ(buffer[static_cast<std::size_t>(from)], from) << "the all-to-all";
  const auto to_first = static_cast<long long>(std::count(ranks.begin(), ranks.end(), 0));
  EXPECT_EQ(sum_over_ranks(to_first), slots) << "the repair";
  // Dealt one by one, then on to the next rank, backwards.
  for (int k = 0; k < slots; ++k)
    EXPECT_EQ(value[static_cast<std::size_t>(k)], (slots - 1 - k) * size() + previous());
}

TEST(ReferenceInFortran, MovesAMatrix) {
  const std::int64_t n = 40;
  std::vector<double> entries(static_cast<std::size_t>(n * n), -1), room(entries), columns;
  for (std::int64_t j = rank(); j < n; j += size())
    for (std::int64_t i = 0; i < n; ++i) columns.push_back(static_cast<double>(i * n + j));
  std::copy(columns.begin(), columns.end(), entries.begin());

  fortran_redistributed(comm(), size(), n, entries.data(), room.data());

  std::size_t k = 0;
  long long wrong = 0;
  for (std::int64_t j = 0; j < n; ++j)
    for (std::int64_t i = 0; j / 16 % size() == rank() && i < n; ++i)
      wrong += entries[k++] != static_cast<double>(i * n + j);
  EXPECT_EQ(sum_over_ranks(wrong), 0);
  room.resize(columns.size());
  EXPECT_EQ(room, columns);
}

TEST(ReferenceInFortran, FindsWhatIsShared) {
  constexpr std::int64_t n = 40;
  std::vector<std::int64_t> runs(3, -1), expected(3, 0);
  for (std::int64_t j = 1; j < n; j += 3) ++expected[static_cast<std::size_t>(j / 16 % 3)];
  fortran_shared(1, 3, n, runs.data());
  EXPECT_EQ(runs, expected) << "each of its columns is a run";
}

TEST(ReferenceInFortran, MovesRows) {
  std::vector<double> entries(2 * slots, rank());
  std::vector<std::int64_t> offsets;
  for (int k = 0; k <= slots; ++k) offsets.push_back(16 * k);
  std::vector<int> id(slots, rank());
  const std::vector<int> ranks(slots, next());
  std::int64_t count = slots;
  fortran_moved_rows(comm(), entries.data(), 16 * slots, offsets.data(), id.data(), slots, &count,
                     ranks.data());
  EXPECT_EQ(count, slots);
  EXPECT_EQ(entries, std::vector<double>(2 * slots, previous()));
  EXPECT_EQ(id, std::vector<int>(slots, previous()));
}

int pack(void* memory, const std::uint64_t* list, std::size_t count, void* packed) {
  for (std::size_t k = 0; k < count; ++k)
    std::memcpy(static_cast<int*>(packed) + k, static_cast<int*>(memory) + list[k], sizeof(int));
  return 0;
}

int unpack(void* memory, const void* packed, const std::uint64_t* list, std::size_t count) {
  for (std::size_t k = 0; k < count; ++k)
    std::memcpy(static_cast<int*>(memory) + list[k], static_cast<const int*>(packed) + k,
                sizeof(int));
  return 0;
}

int object_size(void*, std::uint64_t, std::uint64_t* bytes) {
  *bytes = sizeof(int);
  return 0;
}

int pack_object(void* tree, std::uint64_t object, void* packed, std::uint64_t bytes) {
  std::memcpy(packed, &static_cast<std::vector<int>*>(tree)->at(object), bytes);
  return 0;
}

int unpack_object(void* tree, int, const void* packed, std::uint64_t bytes) {
  std::memcpy(&static_cast<std::vector<int>*>(tree)->emplace_back(), packed, bytes);
  return 0;
}

int object_left(void* tree, std::uint64_t object) {
  static_cast<std::vector<int>*>(tree)->at(object) = -1;
  return 0;
}

TEST(ReferenceInFortran, MovesObjects) {
  std::vector<int> tree(slots, rank());
  const std::vector<int> ranks(slots, next());
  fortran_moved_objects(comm(), slots, ranks.data(), object_size, pack_object, unpack_object,
                        object_left, &tree);
  std::vector<int> expected(slots, size() > 1 ? -1 : 0);
  if (size() > 1) expected.resize(2 * slots, previous());
  EXPECT_EQ(tree, expected);
}

TEST(ReferenceInFortran, MovesMemoryOfAnotherKindAndListens) {
  std::vector<int> memory(slots, rank());
  const std::vector<int> ranks(slots, next());
  Valet_Storage* device = nullptr;
  Valet_Plan* plan = nullptr;

  fortran_custom(slots, pack, unpack, memory.data(), &device);
  EXPECT_EQ(
      Valet_Plan_to_ranks(MPI_COMM_WORLD, device, slots, nullptr, ranks.data(), nullptr, &plan),
      VALET_SUCCESS);
  EXPECT_EQ(Valet_Execute(plan, device, nullptr), VALET_SUCCESS) << Valet_Error_message();
  Valet_Plan_free(plan);
  Valet_Storage_free(device);

  EXPECT_EQ(memory, std::vector<int>(slots, previous()));
  const int heard = fortran_heard();  // the line for a migration that has finished
  EXPECT_TRUE(rank() != 0 || heard >= 1) << heard;
}

}  // namespace
