// SPDX-License-Identifier: BSD-3-Clause

// Plans that live longer than MPI: one on MPI_COMM_WORLD, one on a communicator freed before, one
// that was never carried out, two that are bound, with receives that stand for the next execution.
// Their destructors must not call MPI any more. Two more are destroyed in MPI_Finalize by
// attributes of the application: after what the library does there, and before.

#include "filled_map.hpp"
#include <valet/valet.hpp>

#include <cstdio>
#include <cstdlib>
#include <memory>

namespace {

int receives_withdrawn = 0;

int destroy_plan(MPI_Comm, int, void* plan, void*) {
  static_cast<std::unique_ptr<valet::Plan>*>(plan)->reset();
  return MPI_SUCCESS;
}

/// MPI_Finalize deletes the attributes of MPI_COMM_SELF in the reverse order.
void destroy_in_finalize(std::unique_ptr<valet::Plan>& plan) {
  int key = MPI_KEYVAL_INVALID;
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, destroy_plan, &key, nullptr);
  MPI_Comm_set_attr(MPI_COMM_SELF, key, &plan);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int MPI_Cancel(MPI_Request* request) {
  ++receives_withdrawn;
  return PMPI_Cancel(request);
}

int main(int argc, char** argv) {
  using namespace valet;
  using namespace valet::test;

  MPI_Init(&argc, &argv);
  std::unique_ptr<Plan> destroyed_last, destroyed_first;
  destroy_in_finalize(destroyed_last);
  const int self = rank(), size_before = size();
  const GlobalMap map = ring_map(size(), 20, 15, 1);
  FilledMap filled(map, self, Shape::structure);
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  auto on_world = std::make_unique<Plan>(filled.plan(MPI_COMM_WORLD, Form::to_ranks, {}));
  auto on_freed = std::make_unique<Plan>(filled.plan(comm, Form::to_slots, {}));
  auto unused = std::make_unique<Plan>(filled.plan(comm, Form::to_ranks, {}));
  FilledMap bound_blocks(map, self, Shape::structure);
  auto bound =
      std::make_unique<Plan>(bound_blocks.plan(comm, Form::to_ranks, {.share_memory = false}));
  auto never_run =
      std::make_unique<Plan>(bound_blocks.plan(comm, Form::to_ranks, {.share_memory = false}));
  for (std::unique_ptr<Plan>* const plan : {&destroyed_last, &destroyed_first}) {
    *plan =
        std::make_unique<Plan>(bound_blocks.plan(comm, Form::to_ranks, {.share_memory = false}));
    (*plan)->bind(bound_blocks.storage());
  }
  destroy_in_finalize(destroyed_first);
  MPI_Comm_free(&comm);
  never_run->bind(bound_blocks.storage());
  bound->bind(bound_blocks.storage());
  static_cast<void>(execute(*bound));
  const bool bound_is_good = bound_blocks.wrong(Form::to_ranks, Order::any) == 0;
  static_cast<void>(execute(*on_world, filled.storage()));
  const bool first_good = bound_is_good && filled.wrong(Form::to_ranks, Order::any) == 0;
  filled.fill();
  static_cast<void>(execute(*on_freed, filled.storage()));
  const bool good = all_ranks(first_good && filled.wrong(Form::to_slots, Order::any) == 0);
  const bool all_stand = receives_withdrawn == 0;
  MPI_Finalize();
  // The four plans that are bound have one from a neighbour at least.
  const bool withdrawn = size_before == 1 || (all_stand && receives_withdrawn >= 4);

  const bool destroyed = !destroyed_last && !destroyed_first;
  const bool still_answers = on_world->blocks_after() == 15;
  const Outcome too_late =
      outcome_of([&] { static_cast<void>(execute(*on_world, filled.storage())); });
  on_freed.reset();
  on_world.reset();
  unused.reset();
  bound.reset();
  never_run.reset();
  const Outcome late =
      outcome_of([&] { static_cast<void>(filled.plan(MPI_COMM_WORLD, Form::to_ranks, {})); });
  const bool refused =
      late.code == ErrorCode::not_initialized && too_late.code == ErrorCode::not_initialized;
  if (!good || !withdrawn || !destroyed || !still_answers || !refused)
    std::fprintf(stderr,
                 "rank %d: content %d, withdrawn %d, destroyed %d, answers %d, refused %d (%s)\n",
                 self, good ? 1 : 0, withdrawn ? 1 : 0, destroyed ? 1 : 0, still_answers ? 1 : 0,
                 refused ? 1 : 0, (late.text + too_late.text).c_str());
  return good && withdrawn && destroyed && still_answers && refused ? EXIT_SUCCESS : EXIT_FAILURE;
}
