// SPDX-License-Identifier: BSD-3-Clause

// A file that is not what it should be, and calls that are not what the file is, are one error on
// all ranks. What cannot be written is not there, and the old file is.

#include "file_cases.hpp"
#include "junction/file/format.hpp"
#include "random_maps.hpp"
#include <valet/junction.hpp>

#include <cstdint>
#include <fstream>
#include <numeric>
#include <sys/resource.h>

namespace valet::test {
namespace {

constexpr std::size_t blocks = 40;

class FileErrors : public ::testing::Test {
 protected:
  void SetUp() override { std::iota(ids_.begin(), ids_.end(), 100 * rank()); }

  void write(int step = 0) {
    Junction file = Junction::create(MPI_COMM_WORLD, where_.path());
    std::vector<int> steps(blocks, step);
    JunctionTransfer both = file.put({field(ids_, 1, "id"), field(steps, 1, "step")}, blocks, "b");
    const GridLayout layout{BlockCyclic::block({64}, {size()})};
    std::vector<int> values(static_cast<std::size_t>(layout.layout.local_elements(rank())), step);
    file.put(std::span(values), layout, "a").wait();
    both.wait();
    file.close();
  }
  /// Reads all of it.
  void read() {
    Junction file = Junction::open(MPI_COMM_WORLD, where_.path());
    std::vector<int> ids(blocks), steps(blocks);
    file.get({field(ids, 1, "id"), field(steps, 1, "step")}, "b").wait();
    const GridLayout layout{BlockCyclic::cyclic({64}, {size()})};
    std::vector<int> values(static_cast<std::size_t>(layout.layout.local_elements(rank())));
    file.get(std::span(values), layout, "a").wait();
    step_ = steps[0];
  }
  /// Changes the file by rank 0.
  void change(const std::function<void()>& action) const {
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank() == 0) action();
    MPI_Barrier(MPI_COMM_WORLD);
  }
  void put_bytes(std::size_t at, const std::string& bytes) const {
    change([&] {
      std::fstream file(where_.path(), std::ios::in | std::ios::out | std::ios::binary);
      file.seekp(static_cast<std::streamoff>(at));
      file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    });
  }
  void expect_unreadable(ErrorCode code, const std::vector<std::string>& words) {
    expect_error(outcome_of([&] { read(); }), code, words);
  }
  void expect_refused(ErrorCode code, const std::vector<std::string>& words,
                      const std::function<void(Junction&)>& call) {
    Junction file = Junction::open(MPI_COMM_WORLD, where_.path());
    expect_error(outcome_of([&] { call(file); }), code, words);
  }

