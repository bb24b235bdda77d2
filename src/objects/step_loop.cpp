// SPDX-License-Identifier: BSD-3-Clause
#include "objects/step_loop.hpp"

#include "base/diagnose.hpp"
#include "engine/phased/parking_match.hpp"
#include "mpi/agreement.hpp"
#include "mpi/word_lists.hpp"
#include "schedule/parking.hpp"
#include "schedule/phased_rank.hpp"

#include <algorithm>
#include <optional>

namespace valet::objects {
namespace {

using schedule::Match;

/// How many of the objects of the sizes cost at most `limit` where they wait, and what they cost.
struct Parcel {
  std::uint64_t objects = 0;
  std::uint64_t cost = 0;
};

Parcel parcel_within(const ObjectSizes& sizes, std::uint64_t limit) {
  Parcel parcel{0, parcel_bytes};
  while (parcel.objects < sizes.size()) {
    const std::uint64_t cost = sizes[parcel.objects] + parked_object_bytes;
    if (parcel.cost + cost > limit) break;
    parcel.cost += cost;
    ++parcel.objects;
  }
  return parcel;
}

Vector<Peer> peers_of(Ledger& ledger, std::span<const Match> flows, std::uint32_t Match::*end) {
  Vector<Peer> peers(ledger);
  peers.reserve(flows.size());
  for (const Match& flow : flows) peers.push_back({static_cast<int>(flow.*end), 0});
  return peers;
}

/// What a rank has when a step begins, as costs.
struct ParkingStart {
  std::uint64_t expected = 0;  ///< everything that is still to arrive
  std::uint64_t free = 0;      ///< what it can take in this step
  std::uint64_t room = 0;      ///< its scratch, of which the application knows nothing
};

/// The second part of a step: what was credited has been taken off all sides.
///
/// Parking of packed objects (Pinar and Hendrickson section 5.1 and Figure 8): ranks that expect
/// more than they can take send some of their own objects, packed, to ranks with memory to spare,
/// where they wait for their destination. Each object waits once at most; whole objects only.
class StepParking {
 public:
  StepParking(Call& call, StepPlanner& planner, StepSender& sender, std::uint64_t object_bytes)
      : call_(call),
        planner_(planner),
        sender_(sender),
        object_bytes_(object_bytes),
        giving_(call.ledger),
        taking_(call.ledger),
        given_(call.ledger) {}

  /// Matches, moves and reports. Returns the objects that this rank parked. Collective over all
  /// ranks.
  std::uint64_t run(const ParkingStart& start) {
    const engine::ParkingWish wish{balance(start), planner_.objects_left() > 0};
    static_cast<void>(engine::match_parking(call_.channel, call_.ledger, wish, giving_, taking_));
    choose();
    report_to_destinations();
    move_objects();
    std::uint64_t objects = 0;
    for (const Given& given : given_) objects += given.objects;
    call_.parked += objects;
    return objects;
  }

 private:
  /// The next objects for a destination go to a taker.
  struct Given {
    std::size_t taker = 0;
    std::size_t pair = 0;
    std::uint64_t objects = 0;
  };
  /// Receives the parcels, whose sizes are known.
  class Arrivals : public Incoming {
   public:
    Arrivals(const Call& call, std::size_t givers, std::uint64_t chunk)
        : chunk_(chunk),
          object_bytes_(call.message_object_bytes),
          pieces_(call.ledger),
          current_(givers, 0, call.ledger) {}

