// SPDX-License-Identifier: BSD-3-Clause

// Storages, sizes and choices that cannot be, on the last rank only: all ranks throw the same
// error, and nothing overflows before.

#include "spoilt_call.hpp"
#include <valet/detail/host_fields.hpp>

namespace valet::test {
namespace {

TEST(MapErrors, FieldsOfDifferentExtentsNameTheField) {
  Call call;
  std::vector<double> first(slots), second(slots + 1);
  if (is_odd())
    call.storage = {field(first.data(), slots, 1, "mass"),
                    field(second.data(), slots + 1, 1, "charge")};
  expect_plans_refused(call, ErrorCode::field_mismatch,
                       {odd_name(), "'charge'", "7 slots", "6", "same number"});
}

TEST(MapErrors, FieldWithoutMemoryIsNamed) {
  Call call;
  std::vector<double> first(slots);
  if (is_odd())
    call.storage = {field(first.data(), slots, 1, "mass"),
                    field(static_cast<double*>(nullptr), slots, 1, "charge")};
  expect_plans_refused(call, ErrorCode::inaccessible_memory,
                       {odd_name(), "'charge'", "6 slots", "allocate"});
}

TEST(MapErrors, StorageWithoutFieldsAndRowsWithoutBytes) {
  Call call;
  if (is_odd()) call.storage = BlockStorage(std::span<const Field>());
  expect_plans_refused(call, ErrorCode::invalid_argument, {odd_name(), "without fields", "give"});
  Call empty_row;
  std::vector<double> values(slots);
  if (is_odd()) empty_row.storage = {field(values.data(), slots, 0, "nothing")};
  expect_plans_refused(empty_row, ErrorCode::invalid_argument,
                       {odd_name(), "'nothing'", "zero bytes", "leave it out"});
}

TEST(MapErrors, FieldsThatShareMemory) {
  std::vector<double> values(slots);
  struct Particle {
    double position[3];
    double mass;
  };
  std::vector<Particle> particles(slots);
  constexpr auto stride = static_cast<std::ptrdiff_t>(sizeof(Particle));
  Call twice;
  if (is_odd()) twice.storage = {field(values, 1, "mass"), field(values, 1, "charge")};
  expect_plans_refused(twice, ErrorCode::invalid_argument,
                       {odd_name(), "'charge'", "'mass'", "same address", "give every array once"});
  Call members;
  if (is_odd())
    members.storage = {strided_field(&particles.front().position[2], slots, 16, -stride, "mass"),
                       strided_field(&particles.front().mass, slots, 8, -stride, "charge")};
  expect_plans_refused(members, ErrorCode::invalid_argument,
                       {odd_name(), "'charge' (rows of 8 bytes, -32 apart)",
                        "'mass' (rows of 16 bytes, -32 apart)", "memory of its own"});
}

TEST(MapErrors, RowsOfAFieldThatOverlap) {
  for (const std::ptrdiff_t stride : {0, 8, -8}) {
    Call call;
    std::vector<double> values(2 * slots);
    if (is_odd()) call.storage = {strided_field(&values[slots], slots, 36, stride, "mass")};
    expect_plans_refused(call, ErrorCode::invalid_argument,
                         {odd_name(), "'mass'", "36 bytes, " + std::to_string(stride) + " apart",
                          "overlap", "give strides"});
  }
}

TEST(MapErrors, ArrayThatEndsInPartOfARow) {
  Call call;
  std::vector<double> values(3 * slots - 1);
  if (is_odd()) call.storage = {field(std::span(values), 3, "position")};
  expect_plans_refused(call, ErrorCode::invalid_argument,
                       {odd_name(), "'position'", "16 bytes", "5 rows of 24 bytes", "multiple"});
}

/// Fields that no memory holds, declared on the odd rank.
void expect_field_refused(const Field& bad, ErrorCode code, const std::string& part) {
  SCOPED_TRACE(part);
  Call call;
  if (is_odd()) call.storage = {bad};
  expect_plans_refused(call, code, {odd_name(), part});
}

TEST(SizeErrors, FieldsBeyondAnyMemoryAreRefused) {
  std::vector<double> values(64);
  const Field good = field(values.data(), 8);
  Field bad = good;
  bad.slots = ~std::uint64_t{0} - 62;
  expect_field_refused(bad, ErrorCode::invalid_argument, "more than any memory");
  bad.slot_stride_bytes = 0;
  expect_field_refused(bad, ErrorCode::invalid_argument, "more than any memory");
  bad = good;  // 2^64 + 2^35 bytes
  bad.dimensions[0] = {std::size_t{1} << 32, 8};
  bad.dimensions[1] = {(std::size_t{1} << 29) + 1, 8};
  bad.dimension_count = 2;
  expect_field_refused(bad, ErrorCode::invalid_argument, "rows of more than 2^60 bytes");
  bad.dimension_count = 9;
  expect_field_refused(bad, ErrorCode::invalid_argument, "rows of 9 dimensions");
  bad = field(values.data(), 8, (std::size_t{1} << 61) + 1);  // 2^64 + 8 bytes
  expect_field_refused(bad, ErrorCode::invalid_argument, "rows of more than 2^60 bytes");
  bad = field(std::span(values), (std::size_t{1} << 61) + 1);
  expect_field_refused(bad, ErrorCode::invalid_argument, "rows of more than 2^60 bytes");
}

/// A storage of the application that says of itself what it likes.
struct AbsurdStorage final : HostFields {
  AbsurdStorage(std::uint64_t slot_count, std::size_t bytes)
      : HostFields(std::span<const Field>(&field_, 1)), slots_(slot_count), bytes_(bytes) {}
  [[nodiscard]] std::uint64_t slots() const override { return slots_; }
  [[nodiscard]] std::size_t block_bytes() const override { return bytes_; }

