// SPDX-License-Identifier: BSD-3-Clause
#include "base/diagnose.hpp"
#include "base/memory_reserve.hpp"
#include "base/sizes.hpp"
#include "junction/file/file_transfers.hpp"
#include "mpi/agreement.hpp"
#include "operations/ragged/arenas.hpp"
#include "storage/growth.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace valet::junction {
namespace {

constexpr std::uint64_t word = sizeof(std::uint64_t);
const char* const no_buffers = "no memory to read or write blocks; nothing has moved";

/// Walks the bytes of blocks that are packed in the file and aligned in the arena, some at a time.
class BlockBytes {
 public:
  explicit BlockBytes(const ragged::Arena& arena) : arena_(arena) {}

  /// Calls copy(bytes in the arena, place in what passes, how many) for the next bytes.
  template <class Copy>
  void pass(std::size_t bytes, Copy&& copy) {
    for (std::size_t done = 0; done < bytes;) {
      const std::uint64_t length = arena_.length_of(block_);
      const std::size_t now = std::min<std::size_t>(bytes - done, length - inside_);
      copy(arena_.data + begin_ + inside_, done, now);
      done += now;
      inside_ += now;
      if (inside_ < length) continue;
      begin_ += arena_.bytes_of(block_++);
      inside_ = 0;
    }
  }

 private:
  ragged::Arena arena_;
  std::uint64_t block_ = 0, begin_ = 0, inside_ = 0;
};

/// Where the blocks of a producer end in its bytes, one after the other.
void write_ends(const ragged::Arena& arena, std::uint64_t first, std::span<std::byte> packed,
                std::uint64_t& end) {
  for (std::size_t k = 0; k < packed.size() / word; ++k) {
    end += arena.length_of(first + k);
    std::memcpy(packed.data() + k * word, &end, word);
  }
}

/// Lengths of blocks from where they end, some at a time; a block at the beginning of a part begins
/// at 0.
class Ends {
 public:
  /// @param parts  Bytes of the ends of each producer. @param first  The number of the first block.
  Ends(std::span<const std::uint64_t> parts, std::uint64_t first) : parts_(parts) {
    left_ = first;
    while (part_ < parts_.size() && left_ >= parts_[part_] / word) left_ -= parts_[part_++] / word;
    is_first_of_part_ = left_ == 0;
    if (part_ < parts_.size()) left_ = parts_[part_] / word - left_;
  }
  /// Whether the end of the block in front is needed.
  [[nodiscard]] bool needs_one_before() const { return !is_first_of_part_; }
  [[nodiscard]] std::size_t part() const { return part_; }
  void begin_at(std::uint64_t end) { end_ = end; }

  /// A length of more than the bytes of the part where ends do not ascend.
  std::uint64_t next_length(const std::byte* packed) {
    while (left_ == 0) {
      left_ = parts_[++part_] / word;
      end_ = 0;
    }
    std::uint64_t end = 0;
    std::memcpy(&end, packed, word);
    --left_;
    return end - std::exchange(end_, end);
  }

 private:
  std::span<const std::uint64_t> parts_;
  std::size_t part_ = 0;
  std::uint64_t left_ = 0;  ///< blocks of the part
  std::uint64_t end_ = 0;   ///< of the block before, in the bytes of the part
  bool is_first_of_part_ = true;
};

/// Reads the blocks of a record.
class RaggedLoad {
 public:
  RaggedLoad(FileEnd& end, const file::Record& record, const RaggedStorage& storage)
      : end_(end), record_(record), storage_(storage) {}

  Report run(const std::optional<BlockRange>& range) {
    storage_.refresh();
    auto wrong = choose_share(end_, record_.rows(), range, share_);
    if (!wrong) wrong = check_fields();
    if (!wrong) wrong = ragged::check_ragged(storage_, 0);
    if (!wrong) wrong = staging_bytes(end_, largest_row(), staging_bytes_);
    if (!wrong)
      wrong = detail::unless_out_of_memory(
          [&] { staging_ = Array<std::byte>(ledger_, static_cast<std::size_t>(staging_bytes_)); },
          no_buffers);
    mpi::agree(channel(), wrong);
    // As many ends as blocks for every arena.
    ends_of_parts_ = end_.reader().parts_of(record_.sections.front(), ledger_);
    RaggedRoom required{share_.count, {}};
    for (std::size_t f = 0; f < fields(); ++f) required.bytes.push_back(bytes_of(f));
    if (!wrong_) wrong_ = storage::grow(storage_, required);
    if (!wrong_) wrong_ = ragged::check_ragged(storage_, 0);
    if (!wrong_) wrong_ = check_room(required);
    mpi::agree(channel(), wrong_);
    for (std::size_t f = 0; f < fields() && !wrong_; ++f) take(f);
    for (std::size_t c = 0; c < storage_.columns().size() && !wrong_; ++c) take_column(c);
    mpi::agree(channel(), wrong_);
    return end_.report(ledger_, 0, 2 * record_.sections.front().parts, 0, share_.count);
  }

