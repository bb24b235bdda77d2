// SPDX-License-Identifier: BSD-3-Clause
#include "zoltan_partition.hpp"

#include "base/diagnose.hpp"
#include "base/names.hpp"
#include "mpi/agreement.hpp"
#include "mpi/check.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <span>
#include <sstream>
#include <sys/resource.h>
#include <utility>

namespace valet::zoltan {
namespace {

using rebalance::Basis;
using rebalance::OrderRule;
using rebalance::PartRanks;

/// What Zoltan allocates: 93 with RCB and RIB, 78 with HSFC, measured.
constexpr std::uint64_t bytes_of_object = 100;

/// Objects whose coordinates are read at a time.
constexpr std::size_t numbers_at_a_time = 512;

/// Parameters that the Rebalancer sets itself, with what to do instead.
struct Reserved {
  const char* name;
  const char* remedy;
};
constexpr std::array<Reserved, 7> reserved_parameters{
    {{"LB_METHOD", "use RebalancerOptions::method"},
     {"IMBALANCE_TOL", "use RebalancerOptions::imbalance_tolerance"},
     {"OBJ_WEIGHT_DIM", "give weights(), and balance_count if wanted"},
     {"NUM_GID_ENTRIES", "leave it out: global_ids() says it"},
     {"NUM_LID_ENTRIES", "leave it out: local ids are slots"},
     {"RETURN_LISTS", "leave it out: partition() returns all"},
     {"AUTO_MIGRATE", "leave it out: Valet migrates"}}};

constexpr std::array methods{"RCB",   "RIB",        "HSFC", "BLOCK",  "CYCLIC", "BLOCK_CYCLIC",
                             "GRAPH", "HYPERGRAPH", "HIER", "RANDOM", "REFTREE"};

/// The index of a method in `methods`, and their number for one that is refused.
std::int64_t method_number(const std::string& method) {
  return std::find(methods.begin(), methods.end(), method) - methods.begin();
}

std::string method_name(std::int64_t number) {
  const auto index = static_cast<std::size_t>(number);
  return index < methods.size() ? methods[index] : "none";
}

const ZoltanWeights& weights_of(void* data) { return *static_cast<const ZoltanWeights*>(data); }
const Objects& objects_of(void* data) { return weights_of(data).objects(); }

int number_of_objects(void* data, int* error) {
  *error = ZOLTAN_OK;
  return static_cast<int>(objects_of(data).count);
}

/// Zero where it cannot be read. Zoltan is not told: other ranks would wait for this one.
double number_of(const Objects& objects, const Columns& columns, std::size_t c,
                 std::uint64_t slot) {
  double number = 0;
  objects.failure.attempt(Objects::activity, [&] { number = columns.number(c, slot); });
  return number;
}

void list_of_objects(void* data, int, int, ZOLTAN_ID_PTR global_ids, ZOLTAN_ID_PTR local_ids,
                     int weight_dimensions, float* weights, int* error) {
  const Objects& objects = objects_of(data);
  const auto dimensions = static_cast<std::size_t>(weight_dimensions);
  for (std::uint64_t k = 0; k < objects.count; ++k) {
    if (objects.ids.size == 0) {
      *global_ids++ = static_cast<ZOLTAN_ID_TYPE>(objects.rank);
      *global_ids++ = static_cast<ZOLTAN_ID_TYPE>(k);
    }
    for (std::size_t e = 0; e < objects.ids.size; ++e)
      *global_ids++ = static_cast<ZOLTAN_ID_TYPE>(number_of(objects, objects.ids, e, k));
    local_ids[k] = static_cast<ZOLTAN_ID_TYPE>(k);
    for (std::size_t d = 0; d < dimensions; ++d)
      weights[dimensions * k + d] =
          d == 0                     ? weights_of(data)[k]
          : d < objects.weights.size ? static_cast<float>(number_of(objects, objects.weights, d, k))
                                     : 1.0F;
  }
  *error = ZOLTAN_OK;
}

int number_of_coordinates(void* data, int* error) {
  *error = ZOLTAN_OK;
  return static_cast<int>(objects_of(data).coordinates.size);
}

void list_of_coordinates(void* data, int, int, int count, ZOLTAN_ID_PTR, ZOLTAN_ID_PTR local_ids,
                         int dimensions, double* coordinates, int* error) {
  const Objects& objects = objects_of(data);
  std::array<std::uint32_t, numbers_at_a_time> slots{};
  std::array<Columns::Numbers, numbers_at_a_time> points{};
  for (int first = 0; first < count;) {
    const int read = std::min(count - first, static_cast<int>(numbers_at_a_time));
    std::copy_n(local_ids + first, read, slots.begin());
    const std::span<const std::uint32_t> list(slots.data(), static_cast<std::size_t>(read));
    objects.failure.attempt(Objects::activity,
                            [&] { objects.coordinates.gather(list, points.data()); });
    for (std::size_t k = 0; k < list.size(); ++k)
      coordinates = std::copy_n(points[k].begin(), dimensions, coordinates);
    first += read;
  }
  *error = ZOLTAN_OK;
}

/// Lets Zoltan ask for these objects while it lives, and for none afterwards. Other queries are the
/// application's.
class Queries {
 public:
  Queries(Zoltan_Struct* zoltan, const ZoltanWeights& weights)
      : zoltan_(zoltan), with_coordinates_(weights.objects().coordinates.size > 0) {
    void* const data = const_cast<void*>(static_cast<const void*>(&weights));
    Zoltan_Set_Num_Obj_Fn(zoltan_, number_of_objects, data);
    Zoltan_Set_Obj_List_Fn(zoltan_, list_of_objects, data);
    if (with_coordinates_) set_coordinates(number_of_coordinates, list_of_coordinates, data);
  }
  Queries(const Queries&) = delete;
  Queries& operator=(const Queries&) = delete;
  ~Queries() {
    Zoltan_Set_Num_Obj_Fn(zoltan_, nullptr, nullptr);
    Zoltan_Set_Obj_List_Fn(zoltan_, nullptr, nullptr);
    if (with_coordinates_) set_coordinates(nullptr, nullptr, nullptr);
  }

