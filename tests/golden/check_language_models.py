"""Language models go from transformers to precast train and back: each side says the same loss of the same tokens.

    python check_language_models.py build/release/precast      # a minute; needs torch, transformers, safetensors

Models that transformers saves (save_pretrained) are read by `precast train --model`, trained for two steps, and what it
writes is read by AutoModelForCausalLM, without a tensor that is missing, unexpected or of another shape. New models of
`precast train` are read so too. A loss is the first that `--log` has, before any step; it must be that of transformers in f32
to 1e-4, also of parameters that a file has in 16 bits, which both sides widen. Ends with 1 where one differs."""

import json
import pathlib
import subprocess
import sys
import tempfile

import torch
import transformers
from safetensors.torch import save_file

BATCH, CONTEXT, VOCABULARY = 3, 20, 96
torch.set_num_threads(1)
transformers.utils.logging.disable_progress_bar()


def gpt2(**options):
  return transformers.GPT2Config(**{"vocab_size": VOCABULARY, "n_positions": CONTEXT, "n_embd": 24, "n_layer": 2, "n_head": 3,
                                    "resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0, "bos_token_id": 0,
                                    "eos_token_id": 0, **options})


def llama(**options):
  return transformers.LlamaConfig(**{"vocab_size": VOCABULARY, "hidden_size": 24, "intermediate_size": 56,
                                     "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
                                     "head_dim": 6, "max_position_embeddings": 40, "tie_word_embeddings": False,
                                     "bos_token_id": 0, "eos_token_id": 0, "pad_token_id": None, **options})


