// SPDX-License-Identifier: BSD-3-Clause
#include "step_parking.hpp"

#include "engine/phased/parking_match.hpp"
#include "mpi/word_lists.hpp"

#include <algorithm>

namespace valet::zoltan {
namespace {

using schedule::Flow;

/// How many of the objects of the sizes cost at most `limit` where they wait, and what they cost.
struct Parcel {
  std::uint64_t objects = 0;
  std::uint64_t cost = 0;
};
Parcel parcel_within(std::span<const int> sizes, std::uint64_t limit) {
  Parcel parcel{0, parcel_bytes};
  while (parcel.objects < sizes.size()) {
    const std::uint64_t cost =
        static_cast<std::uint64_t>(sizes[parcel.objects]) + parked_object_bytes;
    if (parcel.cost + cost > limit) break;
    parcel.cost += cost;
    ++parcel.objects;
  }
  return parcel;
}

Vector<Peer> peers_of(Ledger& ledger, std::span<const Flow> flows, std::uint32_t Flow::*end) {
  Vector<Peer> peers{LedgerAllocator<Peer>(ledger)};
  peers.reserve(flows.size());
  for (const Flow& flow : flows) peers.push_back({static_cast<int>(flow.*end), 0});
  return peers;
}

}  // namespace

/// Objects that are packed for this rank itself would have to come back.
bool StepParking::stays_here(std::size_t pair) const {
  return sender_.destinations()[pair].rank == context_.channel.rank();
}

/// What a rank tells the root. The application's memory is what it is short of; objects of others
/// wait in scratch.
std::int64_t StepParking::balance(const ParkingStart& start) const {
  const std::int64_t excess =
      schedule::parking_balance(start.expected, start.free, sender_.cost_of_ranges(object_bytes_));
  if (excess > 0) return cost_of_parking(static_cast<std::uint64_t>(excess));
  return start.room > start.expected ? -static_cast<std::int64_t>(start.room - start.expected) : 0;
}

/// The room that other ranks need for whole objects which are `excess` at least, or all there are.
std::int64_t StepParking::cost_of_parking(std::uint64_t excess) const {
  std::uint64_t cost = 0;
  std::uint64_t parted = 0;
  for (std::size_t pair = 0; pair < sender_.destinations().size() && parted < excess; ++pair) {
    if (stays_here(pair)) continue;
    const std::span<const int> sizes = sender_.next_sizes(pair);
    if (!sizes.empty()) cost += parcel_bytes;
    for (std::size_t k = 0; k < sizes.size() && parted < excess; ++k) {
      parted += static_cast<std::uint64_t>(sizes[k]) + object_bytes_;
      cost += static_cast<std::uint64_t>(sizes[k]) + parked_object_bytes;
    }
  }
  return static_cast<std::int64_t>(cost);
}

/// Divides own objects among the takers. What is for a taker itself does not wait there: it has
/// room for all that it expects.
void StepParking::choose() {
  given_.clear();
  std::uint64_t wanted = 0;
  for (const Flow& flow : giving_) wanted += flow.blocks;
  const std::span<const Peer> destinations = sender_.destinations();
  Vector<std::uint64_t> remaining(destinations.size(), 0,
                                  LedgerAllocator<std::uint64_t>(context_.ledger));
  for (std::size_t pair = 0; wanted > 0 && pair < destinations.size(); ++pair) {
    const auto rank = static_cast<std::uint32_t>(destinations[pair].rank);
    const auto takes = [&](const Flow& flow) { return flow.to == rank; };
    if (stays_here(pair) || std::any_of(giving_.begin(), giving_.end(), takes)) continue;
    const Parcel all = parcel_within(sender_.next_sizes(pair), wanted);
    if (all.objects > 0) remaining[pair] = all.cost;
  }
  Vector<std::uint64_t> taken(destinations.size(), 0,
                              LedgerAllocator<std::uint64_t>(context_.ledger));
  schedule::choose_blocks(
      std::span<Flow>(giving_), [](const Flow& flow) { return flow.to; },
      [&](std::size_t pair) { return static_cast<std::uint32_t>(destinations[pair].rank); },
      std::span<std::uint64_t>(remaining),
      [&](const Flow& flow, std::size_t pair, std::uint64_t cost) {
        const std::uint64_t objects =
            parcel_within(sender_.next_sizes(pair).subspan(taken[pair]), cost).objects;
        if (objects == 0) return;
        given_.push_back({static_cast<std::size_t>(&flow - giving_.data()), pair, objects});
        taken[pair] += objects;
      });
}

/// Every rank tells its destinations where it has sent their objects.
void StepParking::tell_destinations() {
  PairLists words(context_.channel, context_.ledger);
  auto next = given_.begin();
  for (std::size_t pair = 0; pair < sender_.destinations().size(); ++pair) {
    if (sender_.left_of(pair) == 0) continue;
    words.begin(sender_.destinations()[pair].rank);
    for (; next != given_.end() && next->pair == pair; ++next)
      words.add(giving_[next->taker].to, next->objects);
  }
  const std::span<const Peer> sources = planner_.sources();
  for (std::size_t pair = 0; pair < sources.size(); ++pair)
    if (planner_.left_of(pair) > 0) words.expect(sources[pair].rank);
  words.run();
  words.for_each([&](int source, std::uint64_t place, std::uint64_t objects) {
    const auto at = std::lower_bound(sources.begin(), sources.end(), source,
                                     [](const Peer& peer, int r) { return peer.rank < r; });
    planner_.moved(static_cast<std::size_t>(at - sources.begin()), objects,
                   static_cast<int>(place));
  });
}

/// For each taker, the destination and the size of every object, straight from the lists.
struct StepParking::WordSender {
  const StepParking* parking;
  const Vector<Peer>* takers;
  [[nodiscard]] std::size_t size() const { return takers->size(); }
  [[nodiscard]] int rank(std::size_t i) const { return (*takers)[i].rank; }
  [[nodiscard]] std::uint64_t count(std::size_t i) const { return (*takers)[i].count; }
  void provide(std::size_t i, std::uint64_t first, std::span<std::uint64_t> words) const {
    std::size_t written = 0;
    Vector<std::uint64_t> taken(parking->sender_.destinations().size(), 0,
                                LedgerAllocator<std::uint64_t>(parking->context_.ledger));
    for (const Given& given : parking->given_) {
      const std::uint64_t before = taken[given.pair];
      taken[given.pair] += given.objects;
      if (rank(i) != static_cast<int>(parking->giving_[given.taker].to)) continue;
      const auto target =
          static_cast<std::uint64_t>(parking->sender_.destinations()[given.pair].rank);
      const auto sizes = parking->sender_.next_sizes(given.pair).subspan(before, given.objects);
      for (std::uint64_t k = std::min(first, given.objects);
           k < given.objects && written < words.size(); ++k)
        words[written++] = target << 32 | static_cast<std::uint64_t>(sizes[k]);
      first -= std::min(first, given.objects);
    }
  }
};

struct StepParking::WordReceiver {
  const Vector<Peer>* givers;
  const Vector<std::uint64_t>* begins;
  std::uint64_t* all;
  [[nodiscard]] std::size_t size() const { return givers->size(); }
  [[nodiscard]] int rank(std::size_t i) const { return (*givers)[i].rank; }
  [[nodiscard]] std::uint64_t count(std::size_t i) const { return (*givers)[i].count; }
  void consume(std::size_t i, std::uint64_t first, std::span<const std::uint64_t> words) const {
    std::copy(words.begin(), words.end(), all + (*begins)[i] + first);
  }
};

/// Receives the parcels, whose sizes are known.
class StepParking::Arrivals : public Incoming {
 public:
  Arrivals(Context& context, std::size_t givers, std::uint64_t chunk)
      : chunk_(chunk),
        object_bytes_(message_object_bytes(context.callbacks.entries())),
        pieces_(LedgerAllocator<Piece>(context.ledger)),
        current_(givers, 0, LedgerAllocator<std::size_t>(context.ledger)) {}

