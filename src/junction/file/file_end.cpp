// SPDX-License-Identifier: BSD-3-Clause
#include "junction/file/file_end.hpp"

#include "base/diagnose.hpp"
#include "base/memory_reserve.hpp"
#include "base/promise.hpp"
#include "mpi/agreement.hpp"
#include "mpi/check.hpp"

#include <filesystem>
#include <system_error>

namespace valet::junction {
namespace {

/// Blocks are got by numbers or in their order, whichever way they were put.
bool are_alike(Content one, Content other) {
  const auto plain = [](Content content) {
    return content == Content::numbered_blocks ? Content::blocks : content;
  };
  return plain(one) == plain(other);
}

JunctionRecord::Kind kind_of(Content content) {
  switch (content) {
    case Content::array: return JunctionRecord::Kind::array;
    case Content::ragged_blocks: return JunctionRecord::Kind::ragged_blocks;
    case Content::numbered_blocks: return JunctionRecord::Kind::numbered_blocks;
    default: return JunctionRecord::Kind::blocks;
  }
}

/// What is wrong with a path, as rank 0 sees it; MPI's own errors say less, or come at the end.
std::optional<Diagnostic> check_path(const std::string& path) {
  if (path.empty()) return invalid("the path of a file is empty; give one");
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored))
    return invalid("'", path, "' is a folder; give the path of a file in it");
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  if (!folder.empty() && !std::filesystem::is_directory(folder, ignored))
    return diagnose(ErrorCode::file_failure, "'", path, "' cannot be opened: there is no folder '",
                    folder.string(), "'; make it first, or fix the path");
  return std::nullopt;
}

}  // namespace

FileEnd::FileEnd(MPI_Comm communicator, const std::string& path, Direction direction,
                 const JunctionOptions& chosen)
    : Transport(chosen, ErrorCode::file_failure),
      communicator_(communicator),
      channel_(mpi::Channel::open(communicator)),
      progress_(chosen.progress) {
  const detail::MemoryReserve reserve;
  callbacks_.protect(progress_, "callback progress");
  watched_ = callbacks_.any();
  mpi::Agreement agreement;
  agreement.equal({"the path of a file", nullptr},
                  file::hash_of(std::as_bytes(std::span(path))) >> 2U);
  agreement.equal({"what is done with a file",
                   [](std::int64_t opens) { return std::string(opens != 0 ? "open" : "create"); }},
                  direction == Direction::get);
  agreement.largest(watched_);
  agreement.run(channel_, channel_.rank() == 0 ? check_path(path) : std::nullopt);
  if (direction == Direction::put)
    writer_.emplace(channel_, path);
  else
    reader_.emplace(channel_, path, ledger_);
  if (reader_) taken_.resize(reader_->records().size());
}

std::vector<JunctionRecord> FileEnd::records() const {
  std::vector<JunctionRecord> list;
  if (!reader_) return list;
  for (const file::Record& record : reader_->records()) {
    JunctionRecord& entry = list.emplace_back();
    entry.label = record.description.label;
    entry.kind = kind_of(record.description.content);
    entry.count = record.rows();
    entry.bytes = record.bytes();
    for (const file::FieldFormat& field : record.fields)
      entry.fields.push_back({field.label, field.row_bytes});
    if (record.description.grid) {
      const BlockCyclic::Extents extents = record.description.grid->layout.extents();
      entry.extents.assign(extents.begin(), extents.end());
    }
  }
  return list;
}

void FileEnd::finish(Entry& entry) {
  if (entry.stage == Stage::over) return;
  callbacks_.restart();
  attempt(entry, [&] {
    entry.report = run(*entry.transfer);
    entry.stage = Stage::over;
  });
  if (entry.failure || !watched_) return;
  try {
    mpi::agree(channel_, callbacks_.diagnostic());
  } catch (const Error&) {  // the file is whole all the same
    entry.failure = std::current_exception();
  }
}

