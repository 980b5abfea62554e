"""Trains `shapes`, the bundled model: a whole Flux, only small, on pictures that it draws itself.

    python train.py --work /tmp/shapes --stages text,vae,latents,flow,guidance,export

needs torch, diffusers, transformers, sentencepiece. Each stage reads and writes checkpoints under --work,
so stages can be run one at a time; minutes are given by --text-minutes and so on. The defaults take about
70 minutes on two cores and end with the diffusers folder `model/` beside this file. Stages:

  text      makes both tokenizers, then teaches both encoders to tell kind, colour, background, size and
            place from the caption. (Trained with the flow, colour and background stay swapped.) Then frozen.
  vae       the autoencoder: L1 + L2 + a little KL; then its decoder alone, on latents with noise added.
  latents   draws pictures with slightly moved shapes and encodes them once.
  flow      rectified flow; Muon for block matrices, AdamW for the rest, an average of the weights is kept.
  guidance  teaches the guidance input what classifier-free guidance would do in two evaluations.
  export    rounds all weights to bf16 and writes the folder.

34 of the 336 (kind, colour, background) triples are held out of every stage (draw.held_out_triples).
"""

import argparse
import pathlib
import random
import time

import numpy as np
import torch
import torch.nn.functional as F
from transformers import CLIPTokenizer, T5TokenizerFast

import captions
import draw
import parts
import vocabularies

VARIANTS = 8  # moved copies of each training picture
NAMES = [draw.KINDS, draw.COLOUR_NAMES, draw.COLOUR_NAMES, draw.SIZE_NAMES, draw.PLACE_NAMES]


def log(*what):
    print(time.strftime("%H:%M:%S"), *what, flush=True)


class Budget:
    """Progress by the clock: a stage has minutes, and its learning rate falls to zero as they run out."""

    def __init__(self, minutes, warm_up=60):
        self.start, self.minutes, self.step, self.warm_up = time.time(), minutes, 0, warm_up

    def progress(self):
        return (time.time() - self.start) / (60 * self.minutes)

    def factor(self):
        self.step += 1
        return min(1.0, self.step / self.warm_up) * min(1.0, 1.6 * max(0.0, 1 - self.progress()) + 0.01)


class Texts:
    """Tokenizes as FluxPipeline does: CLIP to its end (what follows cannot act), T5 always to its length."""

    def __init__(self, folder):
        self.clip = CLIPTokenizer.from_pretrained(folder / "tokenizer")
        self.t5 = T5TokenizerFast.from_pretrained(folder / "tokenizer_2")

    def __call__(self, lines):
        clip = self.clip(
            lines, padding="longest", max_length=77, truncation=True, return_tensors="pt"
        ).input_ids
        t5 = self.t5(
            lines,
            padding="max_length",
            max_length=vocabularies.T5_LENGTH,
            truncation=True,
            return_tensors="pt",
        ).input_ids
        return clip, t5


def known_indices():
    return [[names.index(value) for names, value in zip(NAMES, one)] for one in draw.training_descriptions()]


def train_text(work, minutes, batch=128):
    sizes = vocabularies.make(work)
    torch.manual_seed(1)
    rng = random.Random(3)
    texts, known = Texts(work), draw.training_descriptions()
    clip, t5 = parts.make_clip(sizes[0]), parts.make_t5(sizes[1])
    heads = torch.nn.ModuleList([torch.nn.Linear(width, len(names)) for width in (64, 96) for names in NAMES])
    everything = [*clip.parameters(), *t5.parameters(), *heads.parameters()]
    optimizer = torch.optim.AdamW(everything, lr=2e-3, betas=(0.9, 0.98), weight_decay=0.01)
    budget = Budget(minutes)
    while budget.progress() < 1:
        chosen = [rng.choice(known) for _ in range(batch)]
        said = [captions.caption(one, rng) for one in chosen]
        clip_ids, t5_ids = texts([text for text, _ in said])
        features = [clip(clip_ids).pooler_output, t5(t5_ids).last_hidden_state.mean(1)]
        loss = 0
        right = []
        for which, feature in enumerate(features):
            for i, names in enumerate(NAMES):
                target = torch.tensor(
                    [names.index(one[i]) if told[i] else -100 for one, (_, told) in zip(chosen, said)]
                )
                guess = heads[which * 5 + i](feature)
                loss = loss + F.cross_entropy(guess, target, ignore_index=-100)
                right.append((guess.argmax(1) == target)[target >= 0].float().mean().item())
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(everything, 1.0)
        for group in optimizer.param_groups:
            group["lr"] = 2e-3 * budget.factor() if group is optimizer.param_groups[0] else group["lr"]
        optimizer.step()
        parts.silence(clip)
        if budget.step % 50 == 0:
            log("text", budget.step, f"loss {loss.item():.4f}", " ".join(f"{r:.3f}" for r in right))
    torch.save({"sizes": sizes, "clip": clip.state_dict(), "t5": t5.state_dict()}, work / "text.pt")


