// SPDX-License-Identifier: BSD-3-Clause
#include "base/diagnose.hpp"
#include "base/memory_reserve.hpp"
#include "base/names.hpp"
#include "handle/handle_state.hpp"
#include "handle/messages.hpp"
#include "mpi/agreement.hpp"
#include "mpi/channel.hpp"
#include "rebalance/balancer.hpp"
#include "rebalancer/zoltan_partition.hpp"
#include <valet/zoltan/rebalancer.hpp>

#include <xxhash.h>

#include <array>
#include <cstdlib>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace valet::zoltan {
namespace {

/// Parameters that the Rebalancer sets itself, with what to do instead.
struct Reserved {
  const char* name;
  const char* remedy;
};
constexpr std::array<Reserved, 10> reserved_parameters{
    {{"LB_METHOD", "use RebalancerOptions::method"},
     {"LB_BLOCK_SIZE", "use RebalancerOptions::block_size or tiles"},
     {"LB_GRID", "use RebalancerOptions::tiles"},
     {"LB_EXTENTS", "use RebalancerOptions::tiles"},
     {"IMBALANCE_TOL", "use RebalancerOptions::imbalance_tolerance"},
     {"OBJ_WEIGHT_DIM", "give weights(), and balance_count if wanted"},
     {"NUM_GID_ENTRIES", "leave it out: global_ids() says it"},
     {"NUM_LID_ENTRIES", "leave it out: local ids are slots"},
     {"RETURN_LISTS", "leave it out: partition() returns all"},
     {"AUTO_MIGRATE", "leave it out: Valet migrates"}}};

/// All ranks have to give the same parameters: one of a single rank, such as KEEP_CUTS, can make it
/// call MPI where the others do not.
std::int64_t hash_of_parameters(const RebalancerOptions& options) {
  std::uint64_t hash = 0;
  for (const auto& [name, value] : options.parameters) {
    const std::string upper = valet::detail::upper_case(name);
    if (upper == "NUM_LOCAL_PARTS") continue;  // each rank says its own
    for (const std::string& text : {upper, value})
      hash = XXH3_64bits_withSeed(text.data(), text.size(), hash);
  }
  return static_cast<std::int64_t>(hash >> 1U);
}

std::optional<Diagnostic> check_blocks(const RebalancerOptions& options,
                                       const PartitionSetup& setup) {
  if (options.block_size == 0) return invalid("blocks of 0 objects; give a block_size above");
  if (options.tiles && (setup.method != "BLOCK_CYCLIC" || options.block_size > 1))
    return invalid("tiles with method '", options.method, "' and a block_size of ",
                   options.block_size, "; give them to BLOCK_CYCLIC and leave block_size out");
  if (setup.is_own_order() && !setup.deals_blocks())
    return invalid("a block_size of ", options.block_size, " with method '", options.method,
                   "'; it is for BLOCK_CYCLIC and CYCLIC");
  return check_makes_parts(setup);
}

PartitionSetup setup_of(const RebalancerOptions& options) {
  PartitionSetup setup;
  setup.method = valet::detail::upper_case(options.method);
  setup.block_size = options.block_size;
  setup.tiles = options.tiles;
  setup.each_object = options.granularity == 1U;
  return setup;
}

/// What the options say whatever the partitioner.
rebalance::Settings settings_of(const RebalancerOptions& options) {
  rebalance::Settings settings;
  settings.imbalance_tolerance = options.imbalance_tolerance;
  settings.balance_count = options.balance_count;
  settings.granularity = options.granularity;
  settings.order_rule = order_rule_of(setup_of(options), !options.parameters.empty());
  settings.when_infeasible = options.when_infeasible;
  settings.grow = options.grow;
  settings.grow_ragged = options.grow_ragged;
  settings.migration = options.migration;
  return settings;
}

/// A Zoltan_Struct that Valet makes, for codes that do not call Zoltan themselves.
class OwnStructure {
 public:
  /// Collective. @throws Error invalid_argument on all ranks alike.
  OwnStructure(const mpi::Channel& communicator, const RebalancerOptions& options,
               const rebalance::Settings& settings)
      : setup_(setup_of(options)) {
    // MPI is initialised, which is all that this call notes; it may be repeated.
    float version = 0;
    std::optional<Diagnostic> diagnostic;
    if (Zoltan_Initialize(0, nullptr, &version) == ZOLTAN_OK)
      zoltan_.reset(Zoltan_Create(communicator.get()));
    // Its address may be that of another one before, also where Valet is not in front of Zoltan.
    forget_handle_state(zoltan_.get());
    if (zoltan_ == nullptr)
      diagnostic = Diagnostic{ErrorCode::out_of_memory, "Zoltan could not be initialised"};
    else
      diagnostic = set_all(options, settings);
    if (auto found = check_whole_reductions(communicator)) diagnostic = std::move(found);
    mpi::Agreement agreement;
    agreement.equal({"whether there are NUM_GLOBAL_PARTS or NUM_LOCAL_PARTS", mpi::yes_or_no},
                    setup_.parts.are_given);
    agreement.equal({"RebalancerOptions::block_size"}, options.block_size);
    agreement.equal({"RebalancerOptions::method", method_name}, method_number(setup_.method));
    settings.join(agreement);
    agreement.equal({"RebalancerOptions::parameters", nullptr,
                     "give the same names and values in the same order on all ranks; only "
                     "NUM_LOCAL_PARTS may differ"},
                    hash_of_parameters(options));
    agreement.run(communicator, diagnostic);
  }

