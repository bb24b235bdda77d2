// SPDX-License-Identifier: BSD-3-Clause
#include "storage/growth.hpp"

#include "base/diagnose.hpp"
#include "base/memory_reserve.hpp"
#include "base/names.hpp"
#include "storage/field_check.hpp"
#include <valet/detail/first_failure.hpp>
#include <valet/detail/host_fields.hpp>

#include <algorithm>
#include <cstddef>
#include <new>
#include <string>
#include <utility>
#include <vector>

namespace valet {
namespace {

using detail::named;
using std::to_string;

/// What a storage lacks, if anything, such as "of 10 slots, 12".
std::optional<std::string> lack(std::uint64_t has, const std::string& what, std::uint64_t needs) {
  if (has >= needs) return std::nullopt;
  return "of " + to_string(has) + " " + what + ", " + to_string(needs);
}

std::optional<std::string> lack_of(const BlockStorage& storage, std::uint64_t required) {
  return lack(storage.slots(), "slots", required);
}

std::optional<std::string> lack_of(const RaggedStorage& storage, const RaggedRoom& required) {
  storage.refresh();
  const std::vector<RaggedField>& fields = storage.fields();
  for (std::size_t f = 0; f < std::min(fields.size(), required.bytes.size()); ++f) {
    const std::string name = named("ragged field", fields[f].label, f);
    if (auto found = lack(fields[f].capacity_bytes, "bytes in " + name, required.bytes[f]))
      return found;
    if (auto found = lack(fields[f].block_capacity, "lengths of " + name, required.blocks))
      return found;
  }
  for (std::size_t c = 0; c < storage.columns().size(); ++c) {
    const Field& column = storage.columns()[c];
    if (auto found =
            lack(column.slots, "rows in " + named("column", column.label, c), required.blocks))
      return found;
  }
  return std::nullopt;
}

/// What must stay, whatever the sizes.
std::vector<std::uint64_t> ragged_shape(const RaggedStorage& storage) {
  std::vector<std::uint64_t> shape{storage.fields().size(), storage.columns().size()};
  for (const RaggedField& field : storage.fields())
    shape.insert(shape.end(), {field.alignment_bytes, field.value_bytes});
  for (const Field& column : storage.columns()) shape.push_back(column.element_bytes);
  return shape;
}

/// Runs `enlarge`, which may call the application. @return What went wrong.
/// @param function  How messages call it.
template <class Enlarge>
std::optional<Diagnostic> attempt(const char* function, Enlarge&& enlarge) {
  const std::string activity = joined("enlarging the storage (", function, ")");
  detail::FirstFailure failure;
  try {
    const detail::LeaveReserve leave;
    enlarge();
  } catch (const std::bad_alloc&) {
    return diagnose(ErrorCode::out_of_memory, "no memory for ", activity, "; nothing has moved");
  } catch (const Error& error) {  // a NodeArray says it so
    if (error.code() == ErrorCode::out_of_memory)
      return diagnose(error.code(), error.message(), "; nothing has moved");
    failure.keep(activity.c_str());
  } catch (...) {
    failure.keep(activity.c_str());
  }
  return failure.diagnostic("nothing has moved");
}

/// @param lacks  As lack_of() finds it afterwards.
std::optional<Diagnostic> too_little(const char* function,
                                     const std::optional<std::string>& lacks) {
  if (!lacks) return std::nullopt;
  return diagnose(ErrorCode::infeasible, function, " returned a storage ", *lacks,
                  " are required; return one that has them, nothing has moved");
}

/// Resizes each array once that is too small, or none of them: where one fails, those before it get
/// the sizes back that they had, as all arrays of a storage have as many rows.
class ResizedArrays {
 public:
  ResizedArrays() = default;
  ResizedArrays(const ResizedArrays&) = delete;
  ResizedArrays& operator=(const ResizedArrays&) = delete;
  ~ResizedArrays() {
    for (const auto& take_back : take_back_) {
      try {
        take_back();
      } catch (...) {  // a View that cannot even shrink: the next call says which is too long
      }
    }
  }

  void fields(std::span<Field> fields, std::uint64_t slots, const char* kind) {
    for (std::size_t f = 0; f < fields.size(); ++f) {
      Field& field = fields[f];
      storage::look_again(field);
      if (field.slots >= slots) continue;
      require(field, kind, f);
      take_back_.push_back([&field, had = field.slots] { field.resize(had); });
      field.resize(slots);
    }
  }
  void arenas(std::span<const RaggedField> arenas, const RaggedRoom& required) {
    for (std::size_t f = 0; f < std::min(arenas.size(), required.bytes.size()); ++f) {
      const RaggedField& arena = arenas[f];
      const std::uint64_t bytes = std::max(arena.capacity_bytes, required.bytes[f]),
                          blocks = std::max(arena.block_capacity, required.blocks);
      if (bytes == arena.capacity_bytes && blocks == arena.block_capacity) continue;
      require(arena, "ragged field", f);
      take_back_.push_back([&arena, had = arena.capacity_bytes, lengths = arena.block_capacity] {
        arena.resize(had, lengths);
      });
      arena.resize(bytes, blocks);
    }
  }
  void keep() { take_back_.clear(); }

