#include <filesystem>
#include <string_view>

#include <cli/train/train_log.hpp>
#include <nlohmann/json.hpp>

#include <precast/io/mapped_file.hpp>
#include <precast/io/message.hpp>

namespace precast::cli {

namespace {

/// Whether it may be what a killed run left of a line: no more of another file than that is taken away.
bool begins_a_line(std::string_view text) {
  constexpr std::string_view beginning = R"({"step")";
  return beginning.starts_with(text.substr(0, beginning.size()));
}

/// The lines of the steps before `next_step`; one that a killed run left without its end is none.
std::string lines_before(const std::string& file, std::int64_t next_step) {
  std::error_code ignored;
  if (next_step == 0 || !std::filesystem::exists(file, ignored)) return {};
  const io::MappedFile old(file);
  const std::string_view text = old.text();
  const auto refuse = [&] {
    throw io::file_error(file, "is no log of precast train: give --log another name");
  };
  std::size_t end = 0, newline = 0;
  for (; (newline = text.find('\n', end)) != text.npos; end = newline + 1) {
    const auto line = nlohmann::json::parse(text.substr(end, newline - end), nullptr, false);
    if (!line.is_object() || !line.contains("step") || !line["step"].is_number_integer()) refuse();
    if (line["step"].get<std::int64_t>() >= next_step) break;
  }
  if (newline == text.npos && !begins_a_line(text.substr(end))) refuse();
  return std::string(text.substr(0, end));
}

}  // namespace

TrainLog::TrainLog(const std::string& file, std::int64_t next_step) {
  if (!file.empty()) file_.emplace(file, lines_before(file, next_step));
}

void TrainLog::write(const language_model::StepFacts& step, const std::string& policy) {
  if (file_) file_->append(step.json(policy));
}

void TrainLog::write_or_leave(const language_model::StepFacts& step, const std::string& policy,
                              const std::function<std::string()>& leave_behind) {
  try {
    write(step, policy);
  } catch (const InputError& failed) {
    std::string left;
    try {
      left = "; " + leave_behind();
    } catch (const InputError&) {
      // The disk may be the same: what was kept before stays, and the log's error says why the run ends.
    }
    throw InputError(failed.what() + left);
  }
}

}  // namespace precast::cli
