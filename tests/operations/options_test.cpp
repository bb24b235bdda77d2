// SPDX-License-Identifier: BSD-3-Clause

// Every operation with every option that is out of range on the last rank, or another one there:
// all ranks get the same text and nothing has moved, whether the operation uses the option or not.

#include "test_comm.hpp"
#include <valet/valet.h>

#include <climits>

namespace valet::test {
namespace {

constexpr std::uint64_t blocks_each = 12;

/// Data of one rank, for any operation: 12 values, which leave to other ranks.
struct Data {
  std::vector<std::int64_t> values = std::vector<std::int64_t>(blocks_each, rank() + 1);
  std::vector<std::int64_t> target = std::vector<std::int64_t>(blocks_each, -1);
  std::vector<std::uint64_t> lengths = std::vector<std::uint64_t>(blocks_each, 8);
  std::vector<int> ranks;
  std::vector<Address> addresses;
  std::vector<std::int64_t> counts;
  GridLayout before{BlockCyclic({static_cast<std::int64_t>(blocks_each) * size()},
                                {static_cast<std::int64_t>(blocks_each)}, {size()})};
  GridLayout after{BlockCyclic({static_cast<std::int64_t>(blocks_each) * size()}, {1}, {size()})};

  Data() {
    for (std::uint64_t k = 0; k < blocks_each; ++k) {
      ranks.push_back((rank() + 1) % size());
      addresses.push_back({ranks.back(), k});
    }
    counts.assign(static_cast<std::size_t>(size()), 0);
    counts[static_cast<std::size_t>((rank() + 1) % size())] = blocks_each;
  }
  [[nodiscard]] BlockStorage blocks() { return {field(values)}; }
  [[nodiscard]] RaggedStorage ragged() {
    return {ragged_field(std::span(values), std::span(lengths))};
  }
  [[nodiscard]] TargetArray array(std::vector<std::int64_t>& of) const {
    return {.data = of.data(), .bytes = blocks_each * sizeof(std::int64_t)};
  }
  [[nodiscard]] bool is_untouched() const {
    return values == std::vector<std::int64_t>(blocks_each, rank() + 1) &&
           target == std::vector<std::int64_t>(blocks_each, -1) &&
           lengths == std::vector<std::uint64_t>(blocks_each, 8);
  }
};

template <class AnyOptions>
struct Operation {
  const char* name;
  std::function<void(Data&, const AnyOptions&)> call;
};

/// What the last rank gives, and what all are to read.
template <class AnyOptions>
struct Mistake {
  std::string text;
  std::function<void(AnyOptions&)> make;
};

template <class AnyOptions>
void expect_all_refused(const AnyOptions& good, const std::vector<Operation<AnyOptions>>& all,
                        const std::vector<Mistake<AnyOptions>>& mistakes) {
  for (const Operation<AnyOptions>& operation : all) {
    for (const Mistake<AnyOptions>& mistake : mistakes) {
      if (size() == 1 && mistake.text.ends_with(" differs: ")) continue;
      SCOPED_TRACE(std::string(operation.name) + ", " + mistake.text);
      Data data;
      AnyOptions options = good;
      if (is_odd()) mistake.make(options);
      const Outcome outcome = outcome_of([&] { operation.call(data, options); });
      const bool is_untouched = all_ranks(data.is_untouched());
      const bool is_same = same_on_all_ranks(outcome);
      EXPECT_EQ(outcome.code, ErrorCode::invalid_argument) << outcome.text;
      expect_words(outcome.text, {mistake.text});
      EXPECT_TRUE(is_same) << outcome.text;
      EXPECT_TRUE(is_untouched);
    }
    Data data;
    const Outcome outcome = outcome_of([&] { operation.call(data, good); });
    EXPECT_TRUE(all_ranks(outcome.text.empty())) << operation.name << ": " << outcome.text;
  }
}

const std::vector<Operation<Options>> operations{
    {"a plan to ranks",
     [](Data& d, const Options& o) {
       static_cast<void>(plan_to_ranks(MPI_COMM_WORLD, d.blocks(), blocks_each, d.ranks, o));
     }},
    {"a migration to ranks",
     [](Data& d, const Options& o) {
       migrate(MPI_COMM_WORLD, d.blocks(), blocks_each, d.ranks, o);
     }},
    {"a plan to slots",
     [](Data& d, const Options& o) {
       static_cast<void>(plan_to_slots(MPI_COMM_WORLD, d.blocks(), blocks_each, d.addresses, o));
     }},
    {"a migration to slots",
     [](Data& d, const Options& o) {
       migrate(MPI_COMM_WORLD, d.blocks(), blocks_each, d.addresses, o);
     }},
    {"a plan to a layout",
     [](Data& d, const Options& o) {
       static_cast<void>(plan_to_layout(MPI_COMM_WORLD, d.blocks(), blocks_each, {1, 0}, o));
     }},
    {"a migration from a layout to a layout",
     [](Data& d, const Options& o) {
       migrate_to_layout(MPI_COMM_WORLD, d.blocks(), blocks_each, {blocks_each, 0}, {1, 0}, o);
     }},
    {"a plan of ragged blocks",
     [](Data& d, const Options& o) {
       static_cast<void>(plan_to_ranks(MPI_COMM_WORLD, d.ragged(), blocks_each, d.ranks, o));
     }},
    {"a migration of ragged blocks", [](Data& d, const Options& o) {
       migrate(MPI_COMM_WORLD, d.ragged(), blocks_each, d.ranks, o);
     }}};

std::vector<Mistake<Options>> mistakes() {
  std::vector<Mistake<Options>> all{
      {"option method differs: ", [](Options& o) { o.method = Method::cyclic; }},
      {"option order differs: ", [](Options& o) { o.order = Order::stable; }},
      {"option verify differs: ", [](Options& o) { o.verify = true; }},
      {"option share_memory differs: ", [](Options& o) { o.share_memory = false; }},
      {"option phased.heuristic differs: ",
       [](Options& o) { o.phased.heuristic = Heuristic::min_max; }},
      {"option phased.scheduler differs: ",
       [](Options& o) { o.phased.scheduler = Scheduler::centralized; }},
      {"option phased.parking differs: ", [](Options& o) { o.phased.parking = 2; }},
      {"option phased.seed differs: ", [](Options& o) { o.phased.seed = 2; }},
      {"option phased.available_bytes differs: ",
       [](Options& o) { o.phased.available_bytes = [] { return std::size_t{100}; }; }},
      {"option trace differs: ", [](Options& o) { o.trace = "/tmp/never_written.json"; }},
      {"option transfers differs: ", [](Options& o) { o.transfers = "/tmp/never.mtx"; }},
      {"option method is 99", [](Options& o) { o.method = static_cast<Method>(99); }},
      {"option order is -1", [](Options& o) { o.order = static_cast<Order>(-1); }},
      {"option phased.heuristic is 6",
       [](Options& o) { o.phased.heuristic = static_cast<Heuristic>(6); }},
      {"option phased.scheduler is 2",
       [](Options& o) { o.phased.scheduler = static_cast<Scheduler>(2); }},
      {"option cyclic.edge_order is 2",
       [](Options& o) { o.cyclic.edge_order = static_cast<EdgeOrder>(2); }},
      {"heuristic continuous divides the memory", [](Options& o) {
         o.method = Method::phased;
         o.phased.heuristic = Heuristic::continuous;
         o.phased.available_bytes = [] { return std::size_t{100}; };
       }}};
  for (const int window : {INT_MIN, -1, 0, 65, INT_MAX})
    all.push_back({"a window of " + std::to_string(window) + " messages; choose one from 1 to 64",
                   [window](Options& o) { o.stream.window = window; }});
  for (const int parking : {INT_MIN, -1})
    all.push_back({"a parking interval of " + std::to_string(parking),
                   [parking](Options& o) { o.phased.parking = parking; }});
  return all;
}

TEST(OptionsOfAllOperations, AreCheckedAndAgreedOn) {
  expect_all_refused(Options{}, operations, mistakes());
}

TEST(OptionsOfAllOperations, MayDifferWhereTheManualSaysSo) {
  for (const Operation<Options>& operation : operations) {
    Data data;
    Options options;
    if (is_odd()) {
      options.budget_bytes = std::numeric_limits<std::size_t>::max();
      options.message_bytes = std::numeric_limits<std::size_t>::max();
      options.keep_memory = options.progress_bar = false;
      options.stream.window = 64;
      options.cyclic.edge_order = EdgeOrder::rotated;
      options.progress = [](const Progress&) {};
    }
    const Outcome outcome = outcome_of([&] { operation.call(data, options); });
    EXPECT_TRUE(all_ranks(outcome.text.empty())) << operation.name << ": " << outcome.text;
  }
}

TEST(OptionsOfAllOperations, OfLayoutsAreCheckedAndAgreedOn) {
  expect_all_refused<LayoutOptions>(
      {},
      {{"redistribute",
        [](Data& d, const LayoutOptions& o) {
          const SourceArray source{.data = d.values.data(), .bytes = blocks_each * 8};
          redistribute(MPI_COMM_WORLD, d.before, d.after, 8, source, d.array(d.target), o);
        }},
       {"redistribute_in_place",
        [](Data& d, const LayoutOptions& o) {
          redistribute_in_place(MPI_COMM_WORLD, d.before, d.after, 8, d.array(d.values), o);
        }}},
      {{"option method differs: ", [](LayoutOptions& o) { o.method = Method::direct; }},
       {"option share_memory differs: ", [](LayoutOptions& o) { o.share_memory = false; }},
       {"option trace differs: ", [](LayoutOptions& o) { o.trace = "/tmp/never.json"; }},
       {"option method is 7", [](LayoutOptions& o) { o.method = static_cast<Method>(7); }}});
}

TEST(OptionsOfAllOperations, OfAnAlltoallAreCheckedAndAgreedOn) {
  expect_all_refused<AlltoallOptions>(
      {},
      {{"alltoallv_in_place",
        [](Data& d, const AlltoallOptions& o) {
          alltoallv_in_place(MPI_COMM_WORLD, {d.values.data(), blocks_each * 8, 8}, d.counts, {},
                             o);
        }}},
      {{"option method differs: ", [](AlltoallOptions& o) { o.method = AlltoallMethod::pairwise; }},
       {"option any_order differs: ", [](AlltoallOptions& o) { o.any_order = true; }},
       {"option share_memory differs: ", [](AlltoallOptions& o) { o.share_memory = false; }},
       {"option trace differs: ", [](AlltoallOptions& o) { o.trace = "/tmp/never.json"; }},
       {"unknown all-to-all method 17",
        [](AlltoallOptions& o) { o.method = static_cast<AlltoallMethod>(17); }}});
}

/// @throws Error where a function of C returns one.
void require(int code) {
  if (code != VALET_SUCCESS) throw Error(static_cast<ErrorCode>(code), Valet_Error_message());
}

/// A storage of C for one call.
struct Blocks {
  explicit Blocks(Data& data) {
    require(Valet_Storage_add_field(handle, data.values.data(), blocks_each, 8, 8, nullptr));
    require(Valet_Ragged_storage_add_field(ragged, data.values.data(), blocks_each * 8,
                                           data.lengths.data(), blocks_each, 8, nullptr));
  }
  Blocks(const Blocks&) = delete;
  Blocks& operator=(const Blocks&) = delete;
  ~Blocks() {
    Valet_Plan_free(plan);
    Valet_Ragged_plan_free(ragged_plan);
    Valet_Storage_free(handle);
    Valet_Ragged_storage_free(ragged);
  }
  Valet_Storage* handle = Valet_Storage_create();
  Valet_Ragged_storage* ragged = Valet_Ragged_storage_create();
  Valet_Plan* plan = nullptr;
  Valet_Ragged_plan* ragged_plan = nullptr;
  std::uint64_t count = blocks_each;
};

void redistribute_in_c(Data& d, const Valet_Options& o, bool in_place) {
  const std::int64_t extent = static_cast<std::int64_t>(blocks_each) * size(), one = 1;
  const auto block = static_cast<std::int64_t>(blocks_each);
  const int grid = size();
  const Valet_Layout from{1, &extent, &block, &grid, VALET_ROW_MAJOR, nullptr, nullptr};
  const Valet_Layout to{1, &extent, &one, &grid, VALET_ROW_MAJOR, nullptr, nullptr};
  const Valet_Array source{d.values.data(), blocks_each * 8, VALET_ROW_MAJOR, nullptr};
  const Valet_Array target{d.target.data(), blocks_each * 8, VALET_ROW_MAJOR, nullptr};
  require(in_place
              ? Valet_Redistribute_in_place(MPI_COMM_WORLD, &from, &to, 8, &source, &o, nullptr)
              : Valet_Redistribute(MPI_COMM_WORLD, &from, &to, 8, &source, &target, &o, nullptr));
}

const std::vector<Operation<Valet_Options>> operations_in_c{
    {"Valet_Plan_to_ranks",
     [](Data& d, const Valet_Options& o) {
       Blocks b(d);
       require(Valet_Plan_to_ranks(MPI_COMM_WORLD, b.handle, blocks_each, nullptr, d.ranks.data(),
                                   &o, &b.plan));
     }},
    {"Valet_Plan_to_slots",
     [](Data& d, const Valet_Options& o) {
       Blocks b(d);
       require(Valet_Plan_to_slots(MPI_COMM_WORLD, b.handle, blocks_each, nullptr,
                                   reinterpret_cast<const Valet_Address*>(d.addresses.data()), &o,
                                   &b.plan));
     }},
    {"Valet_Plan_to_layout",
     [](Data& d, const Valet_Options& o) {
       Blocks b(d);
       const Valet_Object_layout to{1, 0, nullptr, VALET_ROW_MAJOR};
       require(
           Valet_Plan_to_layout(MPI_COMM_WORLD, b.handle, blocks_each, nullptr, &to, &o, &b.plan));
     }},
    {"Valet_Ragged_plan_to_ranks",
     [](Data& d, const Valet_Options& o) {
       Blocks b(d);
       require(Valet_Ragged_plan_to_ranks(MPI_COMM_WORLD, b.ragged, blocks_each, d.ranks.data(), &o,
                                          &b.ragged_plan));
     }},
    {"Valet_Ragged_migrate",
     [](Data& d, const Valet_Options& o) {
       Blocks b(d);
       require(
           Valet_Ragged_migrate(MPI_COMM_WORLD, b.ragged, &b.count, d.ranks.data(), &o, nullptr));
     }},
    {"Valet_Alltoallv_in_place",
     [](Data& d, const Valet_Options& o) {
       require(Valet_Alltoallv_in_place(MPI_COMM_WORLD, d.values.data(), blocks_each * 8,
                                        d.counts.data(), nullptr, 8, 0, &o, nullptr));
     }},
    {"Valet_Redistribute", [](Data& d, const Valet_Options& o) { redistribute_in_c(d, o, false); }},
    {"Valet_Redistribute_in_place",
     [](Data& d, const Valet_Options& o) { redistribute_in_c(d, o, true); }}};

TEST(OptionsOfAllOperations, InCAreCheckedAndAgreedOn) {
  expect_all_refused<Valet_Options>(
      Valet_Options_default(), operations_in_c,
      {{"option method differs: ", [](Valet_Options& o) { o.method = VALET_METHOD_CYCLIC; }},
       {"option order differs: ", [](Valet_Options& o) { o.order = VALET_ORDER_STABLE; }},
       {"option verify differs: ", [](Valet_Options& o) { o.verify = 1; }},
       {"option share_memory differs: ", [](Valet_Options& o) { o.share_memory = 0; }},
       {"option alltoall_method differs: ",
        [](Valet_Options& o) { o.alltoall_method = VALET_ALLTOALL_PAIRWISE; }},
       {"option phased.heuristic differs: ",
        [](Valet_Options& o) { o.phased.heuristic = VALET_HEURISTIC_CONTINUOUS; }},
       {"option phased.scheduler differs: ",
        [](Valet_Options& o) { o.phased.scheduler = VALET_SCHEDULER_CENTRALIZED; }},
       {"option phased.parking differs: ", [](Valet_Options& o) { o.phased.parking = 3; }},
       {"option phased.seed differs: ", [](Valet_Options& o) { o.phased.seed = 9; }},
       {"option phased.available_bytes differs: ",
        [](Valet_Options& o) {
          o.phased.available_bytes = [](void*) { return std::size_t{100}; };
        }},
       {"option trace differs: ", [](Valet_Options& o) { o.trace = "/tmp/never.json"; }},
       {"option transfers differs: ", [](Valet_Options& o) { o.transfers = "/tmp/never.mtx"; }},
       {"unknown method 99", [](Valet_Options& o) { o.method = 99; }},
       {"unknown order -1", [](Valet_Options& o) { o.order = -1; }},
       {"unknown all-to-all method 17", [](Valet_Options& o) { o.alltoall_method = 17; }},
       {"unknown heuristic 6", [](Valet_Options& o) { o.phased.heuristic = 6; }},
       {"unknown scheduler 2", [](Valet_Options& o) { o.phased.scheduler = 2; }},
       {"unknown edge_order 2", [](Valet_Options& o) { o.cyclic.edge_order = 2; }},
       {"a window of 0 messages", [](Valet_Options& o) { o.stream.window = 0; }},
       {"a window of 65 messages", [](Valet_Options& o) { o.stream.window = 65; }},
       {"a parking interval of -1", [](Valet_Options& o) { o.phased.parking = -1; }}});
}

}  // namespace
}  // namespace valet::test
