// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Swarms of PETSc whose points tell which they are, and errors as PETSc raises them.

#include "test_comm.hpp"
#include <valet/petsc.h>

#include <deque>

namespace valet::test {

inline void require(PetscErrorCode code) {
  if (code) throw std::runtime_error("PETSc returned " + std::to_string(static_cast<int>(code)));
}

/// Initialises PETSc for all tests of a program that includes this.
class PetscEnvironment : public ::testing::Environment {
 public:
  void SetUp() override {
    ASSERT_EQ(PetscInitializeNoArguments(), 0);
    require(PetscPopSignalHandler());
    print = PetscVFPrintf;
    realloc = PetscTrRealloc;
  }
  void TearDown() override { ASSERT_EQ(PetscFinalize(), 0); }

  /// What PETSc begins with.
  static inline decltype(PetscVFPrintf) print = nullptr;
  static inline decltype(PetscTrRealloc) realloc = nullptr;
};
inline const auto* const petsc_environment =
    ::testing::AddGlobalTestEnvironment(new PetscEnvironment);

/// What a call raises: PETSc's code, and the text of the first error. Nothing is printed.
template <class Call>
Outcome raised_by(Call&& call) {
  std::string text;
  const auto keep = [](MPI_Comm, int, const char*, const char*, PetscErrorCode code,
                       PetscErrorType type, const char* message, void* kept) {
    if (type == PETSC_ERROR_INITIAL && message != nullptr)
      *static_cast<std::string*>(kept) = message;
    return code;
  };
  require(PetscPushErrorHandler(keep, &text));
  const PetscErrorCode code = std::forward<Call>(call)();
  require(PetscPopErrorHandler());
  return {static_cast<ErrorCode>(static_cast<int>(code)), code ? text : ""};
}

inline Outcome migrate(DM swarm, const Valet_Options* options = nullptr,
                       Valet_Report* report = nullptr) {
  return raised_by([=] { return ValetDMSwarmMigrate(swarm, options, report); });
}

/// A field of test swarms, beside those that PETSc registers.
struct TestField {
  const char* name;
  PetscInt entries;
  std::size_t entry_bytes;
  PetscDataType type;
};
inline const std::vector<TestField>& test_fields() {
  static const std::vector<TestField> fields{{"mass", 1, 8, PETSC_DOUBLE},
                                             {"velocity", 3, 8, PETSC_DOUBLE},
                                             {"a long name, with spaces", 1, 2, PETSC_SHORT},
                                             {"state", 1, 24, PETSC_STRUCT},
                                             {"tags", 5, 3, PETSC_DATATYPE_UNKNOWN}};
  return fields;
}

/// A field for as long as it is accessed.
class Access {
 public:
  Access(DM swarm, const char* name) : swarm_(swarm), name_(name) {
    require(DMSwarmGetField(swarm, name, nullptr, nullptr, &data_));
  }
  Access(const Access&) = delete;
  Access& operator=(const Access&) = delete;
  ~Access() { (void)DMSwarmRestoreField(swarm_, name_, nullptr, nullptr, &data_); }
  template <class T>
  [[nodiscard]] T* as() const {
    return static_cast<T*>(data_);
  }

