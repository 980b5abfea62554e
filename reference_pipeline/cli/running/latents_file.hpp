// Latents files: safetensors with one tensor `latents`, packed [pictures, tokens, channels] or, of Stable
// Diffusion, [pictures, channels, height, width].
#pragma once

#include <filesystem>

#include <precast/io/atomic_file.hpp>
#include <precast/tensor/tensor.hpp>

namespace precast::cli {

/// Reads `latents`, of any floating-point dtype, as f32. Throws InputError that names the file where the
/// tensor is missing, has another rank, does not hold numbers, holds one that is not finite, or is not alone.
Tensor<f32> read_latents(const std::filesystem::path& file);

/// Writes them as f32, whole or not at all. Throws InputError that names the file, also where one is there
/// that is to be kept.
void write_latents(const std::filesystem::path& file, HostView<const f32> latents,
                   io::OldFile old = io::OldFile::replaced);

}  // namespace precast::cli
