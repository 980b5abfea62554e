"""What PyTorch and transformers make of training: GradScaler, schedules and clipping on numbers, and the losses of
tiny GPT-2 and Llama models step by step in f32, f16 throughout, bf16 with f32 masters, and under autocast.

    python make_training.py [OUTPUT]      # three minutes; writes expected/training.safetensors and language_models/*

Batches are windows of the text that ships with the program, at places that a formula says (`batch_of`, and the C++ test's)."""

import json
import math
import pathlib
import re
import sys

import torch
import transformers

from tensor_file import save

HERE = pathlib.Path(__file__).parent
OUTPUT = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else HERE
STEPS, BATCH, CONTEXT = 200, 4, 24
RUNS, RUN_STEPS = 4, 100  # how often, on windows of its own, a regime is held against f32
torch.set_num_threads(1)


def text():
  source = (HERE / "../../reference_pipeline/language_model/shipped_text.cpp").read_text()
  return re.search(r'R"text\((.*?)\)text"', source, re.S).group(1).encode()


TEXT = text()


def batch_of(step):  # run r of several begins at step r * RUN_STEPS
  starts = [(step * BATCH + row) * 67 % (len(TEXT) - CONTEXT) for row in range(BATCH)]
  return torch.tensor([list(TEXT[s:s + CONTEXT + 1]) for s in starts])


def gpt2():
  return transformers.GPT2Config(vocab_size=128, n_positions=CONTEXT, n_embd=16, n_layer=2, n_head=2, resid_pdrop=0.0,
                                 embd_pdrop=0.0, attn_pdrop=0.0, bos_token_id=0, eos_token_id=0)


def llama():
  return transformers.LlamaConfig(vocab_size=128, hidden_size=16, intermediate_size=40, num_hidden_layers=2,
                                  num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=64,
                                  tie_word_embeddings=False, bos_token_id=0, eos_token_id=0, pad_token_id=None)


def scaled_llama():
  """Waves of 6, 63, 628 and 6283 positions: of each kind one at least."""
  return transformers.LlamaConfig(vocab_size=128, hidden_size=16, intermediate_size=40, num_hidden_layers=2,
                                  num_attention_heads=2, num_key_value_heads=1, max_position_embeddings=64,
                                  rope_parameters={"rope_type": "llama3", "rope_theta": 10000.0, "factor": 8.0, "low_freq_factor": 1.0,
                                                   "high_freq_factor": 4.0, "original_max_position_embeddings": 128},
                                  attention_bias=True, mlp_bias=True, tie_word_embeddings=True, bos_token_id=0, eos_token_id=0,
                                  pad_token_id=None)


def gelu_by_erf():
  config = gpt2()
  config.activation_function = "gelu"
  return config


def groups(parameters, weight_decay):
  return [{"params": [p for p in parameters if p.dim() > 1], "weight_decay": weight_decay},
          {"params": [p for p in parameters if p.dim() < 2], "weight_decay": 0.0}]


def train(folder, regime, lr, steps=STEPS, init_scale=65536.0, growth_interval=20, clip=None, schedule=None, first_step=0):
  model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager")
  model.train()
  parameters = list(model.parameters())
  stepped = parameters
  if regime == "naive-f16":
    model.half()
  if regime == "bf16":  # not model.bfloat16(), which rounds the frequencies of positions too
    stepped = [torch.nn.Parameter(p.detach().clone()) for p in parameters]
    for p in parameters:
      p.data = p.data.bfloat16()
  optimiser = torch.optim.AdamW(groups(stepped, 0.01), lr=lr, foreach=False)
  rates = schedule(optimiser) if schedule else None
  scaler = torch.amp.GradScaler("cpu", enabled=regime == "amp-f16", init_scale=init_scale, growth_interval=growth_interval)
  lower = {"amp-f16": torch.float16, "amp-bf16": torch.bfloat16}.get(regime)
  rows = []
  for step in range(steps):
    tokens = batch_of(first_step + step)
    model.zero_grad(set_to_none=True)
    with torch.autocast("cpu", dtype=lower or torch.bfloat16, enabled=lower is not None):
      logits = model(input_ids=tokens[:, :-1], use_cache=False).logits
      loss = torch.nn.functional.cross_entropy(logits.float().reshape(-1, 128), tokens[:, 1:].reshape(-1))
    scale = scaler.get_scale()
    scaler.scale(loss).backward()
    if stepped is not parameters:
      for master, p in zip(stepped, parameters):
        master.grad = p.grad.float()
    scaler.unscale_(optimiser)
    gradients = [p.grad for p in stepped]
    norm = torch.stack([g.float().norm() for g in gradients]).norm().item()
    if clip:
      torch.nn.utils.clip_grad_norm_(stepped, clip)
    non_finite = sum(int((~torch.isfinite(g)).sum()) for g in gradients)
    rate = optimiser.param_groups[0]["lr"]
    scaler.step(optimiser)
    scaler.update()
    if stepped is not parameters:
      for master, p in zip(stepped, parameters):
        p.data.copy_(master.data)
    if rates:
      rates.step()
    rows.append([loss.item(), norm, scale, float(scaler.is_enabled() and non_finite > 0), rate])
  print(folder.name, regime, lr, "first", rows[0], "last", rows[-1], "skipped", [i for i, r in enumerate(rows) if r[3]][:20],
        "not finite from", next((i for i, r in enumerate(rows) if not math.isfinite(r[0])), None), flush=True)
  return torch.tensor(rows, dtype=torch.float64)