 private:
  template <class Array>
  static void require(const Array& array, const char* kind, std::size_t index) {
    if (!array.resize)
      refuse(named(kind, array.label, index),
             " cannot be resized, but others of its storage can; let all of them grow");
  }

  std::vector<std::function<void()>> take_back_;
};

constexpr auto is_resizable = [](const auto& array) { return bool(array.resize); };

}  // namespace

std::optional<Diagnostic> storage::grow(const BlockStorage& storage, std::uint64_t required) {
  if (!storage.grows()) return std::nullopt;
  if (auto found = storage.backend().diagnostic()) return found;
  if (!lack_of(storage, required)) return std::nullopt;
  auto failed = attempt("grow", [&] {
    storage.backend().synchronize();  // work of the application on arrays that are replaced
    storage.grow(required);
  });
  if (failed) return failed;
  const auto lacks = lack_of(storage, required);
  if (auto found = storage.backend().diagnostic()) return found;
  return too_little("grow", lacks);
}

std::optional<Diagnostic> storage::grow(const RaggedStorage& storage, const RaggedRoom& required) {
  if (!storage.grows() || !lack_of(storage, required)) return std::nullopt;
  bool is_same = true;
  auto failed = attempt("grow_ragged", [&] {
    const std::vector<std::uint64_t> shape = ragged_shape(storage);
    storage.grow(required);
    is_same = ragged_shape(storage) == shape;
  });
  if (failed) return failed;
  if (!is_same)
    return diagnose(
        ErrorCode::field_mismatch,
        "grow_ragged returned other arrays; return the same, larger, nothing has moved");
  return too_little("grow_ragged", lack_of(storage, required));
}

BlockStorage::BlockStorage(std::initializer_list<Field> fields)
    : BlockStorage(std::span<const Field>(fields.begin(), fields.size())) {}

BlockStorage::BlockStorage(std::span<const Field> fields)
    : BlockStorage(std::make_shared<HostFields>(fields), fields) {}

BlockStorage::BlockStorage(std::shared_ptr<StorageBackend> backend)
    : shared_(std::make_shared<Shared>()) {
  if (!backend)
    backend = std::make_shared<HostFields>(Diagnostic{
        ErrorCode::invalid_argument, "the storage has no backend (a null pointer); give one"});
  shared_->backend = std::move(backend);
}

BlockStorage::BlockStorage(std::shared_ptr<StorageBackend> backend, std::span<const Field> fields)
    : BlockStorage(std::move(backend)) {
  if (std::ranges::none_of(fields, is_resizable)) return;
  shared_->grow = [same = shared_->backend,
                   list = std::vector(fields.begin(), fields.end())](std::uint64_t slots) mutable {
    ResizedArrays resized;
    resized.fields(list, slots, "field");
    resized.keep();
    return BlockStorage(same);
  };
}

BlockStorage BlockStorage::growing(
    std::function<BlockStorage(std::uint64_t required_slots)> grow) const {
  BlockStorage result(shared_->backend);
  result.shared_->grow = std::move(grow);
  return result;
}

void BlockStorage::grow(std::uint64_t required_slots) const {
  const std::shared_ptr<Shared> shared = shared_;  // the function may assign to the storage
  shared->backend = shared->grow(required_slots).shared_backend();
}

RaggedStorage::RaggedStorage(std::span<const RaggedField> fields, std::span<const Field> columns)
    : shared_(std::make_shared<Shared>()) {
  shared_->fields.assign(fields.begin(), fields.end());
  shared_->columns.assign(columns.begin(), columns.end());
  if (std::ranges::none_of(fields, is_resizable) && std::ranges::none_of(columns, is_resizable))
    return;
  shared_->grow = [](const RaggedStorage& storage, const RaggedRoom& required) {
    ResizedArrays resized;
    resized.fields(storage.shared_->columns, required.blocks, "column");
    resized.arenas(storage.shared_->fields, required);
    resized.keep();
  };
}

RaggedStorage RaggedStorage::growing(
    std::function<RaggedStorage(const RaggedRoom& required)> grow) const {
  RaggedStorage result(fields(), columns());
  result.shared_->grow = nullptr;
  if (grow)
    result.shared_->grow = [own = std::move(grow)](const RaggedStorage& storage,
                                                   const RaggedRoom& required) {
      const RaggedStorage made = own(required);
      storage.shared_->fields = made.fields();
      storage.shared_->columns = made.columns();
    };
  return result;
}

void RaggedStorage::grow(const RaggedRoom& required) const {
  const RaggedStorage same = *this;  // the function may assign to the storage
  same.shared_->grow(same, required);
}

void RaggedStorage::refresh() const {
  for (RaggedField& field : shared_->fields) {
    if (!field.current) continue;
    const RaggedField now = field.current();
    field.data = now.data;
    field.capacity_bytes = now.capacity_bytes;
    field.lengths = now.lengths;
    field.block_capacity = now.block_capacity;
    field.are_offsets = now.are_offsets;
  }
  for (Field& column : shared_->columns) storage::look_again(column);
}

}  // namespace valet
