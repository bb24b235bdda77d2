// SPDX-License-Identifier: BSD-3-Clause
#include "base/diagnose.hpp"
#include "base/memory_reserve.hpp"
#include "base/promise.hpp"
#include "call/frame.hpp"
#include "mpi/agreement.hpp"
#include "mpi/check.hpp"
#include "mpi/sparse_exchange.hpp"
#include "objects/records.hpp"
#include "objects/steps.hpp"
#include "pages/page_move.hpp"
#include "plan/check_options.hpp"
#include <valet/detail/first_failure.hpp>
#include <valet/objects.hpp>

#include <algorithm>
#include <limits>
#include <new>
#include <optional>
#include <string>

namespace valet {
namespace {

constexpr std::uint64_t most_objects = std::numeric_limits<std::uint32_t>::max();
/// Bytes of lists that an object takes in a step, so that objects without bytes are not endless.
constexpr std::uint64_t object_bytes = 16;

/// What a function of the application threw, while it is handled.
/// @param call  Such as "pack of object 7".
Diagnostic thrown_by(const std::string& call, const char* consequence) {
  detail::FirstFailure failure;
  failure.keep(call.c_str());
  return *failure.diagnostic(consequence);
}

/// Objects of the application that move in steps.
class ObjectMigration final : public objects::StepOwner {
 public:
  ObjectMigration(call::Frame& frame, std::span<const int> ranks, const ObjectFunctions& functions,
                  const Options& options)
      : frame_(frame),
        channel_(frame.channel),
        ranks_(ranks),
        functions_(functions),
        options_(options),
        call_(frame, options_),
        leaving_(frame.ledger),
        sources_(frame.ledger) {
    frame.callbacks.protect(options_.phased.available_bytes, "callback available_bytes",
                            std::numeric_limits<std::size_t>::max());
    if (options.method != Method::automatic) call_.method = options.method;
    call_.message_object_bytes = object_bytes;
  }

  /// Collective.
  Report run(std::uint64_t count) {
    const double start = mpi::now();
    agree(look_at_input(count));
    frame_.align();
    exchange_sizes();
    const objects::Scratch scratch = divide_budget();
    steps_.emplace(call_, *this,
                   objects::Traffic{leaving_.peers, sources_, sizes_, arriving_sizes_}, scratch,
                   object_bytes, check_at_once());
    const std::uint64_t raised = steps_->prepare();
    const double planned = mpi::now();
    Report report;
    frame_.exchange("migrate_objects", total_bytes(), 1, report, [&] {
      mpi::agree(channel_, steps_->run());
      steps_->verify();
    });
    fill_in(report, count, raised);
    report.plan_seconds = planned - start;
    report.exchange_seconds = mpi::now() - planned;
    frame_.write_transfers(report.method, observe::row_of(report), leaving_.peers,
                           &objects::Peer::count);
    return report;
  }

 private:
  /// The number of the k-th that leaves, sorted by destination.
  [[nodiscard]] std::uint64_t number_of(std::uint64_t k) const {
    return leaving_.order.size() > 0 ? leaving_.order[k] : k;
  }

  /// What is wrong with the call on this rank, if anything; sizes and order of what leaves.
  std::optional<Diagnostic> look_at_input(std::uint64_t count) {
    if (auto wrong = plan::check_options(options_)) return wrong;
    if (!functions_.size || !functions_.pack || !functions_.unpack)
      return invalid("objects need the functions size, pack and unpack; only left may be empty");
    if (ranks_.size() != count)
      return invalid(ranks_.size(), " ranks for ", count, " objects; give one for each");
    if (count > most_objects)
      return invalid(count, " objects on a rank, more than ", most_objects,
                     "; pack several into one");
    const auto outside =
        std::ranges::find_if(ranks_, [&](int rank) { return rank < 0 || rank >= channel_.size(); });
    if (outside != ranks_.end())
      return diagnose(ErrorCode::rank_out_of_range, "object ", outside - ranks_.begin(),
                      " goes to rank ", *outside, ", but the communicator has ranks 0 to ",
                      channel_.size() - 1, "; ranks count from 0: fix the map, nothing has moved");
    return detail::unless_out_of_memory(
        [&] {
          leaving_ = objects::order_by_rank(frame_.ledger, ranks_, channel_.rank());
          return ask_sizes();
        },
        "no memory for the sizes of the objects");
  }

