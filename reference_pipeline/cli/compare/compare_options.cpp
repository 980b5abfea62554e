#include <cli/compare/compare_options.hpp>
#include <cli/options/picture_options.hpp>
#include <cli/options/policy_options.hpp>

namespace precast::cli {

void add_compare_options(CLI::App& command, CompareOptions& options) {
  add_run_options(command, options.run);
  add_image_options(command, options.start);
  add_refiner_options(command, options.start);
  options.run.prompts->description("What to paint; - for a line of stdin")->type_name("TEXT");
  // Not bound to a variable, as with --prompt.
  options.policies =
      command
          .add_option("--policies",
                      "Policies, comma-separated: presets and precisions, with +upcast-attention,\n"
                      "+upcast-matmul, +upcast-conv, +flash, +no-flash; the first is the reference.\n"
                      "Default: all presets")
          ->type_name(policy_names() + ",...")
          ->take_all();
  options.output_option =
      command
          .add_option("--output,-o", options.output,
                      "Contact sheet to write, rewritten after each policy: .png, .jpg or "
                      ".webp; - for standard output, as "
                      "PNG. With --shard a part to write, .json, compare.json by "
                      "default; what it has is not run again, but for layers that it "
                      "lacks")
          ->type_name("FILE")
          ->capture_default_str();
  options.report_option =
      command
          .add_option("--report", options.report,
                      "One page (HTML) of it all: pictures with a slider and their differences, the\n"
                      "table, every dtype, the largest value of each layer, from a second, watched run")
          ->type_name("FILE");
  options.shard = add_shard_option(
      command, options.part,
      "Every Nth of the policies, beginning with the Ith, from 1: for N machines, whose files --merge puts "
      "together; auto: I and N from this process's task of a Slurm array or rank of mpirun, into "
      "--output with -I-of-N in its name");
  command.add_flag("--layers", options.layers,
                   "With --shard: runs each policy again, watched, for the largest value of each layer, "
                   "which --merge --report shows");
  options.merge = command
                      .add_option("--merge",
                                  "Merges the parts of one comparison, instead of running policies: the "
                                  "sheet, the table and --report are those of the whole")
                      ->type_name("FILE...")
                      ->take_all()
                      ->excludes(options.shard);
  options.quality_option = add_quality_option(command, options.quality);
  CLI::Option* markdown = command.add_flag("--markdown", options.markdown, "The table as Markdown");
  command.add_flag("--json", options.json, "The table as JSON on stdout")->excludes(markdown);
}

}  // namespace precast::cli