    void expect(std::size_t giver, const ParkedObjects::Piece& piece) {
      pieces_.push_back({giver, piece});
    }
    bool next(std::size_t giver, MemoryPiece& memory) override {
      for (std::size_t& at = current_[giver]; at < pieces_.size(); ++at) {
        ParkedObjects::Piece& piece = pieces_[at].objects;
        while (pieces_[at].giver == giver && !piece.sizes.empty()) {
          const std::uint64_t end = batch_end(piece.sizes, 0, chunk_, object_bytes_);
          memory = {piece.data, sum_of(piece.sizes.first(end))};
          piece.data += memory.bytes;
          piece.sizes = piece.sizes.subspan(end);
          if (memory.bytes > 0) return true;
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
    Vector<std::size_t> current_;  ///< for each giver
  };

  /// Objects that are packed for this rank itself would have to come back.
  [[nodiscard]] bool stays_here(std::size_t pair) const {
    return sender_.destinations()[pair].rank == call_.channel.rank();
  }

  /// What a rank reports to the root. The application's memory is what it is short of; objects of
  /// others wait in scratch.
  [[nodiscard]] std::int64_t balance(const ParkingStart& start) const {
    const std::int64_t excess = schedule::parking_balance(start.expected, start.free,
                                                          sender_.cost_of_ranges(object_bytes_));
    if (excess > 0) return cost_of_parking(static_cast<std::uint64_t>(excess));
    return start.room > start.expected ? -static_cast<std::int64_t>(start.room - start.expected)
                                       : 0;
  }

  /// The room that other ranks need for whole objects which are `excess` at least, or all there
  /// are.
  [[nodiscard]] std::int64_t cost_of_parking(std::uint64_t excess) const {
    std::uint64_t cost = 0;
    std::uint64_t parted = 0;
    for (std::size_t pair = 0; pair < sender_.destinations().size() && parted < excess; ++pair) {
      if (stays_here(pair)) continue;
      const ObjectSizes sizes = sender_.next_sizes(pair);
      if (!sizes.empty()) cost += parcel_bytes;
      for (std::size_t k = 0; k < sizes.size() && parted < excess; ++k) {
        parted += sizes[k] + object_bytes_;
        cost += sizes[k] + parked_object_bytes;
      }
    }
    return static_cast<std::int64_t>(cost);
  }

  /// Divides own objects among the takers. What is for a taker itself does not wait there: it has
  /// room for all that it expects.
  void choose() {
    given_.clear();
    std::uint64_t wanted = 0;
    for (const Match& flow : giving_) wanted += flow.blocks;
    const std::span<const Peer> destinations = sender_.destinations();
    Vector<std::uint64_t> remaining(destinations.size(), 0, call_.ledger);
    for (std::size_t pair = 0; wanted > 0 && pair < destinations.size(); ++pair) {
      const auto rank = static_cast<std::uint32_t>(destinations[pair].rank);
      const auto takes = [&](const Match& flow) { return flow.to == rank; };
      if (stays_here(pair) || std::ranges::any_of(giving_, takes)) continue;
      const Parcel all = parcel_within(sender_.next_sizes(pair), wanted);
      if (all.objects > 0) remaining[pair] = all.cost;
    }
    Vector<std::uint64_t> taken(destinations.size(), 0, call_.ledger);
    schedule::choose_blocks(
        std::span<Match>(giving_), [](const Match& flow) { return flow.to; },
        [&](std::size_t pair) { return static_cast<std::uint32_t>(destinations[pair].rank); },
        std::span<std::uint64_t>(remaining),
        [&](const Match& flow, std::size_t pair, std::uint64_t cost) {
          const std::uint64_t objects =
              parcel_within(sender_.next_sizes(pair).subspan(taken[pair]), cost).objects;
          if (objects == 0) return;
          given_.push_back({static_cast<std::size_t>(&flow - giving_.data()), pair, objects});
          taken[pair] += objects;
        });
  }

  /// Every rank reports to its destinations where it has sent their objects.
  void report_to_destinations() {
    mpi::PairLists words(call_.channel, call_.ledger);
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
    words.for_each([&](int source, std::uint64_t holder, std::uint64_t objects) {
      planner_.moved(plan::flow_from(sources, source), objects, static_cast<int>(holder));
    });
  }

  /// Who waits here, then the packed objects.
  void move_objects() {
    Ledger& ledger = call_.ledger;
    Vector<Peer> takers = peers_of(ledger, giving_, &Match::to);
    Vector<Peer> givers = peers_of(ledger, taking_, &Match::from);
    for (const Given& given : given_) takers[given.taker].count += 1 + given.objects;
    mpi::WordLists counts(ledger), counts_in(ledger);
    for (const Peer& taker : takers) counts.add(taker.rank, taker.count);
    for (const Peer& giver : givers) counts_in.add(giver.rank, 0);
    exchange_lists(call_.channel, ledger, counts, counts_in);
    for (std::size_t i = 0; i < givers.size(); ++i) givers[i].count = counts_in[i][0];
    Arrivals arrivals(call_, givers.size(), sender_.chunk());
    exchange_sizes(takers, givers, arrivals);
    sender_.clear();
    for (const Given& given : given_) sender_.add(given.taker, given.pair, given.objects);
    Transport transport(call_.channel, ledger, call_.node, takers, givers);
    transport.run(sender_, arrivals);
    call_.messages += transport.messages();
  }

  /// For each taker its runs of objects, each as destination, number and sizes; makes room for
  /// those that are to wait here.
  void exchange_sizes(const Vector<Peer>& takers, const Vector<Peer>& givers, Arrivals& arrivals) {
    mpi::WordLists sent(call_.ledger), received(call_.ledger);
    sent.reserve(takers.size(), count_of(takers));
    for (const Peer& taker : takers) {
      sent.begin(taker.rank);
      add_objects_for(taker.rank, sent);
    }
    received.reserve(givers.size(), count_of(givers));
    for (const Peer& giver : givers) {
      received.begin(giver.rank);
      for (std::uint64_t k = 0; k < giver.count; ++k) received.add(0);
    }
    exchange_lists(call_.channel, call_.ledger, sent, received);
    ParkedObjects& parked = sender_.parked();
    parked.reserve(count_of(givers));
    for (std::size_t i = 0; i < givers.size(); ++i) {
      std::span<const std::uint64_t> words = received[i];
      while (!words.empty()) {
        const auto target = static_cast<int>(words[0] >> 32);
        const std::size_t objects = words[0] & 0xffffffffU;
        arrivals.expect(i, parked.add(target, words.subspan(1, objects)));
        sender_.connect(target);
        words = words.subspan(1 + objects);
      }
    }
  }

  void add_objects_for(int taker, mpi::WordLists& words) const {
    Vector<std::uint64_t> taken(sender_.destinations().size(), 0, call_.ledger);
    for (const Given& given : given_) {
      const std::uint64_t before = taken[given.pair];
      taken[given.pair] += given.objects;
      if (taker != static_cast<int>(giving_[given.taker].to)) continue;
      const auto target = static_cast<std::uint64_t>(sender_.destinations()[given.pair].rank);
      words.add(target << 32 | given.objects);
      const ObjectSizes sizes = sender_.next_sizes(given.pair).subspan(before, given.objects);
      for (std::size_t k = 0; k < sizes.size(); ++k) words.add(sizes[k]);
    }
  }

  Call& call_;
  StepPlanner& planner_;
  StepSender& sender_;
  std::uint64_t object_bytes_;
  Vector<schedule::Match> giving_, taking_;
  Vector<Given> given_;  ///< by destination, then taker
};

class StepLoop {
 public:
  StepLoop(Call& call, const StepParts& parts)
      : call_(call),
        parts_(parts),
        parking_(call, parts.planner, parts.sender, parts.object_bytes),
        words_(call.ledger) {}

  void run(std::uint64_t own, std::uint64_t all) {
    call_.steps = 0;
    for (bool more = true; more;) {
      const bool takes = all == 0 || takes_part(call_.steps, own, all);
      const Moved moved = move(takes);
      more = agree_on_step(moved, all);
      parts_.sender.diagnostic = parts_.owner.finish_step();
    }
    call_.messages += transport_->messages();
  }

 private:
  struct Moved {
    std::uint64_t objects = 0;
    std::uint64_t memory_answer = 0;
  };

  /// What the owner can take right now; asked in every step.
  std::uint64_t find_room() {
    std::optional<Diagnostic>& diagnostic = parts_.sender.diagnostic;
    if (diagnostic) return Owner::no_limit;
    std::uint64_t bytes = 0;
    diagnostic = parts_.owner.find_room(bytes);
    return diagnostic ? 0 : bytes;
  }

  /// Every source reports how many of its own objects it can send now.
  void receive_offers() {
    mpi::WordLists sent(call_.ledger), received(call_.ledger);
    const std::span<const Peer> destinations = parts_.sender.destinations();
    for (std::size_t pair = 0; pair < destinations.size(); ++pair)
      if (parts_.sender.left_of(pair) > 0)
        sent.add(destinations[pair].rank, parts_.sender.ready(pair));
    const std::span<const Peer> sources = parts_.planner.sources();
    for (std::size_t pair = 0; pair < sources.size(); ++pair)
      if (parts_.planner.left_of(pair) > 0) received.add(sources[pair].rank, 0);
    exchange_lists(call_.channel, call_.ledger, sent, received);
    for (std::size_t i = 0; i < received.size(); ++i)
      parts_.planner.offer(plan::flow_from(sources, received.rank(i)), received[i][0]);
  }

  /// Every rank sends its sources what it takes, when it is ready to receive it.
  void exchange_credits() {
    mpi::WordLists sent(call_.ledger), received(call_.ledger);
    const std::span<const Peer> from = parts_.planner.connections();
    for (std::size_t s = 0; s < from.size(); ++s)
      if (parts_.planner.left(s) + parts_.planner.credited(s) > 0)
        sent.add(from[s].rank, parts_.planner.credited(s));
    const std::span<const Peer> to = parts_.sender.connections();
    for (std::size_t d = 0; d < to.size(); ++d)
      if (parts_.sender.left(d) > 0) received.add(to[d].rank, 0);
    exchange_lists(call_.channel, call_.ledger, sent, received);
    words_.assign(to.size(), 0);
    for (std::size_t i = 0; i < received.size(); ++i)
      words_[plan::flow_from(to, received.rank(i))] = received[i][0];
    parts_.receiver.begin_step(parts_.planner, parts_.memory);
    parts_.sender.begin_step(words_);
  }

  Moved move(bool takes) {
    ParkedObjects& parked = parts_.sender.parked();
    parked.compact();
    parts_.sender.prepare();
    if (parts_.sources_offer) receive_offers();
    const std::uint64_t room = parts_.limit - std::min(parts_.limit, parked.cost());
    Moved moved{0, find_room()};
    const ParkingStart start{parts_.planner.cost_left(), std::min(room, moved.memory_answer), room};
    if (takes)
      moved.objects = parts_.planner.plan(parts_.division, room, moved.memory_answer).objects;
    else
      parts_.planner.skip();
    const std::size_t peers =
        parts_.planner.connections().size() + parts_.sender.connections().size();
    if (!transport_ || peers_ != peers) {  // parking has met further ranks
      if (transport_) call_.messages += transport_->messages();
      transport_.emplace(call_.channel, call_.ledger, call_.node, parts_.sender.connections(),
                         parts_.planner.connections());
      peers_ = peers;
    }
    exchange_credits();
    transport_->run(parts_.sender, parts_.receiver);
    if (parks()) moved.objects += parking_.run(start);
    return moved;
  }

  /// Errors of this step before anybody uses what arrived in it. True when there is a further one.
  bool agree_on_step(const Moved& moved, std::uint64_t all) {
    std::uint64_t left = parts_.planner.objects_left();
    bool has_moved = moved.objects > 0;
    mpi::Agreement agreement;
    agreement.largest(left);
    agreement.largest(has_moved);
    std::uint64_t stage = parts_.division.stage();
    agreement.least(stage);
    agreement.run(call_.channel, parts_.sender.diagnostic);
    parts_.division.set_stage(stage);
    const bool could_park = !call_.parks() || parks();
    const std::uint64_t step = ++call_.steps;
    if (all > 0) return step < all;
    if (left > 0 && !has_moved && could_park && !parts_.division.stalled()) {
      std::optional<Diagnostic> stuck;
      if (parts_.planner.objects_left() > 0)
        stuck =
            diagnose(ErrorCode::out_of_memory, "no rank can take another object; this one expects ",
                     parts_.planner.objects_left(), ", of which the smallest next has ",
                     parts_.planner.smallest_next(), " bytes, and its ", parts_.owner.asks(),
                     " answers ", moved.memory_answer);
      mpi::agree(call_.channel, stuck);
    }
    return left > 0;
  }

  [[nodiscard]] bool parks() const {
    return call_.parks() && schedule::parks_in(call_.steps + 1, call_.options.phased.parking);
  }

  Call& call_;
  StepParts parts_;
  StepParking parking_;
  Vector<std::uint64_t> words_;  ///< objects that each connection takes
  std::size_t peers_ = 0;        ///< in the transport
  std::optional<Transport> transport_;
};

}  // namespace

void run_steps(Call& call, const StepParts& parts, std::uint64_t own, std::uint64_t all) {
  StepLoop(call, parts).run(own, all);
}

}  // namespace valet::objects