 private:
  DM swarm_;
  const char* name_;
  void* data_ = nullptr;
};

inline std::size_t bytes_of(const TestField& field) {
  return field.entry_bytes * static_cast<std::size_t>(field.entries);
}

using Row = std::vector<unsigned char>;

/// What a point has in all fields, the same for no other point.
inline Row row_of(std::int64_t point) {
  Row row;
  std::minstd_rand random(static_cast<std::uint32_t>(point * 7919 + 1));
  for (const TestField& field : test_fields())
    for (std::size_t b = 0; b < bytes_of(field); ++b)
      row.push_back(static_cast<unsigned char>(random() >> 8U));
  return row;
}

/// A DMSWARM with test_fields(). The points of a rank are numbered from `first` on.
class Swarm {
 public:
  /// @param adapt  Registers more fields, or others.
  explicit Swarm(
      const std::function<void(DM)>& adapt = [](DM) {}, MPI_Comm comm = MPI_COMM_WORLD) {
    require(DMCreate(comm, &dm_));
    require(DMSetType(dm_, DMSWARM));
    require(DMSetDimension(dm_, 2));
    require(DMSwarmSetType(dm_, DMSWARM_BASIC));
    require(DMSwarmInitializeFieldRegister(dm_));
    for (const TestField& field : test_fields()) {
      if (field.type == PETSC_STRUCT)
        require(DMSwarmRegisterUserStructField(dm_, field.name, field.entry_bytes));
      else if (field.type == PETSC_DATATYPE_UNKNOWN)
        require(
            DMSwarmRegisterUserDatatypeField(dm_, field.name, field.entry_bytes, field.entries));
      else
        require(DMSwarmRegisterPetscDatatypeField(dm_, field.name, field.entries, field.type));
    }
    adapt(dm_);
    require(DMSwarmFinalizeFieldRegister(dm_));
  }
  Swarm(const Swarm&) = delete;
  Swarm& operator=(const Swarm&) = delete;
  ~Swarm() { (void)DMDestroy(&dm_); }

  operator DM() const { return dm_; }  // NOLINT: as a DM

  /// Gives this rank so many points, whose rows are row_of().
  void fill(PetscInt count, std::int64_t first, PetscInt buffer = 4) {
    require(DMSwarmSetLocalSizes(dm_, count, buffer));
    {
      const Access points(dm_, DMSwarmField_pid);
      std::iota(points.as<std::int64_t>(), points.as<std::int64_t>() + count, first);
    }
    for_each_row([](std::int64_t point, std::span<const std::span<unsigned char>> fields) {
      const Row row = row_of(point);
      auto from = row.begin();
      for (const auto& field : fields) {
        std::copy_n(from, field.size(), field.begin());
        from += static_cast<std::ptrdiff_t>(field.size());
      }
    });
  }
  [[nodiscard]] std::size_t count() const {
    PetscInt count = 0;
    require(DMSwarmGetLocalSize(dm_, &count));
    return static_cast<std::size_t>(count);
  }
  /// Sets DMSwarm_rank of point k to rank_of(k).
  template <class RankOf>
  void send(RankOf&& rank_of) {
    const Access ranks(dm_, DMSwarmField_rank);
    for (std::size_t k = 0; k < count(); ++k)
      ranks.as<PetscInt>()[k] = static_cast<PetscInt>(rank_of(k));
  }
  [[nodiscard]] std::vector<PetscInt> ranks() const {
    const Access ranks(dm_, DMSwarmField_rank);
    return {ranks.as<PetscInt>(), ranks.as<PetscInt>() + count()};
  }
  [[nodiscard]] std::vector<std::int64_t> points() const {
    const Access points(dm_, DMSwarmField_pid);
    return {points.as<std::int64_t>(), points.as<std::int64_t>() + count()};
  }
  /// Whether every row is that of its point.
  [[nodiscard]] bool rows_are_right() const {
    bool right = true;
    for_each_row([&](std::int64_t point, std::span<const std::span<unsigned char>> fields) {
      Row row;
      for (const auto& field : fields) row.insert(row.end(), field.begin(), field.end());
      right = right && row == row_of(point);
    });
    return right;
  }

 private:
  /// Calls action(point, its bytes in each of test_fields()).
  template <class Action>
  void for_each_row(Action&& action) const {
    const std::vector<std::int64_t> numbers = points();
    std::deque<Access> fields;
    for (const TestField& field : test_fields()) fields.emplace_back(dm_, field.name);
    std::vector<std::span<unsigned char>> row(fields.size());
    for (std::size_t k = 0; k < numbers.size(); ++k) {
      for (std::size_t f = 0; f < row.size(); ++f) {
        const std::size_t bytes = bytes_of(test_fields()[f]);
        row[f] = {fields[f].as<unsigned char>() + k * bytes, bytes};
      }
      action(numbers[k], row);
    }
  }

  DM dm_ = nullptr;
};

}  // namespace valet::test
