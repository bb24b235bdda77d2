// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/channel.hpp"

#include "base/environment.hpp"
#include "mpi/check.hpp"
#include "mpi/family.hpp"
#include "mpi/two_groups.hpp"
#include "mpi/wait_limit.hpp"
#include <valet/error.hpp>

#include <array>
#include <atomic>
#include <bit>
#include <mutex>
#include <numeric>
#include <tuple>
#include <utility>
#include <vector>

namespace valet::mpi {
namespace {

constexpr int pool_limit = 64;  // one bit each in the mask that the ranks agree on
constexpr int no_index = pool_limit;

/// For an attribute that duplicates of a communicator do not get.
int make_key(MPI_Comm_delete_attr_function* delete_attribute) {
  int created = MPI_KEYVAL_INVALID;
  check(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete_attribute, &created, nullptr),
        "MPI_Comm_create_keyval");
  return created;
}

/// The attribute of our duplicates: the user's communicator, as a std::atomic<MPI_Comm>*.
int user_key() {
  static const int key = make_key(MPI_COMM_NULL_DELETE_FN);
  return key;
}

/// What MPI calls when a call on a duplicate fails: it tells the handler that the application has
/// set for its own communicator, or for MPI_COMM_WORLD where it has freed that one. By default that
/// handler ends the job; where it returns, so does the failed call, and check() throws.
void tell_application(MPI_Comm* duplicate, int* code, ...) {
  void* attribute = nullptr;
  int found = 0;
  MPI_Comm user = MPI_COMM_NULL;
  if (MPI_Comm_get_attr(*duplicate, user_key(), static_cast<void*>(&attribute), &found) ==
          MPI_SUCCESS &&
      found != 0)
    user = *static_cast<const std::atomic<MPI_Comm>*>(attribute);
  MPI_Comm_call_errhandler(user == MPI_COMM_NULL ? MPI_COMM_WORLD : user, *code);
  fail_next_check(*code);
}

MPI_Errhandler telling_handler() {
  static const MPI_Errhandler handler = [] {
    MPI_Errhandler created = MPI_ERRHANDLER_NULL;
    check(MPI_Comm_create_errhandler(tell_application, &created), "MPI_Comm_create_errhandler");
    return created;
  }();
  return handler;
}

/// @param user  Whose handler is told of errors; lives as long as the duplicate.
MPI_Comm duplicate(MPI_Comm communicator, std::atomic<MPI_Comm>& user) {
  MPI_Comm copy = MPI_COMM_NULL;
  check(MPI_Comm_dup(communicator, &copy), "MPI_Comm_dup");
  check(MPI_Comm_set_attr(copy, user_key(), &user), "MPI_Comm_set_attr");
  check(MPI_Comm_set_errhandler(copy, telling_handler()), "MPI_Comm_set_errhandler");
  return copy;
}

/// The ranks that share memory with this one, ascending. Collective.
std::vector<int> ranks_on_node(MPI_Comm communicator) {
  int count = 0;
  MPI_Comm node = MPI_COMM_NULL;
  check(MPI_Comm_split_type(communicator, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node),
        "MPI_Comm_split_type");
  check(MPI_Comm_size(node, &count), "MPI_Comm_size");
  std::vector<int> on_node(static_cast<std::size_t>(count));
  std::iota(on_node.begin(), on_node.end(), 0);
  std::vector<int> ranks(on_node.size());
  MPI_Group inner = MPI_GROUP_NULL, outer = MPI_GROUP_NULL;
  check(MPI_Comm_group(node, &inner), "MPI_Comm_group");
  check(MPI_Comm_group(communicator, &outer), "MPI_Comm_group");
  check(MPI_Group_translate_ranks(inner, count, on_node.data(), outer, ranks.data()),
        "MPI_Group_translate_ranks");
  MPI_Group_free(&inner);
  MPI_Group_free(&outer);
  MPI_Comm_free(&node);
  return ranks;
}

}  // namespace

/// What hangs on the user's communicator. Shared by the attribute and by every open channel, so a
/// plan may outlive the communicator it was made with.
class CommunicatorCache {
 public:
  explicit CommunicatorCache(MPI_Comm user)
      : node_ranks(ranks_on_node(user)), user_(user), base_(duplicate(user, user_)) {}
  CommunicatorCache(const CommunicatorCache&) = delete;
  CommunicatorCache& operator=(const CommunicatorCache&) = delete;
  ~CommunicatorCache() {
    if (!mpi_is_usable()) return;  // MPI_Finalize has released them
    for (MPI_Comm& channel : pool_) MPI_Comm_free(&channel);
    MPI_Comm_free(&base_);
  }

