// SPDX-License-Identifier: BSD-3-Clause
#include "observe/transfer_file.hpp"

#include "base/diagnose.hpp"
#include "mpi/agreement.hpp"
#include "mpi/root.hpp"
#include "observe/file.hpp"
#include <valet/log.hpp>
#include <valet/version.hpp>

#include <array>
#include <charconv>
#include <cstring>
#include <initializer_list>
#include <span>

namespace valet::observe {
namespace {

constexpr std::size_t buffer_bytes = 4096;

/// Lines of numbers, put in chunks of whole lines.
class NumberLines {
 public:
  NumberLines(std::span<char> buffer, const mpi::TakeText& put) : buffer_(buffer), put_(put) {}

  void add(const char* prefix, std::initializer_list<std::uint64_t> numbers) {
    constexpr std::size_t longest = 128;
    if (buffer_.size() - size_ < longest) flush();
    const std::size_t length = std::strlen(prefix);
    char* at = std::copy_n(prefix, length, buffer_.data() + size_);
    for (const std::uint64_t number : numbers) {
      at = std::to_chars(at, buffer_.data() + buffer_.size(), number).ptr;
      *at++ = ' ';
    }
    at[-1] = '\n';
    size_ = static_cast<std::size_t>(at - buffer_.data());
  }
  void flush() {
    if (size_ > 0) put_(buffer_.first(size_));
    size_ = 0;
  }

 private:
  std::span<char> buffer_;
  const mpi::TakeText& put_;
  std::size_t size_ = 0;
};

/// The lines of all ranks, those of the root first. Collective; the ranks have to meet before the
/// next ones. @param texts  Other ranks that have any. @param list  list(lines), where this one
/// has.
void write_lines(const mpi::Channel& channel, File& output, std::uint64_t texts,
                 const std::function<void(NumberLines&)>& list) {
  std::array<char, buffer_bytes> memory;
  const std::span<char> buffer(memory);
  const mpi::TakeText write = [&](std::span<const char> text) { output.write(text); };
  const auto list_to = [&](const mpi::TakeText& put) {
    NumberLines lines(buffer.first(buffer.size() / 2), put);
    list(lines);
    lines.flush();
  };
  const bool is_root = channel.rank() == mpi::root;
  if (is_root && list) list_to(write);
  mpi::send_texts_to_root(channel, texts, buffer,
                          is_root || !list ? std::function<void(const mpi::TakeText&)>() : list_to,
                          write);
}

std::string opening(const std::string& method) {
  return joined("%%MatrixMarket matrix coordinate integer general\n% Blocks from row to column, ",
                "moved by ", method, " of valet ", VALET_VERSION_TEXT,
                ". Ranks count from 1.\n% Of each rank: its number, blocks that it had room for, "
                "bytes sent, budget and peak of extra "
                "memory in bytes\n");
}

}  // namespace

void write_transfers(const mpi::Channel& channel, const std::string& path,
                     const std::string& method, const TransferRow& row,
                     const std::function<void(const PutTransfer&)>& for_each) {
  const auto number = static_cast<std::uint64_t>(channel.rank()) + 1;
  const auto ranks = static_cast<std::uint64_t>(channel.size());
  const bool is_root = channel.rank() == mpi::root;
  File output;
  if (is_root) output.create(path);
  std::uint64_t own = 0;
  for_each([&](int, std::uint64_t) { ++own; });
  std::array<std::uint64_t, 3> sums{own, is_root || own == 0 ? 0U : 1U,
                                    output.error() != 0 ? 1U : 0U};
  mpi::sum(channel, sums);
  const auto [entries, texts, failed] = sums;
  if (failed == 0) {
    if (is_root) output.write(opening(method));
    write_lines(channel, output, ranks - 1, [&](NumberLines& lines) {
      lines.add("%! ",
                {number, row.free_blocks, row.bytes_sent, row.budget_bytes, row.peak_extra_bytes});
    });
    mpi::sum(channel, sums);  // before the next texts
    if (is_root) output.write(joined(ranks, " ", ranks, " ", entries, "\n"));
    const auto list = [&](NumberLines& lines) {
      for_each([&](int to, std::uint64_t blocks) {
        lines.add("", {number, static_cast<std::uint64_t>(to) + 1, blocks});
      });
    };
    write_lines(channel, output, texts,
                own > 0 ? std::function<void(NumberLines&)>(list) : nullptr);
    if (is_root) output.publish();
  }
  if (is_root && output.error() != 0)
    log(LogLevel::warning, channel.rank(), cannot_write("the transfers", path, output.error()));
}

}  // namespace valet::observe