  std::optional<Diagnostic> ask_sizes() {
    const std::uint64_t count = objects::count_of(leaving_.peers);
    sizes_ = Array<std::uint64_t>(frame_.ledger, count);
    for (std::uint64_t k = 0; k < count; ++k) {
      try {
        sizes_[k] = functions_.size(number_of(k));
      } catch (...) {
        return thrown_by(joined("size of object ", number_of(k)), "nothing has moved");
      }
      if (sizes_[k] > most_bytes)
        return invalid("object ", number_of(k), " has ", sizes_[k], " bytes, more than ",
                       most_bytes);
    }
    return std::nullopt;
  }

  /// In one reduction. Collective. @throws Error on all ranks alike.
  void agree(const std::optional<Diagnostic>& wrong) {
    mpi::Agreement agreement;
    plan::agree_on_options(agreement, options_);
    frame_.join(agreement);
    smallest_budget_ = options_.budget_bytes;
    agreement.least(smallest_budget_);
    mpi::Borrowing own(frame_.channel);
    own.join(agreement);
    agreement.run(channel_, wrong);
    own.complete();
  }

  /// Every rank tells the others how many objects of which sizes come. Collective.
  void exchange_sizes() {
    std::optional<Diagnostic> failed;
    const char* const no_memory = "no memory for the sizes of the objects that arrive";
    try {
      mpi::exchange_sparse_counts(channel_, frame_.ledger, leaving_.peers, sources_);
      failed = detail::unless_out_of_memory(
          [&] {
            arriving_sizes_ = Array<std::uint64_t>(frame_.ledger, objects::count_of(sources_));
          },
          no_memory);
    } catch (const std::bad_alloc&) {  // when the exchange is over
      failed = Diagnostic{ErrorCode::out_of_memory, no_memory};
    }
    mpi::agree(channel_, failed);
    const objects::RecordColumn column{sizeof(std::uint64_t), sizes_.data(), arriving_sizes_.data(),
                                       true};
    objects::send_records(channel_, frame_.ledger, {leaving_.peers, {}}, sources_, {&column, 1},
                          objects::chunk_for(smallest_budget_));
  }

  [[nodiscard]] std::uint64_t total_bytes() const {
    return objects::sum_of(sizes_) + objects::sum_of(arriving_sizes_);
  }

  /// What the budget is divided into, once a root has room for what it needs. Collective where
  /// there is one.
  objects::Scratch divide_budget() {
    if (call_.is_centralized()) {
      call_.matrix = objects::room_for_matrix(channel_, frame_.ledger, sources_.size());
      std::optional<Diagnostic> too_small;
      if (call_.matrix_bytes() > options_.budget_bytes)
        too_small =
            mpi::budget_too_small_for("the " + std::to_string(call_.matrix.pairs) +
                                          " pairs of ranks between which objects move, on the root",
                                      options_.budget_bytes);
      mpi::agree(channel_, too_small, call_.matrix_bytes());
    }
    return objects::divide_scratch(
        {options_.budget_bytes, smallest_budget_,
         objects::transport_bytes(call_, leaving_.peers.size() + sources_.size(), true),
         objects::sum_of(sizes_), leaving_.peers.size(), false, call_.has_phases()});
  }

  [[nodiscard]] std::optional<Diagnostic> check_at_once() {
    if (call_.method != Method::direct) return std::nullopt;
    call_.budget_at_once = total_bytes();
    if (call_.budget_at_once <= options_.budget_bytes) return std::nullopt;
    return pages::too_small_for_direct("the objects that leave and arrive", options_.budget_bytes);
  }

  std::optional<Diagnostic> pack(std::uint64_t first, std::uint64_t end,
                                 std::byte* memory) override {
    for (std::uint64_t k = first; k < end; ++k) {
      try {
        functions_.pack(number_of(k), {memory, static_cast<std::size_t>(sizes_[k])});
      } catch (...) {
        return thrown_by(joined("pack of object ", number_of(k)),
                         "the objects of this step are where they were");
      }
      memory += sizes_[k];
    }
    return std::nullopt;
  }

