// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// The one header that an application includes.

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
