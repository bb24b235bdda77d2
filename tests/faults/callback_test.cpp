// SPDX-License-Identifier: BSD-3-Clause

// The promise: a callback that throws on one rank, at whatever call, does not disturb the call of
// Valet, whose ranks all report it at the end, with every block in its place. For every operation
// and method, in C++ and in C. Storages that throw: tests/engine/failing_storage_test.cpp.

#include "filled_map.hpp"
#include "ragged_case.hpp"
#include "throwing.hpp"
#include <valet/valet.h>

#include <atomic>
#include <chrono>

// Progress is told ten times a second at most. On this clock, which stands in front of the one of
// the standard library, every look is a second after the last: so it is told every time.
#ifdef __GLIBCXX__
namespace std::chrono {
inline namespace _V2 {
steady_clock::time_point steady_clock::now() noexcept {  // NOLINT(cert-dcl58-cpp)
  static std::atomic<int> looks = 0;
  return time_point(seconds(++looks));
}
}  // namespace _V2
}  // namespace std::chrono
#endif

namespace valet::test {
namespace {

constexpr const char* in_place = "every block is where it belongs";

struct Case {
  std::string name;
  std::function<Operation(Throwing&)> make;
};

std::string name_of_case(const testing::TestParamInfo<Case>& tested) { return tested.param.name; }

/// What C throws through its pointers, and what it gets back.
void tell(const Valet_Progress*, void* throwing) { static_cast<Throwing*>(throwing)->called(); }
std::size_t ask(void* throwing) {
  static_cast<Throwing*>(throwing)->called();
  return 100;
}
void require_success(int code) {
  if (code == VALET_SUCCESS) return;
  const std::string text = Valet_Error_message();
  const std::size_t begin = std::string("valet: ").size();
  throw Error(static_cast<ErrorCode>(code),
              text.substr(begin, text.rfind(" [") - begin));  // what() has both around it
}

/// Progress or, for PHASED, how much memory is left.
enum class Callback { progress, available_bytes };

Options options_of(Method method, Callback callback, Throwing& throwing) {
  Options options{.budget_bytes = method == Method::direct ? 1U << 20U : 2000U,
                  .method = method,
                  .verify = true};
  if (callback == Callback::progress)
    options.progress = [&](const Progress&) { throwing.called(); };
  else
    options.phased.available_bytes = [&] {
      throwing.called();
      return std::size_t{100};
    };
  return options;
}

Valet_Options in_c(const Options& options, Callback callback, Throwing& throwing) {
  Valet_Options result = Valet_Options_default();
  result.method = static_cast<int>(options.method);
  result.budget_bytes = options.budget_bytes;
  result.share_memory = options.share_memory ? 1 : 0;
  result.phased.parking = options.phased.parking;
  if (callback == Callback::progress) {
    result.progress = tell;
    result.progress_data = &throwing;
  } else {
    result.phased.available_bytes = ask;
    result.phased.available_bytes_data = &throwing;
  }
  return result;
}

Operation migration(const Options& options, Callback callback) {
  constexpr std::uint64_t blocks = 300;
  const GlobalMap map = ring_map(size(), blocks + 20, blocks, 1);
  const auto filled = std::make_shared<FilledMap>(map, rank(), Shape::structure);
  const auto plan = std::make_shared<Plan>(filled->plan(MPI_COMM_WORLD, Form::to_slots, options));
  return {.name = callback == Callback::progress ? "callback progress" : "callback available_bytes",
          .consequence = in_place,
          .prepare = [=] { filled->fill(); },
          .call = [=] { execute(*plan, filled->storage()); },
          .is_right = [=](bool) { return filled->wrong(Form::to_slots, Order::any) == 0; }};
}

/// A column of numbers that says where it came from: number k of every rank goes to rank k % P.
Operation migration_in_c(const Options& options, Callback callback, Throwing& throwing) {
  constexpr std::size_t blocks = 300;
  const auto numbers = std::make_shared<std::vector<int>>(blocks + 20);
  const Valet_Options chosen = in_c(options, callback, throwing);
  return {.name = callback == Callback::progress ? "callback progress" : "callback available_bytes",
          .consequence = in_place,
          .prepare =
              [=] {
                for (std::size_t k = 0; k < blocks; ++k)
                  (*numbers)[k] = static_cast<int>(k) % size();
              },
          .call =
              [=] {
                std::vector<int> ranks(blocks);
                for (std::size_t k = 0; k < blocks; ++k) ranks[k] = static_cast<int>(k) % size();
                Valet_Storage* const storage = Valet_Storage_create();
                Valet_Storage_add_field(storage, numbers->data(), numbers->size(), sizeof(int),
                                        sizeof(int), "numbers");
                Valet_Plan* plan = nullptr;
                int code = Valet_Plan_to_ranks(MPI_COMM_WORLD, storage, blocks, nullptr,
                                               ranks.data(), &chosen, &plan);
                if (code == VALET_SUCCESS) code = Valet_Execute(plan, storage, nullptr);
                Valet_Plan_free(plan);
                Valet_Storage_free(storage);
                require_success(code);
              },
          .is_right =
              [=](bool) {
                const auto here = static_cast<std::size_t>(rank());
                const std::size_t count =
                    (blocks / static_cast<std::size_t>(size()) +
                     (here < blocks % static_cast<std::size_t>(size()) ? 1 : 0)) *
                    static_cast<std::size_t>(size());
                bool right = true;
                for (std::size_t k = 0; k < count; ++k) right = right && (*numbers)[k] == rank();
                return right;
              }};
}

void add_migrations(std::vector<Case>& cases) {
  const auto add = [&](const std::string& name, Method method, Callback callback, bool shares,
                       auto&& change) {
    cases.push_back({"Migrate_" + name, [=](Throwing& throwing) {
                       Options options = options_of(method, callback, throwing);
                       options.share_memory = shares;
                       change(options);
                       return migration(options, callback);
                     }});
    cases.push_back({"Migrate_in_C_" + name, [=](Throwing& throwing) {
                       Options options = options_of(method, callback, throwing);
                       options.share_memory = shares;
                       change(options);
                       return migration_in_c(options, callback, throwing);
                     }});
  };
  const auto nothing = [](Options&) {};
  const auto parks = [](Options& options) { options.phased.parking = 1; };
  add("stream_shared", Method::stream, Callback::progress, true, nothing);
  add("stream_messages", Method::stream, Callback::progress, false, nothing);
  add("direct", Method::direct, Callback::progress, false, nothing);
  add("phased", Method::phased, Callback::progress, false, nothing);
  add("phased_parking", Method::phased, Callback::progress, false, parks);
  add("cyclic", Method::cyclic, Callback::progress, false, nothing);
  add("available_bytes", Method::phased, Callback::available_bytes, false, nothing);
  add("available_bytes_parking", Method::phased, Callback::available_bytes, false, parks);
}

/// Blocks of different sizes, in two arenas with columns beside them, dealt to the ranks one by
/// one.
Operation ragged(Method method, Callback callback, Throwing& throwing) {
  struct Data {
    Data() {
      for (int r = 0; r < size(); ++r) {
        all.before.emplace_back();
        for (std::uint64_t k = 0; k < 120; ++k)
          all.before.back().push_back({k * 37 % 700, r, k, static_cast<int>(k) % size()});
      }
      const OwnBlocks own(all);
      before = own.before;
      after = own.after;
      for (int arena = 0; arena < 2; ++arena) arenas.push_back(own.arrays());
    }
    RaggedCase all{.before = {}, .alignment = 4};
    RaggedBlocks before, after;
    std::vector<RaggedArrays> arenas;
  };
  const auto data = std::make_shared<Data>();
  Options options = options_of(method, callback, throwing);
  options.budget_bytes = method == Method::direct ? 4 << 20 : 20'000;
  return {.name = callback == Callback::progress ? "callback progress" : "callback available_bytes",
          .consequence = in_place,
          .prepare =
              [=] {
                for (RaggedArrays& arena : data->arenas) arena.fill(data->before);
              },
          .call =
              [=] {
                RaggedArrays &first = data->arenas[0], &second = data->arenas[1];
                const RaggedStorage storage{{first.field(), second.field()},
                                            {field(first.names), field(second.names)}};
                migrate(MPI_COMM_WORLD, storage, data->before.size(), first.ranks, options);
              },
          .is_right =
              [=](bool) {
                return data->arenas[0].wrong(data->after) + data->arenas[1].wrong(data->after) == 0;
              }};
}

void add_ragged(std::vector<Case>& cases) {
  for (const Method method : {Method::stream, Method::direct, Method::phased, Method::cyclic})
    cases.push_back({std::string("Ragged_") + to_string(method), [=](Throwing& throwing) {
                       return ragged(method, Callback::progress, throwing);
                     }});
  cases.push_back({"Ragged_available_bytes", [](Throwing& throwing) {
                     return ragged(Method::phased, Callback::available_bytes, throwing);
                   }});
}

constexpr std::int64_t each = 400;  ///< elements for every rank

Operation alltoall(AlltoallMethod method, bool calls_c, Throwing& throwing) {
  const auto data = std::make_shared<std::vector<int>>(static_cast<std::size_t>(each * size()));
  const std::vector<std::int64_t> counts(static_cast<std::size_t>(size()), each);
  AlltoallOptions options{.budget_bytes = 20'000, .method = method};
  options.progress = [&](const Progress&) { throwing.called(); };
  Valet_Options chosen = Valet_Options_default();
  chosen.budget_bytes = options.budget_bytes;
  chosen.alltoall_method = static_cast<int>(method);
  chosen.progress = tell;
  chosen.progress_data = &throwing;
  const auto number = [](int from, int to) { return from * size() + to; };
  return {.name = "callback progress",
          .consequence = in_place,
          .prepare =
              [=] {
                for (std::size_t k = 0; k < data->size(); ++k)
                  (*data)[k] = number(rank(), static_cast<int>(k / each));
              },
          .call =
              [=] {
                const std::size_t bytes = data->size() * sizeof(int);
                if (calls_c)
                  require_success(Valet_Alltoallv_in_place(MPI_COMM_WORLD, data->data(), bytes,
                                                           counts.data(), nullptr, sizeof(int), 0,
                                                           &chosen, nullptr));
                else
                  alltoallv_in_place(MPI_COMM_WORLD, {data->data(), bytes, sizeof(int)}, counts, {},
                                     options);
              },
          .is_right =
              [=](bool) {
                bool right = true;
                for (std::size_t k = 0; k < data->size(); ++k)
                  right = right && (*data)[k] == number(static_cast<int>(k / each), rank());
                return right;
              }};
}

void add_alltoalls(std::vector<Case>& cases) {
  for (const AlltoallMethod method : {AlltoallMethod::stream, AlltoallMethod::bitonic,
                                      AlltoallMethod::pairwise, AlltoallMethod::direct})
    for (const bool calls_c : {false, true})
      cases.push_back({std::string("Alltoall_") + (calls_c ? "in_C_" : "") + to_string(method),
                       [=](Throwing& throwing) { return alltoall(method, calls_c, throwing); }});
}

/// From blocks to one by one, beside or in place; an element is its number in the array.
Operation redistribution(bool moves_in_place, Method method, Throwing& throwing) {
  const std::int64_t all = each * size();
  const auto source = std::make_shared<std::vector<std::int64_t>>(each);
  const auto target = std::make_shared<std::vector<std::int64_t>>(each);
  LayoutOptions options{.budget_bytes = 10'000, .method = method};
  options.progress = [&](const Progress&) { throwing.called(); };
  const GridLayout from{BlockCyclic({all}, {each}, {size()})};
  const GridLayout to{BlockCyclic({all}, {1}, {size()})};
  constexpr std::size_t bytes = each * sizeof(std::int64_t);
  return {.name = "callback progress",
          .consequence = in_place,
          .prepare = [=] { std::iota(source->begin(), source->end(), each * rank()); },
          .call =
              [=] {
                if (moves_in_place)
                  redistribute_in_place(MPI_COMM_WORLD, from, to, sizeof(std::int64_t),
                                        {.data = source->data(), .bytes = bytes}, options);
                else
                  redistribute(MPI_COMM_WORLD, from, to, sizeof(std::int64_t),
                               {.data = source->data(), .bytes = bytes},
                               {.data = target->data(), .bytes = bytes}, options);
              },
          .is_right =
              [=](bool) {
                const auto& moved = moves_in_place ? *source : *target;
                bool right = true;
                for (std::size_t k = 0; k < moved.size(); ++k)
                  right = right && moved[k] == static_cast<std::int64_t>(k) * size() + rank();
                return right;
              }};
}

void add_redistributions(std::vector<Case>& cases) {
  cases.push_back({"Redistribute", [](Throwing& throwing) {
                     return redistribution(false, Method::automatic, throwing);
                   }});
  for (const Method method : {Method::stream, Method::direct, Method::phased, Method::cyclic})
    cases.push_back({std::string("Redistribute_in_place_") + to_string(method),
                     [=](Throwing& throwing) { return redistribution(true, method, throwing); }});
}

std::vector<Case> cases() {
  std::vector<Case> all;
  add_migrations(all);
  add_ragged(all);
  add_alltoalls(all);
  add_redistributions(all);
  return all;
}

class ThrowingCallback : public testing::TestWithParam<Case> {};

TEST_P(ThrowingCallback, IsReportedOnAllRanksWithAllBlocksInPlace) {
  if (size() == 1 && GetParam().name.starts_with("Ragged"))
    GTEST_SKIP() << "where no block leaves nothing is told";
  Throwing throwing;
  EXPECT_GE(fail_at_every_call(throwing, GetParam().make(throwing)), 1);
}

INSTANTIATE_TEST_SUITE_P(Operations, ThrowingCallback, testing::ValuesIn(cases()), name_of_case);

}  // namespace
}  // namespace valet::test
