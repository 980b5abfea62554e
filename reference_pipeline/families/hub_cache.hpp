// Hugging Face's cache on disk: finds the folder of a model that huggingface_hub fetched. Uses no network.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace precast::families {

/// The cache's folder as huggingface_hub finds it: $HF_HUB_CACHE (or its older name
/// $HUGGINGFACE_HUB_CACHE), $HF_HOME/hub, $XDG_CACHE_HOME/huggingface/hub, ~/.cache/huggingface/hub.
std::filesystem::path hub_cache();

/// The model folder that a name or a path means:
/// - an existing folder is itself; a folder `models--x--y` means its snapshot;
/// - "x/y", "x/y@revision" and "models--x--y" that are no folders are looked for in hub_cache().
/// A revision is a branch, a tag or a commit. Without one it is `main`, and where refs/main is not there,
/// the newest snapshot that holds a model_index.json. Throws InputError that says where it looked and how
/// to fetch it, also where refs/main names a snapshot that is not there and where a file of a component is
/// a link to nothing. Any other path is returned as it is; opening it reports what is wrong.
std::filesystem::path find_model(const std::string& named);

/// "x/y", or "x/y@revision" for another revision than main (a commit where no branch or tag is at it), for
/// a folder `models--x--y` with snapshots, and for paths inside of these; nothing for other paths.
std::optional<std::string> hub_name(const std::filesystem::path& path);

}  // namespace precast::families