# name: config, dtype that it is saved in, the most bytes of a shard
GIVEN = {
  "gpt2": (gpt2(), torch.float32, "1GB"),
  "gpt2, inner width": (gpt2(n_inner=40, layer_norm_epsilon=1e-4), torch.float32, "1GB"),
  "gpt2, gelu by torch": (gpt2(activation_function="gelu_pytorch_tanh"), torch.float32, "1GB"),
  "gpt2, gelu by erf": (gpt2(activation_function="gelu"), torch.float32, "1GB"),
  "gpt2, scores by layer": (gpt2(n_layer=3, scale_attn_weights=False, scale_attn_by_inverse_layer_idx=True), torch.float32, "1GB"),
  "gpt2, head apart": (gpt2(tie_word_embeddings=False), torch.float32, "1GB"),
  "gpt2, shards": (gpt2(n_layer=3), torch.float32, "20KB"),
  "gpt2, bf16": (gpt2(), torch.bfloat16, "1GB"),
  "llama": (llama(), torch.float32, "1GB"),
  "llama, tied": (llama(tie_word_embeddings=True), torch.float32, "1GB"),
  "llama, wide heads": (llama(head_dim=10, num_key_value_heads=1), torch.float32, "1GB"),
  "llama, rope theta": (llama(rope_parameters={"rope_type": "default", "rope_theta": 500.0}, rms_norm_eps=1e-4), torch.float32, "1GB"),
  "llama, linear rope": (llama(rope_parameters={"rope_type": "linear", "factor": 4.0, "rope_theta": 500.0}), torch.float32, "1GB"),
  # Waves of 6, 136 and 2916 positions: one stays, one is between, one is divided.
  "llama, llama3 rope": (llama(rope_parameters={"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                                                "original_max_position_embeddings": 256, "rope_theta": 10000.0}), torch.float32, "1GB"),
  "llama, dynamic rope": (llama(rope_parameters={"rope_type": "dynamic", "factor": 4.0, "rope_theta": 500.0}), torch.float32, "1GB"),
  "llama, yarn rope": (llama(rope_parameters={"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 10,
                                              "rope_theta": 10000.0}), torch.float32, "1GB"),
  "llama, biases": (llama(attention_bias=True, mlp_bias=True), torch.float32, "1GB"),
  "llama, biases of attention": (llama(attention_bias=True), torch.bfloat16, "1GB"),
  "llama, pad token": (llama(pad_token_id=7), torch.float32, "1GB"),
  "llama, shards": (llama(), torch.float32, "20KB"),
  "llama, f16": (llama(), torch.float16, "1GB"),
}
# New models of precast: its options.
NEW = {
  "new gpt2": ["--architecture", "gpt2"],
  "new llama": ["--architecture", "llama", "--heads-kv", "2"],
  "new llama, amp-bf16": ["--architecture", "llama", "--policy", "amp-bf16"],
  "new gpt2, naive-f16": ["--architecture", "gpt2", "--policy", "naive-f16", "--eps", "1e-3"],  # 1e-8 is 0 there, and the first step NaN
}


def tokens(steps, seed, vocabulary):
  return torch.randint(vocabulary, (steps, BATCH, CONTEXT + 1), generator=torch.Generator().manual_seed(seed))


def loss(model, windows):
  """transformers' own, which leaves labels of -100 out, and no pad token."""
  with torch.no_grad():
    logits = model(input_ids=windows[:, :-1], use_cache=False).logits
  return model.loss_function(logits, None, model.config.vocab_size, shift_labels=windows[:, 1:].contiguous()).item()


def train(program, folder, *words):
  log = folder / "log.jsonl"
  log.unlink(missing_ok=True)
  command = [program, "train", "--threads", "1", "--quiet", "--sample", "0", "--device", "cpu", "--log", str(log), *words]
  done = subprocess.run(command, capture_output=True, text=True)
  if done.returncode != 0:
    raise SystemExit(f"{' '.join(command)}\n{done.stderr}")
  return [json.loads(line)["loss"] for line in log.read_text().splitlines()]


def loaded(folder):
  """The model in f32; throws where its files are not all of it and nothing else."""
  model, facts = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, output_loading_info=True)
  wrong = {key: found for key, found in facts.items() if found}
  if wrong:
    raise SystemExit(f"{folder}: {wrong}")
  return model.eval()


def check(name, what, ours, theirs):
  near = abs(ours - theirs) <= 1e-4
  print(f"{name:24} {what:22} precast {ours:.6f}  transformers {theirs:.6f}{'' if near else '  DIFFERS'}", flush=True)
  return near


def read_back(program, folder, written, name):
  """Whether both say the same of the model that precast wrote."""
  model = loaded(written)
  windows = tokens(1, 5, model.config.vocab_size)
  file = folder / "more.safetensors"
  save_file({"tokens": windows}, file)
  ours = train(program, folder, "--model", str(written), "--batches", str(file), "--steps", "1", "--output", str(folder / "more"),
               "--overwrite")
  return check(name, type(model).__name__ + " again", ours[0], loss(model, windows[0]))


def main():
  program = str(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "build/release/precast").resolve())
  all_near = True
  with tempfile.TemporaryDirectory() as place:
    for number, (name, (config, dtype, shard)) in enumerate(GIVEN.items()):
      folder = pathlib.Path(place) / str(number)
      torch.manual_seed(number)
      model = transformers.AutoModelForCausalLM.from_config(config)
      with torch.no_grad():  # far enough from zeros that every tensor counts
        for p in model.parameters():
          p.add_(torch.randn(p.shape) * 0.1)
      model.to(dtype).save_pretrained(folder / "given", max_shard_size=shard)
      windows = tokens(2, number, VOCABULARY)
      if config.pad_token_id is not None:
        windows[:, 0, -6:] = windows[:, 1, :4] = config.pad_token_id
      save_file({"tokens": windows}, folder / "tokens.safetensors")
      ours = train(program, folder, "--model", str(folder / "given"), "--batches", str(folder / "tokens.safetensors"), "--steps",
                   "2", "--lr", "1e-2", "--output", str(folder / "trained"))
      all_near &= check(name, "as transformers wrote", ours[0], loss(loaded(folder / "given"), windows[0]))
      all_near &= read_back(program, folder, folder / "trained", name)
    for number, (name, words) in enumerate(NEW.items()):
      folder = pathlib.Path(place) / f"new{number}"
      folder.mkdir()
      train(program, folder, *words, "--width", "32", "--heads", "4", "--layers", "2", "--batch", "2", "--context", str(CONTEXT),
            "--steps", "1", "--lr", "1e-9", "--output", str(folder / "trained"))
      all_near &= read_back(program, folder, folder / "trained", name)
  sys.exit(not all_near)


if __name__ == "__main__":
  main()
