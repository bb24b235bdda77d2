// SPDX-License-Identifier: BSD-3-Clause
#include "simulation.hpp"

#include "support/launch.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <new>

namespace amr {

using namespace example;
namespace {

constexpr int compared_rounds = 7;

/// For the layers on their way and what a change of the mesh takes, beside Valet's budget.
constexpr std::uint64_t step_headroom_bytes = std::uint64_t{1} << 20;

/// The largest value of any rank. Collective.
std::uint64_t largest(std::uint64_t value, MPI_Comm communicator) {
  MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_UINT64_T, MPI_MAX, communicator);
  return value;
}

double percent(std::uint64_t part, std::uint64_t whole) {
  return 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

Simulation::Simulation(MPI_Comm communicator, const Options& options)
    : communicator_(communicator),
      options_(options),
      rank_(rank_of(communicator)),
      size_(size_of(communicator)),
      library_(communicator),
      forest_(communicator, options.least_level),
      flow_(options.flow, options.most_level),
      partitioner_(communicator, options.partitioner),
      output_(communicator, options) {
  make_first_mesh();
  make_first_patches();
}

void Simulation::make_first_mesh() {
  mesh_.keys = forest_.keys();
  // Once more for what was refined around the front of a coarser level and is no longer needed.
  for (int round = options_.least_level; round < options_.most_level + 4; ++round) {
    std::vector<std::uint8_t> has_front(mesh_.size());
    for (LeafIndex leaf = 0; leaf < mesh_.size(); ++leaf)
      has_front[leaf] = flow_.front_at_start(leaf_of(mesh_.keys[leaf])) ? 1 : 0;
    forest_ = forest_.adapted(wishes(mesh_, has_front, options_.least_level, options_.most_level));
    mesh_.keys = forest_.keys();
  }
  mesh_.work.assign(mesh_.size(), 1);
  forest_.cut_evenly();
  mesh_.home = forest_.cut(std::vector<int>(mesh_.size(), 1));
}

void Simulation::make_first_patches() {
  const double mean = static_cast<double>(mesh_.size()) / size_;
  // p4est keeps siblings together, so a rank may get some more than the mean.
  const auto slots = static_cast<std::uint64_t>(options_.capacity * mean) + 8;
  const std::uint64_t bytes = slots * Patches::slot_bytes;
  bool refused = false;
  try {
    patches_ = Patches(slots, options_.node_storage ? communicator_ : MPI_COMM_NULL);
    log_.shares(patches_.shared_bytes());
  } catch (const std::bad_alloc&) {
    refused = true;
  }
  agree_on_memory(communicator_, refused, bytes, "the Views of its patches");
  std::uint64_t slot = 0;
  for (LeafIndex leaf = 0; leaf < mesh_.size(); ++leaf) {
    if (mesh_.home[leaf] != rank_) continue;
    patches_.key(slot) = mesh_.keys[leaf];
    patches_.occupied[slot] = 1;
    flow_.fill(patches_, slot++);
  }
  place(std::move(mesh_));
}

/// Takes over a mesh whose patches are in their slots.
void Simulation::place(Mesh mesh) {
  mesh_ = std::move(mesh);
  slot_of_ = patches_.slots_by_leaf(mesh_, rank_);
  layers_.emplace(communicator_, mesh_, slot_of_);
}

/// The system refuses a rank more data than it has with its first patches, and the headroom. What
/// the process had before depends on MPI: 10 to 50 MB.
void Simulation::limit_memory() {
  if (options_.headroom_bytes == 0) return;
  const std::uint64_t least = options_.migration.budget_bytes + step_headroom_bytes;
  if (options_.headroom_bytes < least)
    throw BadInput("--headroom: " + in_megabytes(options_.headroom_bytes) +
                   " are too few: Valet and a change of the mesh take up to " +
                   in_megabytes(least) + "; give that, or a smaller --memory");
  limit_bytes_ = data_bytes() + options_.headroom_bytes;
  int failed = 0;
  std::string text;
  try {
    limit_data(limit_bytes_);
  } catch (const std::runtime_error& error) {
    failed = 1;
    text = error.what();
  }
  MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, communicator_);
  if (failed != 0) throw BadInput("--headroom: " + (text.empty() ? "refused elsewhere" : text));
}

void Simulation::run() {
  limit_memory();
  if (options_.node_storage)
    output_.note_node_storage(
        std::ranges::all_of(patches_.node, [](const auto& memory) { return memory.is_shared(); }));
  output_.head(mesh_.size(), patches_.slots());
  const Totals start = patches_.totals(communicator_);
  write_vtk(0);
  for (int step = 0; step <= options_.steps; ++step) {
    if (step % options_.every == 0) regrid(step);
    if (step == options_.steps) break;
    flow_.advance(patches_, *layers_);
  }
  write_vtk(options_.steps);
  report(start, patches_.totals(communicator_));
  output_.memory(migrations_, log_.finish());
  output_.close();
}

void Simulation::regrid(int step) {
  const std::vector<std::uint8_t> has_front = look_at_patches();
  const Totals before = patches_.totals(communicator_);
  Regrid regrid;
  regrid.number = step / options_.every;
  regrid.step = step;
  regrid.patches = before.patches;
  regrid.imbalance_before = imbalance();

  log_.enter(Phase::partition, step);
  const double start = MPI_Wtime();
  Forest target =
      forest_.adapted(wishes(mesh_, has_front, options_.least_level, options_.most_level));
  std::vector<LeafKey> new_keys = target.keys();
  const Transition change = transition(mesh_, new_keys);
  const Choice choice = choose(change);
  regrid.partition_seconds = MPI_Wtime() - start;
  regrid.balanced_by = choice.balanced_by;
  if (options_.compare) {
    regrid.comparison = compare(
        communicator_, patches_, map_to(choice.home), [&] { return move_in_place(choice.home); },
        compared_rounds);
  }

  Migration own = announced(regrid, change, choice.home);
  log_.enter(Phase::migrate, step);
  own.start_seconds = log_.seconds();
  ResidentPeak peak;
  peak.start();
  const Moved moved = move(choice.home);
  peak.stop();
  own.end_seconds = log_.seconds();
  log_.enter(Phase::simulate, step);
  check(before, step);

  output_.leaves(regrid.number, mesh_, choice.home, has_front);
  const Mesh next = mesh_after(mesh_, change, std::move(new_keys), choice.home);
  mesh_.home = choice.home;
  change_patches(patches_, next, change, patches_.slots_by_leaf(mesh_, rank_), rank_);
  forest_ = std::move(target);
  place(next);
  regrid.imbalance_after = imbalance();

  own.blocks_after = moved.patches_after;
  own.resident_bytes = peak.before_bytes();
  own.resident_ratio = peak.ratio();
  summarise(regrid, own, moved);
}

Migration Simulation::announced(const Regrid& regrid, const Transition& change,
                                std::span<const int> home) const {
  Migration own;
  own.rank = rank_;
  own.number = regrid.number;
  own.step = regrid.step;
  own.blocks_before = patches_.count();
  own.share_without = share(change, mesh_.home);
  own.share_with = share(change, home);
  if (limit_bytes_ > 0) own.headroom_bytes = limit_bytes_ - std::min(limit_bytes_, data_bytes());
  return own;
}

std::vector<std::uint8_t> Simulation::look_at_patches() {
  std::vector<std::uint8_t> has_front(mesh_.size(), 0);
  mesh_.work.assign(mesh_.size(), 0);
  for (LeafIndex leaf = 0; leaf < mesh_.size(); ++leaf) {
    const std::uint32_t slot = slot_of_[leaf];
    if (slot == Patches::none) continue;
    has_front[leaf] = flow_.front_in(patches_, slot) ? 1 : 0;
    mesh_.work[leaf] = static_cast<float>(patches_.work(slot));
  }
  const int leaves = static_cast<int>(mesh_.size());
  MPI_Allreduce(MPI_IN_PLACE, has_front.data(), leaves, MPI_UNSIGNED_CHAR, MPI_MAX, communicator_);
  MPI_Allreduce(MPI_IN_PLACE, mesh_.work.data(), leaves, MPI_FLOAT, MPI_MAX, communicator_);
  return has_front;
}

/// By work if that fits; else within the slots there are, or with more slots.
Simulation::Choice Simulation::choose(const Transition& transition) {
  // A constraint that all ranks meet: the slots of the one with the fewest.
  std::uint64_t slots = patches_.slots();
  MPI_Allreduce(MPI_IN_PLACE, &slots, 1, MPI_UINT64_T, MPI_MIN, communicator_);
  Choice choice;
  for (const Balance balance : {Balance::work, Balance::count}) {
    choice.balanced_by = balance == Balance::work ? "work" : "count";
    choice.home = partitioner_.partition(forest_, mesh_, transition, balance, slots);
    if (fits(transition, choice)) return choice;
    output_.note(formatted("       a partition by %s does not fit: it needs %llu slots on a rank",
                           choice.balanced_by.c_str(),
                           static_cast<unsigned long long>(largest(choice.needed, communicator_))));
    if (options_.when_full == WhenFull::grow) break;
  }
  choice.balanced_by += " grown";  // a column: no comma
  grow(choice.needed);
  return choice;
}

bool Simulation::fits(const Transition& transition, Choice& choice) const {
  std::uint64_t children = 0;
  for (const Unit& unit : transition.units)
    if (choice.home[unit.first] == rank_) children += unit.children;
  const auto arriving =
      static_cast<std::uint64_t>(std::count(choice.home.begin(), choice.home.end(), rank_));
  choice.needed = std::max(arriving, children);
  int fits = choice.needed <= patches_.slots() ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &fits, 1, MPI_INT, MPI_MIN, communicator_);
  return fits != 0;
}

