// SPDX-License-Identifier: BSD-3-Clause
#include "rebalancer/zoltan_partition.hpp"

#include "base/diagnose.hpp"
#include "base/names.hpp"
#include "mpi/agreement.hpp"
#include "mpi/check.hpp"
#include "rebalancer/queries.hpp"
#include "rebalancer/unit_bytes.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>
#include <sys/resource.h>
#include <utility>

namespace valet::zoltan {
namespace {

using rebalance::Basis;
using rebalance::OrderRule;
using rebalance::PartRanks;

constexpr std::array methods{"RCB",   "RIB",        "HSFC", "BLOCK",  "CYCLIC", "BLOCK_CYCLIC",
                             "GRAPH", "HYPERGRAPH", "HIER", "RANDOM", "REFTREE"};

/// The most memory that this process ever had.
std::uint64_t most_resident_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
}

/// @param objects  That this rank gave. Where it gave none Zoltan may allocate no bytes, and take
///                 that for a failure: at the very end, where parts are asked for and nothing
///                 changes.
/// @param bytes    What Zoltan takes for them.
std::optional<Diagnostic> failure_of(int code, std::uint64_t objects, std::uint64_t bytes) {
  if (code == ZOLTAN_MEMERR && objects > 0)
    return diagnose(ErrorCode::out_of_memory, "Zoltan found no memory to partition the ", objects,
                    " objects or cells of this rank; it needs about ", (bytes >> 20U) + 1,
                    " MiB here");
  if (code == ZOLTAN_FATAL)
    return invalid(
        "Zoltan_LB_Partition failed and said why on standard error; check the method and "
        "the parameters");
  return std::nullopt;
}

Basis basis_of(const std::string& method) {
  if (method == "RCB" || method == "RIB" || method == "HSFC") return Basis::coordinates;
  if (method == "BLOCK" || method == "RANDOM" || method == "CYCLIC" || method == "BLOCK_CYCLIC")
    return Basis::order;
  return Basis::relations;
}

constexpr int integers = 6;

/// Every integer becomes 1 of what some call was not given whole.
void note_pieces(void* in, void* inout, int* count, MPI_Datatype* /*type*/) {
  const int* const other = static_cast<int*>(in);
  int* const mine = static_cast<int*>(inout);
  for (int k = 0; k < *count; ++k)
    mine[k] = *count != integers || other[k] != 0 || mine[k] != 0 ? 1 : 0;
}

/// Parts of the same weight, in the order of ranks and slots.
void cut_by_order(const mpi::Channel& communicator, const ZoltanWeights& weights,
                  const PartRanks& part_ranks, std::span<int> ranks, std::span<int> parts) {
  double own = 0;
  for (std::uint64_t k = 0; k < weights.objects().count; ++k) own += weights[k];
  double sum = own;
  double before = 0;
  mpi::sum(communicator, std::span(&sum, 1));
  mpi::sum_of_lower(communicator, std::span(&own, 1), std::span(&before, 1));
  for (std::uint64_t k = 0; k < weights.objects().count; ++k) {
    const double weight = weights[k];
    const double part = std::floor((before + weight / 2) / sum * part_ranks.count());
    before += weight;
    const int number = std::min(static_cast<int>(part), part_ranks.count() - 1);
    ranks[k] = part_ranks.rank_of(number, k);
    if (parts.size() > 0) parts[k] = number;
  }
}

}  // namespace

std::int64_t method_number(const std::string& method) {
  return std::find(methods.begin(), methods.end(), method) - methods.begin();
}

std::string method_name(std::int64_t number) {
  const auto index = static_cast<std::size_t>(number);
  return index < methods.size() ? methods[index] : "none";
}

std::optional<Diagnostic> check_method(const std::string& method) {
  if (method_number(valet::detail::upper_case(method)) < std::ssize(methods)) return std::nullopt;
  std::string names;
  for (const char* const name : methods)
    names += (names.empty() ? "" : name == methods.back() ? " or " : ", ") + std::string(name);
  return invalid("there is no method '", method, "'; choose ", names);
}

std::optional<Diagnostic> check_parts(std::span<const int> parts, int count, const char* whose) {
  if (count < 1) return invalid("NUM_LOCAL_PARTS is 0 on all ranks; give one of them a part");
  const auto found =
      std::ranges::find_if_not(parts, [&](int part) { return part >= 0 && part < count; });
  if (found == parts.end()) return std::nullopt;
  return invalid(whose, found - parts.begin(), " is in part ", *found,
                 ", but there are parts 0 to ", count - 1,
                 "; set NUM_GLOBAL_PARTS or NUM_LOCAL_PARTS");
}