def load_text(work):
    state = torch.load(work / "text.pt")
    clip, t5 = parts.make_clip(state["sizes"][0]), parts.make_t5(state["sizes"][1])
    clip.load_state_dict(state["clip"])
    t5.load_state_dict(state["t5"])
    for model in (clip, t5):  # train against what will be shipped
        round_to_bf16(model)
    return clip.eval().requires_grad_(False), t5.eval().requires_grad_(False)


def round_to_bf16(model):
    with torch.no_grad():
        for tensor in model.parameters():
            tensor.copy_(tensor.bfloat16().float())
    return model


def pictures(work):
    """All training pictures, moved a little, as uint8 [n * VARIANTS, 64, 64, 3]; kept on disk once drawn."""
    file = work / "pictures.npy"
    if not file.exists():
        rng = np.random.default_rng(4)
        known = draw.training_descriptions()
        drawn = np.empty((len(known) * VARIANTS, 64, 64, 3), np.uint8)
        for i in range(len(drawn)):
            jitter = (*rng.uniform(-1, 1, 2), rng.uniform(0.97, 1.03))
            drawn[i] = draw.draw(*known[i % len(known)], jitter=jitter)
        np.save(file, drawn)
    return torch.from_numpy(np.load(file))


def as_input(drawn):
    return (drawn.permute(0, 3, 1, 2).float() / 127.5 - 1).contiguous(memory_format=torch.channels_last)


def train_vae(work, minutes, decoder_minutes, batch=32):
    torch.manual_seed(5)
    drawn = pictures(work)
    vae = parts.make_vae().to(memory_format=torch.channels_last)
    for stage, limit, rate in (("vae", minutes, 2e-3), ("decoder", decoder_minutes, 6e-4)):
        decoder_only = stage == "decoder"
        trained = list(vae.decoder.parameters()) if decoder_only else list(vae.parameters())
        optimizer = torch.optim.AdamW(trained, lr=rate, betas=(0.9, 0.98), weight_decay=1e-3)
        average, budget = parts.Average(vae, 0.995), Budget(limit)
        spread = None
        while budget.progress() < 1:
            x = as_input(drawn[torch.randint(len(drawn), (batch,))])
            with torch.autocast("cpu", torch.bfloat16):
                with torch.set_grad_enabled(not decoder_only):
                    posterior = vae.encode(x).latent_dist
                mean, logvar = posterior.mean.float(), posterior.logvar.float()
                if decoder_only:
                    spread = mean.std() if spread is None else spread
                    z = mean + torch.randn_like(mean) * spread * 0.25 * torch.rand(batch, 1, 1, 1)
                else:
                    z = mean + torch.randn_like(mean) * (0.5 * logvar).exp()
                y = vae.decode(z).sample.float()
            loss = F.l1_loss(y, x) + F.mse_loss(y, x)
            if not decoder_only:
                loss = loss + 5e-4 * 0.5 * (mean.square() + logvar.exp() - 1 - logvar).mean()
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(trained, 1.0)
            optimizer.param_groups[0]["lr"] = rate * budget.factor()
            optimizer.step()
            average.update()
            if budget.step % 50 == 0:
                psnr = 10 * torch.log10(4 / F.mse_loss(y, x)).item()
                log(stage, budget.step, f"loss {loss.item():.4f} psnr {psnr:.2f} std {mean.std().item():.3f}")
        average.copy_to(vae)
        torch.save(vae.state_dict(), work / "vae.pt")


