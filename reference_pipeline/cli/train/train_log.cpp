#include <filesystem>

#include <cli/train/train_log.hpp>
#include <nlohmann/json.hpp>

#include <precast/io/mapped_file.hpp>
#include <precast/io/message.hpp>

namespace precast::cli {

namespace {

/// The lines of the steps before `next_step`; one that a killed run left without its end is none.
std::string lines_before(const std::string& file, std::int64_t next_step) {
  std::error_code ignored;
  if (next_step == 0 || !std::filesystem::exists(file, ignored)) return {};
  const io::MappedFile old(file);
  const std::string_view text = old.text();
  std::size_t end = 0;
  for (std::size_t newline = 0; (newline = text.find('\n', end)) != text.npos; end = newline + 1) {
    const auto line = nlohmann::json::parse(text.substr(end, newline - end), nullptr, false);
    if (!line.is_object() || !line.contains("step") || !line["step"].is_number_integer())
      throw io::file_error(file, "is no log of precast train: give --log another name");
    if (line["step"].get<std::int64_t>() >= next_step) break;
  }
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