def scaler_history():
  scaler = torch.amp.GradScaler("cpu", init_scale=1024.0, growth_factor=3.0, backoff_factor=0.3, growth_interval=3)
  parameter = torch.zeros(2, requires_grad=True)
  optimiser = torch.optim.SGD([parameter], lr=0.1)
  found = [0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0]
  history = []
  for bad in found:
    scaler.scale(parameter.sum())
    parameter.grad = torch.tensor([1.0, math.inf if bad else 2.0])
    scaler.step(optimiser)
    scaler.update()
    history.append([float(bad), scaler.get_scale(), float(scaler._growth_tracker.item())])
  return torch.tensor(history, dtype=torch.float64)


def schedules():
  table = {}
  for name, make in [("cosine", transformers.get_cosine_schedule_with_warmup),
                     ("constant", lambda o, w, n: transformers.get_constant_schedule_with_warmup(o, w))]:
    optimiser = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
    rates = make(optimiser, 7, 31)
    values = []
    for _ in range(31):
      values.append(optimiser.param_groups[0]["lr"])
      optimiser.step()
      rates.step()
    table["schedule." + name] = torch.tensor(values, dtype=torch.float64)
  return table


def clipping():
  table = {}
  for name, most in [("above", 0.5), ("below", 1000.0)]:
    tensors = [torch.randn(5, 3, generator=torch.Generator().manual_seed(8)), torch.randn(11, generator=torch.Generator().manual_seed(9))]
    parameters = [torch.zeros_like(t).requires_grad_() for t in tensors]
    for p, t in zip(parameters, tensors):
      p.grad = t.clone()
    norm = torch.nn.utils.clip_grad_norm_(parameters, most)
    table[f"clip.{name}.norm"] = norm.reshape(1)
    table[f"clip.{name}.gradients"] = torch.cat([p.grad.reshape(-1) for p in parameters])
    table["clip.gradients"] = torch.cat([t.reshape(-1) for t in tensors])
  return table


def new_model(name, config):
  folder = OUTPUT / "language_models" / name
  torch.manual_seed(11)
  model = transformers.AutoModelForCausalLM.from_config(config)
  with torch.no_grad():  # far enough from zeros that every gradient counts
    for p in model.parameters():
      p.add_(torch.randn(p.shape) * 0.1)
  model.save_pretrained(folder)
  (folder / "generation_config.json").unlink(missing_ok=True)
  return folder


if __name__ == "__main__":
  tensors = {}
  for name, config in [("tiny_gpt2", gpt2()), ("tiny_llama", llama())]:
    folder = new_model(name, config)
    tensors[f"{name}.f32"] = train(folder, "f32", 1e-3)
    tensors[f"{name}.clipped"] = train(folder, "f32", 3e-3, steps=60, clip=1.0, schedule=lambda o: transformers.get_cosine_schedule_with_warmup(o, 10, 60))
    tensors[f"{name}.naive-f16"] = train(folder, "naive-f16", 1e-3, steps=10)
    tensors[f"{name}.amp-f16"] = train(folder, "amp-f16", 1e-3, init_scale=2.0**24)
    for regime in ["f32", "amp-bf16", "bf16"]:
      runs = [train(folder, regime, 1e-3, steps=RUN_STEPS, first_step=run * RUN_STEPS) for run in range(RUNS)]
      tensors[f"{name}.{regime}.losses"] = torch.stack([rows[:, 0] for rows in runs]).float()
  for name, config in [("tiny_gpt2_erf", gelu_by_erf()), ("tiny_llama_scaled", scaled_llama())]:
    tensors[f"{name}.f32"] = train(new_model(name, config), "f32", 1e-3, steps=50)
  tensors["scaler"] = scaler_history()
  tensors |= schedules() | clipping()
  facts = {"columns": json.dumps(["loss", "grad_norm", "scale", "skipped", "lr"]), "batch": json.dumps(BATCH),
           "context": json.dumps(CONTEXT), "steps": json.dumps(STEPS), "torch": torch.__version__,
           "transformers": transformers.__version__}
  save(OUTPUT / "expected" / "training.safetensors", tensors, facts)
