// SPDX-License-Identifier: BSD-3-Clause

// Arrays that ranks of a node share, and the ordinary memory that they are where nothing can be
// shared: both behave alike, and hold whatever a vector may hold in a storage.

#include "../faults/limited.hpp"
#include "filled_map.hpp"
#include "process_memory.hpp"
#include "storage/node_segment.hpp"
#include "test_comm.hpp"

#include <filesystem>
#include <sys/wait.h>
#include <unistd.h>

namespace valet::test {
namespace {

static_assert(std::ranges::contiguous_range<NodeArray<double>>);
static_assert(std::is_same_v<decltype(std::span(std::declval<const NodeArray<int>&>())),
                             std::span<const int>>);
static_assert(!std::is_copy_constructible_v<NodeArray<int>> &&
              std::is_nothrow_move_constructible_v<NodeArray<int>> &&
              std::is_nothrow_move_assignable_v<NodeArray<int>>);

constexpr std::size_t mebibyte = std::size_t{1} << 20;

/// What set_log_callback() gets as long as it lives.
class Messages {
 public:
  Messages() {
    set_log_callback([this](LogLevel level, std::string_view text) {
      if (level == LogLevel::warning) texts.emplace_back(text);
    });
  }
  Messages(const Messages&) = delete;
  Messages& operator=(const Messages&) = delete;
  ~Messages() { set_log_callback({}); }
  std::vector<std::string> texts;
};

// The first test of the program, as it is said once in a process.
TEST(NodeArray, IsOrdinaryMemoryWhereNoneCanBeSharedAndSaysSoOnce) {
  Messages messages;
  for (int k = 0; k < 2; ++k) {
    std::optional<Limited> limited;
    if (is_odd()) limited.emplace(RLIMIT_FSIZE, 0);
    EXPECT_EQ(node_array<double>(MPI_COMM_WORLD, 100).is_shared(), !is_odd());
  }
  ASSERT_EQ(messages.texts.size(), is_odd() ? 1U : 0U);
  if (is_odd())
    expect_words(messages.texts.front(),
                 {"rank " + std::to_string(rank()) + " has no memory to share",
                  "its blocks go as messages, which is slower", "800 bytes", "ulimit -f"});
}

enum class Memory { shared, ordinary, mixed };

/// Each test with shared memory on all ranks, on none, and on all but one.
class NodeArrays : public testing::TestWithParam<Memory> {
 protected:
  [[nodiscard]] static bool is_ordinary() {
    return GetParam() == Memory::ordinary || (GetParam() == Memory::mixed && is_odd());
  }
  template <class T>
  [[nodiscard]] static NodeArray<T> make(std::size_t n) {
    std::optional<Limited> limited;
    if (is_ordinary()) limited.emplace(RLIMIT_FSIZE, 0);
    NodeArray<T> array = node_array<T>(MPI_COMM_WORLD, n);
    EXPECT_EQ(array.is_shared(), !is_ordinary());
    return array;
  }
  [[nodiscard]] static long long resident() {
    return status_bytes(is_ordinary() ? "RssAnon" : "RssShmem");
  }

