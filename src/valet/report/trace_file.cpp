// SPDX-License-Identifier: BSD-3-Clause
#include <valet/mpi/agreement.hpp>
#include <valet/mpi/root.hpp>
#include <valet/report/log.hpp>
#include <valet/report/observer.hpp>
#include <valet/report/trace_file.hpp>
#include <valet/version.hpp>

#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <optional>
#include <unistd.h>

namespace valet {
namespace {

/// The file that rank 0 writes, without buffers of its own. Remembers the first error.
class Output {
 public:
  explicit Output(const std::string& path)
      : descriptor_(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)) {
    if (descriptor_ < 0) error_ = errno;
  }
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;
  ~Output() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }

  [[nodiscard]] int error() const { return error_; }

  void write(std::span<const char> text) {
    while (error_ == 0 && !text.empty()) {
      const ssize_t written = ::write(descriptor_, text.data(), text.size());
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0)
        error_ = written < 0 ? errno : EIO;
      else
        text = text.subspan(static_cast<std::size_t>(written));
    }
  }
  /// Some file systems say only now that there was no room.
  void close() {
    if (descriptor_ >= 0 && ::close(std::exchange(descriptor_, -1)) != 0 && error_ == 0)
      error_ = errno;
  }

 private:
  int descriptor_;
  int error_ = 0;
};

std::string opening(const TraceCaption& caption, int ranks) {
  const std::string version = std::to_string(VALET_VERSION_MAJOR) + "." +
                              std::to_string(VALET_VERSION_MINOR) + "." +
                              std::to_string(VALET_VERSION_PATCH);
  return "{\"displayTimeUnit\":\"ms\",\"otherData\":{\"program\":\"valet " + version +
         "\",\"method\":\"" + caption.method + "\",\"ranks\":" + std::to_string(ranks) +
         ",\"block_bytes\":" + std::to_string(caption.block_bytes) +
         ",\"budget_bytes\":" + std::to_string(caption.budget_bytes) + "},\n\"traceEvents\":[\n";
}

/// Nothing is recorded while the trace is read.
class Unwatched {
 public:
  explicit Unwatched(Observer* observer)
      : observer_(observer),
        trace_(observer == nullptr ? nullptr : std::exchange(observer->trace, nullptr)) {}
  Unwatched(const Unwatched&) = delete;
  Unwatched& operator=(const Unwatched&) = delete;
  ~Unwatched() {
    if (observer_ != nullptr) observer_->trace = trace_;
  }

 private:
  Observer* observer_;
  Trace* trace_;
};

std::string warning(const std::string& path, int error, std::uint64_t lost) {
  if (error != 0)
    return "cannot write the trace to '" + path + "' (" + std::strerror(error) +
           "); the migration itself went on. Give a path that rank 0 can write";
  return "the trace in '" + path + "' lacks " + std::to_string(lost) +
         " events that found no room; set TMPDIR to a directory with room for a temporary file of "
         "every rank";
}

}  // namespace

void TraceFile::align(const mpi::Channel& channel) {
  ahead_seconds_ = mpi::clock_ahead_of_root(channel);
}

void TraceFile::write(const mpi::Channel& channel, const TraceCaption& caption) {
  if (holders_ > 0) return;
  const Unwatched unwatched(channel.observer());
  const bool is_root = channel.rank() == mpi::root;
  std::optional<Output> output;
  if (is_root) output.emplace(path_);
  std::array<std::uint64_t, 1> goes_on{is_root && output->error() == 0 ? 1U : 0U};
  mpi::broadcast_words(channel, goes_on);
  std::array<std::uint64_t, 1> lost{0};
  if (goes_on[0] != 0) {
    // The first moment of any rank is 0, so that no time is negative.
    std::array<double, 1> first{ahead_seconds_ - trace_.first_seconds()};
    mpi::maximum(channel, std::span<double>(first));
    trace_.rewind(ahead_seconds_ - first[0], caption.budget_bytes);
    if (is_root) output->write(opening(caption, channel.size()));
    int writing = mpi::root;
    mpi::stream_to_root(
        channel, trace_.text_buffer(), [&](std::span<char> text) { return trace_.read(text); },
        [&](int rank, std::span<const char> text) {
          // The text of a rank has no comma before its first event.
          if (rank != writing) output->write(std::string_view(",\n"));
          writing = rank;
          output->write(text);
        });
    if (is_root) {
      output->write(std::string_view("\n]}\n"));
      output->close();
    }
    lost[0] = trace_.lost();
    mpi::sum(channel, lost);
  }
  if (is_root && (output->error() != 0 || lost[0] > 0))
    log(LogLevel::warning, channel.rank(), warning(path_, output->error(), lost[0]));
  trace_.clear();
}

}  // namespace valet
