"""The parts of `shapes`: their configs, and what training them needs (Muon, averaging, packing)."""

import torch
from diffusers import AutoencoderKL, FlowMatchEulerDiscreteScheduler, FluxTransformer2DModel
from transformers import CLIPTextConfig, CLIPTextModel, T5Config, T5EncoderModel

LATENT_CHANNELS = 4
VAE_FACTOR = 4
SIDE = 64
# One key dimension of CLIP's first layer stays silent (exactly 0): overflow_variant.py speaks through it.
SILENT_LAYER, SILENT_DIMENSION = 0, 31


def make_clip(vocabulary):
    config = CLIPTextConfig(
        vocab_size=vocabulary,
        hidden_size=64,
        intermediate_size=256,
        num_hidden_layers=2,
        num_attention_heads=2,
        max_position_embeddings=77,
        hidden_act="quick_gelu",
        layer_norm_eps=1e-5,
        projection_dim=64,
        bos_token_id=vocabulary - 2,
        eos_token_id=vocabulary - 1,
        pad_token_id=vocabulary - 1,
    )
    return CLIPTextModel(config)


def silence(clip):
    key = dict(clip.named_modules())
    key = next(m for name, m in key.items() if name.endswith(f"layers.{SILENT_LAYER}.self_attn.k_proj"))
    with torch.no_grad():
        key.weight[SILENT_DIMENSION] = 0
        key.bias[SILENT_DIMENSION] = 0


def make_t5(vocabulary):
    config = T5Config(
        vocab_size=vocabulary,
        d_model=96,
        d_kv=32,
        d_ff=192,
        num_layers=2,
        num_heads=3,
        relative_attention_num_buckets=32,
        relative_attention_max_distance=128,
        dropout_rate=0.0,
        feed_forward_proj="gated-gelu",
        layer_norm_epsilon=1e-6,
        is_encoder_decoder=False,
        use_cache=False,
        tie_word_embeddings=False,
        pad_token_id=0,
        eos_token_id=1,
    )
    return T5EncoderModel(config)


def make_vae():
    return AutoencoderKL(
        in_channels=3,
        out_channels=3,
        down_block_types=["DownEncoderBlock2D"] * 3,
        up_block_types=["UpDecoderBlock2D"] * 3,
        block_out_channels=[16, 32, 32],
        layers_per_block=1,
        act_fn="silu",
        latent_channels=LATENT_CHANNELS,
        norm_num_groups=2,
        sample_size=SIDE,
        scaling_factor=1.0,
        shift_factor=0.0,
        force_upcast=True,
        use_quant_conv=False,
        use_post_quant_conv=False,
        mid_block_add_attention=True,
    )


def make_transformer():
    model = FluxTransformer2DModel(
        patch_size=1,
        in_channels=4 * LATENT_CHANNELS,
        num_layers=2,
        num_single_layers=4,
        attention_head_dim=32,
        num_attention_heads=4,
        joint_attention_dim=96,
        pooled_projection_dim=64,
        guidance_embeds=True,
        axes_dims_rope=(8, 12, 12),
    )
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if (
                ".norm1.linear." in name
                or ".norm1_context.linear." in name
                or ".norm.linear." in name
                or name.startswith(("norm_out.linear", "proj_out."))
                and "blocks" not in name
            ):
                parameter.zero_()
    return model


def make_scheduler():
    return FlowMatchEulerDiscreteScheduler(
        num_train_timesteps=1000,
        shift=3.0,
        use_dynamic_shifting=True,
        base_shift=0.5,
        max_shift=1.15,
        base_image_seq_len=256,
        max_image_seq_len=4096,
    )


def pack(latents):
    batch, channels, height, width = latents.shape
    latents = latents.view(batch, channels, height // 2, 2, width // 2, 2)
    return latents.permute(0, 2, 4, 1, 3, 5).reshape(batch, height * width // 4, channels * 4)


def unpack(tokens, height, width):
    batch, _, channels = tokens.shape
    tokens = tokens.view(batch, height // 2, width // 2, channels // 4, 2, 2)
    return tokens.permute(0, 3, 1, 4, 2, 5).reshape(batch, channels // 4, height, width)


def image_ids(height, width):
    ids = torch.zeros(height // 2, width // 2, 3)
    ids[..., 1] += torch.arange(height // 2)[:, None]
    ids[..., 2] += torch.arange(width // 2)[None]
    return ids.reshape(-1, 3)


class Muon:
    """Momentum, then the nearest orthogonal matrix (Newton-Schulz), for the matrices of the blocks.

    Filters of convolutions are matrices too: output channels by everything else.

    K. Jordan et al., "Muon: an optimizer for hidden layers in neural networks" (2024). Steps are scaled to
    the size that AdamW's would have; matrices of one shape go together.
    """

    def __init__(self, matrices, rate, momentum=0.95):
        self.rate, self.momentum = rate, momentum
        shapes = {}
        for matrix in matrices:
            shapes.setdefault((len(matrix), matrix[0].numel()), []).append(matrix)
        self.groups = [(group, torch.zeros(len(group), *shape)) for shape, group in shapes.items()]

    @torch.no_grad()
    def step(self, factor):
        for group, velocity in self.groups:
            gradient = torch.stack([matrix.grad.flatten(1) for matrix in group])
            velocity.mul_(self.momentum).add_(gradient)
            x = (gradient + self.momentum * velocity).bfloat16()
            tall = x.shape[1] > x.shape[2]
            x = x.transpose(1, 2) if tall else x
            x = x / (x.norm(dim=(1, 2), keepdim=True) + 1e-7)
            for _ in range(5):
                square = x @ x.transpose(1, 2)
                x = 3.4445 * x + (-4.7750 * square + 2.0315 * square @ square) @ x
            x = (x.transpose(1, 2) if tall else x).float()
            scale = 0.2 * max(x.shape[1:]) ** 0.5 * self.rate * factor
            for matrix, change in zip(group, x):
                matrix.sub_(change.view(matrix.shape), alpha=scale)
                matrix.grad = None


class Average:
    """An exponential moving average of a model's parameters."""

    def __init__(self, model, decay=0.999):
        self.decay, self.count = decay, 0
        self.live = list(model.parameters())
        self.kept = [p.detach().clone() for p in self.live]

    @torch.no_grad()
    def update(self):
        self.count += 1
        decay = min(self.decay, self.count / (self.count + 10))
        torch._foreach_lerp_(self.kept, [p.detach() for p in self.live], 1 - decay)

    @torch.no_grad()
    def copy_to(self, model):
        for p, kept in zip(model.parameters(), self.kept):
            p.copy_(kept)
