// SPDX-License-Identifier: BSD-3-Clause
#include "tools/command_line.hpp"

#include <valet/error.hpp>

#include <CLI/CLI.hpp>

#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <type_traits>

namespace valet::tools {
namespace {

void declare(CLI::App& app, const Command& command) {
  for (const Option& option : command.options)
    std::visit(
        [&](auto* variable) {
          using Value = std::remove_pointer_t<decltype(variable)>;
          if constexpr (std::is_same_v<Value, bool>) {
            app.add_flag(option.name, *variable, option.help);
          } else {
            CLI::Option& added = *app.add_option(option.name, *variable, option.help);
            added.capture_default_str();
            if constexpr (!std::is_same_v<Value, std::string>) added.delimiter(',');
            if (option.check) added.check(option.check);
          }
        },
        option.variable);
  app.callback(command.run);
}

}  // namespace

Check positive() {
  return [](const std::string& text) {
    return std::strtod(text.c_str(), nullptr) > 0 ? "" : "Value " + text + " is not positive";
  };
}

Check in_range(int least, int most) {
  return [=](const std::string& text) {
    const double value = std::strtod(text.c_str(), nullptr);
    if (value >= least && value <= most) return std::string();
    return "Value " + text + " not in range " + std::to_string(least) + " to " +
           std::to_string(most);
  };
}

Check one_of(const std::vector<std::string>& names) {
  return [names](const std::string& text) {
    std::string known;
    for (const std::string& name : names) {
      if (name == text) return std::string();
      known += (known.empty() ? "" : ",") + name;
    }
    return text + " not in {" + known + "}";
  };
}

void run_command_line(const Command& program, const std::vector<Command>& subcommands, int argc,
                      char** argv, bool prints) {
  CLI::App app(program.description, program.name);
  declare(app, program);
  for (const Command& command : subcommands)
    declare(*app.add_subcommand(command.name, command.description), command);
  if (!subcommands.empty()) app.require_subcommand(1);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) throw Error(ErrorCode::invalid_argument, error.what());
    if (prints) app.exit(error);
  }
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
    throw std::runtime_error("cannot write to standard output: is its disk full?");
}

}  // namespace valet::tools
