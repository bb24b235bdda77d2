// SPDX-License-Identifier: BSD-3-Clause
#include "base/diagnose.hpp"
#include "base/memory_reserve.hpp"
#include "base/sizes.hpp"
#include "junction/file/file_transfers.hpp"
#include "mpi/agreement.hpp"
#include "plan/same_fields.hpp"
#include "storage/guarded_backend.hpp"
#include <valet/detail/first_failure.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <utility>

namespace valet::junction {
namespace {

const char* const no_staging = "no memory to pack blocks; nothing has moved";

/// A field of a row in the file, and where a row of the storage has it.
struct Column {
  std::size_t from = 0, to = 0, bytes = 0;
};

/// The rows of a storage, packed some at a time.
class BlockRows {
 public:
  /// @param staging_bytes  For packed rows, lists of slots and, with columns, rows of the file.
  /// @throws std::bad_alloc.
  BlockRows(Ledger& ledger, StorageBackend& storage, std::uint64_t row_bytes,
            std::uint64_t staging_bytes)
      : backend(storage),
        row_bytes_(row_bytes),
        rows_(staging_bytes / (row_bytes + sizeof(SlotIndex))),
        slots_(ledger, static_cast<std::size_t>(rows_)),
        ledger_(ledger),
        packed_(storage.allocate_scratch(static_cast<std::size_t>(rows_ * row_bytes))) {
    ledger_.add(staging().size());
  }
  BlockRows(const BlockRows&) = delete;
  BlockRows& operator=(const BlockRows&) = delete;
  ~BlockRows() { ledger_.subtract(staging().size()); }

  void pack(std::uint64_t first, std::span<std::byte> packed) {
    backend.gather(list(first, packed.size()), packed.data());
  }
  void unpack(std::uint64_t first, std::span<const std::byte> packed) {
    backend.scatter(packed.data(), list(first, packed.size()));
  }
  /// Rows of the file that have other fields, too.
  void unpack(std::uint64_t first, std::span<const std::byte> rows, std::uint64_t file_row_bytes,
              std::span<const Column> columns) {
    const std::uint64_t count = rows.size() / file_row_bytes;
    for (std::uint64_t done = 0; done < count;) {
      const std::uint64_t now = std::min(rows_, count - done);
      for (std::uint64_t r = 0; r < now; ++r)
        for (const Column& column : columns)
          std::memcpy(packed_.get() + r * row_bytes_ + column.to,
                      rows.data() + (done + r) * file_row_bytes + column.from, column.bytes);
      unpack(first + done, {packed_.get(), static_cast<std::size_t>(now * row_bytes_)});
      done += now;
    }
  }
  [[nodiscard]] std::span<std::byte> staging() const {
    return {packed_.get(), static_cast<std::size_t>(rows_ * row_bytes_)};
  }

  storage::GuardedBackend backend;

 private:
  SlotList list(std::uint64_t first, std::size_t bytes) {
    const auto slots = std::span(slots_.begin(), slots_.end()).first(bytes / row_bytes_);
    std::iota(slots.begin(), slots.end(), static_cast<SlotIndex>(first));
    return slots;
  }

  std::uint64_t row_bytes_, rows_;
  Array<SlotIndex> slots_;
  Ledger& ledger_;
  std::shared_ptr<std::byte> packed_;
};

std::vector<file::FieldFormat> format_of(const StorageBackend& backend) {
  std::vector<file::FieldFormat> fields;
  if (backend.block_bytes() > 0)
    backend.visit_fields([&](const BlockField& field) {
      fields.push_back({std::string(field.label),
                        field.row_bytes,
                        {field.extents.begin(), field.extents.end()}});
    });
  return fields;
}

/// What the blocks of all ranks consist of, which some may not know. Collective.
struct AgreedBlocks {
  std::uint64_t row_bytes = 0;
  int known_by = 0;

