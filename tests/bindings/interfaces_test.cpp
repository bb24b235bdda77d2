// SPDX-License-Identifier: BSD-3-Clause

// C and Fortran say the same: structs member by member, constants, functions; and their report is
// the table of the report's fields. Read from the headers and the modules.

#include "observe/report_fields.hpp"
#include "testing.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>

namespace valet {
namespace {

/// Kind in Fortran and name.
using Members = std::vector<std::pair<std::string, std::string>>;

std::string content(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Calls `action` with every match.
template <class Action>
void for_each_match(const std::string& text, const std::string& pattern, Action&& action) {
  const std::regex regex(pattern);
  for (std::sregex_iterator match(text.begin(), text.end(), regex), end; match != end; ++match)
    action(*match);
}

/// All headers of C.
std::string header() {
  std::string all;
  for (const auto& file : std::filesystem::directory_iterator(VALET_HEADERS))
    if (file.path().extension() == ".h") all += content(file.path());
  all += content(VALET_ZOLTAN "include/valet/zoltan/attached.h") +
         content(VALET_ZOLTAN "include/valet/zoltan/lists.h");
  return std::regex_replace(all, std::regex(R"(/\*[^*]*\*+([^/*][^*]*\*+)*/)"), "");
}

std::string module() {
  return std::regex_replace(
      content(VALET_MODULES "valet.f90") + content(VALET_MODULES "valet_ragged.f90") +
          content(VALET_MODULES "valet_custom.f90") +
          content(VALET_MODULES "valet_intersection.f90") +
          content(VALET_MODULES "valet_execution.f90") +
          content(VALET_MODULES "valet_junction.f90") + content(VALET_MODULES "valet_node.f90") +
          content(VALET_MODULES "valet_segments.f90") + content(VALET_MODULES "valet_objects.f90") +
          content(VALET_ZOLTAN "src/bindings/valet_zoltan.f90"),
      std::regex("![^\n]*"), "");
}

std::string kind_in_fortran(const std::string& type, bool is_pointer) {
  static const std::map<std::string, std::string> kinds{
      {"int", "integer(c_int)"},         {"size_t", "integer(c_size_t)"},
      {"int64_t", "integer(c_int64_t)"}, {"uint64_t", "integer(c_int64_t)"},
      {"double", "real(c_double)"},      {"char", "character(kind=c_char)"}};
  if (is_pointer) return type.ends_with("_fn") ? "type(c_funptr)" : "type(c_ptr)";
  const auto found = kinds.find(type);
  return found == kinds.end() ? "type(" + type + ")" : found->second;
}

std::map<std::string, Members> structs_of_c() {
  std::map<std::string, Members> structs;
  for_each_match(header(), R"(typedef struct \w+ \{([^}]*)\} (\w+);)", [&](const auto& match) {
    for_each_match(match[1], R"((?:const )?(\w+)\s*(\*?)\s*(\w+)(?:\[\w+\])?;)",
                   [&](const auto& member) {
                     structs[match[2]].emplace_back(
                         kind_in_fortran(member[1], member[2].length() > 0), member[3]);
                   });
  });
  return structs;
}

std::map<std::string, Members> types_of_fortran() {
  std::map<std::string, Members> types;
  for_each_match(module(), R"(type, bind\(C\), public :: (\w+)\n((?:.*::.*\n|\s*\n)*)\s*end type)",
                 [&](const auto& match) {
                   for_each_match(match[2], R"((\S+) :: (\w+))", [&](const auto& member) {
                     types[match[1]].emplace_back(member[1], member[2]);
                   });
                 });
  return types;
}

std::map<std::string, std::string> constants(const std::string& text) {
  std::map<std::string, std::string> values;
  for_each_match(text, R"((VALET_\w+) = (\d+))",
                 [&](const auto& match) { values[match[1]] = match[2]; });
  return values;
}

TEST(Interfaces, FortranHasTheStructsOfC) {
  const auto in_c = structs_of_c();
  EXPECT_GE(in_c.size(), 11U);
  EXPECT_EQ(types_of_fortran(), in_c);
}

TEST(Interfaces, FortranHasTheConstantsOfC) {
  const auto in_c = constants(header());
  EXPECT_EQ(in_c.at("VALET_METHOD_AUTOMATIC"), "4");
  EXPECT_EQ(constants(module()), in_c);
}

TEST(Interfaces, FortranHasTheFunctionsOfC) {
  const std::string fortran = module();
  std::size_t functions = 0;
  for_each_match(header(), R"((Valet_\w+)\()", [&](const auto& match) {
    const std::string name = match[1];
    if (name.ends_with("_fn")) return;
    ++functions;
    EXPECT_TRUE(std::regex_search(fortran, std::regex("\\b" + name + "\\b"))) << name;
  });
  EXPECT_GT(functions, 20U);
}

TEST(Interfaces, TheReportOfCIsTheTableOfFields) {
  std::set<std::string> in_table{"struct_size", "ranks", "method", "reason"};
  observe::for_each_field([&](const auto& field) {
    EXPECT_TRUE(in_table.insert(field.name).second) << field.name << " is there twice";
  });
  const Members members = structs_of_c().at("Valet_Report");
  std::set<std::string> in_c;
  for (const auto& [kind, name] : members) in_c.insert(name);
  EXPECT_EQ(in_c, in_table);
}

}  // namespace
}  // namespace valet