  SharedPath where_;
  std::vector<int> ids_ = std::vector<int>(blocks);
  int step_ = -1;
};

TEST_F(FileErrors, ProgressThatThrows) {
  JunctionOptions options;
  bool throws = true;
  if (rank() == size() - 1)
    options.progress = [&](const Progress&) {
      if (throws) throw std::runtime_error("no more");
    };
  std::vector<int> got(blocks);
  const auto expect_told = [&](Junction& file, bool puts) {
    expect_error(
        outcome_of([&] {
          (puts ? file.put({field(ids_)}, blocks, "b") : file.get({field(got)}, "b")).wait();
        }),
        ErrorCode::callback_failed,
        {"callback progress", "no more", "every block is where it belongs"});
  };
  Junction file = Junction::create(MPI_COMM_WORLD, where_.path(), options);
  expect_told(file, true);
  throws = false;
  file.put({field(ids_)}, blocks, "c").wait();
  throws = true;
  file.close();
  file = Junction::open(MPI_COMM_WORLD, where_.path(), options);
  expect_told(file, false);
  EXPECT_TRUE(all_ranks(got == ids_));
}

TEST_F(FileErrors, ForeignTruncatedNewerAndTurnedFiles) {
  expect_unreadable(ErrorCode::file_failure, {"state.valet", "cannot be opened"});
  change([&] { std::ofstream(where_.path()) << "{}"; });
  expect_unreadable(ErrorCode::file_failure, {"2 bytes", "too few"});
  change([&] { std::ofstream(where_.path()) << std::string(1000, ' '); });
  expect_unreadable(ErrorCode::file_failure, {"no file of Valet"});
  write(3);
  read();
  EXPECT_EQ(step_, 3);
  put_bytes(8, std::string("\1\2\3\4", 4));
  expect_unreadable(ErrorCode::file_failure, {"other order of bytes"});
  write();
  put_bytes(12, std::string("\2\0\0\0", 4));
  expect_unreadable(ErrorCode::file_failure, {"has version 2", "reads up to 1", "newer Valet"});
  for (const std::uintmax_t left : {63U, 64U, 200U}) {
    write();
    change([&] { std::filesystem::resize_file(where_.path(), left); });
    expect_unreadable(ErrorCode::file_failure, {left < 64 ? "too few" : "the end is missing"});
  }
}

TEST_F(FileErrors, AnyFlippedBit) {
  write();
  std::uintmax_t bytes = std::filesystem::file_size(where_.path());
  std::mt19937_64 random(seed());
  std::string whole;
  {
    std::ifstream file(where_.path(), std::ios::binary);
    whole.assign(std::istreambuf_iterator<char>(file), {});
  }
  int found = 0, harmless = 0;
  for (int k = 0; k < 60; ++k) {
    const std::size_t at = k < 16 ? static_cast<std::size_t>(k) * 4 : pick(random, 64, bytes - 1);
    put_bytes(at, std::string(1, static_cast<char>(whole[at] ^ (1 << pick(random, 0, 7)))));
    const Outcome outcome = outcome_of([&] { read(); });
    EXPECT_TRUE(same_on_all_ranks(outcome));
    // Between sections are some bytes that nobody reads.
    (outcome.code == ErrorCode::success ? harmless : found) += 1;
    EXPECT_TRUE(outcome.code == ErrorCode::success || outcome.code == ErrorCode::corrupted ||
                outcome.code == ErrorCode::file_failure)
        << outcome.text;
    EXPECT_TRUE(at >= 64 || outcome.code != ErrorCode::success) << at;
    put_bytes(at, std::string(1, whole[at]));
  }
  EXPECT_GT(found, 40);
  EXPECT_LT(harmless, 20);
  read();
}

TEST_F(FileErrors, WhatCannotBeWrittenLeavesTheOldFile) {
  write(1);
  struct rlimit before {};
  getrlimit(RLIMIT_FSIZE, &before);
  std::vector<int> values(20'000, 2);
  for (const bool is_everywhere : {true, false}) {
    struct rlimit limit = before;
    limit.rlim_cur = 4096;
    if (is_everywhere || is_odd()) setrlimit(RLIMIT_FSIZE, &limit);
    Junction file = Junction::create(MPI_COMM_WORLD, where_.path());
    expect_error(outcome_of([&] { file.put({field(values)}, values.size()).wait(); }),
                 ErrorCode::file_failure, {"more than 4096 bytes", "ulimit -f"});
    expect_error(outcome_of([&] { file.put({field(ids_)}, blocks).wait(); }),
                 ErrorCode::file_failure, {"more than 4096 bytes"});
    expect_error(outcome_of([&] { file.close(); }), ErrorCode::file_failure,
                 {"more than 4096 bytes"});
    setrlimit(RLIMIT_FSIZE, &before);
    EXPECT_FALSE(std::filesystem::exists(where_.path() + ".part"));
    read();
    EXPECT_EQ(step_, 1);
  }
  expect_error(outcome_of([&] {
                 static_cast<void>(Junction::create(MPI_COMM_WORLD, where_.path() + "/no/file"));
               }),
               ErrorCode::file_failure, {"there is no folder '" + where_.path() + "/no'; make it"});
  const std::string folder = std::filesystem::path(where_.path()).parent_path().string();
  expect_error(outcome_of([&] { static_cast<void>(Junction::open(MPI_COMM_WORLD, folder)); }),
               ErrorCode::invalid_argument, {"rank 0: '" + folder + "' is a folder"});
  if (size() > 1)
    expect_error(outcome_of([&] {
                   static_cast<void>(rank() == 0 ? Junction::create(MPI_COMM_WORLD, where_.path())
                                                 : Junction::open(MPI_COMM_WORLD, where_.path()));
                 }),
                 ErrorCode::invalid_argument,
                 {"what is done with a file differs: create on rank 0, open on "});
  expect_error(outcome_of([&] { static_cast<void>(Junction::create(MPI_COMM_WORLD, "")); }),
               ErrorCode::invalid_argument, {"path of a file is empty"});
}

TEST_F(FileErrors, WhatNobodyClosesIsNoFile) {
  write(1);
  {
    Junction file = Junction::create(MPI_COMM_WORLD, where_.path());
    file.put({field(ids_)}, blocks, "b").wait();
  }
  EXPECT_FALSE(std::filesystem::exists(where_.path() + ".part"));
  Junction file = Junction::create(MPI_COMM_WORLD, where_.path());
  file.put({field(ids_)}, blocks, "b").wait();
  file = Junction::open(MPI_COMM_WORLD, where_.path());
  read();
  EXPECT_EQ(step_, 1);
}

TEST_F(FileErrors, CallsThatAreNotWhatTheFileIs) {
  write();
  const BlockStorage storage{field(ids_, 1, "id")};
  expect_refused(ErrorCode::invalid_argument, {"no 'c'", "'b' (blocks", "'a' (an array)"},
                 [&](Junction& file) { file.get(storage, "c").wait(); });
  expect_refused(ErrorCode::invalid_argument,
                 {"'b' (blocks by ranks) was got as often as it was put"}, [&](Junction& file) {
                   file.get(storage, "b").wait();
                   file.get(storage, "b").wait();
                 });
  expect_refused(ErrorCode::invalid_argument, {"open to get from it"},
                 [&](Junction& file) { file.put(storage, 1, "b").wait(); });
  expect_refused(ErrorCode::field_mismatch, {"'other' of 4 bytes", "'id' of 4, 'step' of 4"},
                 [&](Junction& file) { file.get({field(ids_, 1, "other")}, "b").wait(); });
  std::vector<double> wide(blocks);
  expect_refused(ErrorCode::field_mismatch, {"'id' of 8 bytes"},
                 [&](Junction& file) { file.get({field(wide, 1, "id")}, "b").wait(); });
  std::vector<int> few(is_odd() ? blocks - 1 : blocks);
  expect_refused(ErrorCode::infeasible, {odd_name(), "gets 40", "39 slots"},
                 [&](Junction& file) { file.get({field(few, 1, "id")}, "b").wait(); });
  const BlockRange range{0, is_odd() ? blocks * static_cast<std::uint64_t>(size()) + 1 : 0};
  expect_refused(ErrorCode::invalid_argument, {odd_name(), "the file has"},
                 [&](Junction& file) { file.get(storage, range, "b").wait(); });
  const GridLayout array{BlockCyclic::block({64}, {size()})},
      longer{BlockCyclic::block({65}, {size()})};
  std::vector<double> values(65);
  expect_refused(ErrorCode::block_size_mismatch, {"4 bytes in the file", "8 bytes"},
                 [&](Junction& file) { file.get(std::span(values), array, "a").wait(); });
  std::vector<int> numbers(65);
  expect_refused(ErrorCode::invalid_argument, {"64 elements in the file", "65"},
                 [&](Junction& file) { file.get(std::span(numbers), longer, "a").wait(); });
  expect_refused(ErrorCode::callback_failed, {"no room"}, [&](Junction& file) {
    file.get(
            [](std::uint64_t) -> BlockStorage {
              if (is_odd()) throw std::runtime_error("no room");
              return {field(static_cast<int*>(nullptr), 0)};
            },
            "b")
        .wait();
  });
  Junction tight = Junction::open(MPI_COMM_WORLD, where_.path(), {.budget_bytes = 3});
  expect_error(outcome_of([&] { tight.get(storage, "b").wait(); }), ErrorCode::budget_too_small,
               {"the budget of 3 bytes", "at least"});
  expect_error(outcome_of([&] { tight.get(std::span(numbers), array, "a").wait(); }),
               ErrorCode::budget_too_small, {"the budget of 3 bytes", "at least"});
}

/// Lists that are numbered one by one in turn: what a rank gets was put by others, too.
TEST_F(FileErrors, NumberedListsThatAreNotWhatTheFileHas) {
  std::vector<std::uint64_t> lengths(blocks, sizeof(int));
  const auto of = [&](std::vector<int>& values) {
    return RaggedStorage({ragged_field(std::span(values), std::span(lengths))});
  };
  const auto in_turn = ObjectLayout::cyclic(1);
  {
    Junction file = Junction::create(MPI_COMM_WORLD, where_.path());
    if (size() > 1)
      expect_error(outcome_of([&] { file.put(of(ids_), is_odd() ? 0 : blocks, in_turn).wait(); }),
                   ErrorCode::invalid_argument, {"in its layout"});
    file.put(of(ids_), blocks, in_turn, "l").wait();
    file.close();
  }
  std::vector<int> room(blocks), few(is_odd() ? 1 : blocks);
  const auto all = static_cast<std::uint64_t>(size()) * blocks;
  const auto tiles =
      ObjectLayout::tiles(BlockCyclic({static_cast<std::int64_t>(all) + 1}, {1}, {1}));
  expect_refused(ErrorCode::invalid_argument, {"array of", "the layout that is got"},
                 [&](Junction& file) { file.get(of(room), tiles, "l").wait(); });
  expect_refused(ErrorCode::infeasible, {odd_name(), "and 4 bytes; it gets 40 blocks with 160"},
                 [&](Junction& file) { file.get(of(few), ObjectLayout::balanced(), "l").wait(); });
  std::vector<std::uint64_t> wide(blocks);
  expect_refused(ErrorCode::invalid_argument, {"values of 8 bytes", "type that was put"},
                 [&](Junction& file) {
                   file.get(RaggedStorage({ragged_field(std::span(wide), std::span(lengths))}),
                            ObjectLayout::balanced(), "l")
                       .wait();
                 });
  expect_refused(ErrorCode::success, {}, [&](Junction& file) {
    file.get(of(room), in_turn, "l").wait();
    EXPECT_EQ(room, ids_);
  });
  // The first section has ends, 8 bytes each, and its tables; the second one the numbers.
  const std::size_t ends = 64, tables = ends + 8 * all;
  const std::size_t numbers = (tables + 16 * static_cast<std::size_t>(size()) + 63) / 64 * 64;
  for (const std::size_t at : {ends + 3, numbers + 4 * all - 1}) {
    put_bytes(at, "x");
    expect_refused(ErrorCode::corrupted, {"page 0", "'l'"}, [&](Junction& file) {
      file.get(of(room), ObjectLayout::balanced(), "l").wait();
    });
    expect_refused(ErrorCode::corrupted, {"page 0", "'l'"},
                   [&](Junction& file) { file.get(of(room), "l").wait(); });
    put_bytes(at, std::string(1, '\0'));
  }
}

/// Lists in a file whose checksums are right, whatever it says.
class LyingFile : public FileErrors {
 protected:
  [[nodiscard]] RaggedStorage of(std::vector<int>& values) {
    return RaggedStorage({ragged_field(std::span(values), std::span(lengths_))});
  }
  void put() {
    Junction file = Junction::create(MPI_COMM_WORLD, where_.path());
    file.put(of(ids_), blocks, ObjectLayout::cyclic(1), "l").wait();
    file.close();
  }
  void expect_corrupted(const std::vector<std::string>& words) {
    std::vector<int> room(blocks);
    expect_refused(ErrorCode::corrupted, words, [&](Junction& file) {
      file.get(of(room), ObjectLayout::balanced(), "l").wait();
    });
  }
  template <class Value>
  static std::string text_of(std::span<const Value> values) {
    const auto bytes = std::as_bytes(values);
    return {static_cast<const char*>(static_cast<const void*>(bytes.data())), bytes.size()};
  }
  /// Says that the lists were put in another layout.
  void set_layout(const ObjectLayout& layout) {
    file::Head head;
    std::ifstream stream(where_.path(), std::ios::binary);
    stream.read(static_cast<char*>(static_cast<void*>(&head)), sizeof head);
    std::vector<std::int64_t> words(head.index_words);
    stream.seekg(static_cast<std::streamoff>(head.index_offset));
    stream.read(static_cast<char*>(static_cast<void*>(words.data())),
                static_cast<std::streamsize>(8 * words.size()));
    std::vector<file::Record> records = file::records_of(words);
    records[0].description.objects = layout;
    Ledger ledger;
    const Vector<std::int64_t> other = file::words_of(records, ledger);
    const std::span<const std::int64_t> index(other);
    head.index_words = index.size();
    head.file_bytes = head.index_offset + index.size_bytes();
    head.index_hash = file::hash_of(std::as_bytes(index));
    head.seal();
    put_bytes(head.index_offset, text_of(index));
    put_bytes(0, text_of(std::span<const file::Head>(&head, 1)));
  }

 private:
  std::vector<std::uint64_t> lengths_ = std::vector<std::uint64_t>(blocks, sizeof(int));
};

TEST_F(LyingFile, SaysLengthsThatCannotBe) {
  put();
  // The last end of the last rank is far behind its bytes.
  const auto ranks = static_cast<std::size_t>(size());
  const std::size_t last = 64 + 8 * blocks * (ranks - 1), tables = 64 + 8 * blocks * ranks;
  std::vector<std::uint64_t> ends(blocks);
  for (std::size_t k = 0; k < blocks; ++k) ends[k] = sizeof(int) * (k + 1);
  ends.back() = 1 << 20;
  const std::uint64_t hash = file::hash_of(std::as_bytes(std::span(ends)));
  put_bytes(last, text_of(std::span<const std::uint64_t>(ends)));
  put_bytes(tables + 8 * ranks + 8 * (ranks - 1), text_of(std::span(&hash, 1)));
  expect_corrupted({"the lengths of 'l'", "cannot be"});
}

/// One of more ranks than have written it, or of an array of other extents.
TEST_F(LyingFile, SaysLayoutsThatCannotBe) {
  for (const ObjectLayout& layout :
       {ObjectLayout::cyclic(1, size() + 1),
        ObjectLayout::tiles(BlockCyclic({1, 1'000'000}, {1, 7}, {1, 1}))}) {
    put();
    set_layout(layout);
    expect_corrupted({"'l'", "was put in a layout that cannot be"});
  }
}

TEST_F(FileErrors, WhatIsPutWrongly) {
  Junction file = Junction::create(MPI_COMM_WORLD, where_.path());
  const auto refused = [&](ErrorCode code, const std::vector<std::string>& words,
                           const std::function<JunctionTransfer()>& put) {
    expect_error(outcome_of([&] { put().wait(); }), code, words);
  };
  const BlockStorage storage{field(ids_)};
  const std::vector<int> ranks(blocks);
  refused(ErrorCode::invalid_argument, {"a file has no ranks"},
          [&] { return file.put(storage, blocks, ranks); });
  refused(ErrorCode::invalid_argument, {odd_name(), "41 blocks", "40 slots"},
          [&] { return file.put(storage, is_odd() ? blocks + 1 : blocks); });
  refused(ErrorCode::invalid_argument, {"open to put into it"}, [&] { return file.get(storage); });
  if (size() > 1) {
    refused(ErrorCode::invalid_argument, {"same on all ranks"},
            [&] { return file.put(storage, blocks, is_odd() ? "odd" : "even"); });
    refused(ErrorCode::invalid_argument, {"in its layout"},
            [&] { return file.put(storage, is_odd() ? 0 : blocks, ObjectLayout::balanced()); });
  }
  // After all that, what is right is written.
  file.put(storage, blocks).wait();
  file.close();
  expect_refused(ErrorCode::success, {}, [&](Junction& read) {
    std::vector<int> ids(blocks);
    read.get({field(ids)}).wait();
    EXPECT_EQ(ids, ids_);
  });
}

}  // namespace
}  // namespace valet::test
