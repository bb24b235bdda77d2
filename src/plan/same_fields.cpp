// SPDX-License-Identifier: BSD-3-Clause
#include "plan/same_fields.hpp"

#include "storage/guarded_backend.hpp"

#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace valet::plan {
namespace {

/// The fields of one rank as texts that end with a zero. What does not fit is cut off, so that no
/// memory is needed on one rank that another does not have.
struct Description {
  std::array<char, 2048> text{};
  std::uint64_t length = 0;
  std::uint64_t block_bytes = 0;

  void add(std::string_view part) {
    const std::size_t fitting = std::min(part.size(), text.size() - length);
    std::memcpy(text.data() + length, part.data(), fitting);
    length += fitting;
  }
  void add(const BlockField& field) {
    if (field.label.empty())
      add(field.row_bytes > 0 ? "one" : "one without a label");
    else
      for (const std::string_view part :
           {std::string_view("'"), field.label, std::string_view("'")})
        add(part);
    if (field.row_bytes > 0) {
      add(" of ");
      add(std::to_string(field.row_bytes));
      add(" bytes");
    }
    for (std::size_t d = 0; d < field.extents.size(); ++d) {
      add(d == 0 ? " (extents " : " x ");
      add(std::to_string(field.extents[d]));
    }
    add(field.extents.empty() ? std::string_view("\0", 1) : std::string_view(")\0", 2));
    block_bytes += field.row_bytes;
  }
  /// The text of field `number`; empty if there is none, or if it was cut off.
  [[nodiscard]] std::string_view field(std::size_t number) const {
    std::string_view rest(text.data(), length);
    for (; number > 0; --number) {
      const std::size_t end = rest.find('\0');
      rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    }
    return rest.substr(0, rest.find('\0'));
  }
};

std::uint64_t hash_of(const void* data, std::size_t bytes, std::uint64_t seed) {
  return XXH3_64bits_withSeed(data, bytes, seed);
}

/// The first field that differs.
std::optional<Diagnostic> difference(const Description& own, const Description& first, int rank) {
  const auto or_none = [](std::string_view text) {
    return text.empty() ? std::string("missing") : std::string(text);
  };
  std::size_t number = 0;
  for (; own.field(number) == first.field(number); ++number)
    if (own.field(number).empty()) break;
  const bool same_text = own.field(number) == first.field(number);
  if (same_text && own.block_bytes == first.block_bytes) return std::nullopt;
  std::string text = same_text
                         ? "the fields of a block differ from those of rank " + std::to_string(rank)
                         : "field " + std::to_string(number) + " of a block is " +
                               or_none(own.field(number)) + ", on rank " + std::to_string(rank) +
                               " it is " + or_none(first.field(number));
  return Diagnostic{own.block_bytes != first.block_bytes ? ErrorCode::block_size_mismatch
                                                         : ErrorCode::field_mismatch,
                    text + "; give the same fields in the same order on all ranks"};
}

}  // namespace

SameFields::SameFields(std::function<void(const Visit&)> for_each)
    : for_each_(std::move(for_each)) {
  for_each_([this](const BlockField& field) {
    std::uint64_t hash = hash_of(&field.row_bytes, sizeof field.row_bytes, fields_.value_or(0));
    hash = hash_of(field.label.data(), field.label.size(), hash);
    fields_ = hash >> 2U;  // as an agreement carries
    std::uint64_t extents = extents_.value_or(0);
    for (const std::uint64_t extent : field.extents)
      extents_ = extents = hash_of(&extent, sizeof extent, extents) >> 2U;
  });
}

void SameFields::join(mpi::Agreement& agreement, const mpi::Channel& channel) {
  const auto explain = [this, &channel] { throw_difference(channel); };
  agreement.equal(fields_, explain);
  agreement.equal(extents_, explain);
}

/// The first rank that knows its fields tells the others what they are.
void SameFields::throw_difference(const mpi::Channel& channel) const {
  const bool knows = fields_.has_value();
  std::array<std::uint64_t, 1> first{
      knows ? static_cast<std::uint64_t>(channel.size() - channel.rank()) : 0};
  mpi::maximum(channel, std::span<std::uint64_t>(first));
  const int root = channel.size() - static_cast<int>(first[0]);
  Description own;
  for_each_([&](const BlockField& field) { own.add(field); });
  Description reference = own;
  mpi::broadcast(channel, std::as_writable_bytes(std::span(&reference, 1)), root);
  mpi::agree(channel, knows ? difference(own, reference, root) : std::nullopt);
  throw Error(ErrorCode::field_mismatch,
              "the fields of a block differ; give the same fields in the same order on all ranks");
}

SameFields fields_of(const StorageBackend& backend) {
  return SameFields([&backend](const SameFields::Visit& visit) {
    storage::asked([&] {
      if (backend.block_bytes() > 0) backend.visit_fields(visit);
    });
  });
}

}  // namespace valet::plan
