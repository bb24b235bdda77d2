// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// What the command lines of the examples have in common.

#include "launch.hpp"
#include <valet/error.hpp>
#include <valet/options.hpp>
#include <valet/version.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

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

/// One of a few words; the others are told with the list of them.
inline CLI::Validator one_of(const std::vector<std::string>& names) {
  return CLI::Validator(
      [names](std::string& text) {
        std::string known;
        for (const std::string& name : names) {
          if (name == text) return std::string();
          known.append(known.empty() ? "" : ", ").append(name);
        }
        return "unknown value '" + text + "'; known: " + known;
      },
      "");
}

template <class Number, class Bound>
CLI::Option* add_number(CLI::App& app, const char* option, Number& value, Bound least, Bound most,
                        const char* description, const char* type = "N") {
  return app.add_option(option, value, description)
      ->check(CLI::Range(least, most).description(""))
      ->type_name(type)
      ->capture_default_str();
}

/// A number of bytes with K, M or G.
inline CLI::Option* add_bytes(CLI::App& app, const char* option, std::string& text,
                              const char* description) {
  return app.add_option(option, text, description)
      ->check(accepted_by(valet::parse_bytes))
      ->type_name("BYTES");
}

inline void add_memory(CLI::App& app, std::string& text) {
  add_bytes(app, "--memory", text, "scratch that Valet may use per rank (suffix K, M or G allowed)")
      ->capture_default_str();
}

inline void add_zoltan_method(CLI::App& app, std::string& method) {
  app.add_option("--method", method, "Zoltan's method: RCB, RIB or HSFC")
      ->check(CLI::IsMember({"RCB", "RIB", "HSFC"}, CLI::ignore_case).description(""))
      ->type_name("NAME")
      ->capture_default_str();
}

inline void add_output(CLI::App& app, std::string& directory, bool& quiet,
                       const char* description = "directory for the CSV files") {
  app.add_option("--output", directory, description)->type_name("DIR")->capture_default_str();
  app.add_flag("--quiet", quiet, "print only the result");
}

/// What is wrong where no option takes an argument: the first such, as they were given.
inline std::string about_unexpected(const CLI::App& app, int argc, char** argv) {
  const std::vector<std::string> left = app.remaining();
  std::string first = left.empty() ? std::string() : left.front();
  for (int k = 1; k < argc; ++k)
    if (std::find(left.begin(), left.end(), argv[k]) != left.end()) {
      first = argv[k];
      break;
    }
  std::string text = first.rfind('-', 0) == 0 ? "unknown option '" : "unexpected argument '";
  text.append(first).append("'; known: ");
  for (const CLI::Option* const option : app.get_options([](const CLI::Option*) { return true; }))
    for (const std::string& name : option->get_lnames())
      text.append(text.back() == ' ' ? "--" : ", --").append(name);
  return text;
}

/// Reads the arguments, and then `check` judges them together: it may throw CLI::ValidationError.
/// Returns the exit code where the program is to end: after --help or --version, or for bad input.
template <class Check>
std::optional<int> parse(CLI::App& app, int argc, char** argv, bool prints, const char* program,
                         Check&& check) {
  app.set_version_flag("--version", std::string(program) + " (Valet) " VALET_VERSION_TEXT,
                       "print the version and exit");
  const auto refuse = [&](const std::string& text) {
    if (prints) std::cerr << program << ": " << text << "\nTry --help.\n";
    return exit_bad_input;
  };
  try {
    app.parse(argc, argv);
    check();
  } catch (const CLI::ExtrasError&) {
    return refuse(about_unexpected(app, argc, argv));
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {
      if (prints) app.exit(error, std::cout, std::cerr);
      return 0;
    }
    return refuse(error.what());
  }
  return std::nullopt;
}

}  // namespace example