  /// What a plan that is being made communicates over, the channels of the pool that no plan of
  /// this rank has, one bit each, and what a plan gets if all ranks have the same ones. Local.
  std::tuple<MPI_Comm, std::uint64_t, int> offer() {
    const std::lock_guard lock(mutex_);
    return {base_, free_, lowest_of(free_)};
  }

  /// The lowest of the channels that are free on every rank, or one that is new. Collective.
  std::pair<MPI_Comm, int> borrow(std::uint64_t free_on_all) {
    const std::lock_guard lock(mutex_);
    const int index = lowest_of(free_on_all);
    if (index == no_index) return {duplicate(base_, user_), no_index};
    if (free_on_all == 0) pool_.push_back(duplicate(base_, user_));
    free_ &= ~(std::uint64_t{1} << index);
    return {pool_[static_cast<std::size_t>(index)], index};
  }

  /// What no plan ever borrows: calls use it one after the other. With it goes what the first
  /// channel of the pool keeps, where no plan of this rank has that. Collective for the first time.
  std::pair<MPI_Comm, int> borrow_for_call() {
    const std::lock_guard lock(mutex_);
    if (pool_.empty()) {
      pool_.push_back(duplicate(base_, user_));
      free_ |= 1;
    }
    if ((free_ & 1) == 0) return {base_, no_index};
    free_ &= ~std::uint64_t{1};
    return {base_, 0};
  }

  void give_back(MPI_Comm channel, int index) {
    std::shared_ptr<void> no_longer_kept;  // freed without the lock
    const std::lock_guard lock(mutex_);
    // Only the first one's stays: a communicator keeps what one plan needs, however many it had.
    if (index > 0 && index != no_index) no_longer_kept.swap(kept[static_cast<std::size_t>(index)]);
    if (index != no_index)
      free_ |= std::uint64_t{1} << index;
    else if (channel != base_ && mpi_is_usable())
      MPI_Comm_free(&channel);
  }

  /// The user's communicator is being freed; plans may live on.
  void forget_user() noexcept { user_ = MPI_COMM_NULL; }

  std::shared_ptr<void> exchange_scratch(std::shared_ptr<void> scratch) {
    const std::lock_guard lock(mutex_);
    return std::exchange(scratch_, std::move(scratch));
  }

  const std::vector<int> node_ranks;
  std::atomic<double> wait_limit = 0;                  ///< seconds; 0 for none
  std::array<std::shared_ptr<void>, pool_limit> kept;  ///< with the channels of the pool

 private:
  [[nodiscard]] int lowest_of(std::uint64_t free) const {
    if (free != 0) return std::countr_zero(free);
    return pool_.size() < pool_limit ? static_cast<int>(pool_.size()) : no_index;
  }

  std::mutex mutex_;
  std::atomic<MPI_Comm> user_;
  MPI_Comm base_;
  std::vector<MPI_Comm> pool_;
  std::shared_ptr<void> scratch_;
  std::uint64_t free_ = 0;  // bit i: pool_[i] is not borrowed on this rank
};

/// A communicator until it is given back.
struct Channel::Lease {
  std::shared_ptr<CommunicatorCache> cache;
  MPI_Comm communicator = MPI_COMM_NULL;
  int index = 0;
  bool is_planning = false;  ///< nothing is borrowed yet
  std::uint64_t free_communicators = 0;
  mutable std::shared_ptr<void> kept;  ///< with a channel that is none of the pool

  explicit Lease(std::shared_ptr<CommunicatorCache> lender) : cache(std::move(lender)) {}
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;
  ~Lease() {
    if (!is_planning) cache->give_back(communicator, index);
  }
};