 private:
  void set_coordinates(ZOLTAN_NUM_GEOM_FN* dimensions, ZOLTAN_GEOM_MULTI_FN* coordinates,
                       void* data) {
    Zoltan_Set_Num_Geom_Fn(zoltan_, dimensions, data);
    Zoltan_Set_Geom_Multi_Fn(zoltan_, coordinates, data);
  }

  Zoltan_Struct* zoltan_;
  bool with_coordinates_;
};

/// What Zoltan_LB_Partition allocates.
class Lists {
 public:
  Lists() = default;
  Lists(const Lists&) = delete;
  Lists& operator=(const Lists&) = delete;
  ~Lists() {
    Zoltan_LB_Free_Part(&import_gids_, &import_lids_, &import_procs_, &import_parts_);
    Zoltan_LB_Free_Part(&export_gids_, &export_lids_, &export_procs_, &export_parts_);
  }

  int partition(Zoltan_Struct* zoltan) {
    int changes = 0;
    int gids = 0;
    int lids = 0;
    return Zoltan_LB_Partition(zoltan, &changes, &gids, &lids, &imports_, &import_gids_,
                               &import_lids_, &import_procs_, &import_parts_, &exports_,
                               &export_gids_, &export_lids_, &export_procs_, &export_parts_);
  }

  /// To the entries of the objects' slots.
  void write_ranks(std::span<int> ranks) const { write(export_procs_, ranks); }
  void write_parts(std::span<int> parts) const { write(export_parts_, parts); }

 private:
  void write(const int* from, std::span<int> to) const {
    for (int k = 0; k < exports_; ++k) to[export_lids_[k]] = from[k];
  }

