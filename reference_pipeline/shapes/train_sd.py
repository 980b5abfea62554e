"""Trains `shapes-sd`, the second bundled model: a whole Stable Diffusion 1.x, only small.

    python train_sd.py --work /tmp/shapes_sd --stages latents,unet,export

needs torch, diffusers, transformers, and `model/`, from which it takes the tokenizer, the CLIP text encoder (which
tells kind, colour, background, size and place apart already) and the autoencoder. Only the UNet is trained. Stages:

  latents   gives the autoencoder its quant_conv, draws pictures with slightly moved shapes and encodes them once.
  unet      v-prediction; Muon for matrices and convolutions, AdamW for the rest, an average of the weights is kept.
            A part of the prompts is dropped, so that guidance and negative prompts mean something.
  export    rounds all weights to bf16 and writes the folder.

The same 34 of 336 (kind, colour, background) triples are held out (draw.held_out_triples).
"""

import argparse
import json
import pathlib
import random
import re
import shutil
import time

import numpy as np
import torch
import torch.nn.functional as F
from diffusers import AutoencoderKL, StableDiffusionPipeline
from transformers import CLIPTextModel, CLIPTokenizer

import captions
import draw
import parts
import parts_sd
from train import Budget, attention, as_input, log, round_to_bf16

VARIANTS = 4  # moved copies of each training picture
SHAPES = parts_sd.HERE / "model"


def load_clip():
    return CLIPTextModel.from_pretrained(SHAPES / "text_encoder").float().eval().requires_grad_(False)


def make_latents(work, batch=64):
    rng = np.random.default_rng(4)
    known = draw.training_descriptions()
    plain = AutoencoderKL.from_pretrained(SHAPES / "vae").float().eval().requires_grad_(False)
    plain = plain.to(memory_format=torch.channels_last)
    found = []
    count = len(known) * VARIANTS
    for start in range(0, count, batch):
        drawn = []
        for i in range(start, min(start + batch, count)):
            jitter = (*rng.uniform(-1, 1, 2), rng.uniform(0.97, 1.03))
            drawn.append(draw.draw(*known[i % len(known)], jitter=jitter))
        with torch.autocast("cpu", torch.bfloat16):
            found.append(plain.encode(as_input(torch.from_numpy(np.stack(drawn)))).latent_dist.mean.float())
        if start // batch % 20 == 0:
            log("latents", start, "of", count)
    z = torch.cat(found).contiguous()
    mean, deviation = z.mean((0, 2, 3)).bfloat16().float(), z.std((0, 2, 3))
    vae = round_to_bf16(parts_sd.with_quant_conv(plain.to(memory_format=torch.contiguous_format), mean, deviation))
    weight, bias = vae.quant_conv.weight[:4, :4, 0, 0], vae.quant_conv.bias[:4]
    latents = (torch.einsum("oc,nchw->nohw", weight, z) + bias[:, None, None]) * parts_sd.SCALING_FACTOR
    log("latents", tuple(latents.shape), "mean", latents.mean().item(), "by channel", latents.std((0, 2, 3)))
    torch.save({"latents": latents.bfloat16(), "vae": vae.state_dict(), "config": dict(vae.config)}, work / "latents.pt")


def load_vae(work):
    state = torch.load(work / "latents.pt", weights_only=False)
    vae = AutoencoderKL(**{key: value for key, value in state["config"].items() if not key.startswith("_")})
    vae.load_state_dict(state["vae"])
    return vae.eval().requires_grad_(False)


class Samples:
    """Batches of (latents, hidden states of fresh captions)."""

    def __init__(self, work, seed):
        self.tokenizer, self.clip = CLIPTokenizer.from_pretrained(SHAPES / "tokenizer"), load_clip()
        self.latents = torch.load(work / "latents.pt", weights_only=False)["latents"]
        self.known, self.rng = draw.training_descriptions(), random.Random(seed)

    @torch.no_grad()
    def encode(self, lines):
        ids = self.tokenizer(lines, padding="max_length", max_length=77, truncation=True, return_tensors="pt")
        return self.clip(ids.input_ids).last_hidden_state

    def batch(self, count, dropout, partial):
        index = torch.randint(len(self.latents), (count,))
        lines = [captions.caption(self.known[i % len(self.known)], self.rng, partial)[0] for i in index.tolist()]
        lines = ["" if self.rng.random() < dropout else line for line in lines]
        x = self.latents[index].float().contiguous(memory_format=torch.channels_last)
        return x, self.encode(lines)


