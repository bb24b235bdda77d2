// SPDX-License-Identifier: BSD-3-Clause
#include "geometric_partition.hpp"

#include "base/names.hpp"
#include "mpi/agreement.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <sstream>

namespace valet::zoltan {
namespace {

// Global id: rank and local index. Local id: local index, which is the slot.
constexpr int gid_entries = 2;
constexpr int lid_entries = 1;

/// Parameters that the Rebalancer sets itself, with what to do instead.
struct Reserved {
  const char* name;
  const char* remedy;
};
constexpr std::array<Reserved, 9> reserved_parameters{
    {{"LB_METHOD", "use RebalancerOptions::method"},
     {"IMBALANCE_TOL", "use RebalancerOptions::imbalance_tolerance"},
     {"OBJ_WEIGHT_DIM", "give weights(), and balance_count if wanted"},
     {"NUM_GID_ENTRIES", "leave it out"},
     {"NUM_LID_ENTRIES", "leave it out"},
     {"RETURN_LISTS", "leave it out"},
     {"AUTO_MIGRATE", "leave it out: Valet migrates"},
     {"NUM_GLOBAL_PARTS", "leave it out: there is one part for each rank"},
     {"NUM_LOCAL_PARTS", "leave it out: there is one part for each rank"}}};

const Objects& objects_of(void* data) { return *static_cast<const Objects*>(data); }

int number_of_objects(void* data, int* error) {
  *error = ZOLTAN_OK;
  return static_cast<int>(objects_of(data).count);
}

void list_of_objects(void* data, int, int, ZOLTAN_ID_PTR global_ids, ZOLTAN_ID_PTR local_ids,
                     int weight_dimensions, float* weights, int* error) {
  const Objects& objects = objects_of(data);
  const auto dimensions = static_cast<std::size_t>(weight_dimensions);
  for (std::uint64_t k = 0; k < objects.count; ++k) {
    global_ids[2 * k] = static_cast<ZOLTAN_ID_TYPE>(objects.rank);
    global_ids[2 * k + 1] = static_cast<ZOLTAN_ID_TYPE>(k);
    local_ids[k] = static_cast<ZOLTAN_ID_TYPE>(k);
    for (std::size_t d = 0; d < dimensions; ++d)
      weights[dimensions * k + d] =
          d < objects.weights.size ? static_cast<float>(objects.weights.column[d][k]) : 1.0F;
  }
  *error = ZOLTAN_OK;
}

int number_of_coordinates(void* data, int* error) {
  *error = ZOLTAN_OK;
  return static_cast<int>(objects_of(data).coordinates.size);
}

void list_of_coordinates(void* data, int, int, int count, ZOLTAN_ID_PTR, ZOLTAN_ID_PTR local_ids,
                         int dimensions, double* coordinates, int* error) {
  const Columns& columns = objects_of(data).coordinates;
  for (int k = 0; k < count; ++k)
    for (int d = 0; d < dimensions; ++d)
      *coordinates++ = columns.column[static_cast<std::size_t>(d)][local_ids[k]];
  *error = ZOLTAN_OK;
}

/// Lets Zoltan ask for these objects while it lives, and for none afterwards.
class Queries {
 public:
  Queries(Zoltan_Struct* zoltan, const Objects& objects) : zoltan_(zoltan) {
    set(number_of_objects, list_of_objects, number_of_coordinates, list_of_coordinates,
        const_cast<void*>(static_cast<const void*>(&objects)));
  }
  Queries(const Queries&) = delete;
  Queries& operator=(const Queries&) = delete;
  ~Queries() { set(nullptr, nullptr, nullptr, nullptr, nullptr); }

 private:
  void set(ZOLTAN_NUM_OBJ_FN* objects, ZOLTAN_OBJ_LIST_FN* object_list,
           ZOLTAN_NUM_GEOM_FN* dimensions, ZOLTAN_GEOM_MULTI_FN* coordinates, void* data) {
    Zoltan_Set_Num_Obj_Fn(zoltan_, objects, data);
    Zoltan_Set_Obj_List_Fn(zoltan_, object_list, data);
    Zoltan_Set_Num_Geom_Fn(zoltan_, dimensions, data);
    Zoltan_Set_Geom_Multi_Fn(zoltan_, coordinates, data);
  }

  Zoltan_Struct* zoltan_;
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

  void write_exports(std::span<int> ranks) const {
    for (int k = 0; k < exports_; ++k) ranks[export_lids_[k]] = export_procs_[k];
  }

