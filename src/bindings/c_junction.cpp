// SPDX-License-Identifier: BSD-3-Clause
#include "bindings/c_call.hpp"
#include "junction/file/file_end.hpp"
#include "junction/transfers.hpp"
#include "mpi/two_groups.hpp"
#include <valet/junction.hpp>
#include <valet/valet.h>

#include <memory>
#include <string>
#include <type_traits>
#include <utility>

struct Valet_Junction {
  valet::Junction junction;
};

struct Valet_Junction_transfer {
  valet::JunctionTransfer transfer;
};

using namespace valet::c;
namespace junction = valet::junction;

namespace {

using Wanted = std::shared_ptr<junction::Transfer>;

constexpr const char* make_junction =
    "make one by Valet_Junction_connect() or Valet_Junction_accept()";

template <class Handle>
auto& junction_of(Handle* handle) {
  require_pointer(handle, "the junction", make_junction);
  return handle->junction;
}

valet::JunctionTransfer& transfer_of(Valet_Junction_transfer* transfer) {
  require_pointer(transfer, "the transfer", "put or get something by Valet_Junction_put_array()");
  return transfer->transfer;
}

std::string to_label(const char* label) { return label == nullptr ? "" : label; }

/// A file takes blocks without ranks.
junction::BlockChoice to_ranks(const int* ranks, uint64_t count, const char* label) {
  require_number(count, "count");
  junction::BlockChoice choice{.label = to_label(label)};
  if (ranks != nullptr) choice.ranks = to_map(ranks, count);
  return choice;
}

junction::BlockChoice in_range(const Valet_Block_range* range, const char* label) {
  junction::BlockChoice choice{.label = to_label(label)};
  if (range == nullptr) return choice;
  require_number(range->first, "the first block of the range (first)");
  require_number(range->count, "the number of blocks of the range (count)");
  choice.range = {range->first, range->count};
  return choice;
}

junction::BlockChoice by_layout(const Valet_Object_layout* layout, const char* label) {
  require_pointer(layout, "the layout", "give a Valet_Object_layout");
  return {.layout = to_object_layout(*layout), .label = to_label(label)};
}

/// In place of what a rank has wrong, so that all ranks of both sides refuse it.
class Refused final : public junction::Transfer {
 public:
  explicit Refused(valet::Diagnostic why) : Transfer({}), why_(std::move(why)) {}

  [[nodiscard]] std::optional<valet::Diagnostic> check(const junction::Link&) const override {
    return why_;
  }
  valet::Report run(const junction::Link&, const junction::Description&) override { return {}; }
  [[nodiscard]] std::optional<valet::Diagnostic> refusal() const override { return why_; }
  valet::Report store(junction::FileEnd&) override { return {}; }
  valet::Report load(junction::FileEnd&) override { return {}; }

