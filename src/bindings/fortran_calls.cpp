// SPDX-License-Identifier: BSD-3-Clause

// The collective functions for Fortran, which gives communicators as integers: the modules `valet`
// (valet.f90), `valet_junction`, `valet_node`, `valet_objects` and `valet_ragged` declare them.

#include "bindings/fortran_communicator.hpp"
#include <valet/valet.h>

#include <cstddef>
#include <tuple>

using valet::c::from_fortran;

namespace {

template <class... All>
std::tuple<All...> parameters_of(int (*function)(All...));
/// The type of a parameter of a function of C, of which number 0 is the communicator.
template <auto& function, std::size_t number>
using CParameter = std::tuple_element_t<number, decltype(parameters_of(function))>;

}  // namespace

// Function f of C, as f_f with the communicator of Fortran and as many other parameters: their
// types stand in valet.h alone.
#define VALET_PARAMETERS_2(f) int communicator, CParameter<f, 1> p1, CParameter<f, 2> p2
#define VALET_PARAMETERS_3(f) VALET_PARAMETERS_2(f), CParameter<f, 3> p3
#define VALET_PARAMETERS_4(f) VALET_PARAMETERS_3(f), CParameter<f, 4> p4
#define VALET_PARAMETERS_5(f) VALET_PARAMETERS_4(f), CParameter<f, 5> p5
#define VALET_PARAMETERS_6(f) VALET_PARAMETERS_5(f), CParameter<f, 6> p6
#define VALET_PARAMETERS_7(f) VALET_PARAMETERS_6(f), CParameter<f, 7> p7
#define VALET_PARAMETERS_8(f) VALET_PARAMETERS_7(f), CParameter<f, 8> p8
#define VALET_PARAMETERS_9(f) VALET_PARAMETERS_8(f), CParameter<f, 9> p9
#define VALET_PARAMETERS_10(f) VALET_PARAMETERS_9(f), CParameter<f, 10> p10
#define VALET_ARGUMENTS_2 from_fortran(communicator), p1, p2
#define VALET_ARGUMENTS_3 VALET_ARGUMENTS_2, p3
#define VALET_ARGUMENTS_4 VALET_ARGUMENTS_3, p4
#define VALET_ARGUMENTS_5 VALET_ARGUMENTS_4, p5
#define VALET_ARGUMENTS_6 VALET_ARGUMENTS_5, p6
#define VALET_ARGUMENTS_7 VALET_ARGUMENTS_6, p7
#define VALET_ARGUMENTS_8 VALET_ARGUMENTS_7, p8
#define VALET_ARGUMENTS_9 VALET_ARGUMENTS_8, p9
#define VALET_ARGUMENTS_10 VALET_ARGUMENTS_9, p10
#define VALET_FOR_FORTRAN(f, parameters)                     \
  VALET_EXPORT int f##_f(VALET_PARAMETERS_##parameters(f)) { \
    return f(VALET_ARGUMENTS_##parameters);                  \
  }

extern "C" {

VALET_FOR_FORTRAN(Valet_Plan_to_ranks, 6)
VALET_FOR_FORTRAN(Valet_Plan_to_slots, 6)
VALET_FOR_FORTRAN(Valet_Repair, 6)
VALET_FOR_FORTRAN(Valet_Resize, 10)
VALET_FOR_FORTRAN(Valet_Plan_to_layout, 6)
VALET_FOR_FORTRAN(Valet_Alltoallv_in_place, 8)
VALET_FOR_FORTRAN(Valet_Redistribute, 7)
VALET_FOR_FORTRAN(Valet_Redistribute_in_place, 6)
VALET_FOR_FORTRAN(Valet_Junction_accept, 3)
VALET_FOR_FORTRAN(Valet_Junction_connect, 3)
VALET_FOR_FORTRAN(Valet_Junction_create, 3)
VALET_FOR_FORTRAN(Valet_Junction_open, 3)
VALET_FOR_FORTRAN(Valet_Node_alloc, 2)
VALET_FOR_FORTRAN(Valet_Migrate_objects, 6)
VALET_FOR_FORTRAN(Valet_Ragged_plan_to_ranks, 5)
VALET_FOR_FORTRAN(Valet_Ragged_resize, 8)
VALET_FOR_FORTRAN(Valet_Ragged_migrate, 5)
VALET_FOR_FORTRAN(Valet_Summed_over_ranks, 2)

}  // extern "C"
