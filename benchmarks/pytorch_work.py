"""What pytorch_baseline.py measures: modules of diffusers and transformers, and ops of PyTorch, with random weights."""

import dataclasses
import math
import re

import torch

DTYPES = {"f32": torch.float32, "tf32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16,
          "fp8_e4m3": torch.float8_e4m3fn}


XL_BLOCKS = ("DownBlock2D", "CrossAttnDownBlock2D", "CrossAttnDownBlock2D")
UNET = dict(cross_attention_dim=768)
UNET_XL = dict(block_out_channels=(320, 640, 1280), down_block_types=XL_BLOCKS,
               up_block_types=tuple(name.replace("Down", "Up") for name in reversed(XL_BLOCKS)),
               transformer_layers_per_block=(1, 2, 10), attention_head_dim=(5, 10, 20), cross_attention_dim=2048,
               use_linear_projection=True, addition_embed_type="text_time", addition_time_embed_dim=256,
               projection_class_embeddings_input_dim=2816)
TINY_UNET = dict(block_out_channels=(32, 64), down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"),
                 up_block_types=("UpBlock2D", "CrossAttnUpBlock2D"), layers_per_block=1, attention_head_dim=8,
                 cross_attention_dim=32)


@dataclasses.dataclass(frozen=True)
class Model:
    """The sizes of Flux and of UNets that no name says."""
    heads: int = 24
    head_width: int = 128
    text_tokens: int = 512
    double_blocks: int = 19
    single_blocks: int = 38
    prompt_width: int = 4096
    pooled_width: int = 768
    groups: int = 32
    decoder_channels: tuple = (128, 256, 512, 512)
    unet: dict = dataclasses.field(default_factory=lambda: UNET)
    unet_xl: dict = dataclasses.field(default_factory=lambda: UNET_XL)

    @property
    def width(self):
        return self.heads * self.head_width


FLUX = Model()
# Those of precast_cuda_benchmarks --tiny (benchmarks/cuda/sizes.hpp).
TINY = Model(heads=1, text_tokens=3, double_blocks=1, single_blocks=1, prompt_width=64, pooled_width=32,
             decoder_channels=(32, 32), unet=TINY_UNET, unet_xl=TINY_UNET)


