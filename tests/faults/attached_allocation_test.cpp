// SPDX-License-Identifier: BSD-3-Clause

// The system refuses memory to one rank in the middle of a call with attached storage: its n-th
// allocation, or that and all that follow, n = 1 until a call makes fewer. All ranks get
// out_of_memory or ZOLTAN_MEMERR and nothing has moved, or all objects have. Nobody is left
// waiting.

#include "gathered.hpp"
#include "refused_call.hpp"
#include "zoltan_lists.hpp"
#include <valet/zoltan/attached.hpp>
#include <valet/zoltan/valet_zoltan.h>

namespace valet::test {
namespace {

/// Objects on a line, all of them on the first half of it at first, which say where they began.
class HeldLine {
 public:
  explicit HeldLine(std::uint64_t count)
      : count_(count), place_(2 * count), number_(2 * count), parts_(2 * count) {
    float version = 0;
    Zoltan_Initialize(0, nullptr, &version);
    zoltan_ = Zoltan_Create(MPI_COMM_WORLD);
    set("DEBUG_LEVEL", "0");
    set("AUTO_MIGRATE", "TRUE");
    set("NUM_GLOBAL_PARTS", std::to_string(size()));
    set("NUM_GID_ENTRIES", "2");
    for (std::uint64_t k = 0; k < count; ++k) {
      lids_.push_back(static_cast<ZOLTAN_ID_TYPE>(k));
      gids_.insert(gids_.end(), {static_cast<ZOLTAN_ID_TYPE>(rank()), lids_.back()});
      procs_.push_back(static_cast<int>(k) % size());
    }
    fill();
  }
  HeldLine(const HeldLine&) = delete;
  HeldLine& operator=(const HeldLine&) = delete;
  ~HeldLine() { Zoltan_Destroy(&zoltan_); }

  void set(const char* name, const std::string& value) {
    EXPECT_EQ(Valet_Set_Param(zoltan_, name, value.c_str()), ZOLTAN_OK) << name;
  }
  void fill() {
    for (std::uint64_t k = 0; k < count_; ++k) {
      place_[k] = static_cast<double>(k * k % 1009) + (rank() == 0 ? 0.25 : 0.75);
      number_[k] = number(k);
    }
    std::ranges::fill(parts_, rank());
    if (attached_) attached_->count(count_);
  }
  void attach_only() { attached_.emplace(zoltan_, count_, storage_); }
  void attach() {
    attach_only();
    attached_->coordinates(array_columns(place_.data(), place_.size(), 1));
    attached_->parts(valet::ref(parts_));
  }
  void end() { attached_.reset(); }
  [[nodiscard]] zoltan::Attached& attached() { return *attached_; }
  int partition_with_lists() {
    int changes = 0, gids = 0, lids = 0;
    std::array<ZoltanLists::Arrays, 2> lists;
    const int code =
        Valet_LB_Partition(zoltan_, &changes, &gids, &lids, &lists[0].count, &lists[0].gids,
                           &lists[0].lids, &lists[0].procs, &lists[0].parts, &lists[1].count,
                           &lists[1].gids, &lists[1].lids, &lists[1].procs, &lists[1].parts);
    for (ZoltanLists::Arrays& list : lists)
      Zoltan_LB_Free_Part(&list.gids, &list.lids, &list.procs, &list.parts);
    return code;
  }
  int migrate() {
    return Valet_Migrate(zoltan_, -1, nullptr, nullptr, nullptr, nullptr,
                         static_cast<int>(lids_.size()), gids_.data(), lids_.data(), procs_.data(),
                         procs_.data());
  }

  /// @param call  What is tried.
  [[nodiscard]] RefusedCall refused(const std::function<void()>& call) {
    return {[call](MPI_Comm) { call(); }, [this] { fill(); },
            [this] { return is_whole() && is_unchanged(); }, [this] { return is_whole(); }};
  }
  /// The same for a call that returns a code of Zoltan's and prints.
  [[nodiscard]] RefusedCall refused_code(const std::function<int()>& call) {
    return {[call](MPI_Comm) {
              const int code = call();
              end_refusal();
              if (code != ZOLTAN_OK)
                throw Error(code == ZOLTAN_MEMERR ? ErrorCode::out_of_memory : ErrorCode::internal,
                            "a code of Zoltan");
            },
            [this] {
              fill();
              testing::internal::CaptureStderr();
            },
            [this] { return caught() && is_whole() && is_unchanged(); },
            [this] { return caught() && is_whole(); }};
  }

 private:
  static bool caught() {
    testing::internal::GetCapturedStderr();
    return true;
  }
  [[nodiscard]] std::uint64_t here() const { return attached_ ? attached_->count() : count_; }
  [[nodiscard]] bool is_unchanged() const {
    for (std::uint64_t k = 0; k < count_; ++k)
      if (number_[k] != number(k) || parts_[k] != rank()) return false;
    return here() == count_;
  }
  /// Every object is somewhere, once, in the part that it says. Collective.
  [[nodiscard]] bool is_whole() const {
    const auto parts = std::span(parts_).first(here());
    return lost_or_doubled(number_, here(), count_ * static_cast<std::uint64_t>(size())) == 0 &&
           std::ranges::all_of(parts, [](int part) { return part == rank(); });
  }
  [[nodiscard]] std::uint64_t number(std::uint64_t k) const {
    return count_ * static_cast<std::uint64_t>(rank()) + k;
  }

  std::uint64_t count_;
  std::vector<double> place_;
  std::vector<std::uint64_t> number_;
  std::vector<int> parts_;
  std::vector<ZOLTAN_ID_TYPE> gids_, lids_;
  std::vector<int> procs_;
  Zoltan_Struct* zoltan_ = nullptr;
  const BlockStorage storage_{field(place_), field(number_)};
  std::optional<zoltan::Attached> attached_;
};

/// Few objects, and more than what is held back for hard times has room for.
class RefusedAllocationInAttached : public testing::TestWithParam<std::uint64_t> {};

TEST_P(RefusedAllocationInAttached, EndsAPartitionOnAllRanks) {
  HeldLine line(GetParam());
  line.attach();
  survives_all(line.refused([&] { line.attached().partition(); }));
}

TEST_P(RefusedAllocationInAttached, EndsAPartitionWithListsOnAllRanks) {
  HeldLine line(GetParam());
  line.attach();
  survives_all(line.refused_code([&] { return line.partition_with_lists(); }));
}

TEST_P(RefusedAllocationInAttached, EndsAMigrationOfListsOnAllRanks) {
  HeldLine line(GetParam());
  line.attach();
  survives_all(line.refused_code([&] { return line.migrate(); }));
}

TEST_P(RefusedAllocationInAttached, EndsTheAttachingOnAllRanks) {
  HeldLine line(GetParam());
  survives_all(line.refused([&] { line.attach_only(); }));
  line.end();
  survives_all(line.refused([&] {
    line.attach_only();
    line.attached().detach();
  }));
}

INSTANTIATE_TEST_SUITE_P(Objects, RefusedAllocationInAttached, testing::Values(60, 9000),
                         ParameterName());

}  // namespace
}  // namespace valet::test