  [[nodiscard]] Zoltan_Struct* get() const { return zoltan_.get(); }
  [[nodiscard]] const PartitionSetup& setup() const { return setup_; }

 private:
  struct Destroy {
    void operator()(Zoltan_Struct* zoltan) const {
      forget_handle_state(zoltan);  // in any link order
      // Zoltan frees a communicator; after MPI_Finalize that would end the program.
      int finalized = 0;
      MPI_Finalized(&finalized);
      if (finalized == 0) Zoltan_Destroy(&zoltan);
    }
  };

  [[nodiscard]] std::optional<Diagnostic> set(const std::string& name, const std::string& value) {
    using Verdict = ParameterAnswer::Verdict;
    // In any link order: where Valet is in front of Zoltan, this is what it does.
    const ParameterAnswer answer = set_parameter(zoltan_.get(), name.c_str(), value.c_str());
    if (answer.verdict == Verdict::refused)
      return Diagnostic{ErrorCode::invalid_argument, answer.warning};
    if (answer.verdict == Verdict::taken) return std::nullopt;
    return set_parameter_of(zoltan_.get(), name.c_str(), value);
  }

  [[nodiscard]] std::optional<Diagnostic> set_all(const RebalancerOptions& options,
                                                  const rebalance::Settings& settings) {
    if (auto diagnostic = check_method(options.method)) return diagnostic;
    if (auto diagnostic = settings.diagnostic()) return diagnostic;
    std::ostringstream tolerance;
    tolerance.precision(std::numeric_limits<float>::max_digits10);
    tolerance << options.imbalance_tolerance;
    const std::array<std::pair<const char*, std::string>, 3> own{
        {{"DEBUG_LEVEL", "0"},
         // Blocks are not Zoltan's business.
         {"LB_METHOD", setup_.deals_blocks() ? "CYCLIC" : options.method},
         {"IMBALANCE_TOL", tolerance.str()}}};
    for (const auto& [name, value] : own)
      if (auto diagnostic = set(name, value)) return diagnostic;
    for (const auto& [name, value] : options.parameters)
      if (auto diagnostic = set_user_parameter(name, value)) return diagnostic;
    return check_blocks(options, setup_);
  }

  [[nodiscard]] std::optional<Diagnostic> set_user_parameter(const std::string& name,
                                                             const std::string& value) {
    const std::string upper = valet::detail::upper_case(name);
    for (const Reserved& reserved : reserved_parameters)
      if (upper == reserved.name)
        return invalid("the parameter ", name, " is set by the Rebalancer; ", reserved.remedy);
    if (upper == "NUM_GLOBAL_PARTS" || upper == "NUM_LOCAL_PARTS") {
      setup_.parts.are_given = true;
      const bool is_global = upper == "NUM_GLOBAL_PARTS";
      const long count = std::strtol(value.c_str(), nullptr, 10);
      if (count < (is_global ? 1 : 0) || count > std::numeric_limits<int>::max())
        return invalid("the parameter ", name, " = ", value, "; give a whole number, at least ",
                       (is_global ? "1" : "0"));
      (is_global ? setup_.parts.global : setup_.parts.local) = static_cast<int>(count);
    }
    if (upper == "RCB_RECTILINEAR_BLOCKS") setup_.keeps_planes = value != "0";
    if (upper == "REDUCE_DIMENSIONS" && value != "0") setup_.reduces_dimensions = true;
    return set(name, value);
  }

  std::unique_ptr<Zoltan_Struct, Destroy> zoltan_;
  PartitionSetup setup_;
};

}  // namespace

struct Partition::State : rebalance::Decision {};

Partition::Partition(std::unique_ptr<State> state) : state_(std::move(state)) {}
Partition::Partition(Partition&&) noexcept = default;
Partition& Partition::operator=(Partition&&) noexcept = default;
Partition::~Partition() = default;

std::uint64_t Partition::count() const { return state_->count; }
std::span<int> Partition::ranks() {
  state_->write_ranks();
  state_->may_be_changed = true;
  return state_->ranks;
}
std::span<const int> Partition::ranks() const {
  state_->write_ranks();
  return state_->ranks;
}
std::span<const int> Partition::parts() const { return state_->parts; }
Imbalance Partition::before() const { return state_->before; }
Imbalance Partition::after() const { return state_->after; }
std::uint64_t Partition::required_slots() const { return state_->required_slots; }
double Partition::seconds() const { return state_->partition_seconds; }
double Partition::largest_cell_share() const { return state_->largest_cell_share; }
const std::string& Partition::warning() const { return state_->warning; }
std::uint64_t Partition::extra_bytes() const { return state_->ledger.peak_bytes(); }

