// SPDX-License-Identifier: BSD-3-Clause

// Runs the snippets in C of the API reference: valet_h.c and ragged.c.

#include "reference_c.h"

#include "test_comm.hpp"

namespace {

using valet::test::rank;
using valet::test::size;
using valet::test::sum_over_ranks;

constexpr std::uint64_t slots = 12;

int next() { return (rank() + 1) % size(); }
int previous() { return (rank() + size() - 1) % size(); }

TEST(ReferenceInC, PushesParticlesWhileOthersTravel) {
  std::vector<double> position(2 * slots, 0);
  std::vector<int> ranks(position.size(), rank());
  for (std::size_t k = 1; k < ranks.size(); k += 2) ranks[k] = next();
  constexpr int steps = 3;
  pushed_particles(MPI_COMM_WORLD, position.data(), static_cast<int>(position.size()), ranks.data(),
                   steps);
  const std::ptrdiff_t pushed = size() == 1 ? 2 * slots : slots;
  EXPECT_EQ(std::count(position.begin(), position.end(), steps), pushed);
}

TEST(ReferenceInC, SendsRepairsAndDeals) {
  const auto ranks_of = static_cast<std::size_t>(size());
  std::vector<double> buffer(ranks_of, rank());
  const std::vector<std::int64_t> send_counts(ranks_of, 1);
  std::vector<int> ranks(slots, 0), value(slots, rank());
  std::vector<Valet_Address> addresses(slots);
  for (std::uint64_t k = 0; k < slots; ++k) addresses[k] = {next(), slots - 1 - k};
  Valet_Storage* storage = Valet_Storage_create();
  Valet_Storage_add_field(storage, value.data(), slots, sizeof(int), sizeof(int), nullptr);
  if (rank() == 0) testing::internal::CaptureStdout();

  const std::uint64_t count = other_calls(MPI_COMM_WORLD, storage, slots, slots, buffer.data(),
                                          buffer.size() * sizeof(double), send_counts.data(),
                                          ranks.data(), addresses.data());

  if (rank() == 0) {
    const std::string text = testing::internal::GetCapturedStdout();
    EXPECT_NE(text.find("extra memory"), std::string::npos) << text;
  }
  Valet_Storage_free(storage);
  EXPECT_EQ(count, slots);
  for (int from = 0; from < size(); ++from)
    EXPECT_EQ(buffer[static_cast<std::size_t>(from)], from) << "the all-to-all";
  // All were to go to rank 0, which keeps what it has slots for: the fewest changes.
  const auto to_first = static_cast<long long>(std::count(ranks.begin(), ranks.end(), 0));
  EXPECT_EQ(sum_over_ranks(to_first), static_cast<long long>(slots));
  // Rank r had the blocks of r - 1 when they were dealt, one by one.
  for (std::uint64_t k = 0; k < slots; ++k) {
    const int holder = static_cast<int>((k * ranks_of + static_cast<std::size_t>(rank())) / slots);
    EXPECT_EQ(value[k], (holder + size() - 1) % size());
  }
}

TEST(ReferenceInC, MovesTheRowsOfColumns) {
  std::vector<double> matrix(slots * 3, rank());
  const std::vector<int> ranks(slots, (rank() + 1) % size());
  const auto moves = [&](bool is_frozen) {
    Valet_Storage* const storage =
        stored_by_columns(matrix.data(), slots, 3, is_frozen && rank() == size() - 1 ? 1 : 0);
    Valet_Plan* plan = nullptr;
    int code =
        Valet_Plan_to_ranks(MPI_COMM_WORLD, storage, slots, nullptr, ranks.data(), nullptr, &plan);
    if (code == VALET_SUCCESS) code = Valet_Execute(plan, storage, nullptr);
    Valet_Plan_free(plan);
    Valet_Storage_free(storage);
    return code;
  };
  EXPECT_EQ(moves(false), VALET_SUCCESS);
  EXPECT_EQ(matrix, std::vector<double>(slots * 3, (rank() + size() - 1) % size()));
  EXPECT_EQ(moves(true), VALET_INVALID_ARGUMENT);
  valet::test::expect_words(Valet_Error_message(), {"rank " + std::to_string(size() - 1) + ":",
                                                    "the matrix is frozen; thaw it"});
}

TEST(ReferenceInC, GrowsForAPlan) {
  auto* position = static_cast<double*>(std::calloc(3 * slots, sizeof(double)));
  const std::vector<int> ranks(slots, 0);

  const std::uint64_t count =
      grown_particles(MPI_COMM_WORLD, &position, slots, slots, ranks.data());

  EXPECT_EQ(count, rank() == 0 ? slots * static_cast<std::uint64_t>(size()) : 0);
  std::free(position);
}

TEST(ReferenceInC, MovesAMatrix) {
  const std::int64_t n = 40;
  const auto elements = static_cast<std::size_t>(n * n);
  std::vector<double> entries(elements, -1), room(elements, -1);
  // Columns rank, rank + P, ... one after the other: the number of each element is its value.
  std::vector<double> columns;
  for (std::int64_t j = rank(); j < n; j += size())
    for (std::int64_t i = 0; i < n; ++i) columns.push_back(static_cast<double>(i * n + j));
  std::copy(columns.begin(), columns.end(), entries.begin());

  redistributed(MPI_COMM_WORLD, size(), n, entries.data(), room.data(), elements * sizeof(double));

  // Blocks of 16 columns: those of this rank, one column after the other.
  std::size_t k = 0;
  long long wrong = 0;
  for (std::int64_t j = 0; j < n; ++j)
    for (std::int64_t i = 0; j / 16 % size() == rank() && i < n; ++i)
      wrong += entries[k++] != static_cast<double>(i * n + j);
  EXPECT_EQ(sum_over_ranks(static_cast<long long>(k)), n * n);
  EXPECT_EQ(sum_over_ranks(wrong), 0);
  room.resize(columns.size());
  EXPECT_EQ(room, columns);
}

TEST(ReferenceInC, TellsTheShapeOfAPart) {
  std::array<int, 9> descriptor = {1, 0, 100, 90, 16, 8, 1, 2, 60};  // begins on rank 5
  std::array<std::int64_t, 2> local{};
  shaped(descriptor.data(), 5, local.data());
  EXPECT_EQ(local, (std::array<std::int64_t, 2>{52, 32}));
  shaped(descriptor.data(), 0, local.data());
  EXPECT_EQ(local, (std::array<std::int64_t, 2>{48, 32}));
  shaped(descriptor.data(), 1, local.data());
  EXPECT_EQ(local, (std::array<std::int64_t, 2>{48, 26}));

  Valet_Layout_lists lists;
  Valet_Layout layout{};
  const auto made = [&](Valet_Layout_lists* to, int order) {
    return Valet_Layout_from_descriptor(descriptor.data(), 2, 3, order, to, &layout);
  };
  EXPECT_EQ(made(&lists, 7), VALET_INVALID_ARGUMENT);
  EXPECT_STREQ(Valet_Error_message(),
               "valet: unknown order 7; give VALET_ROW_MAJOR or VALET_COLUMN_MAJOR "
               "[invalid_argument]");
  EXPECT_EQ(made(nullptr, VALET_ROW_MAJOR), VALET_INVALID_ARGUMENT);
  valet::test::expect_words(Valet_Error_message(), {"the lists of the layout", "null pointer"});
  EXPECT_EQ(layout.dimensions, 0) << "unchanged";
  EXPECT_EQ(made(&lists, VALET_COLUMN_MAJOR), VALET_SUCCESS);
  EXPECT_EQ(layout.dimensions, 2);
  EXPECT_EQ(layout.ranks, nullptr);
  EXPECT_EQ(Valet_Layout_local_extents(&layout, 5, local.data()), VALET_SUCCESS);
  EXPECT_EQ(local, (std::array<std::int64_t, 2>{52, 32}));  // the last rank in either order
  EXPECT_EQ(Valet_Layout_local_extents(&layout, 1, local.data()), VALET_SUCCESS);
  EXPECT_EQ(local, (std::array<std::int64_t, 2>{52, 32}));  // row 1 of column 0
  EXPECT_EQ(Valet_Layout_local_extents(&layout, 6, local.data()), VALET_INVALID_ARGUMENT);
  valet::test::expect_words(Valet_Error_message(),
                            {"rank 6 is not one of 0 to 5 of the grid", "no part of the array"});
  EXPECT_EQ(Valet_Layout_local_extents(nullptr, 0, local.data()), VALET_INVALID_ARGUMENT);
  EXPECT_EQ(Valet_Layout_local_extents(&layout, 0, nullptr), VALET_INVALID_ARGUMENT);
  descriptor[0] = 501;
  EXPECT_EQ(made(&lists, VALET_ROW_MAJOR), VALET_INVALID_ARGUMENT);
  valet::test::expect_words(Valet_Error_message(), {"DTYPE = 501", "is not 1"});
}

TEST(ReferenceInC, FindsWhatIsShared) {
  const std::array<std::int64_t, 2> extents{40, 100}, one_column{40, 1}, squares{16, 16};
  const std::array<int, 2> grid{1, 3};
  Valet_Layout columns{2,       extents.data(), one_column.data(), grid.data(), VALET_ROW_MAJOR,
                       nullptr, nullptr};
  Valet_Layout blocks = columns;
  blocks.block_sizes = squares.data();
  std::vector<std::int64_t> index(34, -1), expected(34, -1);
  for (std::size_t local = 0; local < 33; ++local)
    if (const auto j = static_cast<std::int64_t>(3 * local + 1); j / 16 % 3 == 0)
      expected[local] = j;
  const auto shared = std::ranges::count_if(expected, [](std::int64_t j) { return j >= 0; });

  EXPECT_EQ(shared_columns(&columns, 1, &blocks, 0, index.data()), shared);
  EXPECT_EQ(index, expected);
}

TEST(ReferenceInC, TellsMessagesAndReports) {
  std::vector<int> value(slots, rank());
  const std::vector<int> ranks(slots, next());
  Valet_Storage* storage = Valet_Storage_create();
  Valet_Storage_add_field(storage, value.data(), slots, sizeof(int), sizeof(int), nullptr);
  std::FILE* file = std::tmpfile();
  ASSERT_NE(file, nullptr);

  logged_run(MPI_COMM_WORLD, storage, slots, ranks.data(), file);

  Valet_Storage_free(storage);
  std::array<char, 8192> text{};
  std::rewind(file);
  text[std::fread(text.data(), 1, text.size() - 1, file)] = 0;
  std::fclose(file);
  EXPECT_NE(std::string(text.data()).find("\"block_bytes\":4,"), std::string::npos) << text.data();
  EXPECT_EQ(value, std::vector<int>(slots, previous()));
}

struct Queue {
  std::vector<int> memory = std::vector<int>(slots, rank());
};

int pack(void* queue, const std::uint64_t* list, std::size_t count, void* packed) {
  for (std::size_t k = 0; k < count; ++k)
    std::memcpy(static_cast<int*>(packed) + k, &static_cast<Queue*>(queue)->memory[list[k]],
                sizeof(int));
  return 0;
}

int unpack(void* queue, const void* packed, const std::uint64_t* list, std::size_t count) {
  for (std::size_t k = 0; k < count; ++k)
    std::memcpy(&static_cast<Queue*>(queue)->memory[list[k]], static_cast<const int*>(packed) + k,
                sizeof(int));
  return 0;
}

// Moves the blocks of a storage that has been made with these functions to the next rank.
void expect_moved(Valet_Storage* device, const Queue& queue) {
  const std::vector<int> ranks(slots, next());
  Valet_Plan* plan = nullptr;
  ASSERT_EQ(
      Valet_Plan_to_ranks(MPI_COMM_WORLD, device, slots, nullptr, ranks.data(), nullptr, &plan),
      VALET_SUCCESS)
      << Valet_Error_message();
  EXPECT_EQ(Valet_Execute(plan, device, nullptr), VALET_SUCCESS) << Valet_Error_message();
  Valet_Plan_free(plan);
  Valet_Storage_free(device);
  EXPECT_EQ(queue.memory, std::vector<int>(slots, previous()));
}

TEST(ReferenceInC, MovesMemoryOfAnotherKind) {
  Queue queue;
  expect_moved(custom_storage(slots, sizeof(int), pack, unpack, &queue), queue);
}

using Tree = std::vector<std::string>;

int object_size(void* tree, std::uint64_t object, std::uint64_t* bytes) {
  *bytes = static_cast<Tree*>(tree)->at(object).size();
  return 0;
}

int pack_object(void* tree, std::uint64_t object, void* packed, std::uint64_t bytes) {
  static_cast<Tree*>(tree)->at(object).copy(static_cast<char*>(packed), bytes);
  return 0;
}

int unpack_object(void* tree, int, const void* packed, std::uint64_t bytes) {
  static_cast<Tree*>(tree)->emplace_back(static_cast<const char*>(packed), bytes);
  return 0;
}

int object_left(void* tree, std::uint64_t object) {
  static_cast<Tree*>(tree)->at(object) = "left";
  return 0;
}

TEST(ReferenceInC, MovesObjects) {
  Tree tree(slots, "cell of rank " + std::to_string(rank()));
  const std::vector<int> ranks(slots, next());
  moved_cells(MPI_COMM_WORLD, slots, ranks.data(), object_size, pack_object, unpack_object,
              object_left, &tree);
  Tree expected(slots, size() > 1 ? "left" : "cell of rank 0");
  if (size() > 1) expected.resize(2 * slots, "cell of rank " + std::to_string(previous()));
  EXPECT_EQ(tree, expected);
}

TEST(ReferenceInC, MovesLists) {
  // Block k has k numbers.
  std::vector<double> values(slots * slots, rank());
  std::vector<std::uint64_t> lengths(slots);
  std::vector<int> id(slots, rank());
  for (std::uint64_t k = 0; k < slots; ++k) lengths[k] = k * sizeof(double);
  const std::vector<int> ranks(slots, next());

  const std::uint64_t count =
      moved_lists(MPI_COMM_WORLD, values.data(), values.size() * sizeof(double), lengths.data(),
                  id.data(), slots, slots, ranks.data());

  EXPECT_EQ(count, slots);
  EXPECT_EQ(lengths[slots - 1], (slots - 1) * sizeof(double));
  EXPECT_EQ(values[slots * (slots - 1) / 2 - 1], previous());
  EXPECT_EQ(id, std::vector<int>(slots, previous()));
}

TEST(ReferenceInC, MovesInNodeMemory) {
  const std::vector<int> ranks(slots, next());
  EXPECT_EQ(moved_in_node_memory(MPI_COMM_WORLD, slots, 2 * slots, ranks.data(), rank() + 1),
            3.0 * slots * (previous() + 1));
}

TEST(ReferenceInC, GrowsRows) {
  const std::uint64_t entries = slots * (slots - 1) / 2;  // row k has k of them
  auto* values = static_cast<double*>(std::calloc(entries, sizeof(double)));
  auto* offsets = static_cast<std::uint64_t*>(std::calloc(slots + 1, sizeof(std::uint64_t)));
  ASSERT_TRUE(values != nullptr && offsets != nullptr);
  for (std::uint64_t e = 0; e < entries; ++e) values[e] = rank();
  for (std::uint64_t k = 0; k < slots; ++k) offsets[k + 1] = offsets[k] + k * sizeof(double);
  const std::vector<int> ranks(slots, 0);

  const std::uint64_t rows = grown_rows(MPI_COMM_WORLD, &values, &offsets, slots, ranks.data());

  EXPECT_EQ(rows, rank() == 0 ? slots * static_cast<std::uint64_t>(size()) : 0);
  if (rank() == 0) {
    EXPECT_EQ(offsets[rows], entries * sizeof(double) * static_cast<std::uint64_t>(size()));
    EXPECT_EQ(values[entries - 1], 0);
    EXPECT_EQ(values[offsets[rows] / sizeof(double) - 1], size() - 1);
  }
  std::free(values);
  std::free(offsets);
}

}  // namespace
