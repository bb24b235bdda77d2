// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The one header that an application includes: the core of Valet in C++.

#include <valet/alltoall.hpp>
#include <valet/block_cyclic.hpp>
#include <valet/block_storage.hpp>
#include <valet/configuration.hpp>
#include <valet/custom_storage.hpp>
#include <valet/error.hpp>
#include <valet/group.hpp>
#include <valet/intersect.hpp>
#include <valet/junction.hpp>
#include <valet/log.hpp>
#include <valet/node_array.hpp>
#include <valet/object_layout.hpp>
#include <valet/objects.hpp>
#include <valet/options.hpp>
#include <valet/plan.hpp>
#include <valet/progress.hpp>
#include <valet/ragged_storage.hpp>
#include <valet/redistribute.hpp>
#include <valet/ref.hpp>
#include <valet/repair.hpp>
#include <valet/report.hpp>
#include <valet/resize.hpp>
#include <valet/scalapack.hpp>
#include <valet/version.hpp>

/// The core of Valet: maps, plans, their execution inside the memory of a storage, and reports.
///
/// An application describes its arrays (valet::field, valet::BlockStorage), gives the destination
/// of each block, and calls valet::migrate(), or valet::plan_to_ranks() and valet::execute() to
/// check first what a map needs. valet::repair() corrects a map that needs too many slots,
/// valet::plan_to_layout() needs no map, valet::resize() goes on with more ranks or fewer, and
/// valet::RaggedStorage is for blocks of different sizes. There are also
/// valet::alltoallv_in_place() and, for block-cyclic layouts, valet::redistribute().
namespace valet {}
/// Dimensions of block-cyclic layouts, and ScaLAPACK descriptors.
namespace valet::layout {}
/// The cost model, the choice of a method, and the decisions of methods.
namespace valet::schedule {}