namespace {

using CacheHandle = std::shared_ptr<CommunicatorCache>;

int delete_cache(MPI_Comm, int, void* attribute, void*) {
  auto* const handle = static_cast<CacheHandle*>(attribute);
  (*handle)->forget_user();
  delete handle;
  return MPI_SUCCESS;
}

int cache_key() {
  static const int key = make_key(delete_cache);
  return key;
}

CacheHandle cache_of(MPI_Comm user) {
  void* attribute = nullptr;
  int found = 0;
  check(MPI_Comm_get_attr(user, cache_key(), static_cast<void*>(&attribute), &found),
        "MPI_Comm_get_attr");
  if (found != 0) return *static_cast<CacheHandle*>(attribute);
  int rank = 0;
  check(MPI_Comm_rank(user, &rank), "MPI_Comm_rank");
  detail::warn_of_unknown_variables(rank);
  auto handle = std::make_unique<CacheHandle>(std::make_shared<CommunicatorCache>(user));
  check(MPI_Comm_set_attr(user, cache_key(), handle.get()), "MPI_Comm_set_attr");
  return *handle.release();
}

/// @throws Error where there can be no channel.
CacheHandle checked_cache_of(MPI_Comm user) {
  require_own_mpi();
  require_mpi();
  if (user == MPI_COMM_NULL)
    throw Error(ErrorCode::invalid_communicator,
                "the communicator is MPI_COMM_NULL; only ranks that belong to it may call");
  if (is_intercommunicator(user))
    throw Error(ErrorCode::invalid_communicator,
                "an intercommunicator has two groups, and a map names ranks of one; merge it with "
                "MPI_Intercomm_merge first, or put and get over a junction");
  return cache_of(user);
}

}  // namespace

Channel Channel::open(MPI_Comm user) {
  Channel channel = open_for_planning(user);
  channel.borrow(false);
  return channel;
}

bool mpi_is_usable() {
  int initialized = 0;
  int finalized = 0;
  MPI_Initialized(&initialized);
  MPI_Finalized(&finalized);
  return initialized != 0 && finalized == 0;
}

void require_mpi() {
  if (mpi_is_usable()) return;
  throw Error(ErrorCode::not_initialized,
              "MPI is not initialised, or finalised already; call Valet between MPI_Init and "
              "MPI_Finalize");
}

Channel Channel::open_for_call(MPI_Comm user) {
  const auto lease = std::make_shared<Lease>(checked_cache_of(user));
  std::tie(lease->communicator, lease->index) = lease->cache->borrow_for_call();
  return Channel(lease);
}

Channel Channel::open_for_planning(MPI_Comm user) {
  const auto lease = std::make_shared<Lease>(checked_cache_of(user));
  lease->is_planning = true;
  std::tie(lease->communicator, lease->free_communicators, lease->index) = lease->cache->offer();
  return Channel(lease);
}

bool Channel::is_planning() const { return lease_->is_planning; }

std::uint64_t Channel::free_communicators() const { return lease_->free_communicators; }

void Channel::borrow(bool alike) {
  std::uint64_t free_on_all = lease_->free_communicators;
  if (!alike)
    call_blocking(*this, "MPI_Allreduce", MPI_Allreduce, MPI_Iallreduce,
                  {{}, std::as_writable_bytes(std::span(&free_on_all, 1)), {}},
                  [&](auto* call, const CallMemory& memory, auto... request) {
                    return call(MPI_IN_PLACE, memory.received.data(), 1, MPI_UINT64_T, MPI_BAND,
                                communicator_, request...);
                  });
  const auto own = std::make_shared<Lease>(lease_->cache);
  std::tie(own->communicator, own->index) = own->cache->borrow(free_on_all);
  communicator_ = own->communicator;
  lease_ = own;
}

Channel::Channel(std::shared_ptr<const Lease> lease)
    : lease_(std::move(lease)), communicator_(lease_->communicator) {
  check(MPI_Comm_rank(communicator_, &rank_), "MPI_Comm_rank");
  check(MPI_Comm_size(communicator_, &size_), "MPI_Comm_size");
}

std::span<const int> Channel::node_ranks() const { return lease_->cache->node_ranks; }

std::shared_ptr<void>& Channel::kept() const {
  return has_kept() ? lease_->cache->kept[static_cast<std::size_t>(lease_->index)] : lease_->kept;
}

bool Channel::has_kept() const { return lease_->index != no_index; }

std::shared_ptr<void> Channel::take_scratch() const {
  return lease_->cache->exchange_scratch(nullptr);
}

double Channel::wait_limit() const {
  return lease_->cache->wait_limit.load(std::memory_order_relaxed);
}

void limit_waiting(MPI_Comm user, double seconds) { checked_cache_of(user)->wait_limit = seconds; }

void Channel::keep_scratch(std::shared_ptr<void> scratch) const {
  lease_->cache->exchange_scratch(std::move(scratch));
}

}  // namespace valet::mpi