 private:
  Messages messages_;  // a warning is no failure here
};

std::string name_of(const testing::TestParamInfo<Memory>& kind) {
  constexpr std::array names{"Shared", "Ordinary", "Mixed"};
  return names[static_cast<std::size_t>(kind.param)];
}
INSTANTIATE_TEST_SUITE_P(Kinds, NodeArrays,
                         testing::Values(Memory::shared, Memory::ordinary, Memory::mixed), name_of);

template <class T>
bool all_are(std::span<const T> values, T value) {
  return std::ranges::all_of(values, [&](const T& is) { return is == value; });
}

TEST_P(NodeArrays, AreZeroAndIterateLikeVectors) {
  auto array = make<double>(1000 * static_cast<std::size_t>(rank()) + 17);
  EXPECT_EQ(array.size(), 1000U * static_cast<std::size_t>(rank()) + 17);
  EXPECT_TRUE(all_are<double>(array, 0));
  std::iota(array.begin(), array.end(), 1.0);
  const NodeArray<double>& same = array;
  EXPECT_EQ(same[16], 17.0);
  EXPECT_EQ(std::accumulate(same.begin(), same.begin() + 17, 0.0), 153.0);
}

TEST_P(NodeArrays, GrowAndShrinkWhereTheyAre) {
  auto array = make<std::int32_t>(0);
  EXPECT_TRUE(array.empty());
  const std::int32_t* const data = array.data();
  std::size_t before = 0;
  // Inside a page, beyond one, beyond huge pages, and back.
  for (const std::size_t n : {5U, 3U, 1000U, 100'003U, 3'000'000U, 3'000'001U, 1025U, 7U, 0U, 9U}) {
    array.resize(n);
    ASSERT_EQ(array.data(), data);
    ASSERT_EQ(array.size(), n);
    const std::size_t kept = std::min(before, n);
    EXPECT_TRUE(all_are<std::int32_t>(std::span(array).first(kept), 7)) << n;
    EXPECT_TRUE(all_are<std::int32_t>(std::span(array).subspan(kept), 0)) << n;
    std::ranges::fill(array, 7);
    before = n;
  }
}

TEST_P(NodeArrays, TakePagesAtTheFirstTouchAndGiveThemBack) {
  const auto near = [](long long is, std::size_t expected) {
    return std::abs(is - static_cast<long long>(expected)) < static_cast<long long>(4 * mebibyte);
  };
  const long long before = resident();
  {
    auto array = make<char>(32 * mebibyte);
    EXPECT_TRUE(near(resident() - before, 0)) << "nothing has been touched";
    std::ranges::fill(array, 'x');
    EXPECT_TRUE(near(resident() - before, 32 * mebibyte));
    array.resize(8 * mebibyte);
    EXPECT_TRUE(near(resident() - before, 8 * mebibyte));
    array.resize(32 * mebibyte);
    EXPECT_TRUE(near(resident() - before, 8 * mebibyte)) << "nothing has been touched";
  }
  EXPECT_TRUE(near(resident() - before, 0));
}

TEST_P(NodeArrays, MoveTheirMemoryAndLeaveNone) {
  auto first = make<int>(100), second = make<int>(50);
  first[99] = 5;
  int* const data = first.data();
  NodeArray<int> moved = std::move(first);
  EXPECT_EQ(moved.data(), data);
  EXPECT_EQ(first.size(), 0U);  // NOLINT: what is left is the question
  EXPECT_EQ(first.data(), nullptr);
  EXPECT_FALSE(first.is_shared());
  const Outcome outcome = outcome_of([&] { first.resize(3); });
  EXPECT_EQ(outcome.code, ErrorCode::invalid_argument);
  expect_words(outcome.text, {"moved from", "use the one that it was moved to"});
  second = std::move(moved);
  EXPECT_EQ(second.data(), data);
  NodeArray<int>& itself = second;
  second = std::move(itself);
  ASSERT_EQ(second.size(), 100U);
  EXPECT_EQ(second[99], 5);
  second.resize(200);
  EXPECT_EQ(second.data(), data);
}

TEST_P(NodeArrays, ChangeNothingWhenTheyCannotGrow) {
  auto array = make<double>(1000);
  array[999] = 3;
  double* const data = array.data();
  const Outcome beyond = outcome_of([&] { array.resize(std::size_t{1} << 60); });
  EXPECT_EQ(beyond.code, ErrorCode::out_of_memory);
  expect_words(beyond.text, {"a node array can grow to ", "1152921504606846976 entries of 8 bytes",
                             "make a new one"});
  Outcome refused;
  {
    const Limited limited(is_ordinary() ? RLIMIT_DATA : RLIMIT_FSIZE, 8192);
    refused = outcome_of([&] { array.resize(100'000); });
  }
  EXPECT_EQ(refused.code, ErrorCode::out_of_memory);
  expect_words(refused.text, {"the system refused to resize a node array to 100000 entries of 8",
                              is_ordinary() ? "ulimit -d" : "ulimit -f"});
  EXPECT_EQ(array.data(), data);
  ASSERT_EQ(array.size(), 1000U);
  EXPECT_EQ(array[999], 3);
  array.resize(100'000);
  EXPECT_EQ(array[999], 3);
}

/// Particles in node arrays, which say where they came from.
class Particles {
 public:
  Particles(NodeArray<double> x, NodeArray<std::uint64_t> id)
      : x_(std::move(x)), id_(std::move(id)) {}

  void resize(std::uint64_t slots) {
    x_.resize(3 * slots);
    id_.resize(slots);
    for (std::uint64_t slot = 0; slot < slots; ++slot) {
      id_[slot] = number({rank(), slot});
      for (std::uint64_t c = 0; c < 3; ++c) x_[3 * slot + c] = value(id_[slot], c);
    }
  }
  [[nodiscard]] bool holds(std::uint64_t slot, const Address& origin) const {
    const std::uint64_t wanted = number(origin);
    return id_[slot] == wanted && x_[3 * slot] == value(wanted, 0) &&
           x_[3 * slot + 1] == value(wanted, 1) && x_[3 * slot + 2] == value(wanted, 2);
  }
  [[nodiscard]] BlockStorage storage() {
    return {field(valet::ref(x_), 3, "x"), field(valet::ref(id_), 1, "id")};
  }

 private:
  static std::uint64_t number(const Address& origin) {
    return static_cast<std::uint64_t>(origin.rank) * 1'000'000 + origin.slot + 1;
  }
  static double value(std::uint64_t id, std::uint64_t c) { return static_cast<double>(4 * id + c); }
  NodeArray<double> x_;
  NodeArray<std::uint64_t> id_;
};

// The same slots as with vectors, whatever the memory of each rank.
TEST_P(NodeArrays, HoldBlocksThatMigrateToWhereTheOracleSays) {
  std::mt19937_64 random(seed());
  Particles particles(make<double>(0), make<std::uint64_t>(0));
  const BlockStorage storage = particles.storage();
  for (int round = 0; round < 12; ++round)
    for (const Kind& kind : all_kinds) {
      const bool first_slots = round % 2 == 0;
      const std::uint64_t most = round < 8 ? 60 : 2'000;
      const auto tightness = static_cast<Tightness>(round % 3);
      MapPart part(random_map(random, size(), most, tightness, first_slots), rank());
      particles.resize(part.slots());
      Options options;
      options.order = kind.order;
      options.budget_bytes = round % 4 == 0 ? 4096 : options.budget_bytes;
      part.migrate(MPI_COMM_WORLD, storage, kind.form, options, first_slots);
      const GlobalContent content = part.content(kind.form, kind.order, 32);
      const long long wrong = wrong_slots(
          row_of(content, rank()),
          [&](std::uint64_t slot, const Address& from) { return particles.holds(slot, from); });
      ASSERT_EQ(sum_over_ranks(wrong), 0) << "round " << round;
    }
}

TEST_P(NodeArrays, HoldArenasThatMigrate) {
  constexpr std::uint64_t blocks = 30;
  auto values = make<std::int64_t>(0);
  auto lengths = make<std::uint64_t>(0);
  const RaggedStorage storage{ragged_field(valet::ref(values), valet::ref(lengths), "values")};
  values.resize(200 * blocks);
  lengths.resize(blocks);
  std::size_t next = 0;
  for (std::uint64_t k = 0; k < blocks; ++k) {
    lengths[k] = 8 * (k * 7 % 11);
    for (std::uint64_t v = 0; v < lengths[k] / 8; ++v)
      values[next++] = 1000 * rank() + static_cast<std::int64_t>(k);
  }
  const std::vector<int> to(blocks, (rank() + 1) % size());
  const Report report = migrate(MPI_COMM_WORLD, storage, blocks, to);
  const int source = (rank() + size() - 1) % size();
  EXPECT_EQ(report.blocks_after, blocks);
  next = 0;
  long long wrong = 0;
  for (std::uint64_t k = 0; k < blocks; ++k) {
    wrong += lengths[k] == 8 * (k * 7 % 11) ? 0 : 1;
    for (std::uint64_t v = 0; v < lengths[k] / 8; ++v)
      wrong += values[next++] == 1000 * source + static_cast<std::int64_t>(k) ? 0 : 1;
  }
  EXPECT_EQ(sum_over_ranks(wrong), 0);
}

TEST(NodeArray, IsRefusedOnAllRanksWithTheSameError) {
  const auto make_on_odd = [](std::size_t n) {
    return outcome_of(
        [&] { static_cast<void>(node_array<double>(MPI_COMM_WORLD, is_odd() ? n : 10)); });
  };
  const std::vector<std::string> words{odd_name() + "the system refused a node array of ",
                                       " entries of 8 bytes", "ulimit -v"};
  const auto descriptors = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
  };
  const auto open_before = descriptors();
  expect_error(make_on_odd((std::size_t{1} << 61) + 2), ErrorCode::out_of_memory, words);
  expect_error(make_on_odd(std::size_t{1} << 50), ErrorCode::out_of_memory, words);
  Outcome outcome;
  {
    std::optional<Limited> limited;
    if (is_odd()) limited.emplace(RLIMIT_AS, address_space() + 64 * mebibyte);
    outcome = make_on_odd(16 * mebibyte);
  }
  expect_error(outcome, ErrorCode::out_of_memory, words);
  EXPECT_EQ(descriptors(), open_before) << "files are left open";
}

#ifndef __SANITIZE_ADDRESS__  // which needs terabytes of addresses
TEST(NodeArray, LeavesAddressesToOthersWhereTheyAreLimited) {
  constexpr std::size_t n = 16 * mebibyte;
  const Limited limited(RLIMIT_AS, address_space() + 1024 * mebibyte);
  std::vector<NodeArray<char>> arrays;
  for (int k = 0; k < 8; ++k) arrays.push_back(node_array<char>(MPI_COMM_WORLD, n));
  EXPECT_NO_THROW(std::vector<char>(256 * mebibyte));
  arrays.front().resize(2 * n);
  std::ranges::fill(arrays.front(), 'x');
}
#endif

// What a peer sees is what the owner wrote, before and after it has grown.
TEST(NodeArray, IsReadByTheRanksOfItsNode) {
  auto array = node_array<std::int64_t>(MPI_COMM_WORLD, 10);
  for (const std::size_t n : {10U, 100'000U}) {
    array.resize(n);
    std::iota(array.begin(), array.end(), 1'000'000 * rank());
    const auto* const third = reinterpret_cast<const std::byte*>(array.data() + 3);
    const auto place = storage::find_in_segments(third);
    ASSERT_TRUE(all_ranks(place.has_value()));
    EXPECT_EQ(place->offset_bytes, 24U);
    storage::NodeSegmentHandle handle = place->segment;
    const int next = (rank() + 1) % size(), before = (rank() + size() - 1) % size();
    MPI_Sendrecv_replace(&handle, sizeof handle, MPI_BYTE, next, 0, before, 0, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE);
    const auto open = [&] {
      return storage::MappedSegment::open(
          handle, storage::FileDescriptor::of_process(handle.process, handle.descriptor, false));
    };
    const storage::MappedSegment mapped = open();
    ASSERT_TRUE(all_ranks(mapped.data() != nullptr));
    const auto* const values = reinterpret_cast<const std::int64_t*>(mapped.data());
    EXPECT_EQ(values[n - 1], 1'000'000 * before + static_cast<std::int64_t>(n) - 1);
    ++handle.file;
    EXPECT_EQ(open().data(), nullptr) << "another file";
    MPI_Barrier(MPI_COMM_WORLD);
  }
  EXPECT_FALSE(storage::find_in_segments(reinterpret_cast<const std::byte*>(&array)));
}

TEST(NodeArray, HasNoNameInTheFileSystem) {
  const auto array = node_array<double>(MPI_COMM_WORLD, 1000);
  for (const auto& file : std::filesystem::directory_iterator("/dev/shm")) {
    const std::string name = file.path().filename();
    EXPECT_FALSE(contains(name, "valet") || contains(name, "node_array")) << name;
  }
}

TEST(NodeArray, StaysWhenAForkedProcessFreesIt) {
  auto array = node_array<int>(MPI_COMM_SELF, 5);
  array[4] = 7;
  const pid_t child = fork();
  if (child == 0) {
    array = {};
    _exit(0);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(array[4], 7);
}

TEST(NodeArray, OutlivesTheCommunicatorThatItWasMadeOn) {
  std::optional<OwnComm> comm(std::in_place);
  auto array = node_array<int>(*comm, 5);
  comm.reset();
  array.resize(5000);
  EXPECT_EQ(array[4999], 0);
}

}  // namespace
}  // namespace valet::test
