// precast train as ranks of MPI, started by mpirun on this machine.
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <language_model/shipped_text.hpp>
#include <language_model/trainer.hpp>
#include <support/skip.hpp>

#include <precast/host/runtime/default_threads.hpp>
#include <precast/host/runtime/parallel.hpp>
#include <precast/io/safetensors.hpp>

#include "cli/given.hpp"
#include "ranks.hpp"

using program::run;
using program::Scratch;
using program::Words;
using ranks::mpirun;
namespace fs = std::filesystem;
using namespace precast;
using namespace precast::language_model;

namespace {

LanguageModelConfig tiny_config() {
  LanguageModelConfig config;
  config.vocabulary = 20;
  config.positions = 8;
  config.width = 16;
  config.layers = 1;
  config.heads = config.heads_kv = 2;
  config.head_width = 8;
  config.inner = 64;
  return config;
}

/// A run of a tiny model, each rank on one thread.
Words words_of(const fs::path& output, int batch, const Words& more) {
  return program::with(program::train_tiny({"--batch", std::to_string(batch), "--context", "8", "--sample",
                                            "0", "--threads", "1", "--lr", "1e-2", "--output",
                                            output.string(), "--log", output.string() + ".jsonl"}),
                       more);
}

/// Trains; its log.
std::vector<nlohmann::json> trained(const fs::path& output, int count, int batch, const Words& more) {
  const auto outcome = run(words_of(output, batch, more), count > 1 ? mpirun(count) : "");
  INFO(outcome.err);
  REQUIRE(outcome.code == 0);
  return program::json_lines(output.string() + ".jsonl");
}

double largest_difference(const std::vector<nlohmann::json>& a, const std::vector<nlohmann::json>& b,
                          const char* key) {
  REQUIRE(a.size() == b.size());
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    largest = std::max(largest, std::abs(a[i][key].get<double>() - b[i][key].get<double>()));
  return largest;
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

std::string checkpoint(const fs::path& output) { return program::content(output / "checkpoint.safetensors"); }

}  // namespace

TEST_CASE("two ranks go the way of one with twice the batch", "[mpi]") {
  const Scratch scratch;
  const fs::path folder = scratch.path();
  const std::string text(shipped_text()), data = scratch.file("data.txt", text.substr(2000)),
                                          held_out = scratch.file("held_out.txt", text.substr(0, 1000));
  for (const char* architecture : {"gpt2", "llama"}) {
    INFO(architecture);
    fs::create_directories(folder / architecture);
    const Words more{"--steps",        "40",        "--clip", "0.5", "--warmup",     "5",
                     "--schedule",     "cosine",    "--data", data,  "--validation", held_out,
                     "--architecture", architecture};
    const auto one = trained(folder / architecture / "one", 1, 8, more),
               two = trained(folder / architecture / "two", 2, 4, more),
               half = trained(folder / architecture / "half", 1, 4, more);
    CHECK(largest_difference(one, two, "loss") <= 1e-5);
    CHECK(two.back()["validation_loss"].get<double>() ==
          Approx(one.back()["validation_loss"].get<double>()).epsilon(1e-5));
    CHECK(two[0]["grad_norm"].get<double>() == Approx(one[0]["grad_norm"].get<double>()).epsilon(1e-5));
    CHECK(largest_difference(one, half, "loss") > 1e-2);  // which the second rank's windows make up for
    for (const auto& line : two) {
      CHECK(line["ranks"] == 2);
      CHECK(line["all_reduce"].get<double>() > 0);
      CHECK(line["all_reduce_wait"].get<double>() >= 0);
    }
    CHECK_FALSE(one[0].contains("ranks"));
  }
}

TEST_CASE("two ranks give the same bits each time, whatever the buckets", "[mpi]") {
  const Scratch scratch;
  const fs::path folder = scratch.path();
  trained(folder / "first", 2, 2, {"--steps", "10"});
  trained(folder / "second", 2, 2, {"--steps", "10"});
  trained(folder / "small", 2, 2, {"--steps", "10", "--bucket-size", "1KiB"});
  CHECK(checkpoint(folder / "first") == checkpoint(folder / "second"));
  // A checkpoint says how large its buckets were.
  CHECK(program::content(folder / "first" / "model.safetensors") ==
        program::content(folder / "small" / "model.safetensors"));
}

TEST_CASE("ranks agree on the loss scale, on clipping and on steps that are left out") {
  host::set_threads(1);
  const LanguageModelConfig config = tiny_config();
  const ParameterValues values = initial_values(parameters_of(config), 1);
  TrainingOptions options{.policy = "amp-f16", .steps = 20, .adamw = {.lr = 1e-2}, .clip = 0.5};
  options.scaler = {.init_scale = 1e9, .growth_interval = 3};
  std::vector<std::int32_t> text;
  for (int i = 0; i < 500; ++i) text.push_back((i * i + i / 7) % 20);
  std::vector<std::vector<StepFacts>> steps(2);
  std::vector<std::string> states(2);
  ranks::run_ranks(2, [&](ranks::ThreadRank& job) {
    const auto rank = static_cast<std::size_t>(job.rank());
    Trainer trainer(config, options, values, training_on_cpu(), {.job = &job, .bucket_bytes = 512});
    const auto batches = part_of_rank(random_windows(text, 4, 8, 1, "text"), job.rank(), 2, "text");
    while (!trainer.done()) steps[rank].push_back(trainer.step(*batches));
    for (const StateTensor& tensor : trainer.model().state())
      states[rank].append(reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size());
  });
  int skipped = 0;
  for (std::size_t i = 0; i < 20; ++i) {
    CHECK(steps[0][i].skipped == steps[1][i].skipped);
    CHECK(steps[0][i].scale == steps[1][i].scale);
    CHECK(steps[0][i].loss == steps[1][i].loss);
    CHECK(steps[0][i].non_finite == steps[1][i].non_finite);
    CHECK((steps[0][i].skipped || steps[0][i].grad_norm == steps[1][i].grad_norm));
    skipped += steps[0][i].skipped;
  }
  CHECK(skipped > 0);
  CHECK(skipped < 20);
  CHECK(states[0] == states[1]);
}

TEST_CASE("ranks whose loss scale has fallen to 0 take steps as one of PyTorch does") {
  host::set_threads(1);
  const LanguageModelConfig config = tiny_config();
  const ParameterValues values = initial_values(parameters_of(config), 1);
  TrainingOptions options{.policy = "amp-f16", .steps = 2};
  options.scaler = {.init_scale = 1e38, .backoff_factor = 1e-90};
  std::vector<std::int32_t> text;
  for (int i = 0; i < 500; ++i) text.push_back(i * i % 20);
  ranks::run_ranks(2, [&](ranks::ThreadRank& job) {
    Trainer trainer(config, options, values, training_on_cpu(), {.job = &job});
    const auto batches = part_of_rank(random_windows(text, 4, 8, 1, "text"), job.rank(), 2, "text");
    const StepFacts first = trainer.step(*batches), second = trainer.step(*batches);
    if (job.rank() != 0) return;
    CHECK(first.skipped);
    CHECK(second.scale == 0);
    // Gradients times 0 are zeros, which GradScaler does not take for inf, and over 0 NaN.
    CHECK(second.non_finite == 0);
    CHECK(std::isnan(second.grad_norm));
    CHECK_FALSE(second.skipped);
  });
}

TEST_CASE("ranks that read different checkpoints refuse to go on") {
  host::set_threads(1);
  const Scratch scratch;
  const LanguageModelConfig config = tiny_config();
  const ParameterValues values = initial_values(parameters_of(config), 1);
  const TrainingOptions options{.policy = "f32", .steps = 9};
  std::vector<std::int32_t> text;
  for (int i = 0; i < 500; ++i) text.push_back(i * i % 20);
  const auto batches = random_windows(text, 4, 8, 1, "text");
  Trainer alone(config, options, values);
  for (int step = 1; step <= 3; ++step) {
    alone.step(*batches);
    alone.write_checkpoint(scratch.path() / std::to_string(step));
  }
  const auto refusals = [&](const std::vector<std::string>& read) {
    std::vector<std::string> said(read.size());
    ranks::run_ranks(static_cast<int>(read.size()), [&](ranks::ThreadRank& job) {
      const auto rank = static_cast<std::size_t>(job.rank());
      Trainer trainer(config, options, values, training_on_cpu(), {.job = &job});
      try {
        trainer.read_checkpoint(open_checkpoint(scratch.path() / read[rank]));
      } catch (const InputError& error) {
        said[rank] = error.what();
      }
    });
    return said;
  };
  CHECK(refusals({"2", "2"}) == std::vector<std::string>(2));
  // The second of three ranks is at the mean of their steps.
  const std::vector<std::string> said = refusals({"1", "2", "3"});
  for (std::size_t rank = 0; rank < 3; ++rank)
    CHECK_THAT(said[rank], Catch::Contains("is not the same checkpoint for all ranks, and of step " +
                                           std::to_string(rank + 1) + " for rank " + std::to_string(rank)));
}

TEST_CASE("gradients may travel in bf16", "[mpi]") {
  const Scratch scratch;
  const fs::path folder = scratch.path();
  const Words f32{"--steps", "20"}, bf16{"--steps", "20", "--all-reduce-precision", "bf16"};
  const auto wide = trained(folder / "wide", 2, 2, f32), narrow = trained(folder / "narrow", 2, 2, bf16);
  CHECK(largest_difference(wide, narrow, "loss") > 0);
  CHECK(largest_difference(wide, narrow, "loss") < 0.05);
}

TEST_CASE("a run that is resumed goes on with its sums", "[mpi]") {
  const Scratch scratch;
  const fs::path out = scratch.path() / "out", whole = scratch.path() / "whole";
  const Words sums{"--all-reduce-precision", "bf16", "--bucket-size", "4KiB"};
  trained(whole, 2, 2, program::with(sums, {"--steps", "8"}));
  trained(out, 2, 2, program::with(sums, {"--steps", "4"}));
  const auto refused =
      run(words_of(out, 2, {"--steps", "8", "--resume", "--all-reduce-precision", "f16"}), mpirun(2));
  CHECK(refused.code == 2);
  CHECK_THAT(refused.err, Catch::Contains("--all-reduce-precision is f16, and was bf16"));
  trained(out, 2, 2, {"--steps", "8", "--resume"});
  CHECK(checkpoint(out) == checkpoint(whole));
}

TEST_CASE("a run whose sums have no name is resumed with that of its policy's gradients", "[mpi]") {
  const Scratch scratch;
  const fs::path out = scratch.path() / "out", whole = scratch.path() / "whole";
  trained(whole, 2, 2, {"--steps", "8"});
  trained(out, 2, 2, {"--steps", "4"});
  const auto refused =
      run(words_of(out, 2, {"--steps", "8", "--resume", "--all-reduce-precision", "bf16"}), mpirun(2));
  CHECK(refused.code == 2);
  CHECK_THAT(refused.err, Catch::Contains("--all-reduce-precision is bf16, and was f32"));
  trained(out, 2, 2, {"--steps", "8", "--resume", "--all-reduce-precision", "f32"});
  CHECK(program::content(out / "model.safetensors") == program::content(whole / "model.safetensors"));
}

#if !PRECAST_HAS_ADDRESS_SANITIZER  // which wants to be the first library that is loaded
/// Starts two ranks on a disk that takes its time from when a file is there, and then sends a signal to one
/// of them; how the job ended, or nothing where no C compiler is.
std::optional<int> signalled_on_slow_disk(const Scratch& scratch, const Words& words, const fs::path& file,
                                          const std::string& signal, int rank, const fs::path& said) {
  const std::string slow = (scratch.path() / "slow.so").string(),
                    source = scratch.file("slow.c",
                                          "#include <sys/stat.h>\n#include <time.h>\nint fsync(int file) { "
                                          "struct timespec left = {1, 0}; struct stat found; (void)file; if "
                                          "(stat(\"" +
                                              file.string() +
                                              "\", &found) == 0 && found.st_size != 0) while (nanosleep("
                                              "&left, &left) != 0) ; return 0; }\n");
  if (std::system(
          ("cc -shared -fPIC " + program::quoted(source) + " -o " + program::quoted(slow) + " 2>/dev/null")
              .c_str()) != 0) {
    testing::skip("no C compiler for a disk that is slow");
    return std::nullopt;
  }
  std::string line =
      mpirun(2) + " -x LD_PRELOAD=" + program::quoted(slow) + " " + program::quoted(PRECAST_PROGRAM);
  for (const std::string& word : words) line += " " + program::quoted(word);
  const std::string script =
      "(exec env --default-signal=INT,TERM OMPI_MCA_odls_base_sigkill_timeout=3 " + line + ") >/dev/null 2>" +
      program::quoted(said.string()) + " & job=$!; for i in $(seq 600); do [ -s " +
      program::quoted(file.string()) +
      " ] && break; sleep 0.1; done; for rank in $(pgrep -P $job); do grep -qzx OMPI_COMM_WORLD_RANK=" +
      std::to_string(rank) + " /proc/$rank/environ && kill -" + signal + " $rank; done; wait $job";
  return std::system(script.c_str());
}

TEST_CASE("ranks that are told to stop wait for a checkpoint that takes its time", "[mpi]") {
  const Scratch scratch;
  const fs::path out = scratch.path() / "out", said = scratch.path() / "said";
  const auto status = signalled_on_slow_disk(
      scratch, words_of(out, 2, {"--checkpoint-every", "1000000", "--steps", "1000000"}),
      out.string() + ".jsonl", "INT", 1, said);
  if (!status) return;
  const std::string err = program::content(said);
  INFO(err);
  CHECK((WIFEXITED(*status) && WEXITSTATUS(*status) == 130));
  CHECK_THAT(err, Catch::Contains("precast: error: interrupted: --resume continues from the checkpoint"));
  CHECK(fs::exists(out / "checkpoint.safetensors"));
}

TEST_CASE("a rank that dies when all steps are done and the model is not written is told of", "[mpi]") {
  const Scratch scratch;
  const fs::path out = scratch.path() / "out", said = scratch.path() / "said";
  const auto status = signalled_on_slow_disk(scratch, words_of(out, 2, {"--steps", "3"}),
                                             out / "checkpoint.safetensors", "9", 0, said);
  if (!status) return;
  const std::string err = program::content(said);
  INFO(err);
  CHECK((WIFEXITED(*status) && WEXITSTATUS(*status) == 137));
  CHECK(count_of(err, "precast: error: rank 1: the job was stopped while this rank waited") == 1);
  CHECK_FALSE(fs::exists(out / "model.safetensors"));
  const auto resumed = run(words_of(out, 2, {"--steps", "3", "--resume"}), mpirun(2));
  INFO(resumed.err);
  CHECK(resumed.code == 0);
  CHECK(fs::exists(out / "model.safetensors"));
}
#endif

namespace {

/// The command of a training run of two ranks that ends by a signal alone.
std::string endless_training(const fs::path& out) {
  std::string line = program::quoted(PRECAST_PROGRAM);
  for (const std::string& word : words_of(out, 2, {"--checkpoint-every", "1000000", "--steps", "1000000"}))
    line += " " + program::quoted(word);
  return line;
}

/// Runs `command`, and when it has logged a step `signals`, which ask all ranks to stop while the second one
/// stands still for longer than one waits that mpirun stopped: the checkpoint is written.
void check_terminated(const std::string& command, const fs::path& out, const std::string& signals,
                      const fs::path& said) {
  const std::string script = "(exec env --default-signal=INT,TERM " + command + ") >/dev/null 2>" +
                             program::quoted(said.string()) + " & job=$!; for i in $(seq 600); do [ -s " +
                             program::quoted(out.string() + ".jsonl") + " ] && break; sleep 0.1; done; " +
                             signals + "; wait $job";
  const int status = std::system(script.c_str());
  const std::string err = program::content(said);
  INFO(err);
  CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 143));
  CHECK_THAT(err, Catch::Contains("precast: error: interrupted: --resume continues from the checkpoint"));
  CHECK(count_of(err, "precast: error:") == 1);
  CHECK(fs::exists(out / "checkpoint.safetensors"));
}

}  // namespace

