// SPDX-License-Identifier: BSD-3-Clause
#include <valet/mpi/agreement.hpp>
#include <valet/mpi/channel.hpp>
#include <valet/valet.h>
#include <valet/valet.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

struct Valet_Storage {
  std::vector<valet::Field> fields;
};

struct Valet_Plan {
  valet::Plan plan;
};

namespace {

static_assert(sizeof(Valet_Address) == sizeof(valet::Address) &&
              offsetof(Valet_Address, slot) == offsetof(valet::Address, slot));
static_assert(VALET_ALLTOALL_PAIRWISE == static_cast<int>(valet::AlltoallMethod::pairwise));
static_assert(VALET_PHASED == static_cast<int>(valet::Method::phased));
static_assert(VALET_CONTINUOUS == static_cast<int>(valet::Heuristic::continuous));
static_assert(VALET_CENTRALIZED == static_cast<int>(valet::Scheduler::centralized));
static_assert(VALET_CYCLIC == static_cast<int>(valet::Method::cyclic));
static_assert(VALET_AUTO == static_cast<int>(valet::Method::automatic));
static_assert(VALET_ROTATED == static_cast<int>(valet::EdgeOrder::rotated));
static_assert(VALET_LOG_WARNING == static_cast<int>(valet::LogLevel::warning));
static_assert(VALET_INTERNAL == static_cast<int>(valet::ErrorCode::internal));

thread_local std::string last_message;

/// Runs `action`; turns what it throws into a code and keeps the text.
template <class Action>
int guarded(Action&& action) noexcept {
  try {
    action();
    return VALET_SUCCESS;
  } catch (const valet::Error& error) {
    last_message = error.what();
    return static_cast<int>(error.code());
  } catch (const std::bad_alloc&) {
    last_message = "valet: no memory [out_of_memory]";
    return VALET_OUT_OF_MEMORY;
  } catch (const std::exception& error) {
    last_message = error.what();
    return VALET_INTERNAL;
  }
}

std::function<void(const valet::Progress&)> to_progress(const Valet_Options& options) {
  if (options.progress == nullptr) return {};
  return [function = options.progress, data = options.progress_data](const valet::Progress& now) {
    const Valet_Progress progress{now.blocks_done, now.blocks_total, now.bytes_done,
                                  now.bytes_total, now.elapsed_seconds};
    function(&progress, data);
  };
}

valet::Options to_options(const Valet_Options* options) {
  if (options == nullptr) return {};
  if (options->method < VALET_STREAM || options->method > VALET_AUTO ||
      options->order < VALET_FILL || options->order > VALET_STABLE ||
      options->edge_order < VALET_ASCENDING || options->edge_order > VALET_ROTATED)
    throw valet::Error(valet::ErrorCode::invalid_argument,
                       "unknown method or order in Valet_Options; start from "
                       "Valet_Options_default()");
  if (options->heuristic < VALET_FIRST_FIT || options->heuristic > VALET_CONTINUOUS ||
      options->scheduler < VALET_DISTRIBUTED || options->scheduler > VALET_CENTRALIZED)
    throw valet::Error(valet::ErrorCode::invalid_argument,
                       "unknown heuristic or scheduler in Valet_Options; start from "
                       "Valet_Options_default()");
  return {.budget_bytes = options->budget_bytes,
          .method = static_cast<valet::Method>(options->method),
          .order = static_cast<valet::Order>(options->order),
          .verify = options->verify != 0,
          .message_bytes = options->message_bytes,
          .share_memory = options->share_memory != 0,
          .window = options->window,
          .heuristic = static_cast<valet::Heuristic>(options->heuristic),
          .scheduler = static_cast<valet::Scheduler>(options->scheduler),
          .parking = options->parking,
          .seed = options->seed,
          .available_bytes = {},
          .edge_order = static_cast<valet::EdgeOrder>(options->edge_order),
          .model = {},
          .trace = options->trace == nullptr ? "" : options->trace,
          .progress = to_progress(*options),
          .progress_bar = options->progress_bar != 0};
}

void tell(const valet::Report& done, Valet_Report* report) {
  if (report == nullptr) return;
  *report = {done.blocks_before,
             done.blocks_after,
             done.blocks_sent,
             done.blocks_received,
             done.bytes_sent,
             done.messages,
             done.swaps,
             done.local_copies,
             done.peak_extra_bytes,
             done.extra_bytes_bound,
             done.plan_seconds,
             done.exchange_seconds,
             done.local_seconds,
             done.phases,
             done.waiting_seconds};
}

/// Checked by the all-to-all, on all ranks alike: an unknown one is no method of another rank.
valet::AlltoallMethod to_alltoall_method(const Valet_Options* options) {
  return static_cast<valet::AlltoallMethod>(options == nullptr ? VALET_ALLTOALL_AUTOMATIC
                                                               : options->alltoall_method);
}

valet::IndexOrder to_order(int order) {
  if (order != VALET_ROW_MAJOR && order != VALET_COLUMN_MAJOR)
    throw valet::Error(
        valet::ErrorCode::invalid_argument,
        "unknown order " + std::to_string(order) + "; give VALET_ROW_MAJOR or VALET_COLUMN_MAJOR");
  return order == VALET_ROW_MAJOR ? valet::IndexOrder::row_major : valet::IndexOrder::column_major;
}

/// The caller's values for each dimension; none where he gives none.
template <class Value>
valet::layout::PerDimension<Value> to_values(const Value* values, int dimensions) {
  if (values == nullptr) return {};
  return valet::layout::PerDimension<Value>(
      std::span(values, dimensions < 0 ? 0 : static_cast<std::size_t>(dimensions)));
}

valet::GridLayout to_grid(const Valet_Layout& layout) {
  const valet::BlockCyclic dealt(
      to_values(layout.extents, layout.dimensions),
      to_values(layout.block_sizes, layout.dimensions), to_values(layout.grid, layout.dimensions),
      to_order(layout.rank_order), to_values(layout.first_ranks, layout.dimensions));
  valet::GridLayout grid{dealt};
  if (layout.ranks != nullptr) grid.ranks.assign(layout.ranks, layout.ranks + dealt.ranks());
  return grid;
}

template <class Pointer>
valet::LocalArray<Pointer> to_array(const Valet_Array* array, int dimensions) {
  if (array == nullptr) return {};
  return {.data = array->data,
          .bytes = array->bytes,
          .order = to_order(array->order),
          .strides = to_values(array->strides, dimensions)};
}

/// The arguments of a redistribution, as C++ has them.
struct LayoutCall {
  valet::GridLayout from, to;
  valet::SourceArray source;
  valet::TargetArray target;
  valet::LayoutOptions options;
};

/// Either all ranks get their arguments, or all throw what one of them finds wrong. Collective.
LayoutCall to_layout_call(MPI_Comm communicator, const Valet_Layout* from, const Valet_Layout* to,
                          const Valet_Array* source, const Valet_Array* target,
                          const Valet_Options* options) {
  std::optional<LayoutCall> call;
  std::optional<valet::Defect> defect;
  try {
    if (from == nullptr || to == nullptr)
      throw valet::Error(valet::ErrorCode::invalid_argument,
                         "a layout is a null pointer; give both layouts");
    const valet::Options chosen = to_options(options);
    call = LayoutCall{to_grid(*from),
                      to_grid(*to),
                      to_array<const void*>(source, from->dimensions),
                      to_array<void*>(target, to->dimensions),
                      {.budget_bytes = chosen.budget_bytes,
                       .method = chosen.method,
                       .share_memory = chosen.share_memory,
                       .trace = chosen.trace}};
  } catch (const valet::Error& error) {
    // Without what every text has around it: it is thrown again.
    const std::string text = error.what();
    const std::size_t begin = std::string("valet: ").size();
    defect = valet::Defect{error.code(), text.substr(begin, text.rfind(" [") - begin)};
  }
  valet::mpi::agree(valet::mpi::Channel::open(communicator), defect);
  return *std::move(call);
}

valet::Occupied to_occupied(std::uint64_t count, const std::uint8_t* mask) {
  if (mask == nullptr) return {count};
  return valet::Occupied::masked({mask, static_cast<std::size_t>(count)});
}

valet::BlockStorage to_storage(const Valet_Storage* storage) {
  return valet::BlockStorage(std::span<const valet::Field>(storage->fields));
}

}  // namespace

