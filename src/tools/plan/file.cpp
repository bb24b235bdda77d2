// SPDX-License-Identifier: BSD-3-Clause
#include "file.hpp"

#include <valet/junction.hpp>
#include <valet/mpi.hpp>

#include <string>

namespace valet::plan {
namespace {

const char* name_of(JunctionRecord::Kind kind) {
  switch (kind) {
    case JunctionRecord::Kind::array: return "array";
    case JunctionRecord::Kind::blocks: return "blocks";
    case JunctionRecord::Kind::numbered_blocks: return "numbered blocks";
    case JunctionRecord::Kind::ragged_blocks: return "blocks of different sizes";
  }
  return "";
}

/// The shape of an array, or the fields of a block with their bytes.
std::string shape_of(const JunctionRecord& record) {
  std::string shape;
  for (const std::int64_t extent : record.extents)
    shape.append(shape.empty() ? "" : "x").append(std::to_string(extent));
  for (const JunctionRecord::Field& field : record.fields)
    shape.append(shape.empty() ? "" : " ")
        .append(field.label.empty() ? "?" : field.label)
        .append(":")
        .append(std::to_string(field.row_bytes));
  return shape.empty() ? "-" : shape;
}

/// MPI, by which the file is read.
class Mpi {
 public:
  Mpi() { MPI_Init(nullptr, nullptr); }
  Mpi(const Mpi&) = delete;
  Mpi& operator=(const Mpi&) = delete;
  ~Mpi() { MPI_Finalize(); }
};

}  // namespace

bool is_file_of_ranks(const std::string& path) { return path.ends_with(".valet"); }

tools::Case contents_of(const std::string& path) {
  const Mpi mpi;
  const Junction file = Junction::open(MPI_COMM_SELF, path);
  tools::Case records = tools::Case::array();
  for (const JunctionRecord& record : file.records())
    records.push_back({{"label", record.label.empty() ? "-" : record.label},
                       {"kind", name_of(record.kind)},
                       {"count", record.count},
                       {"bytes", record.bytes},
                       {"shape", shape_of(record)}});
  return {{"file", {{"path", path}, {"ranks", file.other_ranks()}}}, {"records", records}};
}

void print_contents(const tools::Case& contents) {
  tools::print_filled("{file/path}, written by {file/ranks} ranks\n\n", contents);
  tools::print_table(contents["records"]);
}

}  // namespace valet::plan