/// Only where slots are missing.
void Simulation::grow(std::uint64_t needed) {
  bool refused = false;
  try {
    if (needed > patches_.slots()) patches_.grow(needed + needed / 50);
    log_.shares(patches_.shared_bytes());
  } catch (const std::bad_alloc&) {
    refused = true;
  }
  agree_on_memory(communicator_, refused, needed * patch_cells * sizeof(double),
                  "each View with more slots (--when-full)");
}

std::vector<int> Simulation::map_to(std::span<const int> home) const {
  std::vector<int> ranks(patches_.slots(), rank_);
  for (LeafIndex leaf = 0; leaf < mesh_.size(); ++leaf)
    if (slot_of_[leaf] != Patches::none) ranks[slot_of_[leaf]] = home[leaf];
  return ranks;
}

Moved Simulation::move_in_place(std::span<const int> home) {
  if (options_.partitioner == Method::curve)
    return move_along_curve(communicator_, patches_, slot_of_, cuts_of(mesh_.home, size_),
                            cuts_of(home, size_), options_.migration);
  valet::Plan plan = valet::plan_to_ranks(communicator_, patches_.storage(),
                                          valet::Occupied::masked(patches_.occupied), map_to(home),
                                          options_.migration);
  return amr::move_in_place(plan, patches_);
}