Valet_Options Valet_Options_default(void) {
  const valet::Options options;
  return {options.budget_bytes,
          VALET_STREAM,
          VALET_FILL,
          0,
          options.message_bytes,
          1,
          options.window,
          VALET_ALLTOALL_AUTOMATIC,
          static_cast<int>(options.heuristic),
          static_cast<int>(options.scheduler),
          options.parking,
          options.seed,
          VALET_ASCENDING,
          nullptr,
          nullptr,
          nullptr,
          1};
}

Valet_Storage* Valet_Storage_create(void) { return new (std::nothrow) Valet_Storage(); }

int Valet_Storage_add_field(Valet_Storage* storage, void* data, uint64_t slots, size_t row_bytes,
                            ptrdiff_t slot_stride_bytes, const char* label) {
  return guarded([&] {
    storage->fields.push_back(valet::strided_field(data, slots, row_bytes, slot_stride_bytes,
                                                   label == nullptr ? "" : label));
  });
}

void Valet_Storage_free(Valet_Storage* storage) { delete storage; }

int Valet_Plan_to_ranks(MPI_Comm communicator, const Valet_Storage* storage, uint64_t count,
                        const uint8_t* mask, const int* ranks, const Valet_Options* options,
                        Valet_Plan** plan) {
  return guarded([&] {
    *plan = new Valet_Plan{valet::plan_to_ranks(
        communicator, to_storage(storage), to_occupied(count, mask),
        std::span<const int>(ranks, static_cast<std::size_t>(count)), to_options(options))};
  });
}

