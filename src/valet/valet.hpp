// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The one header that an application includes: all of the core in C++.

#include <valet/alltoall/alltoall.hpp>
#include <valet/error.hpp>
#include <valet/layout/block_cyclic.hpp>
#include <valet/layout/redistribute.hpp>
#include <valet/layout/scalapack.hpp>
#include <valet/map/plan.hpp>
#include <valet/map/transmutation.hpp>
#include <valet/options.hpp>
#include <valet/report/log.hpp>
#include <valet/report/progress.hpp>
#include <valet/report/report.hpp>
#include <valet/storage/block_storage.hpp>
#include <valet/version.hpp>

/// The core of Valet: maps, plans, their execution inside the memory of a storage, and reports.
///
/// An application describes its arrays (valet::field, valet::BlockStorage), says where each block
/// goes, and calls valet::migrate(), or valet::plan_to_ranks() and valet::execute() to look at what
/// a map needs first. Further there are valet::alltoallv_in_place() and, for block-cyclic layouts,
/// valet::redistribute().
namespace valet {}
/// Block-cyclic layouts, dimension by dimension, and ScaLAPACK's descriptors of them.
namespace valet::layout {}
/// Decisions of methods that work in phases: which source is served, in which order.
namespace valet::schedule {}