TEST_CASE("ranks that are all told to stop come to the end of their step, however long one of them takes",
          "[mpi]") {
  const Scratch scratch;
  const fs::path out = scratch.path() / "out", said = scratch.path() / "said";
  check_terminated(mpirun(2) + " " + endless_training(out), out,
                   "ranks=$(pgrep -P $job); for rank in $ranks; do grep -qzx OMPI_COMM_WORLD_RANK=1 "
                   "/proc/$rank/environ && slow=$rank; done; kill -STOP $slow; kill -TERM $ranks; sleep 2; "
                   "kill -CONT $slow",
                   said);
}

TEST_CASE("ranks that Slurm tells to stop come to the end of their step too", "[mpi]") {
  const Scratch scratch;
  const fs::path out = scratch.path() / "out", said = scratch.path() / "said";
  // As slurmstepd does, a parent has srun's variables, and passes SIGTERM on.
  const std::string parent =
      scratch.file("parent.sh",
                   "export SLURM_PROCID=$OMPI_COMM_WORLD_RANK SLURM_STEP_NUM_TASKS=2\n"
                   "unset OMPI_COMM_WORLD_RANK OMPI_COMM_WORLD_SIZE\n" +
                       endless_training(out) +
                       " &\nrank=$!\necho $rank > rank$SLURM_PROCID\ntrap 'kill -TERM $rank' TERM\n"
                       "wait $rank\nwait $rank\n");
  check_terminated("env -C " + program::quoted(scratch.path().string()) + " " + mpirun(2) + " sh " +
                       program::quoted(parent),
                   out,
                   "cd " + program::quoted(scratch.path().string()) +
                       "; kill -STOP $(cat rank1); pkill -TERM -P $job; sleep 2; kill -CONT $(cat rank1)",
                   said);
}