std::optional<Diagnostic> check_makes_parts(const PartitionSetup& setup) {
  if (!setup.parts.are_given) return std::nullopt;
  if (setup.is_own_order())
    return invalid(
        "blocks of objects go to ranks, not to parts; leave NUM_GLOBAL_PARTS and NUM_LOCAL_PARTS "
        "out, or take CYCLIC with blocks of one object");
  if (setup.method == "HIER")  // Zoltan would abort
    return invalid(
        "HIER makes one part for each rank; leave out NUM_GLOBAL_PARTS and NUM_LOCAL_PARTS, or "
        "take another method");
  return std::nullopt;
}

std::optional<Diagnostic> set_parameter_of(Zoltan_Struct* zoltan, const char* name,
                                           const std::string& value) {
  if (Zoltan_Set_Param(zoltan, name, value.c_str()) == ZOLTAN_OK) return std::nullopt;
  return invalid("Zoltan does not take the parameter ", name, " = ", value,
                 "; check its name and its value in Zoltan's manual");
}

std::optional<Diagnostic> check_whole_reductions(const mpi::Channel& communicator) {
  std::array<int, integers> in_pieces{};
  MPI_Op operation = MPI_OP_NULL;
  mpi::check(MPI_Op_create(note_pieces, 1, &operation), "MPI_Op_create");
  const int code = MPI_Allreduce(MPI_IN_PLACE, in_pieces.data(), integers, MPI_INT, operation,
                                 communicator.get());
  MPI_Op_free(&operation);
  mpi::check(code, "MPI_Allreduce");
  if (std::ranges::count(in_pieces, 0) == integers) return std::nullopt;
  return Diagnostic{
      ErrorCode::invalid_communicator,
      "MPI applies an operation of the application to less than the six integers of a "
      "reduction; Zoltan_LB_Partition needs all at once and would overwrite memory: "
      "use another MPI, or another algorithm for its MPI_Allreduce"};
}

std::optional<rebalance::OrderRule> order_rule_of(const PartitionSetup& setup,
                                                  bool has_parameters) {
  if (basis_of(setup.method) != Basis::order || setup.method == "RANDOM") return std::nullopt;
  return OrderRule{setup.is_own_order() ? OrderRule::Asked::never
                   : has_parameters     ? OrderRule::Asked::always
                                        : OrderRule::Asked::if_it_may_know_more,
                   setup.deals_blocks(), setup.block_size, setup.ranks, setup.tiles};
}

void take_parameters(const MigrationParameters& parameters, rebalance::Settings& settings) {
  settings.migration = parameters.options;
  settings.granularity = parameters.granularity;
  settings.when_infeasible = parameters.when_infeasible;
  settings.is_reported = !parameters.report.empty();
}

ZoltanPartition::ZoltanPartition(Zoltan_Struct* zoltan, PartitionSetup setup)
    : zoltan_(zoltan),
      setup_(std::move(setup)),
      bisects_(setup_.method == "RCB" || setup_.method == "RIB"),
      follows_curve_(setup_.method == "HSFC" && !setup_.reduces_dimensions) {
  // Zoltan lists only the parts that change, unless all of them are asked for.
  if (setup_.lists == nullptr) setup_.return_lists = setup_.parts.are_given ? "PARTS" : "EXPORT";
  traits_.name = "Zoltan";
  // What the application tells Zoltan itself is not read here.
  traits_.basis =
      setup_.tells_objects || setup_.tells_geometry ? Basis::relations : basis_of(setup_.method);
  if (follows_curve_) traits_.cells = rebalance::OctreeShape::hilbert;
  traits_.parts = setup_.parts;
  traits_.largest_id = std::numeric_limits<ZOLTAN_ID_TYPE>::max();
  if (setup_.method != "RCB")
    traits_.one_weight =
        "balance_count needs the method RCB: " + setup_.method + " balances one weight only";
  traits_.may_know_more = setup_.may_know_more;
  traits_.knows_weights = !setup_.tells_objects;
}

std::optional<Diagnostic> ZoltanPartition::prepare(const PartRanks& part_ranks,
                                                   const rebalance::Units& units) const {
  // RCB and RIB wait for ever where a rank with several parts gets no object: it allocates no bytes
  // for them, takes that for a failure and leaves the other ranks behind.
  if (setup_.keeps_planes && part_ranks.shares_ranks())
    return invalid(
        "RCB_RECTILINEAR_BLOCKS with several parts on a rank; a rank could get no object, and "
        "Zoltan would wait for ever: make a part for each rank, or leave it out");
  if (auto diagnostic = check_parts(setup_.parts_before, part_ranks.count(), "the object in slot "))
    return diagnostic;
  const auto set = [&](const char* name, const std::string& value) {
    return set_parameter_of(zoltan_, name, value);
  };
  if (auto diagnostic = set("RETURN_LISTS", setup_.return_lists)) return diagnostic;
  if (setup_.tells_objects) return std::nullopt;
  if (auto diagnostic = set("NUM_LID_ENTRIES", "1")) return diagnostic;  // the slot
  if (auto diagnostic = set("OBJ_WEIGHT_DIM", std::to_string(units.weight_dimensions)))
    return diagnostic;
  if (auto diagnostic = set("NUM_GID_ENTRIES", std::to_string(units.objects.id_entries())))
    return diagnostic;
  return units.are_cells ? set("KEEP_CUTS", "1") : std::nullopt;
}

