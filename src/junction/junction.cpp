// SPDX-License-Identifier: BSD-3-Clause
#include "base/memory_reserve.hpp"
#include "junction/file/file_end.hpp"
#include "junction/link.hpp"
#include "junction/transfers.hpp"
#include "mpi/channel.hpp"
#include "mpi/meeting.hpp"
#include "mpi/two_groups.hpp"
#include <valet/junction.hpp>
#include <valet/log.hpp>

#include <exception>
#include <limits>
#include <utility>

namespace valet {
namespace {

using junction::Content;
using junction::Description;
using junction::Direction;

/// Calls action(), and logs what it throws.
template <class Action>
void log_failure(const char* what, Action&& action) noexcept {
  try {
    action();
  } catch (const std::exception& error) {
    log(LogLevel::warning, 0, std::string(what) + error.what());
  }
}

Description of_array(Direction direction, const GridLayout& layout, std::size_t element_bytes,
                     const std::string& label) {
  return {direction, Content::array, element_bytes, label, layout, {}};
}

/// A transfer, which the other ranks wait for whatever memory there is.
template <class Make>
auto made(Make&& make) {
  const detail::MemoryReserve reserve;
  return make();
}

/// How long to wait for another job to come.
double meeting_seconds(const JunctionOptions& options) {
  return options.timeout_seconds > 0 ? options.timeout_seconds
                                     : std::numeric_limits<double>::infinity();
}

}  // namespace

JunctionTransfer::JunctionTransfer(std::shared_ptr<junction::Transport> link,
                                   std::shared_ptr<junction::Transfer> transfer)
    : link_(std::move(link)), transfer_(std::move(transfer)) {}

JunctionTransfer::JunctionTransfer(JunctionTransfer&& other) noexcept = default;

JunctionTransfer::~JunctionTransfer() {
  if (transfer_) log_failure("a transfer that nobody waited for has failed: ", [this] { wait(); });
}

bool JunctionTransfer::is_ready() { return !transfer_ || link_->is_ready(*transfer_); }

Report JunctionTransfer::wait() {
  const detail::MemoryReserve reserve;
  const std::shared_ptr<junction::Transfer> transfer = std::exchange(transfer_, nullptr);
  if (!transfer)
    throw Error(ErrorCode::invalid_argument,
                "this transfer was waited for already, or moved from; put or get once more");
  return std::exchange(link_, nullptr)->wait(*transfer);
}

Junction Junction::accept(MPI_Comm communicator, const std::string& name,
                          const JunctionOptions& options) {
  const detail::MemoryReserve reserve;
  mpi::require_mpi();
  return Junction(std::make_shared<junction::Link>(
      mpi::accept_job(communicator, name, options.folder, meeting_seconds(options)), true,
      options));
}

Junction Junction::connect(MPI_Comm communicator, const std::string& name,
                           const JunctionOptions& options) {
  const detail::MemoryReserve reserve;
  if (mpi::is_intercommunicator(communicator)) return over(communicator, options, {});
  return Junction(std::make_shared<junction::Link>(
      mpi::connect_job(communicator, name, options.folder, meeting_seconds(options)), true,
      options));
}

Junction Junction::over(MPI_Comm intercommunicator, const JunctionOptions& options,
                        const std::optional<Diagnostic>& wrong) {
  const detail::MemoryReserve reserve;
  return Junction(std::make_shared<junction::Link>(intercommunicator, false, options, wrong));
}

Junction Junction::create(MPI_Comm communicator, const std::string& path,
                          const JunctionOptions& options) {
  const detail::MemoryReserve reserve;
  return Junction(std::make_shared<junction::FileEnd>(communicator, path, Direction::put, options));
}

Junction Junction::open(MPI_Comm communicator, const std::string& path,
                        const JunctionOptions& options) {
  const detail::MemoryReserve reserve;
  return Junction(std::make_shared<junction::FileEnd>(communicator, path, Direction::get, options));
}

std::vector<JunctionRecord> Junction::records() const { return link().records(); }

Junction::Junction(std::shared_ptr<junction::Transport> link) : link_(std::move(link)) {}

Junction::Junction(Junction&&) noexcept = default;

Junction& Junction::operator=(Junction&& other) noexcept {
  const Junction closed(std::move(*this));
  link_ = std::move(other.link_);
  return *this;
}

Junction::~Junction() {
  if (link_) log_failure("a junction could not be closed: ", [this] { link_->abandon(); });
}

junction::Transport& Junction::link() const {
  if (link_) return *link_;
  throw Error(ErrorCode::invalid_argument, "this junction is closed; make another one");
}

int Junction::ranks() const { return link().ranks(); }

int Junction::other_ranks() const { return link().other_ranks(); }

JunctionTransfer Junction::begin(std::shared_ptr<junction::Transfer> transfer) {
  const detail::MemoryReserve reserve;
  link().add(transfer);
  return {link_, std::move(transfer)};
}

JunctionTransfer Junction::put(const SourceArray& array, const GridLayout& layout,
                               std::size_t element_bytes, const std::string& label) {
  return begin(made([&] {
    return junction::put_array(of_array(Direction::put, layout, element_bytes, label), array);
  }));
}

JunctionTransfer Junction::get(const TargetArray& array, const GridLayout& layout,
                               std::size_t element_bytes, const std::string& label) {
  return begin(made([&] {
    return junction::get_array(of_array(Direction::get, layout, element_bytes, label), array);
  }));
}

JunctionTransfer Junction::put(const BlockStorage& storage, std::uint64_t count,
                               std::span<const int> ranks) {
  return begin(made([&] { return junction::put_blocks(storage, count, {.ranks = ranks}); }));
}

JunctionTransfer Junction::put(const BlockStorage& storage, std::uint64_t count,
                               const std::string& label) {
  return begin(made([&] { return junction::put_blocks(storage, count, {.label = label}); }));
}

JunctionTransfer Junction::put(const BlockStorage& storage, std::uint64_t count,
                               const ObjectLayout& layout, const std::string& label) {
  return begin(made(
      [&] { return junction::put_blocks(storage, count, {.layout = layout, .label = label}); }));
}

JunctionTransfer Junction::get(const BlockStorage& storage, const std::string& label) {
  return begin(made([&] { return junction::get_blocks(storage, {.label = label}); }));
}

JunctionTransfer Junction::get(const BlockStorage& storage, const BlockRange& range,
                               const std::string& label) {
  return begin(
      made([&] { return junction::get_blocks(storage, {.range = range, .label = label}); }));
}

JunctionTransfer Junction::get(const BlockStorage& storage, const ObjectLayout& layout,
                               const std::string& label) {
  return begin(
      made([&] { return junction::get_blocks(storage, {.layout = layout, .label = label}); }));
}

JunctionTransfer Junction::get(std::function<BlockStorage(std::uint64_t)> storage_for,
                               const std::string& label) {
  return begin(
      made([&] { return junction::get_blocks(std::move(storage_for), {.label = label}); }));
}

JunctionTransfer Junction::put(const RaggedStorage& storage, std::uint64_t count,
                               std::span<const int> ranks) {
  return begin(made([&] { return junction::put_ragged(storage, count, {.ranks = ranks}); }));
}

JunctionTransfer Junction::put(const RaggedStorage& storage, std::uint64_t count,
                               const std::string& label) {
  return begin(made([&] { return junction::put_ragged(storage, count, {.label = label}); }));
}

JunctionTransfer Junction::put(const RaggedStorage& storage, std::uint64_t count,
                               const ObjectLayout& layout, const std::string& label) {
  return begin(made(
      [&] { return junction::put_ragged(storage, count, {.layout = layout, .label = label}); }));
}

JunctionTransfer Junction::get(const RaggedStorage& storage, const ObjectLayout& layout,
                               const std::string& label) {
  return begin(
      made([&] { return junction::get_ragged(storage, {.layout = layout, .label = label}); }));
}

JunctionTransfer Junction::get(const RaggedStorage& storage, const std::string& label) {
  return begin(made([&] { return junction::get_ragged(storage, {.label = label}); }));
}

JunctionTransfer Junction::get(const RaggedStorage& storage, const BlockRange& range,
                               const std::string& label) {
  return begin(
      made([&] { return junction::get_ragged(storage, {.range = range, .label = label}); }));
}

void Junction::close() {
  const detail::MemoryReserve reserve;
  const std::shared_ptr<junction::Transport> link = std::exchange(link_, nullptr);
  if (link) link->close();
}

}  // namespace valet