class Work:
    """Makes modules and their inputs for names on a device."""

    def __init__(self, device="cpu", model=FLUX):
        self.device, self.model = device, model
        self.makers = {
            "double_block": lambda policy, size: self.flux_block(False, policy, size),
            "single_block": lambda policy, size: self.flux_block(True, policy, size),
            "denoise_step": self.denoise_step,
            "t5_layer": self.t5_layer,
            "unet_step": self.unet_step,
            "unet_xl_step": self.unet_xl_step,
            "vae_decode": self.vae_decode,
            "attention": self.attention,
            "linear": self.linear,
            "language_model": self.language_model,
            "copy": self.copy,
            "cast": self.cast,
            "gelu": self.gelu,
            "gated_add": self.gated_add,
            "rotary": self.rotary,
            "norm_modulate": self.norm_modulate,
            "rms_norm": self.rms_norm,
            "rms_norm_heads": self.rms_norm_heads,
            "group_norm": self.group_norm,
        }

    def language_model(self, policy, size):
        from language_model_work import training_step

        name, context = size.split("+")
        return training_step(policy, name, int(context)), {}

    def make(self, kind, policy, size):
        """A callable and its keyword arguments. Raises ValueError for what PyTorch has no counterpart of."""
        if kind not in self.makers:
            raise ValueError(f"no counterpart in PyTorch of {kind!r}")
        return self.makers[kind](policy, size)

    def dtype(self, policy):
        """bf16 of bf16_plain."""
        name = policy.split("_")[0]
        if name not in DTYPES:
            raise ValueError(f"no dtype {name!r}")
        return DTYPES[name]

    def random(self, *shape, dtype):
        return torch.randn(*shape, dtype=dtype, device=self.device)

    def random_module(self, make, dtype):
        """A module in a dtype with small random weights, as ours has."""
        with torch.device("meta"):
            module = make()
        module = module.to(dtype).to_empty(device=self.device).eval()
        with torch.no_grad():
            for parameter in module.parameters():
                parameter.normal_(0, 0.02)
        return module

    def image_tokens(self, size):
        match = re.fullmatch(r"(\d+)\+(\d+)", size)
        if not match or int(match[2]) != self.model.text_tokens:
            raise ValueError(f"size {size!r} is not IMAGE+{self.model.text_tokens}")
        return int(match[1])

    def matrix(self, policy, size):
        rows, columns = (int(part) for part in size.split("x"))
        return self.random(rows, columns, dtype=self.dtype(policy))

    # --- Models and their parts ------------------------------------------------------------------------------------

    def flux_block(self, single, policy, size):
        from diffusers.models.transformers.transformer_flux import FluxSingleTransformerBlock, FluxTransformerBlock

        model, dtype, image = self.model, self.dtype(policy), self.image_tokens(size)
        kind = FluxSingleTransformerBlock if single else FluxTransformerBlock
        block = self.random_module(lambda: kind(model.width, model.heads, model.head_width), dtype)
        return block, {
            "hidden_states": self.random(1, image, model.width, dtype=dtype),
            "encoder_hidden_states": self.random(1, model.text_tokens, model.width, dtype=dtype),
            "temb": self.random(1, model.width, dtype=dtype),
            "image_rotary_emb": self.angles(image + model.text_tokens),
        }

    def denoise_step(self, policy, size):
        """A prediction of the whole transformer and Euler's step along it."""
        from diffusers import FluxTransformer2DModel

        model, dtype, image = self.model, self.dtype(policy), self.image_tokens(size)
        config = dict(patch_size=1, in_channels=64, num_layers=model.double_blocks,
                      num_single_layers=model.single_blocks, attention_head_dim=model.head_width,
                      num_attention_heads=model.heads, joint_attention_dim=model.prompt_width,
                      pooled_projection_dim=model.pooled_width, guidance_embeds=True, axes_dims_rope=(16, 56, 56))
        transformer = self.random_module(lambda: FluxTransformer2DModel(**config), dtype)
        side = math.isqrt(image)
        ids = torch.zeros(image, 3, device=self.device)
        ids[:, 1] = torch.arange(image, device=self.device) // side
        ids[:, 2] = torch.arange(image, device=self.device) % side

        class Step(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.transformer = transformer

            def forward(self, hidden_states, **inputs):
                velocity = self.transformer(hidden_states, return_dict=False, **inputs)[0]
                return (hidden_states.float() - 0.05 * velocity.float()).to(hidden_states.dtype)

        return Step(), {
            "hidden_states": self.random(1, image, 64, dtype=dtype),
            "encoder_hidden_states": self.random(1, model.text_tokens, model.prompt_width, dtype=dtype),
            "pooled_projections": self.random(1, model.pooled_width, dtype=dtype),
            "timestep": torch.full((1,), 0.5, dtype=dtype, device=self.device),
            "guidance": torch.full((1,), 3.5, device=self.device),
            "img_ids": ids,
            "txt_ids": torch.zeros(model.text_tokens, 3, device=self.device),
        }

    def t5_layer(self, policy, size):
        from transformers import T5Config
        from transformers.models.t5.modeling_t5 import T5Block, T5PreTrainedModel

        tokens, dtype = int(size), self.dtype(policy)
        config = T5Config(d_model=4096, d_kv=64, d_ff=10240, num_heads=64, num_layers=1,
                          feed_forward_proj="gated-gelu", is_decoder=False, use_cache=False)
        config._attn_implementation = "sdpa" if getattr(T5PreTrainedModel, "_supports_sdpa", False) else "eager"
        layer = self.random_module(lambda: T5Block(config), dtype)
        return layer, {
            "hidden_states": self.random(1, tokens, 4096, dtype=dtype),
            "position_bias": self.random(1, 64, tokens, tokens, dtype=dtype),
        }

    def unet_step(self, policy, size):
        """A prediction of Stable Diffusion 1.5's UNet."""
        return self.unet(policy, size, self.model.unet)

    def unet_xl_step(self, policy, size):
        """A prediction of SDXL's UNet."""
        return self.unet(policy, size, self.model.unet_xl)

    def unet(self, policy, size, config):
        """A UNet whose pictures lie as ours do, and what a prediction is made of."""
        from diffusers import UNet2DConditionModel

        dtype = self.dtype(policy)
        unet = self.random_module(lambda: UNet2DConditionModel(**config), dtype).to(memory_format=torch.channels_last)
        picture = int(size.split("x")[0])
        side = picture // 8
        added = {}
        if "addition_embed_type" in config:
            added = {"text_embeds": self.random(1, 1280, dtype=dtype),
                     "time_ids": torch.tensor([[picture, picture, 0, 0, picture, picture]], dtype=dtype, device=self.device)}
        latents = self.random(1, 4, side, side, dtype=dtype).contiguous(memory_format=torch.channels_last)
        return unet, {"sample": latents, "timestep": torch.tensor(500.0, device=self.device),
                      "encoder_hidden_states": self.random(1, 77, config["cross_attention_dim"], dtype=dtype),
                      "added_cond_kwargs": added, "return_dict": False}

    def vae_decode(self, policy, size):
        from diffusers import AutoencoderKL

        channels = self.model.decoder_channels
        config = dict(block_out_channels=channels, latent_channels=16, norm_num_groups=32, layers_per_block=2,
                      down_block_types=("DownEncoderBlock2D",) * len(channels),
                      up_block_types=("UpDecoderBlock2D",) * len(channels), use_quant_conv=False,
                      use_post_quant_conv=False)
        dtype = self.dtype(policy)
        decoder = self.random_module(lambda: AutoencoderKL(**config).decoder, dtype)
        side = int(size.split("x")[0]) >> (len(channels) - 1)
        latents = self.random(1, 16, side, side, dtype=dtype).contiguous(memory_format=torch.channels_last)
        return decoder.to(memory_format=torch.channels_last), {"sample": latents}

    # --- Products --------------------------------------------------------------------------------------------------

    def attention(self, policy, size):
        heads, dtype = self.model.heads, self.dtype(policy)

        def attend(q, k, v):
            q, k, v = (x.unflatten(-1, (heads, -1)).transpose(1, 2) for x in (q, k, v))
            return torch.nn.functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)

        return attend, {name: self.random(1, int(size), self.model.width, dtype=dtype) for name in "qkv"}

    def linear(self, policy, size):
        rows, into, out = (int(part) for part in size.split("x"))
        dtype = self.dtype(policy)
        module = self.random_module(lambda: torch.nn.Linear(into, out), dtype)
        return module, {"input": self.random(rows, into, dtype=dtype)}

    # --- Memory-bound ops -----------------------------------------------------------------------------------

    def copy(self, policy, size):
        x = self.matrix(policy, size)
        return lambda x: x.clone(), {"x": x}

    def cast(self, policy, size):
        source, target = policy.split("_to_")
        x = self.random(*(int(part) for part in size.split("x")), dtype=torch.float32).to(DTYPES[source])
        return lambda x: x.to(DTYPES[target]), {"x": x}

    def gelu(self, policy, size):
        return lambda x: torch.nn.functional.gelu(x, approximate="tanh"), {"x": self.matrix(policy, size)}

    def gated_add(self, policy, size):
        x, residual = self.matrix(policy, size), self.matrix(policy, size)
        gate = self.random(1, x.shape[1], dtype=x.dtype)
        return lambda x, residual, gate: residual + gate * x, {"x": x, "residual": residual, "gate": gate}

    def angles(self, tokens):
        angles = torch.rand(tokens, self.model.head_width // 2, device=self.device).repeat_interleave(2, dim=1)
        return angles.cos(), angles.sin()

    def heads_of(self, policy, size):
        return self.matrix(policy, size).unflatten(-1, (-1, self.model.head_width))

    def rotary(self, policy, size):
        from diffusers.models.embeddings import apply_rotary_emb

        x = self.heads_of(policy, size).unsqueeze(0)
        return (lambda x, angles: apply_rotary_emb(x, angles, sequence_dim=1),
                {"x": x, "angles": self.angles(x.shape[1])})

    def norm_modulate(self, policy, size):
        x = self.matrix(policy, size)
        scale, shift = self.random(1, x.shape[1], dtype=x.dtype), self.random(1, x.shape[1], dtype=x.dtype)

        def modulated(x, scale, shift):
            return torch.nn.functional.layer_norm(x, (x.shape[1],), eps=1e-6) * (1 + scale) + shift

        return modulated, {"x": x, "scale": scale, "shift": shift}

    def rms_norm(self, policy, size):
        x = self.matrix(policy, size)
        return self.normed(x), {"x": x}

    def rms_norm_heads(self, policy, size):
        x = self.heads_of(policy, size)
        return self.normed(x), {"x": x}

    def normed(self, x):
        weight = self.random(x.shape[-1], dtype=x.dtype)
        return lambda x: torch.nn.functional.rms_norm(x, (x.shape[-1],), weight, 1e-6)

    def group_norm(self, policy, size):
        height, width, channels = (int(part) for part in size.split("x"))
        x = self.random(1, channels, height, width, dtype=self.dtype(policy))
        x = x.contiguous(memory_format=torch.channels_last)  # as ours lies
        weight, bias = self.random(channels, dtype=x.dtype), self.random(channels, dtype=x.dtype)

        def normed(x, weight, bias):
            return torch.nn.functional.silu(torch.nn.functional.group_norm(x, self.model.groups, weight, bias, 1e-6))

        return normed, {"x": x, "weight": weight, "bias": bias}
