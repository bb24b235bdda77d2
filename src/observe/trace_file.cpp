// SPDX-License-Identifier: BSD-3-Clause
#include "observe/trace_file.hpp"

#include "base/diagnose.hpp"
#include "mpi/agreement.hpp"
#include "mpi/root.hpp"
#include "observe/observer.hpp"
#include <valet/log.hpp>
#include <valet/version.hpp>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace valet::observe {
namespace {

constexpr std::string_view separator = ",\n", closing = "\n]}\n";

std::string opening(const TraceCaption& caption, int ranks) {
  return joined(R"({"displayTimeUnit":"ms","otherData":{"program":"valet )" VALET_VERSION_TEXT,
                R"(","method":")", caption.method, R"(","ranks":)", ranks, R"(,"block_bytes":)",
                caption.block_bytes, R"(,"budget_bytes":)", caption.budget_bytes,
                "},\n\"traceEvents\":[\n");
}

std::string warning(const std::string& path, int error, std::uint64_t lost) {
  if (error != 0) return cannot_write("the trace", path, error);
  return joined("the trace in '", path, "' lacks ", lost,
                " events that found no room; set TMPDIR to a directory with room for a temporary "
                "file of every rank");
}

}  // namespace

void TraceFile::align(const mpi::Channel& channel) {
  ahead_seconds_ = mpi::clock_ahead_of_root(channel);
}

/// The file on every rank; where it could be made at all. Collective.
bool TraceFile::open(const mpi::Channel& channel, File& output, bool& writes_itself) const {
  const bool is_root = channel.rank() == mpi::root;
  if (is_root) output.create(path_);
  File::Identity identity = is_root ? output.identity() : File::Identity();
  mpi::broadcast(channel, std::as_writable_bytes(std::span(&identity, 1)), mpi::root);
  writes_itself = is_root || (identity.is_made != 0 && output.join(identity));
  return identity.is_made != 0;
}

/// All events of this rank, and spaces behind them: so many bytes.
void TraceFile::write_own(File& output, std::uint64_t bytes) {
  const std::span<char> buffer = trace_.text_buffer();
  trace_.read(buffer, [&](std::span<const char> text) {
    output.write(text);
    bytes -= std::min<std::uint64_t>(bytes, text.size());
  });
  std::fill(buffer.begin(), buffer.end(), ' ');
  for (; bytes > 0; bytes -= std::min<std::uint64_t>(bytes, buffer.size()))
    output.write(buffer.first(std::min<std::uint64_t>(bytes, buffer.size())));
}

/// The events of ranks that cannot write into the file themselves, by the root.
void TraceFile::write_others(const mpi::Channel& channel, File& output, bool writes_itself,
                             std::uint64_t texts) {
  const std::span<char> buffer = trace_.text_buffer().first(Trace::least_buffer);
  static_assert(Trace::least_buffer / 2 >= Trace::least_text + separator.size());
  // The text of a rank has no comma before its first event.
  const auto send_all = [&](const mpi::TakeText& send) {
    std::size_t begin = separator.copy(buffer.data(), separator.size());
    const std::size_t room = buffer.size() / 2 - begin;
    trace_.read(buffer.subspan(begin, room), [&](std::span<const char> text) {
      send({text.data() - begin, text.size() + begin});
      begin = 0;
    });
  };
  mpi::send_texts_to_root(channel, texts, buffer,
                          writes_itself ? std::function<void(const mpi::TakeText&)>() : send_all,
                          [&](std::span<const char> text) { output.write(text); });
}

void TraceFile::write_events(const mpi::Channel& channel, const TraceCaption& caption, File& output,
                             bool writes_itself) {
  const bool is_root = channel.rank() == mpi::root;
  // The first moment of any rank is 0, so that no time is negative.
  std::array<double, 1> first{ahead_seconds_ - trace_.first_seconds()};
  mpi::maximum(channel, std::span<double>(first));
  trace_.rewind(ahead_seconds_ - first[0], caption.budget_bytes);
  const std::string head = is_root ? opening(caption, channel.size()) : std::string(separator);
  const std::uint64_t bytes = writes_itself ? trace_.most_text_bytes() : 0;
  const std::uint64_t part = writes_itself ? head.size() + bytes : 0;
  std::array<std::uint64_t, 2> sums{part, writes_itself ? 0U : 1U};
  const std::uint64_t offset = mpi::sum_of_lower(channel, part);
  mpi::sum(channel, sums);
  const auto [parts, sending] = sums;
  if (writes_itself) {
    output.seek(offset);
    output.write(head);
    write_own(output, bytes);
  }
  if (is_root) output.seek(parts);
  if (sending > 0) write_others(channel, output, writes_itself, sending);
  if (is_root) output.write(closing);
}

void TraceFile::write(const mpi::Channel& channel, const TraceCaption& caption) {
  // Nothing is recorded while the trace is read.
  Observer* const observer = observer_of(channel);
  Trace* const recording = observer == nullptr ? nullptr : std::exchange(observer->trace, nullptr);
  File output;
  bool writes_itself = false;
  std::array<std::uint64_t, 1> lost{0}, error{0};
  if (open(channel, output, writes_itself)) {
    write_events(channel, caption, output, writes_itself);
    const bool is_root = channel.rank() == mpi::root;
    if (!is_root) output.close();
    lost[0] = trace_.lost();
    error[0] = static_cast<std::uint64_t>(output.error());
    mpi::sum(channel, lost);
    mpi::maximum(channel, std::span<std::uint64_t>(error));
    if (is_root && error[0] == 0) output.publish();
  }
  if (error[0] == 0) error[0] = static_cast<std::uint64_t>(output.error());
  if (channel.rank() == mpi::root && (error[0] != 0 || lost[0] > 0))
    log(LogLevel::warning, channel.rank(), warning(path_, static_cast<int>(error[0]), lost[0]));
  trace_.clear();
  if (observer != nullptr) observer->trace = recording;
}

}  // namespace valet::observe
