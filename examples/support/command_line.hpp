// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// What the command lines of the examples have in common.

#include "launch.hpp"
#include <valet/error.hpp>

#include <CLI/CLI.hpp>

#include <iostream>
#include <optional>
#include <string>

namespace example {

/// Lets valet's own parsers judge the text.
template <class Parse>
CLI::Validator accepted_by(Parse parse) {
  return CLI::Validator(
      [parse](std::string& text) {
        try {
          static_cast<void>(parse(text));
        } catch (const valet::Error& error) {
          return std::string(error.what());
        }
        return std::string();
      },
      "");
}

/// Reads the arguments, and then `check` judges them together: it may throw CLI::ValidationError.
/// Returns the exit code where the program is to end: after --help, or for bad input.
template <class Check>
std::optional<int> parse(CLI::App& app, int argc, char** argv, bool prints, const char* program,
                         Check&& check) {
  try {
    app.parse(argc, argv);
    check();
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {
      if (prints) app.exit(error, std::cout, std::cerr);
      return 0;
    }
    if (prints) std::cerr << program << ": " << error.what() << "\nTry --help.\n";
    return exit_bad_input;
  }
  return std::nullopt;
}

}  // namespace example