int Valet_Plan_to_slots(MPI_Comm communicator, const Valet_Storage* storage, uint64_t count,
                        const uint8_t* mask, const Valet_Address* addresses,
                        const Valet_Options* options, Valet_Plan** plan) {
  return guarded([&] {
    *plan = new Valet_Plan{valet::plan_to_slots(
        communicator, to_storage(storage), to_occupied(count, mask),
        std::span<const valet::Address>(reinterpret_cast<const valet::Address*>(addresses),
                                        static_cast<std::size_t>(count)),
        to_options(options))};
  });
}

void Valet_Plan_free(Valet_Plan* plan) { delete plan; }

uint64_t Valet_Plan_blocks_after(const Valet_Plan* plan) { return plan->plan.blocks_after(); }

uint64_t Valet_Plan_required_slots(const Valet_Plan* plan) { return plan->plan.required_slots(); }

int Valet_Execute(Valet_Plan* plan, const Valet_Storage* storage, Valet_Report* report) {
  return guarded([&] {
    const valet::Report done = valet::execute(plan->plan, to_storage(storage));
    tell(done, report);
  });
}

int Valet_Alltoallv_in_place(void* buffer, size_t buffer_bytes, const int64_t* send_counts,
                             const int64_t* recv_counts, size_t element_bytes, int any_order,
                             MPI_Comm communicator, const Valet_Options* options,
                             Valet_Report* report) {
  return guarded([&] {
    const valet::Options chosen = to_options(options);
    const auto ranks = static_cast<std::size_t>(valet::mpi::Channel::open(communicator).size());
    const auto list = [&](const int64_t* counts) {
      return std::span<const int64_t>(counts, counts == nullptr ? 0 : ranks);
    };
    const valet::Report done = valet::alltoallv_in_place(
        communicator, {buffer, buffer_bytes, element_bytes}, list(send_counts), list(recv_counts),
        {.budget_bytes = chosen.budget_bytes,
         .any_order = any_order != 0,
         .share_memory = chosen.share_memory,
         .method = to_alltoall_method(options),
         .trace = chosen.trace});
    tell(done, report);
  });
}

int Valet_Redistribute(const Valet_Layout* from, const Valet_Layout* to, size_t element_bytes,
                       const Valet_Array* source, const Valet_Array* target, MPI_Comm communicator,
                       const Valet_Options* options, Valet_Report* report) {
  return guarded([&] {
    const LayoutCall call = to_layout_call(communicator, from, to, source, target, options);
    tell(valet::redistribute(communicator, call.from, call.to, element_bytes, call.source,
                             call.target, call.options),
         report);
  });
}

int Valet_Redistribute_in_place(const Valet_Layout* from, const Valet_Layout* to,
                                size_t element_bytes, const Valet_Array* array,
                                MPI_Comm communicator, const Valet_Options* options,
                                Valet_Report* report) {
  return guarded([&] {
    const LayoutCall call = to_layout_call(communicator, from, to, nullptr, array, options);
    tell(valet::redistribute_in_place(communicator, call.from, call.to, element_bytes, call.target,
                                      call.options),
         report);
  });
}

int Valet_Plan_to_ranks_f(MPI_Fint communicator, const Valet_Storage* storage, uint64_t count,
                          const uint8_t* mask, const int* ranks, const Valet_Options* options,
                          Valet_Plan** plan) {
  return Valet_Plan_to_ranks(MPI_Comm_f2c(communicator), storage, count, mask, ranks, options,
                             plan);
}

int Valet_Plan_to_slots_f(MPI_Fint communicator, const Valet_Storage* storage, uint64_t count,
                          const uint8_t* mask, const Valet_Address* addresses,
                          const Valet_Options* options, Valet_Plan** plan) {
  return Valet_Plan_to_slots(MPI_Comm_f2c(communicator), storage, count, mask, addresses, options,
                             plan);
}

int Valet_Alltoallv_in_place_f(void* buffer, size_t buffer_bytes, const int64_t* send_counts,
                               const int64_t* recv_counts, size_t element_bytes, int any_order,
                               MPI_Fint communicator, const Valet_Options* options,
                               Valet_Report* report) {
  return Valet_Alltoallv_in_place(buffer, buffer_bytes, send_counts, recv_counts, element_bytes,
                                  any_order, MPI_Comm_f2c(communicator), options, report);
}

void Valet_Set_log_callback(Valet_Log_fn* callback, void* data) {
  if (callback == nullptr) return valet::set_log_callback({});
  valet::set_log_callback([callback, data](valet::LogLevel level, std::string_view message) {
    callback(static_cast<int>(level), std::string(message).c_str(), data);
  });
}

const char* Valet_Error_message(void) { return last_message.c_str(); }
