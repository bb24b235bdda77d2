// SPDX-License-Identifier: BSD-3-Clause
#include "attached/calls.hpp"
#include "base/diagnose.hpp"
#include "base/memory_reserve.hpp"
#include "handle/messages.hpp"
#include "handle/structure.hpp"
#include "mpi/agreement.hpp"
#include <valet/zoltan/attached.hpp>

#include <memory>
#include <optional>
#include <utility>
#include <variant>

namespace valet::zoltan {
namespace {

void warn_where_not_in_front(const AttachedState& state) {
  static bool is_said = false;
  if (state.is_in_front || state.channel->rank() != 0 || std::exchange(is_said, true)) return;
  print_warning("Valet_Zoltan_attach",
                "Valet is not in front of Zoltan, so that Zoltan's calls do not reach attached "
                "storage. Link libvalet_zoltan before Zoltan or preload it, or call "
                "Valet_LB_Partition() or Attached::partition(), Valet_Migrate() and "
                "Valet_Set_Param()");
}

}  // namespace

struct Attached::Owner {
  std::shared_ptr<AttachedState> state;

  Owner(Zoltan_Struct* zoltan, std::uint64_t count,
        std::variant<BlockStorage, RaggedStorage> storage, const AttachedOptions& options)
      : state(std::make_shared<AttachedState>(zoltan, count, std::move(storage), options)) {
    if (zoltan == nullptr)
      throw Error(ErrorCode::invalid_argument,
                  "storage is attached to a null pointer; give what Zoltan_Create() returned");
    const std::shared_ptr<AttachedState> before = attached_to(zoltan);
    if (before && before->is_in_call) {  // of this rank alone, perhaps
      before->misuse =
          invalid("a callback of Zoltan's attaches storage; do that when the call has returned");
      throw Error(before->misuse->code, before->misuse->text);
    }
    const MPI_Comm communicator = communicator_of(zoltan);
    if (communicator != MPI_COMM_NULL) {
      state->channel = mpi::Channel::open(communicator);
      std::optional<Diagnostic> mine;
      if (before && !before->is_ended)
        mine = invalid("storage is attached to this Zoltan_Struct already; detach() it first");
      mpi::agree(*state->channel, mine);
      if (before) state->has_own_entries = before->has_own_entries;
      state->is_in_front = stands_in_front();
      warn_where_not_in_front(*state);
    }
    change_handle_state(zoltan, [this](HandleState& own) { own.attached = state; });
  }
  Owner(const Owner&) = delete;
  Owner& operator=(const Owner&) = delete;
  ~Owner() {
    if (!state) return;
    state->is_ended = true;
    // What it refers to may be gone, too. Allocates nothing: this must not throw.
    if (auto* const blocks = std::get_if<BlockStorage>(&state->storage)) *blocks = state->nothing;
    if (auto* const blocks = std::get_if<RaggedStorage>(&state->storage)) *blocks = state->no_lists;
    state->sources = {};
    state->parts = nullptr;
    state->options.grow = nullptr;
    state->options.grow_ragged = nullptr;
  }
};

Attached::Attached(Zoltan_Struct* zoltan, std::uint64_t count, const BlockStorage& storage,
                   const AttachedOptions& options) {
  const valet::detail::MemoryReserve reserve;
  owner_ = std::make_unique<Owner>(zoltan, count, storage, options);
}
Attached::Attached(Zoltan_Struct* zoltan, std::uint64_t count, const RaggedStorage& storage,
                   const AttachedOptions& options) {
  const valet::detail::MemoryReserve reserve;
  owner_ = std::make_unique<Owner>(zoltan, count, storage, options);
}
Attached::Attached(Attached&&) noexcept = default;
Attached& Attached::operator=(Attached&&) noexcept = default;
Attached::~Attached() = default;

void Attached::detach() {
  const valet::detail::MemoryReserve reserve;
  zoltan::detach(*owner_->state);
}

std::uint64_t Attached::count() const { return owner_->state->count; }
void Attached::count(std::uint64_t objects) {
  AttachedState& state = *owner_->state;
  if (objects == state.count) return;
  state.count = objects;
  state.layout.reset();
  state.count_has_changed = true;
}
void Attached::layout(const ObjectLayout& layout) {
  owner_->state->layout = layout;
  owner_->state->count_has_changed = false;
}
void Attached::forget_layout() { owner_->state->layout.reset(); }
std::optional<ObjectLayout> Attached::layout() const { return owner_->state->layout; }
void Attached::storage(const BlockStorage& storage) { owner_->state->storage = storage; }
void Attached::storage(const RaggedStorage& storage) { owner_->state->storage = storage; }

Attached& Attached::coordinates(ColumnSource source) {
  owner_->state->sources.coordinates = std::move(source);
  return *this;
}
Attached& Attached::weights(ColumnSource source) {
  owner_->state->sources.weights = std::move(source);
  return *this;
}
Attached& Attached::ids(ColumnSource source) {
  owner_->state->sources.ids = std::move(source);
  return *this;
}
Attached& Attached::parts(PartSource source) {
  owner_->state->parts = std::move(source);
  return *this;
}

bool Attached::partition() {
  const valet::detail::MemoryReserve reserve;
  StockLists none;
  return partition_attached(*owner_->state, {}, none);
}

const RebalanceResult& Attached::result() const { return owner_->state->result; }

}  // namespace valet::zoltan