  [[nodiscard]] const char* asks() const override { return "callback available_bytes"; }
  std::optional<Diagnostic> find_room(std::uint64_t& bytes) override {
    bytes = no_limit;
    if (options_.method == Method::phased && options_.phased.available_bytes)
      bytes = options_.phased.available_bytes();
    return std::nullopt;
  }
  void arrived(std::uint64_t bytes) override { frame_.observer->moved(bytes); }

  /// Goes on after a function has thrown: only the object that it was called for is in question.
  std::optional<Diagnostic> finish_step() override {
    std::optional<Diagnostic> failed;
    for (const objects::StepRange& range : steps_->sender().ranges())
      for (std::uint64_t k = range.first; k < range.end; ++k) leave(k, failed);
    steps_->for_each_arrived(
        [&](const objects::ArrivedObjects& arrived) { unpack(arrived, failed); });
    return failed;
  }

  void leave(std::uint64_t k, std::optional<Diagnostic>& failed) {
    frame_.observer->moved(sizes_[k]);
    bytes_sent_ += sizes_[k];
    ++objects_sent_;
    if (!functions_.left) return;
    try {
      functions_.left(number_of(k));
    } catch (...) {
      if (!failed)
        failed =
            thrown_by(joined("left of object ", number_of(k)), "the object is at its destination");
    }
  }

  void unpack(const objects::ArrivedObjects& arrived, std::optional<Diagnostic>& failed) {
    const int source = sources_[arrived.source].rank;
    const std::byte* next = arrived.data;
    for (std::uint64_t k = 0; k < arrived.count; ++k) {
      const std::uint64_t bytes = arriving_sizes_[arrived.first + k];
      try {
        functions_.unpack(source, {next, static_cast<std::size_t>(bytes)});
        ++objects_received_;
      } catch (...) {
        if (!failed)
          failed = thrown_by(
              joined("unpack of number ", arrived.number + k, " of the objects from rank ", source),
              "the object is lost");
      }
      next += bytes;
    }
  }

  void fill_in(Report& report, std::uint64_t count, std::uint64_t raised) {
    report.method = to_string(call_.method);
    report.blocks_before = count;
    report.blocks_after = count - objects_sent_ + objects_received_;
    report.blocks_sent = objects_sent_;
    report.blocks_received = objects_received_;
    report.bytes_sent = bytes_sent_;
    report.messages = call_.messages;
    report.phases = call_.steps;
    report.detours = call_.parked;
    report.verified = options_.verify;
    report.budget_bytes = options_.budget_bytes;
    const bool knows_all = call_.is_centralized() || call_.parks();
    const auto ranks = static_cast<std::uint64_t>(knows_all ? channel_.size() : 0);
    report.neighbours = mpi::count_neighbours(leaving_.peers, sources_, channel_.rank());
    report.extra_bytes_bound = detail::promised_bytes(options_.budget_bytes + raised,
                                                      report.neighbours, ranks, frame_.traces()) +
                               24 * (sizes_.size() + arriving_sizes_.size());
  }

  /// Sizes add up, also over all objects of a rank.
  static constexpr std::uint64_t most_bytes = std::uint64_t{1} << 40;

  call::Frame& frame_;
  const mpi::Channel& channel_;
  std::span<const int> ranks_;
  const ObjectFunctions& functions_;
  Options options_;  ///< with an available_bytes that does not throw
  objects::Call call_;
  std::uint64_t smallest_budget_ = 0;  ///< of all ranks
  objects::RankOrder leaving_;
  Vector<objects::Peer> sources_;
  Array<std::uint64_t> sizes_;           ///< of what leaves, sorted by destination
  Array<std::uint64_t> arriving_sizes_;  ///< by source
  std::optional<objects::Steps> steps_;
  std::uint64_t objects_sent_ = 0, objects_received_ = 0, bytes_sent_ = 0;
};

}  // namespace

Report migrate_objects(MPI_Comm communicator, std::uint64_t count, std::span<const int> ranks,
                       const ObjectFunctions& functions, const Options& options) {
  const detail::MemoryReserve reserve;
  call::Frame frame(mpi::Channel::open_for_planning(communicator), options, "callback progress");
  return frame.run([&] { return ObjectMigration(frame, ranks, functions, options).run(count); });
}

}  // namespace valet