  AgreedBlocks(const FileEnd& end, const StorageBackend& backend,
               const std::optional<Diagnostic>& wrong)
      : row_bytes(backend.block_bytes()),
        known_by(row_bytes > 0 ? end.channel().rank() : end.ranks()) {
    plan::SameFields fields = plan::fields_of(backend);
    mpi::Agreement agreement;
    fields.join(agreement, end.channel());
    agreement.largest(row_bytes);
    agreement.least(known_by);
    agreement.run(end.channel(), wrong);
    mpi::agree(end.channel(), row_bytes > 0 ? std::nullopt
                                            : std::optional(invalid("no rank knows the size of a "
                                                                    "block; allocate its fields")));
  }
};

/// Lets rank 0, which writes the index, know the fields. Collective.
void tell_fields(const FileEnd& end, Ledger& ledger, int known_by,
                 std::vector<file::FieldFormat>& fields) {
  if (known_by == 0) return;
  const bool tells = end.channel().rank() == known_by;
  Vector<std::int64_t> words(ledger);
  auto wrong =
      detail::unless_out_of_memory([&] { words = file::words_of(fields, ledger); }, no_staging);
  std::array<std::uint64_t, 1> length{tells ? words.size() : 0};
  mpi::agree(end.channel(), wrong);
  mpi::maximum(end.channel(), length);
  mpi::agree(end.channel(),
             detail::unless_out_of_memory([&] { words.resize(length[0]); }, no_staging));
  mpi::broadcast(end.channel(), std::as_writable_bytes(std::span(words)), known_by);
  WordReader reader(words);
  fields = file::fields_of(reader);
}

/// What is wrong with a storage into or from which so many blocks go, if anything.
std::optional<Diagnostic> check_slots(const StorageBackend& backend) {
  if (auto wrong = storage::asked([&] { return backend.diagnostic(); })) return wrong;
  if (backend.slots() <= detail::most_slots) return std::nullopt;
  return diagnose(ErrorCode::infeasible, "it has ", backend.slots(), " slots, more than the ",
                  detail::most_slots, " of 32 bits; join rows of every field into one block");
}

std::optional<Diagnostic> check_storage(const StorageBackend& backend, std::uint64_t count) {
  if (auto wrong = check_slots(backend)) return wrong;
  const std::uint64_t slots = backend.slots();
  if (count > slots)
    return invalid("it puts ", count, " blocks, but has ", slots,
                   " slots; give the number of blocks");
  return std::nullopt;
}

/// What is packed in, made where an application's storage may throw.
std::optional<Diagnostic> make_rows(std::optional<BlockRows>& rows, Ledger& ledger,
                                    StorageBackend& backend, std::uint64_t row_bytes,
                                    std::uint64_t staging) {
  detail::FirstFailure failure;
  std::optional<Diagnostic> wrong = detail::unless_out_of_memory(
      [&] {
        try {
          backend.synchronize();
          rows.emplace(ledger, backend, row_bytes, staging);
        } catch (const std::bad_alloc&) {
          throw;
        } catch (...) {
          failure.keep("waiting for the application's work, or making the workspace");
        }
      },
      no_staging);
  return wrong ? wrong : failure.diagnostic("nothing has moved");
}

/// Which columns of a row of the file the storage has; none where it has all in the same order.
std::optional<Diagnostic> match(const file::Record& record, const StorageBackend& backend,
                                std::vector<Column>& columns) {
  const std::vector<file::FieldFormat> wanted = format_of(backend);
  if (wanted.empty() || wanted == record.fields) return std::nullopt;
  std::size_t to = 0;
  for (const file::FieldFormat& field : wanted) {
    std::size_t from = 0;
    const file::FieldFormat* found = nullptr;
    for (const file::FieldFormat& put : record.fields) {
      if (!field.label.empty() && put.label == field.label) found = &put;
      if (found != nullptr) break;
      from += put.row_bytes;
    }
    if (found == nullptr || found->row_bytes != field.row_bytes ||
        found->extents != field.extents) {
      std::string all;
      for (const file::FieldFormat& put : record.fields)
        all += joined(all.empty() ? "" : ", ", "'", put.label, "' of ", put.row_bytes);
      return diagnose(ErrorCode::field_mismatch, "its field '", field.label, "' of ",
                      field.row_bytes, " bytes a block is not in the file, which has ", all,
                      "; give the same labels, types and shapes");
    }
    columns.push_back({from, to, static_cast<std::size_t>(field.row_bytes)});
    to += static_cast<std::size_t>(field.row_bytes);
  }
  return std::nullopt;
}

}  // namespace

Report store_blocks(FileEnd& end, const Description& what, const BlockStorage& storage,
                    std::uint64_t count) {
  Ledger ledger;
  const mpi::Channel& channel = end.channel();
  StorageBackend& backend = storage.backend();
  backend.refresh();
  const AgreedBlocks blocks(end, backend, check_storage(backend, count));
  std::optional<Diagnostic> wrong = check_numbers(end, what, count);
  std::uint64_t staging = 0;
  if (!wrong) wrong = staging_bytes(end, blocks.row_bytes + sizeof(SlotIndex), staging);
  std::optional<BlockRows> rows;
  if (!wrong) wrong = make_rows(rows, ledger, backend, blocks.row_bytes, staging);
  mpi::agree(channel, wrong);

  file::Record record{what, format_of(backend), {}};
  tell_fields(end, ledger, blocks.known_by, record.fields);
  std::array<file::SectionContent, 1> content{
      {{blocks.row_bytes, gather_parts(end, ledger, count * blocks.row_bytes), {}}}};
  const bool is_contiguous = backend.reachable_by_host() && backend.contiguous_data() != nullptr;
  content[0].own.push_back(
      {static_cast<std::size_t>(channel.rank()),
       is_contiguous ? backend.contiguous_data() : nullptr,
       [&](std::uint64_t first, std::span<std::byte> packed) { rows->pack(first, packed); }});
  end.append(std::move(record), content, rows->staging(),
             [&] { return rows->backend.failure("it is not in the file"); });
  return end.report(ledger, blocks.row_bytes, 0, count, count);
}

Report load_blocks(FileEnd& end, const Description& what, const StorageFor& storage_for,
                   const std::optional<BlockRange>& range) {
  Ledger ledger;
  const mpi::Channel& channel = end.channel();
  const file::Record& record = end.next(what);
  const file::Section& section = record.sections.front();
  const std::uint64_t count = section.rows();
  Share share;
  std::optional<Diagnostic> wrong = choose_share(end, what, record, range, share);
  detail::FirstFailure failure;
  std::optional<BlockStorage> storage;
  if (!wrong) {
    const detail::LeaveReserve leave;
    failure.attempt("the function that makes storage for what a junction gets",
                    [&] { storage = storage_for(share.count); });
    wrong = failure.diagnostic("nothing has moved");
  }
  mpi::agree(channel, wrong);

  StorageBackend& backend = storage->backend();
  backend.refresh();
  wrong = check_slots(backend);
  if (!wrong && share.count > backend.slots())
    wrong = diagnose(ErrorCode::infeasible, "it gets ", share.count, " of ", count,
                     " blocks, but has ", backend.slots(), " slots; grow its storage to that many");
  std::vector<Column> columns;
  if (!wrong) wrong = match(record, backend, columns);
  const AgreedBlocks blocks(end, backend, wrong);
  std::uint64_t staging = 0;
  const std::uint64_t file_row = columns.empty() ? 0 : section.row_bytes;
  wrong = staging_bytes(end, blocks.row_bytes + sizeof(SlotIndex) + file_row, staging);
  std::optional<BlockRows> rows;
  Array<std::byte> file_rows;
  const std::uint64_t least = blocks.row_bytes + sizeof(SlotIndex);
  const std::uint64_t of_file =
      columns.empty() ? 0 : std::clamp(staging / 2, file_row, std::max(file_row, staging - least));
  if (!wrong)
    wrong = detail::unless_out_of_memory(
        [&] { file_rows = Array<std::byte>(ledger, static_cast<std::size_t>(of_file)); },
        no_staging);
  if (!wrong) wrong = make_rows(rows, ledger, backend, blocks.row_bytes, staging - of_file);
  mpi::agree(channel, wrong);
  const Array<std::uint64_t> parts = end.reader().parts_of(section, ledger);
  const bool is_contiguous =
      columns.empty() && backend.reachable_by_host() && backend.contiguous_data() != nullptr;
  const file::RowSink sink{is_contiguous ? backend.contiguous_data() : nullptr,
                           [&](std::uint64_t first, std::span<const std::byte> packed) {
                             if (columns.empty())
                               rows->unpack(first, packed);
                             else
                               rows->unpack(first, packed, section.row_bytes, columns);
                           }};
  {
    observe::ProgressMeter meter = end.progress(share.count, section.row_bytes);
    file::RowsReader reader(
        end.reader().file(), {section, {parts.data(), parts.size()}, &meter}, share.first,
        share.count,
        columns.empty() ? rows->staging() : std::span(file_rows.data(), file_rows.size()),
        FileEnd::name_of(record.description));
    wrong = reader.read(sink);
    meter.finish();
  }
  rows->backend.finish_all();
  if (!wrong) wrong = rows->backend.failure("what it got is unspecified");
  Array<Address> addresses;
  if (!wrong && share.to)
    wrong = detail::unless_out_of_memory(
        [&] {
          addresses = Array<Address>(ledger, static_cast<std::size_t>(share.count));
          find_destinations(addresses, end, record, share);
        },
        "no memory for the destinations of its blocks");
  mpi::agree(channel, wrong);
  rows.reset();
  file_rows = {};
  Report report = end.report(ledger, blocks.row_bytes, section.parts, 0, share.count);
  if (!share.to) return report;
  auto options = end.options_as<Options>();
  options.order = Order::stable;
  Plan plan = plan_to_slots(end.communicator(), *storage, share.count,
                            {addresses.data(), addresses.size()}, options);
  Report moved = execute(plan, *storage);
  moved.method = report.method;
  moved.peak_extra_bytes += report.peak_extra_bytes;
  moved.extra_bytes_bound += report.extra_bytes_bound + addresses.size() * sizeof(Address);
  return moved;
}

}  // namespace valet::junction
