// Latents files: safetensors with one tensor `latents`, packed [pictures, tokens, channels] or, for Stable
// Diffusion, [pictures, channels, height, width].
#pragma once

#include <filesystem>

#include <precast/io/atomic_file.hpp>
#include <precast/tensor/tensor.hpp>

namespace precast::cli {

/// Reads `latents`, of any floating-point dtype, as f32. Throws InputError that names the file if the
/// tensor is missing, not floating-point, of another rank or not the only one, or holds a non-finite value.
Tensor<f32> read_latents(const std::filesystem::path& file);

/// Writes `latents` as f32, atomically. Throws InputError that names the file, also if it exists and `old`
/// says that it is to be kept.
void write_latents(const std::filesystem::path& file, HostView<const f32> latents,
                   io::OldFile old = io::OldFile::replaced);

}  // namespace precast::cli