  void expect(std::size_t giver, const ParkedObjects::Piece& piece) {
    pieces_.push_back({giver, piece});
  }
  bool next(std::size_t giver, MemoryPiece& place) override {
    for (std::size_t& at = current_[giver]; at < pieces_.size(); ++at) {
      ParkedObjects::Piece& piece = pieces_[at].objects;
      while (pieces_[at].giver == giver && !piece.sizes.empty()) {
        const std::uint64_t end = batch_end(piece.sizes, 0, chunk_, object_bytes_);
        place = {piece.data, sum_of(piece.sizes.first(end))};
        piece.data += place.bytes;
        piece.sizes = piece.sizes.subspan(end);
        if (place.bytes > 0) return true;
      }
    }
    return false;
  }

 private:
  struct Piece {
    std::size_t giver;
    ParkedObjects::Piece objects;
  };
  std::uint64_t chunk_;
  std::uint64_t object_bytes_;
  Vector<Piece> pieces_;
  Vector<std::size_t> current_;  ///< of each giver
};

/// Who waits here, then the packed objects.
void StepParking::move_objects() {
  Ledger& ledger = context_.ledger;
  Vector<Peer> takers = peers_of(ledger, giving_, &Flow::to);
  Vector<Peer> givers = peers_of(ledger, taking_, &Flow::from);
  for (const Given& given : given_) takers[given.taker].count += given.objects;
  {
    WordLists told(ledger), heard(ledger);
    for (const Peer& taker : takers) {
      told.begin(taker.rank);
      told.add(taker.count);
    }
    for (const Peer& giver : givers) {
      heard.begin(giver.rank);
      heard.add(0);
    }
    exchange_lists(context_.channel, ledger, told, heard);
    for (std::size_t i = 0; i < givers.size(); ++i) givers[i].count = heard[i][0];
  }
  const auto nothing = [](const Peer& peer) { return peer.count == 0; };
  Vector<std::size_t> connection_of(takers.size(), 0, LedgerAllocator<std::size_t>(ledger));
  for (std::size_t i = 1; i < takers.size(); ++i)
    connection_of[i] = connection_of[i - 1] + (takers[i - 1].count > 0 ? 1 : 0);
  std::erase_if(takers, nothing);
  std::erase_if(givers, nothing);
  Arrivals arrivals(context_, givers.size(), sender_.chunk());
  hear_of(takers, givers, arrivals);
  sender_.clear();
  for (const Given& given : given_)
    sender_.add(connection_of[given.taker], given.pair, given.objects);
  Transport transport(context_.channel, ledger, context_.node, takers, givers);
  transport.run(sender_, arrivals);
  context_.report.messages += transport.messages();
}

/// Destinations and sizes of what is to wait here; makes room for it.
void StepParking::hear_of(const Vector<Peer>& takers, const Vector<Peer>& givers,
                          Arrivals& arrivals) {
  Ledger& ledger = context_.ledger;
  Vector<std::uint64_t> begins{LedgerAllocator<std::uint64_t>(ledger)};
  std::uint64_t objects = 0;
  for (const Peer& giver : givers) {
    begins.push_back(objects);
    objects += giver.count;
  }
  if (takers.empty() && givers.empty()) return;
  Array<std::uint64_t> all(ledger, objects);
  constexpr std::size_t entries = 64;
  mpi::NeighbourWords<WordSender, WordReceiver> words(
      context_.channel, ledger, mpi::tag_phase_words, entries, WordSender{this, &takers},
      WordReceiver{&givers, &begins, all.data()});
  words.run();
  ParkedObjects& parked = sender_.parked();
  parked.reserve(objects);
  for (std::size_t i = 0; i < givers.size(); ++i) {
    const std::span<std::uint64_t> of_giver(all.data() + begins[i], givers[i].count);
    for (std::size_t first = 0, end = 0; first < of_giver.size(); first = end) {
      const auto target = static_cast<int>(of_giver[first] >> 32);
      for (; end < of_giver.size() && static_cast<int>(of_giver[end] >> 32) == target; ++end)
        of_giver[end] &= 0xffffffffU;
      arrivals.expect(i, parked.add(target, of_giver.subspan(first, end - first)));
      sender_.connect(target);
    }
  }
}

std::uint64_t StepParking::run(const ParkingStart& start) {
  // Parcels are kept in memory that is counted for each object, so their number needs no limit.
  constexpr std::uint64_t any_number = std::uint64_t{1} << 62;
  const std::int64_t own = balance(start);
  const engine::ParkingWish wish{own, own > 0 ? 0 : any_number, planner_.objects_left() > 0};
  static_cast<void>(
      engine::match_parking(context_.channel, context_.ledger, wish, giving_, taking_));
  choose();
  tell_destinations();
  move_objects();
  std::uint64_t objects = 0;
  for (const Given& given : given_) objects += given.objects;
  context_.report.objects_parked += objects;
  return objects;
}

}  // namespace valet::zoltan