def train_unet(work, minutes, batch, rate, resume):
    torch.manual_seed(7)
    F.scaled_dot_product_attention = attention
    samples, model = Samples(work, 8), parts_sd.make_unet()
    if resume:
        model.load_state_dict(torch.load(work / "unet.pt"))
    model = model.to(memory_format=torch.channels_last)
    matrices = [p for name, p in model.named_parameters() if "blocks." in name + "." or "mid_block." in name]
    matrices = [p for p in matrices if p.ndim in (2, 4)]
    chosen = {id(p) for p in matrices}
    rest = [p for p in model.parameters() if id(p) not in chosen]
    muon = parts.Muon(matrices, rate)
    adam = torch.optim.AdamW(rest, lr=rate / 2, betas=(0.9, 0.98), weight_decay=0.0)
    kept = parts_sd.make_scheduler().alphas_cumprod
    log("unet", sum(p.numel() for p in model.parameters()), "parameters")
    average, budget, total, saved = parts.Average(model, 0.998), Budget(minutes), 0.0, time.time()
    while budget.progress() < 1:
        x, hidden = samples.batch(batch, 0.1, 0.15)
        # What kind of shape it is, learned last, is decided at middle noise: half of the steps are there.
        t = torch.where(torch.rand(batch) < 0.5, torch.rand(batch), torch.sigmoid(torch.randn(batch) - 0.3))
        t = (1000 * t).long().clamp(0, 999)
        signal, spread = kept[t].sqrt()[:, None, None, None], (1 - kept[t]).sqrt()[:, None, None, None]
        noise = torch.randn_like(x)
        with torch.autocast("cpu", torch.bfloat16):
            guess = model(signal * x + spread * noise, t, hidden, return_dict=False)[0].float()
        loss = F.mse_loss(guess, signal * noise - spread * x)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        factor = budget.factor()
        muon.step(factor)
        adam.param_groups[0]["lr"] = rate / 2 * factor
        adam.step()
        adam.zero_grad()
        average.update()
        total += loss.item()
        if budget.step % 20 == 0:
            log("unet", budget.step, f"loss {total / 20:.5f} {100 * budget.progress():.1f}%")
            total = 0.0
        if time.time() - saved > 120 or budget.progress() >= 1:
            saved = time.time()
            state = dict(zip(dict(model.named_parameters()), average.kept))
            torch.save(state, work / "unet.tmp")
            (work / "unet.tmp").rename(work / "unet.pt")


def preview_map(vae):
    """The colours of scaled latents, from those that fit_preview.py found for `shapes`: theirs by another scale."""
    of_shapes = json.loads((SHAPES / "precast.json").read_text())["preview"]
    config = json.loads((SHAPES / "vae/config.json").read_text())
    weights, bias = torch.tensor(of_shapes["weights"]), torch.tensor(of_shapes["bias"])
    factor = torch.diagonal(vae.quant_conv.weight[:4, :4, 0, 0]) * parts_sd.SCALING_FACTOR
    mean = vae.post_quant_conv.bias
    weights = weights * config["scaling_factor"]
    bias = bias + (weights * (mean - config["shift_factor"])[:, None]).sum(0)
    weights = weights / factor[:, None]
    rounded = [[round(value, 4) for value in row] for row in weights.tolist()]
    return {"weights": rounded, "bias": [round(value, 4) for value in bias.tolist()]}


def write(work, output):
    unet = parts_sd.make_unet()
    unet.load_state_dict(torch.load(work / "unet.pt"))
    StableDiffusionPipeline(
        vae=load_vae(work).bfloat16(),
        text_encoder=load_clip().bfloat16(),
        tokenizer=CLIPTokenizer.from_pretrained(SHAPES / "tokenizer"),
        unet=unet.bfloat16(),
        scheduler=parts_sd.make_scheduler(),
        safety_checker=None,
        feature_extractor=None,
        requires_safety_checker=False,
    ).save_pretrained(output)
    shutil.rmtree(output / "tokenizer")
    shutil.copytree(SHAPES / "tokenizer", output / "tokenizer")
    # What `generate` uses where the user says nothing.
    defaults = {"steps": 8, "guidance": 3.0, "width": 64, "height": 64, "preview": preview_map(load_vae(work))}
    text = json.dumps(defaults, indent=2)
    text = re.sub(r"\[\s+([-0-9.]+),\s+([-0-9.]+),\s+([-0-9.]+)\s+\]", r"[\1, \2, \3]", text)
    (output / "precast.json").write_text(text + "\n")
    index = json.loads((output / "model_index.json").read_text())
    index = {key: value for key, value in index.items() if value != [None, None]}
    (output / "model_index.json").write_text(json.dumps(index, indent=2) + "\n")
    for file in output.rglob("*.safetensors"):
        file.chmod(0o644)
    for file in output.rglob("*.json"):
        file.write_text(file.read_text().rstrip("\n") + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=pathlib.Path, default=pathlib.Path("/tmp/shapes_sd"))
    parser.add_argument("--stages", default="latents,unet,export")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--unet-minutes", type=float, default=45.0)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--rate", type=float, default=2e-3)
    parser.add_argument("--resume", action="store_true", help="the UNet goes on from its checkpoint")
    parser.add_argument("--output", type=pathlib.Path, default=parts_sd.HERE / "model_sd")
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    given.work.mkdir(parents=True, exist_ok=True)
    for stage in given.stages.split(","):
        log("stage", stage)
        if stage == "latents":
            make_latents(given.work)
        elif stage == "unet":
            train_unet(given.work, given.unet_minutes, given.batch, given.rate, given.resume)
        elif stage == "export":
            write(given.work, given.output)
        else:
            raise SystemExit(f"unknown stage {stage}")


if __name__ == "__main__":
    main()