Moved Simulation::move(std::span<const int> home) {
  if (options_.exchange == Exchange::in_place) return move_in_place(home);
  return move_out_of_place(communicator_, patches_, map_to(home));
}

/// Nothing but the place of patches may have changed. Collective.
void Simulation::check(const Totals& before, int step) const {
  const Totals after = patches_.totals(communicator_);
  if (!(after.mass == before.mass))
    throw Lost("the migration of step " + std::to_string(step) + " changed the mass");
  if (!(after == before))
    throw Lost("the migration of step " + std::to_string(step) + " changed patches");
}

double Simulation::imbalance() const {
  std::vector<double> work(static_cast<std::size_t>(size_), 0);
  double sum = 0;
  for (LeafIndex leaf = 0; leaf < mesh_.size(); ++leaf) {
    work[static_cast<std::size_t>(mesh_.home[leaf])] += static_cast<double>(mesh_.work[leaf]);
    sum += static_cast<double>(mesh_.work[leaf]);
  }
  return *std::max_element(work.begin(), work.end()) * size_ / sum;
}

double Simulation::share(const Transition& change, std::span<const int> home) const {
  double own = 0;
  double all = 0;
  for (const Unit& unit : change.units) {
    all += unit.work;
    if (home[unit.first] == rank_) own += unit.work;
  }
  return own * size_ / all;
}