bool ZoltanPartition::partition(const mpi::Channel& communicator, Ledger& ledger,
                                const PartRanks& part_ranks, const rebalance::Units& units,
                                std::span<int> ranks, std::span<int> parts) {
  std::optional<Diagnostic> mine = prepare(part_ranks, units);
  const bool is_geometric = traits_.basis != Basis::relations && units.objects.coordinates.size > 0;
  weight_dimensions_ = units.weight_dimensions;
  if (units.are_cells) setup_.parts_before = {};  // they are those of objects
  ZoltanWeights weights(units.objects, units.weight_dimensions > 0 ? units.total_weight : 0,
                        is_geometric);
  Queries queries(zoltan_, {weights, setup_.parts_before});
  if (!mine) mine = queries.ask_ahead(ledger, basis_of(setup_.method) == Basis::relations);
  mpi::Agreement agreement;
  agreement.equal({"the number of coordinates that ZOLTAN_NUM_GEOM_FN tells"},
                  queries.dimensions());
  agreement.run(communicator, mine);
  if (follows_curve_)
    weights.weigh_end_of_curve(communicator, units.range, part_ranks.count(), setup_.each_object);
  const bool is_safe =
      !bisects_ || !part_ranks.shares_ranks() || weights.limit(communicator, part_ranks.count());
  if (!is_safe && setup_.lists != nullptr)
    mpi::agree(communicator,
               invalid("fewer than two objects for a part, with which ", setup_.method,
                       " may never finish, and no lists without it; set RETURN_LISTS NONE"));
  if (is_safe)
    ask(communicator, ledger, part_ranks, weights, ranks, parts);
  else
    cut_by_order(communicator, weights, part_ranks, ranks, parts);
  return is_safe;
}

std::optional<rebalance::Target> ZoltanPartition::target_at(const rebalance::Point& before) const {
  rebalance::Point point = before;  // Zoltan takes what it could write to
  rebalance::Target target;
  if (Zoltan_LB_Point_PP_Assign(zoltan_, point.data(), &target.rank, &target.part) != ZOLTAN_OK)
    return std::nullopt;
  return target;
}

/// What Zoltan will take on this rank. RCB and RIB bring each rank about as many objects.
std::uint64_t ZoltanPartition::zoltan_bytes(const mpi::Channel& communicator,
                                            const PartRanks& part_ranks,
                                            const Objects& objects) const {
  auto all = static_cast<double>(objects.count);
  if (bisects_) mpi::sum(communicator, std::span(&all, 1));
  const auto mean = static_cast<std::uint64_t>(std::ceil(all / communicator.size()));
  UnitForm unit{.method = setup_.method,
                .lists = setup_.return_lists,
                .id_entries = objects.id_entries(),
                .weights = weight_dimensions_,
                .several_parts = part_ranks.shares_ranks()};
  if (objects.coordinates.size > 0) unit.dimensions = objects.coordinates.size;
  return std::max(objects.count, mean) * unit_bytes(unit);
}

void ZoltanPartition::ask(const mpi::Channel& communicator, Ledger& ledger,
                          const PartRanks& part_ranks, const ZoltanWeights& weights,
                          std::span<int> ranks, std::span<int> parts) {
  was_asked_ = true;
  const std::uint64_t count = weights.objects().count;
  const std::uint64_t bytes = zoltan_bytes(communicator, part_ranks, weights.objects());
  ledger.add(bytes);
  const std::uint64_t peak_before = most_resident_bytes();
  StockLists own;
  StockLists& lists = setup_.lists != nullptr ? *setup_.lists : own;
  const int code = lists.partition(zoltan_);
  // What a graph takes nobody knows before: what the process grew by, where that is more.
  const std::uint64_t growth =
      traits_.basis == Basis::relations ? most_resident_bytes() - peak_before : 0;
  if (growth > bytes) ledger.add(growth - bytes);
  ledger.subtract(std::max(bytes, growth));
  std::optional<Diagnostic> diagnostic = weights.objects().diagnostic();
  if (!diagnostic) diagnostic = failure_of(code, count, bytes);
  if (!diagnostic) {
    std::ranges::fill(ranks, communicator.rank());
    std::ranges::fill(parts, part_ranks.part_of(communicator.rank()));
    if (setup_.parts_before.size() >= parts.size())
      std::copy_n(setup_.parts_before.begin(), parts.size(), parts.begin());
    diagnostic = lists.write(ranks, parts);
  }
  mpi::agree(communicator, diagnostic);
}

}  // namespace valet::zoltan