TEST_CASE("ranks of a machine have a share of its memory each", "[mpi]") {
  const Scratch scratch;
  const auto refused =
      run({"train", "--output", (scratch.path() / "out").string(), "--width", "131072", "--layers", "1024"},
          mpirun(2));
  INFO(refused.err);
  CHECK(refused.code == 1);
  CHECK_THAT(refused.err, Catch::Contains("takes at least") &&
                              Catch::Contains("are free for each of the 2 ranks on this machine: try") &&
                              Catch::Contains("or fewer ranks on a machine"));
}

TEST_CASE("a signal to any rank is how the job ends, whichever it came to", "[mpi]") {
  const Scratch scratch;
  struct Ending {
    const char* signal;
    int rank, code;
  };
  for (const auto& [signal, rank, code] : {Ending{"TERM", 1, 143}, {"HUP", 1, 129}, {"INT", 0, 130}}) {
    CAPTURE(signal, rank);
    const fs::path out = scratch.path() / (signal + std::to_string(rank)), said = scratch.path() / "said";
    std::string line = mpirun(2) + " " + program::quoted(PRECAST_PROGRAM);
    for (const std::string& word : words_of(out, 2, {"--steps", "1000000"}))
      line += " " + program::quoted(word);
    const std::string script =
        "(exec env --default-signal=INT,TERM,HUP " + line + ") >/dev/null 2>" +
        program::quoted(said.string()) + " & job=$!; for i in $(seq 600); do [ -s " +
        program::quoted(out.string() + ".jsonl") +
        " ] && break; sleep 0.1; done; for rank in $(pgrep -P $job); do grep -qzx OMPI_COMM_WORLD_RANK=" +
        std::to_string(rank) + " /proc/$rank/environ && kill -" + signal + " $rank; done; wait $job";
    const int status = std::system(script.c_str());
    INFO(program::content(said));
    CHECK((WIFEXITED(status) && WEXITSTATUS(status) == code));
  }
}

