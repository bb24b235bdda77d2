// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The one header that an application includes: all of the core in C++.

#include <valet/alltoall.hpp>
#include <valet/block_cyclic.hpp>
#include <valet/block_storage.hpp>
#include <valet/custom_storage.hpp>
#include <valet/error.hpp>
#include <valet/log.hpp>
#include <valet/object_layout.hpp>
#include <valet/options.hpp>
#include <valet/plan.hpp>
#include <valet/progress.hpp>
#include <valet/ragged_storage.hpp>
#include <valet/redistribute.hpp>
#include <valet/repair.hpp>
#include <valet/report.hpp>
#include <valet/scalapack.hpp>
#include <valet/version.hpp>

/// The core of Valet: maps, plans, their execution inside the memory of a storage, and reports.
///
/// An application describes its arrays (valet::field, valet::BlockStorage), says where each block
/// goes, and calls valet::migrate(), or valet::plan_to_ranks() and valet::execute() to look at what
/// a map needs first. valet::repair() corrects a map that asks for too many slots,
/// valet::plan_to_layout() does without a map, and blocks of different sizes are a
/// valet::RaggedStorage. Further there are valet::alltoallv_in_place() and,
/// for block-cyclic layouts, valet::redistribute().
namespace valet {}
/// Block-cyclic layouts, dimension by dimension, and ScaLAPACK's descriptors of them.
namespace valet::layout {}
/// Decisions of methods that work in phases: which source is served, in which order.
namespace valet::schedule {}
