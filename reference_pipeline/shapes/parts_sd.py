"""The parts of `shapes-sd`: their configs, and the autoencoder of `shapes` in the form that Stable Diffusion has."""

import pathlib

import torch
from diffusers import AutoencoderKL, DDIMScheduler, UNet2DConditionModel

HERE = pathlib.Path(__file__).parent
SCALING_FACTOR = 0.18215  # Stable Diffusion 1.x's own
# The spread of scaled latents. With half of the usual one a picture's colour hardly shows through the noise that
# sampling starts from, so that it is the prompt that decides it.
SPREAD = 0.5


def make_unet():
    return UNet2DConditionModel(
        sample_size=16,
        in_channels=4,
        out_channels=4,
        down_block_types=("DownBlock2D", "CrossAttnDownBlock2D", "DownBlock2D"),
        mid_block_type="UNetMidBlock2DCrossAttn",
        up_block_types=("UpBlock2D", "CrossAttnUpBlock2D", "UpBlock2D"),
        block_out_channels=(48, 96, 96),
        layers_per_block=1,
        norm_num_groups=16,
        norm_eps=1e-5,
        cross_attention_dim=64,
        attention_head_dim=4,  # the number of heads, as in Stable Diffusion 1.x's configs
        act_fn="silu",
        flip_sin_to_cos=True,
        freq_shift=0,
        center_input_sample=False,
        downsample_padding=1,
        mid_block_scale_factor=1,
    )


def make_scheduler():
    return DDIMScheduler(
        num_train_timesteps=1000,
        beta_start=0.00085,
        beta_end=0.012,
        beta_schedule="scaled_linear",
        clip_sample=False,
        set_alpha_to_one=False,
        steps_offset=1,
        prediction_type="v_prediction",
        timestep_spacing="leading",
    )


def with_quant_conv(plain, mean, deviation):
    """`plain` with quant_conv and post_quant_conv, which also bring the latents to mean 0 and one spread.

    `plain` is an AutoencoderKL without them, `mean` and `deviation` those of its latents, [channels]. Scaled latents
    have the deviation SPREAD then; pictures are those of `plain`.
    """
    config = {key: value for key, value in plain.config.items() if not key.startswith("_")}
    config.update(use_quant_conv=True, use_post_quant_conv=True, scaling_factor=SCALING_FACTOR, shift_factor=None)
    vae = AutoencoderKL(**config)
    state = plain.state_dict()
    factor = (SPREAD / SCALING_FACTOR / deviation).bfloat16().float()
    channels = len(factor)
    both = torch.cat([factor, torch.ones(channels)])
    state["quant_conv.weight"] = torch.diag(both)[:, :, None, None]
    state["quant_conv.bias"] = torch.cat([-mean * factor, 2 * factor.log()])
    state["post_quant_conv.weight"] = torch.diag(1 / factor)[:, :, None, None]
    state["post_quant_conv.bias"] = mean
    vae.load_state_dict(state)
    return vae
