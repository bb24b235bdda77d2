// SPDX-License-Identifier: BSD-3-Clause
#include "tools/command_line.hpp"

#include "base/environment.hpp"
#include "tools/errors.hpp"
#include <valet/configuration.hpp>
#include <valet/error.hpp>
#include <valet/options.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <stdexcept>
#include <string_view>
#include <type_traits>

namespace valet::tools {
namespace {

/// CLI11's own text names neither the option's values nor what is a number.
template <class Value>
std::string check_number(const std::string& text) {
  Value value{};
  const bool wraps =
      std::is_unsigned_v<Value> && text.starts_with("-");  // CLI11 takes -1 as 2^64-1
  if (!wraps && CLI::detail::lexical_cast(text, value)) return {};
  const char* const kind = std::is_floating_point_v<Value> ? "number"
                           : std::is_unsigned_v<Value>     ? "non-negative integer such as 4096"
                                                           : "integer";
  return "'" + text + "' is no " + kind;
}

std::string check_bytes(const std::string& text) {
  try {
    static_cast<void>(parse_bytes(text));
    return {};
  } catch (const Error& error) {
    return std::string(error.message());
  }
}

/// Whether texts are numbers of bytes: their default is one.
bool is_size(const std::string& text) { return check_bytes(text).empty(); }
bool is_size(const std::vector<std::string>& texts) {
  return !texts.empty() && is_size(texts.front());
}

template <class Value>
struct ElementOf : std::type_identity<Value> {};
template <class Value>
struct ElementOf<std::vector<Value>> : std::type_identity<Value> {};

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
            using Element = typename ElementOf<Value>::type;
            if constexpr (std::is_arithmetic_v<Element>) added.check(check_number<Element>);
            if constexpr (std::is_same_v<Element, std::string>)
              if (is_size(*variable)) added.check(check_bytes);
            if (option.check) added.check(option.check);
          }
        },
        option.variable);
  app.callback(command.run);
}

/// What was meant by a word that is not known; empty where nothing is near.
std::string nearest(const std::string& word, const Texts& names) {
  constexpr std::size_t most_slips = 2;
  const auto slips = [&](const std::string& name) { return detail::edit_distance(word, name); };
  const auto found = std::ranges::min_element(names, {}, slips);
  return found != names.end() && slips(*found) <= most_slips ? *found : std::string();
}

/// What is wrong where no option takes an argument.
std::string about_unexpected(const CLI::App& app, std::span<char* const> arguments) {
  const Texts left = app.remaining(true);
  // CLI11 gives them in an order of its own.
  const auto found =
      std::find_first_of(arguments.begin(), arguments.end(), left.begin(), left.end());
  const std::string first = found != arguments.end() ? *found : left.empty() ? "" : left.front();
  if (!first.starts_with("-"))
    return "unexpected argument '" + first + "'; --help shows what is taken";
  const std::string word = first.substr(0, first.find('='));
  Texts names;
  const std::vector<CLI::App*> chosen = app.get_subcommands();
  const CLI::App& asked = chosen.empty() ? app : *chosen.front();
  for (const CLI::Option* const option : asked.get_options([](const CLI::Option*) { return true; }))
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  const std::string meant = nearest(word, names);
  std::string text = "unknown option '" + word + "'; ";
  if (!meant.empty()) text.append("did you mean '").append(meant).append("'? ");
  return text + "--help lists all";
}

/// Whether the arguments begin with a subcommand or ask for none.
void check_subcommand(const std::vector<Command>& subcommands, std::span<char* const> arguments) {
  const std::string_view word = arguments.empty() ? "" : arguments.front();
  Texts known;
  for (const Command& command : subcommands) known.emplace_back(command.name);
  if (word.starts_with("-") || std::ranges::count(known, word) > 0) return;
  if (word.empty()) refuse("a subcommand is needed; known: ", listed(known));
  refuse("unknown subcommand '", word, "'; known: ", listed(known));
}

}  // namespace

Check positive() {
  return [](const std::string& text) {
    return std::strtod(text.c_str(), nullptr) > 0 ? "" : text + " is not positive";
  };
}

Check in_range(int least, int most) {
  return [=](const std::string& text) {
    const double value = std::strtod(text.c_str(), nullptr);
    if (value >= least && value <= most) return std::string();
    return joined(text, " is not within ", least, " and ", most);
  };
}

Check one_of(const Texts& names) {
  return [names](const std::string& text) {
    const bool is_known = std::ranges::count(names, text) > 0;
    return is_known ? "" : "unknown value '" + text + "'; known: " + listed(names);
  };
}

void run_command_line(const Command& program, const std::vector<Command>& subcommands, int argc,
                      char** argv, bool prints) {
  const std::span<char* const> arguments(argv + 1, argv + std::max(argc, 1));
  if (!subcommands.empty()) check_subcommand(subcommands, arguments);
  CLI::App app(program.description, program.name);
  app.set_help_flag("-h,--help", "print this help and exit");
  app.set_version_flag(
      "--version",
      std::string(program.name) + " (Valet) " + version() + "\n" + configuration().to_string(),
      "print the version, and how Valet was built, and exit");
  declare(app, program);
  for (const Command& command : subcommands)
    declare(*app.add_subcommand(command.name, command.description), command);
  if (!subcommands.empty()) {
    app.set_help_all_flag("--help-all", "print the help of all subcommands and exit");
    app.require_subcommand(1);
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ExtrasError&) {
    refuse(about_unexpected(app, arguments));
  } catch (const CLI::RequiredError& error) {
    refuse(app.remaining(true).empty() ? error.what() : about_unexpected(app, arguments));
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) refuse(error.what());
    if (prints) app.exit(error);
  }
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
    throw std::runtime_error("cannot write to standard output: is its disk full?");
}

}  // namespace valet::tools