TEST_CASE("a rank that is killed ends the job with one line, and the checkpoint goes on with the same bits",
          "[mpi]") {
  for (const int victim : {1, 0}) {
    CAPTURE(victim);
    const Scratch scratch;
    const fs::path killed = scratch.path() / "killed", whole = scratch.path() / "whole",
                   said = scratch.path() / "said";
    const int ranks = victim == 0 ? 3 : 2;  // of the two that are left one speaks
    std::string line = mpirun(ranks) + " " + program::quoted(PRECAST_PROGRAM);
    for (const std::string& word : words_of(killed, 2, {"--checkpoint-every", "7", "--steps", "1000000"}))
      line += " " + program::quoted(word);
    const std::string file = program::quoted((killed / "checkpoint.safetensors").string());
    // mpirun kills those that it stopped after a second, which a slow machine may need to run them at all.
    const std::string script =
        "(exec env OMPI_MCA_odls_base_sigkill_timeout=3 " + line + ") >/dev/null 2>" +
        program::quoted(said.string()) + " & job=$!; for i in $(seq 600); do [ -e " + file +
        " ] && break; sleep 0.1; done; for rank in $(pgrep -P $job); do grep -qzx "
        "OMPI_COMM_WORLD_RANK=" +
        std::to_string(victim) + " /proc/$rank/environ && kill -9 $rank; done; wait $job";
    CHECK(std::system(script.c_str()) != 0);
    const std::string err = program::content(said);
    INFO(err);
    CHECK(count_of(err, "precast: error:") == 1);
    CHECK(count_of(err, "precast: error: rank") == (victim == 0 ? 1 : 0));
    CHECK_THAT(err, Catch::Contains("--resume"));
    const precast::io::SafetensorsFile left(killed / "checkpoint.safetensors");
    const int reached = std::stoi(left.metadata().at("step"));
    CHECK(reached % 7 == 0);
    const std::string steps = std::to_string(reached + 5);
    trained(killed, ranks, 2, {"--steps", steps, "--resume"});
    trained(whole, ranks, 2, {"--steps", steps, "--checkpoint-every", "7"});
    CHECK(checkpoint(killed) == checkpoint(whole));
  }
}

