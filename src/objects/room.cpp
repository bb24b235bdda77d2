// SPDX-License-Identifier: BSD-3-Clause
#include "objects/room.hpp"

#include "base/memory_reserve.hpp"
#include "mpi/agreement.hpp"

#include <algorithm>
#include <bit>

namespace valet::objects {
namespace {

/// The wish for memory shared on the node: room for all arrivals, a little more than are there now,
/// or for slots.
storage::NodeWish node_wish(const Call& call, const Scratch& scratch, const RoomWish& wish) {
  storage::NodeWish node(call.channel, call.ledger, wish.destinations, wish.sources);
  const bool is_alone = node.destinations.empty() && node.sources.empty();
  if (!call.options.share_memory || is_alone) return node;
  const std::uint64_t segments = 1 + node.destinations.size();
  std::uint64_t room = scratch.budget - std::min(scratch.budget, wish.sent + wish.lists);
  std::uint64_t unit = 1;  // of which segments are multiples
  if (wish.arrivals + held_page_bytes <= room / segments) {
    node.wish = std::bit_ceil(wish.arrivals + held_page_bytes);
  } else {
    if (wish.arrivals_are_scratch) room -= std::min(room, wish.arrivals);
    unit = scratch.chunk;
    node.wish = Transport::slots * wish.sources.size() * scratch.chunk;
  }
  const std::uint64_t each = room / segments;
  if (each >= held_page_bytes) node.allowance = each / unit * unit;
  const bool pays = wish.moved > scratch.budget || call.frame.memory->has_met(node);
  if (!pays) node.allowance = 0;
  return node;
}

}  // namespace

Room make_room(Call& call, const Scratch& scratch, const RoomWish& wish, mpi::Agreement& agreement,
               std::optional<Diagnostic> mine) {
  storage::Loan& loan = *call.frame.memory;
  const storage::NodeWish node = node_wish(call, scratch, wish);
  const std::uint64_t beyond = wish.arrivals_are_scratch ? 0 : wish.arrivals;
  const std::uint64_t needed = pages_for(wish.sent) + pages_for(wish.arrivals);
  loan.limit(static_cast<std::size_t>(std::max(scratch.budget + beyond, needed)));
  Room room;
  const auto take = [&](std::span<std::byte> shared) {
    return detail::unless_out_of_memory(
        [&] {
          const bool holds_all = wish.arrivals > 0 && wish.arrivals <= shared.size();
          const std::uint64_t before = pages_for(wish.sent);
          loan.take_scratch(before + (holds_all ? 0 : pages_for(wish.arrivals)));
          std::byte* const own = loan.scratch().data();
          room.sent = own + first_byte_of(wish.sent);
          room.arrivals = own + before + first_byte_of(wish.arrivals);
          if (!holds_all) return;
          const bool has_more = shared.size() - wish.arrivals >= first_byte;
          room.arrivals = shared.data() + (has_more ? first_byte : 0);
        },
        "no memory for the objects that leave and arrive");
  };
  if (!mine) mine = take(loan.kept_for(node));
  loan.join(agreement, mine ? nullptr : &node);
  agreement.enough(call.budget_at_once);
  agreement.run(call.channel, mine);
  const bool anew = loan.shares_anew();
  if (anew) loan.return_scratch();
  loan.share(node);
  const std::span<std::byte> own = loan.node().own();
  if (anew) mpi::agree(call.channel, take(own));
  call.node.use(loan.node(), scratch.chunk, wish.arrivals <= own.size());
  const std::uint64_t counted = needed + wish.lists - beyond;
  room.raised = counted - std::min(counted, scratch.budget);
  return room;
}

}  // namespace valet::objects