def load_vae(work):
    vae = parts.make_vae()
    vae.load_state_dict(torch.load(work / "vae.pt"))
    if (work / "latents.pt").exists():
        state = torch.load(work / "latents.pt")
        vae.register_to_config(scaling_factor=state["scale"], shift_factor=state["shift"])
    return round_to_bf16(vae).eval().requires_grad_(False).to(memory_format=torch.channels_last)


def encode_latents(work, batch=64):
    (work / "latents.pt").unlink(missing_ok=True)
    vae, drawn, found = load_vae(work), pictures(work), []
    with torch.no_grad():
        for i in range(0, len(drawn), batch):
            found.append(vae.encode(as_input(drawn[i : i + batch])).latent_dist.mean)
    z = torch.cat(found).contiguous()
    shift, scale = round(z.mean().item(), 4), round(1 / z.std().item(), 4)
    tokens = parts.pack((z - shift) * scale)
    log("latents", tuple(tokens.shape), f"shift {shift} scale {scale}", "by channel", z.std((0, 2, 3)))
    torch.save({"tokens": tokens, "shift": shift, "scale": scale}, work / "latents.pt")


class Samples:
    """Batches of (latents, pooled, hidden) with fresh captions, and the encoding of the empty prompt."""

    def __init__(self, work, seed):
        self.texts, (self.clip, self.t5) = Texts(work), load_text(work)
        self.tokens, self.known = torch.load(work / "latents.pt")["tokens"], draw.training_descriptions()
        self.rng, self.empty = random.Random(seed), self.encode([""])
        self.height = parts.SIDE // parts.VAE_FACTOR
        self.ids = dict(
            img_ids=parts.image_ids(self.height, self.height), txt_ids=torch.zeros(vocabularies.T5_LENGTH, 3)
        )

    @torch.no_grad()
    def encode(self, lines):
        clip_ids, t5_ids = self.texts(lines)
        return self.clip(clip_ids).pooler_output, self.t5(t5_ids).last_hidden_state

    def batch(self, count, dropout=0.0, partial=0.12):
        index = torch.randint(len(self.tokens), (count,))
        lines = [
            captions.caption(self.known[i % len(self.known)], self.rng, partial)[0] for i in index.tolist()
        ]
        lines = ["" if self.rng.random() < dropout else line for line in lines]
        return self.tokens[index], *self.encode(lines)

    def noised(self, x):
        sigma = torch.sigmoid(torch.randn(len(x)) + 0.4)
        noise = torch.randn_like(x)
        return sigma, x + sigma[:, None, None] * (noise - x), noise - x


torch_attention = F.scaled_dot_product_attention


def attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, **more):
    """Plain attention where there is no mask: torch's own makes a step 1.7 times slower at these sizes."""
    if attn_mask is not None or is_causal or scale is not None or query.dtype != torch.bfloat16:
        return torch_attention(
            query,
            key,
            value,
            attn_mask=attn_mask,
            dropout_p=dropout_p,
            is_causal=is_causal,
            scale=scale,
            **more,
        )
    scores = torch.matmul(query, (key * query.shape[-1] ** -0.5).transpose(-1, -2))
    return torch.matmul(scores.softmax(-1).to(value.dtype), value)


def velocity(model, samples, x, sigma, pooled, hidden, guidance):
    with torch.autocast("cpu", torch.bfloat16):
        return model(
            hidden_states=x,
            timestep=sigma,
            guidance=guidance,
            pooled_projections=pooled,
            encoder_hidden_states=hidden,
            **samples.ids,
            return_dict=False,
        )[0].float()