TEST_CASE("ranks that say nothing of the end of their job wait for the one that does", "[mpi]") {
  const Scratch scratch;
  const fs::path out = scratch.path() / "out", said = scratch.path() / "said";
  std::string line = mpirun(3) + " " + program::quoted(PRECAST_PROGRAM);
  for (const std::string& word : words_of(out, 2, {"--steps", "1000000"}))
    line += " " + program::quoted(word);
  // Told 5 s after the death of the third, ranks give up 2 s later and end 2 s after that; the first stands
  // still meanwhile. Its stop, its start and the end of another wake mpirun, which sleeps on for the whole
  // seconds that are left and then kills: from 4.4 4 s, of which 1.45 are left at the start, and without the
  // wait 0.85.
  const std::string script =
      "(exec env OMPI_MCA_odls_base_sigkill_timeout=5 " + line + ") >/dev/null 2>" +
      program::quoted(said.string()) + " & job=$!; for i in $(seq 600); do [ -s " +
      program::quoted(out.string() + ".jsonl") +
      " ] && break; sleep 0.1; done; for rank in $(pgrep -P $job); do grep -qzx OMPI_COMM_WORLD_RANK=0 "
      "/proc/$rank/environ && first=$rank; grep -qzx OMPI_COMM_WORLD_RANK=2 /proc/$rank/environ && "
      "third=$rank; done; kill -9 $third; sleep 5.6; kill -STOP $first; sleep 2.55; kill -CONT $first; wait "
      "$job";
  CHECK(std::system(script.c_str()) != 0);
  const std::string err = program::content(said);
  INFO(err);
  CHECK(count_of(err, "precast: error: the job was stopped while this rank waited") == 1);
  CHECK(count_of(err, "precast: error:") == 1);
}