void Simulation::summarise(Regrid& regrid, const Migration& own, const Moved& moved) {
  const std::uint64_t most_patches =
      std::max({own.blocks_before, own.blocks_after, patches_.count()});
  Migration shown = own;
  shown.extra_bytes = moved.extra_bytes;
  shown.limit_bytes = moved.limit_bytes;
  shown.out_of_place_bytes = moved.sent_bytes + moved.received_bytes;
  migrations_.push_back(shown);
  std::array<double, 4> most{regrid.partition_seconds, own.end_seconds - own.start_seconds,
                             percent(most_patches, patches_.slots()), own.resident_ratio};
  MPI_Allreduce(MPI_IN_PLACE, most.data(), 4, MPI_DOUBLE, MPI_MAX, communicator_);
  regrid.partition_seconds = most[0];
  regrid.migration_seconds = most[1];
  regrid.fullest_percent = most[2];
  regrid.resident_ratio = most[3];
  regrid.extra_bytes = largest(shown.extra_bytes, communicator_);
  regrid.limit_bytes = largest(shown.limit_bytes, communicator_);
  regrid.out_of_place_bytes = largest(shown.out_of_place_bytes, communicator_);
  regrid.moved_bytes = moved.sent_bytes;
  MPI_Allreduce(MPI_IN_PLACE, &regrid.moved_bytes, 1, MPI_UINT64_T, MPI_SUM, communicator_);
  if (options_.compare && regrid.moved_bytes > 0) comparisons_.push_back(regrid.comparison);
  fullest_percent_ = std::max(fullest_percent_, regrid.fullest_percent);
  largest_ratio_ = std::max(largest_ratio_, regrid.resident_ratio);
  output_.row(regrid);
}

void Simulation::write_vtk(int step) {
  if (!options_.vtk) return;
  std::vector<double> mean_phase(mesh_.size(), 0);
  std::vector<double> home(mesh_.home.begin(), mesh_.home.end());
  std::vector<double> work(mesh_.size(), 0);
  for (LeafIndex leaf = 0; leaf < mesh_.size(); ++leaf) {
    if (slot_of_[leaf] == Patches::none) continue;
    for (std::size_t c = 0; c < patch_cells; ++c)
      mean_phase[leaf] += patches_.cells[phase](slot_of_[leaf], c) / patch_cells;
    work[leaf] = patches_.work(slot_of_[leaf]);
  }
  const int leaves = static_cast<int>(mesh_.size());
  MPI_Allreduce(MPI_IN_PLACE, mean_phase.data(), leaves, MPI_DOUBLE, MPI_MAX, communicator_);
  MPI_Allreduce(MPI_IN_PLACE, work.data(), leaves, MPI_DOUBLE, MPI_MAX, communicator_);
  const std::array<LeafColumn, 3> columns{{{"phase", mean_phase}, {"home", home}, {"work", work}}};
  if (!forest_.write_vtk(output_.vtk_base(step), columns))
    throw OutputError("cannot write the files for ParaView into '" + options_.output +
                      "' (--output)");
}

void Simulation::report(const Totals& start, const Totals& end) {
  if (rank_ != 0) return;
  std::printf(
      "\nMass and every bit of every patch were the same before and after each of %zu migrations.\n"
      "Mass, summed without rounding: at the start %.17g, at the end %.17g.\n"
      "Solution after %d steps: %llu patches, hash %016llx, the same for any number of ranks.\n"
      "Fullest moment: %.1f %% of the slots of a rank.\n",
      migrations_.size(), start.mass.value(), end.mass.value(), options_.steps,
      static_cast<unsigned long long>(end.patches), static_cast<unsigned long long>(end.content),
      fullest_percent_);
  if (largest_ratio_ > 0)
    std::printf("Largest resident peak in a migration: %.3f times the resident size before.\n",
                largest_ratio_);
  if (largest_ratio_ > 0 && options_.node_storage)
    std::printf("It counts what the rank has read of the memory of other ranks of its node.\n");
  if (largest_ratio_ <= 0)
    std::printf("This system does not report resident peaks (/proc/self/clear_refs).\n");
  if (comparisons_.empty()) return;
  const auto median_ratio = [this](double Comparison::*peer) {
    std::vector<double> ratios;
    for (const Comparison& c : comparisons_) ratios.push_back(c.in_place / (c.*peer));
    std::sort(ratios.begin(), ratios.end());
    return ratios[ratios.size() / 2];
  };
  std::printf(
      "Migration in place takes %.2f times as long as MPI_Alltoallv of all patches, packed,\n"
      "into a second array, and %.2f times as long as that of the leaving patches (medians).\n",
      median_ratio(&Comparison::alltoallv_all), median_ratio(&Comparison::alltoallv_leaving));
}

}  // namespace amr