 private:
  [[nodiscard]] const mpi::Channel& channel() const { return end_.channel(); }
  [[nodiscard]] std::size_t fields() const { return storage_.fields().size(); }
  [[nodiscard]] std::uint64_t largest_row() const {
    std::uint64_t largest = word;
    for (const Field& column : storage_.columns())
      largest = std::max<std::uint64_t>(largest, column.element_bytes);
    return largest;
  }

  std::optional<Diagnostic> check_fields() const {
    const std::size_t columns = storage_.columns().size();
    if (fields() != record_.fields.size() || 2 * fields() + columns != record_.sections.size())
      return diagnose(ErrorCode::field_mismatch, "it has ", fields(), " arenas and ", columns,
                      " columns, the file other numbers of them; give the same");
    for (std::size_t c = 0; c < columns; ++c) {
      const std::uint64_t bytes = record_.sections[2 * fields() + c].row_bytes;
      if (storage_.columns()[c].element_bytes != bytes)
        return diagnose(ErrorCode::block_size_mismatch, "column ", c, " has rows of ",
                        storage_.columns()[c].element_bytes, " bytes, the file of ", bytes,
                        "; give the same type");
    }
    return std::nullopt;
  }

  /// Calls action(length, number) for the blocks of this rank.
  template <class Action>
  void for_each_length(std::size_t field, Ends ends, Action&& action) {
    const file::Section& section = record_.sections[2 * field];
    const bool one_more = ends.needs_one_before() && share_.count > 0;
    const std::uint64_t before = one_more ? 1 : 0;
    read(section, ends_of_parts_, share_.first - before, share_.count + before,
         {nullptr, [&](std::uint64_t first, std::span<const std::byte> packed) {
            for (std::size_t k = 0; k < packed.size() / word; ++k) {
              const std::byte* const end = packed.data() + k * word;
              if (first + k < before) {
                std::uint64_t begin = 0;
                std::memcpy(&begin, end, word);
                ends.begin_at(begin);
                begin_ = begin;
              } else {
                action(ends.next_length(end), first + k - before);
              }
            }
          }});
  }
  void read(const file::Section& section, const Array<std::uint64_t>& parts, std::uint64_t first,
            std::uint64_t rows, const file::RowSink& sink) {
    if (!wrong_)
      wrong_ = file::read_rows(end_.reader().file(), {section, {parts.data(), parts.size()}}, first,
                               rows, sink, {staging_.data(), staging_.size()},
                               FileEnd::name_of(record_.description));
  }
  /// Before the lengths of a field are read.
  Ends find_ends() {
    begin_ = 0;
    return {{ends_of_parts_.data(), ends_of_parts_.size()}, share_.first};
  }

  /// The bytes that an arena must have, once its blocks are found to be sound.
  std::uint64_t bytes_of(std::size_t number) {
    const RaggedField& field = storage_.fields()[number];
    const Ends ends = find_ends();
    std::uint64_t needed = 0;
    bool are_whole = true, is_sound = true;
    const std::uint64_t most = record_.sections[2 * number + 1].bytes;
    for_each_length(number, ends, [&](std::uint64_t length, std::uint64_t) {
      is_sound = is_sound && length <= most && needed <= detail::most_bytes;
      if (!is_sound) return;
      needed += ragged::aligned(length, field.alignment_bytes);
      are_whole = are_whole && length % field.value_bytes == 0 &&
                  (!field.are_offsets || length % field.alignment_bytes == 0);
    });
    if (wrong_) return 0;
    if (!is_sound)
      wrong_ =
          diagnose(ErrorCode::corrupted, "the lengths of ", FileEnd::name_of(record_.description),
                   " in '", end_.reader().file().path(), "' cannot be; use an older file");
    else if (!are_whole)
      wrong_ = invalid(ragged::name_of(field, number), " is of values of ", field.value_bytes,
                       " bytes, and blocks in the file are not; get them into an arena of the type "
                       "that was put");
    return needed;
  }
  [[nodiscard]] std::optional<Diagnostic> check_room(const RaggedRoom& required) const {
    for (std::size_t f = 0; f < fields(); ++f) {
      const RaggedField& field = storage_.fields()[f];
      if (share_.count > field.block_capacity || required.bytes[f] > field.capacity_bytes)
        return diagnose(ErrorCode::infeasible, ragged::name_of(field, f), " has room for ",
                        field.block_capacity, " blocks and ", field.capacity_bytes,
                        " bytes; it gets ", share_.count, " blocks with ", required.bytes[f],
                        " bytes: grow it to that");
    }
    for (const Field& column : storage_.columns())
      if (column.slots < share_.count)
        return diagnose(ErrorCode::infeasible, "a column has ", column.slots, " rows; it gets ",
                        share_.count, " blocks: grow it to that");
    return std::nullopt;
  }
  /// Collective.
  void take(std::size_t number) {
    const RaggedField& field = storage_.fields()[number];
    const Ends ends = find_ends();
    std::uint64_t bytes = 0;
    for_each_length(number, ends, [&](std::uint64_t length, std::uint64_t block) {
      if (field.are_offsets) {
        if (block == 0) field.lengths[0] = 0;
        field.lengths[block + 1] = field.lengths[block] + length;
      } else {
        field.lengths[block] = length;
      }
      bytes += length;
    });
    if (field.are_offsets && share_.count == 0 && field.lengths != nullptr) field.lengths[0] = 0;
    const file::Section& section = record_.sections[2 * number + 1];
    const Array<std::uint64_t> parts = end_.reader().parts_of(section, ledger_);
    std::uint64_t first = begin_;
    for (std::size_t p = 0; p < std::min(ends.part(), parts.size()); ++p) first += parts[p];
    BlockBytes blocks(ragged::arena_of(field));
    read(section, parts, first, bytes,
         {nullptr, [&](std::uint64_t, std::span<const std::byte> packed) {
            blocks.pass(packed.size(), [&](std::byte* block, std::size_t at, std::size_t count) {
              std::memcpy(block, packed.data() + at, count);
            });
          }});
  }
  /// Collective.
  void take_column(std::size_t number) {
    const Field& column = storage_.columns()[number];
    const file::Section& section = record_.sections[2 * fields() + number];
    const Array<std::uint64_t> parts = end_.reader().parts_of(section, ledger_);
    read(section, parts, share_.first, share_.count, {static_cast<std::byte*>(column.data), {}});
  }