  int imports_ = 0;
  ZOLTAN_ID_PTR import_gids_ = nullptr;
  ZOLTAN_ID_PTR import_lids_ = nullptr;
  int* import_procs_ = nullptr;
  int* import_parts_ = nullptr;
  int exports_ = 0;
  ZOLTAN_ID_PTR export_gids_ = nullptr;
  ZOLTAN_ID_PTR export_lids_ = nullptr;
  int* export_procs_ = nullptr;
  int* export_parts_ = nullptr;
};

/// All ranks have to give the same parameters: one of a single rank, such as KEEP_CUTS, can make it
/// call MPI where the others do not.
std::int64_t hash_of_parameters(const RebalancerOptions& options) {
  std::uint64_t hash = 14695981039346656037U;  // FNV-1a
  const auto add = [&](const std::string& text) {
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
    hash = (hash ^ 0x100U) * 1099511628211U;  // no character
  };
  for (const auto& [name, value] : options.parameters) {
    const std::string upper = valet::detail::upper_case(name);
    if (upper == "NUM_LOCAL_PARTS") continue;  // each rank says its own
    add(upper);
    add(value);
  }
  return static_cast<std::int64_t>(hash >> 1U);
}

/// The most memory that this process ever had.
std::uint64_t most_resident_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
}

/// @param objects  That this rank gave. Where it gave none Zoltan may allocate no bytes, and take
///                 that for a failure: at the very end, where parts are asked for and nothing
///                 changes.
std::optional<Diagnostic> failure_of(int code, std::uint64_t objects) {
  if (code == ZOLTAN_MEMERR && objects > 0)
    return diagnose(ErrorCode::out_of_memory, "Zoltan found no memory to partition the ", objects,
                    " objects or cells of this rank; it needs about ",
                    (bytes_of_object * objects >> 20U) + 1, " MiB here");
  if (code == ZOLTAN_FATAL)
    return invalid(
        "Zoltan_LB_Partition failed and said why on standard error; check the method and "
        "the parameters");
  return std::nullopt;
}

std::optional<Diagnostic> check_method(const std::string& method) {
  if (method_number(valet::detail::upper_case(method)) < std::ssize(methods)) return std::nullopt;
  std::string names;
  for (const char* const name : methods)
    names += (names.empty() ? "" : name == methods.back() ? " or " : ", ") + std::string(name);
  return invalid("there is no method '", method, "'; choose ", names);
}

bool deals_blocks(const std::string& method) {
  return method == "CYCLIC" || method == "BLOCK_CYCLIC";
}

/// Whether Zoltan has no method for it.
bool is_own_order(const RebalancerOptions& options, const std::string& method) {
  return options.block_size > 1 || method == "BLOCK_CYCLIC";
}

Basis basis_of(const std::string& method) {
  if (method == "RCB" || method == "RIB" || method == "HSFC") return Basis::coordinates;
  if (method == "BLOCK" || method == "RANDOM" || deals_blocks(method)) return Basis::order;
  return Basis::relations;
}

std::optional<Diagnostic> check_blocks(const RebalancerOptions& options, bool has_parts) {
  if (options.block_size == 0) return invalid("blocks of 0 objects; give a block_size above");
  const std::string method = valet::detail::upper_case(options.method);
  const bool is_own = is_own_order(options, method);
  if (is_own && !deals_blocks(method))
    return invalid("a block_size of ", options.block_size, " with method '", options.method,
                   "'; it is for BLOCK_CYCLIC and CYCLIC");
  if (is_own && has_parts)
    return invalid(
        "blocks of objects go to ranks, not to parts; leave NUM_GLOBAL_PARTS and "
        "NUM_LOCAL_PARTS out, or take CYCLIC with block_size 1");
  return std::nullopt;
}

constexpr int integers = 6;

/// Every integer becomes 1 of what some call was not given whole.
void note_pieces(void* in, void* inout, int* count, MPI_Datatype* /*type*/) {
  const int* const other = static_cast<int*>(in);
  int* const mine = static_cast<int*>(inout);
  for (int k = 0; k < *count; ++k)
    mine[k] = *count != integers || other[k] != 0 || mine[k] != 0 ? 1 : 0;
}

/// Finds out whether MPI hands the six integers of a reduction to an operation of the application
/// all at once. Zoltan_LB_Build_PartDist reads and writes six whatever it is given; an MPI may
/// apply an operation to some at a time. Collective; a reduction.
/// @return What is wrong, on all ranks, if anything.
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

rebalance::Settings settings_of(const RebalancerOptions& options) {
  rebalance::Settings settings{
      options.imbalance_tolerance, options.balance_count, options.granularity, std::nullopt,
      options.when_infeasible,     options.grow,          options.grow_ragged, options.migration};
  const std::string method = valet::detail::upper_case(options.method);
  if (basis_of(method) == Basis::order && method != "RANDOM")
    settings.order_rule = {is_own_order(options, method) ? OrderRule::Asked::never
                           : options.parameters.empty()  ? OrderRule::Asked::if_it_is_told_more
                                                         : OrderRule::Asked::always,
                           deals_blocks(method), options.block_size};
  return settings;
}

void ZoltanPartition::Destroy::operator()(Zoltan_Struct* zoltan) const {
  // Zoltan frees a communicator; after MPI_Finalize that would end the program.
  int finalized = 0;
  MPI_Finalized(&finalized);
  if (finalized == 0) Zoltan_Destroy(&zoltan);
}

ZoltanPartition::ZoltanPartition(const mpi::Channel& communicator, const RebalancerOptions& options,
                                 const rebalance::Settings& settings)
    : method_(valet::detail::upper_case(options.method)),
      bisects_(method_ == "RCB" || method_ == "RIB"),
      follows_curve_(method_ == "HSFC"),
      is_stock_(options.granularity == 1U) {
  traits_.name = "Zoltan";
  traits_.basis = basis_of(method_);
  if (follows_curve_) traits_.cells = rebalance::OctreeShape::hilbert;
  traits_.largest_id = std::numeric_limits<ZOLTAN_ID_TYPE>::max();
  if (method_ != "RCB")
    traits_.one_weight =
        "balance_count needs the method RCB: " + method_ + " balances one weight only";
  // MPI is initialised, which is all that this call notes; it may be repeated.
  float version = 0;
  std::optional<Diagnostic> diagnostic;
  if (Zoltan_Initialize(0, nullptr, &version) == ZOLTAN_OK)
    zoltan_.reset(Zoltan_Create(communicator.get()));
  if (zoltan_ == nullptr)
    diagnostic = Diagnostic{ErrorCode::out_of_memory, "Zoltan could not be initialised"};
  else
    diagnostic = set_all(options, settings);
  if (auto found = check_whole_reductions(communicator)) diagnostic = std::move(found);
  mpi::Agreement agreement;
  agreement.equal({"whether there are NUM_GLOBAL_PARTS or NUM_LOCAL_PARTS", mpi::yes_or_no},
                  has_parts());
  agreement.equal({"RebalancerOptions::block_size"}, options.block_size);
  agreement.equal({"RebalancerOptions::method", method_name}, method_number(method_));
  settings.join(agreement);
  agreement.equal({"RebalancerOptions::parameters", nullptr,
                   "give the same names and values in the same order on all ranks; only "
                   "NUM_LOCAL_PARTS may differ"},
                  hash_of_parameters(options));
  agreement.run(communicator, diagnostic);
}

std::optional<Diagnostic> ZoltanPartition::set(const std::string& name, const std::string& value) {
  if (Zoltan_Set_Param(zoltan_.get(), name.c_str(), value.c_str()) == ZOLTAN_OK)
    return std::nullopt;
  return invalid("Zoltan does not take the parameter ", name, " = ", value,
                 "; check its name and its value in Zoltan's manual");
}

std::optional<Diagnostic> ZoltanPartition::set_all(const RebalancerOptions& options,
                                                   const rebalance::Settings& settings) {
  if (auto diagnostic = check_method(options.method)) return diagnostic;
  if (auto diagnostic = settings.diagnostic()) return diagnostic;
  std::ostringstream tolerance;
  tolerance.precision(std::numeric_limits<float>::max_digits10);
  tolerance << options.imbalance_tolerance;
  const std::array<std::pair<const char*, std::string>, 4> own{
      {{"DEBUG_LEVEL", "0"},
       // Blocks are not Zoltan's business.
       {"LB_METHOD", deals_blocks(method_) ? "CYCLIC" : options.method},
       {"IMBALANCE_TOL", tolerance.str()},
       {"NUM_LID_ENTRIES", "1"}}};  // the slot
  for (const auto& [name, value] : own)
    if (auto diagnostic = set(name, value)) return diagnostic;
  for (const auto& [name, value] : options.parameters)
    if (auto diagnostic = set_user_parameter(name, value)) return diagnostic;
  if (auto diagnostic = check_blocks(options, has_parts())) return diagnostic;
  if (has_parts() && method_ == "HIER")  // Zoltan would abort
    return invalid(
        "HIER makes one part for each rank; leave out NUM_GLOBAL_PARTS and "
        "NUM_LOCAL_PARTS, or take another method");
  // Zoltan lists only the parts that change, unless all of them are asked for.
  return set("RETURN_LISTS", has_parts() ? "PARTS" : "EXPORT");
}

std::optional<Diagnostic> ZoltanPartition::set_user_parameter(const std::string& name,
                                                              const std::string& value) {
  const std::string upper = valet::detail::upper_case(name);
  for (const Reserved& reserved : reserved_parameters)
    if (upper == reserved.name)
      return invalid("the parameter ", name, " is set by the Rebalancer; ", reserved.remedy);
  if (upper == "NUM_GLOBAL_PARTS" || upper == "NUM_LOCAL_PARTS") {
    traits_.parts.are_given = true;
    const bool is_global = upper == "NUM_GLOBAL_PARTS";
    const long count = std::strtol(value.c_str(), nullptr, 10);
    if (count < (is_global ? 1 : 0) || count > std::numeric_limits<int>::max())
      return invalid("the parameter ", name, " = ", value, "; give a whole number, at least ",
                     (is_global ? "1" : "0"));
    (is_global ? traits_.parts.global : traits_.parts.local) = static_cast<int>(count);
  }
  if (upper == "RCB_RECTILINEAR_BLOCKS") keeps_planes_ = value != "0";
  if (upper == "REDUCE_DIMENSIONS" && value != "0") follows_curve_ = false;  // in other coordinates
  return set(name, value);
}

/// RCB and RIB wait for ever where a rank with several parts gets no object: it allocates no bytes
/// for them, takes that for a failure and leaves the other ranks behind.
std::optional<Diagnostic> ZoltanPartition::check_parts(const PartRanks& part_ranks) const {
  if (!keeps_planes_ || !part_ranks.shares_ranks()) return std::nullopt;
  return invalid(
      "RCB_RECTILINEAR_BLOCKS with several parts on a rank; a rank could get no object, "
      "and Zoltan would wait for ever: make a part for each rank, or leave it out");
}

bool ZoltanPartition::partition(const mpi::Channel& communicator, Ledger& ledger,
                                const PartRanks& part_ranks, const rebalance::Units& units,
                                std::span<int> ranks, std::span<int> parts) {
  auto diagnostic = check_parts(part_ranks);
  if (!diagnostic) diagnostic = set("OBJ_WEIGHT_DIM", std::to_string(units.weight_dimensions));
  if (!diagnostic) diagnostic = set("NUM_GID_ENTRIES", std::to_string(units.objects.id_entries()));
  if (!diagnostic && units.are_cells) diagnostic = set("KEEP_CUTS", "1");
  mpi::agree(communicator, diagnostic);
  const bool is_geometric = traits_.basis != Basis::relations && units.objects.coordinates.size > 0;
  ZoltanWeights weights(units.objects, units.weight_dimensions > 0 ? units.total_weight : 0,
                        is_geometric);
  if (follows_curve_)
    weights.weigh_end_of_curve(communicator, units.range, part_ranks.count(), is_stock_);
  const bool is_safe =
      !bisects_ || !part_ranks.shares_ranks() || weights.limit(communicator, part_ranks.count());
  if (is_safe)
    ask(communicator, ledger, weights, ranks, parts);
  else
    cut_by_order(communicator, weights, part_ranks, ranks, parts);
  return is_safe;
}

std::optional<rebalance::Target> ZoltanPartition::target_at(const rebalance::Point& before) const {
  rebalance::Point point = before;  // Zoltan takes what it could write to
  rebalance::Target target;
  if (Zoltan_LB_Point_PP_Assign(zoltan_.get(), point.data(), &target.rank, &target.part) !=
      ZOLTAN_OK)
    return std::nullopt;
  return target;
}

void ZoltanPartition::ask(const mpi::Channel& communicator, Ledger& ledger,
                          const ZoltanWeights& weights, std::span<int> ranks,
                          std::span<int> parts) {
  const Queries queries(zoltan_.get(), weights);
  const std::uint64_t count = weights.objects().count;
  const std::uint64_t bytes = bytes_of_object * count;
  ledger.add(bytes);
  const std::uint64_t peak_before = most_resident_bytes();
  Lists lists;
  const int code = lists.partition(zoltan_.get());
  // What a graph takes nobody knows before: what the process grew by, where that is more.
  const std::uint64_t growth =
      traits_.basis == Basis::relations ? most_resident_bytes() - peak_before : 0;
  if (growth > bytes) ledger.add(growth - bytes);
  ledger.subtract(std::max(bytes, growth));
  mpi::agree(communicator, failure_of(code, count));
  std::ranges::fill(ranks, communicator.rank());
  lists.write_ranks(ranks);
  if (has_parts()) lists.write_parts(parts);
}

}  // namespace valet::zoltan
