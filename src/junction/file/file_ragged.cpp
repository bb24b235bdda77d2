// SPDX-License-Identifier: BSD-3-Clause
#include "base/diagnose.hpp"
#include "base/memory_reserve.hpp"
#include "base/promise.hpp"
#include "junction/file/file_transfers.hpp"
#include "junction/numbered_ragged.hpp"
#include "junction/ragged_room.hpp"
#include "mpi/agreement.hpp"
#include "operations/ragged/arenas.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

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
  RaggedLoad(FileEnd& end, const Description& what, const RaggedStorage& storage)
      : end_(end),
        what_(what),
        record_(end.next(what)),
        storage_(storage),
        name_(joined(FileEnd::name_of(record_.description), " in '", end.reader().file().path(),
                     "'")) {}

  Report run(const std::optional<BlockRange>& range) {
    storage_.refresh();
    auto wrong = choose_share(end_, what_, record_, range, share_);
    if (!wrong) wrong = check_fields();
    if (!wrong) wrong = ragged::check_ragged(storage_, 0);
    if (!wrong) wrong = staging_bytes(end_, largest_row(), staging_bytes_, share_.to ? 4 : 1);
    take_staging(wrong);
    // As many ends as blocks for every arena.
    ends_of_parts_ = end_.reader().parts_of(record_.sections.front(), ledger_);
    return share_.to ? pass_on() : take_all();
  }

 private:
  [[nodiscard]] const mpi::Channel& channel() const { return end_.channel(); }
  [[nodiscard]] std::size_t fields() const { return storage_.fields().size(); }
  [[nodiscard]] std::size_t columns() const { return storage_.columns().size(); }
  [[nodiscard]] std::uint64_t largest_row() const {
    std::uint64_t largest = word;
    for (const Field& column : storage_.columns())
      largest = std::max<std::uint64_t>(largest, column.element_bytes);
    return largest;
  }
  [[nodiscard]] const file::Section& bytes_of(std::size_t field) const {
    return record_.sections[2 * field + 1];
  }
  [[nodiscard]] const file::Section& rows_of(std::size_t column) const {
    return record_.sections[2 * fields() + column];
  }

  /// Collective.
  void take_staging(std::optional<Diagnostic> wrong) {
    if (!wrong)
      wrong = detail::unless_out_of_memory(
          [&] { staging_ = Array<std::byte>(ledger_, static_cast<std::size_t>(staging_bytes_)); },
          no_buffers);
    mpi::agree(channel(), wrong);
  }
  std::optional<Diagnostic> check_fields() const {
    if (fields() != record_.fields.size() || 2 * fields() + columns() != record_.sections.size())
      return diagnose(ErrorCode::field_mismatch, "it has ", fields(), " arenas and ", columns(),
                      " columns, the file other numbers of them; give the same");
    for (std::size_t c = 0; c < columns(); ++c)
      if (storage_.columns()[c].element_bytes != rows_of(c).row_bytes)
        return diagnose(ErrorCode::block_size_mismatch, "column ", c, " has rows of ",
                        storage_.columns()[c].element_bytes, " bytes, the file of ",
                        rows_of(c).row_bytes, "; give the same type");
    return std::nullopt;
  }
  [[nodiscard]] file::RowsReader reader(const file::Section& section,
                                        const Array<std::uint64_t>& parts, std::uint64_t first,
                                        std::uint64_t rows,
                                        observe::ProgressMeter* meter = nullptr) {
    return {end_.reader().file(),
            {section, {parts.data(), parts.size()}, meter},
            first,
            rows,
            {staging_.data(), staging_.size()},
            FileEnd::name_of(record_.description)};
  }

  /// Blocks as they lie there: their lengths are read twice, so that nothing is kept of them.
  Report take_all() {
    RaggedRoom required{share_.count, {}};
    std::uint64_t bytes = 0;
    for (const Field& column : storage_.columns()) bytes += share_.count * column.element_bytes;
    for (std::size_t f = 0; f < fields(); ++f) {
      RoomCount room(storage_.fields()[f], bytes_of(f).bytes);
      for_each_length(f, [&](std::uint64_t length, std::uint64_t) {
        room.add(length);
        bytes += length;
      });
      if (!wrong_) wrong_ = room.diagnostic(f, name_);
      required.bytes.push_back(room.bytes());
    }
    if (!wrong_) wrong_ = make_room(storage_, required);
    mpi::agree(channel(), wrong_);
    observe::ProgressMeter meter = end_.progress(bytes, 1);
    for (std::size_t f = 0; f < fields(); ++f) take(f, meter);
    for (std::size_t c = 0; c < columns(); ++c) take_column(c, meter);
    meter.finish();
    mpi::agree(channel(), wrong_);
    return end_.report(ledger_, 0, 2 * record_.sections.front().parts, 0, share_.count);
  }
  /// Every rank reads as many as it will have, and sends them on.
  Report pass_on() {
    NumberedRagged blocks(end_.communicator(), end_, storage_, ledger_);
    blocks.allocate(share_.count, share_.count, {});
    find_destinations(blocks.addresses, end_, record_, share_);
    std::vector<std::uint64_t> first(fields() + columns(), share_.first);
    for (std::size_t f = 0; f < fields(); ++f) {
      first[f] = for_each_length(f, [&](std::uint64_t length, std::uint64_t k) {
        blocks.lengths.length(k, f) = length;
        if (!wrong_ && length > bytes_of(f).bytes) wrong_ = RoomCount::unsound(name_);
      });
    }
    staging_ = {};  // while these use the budget
    blocks.pass_lengths(wrong_, name_);
    take_staging({});
    for (std::size_t a = 0; a < first.size(); ++a) {
      const file::Section& section = a < fields() ? bytes_of(a) : rows_of(a - fields());
      const Array<std::uint64_t> parts = end_.reader().parts_of(section, ledger_);
      if (a < fields()) first[a] += bytes_before(parts);
      file::RowsReader rows =
          reader(section, parts, first[a], blocks.bytes_of(a) / section.row_bytes);
      blocks.pass(a, [&](std::span<std::byte> window) {
        return rows.read(window.size() / section.row_bytes, {window.data(), {}});
      });
    }
    Report report = blocks.finish();
    report.method = "file";
    report.extra_bytes_bound += detail::promised_of_rank * record_.sections.front().parts;
    return report;
  }

  /// Calls action(length, number) for the blocks of this rank.
  /// @return Where the first one begins in the bytes of its producer.
  template <class Action>
  std::uint64_t for_each_length(std::size_t field, Action&& action) {
    Ends ends({ends_of_parts_.data(), ends_of_parts_.size()}, share_.first);
    part_ = ends.part();
    const std::uint64_t before = ends.needs_one_before() && share_.count > 0 ? 1 : 0;
    std::uint64_t begin = 0;
    const auto take = [&](std::uint64_t first, std::span<const std::byte> packed) {
      for (std::size_t k = 0; k < packed.size() / word; ++k) {
        const std::byte* const end = packed.data() + k * word;
        if (first + k >= before) {
          action(ends.next_length(end), first + k - before);
          continue;
        }
        std::memcpy(&begin, end, word);
        ends.begin_at(begin);
      }
    };
    if (wrong_) return begin;
    auto failed = reader(record_.sections[2 * field], ends_of_parts_, share_.first - before,
                         share_.count + before)
                      .read({nullptr, take});
    if (failed) wrong_ = std::move(failed);  // or what the action has found
    return begin;
  }
  /// Those of the parts in front of the first block.
  [[nodiscard]] std::uint64_t bytes_before(const Array<std::uint64_t>& parts) const {
    return std::accumulate(parts.begin(), parts.begin() + std::min(part_, parts.size()),
                           std::uint64_t{0});
  }
  /// Collective.
  void take(std::size_t number, observe::ProgressMeter& meter) {
    const RaggedField& field = storage_.fields()[number];
    std::uint64_t bytes = 0;
    begin_lengths(field);
    const std::uint64_t begin = for_each_length(number, [&](std::uint64_t length, std::uint64_t k) {
      write_length(field, k, length);
      bytes += length;
    });
    const file::Section& section = bytes_of(number);
    const Array<std::uint64_t> parts = end_.reader().parts_of(section, ledger_);
    BlockBytes blocks(ragged::arena_of(field));
    const auto unpack = [&](std::uint64_t, std::span<const std::byte> packed) {
      blocks.pass(packed.size(), [&](std::byte* block, std::size_t at, std::size_t count) {
        std::memcpy(block, packed.data() + at, count);
      });
    };
    if (!wrong_)
      wrong_ = reader(section, parts, bytes_before(parts) + begin, bytes, &meter)
                   .read({nullptr, unpack});
  }
  /// Collective.
  void take_column(std::size_t number, observe::ProgressMeter& meter) {
    const Array<std::uint64_t> parts = end_.reader().parts_of(rows_of(number), ledger_);
    auto* const data = static_cast<std::byte*>(storage_.columns()[number].data);
    if (!wrong_)
      wrong_ = reader(rows_of(number), parts, share_.first, share_.count, &meter).read({data, {}});
  }

  FileEnd& end_;
  const Description& what_;
  const file::Record& record_;
  const RaggedStorage& storage_;
  std::string name_;
  Ledger ledger_;
  Share share_;
  std::uint64_t staging_bytes_ = 0;
  Array<std::byte> staging_;
  Array<std::uint64_t> ends_of_parts_;
  std::size_t part_ = 0;  ///< of the first block
  std::optional<Diagnostic> wrong_;
};

}  // namespace

Report store_ragged(FileEnd& end, const Description& what, const RaggedStorage& storage,
                    std::uint64_t count) {
  Ledger ledger;
  storage.refresh();
  const mpi::Channel& channel = end.channel();
  auto wrong = check_numbers(end, what, count);
  if (!wrong) wrong = check_blocks(storage, count);
  std::uint64_t largest = word, staging = 0;
  for (const Field& column : storage.columns())
    largest = std::max<std::uint64_t>(largest, column.element_bytes);
  if (!wrong) wrong = staging_bytes(end, largest, staging);
  Array<std::byte> packed;
  if (!wrong)
    wrong = detail::unless_out_of_memory(
        [&] { packed = Array<std::byte>(ledger, static_cast<std::size_t>(staging)); }, no_buffers);
  agree_on_arenas(channel, storage, wrong);

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
  end.append(std::move(record), contents, {packed.data(), packed.size()});
  return end.report(ledger, 0, 2 * static_cast<std::uint64_t>(end.ranks()) * contents.size(), count,
                    count);
}

Report load_ragged(FileEnd& end, const Description& what, const RaggedStorage& storage,
                   const std::optional<BlockRange>& range) {
  return RaggedLoad(end, what, storage).run(range);
}

}  // namespace valet::junction
