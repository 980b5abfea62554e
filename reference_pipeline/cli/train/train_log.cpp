#include <filesystem>
#include <optional>
#include <string_view>

#include <cli/running/run_report.hpp>
#include <cli/train/train_log.hpp>
#include <nlohmann/json.hpp>

#include <precast/io/mapped_file.hpp>
#include <precast/io/message.hpp>

namespace precast::cli {

namespace {

/// Whether `text` may be an incomplete line of a killed run: nothing else is overwritten.
bool begins_with(std::string_view text, std::string_view beginning) {
  return beginning.starts_with(text.substr(0, beginning.size()));
}
bool begins_a_line(std::string_view text) { return begins_with(text, R"({"step")"); }
bool begins_a_line_of_comparison(std::string_view text) { return begins_with(text, R"({"policy")"); }

[[noreturn]] void refuse_log(const std::string& file) {
  throw io::file_error(file, "is not a log of precast train: give --log another name");
}

/// The kinds of log that are accepted; a comparison's lines have the policy.
enum class LogKind : std::uint8_t { run, run_or_comparison };

/// The step in a line, or nothing if it is not a line of such a log.
std::optional<std::int64_t> step_of(std::string_view line, LogKind kind) {
  const auto json = nlohmann::json::parse(line, nullptr, false);
  if (!json.is_object() || !json.contains("step") || !json["step"].is_number_integer() ||
      (json.contains("policy") && kind == LogKind::run))
    return std::nullopt;
  return json["step"].get<std::int64_t>();
}

/// Throws if a new run would overwrite a file that is neither a log nor empty.
void require_log(const std::string& file) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(file, ignored)) return;
  const io::MappedFile old(file);
  const std::size_t end = old.text().find('\n');
  const std::string_view first = old.text().substr(0, end);
  const bool is_log = end == std::string_view::npos
                          ? begins_a_line(first) || begins_a_line_of_comparison(first)
                          : step_of(first, LogKind::run_or_comparison).has_value();
  if (!is_log) refuse_log(file);
}

/// The lines of the steps before `next_step`, without an incomplete last line of a killed run.
std::string lines_before(const std::string& file, std::int64_t next_step) {
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored)) return {};
  const io::MappedFile old(file);
  const std::string_view text = old.text();
  std::size_t end = 0, newline = 0;
  std::optional<std::int64_t> last;
  for (; (newline = text.find('\n', end)) != text.npos; end = newline + 1) {
    const std::optional<std::int64_t> step = step_of(text.substr(end, newline - end), LogKind::run);
    if (!step) refuse_log(file);
    if (*step >= next_step) break;
    last = step;
  }
  if (newline == text.npos && !begins_a_line(text.substr(end))) refuse_log(file);
  if (last && *last + 1 < next_step)
    print_warnings({io::shown(file) + " ends with step " + std::to_string(*last) +
                    ", and the checkpoint is of step " + std::to_string(next_step) +
                    ": the log lacks the steps between"});
  return std::string(text.substr(0, end));
}

}  // namespace

TrainLog::TrainLog(const std::string& file, std::int64_t next_step) {
  if (file.empty()) return;
  if (next_step == 0) require_log(file);
  file_.emplace(file, next_step == 0 ? std::string() : lines_before(file, next_step));
}

void TrainLog::write(const language_model::StepFacts& step, const std::string& policy) {
  if (file_) file_->append(step.json(policy));
}

void TrainLog::write_or_leave(const language_model::StepFacts& step, const std::string& policy,
                              const std::function<std::string()>& save_on_interrupt) {
  try {
    write(step, policy);
  } catch (const InputError& failed) {
    std::string left;
    try {
      left = "; " + save_on_interrupt();
    } catch (const InputError&) {
      // The disk may be full for it too: earlier checkpoints remain, and the log's error is the one thrown.
    }
    throw InputError(failed.what() + left);
  }
}

}  // namespace precast::cli