 private:
  valet::Diagnostic why_;
};

/// Begins what make() gives, and waits for it where there is no place for a handle.
template <class Make>
int begin(Valet_Junction* handle, Valet_Junction_transfer** transfer, Make&& make) {
  return guarded([&] {
    valet::Junction& over = junction_of(handle);
    Wanted wanted;
    try {
      wanted = make();
    } catch (...) {
      wanted = std::make_shared<Refused>(diagnostic_in_flight());
    }
    valet::JunctionTransfer begun = over.begin(std::move(wanted));
    if (transfer == nullptr)
      static_cast<void>(begun.wait());
    else
      *transfer = new Valet_Junction_transfer{std::move(begun)};
  });
}

int begin_array(Valet_Junction* handle, junction::Direction direction, const Valet_Array* array,
                const Valet_Layout* layout, std::size_t element_bytes, const char* label,
                Valet_Junction_transfer** transfer) {
  return begin(handle, transfer, [&] {
    require_number(element_bytes, "element_bytes");
    junction::Description mine{direction, junction::Content::array, element_bytes, to_label(label),
                               to_layout(layout)};
    const valet::TargetArray part = to_array(array, *layout);
    if (direction == junction::Direction::get) return junction::get_array(std::move(mine), part);
    return junction::put_array(std::move(mine), {part.data, part.bytes, part.order, part.strides});
  });
}

/// Calls `action` with every number and switch of the options in C++, and the same in C.
template <class InCpp, class InC, class Action>
void for_each_number(InCpp& options, InC& in_c, Action&& action) {
  action(options.timeout_seconds, in_c.timeout_seconds);
  action(options.budget_bytes, in_c.budget_bytes);
  action(options.verify, in_c.verify);
  action(options.share_memory, in_c.share_memory);
  action(options.keep_memory, in_c.keep_memory);
  action(options.progress_bar, in_c.progress_bar);
}

Valet_Junction_options default_junction_options() {
  const valet::JunctionOptions options;
  Valet_Junction_options defaults{};
  defaults.struct_size = sizeof defaults;
  for_each_number(options, defaults, [](const auto& value, auto& in_c) { in_c = value; });
  return defaults;
}

valet::JunctionOptions to_junction_options(const Valet_Junction_options* given) {
  valet::JunctionOptions options;
  if (given == nullptr) return options;
  const auto whole = complete("Valet_Junction_options", *given, default_junction_options());
  require_number(whole.budget_bytes, "the budget (budget_bytes)");
  for_each_number(options, whole, [](auto& value, const auto& in_c) {
    value = static_cast<std::remove_reference_t<decltype(value)>>(in_c);
  });
  if (whole.folder != nullptr) options.folder = whole.folder;
  options.progress = to_progress(whole.progress, whole.progress_data);
  return options;
}

template <class Open>
int open(MPI_Comm communicator, const char* name, const Valet_Junction_options* options,
         Valet_Junction** place, Open&& by, bool leads_to_group = true) {
  return guarded([&] {
    std::string title;
    const auto convert = [&](int) {
      require_pointer(name, "the name", "give that of the connection");
      require_pointer(place, "the place for the junction", "give the address of a Valet_Junction*");
      title = name;
      return to_junction_options(options);
    };
    if (!leads_to_group || !valet::mpi::is_intercommunicator(communicator)) {
      const valet::JunctionOptions chosen = agreed(communicator, convert);
      *place = new Valet_Junction{by(communicator, title, chosen)};
      return;
    }
    // The other side may be a program in C++: what is wrong here is told where both sides meet.
    valet::JunctionOptions chosen;
    std::optional<valet::Diagnostic> wrong;
    try {
      chosen = convert(0);
    } catch (...) {
      wrong = diagnostic_in_flight();
    }
    auto made = valet::Junction::over(communicator, chosen, wrong);
    *place = new Valet_Junction{std::move(made)};
  });
}

}  // namespace

void Valet_Junction_options_init(Valet_Junction_options* options, size_t struct_size) {
  initialise(options, struct_size, default_junction_options());
}

int Valet_Junction_accept(MPI_Comm communicator, const char* name,
                          const Valet_Junction_options* options, Valet_Junction** junction) {
  return open(communicator, name, options, junction, valet::Junction::accept);
}

int Valet_Junction_connect(MPI_Comm communicator, const char* name,
                           const Valet_Junction_options* options, Valet_Junction** junction) {
  return open(communicator, name, options, junction, valet::Junction::connect);
}

int Valet_Junction_create(MPI_Comm communicator, const char* path,
                          const Valet_Junction_options* options, Valet_Junction** junction) {
  return open(communicator, path, options, junction, valet::Junction::create, false);
}

int Valet_Junction_open(MPI_Comm communicator, const char* path,
                        const Valet_Junction_options* options, Valet_Junction** junction) {
  return open(communicator, path, options, junction, valet::Junction::open, false);
}

int Valet_Junction_ranks(const Valet_Junction* junction) {
  return static_cast<int>(number_of([&] { return junction_of(junction).ranks(); }));
}

int Valet_Junction_other_ranks(const Valet_Junction* junction) {
  return static_cast<int>(number_of([&] { return junction_of(junction).other_ranks(); }));
}

int Valet_Junction_put_array(Valet_Junction* junction, const Valet_Array* array,
                             const Valet_Layout* layout, size_t element_bytes, const char* label,
                             Valet_Junction_transfer** transfer) {
  return begin_array(junction, junction::Direction::put, array, layout, element_bytes, label,
                     transfer);
}

int Valet_Junction_get_array(Valet_Junction* junction, const Valet_Array* array,
                             const Valet_Layout* layout, size_t element_bytes, const char* label,
                             Valet_Junction_transfer** transfer) {
  return begin_array(junction, junction::Direction::get, array, layout, element_bytes, label,
                     transfer);
}