struct Rebalancer::State {
  State(MPI_Comm user, const RebalancerOptions& given, const rebalance::Settings& settings)
      : options(given),
        communicator(mpi::Channel::open(user)),
        structure(communicator, given, settings),
        zoltan(structure.get(), structure.setup()),
        balancer(communicator, zoltan, settings) {}

  /// With the parameters as they are now.
  rebalance::Balancer& now() {
    parameters = parameters_of_storage(structure.get(), options.migration, options.granularity,
                                       options.when_infeasible);
    take_parameters(parameters, balancer.settings);
    balancer.settings.wrong = without_meaning(structure.get(), ObjectKind::storage);
    zoltan.each_object(parameters.granularity == 1U);
    return balancer;
  }
  template <class Storage>
  RebalanceResult rebalance(std::uint64_t count, const Storage& storage) {
    const valet::detail::MemoryReserve reserve;
    rebalance::Decision decision;
    decision.count = count;
    rebalance::Settings& settings = now().settings;
    if (!settings.wrong) settings.wrong = rebalance::check_growth(settings, storage);
    balancer.partition(decision);
    return carry_out(decision, storage, true);
  }
  /// Moves the objects of a decision: by Balancer::settle() where nobody can have changed it, else
  /// by migrate().
  template <class Storage>
  RebalanceResult carry_out(rebalance::Decision& decision, const Storage& storage, bool settles) {
    const valet::detail::MemoryReserve reserve;  // other ranks wait for this one from here on
    rebalance::Balancer& with_parameters = now();
    say_who_moves(structure.get(), parameters, ObjectKind::storage);
    RebalanceResult result = settles ? with_parameters.settle(decision, storage)
                                     : with_parameters.migrate(decision, storage);
    if (decision.is_reported) append_report(communicator.get(), parameters.report, result.report);
    return result;
  }

  const RebalancerOptions options;
  mpi::Channel communicator;
  OwnStructure structure;
  ZoltanPartition zoltan;
  rebalance::Balancer balancer;
  MigrationParameters parameters;
};

Rebalancer::Rebalancer(MPI_Comm communicator, const RebalancerOptions& options) {
  const valet::detail::MemoryReserve reserve;
  state_ = std::make_unique<State>(communicator, options, settings_of(options));
}
Rebalancer::Rebalancer(Rebalancer&&) noexcept = default;
Rebalancer& Rebalancer::operator=(Rebalancer&&) noexcept = default;
Rebalancer::~Rebalancer() = default;

void Rebalancer::coordinates(ColumnSource source) {
  state_->balancer.sources.coordinates = std::move(source);
}
void Rebalancer::weights(ColumnSource source) {
  state_->balancer.sources.weights = std::move(source);
}
void Rebalancer::no_weights() { state_->balancer.sources.weights = nullptr; }
void Rebalancer::global_ids(ColumnSource source) {
  state_->balancer.sources.ids = std::move(source);
}
void Rebalancer::from(const std::optional<ObjectLayout>& layout) {
  state_->balancer.settings.from = layout;
}
void Rebalancer::balance_count(bool balance) { state_->balancer.settings.balance_count = balance; }
Zoltan_Struct* Rebalancer::handle() const {
  state_->zoltan.may_know_more();
  return state_->structure.get();
}

Partition Rebalancer::partition(std::uint64_t count) {
  const valet::detail::MemoryReserve reserve;
  auto partition = std::make_unique<Partition::State>();
  partition->count = count;
  state_->now().partition(*partition);
  return Partition(std::move(partition));
}

void Rebalancer::evaluate(Partition& partition) {
  const valet::detail::MemoryReserve reserve;
  state_->now().evaluate(*partition.state_);
}

std::vector<std::uint64_t> Rebalancer::required_slots(const Partition& partition) const {
  return state_->balancer.required_slots(*partition.state_);
}
RaggedRoom Rebalancer::required_room(const Partition& partition,
                                     const RaggedStorage& storage) const {
  const valet::detail::MemoryReserve reserve;
  return state_->now().required_room(*partition.state_, storage);
}

RebalanceResult Rebalancer::migrate(Partition partition, const BlockStorage& storage) {
  return state_->carry_out(*partition.state_, storage, false);
}
RebalanceResult Rebalancer::migrate(Partition partition, const RaggedStorage& storage) {
  return state_->carry_out(*partition.state_, storage, false);
}

RebalanceResult Rebalancer::rebalance(std::uint64_t count, const BlockStorage& storage) {
  return state_->rebalance(count, storage);
}
RebalanceResult Rebalancer::rebalance(std::uint64_t count, const RaggedStorage& storage) {
  return state_->rebalance(count, storage);
}

}  // namespace valet::zoltan