def optimize(model, rate):
    matrices = [p for name, p in model.named_parameters() if "transformer_blocks." in name and p.ndim == 2]
    chosen = {id(p) for p in matrices}
    rest = [p for p in model.parameters() if id(p) not in chosen]
    return (
        parts.Muon(matrices, rate),
        torch.optim.AdamW(rest, lr=rate / 2, betas=(0.9, 0.98), weight_decay=0.0),
        rest,
    )


def train_flow(work, minutes, guided, batch, rate, resume):
    """The flow itself, or (guided) the distillation of guidance into the trained flow."""
    torch.manual_seed(7 + guided)
    F.scaled_dot_product_attention = attention
    samples = Samples(work, 8 + guided)
    model = parts.make_transformer()
    if guided or resume:
        model.load_state_dict(torch.load(work / "flow.pt"))
    teacher = None
    if guided:
        teacher = parts.make_transformer().requires_grad_(False)
        teacher.load_state_dict(model.state_dict())
    name, ones = ("guidance" if guided else "flow"), torch.ones(batch)
    log(name, sum(p.numel() for p in model.parameters()), "parameters")
    muon, adam, rest = optimize(model, rate)
    average, budget, total, saved = parts.Average(model, 0.998), Budget(minutes), 0.0, time.time()
    while budget.progress() < 1:
        x, pooled, hidden = samples.batch(batch, 0.0 if guided else 0.08)
        sigma, noisy, target = samples.noised(x)
        guidance = ones
        if guided:
            guidance = torch.where(torch.rand(batch) < 0.2, ones, 1 + 4 * torch.rand(batch))
            with torch.no_grad():
                with_prompt = velocity(teacher, samples, noisy, sigma, pooled, hidden, ones)
                empty = [e.expand(batch, *e.shape[1:]) for e in samples.empty]
                without_prompt = velocity(teacher, samples, noisy, sigma, *empty, ones)
                target = without_prompt + guidance[:, None, None] * (with_prompt - without_prompt)
        loss = F.mse_loss(velocity(model, samples, noisy, sigma, pooled, hidden, guidance), target)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        factor = budget.factor()
        muon.step(factor)
        adam.param_groups[0]["lr"] = rate / 2 * factor
        adam.step()
        adam.zero_grad()
        average.update()
        total += loss.item()
        if budget.step % 50 == 0:
            log(name, budget.step, f"loss {total / 50:.4f} {100 * budget.progress():.1f}%")
            total = 0.0
        if time.time() - saved > 120 or budget.progress() >= 1:
            saved = time.time()
            state = dict(zip(dict(model.named_parameters()), average.kept))
            torch.save(state, work / (name + ".tmp"))
            (work / (name + ".tmp")).rename(work / (name + ".pt"))


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--work", type=pathlib.Path, default=pathlib.Path("/tmp/shapes"))
    parser.add_argument("--stages", default="text,vae,latents,flow,guidance,export")
    parser.add_argument("--threads", type=int, default=1)
    for stage, minutes in (("text", 1.8), ("vae", 6.0), ("decoder", 2.0), ("flow", 46.0), ("guidance", 6.0)):
        parser.add_argument(f"--{stage}-minutes", type=float, default=minutes)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--rate", type=float, default=2e-3)
    parser.add_argument("--resume", action="store_true", help="the flow goes on from its checkpoint")
    parser.add_argument("--output", type=pathlib.Path, default=pathlib.Path(__file__).parent / "model")
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    given.work.mkdir(parents=True, exist_ok=True)
    for stage in given.stages.split(","):
        log("stage", stage)
        if stage == "text":
            train_text(given.work, given.text_minutes)
        elif stage == "vae":
            train_vae(given.work, given.vae_minutes, given.decoder_minutes)
        elif stage == "latents":
            encode_latents(given.work)
        elif stage == "flow":
            train_flow(given.work, given.flow_minutes, False, given.batch, given.rate, given.resume)
        elif stage == "guidance":
            train_flow(given.work, given.guidance_minutes, True, given.batch, given.rate / 4, False)
        elif stage == "export":
            import export

            export.write(given.work, given.output)
        else:
            raise SystemExit(f"unknown stage {stage}")


if __name__ == "__main__":
    main()
