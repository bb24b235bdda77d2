// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Command lines as tables. Only command_line.cpp includes CLI11, which takes long to compile.

#include <cstdint>
#include <functional>
#include <string>
#include <variant>
#include <vector>

namespace valet::tools {

using Number = std::uint64_t;
using Numbers = std::vector<Number>;
using Integers = std::vector<int>;
using Text = std::string;
using Texts = std::vector<Text>;

/// What is wrong with the text of a value; nothing where it is right.
using Check = std::function<std::string(const std::string& text)>;
[[nodiscard]] Check positive();
[[nodiscard]] Check in_range(int least, int most);
[[nodiscard]] Check one_of(const Texts& names);

/// An option, or an argument where the name has no dashes, and the variable that it sets. Lists are
/// separated by commas; a bool is a flag.
struct Option {
  const char* name;
  std::variant<bool*, int*, double*, Text*, std::uint32_t*, Number*, Integers*, Numbers*, Texts*>
      variable;
  std::string help;
  Check check = {};
};

/// A program, or a subcommand of one.
struct Command {
  const char* name;
  const char* description;
  std::vector<Option> options;
  std::function<void()> run;
};

/// Sets the variables and runs the command that the command line names; --help, --help-all of a
/// program with subcommands, and --version are answered here.
/// @param subcommands  One of them is required; if there are none, the program runs.
/// @param prints       Whether this process prints help when it is asked for.
/// @throws Error invalid_argument where the command line is wrong, which names what is known;
/// std::runtime_error where
///         standard output takes no more; what run() throws.
void run_command_line(const Command& program, const std::vector<Command>& subcommands, int argc,
                      char** argv, bool prints);

}  // namespace valet::tools
