// SPDX-License-Identifier: BSD-3-Clause
#include <valet/exchange/stream_receiver.hpp>
#include <valet/mpi/message.hpp>
#include <valet/mpi/tags.hpp>

#include <algorithm>

namespace valet {
namespace {

/// A run of final slots this long is worth a message of its own; a shorter one is staged.
constexpr std::size_t worthwhile_bytes = std::size_t{64} << 10;

}  // namespace

template <class Index>
StreamReceiver<Index>::StreamReceiver(const ExchangeContext& context, const Flows<Index>& flows,
                                      const schedule::StreamSizes& sizes, mpi::Requests& requests,
                                      std::size_t first_place)
    : context_(context),
      flows_(flows),
      sizes_(sizes),
      requests_(requests),
      first_place_(first_place),
      block_bytes_(context.blocks.block_bytes),
      first_flow_(flow_from(flows.incoming, context.channel.rank() + 1)),
      sources_(flows.incoming.size(), Source{}, LedgerAllocator<Source>(context.ledger)),
      landings_(static_cast<std::size_t>(context.options.window), Landing{},
                LedgerAllocator<Landing>(context.ledger)),
      grants_(landings_.size(), 0, LedgerAllocator<std::uint64_t>(context.ledger)),
      idle_buffers_(LedgerAllocator<std::uint32_t>(context.ledger)),
      idle_node_buffers_(LedgerAllocator<std::uint32_t>(context.ledger)),
      to_grant_(context.ledger, flows.incoming.size()) {
  idle_buffers_.reserve(sizes.receive_buffers);
  idle_node_buffers_.reserve(sizes.node_buffers);
}

template <class Index>
std::size_t StreamReceiver<Index>::places_needed(const Options& options) {
  return 2 * static_cast<std::size_t>(options.window);
}

template <class Index>
const Incoming<Index>& StreamReceiver<Index>::flow(std::uint32_t source) const {
  return flows_.incoming[(first_flow_ + source) % flows_.incoming.size()];
}

template <class Index>
std::byte* StreamReceiver<Index>::memory_of(const Landing& landing) const {
  return landing.place == Place::node_buffer
             ? context_.node.own().data() + landing.buffer * sizes_.node_buffer_bytes
             : buffers_ + landing.buffer * sizes_.receive_blocks * block_bytes_;
}

template <class Index>
void StreamReceiver<Index>::start(std::byte* buffers) {
  buffers_ = buffers;
  blocks_left_ = flows_.blocks_arriving;
  idle_buffers_.clear();
  to_grant_.clear();
  for (std::size_t b = sizes_.receive_buffers; b-- > 0;)
    idle_buffers_.push_back(static_cast<std::uint32_t>(b));
  idle_node_buffers_.clear();
  for (std::size_t b = sizes_.node_buffers; b-- > 0;)
    idle_node_buffers_.push_back(static_cast<std::uint32_t>(b));
  for (std::uint32_t s = 0; s < sources_.size(); ++s) {
    sources_[s] = Source{0, flow(s).cursor, 0, context_.node.is_written_by(flow(s).rank)};
    to_grant_.push(s, 0, flow(s).count);
  }
}

/// A landing that is not in use and whose last grant has left; landings_.size() if there is none.
template <class Index>
std::size_t StreamReceiver<Index>::idle_landing() const {
  for (std::size_t k = 0; k < landings_.size(); ++k)
    if (landings_[k].place == Place::none && requests_.idle(first_place_ + landings_.size() + k))
      return k;
  return landings_.size();
}

template <class Index>
typename StreamReceiver<Index>::Landing StreamReceiver<Index>::choose_node_buffer(
    std::uint32_t s) const {
  Landing landing;
  if (idle_node_buffers_.empty()) return landing;
  landing.place = Place::node_buffer;
  landing.source = s;
  landing.cursor = sources_[s].cursor;
  landing.buffer = idle_node_buffers_.back();
  landing.size = static_cast<Index>(
      std::min<std::uint64_t>(flow(s).count - sources_[s].granted, sizes_.node_blocks));
  return landing;
}

template <class Index>
typename StreamReceiver<Index>::Landing StreamReceiver<Index>::choose_landing(
    const Transfer<Index>& transfer, std::uint32_t s) const {
  const Source& source = sources_[s];
  if (source.on_node) return choose_node_buffer(s);
  const Incoming<Index>& incoming = flow(s);
  const std::uint64_t most =
      std::min<std::uint64_t>(incoming.count - source.granted,
                              incoming.message_blocks - source.granted % incoming.message_blocks);
  Landing landing;
  landing.source = s;
  landing.cursor = source.cursor;
  const auto land = [&](Place place, SlotRun run) {
    landing.place = place;
    landing.run = run;
    landing.size = static_cast<Index>(run.count);
    return landing;
  };
  const bool dense = transfer.mover().dense() != nullptr;
  const SlotSet& free = transfer.free();
  SlotRun final_run;
  if (dense) {
    final_run = flows_.final_run(source.cursor, most);
    final_run.count =
        free.contains(final_run.first) ? free.next_run(final_run.first, final_run.count).count : 0;
    if (final_run.count == most || final_run.count * block_bytes_ >= worthwhile_bytes)
      return land(Place::final_run, final_run);
  }
  const std::uint64_t buffered =
      idle_buffers_.empty() ? 0 : std::min<std::uint64_t>(most, sizes_.receive_blocks);
  if (dense && final_run.count > 0 && final_run.count >= buffered)
    return land(Place::final_run, final_run);
  if (dense && free.count() > 0 && 4 * buffered <= most) {
    // The buffers are tiny or busy: a run of other slots saves messages and costs local copies.
    const std::uint64_t highest = free.previous(free.slots());
    const SlotRun other = free.next_run(highest - std::min(highest, most - 1), most);
    if (other.count > buffered) return land(Place::other_run, other);
  }
  if (buffered == 0) return landing;
  landing.buffer = idle_buffers_.back();
  return land(Place::buffer, SlotRun{0, buffered});
}

template <class Index>
bool StreamReceiver<Index>::grant(Transfer<Index>& transfer, Report& report) {
  if (to_grant_.empty()) return false;
  const std::size_t index = idle_landing();
  if (index == landings_.size()) return false;
  const std::uint32_t s = to_grant_.top();
  const Landing landing = choose_landing(transfer, s);
  if (landing.place == Place::none) return false;
  to_grant_.pop();
  landings_[index] = landing;
  post(transfer, index);
  ++report.grants;
  Source& source = sources_[s];
  source.granted = static_cast<Index>(source.granted + landing.size);
  source.cursor = flows_.advance(source.cursor, landing.size);
  ++source.in_flight;
  if (source.granted < flow(s).count && source.in_flight < schedule::most_grants_of_a_pair)
    to_grant_.push(s, source.granted, flow(s).count);
  return true;
}

/// Posts the receive, then sends the grant: no data can arrive unexpected.
template <class Index>
void StreamReceiver<Index>::post(Transfer<Index>& transfer, std::size_t index) {
  const Landing& landing = landings_[index];
  std::byte* memory = nullptr;
  std::uint64_t bytes = landing.size * block_bytes_;
  std::uint64_t offset = 0;
  switch (landing.place) {
    case Place::buffer:
      idle_buffers_.pop_back();
      memory = memory_of(landing);
      break;
    case Place::node_buffer:
      idle_node_buffers_.pop_back();
      offset = landing.buffer * sizes_.node_buffer_bytes;
      bytes = 0;  // the message only says that they are there
      break;
    default:
      transfer.reserve(landing.run);
      memory = transfer.mover().dense() + landing.run.first * block_bytes_;
  }
  const int rank = flow(landing.source).rank;
  mpi::post_receive(context_.channel, memory, bytes, rank, mpi::tag_data,
                    requests_[first_place_ + index]);
  grants_[index] = Grant{landing.size, offset}.word();
  mpi::post_send(context_.channel, &grants_[index], sizeof grants_[index], rank, mpi::tag_grant,
                 requests_[first_place_ + landings_.size() + index]);
  context_.observer().grants(&requests_[first_place_ + index], rank, landing.size * block_bytes_);
}

template <class Index>
void StreamReceiver<Index>::completed(Transfer<Index>& transfer, std::size_t place) {
  const std::size_t index = place - first_place_;
  if (index >= landings_.size()) return;  // a grant has left
  Landing& landing = landings_[index];
  context_.observer().moved(landing.size);
  Source& source = sources_[landing.source];
  if (source.in_flight == schedule::most_grants_of_a_pair &&
      source.granted < flow(landing.source).count)
    to_grant_.push(landing.source, source.granted, flow(landing.source).count);
  --source.in_flight;
  if (landing.place == Place::buffer || landing.place == Place::node_buffer) {
    landing.arrived = true;
    if (!place_arrivals(transfer, landing, Transfer<Index>::Misplace::never)) ++held_;
    return;
  }
  if (landing.place == Place::other_run) transfer.landed(landing.cursor, landing.run);
  blocks_left_ -= landing.size;
  landing.place = Place::none;
}

template <class Index>
std::uint64_t StreamReceiver<Index>::bytes_in_use() const {
  std::uint64_t blocks = 0;
  for (const Landing& landing : landings_)
    if (landing.place == Place::buffer || landing.place == Place::node_buffer)
      blocks += landing.size;
  return blocks * block_bytes_;
}

/// Moves blocks of a buffer to slots; true when none is left.
template <class Index>
bool StreamReceiver<Index>::place_arrivals(Transfer<Index>& transfer, Landing& landing,
                                           typename Transfer<Index>::Misplace misplace) {
  const std::uint64_t placed = transfer.place(memory_of(landing) + landing.offset * block_bytes_,
                                              landing.cursor, landing.size, misplace);
  blocks_left_ -= placed;
  landing.cursor = flows_.advance(landing.cursor, placed);
  landing.offset = static_cast<Index>(landing.offset + placed);
  landing.size = static_cast<Index>(landing.size - placed);
  if (landing.size > 0) return false;
  (landing.place == Place::buffer ? idle_buffers_ : idle_node_buffers_).push_back(landing.buffer);
  landing = Landing{};
  return true;
}

template <class Index>
bool StreamReceiver<Index>::must_misplace(const Landing& landing) const {
  if (!landing.arrived) return false;
  if (held_ == landings_.size()) return true;
  return landing.place == Place::buffer ? idle_buffers_.empty() : idle_node_buffers_.empty();
}

template <class Index>
bool StreamReceiver<Index>::is_full(const Transfer<Index>& transfer) const {
  return held_ > 0 && transfer.free().count() > 0 &&
         std::any_of(landings_.begin(), landings_.end(),
                     [&](const Landing& landing) { return must_misplace(landing); });
}

template <class Index>
bool StreamReceiver<Index>::place_held(Transfer<Index>& transfer, bool sending) {
  using Misplace = typename Transfer<Index>::Misplace;
  bool any = false;
  for (const Misplace misplace : {Misplace::never, Misplace::if_needed}) {
    if (misplace == Misplace::if_needed && sending) break;
    for (Landing& landing : landings_) {
      if (held_ == 0 || transfer.free().count() == 0) return any;
      if (!landing.arrived || !place_arrivals(transfer, landing, misplace)) continue;
      --held_;
      any = true;
    }
  }
  return any;
}

template <class Index>
void StreamReceiver<Index>::misplace_held(Transfer<Index>& transfer) {
  for (Landing& landing : landings_)
    if (transfer.free().count() > 0 && must_misplace(landing) &&
        place_arrivals(transfer, landing, Transfer<Index>::Misplace::if_needed))
      --held_;
}

template class StreamReceiver<std::uint32_t>;
template class StreamReceiver<std::uint64_t>;

}  // namespace valet
