// Walks over the arguments once, and keeps the first error.
#include <algorithm>
#include <cstdlib>
#include <set>
#include <span>
#include <string_view>

#include <cli/command_line.hpp>
#include <cli/options/arguments.hpp>

#include <precast/io/joined.hpp>

namespace precast::cli {

namespace {

bool is_number(const std::string& word) {
  char* end = nullptr;
  std::strtod(word.c_str(), &end);
  return end == word.c_str() + word.size() && !word.empty();
}

bool looks_like_option(const std::string& word) {
  return word.size() > 1 && word.front() == '-' && !is_number(word);
}

/// Quotes a word so that a shell reads it back unchanged.
std::string in_quotes(const std::string& word) {
  std::string text = "\"";
  for (const char c : word)
    text += (std::string_view("\"\\$`").find(c) == std::string_view::npos ? "" : "\\") + std::string(1, c);
  return text + '"';
}

class Walk {
 public:
  Walk(const CLI::App& command, const std::vector<std::string>& words) : command_(command), words_(words) {}

  CommandLine run() {
    const bool is_command = !words_.empty() && words_.front() == command_.get_name();
    for (at_ = is_command ? 1 : 0; at_ < words_.size(); ++at_) {
      const std::string& word = words_[at_];
      if (only_positionals_ || !looks_like_option(word))
        positionals_.push_back(word);
      else if (word == "--")
        only_positionals_ = true;
      else
        option(word);
    }
    if (wants_help_) return CommandLine::asks_for_help;
    count_positionals();
    check_pairs();
    if (!problem_.empty()) throw UsageError(problem_);
    return CommandLine::fits;
  }

 private:
  /// Only the first problem is reported.
  void wrong(const std::string& problem) {
    if (problem_.empty()) problem_ = problem;
  }

  void option(const std::string& word) {
    const std::size_t equals = word.find('=');
    std::string name = word.substr(0, equals);
    const CLI::Option* found = command_.get_option_no_throw(name);
    bool has_value = equals != std::string::npos;
    std::string value = has_value ? word.substr(equals + 1) : "";
    const bool one_dash = !found && !word.starts_with("--");
    if (one_dash && command_.get_option_no_throw("-" + name)) return unknown(name);  // not -p rompt
    if (one_dash) {  // -n5, or single-letter flags
      found = command_.get_option_no_throw(word.substr(0, 2));
      if (found) name = word.substr(0, 2);
      if (found && !takes_value(*found)) {
        for (std::size_t i = 1; i < word.size(); ++i) {
          const CLI::Option* const next = command_.get_option_no_throw(std::string{'-', word[i]});
          if (next && takes_value(*next)) return option("-" + word.substr(i));  // -qs 4 is -q -s 4
          letter_flag(word[i]);
        }
        return;
      }
      has_value = found != nullptr;
      if (found) value = word.substr(2);
    }
    if (!found) return unknown(name);
    if (is_help(*found)) {
      wants_help_ = true;
      return;
    }
    given(*found, name);
    if (!takes_value(*found)) {
      if (has_value) wrong(name + " takes no value, and is given '" + value + "'");
      return;
    }
    if (!has_value) {
      if (at_ + 1 == words_.size()) return wrong(name + " needs a value");
      if (is_option(words_[at_ + 1])) {
        const std::string long_name = found->get_lnames().empty() ? name : "--" + found->get_lnames().front();
        return wrong(name + " needs a value before " + words_[at_ + 1] + " (write " + long_name + "=" +
                     words_[at_ + 1] + " if that is the value)");
      }
      value = words_[++at_];
    }
    if (value.empty() && found->get_type_name().starts_with("FILE"))
      wrong(name + " is empty: name a file, or leave it out");
    const bool side_by_side =
        !found->get_lnames().empty() && is_list_option("--" + found->get_lnames().front());
    if (side_by_side && !one_dash)
      while (at_ + 1 < words_.size() && (words_[at_ + 1].empty() || words_[at_ + 1].front() != '-')) ++at_;
  }

  void letter_flag(char letter) {
    const std::string name{'-', letter};
    const CLI::Option* const found = command_.get_option_no_throw(name);
    if (!found || takes_value(*found)) return unknown(name);
    if (is_help(*found))
      wants_help_ = true;
    else
      given(*found, name);
  }

  void given(const CLI::Option& option, const std::string& name) {
    if (!given_.insert(&option).second && !is_list(option)) wrong(name + " is given twice: give it once");
  }