void FileEnd::finish_all() {
  for (Entry& entry : entries_) finish(entry);
}

Report FileEnd::run(Transfer& transfer) {
  const double start = mpi::now();
  Vector<std::int64_t> words(ledger_);
  auto wrong = detail::unless_out_of_memory([&] { words = transfer.mine().words(ledger_); },
                                            "no memory for a layout; nothing has moved");
  const bool puts = transfer.mine().direction == Direction::put;
  if (!wrong) wrong = transfer.refusal();
  if (!wrong && puts != writer_.has_value())
    wrong = puts ? invalid("this file is open to get from it; create another to put into")
                 : invalid("this file is open to put into it; close it and open it again to get");
  mpi::Agreement agreement;
  agreement.equal({"what is put into a file or got from it (layout, element size, label)", nullptr},
                  digest_of(words));
  agreement.run(channel_, wrong);
  Report report = puts ? transfer.store(*this) : transfer.load(*this);
  if (!puts) taken_[current_] = true;
  report.exchange_seconds = mpi::now() - start;
  return report;
}

void FileEnd::append(file::Record record, std::span<const file::SectionContent> contents,
                     std::span<std::byte> staging,
                     const std::function<std::optional<Diagnostic>()>& failed) {
  std::uint64_t bytes = 0;
  for (const file::SectionContent& content : contents)
    for (const file::OwnPart& own : content.own) bytes += content.parts[own.part];
  const std::uint64_t row_bytes = contents.size() == 1 ? contents.front().row_bytes : 1;
  observe::ProgressMeter meter = progress(bytes / row_bytes, row_bytes);
  writer_->append(std::move(record), contents, staging, meter, failed);
  meter.finish();
}

observe::ProgressMeter FileEnd::progress(std::uint64_t rows, std::uint64_t row_bytes) {
  return {
      meter_, {progress_, options.progress_bar, channel_.rank(), "valet: file"}, rows, row_bytes};
}

std::string FileEnd::name_of(const Description& description) {
  const std::string name = description.name();
  return description.label.empty() ? name : joined(name, " (", description.kind(), ")");
}

const file::Record& FileEnd::next(const Description& wanted) {
  const auto records = reader_->records();
  bool was_there = false;
  for (std::size_t r = 0; r < records.size(); ++r) {
    const Description& put = records[r].description;
    if (put.label != wanted.label || !are_alike(put.content, wanted.content)) continue;
    was_there = true;
    if (taken_[r]) continue;
    current_ = r;
    return records[r];
  }
  if (was_there)
    throw Error(ErrorCode::invalid_argument,
                joined(name_of(wanted),
                       " was got as often as it was put; open the file once more to "
                       "get it again"));
  std::string all;
  for (const file::Record& record : records)
    all += (all.empty() ? "" : ", ") + name_of(record.description);
  throw Error(ErrorCode::invalid_argument,
              joined("the file has no ", name_of(wanted), ", but ", all.empty() ? "nothing" : all,
                     "; get what was put, by its label"));
}

Report FileEnd::report(const Ledger& ledger, std::uint64_t row_bytes, std::uint64_t parts,
                       std::uint64_t before, std::uint64_t after, std::uint64_t described) const {
  Report report;
  report.method = "file";
  report.block_bytes = row_bytes;
  report.blocks_before = before;
  report.blocks_after = after;
  report.budget_bytes = options.budget_bytes;
  report.peak_extra_bytes = ledger.peak_bytes();
  report.extra_bytes_bound =
      described + detail::promised_bytes(options.budget_bytes, 0,
                                         static_cast<std::uint64_t>(ranks()) + parts, false);
  return report;
}

void FileEnd::abandon() {
  finish_all();
  if (reader_) return reader_->close();
  writer_->discard();
}

void FileEnd::close() {
  finish_all();
  if (reader_) return reader_->close();
  if (broken_.empty()) return writer_->publish();
  writer_->discard();
  throw Error(ErrorCode::file_failure, broken_);
}

}  // namespace valet::junction