int Valet_Junction_put_blocks(Valet_Junction* junction, const Valet_Storage* storage,
                              uint64_t count, const int* ranks, const char* label,
                              Valet_Junction_transfer** transfer) {
  return begin(junction, transfer, [&] {
    return junction::put_blocks(to_storage(storage), count, to_ranks(ranks, count, label));
  });
}

int Valet_Junction_get_blocks(Valet_Junction* junction, const Valet_Storage* storage,
                              const char* label, const Valet_Block_range* range,
                              Valet_Junction_transfer** transfer) {
  return begin(junction, transfer,
               [&] { return junction::get_blocks(to_storage(storage), in_range(range, label)); });
}

int Valet_Junction_get_blocks_into(Valet_Junction* junction, Valet_Storage_for_fn* storage_for,
                                   void* data, const char* label,
                                   Valet_Junction_transfer** transfer) {
  return begin(junction, transfer, [&] {
    if (storage_for == nullptr)
      throw valet::Error(valet::ErrorCode::invalid_argument,
                         "the function that makes storage is a null pointer; give one");
    return junction::get_blocks(
        [=](std::uint64_t blocks) { return made_storage(storage_for(data, blocks)); },
        in_range(nullptr, label));
  });
}

int Valet_Junction_put_numbered(Valet_Junction* junction, const Valet_Storage* storage,
                                uint64_t count, const Valet_Object_layout* layout,
                                const char* label, Valet_Junction_transfer** transfer) {
  return begin(junction, transfer, [&] {
    require_number(count, "count");
    return junction::put_blocks(to_storage(storage), count, by_layout(layout, label));
  });
}

int Valet_Junction_get_numbered(Valet_Junction* junction, const Valet_Storage* storage,
                                const Valet_Object_layout* layout, const char* label,
                                Valet_Junction_transfer** transfer) {
  return begin(junction, transfer,
               [&] { return junction::get_blocks(to_storage(storage), by_layout(layout, label)); });
}

int Valet_Junction_put_ragged(Valet_Junction* junction, const Valet_Ragged_storage* storage,
                              uint64_t count, const int* ranks, const char* label,
                              Valet_Junction_transfer** transfer) {
  return begin(junction, transfer, [&] {
    return junction::put_ragged(to_storage(storage), count, to_ranks(ranks, count, label));
  });
}

int Valet_Junction_get_ragged(Valet_Junction* junction, const Valet_Ragged_storage* storage,
                              const char* label, const Valet_Block_range* range,
                              Valet_Junction_transfer** transfer) {
  return begin(junction, transfer,
               [&] { return junction::get_ragged(to_storage(storage), in_range(range, label)); });
}

int Valet_Junction_put_numbered_ragged(Valet_Junction* junction,
                                       const Valet_Ragged_storage* storage, uint64_t count,
                                       const Valet_Object_layout* layout, const char* label,
                                       Valet_Junction_transfer** transfer) {
  return begin(junction, transfer, [&] {
    require_number(count, "count");
    return junction::put_ragged(to_storage(storage), count, by_layout(layout, label));
  });
}

int Valet_Junction_get_numbered_ragged(Valet_Junction* junction,
                                       const Valet_Ragged_storage* storage,
                                       const Valet_Object_layout* layout, const char* label,
                                       Valet_Junction_transfer** transfer) {
  return begin(junction, transfer,
               [&] { return junction::get_ragged(to_storage(storage), by_layout(layout, label)); });
}

int Valet_Junction_is_ready(Valet_Junction_transfer* transfer, int* ready) {
  return guarded([&] {
    const bool is_ready = transfer_of(transfer).is_ready();
    if (ready != nullptr) *ready = is_ready ? 1 : 0;
  });
}

int Valet_Junction_wait(Valet_Junction_transfer* transfer, Valet_Report* report) {
  const std::unique_ptr<Valet_Junction_transfer> ends(transfer);
  return guarded([&] {
    const valet::Report done = transfer_of(transfer).wait();
    require_report(report);
    write_report(done, report);
  });
}

int Valet_Junction_close(Valet_Junction* junction) {
  const std::unique_ptr<Valet_Junction> ends(junction);
  return guarded([&] { junction_of(junction).close(); });
}