  void unknown(const std::string& name) {
    std::vector<std::string> names;
    for (const CLI::Option* option : command_.get_options())
      for (const std::string& known : option->get_lnames()) names.push_back("--" + known);
    const std::string nearest = nearest_name(name, names);
    wrong("there is no option " + name + (nearest.empty() ? "" : ": did you mean " + nearest + "?"));
  }

  /// Checks that there are no more positional arguments than the command has.
  void count_positionals() {
    std::size_t most = 0;
    for (const CLI::Option* option : command_.get_options()) {
      if (!option->get_positional()) continue;
      const auto takes = static_cast<std::size_t>(option->get_items_expected_max());
      if (most < positionals_.size()) given_.insert(option);
      for (std::size_t i = most; i < std::min(most + takes, positionals_.size()); ++i)
        if (positionals_[i].empty() &&
            (option->get_type_name() == "PATH" || option->get_type_name() == "FILE"))
          wrong(option->get_name() + " is empty" + what_to_give(*option));
      most += takes;
    }
    if (positionals_.size() <= most) return;
    const std::string extras = io::joined(std::span(positionals_).subspan(most), " ");
    std::string advice;
    for (const char* text : {"--prompt", "--text"})
      if (most == 0 && advice.empty() && command_.get_option_no_throw(text))
        advice = std::string(": if it is text, write ") + text + " " + in_quotes(extras);
    for (const CLI::Option* option : command_.get_options())
      if (advice.empty() && !option->get_positional() && !given_.contains(option) &&
          is_one_of(positionals_[most], *option))
        advice = ": write " + option->get_name() + " " + positionals_[most];
    wrong("'" + positionals_[most] + "' is one argument too many" + advice);
  }

  void check_pairs() {
    for (const CLI::Option* option : command_.get_options()) {
      const std::string name = option->get_name();
      if (!given_.contains(option)) {
        if (option->get_required()) wrong(name + " is required" + what_to_give(*option));
        continue;
      }
      for (const CLI::Option* other : option->get_excludes())
        if (given_.contains(other)) wrong(name + " excludes " + other->get_name() + ": give one of them");
      for (const CLI::Option* other : option->get_needs())
        if (!given_.contains(other))
          wrong(name + " requires " + other->get_name() + ": give it too, or leave " + name + " out");
    }
  }

  /// Whether a word is one of the alternatives of a type "bash|zsh|fish".
  static bool is_one_of(const std::string& word, const CLI::Option& option) {
    const std::string type = option.get_type_name();
    return word.find('|') == std::string::npos && type.find('|') != std::string::npos &&
           ("|" + type + "|").find("|" + word + "|") != std::string::npos;
  }
  /// The advice for a missing value, from the option's type.
  static std::string what_to_give(const CLI::Option& option) {
    std::string words = option.get_type_name();
    if (words == "PATH") return ": name a folder or a file";
    if (words == "FILE") return ": name a file";
    if (words.find('|') == std::string::npos) return {};
    for (std::size_t at = 0; (at = words.find('|', at)) != std::string::npos; at += 2) {
      const bool is_last = words.find('|', at + 1) == std::string::npos;
      words.replace(at, 1, is_last ? " or " : ", ");
    }
    return ": give " + words;
  }

  static bool takes_value(const CLI::Option& option) { return option.get_items_expected_max() > 0; }
  static bool is_list(const CLI::Option& option) {
    return option.get_multi_option_policy() == CLI::MultiOptionPolicy::TakeAll;
  }
  bool is_help(const CLI::Option& option) const { return &option == command_.get_help_ptr(); }
  /// Whether a word in a value's place is an option: the name of one, or a word that can be nothing else.
  bool is_option(const std::string& word) const {
    if (word.size() < 2 || word.front() != '-') return false;
    return word.starts_with("--") || command_.get_option_no_throw(word.substr(0, word.find('=')));
  }

  const CLI::App& command_;
  const std::vector<std::string>& words_;
  std::size_t at_ = 0;
  bool only_positionals_ = false, wants_help_ = false;
  std::string problem_;
  std::vector<std::string> positionals_;
  std::set<const CLI::Option*> given_;
};

}  // namespace

CommandLine check_command_line(const CLI::App& command, const std::vector<std::string>& arguments) {
  return Walk(command, arguments).run();
}

}  // namespace precast::cli
