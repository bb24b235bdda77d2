// SPDX-License-Identifier: BSD-3-Clause

// Systems that refuse something: memory without a name, address space, room in files. What is not
// needed for the blocks is left out, with a warning where it was asked for; what is needed is an
// error that all ranks agree on. No rank dies, and no file is left that is not whole.

#include "filled_map.hpp"
#include "limited.hpp"
#include "trace_directory.hpp"

#include <cerrno>
#include <cstdarg>
#include <dlfcn.h>
#include <fcntl.h>

namespace {
bool has_memfd = true;
bool has_files_without_names = true;
}  // namespace

// In front of those of the C library, for libvalet too.

extern "C" __attribute__((visibility("default"))) int memfd_create(const char* name,
                                                                   unsigned int flags) noexcept {
  using Function = int (*)(const char*, unsigned int);
  if (has_memfd) return reinterpret_cast<Function>(dlsym(RTLD_NEXT, "memfd_create"))(name, flags);
  errno = ENOSYS;
  return -1;
}

extern "C" __attribute__((visibility("default"))) int open(const char* path, int flags, ...) {
  std::va_list rest;
  va_start(rest, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  if ((flags & O_TMPFILE) != O_TMPFILE || has_files_without_names)
    return openat(AT_FDCWD, path, flags, mode);
  errno = EOPNOTSUPP;
  return -1;
}

namespace valet::test {
namespace {

/// Takes something away until the end of a scope.
class Without {
 public:
  explicit Without(bool& has, bool here = true) : has_(has) { has_ = !here; }
  Without(const Without&) = delete;
  Without& operator=(const Without&) = delete;
  ~Without() { has_ = true; }

 private:
  bool& has_;
};

Options stream() {
  return {.budget_bytes = 200'000, .method = Method::stream, .verify = true, .keep_memory = false};
}

constexpr std::uint64_t most_blocks = 3000;

/// Plans and runs a map in which hardly any block stays, and checks every one.
Report migrate_in_ring(const Options& options) {
  FilledMap filled(ring_map(size(), most_blocks, most_blocks, 1), rank(), Shape::dense);
  Plan plan = filled.plan(MPI_COMM_WORLD, Form::to_ranks, options);
  Report report = execute(plan, filled.storage());
  EXPECT_EQ(sum_over_ranks(filled.wrong(Form::to_ranks, options.order)), 0);
  return report;
}

TEST(NoMemfd, LeavesMessages) {
  const bool shares =
      max_over_ranks(static_cast<long long>(migrate_in_ring(stream()).shared_bytes));
  for (const bool everywhere : {true, false}) {
    const Without memfd(has_memfd, everywhere || is_odd());
    const Report report = migrate_in_ring(stream());
    EXPECT_TRUE(all_ranks(!(everywhere || is_odd()) || report.shared_bytes == 0));
  }
  EXPECT_EQ(max_over_ranks(static_cast<long long>(migrate_in_ring(stream()).shared_bytes)) > 0,
            shares)
      << "what was refused once is asked for again";
}

TEST(SmallFiles, LeaveMessages) {
  const Limited files(RLIMIT_FSIZE, 4096);
  EXPECT_TRUE(all_ranks(migrate_in_ring(stream()).shared_bytes == 0));
}

// AddressSanitizer takes address space by the terabyte, and ends the program where it gets none.
#ifndef __SANITIZE_ADDRESS__
/// Bytes that leave this rank in the tests of address space.
constexpr std::size_t large = std::size_t{48} << 20;
/// Less than that, and more than MPI asks for.
constexpr std::size_t spare = std::size_t{32} << 20;

TEST(LittleAddressSpace, IsAnErrorOfAllRanksBeforeAnythingMoves) {
  if (size() == 1) return;  // nothing leaves
  FilledMap filled(ring_map(size(), large / (1 << 16), large / (1 << 16), 1), rank(), Shape::dense,
                   1 << 16);
  Options options = stream();
  options.method = Method::direct;
  options.budget_bytes = 4 * large;
  Plan plan = filled.plan(MPI_COMM_WORLD, Form::to_slots, options);
  Outcome outcome;
  {
    const Limited space(RLIMIT_AS, is_odd() ? address_space() + spare : RLIM_INFINITY);
    outcome = outcome_of([&] { execute(plan, filled.storage()); });
  }
  expect_error(outcome, ErrorCode::out_of_memory,
               {"rank " + std::to_string(size() - 1), "budget_bytes"});
  execute(plan, filled.storage());
  EXPECT_EQ(sum_over_ranks(filled.wrong(Form::to_slots, options.order)), 0)
      << "the data was as it had been, and the plan is as good as before";
}

TEST(LittleAddressSpace, DoesNotStopWhatNeedsNone) {
  for (const Method method : {Method::stream, Method::phased, Method::cyclic}) {
    SCOPED_TRACE(to_string(method));
    const Limited space(RLIMIT_AS, is_odd() ? address_space() + spare : RLIM_INFINITY);
    Options options = stream();
    options.method = method;
    options.budget_bytes = std::size_t{1} << 30;  // what may be used, not what is
    static_cast<void>(migrate_in_ring(options));
  }
}

TEST(LittleAddressSpace, IsAnErrorOfAllRanksForAlltoallsAndLayouts) {
  if (size() == 1) return;
  const std::size_t count = large / sizeof(std::uint64_t) / static_cast<std::size_t>(size()) *
                            static_cast<std::size_t>(size());
  std::vector<std::uint64_t> data(count);
  for (std::size_t k = 0; k < count; ++k) data[k] = k;
  const auto expect_refused = [&](auto&& call) {
    Outcome outcome;
    {
      const Limited space(RLIMIT_AS, is_odd() ? address_space() + spare / 2 : RLIM_INFINITY);
      outcome = outcome_of(call);
    }
    expect_error(outcome, ErrorCode::out_of_memory, {});
    bool is_untouched = true;
    for (std::size_t k = 0; k < count; ++k) is_untouched = is_untouched && data[k] == k;
    EXPECT_TRUE(all_ranks(is_untouched));
  };
  const std::vector<std::int64_t> counts(static_cast<std::size_t>(size()),
                                         static_cast<std::int64_t>(count) / size());
  expect_refused([&] {
    alltoallv_in_place(
        MPI_COMM_WORLD, {data.data(), large, sizeof(std::uint64_t)}, counts, {},
        {.budget_bytes = 4 * large, .keep_memory = false, .method = AlltoallMethod::direct});
  });
  const auto all = static_cast<std::int64_t>(count) * size();
  const GridLayout blocks{BlockCyclic({all}, {static_cast<std::int64_t>(count)}, {size()})};
  const GridLayout cyclic{BlockCyclic({all}, {1}, {size()})};
  expect_refused([&] {
    redistribute_in_place(
        MPI_COMM_WORLD, blocks, cyclic, sizeof(std::uint64_t),
        {.data = data.data(), .bytes = large},
        {.budget_bytes = 4 * large, .method = Method::direct, .keep_memory = false});
  });
}

#endif  // __SANITIZE_ADDRESS__

/// Where a trace goes, and what is said about it.
class SmallFilesForTraces : public testing::TestWithParam<std::uint64_t> {};

TEST_P(SmallFilesForTraces, AreAWarningAndTheTraceIsWholeOrAsItWas) {
  const TraceDirectory directory;
  for (const bool on_all_ranks : {true, false}) {
    directory.put("trace.json", "what was there");
    Options options = stream();
    options.trace = directory.path("trace.json");
    std::string said;  // not to standard error, which may be a file
    set_log_callback([&](LogLevel level, std::string_view text) {
      if (level == LogLevel::warning) said.append(text) += '\n';
    });
    {
      const bool here = on_all_ranks || is_odd();
      const Limited files(RLIMIT_FSIZE, here ? GetParam() : RLIM_INFINITY);
      static_cast<void>(migrate_in_ring(options));
    }
    set_log_callback({});
    const bool is_written = directory.expect_whole_or("what was there");
    const bool is_refused = said.find("cannot write the trace to '" + options.trace +
                                      "' (File too large)") != std::string::npos;
    EXPECT_EQ(is_refused, rank() == 0 && !is_written) << said;
    EXPECT_TRUE(GetParam() > 0 || !on_all_ranks || !is_written);
  }
  Options options = stream();
  options.trace = directory.path("trace.json");
  static_cast<void>(migrate_in_ring(options));
  directory.expect_whole();
}

// Nothing at all, less than the events of a rank, and less than those of all.
INSTANTIATE_TEST_SUITE_P(Bytes, SmallFilesForTraces, testing::Values(0, 10'000, 60'000));

TEST(FilesWithoutNames, AreNotNeededForATraceThatIsWholeOrAsItWas) {
  const Without names(has_files_without_names);
  const TraceDirectory directory;
  directory.put("trace.json", "what was there");
  Options options = stream();
  options.trace = directory.path("trace.json");
  set_log_callback([](LogLevel, std::string_view) {});
  {
    const Limited files(RLIMIT_FSIZE, 100);
    static_cast<void>(migrate_in_ring(options));
  }
  set_log_callback({});
  EXPECT_FALSE(directory.expect_whole_or("what was there"));
  static_cast<void>(migrate_in_ring(options));
  directory.expect_whole();
}

/// What with_small_disks.sh has mounted.
class SmallDisks : public testing::Test {
 protected:
  void SetUp() override {
    if (disk_ == nullptr) GTEST_SKIP() << "with_small_disks.sh has not started this";
  }
  const char* const disk_ = std::getenv("VALET_TEST_SMALL_DISK");
};

TEST_F(SmallDisks, ForMemoryThatIsSharedDoNotMatter) {
  // Debian's MPICH 5.0.2 says of every rank that it is alone on its node.
  MPI_Comm node = MPI_COMM_NULL;
  int on_node = 0;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  MPI_Comm_size(node, &on_node);
  MPI_Comm_free(&node);
  const Report report = migrate_in_ring(stream());
  EXPECT_TRUE(all_ranks(on_node == 1 || report.shared_bytes > 32 << 10)) << report.shared_bytes;
}

TEST_F(SmallDisks, LeaveTheTraceThatWasThere) {
  const TraceDirectory directory(disk_);
  directory.put("trace.json", "what was there");
  Options options = stream();
  options.trace = directory.path("trace.json");
  testing::internal::CaptureStderr();
  static_cast<void>(migrate_in_ring(options));
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_FALSE(directory.expect_whole_or("what was there"));
  EXPECT_EQ(contains(said, "(No space left on device); the migration itself went on"), rank() == 0)
      << said;
}

TEST_F(SmallDisks, ForTemporaryFilesLeaveAWholeTraceOfWhatHadRoom) {
  const TraceDirectory directory;
  Options options = stream();
  options.trace = directory.path("trace.json");
  options.share_memory = false;
  options.budget_bytes = 2000;  // many messages: more events than memory has room for
  setenv("TMPDIR", disk_, 1);
  testing::internal::CaptureStderr();
  static_cast<void>(migrate_in_ring(options));
  const std::string said = testing::internal::GetCapturedStderr();
  unsetenv("TMPDIR");
  directory.expect_whole();
  EXPECT_EQ(contains(said, "events that found no room; set TMPDIR"), rank() == 0 && size() > 1)
      << said;
}

}  // namespace
}  // namespace valet::test