TEST_CASE("another number of ranks goes on with the same windows, or is refused", "[mpi]") {
  const Scratch scratch;
  const fs::path out = scratch.path() / "out", whole = scratch.path() / "whole";
  trained(out, 2, 4, {"--steps", "10"});
  const auto refused = run(words_of(out, 4, {"--steps", "20", "--resume"}));
  CHECK(refused.code == 1);
  CHECK(refused.one_line_error());
  CHECK_THAT(refused.err,
             Catch::Contains(
                 "2 ranks that took 8 windows a step, and this run, of 1 rank, takes 4: give --batch 8"));
  const auto uneven = run(words_of(out, 4, {"--steps", "20", "--resume"}), mpirun(3));
  CHECK(uneven.code == 1);
  CHECK_THAT(uneven.err, Catch::Contains("of 3 ranks, takes 12: start a number of ranks that divides 8"));
  const auto resumed = trained(out, 1, 8, {"--steps", "20", "--resume"});
  const auto straight = trained(whole, 2, 4, {"--steps", "20"});
  CHECK(largest_difference(resumed, straight, "loss") <= 1e-5);
}

TEST_CASE("threads that mpirun has left fewer cores are told of, once", "[mpi]") {
  if (host::available_cores() < 2) {
    WARN("one core is all that mpirun could bind a rank to");
    return;
  }
  const Scratch scratch;
  const auto said = [&](const std::string& binding) {
    const auto trained = run(program::train(scratch.path() / binding, {"--steps", "1", "--threads", "2"}),
                             mpirun(2) + " --bind-to " + binding);
    INFO(trained.err);
    CHECK(trained.code == 0);
    return count_of(trained.err, "precast: warning: 2 threads of a rank share 1 core");
  };
  CHECK(said("core") == 1);
  CHECK(said("none") == 0);
}