 private:
  static inline double value_ = 0;
  static inline const Field field_ = field(&value_, 1);
  std::uint64_t slots_;
  std::size_t bytes_;
};

TEST(SizeErrors, StoragesBeyondAnyMemoryAreRefused) {
  for (const std::uint64_t slot_count : {~std::uint64_t{0}, ~std::uint64_t{0} - 62}) {
    Call call;
    if (is_odd()) call.storage = BlockStorage(std::make_shared<AbsurdStorage>(slot_count, 16));
    expect_plans_refused(call, ErrorCode::invalid_argument,
                         {odd_name(), std::to_string(slot_count), "2^60 bytes"});
  }
  Call call;
  if (is_odd()) call.storage = BlockStorage(std::make_shared<AbsurdStorage>(6, 0));
  expect_plans_refused(call, ErrorCode::invalid_argument, {odd_name(), "zero bytes"});
}

TEST(OptionErrors, ValuesThatNoEnumerationHasAreRefused) {
  const auto expect = [](const std::function<void(Options&)>& spoil, const std::string& name) {
    SCOPED_TRACE(name);
    for (const bool everywhere : {false, true}) {
      Call call;
      if (everywhere || is_odd()) spoil(call.options);
      expect_plans_refused(call, ErrorCode::invalid_argument,
                           {everywhere ? "rank 0:" : odd_name(), name + " is 77", "none of"});
    }
  };
  expect([](Options& o) { o.method = static_cast<Method>(77); }, "option method");
  expect([](Options& o) { o.order = static_cast<Order>(77); }, "option order");
  for (const Method method : {Method::phased, Method::stream}) {
    expect(
        [=](Options& o) {
          o.method = method;
          o.phased.heuristic = static_cast<Heuristic>(77);
        },
        "option phased.heuristic");
    expect(
        [=](Options& o) {
          o.method = method;
          o.phased.scheduler = static_cast<Scheduler>(77);
        },
        "option phased.scheduler");
  }
  expect([](Options& o) { o.cyclic.edge_order = static_cast<EdgeOrder>(77); },
         "option cyclic.edge_order");
}

}  // namespace
}  // namespace valet::test