 private:
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

std::string text_of(double value) {
  std::ostringstream text;
  text << value;
  return text.str();
}

std::optional<Diagnostic> failure_of(int code) {
  if (code == ZOLTAN_MEMERR)
    return Diagnostic{
        ErrorCode::out_of_memory,
        "Zoltan found no memory for its partition; it needs about 100 bytes per object"};
  if (code == ZOLTAN_FATAL)
    return Diagnostic{
        ErrorCode::invalid_argument,
        "Zoltan_LB_Partition failed and said why on standard error; check the method and "
        "the parameters"};
  return std::nullopt;
}

/// Only methods that need no more than coordinates, which is all that is asked from the user.
std::optional<Diagnostic> check_method(const std::string& method) {
  const std::string name = valet::detail::upper_case(method);
  if (name == "RCB" || name == "RIB" || name == "HSFC" || !needs_coordinates(method))
    return std::nullopt;
  return Diagnostic{
      ErrorCode::invalid_argument,
      "the method '" + method +
          "' does not partition by coordinates or by the order of the objects; choose "
          "RCB, RIB, HSFC, BLOCK or CYCLIC"};
}

}  // namespace

bool needs_coordinates(const std::string& method) {
  const std::string name = valet::detail::upper_case(method);
  return name != "BLOCK" && name != "CYCLIC";
}

std::optional<Diagnostic> check_objects(const Objects& objects) {
  for (std::size_t c = 0; c < objects.coordinates.size; ++c)
    for (std::uint64_t k = 0; k < objects.count; ++k)
      if (const double value = objects.coordinates.column[c][k]; !std::isfinite(value))
        return Diagnostic{ErrorCode::invalid_argument,
                          "coordinate " + std::to_string(c) + " of the object in slot " +
                              std::to_string(k) + " is " + text_of(value) +
                              "; coordinates must be finite"};
  for (std::size_t c = 0; c < objects.weights.size; ++c)
    for (std::uint64_t k = 0; k < objects.count; ++k)
      if (const double value = objects.weights.column[c][k]; !std::isfinite(value) || value < 0)
        return Diagnostic{ErrorCode::invalid_argument,
                          "the weight of the object in slot " + std::to_string(k) + " is " +
                              text_of(value) + "; weights must be finite and at least 0"};
  return std::nullopt;
}

void GeometricPartition::Destroy::operator()(Zoltan_Struct* zoltan) const {
  // Zoltan frees a communicator; after MPI_Finalize that would end the program.
  int finalized = 0;
  MPI_Finalized(&finalized);
  if (finalized == 0) Zoltan_Destroy(&zoltan);
}

GeometricPartition::GeometricPartition(const mpi::Channel& communicator,
                                       const RebalancerOptions& options) {
  // MPI is initialised, so all this does is to note so, every time anew.
  float version = 0;
  std::optional<Diagnostic> diagnostic;
  if (Zoltan_Initialize(0, nullptr, &version) == ZOLTAN_OK)
    zoltan_.reset(Zoltan_Create(communicator.get()));
  if (zoltan_ == nullptr)
    diagnostic = Diagnostic{ErrorCode::out_of_memory, "Zoltan could not be initialised"};
  else
    diagnostic = set_all(options);
  mpi::agree(communicator, diagnostic);
}

std::optional<Diagnostic> GeometricPartition::set(const std::string& name,
                                                  const std::string& value) {
  if (Zoltan_Set_Param(zoltan_.get(), name.c_str(), value.c_str()) == ZOLTAN_OK)
    return std::nullopt;
  return Diagnostic{ErrorCode::invalid_argument,
                    "Zoltan does not take the parameter " + name + " = " + value +
                        "; check its name and its value in Zoltan's manual"};
}

std::optional<Diagnostic> GeometricPartition::set_all(const RebalancerOptions& options) {
  if (auto diagnostic = check_method(options.method)) return diagnostic;
  if (!(options.imbalance_tolerance > 1))
    return Diagnostic{ErrorCode::invalid_argument,
                      "an imbalance tolerance of " + text_of(options.imbalance_tolerance) +
                          "; it is largest over mean and must be above 1"};
  std::ostringstream tolerance;
  tolerance.precision(std::numeric_limits<float>::max_digits10);
  tolerance << options.imbalance_tolerance;
  const std::array<std::pair<const char*, std::string>, 6> own{
      {{"DEBUG_LEVEL", "0"},
       {"LB_METHOD", options.method},
       {"IMBALANCE_TOL", tolerance.str()},
       {"NUM_GID_ENTRIES", std::to_string(gid_entries)},
       {"NUM_LID_ENTRIES", std::to_string(lid_entries)},
       {"RETURN_LISTS", "EXPORT"}}};
  for (const auto& [name, value] : own)
    if (auto diagnostic = set(name, value)) return diagnostic;
  for (const auto& [name, value] : options.parameters) {
    for (const Reserved& reserved : reserved_parameters)
      if (valet::detail::upper_case(name) == reserved.name)
        return Diagnostic{
            ErrorCode::invalid_argument,
            "the parameter " + name + " is set by the Rebalancer; " + reserved.remedy};
    if (auto diagnostic = set(name, value)) return diagnostic;
  }
  return std::nullopt;
}

void GeometricPartition::partition(const mpi::Channel& communicator, const Objects& objects,
                                   std::span<int> ranks) {
  mpi::agree(communicator, set("OBJ_WEIGHT_DIM", std::to_string(objects.weight_dimensions())));
  const Queries queries(zoltan_.get(), objects);
  Lists lists;
  const int code = lists.partition(zoltan_.get());
  mpi::agree(communicator, failure_of(code));
  std::fill(ranks.begin(), ranks.end(), communicator.rank());
  lists.write_exports(ranks);
}

}  // namespace valet::zoltan