  FileEnd& end_;
  const file::Record& record_;
  const RaggedStorage& storage_;
  Ledger ledger_;
  BlockRange share_;
  std::uint64_t staging_bytes_ = 0;
  Array<std::byte> staging_;
  Array<std::uint64_t> ends_of_parts_;
  std::uint64_t begin_ = 0;  ///< of the first block in the bytes of its producer
  std::optional<Diagnostic> wrong_;
};

std::optional<Diagnostic> check_storage(Ledger& ledger, const RaggedStorage& storage,
                                        std::uint64_t count) {
  if (auto wrong = ragged::check_ragged(storage, count)) return wrong;
  std::optional<Diagnostic> wrong;
  auto failed = detail::unless_out_of_memory(
      [&] { wrong = ragged::check_lengths(storage, ragged::arenas_of(ledger, storage), count); },
      no_buffers);
  return failed ? failed : wrong;
}

}  // namespace

Report store_ragged(FileEnd& end, const Description& what, const RaggedStorage& storage,
                    std::uint64_t count) {
  Ledger ledger;
  storage.refresh();
  const mpi::Channel& channel = end.channel();
  auto wrong = check_storage(ledger, storage, count);
  std::uint64_t largest = word, staging = 0, digest = 0;
  for (const Field& column : storage.columns()) {
    largest = std::max<std::uint64_t>(largest, column.element_bytes);
    digest = digest * 31 + column.element_bytes;
  }
  if (!wrong) wrong = staging_bytes(end, largest, staging);
  Array<std::byte> packed;
  if (!wrong)
    wrong = detail::unless_out_of_memory(
        [&] { packed = Array<std::byte>(ledger, static_cast<std::size_t>(staging)); }, no_buffers);
  mpi::Agreement agreement;
  agreement.equal({"the number of arenas of a storage", nullptr}, storage.fields().size());
  agreement.equal({"the columns of a storage", nullptr}, digest >> 2U);
  agreement.run(channel, wrong);

  std::vector<file::SectionContent> contents;
  const auto part = static_cast<std::size_t>(channel.rank());
  for (const RaggedField& field : storage.fields()) {
    const ragged::Arena arena = ragged::arena_of(field);
    std::uint64_t bytes = 0;
    for (std::uint64_t k = 0; k < count; ++k) bytes += arena.length_of(k);
    const auto ends = [arena, end_of_block = std::uint64_t{0}](std::uint64_t first,
                                                               std::span<std::byte> room) mutable {
      write_ends(arena, first, room, end_of_block);
    };
    contents.push_back({word, gather_parts(end, ledger, count * word), {}});
    contents.back().own.push_back({part, nullptr, ends});
    contents.push_back({1, gather_parts(end, ledger, bytes), {}});
    contents.back().own.push_back(
        {part, nullptr,
         [blocks = BlockBytes(arena)](std::uint64_t, std::span<std::byte> room) mutable {
           blocks.pass(room.size(),
                       [&](const std::byte* block, std::size_t at, std::size_t bytes_now) {
                         std::memcpy(room.data() + at, block, bytes_now);
                       });
         }});
  }
  for (const Field& column : storage.columns()) {
    contents.push_back(
        {column.element_bytes, gather_parts(end, ledger, count * column.element_bytes), {}});
    contents.back().own.push_back({part, static_cast<const std::byte*>(column.data), {}});
  }
  file::Record record{what, {}, {}};
  for (const RaggedField& field : storage.fields()) record.fields.push_back({field.label, 0, {}});
  end.writer().append(std::move(record), contents, {packed.data(), packed.size()});
  return end.report(ledger, 0, 2 * static_cast<std::uint64_t>(end.ranks()) * contents.size(), count,
                    count);
}

Report load_ragged(FileEnd& end, const Description& what, const RaggedStorage& storage,
                   const std::optional<BlockRange>& range) {
  return RaggedLoad(end, end.next(what), storage).run(range);
}

}  // namespace valet::junction