TEST_CASE("what is wrong with all ranks is said once", "[mpi]") {
  const Scratch scratch;
  const fs::path out = scratch.path() / "out";
  const auto none = run(words_of(out, 2, {"--data", (scratch.path() / "none.txt").string()}), mpirun(2));
  INFO(none.err);
  CHECK(none.code == 1);
  CHECK(count_of(none.err, "precast: error:") == 1);
  const auto usage = run(words_of(out, 2, {"--lr", "0"}), mpirun(2));
  INFO(usage.err);
  CHECK(usage.code == 2);
  CHECK(count_of(usage.err, "precast: error:") == 1);
  const auto one_device = run(words_of(out, 2, {"--device", "cuda:1"}), mpirun(2));
  INFO(one_device.err);
  CHECK(one_device.code == 2);
  CHECK(count_of(one_device.err, "precast: error:") == 1);
  CHECK_THAT(one_device.err, Catch::Contains("give --device cuda, of which each rank"));
  const auto no_device = run(words_of(out, 2, {"--device", "tpu"}), mpirun(2));
  INFO(no_device.err);
  CHECK(no_device.code == 2);
  CHECK(count_of(no_device.err, "there is no device 'tpu'") == 1);
}

TEST_CASE("ranks that were started with different options or data are refused", "[mpi]") {
  const Scratch scratch;
  const fs::path out = scratch.path() / "out";
  const std::string text = scratch.file("text", "Alice was beginning to get very tired of sitting by her"),
                    other = scratch.file("other", "Alice was beginning to get very tired of sitting by him");
  // The second rank has one option more, or another.
  const auto refusal_of = [&](const Words& words, const std::string& first, const std::string& second) {
    std::string script = "exec " + program::quoted(PRECAST_PROGRAM);
    for (const std::string& word : words) script += " " + program::quoted(word);
    script += " $([ $OMPI_COMM_WORLD_RANK = 0 ] && echo '" + first + "' || echo '" + second + "')";
    const std::string starter = mpirun(2) + " sh -c " + program::quoted(script) + " --";
    const auto refused = run({}, starter);
    INFO(refused.err);
    CHECK(refused.code != 0);
    CHECK(count_of(refused.err, "precast: error:") == 1);
    CHECK(!fs::exists(out));
    return refused.err;
  };
  const auto refusal = [&](const std::string& first, const std::string& second) {
    return refusal_of(words_of(out, 2, {"--steps", "3"}), first, second);
  };
  CHECK_THAT(refusal("--eps 1e-6", "--eps 1e-7"), Catch::Contains("--eps is 1e-07 for rank 1, and 1e-06"));
  CHECK_THAT(refusal("", "--clip 1"), Catch::Contains("--clip is 1 for rank 1, and not given for rank 0"));
  CHECK_THAT(refusal("--data " + text, "--data " + other), Catch::Contains("data is another for rank 1"));
  CHECK_THAT(refusal("--bucket-size 1KiB", ""), Catch::Contains("--bucket-size is 26214400 for rank 1"));
  CHECK_THAT(refusal("", "--data none"), Catch::Contains("rank 1: none: cannot be opened"));
  CHECK_THAT(refusal("", "--device cuda"),
             Catch::Contains("--device is cuda for rank 1, and cpu for rank 0"));
  // Ranks that do other things wait for other sums.
  const Words any = program::train_tiny({"--batch", "2", "--context", "8", "--threads", "1"});
  CHECK_THAT(refusal_of(any, "--predict-ranks 2", "--output " + out.string()),
             Catch::Contains("--predict-ranks is not given for rank 1, and 2 for rank 0"));
  CHECK_THAT(refusal_of(any, "--compare f32,bf16", "--predict-ranks 2"), Catch::Contains("for rank 1, and "));
  CHECK_THAT(refusal_of(any, "--predict-ranks 2 --clip 1", "--predict-ranks 2"),
             Catch::Contains("--clip is not given for rank 1, and 1 for rank 0"));
}

TEST_CASE("a program without its MPI says so", "[mpi]") {
  const Scratch scratch;
  const fs::path alone = scratch.path() / "precast";
  fs::copy_file(PRECAST_PROGRAM, alone);
  const std::string said = (scratch.path() / "said").string();
  CHECK(
      std::system(("PMI_RANK=0 PMI_SIZE=2 " + program::quoted(alone.string()) + " train --steps 1 --output " +
                   program::quoted((scratch.path() / "out").string()) + " 2>" + program::quoted(said))
                      .c_str()) != 0);
  CHECK_THAT(program::content(said), Catch::StartsWith("precast: error: this build of precast has no MPI"));
  const auto unknown = run(words_of(scratch.path() / "out", 2, {"--steps", "1"}), "PMI_RANK=0 PMI_SIZE=2");
  INFO(unknown.err);
  CHECK(unknown.code == 1);
  CHECK(unknown.one_line_error());
  CHECK_THAT(unknown.err, Catch::Contains("MPI knows of 1"));
}
